"""Helpers for texts that people read."""


def pluralize(number: int, noun: str) -> str:
    """Return a number together with its noun, as in "1 page" or "2,000 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str, longest: int = 500) -> str:
    """Return a text with control characters and line ends escaped.

    Args:
        text: The text.
        longest: The number of characters after which the text is cut off.
    """
    if len(text) > longest:
        text = text[:longest] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
