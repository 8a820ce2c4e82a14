"""The reference names every error that reaches a user, and every argument of a signal."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from typing import Final

from scrapy.exceptions import DropItem, IgnoreRequest

import crawldedup
from crawldedup import client, errors
from crawldedup.errors import CrawlDedupError
from crawldedup.scrapy_plugin import middleware, signals
from tests.docs.pages import SITE, section

REFERENCE: Final = SITE / "reference"
PAGE: Final = (REFERENCE / "errors.md").read_text("utf-8")

# They are caught where they matter, and shown as messages or problems: nobody's `except` meets them by these names.
INTERNAL: Final = {
    "CrawlError",
    "MissingIndexError",
    "OverrideError",
    "ProblemError",
    "ReportError",
    "TryAgainError",
    "UnwritableError",
}


def all_errors() -> set[type[Exception]]:
    """Every error of the package that is one of ours, or of Scrapy's kinds."""
    found: set[type[Exception]] = set()
    for module in pkgutil.walk_packages(crawldedup.__path__, "crawldedup."):
        # Apache Spark is not installed with the tests, and the console would start as a program.
        if module.name.startswith("crawldedup.spark") or module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and issubclass(value, (CrawlDedupError, IgnoreRequest, DropItem)):
                found.add(value)
    return {cls for cls in found if cls.__module__.startswith("crawldedup.")}


def test_every_error_that_reaches_a_user_is_in_the_reference() -> None:
    public = {cls for cls in all_errors() if cls.__name__ not in INTERNAL}
    shown = {name for name in vars(errors) if name.endswith("Error")}
    shown |= set(re.findall(r"autoexception:: [\w.]+\.(\w+)", PAGE + (REFERENCE / "python.md").read_text("utf-8")))
    assert {cls.__name__ for cls in public} == shown
    assert {cls.__name__ for cls in all_errors()} > INTERNAL
    assert all(inspect.getdoc(cls) for cls in public)


def test_every_error_has_its_counter_and_whether_it_ends_a_crawl() -> None:
    rows = re.findall(r"^\| \{py:exc\}`~[\w.]+\.(\w+)` \| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    public = [cls for cls in vars(errors).values() if inspect.isclass(cls) and cls is not CrawlDedupError]
    named = {name: (counter, what == "ends") for name, counter, what in rows}
    assert named == {cls.__name__: (cls.counter, cls.is_fatal) for cls in [*public, client.ServiceError]}


def test_every_argument_of_a_signal_is_in_the_reference() -> None:
    page = REFERENCE / "signals.md"
    # `send` adds the spider.
    assert "spider=crawler.spider" in inspect.getsource(signals.send)
    (event,) = (
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(middleware)))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "event" and isinstance(node.value, ast.Dict)
    )
    sent = {key.value for key in event.keys if isinstance(key, ast.Constant)} | {"spider"}
    assert sent == {"request", "response", "verdict", "dropped", "spider"}
    assert names_in(section(page, "page_judged")) == sent
    assert "with the same arguments" in section(page, "page_deduplicated")
    assert names_in(section(page, "wall_suspected")) == {"original", "share", "window", "spider"}


def names_in(text: str) -> set[str]:
    return set(re.findall(r"(?<!\})`(\w+)`", text))
