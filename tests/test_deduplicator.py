"""What a `Deduplicator` does with pages and its index.

`test_verdicts` has what verdicts say besides their kind.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, get_type_hints

import pytest

from crawldedup import Deduplicator, Fingerprint, Kind, Page, Verdict, compare, fingerprint
from crawldedup.errors import (
    ClosedError,
    PageError,
    ProfileMismatchError,
    StoreError,
    StoreUnavailableError,
)
from crawldedup.options import OptionValues
from crawldedup.page import PageValues
from crawldedup.stores.sqlite.store import MemoryStore
from tests.stores.backends import Backend
from tests.stories import FAR, HALF_ALIKE, NEAR, OTHER, TEXT, A, B, C, edited, jaccard, story

LAMP = " ".join(f"The lamp stands at pier {number}." for number in range(30))


@pytest.fixture
def shared(tmp_path: Path) -> Backend:
    """A store that several crawlers can share: what another kind does is told by the contract of
    stores.
    """
    return Backend("sqlite", f"sqlite:///{tmp_path}/index.sqlite")


@pytest.fixture
def dedup() -> Iterator[Deduplicator]:
    with Deduplicator() as dedup:
        yield dedup


def read(text: str) -> Fingerprint:
    """Return a fingerprint for an index without a key, as those of tests are."""
    return fingerprint(text)


@pytest.mark.parametrize(
    ("call", "name", "values"),
    [
        (Deduplicator.__init__, "options", OptionValues),
        (Deduplicator.check, "page", PageValues),
        (Deduplicator.check_with_text, "page", PageValues),
        (Deduplicator.find, "page", PageValues),
        (Deduplicator.explain, "page", PageValues),
        (Deduplicator.fingerprint, "page", PageValues),
        (compare, "options", OptionValues),
    ],
)
def test_type_checkers_know_every_keyword(
    call: Callable[..., object], name: str, values: type
) -> None:
    assert get_type_hints(call)[name] == Unpack[values]  # type: ignore[valid-type]


class TestVerdicts:
    def test_each_kind(self, dedup: Deduplicator) -> None:
        pages = {A: TEXT, B: NEAR, C: TEXT, A + "#top": TEXT, A + "2": FAR, A + "3": "hello there"}
        pages |= {A + "4": "hello  there\n", A + "5": "hello you"}
        verdicts = [dedup.check(url, text=text) for url, text in pages.items()]
        assert [
            (str(verdict.kind), verdict.original, verdict.copies, bool(verdict))
            for verdict in verdicts
        ] == [
            ("new", None, 0, False),
            ("near_duplicate", A, 1, True),
            ("exact_duplicate", A, 2, True),
            ("revisit", A, 2, False),
            ("new", None, 0, False),
            ("thin", None, 0, False),
            ("exact_duplicate", A + "3", 1, True),
            ("thin", None, 0, False),
        ]
        assert list(map(bool, verdicts)) == [verdict.is_duplicate for verdict in verdicts]
        near, exact = verdicts[1], verdicts[2]
        assert near.similarity == pytest.approx(jaccard(TEXT, NEAR), abs=0.05)
        assert near.hamming is not None
        assert 0 <= near.hamming < 16
        assert (exact.similarity, exact.hamming) == (1.0, 0)
        assert (near.url, near.words) == (B, 400)

    def test_a_page_that_cannot_be_read_is_a_page_error_and_not_remembered(
        self, dedup: Deduplicator
    ) -> None:
        with pytest.raises(PageError):
            dedup.check(A, html=b"\0\1\2\3" * 1000)
        assert dedup.info().pages == 0

    @pytest.mark.parametrize("min_words", [300, 500])
    def test_min_words_says_what_is_thin(self, min_words: int) -> None:
        dedup = Deduplicator(min_words=min_words)
        assert dedup.check(A, text=TEXT).kind is (Kind.NEW if min_words == 300 else Kind.THIN)
        assert dedup.check(B, text=NEAR).is_duplicate is (min_words == 300)

    @pytest.mark.parametrize(("similarity", "places"), [(0.7, 12), (0.8, 7), (0.9, 3), (0.97, 1)])
    def test_similarity_is_the_threshold(self, similarity: float, places: int) -> None:
        for dedup, page in (
            (Deduplicator(similarity=similarity), {}),
            (Deduplicator(), {"similarity": similarity}),
        ):
            dedup.check(A, text=TEXT)
            assert dedup.check(B, text=edited(TEXT, places), **page).kind is Kind.NEAR_DUPLICATE
            assert dedup.check(C, text=edited(TEXT, places * 5), **page).kind is Kind.NEW

    @pytest.mark.parametrize("refresh", [True, False])
    def test_the_time_to_live_can_count_from_when_a_page_was_added(
        self, refresh: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [1e9]
        # The store takes its clock when it is made.
        monkeypatch.setattr(MemoryStore.__init__, "__kwdefaults__", {"clock": lambda: now[0]})
        dedup = Deduplicator(ttl="1h", ttl_refresh=refresh)
        dedup.check(A, text=TEXT)
        now[0] += 3000
        assert dedup.check(B, text=TEXT).is_duplicate
        now[0] += 3000
        assert dedup.check(C, text=TEXT).is_duplicate is refresh


class TestLooking:
    def test_a_page_that_is_not_remembered_gets_its_verdict_and_changes_nothing(
        self, dedup: Deduplicator
    ) -> None:
        def look(url: str, text: str) -> tuple[Kind, str | None, int, bool]:
            verdict = dedup.check(url, fingerprint=dedup.fingerprint(text=text), remember=False)
            return verdict.kind, verdict.original, verdict.copies, verdict.changed

        assert look(A, TEXT) == (Kind.NEW, None, 0, False)
        assert look(A, "three thin words") == (Kind.THIN, None, 0, False)
        assert dedup.info().pages == 0
        dedup.check(A, text=TEXT)
        for _ in range(2):
            assert look(A, TEXT) == (Kind.REVISIT, A, 0, False)
            assert look(A, NEAR) == (Kind.REVISIT, A, 0, True)
            assert look(B, TEXT) == (Kind.EXACT_DUPLICATE, A, 1, False)
            assert look(B, NEAR) == (Kind.NEAR_DUPLICATE, A, 1, False)
            assert look(B, FAR) == (Kind.NEW, None, 0, False)
        assert dedup.info().pages == 1
        assert dedup.check(B, text=NEAR).copies == 1
        assert look(B, NEAR) == (Kind.NEAR_DUPLICATE, A, 2, False)

    def test_find_gives_matches_best_first_and_changes_nothing(self, dedup: Deduplicator) -> None:
        for url, text in ((A, edited(TEXT, 3)), (B, OTHER), (C, TEXT)):
            dedup.check(url, text=text, similarity=1)
        for _ in range(2):
            found = dedup.find(text=TEXT)
            assert [(match.url, match.exact, match.copies) for match in found] == [
                (C, True, 0),
                (A, False, 0),
            ]
            assert found[0].similarity == 1.0 > found[1].similarity > 0.9
            assert found[0].hamming == 0
        assert [match.url for match in dedup.find(text=TEXT, similarity=0.99)] == [C]
        assert dedup.find(text=story(3)) == []
        assert dedup.info().pages == 3

    def test_no_index_is_begun_and_no_crawl_joined(self, shared: Backend) -> None:
        def look() -> tuple[list[str], Kind, int]:
            with contextlib.closing(Deduplicator(shared.url, ttl="1d")) as dedup:
                verdict = dedup.check(A, fingerprint=dedup.fingerprint(text=TEXT), remember=False)
                return (
                    [match.url for match in dedup.find(text=TEXT)],
                    verdict.kind,
                    dedup.info().pages,
                )

        for expected in (([], Kind.NEW, 0), ([A], Kind.REVISIT, 1)):
            before = shared.contents()
            assert look() == expected
            assert shared.contents() == before
            with Deduplicator(shared.url) as dedup:
                dedup.check(A, text=TEXT)


class TestForgetting:
    def test_by_url(self, dedup: Deduplicator) -> None:
        dedup.check(A + "?b=1&a=2", text=TEXT)
        assert [dedup.forget(A), dedup.forget(A + "?a=2&b=1"), dedup.forget(A + "?a=2&b=1")] == [
            0,
            1,
            0,
        ]
        assert dedup.check(B, text=TEXT).kind is Kind.NEW

    @pytest.mark.parametrize("text", [TEXT, "thin text"])
    def test_every_page_with_a_text_and_none_that_is_like_it(
        self, dedup: Deduplicator, text: str
    ) -> None:
        # Two pages have one text when it came to the second later.
        for url, content in ((A, OTHER), (B, text), (C, NEAR), (A, text)):
            dedup.check(url, text=content, similarity=1)
        assert [dedup.forget(read(text)) for _ in range(2)] == [2, 0]
        assert dedup.info().pages == 1
        assert dedup.check(B, text=text).original == (C if text == TEXT else None)

    @pytest.mark.parametrize("text", [LAMP, "thin text"])
    def test_every_one_of_hundreds_of_siblings_that_share_a_text(
        self, dedup: Deduplicator, text: str
    ) -> None:
        pages = [
            Page(f"{A}/{number}", text=text, title=f"Lamp {number}", similarity=1)
            for number in range(300)
        ]
        assert {verdict.is_duplicate for verdict in dedup.check_many(pages)} == {False}
        dedup.check(B, text=OTHER)
        assert [dedup.forget(read(text)) for _ in range(2)] == [300, 0]
        assert dedup.info().pages == 1

    def test_by_identity(self) -> None:
        with Deduplicator(scope="site") as dedup:
            dedup.check(A, text=TEXT, identity="article 7")
            assert [
                dedup.forget(A),
                dedup.forget(A, identity="8"),
                dedup.forget(A, identity="article 7"),
            ] == [0, 0, 1]
            assert dedup.check(A, text=TEXT).kind is Kind.NEW


class TestManyPages:
    PAGES = (
        Page(A, text=TEXT),
        Page(B, html=f"<p>{TEXT}</p>".encode("utf-16"), encoding="utf-16"),
        Page(C, fingerprint=read(NEAR)),
        Page(A, text=TEXT),
        Page(A + "2", text="hello there"),
        Page(A + "3", text=OTHER, identity="7"),
        Page(A + "4", text=TEXT, identity="7"),
        Page(A + "5", text=edited(OTHER, 2)),
        Page(A + "6", text=HALF_ALIKE, similarity=0.7),
        Page(A + "7", text=TEXT, scope_key="elsewhere"),
    )
    # Some are not remembered, cannot be read, or name one of the same batch as their original.
    ODD_PAGES = (
        Page(B, text=HALF_ALIKE, canonical=A),
        Page(B, text=HALF_ALIKE, remember=False),
        Page(C, text=FAR, remember=False),
        Page(C, text=FAR),
        Page(C, html=b"\0\1\2" * 999),
        Page(C, text=FAR, remember=False),
        Page(f"{C}/2", text=FAR, canonical=C, rank=1),
        Page(f"{C}/3", fingerprint=Deduplicator(key=1).fingerprint(text=TEXT)),
    )

    @pytest.mark.parametrize("batch", [1, 3, 100])
    def test_the_verdicts_are_those_of_single_checks(self, batch: int) -> None:
        with Deduplicator() as one, Deduplicator() as two:
            values = [{name: getattr(page, name) for name in page.__slots__} for page in self.PAGES]
            singly = [self.told(one.check(**page)) for page in values]
            together = list(two.check_many(self.PAGES, batch=batch))
        assert [self.told(verdict) for verdict in together] == singly
        assert {verdict.kind for verdict in together} == set(Kind)

    def told(self, verdict: Verdict) -> object:
        return (
            verdict.url,
            verdict.kind,
            verdict.original,
            verdict.similarity,
            verdict.copies,
            verdict.changed,
        )

    def test_a_batch_gets_the_verdicts_and_errors_of_single_checks(self) -> None:
        pages = [*self.PAGES[:1], *self.ODD_PAGES]
        with Deduplicator() as one, Deduplicator() as two:
            together = one.check_batch(pages)
            assert list(map(str, together)) == [str(two.check_batch([page])[0]) for page in pages]
            assert one.info().pages == two.info().pages == 2
        kinds = [str(getattr(result, "kind", type(result).__name__)) for result in together]
        assert kinds[:5] == ["new", "near_duplicate", "new", "new", "new"]
        assert kinds[5:] == ["PageError", "revisit", "exact_duplicate", "KeyMismatchError"]

    def slow_pages(self, taken: list[int], now: list[float] | None = None) -> Iterator[Page]:
        for number in range(10):
            if now:
                now[0] += 0.3
            taken.append(number)
            yield Page(f"{A}/{number}", text=story(number))

    def test_pages_are_taken_as_verdicts_are_asked_for(self, dedup: Deduplicator) -> None:
        taken: list[int] = []
        verdicts = dedup.check_many(self.slow_pages(taken), batch=4)
        assert taken == []
        next(verdicts)
        assert taken == [0, 1, 2, 3]
        assert len(list(verdicts)) == 9

    def test_a_batch_does_not_wait_for_a_slow_source(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now, taken = [100.0], list[int]()
        monkeypatch.setattr("crawldedup.index.judging.time.monotonic", lambda: now[0])
        next(Deduplicator().check_many(self.slow_pages(taken, now)))
        assert taken == [0, 1]

    @pytest.mark.parametrize("batch", [2, 100])
    def test_a_page_that_cannot_be_read_ends_it_in_its_place(
        self, dedup: Deduplicator, batch: int
    ) -> None:
        pages = iter([*self.PAGES[:3], Page(B + "bad", html=b"\0\1\2" * 999), *self.PAGES[3:]])
        verdicts = dedup.check_many(pages, batch=batch)
        assert [next(verdicts).url for _ in range(3)] == [A, B, C]
        with pytest.raises(PageError):
            next(verdicts)
        assert dedup.info().pages == 1
        assert [verdict.url for verdict in dedup.check_many(pages)] == [
            page.url for page in self.PAGES[3:]
        ]


class TestClaimedOriginals:
    """Less similarity is enough for a page that names its original."""

    def test_they_must_be_known_and_alike_enough(self, dedup: Deduplicator) -> None:
        def kind(url: str, text: str, canonical: str | None, **rules: float) -> Kind:
            return dedup.check(url, text=text, canonical=canonical, remember=False, **rules).kind

        dedup.check(A, text=TEXT)
        assert 0.81 < (jaccard(TEXT, HALF_ALIKE) or 0) < 0.83
        assert kind(B, HALF_ALIKE, None) is Kind.NEW
        assert kind(B, HALF_ALIKE, C) is Kind.NEW
        assert kind(B, HALF_ALIKE, A + "#top") is Kind.NEAR_DUPLICATE
        assert kind(B, HALF_ALIKE, A, similarity=0.97) is Kind.NEW
        assert kind(B, FAR, A) is Kind.NEW
        assert kind(B, NEAR, C) is Kind.NEAR_DUPLICATE
        dedup.check(B, text=HALF_ALIKE, canonical=A)
        assert dedup.info().pages == 1

    def test_they_are_looked_for_in_the_scope_of_the_page(self) -> None:
        with Deduplicator(scope="site") as dedup:
            dedup.check(A, text=TEXT)
            urls = ("https://www.e.com/b", "https://other.com/b")
            verdicts = [
                dedup.check(url, text=HALF_ALIKE, canonical=A, remember=False) for url in urls
            ]
        assert list(map(bool, verdicts)) == [True, False]


class TestScopes:
    @pytest.mark.parametrize(
        ("scope", "elsewhere", "copies_found"),
        [
            ("global", {"url": "https://other.net/x"}, True),
            ("site", {"url": "https://www.e.com/x"}, True),
            ("site", {"url": "https://other.net/x"}, False),
            ("spider", {"url": A + "2", "scope_key": "books"}, True),
            ("spider", {"url": A + "2", "scope_key": "news"}, False),
        ],
    )
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

    @pytest.mark.parametrize("text", [LAMP, "A lamp."], ids=["full", "thin"])
    def test_values_of_parameters_keep_pages_apart(self, text: str) -> None:
        params = {"shop.example": ["img", "colour"]}
        variants = (
            "",
            "?img=1",
            "?img=2",
            "?a=7&img=2",
            "?colour=red&img=2",
            "?img=2&colour=red&ref=7",
            "?ref=7",
        )
        with Deduplicator(distinguish_params=params, scope="site") as dedup:
            urls = [f"https://www.shop.example/lamp{variant}" for variant in variants]
            kinds = [str(dedup.check(url, text=text).kind) for url in urls]
            # By the URL alone, it is still the page that it was.
            again = dedup.check(urls[2], html=text)
            assert (again.kind, again.changed, dedup.forget(urls[2])) == (Kind.REVISIT, False, 1)
        new = "thin" if text != LAMP else "new"
        assert kinds == [
            new,
            new,
            new,
            "exact_duplicate",
            new,
            "exact_duplicate",
            "exact_duplicate",
        ]

    def test_near_duplicates_paragraphs_and_claimed_originals_stay_apart_too(self) -> None:
        shop = "https://shop.example/lamp"
        with Deduplicator(distinguish_params="img", paragraphs=0.2) as dedup:
            dedup.check(f"{shop}?img=1", text=LAMP)
            other = dedup.check(f"{shop}?img=2", text=f"{LAMP} New.", canonical=f"{shop}?img=1")
            copy = dedup.check(f"{shop}?img=2&ref=7", text=f"{LAMP} Now.")
        assert (other.kind, other.is_partial, copy.kind) == (Kind.NEW, False, Kind.NEAR_DUPLICATE)

    @pytest.mark.parametrize("text", [LAMP, "A lamp."], ids=["full", "thin"])
    @pytest.mark.parametrize("is_first", [False, True])
    def test_a_page_that_a_person_tells_apart_is_compared_with_no_other(
        self, shared: Backend, text: str, is_first: bool
    ) -> None:
        """Not even with the page that it names as its original, or that it is a view of."""
        shop = "https://shop.example/lamp"
        urls = [f"{shop}/1", f"{shop}/1?print=1", f"{shop}/1?ref=7"]
        if is_first:
            urls[:2] = reversed(urls[:2])
        with Deduplicator(shared.url, apart=[f"{shop}/1?print=1"], paragraphs=0.2) as dedup:
            verdicts = [dedup.check(url, text=text, canonical=f"{shop}/1") for url in urls]
            again = [dedup.check(url, text=text).kind for url in urls]
        new = Kind.NEW if text == LAMP else Kind.THIN
        assert [each.kind for each in verdicts] == [new, new, Kind.EXACT_DUPLICATE]
        assert not any(each.is_partial for each in verdicts)
        assert verdicts[2].original == f"{shop}/1"
        # It is known from then on, under its own URL.
        assert again == [Kind.REVISIT, Kind.REVISIT, Kind.EXACT_DUPLICATE]

    def test_an_index_without_urls_judges_alike_but_names_no_original(
        self, shared: Backend
    ) -> None:
        with Deduplicator() as one, Deduplicator(shared.url, store_urls=False) as two:
            named, unnamed = (list(dedup.check_many(TestManyPages.PAGES)) for dedup in (one, two))
            assert [replace(verdict, original=None) for verdict in named] == unnamed
            assert two.check(A, text=TEXT).kind is Kind.REVISIT
            assert {match.url for match in two.find(text=TEXT)} == {""}
            assert two.forget(A + "3", identity="7") == 1
        with Deduplicator(shared.url) as dedup:
            assert dedup.check(C + "2", text=TEXT).original is None
            dedup.check(C + "3", text=story(9))
            assert dedup.check(C + "4", text=story(9)).original == C + "3"


class TestLife:
    def test_an_index_of_other_settings_is_refused_until_it_is_cleared(
        self, shared: Backend
    ) -> None:
        with Deduplicator(shared.url, extractor="text") as one:
            one.check(A, text=TEXT)
        two = Deduplicator(shared.url)
        for call in (
            two.open,
            two.info,
            lambda: two.check(A, text=TEXT),
            lambda: two.find(text=TEXT),
        ):
            with pytest.raises(ProfileMismatchError, match=r"'text/.*'blocks/"):
                call()
        with Deduplicator(shared.url, extractor="text") as one:
            assert one.check(A, text=TEXT).kind is Kind.REVISIT
        two.clear()
        assert two.check(A, text=TEXT).kind is Kind.NEW
        two.close()

    def test_an_index_of_other_settings_can_be_looked_at_and_pages_forgotten(
        self, shared: Backend
    ) -> None:
        with Deduplicator(shared.url, content="#story") as one:
            one.check(A, text=TEXT)
            before = one.info()
        operator = Deduplicator(shared.url)
        assert list(operator.accept_profile()) == ["content"]
        assert (operator.info().pages, operator.info().profile) == (1, before.profile)
        assert (operator.forget(A), operator.forget(A)) == (1, 0)
        operator.close()
        with Deduplicator(shared.url, content="#story") as one:
            assert one.accept_profile() == {}
            assert one.check(A, text=TEXT).kind is Kind.NEW

    def test_threads_may_share_an_instance(self, dedup: Deduplicator) -> None:
        pages = [read(story(seed)) for seed in range(20)]
        kinds: list[Kind] = []
        start = threading.Barrier(4)

        def crawl(name: str) -> None:
            start.wait()
            kinds.extend(
                [
                    dedup.check(f"{A}/{name}/{at}", fingerprint=page).kind
                    for at, page in enumerate(pages)
                ]
            )

        threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(kinds) == {Kind.NEW: 20, Kind.EXACT_DUPLICATE: 60}

    @pytest.mark.parametrize("url", ["sqlite:///folder/index.sqlite", "redis://127.0.0.1:1/0"])
    def test_nothing_is_opened_before_the_first_use(
        self, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Deduplicator(url).close()
        assert list(tmp_path.iterdir()) == []

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
            lambda dedup: dedup.forget(A),
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
        assert (
            repr(dedup)
            == "<Deduplicator redis://:***@localhost namespace='news' similarity=0.9 (not opened)>"
        )
        with Deduplicator() as dedup:
            assert "(open)" in repr(dedup)
        assert "(closed)" in repr(dedup)

    @pytest.mark.parametrize("is_slow", [False, True])
    def test_a_crawler_at_work_is_heard_of_in_time(
        self, shared: Backend, is_slow: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However long a crawl takes, its fellows stay its fellows: also if it takes many verdicts
        slowly.
        """
        monkeypatch.setattr("crawldedup.index.lifetime.HEARTBEAT_SECONDS", 0)
        pages = [Page(A, text=TEXT), Page(B, text=OTHER)]
        with Deduplicator(shared.url) as one, Deduplicator(shared.url) as two:
            verdicts = one.check_many(pages, batch=2 if is_slow else 1)
            next(verdicts)
            two.close()
            with (
                contextlib.closing(sqlite3.connect(shared.url.removeprefix("sqlite:///"))) as db,
                db,
            ):
                db.execute("DELETE FROM crawlers")  # all leases end
            next(verdicts)
            two.open()
            assert two.check(A, text=TEXT).kind is Kind.EXACT_DUPLICATE


class TestDeliveries:
    """Of pages that are remembered before they are delivered."""

    def is_kept(self, shared: Backend, text: str = TEXT) -> bool:
        """True if a copy of the page is known as one, now that its crawler has left."""
        with Deduplicator(shared.url) as successor:
            return successor.check(B, text=text).is_duplicate

    @pytest.mark.parametrize(
        "tell",
        [
            lambda dedup: dedup.check(C, text=OTHER),
            lambda dedup: list(dedup.check_many([Page(C, text=OTHER)])),
            Deduplicator.heartbeat,
        ],
    )
    def test_the_next_call_tells_of_a_page(
        self,
        shared: Backend,
        tell: Callable[[Deduplicator], object],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        dedup = Deduplicator(shared.url)
        dedup.check(A, text=TEXT, delivered=False)
        dedup.deliver(A)
        tell(dedup)
        monkeypatch.setattr(dedup._index.store, "deliver", lambda url_keys: None)
        dedup.close()
        assert self.is_kept(shared)

    def test_closing_tells_what_was_delivered_and_abandons_the_rest(self, shared: Backend) -> None:
        with Deduplicator(shared.url) as dedup:
            for url, text in ((A, TEXT), (C, OTHER)):
                dedup.check(url, text=text, delivered=False)
            dedup.deliver(A)
            # A batch without a readable page tells nothing and forgets nothing.
            assert list(dedup.check_many([Page(C, text="")], on_unreadable=lambda *_: None)) == []
        assert self.is_kept(shared)
        assert not self.is_kept(shared, OTHER)

    def test_the_url_of_an_abandoned_page_is_a_revisit_that_says_so(self, shared: Backend) -> None:
        with Deduplicator(shared.url) as dedup:
            dedup.check(A, text=TEXT, delivered=False)
        with Deduplicator(shared.url) as successor:
            verdicts = [successor.check(A, text=TEXT) for _ in range(2)]
        assert [(verdict.kind, verdict.abandoned) for verdict in verdicts] == [
            (Kind.REVISIT, True),
            (Kind.REVISIT, False),
        ]

    @pytest.mark.parametrize("error", [StoreError("this page"), StoreUnavailableError("all pages")])
    def test_what_the_store_did_not_hear_is_told_again(
        self, shared: Backend, error: StoreError, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Deduplicator(shared.url) as dedup:
            dedup.check(A, text=TEXT, delivered=False)
            dedup.deliver(A)
            ask, is_lasting = dedup._index.store.check, isinstance(error, StoreUnavailableError)
            monkeypatch.setattr(
                dedup._index.store,
                "check",
                lambda queries: [error, *([error] if is_lasting else ask(queries[1:]))],
            )
            verdicts = dedup.check_many([Page(B + "2", text=OTHER), Page(C, text=OTHER)])
            with pytest.raises(StoreError):
                next(verdicts)
            assert is_lasting or next(verdicts).kind is Kind.NEW
        assert self.is_kept(shared)


def test_an_index_that_is_emptied_in_the_middle_of_a_crawl_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    pages = [Page(f"https://a.example/{number}", text=f"Boat {number}.") for number in range(150)]
    with Deduplicator(store) as dedup, Deduplicator(store) as other:
        list(dedup.check_many(pages))
        assert "nearly empty" not in caplog.text
        other.clear()
        list(dedup.check_many(pages))
        assert "is nearly empty again (pages: 1, before: 150)" in caplog.text
        other.clear()
        caplog.clear()
        list(dedup.check_many(pages))
        assert "nearly empty" not in caplog.text


def test_a_small_index_and_ones_own_clear_are_no_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store) as dedup, Deduplicator(store) as other:
        for number in range(99):
            dedup.check(f"https://a.example/{number}", text=f"Boat {number}.")
        other.clear()
        for number in range(150):
            dedup.check(f"https://a.example/{number}", text=f"Boat {number}.")
        dedup.clear()
        dedup.check("https://a.example/", text="Boat.")
    assert "nearly empty" not in caplog.text
