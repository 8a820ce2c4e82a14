"""Ground truth computed elsewhere: JSON lines of pairs, {"a": url, "b": url, "j3": similarity}."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawldedup.commands.feeds import lines_of
from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.exact import LOWEST, SimilarPairs, words
from crawldedup.evaluation.ground_truth import from_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.evaluation.corpus import Corpus
    from crawldedup.evaluation.ground_truth import GroundTruth


def read_ground_truth(path: Path, corpus: Corpus) -> GroundTruth:
    """Read the ground truth of a corpus from a file, maybe compressed, of all its pairs from `LOWEST` on.

    `j3` is the exact Jaccard similarity of the sets of word 3-shingles. Pairs with a page outside the corpus are left
    out: it may be a part of the collection that was compared. Raises ConfigurationError for a file of another form,
    and for one without a pair of this corpus.
    """
    number = {document.url: position for position, document in enumerate(corpus.documents)}
    found: dict[tuple[int, int], float] = {}
    for where, pair in lines_of(path):
        a, b, similarity = pair.get("a"), pair.get("b"), pair.get("j3")
        if not (isinstance(a, str) and isinstance(b, str) and isinstance(similarity, int | float)):
            raise ConfigurationError(f'{where}: a pair is an object with the URLs "a" and "b" and the similarity "j3"')
        if not LOWEST <= similarity <= 1:
            raise ConfigurationError(f"{where}: j3 is {similarity}; a listed pair has from {LOWEST} to 1")
        if a in number and b in number and a != b:
            first, second = sorted((number[a], number[b]))
            found[first, second] = similarity
    if not found:
        raise ConfigurationError(f"{path} has no pair of pages of {corpus.name}; is it the file of another corpus?")
    word_counts = np.array([len(words(document.text)) for document in corpus.documents], np.int64)
    numbers = np.arange(len(word_counts))
    first, second = np.array(list(found), np.int64).T
    return from_pairs(
        # Copies are pairs like others here, so each page is a group of its own.
        np.where(word_counts > 0, numbers, -1),
        word_counts,
        len(numbers),
        SimilarPairs(first, second, np.array(list(found.values()))),
    )
