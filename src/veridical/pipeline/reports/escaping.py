"""Escaping of control characters of terminals, browsers and parsers: shown, not obeyed.

Every replacement is one code point for one code point, so that offsets stay true:

| character                                    | shown as                       |
|----------------------------------------------|--------------------------------|
| U+0000-001F but tab, line feed and CR LF     | its control picture, U+2400 on |
| U+007F                                       | U+2421                         |
| U+0080-009F (C1, among them CSI)             | U+FFFD                         |
| U+202A-202E, U+2066-2069 (bidi overrides)    | U+FFFD                         |
| lone surrogates, U+FFFE, U+FFFF              | U+FFFD                         |
"""

from __future__ import annotations

import re

_REPLACEMENT = "\ufffd"
_STEERING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
    "|\r(?!\n)"
)


def visible(text: str) -> str:
    """Return `text`, of the same length, with its control characters made visible."""
    return _STEERING.sub(_stand_in, text)


def one_line(text: str) -> str:
    """Return `text` made visible and with runs of white space collapsed to one space."""
    return " ".join(visible(text).split())


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < ord(" "):
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else _REPLACEMENT  # noqa: PLR2004 -- DEL
