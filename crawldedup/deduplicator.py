"""The way of a page: read it, make a query, ask the store, give a verdict; and the index that it
goes through.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, repeat
from operator import attrgetter
from typing import Any, Final, Self, TypeVar

from crawldedup import checks, errors
from crawldedup.errors import CrawlDedupError, PageError, StoreError, StoreUnavailableError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, Fingerprint
from crawldedup.index.explain import Explanation, explained
from crawldedup.index.paragraphs import coverage
from crawldedup.index.queries import TABLES, QueryBuilder, preview, verdict_of
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.difference import unpacked_text
from crawldedup.reading.reader import Content, PageContent, PageReader, Read
from crawldedup.reading.volatile import VolatileLines
from crawldedup.stores import contract, registry
from crawldedup.stores.contract import Answer, CrawlSession, PageName, Query, Record
from crawldedup.verdict import Match, Verdict

BATCH: Final = 100  # So many pages are one transaction, or one round trip.
BATCH_SECONDS: Final = 0.5  # A batch that took this long to read goes to the store as it is.
HEARTBEAT_SECONDS: Final = 20.0
_VOLATILE_NOTE: Final = "volatile"
_log: Final = logging.getLogger(__name__)

T = TypeVar("T")
Pair = tuple[Page, Fingerprint]
Result = Verdict | CrawlDedupError
_LASTING: Final = (StoreUnavailableError, errors.StoreFullError)  # another try would end alike
OnUnreadable = Callable[[Page, PageError], None]


class Deduplicator:
    """Recognises pages that were seen before, in the store that its URL names.

    The first use opens the store. Only what may add pages creates an index or joins a crawl.
    Verdicts come in the order of the calls. Threads may share an instance. A process that is forked
    goes on as the same crawler.

    Methods that take `**page` take what `Page` takes, by keyword. A method that asks the store
    raises StoreError if the store cannot answer, and can then be called again; ClosedError after
    `close`. The first one raises what `open` does.

    Args:
        store: The URL of the store; see the option `store`.
        **options: The options of `Options` by keyword.

    Attributes:
        options: The options, checked.
        pages: About how many pages the index held when it was last asked; 0 before.

    Example:
        >>> from crawldedup import Deduplicator
        >>> story = "The river ferry runs every hour from the harbour. " * 9
        >>> with Deduplicator("sqlite:///seen.sqlite", ttl="30d") as dedup:
        ...     first = dedup.check("https://news.example/", html=f"<p>{story}</p>")
        ...     second = dedup.check("https://copy.example/", html=f"<b>{story}</b>")
        >>> print(first.kind, second.kind, second.original)
        new exact_duplicate https://news.example/
    """

    def __init__(self, store: str = "memory://", **options: Any) -> None:
        self.options = Options.from_values({"store": store, **options})
        self._reader = PageReader(self.options)
        self._queries = QueryBuilder(self.options)
        secret: Any = self.options.key
        profile = f"{self._reader.profile}/{len(TABLES)}x{SEARCH_BITS}"
        layout = contract.Layout(
            self.options.namespace, profile, TABLES, VERIFY_BITS // 8, takes_any_key=secret is None
        )
        self._store = registry.make_store(
            store,
            layout.with_key(Key.random() if secret is None else Key(secret)),
            paragraphs=bool(self.options.paragraphs),
        )
        self.pages = 0
        self._is_open = self._is_closed = False
        self._next_heartbeat = self._next_look = 0.0
        self._wanted_session: CrawlSession | None = None
        self._delivered: dict[Page, None] = {}
        self.volatile_lines = VolatileLines()

    @classmethod
    def from_options(cls, options: Options) -> Self:
        """Make a Deduplicator of checked options.

        Those that a subclass of `Options` adds are left out.
        """
        return cls(options.store, **options.index_values())

    def check(self, url: str, **page: Any) -> Verdict:
        """Decide about a page and remember it, in one atomic step of the store: `check_many` of one
        page.

        Raises ConfigurationError, PageError for an unreadable page, KeyMismatchError for a
        fingerprint of another key.
        """
        return _or_raise(self.check_batch([Page(url, **page)])[0])

    def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> Iterator[Verdict]:
        """Decide about many pages in their order, up to `batch` of them in one round trip to the
        store.

        The verdicts equal those of `check` for one page after the other. Each page is one atomic
        step, the batch is not. If you stop early, up to a batch of pages is remembered beyond the
        last verdict. `on_unreadable` is called with each page that cannot be read and its error.
        Without it, the error is raised and the iteration ends, as with StoreUnavailableError. After
        another StoreError it can go on.
        """
        return map(
            _or_raise, self._check_many(iter(pages), checks.whole(1)("batch", batch), on_unreadable)
        )

    def check_batch(
        self, pages: Sequence[Page], contents: Sequence[Content] | None = None
    ) -> list[Result]:
        """Decide about pages in one round trip.

        Return a verdict or an error for each, in their order.

        `contents` are what was read of them elsewhere, if it was: fingerprints, or what is
        compared. Raises StoreError only if the index cannot be opened, or the lease not be renewed.
        Pages that name one of the batch as their original, and those that are not remembered, may
        take a round trip of their own.
        """
        results: list[Result] = []
        if not pages:
            return results
        contents = contents or list(map(self._read, pages))
        self._join_or_look(join=any(map(attrgetter("remember"), pages)))
        for start, end in pairwise(self._cuts(pages)):
            results += self._decide(pages[start:end], contents[start:end])
            for place in range(start, end):
                if isinstance(results[place], StoreError) and not isinstance(
                    results[place], _LASTING
                ):
                    # Another page may be to blame. Of an index that was begun again, the new key is
                    # known by now.
                    results[place : place + 1] = self._decide([pages[place]], [contents[place]])
        return results

    def _check_many(
        self, pages: Iterator[Page], size: int, on_unreadable: OnUnreadable | None
    ) -> Iterator[Verdict | StoreError]:
        failure: Exception | None = None
        while failure is None:
            batch: list[Page] = []
            contents: list[Content] = []
            deadline = time.monotonic() + BATCH_SECONDS
            try:
                for page in pages:
                    contents.append(self._read(page))
                    batch.append(page)
                    is_last = on_unreadable is None and isinstance(contents[-1], PageError)
                    if is_last or len(batch) >= size or time.monotonic() >= deadline:
                        break
            except Exception as error:
                failure = error
            if not batch:
                break
            for page, result in zip(batch, self.check_batch(batch, contents), strict=True):
                if self._is_open and time.monotonic() >= self._next_heartbeat:
                    # Taking verdicts slowly is work, too. The verdict stands, whatever becomes of
                    # this.
                    with suppress(StoreError):
                        self.heartbeat()
                if isinstance(result, PageError) and on_unreadable is not None:
                    on_unreadable(page, result)
                elif isinstance(result, Verdict | StoreError) and not isinstance(
                    result, StoreUnavailableError
                ):
                    yield result
                else:
                    raise result
        if failure is not None:
            raise failure

    def _read(self, page: Page) -> Content:
        if not isinstance(page, Page) or page.html is None:
            return self._reader.try_content(page)
        content = self._reader.try_content(page, self.volatile_lines.known_at(page.url))
        if isinstance(content, PageContent) and page.remember:
            self.volatile_lines.learn(page.url, page.identity, content.numbers)
        return content

    def _exchange_volatile(self) -> None:
        """Take over what other crawlers have learned, and tell them what this one has, unless the
        store is full.
        """
        if self.options.volatile is not False and self._store.is_persistent:
            with suppress(StoreError):
                noted = self._store.note(_VOLATILE_NOTE)
                own = self.volatile_lines.exchange(noted)
                if own != noted and self.options.volatile is True and self._is_open:
                    self._store.note(_VOLATILE_NOTE, own)

    def _cuts(self, pages: Sequence[Page]) -> list[int]:
        """Return where to cut a batch: where it is long, or a query may depend on the answers about
        pages before it.
        """
        key, cuts = self._store.layout.key, [0]
        for place, page in enumerate(pages):
            if place and (page.remember != pages[place - 1].remember or place - cuts[-1] >= BATCH):
                cuts.append(place)
            elif page.canonical is not None:
                original = self._queries.name(key, page, original=True)
                if any(
                    original == self._queries.name(key, other) for other in pages[cuts[-1] : place]
                ):
                    cuts.append(place)
        return [*cuts, len(pages)]

    def _decide(self, pages: Sequence[Page], contents: Sequence[Content]) -> list[Result]:
        """Take pages all the way: all of them are to be remembered, or none."""
        remember, key = pages[0].remember, self._store.layout.key
        reads = self._reader.try_fingerprints(pages, contents, key)
        pairs = [
            (page, read)
            for page, read in zip(pages, reads, strict=True)
            if isinstance(read, Fingerprint)
        ]
        noted = list(self._delivered) if remember else []
        try:
            names = tuple(map(self._queries.name, repeat(key), noted))
            queries = self._queries.queries(
                pairs, key, self.pages, names, self._alike_originals(pairs, key)
            )
            if remember:
                answers = self._store.check(queries)
            else:
                answers = list(
                    map(preview, queries, self._store.find(queries), repeat(self._packed_text))
                )
        except StoreError as error:
            return [error if isinstance(read, Fingerprint) else read for read in reads]
        # The first query has told the store of them.
        for page in noted if answers and not isinstance(answers[0], StoreError) else ():
            self._delivered.pop(page, None)
        verdicts = map(self._verdict, pairs, queries, answers)
        results = [next(verdicts) if isinstance(read, Fingerprint) else read for read in reads]
        for place, doubted in enumerate(map(self._doubted, pages, reads, results)):
            if doubted is not None:
                (results[place],) = self._decide([self._stricter(pages[place])], [doubted])
        return results

    def _alike_originals(self, pairs: Sequence[Pair], key: Key) -> list[int]:
        """Return the places of pages that resemble the original they name: a lower similarity is
        enough for them.
        """
        named = [
            place
            for place, (page, read) in enumerate(pairs)
            if page.canonical is not None and not read.thin
        ]
        if not named:
            return []
        names = [self._queries.name(key, pairs[place][0], original=True) for place in named]
        originals = zip(named, self._store.remembered(names, self._queries.retention), strict=True)
        return [
            place
            for place, record in originals
            if record and self._queries.resembles(pairs[place], record, key)
        ]

    def _verdict(
        self, pair: Pair, query: Query, answer: Answer | StoreError
    ) -> Verdict | StoreError:
        if isinstance(answer, StoreError):
            return answer
        page, read = pair
        if page.remember:
            self.pages = answer.pages
            self._queries.hot_prefixes.learn(query, answer)
        return self._with_coverage(page, read, query, verdict_of(page.url, read, query, answer))

    def _with_coverage(
        self, page: Page, read: Fingerprint, query: Query, verdict: Verdict
    ) -> Verdict:
        with suppress(StoreError):  # The verdict stands without it.
            if read.paragraphs and not verdict.is_duplicate:
                return replace(
                    verdict, coverage=coverage(page, read, query, self._store, self.options)
                )
        return verdict

    def _doubted(self, page: Page, read: Read, verdict: Result) -> Fingerprint | None:
        """Return what is read of a page in full, if the numbers left out may be all that tells it
        from its original.
        """
        if (
            not isinstance(read, Fingerprint)
            or read.full is None
            or not isinstance(verdict, Verdict)
        ):
            return None
        if page.remember:
            self.volatile_lines.note_load(page.url, read.digest, read.full.digest)
        is_dropped = verdict.is_duplicate and not verdict.replaces
        pages = page.canonical or page.url, verdict.original
        return (
            read.full
            if is_dropped and self.volatile_lines.may_be_two(*pages, read.digest)
            else None
        )

    def _stricter(self, page: Page) -> Page:
        """Return a page to ask about in full, which has lines that its copies may be remembered
        without.

        If these are so much of it that two such pages have the similarity s, it has 2s / (1 + s)
        with one without them.
        """
        similarity = self._queries.similarity(page)
        return replace(page, similarity=2 * similarity / (1 + similarity))

    def fingerprint(self, url: str = "", **page: Any) -> Fingerprint:
        """Return the fingerprint of a page. Nothing is remembered. Raises as `check`."""
        return self._reader.read_page(Page(url, **page), self.key).fingerprint

    def find(self, url: str = "", **page: Any) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first.

        Raises as `check`; changes nothing.
        """
        return self.explain(url, **page).matches()

    def explain(self, url: str, **page: Any) -> Explanation:
        """Explain the verdict that a page would get now.

        Nothing is remembered. Raises as `check`.
        """
        subject = Page(url, **{**page, "remember": False})
        content, read, query, similarity, records = self._search(subject)
        explanation = explained(url, read, query, records, self._packed_text, similarity)
        if full := self._doubted(subject, read, explanation.verdict):
            values = page | dict.fromkeys(("html", "text", "encoding")) | {"fingerprint": full}
            explanation = self.explain(
                url, **values | {"similarity": self._stricter(subject).similarity}
            )
        verdict, shown = (
            self._with_coverage(subject, read, query, explanation.verdict),
            dict[str, Any](),
        )
        if isinstance(content, PageContent):
            shown = {
                "text": content.text,
                "facts": content.fact_lines,
                "left_out": content.left_out,
            }
        return replace(explanation, verdict=verdict, pages=self.pages, **shown)

    def _search(self, page: Page) -> tuple[Content, Fingerprint, Query, float, list[Record]]:
        """Return what is read of a page, the query about it, from what similarity on, and all that
        is compared.
        """
        self._join_or_look(join=False)
        content, key = self._read(page), self._store.layout.key
        read = _or_raise(self._reader.try_fingerprints([page], [content], key)[0])
        lowered = self._alike_originals([(page, read)], key)
        (query,) = self._queries.queries([(page, read)], key, self.pages, lowered=lowered)
        # All that is met is compared; a thin page has no candidates but its copies.
        rule = (
            query.rule
            if read.thin
            else replace(query.rule, limit=sum(query.rule.costs), crowd=None)
        )
        (records,) = self._store.find([replace(query, rule=rule)])
        return (
            content,
            read,
            query,
            self._queries.similarity(page, is_lowered=bool(lowered)),
            records,
        )

    def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page by what it was checked with, or every page with the text of a fingerprint;
        return how many.
        """
        if isinstance(page, Fingerprint):
            _, _, query, _, records = self._search(Page("", fingerprint=page, scope_key=scope_key))
            copies = [record.url_key for record in records if record.digest == query.record.digest]
            return sum(self._store.forget(PageName(url_key, query.shard_key)) for url_key in copies)
        return int(self._store.forget(self._name_of(page, identity, scope_key)))

    def text_of(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> str | None:
        """Return the text that is kept of a remembered page, with the option `keep_texts`; None if
        there is none.
        """
        return unpacked_text(self._packed_text(self._name_of(url, identity, scope_key)))

    def _name_of(self, url: str, identity: str | None, scope_key: str | None) -> PageName:
        self._join_or_look(join=False)
        return self._queries.name(
            self._store.layout.key, Page(url, text="", identity=identity, scope_key=scope_key)
        )

    def _packed_text(self, name: PageName) -> bytes:
        (record,) = self._store.remembered([name], self._queries.retention)
        return record.packed_text if record else b""

    def deliver(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> None:
        """Note that a page was delivered: the next check, `heartbeat` or `close` tells the store."""
        self._require_not_closed()
        self._delivered[Page(url, text="", identity=identity, scope_key=scope_key)] = None

    def _tell_delivered(self) -> None:
        if noted := list(self._delivered):
            self._store.deliver(
                [self._queries.name(self._store.layout.key, page) for page in noted]
            )
            for page in noted:
                self._delivered.pop(page, None)

    @property
    def key(self) -> Key:
        """Return the secret of the index, made when it began.

        Raises StoreError if it cannot be looked up.
        """
        if not self._is_closed:
            self._join_or_look(join=False)
        return self._store.layout.key

    @property
    def session(self) -> CrawlSession | None:
        """Return the crawler that this instance works as; None before it joined a crawl."""
        return self._store.session if self._store.session.number else None

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed" if self._is_closed else "not opened"
        place = f"{registry.shown_url(self.options.store)} namespace={self.options.namespace!r}"
        return f"<{type(self).__name__} {place} similarity={self.options.similarity} ({state})>"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self, session: CrawlSession | None = None) -> None:
        """Connect to the store, check that the index fits, and join the crawl.

        Processes with one session are one crawler. Raises ProfileMismatchError for an index made
        with other options.
        """
        if not self._is_open:
            self._is_closed, self._wanted_session = False, session
        self._join_or_look(join=True)

    def close(self, *, leave: bool = True) -> None:
        """Tell what `deliver` noted, and disconnect.

        With `leave` False, the crawl goes on for its other processes.
        """
        if self._is_open:
            with suppress(StoreError):
                self._tell_delivered()
                self._exchange_volatile()
        self._store.close(leave=leave)
        self._is_open, self._is_closed, self._next_look = False, True, 0.0

    def clear(self) -> None:
        """Remove all pages and notes of this namespace.

        Crawlers at work go on in the empty index.
        """
        self._require_not_closed()
        self._store.clear()
        self.pages = 0

    def info(self) -> contract.StoreInfo:
        """Return the figures of the index: pages, bytes, tables, profile and namespace."""
        self._join_or_look(join=False)
        return self._store.info()

    def note(self, name: str, text: str | None = None) -> str:
        """Return a short text that is kept with the index until `clear`, or ""; write it before if
        a text is given.
        """
        self._join_or_look(join=text is not None)
        return self._store.note(name, text)

    def heartbeat(self) -> None:
        """Renew the lease of this crawler: while idle.

        Checks do so every 20 seconds. After 120 without, it is dead.
        """
        self._require_not_closed()
        if self._is_open:
            self._store.heartbeat()
            self._tell_delivered()
            self._exchange_volatile()
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    def _join_or_look(self, *, join: bool) -> None:
        """Open the index as far as is needed: to look, no crawl is joined, and no index is created."""
        self._require_not_closed()
        now = time.monotonic()
        if join and not self._is_open:
            self.pages = self._store.open(self._wanted_session)
            self._is_open = True
            if not self.pages and not self._wanted_session and self._store.is_persistent:
                # A misspelt store would be an empty one, in which every page is new.
                where = registry.shown_url(self.options.store), self.options.namespace
                _log.warning("crawldedup: a new index begins in %s, namespace %s", *where)
            self._next_heartbeat = now + HEARTBEAT_SECONDS
            self._exchange_volatile()
        elif join and now >= self._next_heartbeat:
            self.heartbeat()
        elif not self._is_open and now >= self._next_look:
            self.pages = self._store.open_read_only()
            # Do not cache that the index is absent.
            self._next_look = now + (HEARTBEAT_SECONDS if self.pages else 0)
            self._exchange_volatile()

    def _require_not_closed(self) -> None:
        if self._is_closed:
            place = (
                f"the namespace {self.options.namespace!r} of "
                f"{registry.shown_url(self.options.store)}"
            )
            raise errors.ClosedError(
                f"{place} is closed; call open() or use a `with` statement to open it again"
            )


def _or_raise(result: T | CrawlDedupError) -> T:
    if isinstance(result, CrawlDedupError):
        raise result
    return result
