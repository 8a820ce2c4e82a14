"""Spell the host of a URL as it is spelled in requests, whichever way it is written."""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

_LONGEST_HOST: Final = 253
_AUTHORITY: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^/?#]+)")
# Characters that a host can't have, so what stands for them by its code is left as it is.
_NO_HOST: Final = re.compile(r"[\x00-\x20\"#%/:<>?@\[\\\]^`{|}\x7f\ufffd]")


def with_ascii_host(url: str) -> str:
    """Return a URL with its host in ASCII.

    A host is left as it is if it cannot be spelled so, or is plain already.
    """
    found = _AUTHORITY.match(url)
    if found is None or is_plain(found[2]):
        return url
    return f"{found[1]}{ascii_host(found[2])}{url[found.end() :]}"


def is_plain(host: str) -> bool:
    """Return whether a host is in ASCII, without letters that are written by their codes."""
    return host.isascii() and "%" not in host


@lru_cache(maxsize=4096)
def ascii_host(host: str) -> str:
    """Return a host as it is spelled in requests.

    Args:
        host: The host, which may have a port, and a user before it.

    Returns:
        The same in ASCII; the host as it is if it cannot be spelled so.
    """
    user, at, address = host.rpartition("@")
    name, colon, port = address.partition(":")
    return f"{user}{at}{_ascii_name(_decoded(name))}{colon}{port}"


def _decoded(name: str) -> str:
    """Return a name with its letters, some of which may be written by their codes, as in
    m%C3%BCnchen.example.
    """
    if "%" not in name:
        return name
    decoded = unquote(name)
    return name if _NO_HOST.search(decoded) else decoded


def _ascii_name(name: str) -> str:
    if name.isascii() or len(name) > _LONGEST_HOST:
        return name
    # Its tables take a while to import, and few crawls need them.
    import idna

    try:
        # As in browsers, ß stays a separate letter, while capitals and wide letters don't.
        return idna.encode(name, uts46=True).decode()
    except UnicodeError:
        pass
    try:
        # An older standard, by which some hosts have symbols.
        return name.encode("idna").decode()
    except UnicodeError:
        return name
