"""Draw the charts of a report as SVG that takes its colours and its font from the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pygal
from lxml import etree
from markupsafe import Markup
from pygal.style import Style

from crawldedup.report.render.wording import compact, lasting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawldedup.report.model import Report, Similarity, Timeline


class _Size(NamedTuple):
    name: str
    width: int
    height: int
    labels: int


class Chart(NamedTuple):
    """One chart for wide pages and one for narrow ones, and what they show in words."""

    wide: Markup
    narrow: Markup
    alternative: str


WIDE: Final = _Size("wide", 1080, 260, 10)
HALF: Final = _Size("wide", 520, 220, 5)
NARROW: Final = _Size("narrow", 340, 220, 4)

SERIES: Final = {"new": "new", "near": "near duplicates", "exact": "exact duplicates", "other": "revisits and thin"}
"""The series of the first chart: their classes, and what they are called."""

_UNITS: Final = ((1, "s", 300), (60, "min", 3 * 3600), (3600, "h", 5 * 86_400), (86_400, "d", math.inf))
_NEEDLESS: Final = ("defs", "desc", "title", "style", "script")
_LABEL_PIXELS: Final = 12
_LIMIT_WIDTH: Final = 0.0012


def charts_of(report: Report) -> dict[str, Chart]:
    """Return the charts of a report by name. There is none for what was not recorded."""
    charts = {}
    if any(moment.counts.judged for moment in report.timeline.moments):
        charts = {"pages": _pages(report.timeline), "novelty": _novelty(report.timeline), "index": _growth(report)}
    if report.similarity.bins:
        charts["similarity"] = _similarity(report.similarity)
    return charts


def _pages(timeline: Timeline) -> Chart:
    moments = timeline.moments
    lengths = [timeline.step] * (len(moments) - 1) + [max(timeline.last_step, timeline.step / 4)]
    counts = [moment.counts for moment in moments]
    series = {
        "new": [each.new for each in counts],
        "near": [each.near for each in counts],
        "exact": [each.exact for each in counts],
        "other": [each.revisit + each.thin for each in counts],
    }
    rates = {
        name: [60 * number / length for number, length in zip(numbers, lengths, strict=True)]
        for name, numbers in series.items()
    }
    fastest = max(sum(values) for values in zip(*rates.values(), strict=True))
    words = f"Pages a minute over {lasting(moments[-1].seconds)}, stacked by outcome; at most {compact(fastest)}."
    return _timed(pygal.StackedBar, timeline, rates, words, WIDE, spacing=1)


def _novelty(timeline: Timeline) -> Chart:
    shares = [moment.counts.novelty for moment in timeline.moments]
    known = [share for share in shares if share is not None]
    words = f"Share of new pages, from {known[0]:.0%} at the start to {known[-1]:.0%} at the end."
    percents = [None if share is None else 100 * share for share in shares]
    return _timed(pygal.Line, timeline, {"new": percents}, words, HALF, range=(0, 100), value_formatter=_percent)


def _growth(report: Report) -> Chart:
    known: list[float | None] = [moment.known for moment in report.timeline.moments]
    words = "Pages in the index"
    if sum(number is not None for number in known) < 2:
        total, known, words = 0, [], "New pages, added up"
        for moment in report.timeline.moments:
            total += moment.counts.new
            known.append(total)
    numbers = [number for number in known if number is not None]
    words += f", from {compact(numbers[0])} to {compact(numbers[-1])}."
    return _timed(pygal.Line, report.timeline, {"index": known}, words, HALF, allow_interruptions=False)


def _timed(kind: Any, timeline: Timeline, series: dict[str, Any], words: str, wide: _Size, **options: Any) -> Chart:
    end = timeline.moments[-1].seconds
    unit, name = next((unit, name) for unit, name, most in _UNITS if end <= most)

    def draw(size: _Size) -> Markup:
        every = -(-len(timeline.moments) // size.labels)
        chart = _chart(kind, size, **options)
        chart.x_labels = [f"{_clock(moment.seconds, unit)} {name}" for moment in timeline.moments]
        chart.x_labels_major = chart.x_labels[::every]
        chart.show_minor_x_labels = False
        for each, values in series.items():
            chart.add(each, values)
        return _svg(chart, series, words, size)

    return Chart(draw(wide), draw(NARROW), words)


def _similarity(similarity: Similarity) -> Chart:
    bins = similarity.bins
    highest = max(each.pages for each in bins)
    words = f"Near duplicates by estimated similarity, from {bins[0].low:.2f} to 1."
    series: dict[str, list[tuple[float, float, float]]] = {
        "near": [(each.pages, each.low + 0.0005, each.high - 0.0005) for each in bins]
    }
    if similarity.limit is not None and similarity.limit >= bins[0].low:
        words += f" The limit of this crawl is {similarity.limit:.3f}."
        half = _LIMIT_WIDTH * (1 - bins[0].low)
        series["limit"] = [(highest, similarity.limit - half, similarity.limit + half)]

    def draw(size: _Size) -> Markup:
        chart = _chart(pygal.Histogram, size, xrange=(bins[0].low, 1))
        every = -(-len(bins) // size.labels)
        chart.x_labels = [*(each.low for each in bins[::every]), 1]
        chart.x_value_formatter = "{:.2f}".format
        for each, values in series.items():
            chart.add(each, values)
        return _svg(chart, series, words, size)

    return Chart(draw(WIDE), draw(NARROW), words)


def _chart(kind: Any, size: _Size, value_formatter: Callable[[float], str] = compact, **options: Any) -> Any:
    font = "system-ui"
    style = Style(label_font_size=_LABEL_PIXELS, major_label_font_size=_LABEL_PIXELS, font_family=font)
    fixed = {"show_legend": False, "show_dots": False, "max_scale": 5, "min_scale": 2}
    fixed["truncate_label"] = -1
    chart = kind(width=size.width, height=size.height, js=(), css=(), style=style, margin=4, **fixed, **options)
    chart.value_formatter = value_formatter
    return chart


def _svg(chart: Any, series: Iterable[str], words: str, size: _Size) -> Markup:
    """Return a chart without the script, the styles and the hidden texts that pygal adds for its tooltips."""
    svg = chart.render_tree()
    for each in list(svg.iter()):
        if _is_needless(each):
            each.getparent().remove(each)
            continue
        for name, value in list(each.attrib.items()):
            if name in ("style", "rx", "ry", "id") or (name == "class" and "reactive" in value):
                del each.attrib[name]
            elif name in ("x", "y", "width", "height"):
                each.set(name, f"{float(value):.1f}")
    for number, name in enumerate(series):
        for each in svg.iterfind(f".//*[@class='series serie-{number} color-{number}']"):
            each.set("class", f"series {name}")
    svg.set("class", f"chart {size.name}")
    svg.set("role", "img")
    svg.set("aria-label", words)
    etree.cleanup_namespaces(svg)
    return Markup(etree.tostring(svg, encoding="unicode"))


def _is_needless(element: Any) -> bool:
    if not isinstance(element.tag, str) or element.tag.rpartition("}")[2] in _NEEDLESS:
        return element.getparent() is not None
    kind = element.get("class", "")
    is_flat = element.tag.endswith("rect") and float(element.get("height", 1)) == 0
    return "overlay" in kind or "background" in kind or is_flat


def _percent(value: float) -> str:
    return f"{value:.0f} %"


def _clock(seconds: float, unit: int) -> str:
    """Return a time in units, as "1:20" where sixty parts make one."""
    if unit not in (60, 3600):
        return f"{seconds / unit:.3g}"
    whole, part = divmod(round(60 * seconds / unit), 60)
    return f"{whole}:{part:02d}" if part else str(whole)
