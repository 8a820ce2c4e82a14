"""What the charts of a report are drawn by: round values on their axes, and places between these."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from crawldedup.report.render.wording import lasting

_MOST_LABELS: Final = 10
_MOST_LINES: Final = 5


def axis(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]


def depth(value: float, grid: Sequence[float]) -> float:
    """Return how far below the top of an axis a value is, in percent."""
    return 100 * (grid[-1] - value) / (grid[-1] - grid[0])


def time_labels(moments: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """Return when the steps of a crawl began, at most ten of them, with their places in the width, from 0 to 1."""
    marks = [(at / len(moments), lasting(moment["seconds"])) for at, moment in enumerate(moments)]
    return marks[:: -(-len(marks) // _MOST_LABELS)]
