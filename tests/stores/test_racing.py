"""Racing processes behave as one process that asks in some order: nothing is admitted twice, or
lost.

A history of calls is linearizable (Herlihy & Wing, TOPLAS 1990) if they can be put in an order that
respects real time, a call that ended before another began comes first, and in which each answer is
what a single process would have got. `explanation` looks for such an order as Wing & Gong (J.
Parallel Distrib. Comput. 1993) do, by depth-first search. The single process is the reference
store.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

import numpy as np
import pytest

from crawldedup.stores.contract import Query, Record
from crawldedup.verdict import Kind
from tests.stores.backends import CONTEXT, Backend, Clock
from tests.stores.pages import (
    FOR_EVER,
    LAYOUT,
    checked,
    marked,
    name_of,
    named,
    near_page,
    pictured,
    query,
    random_page,
    similar_page,
)
from tests.stores.reference import ReferenceIndex, ReferenceStore

PROCESSES = 8
PAGES = 12  # of each content
# At the start of a round, everyone waits for everyone: else one runs ahead, and few meet at the
# same content.
CONTENTS_A_ROUND = 8
_together: Barrier


class Call(NamedTuple):
    """A page was offered, and answered.

    Times are in nanoseconds of the clock that the processes of a machine share.
    """

    content: int
    copy: int
    told: tuple[Any, ...]
    began: int
    ended: int


def asked(content: int, copy: int) -> Query:
    """Some pages of a content resemble each other, and none of another.

    Those of odd contents have ranks. Of every third content, there are siblings and their copies:
    some show a name, some a picture, and some learn one from the other.
    """
    rng = np.random.default_rng(content)
    texts = [random_page(rng)]
    texts.append(near_page(texts[0]))
    for _ in range(4):
        texts.append(similar_page(texts[-1], 0.93, rng))
    # More pages than any race admits, so that a page is found at any moment or never.
    question = query(
        texts[copy % len(texts)], f"https://example.com/{content}/{copy}", pages=10_000
    )
    record = replace(question.record, rank=copy % 3 if content % 2 else 0, packed_text=b"%d" % copy)
    question = replace(question, record=record)
    return marked(question, shown(content, copy)) if content % 3 == 2 else question


def shown(content: int, copy: int) -> bytes:
    number = 100 * content + copy
    name = 10 * content + 1 + copy % 2
    if copy % 3 == 0:
        return pictured(number, name)
    if copy % 3 == 1:
        return named(number, name)
    return named(number, name, pictures=(name,), has_lead=True)


def told(store: Any, question: Query) -> tuple[Any, ...]:
    answer = checked(store, question)
    original = answer.record and (
        answer.record.url,
        answer.record.copies,
        answer.record.packed_text,
    )
    sibling = answer.rejected.url if answer.rejected and answer.conflict else None
    return answer.kind, answer.replaces, original, sibling


def told_of(page: Record) -> tuple[str, int, int, bytes, bytes]:
    return page.url, page.copies, page.rank, page.packed_text, page.marks


def start_together(barrier: Barrier) -> None:
    global _together
    _together = barrier


def race(name: str, url: str, contents: int, process: int) -> list[Call]:
    """Offer a share of the pages, in random order."""
    store = Backend(name, url).store(LAYOUT, Clock())
    store.open()
    calls = []
    for first in range(0, contents, CONTENTS_A_ROUND):
        among = range(first, min(first + CONTENTS_A_ROUND, contents))
        offers = [(content, copy) for content in among for copy in range(PAGES)]
        random.Random(first).shuffle(offers)
        questions = [(*offer, asked(*offer)) for offer in offers[process::PROCESSES]]
        _together.wait()
        for content, copy, question in questions:
            began = time.monotonic_ns()
            calls.append(Call(content, copy, told(store, question), began, time.monotonic_ns()))
    # Nobody leaves the crawl while others are at work.
    _together.wait()
    store.close()
    return calls


def explanation(calls: Sequence[Call]) -> ReferenceIndex | None:
    """The index that one process leaves which gives these answers about a content; None if none
    could give them.
    """
    questions = [asked(call.content, call.copy) for call in calls]
    waiting = [(frozenset(range(len(calls))), ReferenceIndex())]
    visited = set()
    while waiting:
        left, index = waiting.pop()
        if not left:
            return index
        state = left, tuple((page.url, page.marks) for page, _ in index.pages)
        if state in visited:
            continue
        visited.add(state)
        first_end = min(calls[place].ended for place in left)
        for place in left:
            after = ReferenceIndex(list(index.pages))
            if calls[place].began <= first_end:
                answer = told(ReferenceStore(after, LAYOUT, Clock()), questions[place])
                if answer == calls[place].told:
                    waiting.append((left - {place}, after))
    return None


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One for each task, which waits for all the others.

    The time limit is for them when one fails.
    """
    barrier = CONTEXT.Barrier(PROCESSES, timeout=100)
    with ProcessPoolExecutor(
        PROCESSES, CONTEXT, initializer=start_together, initargs=(barrier,)
    ) as pool:
        yield pool


@pytest.mark.parametrize(
    "contents", [16, pytest.param(420, marks=[pytest.mark.nightly, pytest.mark.timeout(600)])]
)
def test_racing_pages_have_the_answers_of_one_process(
    processes: ProcessPoolExecutor, shared_backend: Backend, contents: int
) -> None:
    name, url = shared_backend.name, shared_backend.url
    tasks = [processes.submit(race, name, url, contents, process) for process in range(PROCESSES)]
    calls = [call for task in tasks for call in task.result()]
    assert {call.told[0] for call in calls} == {Kind.NEW, Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE}
    store = shared_backend.store(LAYOUT, Clock())
    store.open()
    contested = 0
    for content in range(contents):
        own = sorted(
            (call for call in calls if call.content == content), key=lambda call: call.began
        )
        assert len(own) == PAGES
        index = explanation(own)
        assert index is not None, own
        names = [name_of(f"https://example.com/{content}/{copy}") for copy in range(PAGES)]
        kept = [told_of(page) for page in store.remembered(names, FOR_EVER) if page]
        assert sorted(kept) == sorted(told_of(page) for page, _ in index.pages)
        contested += any(later.began < earlier.ended for earlier, later in pairwise(own))
    assert contested > contents // 20
    store.close()


@pytest.mark.parametrize("content", [0, 1, 2, 5])
def test_what_no_process_could_have_answered_is_refuted(content: int) -> None:
    store = ReferenceStore(ReferenceIndex(), LAYOUT, Clock())
    answers = [told(store, asked(content, copy)) for copy in range(PAGES)]
    calls = [
        Call(content, copy, answer, 2 * copy, 2 * copy + 1) for copy, answer in enumerate(answers)
    ]
    at_once = [call._replace(began=0, ended=9) for call in reversed(calls)]
    assert explanation(calls)
    assert explanation(at_once)
    assert not explanation([call._replace(began=-call.ended, ended=-call.began) for call in calls])
    for place, (status, _, original, _) in enumerate(answers):
        if status is Kind.NEW:
            continue
        wrong = [
            (Kind.NEW, False, None, None),
            (status, False, (original[0], original[1] + 1, original[2]), None),
        ]
        for answer in wrong:
            assert not explanation(
                [*calls[:place], calls[place]._replace(told=answer), *calls[place + 1 :]]
            )
