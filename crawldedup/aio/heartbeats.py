"""Send heartbeats: a crawler that is idle still renews its lease from time to time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from crawldedup.deduplicator import HEARTBEAT_SECONDS


class Heartbeats:
    """Calls `beat` every 20 seconds in the background, from `begin` to `end`.

    If a call fails, the next one makes up for it.
    """

    def __init__(self, beat: Callable[[], Awaitable[None]]) -> None:
        self._beat = beat
        self._task: asyncio.Task[None] | None = None

    @property
    def have_begun(self) -> bool:
        return self._task is not None

    def begin(self) -> None:
        """Start the calls, unless they have started already."""
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
