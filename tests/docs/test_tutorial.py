"""The spiders of the tutorial, crawled for real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawldedup.demo.server import serving
from crawldedup.demo.site import DemoSite
from tests.docs.pages import SITE, blocks
from tests.scrapy_plugin.prepared import run_prepared

DEMO_URL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with serving(DemoSite()) as base_url:
        yield base_url


def crawl(page: str, demo: str, folder: Path, *arguments: str) -> list[dict[str, Any]]:
    spider = next(block for block in blocks("python", pages=[SITE / page]) if "scrapy.Spider" in block.code)
    (folder / "spider.py").write_text(spider.code.replace(DEMO_URL, demo))
    options = ["-s", "CRAWLDEDUP_EXTRACTOR=resiliparse", "-s", "LOG_LEVEL=WARNING", *arguments]
    done = run_prepared("scrapy", "runspider", "spider.py", "-O", "items.jsonl", *options, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]


@pytest.mark.exhaustive
def test_the_first_crawl_keeps_half(demo: str, tmp_path: Path) -> None:
    site = DemoSite()
    kept = [
        entry.cluster for item in crawl("tutorial/first-crawl.md", demo, tmp_path) if (entry := site.entry(item["url"]))
    ]
    everything = crawl("tutorial/first-crawl.md", demo, tmp_path, "-s", "CRAWLDEDUP_ENABLED=False")
    assert len(kept) < 0.6 * len(everything)


@pytest.mark.exhaustive
def test_stories_come_once(demo: str, tmp_path: Path) -> None:
    items = crawl("tutorial/items.md", demo, tmp_path)
    stories = [entry.cluster for item in items if (entry := DemoSite().entry(item["url"])) is not None and entry.judged]
    assert stories
    assert len(stories) == len(set(stories))
