"""A daemon thread that makes calls in turn, and hands their results to the event loop."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, TypeVar

from crawldedup.scrapy_plugin.runtime.bridge import poster
from crawldedup.scrapy_plugin.runtime.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class CallThread:
    """Begun with its first call. A daemon: no call can keep the program from ending."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: _Calls | None = None

    def submit(self, call: Callable[[], T]) -> Pending[T]:
        """Queue a call; whatever it raises is the error of what is pending."""
        if self._calls is None:
            self._calls = queue.SimpleQueue()
            threading.Thread(target=_run, args=(self._calls,), name=self._name, daemon=True).start()
        pending: Pending[T] = Pending()
        post = poster()

        def make() -> None:
            try:
                result = call()
            except BaseException as error:
                post(pending.fail, error)
            else:
                post(pending.succeed, result)

        self._calls.put(make)
        return pending

    def end(self) -> None:
        """End the thread after the calls that are queued; a later one begins another."""
        if self._calls is not None:
            self._calls.put(None)
            self._calls = None


_Calls = queue.SimpleQueue["Callable[[], None] | None"]


def _run(calls: _Calls) -> None:
    while (make := calls.get()) is not None:
        make()
