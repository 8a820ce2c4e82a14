"""Real crawls that end with a report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawldedup.cli import main
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.test_rules import numbered, rules_file, sid, with_sids
from tests.scrapy_plugin.website import Site, article

PAGES = ["/a", "/a-copy", "/a-near", "/b", "/missing"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    pages = {"/a": article(1), "/a-copy": article(1), "/a-near": article(1, changed_words=2), "/b": article(2)}
    with Site(pages) as running:
        yield running


def counts(path: Path) -> dict[str, int]:
    made: dict[str, Any] = json.loads(path.read_text())
    return {name: count for name, count in made["totals"]["counts"].items() if count}


def test_a_crawl_ends_with_its_report(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    path = tmp_path / "end.json"
    result = crawl(site, PAGES, CRAWLDEDUP_REPORT=str(path), CRAWLDEDUP_JOURNAL=str(tmp_path / "journals"))
    assert f"INFO: crawldedup: the report is in {path}" in result.log
    assert result.errors == []
    assert counts(path) == {"new": 2, "near": 1, "exact": 1, "skipped": 1}


def test_requests_that_a_rule_skips_are_not_gone(crawl: Crawler, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    settings = {"CRAWLDEDUP_JOURNAL": str(tmp_path / "journals"), "CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/i.sqlite"}
    pages = with_sids(numbered("news", 8))
    with Site(numbered("news", 8)) as site:
        crawl(site, pages, **settings, CRAWLDEDUP_CRAWL="first")
        rules = rules_file(tmp_path, sid(site))
        result = crawl(site, pages, **settings, CRAWLDEDUP_CRAWL="second", CRAWLDEDUP_RULES=rules)
        skipped = result.counts["rules/skipped"]
        rule = {"rule": f"{site.url}: ?sid", "downloads": skipped}
    assert main(["report", settings["CRAWLDEDUP_JOURNAL"], "--against", "first", "--output", str(report)]) == 0
    made = json.loads(report.read_text())
    assert skipped > 10
    assert made["savings"] == [rule]
    assert (made["comparison"]["total"]["skipped"], made["comparison"]["total"]["gone"]) == (skipped, 0)


def test_a_report_that_cannot_be_written_is_a_warning(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    site.actions = {"/b": (folder / "report.json").mkdir}
    settings = {"CRAWLDEDUP_JOURNAL": str(tmp_path / "journals"), "CRAWLDEDUP_REPORT": str(folder / "report.json")}
    result = crawl(site, PAGES, **settings)
    site.actions = {}
    (warning,) = result.errors
    assert "crawldedup: the report was not written: crawldedup: --output is " in warning
    assert result.passed == ["/a", "/b"]
