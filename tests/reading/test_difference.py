"""The description of changes, the cost of hostile texts, and texts packed for a store."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.reading.difference import (
    LONGEST_DIFFERENCE,
    LONGEST_TEXT,
    changes,
    difference,
    packed_text,
    unpacked_text,
)

WORDS = [f"word{number}" for number in range(200)]
TEXT = " ".join(WORDS)


def with_words(**words: str) -> str:
    changed = list(WORDS)
    for place, word in words.items():
        changed[int(place[1:])] = word
    return " ".join(filter(None, changed))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Users online: 17 of 30", "Users online: 18 of 30", "Users online: [-17-] {+18+} of 30"),
        ("a b c", "b c", "[-a-] b c"),
        ("", "some words", "{+some words+}"),
        ("a b c", "x y z", "[-a b c-] {+x y z+}"),
        ("one\ntwo\nthree", "one\n2\nthree", "one [-two-] {+2+} three"),
        (
            "今天天气很好。我们去公园。",
            "今天天气不好。我们去公园。",
            "[-今天天气很好。-] {+今天天气不好。+} 我们去公园。",
        ),
        (
            TEXT,
            with_words(_50="new", _150=""),
            "word46 word47 word48 word49 [-word50-] {+new+} word51 word52 word53 word54 … "
            "word146 word147 word148 word149 [-word150-] word151 word152 word153 word154",
        ),
        ("b" * 200, "c" * 200, f"[-{'b' * 80}…-] {{+{'c' * 80}…+}}"),
    ],
)
def test_what_changed_is_told_among_its_words(old: str, new: str, told: str) -> None:
    assert difference(old, new) == told


def test_another_line_break_is_no_change_behind_many_changes() -> None:
    old = "".join([f"Old {number}.\nThis is sentence {number}.\n" for number in range(30)])
    new = old.replace("Old", "New")
    found = changes(f"{old}the last\nline", f"{new}the last line")
    assert len(found) == 30
    assert all(change.removed and change.added for change in found)


NUMBERS = [f"{number:x}" for number in range(20_000)]
# For each of these `difflib` takes minutes, or would without its guess at what is junk.
HOSTILE = {
    "pairs swapped": (NUMBERS, [NUMBERS[number ^ 1] for number in range(20_000)]),
    "shuffled": (NUMBERS, random.Random(1).sample(NUMBERS, k=20_000)),
    "few words": (
        random.Random(1).choices(WORDS, k=16_000),
        random.Random(2).choices(WORDS, k=16_000),
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts_are_told_in_a_line(kind: str) -> None:
    old, new = HOSTILE[kind]
    told = difference(" ".join(old), " ".join(new))
    assert told is not None
    assert len(told) <= LONGEST_DIFFERENCE + 20


texts = st.lists(
    st.sampled_from(["a", "b", "c", "d", "e\n", "f。g", "\0", "long" * 20]), max_size=30
).map(" ".join)


@given(texts, texts)
def test_something_is_told_if_and_only_if_words_differ(old: str, new: str) -> None:
    told = difference(old, new)
    assert (told is None) == (old.replace("。", "。 ").split() == new.replace("。", "。 ").split())
    assert told is None or ("\n" not in told and len(told) <= LONGEST_DIFFERENCE + 20)


@pytest.mark.parametrize(
    "text", ["", "Grüße, 世界 \0\n", *(letter * LONGEST_TEXT for letter in "xü世😀")]
)
def test_a_text_comes_back_up_to_a_length(text: str) -> None:
    assert unpacked_text(packed_text(text)) == text
    assert unpacked_text(packed_text(f"{text:<{LONGEST_TEXT}}more")) == f"{text:<{LONGEST_TEXT}}"


def test_what_is_no_text_is_none_and_what_swells_stays_small() -> None:
    assert [
        unpacked_text(packed) for packed in (b"", b"no text", packed_text("text" * 100)[2:])
    ] == [None] * 3
    assert len(unpacked_text(zlib.compress(b"x" * 50_000_000)) or "") == LONGEST_TEXT
    assert unpacked_text(packed_text("half \ud800")) == "half ?"
