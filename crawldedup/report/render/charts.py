"""Lay out the charts of a report, which its page draws. All places are percent of the width and of the height.

Their texts are numbers and words of ours: nothing in a chart is from a page.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from crawldedup.report.render.wording import compact, lasting, percent

SERIES: Final = {"new": "new", "near": "near duplicates", "exact": "exact duplicates", "other": "revisits and thin"}
"""The series of the first chart: their classes, and what they are called."""

Chart = dict[str, Any]
"""The words for who cannot see it, the labels, the lines behind it, and its bars or the points of its line."""

_MOST_LABELS: Final = 10
_MOST_LINES: Final = 5


def charts_of(report: Mapping[str, Any]) -> dict[str, Chart]:
    """Return the charts of a report by name. There is none for what was not recorded."""
    timeline, charts = report["timeline"], dict[str, Chart]()
    moments = timeline["moments"] if report["crawl"]["seconds"] else []
    if any(moment["judged"] for moment in moments):
        charts["pages"] = _pages(timeline)
        charts["novelty"] = _line("Share of new pages", moments, "novelty", percent, (0, 1))
    if any(moment["known"] is not None for moment in moments):
        charts["index"] = _line("Pages in the index", moments, "known", "{:,.0f}".format)
    if report["similarity"]["bins"]:
        charts["similarity"] = _similarity(report["similarity"])
    return charts


def _pages(timeline: Mapping[str, Any]) -> Chart:
    moments, bars = timeline["moments"], []
    for number, moment in enumerate(moments):
        counts = moment["counts"]
        # The last step may be short.
        seconds = max(timeline["last_step"], timeline["step"] / 4) if moment is moments[-1] else timeline["step"]
        pages = (counts["new"], counts["near"], counts["exact"], counts["revisit"] + counts["thin"])
        tops = accumulate((60 * number / seconds for number in pages), initial=0.0)
        places = (number + 0.08) / len(moments), (number + 0.92) / len(moments)
        bars += [(kind, *places, *heights) for kind, heights in zip(SERIES, pairwise(tops), strict=True)]
    most = max(bar[-1] for bar in bars)
    words = f"Pages a minute over {lasting(moments[-1]['seconds'])}, stacked by outcome; at most {compact(most)}."
    return _chart(words, _times(moments), (0, most), bars=bars)


def _line(
    words: str,
    moments: Sequence[Mapping[str, Any]],
    name: str,
    form: Callable[[float], str],
    bounds: Sequence[float] = (),
) -> Chart:
    points = [
        ((at + 0.5) / len(moments), moment[name]) for at, moment in enumerate(moments) if moment[name] is not None
    ]
    known = [value for _, value in points]
    words = f"{words}, from {form(known[0])} to {form(known[-1])}."
    return _chart(words, _times(moments), bounds or known, form, points=points)


def _times(moments: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    times = [(number / len(moments), lasting(moment["seconds"])) for number, moment in enumerate(moments)]
    return times[:: -(-len(times) // _MOST_LABELS)]


def _similarity(similarity: Mapping[str, Any]) -> Chart:
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
    return _chart(words, [(place(value), f"{value:.2f}") for value in (*lows, 1)], (0, most), bars=bars)


def _chart(
    words: str,
    labels: Iterable[tuple[float, str]],
    values: Sequence[float],
    form: Callable[[float], str] = compact,
    *,
    bars: Iterable[tuple[str, float, float, float, float]] = (),
    points: Iterable[tuple[float, float]] = (),
) -> Chart:
    """Return a chart with lines that enclose all values.

    Labels, the ends of bars and points have their place in the width, from 0 to 1. Bars have a class, and the values at
    their foot and their top.
    """
    grid = _lines(min(values), max(values))

    def y(value: float) -> float:
        return 100 * (grid[-1] - value) / (grid[-1] - grid[0])

    return {
        "words": words,
        "labels": [(100 * place, text) for place, text in labels],
        "grid": [(y(value), form(value)) for value in grid],
        "bars": [
            (kind, 100 * start, y(top), 100 * (end - start), y(foot) - y(top))
            for kind, start, end, foot, top in bars
            if top > foot
        ],
        "points": [(100 * place, y(value)) for place, value in points],
    }


def _lines(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
