"""Indexes copied from one store to another."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.errors import ProfileMismatchError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.backends import Backend


def text(seed: int, edits: int = 0) -> str:
    """A page of its own, or one near it."""
    words = random.Random(seed).choices(VOCABULARY, k=300)
    for number in range(edits):
        words[(number + 1) * 90] = f"edit{number}"
    return " ".join(words)


VOCABULARY = ["".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(3000)]
SEEN = [(f"https://site{number % 5}.example/{number}", text(number)) for number in range(120)]


def index_of(url: str, **options: Any) -> Deduplicator:
    dedup = Deduplicator(url, scope="site", **options)
    for page, content in SEEN:
        dedup.check(page, text=content)
    dedup.check("https://site1.example/copy", text=SEEN[1][1])
    dedup.check("https://site0.example/thin", text="hardly any words")
    return dedup


def answers(dedup: Deduplicator) -> list[Any]:
    """What an index knows, by every kind of question; the last ones change it."""
    asked = [(page, text(number, edits=2)) for number, (page, _) in enumerate(SEEN[:40])]
    asked += [("https://site0.example/", "hardly any words"), ("https://site1.example/", "hardly any words")]
    found = [[(match.url, match.similarity, match.copies) for match in dedup.find(text=t, url=u)] for u, t in asked]
    checked = [dedup.check(f"{url}?new", text=content) for url, content in asked] + [
        dedup.check(url, text=content) for url, content in SEEN[60:70]
    ]
    return [found, [(verdict.kind, verdict.original, verdict.similarity, verdict.copies) for verdict in checked]]


def test_an_index_answers_alike_wherever_it_is_copied(backends: list[Backend]) -> None:
    """From the memory to every store in turn, each a copy of the one before, and back."""
    with index_of("memory://") as first:
        copies = [Deduplicator(backend.url, scope="site", namespace="copied") for backend in backends]
        for source, target in zip([first, *copies], [*copies, Deduplicator(scope="site")], strict=True):
            copied = source.copy_to(target)
            assert (copied.pages, copied.added, target.info().pages) == (121, 121, 121)
        expected = answers(first)
        assert {kind for kind, *_ in expected[1]} == {
            Kind.NEAR_DUPLICATE,
            Kind.EXACT_DUPLICATE,
            Kind.THIN,
            Kind.REVISIT,
        }
        for dedup in [*copies, target]:
            assert answers(dedup) == expected
            dedup.close()


def test_what_is_known_is_left_as_it_is(store_url: str) -> None:
    # Pages of two indexes can be known to each other only under one key.
    with index_of("memory://", key=7) as first, Deduplicator(store_url, scope="site", key=7) as dedup:
        url, content = SEEN[7]
        dedup.check(url, text="now it says something else")
        dedup.check("https://site3.example/mine", text=text(999))
        copies = [first.copy_to(dedup), first.copy_to(dedup)]
        assert [(copy.pages, copy.added) for copy in copies] == [(121, 120), (121, 0)]
        assert dedup.info().pages == 122
        assert dedup.find(text=content, url=url) == []


def test_progress_is_reported(store_url: str) -> None:
    with index_of("memory://") as first, Deduplicator(store_url, scope="site", namespace="b") as second:
        steps: list[tuple[int, int]] = []
        first.copy_to(second, progress=lambda done, total: steps.append((done, total)))
        assert steps == [(121, 121)]


def test_another_profile_is_refused_with_both_named_before_anything_is_opened(tmp_path: Path) -> None:
    with index_of("memory://", extractor="text") as dedup:
        other = Deduplicator(f"sqlite:///{tmp_path}/other.sqlite")
        with pytest.raises(ProfileMismatchError, match=r"'text/.*'blocks/"):
            dedup.copy_to(other)
    assert list(tmp_path.iterdir()) == []


def test_a_crawl_goes_on_while_its_index_is_copied(store_url: str) -> None:
    """On both sides: new pages are added, and what was there before is copied whole."""
    pages = {f"https://old.example/{number}": text(number) for number in range(120)}
    with Deduplicator(store_url) as source, Deduplicator() as target:
        for url, content in pages.items():
            source.check(url, text=content)

        def crawl(done: int, _: int) -> None:
            for dedup in (source, target):
                assert dedup.check(f"https://new.example/{done}", text=text(-done)).kind is Kind.NEW
                assert dedup.check(f"https://new.example/{done}", text=text(-done)).kind is Kind.REVISIT

        assert source.copy_to(target, progress=crawl).added >= len(pages)
        for url, content in pages.items():
            assert target.check(url, text=content).kind is Kind.REVISIT
