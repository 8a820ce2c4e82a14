"""Plots of trials: for each method a small chart of the share of pages it flags, by similarity."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.evaluation.bands import band_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawldedup.evaluation.trial import Trial

SUFFIXES = (".svg", ".png")
_COLUMNS = 4
# In inches. So four charts fill a page's width, and a name of this length stands above one.
_WIDTH, _HEIGHT = 2.15, 1.9
_NAME_LETTERS = 27


def check_plot_path(path: Path) -> None:
    """Check a path before a measurement of minutes.

    Raises ConfigurationError for a file that is not a picture, and MissingDependencyError without matplotlib.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigurationError(f"a plot is written as {' or '.join(SUFFIXES)}, so it cannot be {str(path)!r}")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(f"there is no folder {str(path.absolute().parent)!r} to write a plot into")
    _figure_class()


def plot_trials(trials: Sequence[Trial], path: Path, *, title: str) -> None:
    """Write the shares of `bands` as small multiples, with the first method in grey behind the others.

    Raises as `check_plot_path` does, and OSError.
    """
    check_plot_path(path)
    columns = min(_COLUMNS, len(trials))
    rows = math.ceil(len(trials) / columns)
    figure = new_figure(_WIDTH * columns, 1 + _HEIGHT * rows)
    figure.suptitle(
        f"{_literal(title)}\nblue: the method, grey: {_literal(trials[0].method)}, green: to be flagged", fontsize=9
    )
    charts = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    names = [band_name(band.low, band.high) for band in trials[0].bands]
    for position, (chart, trial) in enumerate(zip(charts.flat, trials, strict=False)):
        chart.set_title(_literal(textwrap.fill(trial.method, _NAME_LETTERS)), fontsize=8)
        # Ideally, all pages from the wanted similarity on are flagged.
        wanted = [number for number, band in enumerate(trial.bands) if band.low >= trial.similarity]
        if wanted:
            chart.axvspan(wanted[0] - 0.5, len(names) - 0.5, color="tab:green", alpha=0.08, linewidth=0)
        if trial is not trials[0]:
            _line(chart, trials[0], color="0.7")
        _line(chart, trial, color="tab:blue", marker="o", markersize=3)
        chart.set_ylim(-3, 103)
        chart.set_xticks(range(len(names)), names, rotation=60, fontsize=7)
        # The lowest chart of a column names the bands; the last row may be short.
        chart.tick_params(axis="x", labelbottom=position + columns >= len(trials))
        chart.tick_params(axis="y", labelsize=7)
        chart.grid(axis="y", linewidth=0.3)
    for chart in charts.flat[len(trials) :]:
        chart.set_visible(False)
    figure.supxlabel("exact Jaccard similarity with the best page of the same facts kept before", fontsize=9)
    figure.supylabel("pages flagged, %", fontsize=9)
    save_figure(figure, path)


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of matplotlib, in inches. Raises MissingDependencyError without the package."""
    return _figure_class()(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure. An SVG of the same data is the same file, and its words are text. Raises OSError."""
    from matplotlib import rc_context

    # A date, a version and random names of shapes would change with each run.
    metadata = {"Date": None, "Creator": None} if path.suffix.lower() == ".svg" else None
    # One font, the one that comes with matplotlib, instead of a long list of them with each word.
    styles: Any = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}
    with rc_context(styles):
        figure.savefig(path, metadata=metadata)


def _line(chart: Any, trial: Trial, **style: Any) -> None:
    shares = [math.nan if band.counts.share is None else 100 * band.counts.share for band in trial.bands]
    chart.plot(range(len(shares)), shares, linewidth=1.2, **style)


def _figure_class() -> Any:
    # Not pyplot, which looks for a display and keeps every figure.
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("a plot needs matplotlib: pip install matplotlib") from error
    return Figure


def _literal(text: str) -> str:
    return text.replace("$", r"\$")
