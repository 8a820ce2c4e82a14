"""What a crawl's end is to warn of: counts that look like a crawl that did not do what it was started for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.printable import pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping

LEAST_UNCHECKED: Final = 10
SHARE_UNCHECKED: Final = 0.05
"""So many pages, and this share of those that were to be checked, are too many to pass unchecked."""

# What is no page, and pages of which somebody decided that they are not checked.
_NO_REASON: Final = frozenset(
    f"skipped/{reason}" for reason in ("content_type", "method", "no_callback", "robots_txt", "disabled", "url")
)


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
    unwanted = sum(counts.get(name, 0) for name in ("duplicate/near", "duplicate/exact", "unchanged"))
    unwanted -= counts.get("replaced", 0)
    if starts and starts == lost_starts and checked == unwanted:
        found.append(
            f"nothing new was found: all start pages ({starts:,}) were duplicates, which another crawler on this "
            f"index, or an earlier crawl, has delivered."
        )
    if (unselected := counts.get("unselected", 0)) >= LEAST_UNCHECKED and 2 * unselected > checked:
        found.append(
            f"{unselected:,} of {pluralize(checked, noun)} have nothing that CRAWLDEDUP_CONTENT selects; the extractor "
            f"read them."
        )
    if not checked:
        reasons = {**_below(counts, "skipped/"), **errors}
        if reasons.keys() - _NO_REASON:
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
