"""What every store does: look a page up and remember it, in one atomic step.

A store knows nothing of text, of similarity or of how ranges are chosen. It keeps, for every remembered page, one
key in each permuted table, one key for its URL, and one record; it reads the ranges it is given, applies the
cost rule it is given to the records found there, and decides by the same steps in every store:

1. The URL is known, and not from a fellow crawler of this crawl: `revisit`; new text replaces the old.
2. A record in the ranges is accepted by the rule: `exact` if its digest is the page's, else `near`.
3. Otherwise the page is `new` and is added.

Records not seen for the time to live count as absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.search.decision import CostRule
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Table

    Keys = NDArray[np.uint64]

LEASE_SECONDS: Final = 120
"""A crawler that is not heard of for this long has left the crawl; see `Crawler`."""

MAX_CANDIDATES: Final = 256
"""At most so many records are compared with one page, best ranges first: work a page stays bounded."""

ID_BITS: Final = 30
"""Embedded stores pack a key's leading 34 bits and a page number into one 64-bit integer."""
MAX_PAGES: Final = 1 << ID_BITS
_ID_MASK: Final = MAX_PAGES - 1
_KEY_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF ^ _ID_MASK


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as a store remembers it.

    `url_key`, `search` and `digest` are 64-bit integers.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int


@dataclass(frozen=True, slots=True)
class Query:
    """A page to look up: what it is, where to look, and which records are accepted.

    `exact_only` asks for an equal digest beside an accepted signature (pages too thin for a fingerprint).
    """

    entry: Entry
    plan: ProbePlan
    rule: CostRule
    ttl_seconds: int | None = None
    exact_only: bool = False
    max_candidates: int = MAX_CANDIDATES


@dataclass(frozen=True, slots=True)
class Record:
    """A remembered page. Times are in seconds since 1970 (UTC)."""

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int
    copies: int


class Status(StrEnum):
    """What the store found."""

    NEW = "new"
    NEAR = "near"
    EXACT = "exact"
    REVISIT = "revisit"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the store decided.

    `record` is the earlier page, with this page already counted in; None for a new page. `changed` says
    that a revisited page had another text before. `pages` is the number of pages in the index,
    `candidates` the number of records that were compared.
    """

    status: Status
    record: Record | None
    changed: bool
    pages: int
    candidates: int


@dataclass(frozen=True, slots=True)
class Crawler:
    """One user of an index, numbered from 1.

    A page never duplicates itself, so a URL that comes again is a revisit: a retry, or a later crawl. But when
    several crawlers work on one crawl, a URL that a fellow has just delivered is a copy like any other.
    Fellows are told from earlier crawls by number: a crawler that joins while others are at work shares
    their crawl, whose first crawler is `first`; one that joins an idle index starts a crawl of its own.
    """

    number: int
    first: int

    def is_fellow(self, number: int) -> bool:
        """True if `number` is another crawler of the same crawl."""
        return number != self.number and number >= self.first


@dataclass(frozen=True, slots=True)
class Layout:
    """What an index is made for: its name, its profile and the tables its pages are filed in."""

    namespace: str
    profile: str
    tables: tuple[Table, ...]
    signature_bytes: int


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Figures of one index; `bytes` is what it occupies (an estimate where the store cannot tell)."""

    pages: int
    bytes: int
    tables: int
    profile: str
    namespace: str
    store: str


class Store(Protocol):
    """One index: a namespace of a store. Methods raise `StoreError` and its kin, safe to call again."""

    def open(self) -> int:
        """Connect, check the profile, join the crawl; the number of pages in the index.

        Raises StoreUnavailableError, or ProfileMismatchError for an index with other fingerprints.
        """

    def check_and_add(self, query: Query) -> Answer:
        """Decide about a page and remember it, atomically."""

    def find(self, query: Query) -> list[Record]:
        """Records that the query accepts, nearest first; changes nothing."""

    def forget(self, url_key: int) -> bool:
        """Remove the page with this URL key; False if there was none."""

    def clear(self) -> None:
        """Remove every page and the profile."""

    def info(self) -> StoreInfo:
        """Figures of the index."""

    def heartbeat(self) -> None:
        """Say that this crawler is still at work; due once in every LEASE_SECONDS at least."""

    def close(self) -> None:
        """Leave the crawl and disconnect; harmless when repeated."""


def shown_url(url: str) -> str:
    """A store URL without its password, for messages."""
    scheme, separator, rest = re.sub(r"(?i)([?&]password=)[^&]*", r"\1***", url).partition("://")
    # A password may hold an @ or a / that should have been escaped; a path in front of an @ is none.
    credentials, at, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user if colon else ''}{colon}{'***@' if at else ''}{place}"


def accepted(query: Query, signatures: Sequence[bytes], digests: Sequence[int]) -> list[tuple[int, int]]:
    """Which candidates the query accepts: (cost, position) pairs in the order of the candidates."""
    if not signatures:
        return []
    own = query.entry.signature
    packed = np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), len(own))
    costs = query.rule.costs_of(own, packed).tolist()
    return [
        (cost, position)
        for position, cost in enumerate(costs)
        if cost <= query.rule.limit and (not query.exact_only or digests[position] == query.entry.digest)
    ]


def pack_key(key: int, page: int) -> int:
    """A table key and a page number in one 64-bit integer that sorts by key."""
    return key & _KEY_MASK | page


def page_of(packed: int) -> int:
    """The page number in a packed key."""
    return packed & _ID_MASK


def packed_range(low: int, high: int) -> tuple[int, int]:
    """First and last packed key of a range of keys, both included."""
    return low & _KEY_MASK, high | _ID_MASK


def packed_ranges(plan: ProbePlan) -> tuple[Keys, Keys]:
    """The same for all ranges of a plan, two arrays of shape (probes,)."""
    return plan.lows & np.uint64(_KEY_MASK), plan.highs | np.uint64(_ID_MASK)
