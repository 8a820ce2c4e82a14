"""Real crawls, in processes of their own, whose pages give those who read them trouble."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import is_there
from tests.scrapy_plugin.crawling import crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site, article


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/a": article(1),
            "/a-near": article(1, changed_words=2),
            "/b": article(2),
            "/deadly": Answer(b"<p>" + b"this page is deadly for its reader " * 20),
            "/endless": Answer(b"<p>" + b"this page is endless for its reader " * 20),
        }
    ) as running:
        yield running


def test_pages_that_kill_or_outlast_their_worker_cost_only_themselves(site: Site, tmp_path: Path) -> None:
    result = crawl_apart(
        site,
        tmp_path,
        ["/a", "/deadly", "/endless", "/a-near"],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.deadly",
        CRAWLDEDUP_WORKERS=1,
        CRAWLDEDUP_PAGE_SECONDS=1,
    )
    assert result.passed == ["/a", "/deadly", "/endless"]
    trouble = {"error/worker": 1, "skipped/too_slow": 1}
    assert result.counts == {**trouble, "checked": 2, "new": 1, "duplicate/near": 1, "dropped": 1}


@pytest.mark.nightly
def test_pages_that_wait_for_a_worker_hold_the_crawl_back(site: Site, tmp_path: Path) -> None:
    site.asked.clear()
    process = start(
        site,
        tmp_path,
        [f"/a?{number}" for number in range(30)],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.waiting",
        CRAWLDEDUP_WORKERS=1,
        CRAWLDEDUP_ACTION="mark",
        CONCURRENT_REQUESTS=3,
    )
    while not (tmp_path / "reading").exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    assert site.asked.total() <= 3
    (tmp_path / "go on").touch()
    assert len(finish(process, tmp_path).passed) == 30


def test_the_same_bytes_are_read_once(site: Site, tmp_path: Path) -> None:
    result = crawl_apart(
        site,
        tmp_path,
        ["/a", "/b", *(f"/a?session={number}" for number in range(12)), "/b?session=1"],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.counting",
        CRAWLDEDUP_WORKERS=1,
        CONCURRENT_REQUESTS=4,
    )
    # Of pages that come at once any may be the first.
    assert sorted(page.partition("?")[0] for page in result.passed) == ["/a", "/b"]
    assert result.counts == {"checked": 15, "new": 2, "duplicate/exact": 13, "dropped": 13}
    assert (tmp_path / "reads").read_text() == "page\n" * 2


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("signals", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_an_interrupted_crawl_ends_without_noise_and_without_orphans(site: Site, tmp_path: Path, signals: int) -> None:
    # The extractor waits for this file, so the signal comes in the middle of a check.
    process = start(
        site,
        tmp_path,
        ["/a", "/b"],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.waiting",
        CRAWLDEDUP_WORKERS=1,
    )
    reading = tmp_path / "reading"
    while not (reading.exists() and reading.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    worker = int(reading.read_text())
    for number in range(signals):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5 * (signals - number - 1))
    if signals == 1:
        (tmp_path / "go on").touch()
    result = finish(process, tmp_path)
    assert "Traceback" not in result.log
    if signals == 1:
        assert result.report["stats"]["finish_reason"] == "shutdown"
        assert result.counts == {"checked": 1, "new": 1}
    while is_there(worker):
        time.sleep(0.02)
