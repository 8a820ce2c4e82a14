"""Convert the hosts in URLs to ASCII, the form in which requests are sent.

For example, münchen.example and m%C3%BCnchen.example become xn--mnchen-3ya.example.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

_LONGEST_HOST: Final = 253
_AUTHORITY: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^/?#]+)")
# Characters that a host can't contain. A host with one of them percent-encoded isn't decoded.
_NO_HOST: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f\ufffd]")


def with_ascii_host(url: str) -> str:
    """Return a URL with its host converted to ASCII.

    The URL doesn't change if its host is already plain ASCII, or if it has no scheme or host.
    """
    found = _AUTHORITY.match(url)
    if found is None or is_plain(found[2]):
        return url
    return f"{found[1]}{ascii_host(found[2])}{url[found.end() :]}"


def is_plain(host: str) -> bool:
    """Return whether a host is in ASCII and has no percent-encoded characters."""
    return host.isascii() and "%" not in host


@lru_cache(maxsize=4096)
def ascii_host(host: str) -> str:
    """Return a host in the ASCII form that is used in requests.

    Args:
        host: The host, which may include a user and a port, as in "user@host:80".

    Returns:
        The host in ASCII, with the same user and port. If it cannot be converted, its
        percent-encoded characters are only decoded.
    """
    user, at, address = host.rpartition("@")
    name, colon, port = address.partition(":")
    return f"{user}{at}{_ascii_name(_decoded(name))}{colon}{port}"


def _decoded(name: str) -> str:
    """Decode the percent-encoded characters of a name.

    It is unchanged if the result wouldn't be a host.
    """
    if "%" not in name:
        return name
    decoded = unquote(name)
    return name if _NO_HOST.search(decoded) else decoded


def _ascii_name(name: str) -> str:
    """Return a name in ASCII, or unchanged if it's too long or cannot be converted."""
    if name.isascii() or len(name) > _LONGEST_HOST:
        return name
    # Importing its tables takes a while, and few crawls need them.
    import idna

    try:
        # As in browsers, capitals and full-width letters are normalized, but ß doesn't become ss.
        return idna.encode(name, uts46=True).decode()
    except UnicodeError:
        pass
    try:
        # An older standard, which also allows symbols such as ☃.
        return name.encode("idna").decode()
    except UnicodeError:
        return name
