"""Real crawls of a site that begins to answer with a login form."""

from __future__ import annotations

from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site, article

PAGES = [f"/{number}" for number in range(90)]
FIRST_LOGIN, SUSPECTED, LAST_LOGIN = 10, 70, 79
LOGIN = article(0)


def guarded_site() -> Site:
    """A site that lets a crawler see ten pages, wants a login for the next seventy, and then relents."""
    pages = {path: article(number + 1, words=60) for number, path in enumerate(PAGES)}
    site = Site(pages)
    site.actions = {
        PAGES[FIRST_LOGIN - 1]: lambda: site.pages.update(dict.fromkeys(PAGES, LOGIN)),
        PAGES[LAST_LOGIN]: lambda: site.pages.update(pages),
    }
    return site


def warnings(log: str) -> list[str]:
    return [line for line in log.splitlines() if " WARNING: crawldedup: " in line]


def test_the_crawl_goes_on_with_a_warning(crawl: Crawler) -> None:
    with guarded_site() as site:
        result = crawl(site, PAGES)
    assert result.passed == [*PAGES[: FIRST_LOGIN + 1], *PAGES[LAST_LOGIN + 1 :]]
    assert result.report["stats"]["finish_reason"] == "finished"
    assert result.counts["walls/suspected"] == 1
    assert result.report["stats"]["crawldedup/largest_cluster"] == LAST_LOGIN - FIRST_LOGIN
    assert result.report["walls"] == [[PAGES[FIRST_LOGIN], 60, SUSPECTED + 1]]
    (line,) = warnings(result.log)
    assert f"60 of the last 71 pages are copies of {site.url}/10. Is it a login form, " in line


def test_the_crawl_ends(crawl: Crawler) -> None:
    with guarded_site() as site:
        result = crawl(site, PAGES, CRAWLDEDUP_WALL="close")
    assert result.report["stats"]["finish_reason"] == "crawldedup_wall"
    assert result.passed == PAGES[: FIRST_LOGIN + 1]
    assert SUSPECTED < sum(site.asked.values()) < LAST_LOGIN
    (line,) = warnings(result.log)
    assert "CRAWLDEDUP_WALL is 'close': the crawl asks for no more of 127.0.0.1." in line


def test_of_many_sites_the_others_go_on(crawl: Crawler) -> None:
    with guarded_site() as site, Site({f"/{n}": article(500 + n, words=60) for n in range(90)}) as other:
        others = [f"{other.url.replace('127.0.0.1', 'localhost')}{page}" for page in PAGES]
        both = [url for pair in zip(PAGES, others, strict=True) for url in pair]
        result = crawl(site, both, CRAWLDEDUP_WALL="close")
    assert result.report["stats"]["finish_reason"] == "finished"
    assert sum(other.asked.values()) == len(PAGES)
    assert result.counts["walls/ignored"] > 0
    (line,) = warnings(result.log)
    assert "CRAWLDEDUP_WALL is 'close': the crawl asks for no more of 127.0.0.1." in line
