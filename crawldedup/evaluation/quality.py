"""Measures detectors on a file of pages and reports; for `crawldedup bench quality` and the benchmarks."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from crawldedup.commands.feeds import refuse
from crawldedup.evaluation.corpus import read_corpus
from crawldedup.evaluation.ground_truth import compare_all
from crawldedup.evaluation.pairs_file import read_ground_truth
from crawldedup.evaluation.plot import plot_trials
from crawldedup.evaluation.report import print_trials
from crawldedup.evaluation.trial import run_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rich.console import Console

    from crawldedup.commands.feeds import OnError
    from crawldedup.evaluation.corpus import Corpus
    from crawldedup.evaluation.detectors import Detector
    from crawldedup.evaluation.ground_truth import GroundTruth
    from crawldedup.evaluation.trial import Trial

    Bars = Callable[[str, int | None], Callable[[], None]]


@dataclass(frozen=True, slots=True)
class Quality:
    """The trials of detectors on a corpus. `absent` are the reasons why other methods could not be tried."""

    corpus: Corpus
    truth: GroundTruth
    trials: tuple[Trial, ...]
    absent: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "corpus": self.corpus.name,
            "pages": len(self.corpus.documents),
            "unreadable": self.corpus.unreadable,
            "repeated": self.corpus.repeated,
            "without_words": self.truth.pages_without_words,
            "trials": [trial.as_dict() for trial in self.trials],
            "absent": list(self.absent),
        }

    def show(self, out: Console, *, as_json: bool = False, detail: bool = False, plot: Path | None = None) -> None:
        """Print a table or a line of JSON, and draw a picture if a path is given. Raises as `plot_trials` does."""
        if plot is not None and self.trials:
            plot_trials(self.trials, plot, title=f"{self.corpus.name}: {self.truth.pages:,} pages")
        if as_json:
            print(json.dumps(self.as_dict()), file=out.file)
        else:
            print_trials(self.trials, self.corpus, self.truth, out, detail=detail)
            for reason in self.absent:
                out.print(reason, markup=False)


def measure_quality(
    name: str,
    detectors: Iterable[Detector],
    err: Console,
    *,
    similarity: float,
    extractor: str = "blocks",
    limit: int | None = None,
    pairs: Path | None = None,
    absent: Iterable[str] = (),
    on_error: OnError = refuse,
) -> Quality:
    """Try detectors, still empty, on the pages of a folder, a file of JSON lines or a web archive.

    `pairs` is a file with the ground truth, which is computed without one. Progress is shown on `err` if it is a
    terminal. `on_error` is as in `read_corpus`. Raises ConfigurationError as that and `read_ground_truth` do.
    """
    with _progress_bars(err) as bar:
        corpus = read_corpus(name, extractor=extractor, limit=limit, on_page=bar("reading", None), on_error=on_error)
        texts = [document.text for document in corpus.documents]
        if pairs is not None:
            truth = read_ground_truth(pairs, corpus)
        else:
            truth = compare_all(texts, bar("comparing all pairs", 2 * len(texts)))
        trials = tuple(
            run_trial(detector, corpus, truth, similarity=similarity, on_page=bar(detector.name, len(texts)))
            for detector in detectors
        )
    return Quality(corpus, truth, trials, tuple(absent))


@contextmanager
def _progress_bars(err: Console) -> Iterator[Bars]:
    """Return a function from a name and a total to a function that advances their bar."""
    # Up to rich 14.2 even a disabled bar leaves an empty line behind.
    if not err.is_terminal:
        yield lambda _name, _total: lambda: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:

        def bar(name: str, total: int | None) -> Callable[[], None]:
            task = progress.add_task(name, total=total)
            return lambda: progress.advance(task)

        yield bar
