"""A circuit breaker: something that just failed is left alone for a while, so that it cannot slow a crawl."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crawldedup.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 15.0


class Breaker:
    """Says whether to try again; each failure in a row doubles the pause, a success ends it.

    Not thread-safe: one thread asks and reports.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pause = 0.0
        self._closed_until = float("-inf")

    def allows(self) -> bool:
        """Return True if the next try may be made now."""
        return self._clock() >= self._closed_until

    def pause_left(self) -> float:
        """Return for how many seconds no try may be made."""
        return max(0.0, self._closed_until - self._clock())

    def require(self) -> None:
        """Raise StoreUnavailableError while the store is to be left alone."""
        if not self.allows():
            raise StoreUnavailableError("The store failed a moment ago and is left alone for a few seconds.")

    @contextmanager
    def guarding_store(self) -> Iterator[None]:
        """Report how a call of the store ends. Raises StoreUnavailableError, too, while it is to be left alone."""
        if not self.allows():
            raise StoreUnavailableError("The store failed a moment ago and is left alone for a few seconds.")
        try:
            yield
        except StoreUnavailableError:
            self.failed()
            raise
        self.succeeded()

    def failed(self) -> None:
        """Report a failure: the pause begins now, since a failing try may itself have taken long."""
        self._pause = min(self._pause * 2 or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._closed_until = self._clock() + self._pause

    def succeeded(self) -> None:
        """Report a success: no pause, and the next failure starts with a short one again."""
        self._pause = 0.0
        self._closed_until = float("-inf")
