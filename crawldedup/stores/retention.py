"""How long pages are remembered, and how they are freed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_EVICTED: Final = 2
"""At most so many pages are evicted for a page that is added: an index far above its limit shrinks gradually."""
MAX_FREED: Final = 8
"""At most so many expired pages are freed of those that one check finds."""
MAX_SWEPT: Final = 4
"""For a page that is added, so many others are examined in turn and freed if they have expired."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long pages are remembered, and how many: of more than `max_pages`, those added first are forgotten.

    `ttl_seconds` counts from the last visit, or from when a page was added if `refresh` is False.
    """

    ttl_seconds: int | None = None
    refresh: bool = True
    max_pages: int | None = None

    def is_live(self, added_at: int, seen_at: int, now: int) -> bool:
        """Return True for a page that has not expired."""
        return self.ttl_seconds is None or (seen_at if self.refresh else added_at) >= now - self.ttl_seconds


FOR_EVER: Final = Retention()


@dataclass(frozen=True, slots=True)
class Pruned:
    """Progress of `prune`: pages examined and pages freed since it began."""

    examined: int
    freed: int
