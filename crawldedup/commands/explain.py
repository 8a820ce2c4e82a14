"""The command that explains a verdict: what is compared, what was found, and by which threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawldedup.commands.indexes import require_existing
from crawldedup.commands.pages import in_words, paragraphs_in_words
from crawldedup.explanation.wording import criterion, estimate, outcome
from crawldedup.printable import pluralize, printable
from crawldedup.scope import site_of
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.explanation.explained import Candidate, Explanation

_SHOWN_TEXT = 200
_SHOWN_CANDIDATES = 10
_SHOWN_FLIPS = 12


def explain(
    dedup: Deduplicator,
    pages: Iterable[Source],
    output: Output,
    *,
    scope_key: str | None = None,
    revisit_similarity: float | None = None,
) -> None:
    """Show the verdict that a crawl would give now for each page, and why. Changes nothing."""
    require_existing(dedup)
    options = dedup.options
    for page in output.counted(pages):
        with output.skipping(page.url):
            told = dedup.explain(
                page.url,
                html=page.html,
                text=page.text,
                encoding=page.encoding,
                scope_key=scope_key,
                canonical=page.canonical,
                revisit_similarity=revisit_similarity,
            )
            value = {
                **told.verdict.as_dict(),
                "thin": told.thin,
                "text": (told.text or "")[:_SHOWN_TEXT],
                "facts": told.facts,
                "store": shown_url(options.store),
                "namespace": options.namespace,
                "pages": told.pages,
                "scope": options.scope,
                "scope_key": scope_key or (site_of(page.url) if options.scope == "site" else ""),
                "wanted_similarity": told.similarity,
                "wanted_recall": options.recall,
                "threshold": told.threshold,
                "limit": told.limit,
                "crowd": told.crowd,
                "compared": [candidate.as_dict() for candidate in told.candidates],
            }
            output.show(value, *_lines(value, told))


def _lines(value: dict[str, Any], told: Explanation) -> Iterator[str]:
    verdict = told.verdict
    scope_key = f": {printable(value['scope_key'])}" if value["scope_key"] else ""
    yield in_words(verdict)
    yield from paragraphs_in_words(verdict)
    yield f"  text       {verdict.words:,} words: {printable(' '.join((told.text or '').split()), _SHOWN_TEXT)}"
    for fact in told.facts:
        yield f"  attribute  {printable(fact, _SHOWN_TEXT)}"
    if told.facts:
        yield "             pages of other attributes are never duplicates of this one"
    pages = pluralize(value["pages"], "page")
    yield f"  index      {printable(value['store'])}, namespace {value['namespace']}, {pages}"
    yield f"  scope      {value['scope']}{scope_key}"
    yield f"  search     {pluralize(verdict.probes, 'probe')}, {pluralize(verdict.candidates, 'page')} compared"
    yield f"  criterion  {criterion(told, value['wanted_recall'])}"
    for candidate in told.candidates[:_SHOWN_CANDIDATES]:
        yield from _candidate_in_words(candidate)
    if (more := len(told.candidates) - _SHOWN_CANDIDATES) > 0:
        yield f"             and {more} more"


def _candidate_in_words(candidate: Candidate) -> Iterator[str]:
    """Yield how a remembered page compares, safe to show."""
    match = candidate.match
    yield f"  {outcome(candidate):9}  {printable(match.url) or 'a page without URL'}"
    probe = "known by its URL" if candidate.probe is None else f"met by probe {candidate.probe}"
    yield f"             similarity {estimate(candidate)}, cost {candidate.cost}, {probe}"
    if candidate.flips:
        flips = ", ".join(f"{flip.bit} ({flip.probability:.0%})" for flip in candidate.flips[:_SHOWN_FLIPS])
        more = len(candidate.flips) - _SHOWN_FLIPS
        yield f"             search bits that differ, and how probable that was: {flips}{f', {more} more' * (more > 0)}"
