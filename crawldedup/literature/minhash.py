"""MinHash: estimate the Jaccard similarity of texts from short signatures, and find similar ones.

The sources are Broder (1997), and Leskovec, Rajaraman & Ullman, chapter 3.

In a random order of all shingles, the probability that two sets have the same smallest member is
their Jaccard similarity. So the share of orders in which they agree is an estimate of it. A
signature is cut into bands of several rows, and pages that agree on a whole band are candidates.
`brute_force` compares all pairs of sets.

    >>> texts = ["the last ferry of the day", "the last ferry of the week", "an ice age"]
    >>> sets = [shingles(text) for text in texts]
    >>> similar_pairs([minhash(each) for each in sets], bands=32, threshold=0.5)
    {(0, 1)}
    >>> brute_force(sets, threshold=0.5)
    {(0, 1)}
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from functools import cache
from itertools import combinations
from operator import itemgetter
from typing import Any, Final

import mmh3
import numpy as np
from numpy.typing import NDArray

from crawldedup import checks
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.tokenize import mix

Signature = NDArray[np.uint32]
Floats = NDArray[np.floating[Any]]

_STEPS: Final = 512
_check_count: Final = checks.whole(1)
_check_share: Final = checks.number("above 0 and below 1", lambda share: 0 < share < 1)


def shingles(text: str, size: int = 10) -> set[str]:
    """Return every run of `size` characters, or none if there are fewer.

    The text is in lower case, with one space for each run of spaces or of newlines. Raises
    ConfigurationError for a size below 1.
    """
    _check_count("size", size)
    plain = re.sub(r" +|\n+", " ", text).lower()
    return {plain[start : start + size] for start in range(len(plain) - size + 1)}


def jaccard_of_sets(first: Set[object], second: Set[object]) -> float:
    """Return the Jaccard similarity of two sets: the size of their intersection over their union's.

    It's 0 if both are empty.
    """
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0


def minhash(members: Collection[str], permutations: int = 128) -> Signature:
    """Return the signature of a set: its smallest member in each order, shape (permutations,).

    Each order is that of a * x mod 2^32 with a different odd a, where x are 32 mixed bits of the
    member. The signature of an empty set has the largest number everywhere. A longer signature
    begins with the shorter ones. Raises ConfigurationError for less than one permutation.
    """
    _check_count("permutations", permutations)
    hashed = (mmh3.hash64(member.encode("utf-8", "replace"), signed=False)[0] for member in members)
    numbers = np.fromiter(hashed, np.uint64, len(members)).astype(np.uint32)
    smallest: Signature = (_multipliers(permutations)[:, None] * numbers).min(
        axis=1, initial=np.uint32(0xFFFFFFFF)
    )
    return smallest


@cache
def _multipliers(permutations: int) -> Signature:
    mixed = mix(np.arange(1, permutations + 1, dtype=np.uint64))
    return (mixed >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def estimate(own: Signature, other: Signature) -> float:
    """Estimate the Jaccard similarity of two sets from their signatures.

    It is the share of orders in which they agree. Its standard deviation is
    sqrt(J (1 - J) / permutations). Raises ConfigurationError for signatures of different lengths.
    """
    if len(own) != len(other):
        raise ConfigurationError(
            f"signatures of {len(own)} and {len(other)} numbers cannot be compared"
        )
    return float(np.mean(own == other))


def collision_probability(
    similarity: Floats | float, bands: NDArray[np.int_] | int, rows: int
) -> Floats | float:
    """Return the probability that two sets of this similarity agree on at least one whole band.

    It is 1 - (1 - s^rows)^bands (Mining of Massive Datasets, 3.4). The arguments are numbers, or
    arrays that numpy can broadcast.
    """
    return 1 - (1 - similarity**rows) ** bands


def bands_for(
    threshold: float, permutations: int, *, false_negative_weight: float = 0.5
) -> tuple[int, int]:
    """Return the number of bands, and of rows in each, whose S-curve fits the threshold best.

    They minimize the weighted sum of two areas: below the curve to the left of the threshold (false
    candidates), and above the curve to the right of it (missed pages). The second area has the
    weight `false_negative_weight`, and the first one the rest of 1, as in Zhu, Nargesian, Pu &
    Miller (LSH Ensemble, VLDB 2016). Raises ConfigurationError for numbers out of range.
    """
    _check_share("threshold", threshold)
    _check_share("false_negative_weight", false_negative_weight)
    _check_count("permutations", permutations)
    middles = (np.arange(_STEPS) + 0.5) / _STEPS
    below = threshold * middles
    above = threshold + (1 - threshold) * middles
    choices = []
    for rows in range(1, permutations + 1):
        bands = np.arange(1, permutations // rows + 1)[:, None]
        met_in_vain = np.mean(collision_probability(below, bands, rows), axis=1) * threshold
        missed = np.mean(1 - collision_probability(above, bands, rows), axis=1) * (1 - threshold)
        errors = (1 - false_negative_weight) * met_in_vain + false_negative_weight * missed
        choices.append((float(errors.min()), int(errors.argmin()) + 1, rows))
    _, best_bands, best_rows = min(choices)
    return best_bands, best_rows


class BandedIndex:
    """An index of signatures that finds those with a band in common, by a table for each band.

    Raises ConfigurationError for less than one band. Its methods do for a signature with fewer
    numbers than there are bands.
    """

    def __init__(self, bands: int) -> None:
        _check_count("bands", bands)
        self._tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
        self.signatures: list[Signature] = []

    def add(self, signature: Signature) -> None:
        """Add a signature under the next number, starting from 0."""
        for table, key in zip(self._tables, self._keys(signature), strict=True):
            table[key].append(len(self.signatures))
        self.signatures.append(signature)

    def candidates(self, signature: Signature) -> list[int]:
        """Return the numbers of the signatures that agree with this one on a band, ascending."""
        buckets = (
            table.get(key, ())
            for table, key in zip(self._tables, self._keys(signature), strict=True)
        )
        return sorted({number for bucket in buckets for number in bucket})

    def best(self, signature: Signature) -> tuple[float, int | None]:
        """Return the highest estimate among the candidates, and the number of that candidate.

        They are 0 and None if there are no candidates.
        """
        estimates = (
            (estimate(signature, self.signatures[near]), near)
            for near in self.candidates(signature)
        )
        return max(estimates, default=(0.0, None), key=itemgetter(0))

    def _keys(self, signature: Signature) -> Iterable[bytes]:
        rows = len(signature) // len(self._tables)
        if not rows:
            raise ConfigurationError(
                f"{len(self._tables)} bands of a signature of {len(signature)} numbers"
            )
        return (
            signature[band * rows : (band + 1) * rows].tobytes()
            for band in range(len(self._tables))
        )


def similar_pairs(
    signatures: Sequence[Signature], bands: int, threshold: float
) -> set[tuple[int, int]]:
    """Return the pairs that agree on a band, and whose estimate reaches the threshold."""
    index = BandedIndex(bands)
    pairs = set()
    for number, signature in enumerate(signatures):
        pairs |= {(earlier, number) for earlier in index.candidates(signature)}
        index.add(signature)
    return {
        (one, other)
        for one, other in pairs
        if estimate(signatures[one], signatures[other]) >= threshold
    }


def brute_force(sets: Sequence[Set[object]], threshold: float) -> set[tuple[int, int]]:
    """Compare all pairs of sets, and return those whose similarity reaches the threshold."""
    return {
        (first, second)
        for first, second in combinations(range(len(sets)), 2)
        if jaccard_of_sets(sets[first], sets[second]) >= threshold
    }
