"""Remove passwords from URLs and from messages that contain URLs."""

import re
from typing import Final

_SCHEMES_OF_PATHS: Final = frozenset(["sqlite", "unix"])
_URL: Final = re.compile(r"""[A-Za-z][\w+.-]*://[^\s'"]+""")
_LOGIN: Final = re.compile(r"(?<=://)([^/?#:@]*):[^/?#]*@")


def without_passwords(message: str) -> str:
    """Remove the passwords of stores' and pages' URLs from a message."""
    return _URL.sub(_without_password, message)


def _without_password(url: re.Match[str]) -> str:
    # An @ in the path of a page's URL isn't part of a login.
    if url[0].lower().startswith(("http:", "https:")):
        return _LOGIN.sub(r"\1:***@", url[0])
    return shown_url(url[0])


def shown_url(url: str) -> str:
    """Replace the passwords in a store's URL with ***, for messages.

    In a text without ://, everything before the last @ counts as one.
    """
    scheme, separator, rest = re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", url).partition("://")
    if not separator:
        # It may be a URL with a typo in its scheme.
        _, at, place = scheme.rpartition("@")
        return f"***@{place}" if at else scheme
    # A password may contain an @ or a / that should have been escaped.
    is_path = rest.startswith("/") and scheme.strip().lower() in _SCHEMES_OF_PATHS
    credentials, at, place = ("", "", rest) if is_path else rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user if colon else ''}{colon}{'***@' if at else ''}{place}"
