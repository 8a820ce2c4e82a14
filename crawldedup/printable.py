"""Text from crawled pages is hostile; this makes it safe to show on a terminal or in a log."""

from __future__ import annotations

from typing import Final

LONGEST_SHOWN: Final = 500


def printable(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text with control characters escaped (line ends too), cut off at `longest` characters."""
    shown = text if len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
