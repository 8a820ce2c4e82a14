"""What every store does: look a page up and remember it, in one atomic step.

A store knows nothing of text, of similarity or of how ranges are chosen. It keeps, for every remembered page, one
key in each permuted table, one key for its URL, and one record; it reads the ranges it is given, applies the
cost rule it is given to the records found there, and decides by the same steps in every store:

1. The URL is known, and not from a fellow crawler of this crawl: `revisit`; new text replaces the old.
2. A record in the ranges is accepted by the rule: `exact` if its digest is the page's, else `near`.
3. Otherwise the page is `new` and is added.

Records that have outlived the time to live count as absent from that moment on. They are freed in passing: each
page that is added looks at a few of the oldest, and `prune` frees them all. Where the number of pages is limited, each
page that is added beyond the limit makes the oldest ones go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, Self

from crawldedup.search.limits import MAX_CANDIDATES, MAX_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.search.decision import Prefilter, WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order

LEASE_SECONDS: Final = 120
"""A crawler that is not heard of for this long has left the crawl; see `CrawlSession`."""

MAX_EVICTED: Final = 2
"""At most so many of the oldest pages go for a page that is added: an index far above its limit shrinks gradually."""
MAX_FREED: Final = 8
"""At most so many expired pages are freed where one check meets them."""
MAX_SWEPT: Final = 4
"""For a page that is added so many others are looked at, going round and round, and freed if they have expired."""

DIGEST_MASK: Final = 0xFFFF_FFFF
UNKNOWN_SHARD: Final = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as a store remembers it.

    `url_key` and `search` are 64-bit integers, `keys` are its keys in the layout's tables. `digest` is one of 32 bits:
    it is looked at where the signatures are alike already (equal ones for a thin page, whose signature is a longer
    digest). `url` may be empty: a page is known by its URL key.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Retention:
    """How long pages are remembered, and how many.

    `ttl_seconds` counts from when a page was last seen, or from when it was added if `refresh` is False.
    Of more than `max_pages` pages the ones that were added first are forgotten.
    """

    ttl_seconds: int | None = None
    refresh: bool = True
    max_pages: int | None = None

    def oldest(self, now: int) -> int:
        """A page last seen (or added) before this time has expired."""
        return 0 if self.ttl_seconds is None else now - self.ttl_seconds

    def is_live(self, added_at: int, seen_at: int, now: int) -> bool:
        """True for a page that has not expired."""
        return (seen_at if self.refresh else added_at) >= self.oldest(now)


FOR_EVER: Final = Retention()


@dataclass(frozen=True, slots=True)
class Query:
    """A page to look up: what it is, where to look, and which records are accepted.

    `exact_only` asks for an equal digest beside an accepted signature (pages too thin for a fingerprint).
    `prefilter` refuses keys that were met by chance before anything of their pages is read; None takes them all.
    `shard_key` is equal for all pages that may be compared with each other; None if those are all of the index. A store
    that is spread over servers keeps them on one of them.
    """

    entry: Entry
    plan: ProbePlan
    rule: WeightedThreshold
    retention: Retention = FOR_EVER
    exact_only: bool = False
    max_candidates: int = MAX_CANDIDATES
    max_keys: int = MAX_KEYS
    prefilter: Prefilter | None = None
    shard_key: int | None = None

    @property
    def max_keys_per_side(self) -> int:
        """At most so many keys are read from one range on either side of the key that is looked for there."""
        return max(1, self.max_keys // 8)


@dataclass(frozen=True, slots=True)
class Record:
    """A remembered page. Times are in seconds since 1970 (UTC).

    `shard_key` is that of `Query`, for `Store.load`; UNKNOWN_SHARD if the page has one that is not known. Stores do not
    keep it.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int
    copies: int
    shard_key: int | None = None


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
class Pruned:
    """How far `prune` is: pages looked at since it began, and pages freed."""

    examined: int
    freed: int


@dataclass(frozen=True, slots=True)
class CrawlSession:
    """One crawler at work on an index, numbered from 1, and the process that holds its lease.

    A page never duplicates itself, so a URL that comes again is a revisit: a retry, or a later crawl. Crawlers that
    work at the same time share one crawl: a URL that another of them delivered counts as a copy. A crawler that joins
    while others are at work joins their crawl, which began with number `first`; else it begins a crawl of its own.

    Worker processes of one crawler share its session. `process` is the crawler's own (see `process.own_process`): the
    lease outlives a worker that dies, and ends early when that process has exited.
    """

    number: int
    first: int
    process: str

    def is_concurrent(self, number: int) -> bool:
        """Return True if `number` is another crawler of the same crawl."""
        return number != self.number and number >= self.first


NO_SESSION: Final = CrawlSession(0, 0, "")
"""In place of a session before a store has joined. No crawler has the number 0."""


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
    """Figures of one index; `bytes` is what it occupies (an estimate where the store cannot tell).

    `table_bytes` is the part of it that the permuted tables take. `warnings` say what of the server's
    configuration spoils the index, in sentences.
    """

    pages: int
    bytes: int
    table_bytes: int
    tables: int
    profile: str
    namespace: str
    store: str
    warnings: tuple[str, ...] = ()


class Store(Protocol):
    """One index: a namespace of a store. Methods raise `StoreError` and its kin, and are safe to call again.

    `is_persistent` is True if its indexes outlive the program.
    """

    is_persistent: ClassVar[bool]

    @classmethod
    def check_url(cls, url: str) -> None:
        """Raise ConfigurationError unless a URL of one of its schemes is valid. Connects to nothing."""

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """Return the store that a URL names, not yet opened. Raises ConfigurationError."""

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """Return the names of the indexes, sorted; or only `wanted`, where looking it up is cheaper.

        Writes nothing. Large servers are searched for a few seconds only. Raises StoreError.
        """

    @property
    def session(self) -> CrawlSession | None:
        """The crawler that this store works as; None unless `open` has joined a crawl."""

    def open(self, session: CrawlSession | None = None) -> int:
        """Connect, check the profile, join the crawl; return the number of pages in the index.

        With a session whose number is not 0, work as that crawler; else take a new number, with a lease held by
        `session.process`, by default this process. An open store that is opened again keeps its number.
        Raises StoreUnavailableError, or ProfileMismatchError for an index with other fingerprints.
        """

    def open_read_only(self) -> int:
        """Connect and check the profile as `open` does, without joining; return the number of pages in the index.

        Writes nothing. An absent index holds no page and stays absent. Only methods that neither add pages nor renew
        the lease may follow, or `open`.
        """

    def check_and_add(self, query: Query) -> Answer:
        """Decide about a page and remember it, atomically."""

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """The answers to many pages, in their order, as `check_and_add` would give them one after the other.

        The step of each page is atomic, the batch is not. An error is raised in the place of the answer that it
        prevented; the answers before it hold.
        """

    def find(self, query: Query) -> list[Record]:
        """Records that the query accepts, nearest first; changes nothing."""

    def forget(self, url_key: int) -> bool:
        """Remove the page with this URL key; False if there was none."""

    def clear(self) -> None:
        """Remove every page and the profile, whatever it was. Crawlers at work go on in the empty index.

        Who has not joined leaves no index behind: the next to join begins it with a profile of his own.
        """

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """Free the pages that have expired and the oldest beyond the limit, some at a time, saying how far it is."""

    def records(self) -> Iterator[list[Record]]:
        """Every page of the index, expired or not, about in the order of adding, some at a time.

        Pages that are added, removed or changed meanwhile may or may not be among them.
        """

    def load(self, records: Sequence[Record]) -> int:
        """Add pages as they are, with their times and copies, without looking for duplicates; how many were added.

        Pages whose URL key is known already are left out. For some thousand records at most. A store that is spread
        over servers raises StoreError for pages of unknown place.
        """

    def info(self) -> StoreInfo:
        """Figures of the index."""

    def heartbeat(self) -> None:
        """Say that this crawler is still at work; due once in every LEASE_SECONDS at least."""

    def close(self, *, leave: bool = True) -> None:
        """End the session's lease, unless `leave` is False, and disconnect; harmless when repeated."""


def shown_url(url: str) -> str:
    """A store URL without its password, for messages."""
    scheme, separator, rest = re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", url).partition("://")
    # A password may hold an @ or a / that should have been escaped; a path in front of an @ is none.
    credentials, at, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user if colon else ''}{colon}{'***@' if at else ''}{place}"
