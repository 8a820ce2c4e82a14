"""A circuit breaker: something that just failed is left alone for a while, so that it cannot slow a crawl."""

import time
from typing import Final

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 15.0


class Breaker:
    """Says when to try again; each failure in a row doubles the pause, a success ends it."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._closed_until = 0.0

    def seconds_left(self) -> float:
        """Return for how many seconds no try may be made; 0 if it may be made now."""
        return max(0.0, self._closed_until - time.monotonic()) if self._pause else 0.0

    def failed(self) -> None:
        """Report a failure: the pause begins now, since a failing try may itself have taken long."""
        self._pause = min(self._pause * 2 or FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._closed_until = time.monotonic() + self._pause

    def succeeded(self) -> None:
        """Report a success: no pause, and the next failure starts with a short one again."""
        self._pause = 0.0
