"""`Deduplicator` for asyncio:

HTML is read in worker processes, and all pages that wait are asked about together.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar, cast

from crawldedup import checks
from crawldedup.deduplicator import HEARTBEAT_SECONDS, Deduplicator
from crawldedup.errors import ClosedError, CrawlDedupError, KeyMismatchError, StoreUnavailableError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.index.explain import Explanation
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.html import check_size
from crawldedup.reading.reader import Content, PageReader, ReadPage
from crawldedup.reading.volatile import Numbers, VolatileLines
from crawldedup.recent import put_last
from crawldedup.stores.contract import CrawlSession
from crawldedup.stores.registry import is_persistent
from crawldedup.verdict import Match, Verdict
from crawldedup.workers.pool import Breaker, WorkerPool, settle
from crawldedup.workers.reading import HANDLER, read_of, request

P = ParamSpec("P")
T = TypeVar("T")

_log: Final = logging.getLogger(__name__)

BATCH: Final = 32  # So many pages are asked about together at most.
# Five together take half the processor time of each alone. Longer, and a crawl without network
# stands still meanwhile.
_GATHERING_SECONDS: Final = 0.004
_AHEAD: Final = 64
_LONG_TEXT: Final = 50_000
_CLOSE_SECONDS: Final = 10.0
# Pages that may have to be read again, and the bytes of one: 24 MB at most.
_MOST_EARLY: Final = 400
_EARLY_BYTES: Final = 60_000


class Judged(NamedTuple):
    """A verdict, what was read of the page, and for how many seconds it was read, asked about, and
    waited in all.
    """

    verdict: Verdict
    read: ReadPage
    reading: float
    asking: float
    waited: float


_Answer = asyncio.Future[tuple[Verdict, float]]


def _awaited(
    call: Callable[Concatenate[Deduplicator, P], T],
) -> Callable[Concatenate["AsyncDeduplicator", P], Coroutine[Any, Any, T]]:

    @wraps(call)
    async def method(self: "AsyncDeduplicator", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.ask(lambda dedup: call(dedup, *args, **kwargs))

    return method


def _shown(name: str) -> Any:
    return property(lambda self: getattr(self._dedup, name), doc=f"See `Deduplicator.{name}`.")


def _with_new_key(call: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Make a call again if the index was begun again with another key, which is known by then."""

    @wraps(call)
    async def twice(*args: P.args, **kwargs: P.kwargs) -> T:
        with suppress(KeyMismatchError):
            return await call(*args, **kwargs)
        return await call(*args, **kwargs)

    return twice


class AsyncDeduplicator:
    """Does for asyncio what `Deduplicator` does: the same methods, awaited. Use it in one event
    loop.

    HTML and long texts are read in worker processes, within limits of time and memory. A page that
    ends its worker costs itself alone. The store is asked about all pages that wait in one round
    trip: `memory://` in the event loop, others in one thread beside it. A store that fails is left
    alone for some seconds; pages fail at once meanwhile.

    Args:
        store: The URL of the store.
        workers: The most worker processes, from 1.
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
        **options: Any,
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
        self._thread = ThreadPoolExecutor(1, "crawldedup-store") if is_persistent(store) else None
        self._breaker = Breaker()
        # How long to wait for pages that are read meanwhile.
        self.gathering_seconds = _GATHERING_SECONDS
        self._session: CrawlSession | None = None
        self._is_closed = False
        self._reading = 0
        self._questions: list[tuple[Page, Content, _Answer]] = []
        self._is_gathered = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        # The last pages that were remembered with all their numbers, by what names them.
        self._early: dict[tuple[str, str | None, str | None], tuple[Page, Numbers]] = {}

    @classmethod
    def from_options(cls, options: Options, *, workers: int = 1, page_seconds: float = 30) -> Self:
        """Make an AsyncDeduplicator of checked options. See `Deduplicator.from_options`."""
        return cls(
            options.store, workers=workers, page_seconds=page_seconds, **options.index_values()
        )

    key: Key = _shown("key")
    options: Options = _shown("options")
    pages: int = _shown("pages")
    session: CrawlSession | None = _shown("session")
    volatile_lines: VolatileLines = _shown("volatile_lines")

    @property
    def waiting(self) -> int:
        """Return how many pages are read or asked about now."""
        return self._reading + len(self._questions)

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
        self._is_closed, self._session = False, session
        self._pool.start()
        await self.ask(lambda dedup: dedup.open(session))

    async def check(self, url: str, **page: Any) -> Verdict:
        """Decide about a page and remember it. See `Deduplicator.check`.

        Raises WorkerError, too, if two workers died of the page or none can be started.
        """
        return await self.check_page(Page(url, **page))

    @_with_new_key
    async def check_page(self, page: Page) -> Verdict:
        """Decide about a page and remember it. Raises as `check`."""
        verdict, _ = await (await self._begin(page))
        return verdict

    @_with_new_key
    async def judge(
        self, page: Page, prepare: Callable[[Page, ReadPage], Page] | None = None
    ) -> Judged:
        """Decide about a page as `check` does; return what was read of it, too.

        `prepare` makes of the page and what was read of it the page to ask about, as one with the
        rank of its links.
        """
        begun = time.perf_counter()
        read, reading = await self._read(page)
        asked = prepare(page, read) if prepare else page
        verdict, asking = await self._ask_about(asked, read.fingerprint)
        is_kept = page.remember and (verdict.replaces or not verdict.is_duplicate)
        if is_kept and read.numbers and not read.left_out and len(page.html or "") <= _EARLY_BYTES:
            put_last(
                self._early,
                (page.url, page.identity, page.scope_key),
                (asked, read.numbers),
                _MOST_EARLY,
            )
        return Judged(verdict, read, reading, asking, time.perf_counter() - begun)

    async def check_many(
        self,
        pages: Iterable[Page] | AsyncIterable[Page],
        *,
        on_error: Callable[[Page, Exception], None] | None = None,
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order.

        Yield each verdict as soon as it and those before are there.

        An iterable that waits should be an asynchronous one. `on_error` is called with each page
        that gets no verdict, and its error; without it, the error is raised, and the iteration
        ends.
        """
        begun: asyncio.Queue[tuple[Page, asyncio.Task[_Answer]] | None] = asyncio.Queue()
        room = asyncio.Semaphore(_AHEAD)
        tasks: set[asyncio.Task[Any]] = set()

        async def feed() -> None:
            task = None
            async for page in pages if isinstance(pages, AsyncIterable) else asynchronous(pages):
                await room.acquire()
                tasks.add(
                    task := asyncio.create_task(self._begin(page, task, is_strict=on_error is None))
                )
                begun.put_nowait((page, task))

        tasks.add(feeding := asyncio.create_task(feed()))
        feeding.add_done_callback(lambda _: begun.put_nowait(None))
        try:
            while (item := await begun.get()) is not None:
                room.release()
                page, task = item
                tasks.discard(task)
                try:
                    try:
                        verdict, _ = await (await task)
                    except KeyMismatchError:
                        verdict = await self.check_page(page)
                except Exception as error:
                    if on_error is None:
                        raise
                    on_error(page, error)
                else:
                    yield verdict
            await feeding
        finally:
            for task in tasks:
                task.cancel()
                task.add_done_callback(_forget)

    def deliver(
        self, url: str, *, identity: str | None = None, scope_key: str | None = None
    ) -> None:
        """Note that a page checked with `delivered=False` was delivered.

        See `Deduplicator.deliver`.
        """
        self._dedup.deliver(url, identity=identity, scope_key=scope_key)
        if early := self._early.get((url, identity, scope_key)):
            self._early[url, identity, scope_key] = replace(early[0], delivered=True), early[1]

    async def ask(self, call: Callable[[Deduplicator], T]) -> T:
        """Return what a call of the Deduplicator returns, made where its store is asked."""
        result = await self._run(partial(self._guarded, call))
        if self.session is not None and self._beating is None and not self._is_closed:
            self._beating = asyncio.create_task(self._beat())
        return result

    clear = _awaited(Deduplicator.clear)
    forget = _awaited(Deduplicator.forget)
    heartbeat = _awaited(Deduplicator.heartbeat)
    info = _awaited(Deduplicator.info)
    note = _awaited(Deduplicator.note)
    text_of = _awaited(Deduplicator.text_of)

    async def fingerprint(self, url: str = "", **page: Any) -> Fingerprint:
        """Return the fingerprint of a page. See `Deduplicator.fingerprint`."""
        return (await self._read(Page(url, **{**page, "remember": False})))[0].fingerprint

    async def find(self, url: str = "", **page: Any) -> list[Match]:
        """Return remembered pages that resemble this one. See `Deduplicator.find`."""
        return (await self.explain(url, **page)).matches()

    @_with_new_key
    async def explain(self, url: str, **page: Any) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`."""
        read, _ = await self._read(Page(url, **{**page, "remember": False}), "show")
        values = (
            page | dict.fromkeys(("html", "text", "encoding")) | {"fingerprint": read.fingerprint}
        )
        explanation = await self.ask(lambda dedup: dedup.explain(url, **values))
        return replace(explanation, text=read.text, facts=read.facts, left_out=read.left_out)

    async def compare(self, first: Page, second: Page) -> dict[str, Any]:
        """Return how two pages compare by the key of this index, ready for JSON.

        See `crawldedup.compare`.
        """
        key = await self.ask(lambda dedup: dedup.key) if self._beating is None else self.key
        return cast(
            "dict[str, Any]", await self._pool.call(request("compare", [first, second], key))
        )

    async def close(self, *, leave: bool = True) -> None:
        """Answer what waits, leave the crawl and disconnect, within some seconds.

        See `Deduplicator.close`.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._renew(), _CLOSE_SECONDS)
        self._is_closed, deadline = True, time.monotonic() + _CLOSE_SECONDS
        try:
            while self.waiting and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
        finally:
            self._pool.close()
            for *_, answer in self._questions:
                settle(answer, StoreUnavailableError("The store did not answer in time."))
            if self._beating is not None:
                self._beating.cancel()
                self._beating = None
        closing = asyncio.ensure_future(self._run(lambda dedup: dedup.close(leave=leave)))
        if not (await asyncio.wait({closing}, timeout=_CLOSE_SECONDS))[0]:
            _log.warning("crawldedup: the store was not closed within %.0f s", _CLOSE_SECONDS)

    async def _read(self, page: Page, do: str = "read") -> tuple[ReadPage, float]:
        if self._is_closed:
            raise ClosedError(
                f"{self!r} is closed; call open() or use `async with` to open it again"
            )
        self._require_store()
        self._reading += 1
        try:
            if page.remember and self._beating is None:
                # A look would not keep others from beginning the index with another key.
                await self.ask(lambda dedup: dedup.open(self._session))
            key = await self.ask(lambda dedup: dedup.key) if self._beating is None else self.key
            if _is_quick(page):
                begun = time.perf_counter()
                return self._reader.read_page(page, key), time.perf_counter() - begun
            check_size(page.html or page.text or "")
            asked = request(do, [page], key, self._dedup.volatile_lines.known_at(page.url))
            read, seconds = await self._pool.call(asked, read_of)
            if page.remember:
                self.volatile_lines.learn(page.url, page.identity, read.numbers)
            return read, seconds
        finally:
            self._reading -= 1

    async def _begin(
        self, page: Page, after: asyncio.Task[Any] | None = None, *, is_strict: bool = False
    ) -> _Answer:
        """Read a page at once.

        Once another task is done, let the page be asked about with the next batch.

        If it `is_strict`, nothing is asked about behind a page that cannot be read. The
        fingerprints of short texts are made with that batch: many together take a third of the time
        of each alone.
        """
        try:
            content = (
                self._reader.try_content(page)
                if _is_quick(page)
                else (await self._read(page))[0].fingerprint
            )
        finally:
            if after is not None and not after.done():
                await asyncio.wait({after})
        if after is not None and is_strict:
            after.result()
        return self._ask_about(page, content)

    def _ask_about(self, page: Page, content: Content) -> _Answer:
        answer: _Answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_forget)
        self._questions.append((page, content, answer))
        if not self._reading or len(self._questions) >= BATCH:
            self._is_gathered.set()
        self._asking = self._asking or asyncio.create_task(self._ask_all())
        return answer

    async def _ask_all(self) -> None:
        while self._questions:
            self._is_gathered.clear()
            if self._reading and len(self._questions) < BATCH:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.gathering_seconds):
                        await self._is_gathered.wait()
            batch = self._questions[:BATCH]
            wanted = [question for question in batch if not question[2].done()]
            pages, contents, answers = zip(*wanted, strict=True) if wanted else ((), (), ())
            begun = time.perf_counter()
            try:
                results: Sequence[Any] = await self.ask(
                    lambda dedup: dedup.check_batch(pages, contents)
                )  # noqa: B023
            except Exception as error:
                results = [error] * len(pages)
            seconds = time.perf_counter() - begun
            for answer, result in zip(answers, results, strict=True):
                settle(
                    answer,
                    result if isinstance(result, Exception) else (result, seconds / len(pages)),
                )
            del self._questions[: len(batch)]
        self._asking = None

    async def _beat(self) -> None:
        """Renew the lease of the crawl while there is nothing to do."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(Exception):
                await self.ask(Deduplicator.heartbeat)

    async def _renew(self) -> None:
        """Read pages again that are remembered with numbers which are known by now to change."""

        async def renew(page: Page, numbers: Numbers) -> None:
            if page.delivered and not numbers.keys().isdisjoint(
                known := self.volatile_lines.known_at(page.url)
            ):
                with suppress(CrawlDedupError):
                    read, _ = await self._pool.call(
                        request("read", [page], self.key, known), read_of
                    )
                    await self._ask_about(page, read.fingerprint)

        await asyncio.gather(*[renew(*each) for each in self._early.values()])
        self._early.clear()

    async def _run(self, call: Callable[[Deduplicator], T]) -> T:
        if self._thread is None:
            return call(self._dedup)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, self._dedup)

    def _guarded(self, call: Callable[[Deduplicator], T], dedup: Deduplicator) -> T:
        """Leave a store alone for a while that just failed, so that pages do not each wait for its
        time limit.
        """
        self._require_store()
        try:
            result = call(dedup)
        except StoreUnavailableError:
            self._breaker.failed()
            raise
        if isinstance(result, list) and any(
            isinstance(each, StoreUnavailableError) for each in result
        ):
            self._breaker.failed()
        else:
            self._breaker.succeeded()
        return result

    def _require_store(self) -> None:
        if self._breaker.seconds_left():
            raise StoreUnavailableError(
                "The store failed a moment ago and is left alone for a few seconds."
            )


def _forget(future: asyncio.Future[Any]) -> None:
    """Retrieve an error that nobody may wait for: asyncio complains of such."""
    if not future.cancelled():
        future.exception()


def _is_quick(page: Page) -> bool:
    """Return whether a page can be read in the event loop; True, too, for what is no page, and
    refused there.
    """
    return not isinstance(page, Page) or (page.html is None and len(page.text or "") < _LONG_TEXT)


async def asynchronous(values: Iterable[T]) -> AsyncIterator[T]:
    """Yield the values of an iterable that does not wait."""
    for value in values:
        yield value
