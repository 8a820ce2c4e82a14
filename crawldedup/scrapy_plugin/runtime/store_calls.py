"""The plugin's calls of the store: beside the event loop and in their order, or at once where nothing is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from crawldedup.errors import StoreUnavailableError
from crawldedup.scrapy_plugin.runtime.breaker import Breaker
from crawldedup.scrapy_plugin.runtime.call_thread import CallThread
from crawldedup.scrapy_plugin.runtime.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.deduplicator import Deduplicator
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.verdict import Verdict

T = TypeVar("T")


class StoreCalls:
    """Calls a `Deduplicator`, and leaves a store alone for a while that just failed.

    A page must be remembered before the next is compared with it, so one thread makes the calls. Those of a
    deduplicator that `answers_at_once` are made in the event loop: they take 0.2 ms, less than it takes to wake
    a thread beside a busy loop.

    With `stays` False it leaves the index after each call. A crawler that stays, as in a shell that is open all
    day, would make one crawl of those that come and go meanwhile: see `crawldedup.stores.base.Crawler`.
    """

    def __init__(self, deduplicator: Deduplicator, breaker: Breaker | None = None, *, stays: bool = True) -> None:
        self._deduplicator = deduplicator
        self._stays = stays
        self._breaker = breaker or Breaker()
        self._thread = None if deduplicator.answers_at_once else CallThread("crawldedup-store")

    def open(self, *, to_look: bool = False) -> Pending[None]:
        """Connect, and join the crawl unless it is `to_look` only.

        May fail with `StoreUnavailableError` or `ProfileMismatchError`; `judge` tries again.
        """
        return self._guarded(self._deduplicator.look if to_look else self._deduplicator.open)

    def judge(
        self, url: str, fingerprint: Fingerprint, *, canonical: Callable[[], str | None] = lambda: None, **rules: Any
    ) -> Pending[Verdict]:
        """Look and remember; `rules` are the keyword arguments of `Deduplicator.check_fingerprint`.

        `canonical` is asked where the store is, for it may have to parse the page's head.
        """
        return self._guarded(
            lambda: self._deduplicator.check_fingerprint(url, fingerprint, canonical=canonical(), **rules)
        )

    def forget(self, url: str, *, identity: str | None, scope_key: str) -> Pending[int]:
        """See `Deduplicator.forget`."""
        return self._guarded(lambda: self._deduplicator.forget(url, identity=identity, scope_key=scope_key))

    def heartbeat(self) -> Pending[None]:
        """Keep this crawler's lease alive."""
        return self._guarded(self._deduplicator.heartbeat)

    def close(self) -> Pending[None]:
        """Close the store after everything that is queued, and end the thread."""
        closing = self._make(self._deduplicator.close)
        if self._thread is not None:
            self._thread.end()
        return closing

    def _guarded(self, call: Callable[[], T]) -> Pending[T]:
        def guarded() -> T:
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

        return self._make(guarded)

    def _make(self, call: Callable[[], T]) -> Pending[T]:
        if self._thread is not None:
            return self._thread.submit(call)
        pending: Pending[T] = Pending()
        try:
            pending.succeed(call())
        except Exception as error:
            pending.fail(error)
        return pending
