"""The exact similarity of texts, which every method is compared with.

Similarity is the Jaccard coefficient of the sets of word 3-shingles. The words here are defined apart from
those of `crawldedup.text`, so that no method is measured by its own definitions.

`similar_pairs` finds every pair from `LOWEST` on. It rests on the prefix filter (Chaudhuri, Ganti & Kaushik, ICDE
2006; Bayardo, Ma & Srikant, WWW 2007): order all shingles from rare to common; two sets x and y with
J(x, y) >= t share at least one of the first |x| - ceil(t |x|) + 1 shingles of x and of y.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

SHINGLE_WORDS: Final = 3
LOWEST: Final = 0.5
"""Similarities below this count as 0."""

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")
_WORD_BITS: Final = 21


def words(text: str) -> list[str]:
    r"""Return case-folded runs of ``\w`` in NFKC; every Han, Hiragana and Katakana character is a word of its own."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return the set of 3-shingles; a text of one or two words has a single shingle, an empty one has none."""
    found = words(text)
    if not found:
        return set()
    size = min(SHINGLE_WORDS, len(found))
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


def jaccard(text: str, other: str) -> float:
    """Return the exact similarity of two texts; 0 for two texts without a word."""
    first, second = shingles(text), shingles(other)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def numbered_shingles(texts: Iterable[Sequence[str]]) -> Iterator[Ids]:
    """Yield the shingle sets of texts, given as lists of words: sorted integers, equal for equal shingles.

    Raises ConfigurationError for a collection of more than two million different words.
    """
    numbers: dict[str, int] = {}
    for text in texts:
        # 0 fills up texts of fewer than three words.
        ids = [numbers.setdefault(word, len(numbers) + 1) for word in text]
        if ids:
            ids += [0] * (SHINGLE_WORDS - len(ids))
        if len(numbers) >= 1 << _WORD_BITS:
            raise ConfigurationError(
                f"the exact comparison knows {(1 << _WORD_BITS) - 1:,} different words and these pages have more; "
                f"compare fewer pages"
            )
        yield _packed(np.array(ids, np.int64))


def _packed(ids: Ids) -> Ids:
    if not len(ids):
        return ids
    packed = np.unique(ids[:-2] << 2 * _WORD_BITS | ids[1:-1] << _WORD_BITS | ids[2:])
    # np.unique may return a view of an array as long as the text.
    return packed.copy()


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs of sets: `second` holds the higher number of each; all arrays have the shape (pairs,)."""

    first: Ids
    second: Ids
    similarity: NDArray[np.float64]


def similar_pairs(sets: Sequence[Ids], on_set: Callable[[], None] = lambda: None) -> SimilarPairs:
    """Find every pair of sets with a Jaccard similarity of at least `LOWEST`; empty sets are similar to nothing.

    `sets` are sorted and without repetition. `on_set` is called once for each set, to show progress.
    """
    ranked, shared_from = _ranked(sets)
    sizes = np.array([len(ranks) for ranks in sets], np.int64)
    # By size: the sets that are too small for a given set come first in every list.
    order = np.argsort(sizes, kind="stable")
    by_size = sizes[order]
    prefixes = [_prefix(ranked[number], shared_from) for number in order.tolist()]
    holders, starts = _inverted(prefixes)
    universe = max((int(ranks[-1]) + 1 for ranks in ranked if len(ranks)), default=0)
    is_mine = np.zeros(universe, bool)
    none = np.empty(0, np.int64)
    found = [SimilarPairs(none, none, np.empty(0))]
    for position, prefix in enumerate(prefixes):
        on_set()
        smallest = int(np.searchsorted(by_size, math.ceil(LOWEST * by_size[position])))
        mine = int(order[position])
        others = order[_candidates(prefix, holders, starts, first=smallest, before=position)]
        if not len(others):
            continue
        is_mine[ranked[mine]] = True
        common = np.array([np.count_nonzero(is_mine[ranked[other]]) for other in others.tolist()])
        is_mine[ranked[mine]] = False
        similarity = common / (sizes[mine] + sizes[others] - common)
        reach = similarity >= LOWEST
        others = others[reach]
        found.append(SimilarPairs(np.minimum(others, mine), np.maximum(others, mine), similarity[reach]))
    return SimilarPairs(
        np.concatenate([pairs.first for pairs in found]),
        np.concatenate([pairs.second for pairs in found]),
        np.concatenate([pairs.similarity for pairs in found]),
    )


def _ranked(sets: Sequence[Ids]) -> tuple[list[Ids], int]:
    """Return the sets as sorted ranks of their elements, 0 the rarest, and the first rank that several sets share."""
    if not sets:
        return [], 0
    distinct, inverse, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    ranks = np.empty(len(distinct), np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
    pieces = np.split(ranks[inverse], np.cumsum([len(ids) for ids in sets])[:-1])
    return [np.sort(piece) for piece in pieces], int((counts == 1).sum())


def _prefix(ranks: Ids, shared_from: int) -> Ids:
    # An element that no other set has leads nowhere.
    prefix = ranks[: len(ranks) - math.ceil(LOWEST * len(ranks)) + 1]
    return prefix[prefix >= shared_from]


def _inverted(prefixes: Sequence[Ids]) -> tuple[Ids, Ids]:
    """Return the sets by element: ``holders[starts[e]:starts[e + 1]]`` have element e in their prefix, ascending."""
    owners = np.repeat(np.arange(len(prefixes)), [len(prefix) for prefix in prefixes])
    elements = np.concatenate([np.empty(0, np.int64), *prefixes])
    order = np.argsort(elements, kind="stable")
    universe = int(elements.max()) + 1 if len(elements) else 0
    return owners[order], np.searchsorted(elements[order], np.arange(universe + 1))


def _candidates(prefix: Ids, holders: Ids, starts: Ids, *, first: int, before: int) -> Ids:
    begins = starts[prefix]
    counts = starts[prefix + 1] - begins
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = holders[np.repeat(begins, counts) + offsets]
    return np.unique(found[(found >= first) & (found < before)])
