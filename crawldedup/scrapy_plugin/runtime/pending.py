"""Results that the event loop will have: what the parts of the plugin hand each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from twisted.internet.defer import Deferred

from crawldedup.scrapy_plugin.runtime.bridge import in_asyncio, later

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")


class Pending(Generic[T]):
    """A result for any number of coroutines to wait for, on asyncio's loop and on Twisted's others.

    Neither kind of future will do: an `asyncio.Future` needs asyncio's loop, and who gives up waiting for one or for a
    `Deferred` gives it up for everybody. All calls belong to the loop's thread.
    """

    __slots__ = ("_calls", "_is_done", "_result", "error")

    def __init__(self) -> None:
        self._is_done = False
        self._result: T | None = None
        self.error: BaseException | None = None
        self._calls: tuple[Callable[[Pending[T]], object], ...] = ()

    def is_done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._is_done

    def succeed(self, result: T) -> None:
        """Give the result. What comes after the first result or error is nobody's any more."""
        if not self._is_done:
            self._result = result
            self._finish()

    def fail(self, error: BaseException) -> None:
        """Give the error that waiting for the result ends with."""
        if not self._is_done:
            self.error = error
            self._finish()

    def when_done(self, call: Callable[[Pending[T]], object]) -> None:
        """Call with this object when it is done; at once if it is."""
        if self._is_done:
            call(self)
        else:
            self._calls += (call,)

    def result(self) -> T:
        """The result, or raises the error. Only for what is done."""
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value]  # None where T holds it, for it is done

    def __await__(self) -> Generator[Any, Any, T]:
        if not self._is_done:
            yield from self._wait().__await__()
        return self.result()

    def _wait(self) -> asyncio.Future[None] | Deferred[None]:
        if in_asyncio():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.when_done(lambda _: None if future.done() else future.set_result(None))
            return future
        deferred: Deferred[None] = Deferred()
        self.when_done(lambda _: None if deferred.called else deferred.callback(None))
        return deferred

    def _finish(self) -> None:
        self._is_done = True
        calls, self._calls = self._calls, ()
        for call in calls:
            call(self)


def succeeded(result: T) -> Pending[T]:
    """What needs no waiting for."""
    pending: Pending[T] = Pending()
    pending.succeed(result)
    return pending


async def within(seconds: float, pending: Pending[T]) -> T:
    """Wait, but no longer than so many seconds. Raises `TimeoutError` then; the work itself is not stopped."""
    limited: Pending[T] = Pending()
    pending.when_done(lambda done: _hand_on(done, limited))
    take_back = later(seconds, lambda: limited.fail(TimeoutError(f"not done within {seconds:.0f} s")))
    try:
        return await limited
    finally:
        take_back()


def _hand_on(done: Pending[T], to: Pending[T]) -> None:
    try:
        to.succeed(done.result())
    except BaseException as error:
        to.fail(error)
