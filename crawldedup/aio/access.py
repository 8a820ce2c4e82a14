"""Call the store of a `Deduplicator` from an event loop without blocking the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import KeyMismatchError, StoreUnavailableError
from crawldedup.index.judging import Result
from crawldedup.page import Page
from crawldedup.reading.reader import Content
from crawldedup.stores.registry import is_persistent
from crawldedup.workers.pool import Breaker

T = TypeVar("T")


class StoreAccess:
    """Calls a Deduplicator from an event loop, in a thread if its store may block.

    A store in memory is called in the event loop. Any other store may block, so it is called in a
    single thread. After a failure, only `run` still calls the store for a few seconds. Otherwise,
    every page would have to wait for the store's time limit.
    """

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup
        self._breaker = Breaker()
        self._thread: ThreadPoolExecutor | None = None
        if is_persistent(dedup.options.store):
            self._thread = ThreadPoolExecutor(1, "crawldedup-store")

    def require_store(self) -> None:
        """Raise StoreUnavailableError if the store has failed within the last few seconds."""
        if self._breaker.seconds_left():
            raise StoreUnavailableError(
                "The store failed a moment ago and is left alone for a few seconds."
            )

    async def run(self, call: Callable[[Deduplicator], T]) -> T:
        """Make a call and return its result, even if the store has just failed."""
        if self._thread is None:
            return call(self._dedup)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, self._dedup)

    async def ask(self, call: Callable[[Deduplicator], T]) -> T:
        """Make a call and return its result, unless the store has just failed.

        Raises the errors of the call, and StoreUnavailableError.
        """
        return await self.run(partial(self._guarded, call, _succeeds))

    async def check_batch(self, pages: Sequence[Page], contents: Sequence[Content]) -> list[Result]:
        """Check pages with `Deduplicator.check_batch`, unless the store has just failed.

        The store also counts as failed if only some pages couldn't be checked because of it.
        Raises the errors of `check_batch`, and StoreUnavailableError.
        """

        def check(dedup: Deduplicator) -> list[Result]:
            return dedup.check_batch(pages, contents)

        return await self.run(partial(self._guarded, check, _all_were_answered))

    def _guarded(
        self,
        call: Callable[[Deduplicator], T],
        is_success: Callable[[T], bool],
        dedup: Deduplicator,
    ) -> T:
        """Make a call unless the store has just failed, and note whether it fails or succeeds."""
        self.require_store()
        try:
            result = call(dedup)
        except StoreUnavailableError:
            self._breaker.failed()
            raise
        if is_success(result):
            self._breaker.succeeded()
        else:
            self._breaker.failed()
        return result


async def with_new_key(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call, and repeat it once if the index turns out to have a new key.

    The index has a new key if another process has started it again. The first try finds that out.

    Raises:
        KeyMismatchError: The key has changed once more.
    """
    try:
        return await call()
    except KeyMismatchError:
        pass
    return await call()


def _succeeds(_: object) -> bool:
    return True


def _all_were_answered(results: Sequence[Result]) -> bool:
    return not any(isinstance(result, StoreUnavailableError) for result in results)
