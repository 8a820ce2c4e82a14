"""Write a report as one page that needs no network, and in which nothing of the crawled pages can run."""

import base64
import hashlib
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crawldedup.report.queries import CHANGES, NAMELESS, Report
from crawldedup.report.render import wording
from crawldedup.report.render.charts import SERIES, charts_of

LARGEST_PAGE: Final = 500_000
"""Bytes. Tables hold fewer rows where these do not suffice."""

_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)


def templates_of(package: str) -> Environment:
    """Return the templates in the folder `page` of a package. What they show is escaped, and what is missing raises."""
    loader = PackageLoader(package, "page")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def page_of(report: Report) -> str:
    """Return the page."""
    environment = templates_of("crawldedup.report.render")
    environment.globals |= {name: value for name, value in vars(wording).items() if callable(value)}
    folder = files("crawldedup.report.render") / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    values = {
        **report,
        "report": report,
        "charts": charts_of(report),
        "series": SERIES,
        "changes": CHANGES,
        "nameless": NAMELESS,
        "style": Markup(style),
        "script": Markup(script),
        "hash_of": _hash_of,
    }
    template = environment.get_template("report.html")
    pages = (template.render(values, most=most).lstrip() for most in _MOST_ROWS)
    return next((page for page in pages if len(page.encode()) <= LARGEST_PAGE), "")


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
