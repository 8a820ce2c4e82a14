"""Words weighted by frequency, length and part of speech.

Yu, Hu & Zhang, "Research on large scale documents deduplication technique based on simhash algorithm", weigh a word w
of a document by

    W(w) = Score(w) / max over the document's words of Score,    Score(w) = n + lambda (Len(w) + Pos(w))

where n is the number of its occurrences, Len(w) is 1 for a word of at least four characters and else 0, and
Pos(w) is 1 for a noun and else 0. The method is made for Chinese, whose words must be found first. Taggers do that:

- ``jieba`` segments runs of Han characters with jieba's dictionary and its parts of speech, by single characters where
  the dictionary has no word; it splits all other text into words without a part of speech. Each run is segmented by
  itself, so near duplicates in mixed languages stay near.
- ``words`` splits any text into words, as `split_words` does, and needs no package.
- a callable of your own, given by its dotted path, serves other languages.

The paper says of lambda only that it is related to the length of the document. Here it is one number for all. The
smaller it is, the more the commonest words of the language decide. In 1,155 Chinese pages of manuals, pairs that share
less than half of their shingles were within 6 of 64 bits in .29 % of cases with lambda 0, .11 % with 1, .001 % with 3;
pairs that share nine tenths differed by 1.5, 2.2, 2.2 bits, and by 2.8 with 5.
"""

from __future__ import annotations

import math
import pkgutil
import re
from functools import cache, lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

import mmh3
import numpy as np

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.fingerprinting.features import MAX_WEIGHT
from crawldedup.text.tokenize import split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    Tagger = Callable[[str], Iterable[tuple[str, str]]]
    """Maps a text to its words and their parts of speech, in order."""

DEFAULT_LAMBDA: Final = 3.0
MAX_LAMBDA: Final = 1000.0
LONG_WORD: Final = 4
"""A word of this many characters or more counts as long."""

POS_VALUES: Final = {
    "n": 1.0,  # nouns, names of people, places and organisations: jieba's n, nr, ns, nt, nz, Penn's NN, NNP
    "propn": 1.0,  # names, in the tag set of Universal Dependencies, where a noun is NOUN
    "num": 0.0,  # numerals in that tag set
}
"""Pos by the beginning of a tag in lower case; the longest beginning counts. Other tags have 0."""

NO_PART_OF_SPEECH: Final = "x"

_HAN_RUN: Final = re.compile("([\u3400-\u4dbf\u4e00-\u9fff]+)")
_SHORT_RUN: Final = 8
_PARAMETERS: Final = ("lambda", "tagger")
_TAGGERS: Final = ("jieba", "words")


class WordScorer:
    """The words of a text as weighted features (Yu, Hu & Zhang).

    `tagger` finds the words and their parts of speech. `name` names everything that decides the features, for the
    profile of an index. Words are compared normalised and case-folded; a word has a letter or a digit. A word with
    several parts of speech in a text counts as the most valuable.
    """

    def __init__(self, tagger: Tagger, *, tagger_name: str, lambda_: float = DEFAULT_LAMBDA) -> None:
        self._tagger = tagger
        self._tagger_name = tagger_name
        self._lambda = lambda_
        self.name = f"yu?lambda={lambda_!r}&tagger={tagger_name}"

    def features(self, text: str) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Return distinct sorted hashes of the words of a text and their weights, both of shape (distinct words,).

        Weights are whole numbers from 1 to MAX_WEIGHT, in proportion to W.
        Raises PageError: `broken` if the tagger fails, `empty` if it finds no word.
        """
        frequencies: dict[int, int] = {}
        bonuses: dict[int, float] = {}
        for word, tag in self._tagged(text):
            number, length = _hash_and_length(word)
            if length:
                bonus = (length >= LONG_WORD) + _pos_value(tag)
                frequencies[number] = frequencies.get(number, 0) + 1
                bonuses[number] = max(bonuses.get(number, 0.0), bonus)
        if not frequencies:
            raise PageError("empty", f"the tagger {self._tagger_name!r} found no word in the text")
        ordered = sorted(frequencies)
        counts = np.array([frequencies[number] for number in ordered], np.float64)
        scores = counts + self._lambda * np.array([bonuses[number] for number in ordered], np.float64)
        # IEEE 754 rounds each of these operations alike on every machine; a logarithm would differ.
        weights = np.maximum(np.rint(scores / scores.max() * MAX_WEIGHT), 1)
        return np.array(ordered, np.uint64), weights.astype(np.float32)

    def _tagged(self, text: str) -> Iterator[tuple[str, str]]:
        try:
            for word, tag in self._tagger(text):
                yield str(word), str(tag)
        # A tagger of a user may raise anything on hostile input.
        except Exception as error:
            raise PageError(
                "broken", f"tagging words with {self._tagger_name!r} failed: {type(error).__name__}: {error}"
            ) from error


def make_word_scorer(spec: str) -> WordScorer:
    """Make a word scorer from ``yu`` or, with any of its parameters, ``yu?lambda=0.5&tagger=words``.

    `lambda` is a number from 0 to MAX_LAMBDA, by default DEFAULT_LAMBDA. `tagger` is jieba (the default), words,
    or the dotted path of a callable that takes a text and returns pairs of a word and its part of speech.
    Raises ConfigurationError, or MissingDependencyError if jieba is needed and not installed.
    """
    name, _, query = str(spec).partition("?")
    if name != "yu":
        raise ConfigurationError(f"there is no word score {spec!r}; it is yu, or yu?lambda=0.5&tagger=words")
    parameters = _parameters(spec, query)
    lambda_ = _parse_lambda(parameters.get("lambda", DEFAULT_LAMBDA))
    tagger, tagger_name = _find_tagger(parameters.get("tagger", "jieba"))
    return WordScorer(tagger, tagger_name=tagger_name, lambda_=lambda_)


def tag_words(text: str) -> Iterator[tuple[str, str]]:
    """Return the words of a text in any language, without parts of speech: the tagger ``words``."""
    return ((word, NO_PART_OF_SPEECH) for word in split_words(text))


def tag_chinese(text: str) -> Iterator[tuple[str, str]]:
    """Yield words and parts of speech of runs of Han characters, and the other words: the tagger ``jieba``."""
    for number, run in enumerate(_HAN_RUN.split(text)):
        if number % 2:
            # With HMM, many words that the dictionary lacks would take half a second per page.
            for pair in _segmenter().cut(run, HMM=False):
                yield pair.word, pair.flag
        else:
            for word in _words_between(run):
                yield word, NO_PART_OF_SPEECH


def _words_between(run: str) -> tuple[str, ...]:
    """Return the words between Han characters. Most runs are punctuation, and repeat."""
    return _words_of_short_run(run) if len(run) <= _SHORT_RUN else tuple(split_words(run))


@lru_cache(maxsize=1 << 12)
def _words_of_short_run(run: str) -> tuple[str, ...]:
    return tuple(split_words(run))


@cache
def _segmenter() -> Any:
    """Return jieba with nothing but its own dictionary.

    The shared segmenter knows the words that other code in the process has added, reads a cache from a folder that
    anyone may write to, and logs to the console. This one does not.
    """
    import jieba
    import jieba.posseg

    words = jieba.Tokenizer()
    words.FREQ, words.total = words.gen_pfdict(words.get_dict_file())
    words.initialized = True
    return jieba.posseg.POSTokenizer(words)


@lru_cache(maxsize=1 << 16)
def _hash_and_length(word: str) -> tuple[int, int]:
    """Return the hash of a word, normalised, and its number of characters; 0 without a letter or digit."""
    parts = split_words(word)
    # Keep 3.14 apart from 314.
    key = " ".join(parts).encode("utf-8", "replace")
    return int(mmh3.hash64(key, signed=False)[0]), sum(map(len, parts))


@lru_cache(maxsize=1024)
def _pos_value(tag: str) -> float:
    folded = tag.lower()
    fitting = [beginning for beginning in POS_VALUES if folded.startswith(beginning)]
    return POS_VALUES[max(fitting, key=len)] if fitting else 0.0


def _parameters(spec: str, query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ConfigurationError(f"{spec!r} cannot be read; write yu?lambda=0.5&tagger=words") from None
    for name, _ in pairs:
        if name not in _PARAMETERS:
            hint = did_you_mean(name, _PARAMETERS) or "."
            raise ConfigurationError(f"{spec!r} has no parameter {name!r}{hint} It has {' and '.join(_PARAMETERS)}")
    parameters = dict(pairs)
    if len(parameters) < len(pairs):
        raise ConfigurationError(f"{spec!r} gives a parameter twice; give each once")
    return parameters


def _parse_lambda(given: str | float) -> float:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_LAMBDA:
        raise ConfigurationError(f"lambda is {given!r}; it must be a number from 0 to {MAX_LAMBDA:g}")
    return value


def _find_tagger(name: str) -> tuple[Tagger, str]:
    """Return the tagger and its name in the profile of an index."""
    if name == "words":
        return tag_words, name
    if name == "jieba":
        try:
            version = metadata.version("jieba")
        except metadata.PackageNotFoundError as error:
            raise MissingDependencyError(
                "the tagger 'jieba' needs the package jieba; install it with: pip install 'crawldedup[zh]', or choose "
                "the tagger words, as in yu?tagger=words"
            ) from error
        # The version names the dictionary.
        return tag_chinese, f"jieba-{version}"
    if "." in name:
        return _load_tagger(name), name
    raise ConfigurationError(
        f"there is no tagger {name!r}{did_you_mean(name, _TAGGERS) or '.'} "
        f"It is one of {', '.join(_TAGGERS)}, or the dotted path of your own (myproject.words.tag)"
    )


def _load_tagger(path: str) -> Tagger:
    try:
        found = pkgutil.resolve_name(path)
    # The module of a user may raise anything.
    except Exception as error:
        raise ConfigurationError(
            f"the tagger {path!r} cannot be used: {type(error).__name__}: {error}; give the dotted path of a callable "
            f"that takes a text and gives pairs of a word and its part of speech"
        ) from error
    if not callable(found):
        raise ConfigurationError(
            f"the tagger {path!r} is a {type(found).__name__}; it must be a callable that takes a text and gives "
            f"pairs of a word and its part of speech"
        )
    tagger: Tagger = found
    return tagger
