"""The same questions get the same answers, whatever the store: random sequences of everything a
store can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawldedup.stores.contract import (
    FEW,
    PageName,
    Query,
    Retention,
    Store,
)
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    EQUAL_ONLY,
    LAYOUT,
    NO_PROBES,
    marked,
    marks,
    name_of,
    named,
    near_page,
    query,
    random_page,
)
from tests.stores.reference import ReferenceIndex, ReferenceStore
from tests.stores.steps import Step, answer_of, one_of_steps, retentions

steps = st.lists(
    one_of_steps(
        [
            *["check"] * 16,
            *["many"] * 8,
            *["find", "forget", "deliver", "close", "die", "remembered", "look", "uncover"] * 2,
            *["cover"] * 4,
            *["wait"] * 3,
            *["open", "heartbeat", "clear"],
        ]
    ),
    min_size=40,
    max_size=80,
)
small = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)


class Play:
    """A sequence of steps, played by up to CRAWLERS crawlers on one index.

    Their answers are what is compared.
    """

    def __init__(
        self, make_store: Callable[[Clock], Store | ReferenceStore], retention: Retention
    ) -> None:
        self._clock = Clock()
        self._make_store = make_store
        self._retention = retention
        self._crawlers: dict[int, Any] = {}

    def answers(self, steps: list[Step]) -> list[Any]:
        try:
            return [self._answer(step) for step in steps]
        finally:
            for store in self._crawlers.values():
                store.close()

    def _answer(self, step: Step) -> Any:
        if step.what == "wait":
            return self._clock.wait(step.seconds)
        if step.what == "die":
            # Its lease stays behind.
            self._crawlers.pop(step.crawler, None)
            return None
        if step.crawler not in self._crawlers:
            self._crawlers[step.crawler] = self._make_store(self._clock)
            self._crawlers[step.crawler].open()
        if step.what == "close":
            return self._crawlers.pop(step.crawler).close()
        return answer_of(self._crawlers[step.crawler], step, self._retention)


@small
@given(steps=steps, retention=retentions)
def test_stores_follow_the_rules(backend: Backend, steps: list[Step], retention: Retention) -> None:
    if backend.name == "memory":
        # Its crawlers have an index each.
        steps = [step._replace(crawler=0) for step in steps if step.what not in ("close", "die")]
    expected = Play(partial(ReferenceStore, ReferenceIndex(), LAYOUT), retention).answers(steps)
    assert Play(partial(backend.empty().store, LAYOUT), retention).answers(steps) == expected


CROWD_PAGE = random_page(np.random.default_rng(4))
IN_CROWD = marked(query(CROWD_PAGE, "https://example.com/asked", pages=4), named(100, 1))
BOUNDS = IN_CROWD.rule.bounds
COSTS = st.one_of(
    st.integers(100, BOUNDS.far + 20),
    st.sampled_from([*BOUNDS.limits[:4], BOUNDS.reach, BOUNDS.far]),
)


def at_cost(cost: int, seed: int) -> Query:
    """Return a page that costs the asked one so much, or little less, and is found in the same
    ranges.
    """
    costs, flipped, left = IN_CROWD.rule.costs, np.zeros(8 * len(CROWD_PAGE.signature), bool), cost
    for bit in np.random.default_rng(seed).permutation(len(costs)).tolist():
        if costs[bit] <= left:
            flipped[bit] = True
            left -= costs[bit]
    weights = np.where(flipped, -CROWD_PAGE.verify_weights, CROWD_PAGE.verify_weights)
    planted = replace(CROWD_PAGE, verify_weights=weights, digest=CROWD_PAGE.digest ^ seed)
    return replace(query(planted, f"https://example.com/{seed}"), rule=EQUAL_ONLY)


@small
@given(
    look_alikes=st.lists(st.tuples(COSTS, st.integers(0, 2)), max_size=FEW + 4),
    at_once=st.booleans(),
)
def test_the_costs_of_its_look_alikes_decide_about_a_page(
    backend: Backend, look_alikes: Sequence[tuple[int, int]], at_once: bool
) -> None:
    """Those of another name are siblings."""
    planted = [
        marked(at_cost(cost, number), named(number, name) if name else b"")
        for number, (cost, name) in enumerate(look_alikes, 1)
    ]
    copy = replace(
        IN_CROWD, record=replace(IN_CROWD.record, url="https://example.com/copy", url_key=1)
    )
    expected = answers_in_a_crowd(
        ReferenceStore(ReferenceIndex(), LAYOUT, Clock()), planted, copy, at_once=False
    )
    assert (
        answers_in_a_crowd(backend.empty().store(LAYOUT, Clock()), planted, copy, at_once=at_once)
        == expected
    )


def answers_in_a_crowd(
    store: Store | ReferenceStore, planted: Sequence[Query], copy: Query, *, at_once: bool
) -> Any:
    """Return what is found, and the answers about the page and about an exact copy of it."""
    store.open()
    if at_once:
        answer = store.check([*planted, IN_CROWD])[-1]
    else:
        store.check(planted)
        (answer,) = store.check([IN_CROWD])
    told = [answer, *store.check([copy])], store.find([IN_CROWD])
    store.close()
    return told


@pytest.mark.parametrize("batch", [1, 7, 100])
@pytest.mark.parametrize("seed", range(3))
def test_exact_keys_alone_find_the_same(backend: Backend, seed: int, batch: int) -> None:
    """Of few texts and names, so that more pages than are read share a key, and change it."""
    rng = np.random.default_rng(seed)
    asked = [keyed(rng) for _ in range(160)]
    gone = [name_of(f"https://example.com/{number}") for number in rng.integers(80, size=40)]
    expected = ReferenceStore(ReferenceIndex(), LAYOUT, Clock())
    store = backend.store(LAYOUT, Clock())
    for each in (expected, store):
        each.open()
    for at in range(0, len(asked), batch):
        answers = store.check(asked[at : at + batch])
        assert answers == expected.check(asked[at : at + batch])
        if at % 5 == 0:
            name = gone[at % len(gone)]
            assert store.forget(name) == expected.forget(name)
    held = [PageName(question.record.url_key) for question in asked]
    assert store.remembered(held, Retention()) == expected.remembered(held, Retention())
    assert store.find(asked[::4]) == expected.find(asked[::4])
    store.close()


KEYED_TEXTS = [random_page(np.random.default_rng(9))]
KEYED_TEXTS += [near_page(KEYED_TEXTS[0]), replace(KEYED_TEXTS[0], digest=77)]


def keyed(rng: np.random.Generator) -> Query:
    """A page that only exact keys find: most are siblings of all others of their text."""
    number = int(rng.integers(80))
    name = int(rng.choice([0, 1 + number, 1 + number // 2, 1, 2]))
    pictures = tuple(rng.integers(1, 4, size=rng.integers(2)).tolist())
    shown = {"pictures": pictures, "has_lead": bool(pictures)}
    marks_of = named(number, name, **shown) if name else marks(number, **shown)
    text = KEYED_TEXTS[int(rng.integers(len(KEYED_TEXTS)))]
    question = marked(query(text, f"https://example.com/{number}"), marks_of)
    rank = int(rng.integers(2))
    return replace(question, plan=NO_PROBES, record=replace(question.record, rank=rank))
