"""What `Deduplicator.explain` tells."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from crawldedup import Deduplicator, Kind, wire
from crawldedup.explain import Explanation
from tests.stores.backends import Backend
from tests.test_check_fingerprint import ALIKE, HALF_ALIKE, TEXT, UNLIKE, A, B, C


@pytest.fixture
def shared_backend(tmp_path: Path) -> Backend:
    """A store that several crawlers can share: what another kind does is told by the contract of stores."""
    return Backend("sqlite", f"sqlite:///{tmp_path}/index.sqlite")


def test_a_verdict_is_explained_and_nothing_is_changed() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        told = dedup.explain(B, text=ALIKE)
        assert told.verdict == dedup.check(B, fingerprint=dedup.fingerprint(text=ALIKE), remember=False)
        assert (told.verdict.kind, told.verdict.original) == (Kind.NEAR_DUPLICATE, A)
        assert (told.pages, told.similarity) == (1, 0.9)
        (candidate,) = told.candidates
        assert (candidate.match.url, candidate.accepted) == (A, True)
        assert 0 < candidate.cost <= told.limit
        assert told.threshold is not None
        assert 0.8 < told.threshold < 0.9
        assert dedup.info().pages == 1
        assert dedup.explain(B, text=ALIKE) == told


def test_pages_that_are_not_alike_enough_are_candidates_too() -> None:
    with Deduplicator(similarity=0.7) as dedup:
        for url, text in ((C, UNLIKE), (A, TEXT), (B, ALIKE)):
            dedup.check(url, fingerprint=dedup.fingerprint(text=text), similarity=1.0)
        told = dedup.explain("https://e.com/d", text=TEXT, similarity=0.99)
        assert told.verdict.kind is Kind.EXACT_DUPLICATE
        assert told.candidates[0].match.url == A
        costs = [candidate.cost for candidate in told.candidates]
        assert costs == sorted(costs)
        assert [candidate.accepted for candidate in told.candidates] == [cost <= told.limit for cost in costs]
        half = dedup.explain("https://e.com/d", text=HALF_ALIKE, similarity=0.95)
        assert half.verdict.kind is Kind.NEW
        assert half.verdict.candidates == len(half.candidates)
        assert {candidate.accepted for candidate in half.candidates} <= {False}


def test_a_page_that_names_its_original_is_explained_by_the_lower_similarity() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        assert dedup.explain(B, text=HALF_ALIKE, canonical=C).similarity == 0.9
        told = dedup.explain(B, text=HALF_ALIKE, canonical=A)
        assert (told.similarity, told.verdict.kind) == (pytest.approx(0.8), Kind.NEAR_DUPLICATE)


def test_a_crowd_is_told() -> None:
    """Eight pages resemble a ninth alike: it is new, though any of the nearest alone would be its original."""
    words = [f"word{number}" for number in range(300)]

    def other(number: int) -> str:
        return " ".join(f"other{number}" if (place - number) % 38 == 4 else word for place, word in enumerate(words))

    with Deduplicator(key=0) as dedup:
        dedup.check(A, text=other(0))
        alone = dedup.explain(B, text=" ".join(words))
        assert (alone.crowd, alone.threshold, alone.verdict.kind) == (1, 0.8547, Kind.NEAR_DUPLICATE)
        for number in range(1, 8):
            dedup.check(f"{A}/{number}", fingerprint=dedup.fingerprint(text=other(number)), similarity=1.0)
        told = dedup.explain(B, text=" ".join(words))
        assert (told.crowd, told.threshold, told.verdict.kind) == (8, 0.9, Kind.NEW)
        assert told.limit < told.candidates[0].cost < alone.limit
        assert not any(candidate.accepted for candidate in told.candidates)
        assert dedup.check(B, text=" ".join(words)).kind is Kind.NEW


def test_a_page_is_named_by_its_identity_and_its_scope() -> None:
    with Deduplicator(scope="site") as dedup:
        dedup.check(A, text=TEXT, identity="a")
        assert dedup.explain(B, text=TEXT, identity="a").verdict.kind is Kind.REVISIT
        assert dedup.explain("https://other.com/", text=TEXT).verdict.kind is Kind.NEW
        assert dedup.explain("https://other.com/", text=TEXT, scope_key="e.com").verdict.is_duplicate


def test_it_is_ready_for_json() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        told = dedup.explain(B, text=ALIKE)
        values = json.loads(wire.encode(told))
        assert values["verdict"]["kind"] == "near_duplicate"
        assert (values["candidates"][0]["url"], values["candidates"][0]["accepted"]) == (A, True)
        assert wire.from_plain(Explanation, values) == told


def test_an_index_that_is_begun_after_a_look_is_found(shared_backend: Backend) -> None:
    """What was hashed with a key of one's own, while there was no index, is not compared with those of its key."""
    with contextlib.closing(Deduplicator(shared_backend.url)) as looking:
        assert looking.find(text=TEXT) == []
        assert looking.explain(A, text=TEXT).candidates == ()
        with Deduplicator(shared_backend.url) as crawling:
            crawling.check(A, text=TEXT)
        assert looking.explain(B, text=TEXT).verdict.original == A
        assert [match.url for match in looking.find(text=TEXT)] == [A]
