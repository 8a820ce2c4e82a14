"""Renew the lease of a crawler from time to time while nothing else happens."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from crawldedup.deduplicator import HEARTBEAT_SECONDS


class Heartbeats:
    """Calls `beat` periodically after `begin`. A call that fails is repeated later."""

    def __init__(self, beat: Callable[[], Awaitable[None]]) -> None:
        self._beat = beat
        self._task: asyncio.Task[None] | None = None

    @property
    def have_begun(self) -> bool:
        return self._task is not None

    def begin(self) -> None:
        """Begin, unless they have begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._go_on())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(Exception):
                await self._beat()
