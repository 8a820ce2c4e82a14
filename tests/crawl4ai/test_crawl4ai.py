"""Real crawls of crawl4ai without a browser.

It pins much, so these tests have an environment of their own.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

crawl4ai = pytest.importorskip("crawl4ai", reason="nox -s crawl4ai has it")

from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy  # noqa: E402
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy  # noqa: E402

from crawldedup.crawl4ai import DedupResults, is_duplicate  # noqa: E402
from tests.docs.pages import blocks  # noqa: E402
from tests.scrapy_plugin.website import Answer, Site, article  # noqa: E402

PAGES = {
    "/1": article(1),
    "/copy": article(1),
    "/2": article(2),
    "/data": article(2)._replace(content_type="a/b"),
}


def linking(page: Answer, path: str) -> Answer:
    return page._replace(body=page.body.replace(b"'/'", f"'{path}'".encode()))


def crawl(
    site: Site, *starts: str, depth: int = 0, stream: bool = False, **options: Any
) -> dict[str, bool]:
    """Return which pages came, and whether each is a duplicate."""

    async def run() -> dict[str, bool]:
        strategy = AsyncHTTPCrawlerStrategy()
        async with (
            DedupResults(**options) as dedup,
            crawl4ai.AsyncWebCrawler(crawler_strategy=strategy, verbose=False) as crawler,
        ):
            config = crawl4ai.CrawlerRunConfig(
                cache_mode=crawl4ai.CacheMode.BYPASS,
                stream=stream,
                verbose=False,
                semaphore_count=1,
                deep_crawl_strategy=dedup.watch(BFSDeepCrawlStrategy(depth)) if depth else None,
            )
            urls = [site.url + start for start in starts]
            results = await (
                crawler.arun(urls[0], config) if depth else crawler.arun_many(urls, config)
            )
            return {
                result.url.removeprefix(site.url): is_duplicate(result)
                async for result in dedup.marked(results)
            }

    return asyncio.run(run())


@pytest.mark.parametrize("stream", [False, True])
def test_results_come_with_their_verdicts(stream: bool) -> None:
    with Site(PAGES) as site:
        came = crawl(site, "/1", "/2", "/data", "/no", stream=stream) | crawl(
            site, "/1", "/copy", stream=stream
        )
    assert {path: came.get(path) for path in ("/2", "/data", "/no")} == dict.fromkeys(
        ("/2", "/data", "/no"), False
    )
    assert sorted([came["/1"], came["/copy"]]) == [False, True]


@pytest.mark.parametrize("text", [False, True])
def test_a_result_has_its_text_if_it_is_asked_for(text: bool) -> None:
    async def run() -> Any:
        async with DedupResults(text=text) as dedup:
            result = crawl4ai.CrawlResult(
                url="https://a.example/1", html=article(1).body.decode(), success=True
            )
            await dedup.mark(result)
            return result.metadata["crawldedup"]

    mark = asyncio.run(run())
    assert (mark.get("name"), "text" in mark) == (("Article", True) if text else (None, False))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("action", ["mark", "drop"])
def test_links_of_dropped_duplicates_are_not_followed(action: str, stream: bool) -> None:
    pages = {
        "/1": linking(article(1), "/copy"),
        "/copy": linking(article(1), "/2"),
        "/2": article(2),
    }
    with Site(pages) as site:
        came = crawl(site, "/1", depth=3, stream=stream, action=action)
    came.pop("/", None)
    assert came == (
        {"/1": False, "/copy": True, "/2": False} if action == "mark" else {"/1": False}
    )


def test_the_next_crawl_has_what_is_new_alone(tmp_path: Any) -> None:
    options = {"store": f"sqlite:///{tmp_path}/seen.sqlite", "revisit": "drop", "action": "drop"}
    with Site(PAGES) as site:
        assert sorted(crawl(site, "/1", "/2", **options)) == ["/1", "/2"]
        site.pages["/3"] = article(3)
        assert list(crawl(site, "/1", "/2", "/3", **options)) == ["/3"]


def test_the_guide_runs_as_printed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks("python") if "DedupResults" in block.code)
    # There need be no browser.
    code = block.code.replace(
        "AsyncWebCrawler()", "AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy())"
    )
    with Site(
        {"/": linking(article(3), "/1"), "/1": linking(article(1), "/copy"), "/copy": article(1)}
    ) as site:
        names = {"__name__": "__main__", "AsyncHTTPCrawlerStrategy": AsyncHTTPCrawlerStrategy}
        exec(code.replace("https://example.com", site.url), names)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith(site.url)]
    assert [line.removeprefix(site.url) for line in printed] == ["/", "/1"]
