"""The command that compares two pages: how alike they are, how they differ, and whether a crawl drops the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from crawldedup.commands.pages import in_words
from crawldedup.explanation.comparison import compare as compare_pages
from crawldedup.explanation.wording import estimate, reason, search
from crawldedup.printable import pluralize, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from crawldedup.commands.output import Output
    from crawldedup.commands.sources import Source
    from crawldedup.explanation.comparison import Comparison
    from crawldedup.options import Options
    from crawldedup.text.difference import Change

_SHOWN_CHANGES = 20
_LONGEST_SIDE = 300


def compare(options: Options, first: Source, second: Source, *, output: Output) -> None:
    """Show how alike two pages are, and whether a crawl that has seen the first drops the second."""
    told = compare_pages(first, second, **options.index_values())
    output.show(told.as_dict(), *_lines(told))


def _lines(told: Comparison) -> Iterator[RenderableType]:
    yield in_words(told.verdict)
    yield f"  why         {reason(told)}"
    if told.similarity is not None:
        yield f"  similarity  {told.similarity:.3f}, exactly, of the texts' runs of three words"
    if not told.thin:
        yield f"  estimate    {estimate(told.candidate)}, cost {told.candidate.cost}"
        yield f"  search      {search(told.candidate)}"
    yield f"  words       {told.words[0]:,} and {told.words[1]:,}"
    for sign, style, facts in zip("-+", ("red", "green"), told.facts, strict=True):
        for fact in facts:
            yield Text(f"  {sign} attribute ").append(printable(fact, _LONGEST_SIDE), style)
    yield from map(_change_in_words, told.changes[:_SHOWN_CHANGES])
    if (more := len(told.changes) - _SHOWN_CHANGES) > 0:
        yield f"  and {pluralize(more, 'passage')} more"


def _change_in_words(change: Change) -> Text:
    parts = zip(change.marked, ("", "red", "green", ""), strict=True)
    shown = [Text(printable(text, _LONGEST_SIDE), style) for text, style in parts if text]
    return Text("  ").append_text(Text(" ").join(shown))
