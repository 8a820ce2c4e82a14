"""Real crawls beside other plugins that users have. They are in the extra `plugins`."""

import pytest

from tests.browsers import BROWSER, needs_browser
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site
from tests.servers import RedisServer


@needs_browser
@pytest.mark.nightly
def test_pages_of_a_browser_are_checked_as_the_reader_sees_them(site: Site, crawl: Crawler) -> None:
    script = f"document.write({site.pages['/a'].body.decode()!r})"
    site.pages["/a-by-script"] = Answer(
        f"<!DOCTYPE html><title>Article</title><script>{script}</script>".encode()
    )
    settings = {
        "DOWNLOAD_HANDLERS": {"http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": BROWSER, "args": ["--no-sandbox"]},
        # A tab that is left open would hold up the next page for ever.
        "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1,
    }
    tab = {"playwright": True, "playwright_include_page": True}
    pages = [{"url": path, "meta": {"playwright": True}} for path in ("/a", "/a-by-script", "/b")]
    result = crawl(
        site, [pages[0], {"url": "/near/a", "errback": None, "meta": tab}, *pages[1:]], **settings
    )
    assert result.passed == ["/a", "/b"]
    assert [page for page, *_ in result.report["duplicates"]] == ["/near/a", "/a-by-script"]
    assert result.errors == []


def test_page_objects_are_built_of_pages_that_pass(site: Site, crawl: Crawler) -> None:
    articles = [{"url": path, "callback": "parse_article"} for path in ("/a", "/near/a", "/b")]
    addons = {"crawldedup.Addon": 500, "scrapy_poet.Addon": 300}
    result = crawl(site, articles, spider_class="poet_spider.PoetSpider", ADDONS=addons)
    assert result.report["passed"] == [["/a", "Article"], ["/b", "Article"]]
    assert result.report["stats"]["poet/injector/poet_spider.ArticlePage"] == 2
    assert result.errors == []


def test_a_queue_in_redis_survives_a_pause(
    site: Site, crawl: Crawler, redis_server: RedisServer
) -> None:
    settings = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        # The index is on the server of the queue.
        "REDIS_URL": redis_server.url,
    }
    copies = [f"/{name}-copy?{number}" for number in range(20) for name in "ab"]
    # What was queued or done is not asked for again, but the spider's start may have been cut
    # short.
    pages = [{"url": path, "dont_filter": False} for path in ("/a", "/near/a", "/b", *copies)]
    stopped = crawl(site, pages, close_at="/b", again=["/a"], **settings)
    assert redis_server.client.zcard("pages:requests") > 0
    resumed = crawl(site, pages, **settings)
    # Requests with a verdict in their meta, such as the second one for /a, are queued as well.
    assert sorted(stopped.passed + resumed.passed) == ["/a", "/a", "/b"]
    assert sum(result.counts.get("duplicate/exact", 0) for result in (stopped, resumed)) == len(
        copies
    )
    assert redis_server.client.zcard("pages:requests") == 0
    assert redis_server.client.exists("crawldedup:{default}:m")
    # What the pause left in the queue are start pages that copy others.
    expected = ("internal meta keys", "nothing new was found: all start pages")
    lines = [
        line
        for line in stopped.errors + resumed.errors
        if not any(text in line for text in expected)
    ]
    assert lines == []
