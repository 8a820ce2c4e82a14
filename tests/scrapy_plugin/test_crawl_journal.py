"""Real crawls and their journals."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawldedup import __version__
from crawldedup.journal import crawls, journals
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.crawling import QUICK, crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site, article

PAGES = ["/a", "/a-near", "/a-copy", "/a", "/thin", "/picture", "/missing"]
PAIR = (("old", 0), ("new", 14))
OUTCOMES = ["new", "near", "exact", "revisit", "thin", "skipped", "skipped"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/a": article(1),
            "/a-near": article(1, changed_words=2),
            "/a-copy": article(1),
            "/b": article(2),
            "/thin": article(3, words=5),
            "/picture": Answer(b"x", content_type="image/png"),
        }
    ) as running:
        yield running


def read(source: str | Path, crawl: str | None = None) -> list[list[dict[str, Any]]]:
    """The records of each journal of a crawl."""
    records = [[json.loads(line) for line in path.read_bytes().splitlines()] for path in journals(source, crawl)]
    return [[record for record in one if record is not None] for one in records]


def test_a_new_page_tells_what_came_nearest(crawl: Crawler, tmp_path: Path) -> None:
    # The key of an index decides how similar they seem.
    pairs = {f"/{name}{seed}": article(seed, changed_words=changed) for name, changed in PAIR for seed in range(12)}
    with Site(pairs) as site:
        crawl(site, list(pairs), CRAWLDEDUP_JOURNAL=str(tmp_path), CONCURRENT_REQUESTS=1)
    lines = [line for line in read(tmp_path)[0] if "rejected_url" in line]
    assert len(lines) >= 6
    for line in lines:
        assert line["url"].replace("/new", "/old") == line["rejected_url"]
        assert (line["outcome"], line["rejected_by"]) == ("new", "similarity")
        assert 0.6 <= line["rejected_similarity"] < 0.86


def test_every_response_is_in_the_journal(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    place = str(tmp_path / "journal")
    result = crawl(site, PAGES, follow={"/a": "/b"}, CRAWLDEDUP_JOURNAL=place)
    (header, *lines, end) = read(place)[0]
    assert (header["spider"], header["known"], header["version"]) == ("pages", 0, __version__)
    assert 0.8 < header["settings"]["threshold"] < header["settings"]["similarity"]
    assert [line["outcome"] for line in lines if line["url"] != f"{site.url}/b"] == OUTCOMES
    by_path = {line["url"].removeprefix(site.url): line for line in lines}
    near, linked = by_path["/a-near"], by_path["/b"]
    assert (near["original"], near["copies"], near["action"]) == (f"{site.url}/a", 1, "dropped")
    assert 0.9 < near["similarity"] < 1
    assert near["hamming"] < 10
    assert near["words"] > 250
    assert near["bytes"] == len(site.pages["/a-near"].body)
    assert near["waited"] > near["read"] > 0
    assert near["store"] > 0
    assert near["candidates"] == 1
    assert by_path["/a"]["digest"] == by_path["/a-copy"]["digest"] != near["digest"]
    assert (linked["referer"], linked["depth"], linked["action"]) == (f"{site.url}/a", 1, "delivered")
    assert linked["latency"] > 0
    assert [by_path[path]["reason"] for path in ("/picture", "/missing")] == ["content_type", "http_404"]
    assert (end["end"], end["known"]) == ("finished", 3)
    assert 0 < end["index_bytes"] < 1_000_000
    assert end["stats"]["downloader/response_count"] == len(lines) == 8
    # What the journal holds is what was counted.
    assert {name.removeprefix("crawldedup/"): count for name, count in end["stats"].items()}.items() >= (
        result.counts.items()
    )
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)
    assert result.errors == []


def test_a_crawl_that_is_killed_leaves_what_it_has_seen_in_the_data_directory(site: Site, tmp_path: Path) -> None:
    process = start(site, tmp_path, [*PAGES, "/kill", "/b"], **QUICK)
    site.actions = {"/kill": lambda: os.killpg(process.pid, signal.SIGKILL)}
    finish(process, tmp_path)
    site.actions = {}
    place = tmp_path / ".scrapy" / "crawldedup"
    (records,) = read(place)
    assert [record["outcome"] for record in records[1:]] == OUTCOMES
    assert [(crawl.pages, crawl.state) for crawl in crawls(place)] == [(len(OUTCOMES), "unfinished")]
    # The next one finds its way beside it.
    assert crawl_apart(site, tmp_path, ["/a"], **QUICK).errors == []
    assert [crawl.state for crawl in crawls(place)] == ["finished", "unfinished"]


def test_the_runs_of_a_job_have_one_name(site: Site, crawl: Crawler, tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path / "job"), "CRAWLDEDUP_JOURNAL": str(tmp_path / "journal")}
    pages = [f"/a?{number}" for number in range(9)]
    settings |= {"CRAWLDEDUP_ACTION": "mark"}
    crawl(site, pages, close_at="/a?0", **settings)
    crawl(site, [], **settings)
    (listed,) = crawls(tmp_path / "journal")
    assert (listed.processes, listed.pages) == (2, 9)
    assert listed.state == "enough, finished"
    assert not (tmp_path / "job" / "crawldedup.crawl").exists()
