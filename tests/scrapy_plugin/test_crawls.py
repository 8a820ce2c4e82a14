"""Real crawls of everything that servers answer: no page is lost, and none is judged that is not the spider's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scrapy_plugin.conftest import Crawler, in_every_mode, with_every_store
from tests.scrapy_plugin.crawling import MODES, QUICK, Crawl, Crawling, crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site, article, compressed, old

WORDS = article(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain"),
            "/a": WORDS,
            "/a-copy": WORDS,
            "/a-near": article(1, changed_words=2),
            "/a-gzip": compressed(WORDS),
            "/b": article(2),
            "/b-later": article(2, head="<meta http-equiv=refresh content='0; url=/b'>"),
            "/moved": Answer(b"<p>" + b"moved to the page a " * 40, 302, headers={"Location": "/a-copy"}),
            "/missing": WORDS._replace(status=404),
            "/busy": WORDS._replace(status=503),
            "/short": Answer(b"<p>Only three words</p>"),
            "/empty": Answer(b""),
            "/data.json": Answer(b'{"text": "some words"}', content_type="application/json"),
            "/feed.xml": Answer(b"<rss/>", content_type="application/rss+xml"),
            "/style.css": Answer(b"p { color: red }", content_type="text/css"),
            "/picture": Answer(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
            "/notes.txt": Answer(b"all the words of a note in plain text " * 9, content_type="text/plain"),
            "/search": WORDS,
            "/searchq=1": article(4),
            "/searchq=2": article(5),
            "/cut": article(6)._replace(missing_bytes=100),
        }
    ) as running:
        yield running


EVERYTHING = [
    {"url": "/picture", "callback": "NO_CALLBACK"},
    "/a",
    "/a-near",
    "/a-gzip",
    "/a",
    "/moved",
    "/b",
    "/b-later",
    "/missing",
    "/busy",
    "/short",
    "/empty",
    "/data.json",
    "/feed.xml",
    "/style.css",
    "/picture",
    "/notes.txt",
    "/private",
    {"url": "/a-copy", "method": "HEAD"},
    {"url": "/a-copy", "meta": {"crawldedup": False}},
    {"url": "/search", "method": "POST", "body": "q=1"},
    {"url": "/search", "method": "POST", "body": "q=2"},
    {"url": "/search", "method": "POST", "body": "q=1"},
    "/cut",
]


def assert_everything_was_judged_rightly(result: Crawl) -> None:
    assert result.exit_status == 0
    errors = [line for line in result.errors if " ERROR: " in line]
    assert [line for line in errors if "Gave up retrying" not in line] == []
    assert result.counts == {
        "checked": 12,
        "new": 5,  # a, b, notes.txt and two searches
        "duplicate/near": 1,
        "duplicate/exact": 2,  # a-gzip, moved
        "revisit": 3,  # a, b-later's target, search
        "thin": 1,
        "dropped": 3,
        "skipped/http_404": 1,
        "skipped/http_503": 1,
        "skipped/no_callback": 2,  # robots.txt, the download of the spider's own
        "skipped/empty": 1,
        "skipped/content_type": 4,
        "skipped/method": 1,
        "skipped/disabled": 1,
        "skipped/partial": 1,
    }
    dropped = [page for page in result.failed if "duplicate" in page[1]]
    assert [page[0] for page in dropped] == ["/a-near", "/a-gzip", "/a-copy"]
    assert re.fullmatch(r"near duplicate \(0\.9\d\d\) of /a", dropped[0][1])
    assert dropped[1][1] == "exact duplicate of /a"
    assert len(result.report["signals"]) == result.counts["checked"]
    assert sum(is_dropped for _, _, is_dropped in result.report["signals"]) == 3
    assert "crawldedup checked 12 pages: 5 new, 1 near and 2 exact duplicates (3 dropped)" in result.log


REALISTIC = {"ROBOTSTXT_OBEY": True, "DOWNLOAD_FAIL_ON_DATALOSS": False}


@with_every_store
def test_a_crawl_judges_the_spiders_pages_and_nothing_else(site: Site, crawl: Crawler, store: str) -> None:
    assert_everything_was_judged_rightly(crawl(site, EVERYTHING, CRAWLDEDUP_STORE=store, **REALISTIC))


@pytest.mark.parametrize(
    "mode", [min(MODES), *(pytest.param(mode, marks=pytest.mark.nightly) for mode in list(MODES)[1:])]
)
def test_so_does_one_in_a_process_of_its_own_with_all_defaults(site: Site, tmp_path: Path, mode: str) -> None:
    process = start(site, tmp_path, EVERYTHING, **REALISTIC, **MODES[mode])
    assert_everything_was_judged_rightly(finish(process, tmp_path))


@in_every_mode
def test_pages_of_old_servers_are_judged_when_they_are_whole(crawl: Crawler, crawling: Crawling) -> None:
    pages = {
        "/a": old(WORDS),
        "/a-copy": old(WORDS._replace(body=WORDS.body + b"\n<!-- served in 3 ms -->\n")),
        "/a-gzip": old(compressed(WORDS)),
        "/a-broken": old(WORDS, missing_bytes=60),
        "/a-cut": WORDS._replace(missing_bytes=100),
    }
    with Site(pages) as site:
        result = crawl(site, list(pages), DOWNLOAD_FAIL_ON_DATALOSS=False)
    # Only with a reactor does Scrapy say that no length was promised.
    is_told = crawling.mode == "asyncio"
    assert result.passed == ["/a", *(["/a-broken"] if is_told else []), "/a-cut"]
    assert result.counts["skipped/partial"] == 1 + is_told
    assert result.counts["duplicate/exact"] + result.counts.get("duplicate/near", 0) == 3 - is_told


def test_another_reactor_ends_the_crawl_at_its_start_and_says_why(site: Site, tmp_path: Path) -> None:
    site.asked.clear()
    reactor = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    result = crawl_apart(site, tmp_path, ["/a"], CRAWLDEDUP_ITEM_FIELDS=["body"], **QUICK, **reactor)
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
    assert not site.asked
    # The middleware and the pipeline both need it.
    (line,) = result.errors
    assert "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default" in line
    assert "Traceback" not in result.log


def test_what_was_tried_again_is_judged_once(crawl: Crawler) -> None:
    flaky, cut = Answer(b"try again", 503), article(2)._replace(missing_bytes=100)
    with Site({"/flaky": flaky, "/flaky-copy": WORDS, "/cut": cut, "/cut-copy": article(2)}) as site:
        site.actions["/flaky"] = lambda: site.pages.update({"/flaky": WORDS})
        site.actions["/cut"] = lambda: site.pages.update({"/cut": article(2)})
        result = crawl(site, ["/flaky", "/cut", "/flaky-copy", "/cut-copy"])
        assert (site.asked["/flaky"], site.asked["/cut"]) == (2, 2)
    assert result.passed == ["/flaky", "/cut"]
    assert result.counts == {"checked": 4, "new": 2, "duplicate/exact": 2, "dropped": 2}


def test_of_pages_that_come_at_once_one_of_each_content_is_kept(crawl: Crawler) -> None:
    with Site({f"/{content}/{copy}": article(content) for content in range(6) for copy in range(8)}) as site:
        pages = [f"/{content}/{copy}" for copy in range(8) for content in range(6)]
        result = crawl(site, pages, CONCURRENT_REQUESTS=24, CONCURRENT_REQUESTS_PER_DOMAIN=24)
    assert sorted(page.split("/")[1] for page in result.passed) == list("012345")
    assert result.counts == {"checked": 48, "new": 6, "duplicate/exact": 42, "dropped": 42}


def test_a_paused_crawl_goes_on_where_it_stopped(crawl: Crawler, tmp_path: Path) -> None:
    # Without a store of its own it keeps its index in the job's directory.
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 4}
    contents = {f"/{content}/{copy}": article(content) for content in range(8) for copy in range(2)}
    with Site(contents) as site:
        pages = [{"url": path, "dont_filter": False} for path in contents]
        stopped = crawl(site, pages, CLOSESPIDER_PAGECOUNT=5, **settings)
        resumed = crawl(site, pages, **settings)
    assert stopped.report["stats"]["finish_reason"] == "closespider_pagecount"
    assert 0 < len(stopped.passed) < 8
    assert len(stopped.passed) + len(resumed.passed) == 8
    assert {page.split("/")[1] for page in stopped.passed + resumed.passed} == set("01234567")
    assert stopped.counts["checked"] + resumed.counts["checked"] == 16
    assert (tmp_path / "job" / "crawldedup.sqlite").exists()
    assert stopped.errors == resumed.errors == []


def test_a_spider_that_closes_gets_the_pages_that_are_being_judged(crawl: Crawler) -> None:
    with Site({f"/{content}": article(content) for content in range(60)}) as site:
        pages = list(site.pages)
        result = crawl(site, pages, close_at="/0", CONCURRENT_REQUESTS=8)
        asked = site.asked.total()
    assert result.report["stats"]["finish_reason"] == "enough"
    assert 1 <= result.counts["checked"] == result.counts["new"] <= asked < 60
    # A callback is called for each of them.
    assert len(result.passed) == result.counts["checked"]
    assert [line for line in result.errors if "crawldedup" in line] == []


def test_pages_out_of_the_http_cache_are_judged_like_others(
    site: Site, crawl: Crawler, lasting_store: str, tmp_path: Path
) -> None:
    settings = {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "cache"),
        "CRAWLDEDUP_STORE": lasting_store,
    }
    pages = ["/a", "/a-near", "/a-gzip", "/b"]
    first = crawl(site, pages, **settings)
    site.asked.clear()
    # What was dropped is in the cache as well.
    second = crawl(site, pages, **settings)
    assert not site.asked
    assert first.passed == second.passed == ["/a", "/b"]
    assert first.failed == second.failed
    assert second.counts == {"checked": 4, "revisit": 2, "duplicate/near": 1, "duplicate/exact": 1, "dropped": 2}
