"""Write a report as one page that needs no network, and in which nothing of the crawled pages can run."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import fields
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crawldedup.report.changes import Changes
from crawldedup.report.model import NAMELESS
from crawldedup.report.render import wording
from crawldedup.report.render.charts import SERIES, charts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.report.model import Report

LARGEST_PAGE: Final = 500_000
"""Bytes. Tables hold fewer rows where these do not suffice."""

_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)

_SECTIONS: Final = {
    "overview": "Overview",
    "comparison": "Earlier crawl",
    "time": "Over time",
    "stale": "Stale places",
    "advice": "Advice",
    "sites": "Sites",
    "similarity": "Similarity",
    "clusters": "Clusters",
    "skipped": "Not checked",
    "cost": "Index and time",
    "about": "About",
}


class _Part(NamedTuple):
    kind: str
    name: str
    pages: int
    start: float
    width: float


class _Tile(NamedTuple):
    name: str
    figure: str
    note: str


def page_of(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("crawldedup.report.render", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["nameless"] = NAMELESS
    for name in ("compact", "date", "lasting", "link", "passages", "percent", "precise", "shown", "size"):
        environment.globals[name] = getattr(wording, name)
    folder = files("crawldedup.report.render") / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    template, charts = environment.get_template("report.html"), charts_of(report)
    page = ""
    for most in _MOST_ROWS:
        page = template.render(
            report=report,
            charts=charts,
            series=SERIES,
            headline=wording.headline(report),
            index_health=wording.index_health(report),
            parts=list(_parts(report)),
            tiles=list(_tiles(report)),
            sections={name: title for name, title in _SECTIONS.items() if _has(report, name)},
            changes=[field.name for field in fields(Changes)][1:],
            most=most,
            most_clusters=max(most // 4, 1),
            most_members=max(most // 10, 1),
            style=Markup(style),
            style_hash=_hash(style),
            script=Markup(script),
            script_hash=_hash(script),
        ).lstrip()
        if len(page.encode()) <= LARGEST_PAGE:
            break
    return page


def _has(report: Report, section: str) -> bool:
    match section:
        case "advice":
            return bool(report.advice or report.savings)
        case "comparison" | "stale" | "clusters":
            return bool(getattr(report, section))
        case "similarity":
            return bool(report.similarity.bins)
        case "skipped":
            return bool(report.reasons or report.walls)
    return True


def _parts(report: Report) -> Iterator[_Part]:
    counts = report.totals.counts
    start = 0.0
    for kind, name, pages in (
        ("new", "new", counts.new),
        ("near", "near duplicates", counts.near),
        ("exact", "exact duplicates", counts.exact),
        ("other", "revisits, thin and skipped", counts.revisit + counts.thin + counts.skipped),
        ("error", "passed unchecked", counts.error),
    ):
        if pages:
            width = 100 * pages / counts.pages
            yield _Part(kind, name, pages, start, width)
            start += width


def _tiles(report: Report) -> Iterator[_Tile]:
    totals, counts = report.totals, report.totals.counts
    seconds = report.crawl.seconds
    yield _Tile("New pages", f"{counts.new:,}", f"{wording.percent(counts.novelty)} of those compared")
    yield _Tile("Duplicates", f"{counts.duplicates:,}", f"{counts.near:,} near, {counts.exact:,} exact")
    yield _Tile("Clusters", f"{totals.clusters:,}", "kept pages with copies")
    share = totals.duplicate_bytes / totals.bytes if totals.bytes else None
    note = f"{wording.percent(share)} of {wording.size(totals.bytes)}"
    yield _Tile("Downloaded as copies", wording.size(totals.duplicate_bytes), note)
    if counts.revisit:
        yield _Tile("Revisits", f"{counts.revisit:,}", f"{totals.changed:,} with other text")
    unchecked = f"{counts.skipped:,} skipped, {counts.error:,} errors"
    yield _Tile("Not checked", f"{counts.skipped + counts.error:,}", unchecked)
    if seconds:
        yield _Tile("Pages a minute", wording.compact(60 * counts.pages / seconds), f"over {wording.lasting(seconds)}")
    if report.index.known_after is not None:
        before = "" if report.index.known_before is None else f"{report.index.known_before:,} at the start"
        yield _Tile("Pages in the index", f"{report.index.known_after:,}", before)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
