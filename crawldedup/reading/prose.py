"""Tell prose from what a template says, by one line of it."""

from __future__ import annotations

import re
from typing import Final

LONG: Final = 60
"""Bytes of prose in UTF-8, since scripts with many characters need few of them."""
# Without punctuation, as in Thai, it has more of them.
_LONG_WITHOUT_PUNCTUATION: Final = 180
_PUNCTUATION: Final = re.compile(r"[.!?,;:…。！？、，；：．،؛؟।॥។៕၊။።፡፣·]")


def is_prose(text: str, size: int) -> bool:
    """Return whether a text of `size` bytes is long and has punctuation, or is very long."""
    return size >= LONG and (size >= _LONG_WITHOUT_PUNCTUATION or _PUNCTUATION.search(text) is not None)
