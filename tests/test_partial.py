"""Pages of which a part is known."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Verdict
from crawldedup.errors import StoreError
from crawldedup.verdict import describe

_CHOOSER = random.Random(5)
A, B, C, D = (f"https://{name}.example/story" for name in "abcd")


def story(seed: int, paragraphs: int = 6) -> list[str]:
    """Paragraphs of 90 words, each of which is judged by itself."""
    chooser = random.Random(seed)
    return [" ".join("".join(chooser.choices("abdeiklmnorstu", k=6)) for _ in range(90)) for _ in range(paragraphs)]


ONE, TWO, FEW = story(1), story(2), story(3, 1)
TEXT = "\n".join(ONE)
HALF = "\n".join([*TWO[:3], *ONE[:3], *TWO[3:], *ONE[3:]])
MOSTLY = "\n".join([*ONE, *story(4), *FEW])


def check(dedup: Deduplicator, url: str, text: str) -> Verdict:
    return dedup.check(url, text=text)


def known_words(dedup: Deduplicator, text: str) -> int:
    coverage = dedup.check(B, text=text, remember=False).coverage
    return coverage.known_words if coverage else 0


def look_first(dedup: Deduplicator, url: str, text: str) -> Verdict:
    page = dedup.fingerprint(text=text)
    looked = dedup.check(url, fingerprint=page, remember=False)
    verdict = dedup.check(url, fingerprint=page)
    assert looked.coverage == verdict.coverage
    return verdict


@pytest.mark.parametrize("ask", [check, look_first])
def test_a_new_page_tells_which_share_of_it_is_known(ask: Callable[[Deduplicator, str, str], Verdict]) -> None:
    with Deduplicator(key=0, paragraphs="mark") as dedup:
        first, second = ask(dedup, A, TEXT), ask(dedup, B, HALF)
        assert first.coverage is not None
        assert (first.coverage.share_new, first.coverage.sources) == (1, ())
        coverage = second.coverage
        assert coverage is not None
        assert (second.kind, second.is_partial) == (Kind.NEW, False)
        assert coverage.share_new is not None
        assert 0.4 < coverage.share_new < 0.6
        assert coverage.sources == ((A, coverage.known_words),)
        assert {str(each.kind) for each in coverage.paragraphs if each.excerpt[:20] in ONE[1]} <= {"known"}
        assert (
            describe(second) == f"new, {coverage.share_new:.0%} of its words new, {coverage.known_words} words on {A}"
        )
        # A duplicate's paragraphs are known by definition.
        assert ask(dedup, C, TEXT).coverage is None


def test_without_the_option_nothing_is_told_or_kept() -> None:
    with Deduplicator(key=0) as dedup:
        assert dedup.check(A, text=TEXT).coverage is None
        assert dedup.check(B, text=MOSTLY).coverage is None


def test_a_partial_page_adds_nothing() -> None:
    """Or the pages that hold a story would make boilerplate of it, and its copies would name copies."""
    copies = [f"https://{number}.example/" for number in range(12)]
    with Deduplicator(key=0, paragraphs=0.2) as dedup:
        dedup.check(A, text=TEXT)
        dedup.check(B, text="\n".join(TWO))
        for place, url in enumerate(copies):
            # In another order each, so that none is a near duplicate of the one before.
            lines = HALF.split("\n")
            found = dedup.check(url, text="\n".join(lines[place:] + lines[:place])).coverage
            assert found is None or {source for source, _ in found.sources} == {A, B}


def test_boilerplate_is_told_as_such() -> None:
    """It stands on every page, between paragraphs of the page's own."""
    boilerplate = story(99, 2)
    with Deduplicator(key=0, paragraphs="mark") as dedup:
        found = []
        for number in range(12):
            own = story(100 + number, 4)
            verdict = dedup.check(f"https://example.com/{number}", text="\n".join([*boilerplate, *own]))
            assert verdict.coverage is not None
            found.append((verdict.coverage.known_words > 0, verdict.coverage.boilerplate_words > 0))
        assert found == [(False, False), *[(True, False)] * 7, *[(False, True)] * 4]


def test_what_was_added_later_does_not_make_a_page_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation that takes a story over whole does not cost the story its next visit."""
    with Deduplicator(key=0, paragraphs=0.2) as dedup:
        dedup.check(A, text=TEXT)
        assert not dedup.check(B, text=MOSTLY).is_partial
        for _ in range(2):
            again = dedup.check(A, text=TEXT)
            assert again.kind is Kind.REVISIT
            assert again.coverage is not None
            assert again.coverage.share_new == 1


def test_a_share_decides_what_is_partial() -> None:
    for least, partial in ((0.3, False), (0.7, True)):
        with Deduplicator(key=0, paragraphs=least, namespace=f"n{partial}") as dedup:
            dedup.check(A, text=TEXT)
            assert dedup.check(B, text=HALF).is_partial == partial
            assert dedup.check(B, text=HALF).is_partial == partial


def test_pages_of_other_scopes_are_not_compared() -> None:
    with Deduplicator(key=0, scope="site", paragraphs="mark") as dedup:
        dedup.check(A, text=TEXT)
        verdicts = [dedup.check(url, text=HALF) for url in (B, f"{A}/2")]
        assert [verdict.coverage and verdict.coverage.known_words > 0 for verdict in verdicts] == [False, True]


def test_a_page_that_is_forgotten_is_no_source() -> None:
    with Deduplicator(key=0, paragraphs="mark") as dedup:
        dedup.check(A, text=TEXT)
        assert (dedup.forget(A), dedup.forget(A)) == (1, 0)
        assert known_words(dedup, HALF) == 0
        dedup.check(A, text=TEXT)
        dedup.clear()
        assert known_words(dedup, HALF) == 0


def test_urls_need_not_be_kept() -> None:
    with Deduplicator(key=0, paragraphs="mark", store_urls=False) as dedup:
        dedup.check(A, text=TEXT)
        verdict = dedup.check(B, text=HALF)
        assert verdict.coverage is not None
        assert [url for url, _ in verdict.coverage.sources] == [""]
        assert "on an unknown page" in describe(verdict)


def test_the_verdict_stands_when_the_store_fails_at_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise StoreError("the store is full")

    with Deduplicator(key=0, paragraphs=0.2) as dedup:
        dedup.check(A, text=TEXT)
        monkeypatch.setattr(dedup._store, "anchors", fail)
        verdict = dedup.check(B, text="\n".join([*ONE, *TWO]))
        assert (verdict.kind, verdict.coverage, verdict.is_partial) == (Kind.NEW, None, False)


def test_they_are_checked_beside_an_event_loop() -> None:
    async def main() -> None:
        async with AsyncDeduplicator(key=0, paragraphs="mark") as dedup:
            await dedup.check(A, text=TEXT)
            looked = await dedup.check(B, text=HALF, remember=False)
            assert (await dedup.check(B, text=HALF)).coverage == looked.coverage

    asyncio.run(main())
