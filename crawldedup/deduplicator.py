"""`Deduplicator`, the main class of this package: it recognizes pages that were seen before.

Its methods block. `crawldedup.index.judging` has the steps from a page to its verdict, and
`crawldedup.index.lifetime` opens and closes an index.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Self, Unpack

from crawldedup import checks
from crawldedup.errors import PageError, StoreError, StoreUnavailableError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.index.explain import Explanation, explain_page
from crawldedup.index.judging import BATCH, Judge, Result, or_raise
from crawldedup.index.lifetime import HEARTBEAT_SECONDS as HEARTBEAT_SECONDS
from crawldedup.index.lifetime import Index
from crawldedup.index.scopes import KnownScopes
from crawldedup.key import Key
from crawldedup.options import Options, OptionValues
from crawldedup.page import Page, PageId, PageValues
from crawldedup.reading.difference import unpacked_text
from crawldedup.reading.reader import Content, PageContent, PageReader
from crawldedup.stores.contract import CrawlSession, PageName, StoreInfo
from crawldedup.verdict import CheckedText, Match, Verdict

_MOST_SEARCHES: Final = 10_000
"""The maximum number of searches for pages to forget. Others may add such pages meanwhile."""

OnUnreadable = Callable[[Page, PageError], None]


class Deduplicator:
    """Recognizes pages that were seen before, using an index in a store.

    The first call that needs the store opens it. Only calls that may add pages create an index or
    join a crawl. Verdicts come in the order of the calls. Threads may share an instance. A forked
    process continues as the same crawler.

    Methods with `**page` take the arguments of `Page` by keyword. A method that uses the store
    raises StoreError if the store cannot answer, and can then be called again. After `close`, it
    raises ClosedError. The first call can also raise the errors of `open`.

    Args:
        store: The URL of the store; see the option `store`.
        **options: The options of `Options`, by keyword.

    Attributes:
        options: The options, checked.

    Raises:
        ConfigurationError: An option does not exist, or its value is not allowed.

    Example:
        >>> from crawldedup import Deduplicator
        >>> story = "The river ferry runs every hour from the harbour. " * 9
        >>> with Deduplicator("sqlite:///seen.sqlite", ttl="30d") as dedup:
        ...     first = dedup.check("https://news.example/", html=f"<p>{story}</p>")
        ...     second = dedup.check("https://copy.example/", html=f"<b>{story}</b>")
        >>> print(first.kind, second.kind, second.original)
        new exact_duplicate https://news.example/
    """

    def __init__(self, store: str = "memory://", **options: Unpack[OptionValues]) -> None:
        self.options = Options.from_values({"store": store, **options})
        reader = PageReader(self.options)
        self._reader = reader
        self._index = Index(self.options, reader.profile)
        self._judge = Judge(self._index, reader)

    @classmethod
    def from_options(cls, options: Options) -> Self:
        """Make a Deduplicator from checked options.

        Options that a subclass of `Options` adds are left out.
        """
        return cls(options.store, **options.index_values())

    def check(self, url: str, **page: Unpack[PageValues]) -> Verdict:
        """Decide about a page and remember it, in one atomic step of the store.

        Args:
            url: The URL of the page.
            **page: One of `html` (bytes or str), `text` (str) and `fingerprint` (Fingerprint), and
                any other argument of `Page`: `encoding`, `identity`, `scope_key` and `canonical`
                (str), `similarity` and `revisit_similarity` (float), `remember` and `delivered`
                (bool), and `rank` (int).

        Returns:
            The verdict on the page, compared with the pages seen before it.

        Raises:
            ConfigurationError: A value of the page is not allowed.
            PageError: The page cannot be read.
            KeyMismatchError: The fingerprint was made with a different key than that of the index.
            StoreError: The store cannot answer. The call can be repeated.
        """
        return or_raise(self.check_batch([Page(url, **page)])[0])

    def check_with_text(self, url: str, **page: Unpack[PageValues]) -> CheckedText:
        """Decide about a page like `check`, and also return its main text and its name.

        This costs nothing extra, because the main text is extracted anyway. The arguments and
        errors are those of `check`.
        """
        sent = Page(url, **page)
        content = self._judge.read(sent, with_text=True)
        verdict = or_raise(self.check_batch([sent], [content])[0])
        return CheckedText.of(verdict, content.main if isinstance(content, PageContent) else None)

    def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> Iterator[Verdict]:
        """Decide about many pages in order, a batch of them in each round trip to the store.

        The verdicts are the same as if `check` were called for one page after the other. Each page
        is one atomic step, but the batch is not. If you stop early, up to one batch of pages after
        the last verdict may be remembered.

        Args:
            pages: The pages.
            batch: The maximum number of pages in one round trip, at least 1.
            on_unreadable: Called with each page that cannot be read, and its error. Without it, the
                error is raised, and the iteration ends.

        Yields:
            The verdict of each page that can be read.

        Raises:
            PageError: A page cannot be read, and `on_unreadable` is not given.
            StoreUnavailableError: The store cannot be reached. The iteration ends.
            StoreError: The store cannot answer for one page. The iteration can continue.
        """
        size = checks.whole(1)("batch", batch)
        # A generator that raises has ended, so the errors of single pages are raised outside of it.
        return map(or_raise, self._check_many(iter(pages), size, on_unreadable))

    def _check_many(
        self, pages: Iterator[Page], size: int, on_unreadable: OnUnreadable | None
    ) -> Iterator[Verdict | StoreError]:
        """Yield a verdict for each page, or the error of a store that fails for a single page.

        Raises all other errors, unless `on_unreadable` handles them.
        """
        for jobs in self._judge.batches(pages, size, ends_at_unreadable=on_unreadable is None):
            self._judge.judge(jobs)
            for job in jobs:
                result = job.result
                # A caller that processes verdicts slowly is still alive.
                self._index.try_heartbeat_if_due()
                if isinstance(result, PageError) and on_unreadable is not None:
                    on_unreadable(job.page, result)
                elif isinstance(result, StoreUnavailableError):
                    raise result
                elif isinstance(result, Verdict | StoreError):
                    yield result
                else:
                    raise result

    def check_batch(
        self, pages: Sequence[Page], contents: Sequence[Content] | None = None
    ) -> list[Result]:
        """Decide about pages in one round trip, or one for each 100 pages, and remember them.

        Pages that name another page of the batch as their original, and pages that are not
        remembered, may take an additional round trip.

        Args:
            pages: The pages.
            contents: The result of reading each page elsewhere: its content, its fingerprint, or
                the error if it cannot be read. By default, the pages are read here.

        Returns:
            A verdict or an error for each page, in their order.

        Raises:
            StoreError: The index cannot be opened, or the lease cannot be renewed.
        """
        if not pages:
            return []
        jobs = self._judge.jobs(pages, contents)
        self._judge.judge(jobs)
        return [job.result for job in jobs]

    def fingerprint(self, url: str = "", **page: Unpack[PageValues]) -> Fingerprint:
        """Return the fingerprint of a page for this index. Nothing is remembered.

        The arguments and errors are those of `check`.
        """
        return self._reader.read_page(Page(url, **page), self.key).fingerprint

    def find(self, url: str = "", **page: Unpack[PageValues]) -> list[Match]:
        """Return the remembered pages that resemble a page, most similar first.

        Nothing is changed. The arguments and errors are those of `check`.
        """
        return self.explain(url, **page).matches()

    def explain(self, url: str, **page: Unpack[PageValues]) -> Explanation:
        """Explain the verdict that a page would get now. Nothing is remembered.

        The arguments and errors are those of `check`.
        """
        page["remember"] = False
        return explain_page(self._judge, self._index, Page(url, **page))

    def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page from the index, or every page with a certain text.

        Args:
            page: The URL that the page was checked with, or a fingerprint of the text.
            identity: The identity that the page was checked with. A fingerprint needs none.
            scope_key: The scope key that the page was checked with.

        Returns:
            The number of pages that were removed.
        """
        if not isinstance(page, Fingerprint):
            name = self._name(PageId(page, identity, scope_key))
            return int(self._index.store.forget(name))
        text = Page("", fingerprint=page, scope_key=scope_key)
        removed = 0
        # If many siblings share a text, a search only finds some of them.
        for _ in range(_MOST_SEARCHES):
            removed_now = self._forget_found(text)
            if not removed_now:
                break
            removed += removed_now
        return removed

    def _forget_found(self, page: Page) -> int:
        """Remove the pages with the text of `page` that one search finds, and return how many."""
        search = self._judge.search(page)
        removed = 0
        for record in search.records:
            if record.digest == search.query.record.digest:
                name = PageName(record.url_key, search.query.shard_key)
                removed += self._index.store.forget(name)
        return removed

    def text_of(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> str | None:
        """Return the stored text of a remembered page. Texts are stored with `keep_texts`.

        Args:
            url: The URL that the page was checked with.
            identity: The identity that the page was checked with.
            scope_key: The scope key that the page was checked with.

        Returns:
            The text, or None if none is stored.
        """
        name = self._name(PageId(url, identity, scope_key))
        return unpacked_text(self._index.packed_text(name))

    def _name(self, page: PageId) -> PageName:
        self._index.look()
        return self._index.name(page)

    def deliver(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> None:
        """Note that a page that was checked with `delivered=False` has been delivered.

        The store is told with the next check, `heartbeat` or `close`. The arguments are those of
        `text_of`.
        """
        self._index.deliver(PageId(url, identity, scope_key))

    @property
    def pages(self) -> int:
        """The approximate number of pages at the last call to the index, 0 before the first one."""
        return self._index.pages

    @property
    def hosts(self) -> HostKnowledge:
        """What is known about hosts.

        This includes which lines and marks change with every load, and which parts of addresses
        name views.
        """
        return self._index.hosts

    @property
    def scopes(self) -> KnownScopes:
        """The scopes of the pages, as of the last call to the index.

        To remove a page from all of them, call `forget` with each key of `scopes.all_of(url)`.
        """
        return self._index.scopes

    @property
    def key(self) -> Key:
        """The secret key of the index, which was made when the index began.

        Raises:
            StoreError: It cannot be looked up.
        """
        if not self._index.is_closed:
            self._index.look()
        return self._index.key

    @property
    def session(self) -> CrawlSession | None:
        """The crawler that this instance works as, or None before it has joined a crawl."""
        session = self._index.store.session
        return session if session.number else None

    def __repr__(self) -> str:
        if self._index.is_open:
            state = "open"
        elif self._index.is_closed:
            state = "closed"
        else:
            state = "not opened"
        similarity = self.options.similarity
        return f"<{type(self).__name__} {self._index.place} similarity={similarity} ({state})>"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self, session: CrawlSession | None = None) -> None:
        """Connect to the store, check that the index has the same options, and join the crawl.

        Args:
            session: The crawler to work as. Processes that share a session count as one crawler.
                By default, this instance is a new crawler.

        Raises:
            ProfileMismatchError: The index was made with other options.
            StoreError: The store cannot be opened.
        """
        self._index.open(session)

    def close(self, *, leave: bool = True) -> None:
        """Tell the store what `deliver` noted, and disconnect.

        Args:
            leave: Whether to leave the crawl. With False, it continues for its other processes.
        """
        self._index.close(leave=leave)

    def clear(self) -> None:
        """Remove all pages and notes of this namespace.

        Crawlers that are running continue with the empty index.
        """
        self._index.clear()

    def info(self) -> StoreInfo:
        """Return figures about the index, such as its number of pages and its size in bytes."""
        self._index.look()
        return self._index.store.info()

    def accept_profile(self) -> dict[str, str]:
        """Use the existing index, no matter which options it was made with.

        This is for tasks that don't compare texts: getting the figures of an index, and forgetting
        pages. Searches in such an index find nothing. No warning is logged if the scope differs.
        Call this method before any other.

        Returns:
            The options that differ, each with a description of the difference.

        Raises:
            ProfileMismatchError: It was made by a version whose records this version can't read.
        """
        return self._index.accept_profile()

    def note(self, name: str, text: str | None = None) -> str:
        """Return a note, and write it first if `text` is given.

        A note is a short text that is stored with the index until `clear`.

        Args:
            name: The name of the note.
            text: The text to write first, if there is one.

        Returns:
            The text, or "" if there is none.
        """
        if text is None:
            self._index.look()
        else:
            self._index.join()
        return self._index.store.note(name, text)

    def heartbeat(self) -> None:
        """Renew the lease of this crawler.

        Call it while the crawler is idle. Checks renew the lease once 20 seconds have passed, and
        a crawler without a heartbeat for 120 seconds counts as dead. Before this instance has
        joined a crawl, this does nothing.
        """
        self._index.heartbeat()
