"""What changed since the last visit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crawldedup import Deduplicator, Kind, Verdict, wire
from crawldedup.reading.difference import LONGEST_TEXT
from crawldedup.verdict import describe
from tests.stores.backends import Backend
from tests.test_revisits import PRODUCT, TEXT, WORDS, edited

A, B = "https://e.com/a", "https://e.com/b"
TOLD = f"{' '.join(WORDS[1:5])} [-{WORDS[5]}-] {{+edit0+}} {' '.join(WORDS[6:10])}"


def check(dedup: Deduplicator, url: str, text: str) -> Verdict:
    return dedup.check(url, text=text)


def look(dedup: Deduplicator, url: str, text: str) -> Verdict:
    """Ask what a visit would say, and then make it."""
    page = dedup.fingerprint(text=text)
    looked = dedup.check(url, fingerprint=page, remember=False)
    assert dedup.explain(url, fingerprint=page).verdict.difference == looked.difference
    dedup.check(url, fingerprint=page)
    return looked


@pytest.mark.parametrize("ask", [check, look])
def test_a_changed_page_says_what_changed(ask: Callable[[Deduplicator, str, str], Verdict]) -> None:
    with Deduplicator(keep_texts=True) as dedup:
        verdicts = [ask(dedup, A, text) for text in (TEXT, TEXT, edited(1), edited(1))]
        assert [verdict.difference for verdict in verdicts] == [None, None, TOLD, None]
        assert ask(dedup, B, edited(1)).difference is None
        assert (dedup.text_of(A), dedup.text_of(B)) == (edited(1), None)


@pytest.mark.parametrize("ask", [check, look])
def test_a_near_duplicate_says_how_it_differs(ask: Callable[[Deduplicator, str, str], Verdict]) -> None:
    with Deduplicator(keep_texts=True) as dedup:
        dedup.check(A, text=TEXT)
        verdict = ask(dedup, B, edited(1))
        assert (verdict.kind, verdict.original, verdict.difference) == (Kind.NEAR_DUPLICATE, A, TOLD)
        assert describe(verdict).endswith(f" of {A}: {TOLD}")
        assert (dedup.text_of(A), dedup.text_of(B)) == (TEXT, None)


def test_without_the_option_nothing_is_kept() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        assert dedup.check(A, text=edited(1)).difference is None
        # Whoever made the fingerprint.
        dedup.check(A, fingerprint=Deduplicator(keep_texts=True).fingerprint(text=TEXT))
        assert dedup.text_of(A) is None


def test_what_hardly_changed_is_told_once_all_of_it_counts() -> None:
    with Deduplicator(keep_texts=True) as dedup:
        dedup.check(A, text=TEXT)
        unchanged = dedup.check(A, text=edited(1), revisit_similarity=0.9)
        assert (unchanged.changed, unchanged.difference, dedup.text_of(A)) == (False, None, TEXT)
        changed = dedup.check(A, text=edited(20), revisit_similarity=0.9)
        assert changed.difference is not None
        assert changed.difference.startswith(TOLD)


@pytest.mark.parametrize("shared_backend", ["sqlite"], indirect=True)
def test_it_may_be_switched_on_and_off(shared_backend: Backend) -> None:
    told = []
    visits = [(False, 0), (True, 0), (True, 1), (False, 2), (True, 3), (True, 0)]
    for keep_texts, places in visits:
        with Deduplicator(shared_backend.url, keep_texts=keep_texts) as dedup:
            told.append(dedup.check(A, text=edited(places)).difference is not None)
    # The third visit knows the text of the second, which was the text of the first. The fourth keeps none.
    assert told == [False, False, True, False, False, True]


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        # What is compared is kept: product attributes, and all there is to see of a short page.
        (PRODUCT.format(20), PRODUCT.format(18), "Kettle [-20-] {+18+} EUR"),
        (PRODUCT.format(20), PRODUCT.format(20).replace('"20"', '"18"'), "name kettle {+price €18+} price €20"),
        ("<title>T</title><p>three short words", "<title>T</title><p>four words", "T [-three short-] {+four+} words"),
    ],
)
def test_all_that_is_compared_is_kept(old: str, new: str, difference: str) -> None:
    with Deduplicator(keep_texts=True) as dedup:
        assert dedup.check(A, html=old).kind in (Kind.NEW, Kind.THIN)
        verdict = dedup.check(A, html=new)
        assert verdict.changed
        assert verdict.difference is not None
        assert difference in verdict.difference


def test_a_page_is_named_as_when_it_was_checked() -> None:
    with Deduplicator(keep_texts=True, scope="site") as dedup:
        dedup.check(A, text=TEXT, identity="post 1", scope_key="e")
        assert dedup.text_of(A) is None
        assert dedup.text_of(B, identity="post 1", scope_key="e") == TEXT
        dedup.forget(B, identity="post 1", scope_key="e")
        assert dedup.text_of(B, identity="post 1", scope_key="e") is None


def test_the_beginning_of_a_long_text_is_kept() -> None:
    words = [f"word{number}" for number in range(LONGEST_TEXT // 6)]
    with Deduplicator(keep_texts=True) as dedup:
        dedup.check(A, text=" ".join(words))
        kept = dedup.text_of(A)
        assert kept == " ".join(words)[:LONGEST_TEXT]
        behind = dedup.check(A, text=" ".join([*words[:-1], "other"]))
        assert (behind.changed, behind.difference) == (True, None)
        words[0] = "other"
        assert str(dedup.check(A, text=" ".join(words)).difference).startswith("[-word0-] {+other+} word1")


def test_a_difference_is_safe_to_show() -> None:
    verdict = Verdict(Kind.REVISIT, A, A, 0.97, changed=True, difference="now [-1-] {+\x1b[31m2\u2028+}")
    assert describe(verdict) == "known, with other text (0.970): now [-1-] {+\\x1b[31m2\\u2028+}"


def test_verdicts_of_earlier_versions_are_read() -> None:
    values = wire.plain(Verdict(Kind.NEW, A))
    del values["difference"]
    assert wire.from_plain(Verdict, values) == Verdict(Kind.NEW, A)
