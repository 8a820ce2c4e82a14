"""What stores keep of paragraphs: the anchors of each page's text, and which pages hold an anchor.

A page is added once, when it is first asked about, and is kept in the order of adding for as long as `AnchorLimits`
say. An anchor that `MOST_HOLDERS` pages hold takes in no more: it belongs to a text that is on very many pages, and
what it costs ends there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_HOLDERS: Final = 8
"""In manuals, 98 of 100 anchors that repeat are on at most as many pages. See the page on partial duplicates."""
MAX_RETIRED: Final = 4
"""For a page that is added, at most so many pages that are too old, or too many, are removed."""
PAGE_BITS: Final = 40


@dataclass(frozen=True, slots=True)
class AnchorLimits:
    """How long pages are kept from when they were added, and how many anchors all of them may have together."""

    ttl_seconds: int | None = None
    most: int = 1 << 40


@dataclass(frozen=True, slots=True)
class AnchorQuery:
    """The anchors of a page's text, all of them different. `shard_key` and `key_id` are as in `Query`."""

    url: str
    url_key: int
    anchors: tuple[int, ...]
    limits: AnchorLimits = AnchorLimits()
    shard_key: int | None = None
    key_id: int = 0

    @property
    def page(self) -> int:
        """The 40 bits by which anchors name their pages."""
        return page_of(self.url_key)


@dataclass(frozen=True, slots=True)
class Holders:
    """Which pages held each anchor of a query before its page did; None for one that too many pages hold.

    `urls` are those of the pages that have not expired: others do not count. `is_known` tells that the page of the
    query was added before.
    """

    of: tuple[tuple[int, ...] | None, ...]
    urls: Mapping[int, str]
    is_known: bool = False


class AnchorStore(Protocol):
    """The part of a `Store` that keeps anchors."""

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        """Return which pages held the anchors of a page before; add it in the same step, or bring it up to date."""

    def forget_anchors(self, url_key: int) -> bool:
        """Remove what is kept of the page with this URL key; return False if there was nothing."""

    def prune_anchors(self, limits: AnchorLimits) -> None:
        """Remove all pages that the limits let go."""


def page_of(url_key: int) -> int:
    """Return the bits of a URL key by which anchors name a page."""
    return url_key >> (64 - PAGE_BITS)
