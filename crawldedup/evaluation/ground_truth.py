"""Ground truth: the exact similarities of the pages of a collection, and an index that makes no mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crawldedup.evaluation.exact import numbered_shingles, similar_pairs, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from crawldedup.evaluation.exact import SimilarPairs

    Ids = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """The exact similarities of the pages of a collection, numbered from 0 in their order.

    Pages with the same shingle set form a group, so that n copies make one group instead of n^2 pairs. `group_of`
    has the shape (pages,) and is -1 for a page without a word. The groups similar to group g are
    `others[starts[g]:starts[g + 1]]`, with `similarity` at the same places. `word_counts` has the shape (pages,).
    """

    group_of: Ids
    word_counts: Ids
    starts: Ids
    others: Ids
    similarity: Floats

    @property
    def pages(self) -> int:
        """Return the number of pages, including those without a word."""
        return len(self.group_of)

    @property
    def pages_without_words(self) -> int:
        """Return the number of pages without a word."""
        return int((self.group_of < 0).sum())

    @property
    def groups(self) -> int:
        """Return the number of different shingle sets."""
        return len(self.starts) - 1

    def oracle_index(self) -> OracleIndex:
        """Return an index that holds no page yet and makes no mistakes."""
        return OracleIndex(self, np.full(self.groups, -1, np.int64))

    def best_earlier(self, kept: Iterable[bool]) -> Floats:
        """Return, for each page, the highest similarity with an earlier kept page; 0 where none reaches `LOWEST`."""
        index = self.oracle_index()
        best = np.zeros(self.pages)
        for page, keep in enumerate(kept):
            best[page], _ = index.best(page)
            if keep:
                index.add(page)
        return best


@dataclass(frozen=True, slots=True)
class OracleIndex:
    """The pages kept so far. `holder` is the first kept page of each group, or -1."""

    truth: GroundTruth
    holder: Ids

    def best(self, page: int) -> tuple[float, int | None]:
        """Return the highest similarity with a kept page, and that page; 0 and None if none reaches `LOWEST`."""
        truth = self.truth
        group = truth.group_of[page]
        if group < 0:
            return 0.0, None
        if self.holder[group] >= 0:
            return 1.0, int(self.holder[group])
        near = slice(truth.starts[group], truth.starts[group + 1])
        holders = self.holder[truth.others[near]]
        similarity = np.where(holders >= 0, truth.similarity[near], 0.0)
        if not similarity.any():
            return 0.0, None
        nearest = int(similarity.argmax())
        return float(similarity[nearest]), int(holders[nearest])

    def similarity(self, page: int, other: int) -> float:
        """Return the exact similarity of two pages, 0 below `LOWEST`."""
        truth = self.truth
        group, wanted = truth.group_of[page], truth.group_of[other]
        if group < 0 or wanted < 0:
            return 0.0
        if group == wanted:
            return 1.0
        near = slice(truth.starts[group], truth.starts[group + 1])
        return float(truth.similarity[near][truth.others[near] == wanted].sum())

    def add(self, page: int) -> None:
        """Keep a page."""
        group = self.truth.group_of[page]
        if group >= 0 and self.holder[group] < 0:
            self.holder[group] = page


def compare_all(texts: Sequence[str], on_step: Callable[[], None] = lambda: None) -> GroundTruth:
    """Compute the ground truth of texts: every pair with a similarity of at least `LOWEST`.

    `on_step` is called `2 * len(texts)` times at most, to show progress. Raises ConfigurationError for a
    collection of more than two million different words.
    """
    groups: dict[bytes, int] = {}
    sets: list[Ids] = []
    group_of = np.full(len(texts), -1, np.int64)
    word_counts = np.zeros(len(texts), np.int64)

    def split() -> Iterable[list[str]]:
        for page, text in enumerate(texts):
            found = words(text)
            word_counts[page] = len(found)
            on_step()
            yield found

    for page, ids in enumerate(numbered_shingles(split())):
        if not len(ids):
            continue
        key = ids.tobytes()
        if key not in groups:
            groups[key] = len(sets)
            sets.append(ids)
        group_of[page] = groups[key]
    groups.clear()
    return from_pairs(group_of, word_counts, len(sets), similar_pairs(sets, on_step))


def from_pairs(group_of: Ids, word_counts: Ids, groups: int, pairs: SimilarPairs) -> GroundTruth:
    """Make the ground truth from the similarities of groups."""
    owners = np.concatenate([pairs.first, pairs.second])
    order = np.argsort(owners, kind="stable")
    return GroundTruth(
        group_of=group_of,
        word_counts=word_counts,
        starts=np.searchsorted(owners[order], np.arange(groups + 1)),
        others=np.concatenate([pairs.second, pairs.first])[order],
        similarity=np.concatenate([pairs.similarity, pairs.similarity])[order],
    )
