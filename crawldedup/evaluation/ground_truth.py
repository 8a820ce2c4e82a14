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
    Facts = Sequence[str]


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """The exact similarities of the pages of a collection, numbered from 0 in their order.

    Pages with the same shingle set form a group, so that n copies make one group instead of n^2 pairs. `group_of`
    has the shape (pages,) and is -1 for a page without a word. The groups similar to group g are
    `others[starts[g]:starts[g + 1]]`, the most similar first, with `similarity` at the same places. `word_counts` has
    the shape (pages,).
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

    def oracle_index(self, facts: Facts | None = None) -> OracleIndex:
        """Return an index that holds no page yet and makes no mistakes. Without `facts`, no page has any."""
        return OracleIndex(self, [""] * self.pages if facts is None else facts, {})

    def best_earlier(self, kept: Iterable[bool], facts: Facts | None = None) -> Floats:
        """Return, for each page, the highest similarity with an earlier kept page of the same facts.

        It is 0 where none reaches `LOWEST`. Without `facts`, no page has any.
        """
        index = self.oracle_index(facts)
        best = np.zeros(self.pages)
        for page, keep in enumerate(kept):
            best[page], _ = index.best(page)
            if keep:
                index.add(page)
        return best


@dataclass(frozen=True, slots=True)
class OracleIndex:
    """The pages kept so far.

    `facts` are those of every page of the collection. `holders` has the first kept page of each group, by its facts.
    """

    truth: GroundTruth
    facts: Facts
    holders: dict[int, dict[str, int]]

    def best(self, page: int, *, same_facts: bool = True) -> tuple[float, int | None]:
        """Return the highest similarity with a kept page, and that page; 0 and None if none reaches `LOWEST`.

        Only pages of the same facts count; with `same_facts` False, only pages of other facts.
        """
        truth, own = self.truth, self.facts[page]
        group = int(truth.group_of[page])
        if group < 0:
            return 0.0, None
        near = slice(truth.starts[group], truth.starts[group + 1])
        others = zip(truth.others[near].tolist(), truth.similarity[near].tolist(), strict=True)
        for other, similarity in ((group, 1.0), *others):
            holders = self.holders.get(other, {})
            if same_facts:
                holder = holders.get(own)
            else:
                holder = next((kept for facts, kept in holders.items() if facts != own), None)
            if holder is not None:
                return similarity, holder
        return 0.0, None

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
        group = int(self.truth.group_of[page])
        if group >= 0:
            self.holders.setdefault(group, {}).setdefault(self.facts[page], page)


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
    similarity = np.concatenate([pairs.similarity, pairs.similarity])
    order = np.lexsort((-similarity, owners))
    return GroundTruth(
        group_of=group_of,
        word_counts=word_counts,
        starts=np.searchsorted(owners[order], np.arange(groups + 1)),
        others=np.concatenate([pairs.second, pairs.first])[order],
        similarity=similarity[order],
    )
