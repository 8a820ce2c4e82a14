"""The command that explains a verdict: what is compared, what was found, and by which threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawldedup.commands.indexes import require_existing
from crawldedup.commands.pages import in_words
from crawldedup.page import PageReader
from crawldedup.printable import pluralize, printable
from crawldedup.scope import site_of
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.explain import Candidate, Explanation

_SHOWN_TEXT = 200
_SHOWN_CANDIDATES = 10


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
    reader = PageReader(options)
    for page in output.counted(pages):
        with output.skipping(page.url):
            content = reader.content(page.html, page.text, page.encoding, page.url)
            fingerprint = reader.fingerprint(content, dedup.key)
            explanation = dedup.explain(
                page.url,
                fingerprint=fingerprint,
                scope_key=scope_key,
                canonical=page.canonical,
                revisit_similarity=revisit_similarity,
            )
            value = {
                **explanation.verdict.as_dict(),
                "thin": fingerprint.thin,
                "text": content.text[:_SHOWN_TEXT],
                "facts": content.facts.split("\n") if content.facts else [],
                "store": shown_url(options.store),
                "namespace": options.namespace,
                "pages": explanation.pages,
                "scope": options.scope,
                "scope_key": scope_key or (site_of(page.url) if options.scope == "site" else ""),
                "wanted_similarity": explanation.similarity,
                "wanted_recall": options.recall,
                "threshold": explanation.threshold,
                "limit": explanation.limit,
                "compared": [candidate.as_dict() for candidate in explanation.candidates],
            }
            output.show(value, *_lines(value, explanation, content.text))


def _lines(value: dict[str, Any], explanation: Explanation, text: str) -> Iterator[str]:
    verdict = explanation.verdict
    scope_key = f": {printable(value['scope_key'])}" if value["scope_key"] else ""
    yield in_words(verdict)
    yield f"  text       {verdict.words:,} words: {printable(' '.join(text.split()), _SHOWN_TEXT)}"
    for fact in value["facts"]:
        yield f"  fact       {printable(fact, _SHOWN_TEXT)}"
    pages = pluralize(value["pages"], "page")
    yield f"  index      {printable(value['store'])}, namespace {value['namespace']}, {pages}"
    yield f"  scope      {value['scope']}{scope_key}"
    yield f"  search     {pluralize(verdict.probes, 'probe')}, {pluralize(verdict.candidates, 'page')} compared"
    yield f"  criterion  {_criterion(value)}"
    yield from map(_candidate_in_words, explanation.candidates[:_SHOWN_CANDIDATES])
    if (more := len(explanation.candidates) - _SHOWN_CANDIDATES) > 0:
        yield f"             and {more} more"


def _criterion(value: dict[str, Any]) -> str:
    if value["thin"]:
        return "an exact copy only, for the page is thin"
    threshold = value["threshold"]
    estimated = "" if threshold is None else f", an estimated similarity of about {threshold:.3f}"
    wanted = f"from {value['wanted_similarity']:g} on with a recall of {value['wanted_recall']:g}"
    return f"a cost of at most {value['limit']}{estimated}, to find pages {wanted}"


def _candidate_in_words(candidate: Candidate) -> str:
    match = candidate.match
    outcome = "same text" if match.exact else "accepted" if candidate.accepted else "refused"
    return (
        f"  {outcome:9}  similarity {match.similarity:.3f}, cost {candidate.cost}, "
        f"{match.hamming} search bits differ: {printable(match.url) or 'a page without URL'}"
    )
