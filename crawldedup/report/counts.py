"""Responses by outcome, as queries count them, and the shares that are told of them."""

from collections.abc import Mapping
from typing import Any, Final

JUDGED: Final = ("new", "near", "exact", "thin")
OUTCOMES: Final = (*JUDGED, "revisit", "skipped", "error")

Counts = Mapping[str, Any]
"""The number of responses with each of `OUTCOMES`."""


def duplicates(counts: Counts) -> int:
    """Return the near and exact duplicates."""
    return int(counts["near"] + counts["exact"])


def judged(counts: Counts) -> int:
    """Return the pages that were compared with others: revisits say nothing of what is left to find."""
    return sum(counts[outcome] for outcome in JUDGED)


def checked(counts: Counts) -> int:
    """Return the pages with a verdict."""
    return judged(counts) + int(counts["revisit"])


def responses(counts: Counts) -> int:
    """Return all responses."""
    return sum(counts[outcome] for outcome in OUTCOMES)


def novelty(counts: Counts) -> float | None:
    """Return the share of new pages among the judged ones."""
    return counts["new"] / judged(counts) if judged(counts) else None


def duplicate_share(counts: Counts) -> float | None:
    """Return the share of duplicates among the checked pages."""
    return duplicates(counts) / checked(counts) if checked(counts) else None
