"""`Deduplicator` for asyncio: worker processes read HTML, and waiting pages share batches."""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic, perf_counter
from typing import Any, Final, Self, TypeVar, Unpack

from crawldedup import checks
from crawldedup.aio.access import StoreAccess, with_new_key
from crawldedup.aio.heartbeats import Heartbeats
from crawldedup.aio.judged import Judged, Timings
from crawldedup.aio.questions import BegunPage, Questions, Reply, ignore_error
from crawldedup.aio.renewal import EarlyPages, OutdatedPage
from crawldedup.aio.streams import asynchronous
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ClosedError, CrawlDedupError, KeyMismatchError, PageError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.index.explain import Comparison, Explanation
from crawldedup.index.judging import Result
from crawldedup.index.scopes import KnownScopes
from crawldedup.key import Key
from crawldedup.options import Options, OptionValues
from crawldedup.page import Page, PageId, PageValues
from crawldedup.reading.html import check_size
from crawldedup.reading.reader import Content, PageReader, ReadPage
from crawldedup.reading.shells import SHELL
from crawldedup.stores.contract import CrawlSession, StoreInfo
from crawldedup.verdict import CheckedText, Match, Verdict
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import (
    HANDLER,
    ReadingTask,
    TimedRead,
    comparison_of,
    needs_worker,
    request,
    timed_read_of,
)

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

_AHEAD: Final = 64  # how many pages `check_many` reads ahead of the next verdict
_CLOSE_SECONDS: Final = 10.0


class AsyncDeduplicator:
    """A `Deduplicator` for asyncio: methods that read pages or use the store are awaited.

    HTML and long texts are read in worker processes, within limits of time and memory. If a page
    kills its worker, other pages aren't affected. The store gets all waiting pages in one round
    trip: `memory://` in the event loop, any other store in a thread. For a few seconds after a
    store fails, pages fail immediately. Use an instance in one event loop only.

    Args:
        store: The URL of the store.
        workers: The maximum number of worker processes, at least 1.
        page_seconds: The time limit for reading one page.
        **options: The options of `Options` by keyword.

    Example:
        >>> import asyncio
        >>> from crawldedup import AsyncDeduplicator
        >>> async def main():
        ...     async with AsyncDeduplicator() as dedup:
        ...         verdict = await dedup.check("https://a.example/", html="<p>Closed.")
        ...         print(verdict.kind)
        >>> asyncio.run(main())
        thin
    """

    def __init__(
        self,
        store: str = "memory://",
        *,
        workers: int = 1,
        page_seconds: float = 30,
        **options: Unpack[OptionValues],
    ) -> None:
        self._dedup = Deduplicator(store, **options)
        self._reader = PageReader(self.options)
        workers = checks.whole(1)("workers", workers)
        page_seconds = checks.number("above 0", lambda value: value > 0)(
            "page_seconds", page_seconds
        )
        self._pool = WorkerPool(
            HANDLER, self.options.index_values(), workers=workers, page_seconds=page_seconds
        )
        self._access = StoreAccess(self._dedup)
        self._questions = Questions(self._check_batch)
        self._session: CrawlSession | None = None
        self._is_closed = False
        self._heartbeats = Heartbeats(self.heartbeat)
        self._early = EarlyPages()

    @classmethod
    def from_options(cls, options: Options, *, workers: int = 1, page_seconds: float = 30) -> Self:
        """Make an AsyncDeduplicator from checked options. See `Deduplicator.from_options`."""
        return cls(
            options.store, workers=workers, page_seconds=page_seconds, **options.index_values()
        )

    @property
    def key(self) -> Key:
        """The secret of the index. See `Deduplicator.key`."""
        return self._dedup.key

    @property
    def options(self) -> Options:
        """The options, checked. See `Deduplicator.options`."""
        return self._dedup.options

    @property
    def pages(self) -> int:
        """The approximate number of pages in the index. See `Deduplicator.pages`."""
        return self._dedup.pages

    @property
    def session(self) -> CrawlSession | None:
        """The crawler that this instance works as. See `Deduplicator.session`."""
        return self._dedup.session

    @property
    def hosts(self) -> HostKnowledge:
        """What is known about hosts. See `Deduplicator.hosts`."""
        return self._dedup.hosts

    @property
    def scopes(self) -> KnownScopes:
        """The scopes of the pages. See `Deduplicator.scopes`."""
        return self._dedup.scopes

    @property
    def waiting(self) -> int:
        """The number of pages that are currently being read or checked."""
        return len(self._questions)

    @property
    def gathering_seconds(self) -> float:
        """How many seconds a batch that isn't full waits for pages that are being read."""
        return self._questions.gathering_seconds

    @gathering_seconds.setter
    def gathering_seconds(self, seconds: float) -> None:
        self._questions.gathering_seconds = seconds

    def wait_for_returning(self, seconds: float) -> None:
        """Set how long a batch waits for more pages of clients that just got an answer."""
        self._questions.returning_seconds = seconds

    def __repr__(self) -> str:
        return repr(self._dedup).replace("Deduplicator", type(self).__name__, 1)

    async def __aenter__(self) -> Self:
        try:
            await self.open()
        except BaseException:
            self._pool.close()  # nobody else will
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def open(self, session: CrawlSession | None = None) -> None:
        """Connect to the store and join the crawl, while the first worker starts.

        See `Deduplicator.open`.
        """
        self._is_closed = False
        self._session = session
        self._pool.start()
        await self.ask(lambda dedup: dedup.open(session))

    async def close(self, *, leave: bool = True) -> None:
        """Answer the waiting pages, leave the crawl and disconnect, within 30 seconds at most.

        See `Deduplicator.close`.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._renew(), _CLOSE_SECONDS)
        self._is_closed = True
        deadline = monotonic() + _CLOSE_SECONDS
        try:
            while self.waiting and monotonic() < deadline:
                await asyncio.sleep(0.01)
        finally:
            self._pool.close()
            self._questions.abandon()
            self._heartbeats.end()
        closing = asyncio.ensure_future(self._access.run(lambda dedup: dedup.close(leave=leave)))
        done, _ = await asyncio.wait({closing}, timeout=_CLOSE_SECONDS)
        if not done:
            _log.warning("crawldedup: the store was not closed within %.0f s", _CLOSE_SECONDS)

    async def check(self, url: str, **page: Unpack[PageValues]) -> Verdict:
        """Decide about a page, remember it, and return the verdict. See `Deduplicator.check`.

        Also raises WorkerError if the page has killed two workers, or if no worker can be started.
        """
        return await self.check_page(Page(url, **page))

    async def check_page(self, page: Page) -> Verdict:
        """Decide about a page like `check`, which has the same errors, and return the verdict."""

        async def decide() -> Verdict:
            reply = await self._questions.put(page, await self._content_of(page))
            return reply.verdict

        return await with_new_key(decide)

    async def check_with_text(self, url: str, **page: Unpack[PageValues]) -> CheckedText:
        """Decide about a page, and return its main text. See `Deduplicator.check_with_text`."""
        sent = Page(url, **page)
        try:
            judged = await self.judge(sent, with_text=True)
        except PageError as error:
            if error.reason != SHELL:
                raise
            return CheckedText(await self.check_page(sent))
        return CheckedText.of(judged.verdict, judged.read.main)

    async def judge(
        self,
        page: Page,
        prepare: Callable[[Page, ReadPage], Page] | None = None,
        *,
        with_text: bool = False,
    ) -> Judged:
        """Decide about a page like `check`, and also return the content that was read from it.

        Args:
            page: The page to read.
            prepare: Takes the page and its content, and returns the page to check: for example,
                one with the rank that its links give it.
            with_text: Whether to read the main text for users as well, as `main` of the content.

        Returns:
            The verdict, the content, and how long both took.

        Raises:
            CrawlDedupError: The same errors as `check`, and PageError for a shell.
        """
        task: ReadingTask = "text" if with_text else "read"
        return await with_new_key(lambda: self._judge(page, prepare, task))

    async def _judge(
        self, page: Page, prepare: Callable[[Page, ReadPage], Page] | None, task: ReadingTask
    ) -> Judged:
        begun = perf_counter()
        read, reading_seconds = await self._read(page, task)
        prepared = prepare(page, read) if prepare else page
        verdict, asking_seconds = await self._questions.put(prepared, read)
        if page.remember and (verdict.replaces or not verdict.is_duplicate):
            self._early.note(prepared, read, self.hosts)
        timings = Timings(reading_seconds, asking_seconds, perf_counter() - begun)
        return Judged(verdict, read, timings)

    async def check_many(
        self,
        pages: Iterable[Page] | AsyncIterable[Page],
        *,
        on_error: Callable[[Page, Exception], None] | None = None,
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in order.

        Each verdict is yielded as soon as it and the ones before it are available.

        Args:
            pages: The pages. If taking the next one may block, use an asynchronous iterable.
            on_error: Called with each page that gets no verdict, and with its error.

        Raises:
            CrawlDedupError: Without `on_error`, the error of the first page that gets no verdict.
                It ends the iteration.
        """
        begun_pages: asyncio.Queue[BegunPage | None] = asyncio.Queue()
        room = asyncio.Semaphore(_AHEAD)
        tasks: set[asyncio.Task[Any]] = set()

        async def feed() -> None:
            previous = None
            async for page in asynchronous(pages):
                await room.acquire()
                task = asyncio.create_task(
                    self._begin_after(previous, page, is_strict=on_error is None)
                )
                tasks.add(task)
                begun_pages.put_nowait(BegunPage(page, task))
                previous = task

        feeding = asyncio.create_task(feed())
        feeding.add_done_callback(lambda _: begun_pages.put_nowait(None))
        tasks.add(feeding)
        try:
            while (begun := await begun_pages.get()) is not None:
                room.release()
                tasks.discard(begun.task)
                try:
                    verdict = await self._verdict_on(begun)
                except Exception as error:
                    if on_error is None:
                        raise
                    on_error(begun.page, error)
                    continue
                yield verdict
            await feeding
        finally:
            for task in tasks:
                task.cancel()
                task.add_done_callback(ignore_error)

    async def _verdict_on(self, begun: BegunPage) -> Verdict:
        try:
            reply = await begun.task
            return (await reply).verdict
        except KeyMismatchError:
            # Another process restarted the index. By now, its new key is known.
            return await self.check_page(begun.page)

    def deliver(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> None:
        """Note that a page was delivered. See `Deduplicator.deliver`."""
        self._dedup.deliver(url, identity=identity, scope_key=scope_key)
        self._early.deliver(PageId(url, identity, scope_key))

    async def fingerprint(self, url: str = "", **page: Unpack[PageValues]) -> Fingerprint:
        """Return the fingerprint of a page. See `Deduplicator.fingerprint`."""
        values: PageValues = {**page, "remember": False}
        timed = await self._read(Page(url, **values))
        return timed.read.fingerprint

    async def find(self, url: str = "", **page: Unpack[PageValues]) -> list[Match]:
        """Return remembered pages that resemble this one. See `Deduplicator.find`."""
        explanation = await self.explain(url, **page)
        return explanation.matches()

    async def explain(self, url: str, **page: Unpack[PageValues]) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`."""
        return await with_new_key(lambda: self._explain(url, page))

    async def _explain(self, url: str, page: PageValues) -> Explanation:
        looked_at: PageValues = {**page, "remember": False}
        read, _ = await self._read(Page(url, **looked_at), "show")
        values: PageValues = {**page, "html": None, "text": None, "encoding": None}
        values["fingerprint"] = read.fingerprint
        explanation = await self.ask(lambda dedup: dedup.explain(url, **values))
        return replace(
            explanation,
            text=read.text,
            marks=read.marks.lines() if read.marks else (),
            left_out=read.left_out,
            omissions=read.omissions,
        )

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages as this index would. See `crawldedup.compare`."""
        key = await self._current_key()
        message = request("compare", [first, second], key)
        comparison: Comparison = await self._pool.call(message, comparison_of)
        return comparison

    async def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page, or all with the same text; return how many. See `Deduplicator.forget`."""
        return await self.ask(
            lambda dedup: dedup.forget(page, identity=identity, scope_key=scope_key)
        )

    async def text_of(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> str | None:
        """Return the stored text of a remembered page. See `Deduplicator.text_of`."""
        return await self.ask(
            lambda dedup: dedup.text_of(url, identity=identity, scope_key=scope_key)
        )

    async def clear(self) -> None:
        """Remove all pages and notes of this namespace. See `Deduplicator.clear`."""
        await self.ask(lambda dedup: dedup.clear())

    async def info(self) -> StoreInfo:
        """Return the figures of the index. See `Deduplicator.info`."""
        return await self.ask(lambda dedup: dedup.info())

    async def accept_profile(self) -> dict[str, str]:
        """Use the existing index whatever its options are. See `Deduplicator.accept_profile`."""
        return await self.ask(lambda dedup: dedup.accept_profile())

    async def note(self, name: str, text: str | None = None) -> str:
        """Read or write a short text that is stored with the index. See `Deduplicator.note`."""
        return await self.ask(lambda dedup: dedup.note(name, text))

    async def heartbeat(self) -> None:
        """Renew the lease of this crawler. See `Deduplicator.heartbeat`."""
        await self.ask(lambda dedup: dedup.heartbeat())

    async def ask(self, call: Callable[[Deduplicator], T]) -> T:
        """Make a call on the Deduplicator where its store may be used, and return the result.

        Raises the errors of the call, and StoreUnavailableError if the store has just failed.
        """
        result = await self._access.ask(call)
        self._start_beating()
        return result

    async def _check_batch(
        self, pages: Sequence[Page], contents: Sequence[Content]
    ) -> Sequence[Result]:
        results = await self._access.check_batch(pages, contents)
        self._start_beating()
        return results

    async def _begin_after(
        self, previous: asyncio.Task[Any] | None, page: Page, *, is_strict: bool
    ) -> asyncio.Future[Reply]:
        """Start reading a page right away, but check it after the `previous` page.

        If it `is_strict`, no page is checked after one that can't be read.
        """
        try:
            content = await self._content_of(page)
        finally:
            if previous is not None and not previous.done():
                await asyncio.wait({previous})
        if previous is not None and is_strict:
            previous.result()
        return self._questions.put(page, content)

    async def _content_of(self, page: Page) -> Content:
        """Return the content of a page, or the error of a shell. Raises a worker's other errors."""
        # The fingerprints of short texts are made in batches, in a third of the time.
        if not needs_worker(page):
            return self._reader.try_content(page)
        try:
            timed = await self._read(page)
        except PageError as error:
            if error.reason != SHELL:
                raise
            return error
        return timed.read

    async def _read(self, page: Page, task: ReadingTask = "read") -> TimedRead:
        """Read a page here if that's quick, or else in a worker.

        Raises ClosedError, PageError, StoreError, WorkerError.
        """
        if self._is_closed:
            raise ClosedError(
                f"{self!r} is closed; call open() or use `async with` to open it again"
            )
        self._access.require_store()
        with self._questions.reading():
            if page.remember and not self._heartbeats.have_begun:
                # Others can't restart an open index, so its key can't change.
                await self.ask(lambda dedup: dedup.open(self._session))
            key = await self._current_key()
            if not needs_worker(page):
                begun = perf_counter()
                read = self._reader.read_page(page, key, with_text=task == "text")
                return TimedRead(read, perf_counter() - begun)
            check_size(page.html or page.text or "")
            known = self.hosts.known_at(page.url)
            timed: TimedRead = await self._pool.call(
                request(task, [page], key, known), timed_read_of
            )
            if page.remember:
                self.hosts.learn(page, timed.read)
            return timed

    async def _current_key(self) -> Key:
        """Return the key of the index. Unless a crawl was joined, the store is asked for it."""
        if not self._heartbeats.have_begun:
            return await self.ask(lambda dedup: dedup.key)
        return self.key

    def _start_beating(self) -> None:
        if self.session is not None and not self._is_closed:
            self._heartbeats.begin()

    async def _renew(self) -> None:
        """Read pages again that were remembered with numbers now known to change by themselves."""
        outdated = self._early.outdated(self.hosts)
        await asyncio.gather(*[self._renew_page(page) for page in outdated])
        self._early.clear()

    async def _renew_page(self, outdated: OutdatedPage) -> None:
        page = outdated.page
        with suppress(CrawlDedupError):
            timed: TimedRead = await self._pool.call(
                request("read", [page], self.key, outdated.known), timed_read_of
            )
            await self._questions.put(page, timed.read.fingerprint)
