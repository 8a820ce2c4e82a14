"""The contract of every store: look a page up and remember it, in one atomic step.

A store knows nothing of text, of similarity or of how probes are chosen. For every remembered page it keeps one key in
each permuted table, one key for its URL, and one record. It reads the ranges that a query probes, applies the query's
threshold to the records found there, and decides by three rules:

1. The URL is known, and not from another crawler that is at work: `revisit`; new text replaces the old (`revisits`).
2. A record in the ranges has the page's digest: `exact`, at the cost 0. Or the threshold accepts one: `near`. If all
   that are accepted have a worse rank than the page, the page replaces the nearest.
3. Otherwise the page is `new` and is added.

A page may be remembered before it is delivered. If its crawler dies meanwhile, the page is abandoned: it holds nobody
back, and the next page that resembles it takes its place.

Records older than the time to live count as absent. Each page that is added frees a few of them; `prune` frees all.
Each page that is added beyond the limit of pages evicts the oldest ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

from crawldedup.search.limits import MAX_CANDIDATES, MAX_KEYS
from crawldedup.stores.anchors import AnchorStore
from crawldedup.stores.layout import Layout as Layout
from crawldedup.stores.retention import FOR_EVER
from crawldedup.stores.retention import Pruned as Pruned
from crawldedup.stores.retention import Retention as Retention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.search.decision import Prefilter, WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.text.keys import Key

LEASE_SECONDS: Final = 120
"""A crawler without a heartbeat for this long is at work no more; see `CrawlSession`."""

DIGEST_MASK: Final = 0xFFFF_FFFF
UNKNOWN_SHARD: Final = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """A page as a store remembers it.

    `url_key` and `search` are 64-bit integers, `keys` are the page's keys in the layout's tables. `digest` has 32 bits,
    because it decides only between pages with accepted signatures. `url` may be empty: `url_key` identifies the page.
    `home` tells the partition of a page of the global scope in a store of several (see `search.routing`). `rank` is 0
    for the best of copies. `packed_text` is kept for as long as the page has this text; it may be empty.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    keys: tuple[int, ...]
    home: int | None = None
    rank: int = 0
    packed_text: bytes = b""


@dataclass(frozen=True, slots=True)
class Query:
    """A page to look up: what it is, where to look, and which records are accepted.

    `exact_only` asks for an equal digest, too (thin pages). `prefilter` rejects chance matches by their keys. All pages
    of one `shard_key` may be compared with each other; None are all of the index: a store on several servers keeps
    pages of one shard key together. Of the others, `route` tells which of so many partitions to ask, their own first.
    `key_id` names the key that the page was hashed with. `is_own` tells whether a record of its URL key and another URL
    is its own: for None, where the URLs name one page. One that `is_asked_again` is not counted twice as a copy.

    A page `on_its_way` is delivered when its URL key is among those `delivered` of a later query of its crawler, or
    given to `Store.deliver`. A cluster is told of many at once. `revisit_rule` accepts what counts as unchanged text.
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
    route: Callable[[int], tuple[int, ...]] | None = None
    key_id: int = 0
    is_own: bool | None = True
    on_its_way: bool = False
    delivered: tuple[int, ...] = ()
    is_asked_again: bool = False
    revisit_rule: WeightedThreshold | None = None

    @property
    def max_keys_per_side(self) -> int:
        """At most so many keys of one range are read on either side of the key that is probed for."""
        return max(1, self.max_keys // 8)


@dataclass(frozen=True, slots=True)
class Record:
    """A remembered page. Times are in seconds since 1970 (UTC).

    `shard_key` is that of `Query`, for `Store.load`, and UNKNOWN_SHARD if it cannot be told. Stores do not keep it.
    `packed_text` is empty but in what `Store.records` yields, and in the answer to a revisit with new text.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    added_at: int
    seen_at: int
    copies: int
    home: int | None = None
    shard_key: int | None = None
    rank: int = 0
    packed_text: bytes = b""


class Status(StrEnum):
    """How a page was decided."""

    NEW = "new"
    NEAR = "near"
    EXACT = "exact"
    REVISIT = "revisit"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query.

    `record` is the earlier page with its text, and with this one counted in; None for a new page. `changed` is True
    for a revisit with new text, `abandoned` if the last was never delivered. With `replaces`, the page took the
    record's place. `pages` are in the index; `candidates` were compared.
    """

    status: Status
    record: Record | None
    changed: bool
    pages: int
    candidates: int
    abandoned: bool = False
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class CrawlSession:
    """Identifies one crawler at work on an index, and the process that holds its lease.

    Worker processes of one crawler share its session: a page that one of them has checked is a revisit for the others.
    A lease lasts 120 seconds and is renewed by checks. It outlives a worker that dies. It ends early when the process
    that holds it has exited, or when the clock goes back.

    Attributes:
        number: The number of the crawler within the index, from 1. A session with the number 0 asks for a new number.
        process: The process that holds the lease, as "host:pid:start". The start may be empty.

    Example:
        >>> from crawldedup import Deduplicator
        >>> crawler = Deduplicator("sqlite:///seen.sqlite")
        >>> crawler.open()
        >>> worker = Deduplicator("sqlite:///seen.sqlite")
        >>> worker.open(crawler.session)
        >>> worker.session == crawler.session
        True
        >>> worker.close(leave=False)
        >>> crawler.close()
    """

    number: int
    process: str


NO_SESSION: Final = CrawlSession(0, "")
"""Stands for a session before a store has joined. No crawler has the number 0."""


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Holds the figures of one index.

    Attributes:
        pages: How many pages the index holds. Pages that have expired count until they are freed.
        bytes: The size of the index in bytes, perhaps estimated.
        table_bytes: The part of `bytes` that the search tables take, perhaps estimated.
        tables: The number of search tables.
        profile: A text that names all that decides the fingerprints of the index.
        namespace: The name of the index within its store.
        store: The URL of the store, without its password.
        partitions: The number of partitions on a Redis Cluster; None for an index in one piece.
        warnings: Sentences on the configuration of the server, if it puts the index at risk.
    """

    pages: int
    bytes: int
    table_bytes: int
    tables: int
    profile: str
    namespace: str
    store: str
    partitions: int | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, layout: Layout, pages: int, size: int, table_bytes: int, **others: Any) -> Self:
        """Return the figures of an index with this layout.

        Args:
            layout: Gives `tables`, `profile` and `namespace`.
            pages: As the attribute.
            size: The attribute `bytes`.
            table_bytes: As the attribute.
            **others: Further attributes.
        """
        named: dict[str, Any] = {"tables": len(layout.tables), "profile": layout.profile, "namespace": layout.namespace}
        return cls(pages=pages, bytes=size, table_bytes=table_bytes, **named, **others)


class Store(AnchorStore, Protocol):
    """One index: a namespace of a store. Methods raise `StoreError` and its kin, and are safe to call again."""

    is_persistent: ClassVar[bool]
    """True if its indexes outlive the program."""

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
    def partitions(self) -> int:
        """In how many parts of about one size the pages are kept; each is looked for in a few."""

    @property
    def layout(self) -> Layout:
        """The layout, once opened with the key of the index: methods that find another there raise KeyMismatchError."""

    def use_key(self, key: Key) -> None:
        """Begin with this key what is absent, or empty after `clear`."""

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

        Writes nothing: an absent index stays absent. Only methods that add no pages may follow, or `open`.
        """

    def check_and_add(self, query: Query) -> Answer:
        """Decide about a page and remember it, in one atomic step."""

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """Yield the answers that `check_and_add` would give one after the other, in the same order.

        Each page is one atomic step, the batch is not. An error is raised in place of the answer that it prevented; the
        iteration can go on behind any but StoreUnavailableError.
        """

    def deliver(self, url_keys: Sequence[int]) -> None:
        """Note that the pages with these URL keys, which this crawler had on their way, were delivered."""

    def find(self, query: Query) -> list[Record]:
        """Return the records that the query accepts, nearest first. Changes nothing."""

    def text_of(self, url_key: int, retention: Retention) -> bytes:
        """Return the text that is kept of the page with this URL key; nothing if there is none, or it has expired."""

    def forget(self, url_key: int) -> bool:
        """Remove the page with this URL key; return False if there was none."""

    def clear(self) -> None:
        """Remove every page and the profile, even a foreign one. Crawlers at work go on in the empty index.

        A store that has not joined leaves no index behind: the next one to join gives it a profile.
        """

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """Free expired pages, then the oldest beyond the limit; yield the progress now and then."""

    def records(self) -> Iterator[list[Record]]:
        """Yield every page of the index in lists, expired or not, about in the order of adding.

        Pages added, removed or changed meanwhile may or may not be among them.
        """

    def load(self, records: Sequence[Record]) -> int:
        """Add records as they are, but for known URL keys; return how many. Raises StoreError for an unknown place."""

    def note(self, name: str, text: str | None = None) -> str:
        """Return the note of this name, "" if there is none; write it before if a text is given.

        Notes are short texts about an index. `clear` removes them. Of crawlers that write at once, one has its way.
        """

    def info(self) -> StoreInfo:
        """Return figures of the index."""

    def heartbeat(self) -> None:
        """Renew the session's lease; due at least once in every LEASE_SECONDS."""

    def close(self, *, leave: bool = True) -> None:
        """End the session's lease, unless `leave` is False, and disconnect; harmless when repeated."""
