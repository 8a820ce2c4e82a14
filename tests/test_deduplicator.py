from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawldedup import Deduplicator, Kind, Verdict, fingerprint
from crawldedup.errors import (
    ClosedError,
    ConfigurationError,
    PageError,
    ProfileMismatchError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.page import Page
from crawldedup.stores.base import Answer, Query
from crawldedup.stores.sqlite.store import MemoryStore
from tests.stores.backends import Backend

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
VOCABULARY = ["".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(3000)]


def article(seed: int, words: int = 400) -> str:
    return " ".join(random.Random(seed).choices(VOCABULARY, k=words))


def edited(text: str, places: int) -> str:
    """The text with one word changed at each of so many places."""
    words = text.split()
    for number in range(places):
        words[(number * 2 + 1) * len(words) // (2 * places)] = f"edit{number}"
    return " ".join(words)


TEXT = article(1)
NEAR = edited(TEXT, 2)
FAR = edited(TEXT, 80)
OTHER = article(2)


@pytest.fixture
def shared_backend(tmp_path: Path) -> Backend:
    """A store that several crawlers can share: what another kind does is told by the contract of stores."""
    return Backend("sqlite", f"sqlite:///{tmp_path}/index.sqlite")


class TestVerdicts:
    def test_each_kind(self) -> None:
        with Deduplicator() as dedup:
            verdicts = [
                dedup.check(A, text=TEXT),
                dedup.check(B, text=NEAR),
                dedup.check(C, text=TEXT),
                dedup.check(A, text=TEXT),
                dedup.check(A + "2", text=FAR),
                dedup.check(A + "3", text="hello there"),
                dedup.check(A + "4", text="hello  there\n"),
                dedup.check(A + "5", text="hello you"),
            ]
        assert [(str(verdict.kind), verdict.original, verdict.copies) for verdict in verdicts] == [
            ("new", None, 0),
            ("near_duplicate", A, 1),
            ("exact_duplicate", A, 2),
            ("revisit", A, 2),
            ("new", None, 0),
            ("thin", None, 0),
            ("exact_duplicate", A + "3", 1),
            ("thin", None, 0),
        ]
        assert [verdict.is_duplicate for verdict in verdicts] == [False, True, True, False, False, False, True, False]
        assert list(map(bool, verdicts)) == [verdict.is_duplicate for verdict in verdicts]
        near, exact = verdicts[1], verdicts[2]
        assert near.similarity is not None
        assert 0.9 < near.similarity < 1
        assert near.hamming is not None
        assert 0 <= near.hamming < 16
        assert (exact.similarity, exact.hamming) == (1.0, 0)
        assert (near.url, near.words) == (B, 400)

    def test_copies_in_mojibake_meet_the_right_page(self) -> None:
        page = f"<p>À l’été {TEXT} château</p>"
        with Deduplicator() as dedup:
            verdicts = [
                dedup.check(A, html=page.encode(), encoding="utf-8"),
                dedup.check(B, html=page.encode(), encoding="iso-8859-1"),
                dedup.check(C, html=page.encode("cp1252"), encoding="utf-8"),
            ]
            kinds = [Kind.NEW, Kind.EXACT_DUPLICATE, Kind.EXACT_DUPLICATE]
            assert [verdict.kind for verdict in verdicts] == kinds

    def test_a_revisit_tells_whether_the_text_changed(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            same, changed = dedup.check(A, text=TEXT), dedup.check(A, text=OTHER)
            assert (same.kind, same.changed, same.similarity) == (Kind.REVISIT, False, 1.0)
            assert (changed.kind, changed.changed) == (Kind.REVISIT, True)
            assert changed.similarity is not None
            assert changed.similarity < 0.3
            assert dedup.check(B, text=OTHER).original == A
            assert dedup.check(C, text=TEXT).kind is Kind.NEW

    def test_a_page_that_cannot_be_read_is_a_page_error_and_not_remembered(self) -> None:
        dedup = Deduplicator()
        with pytest.raises(PageError):
            dedup.check(A, html=b"\0\1\2\3" * 1000)
        assert dedup.info().pages == 0

    @pytest.mark.parametrize("min_words", [300, 500])
    def test_min_words_says_what_is_thin(self, min_words: int) -> None:
        dedup = Deduplicator(min_words=min_words)
        kind = dedup.check(A, text=TEXT).kind
        assert kind is (Kind.NEW if min_words == 300 else Kind.THIN)
        assert dedup.check(B, text=NEAR).is_duplicate is (min_words == 300)

    @pytest.mark.parametrize(("similarity", "places"), [(0.7, 12), (0.8, 7), (0.9, 3), (0.97, 1)])
    def test_similarity_is_the_threshold(self, similarity: float, places: int) -> None:
        with Deduplicator(similarity=similarity) as dedup:
            dedup.check(A, text=TEXT)
            assert dedup.check(B, text=edited(TEXT, places)).kind is Kind.NEAR_DUPLICATE
            assert dedup.check(C, text=edited(TEXT, places * 5)).kind is Kind.NEW

    def test_similarity_may_be_given_for_one_page(self) -> None:
        dedup = Deduplicator(similarity=0.9)
        dedup.check(A, text=TEXT)
        page = dedup.fingerprint(text=edited(TEXT, 10))
        assert dedup.check(B, fingerprint=page, similarity=0.75).is_duplicate
        assert dedup.check(C, fingerprint=page).kind is Kind.NEW
        with pytest.raises(ConfigurationError, match="similarity is 2"):
            dedup.check(C, fingerprint=page, similarity=2)

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(url=st.text(st.characters(exclude_categories=()), max_size=60))
    def test_any_text_may_be_a_url(self, url: str) -> None:
        dedup = Deduplicator(scope="site")
        assert dedup.check(url, text=TEXT).kind is Kind.NEW
        assert dedup.check(url, text=TEXT).kind is Kind.REVISIT
        assert dedup.forget(url) == 1


class TestFindAndForget:
    def test_find_gives_matches_best_first_and_changes_nothing(self) -> None:
        with Deduplicator() as dedup:
            for url, text in ((A, edited(TEXT, 4)), (B, OTHER), (C, TEXT)):
                dedup.check(url, fingerprint=dedup.fingerprint(text=text), similarity=1)
            for _ in range(2):
                found = dedup.find(text=TEXT)
                assert [(match.url, match.exact, match.copies) for match in found] == [(C, True, 0), (A, False, 0)]
                assert found[0].similarity == 1.0 > found[1].similarity > 0.9
                assert found[0].hamming == 0
            assert [match.url for match in dedup.find(text=TEXT, similarity=0.99)] == [C]
            assert dedup.find(text=article(3)) == []
            assert dedup.info().pages == 3

    def test_forget_by_url(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A + "?b=1&a=2", text=TEXT)
            assert [dedup.forget(A), dedup.forget(A + "?a=2&b=1"), dedup.forget(A + "?a=2&b=1")] == [0, 1, 0]
            assert dedup.check(B, text=TEXT).kind is Kind.NEW

    @pytest.mark.parametrize("text", [TEXT, "thin text"])
    def test_forget_by_fingerprint_removes_every_page_with_that_text(self, text: str) -> None:
        with Deduplicator() as dedup:
            # Two pages have one text when it came to the second later.
            dedup.check(A, text=OTHER)
            dedup.check(B, text=text)
            dedup.check(C, text=FAR)
            dedup.check(A, text=text)
            assert dedup.forget(fingerprint(text)) == 2
            assert dedup.forget(fingerprint(text)) == 0
            assert dedup.info().pages == 1
            assert not dedup.check(B, text=text).is_duplicate

    def test_a_near_duplicate_is_not_forgotten_by_fingerprint(self) -> None:
        dedup = Deduplicator()
        dedup.check(A, text=TEXT)
        assert dedup.forget(fingerprint(NEAR)) == 0
        assert dedup.find(text=TEXT)

    def test_a_page_with_an_identity_is_forgotten_by_that(self) -> None:
        with Deduplicator(scope="site") as dedup:
            dedup.check(A, text=TEXT, identity="article 7")
            assert [dedup.forget(A), dedup.forget(A, identity="8"), dedup.forget(A, identity="article 7")] == [0, 0, 1]
            assert dedup.check(A, text=TEXT).kind is Kind.NEW

    def test_info(self) -> None:
        with Deduplicator(namespace="news") as dedup:
            dedup.check(A, text=TEXT)
            info = dedup.info()
        assert (info.pages, info.tables, info.namespace) == (1, 2, "news")
        assert info.bytes > 0
        assert info.profile.startswith("blocks/")
        assert info.store == "memory://"

    def test_a_new_index_says_so_once(self, backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
        for place in ("news", "news", "other"):
            with Deduplicator(backend.url, namespace=place) as dedup:
                dedup.check(A, text=TEXT)
        places = [f"{backend.url}, namespace {place}" for place in ("news", "other") if "memory" not in backend.url]
        assert caplog.messages == [f"crawldedup: a new index begins in {place}" for place in places]


class TestManyPages:
    PAGES = (
        Page(A, text=TEXT),
        Page(B, html=f"<p>{TEXT}</p>".encode("utf-16"), encoding="utf-16"),
        Page(C, fingerprint=fingerprint(NEAR)),
        Page(A, text=TEXT),
        Page(A + "2", text="hello there"),
        Page(A + "3", text=OTHER, identity="7"),
        Page(A + "4", text=TEXT, identity="7"),
        Page(A + "5", text=edited(OTHER, 2)),
        Page(A + "6", text=edited(TEXT, 10), similarity=0.7),
        Page(A + "7", text=TEXT, scope_key="elsewhere"),
    )

    @pytest.mark.parametrize("batch", [1, 3, 100])
    def test_the_verdicts_are_those_of_single_checks(self, batch: int) -> None:
        with Deduplicator() as one, Deduplicator() as two:
            singly = [
                one.check(**{each.name: getattr(page, each.name) for each in fields(page)}) for page in self.PAGES
            ]
            together = list(two.check_many(self.PAGES, batch=batch))
        assert [self.told(verdict) for verdict in together] == [self.told(verdict) for verdict in singly]
        assert {verdict.kind for verdict in together} == set(Kind)

    def told(self, verdict: Verdict) -> object:
        return (verdict.url, verdict.kind, verdict.original, verdict.similarity, verdict.copies, verdict.changed)

    def test_pages_are_taken_as_verdicts_are_asked_for(self) -> None:
        taken: list[int] = []

        def pages() -> Iterator[Page]:
            for number in range(10):
                taken.append(number)
                yield Page(f"{A}/{number}", text=article(number))

        verdicts = Deduplicator().check_many(pages(), batch=4)
        assert taken == []
        next(verdicts)
        assert taken == [0, 1, 2, 3]
        assert len(list(verdicts)) == 9

    def test_a_batch_does_not_wait_for_a_slow_source(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [100.0]
        monkeypatch.setattr("crawldedup.deduplicator.time.monotonic", lambda: now[0])
        taken: list[int] = []

        def pages() -> Iterator[Page]:
            for number in range(10):
                now[0] += 0.3
                taken.append(number)
                yield Page(f"{A}/{number}", text=article(number))

        verdicts = Deduplicator().check_many(pages())
        next(verdicts)
        assert taken == [0, 1]

    @pytest.mark.parametrize("batch", [2, 100])
    def test_a_page_that_cannot_be_read_ends_it_in_its_place(self, batch: int) -> None:
        pages = iter([*self.PAGES[:3], Page(B + "bad", html=b"\0\1\2" * 999), *self.PAGES[3:]])
        with Deduplicator() as dedup:
            verdicts = dedup.check_many(pages, batch=batch)
            assert [next(verdicts).url for _ in range(3)] == [A, B, C]
            with pytest.raises(PageError):
                next(verdicts)
            assert dedup.info().pages == 1
            assert [verdict.url for verdict in dedup.check_many(pages)] == [page.url for page in self.PAGES[3:]]

    @pytest.mark.parametrize("batch", [0, 1.5, "3"])
    def test_a_batch_is_at_least_one_page(self, batch: Any) -> None:
        with pytest.raises(ConfigurationError, match=f"batch is {batch!r}"):
            Deduplicator().check_many([], batch=batch)

    @pytest.mark.parametrize("page", [5, None])
    def test_other_errors_come_in_their_place_too(self, page: Any) -> None:
        def all_pages() -> Iterator[Page]:
            yield from self.PAGES[:2]
            if page is None:
                raise ConfigurationError("each must be right in the file")
            yield page

        verdicts = Deduplicator().check_many(all_pages())
        assert [next(verdicts).url for _ in range(2)] == [A, B]
        with pytest.raises(ConfigurationError, match="each must be"):
            next(verdicts)

    def test_a_store_that_fails_in_the_middle_has_answered_what_came_before(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The first page pays for imports.
        monkeypatch.setattr("crawldedup.deduplicator.BATCH_SECONDS", 100)
        real = MemoryStore.check

        def failing(self: MemoryStore, queries: Sequence[Query]) -> list[Answer | StoreError]:
            return real(self, queries[:4]) + [StoreUnavailableError("gone")] * (len(queries) - 4)

        dedup = Deduplicator()
        verdicts = dedup.check_many(self.PAGES)
        monkeypatch.setattr(MemoryStore, "check", failing)
        assert [next(verdicts).kind for _ in range(4)][-1] is Kind.REVISIT
        with pytest.raises(StoreUnavailableError):
            next(verdicts)
        monkeypatch.undo()
        assert [verdict.url for verdict in dedup.check_many(self.PAGES[4:])] == [page.url for page in self.PAGES[4:]]

    def test_behind_a_page_that_the_store_refuses_the_iteration_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = MemoryStore.check

        def failing(self: MemoryStore, queries: Sequence[Query]) -> list[Answer | StoreError]:
            answers = zip(queries, real(self, queries), strict=True)
            return [StoreFullError("no room") if query.record.url == B else answer for query, answer in answers]

        monkeypatch.setattr(MemoryStore, "check", failing)
        verdicts = Deduplicator().check_many(self.PAGES[:3])
        assert next(verdicts).url == A
        with pytest.raises(StoreFullError):
            next(verdicts)
        assert [verdict.url for verdict in verdicts] == [C]


class TestRetention:
    @pytest.fixture
    def now(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        now = [1e9]
        # The store takes its clock when it is made.
        monkeypatch.setattr(MemoryStore.__init__, "__kwdefaults__", {"clock": lambda: now[0]})
        return now

    @pytest.mark.parametrize("refresh", [True, False])
    def test_the_time_to_live_can_count_from_when_a_page_was_added(self, now: list[float], refresh: bool) -> None:
        dedup = Deduplicator(ttl="1h", ttl_refresh=refresh)
        dedup.check(A, text=TEXT)
        now[0] += 3000
        assert dedup.check(B, text=TEXT).is_duplicate
        now[0] += 3000
        assert dedup.check(C, text=TEXT).is_duplicate is refresh


class TestWithoutUrls:
    def test_an_index_without_urls_judges_alike_but_names_no_original(self) -> None:
        pages = TestManyPages.PAGES
        with (
            Deduplicator() as one,
            Deduplicator(store_urls=False) as two,
        ):
            named, unnamed = list(one.check_many(pages)), list(two.check_many(pages))
            assert [replace(verdict, original=None) for verdict in named] == unnamed
            assert two.check(A, text=TEXT).kind is Kind.REVISIT
            assert {match.url for match in two.find(text=TEXT)} == {""}
            assert two.forget(A) == 1

    def test_a_page_remembered_without_its_url_has_none_for_anybody(self, shared_backend: Backend) -> None:
        with Deduplicator(shared_backend.url, store_urls=False) as dedup:
            dedup.check(A, text=TEXT)
        with Deduplicator(shared_backend.url) as dedup:
            assert dedup.check(B, text=TEXT).original is None
            dedup.check(C, text=OTHER)
            assert dedup.check(B, text=OTHER).original == C


class TestScopes:
    CASES = pytest.mark.parametrize(
        ("scope", "elsewhere", "copies_found"),
        [
            ("global", {"url": "https://other.net/x"}, True),
            ("site", {"url": "https://www.example.com/x"}, True),
            ("site", {"url": "https://other.net/x"}, False),
            ("spider", {"url": A + "2", "scope_key": "books"}, True),
            ("spider", {"url": A + "2", "scope_key": "news"}, False),
        ],
    )

    @CASES
    @pytest.mark.parametrize("texts", [(TEXT, TEXT), (TEXT, NEAR), ("thin text", "thin text")])
    def test_a_page_is_compared_with_those_of_its_scope_only(
        self, scope: str, elsewhere: dict[str, Any], copies_found: bool, texts: tuple[str, str]
    ) -> None:
        key = {"scope_key": "books"} if scope == "spider" else {}
        with Deduplicator(scope=scope) as dedup:
            dedup.check(A, text=texts[0], **key)
            assert len(dedup.find(text=texts[1], **elsewhere)) == copies_found
            assert dedup.check(text=texts[1], **elsewhere).is_duplicate is copies_found
            assert dedup.check(B, text=texts[1], **key).original == A

    def test_one_url_may_be_in_two_scopes(self) -> None:
        with Deduplicator(scope="spider") as dedup:
            dedup.check(A, text=TEXT, scope_key="books")
            assert dedup.check(A, text=TEXT, scope_key="news").kind is Kind.NEW
            assert dedup.forget(A, scope_key="news") == 1
            assert dedup.check(A, text=TEXT, scope_key="books").kind is Kind.REVISIT
            assert dedup.forget(fingerprint(TEXT), scope_key="books") == 1


class TestSharing:
    def test_an_index_of_other_settings_is_refused_until_it_is_cleared(self, shared_backend: Backend) -> None:
        with Deduplicator(shared_backend.url, extractor="text") as one:
            one.check(A, text=TEXT)
        two = Deduplicator(shared_backend.url)
        for call in (two.open, two.info, lambda: two.check(A, text=TEXT), lambda: two.find(text=TEXT)):
            with pytest.raises(ProfileMismatchError, match=r"'text/.*'blocks/"):
                call()
        with Deduplicator(shared_backend.url, extractor="text") as one:
            assert one.check(A, text=TEXT).kind is Kind.REVISIT
        two.clear()
        assert two.check(A, text=TEXT).kind is Kind.NEW
        two.close()

    def test_threads_may_share_an_instance(self) -> None:
        pages = [fingerprint(article(seed)) for seed in range(20)]
        dedup = Deduplicator()
        kinds: list[Kind] = []
        start = threading.Barrier(4)

        def crawl(name: str) -> None:
            start.wait()
            kinds.extend(
                [dedup.check(f"{A}/{name}/{number}", fingerprint=page).kind for number, page in enumerate(pages)]
            )

        threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(kinds) == {Kind.NEW: 20, Kind.EXACT_DUPLICATE: 60}
        dedup.close()


class TestLife:
    @pytest.mark.parametrize("url", ["sqlite:///folder/index.sqlite", "redis://127.0.0.1:1/0"])
    def test_nothing_is_opened_before_the_first_use(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Deduplicator(url).close()
        assert list(tmp_path.iterdir()) == []

    def test_looking_begins_no_index_and_joins_no_crawl(self, shared_backend: Backend) -> None:
        def look() -> tuple[list[str], Kind, int]:
            with contextlib.closing(Deduplicator(shared_backend.url, ttl="1d")) as dedup:
                page = dedup.fingerprint(text=TEXT)
                verdict = dedup.check(A, fingerprint=page, remember=False)
                return [match.url for match in dedup.find(text=TEXT)], verdict.kind, dedup.info().pages

        before = shared_backend.contents()
        assert look() == ([], Kind.NEW, 0)
        assert shared_backend.contents() == before
        with Deduplicator(shared_backend.url) as dedup:
            dedup.check(A, text=TEXT)
        before = shared_backend.contents()
        assert look() == ([A], Kind.REVISIT, 1)
        assert shared_backend.contents() == before

    def test_closing_may_be_repeated_and_a_closed_one_opens_again(self) -> None:
        dedup = Deduplicator()
        dedup.check(A, text=TEXT)
        dedup.close()
        dedup.close()
        with dedup:
            assert dedup.check(A, text=TEXT).kind is Kind.REVISIT
        dedup.open()
        assert dedup.check(A, text=TEXT).kind is Kind.REVISIT
        dedup.close()

    @pytest.mark.parametrize(
        "use",
        [
            lambda dedup: dedup.check(A, text=TEXT),
            lambda dedup: dedup.check(A, fingerprint=dedup.fingerprint(text=TEXT), remember=False),
            lambda dedup: list(dedup.check_many([Page(A, text=TEXT)])),
            lambda dedup: dedup.find(text=TEXT),
            lambda dedup: dedup.explain(A, text=TEXT),
            lambda dedup: dedup.forget(A),
            lambda dedup: dedup.clear(),
            lambda dedup: dedup.info(),
            lambda dedup: dedup.heartbeat(),
        ],
    )
    def test_a_closed_one_says_so(self, use: Callable[[Deduplicator], object]) -> None:
        dedup = Deduplicator(max_pages=9)
        dedup.check(A, text=TEXT)
        dedup.close()
        with pytest.raises(ClosedError, match=r"'default' of memory:// is closed; call open\(\)"):
            use(dedup)

    def test_it_tells_its_store_and_its_state(self) -> None:
        dedup = Deduplicator("redis://:secret@localhost", namespace="news")
        assert repr(dedup) == "<Deduplicator redis://:***@localhost namespace='news' similarity=0.9 (not opened)>"
        with Deduplicator() as dedup:
            assert "(open)" in repr(dedup)
        assert "(closed)" in repr(dedup)

    def test_processes_of_one_crawl_share_its_session(self, shared_backend: Backend) -> None:
        """A page that one of them delivered is a revisit for the other; a third crawler takes it for a copy."""
        with Deduplicator(shared_backend.url) as first:
            session = first.session
            assert session is not None
            first.check(A, text=TEXT)
            second = Deduplicator(shared_backend.url)
            second.open(session)
            assert second.session == session
            assert second.check(A, text=TEXT).kind is Kind.REVISIT
            second.close(leave=False)
            with Deduplicator(shared_backend.url) as third:
                assert third.session != session
                assert third.check(A, text=TEXT).kind is Kind.EXACT_DUPLICATE
            assert second.session is None

    def test_a_crawler_at_work_is_heard_of_in_time(
        self, shared_backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However long a crawl takes, its fellows stay its fellows."""
        monkeypatch.setattr("crawldedup.deduplicator.HEARTBEAT_SECONDS", 0)
        with Deduplicator(shared_backend.url) as one:
            one.check(A, text=TEXT)
            self.end_all_leases(shared_backend)
            one.check(B, text=OTHER)
            with Deduplicator(shared_backend.url) as two:
                assert two.check(A, text=TEXT).kind is Kind.EXACT_DUPLICATE

    def test_one_who_takes_many_verdicts_slowly_is_at_work_too(
        self, shared_backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("crawldedup.deduplicator.HEARTBEAT_SECONDS", 0)
        with Deduplicator(shared_backend.url) as one, Deduplicator(shared_backend.url) as two:
            verdicts = one.check_many(Page(url, text=text) for url, text in ((A, TEXT), (B, OTHER)))
            next(verdicts)
            two.close()
            self.end_all_leases(shared_backend)
            next(verdicts)
            two.open()
            assert two.check(A, text=TEXT).kind is Kind.EXACT_DUPLICATE

    def end_all_leases(self, backend: Backend) -> None:
        with sqlite3.connect(backend.url.removeprefix("sqlite:///")) as db:
            db.execute("DELETE FROM crawlers")
        db.close()


def test_a_crawler_that_died_without_a_word_is_no_fellow(shared_backend: Backend) -> None:
    program = (
        "import os, sys; from crawldedup import Deduplicator; dedup = Deduplicator(sys.argv[1], namespace='died'); "
        "print(dedup.check('https://a.example/', text=sys.argv[2]).kind, flush=True); os._exit(9)"
    )
    died = subprocess.run(
        [sys.executable, "-c", program, shared_backend.url, NEAR], capture_output=True, text=True, check=False
    )
    assert (died.stdout.strip(), died.returncode) == ("new", 9)
    with Deduplicator(shared_backend.url, namespace="died") as dedup:
        assert dedup.check("https://a.example/", text=NEAR).kind == Kind.REVISIT
