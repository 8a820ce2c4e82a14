"""How long pages are remembered and how many, in every store. See `crawldedup.stores.base.Retention`."""

from __future__ import annotations

import numpy as np
import pytest

from crawldedup.stores.base import Answer, Retention, Status, Store
from tests.stores.backends import Clock
from tests.stores.pages import checked, filler, name_of

FOR_EVER = Retention()
TTL = Retention(ttl_seconds=100)


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


def sizes(store: Store, numbers: range, retention: Retention, *, at_once: bool = False) -> list[int]:
    """The pages of the index after each page that is added."""
    rng = np.random.default_rng(numbers.start)
    questions = [filler(rng, url_of(number), retention=retention) for number in numbers]
    answers = store.check(questions) if at_once else [checked(store, question) for question in questions]
    assert {answer.status for answer in answers if isinstance(answer, Answer)} == {Status.NEW}
    return [answer.pages for answer in answers if isinstance(answer, Answer)]


def held(store: Store, most: int) -> list[int]:
    """The numbers of the pages that the index holds, expired or not."""
    pages = store.remembered([name_of(url_of(number)) for number in range(most)], FOR_EVER)
    return [number for number, page in enumerate(pages) if page]


@pytest.mark.parametrize("retention", [TTL, Retention(ttl_seconds=100, refresh=False)], ids=["refresh", "no refresh"])
def test_expired_pages_are_freed_while_others_are_added(store: Store, clock: Clock, retention: Retention) -> None:
    sizes(store, range(30), retention)
    clock.wait(101)
    assert store.find([filler(np.random.default_rng(1), "", retention=retention)]) == [[]]
    # Looking frees nothing.
    assert held(store, 90) == list(range(30))
    assert sizes(store, range(30, 90), retention)[-1] == store.info().pages == 60
    assert held(store, 90) == list(range(30, 90))


@pytest.mark.parametrize("at_once", [False, True])
def test_an_index_far_above_its_limit_shrinks_page_by_page(store: Store, at_once: bool) -> None:
    sizes(store, range(20), FOR_EVER)
    after = sizes(store, range(20, 50), Retention(max_pages=3), at_once=at_once)
    assert after == [*range(19, 3, -1), *[3] * 14]
    assert held(store, 50) == [47, 48, 49]
    assert sizes(store, range(50, 55), Retention(max_pages=1), at_once=at_once) == [2, 1, 1, 1, 1]
    assert held(store, 55) == [54]


def test_an_index_that_pages_come_to_all_the_time_stays_small(store: Store, clock: Clock) -> None:
    """One page of ten is seen again and again."""
    rng = np.random.default_rng(1)
    pages = []
    for number in range(1000):
        clock.wait(1)
        pages.append(checked(store, filler(rng, url_of(number), retention=TTL)).pages)
        if number % 10 == 0:
            checked(store, filler(rng, url_of(-(number // 10 % 10)), retention=TTL))
    assert max(pages) < 200


@pytest.mark.nightly
def test_an_index_at_its_limit_grows_no_more(store: Store) -> None:
    """Pages come to six times the limit, and every third of them has other text when it is seen again."""
    rng = np.random.default_rng(1)
    limit = Retention(max_pages=200)
    bytes_taken = []
    for number in range(6 * 200):
        for _ in range(2 if number % 3 == 0 else 1):
            checked(store, filler(rng, url_of(number), retention=limit))
        if number % 200 == 199:
            bytes_taken.append(store.info().bytes)
    assert store.info().pages == 200
    assert max(bytes_taken[3:]) < 1.2 * max(bytes_taken[:3])
