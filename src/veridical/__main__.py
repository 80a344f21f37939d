"""Entry point of `python -m veridical`, the command line."""

from veridical.interfaces.cli import main

main()
