"""The seam between a method and the rest: bits from a text, ranges to read, a rule to decide by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.decision import Prefilter, WeightedThreshold
    from crawldedup.search.plan import ProbePlan
    from crawldedup.search.tables import Order


class Method(Protocol):
    """One way to find near duplicates. Pure, but for document frequencies that are learned on the way.

    The bits that a query is planned for are not those of the page where a scope or facts salt them: XORing
    constants changes no distance, so a plan takes the salted bits and the page's own weights.
    """

    @property
    def profile(self) -> str:
        """Names everything that decides the bits and the tables they are filed in."""

    @property
    def tables(self) -> tuple[Order, ...]:
        """The orders of bits in which pages are filed."""

    @property
    def signature_bytes(self) -> int:
        """Length of `Fingerprint.verify`."""

    @property
    def max_candidates(self) -> int:
        """At most so many records are compared with one page."""

    @property
    def max_keys(self) -> int:
        """At most so many keys are read for one page."""

    def fingerprint(self, text: str, *, min_words: int, identity: str | None, facts: str | None) -> Fingerprint:
        """The bits of a text; the arguments as in `crawldedup.fingerprinting.fingerprint.fingerprint`."""

    def plan(
        self, page: Fingerprint, search: int, signature: bytes, *, similarity: float, recall: float, pages: int
    ) -> ProbePlan:
        """Which ranges to read for a page in an index of about `pages` pages."""

    def prefilter(self, page: Fingerprint, similarity: float) -> Prefilter | None:
        """Which keys in the ranges are met by chance; None if that cannot be told."""

    def rule(self, page: Fingerprint, similarity: float, recall: float) -> WeightedThreshold:
        """Which records are near duplicates."""

    def estimate(self, page: Fingerprint, own: bytes, other: bytes) -> float:
        """The Jaccard similarity of two pages, from their signatures."""
