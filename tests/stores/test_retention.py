"""How long pages are remembered and how many, in every store. See `crawldedup.stores.base.Retention`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.stores.base import Answer, Retention, Status
from tests.stores.backends import Clock
from tests.stores.pages import Page, checked, filler, found, query, random_page

if TYPE_CHECKING:
    from crawldedup.stores.base import Store

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
TTL = Retention(ttl_seconds=100)
NO_REFRESH = Retention(ttl_seconds=100, refresh=False)


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


class Crawl:
    """Pages at URLs that are numbered, and which of them the index holds."""

    def __init__(self, store: Store, rng: np.random.Generator, retention: Retention) -> None:
        self._store, self._rng, self._retention = store, rng, retention
        self.pages: list[Page] = []

    def add(self, count: int, retention: Retention | None = None) -> list[Answer]:
        """Answers about so many more pages."""
        first = len(self.pages)
        self.pages += [random_page(self._rng) for _ in range(count)]
        return [self.check(number, retention) for number in range(first, len(self.pages))]

    def add_at_once(self, count: int, retention: Retention | None = None) -> list[Answer]:
        """Answers about so many more pages, which come in one batch."""
        first = len(self.pages)
        self.pages += [random_page(self._rng) for _ in range(count)]
        kept = retention or self._retention
        asked = [query(self.pages[number], url_of(number), retention=kept) for number in range(first, first + count)]
        return [answer for answer in self._store.check(asked) if isinstance(answer, Answer)]

    def check(self, number: int, retention: Retention | None = None, url: str = "") -> Answer:
        asked = query(self.pages[number], url or url_of(number), retention=retention or self._retention)
        return checked(self._store, asked)

    @property
    def held(self) -> list[int]:
        """The numbers of those that the index holds, expired or not."""
        asked = [query(page, "") for page in self.pages]
        return [number for number, records in enumerate(self._store.find(asked)) if records]


class TestTimeToLive:
    def test_a_page_not_seen_for_longer_counts_as_absent(self, store: Store, clock: Clock, page: Page) -> None:
        checked(store, query(page, A, retention=TTL))
        clock.wait(100)
        assert found(store, query(page, B, retention=TTL))
        clock.wait(1)
        assert not found(store, query(page, B, retention=TTL))
        assert found(store, query(page, B))
        assert checked(store, query(page, B, retention=TTL)).status is Status.NEW

    def test_looking_frees_nothing(self, store: Store, clock: Clock, page: Page) -> None:
        checked(store, query(page, A))
        clock.wait(101)
        assert found(store, query(page, A, retention=TTL)) == []
        assert [record.url for record in found(store, query(page, A))] == [A]

    @pytest.mark.parametrize("retention", [TTL, NO_REFRESH], ids=["refresh", "no refresh"])
    def test_expired_pages_are_freed_while_others_are_added(
        self, store: Store, clock: Clock, rng: np.random.Generator, retention: Retention
    ) -> None:
        crawl = Crawl(store, rng, retention)
        crawl.add(30)
        clock.wait(101)
        *_, last = crawl.add(60)
        assert last.pages == store.info().pages == 60
        assert crawl.held == list(range(30, 90))

    def test_an_index_that_pages_come_to_all_the_time_stays_small(
        self, store: Store, clock: Clock, rng: np.random.Generator
    ) -> None:
        """One page of ten is seen again and again."""
        regulars = [random_page(rng) for _ in range(10)]
        pages = []
        for number in range(1000):
            clock.wait(1)
            answer = checked(store, filler(rng, url_of(number), retention=TTL))
            pages.append(answer.pages)
            if number % 10 == 0:
                regular = number // 10 % len(regulars)
                checked(store, query(regulars[regular], f"{A}/{regular}", retention=TTL))
        assert max(pages) < 200


class TestMaxPages:
    LIMIT = Retention(max_pages=3)

    @pytest.fixture
    def crawl(self, store: Store, rng: np.random.Generator) -> Crawl:
        return Crawl(store, rng, self.LIMIT)

    @pytest.mark.parametrize("at_once", [False, True])
    def test_of_more_pages_those_that_were_added_first_go(self, crawl: Crawl, at_once: bool) -> None:
        answers = crawl.add_at_once(5) if at_once else crawl.add(5)
        assert [answer.pages for answer in answers] == [1, 2, 3, 3, 3]
        assert crawl.held == [2, 3, 4]
        assert crawl.check(0).status is Status.NEW
        assert crawl.check(4).status is Status.REVISIT
        assert crawl.held == [0, 3, 4]

    def test_an_index_of_one_page_holds_the_last(self, crawl: Crawl) -> None:
        for answer in crawl.add(5, Retention(max_pages=1)):
            assert (answer.status, answer.pages) == (Status.NEW, 1)
        crawl.add_at_once(5, Retention(max_pages=1))
        assert crawl.held == [9]

    @pytest.mark.parametrize("at_once", [False, True])
    def test_an_index_far_above_its_limit_shrinks_page_by_page(self, crawl: Crawl, at_once: bool) -> None:
        crawl.add(20, Retention())
        answers = crawl.add_at_once(30) if at_once else crawl.add(30)
        assert [answer.pages for answer in answers] == [*range(19, 3, -1), *[3] * 14]
        assert crawl.held == [47, 48, 49]

    def test_an_index_at_its_limit_grows_no_more(self, store: Store, rng: np.random.Generator) -> None:
        """Pages come to six times the limit, and every third of them has other text when it is seen again."""
        limit = Retention(max_pages=200)
        sizes = []
        for number in range(6 * 200):
            checked(store, filler(rng, url_of(number), retention=limit))
            if number % 3 == 0:
                checked(store, filler(rng, url_of(number), retention=limit))
            if number % 200 == 199:
                sizes.append(store.info().bytes)
        assert store.info().pages == 200
        assert max(sizes[3:]) < 1.2 * max(sizes[:3])
