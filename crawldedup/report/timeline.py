"""A crawl over time: outcomes and the growth of the index, in steps of a round length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.report.counts import Counts
from crawldedup.report.model import Moment, Timeline
from crawldedup.report.overview import COUNTS

if TYPE_CHECKING:
    from crawldedup.report.database import Database

_MOST_STEPS: Final = 60
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def timeline_of(database: Database, seconds: float) -> Timeline:
    """Return the crawl in at most 60 steps; a step in which nothing came is there, too."""
    step: float = next((step for step in _STEPS if seconds / step < _MOST_STEPS), 0) or seconds / (_MOST_STEPS - 1)
    rows = database.rows(f"SELECT floor(moment / $step)::INTEGER AS slot, {COUNTS} FROM pages GROUP BY slot", step=step)
    sizes = database.rows(
        """SELECT floor(moment / $step)::INTEGER AS slot, arg_max(known, moment) FROM lines
        WHERE known IS NOT NULL GROUP BY slot""",
        step=step,
    )
    known: dict[int, int] = dict(sizes)
    counts = {number: Counts(*each) for number, *each in rows}
    last = int(seconds // step)
    return Timeline(
        step=step,
        last_step=seconds - last * step,
        moments=tuple(
            Moment(number * step, counts.get(number, Counts()), known.get(number)) for number in range(last + 1)
        ),
    )
