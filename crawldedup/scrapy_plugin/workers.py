"""Reading pages: in a process of its own for slow extractors, in this one for quick ones.

The processes are plain programs on pipes (`worker.py`) and not a `multiprocessing` pool. A fork of a process
that runs Twisted is dangerous, and both other start methods import the user's main script again, which starts
a second crawl unless the script guards against it. And a page that kills its process (a crash in C code, the
out-of-memory killer) costs itself only, where a broken pool fails every page in flight.
"""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError
from crawldedup.printable import printable
from crawldedup.scrapy_plugin.breaker import Breaker
from crawldedup.scrapy_plugin.worker import answer_to

if TYPE_CHECKING:
    from crawldedup.hashing.fingerprint import Fingerprint
    from crawldedup.page import PageReader

PAGE_LIMIT_SECONDS = 30.0

# -P keeps a pickle.py in the current directory from being imported instead of the standard library's.
_BOOT = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from crawldedup.scrapy_plugin.worker import main; main()"
)


class WorkerError(CrawlDedupError):
    """A worker process died or could not be started; the page it was reading is not judged."""


class UnexpectedReadError(CrawlDedupError):
    """Reading a page failed in a way nobody foresaw.

    `kind` is the name of the exception's class, the message its traceback, made safe to log: it may quote the
    page.
    """

    def __init__(self, kind: str, trace: str) -> None:
        self.kind = kind
        super().__init__("\n".join(printable(line) for line in trace.splitlines()))


class Page(NamedTuple):
    """What is read: a body of HTML, or of plain text if `is_html` is False."""

    body: bytes
    encoding: str | None
    is_html: bool = True


class PageWorker(Protocol):
    """Reads pages in the order in which they are sent, for one thread. Only `kill` may be called from another."""

    ahead: int
    """So many pages are worth sending before the one that is being read is done."""

    def start(self) -> None:
        """Get ready ahead of the first page; errors may wait until then."""

    def send(self, page: Page) -> None:
        """Hand a page over; what goes wrong is told when it is received."""

    def receive(self) -> Fingerprint:
        """Wait for the page that was sent first of those not received yet.

        Raises `PageError`, `WorkerError`, `UnexpectedReadError` or `ConfigurationError`, which concern that page only.
        """

    def kill(self) -> None:
        """Make a running `receive` end, if that is possible; the worker is not used again."""

    def close(self) -> None:
        """End in good order."""


class InlineWorker:
    """Reads in the thread that asks."""

    ahead = 0

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader
        self._pages: deque[Page] = deque()

    def start(self) -> None:
        """Nothing to do."""

    def send(self, page: Page) -> None:
        """Nothing is read yet."""
        self._pages.append(page)

    def receive(self) -> Fingerprint:
        """Read the page."""
        return _fingerprint_in(answer_to(self._reader, tuple(self._pages.popleft())))

    def kill(self) -> None:
        """Nothing can end a thread; it is left behind."""

    def close(self) -> None:
        """Nothing to do."""


class ProcessWorker:
    """Reads in a process of its own, which is started again after it died.

    A page is sent ahead, so that the process has the next one at hand while its answer is on the way: to wait for the
    interpreter lock beside a busy event loop takes as long as a quick extractor needs for a page.
    """

    ahead = 1

    def __init__(self, reader: PageReader, limit_seconds: float = PAGE_LIMIT_SECONDS) -> None:
        self._reader = reader
        self._limit_seconds = limit_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._pages: deque[Page] = deque()
        self._is_ready = False
        self._killed = False
        # A program that dies while it starts will do so again: do not spend the machine on trying.
        self._starting = Breaker()

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        with contextlib.suppress(WorkerError):
            self._running_process()

    def send(self, page: Page) -> None:
        """Send a page over, or keep it until there is a process that is ready."""
        self._pages.append(page)
        if self._is_ready:
            # That a process has died is noticed by `receive`, which knows the page that it died of.
            with contextlib.suppress(OSError):
                self._send(self._running_process(), tuple(page))

    def receive(self) -> Fingerprint:
        """Wait for the fingerprint of the first page that was sent.

        Of the pages of a process that died only this one fails; those behind it are sent to the next process.
        """
        try:
            return _fingerprint_in(self._answer())
        finally:
            self._pages.popleft()

    def kill(self) -> None:
        """End the process at once; a `receive` in another thread then fails."""
        self._killed = True
        if (process := self._process) is not None:
            process.kill()

    def close(self) -> None:
        """Let the process end by itself, and make sure that it does."""
        if (process := self._process) is None:
            return
        self._process, self._is_ready = None, False
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _answer(self) -> tuple[str, Any]:
        process = self._running_process()
        try:
            if not self._is_ready:
                self._receive(process)
                self._is_ready = True
                self._starting.succeeded()
                for page in self._pages:
                    self._send(process, tuple(page))
            answer: tuple[str, Any] = self._receive(process)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise self._died(process) from error
        return answer

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        if self._killed or not self._starting.allows():
            raise WorkerError("The worker process did not start; see the messages above.")
        try:
            self._process = subprocess.Popen(
                [sys.executable or "", "-P", "-c", _BOOT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                process_group=0,  # out of reach of the terminal's Ctrl-C
            )
            if self._killed:  # while it was being started
                self._process.kill()
            self._send(self._process, sys.path)
            self._send(self._process, (self._reader, self._limit_seconds))
        except OSError as error:
            self._starting.failed()
            self.close()
            raise WorkerError(f"Cannot start a worker process: {error}") from error
        return self._process

    def _died(self, process: subprocess.Popen[bytes]) -> WorkerError:
        if not self._is_ready:
            self._starting.failed()
        self.close()
        status = process.returncode
        how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
        return WorkerError(f"A worker process died ({how}).")

    @staticmethod
    def _send(process: subprocess.Popen[bytes], message: object) -> None:
        assert process.stdin is not None
        pickle.dump(message, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()

    @staticmethod
    def _receive(process: subprocess.Popen[bytes]) -> Any:
        assert process.stdout is not None
        return pickle.load(process.stdout)


def _fingerprint_in(answer: tuple[str, Any]) -> Fingerprint:
    kind, value = answer
    if kind == "fingerprint":
        fingerprint: Fingerprint = value
        return fingerprint
    if kind == "page":
        raise PageError(*value)
    if kind == "configuration":
        raise ConfigurationError(value)
    raise UnexpectedReadError(*value)
