"""Write a report as one page that needs no network, and in which nothing of the crawled pages can run."""

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crawldedup.report import counts as shares
from crawldedup.report.counts import Counts, checked, duplicates, novelty, responses
from crawldedup.report.queries import CHANGES, NAMELESS, Report
from crawldedup.report.render import wording
from crawldedup.report.render.charts import SERIES, charts_of

LARGEST_PAGE: Final = 500_000
"""Bytes. Tables hold fewer rows where these do not suffice."""

_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)

_SECTIONS_OF_SCAN: Final = ("overview", "clusters", "sites", "similarity", "about")

Tile = tuple[str, str, str]
"""The name of a figure, the figure, and a note below it."""


def templates_of(package: str) -> Environment:
    """Return the templates in the folder `page` of a package. What they show is escaped, and what is missing raises."""
    loader = PackageLoader(package, "page")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def page_of(report: Report) -> str:
    """Return the page."""
    environment = templates_of("crawldedup.report.render")
    for module in (shares, wording):
        environment.globals |= {name: value for name, value in vars(module).items() if callable(value)}
    folder = files("crawldedup.report.render") / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    values = {
        **report,
        "is_scan": wording.is_scan(report),
        "headline": wording.headline(report),
        "charts": charts_of(report),
        "series": SERIES,
        "parts": list(_parts(report["totals"]["counts"])),
        "tiles": list(_tiles(report)),
        "sections": _sections(report),
        "changes": CHANGES,
        "nameless": NAMELESS,
        "style": Markup(style),
        "script": Markup(script),
        "hash_of": _hash_of,
    }
    template = environment.get_template("report.html")
    pages = (template.render(values, most=most).lstrip() for most in _MOST_ROWS)
    return next((page for page in pages if len(page.encode()) <= LARGEST_PAGE), "")


def _sections(report: Report) -> dict[str, str]:
    """Return the titles of the sections that have something to show."""
    sections = {
        "overview": ("Overview", True),
        "comparison": ("Earlier crawl", report["comparison"]),
        "time": ("Over time", True),
        "stale": ("Stale places", report["stale"]),
        "advice": ("Advice", report["advice"] or report["savings"] or report["withdrawn"]),
        "sites": ("Sites", True),
        "similarity": ("Similarity", report["similarity"]["bins"]),
        "clusters": ("Clusters", report["clusters"]),
        "skipped": ("Not checked", report["reasons"] or report["walls"]),
        "cost": ("Index and time", True),
        "about": ("About", True),
    }
    names = _SECTIONS_OF_SCAN if wording.is_scan(report) else sections
    return {name: sections[name][0] for name in names if sections[name][1]}


def _parts(counts: Counts) -> Iterator[dict[str, Any]]:
    start = 0.0
    for kind, name, outcomes in (
        ("new", "new", ("new",)),
        ("near", "near duplicates", ("near",)),
        ("exact", "exact duplicates", ("exact",)),
        ("other", "revisits, thin and skipped", ("revisit", "thin", "skipped")),
        ("error", "passed unchecked", ("error",)),
    ):
        if pages := sum(counts[outcome] for outcome in outcomes):
            width = 100 * pages / responses(counts)
            yield {"kind": kind, "name": name, "pages": pages, "start": start, "width": width}
            start += width


def _tiles(report: Report) -> Iterator[Tile]:
    totals, index, seconds = report["totals"], report["index"], report["crawl"]["seconds"]
    counts, size = totals["counts"], totals["bytes"]
    if wording.is_scan(report):
        yield "Kept pages", f"{counts['new'] + counts['thin']:,}", f"of {checked(counts):,}"
    else:
        yield "New pages", f"{counts['new']:,}", f"{wording.percent(novelty(counts))} of those compared"
    yield "Duplicates", f"{duplicates(counts):,}", f"{counts['near']:,} near, {counts['exact']:,} exact"
    yield "Clusters", f"{totals['clusters']:,}", "kept pages with copies"
    if size:
        copied = totals["duplicate_bytes"]
        share = f"{wording.percent(copied / size)} of {wording.size(size)}"
        yield "Downloaded as copies", wording.size(copied), share
    if counts["revisit"]:
        yield "Revisits", f"{counts['revisit']:,}", f"{totals['changed']:,} with other text"
    if unchecked := counts["skipped"] + counts["error"]:
        yield "Not checked", f"{unchecked:,}", f"{counts['skipped']:,} skipped, {counts['error']:,} errors"
    if seconds:
        speed = wording.compact(60 * responses(counts) / seconds)
        yield "Pages a minute", speed, f"over {wording.lasting(seconds)}"
    if index["known_after"] is not None:
        before = index["known_before"]
        note = "" if before is None else f"{before:,} at the start"
        yield "Pages in the index", f"{index['known_after']:,}", note


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
