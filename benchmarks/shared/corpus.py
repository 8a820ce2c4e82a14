"""Real near-duplicate pairs, and their bits under as many hash functions as wanted.

A corpus is whatever `crawldedup bench` reads: JSON lines with `url` and `text` or `html`, a folder, a web
archive. Its pairs are compared exactly, or taken from a file, one a line with the URLs `a` and `b` and their exact
Jaccard similarity `j3` of word 3-shingles: for PAGES.pages.jsonl from PAGES.pairs.jsonl.gz, if that is there.

Near duplicates come in families: the pages of nine mirrors make 36 pairs that share nearly all of their bits, and so
what is seen with one hash function says much about a few families and little about the model. The same features
hashed anew are an independent draw of the bits for the same pages. Draw 0 is what crawldedup itself computes.
"""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crawldedup import measure
from crawldedup.errors import CrawlDedupError
from crawldedup.fingerprinting.features import DEFAULT_FEATURES, count_runs, pair_hashes, shingle_hashes
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, bit_weights, fingerprint
from crawldedup.literature.exact import numbered_shingles, similar_pairs, words
from crawldedup.text.tokenize import mix, word_hashes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from crawldedup.measure import Document

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """Distinct features, shape (features,), and their weights."""

    hashes: Hashes
    weights: Floats

    def bits(self, draw: int) -> Floats:
        """Weights of 64 bits, shape (64,), under the hash function number `draw`, from 1."""
        return bit_weights(mix(self.hashes ^ _seed(draw)), self.weights)

    def cosine(self, other: Features) -> float:
        """Cosine of two pages' weighted features."""
        _, mine, theirs = np.intersect1d(self.hashes, other.hashes, assume_unique=True, return_indices=True)
        one, two = self.weights.astype(np.float64), other.weights.astype(np.float64)
        return float(one[mine] @ two[theirs] / np.sqrt((one @ one) * (two @ two)))


@dataclass(frozen=True)
class Corpus:
    """Texts, and pairs of them: similar but not the same, and neither thin.

    `first`, `second` and `similarity` have shape (pairs,): positions of the texts, and exact Jaccard similarities.
    """

    name: str
    texts: list[str]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    similarity: NDArray[np.float64]

    def pairs_near(self, similarity: float, within: float, limit: int, seed: int = 1) -> NDArray[np.intp]:
        """Numbers of at most `limit` pairs, drawn at random, whose similarity is so much off at most."""
        found = np.flatnonzero(np.abs(self.similarity - similarity) <= within)
        return np.random.default_rng(seed).permutation(found)[:limit]

    def texts_of(self, pairs: NDArray[np.intp]) -> list[int]:
        """Positions of the texts that occur in these pairs."""
        texts: list[int] = np.union1d(self.first[pairs], self.second[pairs]).tolist()
        return texts


def read_corpus(pages: Path, pairs: Path | None = None) -> Corpus:
    """Pages and their pairs, from the file of pairs or compared here. Ends the program if they cannot be read."""
    try:
        documents = measure.read_corpus(str(pages)).documents
        rows = _listed(pairs, documents) if pairs is not None else list(_compared([page.text for page in documents]))
    except (CrawlDedupError, OSError, ValueError, KeyError) as error:
        sys.exit(f"{pages}: {error}")
    texts = [document.text for document in documents]
    thin = {position: fingerprint(texts[position]).thin for position in {place for row in rows for place in row[:2]}}
    rows = [row for row in rows if not thin[row[0]] and not thin[row[1]]]
    first, second, similarity = zip(*rows, strict=True) if rows else ((), (), ())
    return Corpus(
        name=pages.name.split(".")[0],
        texts=texts,
        first=np.array(first, np.intp),
        second=np.array(second, np.intp),
        similarity=np.array(similarity, np.float64),
    )


def pairs_file(pages: Path) -> Path | None:
    """The pairs that belong to PAGES.pages.jsonl by their name, if they are there."""
    path = pages.with_name(pages.name.split(".")[0] + ".pairs.jsonl.gz")
    return path if path.is_file() else None


Row = tuple[int, int, float]


def _listed(path: Path, documents: Sequence[Document]) -> list[Row]:
    positions = {document.url: position for position, document in enumerate(documents)}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        pairs = map(json.loads, lines)
        return [
            (positions[pair["a"]], positions[pair["b"]], pair["j3"])
            for pair in pairs
            if pair["j3"] < 1 and pair["a"] in positions and pair["b"] in positions
        ]


def _compared(texts: Sequence[str]) -> Iterator[Row]:
    """Pairs of pages with different sets of shingles; of pages with the same set, the first stands for all."""
    firsts: dict[bytes, int] = {}
    sets = []
    for position, ids in enumerate(numbered_shingles(map(words, texts))):
        if len(ids) and firsts.setdefault(ids.tobytes(), position) == position:
            sets.append(ids)
    kept = list(firsts.values())
    for first, second, similarity in similar_pairs(sets):
        yield kept[first], kept[second], similarity


def search_features(text: str) -> Features:
    """Weighted search features."""
    return Features(*DEFAULT_FEATURES(text, word_hashes(text)))


def shingle_set(text: str) -> Features:
    """The set of word 3-shingles, each with weight 1."""
    words = word_hashes(text)
    distinct, _ = count_runs(mix(shingle_hashes(words, pair_hashes(words))))
    return Features(distinct, np.ones(len(distinct), np.float32))


def search_draws(text: str, draws: int) -> Floats:
    """Weights of the search bits in `draws` draws, shape (draws, 64)."""
    features = search_features(text)
    own = fingerprint(text).search_weights
    return np.stack([features.bits(draw) if draw else own for draw in range(draws)])


def verify_draws(text: str, draws: int, bits: int = VERIFY_BITS) -> Floats:
    """Weights of verify bits in `draws` draws, shape (draws, bits); draw 0 of VERIFY_BITS bits is the project's."""
    features = shingle_set(text)
    words = bits // SEARCH_BITS
    # As in the fingerprint: a zero counts as positive.
    shift = np.float32(0.5 / np.sqrt(len(features.hashes)))
    drawn = [
        fingerprint(text).verify_weights
        if draw == 0 and bits == VERIFY_BITS
        else np.concatenate([features.bits(1000 + draw * words + word) for word in range(words)]) + shift
        for draw in range(draws)
    ]
    return np.stack(drawn)


def signature(weights: Floats) -> bytes:
    """The bits of weights, packed."""
    return np.packbits(weights >= 0).tobytes()


def number(weights: Floats) -> int:
    """64 bits as a number, the first the most significant."""
    return int.from_bytes(signature(weights), "big")


def _seed(draw: int) -> np.uint64:
    return np.uint64(np.random.default_rng(draw).integers(1 << 63))
