"""The pages that predicted copies are copies of: which were delivered, and which are on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy import Request

MOST_WAITING: Final = 10_000
"""So many requests wait for the page that they are copies of. Others go out."""


class Targets:
    """Targets by their keys. While one is on its way, requests for its copies wait, and take its place if it fails."""

    def __init__(self) -> None:
        self._delivered: set[int] = set()
        self._waiting: dict[int, list[Request]] = {}
        self._asked_instead: set[int] = set()
        self._fetched_instead: set[int] = set()
        self._count = 0

    def is_asked_instead(self, key: int) -> bool:
        """Return True for a target that was asked for in place of a copy, before the spider asked for it."""
        return key in self._asked_instead

    def was_fetched_instead(self, key: int) -> bool:
        """Return True for such a target that has come, whatever it was."""
        return key in self._fetched_instead

    def ask_instead(self, key: int) -> None:
        """Note that a target was asked for in place of a copy."""
        self._asked_instead.add(key)

    def came_instead(self, key: int) -> None:
        """Note that it has come."""
        self._fetched_instead.add(key)

    def is_delivered(self, key: int) -> bool:
        """Return True for a target whose content was delivered."""
        return key in self._delivered

    def is_on_its_way(self, key: int) -> bool:
        """Return True for a target that was asked for and has not come yet."""
        return key in self._waiting

    def ask(self, key: int) -> None:
        """Note that a target, or a copy in its place, was asked for."""
        self._waiting.setdefault(key, [])

    def wait(self, key: int, request: Request) -> bool:
        """Let a copy wait for its target. Returns False if too many wait."""
        if self._count >= MOST_WAITING:
            return False
        self._waiting[key].append(request)
        self._count += 1
        return True

    def came(self, key: int) -> list[Request]:
        """Note that a target was delivered; return the copies that waited for it."""
        self._delivered.add(key)
        return self._leave(key)

    def failed(self, key: int) -> Request | None:
        """Note that what was asked for brought no content; return the copy that is to be asked for in its place."""
        self._asked_instead.discard(key)
        waiting = self._leave(key)
        if not waiting:
            return None
        self._waiting[key] = waiting[1:]
        self._count += len(waiting) - 1
        return waiting[0]

    def give_up(self) -> list[Request]:
        """Return all that wait: what they wait for does not come."""
        return [request for key in list(self._waiting) for request in self._leave(key)]

    def _leave(self, key: int) -> list[Request]:
        waiting = self._waiting.pop(key, [])
        self._count -= len(waiting)
        return waiting
