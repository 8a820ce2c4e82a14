"""The seam between a method and the rest: bits of a text, a search for each page, an estimate for each match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.decision import Prefilter, WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order


@dataclass(frozen=True, slots=True)
class SearchContext:
    """The goal of a search: pages from `similarity` on, with probability `recall`, in an index of `pages` pages."""

    similarity: float
    recall: float
    pages: int


@dataclass(frozen=True, slots=True)
class Search:
    """The ranges to read for a page, and the rule by which records found there are its near duplicates.

    `prefilter` drops keys that chance put into the ranges, before their records are read; None keeps them all.
    """

    plan: ProbePlan
    rule: WeightedThreshold
    prefilter: Prefilter | None = None


class Method(Protocol):
    """One way to find near duplicates.

    A page is filed under its bits XORed with those of its scope and product attributes. This changes no distance, so
    `search` and `estimate` take a fingerprint that holds the bits as filed and the page's own weights.
    """

    @property
    def profile(self) -> str:
        """Name everything that decides the bits and the tables they are filed in."""

    @property
    def tables(self) -> tuple[Order, ...]:
        """Return the orders of bits in which pages are filed."""

    @property
    def signature_bytes(self) -> int:
        """Return the length of `Fingerprint.verify`."""

    @property
    def max_candidates(self) -> int:
        """Bound the records that are compared with one page."""

    @property
    def max_keys(self) -> int:
        """Bound the keys that are read for one page."""

    def fingerprint(self, text: str, *, min_words: int, identity: str | None, facts: str | None) -> Fingerprint:
        """Return the bits of a text; the arguments are those of `fingerprinting.fingerprint.fingerprint`."""

    def search(self, page: Fingerprint, context: SearchContext, /) -> Search:
        """Plan the search for a page that is not thin."""

    def estimate(self, page: Fingerprint, other: bytes) -> float:
        """Return the Jaccard similarity of a page to another, from the signature of the other."""
