"""Pages of which a part is known, on every kind of store."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Page, Verdict
from crawldedup.errors import StoreError
from crawldedup.verdict import describe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def check_in_a_batch(dedup: Deduplicator, url: str, text: str) -> Verdict:
    (verdict,) = dedup.check_many([Page(url, text=text)])
    return verdict


def look_first(dedup: Deduplicator, url: str, text: str) -> Verdict:
    page = dedup.fingerprint(text=text)
    looked = dedup.check_fingerprint(url, page, remember=False)
    verdict = dedup.check_fingerprint(url, page)
    assert looked.coverage == verdict.coverage
    return verdict


@pytest.mark.parametrize("ask", [check, check_in_a_batch, look_first])
def test_a_new_page_tells_which_share_of_it_is_known(
    store_url: str, ask: Callable[[Deduplicator, str, str], Verdict]
) -> None:
    with Deduplicator(store_url, key=0, paragraphs="mark") as dedup:
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


def test_without_the_option_nothing_is_told_or_kept(store_url: str) -> None:
    with Deduplicator(store_url, key=0) as dedup:
        assert dedup.check(A, text=TEXT).coverage is None
        found = dedup.check_paragraphs(B, text=TEXT, remember=False)
        assert (found.share_new, found.known_words) == (1, 0)


def test_paragraphs_can_be_checked_by_themselves(store_url: str) -> None:
    with Deduplicator(store_url, key=0) as dedup:
        assert dedup.check_paragraphs(A, text=TEXT).share_new == 1
        html = "".join(f"<p>{line}.</p>" for line in [*ONE, *FEW])
        for _ in range(2):
            known = dedup.check_paragraphs(B, html=f"<html><body><article>{html}</article>", remember=False)
            assert (known.is_partial, known.sources[0][0]) == (True, A)
        # The page itself was not judged.
        assert dedup.info().pages == 0


def test_a_partial_page_adds_nothing(store_url: str) -> None:
    """Or the pages that hold a story would make boilerplate of it, and its copies would name copies."""
    copies = [f"https://{number}.example/" for number in range(12)]
    with Deduplicator(store_url, key=0) as dedup:
        dedup.check_paragraphs(A, text=TEXT)
        dedup.check_paragraphs(B, text="\n".join(TWO))
        for url in copies:
            found = dedup.check_paragraphs(url, text=HALF)
            assert (found.is_partial, found.share_new) == (True, 0)
            assert {source for source, _ in found.sources} == {A, B}


def test_boilerplate_is_told_as_such(store_url: str) -> None:
    """It stands on every page, between paragraphs of the page's own."""
    boilerplate = story(99, 2)
    with Deduplicator(store_url, key=0, paragraphs="mark") as dedup:
        found = []
        for number in range(12):
            own = story(100 + number, 4)
            verdict = dedup.check(f"https://example.com/{number}", text="\n".join([*boilerplate, *own]))
            assert verdict.coverage is not None
            found.append((verdict.coverage.known_words > 0, verdict.coverage.boilerplate_words > 0))
        assert found == [(False, False), *[(True, False)] * 7, *[(False, True)] * 4]


def test_what_was_added_later_does_not_make_a_page_partial(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compilation that takes a story over whole does not cost the story its next visit."""
    with Deduplicator(store_url, key=0, paragraphs=0.2) as dedup:
        dedup.check(A, text=TEXT)
        assert not dedup.check(B, text=MOSTLY).is_partial
        for _ in range(2):
            again = dedup.check(A, text=TEXT)
            assert again.kind is Kind.REVISIT
            assert again.coverage is not None
            assert again.coverage.share_new == 1


def test_a_share_decides_what_is_partial(store_url: str) -> None:
    for least, partial in ((0.3, False), (0.7, True)):
        with Deduplicator(store_url, key=0, paragraphs=least, namespace=f"n{partial}") as dedup:
            dedup.check(A, text=TEXT)
            assert dedup.check(B, text=HALF).is_partial == partial
            assert dedup.check(B, text=HALF).is_partial == partial


def test_pages_of_other_scopes_are_not_compared(store_url: str) -> None:
    with Deduplicator(store_url, key=0, scope="site", paragraphs="mark") as dedup:
        dedup.check(A, text=TEXT)
        verdicts = [dedup.check(url, text=HALF) for url in (B, f"{A}/2")]
        assert [verdict.coverage and verdict.coverage.known_words > 0 for verdict in verdicts] == [False, True]


def test_a_page_that_is_forgotten_is_no_source(store_url: str) -> None:
    with Deduplicator(store_url, key=0, paragraphs="mark") as dedup:
        dedup.check(A, text=TEXT)
        assert (dedup.forget(A), dedup.forget(A)) == (1, 0)
        assert dedup.check_paragraphs(B, text=HALF, remember=False).known_words == 0
        dedup.check(A, text=TEXT)
        dedup.clear()
        assert dedup.check_paragraphs(B, text=HALF, remember=False).known_words == 0


def test_pruning_frees_what_is_too_old(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(url, key=0) as later, Deduplicator(url, key=0, paragraphs="mark", paragraph_ttl=1) as dedup:
        dedup.check(A, text=TEXT)
        time.sleep(2.1)
        assert later.check_paragraphs(B, text=HALF, remember=False).known_words > 0
        assert (dedup.prune(), dedup.info().pages) == (0, 1)
        assert later.check_paragraphs(B, text=HALF, remember=False).known_words == 0


def test_urls_need_not_be_kept(store_url: str) -> None:
    with Deduplicator(store_url, key=0, paragraphs="mark", store_urls=False) as dedup:
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
        with pytest.raises(StoreError):
            dedup.check_paragraphs(C, text=TEXT)


def test_they_are_checked_beside_an_event_loop(store_url: str) -> None:
    async def main() -> None:
        async with AsyncDeduplicator(store_url, key=0, paragraphs="mark") as dedup:
            await dedup.check(A, text=TEXT)
            looked = await dedup.check_paragraphs(B, text=HALF, remember=False)
            assert (await dedup.check(B, text=HALF)).coverage == looked

    asyncio.run(main())


def test_a_verdict_with_a_coverage_survives_json(store_url: str) -> None:
    with Deduplicator(store_url, key=0, paragraphs="mark") as dedup:
        dedup.check(A, text=TEXT)
        verdict = dedup.check(B, text=HALF)
        assert Verdict.from_dict(verdict.as_dict()) == verdict
