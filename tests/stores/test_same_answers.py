"""The same questions get the same answers, whatever the store: random sequences of everything a
store can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawldedup.marks.packing import packed
from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Datum,
    Marks,
    Name,
)
from crawldedup.stores.anchors import AnchorQuery
from crawldedup.stores.contract import (
    FEW,
    LEASE_SECONDS,
    PageName,
    Query,
    Retention,
    Store,
    StoreInfo,
)
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    EQUAL_ONLY,
    LAYOUT,
    NO_PROBES,
    Page,
    marked,
    marks,
    name_of,
    named,
    near_page,
    query,
    random_page,
    revisit_rule,
    similar_page,
    thin_page,
)
from tests.stores.reference import ReferenceIndex, ReferenceStore

CRAWLERS = 3


def small_web() -> list[Page]:
    """Few texts with many likenesses, so that short sequences run into all of them."""
    rng = np.random.default_rng(5)
    originals = [random_page(rng) for _ in range(3)]
    likenesses = [
        similar_page(page, similarity, rng)
        for page in originals
        for similarity in (0.5, 0.8, 0.87, 0.92, 0.98)
    ]
    thin = [thin_page(rng), thin_page(rng, core=1), thin_page(rng, core=1)]
    # An equal digest suffices, however the signatures differ.
    twin = replace(originals[2], verify_weights=-originals[2].verify_weights)
    unlike = replace(twin, digest=twin.digest ^ 1)
    return [
        *originals,
        *likenesses,
        near_page(originals[0]),
        near_page(originals[1]),
        *thin,
        twin,
        unlike,
    ]


TEXTS = small_web()


def few_marks() -> list[bytes]:
    """Marks of few values, so that they often agree, often differ and are often missing."""
    rng = np.random.default_rng(6)
    return [b"", *[packed(random_marks(rng)) for _ in range(60)]]


def random_marks(rng: np.random.Generator) -> Marks:
    def some(most: int, values: int) -> tuple[int, ...]:
        number = int(rng.integers(most + 1))
        return tuple(rng.integers(1, values, size=number, endpoint=True).tolist())

    pictures = some(2, 4)
    content = ContentMarks(
        names=tuple(
            [
                Name(name, int(rng.choice(ROLES)) | KINDS_OF_NAMES.get(name, 0))
                for name in dict.fromkeys(some(4, 5))
            ]
        ),
        pictures=pictures,
        has_lead=bool(pictures) and rng.random() < 0.8,
        players=some(1, 2),
        data=tuple([Datum(1, value) for value in some(1, 2)]),
        text=None if rng.random() < 0.3 else int(rng.integers(1, 3)),
        links=int(rng.choice([0, 4, 12, 13])),
        sketch=int(rng.choice([0x0F, 0xFF0, 0xF000])),
        is_listing=bool(rng.random() < 0.3),
        numbers=int(rng.integers(1, 3)) if rng.random() < 0.2 else None,
    )
    return Marks(content, random_address(rng) if rng.random() < 0.95 else None)


def random_address(rng: np.random.Generator) -> AddressMarks:
    path = int(rng.integers(1, 5))
    parameters = int(rng.integers(3))
    views = int(rng.integers(2))
    canonical = int(rng.choice([0, 9, path ^ parameters]))
    return AddressMarks(
        site=int(rng.choice([1, 1, 1, 1, 1, 2])),
        path=path,
        folder=1 + path // 3,
        names=min(parameters, 1),
        parameters=parameters,
        views=views,
        canonical=canonical,
        is_proved=bool(views and rng.random() < 0.7),
    )


ROLES = [
    HEADLINE,
    HEADLINE | FIRST_HEADING,
    FIRST_HEADING,
    SOCIAL_TITLE,
    TITLE_PART,
    TITLE_PART | FIRST_PART,
    ALIAS | TITLE_PART,
]
# Whether a name has a number, or is a single word, it is so on every page.
KINDS_OF_NAMES = {2: HAS_NUMBER, 3: IS_SINGLE_WORD, 4: HAS_NUMBER}
MARKS = few_marks()
# Upper and lower case are two spellings of one URL.
URLS = [f"https://example.com/{name}" for name in "aAbBcd"]


class Step(NamedTuple):
    """What happens next, and to what; a step uses what it needs."""

    what: str
    crawler: int
    text: int
    marks: int
    url: int
    seconds: int
    is_pending: bool
    has_text: bool
    is_strict: bool  # accepts no differing bit, so near pages are admitted beside each other
    rank: int
    revisit_similarity: float | None


steps = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(
            [
                *["check"] * 16,
                *["many"] * 8,
                *["find", "forget", "deliver", "close", "die", "remembered", "look", "uncover"] * 2,
                *["cover"] * 4,
                *["wait"] * 3,
                *["open", "heartbeat", "clear"],
            ]
        ),
        crawler=st.integers(0, CRAWLERS - 1),
        text=st.integers(0, len(TEXTS) - 1),
        marks=st.one_of(st.just(0), st.integers(0, len(MARKS) - 1), st.integers(0, 9)),
        url=st.integers(0, len(URLS) - 1),
        seconds=st.sampled_from([1, 50, 51, LEASE_SECONDS - 1, LEASE_SECONDS]),
        is_pending=st.booleans(),
        has_text=st.booleans(),
        is_strict=st.sampled_from([False, False, False, True]),
        rank=st.sampled_from([0, 0, 1, 1, 255]),
        revisit_similarity=st.sampled_from([None, None, 0.75, 0.9]),
    ),
    min_size=40,
    max_size=80,
)
# One for all steps: of pages that have expired for one question, another cannot tell if they are
# freed already. For the same reason there is none that both refreshes pages and limits them: an old
# page that lives on counts among those beyond the limit sooner or later, depending on when others
# are freed.
retentions = st.sampled_from(
    [
        Retention(),
        Retention(),
        Retention(ttl_seconds=50),
        Retention(ttl_seconds=500),
        Retention(ttl_seconds=50, refresh=False),
        Retention(max_pages=3),
        Retention(ttl_seconds=50, refresh=False, max_pages=3),
    ]
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
        return self._asked(self._crawlers[step.crawler], step)

    def _asked(self, store: Any, step: Step) -> Any:
        """Take a step that a store of the crawler answers."""
        pages_expire = self._retention.ttl_seconds is not None
        match step.what:
            case "check" | "many":
                pages = batch_of(step) if step.what == "many" else [step]
                answers = store.check(list(map(self._query, pages)))
                return [promised(answer, self._retention) for answer in answers]
            case "find":
                found = store.find([self._query(each) for each in batch_of(step)])
                return found, promised(store.info(), self._retention)
            case "forget":
                was_there = store.forget(name_of(URLS[step.url]))
                return None if pages_expire else was_there
            case "cover" | "look" | "uncover":
                return covered(store, step)
            case "deliver":
                return store.deliver([name_of(URLS[step.url])])
            case "remembered":
                return store.remembered([name_of(url) for url in URLS], self._retention)
            case "open":
                pages = store.open()
                return None if pages_expire else pages
            case _:
                return getattr(store, step.what)()

    def _query(self, step: Step) -> Query:
        asked = query(TEXTS[step.text], URLS[step.url], retention=self._retention)
        text = b"text %d" % step.text if step.has_text else b""
        return replace(
            asked,
            record=replace(asked.record, rank=step.rank, packed_text=text, marks=MARKS[step.marks]),
            rule=EQUAL_ONLY if step.is_strict else asked.rule,
            proved_views=(1,) if step.seconds % 3 == 0 else (),
            is_pending=step.is_pending,
            # Perhaps a page of the same batch.
            delivered=(name_of(URLS[step.seconds % len(URLS)]),) if step.has_text else (),
            revisit_rule=revisit_rule(TEXTS[step.text], step.revisit_similarity),
        )


def covered(store: Store, step: Step) -> Any:
    """What a store tells of the anchors of a page, which may be added or forgotten."""
    name = name_of(URLS[step.url])
    if step.what == "uncover":
        return store.forget(name, anchors_alone=True)
    first = step.text % 5
    anchors = tuple(range(first, first + step.seconds % 4))
    held = store.anchors(AnchorQuery(URLS[step.url], name, anchors), add=step.what == "cover")
    return [[held.urls[page] for page in pages or ()] for pages in held.pages], held.is_known


def batch_of(step: Step) -> list[Step]:
    """Pages that may resemble each other, or be the same."""
    rng = np.random.default_rng(1000 * step.text + 10 * step.url + step.seconds)
    return [
        step._replace(
            text=int(rng.integers(len(TEXTS))),
            marks=int(rng.choice([0, step.marks, rng.integers(len(MARKS)), rng.integers(10)])),
            url=int(rng.integers(len(URLS))),
            rank=int(rng.choice([step.rank, 0, 1])),
            is_pending=bool(rng.random() < 0.5),
            seconds=number,
        )
        for number in range(1 + step.seconds % 9)
    ]


def promised(answer: Any, retention: Retention) -> Any:
    """What all stores agree on: while pages expire, some of those that have may be counted still."""
    if isinstance(answer, StoreInfo):
        return answer.pages if retention.ttl_seconds is None else None
    pages = answer.pages if retention.ttl_seconds is None else 0
    return replace(answer, pages=pages)


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
