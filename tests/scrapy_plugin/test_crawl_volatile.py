"""Real crawls of a site that shows with every page how many visitors it has."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site, article

TOPICS = 6
SESSIONS = [f"/{number}?sid=a1b2c3d{session}" for session in range(3) for number in range(TOPICS)]


class CountedPages(dict[str, Answer]):
    """Pages that each tell another number of visitors when they are asked for."""

    numbers = count(100, 7)

    def get(self, path: str, default: Any = None) -> Any:
        answer = super().get(path, default)
        counter = f"<p>Who is online: {next(self.numbers)} users online and {next(self.numbers)} guests</p></article>"
        return answer and answer._replace(body=answer.body.replace(b"</article>", counter.encode()))


def topic(number: int) -> Answer:
    page = article(number, words=60)
    return page._replace(body=page.body.replace(b"<h1>Article", b"<h1>Topic %d" % number))


def counting_site() -> Site:
    site = Site({})
    site.pages = CountedPages({f"/{number}": topic(number) for number in range(TOPICS)})
    return site


@pytest.mark.parametrize("volatile", [True, False])
def test_a_crawl_learns_what_changes_with_every_load(crawl: Crawler, lasting_store: str, volatile: bool) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_VOLATILE": volatile, "CRAWLDEDUP_SIMILARITY": 0.98}
    with counting_site() as site:
        result = crawl(site, SESSIONS, **settings)
        again = crawl(site, [f"/{number}" for number in range(TOPICS)], CRAWLDEDUP_REVISIT="drop", **settings)
    third = [url for url in SESSIONS if url.endswith("d2")]
    # The line is learned while the second session comes: only some pages of that are remembered without it.
    assert [url for url in third[3:] if url in result.passed] == ([] if volatile else third[3:])
    assert ("Who is online: " in result.log) is volatile
    assert result.counts.get("volatile", 0) >= (TOPICS if volatile else 0)
    # The next crawl begins with what was learned.
    assert again.counts.get("volatile", 0) == (TOPICS if volatile else 0)


def test_a_crawl_may_load_some_pages_twice(crawl: Crawler) -> None:
    paths = [f"/{number}" for number in range(TOPICS)]
    with counting_site() as site:
        result = crawl(site, paths, CRAWLDEDUP_RELOADS=4)
    assert result.counts["reloads"] == 4
    assert sum(site.asked.values()) == TOPICS + 4
    assert result.counts["checked"] == TOPICS
    assert result.passed == paths


def test_a_page_without_numbers_is_not_loaded_twice(crawl: Crawler) -> None:
    paths = [f"/{number}" for number in range(TOPICS)]
    with Site({path: article(number, words=60) for number, path in enumerate(paths)}) as site:
        assert crawl(site, paths, CRAWLDEDUP_RELOADS=5).passed == paths
    assert sum(site.asked.values()) == TOPICS
