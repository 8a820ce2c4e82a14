"""Draw the charts of a report as SVG that takes its colours, its font and its width from the page.

Their texts are numbers and words of ours: nothing in a chart is from a page.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from markupsafe import Markup

from crawldedup.report.render.wording import compact, lasting, percent

SERIES: Final = {"new": "new", "near": "near duplicates", "exact": "exact duplicates", "other": "revisits and thin"}
"""The series of the first chart: their classes, and what they are called."""

_MOST_LABELS: Final = 10
_MOST_LINES: Final = 5

_Bar = tuple[str, float, float, float, float]
"""A class, where a bar begins and ends in the width, from 0 to 1, and the values at its foot and its top."""
_Labels = Sequence[tuple[float, str]]
"""Places on the lower axis, from 0 to 1, and what stands there."""


def charts_of(report: Mapping[str, Any]) -> dict[str, Markup]:
    """Return the charts of a report by name. There is none for what was not recorded."""
    timeline, charts = report["timeline"], {}
    moments = timeline["moments"] if report["crawl"]["seconds"] else []
    if any(moment["judged"] for moment in moments):
        charts = {"pages": _pages(timeline), "novelty": _novelty(timeline)}
    if any(moment["known"] is not None for moment in moments):
        charts["index"] = _growth(timeline)
    if report["similarity"]["bins"]:
        charts["similarity"] = _similarity(report["similarity"])
    return charts


def _pages(timeline: Mapping[str, Any]) -> Markup:
    moments, step = timeline["moments"], timeline["step"]
    bars: list[_Bar] = []
    for number, moment in enumerate(moments):
        counts = moment["counts"]
        seconds = max(timeline["last_step"], step / 4) if moment is moments[-1] else step
        pages = (counts["new"], counts["near"], counts["exact"], counts["revisit"] + counts["thin"])
        stack = pairwise(accumulate((60 * number / seconds for number in pages), initial=0.0))
        place = (number + 0.08) / len(moments), (number + 0.92) / len(moments)
        bars += [(kind, *place, foot, top) for kind, (foot, top) in zip(SERIES, stack, strict=True)]
    most = max(bar[-1] for bar in bars)
    words = f"Pages a minute over {lasting(moments[-1]['seconds'])}, stacked by outcome; at most {compact(most)}."
    return _chart(words, (0, most), _times(moments), bars=bars)


def _novelty(timeline: Mapping[str, Any]) -> Markup:
    shares = [moment["novelty"] for moment in timeline["moments"]]
    recorded = [share for share in shares if share is not None]
    words = f"Share of new pages, from {recorded[0]:.0%} at the start to {recorded[-1]:.0%} at the end."
    return _chart(words, (0, 1), _times(timeline["moments"]), line=("new", shares), form=percent)


def _growth(timeline: Mapping[str, Any]) -> Markup:
    known = [moment["known"] for moment in timeline["moments"]]
    numbers = [number for number in known if number is not None]
    words = f"Pages in the index, from {compact(numbers[0])} to {compact(numbers[-1])}."
    return _chart(words, numbers, _times(timeline["moments"]), line=("index", known), form="{:,.0f}".format)


def _similarity(similarity: Mapping[str, Any]) -> Markup:
    bins, limit = similarity["bins"], similarity["limit"]
    first: float = bins[0]["low"]
    most: int = max(each["pages"] for each in bins)
    words = f"Near duplicates by estimated similarity, from {first:.2f} to 1."

    def place(value: float) -> float:
        return (value - first) / (1 - first)

    bars = [("near", place(each["low"] + 0.0005), place(each["high"] - 0.0005), 0, each["pages"]) for each in bins]
    if limit is not None and limit >= first:
        words += f" The limit is {limit:.3f}."
        bars.append(("limit", place(limit) - 0.0012, place(limit) + 0.0012, 0, most))
    lows = [each["low"] for each in bins[:: -(-len(bins) // _MOST_LABELS)]]
    return _chart(words, (0, most), [(place(value), f"{value:.2f}") for value in (*lows, 1)], bars=bars)


def _times(moments: Sequence[Mapping[str, Any]]) -> _Labels:
    """Return times, each where its step begins."""
    shown = range(0, len(moments), -(-len(moments) // _MOST_LABELS))
    return [(number / len(moments), lasting(moments[number]["seconds"])) for number in shown]


def _chart(
    words: str,
    values: Iterable[float],
    labels: _Labels,
    *,
    bars: Iterable[_Bar] = (),
    line: tuple[str, Sequence[float | None]] = ("", ()),
    form: Callable[[float], str] = compact,
) -> Markup:
    """Return a chart with lines that enclose all values, of bars, or of a line through the steps of a crawl."""
    grid = _lines(min(values := [*values]), max(values))

    def y(value: float) -> float:
        return 100 * (grid[-1] - value) / (grid[-1] - grid[0])

    svg = f'<svg class="chart" role="img" aria-label="{words}">'
    # Before all other text: where there is little room, every second one is hidden.
    for share, text in labels:
        svg += f'<text class="x" x="{100 * share:.4g}%" y="100%" dy="22">{text}</text>'
    for value in grid:
        svg += f'<line x2="100%" y1="{y(value):.4g}%" y2="{y(value):.4g}%"/>'
        svg += f'<text class="y" x="-7" y="{y(value):.4g}%" dy="4">{form(value)}</text>'
    for kind, start, end, foot, top in bars:
        if height := y(foot) - y(top):
            place = f'x="{100 * start:.4g}%" y="{y(top):.4g}%" width="{100 * (end - start):.4g}%"'
            svg += f'<rect class="{kind}" {place} height="{height:.4g}%"/>'
    kind, steps = line
    if steps:
        places = [(100 * (at + 0.5) / len(steps), y(value)) for at, value in enumerate(steps) if value is not None]
        points = " ".join(f"{x:.4g},{y:.4g}" for x, y in places)
        # Percent of what is around it, as all else: points know no units.
        svg += (
            f'<svg viewBox="0 0 100 100" preserveAspectRatio="none"><polyline class="{kind}" points="{points}"/></svg>'
        )
    return Markup(f"{svg}</svg>")


def _lines(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
