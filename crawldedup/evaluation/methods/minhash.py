"""MinHash signatures with LSH banding (Broder 1997; Leskovec, Rajaraman & Ullman, chapter 3).

A signature holds one byte for each of its permutations; the share of equal bytes estimates the Jaccard similarity
of the shingle sets. It is cut into bands of `rows` bytes, and pages that agree on a whole band meet in that
band's table: a band is a table whose keys are the leading bits of the band's bytes.
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
from crawldedup.search.decision import byte_rule
from crawldedup.search.plan import STORED_BITS, ProbePlan
from crawldedup.search.tables import band_tables
from crawldedup.stores.base import MAX_CANDIDATES, MAX_KEYS
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from crawldedup.search.decision import WeightedThreshold
    from crawldedup.search.tables import Order

MAX_BANDS: Final = 64
"""A band is a table, with a look-up for each page and bytes for each key."""


@dataclass(frozen=True)
class MinHash:
    """MinHash of word shingles with LSH banding.

    `bands` and `rows` are chosen for `threshold` if they are 0: as few misses above and meetings below it as
    the signature allows. `shingle` is the number of words of a shingle.
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
        """Number of bands, and of rows in each."""
        if self.bands:
            return self.bands, self.rows
        # Candidates are verified: meeting too many costs less than missing one.
        return bands_for(self.threshold, self.permutations, false_negative_weight=0.9, max_bands=MAX_BANDS)

    @cached_property
    def tables(self) -> tuple[Order, ...]:
        """See `Method`: one for each band."""
        return band_tables(*self.banding, width=8)

    @property
    def signature_bytes(self) -> int:
        """See `Method`: one for each permutation."""
        return self.permutations

    @property
    def profile(self) -> str:
        """See `Method`."""
        bands, rows = self.banding
        return f"minhash{self.permutations}.shingle{self.shingle}/{bands}x{rows}"

    def fingerprint(
        self, text: str, *, min_words: int = MIN_WORDS, identity: str | None = None, facts: str | None = None
    ) -> Fingerprint:
        """See `Method`. The search bits are the first of the signature's, for a distance to report."""
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

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """See `Method`: one range a band."""
        del page, recall, pages
        bands, rows = self.banding
        keys = np.array([table.key_of(search, signature) for table in self.tables], np.uint64)
        rest = np.uint64((1 << 64 - STORED_BITS) - 1)
        found = collision_probability(similarity, bands, rows)
        return ProbePlan(np.arange(bands), keys & ~rest, keys | rest, recall=found)

    def prefilter(self, page: Fingerprint, similarity: float) -> None:
        """See `Method`: a band either agrees or not."""
        del page, similarity

    def rule(self, page: Fingerprint, similarity: float, recall: float) -> WeightedThreshold:
        """See `Method`: accepts a pair of exactly `similarity` with probability `recall`."""
        del page
        deviation = math.sqrt(similarity * (1 - similarity) / self.permutations)
        wanted = similarity - NormalDist().inv_cdf(recall) * deviation
        # Different values share a byte once in 256 times.
        equal = wanted + (1 - wanted) / 256
        return byte_rule(self.permutations, math.floor(self.permutations * (1 - equal) + 1e-9))

    def estimate(self, page: Fingerprint, own: bytes, other: bytes) -> float:
        """See `Method`."""
        del page
        return estimate(own, other)
