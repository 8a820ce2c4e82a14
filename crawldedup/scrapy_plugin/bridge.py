"""Awaiting, in any of Scrapy's event loops, what another thread will answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


async def result_of(future: Future[T], timeout_seconds: float | None = None) -> T:
    """Wait for the future without blocking the loop, and return its result or raise its exception.

    Works on the asyncio reactor, on the others (epoll, select) and without a reactor. Raises `TimeoutError`
    when `timeout_seconds` pass first; the work itself is not stopped.
    """
    if is_asyncio_available():
        return await asyncio.wait_for(asyncio.wrap_future(future), timeout_seconds)
    return await _deferred_result_of(future, timeout_seconds)


def _deferred_result_of(future: Future[T], timeout_seconds: float | None) -> Deferred[T]:
    # Importing the reactor installs one, which would be wrong in the other modes.
    from twisted.internet import reactor

    deferred: Deferred[T] = Deferred()
    loop: Any = reactor  # a module whose attributes depend on the reactor that is installed

    def fire() -> None:
        if deferred.called:
            return
        if (error := future.exception()) is not None:
            deferred.errback(error)
        else:
            deferred.callback(future.result())

    def give_up() -> None:
        if not deferred.called:
            deferred.errback(TimeoutError())

    def stop_timer(result: T) -> T:
        if timer is not None and timer.active():
            timer.cancel()
        return result

    timer = None if timeout_seconds is None else loop.callLater(timeout_seconds, give_up)
    deferred.addBoth(stop_timer)
    future.add_done_callback(lambda _: loop.callFromThread(fire))
    return deferred
