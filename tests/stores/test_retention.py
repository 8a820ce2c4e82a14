"""How long pages are remembered and how many, in every store. See `crawldedup.stores.base.Retention`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.stores.base import Retention, Status
from tests.stores.backends import Backend, Clock
from tests.stores.pages import Page, filler, query, random_page

if TYPE_CHECKING:
    from crawldedup.stores.base import Answer, Pruned, Store

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
TTL = Retention(ttl_seconds=100)
NO_REFRESH = Retention(ttl_seconds=100, refresh=False)


def url(number: int) -> str:
    return f"https://example.com/{number}"


def add_strangers(store: Store, rng: np.random.Generator, numbers: range, retention: Retention) -> list[Answer]:
    questions = [query(random_page(rng), url(number), retention=retention) for number in numbers]
    return [store.check_and_add(question) for question in questions]


def urls(store: Store) -> list[str]:
    return [record.url for batch in store.records() for record in batch]


def pruned(store: Store, retention: Retention) -> Pruned:
    steps = list(store.prune(retention))
    assert steps == sorted(steps, key=lambda step: (step.examined, step.freed))
    return steps[-1]


class TestTimeToLive:
    def test_a_page_not_seen_for_longer_counts_as_absent(self, store: Store, clock: Clock, page: Page) -> None:
        store.check_and_add(query(page, A, retention=TTL))
        clock.wait(100)
        assert store.find(query(page, B, retention=TTL))
        clock.wait(1)
        assert not store.find(query(page, B, retention=TTL))
        assert store.find(query(page, B))
        assert store.check_and_add(query(page, B, retention=TTL)).status is Status.NEW

    @pytest.mark.parametrize("seen_as", [A, B], ids=["revisit", "copy"])
    def test_being_seen_again_keeps_a_page(self, store: Store, clock: Clock, page: Page, seen_as: str) -> None:
        store.check_and_add(query(page, A, retention=TTL))
        clock.wait(80)
        store.check_and_add(query(page, seen_as, retention=TTL))
        clock.wait(80)
        assert store.check_and_add(query(page, C, retention=TTL)).status is Status.EXACT

    @pytest.mark.parametrize("seen_as", [A, B], ids=["revisit", "copy"])
    def test_being_seen_again_does_not_keep_a_page_if_it_is_not_to_refresh_it(
        self, store: Store, clock: Clock, page: Page, seen_as: str
    ) -> None:
        store.check_and_add(query(page, A, retention=NO_REFRESH))
        clock.wait(80)
        assert store.check_and_add(query(page, seen_as, retention=NO_REFRESH)).status is not Status.NEW
        clock.wait(20)
        assert store.find(query(page, C, retention=NO_REFRESH))
        clock.wait(1)
        assert not store.find(query(page, C, retention=NO_REFRESH))
        assert store.check_and_add(query(page, A, retention=NO_REFRESH)).status is Status.NEW

    def test_an_expired_url_is_new_and_replaces_itself(self, store: Store, clock: Clock, page: Page) -> None:
        store.check_and_add(query(page, A, retention=TTL))
        store.check_and_add(query(page, B, retention=TTL))
        clock.wait(101)
        answer = store.check_and_add(query(page, A, retention=TTL))
        assert (answer.status, answer.pages) == (Status.NEW, 1)
        again = store.check_and_add(query(page, C, retention=TTL))
        assert again.record is not None
        assert (again.record.copies, again.record.added_at) == (1, int(clock.now))

    def test_an_expired_url_may_be_a_copy_of_a_live_page(self, store: Store, clock: Clock, page: Page) -> None:
        store.check_and_add(query(page, A, retention=TTL))
        clock.wait(101)
        store.check_and_add(query(page, B, retention=TTL))
        answer = store.check_and_add(query(page, A, retention=TTL))
        assert answer.record is not None
        assert (answer.status, answer.record.url) == (Status.EXACT, B)

    def test_looking_frees_nothing(self, store: Store, clock: Clock, page: Page) -> None:
        store.check_and_add(query(page, A))
        clock.wait(101)
        assert store.find(query(page, A, retention=TTL)) == []
        assert urls(store) == [A]

    @pytest.mark.parametrize("retention", [TTL, NO_REFRESH], ids=["refresh", "no refresh"])
    def test_expired_pages_are_freed_while_others_are_added(
        self, store: Store, clock: Clock, rng: np.random.Generator, retention: Retention
    ) -> None:
        add_strangers(store, rng, range(30), retention)
        clock.wait(101)
        *_, last = add_strangers(store, rng, range(30, 90), retention)
        assert last.pages == store.info().pages == 60
        assert urls(store) == [url(number) for number in range(30, 90)]

    def test_an_index_that_pages_come_to_all_the_time_stays_small(
        self, store: Store, clock: Clock, rng: np.random.Generator
    ) -> None:
        """One page of ten is seen again and again."""
        regulars = [random_page(rng) for _ in range(10)]
        pages = []
        for number in range(1000):
            clock.wait(1)
            answer = store.check_and_add(filler(rng, url(number), retention=TTL))
            pages.append(answer.pages)
            if number % 10 == 0:
                regular = number // 10 % len(regulars)
                store.check_and_add(query(regulars[regular], f"{A}/{regular}", retention=TTL))
        assert max(pages) < 200
        assert pruned(store, TTL).freed > 0
        assert store.info().pages == 101 + 10


class TestMaxPages:
    LIMIT = Retention(max_pages=3)

    def test_of_more_pages_those_that_were_added_first_go(self, store: Store, rng: np.random.Generator) -> None:
        pages = [random_page(rng) for _ in range(5)]
        answers = [
            store.check_and_add(query(page, url(number), retention=self.LIMIT)) for number, page in enumerate(pages)
        ]
        assert [answer.pages for answer in answers] == [1, 2, 3, 3, 3]
        assert urls(store) == [url(2), url(3), url(4)]
        assert store.check_and_add(query(pages[0], url(0), retention=self.LIMIT)).status is Status.NEW
        assert store.check_and_add(query(pages[4], url(4), retention=self.LIMIT)).status is Status.REVISIT
        assert urls(store) == [url(3), url(4), url(0)]

    @pytest.mark.parametrize("seen_as", [url(0), C], ids=["revisit", "copy"])
    def test_being_seen_again_does_not_make_a_page_younger(
        self, store: Store, page: Page, rng: np.random.Generator, seen_as: str
    ) -> None:
        store.check_and_add(query(page, url(0), retention=self.LIMIT))
        add_strangers(store, rng, range(1, 3), self.LIMIT)
        store.check_and_add(query(page, seen_as, retention=self.LIMIT))
        add_strangers(store, rng, range(3, 4), self.LIMIT)
        assert urls(store) == [url(1), url(2), url(3)]

    def test_an_index_of_one_page_holds_the_last(self, store: Store, rng: np.random.Generator) -> None:
        for answer in add_strangers(store, rng, range(5), Retention(max_pages=1)):
            assert (answer.status, answer.pages) == (Status.NEW, 1)
        assert urls(store) == [url(4)]

    def test_a_forgotten_page_makes_room(self, store: Store, rng: np.random.Generator) -> None:
        add_strangers(store, rng, range(3), self.LIMIT)
        assert store.forget(query(random_page(rng), url(1)).entry.url_key)
        add_strangers(store, rng, range(3, 4), self.LIMIT)
        assert urls(store) == [url(0), url(2), url(3)]

    def test_an_index_far_above_its_limit_shrinks_page_by_page(self, store: Store, rng: np.random.Generator) -> None:
        add_strangers(store, rng, range(20), Retention())
        pages = [answer.pages for answer in add_strangers(store, rng, range(20, 50), self.LIMIT)]
        assert pages == [*range(19, 3, -1), *[3] * 14]
        assert urls(store) == [url(47), url(48), url(49)]

    def test_an_index_at_its_limit_grows_no_more(self, store: Store, rng: np.random.Generator) -> None:
        """Pages come to six times the limit, and every third of them has other text when it is seen again."""
        limit = Retention(max_pages=200)
        sizes = []
        for number in range(6 * 200):
            store.check_and_add(filler(rng, url(number), retention=limit))
            if number % 3 == 0:
                store.check_and_add(filler(rng, url(number), retention=limit))
            if number % 200 == 199:
                sizes.append(store.info().bytes)
        assert store.info().pages == 200
        assert max(sizes[3:]) < 1.2 * max(sizes[:3])


class TestPrune:
    def test_what_has_expired_is_freed(self, store: Store, clock: Clock, rng: np.random.Generator) -> None:
        add_strangers(store, rng, range(25), Retention())
        clock.wait(101)
        add_strangers(store, rng, range(25, 30), Retention())
        assert pruned(store, Retention()).freed == 0
        assert pruned(store, Retention(ttl_seconds=101)).freed == 0
        last = pruned(store, TTL)
        assert (last.freed, last.examined >= 25) == (25, True)
        assert urls(store) == [url(number) for number in range(25, 30)]
        assert store.info().pages == 5
        assert pruned(store, TTL).freed == 0

    def test_age_counts_from_adding_if_being_seen_does_not_refresh(
        self, store: Store, clock: Clock, page: Page, other: Page
    ) -> None:
        store.check_and_add(query(page, A))
        clock.wait(60)
        store.check_and_add(query(page, A))
        store.check_and_add(query(other, B))
        clock.wait(60)
        assert pruned(store, TTL).freed == 0
        assert pruned(store, NO_REFRESH).freed == 1
        assert urls(store) == [B]

    def test_the_oldest_beyond_the_limit_go_at_once(self, store: Store, rng: np.random.Generator) -> None:
        add_strangers(store, rng, range(30), Retention())
        assert pruned(store, Retention(max_pages=30)).freed == 0
        assert pruned(store, Retention(max_pages=4)).freed == 26
        assert urls(store) == [url(number) for number in range(26, 30)]

    def test_pages_that_have_expired_do_not_count_against_the_limit(
        self, store: Store, clock: Clock, page: Page, rng: np.random.Generator
    ) -> None:
        store.check_and_add(query(page, A))
        add_strangers(store, rng, range(3), Retention())
        clock.wait(60)
        store.check_and_add(query(page, A))
        clock.wait(60)
        add_strangers(store, rng, range(3, 4), Retention())
        assert pruned(store, replace(TTL, max_pages=2)).freed == 3
        assert urls(store) == [A, url(3)]

    def test_an_empty_index_has_nothing_to_free(self, store: Store) -> None:
        assert pruned(store, Retention(ttl_seconds=1, max_pages=1)).freed == 0

    def test_a_crawl_goes_on_beside_it(self, store: Store, clock: Clock, rng: np.random.Generator) -> None:
        fill(store, rng, 700)
        clock.wait(101)
        added = 0
        for _ in store.prune(TTL):
            add_strangers(store, rng, range(5000 + added, 5010 + added), Retention())
            added += 10
        assert added > 10
        assert urls(store) == [url(number) for number in range(5000, 5000 + added)]

    def test_it_may_be_left_half_done(self, store: Store, clock: Clock, rng: np.random.Generator) -> None:
        fill(store, rng, 1500)
        clock.wait(101)
        assert next(store.prune(TTL)).freed < 1500
        assert 0 < store.info().pages <= 1500
        pruned(store, TTL)
        assert store.info().pages == 0
        assert store.check_and_add(query(random_page(rng), A)).status is Status.NEW

    def test_memory_is_given_back(self, store: Store, rng: np.random.Generator, backend: Backend) -> None:
        fill(store, rng, 1200)
        before = store.info().bytes
        pruned(store, Retention(max_pages=100))
        fill(store, rng, 1000, first=1200)
        assert store.info().bytes < 1.1 * before


def fill(store: Store, rng: np.random.Generator, pages: int, first: int = 0) -> None:
    for number in range(first, first + pages):
        store.check_and_add(filler(rng, url(number)))
