"""What `Deduplicator.explain` and `compare` tell."""

from __future__ import annotations

import json
from typing import Any

import mmh3
import pytest

from crawldedup import Deduplicator, Kind, Page, compare, wire
from crawldedup.index.explain import Explanation
from tests.stories import FAR, HALF_ALIKE, NEAR, TEXT, A, B, C, jaccard


class TestExplain:
    def test_a_verdict_is_explained_and_nothing_is_changed(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            told = dedup.explain(B, text=NEAR)
            assert told.verdict == dedup.check(
                B, fingerprint=dedup.fingerprint(text=NEAR), remember=False
            )
            assert (told.verdict.kind, told.verdict.original) == (Kind.NEAR_DUPLICATE, A)
            assert (told.pages, told.similarity) == (1, 0.9)
            (candidate,) = told.candidates
            assert (candidate.match.url, candidate.accepted) == (A, True)
            assert 0 < candidate.cost <= told.limit
            assert 0.8 < (told.threshold or 0) < 0.9
            assert dedup.info().pages == 1
            assert dedup.explain(B, text=NEAR) == told
        values = json.loads(wire.encode(told))
        assert values["verdict"]["kind"] == "near_duplicate"
        assert (values["candidates"][0]["url"], values["candidates"][0]["accepted"]) == (A, True)
        assert wire.from_plain(Explanation, values) == told

    def test_pages_that_are_not_alike_enough_are_candidates_too(self) -> None:
        with Deduplicator(similarity=0.7) as dedup:
            for url, text in ((C, FAR), (A, TEXT), (B, NEAR)):
                dedup.check(url, text=text, similarity=1.0)
            told = dedup.explain("https://e.com/d", text=TEXT, similarity=0.99)
            assert told.verdict.kind is Kind.EXACT_DUPLICATE
            assert told.candidates[0].match.url == A
            costs = [candidate.cost for candidate in told.candidates]
            assert costs == sorted(costs)
            assert [candidate.accepted for candidate in told.candidates] == [
                cost <= told.limit for cost in costs
            ]
            half = dedup.explain("https://e.com/d", text=HALF_ALIKE, similarity=0.95)
            assert (half.verdict.kind, half.verdict.candidates) == (Kind.NEW, len(half.candidates))
            assert {candidate.accepted for candidate in half.candidates} <= {False}

    def test_a_page_that_names_its_original_is_explained_by_the_lower_similarity(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            assert dedup.explain(B, text=HALF_ALIKE, canonical=C).similarity == 0.9
            told = dedup.explain(B, text=HALF_ALIKE, canonical=A)
        assert (told.similarity, told.verdict.kind) == (pytest.approx(0.8), Kind.NEAR_DUPLICATE)

    def test_a_crowd_is_reported(self) -> None:
        """Eight pages resemble a ninth alike: it is new, though any of the nearest alone would be
        its original.
        """
        words = [f"word{number}" for number in range(300)]

        def other(number: int) -> str:
            return " ".join(
                f"other{number}" if (at - number) % 38 == 4 else word
                for at, word in enumerate(words)
            )

        with Deduplicator() as dedup:
            dedup.check(A, text=other(0))
            alone = dedup.explain(B, text=" ".join(words))
            assert (alone.crowd, alone.threshold, alone.verdict.kind) == (
                1,
                0.8547,
                Kind.NEAR_DUPLICATE,
            )
            for number in range(1, 8):
                dedup.check(f"{A}/{number}", text=other(number), similarity=1.0)
            told = dedup.explain(B, text=" ".join(words))
            assert (told.crowd, told.threshold, told.verdict.kind) == (8, 0.9, Kind.NEW)
            assert told.limit < told.candidates[0].cost < alone.limit
            assert not any(candidate.accepted for candidate in told.candidates)
            checked = dedup.check(B, text=" ".join(words))
            assert (checked.kind, checked.rejected_by) == (Kind.NEW, "crowd")


def compared(first: str, second: str, **options: Any) -> Any:
    return compare(Page(A, text=first), Page(B, text=second), **options)


class TestCompare:
    @pytest.mark.parametrize("second", [TEXT, NEAR, HALF_ALIKE, FAR])
    def test_the_exact_similarity_is_told_and_the_verdict_is_a_crawls(self, second: str) -> None:
        told = compared(TEXT, second)
        assert told.similarity == pytest.approx(jaccard(TEXT, second))
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            found, checked = dedup.find(text=second), dedup.check(B, text=second)
        assert (told.verdict.kind, told.verdict.original) == (checked.kind, checked.original)
        assert told.verdict.similarity == checked.similarity
        assert [match.similarity for match in found] in ([], [told.candidate.match.similarity])
        assert told.candidate.accepted == (told.candidate.cost <= told.limit)
        assert json.loads(wire.encode(told))["verdict"]["kind"] == checked.kind

    def test_what_differs_is_told(self) -> None:
        told = compared(f"{TEXT} once {TEXT}", f"{TEXT} twice or more {TEXT}")
        (change,) = told.changes
        assert (change.removed, change.added) == ("once", "twice or more")
        assert compared(TEXT, TEXT).changes == ()
        assert told.words[1] == told.words[0] + 2

    def test_lines_that_a_deduplicator_has_learned_are_left_out(self) -> None:
        def board(topic: str, online: int) -> Page:
            counter = f"<p>{online} users online, {online + 9} guests</p>"
            html = (
                f"<title>{topic}</title><main><h1>{topic}</h1><p>{topic} {TEXT}</p>{counter}</main>"
            )
            return Page(
                f"https://board.example/t/{topic}?sid={mmh3.hash128(f'{topic} {online}'):032x}",
                html=html,
            )

        with Deduplicator(volatile=True) as dedup:
            for topic in ("moorings", "engines", "sails"):
                list(dedup.check_many([board(topic, 11), board(topic, 38)], batch=1))
            pages = board("anchors", 11), board("anchors", 38)
            assert compare(*pages).similarity != 1
            assert compare(*pages, hosts=dedup.hosts).similarity == 1


def claiming(text: str, link: str) -> str:
    """A page whose canonical link is this."""
    return f"<head><link rel=canonical href='{link}'></head><body><main><p>{text}</p></main></body>"


class TestComparisonWithOriginal:
    @pytest.mark.parametrize(
        ("first", "second", "is_named"),
        [
            pytest.param(
                Page(A, text=TEXT), Page(B, text=HALF_ALIKE, canonical=A), True, id="given"
            ),
            pytest.param(
                Page(A, text=TEXT), Page(B, html=claiming(HALF_ALIKE, "/a")), True, id="link"
            ),
            pytest.param(
                Page("a.html", html=claiming(TEXT, A)),
                Page("b.html", html=claiming(HALF_ALIKE, A)),
                True,
                id="files",
            ),
            pytest.param(
                Page(A, html=claiming(TEXT, C)),
                Page(B, html=claiming(HALF_ALIKE, C)),
                False,
                id="third",
            ),
            pytest.param(
                Page(A, text=TEXT), Page(B, html=claiming(HALF_ALIKE, B)), False, id="itself"
            ),
            pytest.param(Page(A, text=TEXT), Page(B, html=claiming(FAR, A)), False, id="unlike"),
        ],
    )
    def test_a_page_that_names_the_first_one_may_be_less_similar(
        self, first: Page, second: Page, *, is_named: bool
    ) -> None:
        comparison = compare(first, second)
        assert (comparison.names_first, comparison.drops > 5) == (is_named, is_named)
        assert comparison.threshold is not None
        assert (comparison.threshold < 0.8) == is_named

    def test_a_crawl_and_a_comparison_agree(self) -> None:
        page = Page(B, text=HALF_ALIKE, canonical=A)
        with Deduplicator(key=0) as dedup:
            dedup.check(A, text=TEXT)
            verdict = dedup.check(B, text=HALF_ALIKE, canonical=A)
        assert compare(Page(A, text=TEXT), page).verdict.kind is verdict.kind is Kind.NEAR_DUPLICATE
