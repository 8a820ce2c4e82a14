"""What every store does, whatever it is made of. See `crawldedup.stores.base`."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crawldedup.errors import ProfileMismatchError
from crawldedup.search.decision import Prefilter
from crawldedup.search.plan import ProbePlan
from crawldedup.search.query import TABLES
from crawldedup.stores.base import (
    LEASE_SECONDS,
    NO_SESSION,
    Answer,
    CrawlSession,
    Query,
    Record,
    Retention,
    Status,
    Store,
)
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.sqlite.store import MemoryStore
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    EQUAL_ONLY,
    LAYOUT,
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


def answered(store: Store, questions: list[Query]) -> list[Answer]:
    answers = store.check(questions)
    assert all(isinstance(answer, Answer) for answer in answers)
    return answers  # type: ignore[return-value]


def record_of(answer: Answer) -> Record:
    assert answer.record is not None
    return answer.record


def exited_process() -> str:
    """The name of a process of this machine that has exited."""
    process = subprocess.Popen(["true"])
    process.wait()
    return f"{socket.gethostname()}:{process.pid}:"


def whole_tables(page: Page, url: str, max_candidates: int = 256) -> Query:
    """A question that reads both tables from end to end."""
    lows = np.array([0, 1 << 63] * 2, np.uint64)
    plan = ProbePlan(np.array([0, 0, 1, 1]), lows, lows + np.uint64((1 << 63) - 1), 1.0)
    return replace(query(page, url, max_candidates=max_candidates), plan=plan, prefilter=None)


@pytest.mark.parametrize(
    ("copy_of", "status"), [(lambda page: page, Status.EXACT), (near_page, Status.NEAR)], ids=["exact", "near"]
)
def test_a_copy_names_its_original_and_is_not_added(
    store: Store, clock: Clock, page: Page, copy_of: object, status: Status
) -> None:
    checked(store, query(page, A))
    clock.wait(60)
    copy = copy_of(page)  # type: ignore[operator]
    first = checked(store, query(copy, B))
    second = checked(store, query(copy, C))
    assert [first.status, second.status] == [status] * 2
    assert [first.pages, second.pages] == [1, 1]
    assert [first.candidates, second.candidates] == [1, 1]
    assert [record_of(first).copies, record_of(second).copies] == [1, 2]
    now = int(clock.now)
    assert first.record == replace(query(page, A).record, added_at=now - 60, seen_at=now, copies=1)


def test_an_equal_digest_suffices_however_the_signatures_differ(store: Store, page: Page) -> None:
    unlike = replace(page, verify_weights=-page.verify_weights)
    checked(store, query(unlike, A))
    assert checked(store, query(replace(page, digest=page.digest ^ 1), B)).status is Status.NEW
    store.forget(name_of(B))
    answer = checked(store, query(page, C))
    assert (answer.status, record_of(answer).url) == (Status.EXACT, A)
    assert [record.url for record in found(store, query(page, C))] == [A]


def ranked(page: Page, url: str, rank: int) -> Query:
    question = query(page, url)
    return replace(question, record=replace(question.record, rank=rank))


def test_the_nearest_of_several_originals_is_named(store: Store, page: Page, rng: np.random.Generator) -> None:
    nearer, farther = near_page(page), near_page(near_page(page))
    far = replace(page, verify_weights=page.verify_weights.copy(), digest=1)
    far.verify_weights[np.abs(page.verify_weights).argsort()[:20]] *= -1
    for url, text in ((A, far), (B, nearer)):
        # With a threshold that accepts no differing bit, near pages are admitted beside each other.
        strict = replace(query(text, url), rule=EQUAL_ONLY)
        assert checked(store, strict).status is Status.NEW
    assert farther.signature == page.signature
    assert record_of(checked(store, query(page, C))).url == B
    assert [record.url for record in found(store, query(page, C))] == [B, A]


def test_only_an_exact_copy_of_a_thin_page_is_a_duplicate(store: Store, rng: np.random.Generator) -> None:
    page, other = thin_page(rng), thin_page(rng)
    # Even where bits agree by chance, the digest decides.
    lookalike = replace(query(page, C), record=replace(query(page, C).record, digest=5))
    assert checked(store, query(page, A)).status is Status.NEW
    assert checked(store, query(other, B)).status is Status.NEW
    assert checked(store, lookalike).status is Status.NEW
    assert checked(store, query(page, f"{A}2")).status is Status.EXACT
    assert [record.url for record in found(store, query(page, ""))] == [A]


def test_a_note_is_kept_until_the_index_is_cleared(store: Store, page: Page) -> None:
    assert store.note("rules") == ""
    assert store.note("rules", "one") == store.note("rules") == "one"
    assert store.note("rules", "two \N{SNOWMAN}") == store.note("rules") == "two \N{SNOWMAN}"
    assert store.note("others") == ""
    checked(store, query(page, A))
    store.clear()
    assert store.note("rules") == ""
    assert checked(store, query(page, A)).status is Status.NEW


def test_info_tells_pages_bytes_tables_profile_and_namespace(store: Store, rng: np.random.Generator) -> None:
    empty = store.info()
    assert (empty.pages, empty.tables, empty.profile, empty.namespace) == (0, 2, "profile-1", "test")
    answered(store, [filler(rng, f"{A}/{number}") for number in range(800)])
    full = store.info()
    assert full.pages == 800
    assert 800 * 100 < full.bytes < 800 * 1000 + 100_000
    assert 800 * 8 < full.table_bytes < full.bytes / 2


def test_who_looks_at_an_index_that_is_not_there_finds_it_empty_and_does_not_begin_it(
    shared_backend: Backend, clock: Clock, page: Page
) -> None:
    store = shared_backend.store(LAYOUT, clock)
    before = shared_backend.contents()
    assert store.open_read_only() == 0
    assert found(store, query(page, A)) == []
    assert not store.forget(name_of(A))
    assert (store.remembered([name_of(A)], Retention()), store.note("rules")) == ([None], "")
    assert store.info().pages == 0
    store.close()
    assert shared_backend.contents() == before
    # Whoever looked first may remember afterwards.
    assert store.open_read_only() == store.open() == 0
    assert checked(store, query(page, A)).status is Status.NEW
    assert store.open_read_only() == 1
    store.close()


def test_who_only_looks_is_no_fellow_of_a_crawl(shared_backend: Backend, clock: Clock, page: Page, other: Page) -> None:
    looker, first, second = (shared_backend.store(LAYOUT, clock) for _ in range(3))
    first.open()
    checked(first, query(page, A))
    before = shared_backend.contents()
    assert looker.open_read_only() == 1
    assert [record.url for record in found(looker, query(page, B))] == [A]
    assert shared_backend.contents() == before
    first.close()
    # With nobody at work this is another crawl, to which the page is a revisit and no fellow's.
    second.open()
    assert checked(second, query(page, A)).status is Status.REVISIT
    assert looker.forget(name_of(A))
    assert checked(second, query(page, A)).status is Status.NEW
    looker.close()
    second.close()


def test_a_closed_store_can_be_opened_again_and_closed_twice(store: Store, page: Page) -> None:
    checked(store, query(page, A))
    store.close()
    store.close()
    assert store.open_read_only() == store.open() == 1
    assert checked(store, query(page, A)).status is Status.REVISIT
    assert store.info().store.startswith(("memory://", "sqlite:///", "redis"))
    assert MemoryStore("memory://", LAYOUT).open() == 0


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
    assert record_of(checked(store, query(page, A))).url == kept
    assert record_of(checked(store, query(page, url))).url == kept
    assert store.forget(name_of(url))


def test_pages_whose_keys_the_rule_refuses_are_not_compared(store: Store, page: Page, rng: np.random.Generator) -> None:
    for number in range(60):
        checked(store, query(random_page(rng), f"{A}/{number}"))
    checked(store, query(page, B))
    # In each table's keys it differs in one bit or two.
    near = replace(page, search_weights=page.search_weights.copy())
    near.search_weights[[0, 40]] *= -1
    for limit, expected in ((0, []), (1, [B]), (None, [B])):
        rule = None if limit is None else Prefilter(bytes([1]) * 64, limit)
        assert [record.url for record in found(store, replace(whole_tables(near, C), prefilter=rule))] == expected
    likely = query(page, C).prefilter
    answers = [checked(store, replace(whole_tables(page, C), prefilter=rule)) for rule in (likely, None)]
    assert [answer.status for answer in answers] == [Status.EXACT] * 2
    assert answers[0].candidates < 30 < answers[1].candidates == 61


class TestBatches:
    @pytest.mark.parametrize(
        "limits", [{}, {"max_keys": 24}, {"max_candidates": 4}, {"max_keys": 40, "exact_only": True}]
    )
    def test_pages_of_a_batch_that_crowd_are_compared_as_if_they_came_alone(
        self, backend: Backend, store: Store, clock: Clock, rng: np.random.Generator, limits: dict[str, Any]
    ) -> None:
        """So many that not all keys in their ranges may be read."""
        template = random_page(rng)
        pages = [replace(random_page(rng), search_weights=template.search_weights) for _ in range(70)]
        pages += [near_page(page) for page in pages] + [random_page(rng) for _ in range(20)]
        pages += [similar_page(page, 0.95, rng) for page in pages[::4]]
        rng.shuffle(pages)
        urls = [f"{A}/{number}" for number in rng.integers(150, size=len(pages))]
        questions = [replace(ranked(page, url, len(url) % 2), **limits) for page, url in zip(pages, urls, strict=True)]
        alone = backend.store(OTHER_NAMESPACE, clock)
        alone.open()
        answers = answered(store, questions[:40]) + answered(store, questions[40:])
        assert answers == [checked(alone, question) for question in questions]
        assert {answer.status for answer in answers} >= {Status.NEW, Status.REVISIT}

    def test_no_pages_get_no_answers(self, store: Store) -> None:
        assert store.check([]) == []
        assert store.find([]) == []


class TestMaxCandidates:
    def test_no_more_records_are_compared(self, store: Store, rng: np.random.Generator) -> None:
        for number in range(60):
            checked(store, query(random_page(rng), f"{A}/{number}"))
        counts = [
            checked(store, whole_tables(random_page(rng), f"{B}/{most}", most)).candidates for most in (1, 10, 59, 200)
        ]
        assert counts == [1, 10, 59, 63]

    def test_the_best_ranges_are_read_first(self, store: Store, page: Page, rng: np.random.Generator) -> None:
        for number in range(60):
            checked(store, query(random_page(rng), f"{A}/{number}"))
        checked(store, query(page, B))
        narrow, whole = query(page, C).plan, whole_tables(page, C).plan
        for best in (0, 1):
            key = np.array([TABLES[best].key(page.search)], np.uint64)
            plan = ProbePlan(
                np.array([best, *whole.tables]),
                np.concatenate([key, whole.lows]),
                np.concatenate([key, whole.highs]),
                narrow.recall,
            )
            question = query(page, f"{C}/{best}", max_candidates=20)
            answer = checked(store, replace(question, plan=plan, prefilter=None))
            assert (answer.status, answer.candidates) == (Status.EXACT, 20)


class TestOneIndexForMany:
    """Stores that outlive a process and are shared between them."""

    def test_find_sees_pages_in_full_or_not_at_all_while_others_write(
        self, shared_backend: Backend, clock: Clock, page: Page
    ) -> None:
        writer, reader = (shared_backend.store(LAYOUT, clock) for _ in range(2))
        writer.open()
        reader.open()
        question = query(page, A)

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

    def test_a_lease_from_before_the_clock_went_back_counts_for_nothing(
        self, shared_backend: Backend, clock: Clock, page: Page
    ) -> None:
        dead, successor = (shared_backend.store(LAYOUT, clock) for _ in range(2))
        dead.open(CrawlSession(0, "elsewhere:1:1"))
        checked(dead, query(page, A))
        successor.open()
        assert checked(successor, query(page, A)).status is Status.EXACT
        clock.now -= 86400
        assert checked(successor, query(page, A)).status is Status.REVISIT

    def test_stores_that_share_a_session_are_one_crawler(
        self, shared_backend: Backend, clock: Clock, page: Page, other: Page
    ) -> None:
        first, worker, foreign, late = (shared_backend.store(LAYOUT, clock) for _ in range(4))
        assert (first.session, first.open()) == (NO_SESSION, 0)
        session = first.session
        assert session != NO_SESSION
        worker.open(session)
        assert worker.session == first.session == session
        foreign.open()
        checked(first, query(page, A))
        assert checked(worker, query(page, A)).status is Status.REVISIT
        assert checked(foreign, query(page, A)).status is Status.EXACT
        checked(foreign, query(other, B))
        assert checked(worker, query(other, B)).status is Status.EXACT
        first.close(leave=False)
        assert first.session == NO_SESSION
        first.open(session)
        assert first.session == session
        assert checked(first, query(other, B)).status is Status.EXACT
        foreign.close()
        # A worker renews the lease of its session, and the last store that leaves ends it.
        clock.wait(LEASE_SECONDS - 1)
        worker.heartbeat()
        clock.wait(LEASE_SECONDS - 1)
        worker.close(leave=False)
        late.open()
        assert checked(late, query(page, A)).status is Status.EXACT
        first.close()
        assert checked(late, query(page, A)).status is Status.REVISIT

    def test_a_process_that_nobody_has_waited_for_has_exited(self) -> None:
        with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.read()  # it ends with the process
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert has_exited(f"{socket.gethostname()}:{process.pid}:")

    @pytest.mark.parametrize("exited", [True, False])
    def test_a_lease_ends_early_when_the_process_of_its_session_has_exited(
        self, shared_backend: Backend, clock: Clock, page: Page, exited: bool
    ) -> None:
        first, worker, second = (shared_backend.store(LAYOUT, clock) for _ in range(3))
        holder = exited_process() if exited else own_process()
        first.open(CrawlSession(0, holder))
        assert (first.session.process, first.session.number > 0) == (holder, True)
        worker.open(first.session)
        checked(worker, query(page, A))
        second.open()
        expected = Status.REVISIT if exited else Status.EXACT
        assert checked(second, query(page, A)).status is expected

    def test_namespaces_know_nothing_of_each_other(self, shared_backend: Backend, clock: Clock, page: Page) -> None:
        one, two = shared_backend.store(LAYOUT, clock), shared_backend.store(OTHER_NAMESPACE, clock)
        one.open()
        two.open()
        checked(one, query(page, A))
        assert found(two, query(page, A)) == []
        assert checked(two, query(page, A)).status is Status.NEW
        assert checked(two, query(page, A)).status is Status.REVISIT
        one.clear()
        assert (one.info().pages, two.info().pages) == (0, 1)
        assert not one.forget(name_of(A))
        assert two.forget(name_of(A))

    def test_an_index_of_another_profile_is_refused_with_both_named_and_left_as_it_was(
        self, shared_backend: Backend, clock: Clock, page: Page
    ) -> None:
        store, foreign = shared_backend.store(LAYOUT, clock), shared_backend.store(OTHER_PROFILE, clock)
        store.open()
        checked(store, query(page, A))
        before = shared_backend.contents()
        with pytest.raises(ProfileMismatchError, match=r"'test'.*'profile-1'.*'profile-2'.*clear") as caught:
            foreign.open()
        for _ in range(2):
            with pytest.raises(ProfileMismatchError):
                foreign.open_read_only()
        assert (caught.value.index_profile, caught.value.own_profile) == ("profile-1", "profile-2")
        assert shared_backend.contents() == before
        assert checked(store, query(page, A)).status is Status.REVISIT

    def test_who_clears_without_joining_leaves_no_index_and_crawlers_at_work_go_on(
        self, shared_backend: Backend, clock: Clock, page: Page
    ) -> None:
        before = shared_backend.contents()
        shared_backend.store(OTHER_NAMESPACE, clock).clear()
        assert shared_backend.contents() == before

        worker, keeper, foreign = (shared_backend.store(layout, clock) for layout in (LAYOUT, LAYOUT, OTHER_PROFILE))
        worker.open()
        checked(worker, query(page, A))
        keeper.clear()
        assert found(worker, query(page, B)) == []
        assert checked(worker, query(page, B)).status is Status.NEW
        worker.close()
        keeper.clear()
        keeper.close()
        # Now it is nobody's: whoever comes first makes it his.
        assert foreign.open() == 0
        with pytest.raises(ProfileMismatchError):
            worker.open()
        foreign.close()

    def test_clear_is_the_way_out_of_another_profile(self, shared_backend: Backend, clock: Clock, page: Page) -> None:
        store, foreign = shared_backend.store(LAYOUT, clock), shared_backend.store(OTHER_PROFILE, clock)
        store.open()
        checked(store, query(page, A))
        foreign.clear()
        assert foreign.open() == 0
        assert checked(foreign, query(page, A)).status is Status.NEW
        assert foreign.info().profile == "profile-2"
        for call in (store.check, store.find):
            with pytest.raises(ProfileMismatchError):
                call([query(page, A)])
        assert checked(foreign, query(page, A)).status is Status.REVISIT
