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

from crawldedup.search.plan import STORED_BITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.search.decision import CostRule
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order

    Keys = NDArray[np.uint64]

LEASE_SECONDS: Final = 120
"""A crawler that is not heard of for this long has left the crawl; see `Crawler`."""

MAX_CANDIDATES: Final = 64
"""At most so many records are compared with one page: work a page stays bounded."""

MAX_KEYS: Final = 512
"""At most so many keys are read for one page, best ranges first. Where they name more than MAX_CANDIDATES pages, as
the pages of one template do, those with the most likely keys are compared."""

ID_BITS: Final = 64 - STORED_BITS
"""Embedded stores pack a key's leading bits and a page number into one 64-bit integer."""
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
    `rank_costs` holds one byte for each search bit, the higher the less a near duplicate is expected to differ
    there; it ranks keys where there are too many, and is empty if there is nothing to rank them by.
    """

    entry: Entry
    plan: ProbePlan
    rule: CostRule
    ttl_seconds: int | None = None
    exact_only: bool = False
    max_candidates: int = MAX_CANDIDATES
    max_keys: int = MAX_KEYS
    rank_costs: bytes = b""

    @property
    def max_keys_a_side(self) -> int:
        """At most so many keys are read from one range on either side of the key that is looked for there."""
        return max(1, self.max_keys // 8)


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
    tables: tuple[Order, ...]
    signature_bytes: int

    def keys(self, search: int, signature: bytes) -> tuple[int, ...]:
        """The key of a page in each table."""
        return tuple(table.key_of(search, signature) for table in self.tables)


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


def middles(query: Query, layout: Layout) -> Keys:
    """The key that is looked for in each range, packed: the page's own, with the range's bits flipped; (probes,)."""
    plan = query.plan
    own = np.array(layout.keys(query.entry.search, query.entry.signature), np.uint64)
    return (plan.lows | own.take(plan.tables) & (plan.lows ^ plan.highs)) & np.uint64(_KEY_MASK)


def rank_costs(query: Query, layout: Layout) -> NDArray[np.uint8]:
    """The query's rank costs in the order of each table's keys, shape (tables, STORED_BITS or 0)."""
    if not query.rank_costs:
        return np.empty((len(layout.tables), 0), np.uint8)
    costs = np.frombuffer(query.rank_costs, np.uint8)
    return np.stack([costs.take(table.order[:STORED_BITS]) for table in layout.tables])


def choose_pages(query: Query, layout: Layout, found: Sequence[tuple[int, int]]) -> list[int]:
    """The pages to compare, of all whose keys were found: (table, packed key) pairs, best ranges first.

    If there are more than may be compared, those whose keys differ least from the page's own, by rank costs.
    """
    pages = {page_of(packed): position for position, (_, packed) in reversed(list(enumerate(found)))}
    if len(pages) <= query.max_candidates:
        return sorted(pages, key=pages.__getitem__)
    positions = np.sort(np.fromiter(pages.values(), np.intp))
    tables = np.array([found[position][0] for position in positions], np.intp)
    packed = np.array([found[position][1] for position in positions], np.uint64)
    own = np.array(layout.keys(query.entry.search, query.entry.signature), np.uint64)
    differing = (packed ^ own.take(tables)).astype(">u8").view(np.uint8).reshape(-1, 8)
    costs = rank_costs(query, layout)
    bits = np.unpackbits(differing, axis=1)[:, : costs.shape[1]]
    ranks = (bits * costs.take(tables, axis=0)).sum(axis=1, dtype=np.int64)
    nearest = ranks.argsort(kind="stable")[: query.max_candidates]
    return [page_of(key) for key in packed.take(nearest).tolist()]


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
