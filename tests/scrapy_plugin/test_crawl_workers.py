"""Real crawls, in processes of their own, that are stopped, or whose pages give those who read them trouble."""

import itertools
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from crawldedup.journal import crawls
from tests.processes import is_there
from tests.scrapy_plugin.crawling import QUICK, crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site, article
from tests.servers import RedisServer


def test_pages_that_kill_or_outlast_their_worker_cost_only_themselves(site: Site, tmp_path: Path) -> None:
    for word in ("crash", "forever"):
        site.pages[f"/{word}"] = Answer(f"<p>{word} {'this page is no good for its reader ' * 20}".encode())
    copies = [f"/{name}?session={number}" for name in "ab" for number in range(6)]
    options = {"CRAWLDEDUP_EXTRACTOR": "deadly_extractor.counting", "CRAWLDEDUP_WORKERS": 1}
    pages = ["/a", "/b", *copies, "/crash", "/forever", "/a-near"]
    result = crawl_apart(site, tmp_path, pages, CRAWLDEDUP_PAGE_SECONDS=1, **options)
    assert result.passed == ["/a", "/b", "/crash", "/forever"]
    trouble = {"error/worker": 1, "skipped/too_slow": 1}
    judged = {"checked": 15, "new": 2, "duplicate/near": 1, "duplicate/exact": 12, "dropped": 13}
    assert result.counts == {**trouble, **judged}
    assert (tmp_path / "reads").read_text() == "page\n" * 3


def start_waiting(site: Site, folder: Path, pages: list[str], **options: Any) -> tuple[subprocess.Popen[str], int]:
    """Start a crawl whose worker waits in the middle of the first page for the file "go on". Return both."""
    own = {"CRAWLDEDUP_EXTRACTOR": "deadly_extractor.waiting", "CRAWLDEDUP_WORKERS": 1}
    process, reading = start(site, folder, pages, **own, **options), folder / "reading"
    while not (reading.exists() and reading.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    return process, int(reading.read_text())


@pytest.mark.nightly
def test_pages_that_wait_for_a_worker_hold_the_crawl_back(site: Site, tmp_path: Path) -> None:
    site.asked.clear()
    pages = [f"/a?{number}" for number in range(30)]
    process, _ = start_waiting(site, tmp_path, pages, CRAWLDEDUP_ACTION="mark", CONCURRENT_REQUESTS=3)
    time.sleep(1)
    assert site.asked.total() <= 3
    (tmp_path / "go on").touch()
    assert len(finish(process, tmp_path).passed) == 30


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("signals", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_an_interrupted_crawl_ends_without_noise_and_without_orphans(site: Site, tmp_path: Path, signals: int) -> None:
    process, worker = start_waiting(site, tmp_path, ["/a", "/b"])
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


@pytest.mark.nightly
def test_a_crawl_that_is_killed_leaves_its_journal(site: Site, tmp_path: Path) -> None:
    process = start(site, tmp_path, ["/a", "/a-near", "/missing", "/kill", "/b"], **QUICK)
    site.actions = {"/kill": lambda: os.killpg(process.pid, signal.SIGKILL)}
    finish(process, tmp_path)
    site.actions = {}
    place = tmp_path / ".scrapy" / "crawldedup"
    assert [(crawl.pages, crawl.state) for crawl in crawls(place)] == [(3, "unfinished")]
    # The next one finds its way beside it.
    assert crawl_apart(site, tmp_path, ["/a"], **QUICK).errors == []
    assert [crawl.state for crawl in crawls(place)] == ["finished", "unfinished"]


@pytest.mark.nightly
@pytest.mark.timeout(240)
@pytest.mark.parametrize("action", ["drop", "drop-items"])
def test_crawlers_of_one_spider_deliver_each_content_once(tmp_path: Path, action: str) -> None:
    """Some begin when others have ended, so that pages of those are revisits."""
    contents = {f"/{number}": number for number in range(1, 17)}
    if action == "drop-items":  # Each page leads to the next one. With `drop`, a copy would end the crawl.
        contents |= {path: number - 1 for path, number in contents.items() if number % 4 == 0}
    first, follow = {"url": "/1", "meta": {"is_start_request": True}}, dict(itertools.pairwise(contents))
    folders = [tmp_path / str(number) for number in range(8)]
    with Site({path: article(number) for path, number in contents.items()}) as site, RedisServer() as server:
        options = {"CRAWLDEDUP_STORE": server.url, "CRAWLDEDUP_ACTION": action, "CRAWLDEDUP_REVISIT": "drop", **QUICK}
        for folder in folders:
            folder.mkdir()
        started = [start(site, folder, [first], follow=follow, **options) for folder in folders]
        results = [finish(*each) for each in zip(started, folders, strict=True)]
    delivered = [contents[item] for result in results for item in result.items]
    assert sorted(delivered) == sorted(set(contents.values()))
    for result in results:
        assert result.report["stats"]["finish_reason"] == "finished"
        assert result.passed == list(contents) or action == "drop"
