"""Prepare texts that people will read."""


def pluralize(number: int, noun: str) -> str:
    """Put a number and a noun together, as in "1 page" or "2,000 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str, longest: int = 500) -> str:
    """Make a text safe to print, by escaping control characters and line ends.

    Args:
        text: The text.
        longest: The number of characters after which the text is cut off.
    """
    if len(text) > longest:
        text = text[:longest] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
