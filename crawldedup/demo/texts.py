"""The texts of judged pages, read again after the crawl by the extractor that the crawl used."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from crawldedup.errors import CrawlDedupError
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.scrapy_plugin.reading.process_readers import ProcessReaders
from crawldedup.scrapy_plugin.runtime.pending import within
from crawldedup.text.extract import extract_page, get_extractor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from crawldedup.page import PageReader
    from crawldedup.scrapy_plugin.reading.base import Page
    from crawldedup.scrapy_plugin.runtime.pending import Pending

_PROCESSES = 2
# Enough to keep the processes busy, little enough that the bodies of a large site are not all in memory.
_IN_FLIGHT = 16
_WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class MainText:
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
    return asyncio.run(_texts_of(pages, extractor, on_text or (lambda: None)))


async def _texts_of(pages: Iterable[Page], extractor: str, on_text: Callable[[], None]) -> list[str]:
    readers = ProcessReaders(cast("PageReader", MainText(extractor)), _PROCESSES)
    readers.start()
    texts = []
    try:
        async for reading in _in_turn(readers, iter(pages)):
            texts.append(await _text_of(reading, readers))
            on_text()
        await readers.close()
    finally:
        readers.kill()
    return texts


async def _in_turn(readers: ProcessReaders, pages: Iterator[Page]) -> AsyncIterator[Pending[Any]]:
    waiting: deque[Pending[Any]] = deque(readers.read(page) for page in islice(pages, _IN_FLIGHT))
    while waiting:
        yield waiting.popleft()
        waiting.extend(readers.read(page) for page in islice(pages, 1))


async def _text_of(reading: Pending[Any], readers: ProcessReaders) -> str:
    while True:
        try:
            return str(await within(_WAIT_SECONDS, reading))
        except TimeoutError:
            readers.expire()
        except CrawlDedupError:
            return ""
