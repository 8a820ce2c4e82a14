"""A method held against the truth: a corpus streamed through a judge, page by page."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.evaluation.bands import Band, Tally, bands_of
from crawldedup.evaluation.judges import Judgement
from crawldedup.fingerprinting.fingerprint import MIN_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from crawldedup.evaluation.corpus import Corpus
    from crawldedup.evaluation.judges import Judge
    from crawldedup.evaluation.truth import Truth

TOLERANCE: Final = 0.1
"""A flagged page is a mistake if its best similarity lies more than this below the threshold."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A page that was missed, or flagged without cause.

    `exact` is its similarity with `nearest`, the most similar page kept before it; `original` the page that the
    method named, `original_exact` the similarity with that one, and `estimate` what the method takes it for.
    """

    url: str
    words: int
    exact: float
    nearest: str | None
    original: str | None
    original_exact: float | None
    estimate: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Trial:
    """What a method did with a corpus.

    `bands` are by the best similarity with an earlier page that this method kept, `all_bands` by that with any
    earlier page: a page may resemble one that was flagged itself. `found` tallies the pages whose best kept page
    reaches `similarity`. Thin pages are in `thin` and nowhere else. `microseconds` are of processor
    time a page, from its text; None means that the method does not say. `failed` pages made the method raise, the
    first time `failure`, and count as kept.
    """

    method: str
    similarity: float
    bands: tuple[Band, ...]
    all_bands: tuple[Band, ...]
    found: Tally
    thin: Tally
    missed: tuple[Mistake, ...]
    wrong: tuple[Mistake, ...]
    microseconds: float
    probes_mean: float | None
    candidates_mean: float | None
    candidates_p99: float | None
    bytes_a_page: float | None
    failed: int
    failure: str | None

    @property
    def recall(self) -> float | None:
        """The share of the pages to be found that was flagged; None if there are none."""
        return self.found.share

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "method": self.method,
            "similarity": self.similarity,
            "recall": self.recall,
            "bands": [band.as_dict() for band in self.bands],
            "all_bands": [band.as_dict() for band in self.all_bands],
            "thin": self.thin.as_dict(),
            "microseconds": self.microseconds,
            "probes_mean": self.probes_mean,
            "candidates_mean": self.candidates_mean,
            "candidates_p99": self.candidates_p99,
            "bytes_a_page": self.bytes_a_page,
            "failed": self.failed,
            "failure": self.failure,
            "missed": [mistake.as_dict() for mistake in self.missed],
            "wrong": [mistake.as_dict() for mistake in self.wrong],
        }


@dataclass(slots=True)
class _Record:
    """What happened to the pages, noted while they are shown to a judge; arrays have the shape (pages,)."""

    best: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    judgements: list[Judgement] = field(default_factory=list)
    missed: list[Mistake] = field(default_factory=list)
    wrong: list[Mistake] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run_trial(
    judge: Judge, corpus: Corpus, truth: Truth, *, similarity: float, on_page: Callable[[], None] = lambda: None
) -> Trial:
    """Show a corpus to a judge that has seen nothing yet, and compare with the truth of that corpus.

    Pages without a word are left out. `on_page` is called for each page.
    """
    record = _show(judge, corpus, truth, similarity, on_page)
    best, flagged = record.best, record.flagged
    has_words = truth.group_of >= 0
    is_thin = has_words & (truth.word_counts < MIN_WORDS)
    judged = has_words & ~is_thin
    best_of_all = truth.best_earlier([True] * truth.pages)
    probes = _numbers([judgement.probes for judgement in record.judgements])
    candidates = _numbers([judgement.candidates for judgement in record.judgements])
    return Trial(
        method=judge.name,
        similarity=similarity,
        bands=bands_of(best[judged], flagged[judged]),
        all_bands=bands_of(best_of_all[judged], flagged[judged]),
        found=_tally(judged & (best >= similarity), flagged),
        thin=_tally(is_thin, flagged),
        missed=tuple(record.missed),
        wrong=tuple(record.wrong),
        microseconds=record.seconds / max(len(record.judgements), 1) * 1e6,
        probes_mean=float(probes.mean()) if len(probes) else None,
        candidates_mean=float(candidates.mean()) if len(candidates) else None,
        candidates_p99=float(np.percentile(candidates, 99)) if len(candidates) else None,
        bytes_a_page=judge.bytes_a_page(),
        failed=len(record.failures),
        failure=record.failures[0] if record.failures else None,
    )


def _show(judge: Judge, corpus: Corpus, truth: Truth, similarity: float, on_page: Callable[[], None]) -> _Record:
    record = _Record(np.zeros(truth.pages), np.zeros(truth.pages, bool))
    memory = truth.memory()
    number = {document.url: page for page, document in enumerate(corpus.documents)}
    for page, document in enumerate(corpus.documents):
        on_page()
        if truth.group_of[page] < 0:
            continue
        best, nearest = memory.best(page)
        # Of this process alone: how busy the machine is says nothing of a method.
        started = time.process_time()
        try:
            judgement = judge.judge(document.url, document.text)
        except Exception as error:
            # A method that breaks on a page has not found it; that is a result, and no reason to lose all others.
            judgement = Judgement(flagged=False)
            record.failures.append(f"{type(error).__name__}: {error}")
        record.seconds += time.process_time() - started
        record.judgements.append(judgement)
        record.best[page], record.flagged[page] = best, judgement.flagged
        is_wrong = judgement.flagged and best < similarity - TOLERANCE
        is_missed = not judgement.flagged and best >= similarity
        if (is_wrong or is_missed) and truth.word_counts[page] >= MIN_WORDS:
            original = None if judgement.original is None else number.get(judgement.original)
            mistake = Mistake(
                url=document.url,
                words=int(truth.word_counts[page]),
                exact=best,
                nearest=None if nearest is None else corpus.documents[nearest].url,
                original=judgement.original,
                original_exact=None if original is None else memory.similarity(page, original),
                estimate=judgement.similarity,
            )
            (record.wrong if is_wrong else record.missed).append(mistake)
        if not judgement.flagged:
            memory.add(page)
    return record


def _tally(which: NDArray[np.bool_], flagged: NDArray[np.bool_]) -> Tally:
    return Tally(int(which.sum()), int((which & flagged).sum()))


def _numbers(values: Sequence[int | None]) -> NDArray[np.float64]:
    return np.array([value for value in values if value is not None], np.float64)
