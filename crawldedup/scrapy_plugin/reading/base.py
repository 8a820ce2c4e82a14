"""What reading a page takes and gives, whoever reads it: `process_readers` or `thread_reader`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError
from crawldedup.printable import printable

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.runtime.pending import Pending

PAGE_LIMIT_SECONDS: Final = 30.0


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


class TextReader(Protocol):
    """What makes fingerprints: a `PageReader` or the like."""

    def read(self, body: bytes, encoding: str | None) -> Fingerprint:
        """Fingerprint a page. Raises `PageError`."""

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint a text. Raises `PageError`."""


class Readers(Protocol):
    """Whoever reads pages beside the event loop. All calls belong to the loop's thread.

    Scrapy bounds the pages that wait here, since a page in a downloader middleware counts towards
    CONCURRENT_REQUESTS.
    """

    def start(self) -> None:
        """Get ready ahead of the first page; what goes wrong is told when a page is read."""

    def read(self, page: Page) -> Pending[Fingerprint]:
        """Queue a page.

        Ends with `PageError` ("too_slow" after the limit), `WorkerError`, `UnexpectedReadError` or
        `ConfigurationError`, which concern that page only.
        """

    def expire(self) -> None:
        """Give up pages that have taken too long; called about once a second."""

    def close(self) -> Pending[None]:
        """End after the pages that are queued."""

    def kill(self) -> None:
        """End at once, as far as that is possible."""


class Job(NamedTuple):
    """A page, and the answer that somebody waits for."""

    page: Page
    answer: Pending[Fingerprint]

    def take(self, answer: tuple[str, Any]) -> None:
        """Give what `worker.answer_of` made of the page to those who wait."""
        try:
            self.answer.succeed(_fingerprint_in(answer))
        except Exception as error:
            self.answer.fail(error)


def too_slow() -> PageError:
    """The error of a page that was given up."""
    return PageError("too_slow", "Reading the page took too long.")


def _fingerprint_in(answer: tuple[str, Any]) -> Fingerprint:
    """The value of an answer, or the error it stands for."""
    kind, value = answer
    if kind == "fingerprint":
        fingerprint: Fingerprint = value
        return fingerprint
    if kind == "page":
        raise PageError(*value)
    if kind == "configuration":
        raise ConfigurationError(value)
    raise UnexpectedReadError(*value)
