"""Lay out the charts of a report, which its page draws. All places are percent of the width and of the height.

Their texts are numbers and words of ours: nothing in a chart is from a page.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

from crawldedup.report.render.wording import compact, lasting, percent

SERIES: Final = {"new": "new", "near": "near duplicates", "exact": "exact duplicates", "other": "revisits and thin"}
"""The series of the first chart: their classes, and what they are called."""

Chart = dict[str, Any]
"""The words for who cannot see it, the labels, the lines behind it, and its bars or the points of its line."""

_MOST_LABELS: Final = 10
_MOST_LINES: Final = 5
_LINES: Final[tuple[tuple[str, str, Callable[[float], str], list[float]], ...]] = (
    ("novelty", "Share of new pages", percent, [0, 1]),
    ("known", "Pages in the index", "{:,.0f}".format, []),
)


def charts_of(report: Mapping[str, Any]) -> dict[str, Chart]:
    """Return the charts of a report by name. There is none for what was not recorded."""
    timeline, charts = report["timeline"], dict[str, Chart]()
    moments = timeline["moments"] if report["crawl"]["seconds"] else []
    times = [(at, lasting(moment["seconds"])) for at, moment in enumerate(moments)][
        :: -(-len(moments) // _MOST_LABELS) or 1
    ]
    ends = 0, len(moments)
    if any(moment["judged"] for moment in moments):
        bars = [bar for at, moment in enumerate(moments) for bar in _stack(at, moment, timeline)]
        most = max(bar[-1] for bar in bars)
        last = lasting(moments[-1]["seconds"])
        words = f"Pages a minute over {last}, stacked by outcome; at most {compact(most)}."
        charts["pages"] = _chart(words, ends, times, [0, most], bars=bars)
    for name, words, form, values in _LINES:
        if points := [(at + 0.5, moment[name]) for at, moment in enumerate(moments) if moment[name] is not None]:
            known = [value for _, value in points]
            words = f"{words}, from {form(known[0])} to {form(known[-1])}."
            charts[name] = _chart(words, ends, times, values or known, form, points=points)
    if report["similarity"]["bins"]:
        charts["similarity"] = _similarity(report["similarity"])
    return charts


def _stack(at: int, moment: Mapping[str, Any], timeline: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Return the bars of a step: pages a minute, upon each other."""
    counts, is_last = moment["counts"], moment is timeline["moments"][-1]
    # The last step may be short.
    seconds = max(timeline["last_step"], timeline["step"] / 4) if is_last else timeline["step"]
    pages = (counts["new"], counts["near"], counts["exact"], counts["revisit"] + counts["thin"])
    heights = pairwise(accumulate((60 * number / seconds for number in pages), initial=0.0))
    return ((kind, at + 0.08, at + 0.92, *height) for kind, height in zip(SERIES, heights, strict=True))


def _similarity(similarity: Mapping[str, Any]) -> Chart:
    bins, limit = similarity["bins"], similarity["limit"]
    first, most = bins[0]["low"], max(each["pages"] for each in bins)
    words = f"Near duplicates by estimated similarity, from {first:.2f} to 1."
    bars = [("near", each["low"] + 0.0005, each["high"] - 0.0005, 0, each["pages"]) for each in bins]
    if limit is not None and limit >= first:
        words += f" The limit is {limit:.3f}."
        width = 0.0012 * (1 - first)
        bars.append(("limit", limit - width, limit + width, 0, most))
    places = [*(each["low"] for each in bins[:: -(-len(bins) // _MOST_LABELS)]), 1.0]
    return _chart(words, (first, 1), [(place, f"{place:.2f}") for place in places], [0, most], bars=bars)


def _chart(
    words: str,
    ends: tuple[float, float],
    labels: Sequence[tuple[float, str]],
    values: Sequence[float],
    form: Callable[[float], str] = compact,
    *,
    bars: Iterable[tuple[Any, ...]] = (),
    points: Iterable[tuple[float, float]] = (),
) -> Chart:
    """Return a chart between two ends of the lower axis, with lines that enclose all values.

    Bars have a class, where they begin and end, and the values at their foot and their top.
    """
    grid = _lines(min(values), max(values))

    def x(place: float) -> float:
        return 100 * (place - ends[0]) / (ends[1] - ends[0])

    def y(value: float) -> float:
        return 100 * (grid[-1] - value) / (grid[-1] - grid[0])

    return {
        "words": words,
        "labels": [(x(place), text) for place, text in labels],
        "grid": [(y(value), form(value)) for value in grid],
        "bars": [
            (kind, x(start), y(top), x(end) - x(start), y(foot) - y(top))
            for kind, start, end, foot, top in bars
            if top > foot
        ],
        "points": [(x(place), y(value)) for place, value in points],
    }


def _lines(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
