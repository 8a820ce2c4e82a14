"""Split texts into words, and hash the words.

This is done without `re` and `str`, because these depend on the Unicode version of each Python. A
text is NFKC-normalized and case-folded as of Unicode 14, and a frozen table classifies all code
points. A word is a run of letters, digits and underscores with their marks. In scripts without
spaces between words (Han, Kana, Thai, Lao, Khmer, Myanmar), every letter with its marks is a word.
Invisible characters, such as joiners, aren't part of a text, so they are removed first.

The hash of a word with folded code points c_0, c_1, .. is mix(sum of mix(c_i + 1) * B^i mod 2^64).
This is a sum over a slice of the text, so numpy computes all of them at once (Karp & Rabin 1987,
with a mixed alphabet). With a key, the values of the letters and the base B are secret, and a
secret is XORed into the sum.
"""

import json
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.key import NO_KEY, Key

Hashes = NDArray[np.uint64]

# The classes of characters.
SEPARATOR: Final = 0  # ends a word: whitespace, punctuation, a symbol, a control character
# Part of a word: a letter, digit or underscore, as in the regular expression \w.
LETTER: Final = 1
# A word by itself: a letter of a script without spaces between words (Han, Kana, Thai, ...).
SOLO: Final = 2
MARK: Final = 3  # belongs to the letter before it: a combining mark
# Not assigned in Unicode 14, and blanked out because newer Pythons might normalize it.
UNKNOWN: Final = 4
# Invisible and left out: Default_Ignorable_Code_Point, which NFKC_Casefold leaves out as well.
IGNORED: Final = 5

DATA_FILE: Final = "unicode14.json"
# It is odd, so it has an inverse mod 2^64. It is 3 mod 8, so B - 1 and B^2 - 1 have few factors of
# two, and words that are permutations of each other differ at least in the high bits.
_BASE: Final = 0x9E3779B97F4A7C13
_BLOCK: Final = 1 << 16
_PLANE: Final = 1 << 16
_SHIFT: Final = np.uint64(32)
_FACTOR: Final = np.uint64(0xD6E8FEB86659FD93)
# The class of characters that aren't normalized and folded to a single letter.
_SOFT_HYPHEN: Final = "\xad"
# Hangul vowels and tails are letters, but normalization joins them to the letter before.
_JAMO_VOWELS_AND_TAILS: Final = slice(0x1160, 0x1200)
_SURROGATES: Final = slice(0xD800, 0xE000)
# No language stacks more accents on a letter than this.
_MOST_MARKS: Final = 32
# In a text with more of them in a row, every eighth character is one, four times in a row.
_EIGHTH: Final = 8
# Tibetan and halfwidth characters that become nothing but accents.
_BECOME_MARKS: Final = (0xF73, 0xF75, 0xF81, 0xFF9E, 0xFF9F)
_PLANES_WITH_MARKS: Final = range(0x20000)
# The class of a character that isn't in the table, because its neighbors matter, or it becomes
# several characters.
_ODD: Final = 3


@cache
def class_table() -> NDArray[np.uint8]:
    """Return a table of the class of every code point, such as letter or separator.

    The shape is (0x110000,).
    """
    data = json.loads(resources.files(__package__).joinpath(DATA_FILE).read_text("ascii"))
    table = np.repeat(np.asarray(data["run_classes"], np.uint8), data["run_lengths"])
    table.setflags(write=False)
    return table


def mix(values: Hashes) -> Hashes:
    """Scramble the bits of 64-bit values. Different values stay different.

    This is xor-shift-multiply. A new array is returned.
    """
    mixed: Hashes = values ^ (values >> _SHIFT)
    mixed *= _FACTOR
    mixed ^= mixed >> _SHIFT
    mixed *= _FACTOR
    mixed ^= mixed >> _SHIFT
    return mixed


def split_words(text: str, *, fold_case: bool = True) -> list[str]:
    """Return the words of a text in order, normalized and by default case-folded."""
    words = _words_in_context(text, fold_case=fold_case)
    codes = np.where(words.separators, ord(" "), words.codes)  # type: ignore[arg-type]
    # Words of one letter may follow each other directly.
    spaced = np.insert(codes, words.starts, ord(" ")).astype("<u4")
    return spaced.tobytes().decode("utf-32-le").split()


def without_ignored(text: str) -> str:
    """Return a text without invisible characters, such as joiners."""
    if text.isascii():
        return text
    codes = _code_points(text)
    ignored = class_table().take(codes) == IGNORED
    return _text_of(codes[~ignored]) if ignored.any() else text


def without_endless_marks(text: str) -> str:
    """Limit runs of accents in a text to 32. The rest of a run is removed.

    Unicode normalization takes quadratic time on long runs of marks, even if there are characters
    between them that are removed before.
    """
    if text.isascii():
        return text
    sample = _sorted_marks().take(_code_points(text[::_EIGHTH]))
    if not (sample[:-3] & sample[1:-2] & sample[2:-1] & sample[3:]).any():
        return text
    codes = _code_points(text)
    places = np.arange(len(codes))
    before = np.where(_sorted_marks().take(codes), -1, places)
    return _text_of(codes[places - np.maximum.accumulate(before) <= _MOST_MARKS])


@cache
def _sorted_marks() -> NDArray[np.bool_]:
    """Return a table of the characters that make Unicode normalization slow in long runs.

    For each code point, it says whether normalization sorts it, as it does with accents, or whether
    it is invisible, or replaced by such a character.
    """
    is_sorted: NDArray[np.bool_] = class_table() == IGNORED
    combining = [code for code in _PLANES_WITH_MARKS if unicodedata.combining(chr(code))]
    is_sorted[[*combining, *_BECOME_MARKS]] = True
    return is_sorted


class _Words(NamedTuple):
    """A text that is ready to be hashed: its code points, the starts of its words, its separators.

    The separators are only there if the text was normalized.
    """

    codes: NDArray[np.unsignedinteger]
    starts: NDArray[np.intp]
    separators: NDArray[np.bool_] | None


def count_words(text: str) -> int:
    """Return the number of words of a text."""
    return len(_words(text).starts)


def words_of_lines(text: str) -> NDArray[np.intp]:
    """Return the number of words of each line, as `text.split("\\n")` has them."""
    words = _words(text)
    feeds = (words.codes == ord("\n")).nonzero()[0]
    counts: NDArray[np.intp] = np.diff(
        np.searchsorted(words.starts, feeds), prepend=0, append=len(words.starts)
    )
    return counts


def word_hashes(text: str, key: Key = NO_KEY) -> Hashes:
    """Return one 64-bit hash per word in order, shape (words,).

    Hashes are the same on every machine and Python.
    """
    words = _words(text)
    secrets = _secrets(key)
    if words.separators is None:
        values = secrets.plane.take(words.codes)
    else:
        values = _values_of(words.codes, secrets.of_letters)
        values[words.separators] = 0
    return _hash_slices(values, words.starts, secrets)


class TextHashes(NamedTuple):
    """The `word_hashes` of several texts, one after the other.

    `starts` has the start of each text, and the end of the last one. `are_plain` is True if no text
    has invisible characters, or others that depend on their neighbors.
    """

    hashes: Hashes
    starts: NDArray[np.intp]
    are_plain: bool


def hashes_of_texts(texts: Sequence[str], key: Key = NO_KEY) -> TextHashes:
    """Return the `word_hashes` of several texts."""
    joined = "\n".join(texts)
    words = _words(joined)
    are_plain = words.separators is None
    if are_plain and len(words.codes) <= _BLOCK:
        starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
        return TextHashes(
            word_hashes(joined, key), np.searchsorted(words.starts, starts), are_plain
        )
    # Such texts are normalized and split separately.
    hashes = [word_hashes(text, key) for text in texts]
    return TextHashes(np.concatenate(hashes), np.cumsum([0, *map(len, hashes)]), are_plain)


# Cached, because a page's words are counted before they are fingerprinted.
@lru_cache(maxsize=1)
def _words(text: str) -> _Words:
    plane_classes, _ = _plane_tables()
    codes = np.frombuffer(text.encode("utf-16-le", "replace"), "<u2")
    classes = plane_classes.take(codes)
    if (classes == _ODD).any():
        return _words_in_context(text)
    return _Words(codes, _word_starts(classes), None)


def _words_in_context(text: str, *, fold_case: bool = True) -> _Words:
    """Find the words of a text by normalizing all of it, to NFKC as of Unicode 14.

    This takes three times as long as looking characters up in a table.
    """
    codes = _code_points(text)
    classes = class_table().take(codes)
    if (classes >= UNKNOWN).any():
        known = np.where(classes == UNKNOWN, np.uint32(ord(" ")), codes)
        text = _text_of(known[classes != IGNORED])
    normalized = unicodedata.normalize("NFKC", text)
    codes = _code_points(normalized.casefold() if fold_case else normalized)
    classes = class_table().take(codes)
    return _Words(codes, _word_starts(classes), classes == SEPARATOR)


def _code_points(text: str) -> NDArray[np.uint32]:
    # Lone surrogates can't be encoded. They aren't part of words, so a replacement changes nothing.
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<u4")


def _text_of(codes: NDArray[np.uint32]) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le")


def _word_starts(classes: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the positions at which words start, given the class of each character.

    A solo letter always starts one; a letter or a mark does unless it continues a word.
    """
    starts: NDArray[np.bool_] = classes == LETTER
    stray = classes == MARK
    continues = starts | stray
    starts[1:] &= ~continues[:-1]
    stray[1:] &= classes[:-1] == SEPARATOR
    starts |= stray | (classes == SOLO)
    return starts.nonzero()[0]


class _Secrets(NamedTuple):
    """The values that go into the hash of a word and depend on the key.

    Without a key, all of them are public.
    """

    plane: Hashes  # the values of the basic multilingual plane; 0 for separators
    powers: Hashes
    inverse_powers: Hashes
    of_letters: np.uint64
    of_words: np.uint64


# 1.5 MiB and a millisecond each.
@lru_cache(maxsize=8)
def _secrets(key: Key) -> _Secrets:
    of_letters, of_words, base = (
        key.number(b"", name) if key.secret else 0 for name in ("letters", "words", "base")
    )
    base = base >> 3 << 3 | 3 if key.secret else _BASE
    _, codes = _plane_tables()
    plane = _values_of(codes, np.uint64(of_letters))
    plane[codes == 0] = 0
    powers = _powers(base)
    inverse_powers = _powers(pow(base, -1, 1 << 64))
    return _Secrets(plane, powers, inverse_powers, np.uint64(of_letters), np.uint64(of_words))


def _values_of(codes: NDArray[np.unsignedinteger], secret: np.uint64) -> Hashes:
    values = mix(codes.astype(np.uint64) + np.uint64(1))
    return mix(values ^ secret) if secret else values


def _hash_slices(values: Hashes, starts: NDArray[np.intp], secrets: _Secrets) -> Hashes:
    """Hash the words of a text: the slices values[starts[i]:starts[i + 1]].

    Separators have the value 0, so they don't count.
    """
    if len(starts) == 0:
        return np.empty(0, np.uint64)
    if len(values) > _BLOCK and len(starts) > 1:
        half = len(starts) // 2
        middle = starts[half]
        first = _hash_slices(values[:middle], starts[:half], secrets)
        return np.concatenate(
            [first, _hash_slices(values[middle:], starts[half:] - middle, secrets)]
        )
    if len(values) > _BLOCK:
        # A word that is longer is cut off.
        values = values[starts[0] :][:_BLOCK]
        starts = np.zeros(1, np.intp)
    values *= secrets.powers[: len(values)]
    sums = np.add.reduceat(values, starts)
    sums *= secrets.inverse_powers.take(starts)
    sums ^= secrets.of_words
    return mix(sums)


@cache
def _plane_tables() -> tuple[NDArray[np.uint8], Hashes]:
    """Return tables for the basic multilingual plane: classes, and normalized letters.

    A class is SEPARATOR, LETTER or SOLO if it doesn't depend on the neighbors, and _ODD otherwise.
    Normalized letters are case-folded as well. Separators have the code 0.
    """
    all_classes = class_table()
    # Characters whose neighbors matter, or that matter for their neighbors.
    joining = all_classes >= MARK
    joining[_JAMO_VOWELS_AND_TAILS] = joining[_SURROGATES] = True
    alone = np.flatnonzero(~joining[:_PLANE])
    folded = [unicodedata.normalize("NFKC", chr(code)).casefold() for code in alone.tolist()]
    letters = np.array([ord(text) if len(text) == 1 else ord(_SOFT_HYPHEN) for text in folded])
    is_letter = ~joining.take(letters)
    classes = np.full(_PLANE, _ODD, np.uint8)
    codes = np.zeros(_PLANE, np.uint64)
    classes[alone[is_letter]] = all_classes.take(letters[is_letter])
    codes[alone[is_letter]] = letters[is_letter]
    for place in np.flatnonzero(~is_letter).tolist():
        if all(all_classes[ord(letter)] == SEPARATOR for letter in folded[place]):
            classes[alone[place]] = SEPARATOR
    codes[classes == SEPARATOR] = 0
    return classes, codes


def _powers(base: int) -> Hashes:
    factors = np.full(_BLOCK, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)
