"""What every store does, whatever it is made of: see `stores.contract`.

`test_same_answers` has the rules of verdicts.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crawldedup.errors import ProfileMismatchError
from crawldedup.index.queries import TABLES
from crawldedup.search.decision import Prefilter
from crawldedup.search.plan import ProbePlan
from crawldedup.stores import process
from crawldedup.stores.contract import NO_SESSION, Answer, CrawlSession, Query, Record, Store
from crawldedup.verdict import Kind
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    FOR_EVER,
    OTHER_NAMESPACE,
    OTHER_PROFILE,
    Page,
    checked,
    filler,
    found,
    name_of,
    near_page,
    query,
    random_page,
    similar_page,
    thin_page,
)

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
Shared = Callable[..., Store]


def status(store: Store, page: Page, url: str) -> Kind:
    return checked(store, query(page, url)).kind


def record_of(answer: Answer) -> Record:
    assert answer.record is not None
    return answer.record


def exited_process() -> str:
    """Return the name of a process of this machine that has exited."""
    child = subprocess.Popen(["true"])
    child.wait()
    return f"{socket.gethostname()}:{child.pid}:"


def whole_tables(page: Page, url: str, max_candidates: int = 256) -> Query:
    """Return a question that reads both tables from end to end."""
    lows = np.array([0, 1 << 63] * 2, np.uint64)
    plan = ProbePlan(np.array([0, 0, 1, 1]), lows, lows + np.uint64((1 << 63) - 1), 1.0)
    return replace(query(page, url, max_candidates=max_candidates), plan=plan, prefilter=None)


@pytest.mark.parametrize(
    ("copy_of", "expected"),
    [(lambda page: page, Kind.EXACT_DUPLICATE), (near_page, Kind.NEAR_DUPLICATE)],
    ids=["exact", "near"],
)
def test_a_copy_names_its_original_and_is_not_added(
    store: Store, clock: Clock, page: Page, copy_of: Callable[[Page], Page], expected: Kind
) -> None:
    checked(store, query(page, A))
    clock.wait(60)
    first, second = (checked(store, query(copy_of(page), url)) for url in (B, C))
    assert [(answer.kind, answer.pages, answer.candidates) for answer in (first, second)] == [
        (expected, 1, 1)
    ] * 2
    assert [record_of(first).copies, record_of(second).copies] == [1, 2]
    now = int(clock.now)
    assert first.record == replace(query(page, A).record, added_at=now - 60, seen_at=now, copies=1)


def test_of_thin_pages_the_digest_decides_even_where_bits_agree_by_chance(
    store: Store, rng: np.random.Generator
) -> None:
    page = thin_page(rng)
    lookalike = replace(query(page, C), record=replace(query(page, C).record, digest=5))
    assert status(store, page, A) is checked(store, lookalike).kind is Kind.NEW
    assert status(store, page, B) is Kind.EXACT_DUPLICATE
    assert [record.url for record in found(store, query(page, ""))] == [A]


def test_a_note_is_kept_until_the_index_is_cleared(store: Store, page: Page) -> None:
    assert store.note("rules") == ""
    for text in ("one", "two \N{SNOWMAN}"):
        assert store.note("rules", text) == store.note("rules") == text
    assert store.note("others") == ""
    checked(store, query(page, A))
    store.clear()
    assert store.note("rules") == ""
    assert status(store, page, A) is Kind.NEW


def test_info_tells_pages_bytes_tables_profile_and_namespace(
    store: Store, rng: np.random.Generator
) -> None:
    empty = store.info()
    assert (empty.pages, empty.tables, empty.profile, empty.namespace) == (
        0,
        2,
        "profile-1",
        "test",
    )
    assert empty.store.startswith(("memory://", "sqlite:///", "redis"))
    store.check([filler(rng, f"{A}/{number}") for number in range(800)])
    full = store.info()
    assert full.pages == 800
    assert 800 * 100 < full.bytes < 800 * 1000 + 100_000
    assert 800 * 8 < full.table_bytes < full.bytes / 2


def test_a_closed_store_can_be_opened_again_and_closed_twice(
    store: Store, backend: Backend, page: Page
) -> None:
    checked(store, query(page, A))
    store.close()
    store.close()
    assert store.open_read_only() == store.open() == 1
    assert status(store, page, A) is Kind.REVISIT
    assert Backend("memory", "memory://").store(OTHER_NAMESPACE, Clock()).open() == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.com/\N{SNOWMAN}/日本語?q=é",
        "https://example.com/\0/nul",
        "https://example.com/" + "x" * 10_000,
        "not a URL at all\r\n\t'\";--",
        "https://example.com/\udcff\ud800",
    ],
    ids=["empty", "unicode", "nul", "long", "odd", "surrogates"],
)
def test_any_url_is_kept(store: Store, page: Page, url: str) -> None:
    checked(store, query(page, url))
    kept = url.encode("utf-8", "replace").decode()
    assert [record_of(checked(store, query(page, asked))).url for asked in (A, url)] == [kept, kept]
    assert store.forget(name_of(url))


class TestSearch:
    @pytest.fixture(autouse=True)
    def fill(self, store: Store) -> None:
        rng = np.random.default_rng(2)
        store.check([query(random_page(rng), f"{A}/{number}") for number in range(60)])

    def test_pages_whose_keys_the_rule_refuses_are_not_compared(
        self, store: Store, page: Page
    ) -> None:
        checked(store, query(page, B))
        # In each table's keys it differs in one bit or two.
        near = replace(page, search_weights=page.search_weights.copy())
        near.search_weights[[0, 40]] *= -1
        for limit, expected in ((0, []), (1, [B]), (None, [B])):
            rule = None if limit is None else Prefilter(bytes([1]) * 64, limit)
            assert [
                record.url
                for record in found(store, replace(whole_tables(near, C), prefilter=rule))
            ] == expected
        likely = query(page, C).prefilter
        answers = [
            checked(store, replace(whole_tables(page, C), prefilter=rule))
            for rule in (likely, None)
        ]
        assert [answer.kind for answer in answers] == [Kind.EXACT_DUPLICATE] * 2
        assert answers[0].candidates < 30 < answers[1].candidates == 61

    def test_no_more_records_are_compared_than_asked_for(
        self, store: Store, rng: np.random.Generator
    ) -> None:
        limits = (1, 10, 59, 200)
        asked = [whole_tables(random_page(rng), f"{B}/{most}", most) for most in limits]
        assert [checked(store, question).candidates for question in asked] == [1, 10, 59, 63]

    def test_the_best_ranges_are_read_first(self, store: Store, page: Page) -> None:
        checked(store, query(page, B))
        for best in (0, 1):
            asked = whole_tables(page, f"{C}/{best}", max_candidates=20)
            key = np.array([TABLES[best].key(page.search)], np.uint64)
            lows, highs = np.append(key, asked.plan.lows), np.append(key, asked.plan.highs)
            plan = ProbePlan(np.append(best, asked.plan.tables), lows, highs, 1.0)
            answer = checked(store, replace(asked, plan=plan))
            assert (answer.kind, answer.candidates) == (Kind.EXACT_DUPLICATE, 20)


class TestBatches:
    @pytest.mark.parametrize(
        "limits",
        [{}, {"max_keys": 24}, {"max_candidates": 4}, {"max_keys": 40, "exact_only": True}],
    )
    def test_pages_of_a_batch_that_crowd_are_compared_as_if_they_came_alone(
        self,
        backend: Backend,
        store: Store,
        clock: Clock,
        rng: np.random.Generator,
        limits: dict[str, Any],
    ) -> None:
        """There are so many that not all keys in their ranges may be read."""
        template = random_page(rng)
        pages = [
            replace(random_page(rng), search_weights=template.search_weights) for _ in range(70)
        ]
        pages += [near_page(page) for page in pages] + [random_page(rng) for _ in range(20)]
        pages += [similar_page(page, 0.95, rng) for page in pages[::4]]
        rng.shuffle(pages)
        urls = [f"{A}/{number}" for number in rng.integers(150, size=len(pages))]
        asked = [replace(query(page, url), **limits) for page, url in zip(pages, urls, strict=True)]
        asked = [
            replace(each, record=replace(each.record, rank=len(each.record.url) % 2))
            for each in asked
        ]
        alone = backend.store(OTHER_NAMESPACE, clock)
        alone.open()
        answers = store.check(asked[:40]) + store.check(asked[40:])
        assert answers == [checked(alone, question) for question in asked]
        assert {getattr(answer, "kind", None) for answer in answers} >= {Kind.NEW, Kind.REVISIT}

    def test_no_pages_get_no_answers(self, store: Store) -> None:
        assert store.check([]) == store.find([]) == []


class TestLooking:
    def test_an_index_that_is_not_there_is_empty_and_is_not_begun(
        self, shared: Shared, shared_backend: Backend, page: Page
    ) -> None:
        store, before = shared(), shared_backend.contents()
        assert store.open_read_only() == 0
        assert found(store, query(page, A)) == []
        assert not store.forget(name_of(A))
        assert (store.remembered([name_of(A)], FOR_EVER), store.note("rules")) == ([None], "")
        assert store.info().pages == 0
        store.close()
        assert shared_backend.contents() == before
        # Whoever looked first may remember afterwards.
        assert store.open_read_only() == store.open() == 0
        assert status(store, page, A) is Kind.NEW
        assert store.open_read_only() == 1

    def test_who_only_looks_is_no_fellow_of_a_crawl(
        self, shared: Shared, shared_backend: Backend, page: Page
    ) -> None:
        looker, first, second = shared(), shared(), shared()
        first.open()
        checked(first, query(page, A))
        before = shared_backend.contents()
        assert looker.open_read_only() == 1
        assert [record.url for record in found(looker, query(page, B))] == [A]
        assert shared_backend.contents() == before
        first.close()
        # With nobody at work this is another crawl, to which the page is a revisit and no fellow's.
        second.open()
        assert status(second, page, A) is Kind.REVISIT
        assert looker.forget(name_of(A))
        assert status(second, page, A) is Kind.NEW

    def test_pages_are_seen_in_full_or_not_at_all_while_others_write(
        self, shared: Shared, page: Page
    ) -> None:
        writer, reader, question = shared(), shared(), query(page, A)
        writer.open()
        reader.open()

        def write() -> None:
            for _ in range(100):
                checked(writer, question)
                writer.forget(name_of(A))

        urls = set()
        thread = threading.Thread(target=write)
        thread.start()
        while thread.is_alive():
            urls.add(tuple(record.url for record in found(reader, question)))
        thread.join()
        assert urls <= {(), (A,)}


class TestSessions:
    def test_stores_that_share_one_are_one_crawler(
        self, shared: Shared, clock: Clock, page: Page, other: Page
    ) -> None:
        first, worker, foreign, late = (shared() for _ in range(4))
        assert (first.session, first.open()) == (NO_SESSION, 0)
        session = first.session
        worker.open(session)
        assert NO_SESSION != worker.session == first.session == session
        foreign.open()
        checked(first, query(page, A))
        assert status(worker, page, A) is Kind.REVISIT
        assert status(foreign, page, A) is Kind.EXACT_DUPLICATE
        checked(foreign, query(other, B))
        assert status(worker, other, B) is Kind.EXACT_DUPLICATE
        first.close(leave=False)
        assert first.session == NO_SESSION
        first.open(session)
        assert first.session == session
        assert status(first, other, B) is Kind.EXACT_DUPLICATE
        foreign.close()
        # A worker renews the lease of its session, of 120 seconds, and the last store that leaves
        # ends it.
        clock.wait(119)
        worker.heartbeat()
        clock.wait(119)
        worker.close(leave=False)
        late.open()
        assert status(late, page, A) is Kind.EXACT_DUPLICATE
        first.close()
        assert status(late, page, A) is Kind.REVISIT

    def test_a_lease_from_before_the_clock_went_back_counts_for_nothing(
        self, shared: Shared, clock: Clock, page: Page
    ) -> None:
        dead, successor = shared(), shared()
        dead.open(CrawlSession(0, "elsewhere:1:1"))
        checked(dead, query(page, A))
        successor.open()
        assert status(successor, page, A) is Kind.EXACT_DUPLICATE
        clock.wait(-86400)
        assert status(successor, page, A) is Kind.REVISIT

    @pytest.mark.parametrize("exited", [True, False])
    def test_a_lease_ends_early_when_the_process_of_its_session_has_exited(
        self, shared: Shared, page: Page, exited: bool
    ) -> None:
        first, worker, second = (shared() for _ in range(3))
        holder = exited_process() if exited else process.own_process()
        first.open(CrawlSession(0, holder))
        assert (first.session.process, first.session.number > 0) == (holder, True)
        worker.open(first.session)
        checked(worker, query(page, A))
        second.open()
        assert status(second, page, A) is (Kind.REVISIT if exited else Kind.EXACT_DUPLICATE)

    def test_pages_named_in_later_queries_are_delivered(
        self, shared: Shared, page: Page, other: Page
    ) -> None:
        dead, successor = shared(), shared()
        dead.open(CrawlSession(0, exited_process()))
        checked(dead, replace(query(page, A), is_pending=True))
        checked(dead, replace(query(other, B), is_pending=True, delivered=(name_of(A),)))
        successor.open()
        answers = [checked(successor, query(asked, url)) for asked, url in ((page, A), (other, B))]
        assert [(answer.kind, answer.abandoned) for answer in answers] == [
            (Kind.REVISIT, False),
            (Kind.REVISIT, True),
        ]

    def test_a_process_that_nobody_has_waited_for_has_exited(self) -> None:
        with subprocess.Popen(["true"], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.read()  # it ends with the process
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert process.has_exited(f"{socket.gethostname()}:{child.pid}:")

    def test_where_starts_cannot_be_read_its_id_tells_a_process(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.stores.process.Path", lambda _: Path("/nowhere"))
        assert process.own_process() == f"{socket.gethostname()}:{os.getpid()}:"
        assert (
            process.has_exited(process.own_process()),
            process.has_exited(exited_process()),
        ) == (False, True)


class TestSharing:
    def test_namespaces_know_nothing_of_each_other(self, shared: Shared, page: Page) -> None:
        one, two = shared(), shared(OTHER_NAMESPACE)
        one.open()
        two.open()
        checked(one, query(page, A))
        assert found(two, query(page, A)) == []
        assert [status(two, page, A) for _ in range(2)] == [Kind.NEW, Kind.REVISIT]
        one.clear()
        assert (one.info().pages, two.info().pages) == (0, 1)
        assert not one.forget(name_of(A))
        assert two.forget(name_of(A))

    def test_an_index_of_another_profile_is_refused_with_both_named_until_it_is_cleared(
        self, shared: Shared, shared_backend: Backend, page: Page
    ) -> None:
        store, foreign = shared(), shared(OTHER_PROFILE)
        store.open()
        checked(store, query(page, A))
        before = shared_backend.contents()
        for begin in (foreign.open, foreign.open_read_only, foreign.open_read_only):
            with pytest.raises(
                ProfileMismatchError, match=r"'test'.*clear.*'profile-1'.*'profile-2'"
            ) as caught:
                begin()
            assert (caught.value.index_profile, caught.value.own_profile) == (
                "profile-1",
                "profile-2",
            )
        assert shared_backend.contents() == before
        assert status(store, page, A) is Kind.REVISIT
        foreign.clear()
        assert foreign.open() == 0
        assert status(foreign, page, A) is Kind.NEW
        assert foreign.info().profile == "profile-2"
        for call in (store.check, store.find):
            with pytest.raises(ProfileMismatchError):
                call([query(page, A)])
        assert status(foreign, page, A) is Kind.REVISIT

    def test_who_clears_without_joining_leaves_no_index_and_crawlers_at_work_go_on(
        self, shared: Shared, shared_backend: Backend, page: Page
    ) -> None:
        before = shared_backend.contents()
        shared(OTHER_NAMESPACE).clear()
        assert shared_backend.contents() == before

        worker, keeper, foreign = shared(), shared(), shared(OTHER_PROFILE)
        worker.open()
        checked(worker, query(page, A))
        keeper.clear()
        assert found(worker, query(page, B)) == []
        assert status(worker, page, B) is Kind.NEW
        worker.close()
        keeper.clear()
        # Now it is nobody's: whoever comes first makes it his.
        assert foreign.open() == 0
        with pytest.raises(ProfileMismatchError):
            worker.open()
