"""Near-duplicate detectors under test, behind one protocol: the methods of this package here, others in benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from crawldedup.deduplicator import Deduplicator
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD, make_method
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING
from crawldedup.reader import PageReader

if TYPE_CHECKING:
    from crawldedup.evaluation.corpus import Document

EXPECTED_PAGES: Final = 10_000_000
"""Searches are planned for an index of this size: in one of the size of the corpus, every method would look good."""


@dataclass(frozen=True, slots=True)
class Detection:
    """The answer of a detector about a page; None for what it does not tell.

    `original` is the URL of the earlier page that is similar, `similarity` an estimate, `candidates` the number of
    remembered pages compared, `probes` the number of look-ups.
    """

    flagged: bool
    original: str | None = None
    similarity: float | None = None
    candidates: int | None = None
    probes: int | None = None


class Detector(Protocol):
    """Sees pages one by one, and remembers each that it does not flag."""

    @property
    def name(self) -> str:
        """Name method and settings, for a table."""

    @property
    def uses_facts(self) -> bool:
        """Tell whether pages of different facts are kept apart, however alike they read."""

    def check(self, document: Document) -> Detection:
        """Compare a page with those remembered, and remember it if it is new."""

    def bytes_per_page(self) -> float | None:
        """Return the bytes of the index per remembered page, its URL included; None if unknown."""


class MethodDetector:
    """A method of this package, on its memory store.

    `method` and `weighting` as in `make_method`. Raises ConfigurationError for names that do not exist.
    """

    uses_facts: Final = True

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        weighting: str = DEFAULT_WEIGHTING,
        *,
        similarity: float = 0.9,
        recall: float = 0.98,
        expected_pages: int = EXPECTED_PAGES,
    ) -> None:
        made = make_method(method, weighting)
        self._dedup = Deduplicator(
            "memory://",
            key=0,
            similarity=similarity,
            recall=recall,
            method=made,
            expected_pages=expected_pages,
        )
        self._reader = PageReader(self._dedup.options, made)
        self._name = method if weighting == DEFAULT_WEIGHTING else f"{method}, {weighting}"

    @property
    def name(self) -> str:
        """See `Detector`."""
        return self._name

    def check(self, document: Document) -> Detection:
        """See `Detector`. Raises PageError for a text that is empty."""
        # The corpus holds the main text of HTML, in which its facts cannot be found again.
        content = self._reader.content(text=document.text)._replace(facts=document.facts)
        page = self._reader.fingerprint(content)
        # Every document is a page of its own here, even if two have one canonical URL.
        verdict = self._dedup.check_fingerprint(document.url, page, identity=document.url)
        return Detection(
            flagged=verdict.is_duplicate,
            original=verdict.original,
            similarity=verdict.similarity,
            candidates=verdict.candidates,
            probes=verdict.probes,
        )

    def bytes_per_page(self) -> float | None:
        """See `Detector`: the whole memory store, with URLs and spare room."""
        info = self._dedup.info()
        return info.bytes / info.pages if info.pages else None
