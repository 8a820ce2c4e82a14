"""Commands on pages: checking, finding and scanning."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from crawldedup.commands.indexes import require_existing
from crawldedup.printable import printable
from crawldedup.verdict import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.verdict import Match, Verdict


def in_words(verdict: Verdict) -> str:
    """Return a page and what it is, safe to show."""
    return f"{printable(verdict.url)}: {describe(verdict)}"


def paragraphs_in_words(verdict: Verdict) -> Iterator[str]:
    """Yield a line for each paragraph, safe to show, if any of them is known."""
    coverage = verdict.coverage
    for each in coverage.paragraphs if coverage is not None and coverage.known_words else ():
        some = f", {each.known_words:,} of them known" if 0 < each.known_words < each.words else ""
        source = f", on {printable(each.url)}" if each.url else ""
        yield f"    {each.kind:11} {each.words:5,} words{some}{source}: {printable(each.excerpt)}"


def check(dedup: Deduplicator, pages: Iterable[Source], output: Output) -> None:
    """Decide about pages and remember them, many with one call of the store."""
    found = output.counted(pages)
    # Checking creates the index: not for a source that cannot be read.
    for first in found:
        inputs = chain([first], found)
        for verdict in dedup.check_many(inputs, on_unreadable=lambda page, error: output.skip(page.url, error)):
            output.show(verdict.as_dict(), in_words(verdict), *paragraphs_in_words(verdict))


def check_as_crawl(
    dedup: Deduplicator,
    pages: Iterable[Source],
    output: Output,
    *,
    remember: bool,
    scope_key: str | None,
    revisit_similarity: float | None,
) -> None:
    """Decide about pages as a crawl does, one by one, heeding the originals that they name."""
    if not remember:
        require_existing(dedup)
    for page in output.counted(pages):
        with output.skipping(page.url):
            verdict = dedup.check_fingerprint(
                page.url,
                page.read(dedup),
                scope_key=scope_key,
                canonical=page.canonical,
                remember=remember,
                revisit_similarity=revisit_similarity,
            )
            output.show(verdict.as_dict() | {"remembered": remember}, in_words(verdict), *paragraphs_in_words(verdict))


def find(dedup: Deduplicator, page: Source, output: Output) -> None:
    """Show the remembered pages that resemble a page."""
    require_existing(dedup)
    matches = dedup.find(html=page.html, text=page.text, encoding=page.encoding, url=page.url)
    lines = map(_match_in_words, matches) if matches else ["no remembered page resembles it"]
    output.show([match.as_dict() for match in matches], *lines)


def _match_in_words(match: Match) -> str:
    kind = "exact" if match.exact else f"{match.similarity:.3f}"
    url = printable(match.url) or "(a page without URL)"
    return f"{kind}: {url} ({match.copies:,} {'copy' if match.copies == 1 else 'copies'} seen)"
