"""What crawls look like with and without a wall: the verdicts on their pages, in the order of the crawl."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from crawldedup import Deduplicator, Page
from crawldedup.demo.site import all_pages
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.scrapy_plugin.walls import MOST_SUSPECTED, WINDOWS, Walls
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler

LOGIN = "https://e.com/login"
WORDS = [f"word{number}" for number in range(3000)]


def new(name: object) -> Verdict:
    return Verdict(Kind.NEW, f"https://e.com/{name}")


def copy(name: object, original: str = LOGIN, kind: Kind = Kind.NEAR_DUPLICATE) -> Verdict:
    return Verdict(kind, f"https://e.com/{name}", original, 0.95)


def watching() -> Walls:
    crawler: Any = FakeCrawler()
    return Walls(crawler, CrawlStats(crawler, CrawlOptions(workers=1)), "warn")


def suspected(verdicts: Iterable[Verdict]) -> list[tuple[int, tuple[str, float, int]]]:
    """The suspicions, and how many pages had been judged by then."""
    walls = watching()
    return [(number, found) for number, each in enumerate(verdicts, 1) if (found := walls.add(each)) is not None]


def calendar(months: int) -> Iterator[Verdict]:
    return (copy(f"calendar/{month}", "https://e.com/calendar/0") for month in range(months))


def every_second(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    for number, verdict in enumerate(verdicts):
        yield verdict
        yield new(number)


def six_views(stories: int) -> Iterator[Verdict]:
    for story in range(stories):
        yield new(story)
        yield from (copy(f"{story}?{view}", f"https://e.com/{story}") for view in range(5))


def judged(pages: Iterable[tuple[str, str]]) -> Iterator[Verdict]:
    inputs = (Page(f"https://e.com{path}", html=html) for path, html in pages)
    with Deduplicator(extractor="text") as dedup:
        yield from dedup.check_many(inputs, on_unreadable=lambda *_: None)


def demo_site() -> Iterator[Verdict]:
    pages = [(path, page.reply.body.decode("utf-8", "replace")) for path, page in all_pages().items() if page.cluster]
    return judged(pages)


def shop(pages: int) -> Iterator[Verdict]:
    """Pages of which a template is 80 %."""
    chooser = random.Random(1)
    template = " ".join(chooser.choices(WORDS, k=160))
    return judged((f"/{number}", f"<p>{template} {' '.join(chooser.choices(WORDS, k=40))}") for number in range(pages))


HONEST: dict[str, Callable[[], Iterable[Verdict]]] = {
    "a site in six views": lambda: six_views(500),
    "a calendar of 40 empty months": lambda: itertools.chain(six_views(20), calendar(40), six_views(100)),
    "a calendar among other pages": lambda: (
        each for pair in zip(map(new, range(140)), calendar(140), strict=True) for each in pair
    ),
    "the demo site": demo_site,
    "a template of four fifths": lambda: shop(300),
    "one page asked for again and again": lambda: (copy("a") for _ in range(1000)),
    "nothing but new pages": lambda: map(new, range(1000)),
    "a tenth of soft 404s": lambda: (copy(n) if n % 10 == 0 else new(n) for n in range(5000)),
}


@pytest.mark.parametrize("crawl", HONEST)
def test_an_honest_crawl_meets_no_wall(crawl: str) -> None:
    assert suspected(HONEST[crawl]()) == []


@pytest.mark.parametrize("before", [0, 1, 99, 1000])
def test_a_wall_before_all_of_a_site_is_suspected_once_and_soon(before: int) -> None:
    ((number, found),) = suspected(itertools.chain(map(new, range(before)), (copy(n) for n in range(5000, 7000))))
    size, share = WINDOWS[0]
    assert number == before + size * share
    pages = min(size, number)
    assert found == (LOGIN, size * share / pages, pages)


def test_a_wall_in_place_of_each_third_page_is_suspected() -> None:
    ((number, found),) = suspected(copy(n) if n % 3 == 0 else new(n) for n in range(3000))
    original, share, _ = found
    assert original == LOGIN
    assert share >= WINDOWS[1][1]
    assert number <= WINDOWS[1][0]


def test_what_left_the_window_does_not_count() -> None:
    (short, much), (long, some) = WINDOWS
    copies = [copy(n) for n in range(1000)]
    burst = [*copies[: int(short * much) - 1], *map(new, range(long))]
    assert suspected(burst * 10) == []
    spread = [each for n in range(int(long * some) - 1) for each in (copies[n], new(n))]
    assert suspected([*spread, *map(new, range(long))] * 10) == []


def test_two_walls_are_suspected_one_after_the_other() -> None:
    banned = "https://e.com/banned"
    verdicts = [*(copy(n) for n in range(100)), *(copy(n, banned) for n in range(100)), *(copy(n) for n in range(100))]
    assert [original for _, (original, *_) in suspected(verdicts)] == [LOGIN, banned]


def changed(name: object) -> Verdict:
    return Verdict(Kind.REVISIT, f"https://e.com/{name}", f"https://e.com/{name}", 0.1, changed=True)


def test_known_pages_that_all_have_one_new_text_are_a_wall() -> None:
    walls = watching()
    found = [walls.add(changed(number), 7) for number in range(200)]
    (told,) = filter(None, found)
    assert told == ("https://e.com/59", 1.0, 60)


def test_known_pages_that_all_change_for_themselves_are_none() -> None:
    walls = watching()
    assert [walls.add(changed(number), number) for number in range(1000)] == [None] * 1000
    assert [walls.add(changed("a"), 7) for _ in range(1000)] == [None] * 1000
    assert [walls.add(changed(number)) for number in range(1000)] == [None] * 1000


def test_what_it_holds_is_bounded() -> None:
    walls = watching()
    told = 0
    for original in range(2 * MOST_SUSPECTED):
        for number in range(100):
            told += walls.add(copy(f"{original}/{number}", f"https://e.com/{original}")) is not None
    assert told == len(walls._suspected) == MOST_SUSPECTED
    for site in range(300):
        walls.add(Verdict(Kind.NEW, f"https://site{site}.example/"))
    assert len(walls._sites) == 100
    assert max(map(len, walls._sites.values())) <= max(size for size, _ in WINDOWS)
