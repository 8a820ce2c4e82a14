"""Words and their hashes, and the frozen table of character classes."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawldedup.fingerprinting.tokenize import (
    IGNORED,
    UNKNOWN,
    class_table,
    split_words,
    without_endless_marks,
    word_hashes,
)
from tests.fingerprinting.definition import hash_of, hashes_of, words_of
from tests.fingerprinting.make_unicode_table import classify

BLOCK = 65_536

# Characters that come from, turn into or join with others, dense enough to meet each other.
TROUBLE = (
    "ab AB_9 '.-"
    "ßẞİıŉǰſﬁﬃΐΰςσΣ"
    "½²ⅫⅣ№℃™…´¨㎏㍿①⒈ａＡ１"
    "\xad\u200b\u200c\u200d\ufe0f\ufeff"
    "\u0301\u0308\u0327\u0345\u093f\u094d\u09be\u0b3e"
    "ㄱㅏㅤᄀ가각\u1161\u11a8\u1160ﾡￂ"
    "ｶﾞﾊﾟカガ\u3099\u309aー々"
    "กำ\u0e48ន្\u17d2က\u1039漢字豈\U0002f800\U00020000"
    "😀❤👩\U0001f3fd\U0001f1e9\U0001f1ea"
    "\ud800\udfff\u0378\U0001fae8\U000e0041"
)


def hash_list(text: str) -> list[int]:
    hashes: list[int] = word_hashes(text).tolist()
    return hashes


@given(
    st.text(max_size=60)
    | st.text(st.characters(exclude_categories=()), max_size=60)
    | st.text(TROUBLE, max_size=24)
)
@settings(max_examples=500, deadline=None)
@example("ㄱㅏ")
@example("ｶﾞ")
@example("a\u0301ß\u0301")
@example("x\xad\u0301")
@example("".join(map(chr, range(128))))
def test_words_and_hashes_are_as_defined(text: str) -> None:
    words = split_words(text)
    assert words == words_of(text)
    assert hash_list(text) == hashes_of(text) == [hash_of(word) for word in words]
    assert split_words(text, fold_case=False) == words_of(text, fold_case=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\r\n.,;!?", []),
        ("Don't stop: 3.14 is snake_case", ["don", "t", "stop", "3", "14", "is", "snake_case"]),
        ("Straße STRASSE straſſe", ["strasse"] * 3),
        ("naïve nai\u0308ve NAÏVE", ["naïve"] * 3),
        ("co\xadoperate co-operate", ["cooperate", "co", "operate"]),
        *(
            (f"{invisible}har{invisible}bour{invisible} {invisible}", ["harbour"])
            for invisible in "\ufeff\u2060\u200b\u200c\u200d\u200e\u202c\u180e\u034f\u2064\ufe0f\u3164\U000e0041"
        ),
        ("می\u200cخواهم", ["میخواهم"]),
        ("ba\u200b\u0301r", ["b\xe1r"]),
        ("a ❤\ufe0f b", ["a", "b"]),
        ("ﬁnd ＦＩＮＤ №5 x²", ["find", "find", "no5", "x2"]),
        ("شָׁلוֹם עולם".replace("شָׁلוֹם", "שָׁלוֹם"), ["שָׁלוֹם", "עולם"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("ภาษาไทยง่ายนะ", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย", "ง่", "า", "ย", "น", "ะ"]),
        (unicodedata.normalize("NFD", "안녕 세계"), ["안녕", "세계"]),
        ("東京タワーへ行く。", ["東", "京", "タ", "ワ", "ー", "へ", "行", "く"]),
        ("a\ud800b\u0378c\U0001fae8d", ["a", "b", "c", "d"]),
    ],
)
def test_words_of(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("filler", ["a b ", "é ö ", "ก่า ", "漢字。"])
def test_words_across_the_border_of_a_block(filler: str) -> None:
    for distance in (-3, -1, 0, 1, 3):
        filling = (filler * BLOCK)[: BLOCK + distance - 4].rpartition(filler[-1])[0] + filler[-1]
        text = f"{filling}border wörd 界 end"
        assert hash_list(text)[-60:] == [hash_of(word) for word in split_words(text)[-60:]]
        assert len(word_hashes(text)) == len(split_words(text))


@pytest.mark.parametrize("seed", range(4))
def test_long_texts_with_words_of_any_length(seed: int) -> None:
    """A word is hashed alike wherever it stands; of one longer than a block the first 65,536
    characters count.
    """
    generator = random.Random(seed)
    sizes = [
        generator.choice([1, 4, 9, 500, 30_000, BLOCK - 1, BLOCK, BLOCK + 1]) for _ in range(9)
    ]
    words = ["".join(generator.choices("abcé", k=size)) for size in sizes]
    gaps = [" " * generator.choice([1, 2, 70_000]) for _ in words]
    text = " " + "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    assert split_words(text) == words
    assert hash_list(text) == [hash_of(word) for word in words]
    assert hash_list(" " * 200_000) == []
    assert hash_list("กก" * 100_000) == [hash_of("ก")] * 200_000


def test_cached_hashes_stay_the_same_if_a_caller_changes_them() -> None:
    hashes = word_hashes("one two three")
    hashes.sort()
    again, other = word_hashes("one two three"), word_hashes("one two four")
    assert again.tolist() == hash_list("one two three")
    assert (again == other).tolist() == [True, True, False]


def test_table_equals_the_running_unicode_database_for_all_that_unicode_14_knew() -> None:
    table = class_table()
    running = np.array([classify(code_point) for code_point in range(0x110000)], np.uint8)
    differing = np.flatnonzero(table != running)
    known = differing[table[differing] != UNKNOWN]
    assert known.tolist() == []
    if unicodedata.unidata_version.startswith("14."):
        assert differing.tolist() == []


def test_nothing_becomes_an_invisible_character_by_normalization() -> None:
    table = class_table()
    invisible = {chr(code_point) for code_point in np.flatnonzero(table == IGNORED).tolist()}
    known = np.flatnonzero(table < UNKNOWN).tolist()
    assert not [
        code_point
        for code_point in known
        if not invisible.isdisjoint(unicodedata.normalize("NFKC", chr(code_point)).casefold())
    ]


def test_accents_are_all_that_becomes_nothing_but_accents() -> None:
    accents = [
        character
        for character in map(chr, range(0x110000))
        if all(map(unicodedata.combining, unicodedata.normalize("NFKD", character)))
    ]
    assert len(accents) > 800
    for character in accents:
        assert len(without_endless_marks(character * 40)) == 32
