"""`Deduplicator` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from crawldedup import checks
from crawldedup.batches import BATCH, Batch, check_batch, checked
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import KeyMismatchError, StoreError
from crawldedup.page import Page, PageRef
from crawldedup.verdict import Verdict

if TYPE_CHECKING:
    from crawldedup.deduplicator import OnUnreadable, Unreadable
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.index import Progress
    from crawldedup.options import Options, OptionValues
    from crawldedup.search.method import Method
    from crawldedup.stores.base import CrawlSession
    from crawldedup.stores.contents import CopyResult
    from crawldedup.text.keys import Key

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    call: Callable[Concatenate[Deduplicator, P], T], *, reads: bool = False
) -> Callable[Concatenate[AsyncDeduplicator, P], Coroutine[Any, Any, T]]:
    """Return a method of Deduplicator to be awaited: made in the store's thread, or in one of those that read."""

    @wraps(call)
    async def awaited(self: AsyncDeduplicator, /, *args: P.args, **kwargs: P.kwargs) -> T:
        executor = self._readers if reads else self._asker
        return await asyncio.get_running_loop().run_in_executor(executor, partial(call, self._dedup, *args, **kwargs))

    return awaited


class AsyncDeduplicator:
    """Does for asyncio what `Deduplicator` does: the same methods, awaited.

    The work is done in threads beside the event loop. One thread asks the store, so verdicts come in the order of the
    calls. A long `prune` or `copy_to` delays the others. `progress` is called in that thread.

    Arguments that are not listed here are as in `Deduplicator`.

    Args:
        readers: The number of threads that read pages, from 1.
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
        ...             verdict = await dedup.check(url, text=story)
        ...             print(verdict.kind)
        >>> asyncio.run(main())
        new
        exact_duplicate
    """

    def __init__(
        self,
        store: str = "memory://",
        *,
        method: Method | None = None,
        readers: int = 2,
        **options: Unpack[OptionValues],
    ) -> None:
        self._threads = checks.whole(1)("readers", readers)
        self._dedup = Deduplicator(store, method=method, **options)
        self._make_executors()

    def _make_executors(self) -> None:
        # They start no thread before their first task.
        self._readers = ThreadPoolExecutor(self._threads, thread_name_prefix="crawldedup-read")
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="crawldedup-store")

    @classmethod
    def from_options(cls, options: Options, method: Method | None = None) -> Self:
        """Make an AsyncDeduplicator of checked options. See `Deduplicator.from_options`."""
        return cls(options.store, method=method, **options.index_values())

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

    def __repr__(self) -> str:
        return repr(self._dedup).replace("Deduplicator", type(self).__name__, 1)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    open = _in_thread(Deduplicator.open)
    check_fingerprint = _in_thread(Deduplicator.check_fingerprint)
    fingerprint = _in_thread(Deduplicator.fingerprint, reads=True)
    find = _in_thread(Deduplicator.find)
    explain = _in_thread(Deduplicator.explain)
    check_paragraphs = _in_thread(Deduplicator.check_paragraphs)
    clusters = _in_thread(Deduplicator.clusters)
    deliver = _in_thread(Deduplicator.deliver)
    text_of = _in_thread(Deduplicator.text_of)
    forget = _in_thread(Deduplicator.forget)
    clear = _in_thread(Deduplicator.clear)
    prune = _in_thread(Deduplicator.prune)
    info = _in_thread(Deduplicator.info)
    load = _in_thread(Deduplicator.load)
    note = _in_thread(Deduplicator.note)
    heartbeat = _in_thread(Deduplicator.heartbeat)
    _close = _in_thread(Deduplicator.close)
    _copy_to = _in_thread(Deduplicator.copy_to)
    _read = _in_thread(Deduplicator._read, reads=True)

    async def check(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
        delivered: bool = True,
        rank: int = 0,
        revisit_similarity: float | None = None,
    ) -> Verdict:
        """Decide about a page and remember it. See `Deduplicator.check`."""
        PageRef(url, identity, scope_key)
        ask = partial(
            self.check_fingerprint,
            url,
            identity=identity,
            scope_key=scope_key,
            delivered=delivered,
            rank=rank,
            revisit_similarity=revisit_similarity,
        )
        with suppress(KeyMismatchError):
            return await ask(await self.fingerprint(html=html, text=text, encoding=encoding, url=url))
        return await ask(await self.fingerprint(html=html, text=text, encoding=encoding, url=url))

    def check_many(
        self,
        pages: Iterable[Page] | AsyncIterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order. See `Deduplicator.check_many`.

        Pages of a batch are read while further ones come.

        Args:
            pages: The pages. An iterable that waits should be an asynchronous one. Up to `batch` pages may have been
                taken beyond an error.
            batch: The most pages to ask about at once, from 1.
            on_unreadable: Is called in the event loop with each page that cannot be read and its error.

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
        source = aiter(pages) if isinstance(pages, AsyncIterable) else _asynchronous(pages)
        return self._check_many(source, check_batch("batch", batch), on_unreadable)

    async def _check_many(
        self, pages: AsyncIterator[Page], size: int, on_unreadable: OnUnreadable | None
    ) -> AsyncIterator[Verdict]:
        while True:
            batch = Batch(size, skips=on_unreadable is not None)
            await self._fill(batch, pages)
            results, error = await self._decide(batch)
            for result in results:
                if isinstance(result, Verdict):
                    if self._dedup._heartbeat_is_due:
                        with suppress(StoreError):
                            await self.heartbeat()
                    yield result
                elif on_unreadable is not None:
                    on_unreadable(*result)
            if error is not None:
                raise error
            if not batch.pages:
                return

    async def _fill(self, batch: Batch, pages: AsyncIterator[Page]) -> None:
        """See `Batch.fill`."""
        reading: list[tuple[Page, asyncio.Task[Fingerprint]]] = []
        error: Exception | None = None
        try:
            async for page in pages:
                reading.append((page, asyncio.ensure_future(self._read(checked(page)))))
                if batch.is_full(len(reading)):
                    break
        except Exception as problem:
            error = problem
        await asyncio.gather(*(task for _, task in reading), return_exceptions=True)
        for page, task in reading:
            if not batch.add(page, task.exception() or task.result()):
                return
        batch.error = error

    async def _decide(self, batch: Batch) -> tuple[list[Verdict | Unreadable], Exception | None]:
        """Return what `Deduplicator._decide` yields, and the error that ended it."""
        results: list[Verdict | Unreadable] = []

        def decide() -> Exception | None:
            try:
                for result in self._dedup._decide(batch):
                    if isinstance(result, StoreError):
                        return result
                    results.append(result)
            except Exception as error:
                return error
            return None

        return results, await asyncio.get_running_loop().run_in_executor(self._asker, decide)

    async def copy_to(self, other: AsyncDeduplicator, *, progress: Progress | None = None) -> CopyResult:
        """Add the pages of this index to another. See `Deduplicator.copy_to`."""
        return await self._copy_to(other._dedup, progress=progress)

    async def close(self, *, leave: bool = True) -> None:
        """Leave the crawl and disconnect. See `Deduplicator.close`.

        Calls made before are answered first.

        Args:
            leave: As in `Deduplicator.close`.
        """
        await self._close(leave=leave)
        self._readers.shutdown(wait=False)
        self._asker.shutdown(wait=False)
        self._make_executors()


async def _asynchronous(pages: Iterable[Page]) -> AsyncIterator[Page]:
    for page in pages:
        yield page
