"""A corpus: the pages of a collection, with their URLs and main texts, to measure methods on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from crawldedup.commands.feeds import refuse
from crawldedup.commands.sources import sources
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.options import Options
from crawldedup.reader import PageReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.commands.feeds import OnError
    from crawldedup.reader import PageContent


@dataclass(frozen=True, slots=True)
class Document:
    """A page of a corpus. `text` is its main text, `facts` are what tells it from pages that read alike.

    `facts` are "" for a page that has none, and None for a text, in which they cannot be looked for.
    """

    url: str
    text: str
    facts: str | None = None


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
    reader = PageReader(Options(extractor=extractor))
    documents: dict[str, Document] = {}
    unreadable = repeated = 0
    for source in islice(sources([name], on_error=on_error), limit):
        on_page()
        if source.url in documents:
            repeated += 1
            continue
        try:
            content = reader.content(source.html, source.text, source.encoding, source.url)
            documents[source.url] = Document(source.url, content.text, facts_of(content))
        except PageError:
            unreadable += 1
    if not documents:
        raise ConfigurationError(f"{name!r} holds no page that can be read ({unreadable} without a text)")
    return Corpus(Path(name).name, tuple(documents.values()), unreadable, repeated)


def facts_of(content: PageContent) -> str | None:
    """Return the facts of what was read, as a `Document` has them."""
    return None if content.source is None else content.facts or ""
