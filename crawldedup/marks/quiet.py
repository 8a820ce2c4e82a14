"""Let users name marks to ignore on a host, such as a picture that changes with every load."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from crawldedup.checks import did_you_mean, refused
from crawldedup.marks.values import MARK_KINDS
from crawldedup.scope import normal_host, values_at
from crawldedup.urls import canonical_url

#: Kinds of marks by host. They apply to the host and all its subdomains; "*" stands for every host.
IgnoredMarks = Mapping[str, Sequence[str]]

_KINDS_IN_WORDS: Final = f"{', '.join(MARK_KINDS[:-1])} and {MARK_KINDS[-1]}"
_EXAMPLE: Final = '{"news.example": ["picture"], "*": ["player"]}'
_ALLOWED: Final = (
    f"a dictionary (JSON) of hosts to lists of marks, such as {_EXAMPLE}; marks are "
    f"{_KINDS_IN_WORDS}"
)
_HOST: Final = re.compile(r"\*|[^\W_](?:[\w.-]*\w)?|\[[0-9A-Fa-f:.]+\]")


def check_ignored_marks(name: str, value: Any) -> IgnoredMarks | None:
    """Check a user's option that lists the marks to ignore on each host, and return its value.

    Args:
        name: The option, for error messages.
        value: The kinds of marks by host, or this as JSON; None or "" for none.

    Raises:
        ConfigurationError: The value is anything else, or names a host or kind that doesn't exist.
    """
    if value is None or value == "":
        return None
    try:
        plain = msgspec.json.decode(value) if isinstance(value, str) else value
        by_host = msgspec.convert(plain, dict[str, list[str]])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        raise refused(name, value, _ALLOWED) from None
    if not by_host:
        raise refused(name, value, _ALLOWED)
    return {
        _checked_host(name, host): _checked_kinds(name, host, by_host[host]) for host in by_host
    }


def _checked_host(name: str, host: str) -> str:
    allowed = "a host without scheme, port and path, or '*' for every host"
    if not _HOST.fullmatch(host.strip()):
        raise refused(f"{name}[{host!r}]", host, allowed)
    try:
        return normal_host(host)
    except ValueError:
        raise refused(f"{name}[{host!r}]", host, allowed) from None


def _checked_kinds(name: str, host: str, kinds: Sequence[str]) -> list[str]:
    allowed = f"one or more of {_KINDS_IN_WORDS}"
    if not kinds:
        raise refused(f"{name}[{host!r}]", kinds, f"a list with {allowed}")
    for kind in kinds:
        if kind not in MARK_KINDS:
            raise refused(f"{name}[{host!r}]", kind, allowed + did_you_mean(kind, MARK_KINDS))
    return list(dict.fromkeys(kinds))


def ignored_at(ignored: IgnoredMarks | None, url: str | None) -> tuple[str, ...]:
    """Return the kinds of marks to ignore on the page at a URL, in alphabetical order.

    Args:
        ignored: The kinds by host, if there are any.
        url: The URL of the page.
    """
    return tuple(sorted(values_at(ignored, host_of(url)))) if ignored else ()


def hosts_at(ignored: IgnoredMarks, url: str | None) -> set[str]:
    """Return which of the hosts named in the option apply to the page at a URL.

    Args:
        ignored: The kinds by host.
        url: The URL of the page.
    """
    return values_at({host: [host] for host in ignored}, host_of(url))


def host_of(url: str | None) -> str:
    """Return the normalized host of a URL, or "" if it has none."""
    try:
        return urlsplit(canonical_url(url or "")).hostname or ""
    except ValueError:
        return ""
