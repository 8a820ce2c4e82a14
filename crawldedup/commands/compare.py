"""The command that compares two pages: how alike they are, how they differ, and whether a crawl drops the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from crawldedup.commands.pages import in_words
from crawldedup.explanation.comparison import compare as compare_pages
from crawldedup.printable import pluralize, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.explanation.comparison import Comparison
    from crawldedup.options import Options
    from crawldedup.text.difference import Change

_SHOWN_CHANGES = 20
_LONGEST_SIDE = 300


def compare(options: Options, pages: Sequence[Source], output: Output) -> None:
    """Show how alike two pages are, and whether a crawl that has seen the first drops the second."""
    first, second = pages
    told = compare_pages(first, second, **options.index_values())
    output.show(told.as_dict(), *_lines(told))


def _lines(told: Comparison) -> Iterator[RenderableType]:
    yield in_words(told.verdict)
    yield f"  why         {_reason(told)}"
    if told.similarity is not None:
        yield f"  similarity  {told.similarity:.3f}, exactly, of the texts' runs of three words"
    if not told.thin:
        match, error = told.candidate.match, told.candidate.deviation
        yield f"  estimate    {match.similarity:.3f}{f' ± {error:.3f}' if error else ''}, cost {told.candidate.cost}"
        probe = "no probe" if told.candidate.probe is None else f"probe {told.candidate.probe}"
        yield f"  search      {match.hamming} of 64 search bits differ, {probe} meets the first page"
    yield f"  words       {told.words[0]:,} and {told.words[1]:,}"
    for sign, style, facts in zip("-+", ("red", "green"), told.facts, strict=True):
        for fact in facts:
            yield Text(f"  {sign} fact      ").append(printable(fact, _LONGEST_SIDE), style)
    yield from map(_change_in_words, told.changes[:_SHOWN_CHANGES])
    if (more := len(told.changes) - _SHOWN_CHANGES) > 0:
        yield f"  and {pluralize(more, 'passage')} more"


def _reason(told: Comparison) -> str:
    match = told.candidate.match
    if any(told.facts):
        return "their facts differ, so that they are kept apart however alike they are"
    if match.exact:
        return "they have the same text"
    if told.thin:
        return "at least one page is too thin to be compared, and their texts differ"
    threshold = "" if told.threshold is None else f", an estimate of about {told.threshold:.3f}"
    if not told.candidate.accepted:
        return f"the cost is above {told.limit}{threshold}"
    if told.candidate.probe is None:
        return "alike enough, but the search does not meet the first page, as for a few in a hundred"
    return f"the cost is at most {told.limit}{threshold}"


def _change_in_words(change: Change) -> Text:
    removed, added = change.removed and f"[-{change.removed}-]", change.added and f"{{+{change.added}+}}"
    parts = ((change.before, ""), (removed, "red"), (added, "green"), (change.behind, ""))
    shown = [Text(printable(text, _LONGEST_SIDE), style) for text, style in parts if text]
    return Text("  ").append_text(Text(" ").join(shown))
