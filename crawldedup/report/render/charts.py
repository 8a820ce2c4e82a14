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

_Bar = tuple[str, float, float, float, float]
"""A class, where a bar begins and ends in the width, from 0 to 1, and the values at its foot and its top."""
_Labels = Sequence[tuple[float, str]]
"""Places on the lower axis, from 0 to 1, and what stands there."""


def charts_of(report: Mapping[str, Any]) -> dict[str, Chart]:
    """Return the charts of a report by name. There is none for what was not recorded."""
    timeline, charts = report["timeline"], dict[str, Chart]()
    moments = timeline["moments"] if report["crawl"]["seconds"] else []
    shown = range(0, len(moments), -(-len(moments) // _MOST_LABELS) or 1)
    times = [(number / len(moments), lasting(moments[number]["seconds"])) for number in shown]
    if any(moment["judged"] for moment in moments):
        charts["pages"] = _pages(timeline, times)
        shares = [moment["novelty"] for moment in moments]
        charts["novelty"] = _line("Share of new pages", "new", shares, times, percent, (0, 1))
    known = [moment["known"] for moment in moments]
    if any(number is not None for number in known):
        charts["index"] = _line("Pages in the index", "index", known, times, "{:,.0f}".format)
    if report["similarity"]["bins"]:
        charts["similarity"] = _similarity(report["similarity"])
    return charts


def _pages(timeline: Mapping[str, Any], times: _Labels) -> Chart:
    moments, bars = timeline["moments"], list[_Bar]()
    for number, moment in enumerate(moments):
        counts = moment["counts"]
        # The last step may be short.
        seconds = max(timeline["last_step"], timeline["step"] / 4) if moment is moments[-1] else timeline["step"]
        pages = (counts["new"], counts["near"], counts["exact"], counts["revisit"] + counts["thin"])
        stack = pairwise(accumulate((60 * number / seconds for number in pages), initial=0.0))
        place = (number + 0.08) / len(moments), (number + 0.92) / len(moments)
        bars += [(kind, *place, foot, top) for kind, (foot, top) in zip(SERIES, stack, strict=True)]
    most = max(bar[-1] for bar in bars)
    words = f"Pages a minute over {lasting(moments[-1]['seconds'])}, stacked by outcome; at most {compact(most)}."
    return _chart(words, (0, most), times, bars=bars)


def _line(
    words: str,
    kind: str,
    values: Sequence[float | None],
    times: _Labels,
    form: Callable[[float], str],
    bounds: Sequence[float] = (),
) -> Chart:
    known = [value for value in values if value is not None]
    words = f"{words}, from {form(known[0])} to {form(known[-1])}."
    return _chart(words, bounds or known, times, line=(kind, values), form=form)


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
    return _chart(words, (0, most), [(place(value), f"{value:.2f}") for value in (*lows, 1)], bars=bars)


def _chart(
    words: str,
    values: Iterable[float],
    labels: _Labels,
    *,
    bars: Iterable[_Bar] = (),
    line: tuple[str, Sequence[float | None]] = ("", ()),
    form: Callable[[float], str] = compact,
) -> Chart:
    """Return a chart with lines that enclose all values, of bars, or of a line through the steps of a crawl."""
    grid = _lines(min(values := [*values]), max(values))

    def y(value: float) -> float:
        return 100 * (grid[-1] - value) / (grid[-1] - grid[0])

    kind, steps = line
    return {
        "words": words,
        "labels": [(100 * share, text) for share, text in labels],
        "grid": [(y(value), form(value)) for value in grid],
        "bars": [
            (kind, 100 * start, y(top), 100 * (end - start), y(foot) - y(top))
            for kind, start, end, foot, top in bars
            if top > foot
        ],
        "kind": kind,
        "points": [(100 * (at + 0.5) / len(steps), y(value)) for at, value in enumerate(steps) if value is not None],
    }


def _lines(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
