"""MinHash signatures with LSH banding (Broder 1997; Leskovec, Rajaraman & Ullman, chapter 3).

A signature holds one byte for each permutation; the share of equal bytes estimates the Jaccard similarity of the
shingle sets. It is cut into bands of `rows` bytes. Each band has a table, whose keys are the leading bits of the band's
bytes, so pages that agree on a whole band meet in its table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.methods.signatures import bands_for, collision_probability, estimate, minhash
from crawldedup.fingerprinting.fingerprint import (
    MIN_WORDS,
    SEARCH_BITS,
    Fingerprint,
    facts_hash,
    text_digest,
    thin_fingerprint_of,
)
from crawldedup.search.decision import WeightedThreshold
from crawldedup.search.plan import MAX_CANDIDATES, MAX_KEYS, STORED_BITS
from crawldedup.search.method import Search
from crawldedup.search.plan import ProbePlan
from crawldedup.search.plan import KEY_BITS
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawldedup.search.method import SearchContext
    from crawldedup.search.plan import Order

MAX_BANDS: Final = 64
"""Each band costs a table: a look-up for each page, and bytes for each key."""


@dataclass(frozen=True)
class Band:
    """An order that takes the bits of one band of a MinHash signature (see `band_tables`)."""

    bits: tuple[int, ...]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """See `Order`."""
        return np.array(self.bits, np.intp) + KEY_BITS

    def key_of(self, _search: int, signature: bytes, /) -> int:
        """See `Order`."""
        chosen = np.unpackbits(np.frombuffer(signature, np.uint8)).take(self.bits)
        return int.from_bytes(np.packbits(chosen).tobytes().ljust(KEY_BITS // 8, b"\0"), "big")


def band_tables(bands: int, rows: int, *, width: int) -> tuple[Band, ...]:
    """Return a table for each band of a signature whose rows are `width` bits wide.

    A key holds the first bit of every row of its band, then the second of every row, and so on. Stores look at the
    leading bits of a key, and so these come from all rows alike (b-bit minwise hashing, Li and König 2010).
    """
    return tuple(
        Band(tuple(((band * rows + row) * width + bit) for bit in range(width) for row in range(rows))[:KEY_BITS])
        for band in range(bands)
    )


@dataclass(frozen=True)
class MinHash:
    """MinHash of word shingles with LSH banding.

    If `bands` and `rows` are 0, they are chosen for `threshold`: as few misses above it, and as few meetings below it,
    as the signature allows. `shingle` is the number of words of a shingle.
    """

    permutations: int = 128
    bands: int = 0
    rows: int = 0
    shingle: int = 3
    threshold: float = 0.8

    max_candidates: ClassVar[int] = MAX_CANDIDATES
    max_keys: ClassVar[int] = MAX_KEYS

    def __post_init__(self) -> None:
        if not 16 <= self.permutations <= 1024:
            raise ConfigurationError(f"permutations is {self.permutations}; it must lie between 16 and 1024")
        if not 1 <= self.shingle <= 20:
            raise ConfigurationError(f"shingle is {self.shingle}; it must lie between 1 and 20 words")
        if (self.bands == 0) != (self.rows == 0):
            raise ConfigurationError("give both bands and rows, or neither of them")
        if self.bands < 0 or self.rows < 0 or self.bands * self.rows > self.permutations or self.bands > MAX_BANDS:
            raise ConfigurationError(
                f"{self.bands} bands of {self.rows} rows do not fit: there are {self.permutations} permutations, "
                f"and at most {MAX_BANDS} bands"
            )
        if not 0.5 <= self.threshold < 1:
            raise ConfigurationError(f"threshold is {self.threshold}; it must be at least 0.5 and below 1")

    @cached_property
    def banding(self) -> tuple[int, int]:
        """Return the number of bands, and of rows in each."""
        if self.bands:
            return self.bands, self.rows
        # Candidates are verified: meeting too many costs less than missing one.
        return bands_for(self.threshold, self.permutations, false_negative_weight=0.9, max_bands=MAX_BANDS)

    @cached_property
    def tables(self) -> tuple[Order, ...]:
        """See `Method`: one table for each band."""
        return band_tables(*self.banding, width=8)

    @property
    def signature_bytes(self) -> int:
        """See `Method`: one byte for each permutation."""
        return self.permutations

    @property
    def profile(self) -> str:
        """See `Method`."""
        bands, rows = self.banding
        return f"minhash{self.permutations}.shingle{self.shingle}/{bands}x{rows}"

    def fingerprint(
        self, text: str, *, min_words: int = MIN_WORDS, identity: str | None = None, facts: str | None = None
    ) -> Fingerprint:
        """See `Method`. The search bits are the first of the signature; they only give a distance to report."""
        words = word_hashes(text)
        if len(words) < max(min_words, self.shingle):
            return thin_fingerprint_of(text, len(words), identity, self.permutations)
        signature = minhash(words, shingle=self.shingle, permutations=self.permutations)
        return Fingerprint(
            search=int.from_bytes(signature[: SEARCH_BITS // 8], "big"),
            search_weights=np.zeros(SEARCH_BITS, np.float32),
            verify=signature,
            verify_weights=np.zeros(0, np.float32),
            digest=text_digest(text),
            words=len(words),
            thin=False,
            facts=facts_hash(facts),
        )

    def search(self, page: Fingerprint, context: SearchContext, /) -> Search:
        """See `Method`: reads one range for each band, and accepts a pair of exactly `similarity` by `recall`."""
        bands, rows = self.banding
        keys = np.array([table.key_of(page.search, page.verify) for table in self.tables], np.uint64)
        rest = np.uint64((1 << 64 - STORED_BITS) - 1)
        found = collision_probability(context.similarity, bands, rows)
        plan = ProbePlan(np.arange(bands), keys & ~rest, keys | rest, recall=found)
        return Search(plan, self._rule(context))

    def _rule(self, context: SearchContext) -> WeightedThreshold:
        similarity = context.similarity
        deviation = math.sqrt(similarity * (1 - similarity) / self.permutations)
        wanted = similarity - NormalDist().inv_cdf(context.recall) * deviation
        # Different values share a byte once in 256 times.
        equal = wanted + (1 - wanted) / 256
        distance = math.floor(self.permutations * (1 - equal) + 1e-9)
        return WeightedThreshold(bytes([1]) * self.permutations, distance)

    def estimate(self, page: Fingerprint, other: bytes) -> float:
        """See `Method`."""
        return estimate(page.verify, other)
