"""Crawlers of one spider on one Redis, each in a process of its own: they share the work, and lose nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.scrapy_plugin.crawling import QUICK, finish, start
from tests.scrapy_plugin.website import Site, article
from tests.servers import RedisServer

# Each page leads to the next one. With `drop`, a copy would end the crawl.
PAGES = {
    "drop": [f"/{number}" for number in range(1, 13)],
    "drop-items": [f"/{number}" if number % 4 else f"/{number}-again" for number in range(1, 17)],
}


def content_of(path: str) -> int:
    number = int(path[1:].removesuffix("-again"))
    return number - 1 if path.endswith("-again") else number


@pytest.mark.nightly
@pytest.mark.timeout(240)
@pytest.mark.parametrize("action", ["drop-items", "drop"])
@pytest.mark.parametrize("crawlers", [2, 8])
def test_crawlers_of_one_spider_deliver_each_content_once(tmp_path: Path, crawlers: int, action: str) -> None:
    """Some begin when others have ended, so that pages of those are revisits."""
    pages = PAGES[action]
    first = {"url": pages[0], "meta": {"is_start_request": True}}
    follow = dict(itertools.pairwise(pages))
    folders = [tmp_path / str(number) for number in range(crawlers)]
    with Site({path: article(content_of(path)) for path in pages}) as site, RedisServer() as server:
        started = []
        for folder in folders:
            folder.mkdir()
            rules = {"CRAWLDEDUP_STORE": server.url, "CRAWLDEDUP_ACTION": action, "CRAWLDEDUP_REVISIT": "drop"}
            started.append(start(site, folder, [first], follow=follow, **QUICK, **rules))
        results = [finish(*each) for each in zip(started, folders, strict=True)]

    delivered = [content_of(item) for result in results for item in result.items]
    assert sorted(delivered) == sorted(set(map(content_of, pages)))
    for result in results:
        assert result.report["stats"]["finish_reason"] == "finished"
        assert result.passed[0] == pages[0]
        assert action == "drop" or result.passed == pages
