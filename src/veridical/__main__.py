"""`python -m veridical` is the command line."""

from veridical.interfaces.cli import main

main()
