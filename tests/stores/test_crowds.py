"""The crowd rule in every store: which costs the look-alikes of a page have decides about the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.stores.base import Status
from crawldedup.stores.registry import make_store
from tests.stores.pages import EQUAL_ONLY, LAYOUT, query, random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Query, Store
    from tests.servers import ClusterSetup
    from tests.stores.backends import Backend, Clock

PAGE = random_page(np.random.default_rng(4))
ASKED = query(PAGE, "https://example.com/asked")
PLACES = 256

# With the limits 254, 212, 191, .. and a reach of 425: what comes of a page beside others of these costs.
CROWDS = {
    "alone": ([250], 0),
    "beyond the limit": ([260], None),
    "two": ([230, 240], None),
    "two, near enough": ([200, 240], 0),
    "three": ([200, 240, 250], None),
    "a page beyond the limit belongs to the crowd": ([220, 300], None),
    "one that stands out": ([120, 240, 240, 240, 240, 240, 240], 0),
    "a large crowd of near pages": ([150] * 3 + [160] * 6, 0),
    "a large crowd": ([175] * 9, None),
    "the nearest comes last": ([240, 230, 225, 120], 3),
    "beyond reach": ([250, 430, 440], 0),
}


@dataclass(frozen=True)
class Setup:
    """An open store, and where it keeps a page of this number, asked from everywhere."""

    store: Store
    placed: Callable[[Query, int], Query]


def unmoved(asked: Query, _number: int) -> Query:
    return asked


def spread(asked: Query, number: int) -> Query:
    """Each page has another home, and all partitions are asked, its own first."""
    home = 37 * number % PLACES

    def route(partitions: int) -> tuple[int, ...]:
        own = home * partitions // PLACES
        return (own, *(part for part in range(partitions) if part != own))

    return replace(asked, entry=replace(asked.entry, home=home), route=route)


@pytest.fixture
def single(backend: Backend, clock: Clock) -> Iterator[Setup]:
    store = backend.store(LAYOUT, clock)
    store.open()
    yield Setup(store, unmoved)
    store.close()


@pytest.fixture
def shared(cluster: ClusterSetup) -> Iterator[Setup]:
    store = make_store(cluster.url, LAYOUT)
    store.open()
    yield Setup(store, spread)
    store.close()


def at_cost(cost: int, seed: int) -> Query:
    """A page that costs the asked one so much, and is found in the same ranges."""
    costs, flipped, left = ASKED.rule.costs, np.zeros(8 * len(PAGE.signature), bool), cost
    for bit in np.random.default_rng(seed).permutation(len(costs)).tolist():
        if costs[bit] <= left:
            flipped[bit] = True
            left -= costs[bit]
    assert left == 0
    weights = np.where(flipped, -PAGE.verify_weights, PAGE.verify_weights)
    planted = replace(PAGE, verify_weights=weights, digest=PAGE.digest ^ seed)
    return replace(query(planted, f"https://example.com/{seed}"), rule=EQUAL_ONLY)


def plant(setup: Setup, costs: Sequence[int]) -> None:
    for number, cost in enumerate(costs, 1):
        assert setup.store.check_and_add(setup.placed(at_cost(cost, number), number)).status is Status.NEW


def decide(setup: Setup, costs: Sequence[int], nearest: int | None) -> None:
    plant(setup, costs)
    asked = setup.placed(ASKED, 0)
    found = [record.url for record in setup.store.find(asked)]
    answer = setup.store.check_and_add(asked)
    if nearest is None:
        assert (answer.status, found) == (Status.NEW, [])
        return
    assert answer.record is not None
    assert answer.status is Status.NEAR
    assert answer.record.url == found[0] == f"https://example.com/{nearest + 1}"


@pytest.mark.parametrize("name", CROWDS)
def test_a_page_beside_others(single: Setup, name: str) -> None:
    decide(single, *CROWDS[name])


@pytest.mark.parametrize("name", CROWDS)
def test_a_page_beside_others_of_other_partitions(shared: Setup, name: str) -> None:
    decide(shared, *CROWDS[name])


def test_an_exact_copy_is_one_in_every_crowd(single: Setup) -> None:
    copy_in_a_crowd(single)


def test_an_exact_copy_is_one_in_a_crowd_of_other_partitions(shared: Setup) -> None:
    copy_in_a_crowd(shared)


def copy_in_a_crowd(setup: Setup) -> None:
    plant(setup, [175] * 9)
    assert setup.store.check_and_add(setup.placed(ASKED, 0)).status is Status.NEW
    again = replace(ASKED, entry=replace(ASKED.entry, url="https://example.com/copy", url_key=1))
    answer = setup.store.check_and_add(setup.placed(again, 0))
    assert answer.record is not None
    assert (answer.status, answer.record.url) == (Status.EXACT, ASKED.entry.url)


def test_a_page_at_home_belongs_to_the_crowd_of_one_elsewhere(shared: Setup) -> None:
    """What is found elsewhere is not counted as the original before the home was asked."""
    for number, home in ((1, 5), (2, 0)):
        planted = shared.placed(at_cost((230, 240)[number - 1], number), home)
        assert shared.store.check_and_add(planted).status is Status.NEW
    assert shared.store.check_and_add(shared.placed(ASKED, 0)).status is Status.NEW
    assert shared.store.info().pages == 3
