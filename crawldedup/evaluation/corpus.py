"""A corpus: the pages of a collection, with their URLs and main texts, to measure methods on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from crawldedup.commands.feeds import refuse
from crawldedup.commands.sources import sources
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.extraction.extract import extract_page
from crawldedup.extraction.extractors import get_extractor
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.text.decode import tidy

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.commands.feeds import OnError
    from crawldedup.commands.sources import Source
    from crawldedup.extraction.extractors import Extractor


@dataclass(frozen=True, slots=True)
class Document:
    """A page of a corpus. `text` is its main text."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Pages in the order of a crawl.

    `unreadable` counts pages without a text. `repeated` counts pages with the URL of an earlier one: these are
    revisits, not duplicates.
    """

    name: str
    documents: tuple[Document, ...]
    unreadable: int = 0
    repeated: int = 0


def read_corpus(
    name: str,
    *,
    extractor: str = "blocks",
    limit: int | None = None,
    on_page: Callable[[], None] = lambda: None,
    on_error: OnError = refuse,
) -> Corpus:
    """Read the pages of a folder, a file of JSON lines or a web archive. `extractor` finds the main text of HTML.

    `limit` is the number of pages to read, at most. `on_page` is called for each page. `on_error`
    and errors are as in `crawldedup.commands.sources.sources`; a source without a readable page is an error, too.
    """
    extract = get_extractor(extractor)
    documents: dict[str, Document] = {}
    unreadable = repeated = 0
    for source in islice(sources([name], on_error=on_error), limit):
        on_page()
        if source.url in documents:
            repeated += 1
            continue
        try:
            documents[source.url] = Document(source.url, _text_of(source, extract))
        except PageError:
            unreadable += 1
    if not documents:
        raise ConfigurationError(f"{name!r} holds no page that can be read ({unreadable} without a text)")
    return Corpus(Path(name).name, tuple(documents.values()), unreadable, repeated)


def _text_of(source: Source, extractor: Extractor) -> str:
    if source.text is None:
        return extract_page(source.html or b"", source.encoding, extractor, min_words=MIN_WORDS).main
    text = tidy(source.text)
    if not text:
        raise PageError("empty", "the text is empty")
    return text
