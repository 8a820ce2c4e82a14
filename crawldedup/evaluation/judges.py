"""The methods under test, behind one protocol: ours here, others wherever they are imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from crawldedup.deduplicator import Deduplicator
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD, make_method
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING

EXPECTED_PAGES: Final = 10_000_000
"""Searches are planned as in an index of this size: a small corpus would make every method look thorough."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a method says of a page; None where it does not say.

    `original` is the URL of the earlier page it resembles, `similarity` the method's estimate, `candidates` how many
    remembered pages were compared, `probes` how many look-ups that took.
    """

    flagged: bool
    original: str | None = None
    similarity: float | None = None
    candidates: int | None = None
    probes: int | None = None


class Judge(Protocol):
    """A method that sees pages one by one and remembers each that it did not flag."""

    @property
    def name(self) -> str:
        """Method and settings, for a table."""

    def judge(self, url: str, text: str) -> Judgement:
        """Decide about a page, by what was remembered before it, and remember it if it is new."""

    def bytes_a_page(self) -> float | None:
        """Bytes the index holds a remembered page, its URL included; None if that is not known."""


class DeduplicatorJudge:
    """A method of this package, on its memory store.

    `method` and `weighting` as in `Deduplicator`, which raises ConfigurationError for what does not exist.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        weighting: str = DEFAULT_WEIGHTING,
        *,
        similarity: float = 0.9,
        recall: float = 0.98,
        expected_pages: int = EXPECTED_PAGES,
    ) -> None:
        self._dedup = Deduplicator(
            "memory://",
            similarity=similarity,
            recall=recall,
            method=make_method(method, weighting),
            expected_pages=expected_pages,
        )
        self._name = method if weighting == DEFAULT_WEIGHTING else f"{method}, {weighting}"

    @property
    def name(self) -> str:
        """See `Judge`."""
        return self._name

    def judge(self, url: str, text: str) -> Judgement:
        """See `Judge`. Raises PageError for a text that is empty."""
        # Every document is a page of its own here, whatever a canonical URL would make of the two.
        verdict = self._dedup.check(url, text=text, identity=url)
        return Judgement(
            flagged=verdict.is_duplicate,
            original=verdict.original,
            similarity=verdict.similarity,
            candidates=verdict.candidates,
            probes=verdict.probes,
        )

    def bytes_a_page(self) -> float | None:
        """See `Judge`: the whole memory store, its URLs and its room to grow included."""
        info = self._dedup.info()
        return info.bytes / info.pages if info.pages else None
