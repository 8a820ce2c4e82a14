"""Worker processes that are forked off their crawl, which has the modules already that they take
longest to import.

Importing this module makes it so. What a process of Python's own has that these have not is tested
in crawls that `crawling.start` begins, and in `tests/workers`.
"""

import contextlib
import os
import signal
import subprocess
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import crawldedup.workers.program
import crawldedup.workers.reading  # noqa: F401
from crawldedup.key import Key
from crawldedup.workers import pool


class ForkedProcess:
    """As much of `subprocess.Popen` as workers need."""

    def __init__(
        self, command: list[str], *, stdin: int, env: dict[str, str], process_group: int
    ) -> None:
        self.args = command
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, process_group)
            _become(command[-1], stdin)

    def poll(self) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.002)
        return status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _become(program: str, stdin: int) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.dup2(stdin, 0)
        for opened in {int(path.name) for path in Path("/dev/fd").iterdir()} - {0, 1, 2}:
            with contextlib.suppress(OSError):  # the one that the list was read from
                os.close(opened)
        exec(program, {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)


# Estimates depend on the key: see `tests/conftest.py`. Crawls of processes of their own have keys
# as for users.
Key.random = classmethod(lambda cls: cls())  # type: ignore[assignment, method-assign]
pool.subprocess = SimpleNamespace(Popen=ForkedProcess, TimeoutExpired=subprocess.TimeoutExpired)
