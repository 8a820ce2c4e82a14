"""Draw the charts of a report as SVG that takes its colours and its font from the page.

Their texts are numbers and words of ours: nothing in a chart is from a page.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from crawldedup.report.counts import judged, novelty
from crawldedup.report.render.wording import compact, lasting, percent

SERIES: Final = {"new": "new", "near": "near duplicates", "exact": "exact duplicates", "other": "revisits and thin"}
"""The series of the first chart: their classes, and what they are called."""

_UNITS: Final = ((1, "s", 300), (60, "min", 3 * 3600), (3600, "h", 5 * 86_400), (86_400, "d", math.inf))
_TOP, _RIGHT, _BOTTOM, _LETTER = 10, 14, 28, 7
_MOST_LINES: Final = 5

_Labels = Sequence[tuple[float, str]]
"""Places on the lower axis, from 0 to 1, and what stands there."""


class _Plot(NamedTuple):
    """The area of a chart: from 0 to 1 in its width, and between two values in its height."""

    name: str
    width: int
    height: int
    labels: int
    left: int = 0
    low: float = 0
    high: float = 1

    def x(self, share: float) -> float:
        return round(self.left + share * (self.width - self.left - _RIGHT), 1)

    def y(self, value: float) -> float:
        return round(_TOP + (self.height - _TOP - _BOTTOM) * (self.high - value) / (self.high - self.low), 1)

    def bar(self, kind: str, start: float, end: float, base: float, top: float) -> str:
        x, y = self.x(start), self.y(top)
        width, height = self.x(end) - x, self.y(base) - y
        return f'<rect class="{kind}" x="{x}" y="{y}" width="{width:.1f}" height="{height:.1f}"/>' if height else ""

    def line(self, kind: str, values: Sequence[float | None]) -> str:
        places = [(number + 0.5, value) for number, value in enumerate(values) if value is not None]
        points = " ".join(f"{self.x(number / len(values))},{self.y(value)}" for number, value in places)
        return f'<polyline class="{kind}" points="{points}"/>'


_Draw = Callable[[_Plot], Iterator[str]]
_WIDE: Final = _Plot("wide", 1080, 260, 10)
_HALF: Final = _Plot("wide", 520, 220, 5)
_NARROW: Final = _Plot("narrow", 340, 220, 4)


def charts_of(report: Mapping[str, Any]) -> dict[str, Markup]:
    """Return the charts of a report by name, each wide and narrow. There is none for what was not recorded."""
    moments, charts = report["timeline"]["moments"], {}
    if report["crawl"]["seconds"] and any(judged(moment["counts"]) for moment in moments):
        charts = {"pages": _pages(report["timeline"]), "novelty": _novelty(moments), "index": _growth(moments)}
    if report["similarity"]["bins"]:
        charts["similarity"] = _similarity(report["similarity"])
    return charts


def _pages(timeline: Mapping[str, Any]) -> Markup:
    moments, step = timeline["moments"], timeline["step"]
    stacks = []
    for moment in moments:
        counts = moment["counts"]
        seconds = max(timeline["last_step"], step / 4) if moment is moments[-1] else step
        pages = (counts["new"], counts["near"], counts["exact"], counts["revisit"] + counts["thin"])
        stacks.append([*accumulate((60 * number / seconds for number in pages), initial=0.0)])
    most = max(stack[-1] for stack in stacks)
    words = f"Pages a minute over {lasting(moments[-1]['seconds'])}, stacked by outcome; at most {compact(most)}."

    def draw(plot: _Plot) -> Iterator[str]:
        for number, stack in enumerate(stacks):
            start, end = (number + 0.08) / len(stacks), (number + 0.92) / len(stacks)
            for kind, (base, top) in zip(SERIES, pairwise(stack), strict=True):
                yield plot.bar(kind, start, end, base, top)

    return _chart(words, draw, (0, most), lambda plot: _times(moments, plot), wide=_WIDE)


def _novelty(moments: Sequence[Mapping[str, Any]]) -> Markup:
    shares = [novelty(moment["counts"]) for moment in moments]
    recorded = [share for share in shares if share is not None]
    words = f"Share of new pages, from {recorded[0]:.0%} at the start to {recorded[-1]:.0%} at the end."

    def draw(plot: _Plot) -> Iterator[str]:
        yield plot.line("new", shares)

    return _chart(words, draw, (0, 1), lambda plot: _times(moments, plot), form=percent)


def _growth(moments: Sequence[Mapping[str, Any]]) -> Markup:
    known, words = [moment["known"] for moment in moments], "Pages in the index"
    if sum(number is not None for number in known) < 2:
        known, words = [*accumulate(moment["counts"]["new"] for moment in moments)], "New pages, added up"
    numbers = [number for number in known if number is not None]
    words += f", from {compact(numbers[0])} to {compact(numbers[-1])}."

    def draw(plot: _Plot) -> Iterator[str]:
        yield plot.line("index", known)

    return _chart(words, draw, (min(numbers), max(numbers)), lambda plot: _times(moments, plot), form="{:,.0f}".format)


def _similarity(similarity: Mapping[str, Any]) -> Markup:
    bins, limit = similarity["bins"], similarity["limit"]
    first: float = bins[0]["low"]
    most: int = max(each["pages"] for each in bins)
    has_limit = limit is not None and limit >= first
    words = f"Near duplicates by estimated similarity, from {first:.2f} to 1."
    words += f" The limit is {limit:.3f}." if has_limit else ""

    def place(value: float) -> float:
        return (value - first) / (1 - first)

    def draw(plot: _Plot) -> Iterator[str]:
        for each in bins:
            yield plot.bar("near", place(each["low"] + 0.0005), place(each["high"] - 0.0005), 0, each["pages"])
        if has_limit:
            yield plot.bar("limit", place(limit) - 0.0012, place(limit) + 0.0012, 0, most)

    def labels(plot: _Plot) -> _Labels:
        lows = [each["low"] for each in bins[:: -(-len(bins) // plot.labels)]]
        return [(place(value), f"{value:.2f}") for value in (*lows, 1)]

    return _chart(words, draw, (0, most), labels, wide=_WIDE)


def _times(moments: Sequence[Mapping[str, Any]], plot: _Plot) -> _Labels:
    """Return times in one unit, each where its step begins."""
    end, count = moments[-1]["seconds"], len(moments)
    unit, name = next((unit, name) for unit, name, most in _UNITS if end <= most)
    shown = range(0, count, -(-count // plot.labels))
    return [(number / count, f"{_clock(moments[number]['seconds'], unit)} {name}") for number in shown]


def _clock(seconds: float, unit: int) -> str:
    """Return a time in units, as "1:20" where sixty parts make one."""
    if unit not in (60, 3600):
        return f"{seconds / unit:.3g}"
    whole, part = divmod(round(60 * seconds / unit), 60)
    return f"{whole}:{part:02d}" if part else str(whole)


def _chart(
    words: str,
    draw: _Draw,
    ends: tuple[float, float],
    labels: Callable[[_Plot], _Labels],
    *,
    wide: _Plot = _HALF,
    form: Callable[[float], str] = compact,
) -> Markup:
    """Return a chart for wide pages and one for narrow ones, of which the page shows one."""
    lines = _lines(*ends)
    left = 10 + _LETTER * max(len(form(value)) for value in lines)
    svg = ""
    for size in (wide, _NARROW):
        plot = size._replace(left=left, low=lines[0], high=lines[-1])
        svg += (
            f'<svg class="chart {plot.name}" viewBox="0 0 {plot.width} {plot.height}" role="img" aria-label="{words}">'
        )
        for value in lines:
            svg += f'<path class="grid" d="M{left} {plot.y(value)}H{plot.width - _RIGHT}"/>'
            svg += f'<text class="y" x="{left - 7}" y="{plot.y(value) + 4:.1f}">{form(value)}</text>'
        for share, text in labels(plot):
            svg += f'<text class="x" x="{plot.x(share)}" y="{plot.height - 6}">{text}</text>'
        svg += f"{''.join(draw(plot))}</svg>"
    return Markup(svg)


def _lines(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
