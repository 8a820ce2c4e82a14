"""`Deduplicator` for asyncio: HTML is read in worker processes, and all pages that wait are asked about together."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar, Unpack

from crawldedup import checks
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ClosedError, ConfigurationError, KeyMismatchError, PageError, StoreUnavailableError
from crawldedup.explanation.explained import Explanation
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.index import HEARTBEAT_SECONDS
from crawldedup.options import Options, OptionValues
from crawldedup.page import Page
from crawldedup.reader import PageReader, ReadPage
from crawldedup.stores.base import CrawlSession
from crawldedup.stores.registry import is_persistent
from crawldedup.text.keys import Key
from crawldedup.verdict import Match, Verdict
from crawldedup.workers.breaker import Breaker
from crawldedup.workers.pool import WorkerPool
from crawldedup.workers.reading import HANDLER, Read, read_of, request, setup_of

P = ParamSpec("P")
T = TypeVar("T")
OnUnreadable = Callable[[Page, PageError], None]
Prepare = Callable[[Page, ReadPage], Page]

_log: Final = logging.getLogger(__name__)

BATCH: Final = 32
"""So many pages are asked about together; the next ones gather meanwhile."""
LONG_TEXT: Final = 50_000
"""A text of so many letters takes milliseconds to fingerprint, and is read in a worker as HTML is."""
_AHEAD: Final = 64
# Pages are gathered for as long as the store took to answer, but answers that come together leave the crawl with too
# much to do at once, and the workers with nothing.
_MOST_HOLD_SECONDS: Final = 0.02
_CLOSE_SECONDS: Final = 10.0


class Judged(NamedTuple):
    """A verdict, what came of reading the page, and the seconds that reading and asking took and the page waited."""

    verdict: Verdict
    read: ReadPage
    reading: float
    asking: float
    waited: float


def _awaited(
    call: Callable[Concatenate[Deduplicator, P], T],
) -> Callable[Concatenate["AsyncDeduplicator", P], Coroutine[Any, Any, T]]:
    """Return a method of Deduplicator to be awaited."""

    @wraps(call)
    async def method(self: "AsyncDeduplicator", /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._require_open()
        return await self._call(partial(call, self._dedup, *args, **kwargs))

    return method


class AsyncDeduplicator:
    """Does for asyncio what `Deduplicator` does: the same methods, awaited.

    HTML and long texts are read in worker processes, within limits of time and memory. A page that ends its worker
    costs itself alone. The store is asked about all pages that wait in one round trip: `memory://` in the event loop,
    others in one thread beside it. A store that fails is left alone for some seconds, in which pages fail at once.
    Use an instance in one event loop.

    Arguments that are not listed here are as in `Deduplicator`.

    Args:
        workers: The most worker processes, from 1.
        page_seconds: The time limit for reading one page.
        **options: The options of `Options` by keyword.

    Raises:
        ConfigurationError: An option is unknown, or its value is not allowed.
        MissingDependencyError: The option `extractor` names a package that is not installed.

    Example:
        >>> import asyncio
        >>> from crawldedup import AsyncDeduplicator
        >>> story = (
        ...     "The river ferry runs every hour from the old harbour to the "
        ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
        ...     "and dogs need a lead. The last boat back leaves at ten."
        ... )
        >>> async def main():
        ...     async with AsyncDeduplicator() as dedup:
        ...         for url in ("https://a.example/", "https://b.example/"):
        ...             verdict = await dedup.check(url, html=f"<p>{story}</p>")
        ...             print(verdict.kind)
        >>> asyncio.run(main())
        new
        exact_duplicate
    """

    def __init__(
        self,
        store: str = "memory://",
        *,
        workers: int = 1,
        page_seconds: float = 30,
        **options: Unpack[OptionValues],
    ) -> None:
        workers = checks.whole(1)("workers", workers)
        self._dedup = Deduplicator(store, **options)
        self._reader = PageReader(self._dedup.options)
        self._pool = WorkerPool(HANDLER, setup_of(self._dedup.options), workers=workers, page_seconds=page_seconds)
        self._has_thread = is_persistent(store)
        self._breaker = Breaker()
        self._asked: deque[tuple[Page, asyncio.Future[tuple[Verdict, float]]]] = deque()
        self._answers: set[asyncio.Future[tuple[Verdict, float]]] = set()
        self._asking: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._session: CrawlSession | None = None
        self._asking_seconds = 0.0
        self._begin()

    def _begin(self) -> None:
        # It starts no thread before its first task.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="crawldedup-store") if self._has_thread else None
        self._is_closed = self._has_joined = False
        self._in_progress = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    def from_options(cls, options: Options, *, workers: int = 1, page_seconds: float = 30) -> Self:
        """Make an AsyncDeduplicator of checked options. See `Deduplicator.from_options`."""
        return cls(options.store, workers=workers, page_seconds=page_seconds, **options.index_values())

    @property
    def key(self) -> Key:
        """Return the secret of the index. This waits for the store unless the AsyncDeduplicator is open."""
        return self._dedup.key

    @property
    def options(self) -> Options:
        """Return the options, checked."""
        return self._dedup.options

    @property
    def pages(self) -> int:
        """Return about how many pages the index held when it was last asked; 0 before."""
        return self._dedup.pages

    @property
    def session(self) -> CrawlSession | None:
        """Return the crawler that this instance works as; None before it joined a crawl."""
        return self._dedup.session

    @property
    def waiting(self) -> int:
        """Return how many pages are being read or asked about."""
        return self._in_progress

    def __repr__(self) -> str:
        return repr(self._dedup).replace("Deduplicator", type(self).__name__, 1)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def open(self, session: CrawlSession | None = None) -> None:
        """Connect to the store and join the crawl; the first worker starts meanwhile. See `Deduplicator.open`."""
        if self._is_closed:
            self._begin()
        self._session = session
        self._pool.start()
        await self._join()

    async def check(self, url: str, **page: Any) -> Verdict:
        """Decide about a page and remember it. See `Deduplicator.check`; further arguments are those of `Page`.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read, or not within the limits.
            WorkerError: Two workers died of the page, or none can be started.
            StoreError: The store cannot answer.
        """
        return (await self.judge(Page(url, **page))).verdict

    async def judge(self, page: Page, prepare: Prepare | None = None) -> Judged:
        """Decide about a page as `check` does, and return what came of reading it, too.

        Args:
            page: The page.
            prepare: Is called with the page, its fingerprint in place of its content, and what was read. Returns the
                page to ask about, for example with the rank that its links give it.
        """
        return await self._judge(page, prepare, None, None)

    async def check_many(
        self, pages: Iterable[Page] | AsyncIterable[Page], *, on_unreadable: OnUnreadable | None = None
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order, and yield each verdict as soon as it and those before are there.

        Arguments and errors are as in `Deduplicator.check_many`. An iterable that waits should be an asynchronous one.

        Example:
            >>> import asyncio
            >>> from crawldedup import AsyncDeduplicator, Page
            >>> async def main():
            ...     pages = [
            ...         Page("https://a.example/", text="Closed today."),
            ...         Page("https://b.example/", text="Closed today."),
            ...     ]
            ...     async with AsyncDeduplicator() as dedup:
            ...         async for verdict in dedup.check_many(pages):
            ...             print(verdict.kind)
            >>> asyncio.run(main())
            thin
            exact_duplicate
        """
        queue: asyncio.Queue[tuple[Page, asyncio.Task[Judged]] | None] = asyncio.Queue(_AHEAD)
        tasks: set[asyncio.Task[Any]] = set()

        async def feed() -> None:
            before: asyncio.Future[None] | None = None
            try:
                async for page in pages if isinstance(pages, AsyncIterable) else _asynchronous(pages):
                    turn = asyncio.get_running_loop().create_future()
                    tasks.add(task := asyncio.create_task(self._judge(page, None, before, turn)))
                    await queue.put((page, task))
                    before = turn
            except Exception as error:
                await queue.put(None)
                raise error
            await queue.put(None)

        tasks.add(feeding := asyncio.create_task(feed()))
        try:
            while (item := await queue.get()) is not None:
                page, task = item
                tasks.discard(task)
                try:
                    verdict = (await task).verdict
                except PageError as error:
                    if on_unreadable is None:
                        raise
                    on_unreadable(page, error)
                else:
                    yield verdict
            await feeding
        finally:
            for task in tasks:
                task.cancel()

    def deliver(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> None:
        """Note that a page checked with `delivered=False` was delivered. See `Deduplicator.deliver`."""
        self._dedup.deliver(url, identity=identity, scope_key=scope_key)

    clear = _awaited(Deduplicator.clear)
    forget = _awaited(Deduplicator.forget)
    heartbeat = _awaited(Deduplicator.heartbeat)
    info = _awaited(Deduplicator.info)
    note = _awaited(Deduplicator.note)
    text_of = _awaited(Deduplicator.text_of)

    async def fingerprint(self, *, url: str = "", **page: Any) -> Fingerprint:
        """Return the fingerprint of a page. See `Deduplicator.fingerprint`."""
        self._require_open()
        return (await self._read(Page(url, **page, remember=False))).page.fingerprint

    async def find(self, *, url: str = "", **page: Any) -> list[Match]:
        """Return remembered pages that resemble this one. See `Deduplicator.find`."""
        told = await self.explain(url, **page)
        matches = [candidate.match for candidate in told.candidates if candidate.accepted]
        return sorted(matches, key=lambda match: -match.similarity)

    async def explain(self, url: str, **page: Any) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`."""
        self._require_open()
        given = Page(url, **page)
        try:
            return await self._explain(given)
        except KeyMismatchError:
            if given.fingerprint is not None:
                raise
            return await self._explain(given)

    async def compare(self, first: Page, second: Page) -> bytes:
        """Return how two pages compare, as MessagePack of a Comparison; the store is not asked."""
        return await self._pool.call(request("compare", [first, second], Key()), bytes)

    async def close(self, *, leave: bool = True) -> None:
        """Answer what waits, leave the crawl and disconnect, within some seconds. See `Deduplicator.close`.

        Args:
            leave: As in `Deduplicator.close`.
        """
        self._is_closed = True
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("crawldedup: closing: pages were left that took more than %.0f s", _CLOSE_SECONDS)
        finally:
            self._pool.kill()
            if self._beating is not None:
                self._beating.cancel()
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(StoreUnavailableError("The store did not answer before the end."))
        close = partial(self._dedup.close, leave=leave)
        if self._thread is None:
            close()
            return
        closing = asyncio.get_running_loop().run_in_executor(self._thread, close)
        if not (await asyncio.wait({closing}, timeout=_CLOSE_SECONDS))[0]:
            _log.warning("crawldedup: closing: the store took more than %.0f s", _CLOSE_SECONDS)
        self._thread.shutdown(wait=False)

    async def _judge(
        self,
        page: Page,
        prepare: Prepare | None,
        before: asyncio.Future[None] | None,
        turn: asyncio.Future[None] | None,
    ) -> Judged:
        """Judge a page. With a `turn`, it is asked about once `before` is done, and `turn` is done then."""
        self._require_open()
        if not isinstance(page, Page):
            raise ConfigurationError(f"one of the pages is a {type(page).__name__}; each must be a Page")
        begun = time.perf_counter()
        self._in_progress += 1
        self._idle.clear()
        try:
            try:
                read, answer = await self._begun(page, prepare, before)
            finally:
                _pass_on(before, turn)
            try:
                verdict, asking = await answer
            except KeyMismatchError:
                if page.fingerprint is not None:
                    raise
                # The index was begun again with another key, which is known by now.
                read, answer = await self._begun(page, prepare, None)
                verdict, asking = await answer
        finally:
            self._in_progress -= 1
            if not self._in_progress:
                self._idle.set()
        return Judged(verdict, read.page, read.seconds, asking, time.perf_counter() - begun)

    async def _begun(
        self, page: Page, prepare: Prepare | None, before: asyncio.Future[None] | None
    ) -> tuple[Read, asyncio.Future[tuple[Verdict, float]]]:
        """Read a page, and queue the question about it."""
        read = await self._read(page)
        asked = replace(page, html=None, text=None, encoding=None, fingerprint=read.page.fingerprint)
        if prepare is not None:
            asked = prepare(asked, read.page)
        if before is not None:
            await before
        answer = asyncio.get_running_loop().create_future()
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)
        self._asked.append((asked, answer))
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return read, answer

    async def _read(self, page: Page) -> Read:
        self._breaker.require()
        if page.fingerprint is not None:
            return Read(ReadPage(page.fingerprint), 0.0)
        key = await self._key(joins=page.remember)
        if _is_slow(page):
            return await self._pool.call(request("read", [page], key), read_of)
        begun = time.perf_counter()
        read = self._reader.read_page(page, key)
        return Read(read, time.perf_counter() - begun)

    async def _ask(self) -> None:
        """Ask about all pages that wait, and then about those that came meanwhile."""
        while self._asked:
            if len(self._asked) < min(BATCH, self._in_progress):
                await asyncio.sleep(min(_MOST_HOLD_SECONDS, self._asking_seconds))
            batch = [self._asked.popleft() for _ in range(min(BATCH, len(self._asked)))]
            batch = [(page, answer) for page, answer in batch if not answer.done()]
            begun = time.perf_counter()
            results: Sequence[Verdict | Exception]
            try:
                results = await self._call(partial(self._dedup.check_batch, [page for page, _ in batch]))
            except Exception as error:
                results = [error] * len(batch)
            self._asking_seconds = time.perf_counter() - begun
            for (_, answer), result in zip(batch, results, strict=True):
                if answer.done():
                    continue
                if isinstance(result, Verdict):
                    answer.set_result((result, self._asking_seconds / len(batch)))
                else:
                    answer.set_exception(result)
        self._asking = None

    async def _explain(self, page: Page) -> Explanation:
        names = ("identity", "scope_key", "similarity", "canonical", "revisit_similarity")
        rules: dict[str, Any] = {name: getattr(page, name) for name in names}
        if not _is_slow(page):
            rules |= {"text": page.text, "fingerprint": page.fingerprint}
            return await self._call(partial(self._dedup.explain, page.url, **rules))
        key = await self._key(joins=False)
        read = await self._pool.call(request("show", [page], key), read_of)
        rules["fingerprint"] = read.page.fingerprint
        told = await self._call(partial(self._dedup.explain, page.url, **rules))
        return replace(told, text=read.text, facts=read.facts)

    async def _key(self, *, joins: bool) -> Key:
        if joins and not self._has_joined:
            await self._join()  # a look would not keep others from beginning the index with another key
        return self._dedup.key if self._has_joined else await self._call(lambda: self._dedup.key)

    async def _join(self) -> None:
        await self._call(partial(self._dedup.open, self._session))
        self._has_joined = True
        if self._beating is None:
            self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        """Renew the lease of the crawl while there is nothing to do."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(Exception):
                await self._call(self._dedup.heartbeat)

    async def _call(self, call: Callable[[], T]) -> T:
        """Call the Deduplicator where its store is asked."""
        if self._thread is None:
            return self._guarded(call)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, call)

    def _guarded(self, call: Callable[[], T]) -> T:
        """Leave a store alone for a while that just failed, so that pages do not each wait for its time limit."""
        self._breaker.require()
        try:
            result = call()
        except StoreUnavailableError:
            self._breaker.failed()
            raise
        if isinstance(result, list) and any(isinstance(each, StoreUnavailableError) for each in result):
            self._breaker.failed()
        else:
            self._breaker.succeeded()
        return result

    def _require_open(self) -> None:
        if self._is_closed:
            raise ClosedError(f"{self!r} is closed; call open() or use `async with` to open it again")


def _is_slow(page: Page) -> bool:
    return page.html is not None or len(page.text or "") >= LONG_TEXT


def _pass_on(before: asyncio.Future[None] | None, turn: asyncio.Future[None] | None) -> None:
    """End a turn, if need be after the one before."""
    if turn is None:
        return
    if before is None or before.done():
        turn.set_result(None)
    else:
        before.add_done_callback(lambda _: _pass_on(None, turn))


async def _asynchronous(pages: Iterable[Page]) -> AsyncIterator[Page]:
    for page in pages:
        yield page
