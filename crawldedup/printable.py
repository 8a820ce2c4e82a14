"""Words for a terminal or a log. Text from crawled pages is hostile, and made safe to show."""

from __future__ import annotations

from typing import Final

LONGEST_SHOWN: Final = 500


def counted(number: int, noun: str) -> str:
    """So many of something, in words for a person: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text with control characters escaped (line ends too), cut off at `longest` characters."""
    shown = text if len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)


def sentence(text: object) -> str:
    """A text that ends as a sentence does, so that another can follow."""
    said = str(text).rstrip()
    return said if said.endswith((".", "!", "?")) else f"{said}."
