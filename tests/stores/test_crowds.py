"""The crowd rule in every store: which costs the look-alikes of a page have decides about the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from crawldedup.stores.base import Answer, Query, Status, Store
from tests.stores.pages import EQUAL_ONLY, checked, found, query, random_page

PAGE = random_page(np.random.default_rng(4))
ASKED = query(PAGE, "https://example.com/asked")

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


def plant(store: Store, costs: Sequence[int]) -> None:
    for number, cost in enumerate(costs, 1):
        assert checked(store, at_cost(cost, number)).status is Status.NEW


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("name", CROWDS)
def test_a_page_beside_others(store: Store, name: str, at_once: bool) -> None:
    costs, nearest = CROWDS[name]
    original = None if nearest is None else f"https://example.com/{nearest + 1}"
    if at_once:
        *_, answer = store.check([*(at_cost(cost, number) for number, cost in enumerate(costs, 1)), ASKED])
    else:
        plant(store, costs)
        urls = [record.url for record in found(store, ASKED)]
        assert urls[:1] == ([] if original is None else [original])
        answer = checked(store, ASKED)
    assert isinstance(answer, Answer)
    assert answer.status is (Status.NEW if original is None else Status.NEAR)
    assert (answer.record and answer.record.url) == original


def test_an_exact_copy_is_one_in_every_crowd(store: Store) -> None:
    plant(store, [175] * 9)
    assert checked(store, ASKED).status is Status.NEW
    again = replace(ASKED, record=replace(ASKED.record, url="https://example.com/copy", url_key=1))
    answer = checked(store, again)
    assert answer.record is not None
    assert (answer.status, answer.record.url) == (Status.EXACT, ASKED.record.url)
