"""The exact comparison, against doing it the long way."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.literature.exact import (
    LOWEST,
    KeptPages,
    compare_all,
    hashed_shingles,
    jaccard,
    shingles,
    similar_pairs,
    words,
)

SHORT = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)
# Edited copies of one text, in which few shingles are rare.
LONG = st.lists(st.integers(0, 59), max_size=6).map(
    lambda edits: " ".join("edit" if place in edits else f"w{place}" for place in range(60))
)


def pages_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, bool, str]]]:
    """Texts, whether each is kept, and their facts."""
    return st.lists(st.tuples(texts, st.booleans(), st.sampled_from(["", "price 1", "price 2"])), max_size=14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße Café", ["strasse", "café"]),
        ("ｆｕｌｌ width", ["full", "width"]),
        ("漢字かなカナ abc", ["漢", "字", "か", "な", "カ", "ナ", "abc"]),
        ("don't", ["don", "t"]),
        ("… — !", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_similarity_is_the_share_of_common_shingles_and_a_short_text_is_one() -> None:
    assert jaccard("a b c d", "a b c d") == 1
    assert jaccard("a b c d", "b c d e") == pytest.approx(1 / 3)
    assert (jaccard("one two", "one two"), jaccard("one two", "one two three"), jaccard("", "")) == (1, 0, 0)
    assert (shingles("Two words"), shingles("")) == ({("two", "words")}, set())


@given(st.lists(SHORT, max_size=14) | st.lists(LONG, max_size=14))
@settings(max_examples=60, deadline=None)
def test_every_similar_pair_is_found(texts: list[str]) -> None:
    pairs = similar_pairs([hashed_shingles(words(text)) for text in texts])
    every = {(i, j): jaccard(texts[i], texts[j]) for i, j in combinations(range(len(texts)), 2)}
    expected = {pair: pytest.approx(similarity) for pair, similarity in every.items() if similarity >= LOWEST}
    assert {(first, second): similarity for first, second, similarity in pairs} == expected


@given(pages_of(SHORT))
@settings(max_examples=100, deadline=None)
def test_the_nearest_kept_page_of_the_same_and_of_other_facts_is_found(pages: list[tuple[str, bool, str]]) -> None:
    texts, facts = [text for text, *_ in pages], [own for *_, own in pages]
    index = KeptPages(compare_all(texts), facts)
    kept: list[int] = []
    for page, (text, is_kept, own) in enumerate(pages):
        for same in (True, False):
            found = [jaccard(text, texts[other]) for other in kept if (facts[other] == own) is same]
            similarity, nearest = index.best(page, same_facts=same)
            assert similarity == pytest.approx(max([value for value in found if value >= LOWEST], default=0.0))
            assert (nearest is None) == (similarity == 0)
            if nearest is not None:
                assert nearest in kept
                assert (facts[nearest] == own) is same
                assert jaccard(text, texts[nearest]) == pytest.approx(similarity)
        if is_kept:
            index.add(page)
            kept.append(page)


def test_copies_make_one_group_and_pages_without_a_word_none() -> None:
    texts = [" ".join(f"{name}{number}" for number in range(40)) for name in "abc"]
    truth = compare_all([*texts * 200, "", "…"])
    assert (truth.groups[-2:], set(truth.groups[:600]), truth.near) == ([-1, -1], {0, 1, 2}, {})
    assert truth.words[-3:] == [40, 0, 0]
    index = KeptPages(truth, [""] * 602)
    index.add(600)
    assert index.best(601) == (0, None)
