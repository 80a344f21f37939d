"""Examples and exit codes in the help of `veridical memory`."""

from __future__ import annotations

_CODES = """
\b
Exit codes:
  0  stored: verified, or unverified because the gate is off
  1  rejected, or stored although its evidence does not carry it
  2  wrong use or configuration
  3  not verified yet: it waits in the queue, see verify-pending
"""
ADD = f"""\b
Examples:
  veridical memory add "The bridge has eight lanes." --source S1=notice.txt --gate
  veridical memory add "Ada wrote it in 1843." -s letters/ -e author=Ada --confidence 0.9 --json
{_CODES}"""
LIST = """\b
Examples:
  veridical memory list
  veridical memory list --entity bridge --tier long_term
  veridical memory list --all --json
"""
SHOW = """\b
Examples:
  veridical memory show 9f3c5b7a1e204d68
"""
SEARCH = """\b
Examples:
  veridical memory search "bridge lanes"
  veridical memory search "how wide is it" --semantic
"""
VERIFY = """\b
Examples:
  veridical memory verify-pending
  veridical memory verify-pending --limit 20 --json
  veridical memory verify-pending --early

\b
Exit codes:
  0  all that was due is verified, or nothing was due
  1  at least one fact was rejected, or is not carried by its evidence
  2  wrong use or configuration
  3  at least one fact could not be verified again, or was given up
"""
PENDING = """\b
Examples:
  veridical memory pending
"""
REJECTED = """\b
Examples:
  veridical memory rejected
  veridical memory rejected --limit 1000 --json
"""
RETRACT = """\b
Examples:
  veridical memory retract 9f3c5b7a1e204d68
"""
DELETE = """\b
Examples:
  veridical memory delete 9f3c5b7a1e204d68
"""
PROMOTE = f"""\b
Examples:
  veridical memory promote 9f3c5b7a1e204d68 long_term --gate
{_CODES}"""
