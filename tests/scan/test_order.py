"""One pass over pages in their order tells which are kept."""

from __future__ import annotations

import numpy as np

from crawldedup.scan.engine import MOST_RESEMBLING, Order, Resemblances
from crawldedup.scan.pairs import earlier_of, later_of
from tests.scan.pages import GOAL

NEAR = 100
FAR = GOAL.crowd.limits[0] + 1


def found(*pairs: tuple[int, int, int]) -> Resemblances:
    later, earlier, costs = np.array(pairs, np.int64).reshape(-1, 3).T
    return Resemblances(later, earlier, costs)


def wanted(order: Order, resemblances: Resemblances, *, presumes: bool = True) -> list[tuple[int, int]]:
    pairs = order.decide(resemblances, presumes=presumes)
    return list(zip(later_of(pairs).tolist(), earlier_of(pairs).tolist(), strict=True))


def test_a_page_is_dropped_for_the_nearest_kept_one() -> None:
    order = Order(4, GOAL.crowd)
    assert wanted(order, found((2, 0, NEAR), (2, 1, NEAR - 1), (3, 0, FAR))) == []
    assert order.original.tolist() == [0, 1, 1, 3]


def test_a_dropped_page_drops_none() -> None:
    """What resembles it alone is presumed to be a copy of what it was dropped for, until that is known."""
    order = Order(3, GOAL.crowd)
    pairs = found((1, 0, NEAR), (2, 1, NEAR))
    assert wanted(order, pairs) == [(2, 0)]
    assert order.original.tolist() == [0, 0, 0]
    assert wanted(order, pairs.joined(found((2, 0, FAR)))) == []
    assert order.original.tolist() == [0, 0, 2]
    assert wanted(order, pairs.joined(found((2, 0, NEAR)))) == []
    assert order.original.tolist() == [0, 0, 0]


def test_nothing_is_presumed_in_the_end() -> None:
    order = Order(3, GOAL.crowd)
    assert wanted(order, found((1, 0, NEAR), (2, 1, NEAR)), presumes=False) == [(2, 0)]
    assert order.original.tolist() == [0, 0, 2]


def test_a_page_that_several_kept_ones_resemble_alike_stands_out_of_none() -> None:
    limit = GOAL.crowd.limits[-1] + 1
    assert limit <= GOAL.crowd.limits[0]
    order = Order(10, GOAL.crowd)
    order.decide(found(*((9, other, limit) for other in range(9))))
    assert order.original[9] == 9
    order.decide(found((9, 0, limit)))
    assert order.original[9] == 0


def test_only_the_nearest_pages_are_looked_at() -> None:
    pairs = found(*((1000, other, 1 + other % 7) for other in range(200)), (1001, 3, 5))
    nearest = pairs.nearest()
    assert len(nearest) == MOST_RESEMBLING + 1
    assert set(nearest.costs[:MOST_RESEMBLING]) == {1, 2, 3}
    assert nearest.later[-1] == 1001
