"""What a crawl's end is to warn of: counts that look like a crawl that did not do what it was started for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.printable import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_UNCHECKED: Final = 10
SHARE_UNCHECKED: Final = 0.05
"""So many pages, and this share of those that were to be checked, are too many to pass unchecked."""

# Somebody decided that these are not checked.
_ON_PURPOSE: Final = frozenset({"skipped/disabled", "skipped/url", "skipped/no_callback", "skipped/robots_txt"})


def complaints(counts: Mapping[str, int], noun: str, *, starts: int = 0, lost_starts: int = 0) -> list[str]:
    """Return a sentence for each thing that is wrong with a crawl's counts.

    `counts` are those of `CrawlStats`, `starts` the start pages that were checked, and `lost_starts` those of them that
    were delivered before.
    """
    found = []
    checked = counts.get("checked", 0)
    errors = _below(counts, "error/")
    errors.pop("error/mark", None)  # such an item was checked
    unchecked = sum(errors.values())
    if starts and starts == lost_starts:
        found.append(
            f"all start pages ({starts:,}) were duplicates, so that their items, and with the action 'drop' their "
            f"links, were left out. Another crawler on this index, or an earlier crawl, has delivered them."
        )
    if not checked:
        reasons = {**_below(counts, "skipped/"), **errors}
        if reasons.keys() - _ON_PURPOSE:
            came = pluralize(sum(reasons.values()), noun)
            found.append(f"nothing was checked, although {came} came: {listed(reasons)}.")
    elif unchecked >= LEAST_UNCHECKED and unchecked >= SHARE_UNCHECKED * (checked + unchecked):
        came = pluralize(checked + unchecked, noun)
        found.append(f"{unchecked:,} of {came} passed unchecked after an error: {listed(errors)}.")
    return found


def listed(counts: Mapping[str, int]) -> str:
    """Return reasons with their counts, by name: "status 2, unavailable 1"."""
    return ", ".join(f"{name.partition('/')[2]} {counts[name]}" for name in sorted(counts))


def _below(counts: Mapping[str, int], group: str) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name.startswith(group) and count}
