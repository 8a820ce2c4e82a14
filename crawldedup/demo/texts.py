"""The texts of judged pages, read again after the crawl by the extractor that the crawl used."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from crawldedup.errors import CrawlDedupError
from crawldedup.hashing.fingerprint import MIN_WORDS
from crawldedup.scrapy_plugin.pool import ReaderPool
from crawldedup.scrapy_plugin.workers import Page, ProcessWorker
from crawldedup.text.extract import extract_page, get_extractor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from crawldedup.page import PageReader

_PROCESSES = 2
# Enough to keep the processes busy, little enough that the bodies of a large site are not all in memory.
_IN_FLIGHT = 16
_WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TextReader:
    """Stands where a `PageReader` does in a worker process, and answers with the text instead of its bits."""

    extractor: str

    def read(self, body: bytes, encoding: str | None = None) -> str:
        """Extract the main text of an HTML page. Raises `PageError`."""
        return main_text(body, encoding, self.extractor)

    def read_text(self, text: str) -> str:
        """Give back a text that is none of HTML."""
        return text


def main_text(body: bytes, encoding: str | None, extractor: str) -> str:
    """The text of an HTML page that is fingerprinted. Raises `PageError`."""
    return extract_page(body, encoding, get_extractor(extractor), min_words=MIN_WORDS).main


def texts_of(pages: Iterable[Page], extractor: str, on_text: Callable[[], None] | None = None) -> list[str]:
    """The text of every page, in order, read by two processes; "" for a page that cannot be read."""
    pool = ReaderPool(lambda: ProcessWorker(cast("PageReader", TextReader(extractor))), _PROCESSES)
    pool.start()
    texts = []
    try:
        for future in _in_turn(pool, iter(pages)):
            texts.append(_text_from(future, pool))
            if on_text is not None:
                on_text()
    finally:
        pool.close()
    return texts


def _in_turn(pool: ReaderPool, pages: Iterator[Page]) -> Iterator[Future[Any]]:
    waiting: deque[Future[Any]] = deque(pool.read(page) for page in islice(pages, _IN_FLIGHT))
    while waiting:
        yield waiting.popleft()
        waiting.extend(pool.read(page) for page in islice(pages, 1))


def _text_from(future: Future[Any], pool: ReaderPool) -> str:
    while True:
        try:
            return str(future.result(_WAIT_SECONDS))
        except TimeoutError:
            pool.expire()
        except CrawlDedupError:
            return ""
