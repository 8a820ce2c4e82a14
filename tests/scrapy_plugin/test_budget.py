"""``CRAWLDEDUP_BUDGET``: traps that never end take few requests, and no content is lost."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy import signals as scrapy_signals

from crawldedup.scrapy_plugin.budget import BudgetMiddleware, OverBudgetError
from crawldedup.urls import places_of
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.website import Answer, Site, article

STORIES = 500
BUDGET = 20
OPTIONS: dict[str, Any] = {
    "spider_class": "link_spider.LinkSpider",
    "CRAWLDEDUP_BUDGET": BUDGET,
    "CRAWLDEDUP_ACTION": "drop-items",
    "CRAWLDEDUP_EXTRACTOR": "blocks",
    "CONCURRENT_REQUESTS": 8,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    # A crawl without a budget would go on for ever.
    "CLOSESPIDER_PAGECOUNT": 1200,
    "LOG_LEVEL": "INFO",
}
_MONTHS = "January February March April May June July August September October November December"


def links(paths: list[str]) -> str:
    return "".join(f"<p><a href='{path}'>more</a></p>" for path in paths)


def linking(page: Answer, paths: list[str]) -> Answer:
    body = page.body.replace(b"</footer>", f"</footer><nav>{links(paths)}</nav>".encode())
    return page._replace(body=body)


def month(number: int) -> str:
    return f"/calendar/{2000 + number // 12}/{number % 12 + 1:02}"


def empty_month(path: str) -> Answer:
    _, _, year, number = path.split("/")
    at = (int(year) - 2000) * 12 + int(number) - 1
    name = f"{_MONTHS.split()[at % 12]} {year}"
    html = (
        f"<title>Events in {name}</title><main><h1>Events in {name}</h1>"
        f"<p>There are no events in {name}. Look at another month, or tell us of an event that is "
        "missing here: write to our office, or give us a call between nine and noon.</p></main>"
        "<footer></footer>"
    )
    return linking(Answer(html.encode()), [month(at + step) for step in (1, 2, 3, 4, 12)])


def session(path: str) -> Answer:
    chooser = random.Random(path)
    own = [f"/welcome?sid={chooser.getrandbits(64):016x}" for _ in range(30)]
    return linking(article(9_000), own)


def facets(path: str) -> Answer:
    chosen = [int(part.partition("=")[2]) for part in path.partition("?")[2].split("&")]
    return linking(
        article(9_001),
        [f"/lamps?color={chosen[0] + 1}&size={chosen[-1]}"]
        + [f"/lamps?color={chosen[0]}&size={chosen[-1] + step}" for step in (1, 2, 3)],
    )


def growing(path: str) -> Answer:
    return linking(article(9_002), [f"{path}/{name}" for name in ("old", "new", "all")])


def soft_404(path: str) -> Answer:
    number = int(path.rpartition("-")[2])
    html = (
        f"<title>Not found</title><main><h1>Not found</h1><p>There is no page {path} here. You may "
        "have followed an old link, or mistyped the address. Please go back to the home page, or "
        "use the search at the top of this page.</p></main><footer></footer>"
    )
    own = [f"/old/story-{2 * number + step}" for step in range(1, 4)]
    return linking(Answer(html.encode()), own)


TRAPS: dict[str, tuple[str, Callable[[str], Answer]]] = {
    "empty months": (month(1), empty_month),
    "sessions": ("/welcome?sid=0a1b2c3d4e5f0011", session),
    "facets": ("/lamps?color=1&size=1", facets),
    "a growing path": ("/all", growing),
    "soft 404s": ("/old/story-1", soft_404),
}


class Trapped(dict[str, Answer]):
    """The pages of a site, and those of a trap that never ends."""

    def __init__(self, pages: dict[str, Answer], answer: Callable[[str], Answer]) -> None:
        super().__init__(pages)
        self._answer = answer

    def get(self, path: str, default: Any = None) -> Any:
        bare = path.partition("?")[0]
        known = super().get(path) or super().get(bare)
        # The home page, to which all pages link, is not there.
        if known is not None or bare == "/":
            return known or default
        return self._answer(path)


def stories(first: list[str]) -> dict[str, Answer]:
    """Lists of ten stories, each with a link to the next, and to what comes first."""
    pages = {}
    for number in range(STORIES // 10):
        own = [f"/story/{10 * number + at}" for at in range(10)]
        following = [f"/list/{number + 1}"] if number < STORIES // 10 - 1 else []
        pages[f"/list/{number}"] = linking(article(5_000 + number), [*first, *own, *following])
        pages |= {path: article(int(path.rpartition("/")[2]), words=120) for path in own}
    return pages


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_that_never_ends_takes_a_tenth_of_the_fetches_at_most(
    trap: str, crawl: Crawler
) -> None:
    first, answer = TRAPS[trap]
    pages = stories([first])
    with Site(pages) as site:
        real_get = site.pages
        site.pages = Trapped(real_get, answer)
        result = crawl(site, ["/list/0"], **OPTIONS)
    assert result.report["stats"]["finish_reason"] == "finished"
    fetched = list(site.asked.elements())
    trapped = [path for path in fetched if path.partition("?")[0] not in pages]
    assert {path for path in fetched if path in pages} == pages.keys()
    assert len(trapped) <= 0.1 * len(fetched)
    assert result.counts["budget/ended"] >= 1


# The pages of these traps are kept on the first day, so the index knows them on the second, and each
# that comes between unknown ones keeps its trap alive. How many are fetched until twenty unknown ones
# come in a row depends on the order of the answers, so each request waits for the answer before it.
_ONE_AT_A_TIME = {"empty months", "soft 404s"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_ends_on_the_second_day_too(trap: str, crawl: Crawler, tmp_path: Path) -> None:
    """The trap takes few of the fetches, and all pages are delivered, including new ones."""
    first, answer = TRAPS[trap]
    options = {**OPTIONS, "CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}
    if trap in _ONE_AT_A_TIME:
        options["CONCURRENT_REQUESTS"] = 1
    pages = stories([first])
    later = {f"/story/{STORIES + number}": article(STORIES + number) for number in range(5)}
    with Site(pages) as site:
        site.pages = Trapped(site.pages, answer)
        assert crawl(site, ["/list/0"], **options).exit_status == 0
        site.asked.clear()
        last = f"/list/{STORIES // 10 - 1}"
        site.pages.update({**later, last: linking(pages[last], [*later])})
        result = crawl(site, ["/list/0"], **options)
    pages |= later
    assert result.report["stats"]["finish_reason"] == "finished"
    assert pages.keys() <= set(result.items)
    fetched = list(site.asked.elements())
    trapped = [path for path in fetched if path.partition("?")[0] not in pages]
    assert len(trapped) <= 0.1 * len(fetched)
    assert result.counts["budget/ended"] >= 1


def test_known_pages_keep_the_pattern_that_leads_to_them_alive() -> None:
    """A chain of lists that are hardly apart leads to stories that an earlier crawl has met."""
    middleware = BudgetMiddleware(FakeCrawler(), 10, None)  # type: ignore[arg-type]
    lists = "http://e.com/list/{}"

    def meet(number: int, story: str) -> None:
        sibling = Verdict(Kind.NEW, lists.format(number), rejected="http://e.com/list/0")
        sibling = replace(sibling, rejected_by="links")
        middleware.page_judged(Request(sibling.url), sibling)
        request = Request(story, headers={"Referer": sibling.url})
        middleware.page_judged(request, Verdict(Kind.REVISIT, story, story))

    for number in range(40):
        meet(number, f"http://e.com/story/{number}")
        middleware.process_request(Request(lists.format(number + 1)))
    # A page that was met already is no sign of life.
    for number in range(40, 60):
        meet(number, "http://e.com/story/0")
    with pytest.raises(OverBudgetError):
        middleware.process_request(Request(lists.format(60)))


class LateLink(dict[str, Answer]):
    """Views of one page. Those that are requested late link to a story."""

    def __init__(self, pages: dict[str, Answer], first: int) -> None:
        super().__init__(pages)
        self._first = first
        self._views: set[str] = set()

    def get(self, path: str, default: Any = None) -> Any:
        if not path.startswith("/view/"):
            return super().get(path, default)
        self._views.add(path)
        is_late = len(self._views) > self._first
        return linking(self[path], ["/story/behind"]) if is_late else self[path]


def test_what_a_pattern_of_copies_leads_to_is_found(crawl: Crawler) -> None:
    """The first views of one page lead nowhere, and a check leads to a story."""
    views = [f"/view/{number}" for number in range(300)]
    pages: dict[str, Answer] = {path: article(1) for path in views}
    pages |= {"/story/behind": article(2), "/start": linking(article(3), views)}
    with Site(pages) as site:
        site.pages = LateLink(pages, 31)
        result = crawl(site, ["/start"], **OPTIONS)
    assert "/story/behind" in site.asked
    assert result.counts["budget/reopened"] >= 1
    assert result.counts["budget/asked_again"] >= 1


def test_the_errback_of_a_skipped_request_is_told_and_the_log_names_the_pattern(
    crawl: Crawler,
) -> None:
    views = [f"/view/{number}" for number in range(60)]
    pages: dict[str, Answer] = {path: article(1) for path in views}
    pages["/start"] = linking(article(3), views)
    with Site(pages) as site:
        result = crawl(site, ["/start"], **OPTIONS)
    skipped = result.counts["budget/skipped"]
    assert skipped + sum(path in views for path in site.asked) == 60
    assert [error for _, error in result.failed].count("OverBudgetError") == skipped
    assert "the last 20 pages of http" in result.log
    assert f"{skipped} requests not sent because the last pages of their patterns" in result.log


def test_without_the_setting_nothing_ends(crawl: Crawler) -> None:
    views = [f"/view/{number}" for number in range(60)]
    pages: dict[str, Answer] = {path: article(1) for path in views}
    pages["/start"] = linking(article(3), views)
    with Site(pages) as site:
        crawl(site, ["/start"], **{**OPTIONS, "CRAWLDEDUP_BUDGET": None})
    assert set(views) <= site.asked.keys()


MONTH = "http://e.com/calendar/{}"


def test_a_resumed_crawl_knows_what_the_first_run_has_skipped(tmp_path: Path) -> None:
    settings = {"CRAWLDEDUP_BUDGET": "10", "JOBDIR": str(tmp_path)}

    async def run() -> None:
        crawler: Any = FakeCrawler(**settings)
        first = BudgetMiddleware.from_crawler(crawler)
        for number in range(10):
            first.page_judged(Request(MONTH), Verdict(Kind.NEAR_DUPLICATE, MONTH.format(number)))
        for number in range(10, 15):
            with pytest.raises(OverBudgetError):
                first.process_request(Request(MONTH.format(number)))
        await crawler.signals.send_catch_log_async(scrapy_signals.spider_closed, reason="shutdown")
        resumed: Any = FakeCrawler(**settings)
        second = BudgetMiddleware.from_crawler(resumed)
        await resumed.signals.send_catch_log_async(scrapy_signals.engine_started)
        with pytest.raises(OverBudgetError):
            second.process_request(Request(MONTH.format(15)))
        second.page_judged(Request(MONTH), Verdict(Kind.NEW, MONTH.format("festival-1")))
        asked = [request.url for request in resumed.engine.crawled]
        assert sorted(asked) == [MONTH.format(number) for number in range(10, 16)]
        # They have their turn as others do.
        for request in resumed.engine.crawled:
            assert request.dont_filter
            second.process_request(request)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("http://e.com/calendar/2024/1?view=list", ("calendar/*/*?view", "calendar/…")),
        ("http://e.com/lamps?size=1&color=2", ("lamps?color&size", "lamps/…")),
        ("http://e.com/news/", ("news/", "news/…")),
        ("http://e.com", ("", "/…")),
    ],
)
def test_patterns_read_like_urls(url: str, places: tuple[str, str]) -> None:
    assert places_of(url) == tuple(f"http://e.com/{place}" for place in places)


@pytest.mark.parametrize("values", [{"method": "POST"}, {"meta": {"is_start_request": True}}])
def test_what_was_asked_for_by_name_is_made(values: dict[str, Any]) -> None:
    crawler: Any = FakeCrawler()
    middleware = BudgetMiddleware(crawler, 10, None)
    for number in range(10):
        middleware.page_judged(Request(MONTH), Verdict(Kind.NEAR_DUPLICATE, MONTH.format(number)))
    middleware.process_request(Request(MONTH.format(11), **values))
    with pytest.raises(OverBudgetError):
        middleware.process_request(Request(MONTH.format(11)))
