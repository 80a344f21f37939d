"""Values, ports and arithmetic; standard library only, no I/O."""
