from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.http import HtmlResponse

from crawldedup.errors import StoreUnavailableError
from crawldedup.journal import record_in
from crawldedup.scrapy_plugin.reading.messages import Judged
from crawldedup.scrapy_plugin.runtime import journal as runtime
from crawldedup.scrapy_plugin.runtime.journal import CrawlJournal
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.test_middleware import Crawl

if TYPE_CHECKING:
    from pathlib import Path

NEAR = Verdict(Kind.NEAR_DUPLICATE, "https://e.com/b", "https://e.com/a", 0.97, 2, copies=1)
DELIVERED = {"dropped": False, "itemless": False, "unchanged": False, "retried": False, "marks": False}
URL = "https://e.com/b"


def begun(folder: Path, **settings: Any) -> CrawlJournal:
    journal = CrawlJournal(FakeCrawler(**settings))  # type: ignore[arg-type]
    journal.begin(CrawlOptions(workers=1, journal=str(folder)), 7)
    return journal


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """The records but for the header."""
    (path,) = folder.glob("*.jsonl")
    return [record for line in path.read_bytes().splitlines()[1:] if (record := record_in(line)) is not None]


@pytest.mark.parametrize(
    ("verdict", "fate", "action"),
    [
        (NEAR, {}, "delivered"),
        (NEAR, {"dropped": True}, "dropped"),
        (NEAR, {"itemless": True}, "items_dropped"),
        (NEAR, {"marks": True}, "marked"),
        (NEAR, {"retried": True}, "retried"),
        (NEAR, {"retried": True, "marks": True}, "retried"),
        (Verdict(Kind.REVISIT, URL), {"marks": True, "unchanged": True}, "marked"),
        (Verdict(Kind.NEW, URL), {"marks": True}, "delivered"),
    ],
)
def test_what_became_of_a_page(tmp_path: Path, verdict: Verdict, fate: dict[str, bool], action: str) -> None:
    begun(tmp_path).checked(Request(URL), HtmlResponse(URL), Judged(verdict), **{**DELIVERED, **fate})
    (line,) = lines_in(tmp_path)
    assert line["action"] == action
    assert line.get("unchanged", False) == fate.get("unchanged", False)
    # What is not so is not there.
    assert not {"changed", "replaces", "abandoned", "depth", "referer", "latency"} & line.keys()


def test_hostile_pages_and_workers_cost_lines_at_most(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    meta = {"depth": 10**5000, "download_latency": float("inf")}
    url = "https://e.com/" + '"\u202e\ud800' * 5_000
    request = Request(URL, headers={"Referer": b'https://e.com/\xe9"\xff'}, meta=meta)
    response = HtmlResponse(URL)
    response._set_url(url)
    journal.unchecked(request, response, "status")
    for broken in (Judged(Verdict(Kind.NEW, URL, similarity=float("nan"))), Judged(NEAR, digest=-1)):
        journal.checked(request, HtmlResponse(URL), broken, **DELIVERED)
    first, second = lines_in(tmp_path)
    assert len(first["url"]) == 2048
    assert first["referer"] == 'https://e.com/\ufffd"\ufffd'
    assert second["digest"] == "f" * 16


def test_reasons_are_those_of_the_stats(tmp_path: Path) -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")
        await crawl.page("b", "page error")
        await crawl.page("c", "unexpected")
        crawl.pool.errors = [StoreUnavailableError("The store is down.")]
        await crawl.page("d", "other")
        await crawl.page("e", "")

    crawl = Crawl(journal=str(tmp_path)).run(work)
    *lines, end = lines_in(tmp_path)
    told = [f"{line['outcome']}/{line['reason']}" for line in lines if "reason" in line]
    assert told == ["skipped/too_deep", "error/internal", "error/unavailable", "skipped/empty"]
    assert set(told) < crawl.counts.keys()
    assert end["end"] == "finished"


def test_a_command_that_shows_a_page_writes_no_journal(tmp_path: Path) -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")

    Crawl(journal=str(tmp_path / "journal"), is_interactive=True).run(work)
    assert list(tmp_path.iterdir()) == []


def test_samples_stand_beside_pages_and_walls_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "SAMPLE_SECONDS", 0.0)
    copies = 61

    async def work(crawl: Crawl) -> None:
        for number in range(copies + 1):
            await crawl.page(str(number), "text" if number else "TEXT")

    Crawl(journal=str(tmp_path)).run(work)
    lines = lines_in(tmp_path)
    (wall,) = [line for line in lines if "wall" in line]
    assert wall["wall"] == "https://e.com/0"
    assert (wall["share"], wall["window"]) == (round(60 / 61, 4), 61)
    *samples, end = [line for line in lines if "known" in line]
    assert "end" in end
    assert len(samples) == copies + 1
    assert samples[-1]["walls"] == 1


def test_two_crawls_of_one_process_have_two_files(tmp_path: Path) -> None:
    for journal in [begun(tmp_path), begun(tmp_path)]:
        journal.unchecked(Request(URL), HtmlResponse(URL), "status")
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_a_spider_of_any_name_has_a_journal(tmp_path: Path) -> None:
    crawler = FakeCrawler()
    crawler.spider = Spider("../" + "x" * 300)
    journal = CrawlJournal(crawler)  # type: ignore[arg-type]
    journal.begin(CrawlOptions(workers=1, journal=str(tmp_path / "journal")), None)
    (path,) = (tmp_path / "journal").iterdir()
    assert path.name.startswith(".._xxx")
    assert [each.name for each in tmp_path.iterdir()] == ["journal"]
