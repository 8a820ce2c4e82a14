"""Tell in words what a comparison and an explanation say, for the command line and the page of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawldedup.explanation.comparison import Comparison
    from crawldedup.explanation.explained import Candidate, Explanation


def reason(told: Comparison) -> str:
    """Return why two pages got their verdict."""
    if any(told.facts):
        return "their product attributes differ, so they stay apart however alike they are"
    if told.candidate.match.exact and told.candidate.probe is not None:
        return f"they have the same text{' but for the moment of rendering' if told.changes else ''}"
    if told.thin:
        return "at least one page is too thin to be compared, and their texts differ"
    threshold = "" if told.threshold is None else f", an estimate of about {told.threshold:.3f}"
    if not told.candidate.accepted:
        return f"the cost is above {told.limit}{threshold}"
    if told.candidate.probe is None:
        return "alike enough, but the search does not meet the first page, as for a few in a hundred"
    return f"the cost is at most {told.limit}{threshold}"


def criterion(told: Explanation, recall: float) -> str:
    """Return which pages would be accepted."""
    if told.thin:
        return "an exact copy only, for the page is thin"
    estimated = "" if told.threshold is None else f", an estimated similarity of about {told.threshold:.3f}"
    wanted = f"from {told.similarity:g} on with a recall of {recall:g}"
    crowd = f", stricter in a crowd of {told.crowd} pages that resemble it alike" if told.crowd > 1 else ""
    return f"a cost of at most {told.limit}{estimated}{crowd}, to find pages {wanted}"


def outcome(candidate: Candidate) -> str:
    """Return what became of a page that was compared."""
    return "same text" if candidate.match.exact else "accepted" if candidate.accepted else "refused"


def estimate(candidate: Candidate) -> str:
    """Return the estimated similarity, with its standard error if there is one."""
    error = f" ± {candidate.deviation:.3f}" if candidate.deviation else ""
    return f"{candidate.match.similarity:.3f}{error}"


def search(candidate: Candidate) -> str:
    """Return whether the search meets the first page of two."""
    probe = "no probe" if candidate.probe is None else f"probe {candidate.probe}"
    return f"{candidate.match.hamming} of 64 search bits differ, {probe} meets the first page"
