"""Trials: a corpus is shown to a detector page by page, and its answers are compared with the ground truth."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.evaluation.bands import Band, BandCounts, bands_of, count
from crawldedup.evaluation.detectors import Detection
from crawldedup.fingerprinting.fingerprint import MIN_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from crawldedup.evaluation.corpus import Corpus
    from crawldedup.evaluation.detectors import Detector
    from crawldedup.evaluation.ground_truth import GroundTruth, OracleIndex

TOLERANCE: Final = 0.1
"""A flagged page is a mistake if its best similarity lies more than this below the threshold."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A page that was missed, or flagged wrongly; or one kept apart by its facts, which is no mistake of the method.

    `exact` is its similarity with `nearest`, the most similar page of the same facts kept before it; of a page kept
    apart, the most similar one of other facts. `original` is the page that the method named, `original_exact` the
    similarity with that page, and `estimate` the method's estimate of it.
    """

    url: str
    words: int
    exact: float
    nearest: str | None
    original: str | None
    original_exact: float | None
    estimate: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a method on a corpus.

    `bands` are by the best similarity with an earlier page that this method kept, `all_bands` by that with any earlier
    page: a page may be similar to a flagged one. `found` counts the pages whose best kept page reaches `similarity`:
    of these, the method missed those in `missed`. Only pages of the same facts are compared. So a page whose best kept
    page lies below `similarity`, although one of other facts reaches it, is not missed: unless it was flagged, it is in
    `apart`. That is None for a corpus of texts, and for a method without facts: there all pages are compared.
    Thin pages are in `thin` and nowhere else. `microseconds` are processor time per page, from its text on; None means
    that the method does not tell. On `failed` pages the method raised an error, first `failure`; they count as kept.
    """

    method: str
    similarity: float
    bands: tuple[Band, ...]
    all_bands: tuple[Band, ...]
    found: BandCounts
    thin: BandCounts
    missed: tuple[Mistake, ...]
    wrong: tuple[Mistake, ...]
    apart: tuple[Mistake, ...] | None
    microseconds: float
    probes_mean: float | None
    candidates_mean: float | None
    candidates_p99: float | None
    bytes_per_page: float | None
    failed: int
    failure: str | None

    @property
    def recall(self) -> float | None:
        """Return the share of the pages to find that was flagged; None if there are no such pages."""
        return self.found.share

    @property
    def flagged(self) -> int:
        """Return how many pages with enough words were flagged."""
        return sum(band.counts.flagged for band in self.bands)

    @property
    def precision(self) -> float | None:
        """Return which share of them was to be found; None if none was flagged."""
        return self.found.flagged / self.flagged if self.flagged else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "method": self.method,
            "similarity": self.similarity,
            "recall": self.recall,
            "precision": self.precision,
            "bands": [band.as_dict() for band in self.bands],
            "all_bands": [band.as_dict() for band in self.all_bands],
            "thin": self.thin.as_dict(),
            "microseconds": self.microseconds,
            "probes_mean": self.probes_mean,
            "candidates_mean": self.candidates_mean,
            "candidates_p99": self.candidates_p99,
            "bytes_per_page": self.bytes_per_page,
            "failed": self.failed,
            "failure": self.failure,
            "missed": [mistake.as_dict() for mistake in self.missed],
            "wrong": [mistake.as_dict() for mistake in self.wrong],
            "apart": None if self.apart is None else [page.as_dict() for page in self.apart],
        }


@dataclass(slots=True)
class _Notes:
    """Notes about the pages that were shown to a detector; arrays have the shape (pages,)."""

    best: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    detections: list[Detection] = field(default_factory=list)
    missed: list[Mistake] = field(default_factory=list)
    wrong: list[Mistake] = field(default_factory=list)
    apart: list[Mistake] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_trial(
    detector: Detector,
    corpus: Corpus,
    truth: GroundTruth,
    *,
    similarity: float,
    on_page: Callable[[], None] = lambda: None,
) -> Trial:
    """Show a corpus to a detector, still empty, and compare its answers with the ground truth of that corpus.

    Pages without a word are left out. `on_page` is called for each page.
    """
    known = [document.facts if detector.uses_facts else None for document in corpus.documents]
    facts = [each or "" for each in known]
    notes = _show(detector, corpus, truth.oracle_index(facts), similarity, on_page)
    best, flagged = notes.best, notes.flagged
    has_words = truth.group_of >= 0
    is_thin = has_words & (truth.word_counts < MIN_WORDS)
    is_whole = has_words & ~is_thin
    best_of_all = truth.best_earlier([True] * truth.pages, facts)
    probes = _numbers([detection.probes for detection in notes.detections])
    candidates = _numbers([detection.candidates for detection in notes.detections])
    return Trial(
        method=detector.name,
        similarity=similarity,
        bands=bands_of(best[is_whole], flagged[is_whole]),
        all_bands=bands_of(best_of_all[is_whole], flagged[is_whole]),
        found=count(is_whole & (best >= similarity), flagged),
        thin=count(is_thin, flagged),
        missed=tuple(notes.missed),
        wrong=tuple(notes.wrong),
        apart=None if all(each is None for each in known) else tuple(notes.apart),
        microseconds=notes.seconds / max(len(notes.detections), 1) * 1e6,
        probes_mean=float(probes.mean()) if len(probes) else None,
        candidates_mean=float(candidates.mean()) if len(candidates) else None,
        candidates_p99=float(np.percentile(candidates, 99)) if len(candidates) else None,
        bytes_per_page=detector.bytes_per_page(),
        failed=len(notes.failures),
        failure=notes.failures[0] if notes.failures else None,
    )


def _show(
    detector: Detector, corpus: Corpus, index: OracleIndex, similarity: float, on_page: Callable[[], None]
) -> _Notes:
    truth = index.truth
    notes = _Notes(np.zeros(truth.pages), np.zeros(truth.pages, bool))
    number = {document.url: page for page, document in enumerate(corpus.documents)}
    for page, document in enumerate(corpus.documents):
        on_page()
        if truth.group_of[page] < 0:
            continue
        # Time of this process, whatever else the machine does.
        started = time.process_time()
        try:
            detection = detector.check(document)
        except Exception as error:
            # A method that fails on a page has not found it. That is a result, and the others still count.
            detection = Detection(flagged=False)
            notes.failures.append(f"{type(error).__name__}: {error}")
        notes.seconds += time.process_time() - started
        notes.detections.append(detection)
        best, nearest = index.best(page)
        notes.best[page], notes.flagged[page] = best, detection.flagged
        kind = None
        if detection.flagged:
            kind = notes.wrong if best < similarity - TOLERANCE else None
        elif best >= similarity:
            kind = notes.missed
        else:
            # Of a page that is kept apart, the page of other facts is told.
            best, nearest = index.best(page, same_facts=False)
            kind = notes.apart if best >= similarity else None
        if kind is not None and truth.word_counts[page] >= MIN_WORDS:
            original = None if detection.original is None else number.get(detection.original)
            mistake = Mistake(
                url=document.url,
                words=int(truth.word_counts[page]),
                exact=best,
                nearest=None if nearest is None else corpus.documents[nearest].url,
                original=detection.original,
                original_exact=None if original is None else index.similarity(page, original),
                estimate=detection.similarity,
            )
            kind.append(mistake)
        if not detection.flagged:
            index.add(page)
    return notes


def _numbers(values: Sequence[int | None]) -> NDArray[np.float64]:
    return np.array([value for value in values if value is not None], np.float64)
