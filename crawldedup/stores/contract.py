"""What every store promises: it looks pages up and remembers them, one atomic step per page.

A store knows nothing about text, about similarity, or about how a search is planned. For each page
it keeps a `Record`, a key that identifies the page by its URL, and one search key in every table. A
`Query` brings the ranges of the tables to read, and a rule that tells which of the records found
there resemble the page. `Store.check` then applies the first of these rules that fits:

1. The URL is known, and the crawler that checked the page last is this one or no longer running:
   the page is a `revisit`. If its text has changed, the new text replaces the remembered one.
2. The page resembles a remembered one, and is not its sibling. If a record in the ranges has the
   same digest, the page is an `exact` duplicate, and its cost counts as 0; otherwise, if the rule
   accepts a record, the page is a `near` duplicate. A thin page (`Query.exact_only`) is also `near`
   if another running crawler already holds its URL, and the text there counts as unchanged. The
   duplicate is counted as a copy of the nearest accepted record, unless every accepted record has a
   worse rank than the page: then the page takes the place of the nearest one.
3. Otherwise the page is `new`, and the store adds it.

Similarity alone doesn't decide, because two pages of one site may share nearly all of their text
and still have different content. A record whose marks conflict with those of the page
(`Query.conflict_with`) is a sibling. It is passed over before anything else is decided, as if it
had not been found, even if its digest is the same. Siblings fill the index with pages that have
nearly the same text, so records are also filed under up to four exact keys
(`crawldedup.marks.exact_keys`). Besides the records in the ranges of a query, a store compares the
16 records that were added last under each exact key of the page. A record learns the marks that it
lacks from its copies, also from a better copy that replaces it, and from unchanged revisits
(`crawldedup.marks.learning`). A changed revisit brings its own marks.

Views of one page at other addresses may have only half of their text in common. If it is certain
that the addresses only differ in a view (`Query.has_certain_view`), a record with a cost of at most
`of_views` counts as equal, and the record of a thin page counts as equal at any cost. So does a
record that, as the better copy, has replaced a page of this site with this text
(`crawldedup.marks.learning.is_former_text`). In these cases, the page is a `near` duplicate.

A page can be remembered before its crawler has delivered it; until then it is pending. If the
crawler dies first, the page is abandoned: it no longer makes other pages duplicates, and the next
page that resembles it takes its place.

A page past its time to live counts as absent. Nothing sweeps the whole index: each page that is
added removes a few expired ones, and a few of the oldest if the index holds too many pages.

A store that can recognize single paragraphs is an `AnchorStore` as well: see `AnchorQuery`.

To add a store, write a class that follows `Store` and register its URL schemes, as
`crawldedup.stores.registry` describes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol, Self

from crawldedup.checks import LONGEST_KEY
from crawldedup.errors import KeyMismatchError, StoreError
from crawldedup.key import NO_KEY, Key
from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import Conflict, are_certain_views, conflict, shown_conflict
from crawldedup.marks.visits import shows_new_comments
from crawldedup.search.decision import MAX_CANDIDATES, Prefilter, WeightedThreshold
from crawldedup.search.plan import MAX_KEYS, ProbePlan, Table
from crawldedup.stores.profiles import mismatch
from crawldedup.verdict import Kind

#: A crawler that sends no heartbeat for this long counts as dead; see `CrawlSession`.
LEASE_SECONDS: Final = 120
# Each added page removes at most this many others, so no check takes long. An index far above its
# limits shrinks little by little.
#: The oldest pages, if the index holds more than `Retention.max_pages`.
MAX_EVICTED: Final = 2
#: Expired pages that the search for look-alikes came across.
MAX_FREED: Final = 8
#: Pages that are examined in turn, and removed if they have expired.
MAX_SWEPT: Final = 4
#: If at most this many records were compared, the nearest rejected one is reported up to the cost
#: `far` of `search.decision.Crowd`, otherwise up to `reach`, because one of many is near by chance.
FEW: Final = 16
#: The bits of a URL key by which anchors refer to their pages.
PAGE_BITS: Final = 40
#: The bits of a page's hash that a `Record.digest` keeps.
DIGEST_MASK: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class PageName:
    """The name of a page within an index."""

    #: A 64-bit hash that identifies the page by its URL.
    url_key: int
    #: Only pages with the same shard key are compared with each other, so a store may keep each
    #: group on a different machine. With None, all pages of the index are compared.
    shard_key: int | None = None

    @property
    def page(self) -> int:
        """The 40 leading bits of the URL key, by which anchors refer to the page."""
        return self.url_key >> (64 - PAGE_BITS)


@dataclass(frozen=True, slots=True)
class Record:
    """A page as a store remembers it.

    The store fills in `added_at`, `seen_at` and `copies` itself, whatever a query says.
    """

    #: The URL. It may be empty, because `url_key` identifies the page.
    url: str
    #: A 64-bit hash that identifies the page by its URL.
    url_key: int
    #: 64 bits that are close to those of similar pages. Search keys are made from them.
    search: int
    #: The bits from which a `WeightedThreshold` decides whether two pages are similar.
    signature: bytes
    #: A 32-bit hash of the text, which is only compared within the ranges of a query.
    digest: int
    #: How good this copy is; 0 is the best.
    rank: int = 0
    #: The compressed text, or nothing if texts are not kept.
    packed_text: bytes = b""
    #: The marks that show which content the page is: see `crawldedup.marks.packing`. They are empty
    #: for a text without a name.
    marks: bytes = b""
    #: When the page was added, in seconds since 1970 (UTC).
    added_at: int = 0
    #: When the page or a copy of it was last checked, in seconds since 1970 (UTC).
    seen_at: int = 0
    #: The number of duplicates of this page that were found.
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """How long an index remembers pages, and how many."""

    #: The time to live, or None for forever.
    ttl_seconds: int | None = None
    #: Whether the time to live starts over at each visit, rather than when the page was added.
    refresh: bool = True
    #: The number of pages above which the oldest ones are forgotten.
    max_pages: int | None = None

    def is_live(self, added_at: int, seen_at: int, now: int) -> bool:
        """Return whether a page with these times has not expired yet."""
        if self.ttl_seconds is None:
            return True
        since = seen_at if self.refresh else added_at
        return since >= now - self.ttl_seconds


FOR_EVER: Final = Retention()


@dataclass(frozen=True, slots=True)
class Query:
    """A page to look up: its record, where to search, and which records resemble it."""

    #: The record that the store remembers if it adds the page.
    record: Record
    #: The search keys of the record, one per table of the layout.
    keys: tuple[int, ...]
    #: The ranges of search keys to read, best first.
    plan: ProbePlan
    #: Accepts the records that resemble the page.
    rule: WeightedThreshold
    #: Rejects most chance matches by their search keys alone, before their records are read.
    prefilter: Prefilter | None = None
    #: Which remembered pages have expired, and when there are too many.
    retention: Retention = FOR_EVER
    #: Whether only the same digest makes a duplicate, as for thin pages, which have little text.
    exact_only: bool = False
    #: The maximum number of records to compare with the page.
    max_candidates: int = MAX_CANDIDATES
    #: The maximum number of search keys to read.
    max_keys: int = MAX_KEYS
    #: See `PageName.shard_key`.
    shard_key: int | None = None
    #: Identifies the secret key with which the page was hashed; see `Key.id`.
    key_id: int = 0
    #: Whether the page is pending from now on, until its crawler lists it in `delivered` of a later
    #: query, or passes it to `Store.deliver`.
    is_pending: bool = False
    #: Pages of this crawler that have been delivered in the meantime.
    delivered: tuple[PageName, ...] = ()
    #: Hashes of the views in the page's address that are proved by now: see `has_certain_view`.
    #: Records may be older than the proof.
    proved_views: tuple[int, ...] = ()
    #: Accepts texts that count as unchanged at a revisit. Without it, digests have to be equal.
    revisit_rule: WeightedThreshold | None = None

    def conflict_with(self, marks: bytes) -> Conflict:
        """Return what tells the page apart from a similar record; `Conflict.NONE` if nothing does.

        `redis/lua/lib/marks.lua` applies the same rule: see `crawldedup.marks.relation`.

        Args:
            marks: The marks of the record.
        """
        own, other = unpacked(self.record.marks), unpacked(marks)
        return Conflict.NONE if own is None or other is None else conflict(own, other)

    def has_certain_view(self, marks: bytes) -> bool:
        """Return whether a record certainly belongs to the same page, except for a view.

        Such a record counts as equal up to the cost `Crowd.of_views`, however large the crowd is.

        Args:
            marks: The marks of the record.
        """
        own, other = unpacked(self.record.marks), unpacked(marks)
        if own is None or other is None:
            return False
        return are_certain_views(own, other, self.proved_views)

    def shows_other_marks(self, marks: bytes) -> bool:
        """Return whether marks in the content of a revisited page conflict with the record's."""
        own, other = unpacked(self.record.marks), unpacked(marks)
        if own is None or other is None:
            return False
        return shown_conflict(own.content, other.content) is not Conflict.NONE

    @property
    def max_keys_per_side(self) -> int:
        """The maximum number of keys to read on either side of the page's own key in one range."""
        return max(1, self.max_keys // 8)

    def has_new_text(self, record: Record, *, abandoned: bool = False) -> bool:
        """Return whether a revisited page has different text, marks or comments than before.

        Text that counts as unchanged does not replace the remembered text, which is the text that
        was delivered last. Otherwise a page that changes a little at each visit would never be
        delivered again. With `revisit_rule`, a new comment alone doesn't count either.
        `redis/lua/check.lua` applies the same rule.

        Args:
            record: What the store remembers of the page.
            abandoned: Whether the remembered text was never delivered, so every other text is new.
        """
        if self.shows_other_marks(record.marks):
            return True
        rule = None if abandoned else self.revisit_rule
        # A comment is a small change.
        if rule is None and shows_new_comments(self.record.marks, record.marks):
            return True
        if record.digest == self.record.digest:
            return False
        return rule is None or rule.cost(self.record.signature, record.signature) > rule.limit


@dataclass(frozen=True, slots=True)
class Answer:
    """A store's decision about the page of a query."""

    #: This is never `Kind.THIN`, because stores don't know about thin pages.
    kind: Kind
    #: The earlier page, with this copy counted, or None for a new page. It has its earlier text for
    #: comparison if the page is a changed revisit, or is `near` and has a text as well.
    record: Record | None
    #: Whether the page is a revisit with new text.
    changed: bool
    #: The number of pages in the index.
    pages: int
    #: The number of records that were compared with the page.
    candidates: int
    #: Whether the page is a revisit of one that was never delivered.
    abandoned: bool = False
    #: Whether the page has replaced `record`.
    replaces: bool = False
    #: For a new page, the nearest record that was not accepted, if it is near enough; see `FEW`.
    #: A sibling comes before records that are less similar.
    rejected: Record | None = None
    #: What tells the page apart from `rejected` if that is a sibling.
    conflict: Conflict = Conflict.NONE


#: The answers to a batch. For a page that could not be checked, there is an error instead.
Answers = list[Answer | StoreError]


@dataclass(frozen=True, slots=True)
class Layout:
    """The properties of an index. All programs that share an index have to agree on them."""

    #: The name of the index within its store.
    namespace: str
    #: A text that names everything that affects fingerprints. It ends with `key.suffix`.
    profile: str
    #: The search tables.
    tables: tuple[Table, ...]
    #: The length of a `Record.signature`.
    signature_bytes: int
    #: The secret key with which pages are hashed. A new index gets this key.
    key: Key = NO_KEY
    #: Whether an existing index may have another key, which the layout then uses.
    takes_any_key: bool = False

    def with_key(self, key: Key) -> Self:
        """Return the same layout with another secret key."""
        return replace(
            self, profile=self.profile.removesuffix(self.key.suffix) + key.suffix, key=key
        )

    def keys(self, search: int) -> tuple[int, ...]:
        """Return the search keys of 64 search bits, one per table."""
        return tuple(table.key(search) for table in self.tables)

    def check_profile(self, profile: str, secret: bytes, place: str) -> Self:
        """Check that an existing index can be used with this layout.

        Args:
            profile: The profile of the index.
            secret: The secret key of the index.
            place: The store, as an error message should name it.

        Returns:
            The layout of the index, which has the key of the index.

        Raises:
            ProfileMismatchError: The index was made with other options.
        """
        layout = self.with_key(Key(secret[:LONGEST_KEY])) if self.takes_any_key else self
        if profile != layout.profile:
            raise mismatch(f"the namespace {self.namespace!r} of {place}", profile, layout.profile)
        return layout


def key_changed(place: str) -> KeyMismatchError:
    """Return the error for a query that was hashed with another key than that of the index."""
    return KeyMismatchError(
        f"the index in {place} was started again with another key, so earlier hashes cannot be "
        "compared with it: repeat the call with a new fingerprint"
    )


@dataclass(frozen=True, slots=True)
class CrawlSession:
    """One crawler that works on an index, and the process that holds its lease.

    A lease lasts 120 seconds, and heartbeats renew it. It ends early if its process exits.
    Processes that share a session count as one crawler: a page that one of them has checked is a
    revisit for the others.
    """

    #: The number of the crawler within the index, from 1. With 0, the index chooses a new number.
    number: int
    #: The process that holds the lease, as "host:pid:start". The start may be empty.
    process: str


#: The session of a store that has not joined a crawl. No crawler has the number 0.
NO_SESSION: Final = CrawlSession(0, "")


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The figures of one index."""

    #: The number of pages in the index. Expired pages count until they are removed.
    pages: int
    #: The size of the index in bytes, possibly an estimate.
    bytes: int
    #: The part of `bytes` that the search tables take, possibly an estimate.
    table_bytes: int
    #: The number of search tables.
    tables: int
    #: A text that names everything that decides the fingerprints of the index.
    profile: str
    #: The name of the index within its store.
    namespace: str
    #: The URL of the store, without its password.
    store: str
    #: Sentences about what puts the index at risk.
    warnings: tuple[str, ...] = ()


class Store(Protocol):
    """One index: a namespace of a store, for several threads at once, and also after a fork.

    Methods raise `StoreError` or one of its subclasses if the store fails, and can then be called
    again: `StoreUnavailableError` if it cannot be reached, `KeyMismatchError` if the index has
    another key than `layout`.

    Args:
        url: The URL of the store, with one of the class's schemes. Making a store connects to
            nothing.
        layout: The index to use, and what it is made for.

    Raises:
        ConfigurationError: The URL is wrong. The message must not show a password.
    """

    #: The URL schemes that choose this class, in lower case and without the colon.
    schemes: ClassVar[tuple[str, ...]]
    #: Whether indexes outlive the program.
    is_persistent: ClassVar[bool]
    #: What the index is made for. Once the index is open, the layout has its key.
    layout: Layout
    #: The crawler that this store works for, or `NO_SESSION` unless `open` has joined a crawl.
    session: CrawlSession

    def __init__(self, url: str, layout: Layout) -> None: ...

    def open(self, session: CrawlSession | None = None) -> int:
        """Connect, create the index if it does not exist yet, and join the crawl.

        Args:
            session: The crawler to work as. Without one, or if its number is 0, the store keeps
                its number, or gets a new one. `session.process` holds the lease, by default this
                process.

        Returns:
            The number of pages in the index.

        Raises:
            ProfileMismatchError: The index was made with other options.
        """

    def open_read_only(self) -> int:
        """Connect, but neither join a crawl nor create the index.

        Until `open` is called, only methods that add no pages may follow.

        Returns:
            The number of pages in the index, 0 if there is no index.

        Raises:
            ProfileMismatchError: The index was made with other options.
        """

    def heartbeat(self) -> None:
        """Renew the lease of the session. This is due at least once in `LEASE_SECONDS`."""

    def close(self, *, leave: bool = True) -> None:
        """Disconnect. Closing a store more than once is harmless.

        Args:
            leave: Whether to end the lease of the session. Pass False if another process continues
                with it.
        """

    def check(self, queries: Sequence[Query]) -> Answers:
        """Decide about pages and remember them, one after the other.

        First, the pages in `Query.delivered` of all queries are marked as delivered. Each page is
        one atomic step; the batch as a whole is not.

        Args:
            queries: The pages, in the order in which they are decided about.

        Returns:
            An answer for each query, in the same order. If a page fails, there is a `StoreError`
            instead. If the store cannot be reached, this is a `StoreUnavailableError` for every
            remaining page.

        Raises:
            ProfileMismatchError: The index was replaced by one made with other options. All other
                errors are returned in place of an answer.
        """

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        """Look pages up without changing anything.

        Returns:
            The records that each query accepts and similar siblings, nearest first, without texts.
        """

    def deliver(self, names: Sequence[PageName]) -> None:
        """Mark the pages of these names as delivered, if this crawler had them pending."""

    def remembered(self, names: Sequence[PageName], retention: Retention) -> list[Record | None]:
        """Return the records of the pages of these names, in their order and with their texts.

        If a page isn't in the index, or has expired according to `retention`, there is None
        instead.
        """

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        """Remove a page together with its anchors, or with `anchors_alone` only its anchors.

        Returns:
            Whether there was anything to remove. A store without anchors never has any to remove.
        """

    def clear(self) -> None:
        """Remove all pages, anchors and notes, and the profile.

        This works for an index made with other options as well. Running crawlers continue in the
        empty index.
        """

    def note(self, name: str, text: str | None = None) -> str:
        """Read or write a note: a text that is stored with the index until `clear`.

        Args:
            name: The name of the note.
            text: The text to write. With None, the note is only read.

        Returns:
            The text of the note after the call; "" if there is none.
        """

    def info(self) -> StoreInfo:
        """Return the figures of the index."""
