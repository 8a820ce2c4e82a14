"""The contract of every store: look pages up and remember them, each in one atomic step.

A store knows nothing of text, of similarity, or of how probes are chosen. Of each page it keeps a
`Record`, a key for its URL, and a key in each permuted table. A `Query` says in which ranges of the
tables to look, and its rule says which of the records found there resemble the page. The store
decides by the first of three rules that applies:

1. The URL is known, and not from another crawler that is at work: `revisit`. New text replaces the
   old.
2. A record in the ranges has the page's digest: `exact`, at the cost 0. Or the rule accepts one:
   `near`. Or a thin page is no changed revisit of what another crawler at work has: `near`, too. If
   all that are accepted have a worse rank than the page, the page replaces the nearest; else the
   nearest counts a copy.
3. Otherwise the page is `new` and is added.

A page may be remembered before it is delivered. If its crawler dies meanwhile, the page is
abandoned: it holds nobody back, and the next page that resembles it takes its place.

Pages older than the time to live count as absent. Each page that is added frees a few of them, and
a few of the oldest pages beyond the limit of pages. Of paragraphs, a store keeps which pages hold
which anchors; see `AnchorQuery`.

`Store` has the methods; before it are the values that they take and return, behind it how a URL
chooses a store. A new one is a class that follows `Store`, and one line in `_STORES`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, Self

from crawldedup.checks import LONGEST_KEY
from crawldedup.errors import KeyMismatchError, ProfileMismatchError, StoreError
from crawldedup.key import NO_KEY, Key
from crawldedup.search.decision import MAX_CANDIDATES, Prefilter, WeightedThreshold
from crawldedup.search.plan import MAX_KEYS, ProbePlan, Table
from crawldedup.verdict import Kind

# A crawler without a heartbeat for this long is at work no more; see `CrawlSession`.
LEASE_SECONDS: Final = 120
# For a page that is added, so few others are freed that an index far above its limits shrinks
# gradually.
MAX_EVICTED: Final = 2  # of the oldest beyond the limit of pages
MAX_FREED: Final = 8  # of those that expired and were met
MAX_SWEPT: Final = 4  # examined in turn, and freed if they have expired
MAX_RETIRED: Final = 4  # whose anchors are too old or too many
FEW: Final = 16  # compared pages, of which the nearest one that is not accepted is told from afar
MOST_HOLDERS: Final = 8  # pages of one anchor: a text on more pages is nobody's
PAGE_BITS: Final = 40
DIGEST_MASK: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class PageName:
    """How a store names a page.

    Pages of one `shard_key` may be compared with each other; None are all of the index.
    """

    url_key: int
    shard_key: int | None = None

    @property
    def page(self) -> int:
        """The 40 bits by which anchors name their pages."""
        return self.url_key >> (64 - PAGE_BITS)


@dataclass(frozen=True, slots=True)
class Record:
    """A page as a store remembers it.

    The store fills in its copies, and its times, in seconds since 1970 (UTC).

    `url_key` and `search` have 64 bits, `digest` 32: it is compared with those of the few records
    in the ranges alone. `url` may be empty, as `url_key` identifies the page. `rank` is 0 for the
    best of copies.
    """

    url: str
    url_key: int
    search: int
    signature: bytes
    digest: int
    rank: int = 0
    packed_text: bytes = b""
    added_at: int = 0
    seen_at: int = 0
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long pages are remembered from their last visit, or if `refresh` is False from when they
    were added.

    Of more than `max_pages`, those added first are forgotten.
    """

    ttl_seconds: int | None = None
    refresh: bool = True
    max_pages: int | None = None

    def is_live(self, added_at: int, seen_at: int, now: int) -> bool:
        return (
            self.ttl_seconds is None
            or (seen_at if self.refresh else added_at) >= now - self.ttl_seconds
        )


FOR_EVER: Final = Retention()


@dataclass(frozen=True, slots=True)
class Query:
    """A page to look up: what it is, where to look, and which records are accepted."""

    record: Record
    keys: tuple[int, ...]  # of the record, in the layout's tables
    plan: ProbePlan
    rule: WeightedThreshold
    prefilter: Prefilter | None = None  # rejects chance matches by their keys
    retention: Retention = FOR_EVER
    exact_only: bool = False  # an equal digest is asked for, too (thin pages)
    max_candidates: int = MAX_CANDIDATES
    max_keys: int = MAX_KEYS
    shard_key: int | None = None
    key_id: int = 0  # names the key that the page was hashed with
    # Until a later query of its crawler, or `Store.deliver`, names it among those delivered.
    is_pending: bool = False
    delivered: tuple[PageName, ...] = ()
    revisit_rule: WeightedThreshold | None = None  # accepts what counts as unchanged text

    @property
    def max_keys_per_side(self) -> int:
        """Limit of the keys of one range that are read on either side of the key that is probed
        for.
        """
        return max(1, self.max_keys // 8)

    def has_new_text(self, signature: bytes, digest: int, *, abandoned: bool = False) -> bool:
        """Return whether a revisit has other text than what is remembered.

        `redis/lua/check.lua` does the same.

        Text that counts as unchanged leaves the remembered text as it is: the one that was
        delivered last. If it took its place, a page that changes a little at each visit would never
        be delivered again.
        """
        if digest == self.record.digest:
            return False
        rule = self.revisit_rule
        return rule is None or abandoned or rule.cost(self.record.signature, signature) > rule.limit


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query.

    Its record has its earlier text if it is a changed revisit, or near a page with text.
    """

    kind: Kind  # never "thin"
    record: Record | None  # the earlier page, with this one counted in; None for a new page
    changed: bool  # a revisit with new text
    pages: int  # in the index
    candidates: int  # compared
    abandoned: bool = False  # a revisit of what was never delivered
    replaces: bool = False  # the page took the record's place
    # Of a new page: the nearest that is not accepted, up to the cost `far`, or `reach` if more than
    # a FEW are compared.
    rejected: Record | None = None


Answers = list[
    Answer | StoreError
]  # to a batch: an error stands in the place of the page that it befell


@dataclass(frozen=True, slots=True)
class AnchorQuery:
    """The anchors of a page's text, all of them different."""

    url: str
    name: PageName
    anchors: tuple[int, ...]
    ttl_seconds: int | None = None  # for which pages are kept from when they were added
    most_anchors: int = 1 << 40  # of all pages that are kept
    key_id: int = 0


@dataclass(frozen=True, slots=True)
class Holders:
    """Which pages took each anchor of a query in before its page did, in order; None for one that
    too many hold.
    """

    of: tuple[tuple[int, ...] | None, ...]
    urls: Mapping[int, str]  # of pages that have not expired: others do not count
    is_known: bool = False  # the page of the query was added before


@dataclass(frozen=True, slots=True)
class Layout:
    """What an index is made for.

    Its profile names all that decides its fingerprints, and ends with its key's name.

    An index that begins takes the key; with `takes_any_key`, one that exists keeps its own.
    """

    namespace: str
    profile: str
    tables: tuple[Table, ...]
    signature_bytes: int
    key: Key = NO_KEY
    takes_any_key: bool = False

    def with_key(self, key: Key) -> Self:
        return replace(
            self, profile=self.profile.removesuffix(self.key.suffix) + key.suffix, key=key
        )

    def keys(self, search: int) -> tuple[int, ...]:
        return tuple(table.key(search) for table in self.tables)

    def check_profile(self, profile: str, secret: bytes, place: str) -> Self:
        """Return the layout of an index of this profile and key.

        Raises ProfileMismatchError if it is not for us.
        """
        layout = self.with_key(Key(secret[:LONGEST_KEY])) if self.takes_any_key else self
        if profile != layout.profile:
            where = f"the namespace {self.namespace!r} of {place}"
            raise ProfileMismatchError(where, index_profile=profile, own_profile=layout.profile)
        return layout


def key_changed(place: str) -> KeyMismatchError:
    """Return the error for a query whose `key_id` is not that of the index."""
    return KeyMismatchError(
        f"the index in {place} was begun again with another key, so that what was hashed before "
        "cannot be compared with it: repeat the call with a new fingerprint"
    )


@dataclass(frozen=True, slots=True)
class CrawlSession:
    """Identifies one crawler at work on an index, and the process that holds its lease.

    A lease lasts 120 seconds and is renewed by heartbeats. It ends early when its process has
    exited. Processes that share a session are one crawler: a page that one of them has checked is a
    revisit for the others.
    """

    #: The number of the crawler within the index, from 1. A session with the number 0 asks for a
    #: new one.
    number: int
    process: str  #: The process that holds the lease, as "host:pid:start". The start may be empty.


NO_SESSION: Final = CrawlSession(0, "")  # before a store has joined: no crawler has the number 0


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """Holds the figures of one index."""

    pages: (
        int  #: How many pages the index holds. Pages that have expired count until they are freed.
    )
    bytes: int  #: The size of the index in bytes, perhaps estimated.
    table_bytes: int  #: The part of `bytes` that the search tables take, perhaps estimated.
    tables: int  #: The number of search tables.
    profile: str  #: A text that names all that decides the fingerprints of the index.
    namespace: str  #: The name of the index within its store.
    store: str  #: The URL of the store, without its password.
    warnings: tuple[str, ...] = ()  #: Sentences on what puts the index at risk.


class Store(Protocol):
    """One index: a namespace of a store.

    Methods raise `StoreError` and its kin, and are safe to call again.
    """

    is_persistent: ClassVar[bool]  # whether its indexes outlive the program
    # Once opened with the key of the index: methods that find another there raise KeyMismatchError.
    layout: Layout
    # The crawler that this store works as; NO_SESSION unless `open` has joined a crawl.
    session: CrawlSession

    # Take a URL of one of its schemes, and connect to nothing. Raises ConfigurationError for what
    # is wrong with it.
    def __init__(self, url: str, layout: Layout) -> None: ...
    # Connect, check the profile, join the crawl; return the number of pages in the index. With a
    # session whose number is not 0, work as that crawler; else take a new number, or keep one's
    # own, with a lease held by `session.process`, by default this process. Raises
    # ProfileMismatchError for other fingerprints.
    def open(self, session: CrawlSession | None = None) -> int: ...
    # Open an index only to look; an absent one stays so. Only methods that add no pages may follow,
    # or `open`.
    def open_read_only(self) -> int: ...
    # Renew the session's lease; due at least once in every LEASE_SECONDS.
    def heartbeat(self) -> None: ...
    # End the session's lease, unless `leave` is False, and disconnect; harmless when repeated.
    def close(self, *, leave: bool = True) -> None: ...

    # Note what the queries name as delivered; then decide about pages and remember them, one after
    # the other. Return an answer for each, in their order. Each page is one atomic step, the batch
    # is not. A store that cannot be reached gives StoreUnavailableError for all pages left. Raises
    # no error but ProfileMismatchError.
    def check(self, queries: Sequence[Query]) -> Answers: ...
    # Return the records that each query accepts, nearest first. Changes nothing.
    def find(self, queries: Sequence[Query]) -> list[list[Record]]: ...
    # Note that these pages, which this crawler had pending, were delivered.
    def deliver(self, names: Sequence[PageName]) -> None: ...
    # Return the pages of these names with their texts; None for one that is not there, or has
    # expired.
    def remembered(
        self, names: Sequence[PageName], retention: Retention
    ) -> list[Record | None]: ...
    # Remove a page and its anchors, or its anchors alone; return False if there was neither.
    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool: ...

    # Return which pages held the anchors of a page before; add it in the same step, or bring it up
    # to date.
    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders: ...

    # Remove every page and the profile, even a foreign one. Crawlers at work go on in the empty
    # index.
    def clear(self) -> None: ...
    # Return the note of this name, "" if there is none; write it before if a text is given. `clear`
    # removes it.
    def note(self, name: str, text: str | None = None) -> str: ...
    # Return figures of the index.
    def info(self) -> StoreInfo: ...
