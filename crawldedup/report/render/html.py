"""Write a report as one page that needs no network, and in which nothing of the crawled pages can run."""

import base64
import hashlib
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from crawldedup.report.queries import CHANGES, Report
from crawldedup.report.render import wording

LARGEST_PAGE: Final = 500_000
"""Bytes. Tables hold fewer rows where these do not suffice."""

_PACKAGE: Final = "crawldedup.report.render"
_MOST_ROWS: Final = (200, 100, 50, 25, 10, 5, 2)


def templates_of(package: str) -> Environment:
    """Return the templates in the folder `page` of a package. HTML escapes what it shows. What is missing raises."""
    return Environment(
        loader=PackageLoader(package, "page"),
        autoescape=lambda name: name is None or not name.endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page_of(report: Report) -> str:
    """Return the page."""
    folder = files(_PACKAGE) / "page"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    more = {"style": Markup(style), "script": Markup(script), "hash_of": _hash_of}
    pages = (rendered("report.html", report, most=most, **more) for most in _MOST_ROWS)
    return next((page for page in pages if len(page.encode()) <= LARGEST_PAGE), "")


def rendered(name: str, report: Report, **more: Any) -> str:
    """Return what a template makes of a report: the names of `wording`, the parts of the report, and more values."""
    words = {name: value for name, value in vars(wording).items() if callable(value)}
    values = {**words, **report, "report": report, "changes": CHANGES, **more}
    return templates_of(_PACKAGE).get_template(name).render(values).lstrip()


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
