"""Tools of veridical for agents, over the Model Context Protocol (extra `mcp`)."""
