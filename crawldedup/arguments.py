"""Checks of what users may say: each error names the value, what is allowed, and so what to change."""

from __future__ import annotations

import re
from typing import Final

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable

LOWEST_SIMILARITY: Final = 0.5
LOWEST_RECALL: Final = 0.5
LARGEST_INDEX: Final = 10**12
_TTL_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST_TTL: Final = 100 * 365 * 86400
_LONGEST_SHOWN: Final = 80


def parse_ttl(ttl: str | float | None) -> int | None:
    """Seconds of a time to live: a number of seconds, or "90m", "12h", "30d", "8w"; None means for ever."""
    if ttl is None or ttl == "":
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", str(ttl))
    seconds = float(match[1]) * _TTL_UNITS[match[2] or "s"] if match else 0
    if not 1 <= seconds <= _LONGEST_TTL:
        raise ConfigurationError(
            f"ttl is {ttl!r}; it must be a number of seconds from 1, or a number with one of the units "
            f"{', '.join(_TTL_UNITS)}, as in '30d', and at most 100 years"
        )
    return int(seconds)


def check_text(name: str, value: object, *, optional: bool = False) -> None:
    """Raise ConfigurationError unless an argument is a text, or None where it is optional."""
    if not isinstance(value, str) and not (optional and value is None):
        raise ConfigurationError(f"{name} is {_shown(value)}; it must be a str{' or None' if optional else ''}")


def check_flag(name: str, value: object) -> None:
    """Raise ConfigurationError unless an argument is True or False: "no" would count as true."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} is {_shown(value)}; it must be True or False")


def check_address(url: object, identity: object, scope_key: object) -> None:
    """Raise ConfigurationError unless these can say which page it is, and whose."""
    check_text("url", url)
    check_text("identity", identity, optional=True)
    check_text("scope_key", scope_key, optional=True)


def check_body(html: object, text: object, encoding: object) -> None:
    """Raise ConfigurationError unless these are a page: either HTML as bytes or str, or a text as str."""
    if (html is None) == (text is None):
        raise ConfigurationError("give either html or text")
    if html is not None and not isinstance(html, bytes | str):
        raise ConfigurationError(f"html is {_shown(html)}; it must be bytes or str")
    check_text("text", text, optional=True)
    check_text("encoding", encoding, optional=True)


def check_batch(batch: object) -> None:
    """Raise ConfigurationError unless it is a number of pages to ask the store for at once."""
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise ConfigurationError(f"batch is {_shown(batch)}; it must be a whole number from 1")


def check_similarity(similarity: float) -> None:
    """Raise ConfigurationError unless a similarity threshold is one that can be promised."""
    is_number = isinstance(similarity, int | float) and not isinstance(similarity, bool)
    if not is_number or not LOWEST_SIMILARITY < similarity <= 1:
        raise ConfigurationError(
            f"similarity is {similarity!r}; it must be a number above {LOWEST_SIMILARITY} and at most 1"
        )


def check_namespace(namespace: str) -> None:
    """Raise ConfigurationError unless a namespace can be part of a key."""
    if not isinstance(namespace, str) or not re.fullmatch(r"[\w.:-]{1,100}", namespace, re.ASCII):
        raise ConfigurationError(
            f"namespace is {namespace!r}; it must be 1 to 100 letters, digits and the signs . _ : -"
        )


def check_expected_pages(pages: int) -> None:
    """Raise ConfigurationError unless a number of pages is one."""
    if isinstance(pages, bool) or not isinstance(pages, int) or not 0 <= pages <= LARGEST_INDEX:
        raise ConfigurationError(f"expected_pages is {pages!r}; it must be a whole number from 0 to {LARGEST_INDEX:,}")


def check_recall(recall: float) -> None:
    """Raise ConfigurationError unless a recall is one that can be promised."""
    if not isinstance(recall, int | float) or not LOWEST_RECALL <= recall < 1:
        raise ConfigurationError(f"recall is {recall!r}; it must be a number from {LOWEST_RECALL} to below 1")


def check_max_pages(pages: int | None) -> int | None:
    """The number, which may be None for no limit. Raises ConfigurationError unless it is one to keep pages by."""
    if pages is not None and (isinstance(pages, bool) or not isinstance(pages, int) or pages < 1):
        raise ConfigurationError(f"max_pages is {pages!r}; it must be a whole number from 1, or None for no limit")
    return pages


def _shown(value: object) -> str:
    """A value for a message: the whole of a page would hide what is said about it."""
    return printable(repr(value), _LONGEST_SHOWN)
