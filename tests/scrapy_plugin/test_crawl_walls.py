"""A real crawl of a site that begins to answer with a login form."""

from __future__ import annotations

from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site, article

PAGES = [f"/{number}" for number in range(90)]
FIRST_LOGIN, SUSPECTED = 10, 70


def test_the_crawl_ends(crawl: Crawler) -> None:
    with Site({path: article(number + 1, words=60) for number, path in enumerate(PAGES)}) as site:
        site.actions = {PAGES[FIRST_LOGIN - 1]: lambda: site.pages.update(dict.fromkeys(PAGES, article(0)))}
        result = crawl(site, PAGES, CRAWLDEDUP_WALL="close")
    assert result.report["stats"]["finish_reason"] == "crawldedup_wall"
    assert result.passed == PAGES[: FIRST_LOGIN + 1]
    assert result.report["walls"] == [[PAGES[FIRST_LOGIN], 60, SUSPECTED + 1]]
    assert SUSPECTED < sum(site.asked.values()) < len(PAGES) - 5
    assert "CRAWLDEDUP_WALL is 'close': the crawl asks for no more of 127.0.0.1." in result.log
