"""The store's own thread: it keeps I/O off the event loop and the order of the decisions.

A `Deduplicator` serves one thread at a time, and a page must be remembered before the next is compared with
it.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from crawldedup.errors import StoreUnavailableError
from crawldedup.scrapy_plugin.breaker import Breaker

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.deduplicator import Deduplicator
    from crawldedup.hashing.fingerprint import Fingerprint
    from crawldedup.verdict import Verdict

T = TypeVar("T")


class StoreThread:
    """Calls a `Deduplicator` in one daemon thread, and leaves a store alone for a while that just failed.

    With `stays` False it leaves the index after each call. A crawler that stays, as in a shell that is open all
    day, would make one crawl of those that come and go meanwhile: see `crawldedup.stores.base.Crawler`.
    """

    def __init__(self, deduplicator: Deduplicator, breaker: Breaker | None = None, *, stays: bool = True) -> None:
        self._deduplicator = deduplicator
        self._stays = stays
        self._breaker = breaker or Breaker()
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def open(self, *, to_look: bool = False) -> Future[None]:
        """Connect, and join the crawl unless it is `to_look` only.

        May fail with `StoreUnavailableError` or `ProfileMismatchError`; `judge` tries again.
        """
        return self._submit(self._deduplicator.look if to_look else self._deduplicator.open)

    def judge(
        self, url: str, fingerprint: Fingerprint, *, canonical: Callable[[], str | None] = lambda: None, **rules: Any
    ) -> Future[Verdict]:
        """Look and remember; `rules` are the keyword arguments of `Deduplicator.judge`.

        `canonical` is asked in the store's thread, for it may have to parse the page's head.
        """
        return self._submit(lambda: self._deduplicator.judge(url, fingerprint, canonical=canonical(), **rules))

    def forget(self, url: str, *, identity: str | None, scope_key: str) -> Future[int]:
        """See `Deduplicator.forget`."""
        return self._submit(lambda: self._deduplicator.forget(url, identity=identity, scope_key=scope_key))

    def heartbeat(self) -> Future[None]:
        """Keep this crawler's lease alive."""
        return self._submit(self._deduplicator.heartbeat)

    def close(self) -> Future[None]:
        """Close the store after everything that is queued, and end the thread."""
        future = self._enqueue(self._deduplicator.close)
        self._calls.put(None)
        self._thread = None
        return future

    def _submit(self, call: Callable[[], T]) -> Future[T]:
        return self._enqueue(lambda: self._guarded(call))

    def _guarded(self, call: Callable[[], T]) -> T:
        # Asked here and not when the call is queued: the calls behind one that ran into its time limit must
        # not each wait for theirs.
        if not self._breaker.allows():
            raise StoreUnavailableError("The store failed a moment ago and is left alone for a few seconds.")
        try:
            result = call()
        except StoreUnavailableError:
            self._breaker.failed()
            raise
        finally:
            if not self._stays:
                self._deduplicator.close()
        self._breaker.succeeded()
        return result

    def _enqueue(self, call: Callable[[], T]) -> Future[T]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="crawldedup-store", daemon=True)
            self._thread.start()
        future: Future[T] = Future()

        def fulfil() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self._calls.put(fulfil)
        return future

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
