"""Show store URLs in messages."""

import re


def shown_url(url: str) -> str:
    """Return a store URL without its password, for messages."""
    scheme, separator, rest = re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", url).partition("://")
    # A password may hold an @ or a / that should have been escaped. What begins with / is a path.
    credentials, at, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user if colon else ''}{colon}{'***@' if at else ''}{place}"
