"""Let a command that is asked to end (SIGTERM) clean up, as it does after Ctrl-C."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

TERMINATED_STATUS: Final = 128 + signal.SIGTERM  # as shells say it
_REPEATED_SECONDS: Final = 1.0


class TerminatedError(KeyboardInterrupt):
    """Raised in the main thread when the process gets SIGTERM.

    Whatever handles Ctrl-C handles it too.
    """


@contextmanager
def termination_raised() -> Iterator[None]:
    """Raise TerminatedError at SIGTERM, whose default action would leave temporary files behind.

    A program that has a handler of its own, or ignores the signal, keeps doing so.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    last = 0.0

    def stop(*_: object) -> None:
        nonlocal last
        now = time.monotonic()
        is_repeated = last > 0 and now - last < _REPEATED_SECONDS
        last = now
        # `timeout` sends the signal twice, and the second one would interrupt the cleanup.
        if not is_repeated:
            raise TerminatedError

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        # The command may have set another handler.
        if signal.getsignal(signal.SIGTERM) is stop:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
