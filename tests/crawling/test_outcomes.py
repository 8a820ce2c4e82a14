"""What becomes of a page, by its verdict and its options."""

from dataclasses import replace

import pytest

from crawldedup.crawling.options import CrawlOptions
from crawldedup.crawling.outcomes import Fate, Outcome, decide
from crawldedup.verdict import Coverage, Kind, Verdict

URL = "https://www.example.co.uk/page?b=2&a=1"
USUAL = CrawlOptions(action="drop")
NEW = Verdict(Kind.NEW, URL)
REVISIT = Verdict(Kind.REVISIT, URL)
COPY = Verdict(Kind.EXACT_DUPLICATE, URL, "https://www.example.co.uk/a", copies=1)
NEAR = replace(COPY, kind=Kind.NEAR_DUPLICATE)
STRANGER = replace(COPY, original="https://other.org/a")
BETTER = replace(COPY, replaces=True)
PARTIAL = replace(
    NEW, coverage=Coverage(1, 9, 0, is_partial=True, sources=(("https://other.org/a", 9),))
)

DROP, MARK, ITEMS = (replace(USUAL, action=action) for action in ("drop", "mark", "drop-items"))
DAILY = replace(DROP, revisit="drop")
TRUSTING_ITSELF = replace(DROP, trusted_sites=frozenset())

PASSES = Outcome(Fate.DELIVERED)
DROPPED = Outcome(Fate.DROPPED, refused=True)
UNCHANGED = Outcome(Fate.DROPPED, refused=True, unchanged=True)


def flagged(*flags: str, fate: Fate = Fate.DELIVERED, refused: bool = False) -> Outcome:
    return Outcome(fate, refused, flags=tuple(f"crawldedup:{flag}" for flag in flags))


def marked(flag: str) -> Outcome:
    return flagged(flag, fate=Fate.MARKED, refused=True)


@pytest.mark.parametrize(
    ("verdict", "policy", "seen", "outcome"),
    [
        *(
            (verdict, policy, False, PASSES)
            for verdict in (NEW, REVISIT, replace(NEW, kind=Kind.THIN))
            for policy in (DROP, MARK, ITEMS)
        ),
        *((verdict, DROP, False, DROPPED) for verdict in (COPY, NEAR, STRANGER)),
        *(
            (verdict, ITEMS, False, replace(DROPPED, fate=Fate.ITEMS_DROPPED))
            for verdict in (COPY, NEAR)
        ),
        (COPY, MARK, False, marked("exact_duplicate")),
        (NEAR, MARK, False, marked("near_duplicate")),
        # A better copy takes the place of the one that was delivered.
        (BETTER, DROP, False, flagged("replaces")),
        # As many copies as are wanted.
        (NEAR, replace(DROP, keep_per_cluster=2), False, PASSES),
        (replace(NEAR, copies=2), replace(DROP, keep_per_cluster=2), False, DROPPED),
        # A text belongs to sites that are trusted, and to the page's own.
        (COPY, TRUSTING_ITSELF, False, DROPPED),
        (STRANGER, TRUSTING_ITSELF, False, flagged("exact_duplicate")),
        (STRANGER, replace(DROP, trusted_sites=frozenset({"other.org"})), False, DROPPED),
        # What earlier crawls have seen.
        (REVISIT, DAILY, False, UNCHANGED),
        (
            REVISIT,
            replace(DAILY, action="mark"),
            False,
            replace(marked("unchanged"), unchanged=True),
        ),
        (REVISIT, DAILY, True, PASSES),
        (replace(REVISIT, changed=True), DAILY, False, PASSES),
        (replace(REVISIT, abandoned=True), DAILY, False, PASSES),
        (COPY, DAILY, True, DROPPED),
        # Pages that stand on others in part.
        (
            PARTIAL,
            replace(DROP, paragraphs=0.2),
            False,
            flagged("new=0.10", fate=Fate.DROPPED, refused=True),
        ),
        (PARTIAL, replace(MARK, paragraphs=0.2), False, flagged("new=0.10", refused=True)),
        (PARTIAL, replace(DROP, paragraphs=0.1), False, flagged("new=0.10")),
        (PARTIAL, replace(TRUSTING_ITSELF, paragraphs=0.2), False, flagged("new=0.10")),
    ],
)
def test_what_becomes_of_a_page(
    verdict: Verdict, policy: CrawlOptions, seen: bool, outcome: Outcome
) -> None:
    assert decide(verdict, policy, seen=seen) == outcome
