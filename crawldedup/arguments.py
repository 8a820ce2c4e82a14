"""Checks of what users may say: each error names the value, what is allowed, and so what to change."""

from __future__ import annotations

import re
from typing import Final

from crawldedup.errors import ConfigurationError

LOWEST_SIMILARITY: Final = 0.5
LOWEST_RECALL: Final = 0.5
LARGEST_INDEX: Final = 10**12
_TTL_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST_TTL: Final = 100 * 365 * 86400


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


def check_similarity(similarity: float) -> None:
    """Raise ConfigurationError unless a similarity threshold is one that can be promised."""
    if not isinstance(similarity, int | float) or not LOWEST_SIMILARITY < similarity <= 1:
        raise ConfigurationError(
            f"similarity is {similarity!r}; it must be a number above {LOWEST_SIMILARITY} and at most 1"
        )


def check_namespace(namespace: str) -> None:
    """Raise ConfigurationError unless a namespace can be part of a key."""
    if not re.fullmatch(r"[\w.:-]{1,100}", namespace, re.ASCII):
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
