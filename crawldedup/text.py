"""Small tools for text that people read."""


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: "1 page", "2,000 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def printable(text: str, longest: int = 500) -> str:
    """Return the text with control characters and line ends escaped, cut at `longest` characters."""
    shown = text if len(text) <= longest else text[:longest] + "..."
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
