"""What a perfect filter would have seen: the exact similarity of pages, and how the crawl compares with it.

Similarity is the Jaccard coefficient of the sets of word 3-shingles. The words here are defined apart from
those of `crawldedup.text`, and more simply, so that the filter is not judged by its own ideas.

The search for the best earlier page is exact. It rests on the prefix filter (Chaudhuri, Ganti & Kaushik, ICDE
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

from crawldedup.demo.result import Band, Truth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

SHINGLE_WORDS: Final = 3
LOWEST: Final = 0.5
"""Similarities below this are not told apart: they are reported as 0."""

_EDGES: Final = (0.0, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)
_TOLERANCE: Final = 0.1

_CJK = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page that was judged: the text its extractor gave, and whether the crawl kept it."""

    url: str
    text: str
    kept: bool


def words(text: str) -> list[str]:
    r"""NFKC, case-folded runs of ``\w``; every Han, Hiragana and Katakana character is a word of its own."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def shingles(text: str) -> set[tuple[str, ...]]:
    """The set of 3-shingles; a text of one or two words has a single shingle, an empty one has none."""
    found = words(text)
    if not found:
        return set()
    size = min(SHINGLE_WORDS, len(found))
    return {tuple(found[i : i + size]) for i in range(len(found) - size + 1)}


def jaccard(text: str, other: str) -> float:
    """Exact similarity of two texts. Two texts without a word have nothing in common: 0."""
    first, second = shingles(text), shingles(other)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def best_earlier(pages: Sequence[JudgedPage]) -> NDArray[np.float64]:
    """For each page, the highest similarity with a kept page before it; 0 where none reaches `LOWEST`."""
    best = np.zeros(len(pages))
    sets, shingle_count, first_shared = _ranked_shingle_sets([page.text for page in pages])
    sizes = np.array([len(ranks) for ranks in sets], dtype=np.int64)
    prefixes = [_prefix(ranks, first_shared) for ranks in sets]
    kept = np.array([page.kept for page in pages], dtype=bool)
    positions, starts = _inverted(prefixes, kept, shingle_count)
    is_mine = np.zeros(shingle_count, dtype=bool)
    for page, (ranks, prefix) in enumerate(zip(sets, prefixes, strict=True)):
        candidates = _candidates(prefix, positions, starts, before=page)
        if not len(candidates):
            continue
        size = sizes[page]
        smaller = np.minimum(sizes[candidates], size)
        ceiling = smaller / np.maximum(sizes[candidates], size)
        is_mine[ranks] = True
        for index in np.argsort(-ceiling, kind="stable").tolist():
            if ceiling[index] <= best[page] or ceiling[index] < LOWEST:
                break
            other = candidates[index]
            common = int(is_mine[sets[other]].sum())
            similarity = common / (int(size) + int(sizes[other]) - common)
            if similarity >= LOWEST:
                best[page] = max(best[page], similarity)
        is_mine[ranks] = False
    return best


def assess(pages: Sequence[JudgedPage], *, similarity: float) -> Truth:
    """Compare what the crawl did with the exact similarities.

    Give the pages in the order in which they were judged, without revisits: a page is not its own copy.
    Pages without a word cannot be compared and are only counted.
    """
    readable = [page for page in pages if words(page.text)]
    best = best_earlier(readable)
    dropped = np.array([not page.kept for page in readable], dtype=bool)
    is_duplicate = best >= similarity
    return Truth(
        similarity=similarity,
        tolerance=_TOLERANCE,
        pages=len(readable),
        pages_without_text=len(pages) - len(readable),
        duplicates=int(is_duplicate.sum()),
        dropped=int(dropped.sum()),
        dropped_duplicates=int((dropped & is_duplicate).sum()),
        # Nothing below LOWEST is known, so a tolerance cannot reach further down.
        dropped_similar=int((dropped & (best >= max(similarity - _TOLERANCE, LOWEST))).sum()),
        bands=tuple(_bands(best, dropped)),
        missed=tuple(page.url for page, lost in zip(readable, is_duplicate & ~dropped, strict=True) if lost),
        wrong=tuple(
            page.url for page, far in zip(readable, dropped & (best < similarity - _TOLERANCE), strict=True) if far
        ),
    )


def _bands(best: NDArray[np.float64], dropped: NDArray[np.bool_]) -> Iterable[Band]:
    for low, high in zip(_EDGES, (*_EDGES[1:], math.inf), strict=True):
        inside = (best >= low) & (best < high)
        yield Band(low=low, high=min(high, 1.0), pages=int(inside.sum()), dropped=int((inside & dropped).sum()))


def _ranked_shingle_sets(texts: Sequence[str]) -> tuple[list[Ids], int, int]:
    """Each text's shingles as sorted ranks, 0 the rarest; how many ranks; the first that is shared."""
    packed = [_packed(ids) for ids in _word_ids(texts)]
    lengths = [len(ids) for ids in packed]
    everything = np.concatenate([np.empty(0, dtype=np.int64), *packed])
    distinct, inverse, counts = np.unique(everything, return_inverse=True, return_counts=True)
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
    ranked = np.split(ranks[inverse], np.cumsum(lengths)[:-1]) if lengths else []
    return [np.sort(ids) for ids in ranked], len(distinct), int((counts == 1).sum())


def _word_ids(texts: Sequence[str]) -> Iterable[Ids]:
    """Number the words; 0 is left free to fill up texts of fewer than three words."""
    known: dict[str, int] = {}
    for text in texts:
        ids = [known.setdefault(word, len(known) + 1) for word in words(text)]
        if ids:
            ids += [0] * (SHINGLE_WORDS - len(ids))
        yield np.array(ids, dtype=np.int64)


def _packed(ids: Ids) -> Ids:
    """The set of 3-shingles of a text, each in one integer: two million different words have room."""
    if len(ids) and ids.max() >= 1 << 21:
        raise ValueError("The exact comparison is limited to two million different words; use fewer pages.")
    return np.unique(ids[:-2] << 42 | ids[1:-1] << 21 | ids[2:])


def _prefix(ranks: Ids, first_shared: int) -> Ids:
    # A shingle that occurs in one text only cannot lead to another.
    prefix = ranks[: len(ranks) - math.ceil(LOWEST * len(ranks)) + 1]
    return prefix[prefix >= first_shared]


def _inverted(prefixes: Sequence[Ids], kept: NDArray[np.bool_], shingle_count: int) -> tuple[Ids, Ids]:
    """The kept pages by shingle: those of shingle s are ``positions[starts[s]:starts[s + 1]]``, ascending."""
    none = np.empty(0, dtype=np.int64)
    held = [prefix if keeps else none for prefix, keeps in zip(prefixes, kept, strict=True)]
    owners = np.repeat(np.arange(len(held), dtype=np.int64), [len(prefix) for prefix in held])
    flat = np.concatenate([none, *held])
    order = np.argsort(flat, kind="stable")
    return owners[order], np.searchsorted(flat[order], np.arange(shingle_count + 1))


def _candidates(prefix: Ids, positions: Ids, starts: Ids, *, before: int) -> Ids:
    begins = starts[prefix]
    counts = starts[prefix + 1] - begins
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    found = positions[np.repeat(begins, counts) + offsets]
    return np.unique(found[found < before])
