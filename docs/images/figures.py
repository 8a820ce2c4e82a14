"""Figures of matplotlib that are the same file for the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure. An SVG of the same data is the same file, and its words are text."""
    # A date, a version and random names of shapes would change with each run.
    metadata = {"Date": None, "Creator": None} if path.suffix.lower() == ".svg" else None
    # One font, the one that comes with matplotlib, instead of a long list of them with each word.
    styles: Any = {
        "svg.hashsalt": path.stem,
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans"],
    }
    with rc_context(styles):
        figure.savefig(path, metadata=metadata)
