"""Words and their hashes."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawldedup.reading.tokenize import UNKNOWN, class_table, split_words, word_hashes
from tests.fingerprinting.definition import hash_of, hashes_of, words_of

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


@given(st.text(max_size=60) | st.text(st.characters(exclude_categories=()), max_size=60))
@settings(max_examples=150, deadline=None)
def test_words_and_hashes_are_as_defined(text: str) -> None:
    assert split_words(text) == words_of(text)
    assert hash_list(text) == hashes_of(text)


@given(st.text(st.sampled_from(TROUBLE), max_size=24))
@settings(max_examples=400, deadline=None)
@example("ㄱㅏ")
@example("ﾡￂ")
@example("ｶﾞ")
@example("a\u0301ß\u0301")
@example("\u0301a")
@example("x\xad\u0301")
def test_words_and_hashes_are_as_defined_where_characters_join(text: str) -> None:
    words = split_words(text)
    assert words == words_of(text)
    assert hash_list(text) == [hash_of(word) for word in words]


@given(st.text(st.characters(max_codepoint=127), max_size=200))
@settings(max_examples=60, deadline=None)
def test_ascii_words_are_runs_of_letters_digits_and_underscores(text: str) -> None:
    kept = [character if character.isalnum() or character == "_" else " " for character in text.lower()]
    assert split_words(text) == "".join(kept).split()
    assert hash_list(text) == hashes_of(text)


@pytest.mark.nightly
def test_every_character_between_letters() -> None:
    """Alone in its text, so that each has its chance of going the short way."""
    for code_point in np.flatnonzero(class_table()[:0x30000] != UNKNOWN).tolist():
        character = chr(code_point)
        if code_point > 0x3400 and unicodedata.normalize("NFKC", character) == character and code_point % 97:
            continue  # Han and Hangul by the ten thousand
        text = f"no{character}on"
        words = words_of(text)
        assert split_words(text) == words, hex(code_point)
        assert hash_list(text) == [hash_of(word) for word in words], hex(code_point)


@given(st.text(st.sampled_from(TROUBLE), max_size=24))
@settings(max_examples=100, deadline=None)
def test_case_is_kept_on_request(text: str) -> None:
    assert split_words(text, fold_case=False) == words_of(text, fold_case=False)


@given(st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_equivalent_texts_have_equal_words(text: str) -> None:
    # Characters newer than Unicode 14 are blanked, not normalised.
    known = "".join(character for character in text if class_table()[ord(character)] != UNKNOWN)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert hash_list(unicodedata.normalize(form, known)) == hash_list(known)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \t\r\n.,;!?", []),
        ("Don't stop: 3.14 is snake_case", ["don", "t", "stop", "3", "14", "is", "snake_case"]),
        ("one—two…three/four", ["one", "two", "three", "four"]),
        ("Straße STRASSE straſſe", ["strasse"] * 3),
        ("naïve nai\u0308ve NAÏVE", ["naïve"] * 3),
        ("co\xadoperate co-operate", ["cooperate", "co", "operate"]),
        ("ﬁnd ＦＩＮＤ №5 x²", ["find", "find", "no5", "x2"]),
        ("İstanbul", ["i\u0307stanbul"]),
        ("ΟΔΟΣ οδός ΟΔΌΣ", ["οδοσ", "οδόσ", "οδόσ"]),
        ("Ёлка, ЁЛКА", ["ёлка", "ёлка"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        ("السَّلامُ عليكم", ["السَّلامُ", "عليكم"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("ภาษาไทยง่ายนะ", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย", "ง่", "า", "ย", "น", "ะ"]),
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("ភាសាខ្មែរ", ["ភា", "សា", "ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("안녕 세계", ["안녕", "세계"]),
        (unicodedata.normalize("NFD", "안녕 세계"), ["안녕", "세계"]),
        ("ㅋㅋㅋ ㄱㅏ", [unicodedata.normalize("NFKC", "ㅋㅋㅋ"), "가"]),
        ("東京タワーへ行く。", ["東", "京", "タ", "ワ", "ー", "へ", "行", "く"]),
        ("ﾊﾞｽ停", ["バ", "ス", "停"]),
        ("我々は々", ["我", "々", "は", "々"]),
        ("你好，世界！", ["你", "好", "世", "界"]),
        ("Python3で書く、ABC株式会社", ["python3", "で", "書", "く", "abc", "株", "式", "会", "社"]),
        ("\U00020bb7野家", ["\U00020bb7", "野", "家"]),
        ("I 😀 you→me", ["i", "you", "me"]),
        ("a\ud800b", ["a", "b"]),
        ("a\u0378b\U0001fae8c", ["a", "b", "c"]),
        ("\u0301x", ["\u0301x"]),
    ],
)
def test_words_of(text: str, words: list[str]) -> None:
    assert split_words(text) == words
    assert hash_list(text) == [hash_of(word) for word in words]


@pytest.mark.parametrize("filler", ["a b ", "é ö ", "ก่า ", "漢字。"])
@pytest.mark.parametrize("distance", [-3, -1, 0, 1, 3])
def test_words_across_the_border_of_a_block(filler: str, distance: int) -> None:
    filling = (filler * BLOCK)[: BLOCK + distance - 4].rpartition(filler[-1])[0] + filler[-1]
    text = f"{filling}border wörd 界 end"
    assert hash_list(text)[-60:] == [hash_of(word) for word in split_words(text)[-60:]]
    assert len(word_hashes(text)) == len(split_words(text))


@pytest.mark.parametrize("seed", range(4))
def test_long_texts_with_words_of_any_length(seed: int) -> None:
    """A word is hashed alike wherever it stands; of one longer than a block the first 65,536 characters count."""
    generator = random.Random(seed)
    sizes = [generator.choice([1, 4, 9, 500, 30_000, BLOCK - 1, BLOCK, BLOCK + 1]) for _ in range(9)]
    words = ["".join(generator.choices("abcé", k=size)) for size in sizes]
    gaps = [" " * generator.choice([1, 2, 70_000]) for _ in words]
    text = " " + "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    assert split_words(text) == words
    assert hash_list(text) == [hash_of(word) for word in words]


def test_a_text_of_one_word_or_of_none_may_be_as_long_as_it_likes() -> None:
    assert hash_list("x" * 200_000) == [hash_of("x" * BLOCK)]
    assert hash_list(" " * 200_000) == []
    assert hash_list("กก" * 100_000) == [hash_of("ก")] * 200_000


def test_different_words_have_different_hashes() -> None:
    words = {f"{prefix}{number}" for prefix in ("", "w", "ж", "漢") for number in range(20_000)}
    words |= {"".join(letters) for letters in ("ab", "ba", "aab", "aba", "baa", "listen", "silent", "enlist")}
    split = split_words(" ".join(words))
    assert len(np.unique(word_hashes(" ".join(words)))) == len(set(split))


def test_bits_of_word_hashes_are_balanced() -> None:
    """Simhash needs every bit of a feature's hash to be a fair coin."""
    count = 40_000
    hashes = word_hashes(" ".join(f"word{number}" for number in range(count)))
    shares = np.unpackbits(hashes.view(np.uint8)).reshape(count, 64).mean(axis=0)
    assert np.abs(shares - 0.5).max() < 5 * 0.5 / count**0.5


def test_hashes_asked_for_again_are_the_same_whatever_became_of_them() -> None:
    hashes = word_hashes("one two three")
    hashes.sort()
    again, other = word_hashes("one two three"), word_hashes("one two four")
    assert again.tolist() == hash_list("one two three")
    assert (again == other).tolist() == [True, True, False]
