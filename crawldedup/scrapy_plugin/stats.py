"""Counting: every response once, as checked, skipped or error; and the summary at the end of a crawl."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from crawldedup.printable import pluralize, printable
from crawldedup.verdict import Kind, Verdict

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

PREFIX = "crawldedup/"
_KINDS = {
    Kind.NEW: "new",
    Kind.NEAR_DUPLICATE: "duplicate/near",
    Kind.EXACT_DUPLICATE: "duplicate/exact",
    Kind.REVISIT: "revisit",
    Kind.THIN: "thin",
}
_SHOWN_ORIGINALS = 5


class CrawlStats:
    """Counts pages, or items, into Scrapy's stats, and keeps its own counts for the summary.

    ``checked`` is the sum of ``new``, ``duplicate/near``, ``duplicate/exact``, ``revisit`` and ``thin``, and
    ``checked``, all ``skipped/<reason>`` and all ``error/<kind>`` together are the responses that came by.
    ``changed`` and ``unchanged`` are revisits, the latter only those that are unwanted for it;
    ``duplicate/across_sites`` are duplicates of pages on other sites, ``replaced`` those that replace their original.
    """

    def __init__(self, stats: StatsCollector | None, noun: str = "page") -> None:
        assert stats is not None  # crawlers have theirs before any component is built
        self._stats = stats
        self._noun = noun
        self._prefix = PREFIX if noun == "page" else f"{PREFIX}{noun}/"
        self._counts: Counter[str] = Counter()
        self._dropped_duplicates = 0
        self._most_copied: dict[str, int] = {}

    def checked(self, verdict: Verdict, *, dropped: bool, unchanged: bool = False) -> None:
        """Count a checked page; `unchanged` if it is unwanted since earlier crawls have seen the same of it."""
        self._add("checked")
        self._add(_KINDS[verdict.kind])
        if verdict.is_across_sites:
            self._add("duplicate/across_sites")
        if verdict.replaces:
            self._add("replaced")
        if verdict.changed:
            self._add("changed")
        if unchanged:
            self._add("unchanged")
        if dropped:
            self._add("dropped")
            self._dropped_duplicates += verdict.is_duplicate
        if verdict.is_duplicate and verdict.original is not None:
            self._most_copied[verdict.original] = verdict.copies
            if len(self._most_copied) > _SHOWN_ORIGINALS:
                # An original's copies only grow, so the few largest can be kept without the rest.
                del self._most_copied[min(self._most_copied, key=self._most_copied.__getitem__)]

    def skipped(self, reason: str) -> None:
        """Count a page that was not checked because it is none, or could not be read."""
        self._add(f"skipped/{reason}")

    def error(self, kind: str) -> None:
        """Count a page that passed unchecked because something failed."""
        self._add(f"error/{kind}")

    def summary(self) -> str:
        """Return a few lines for the log."""
        counts = self._counts
        near, exact = counts["duplicate/near"], counts["duplicate/exact"]
        news = [f"{counts[name]} {name}" for name in ("changed", "unchanged") if counts[name]]
        if dropped := counts["dropped"] - self._dropped_duplicates:
            news.append(f"{dropped} dropped")
        revisits = pluralize(counts["revisit"], "revisit") + (f" ({', '.join(news)})" if news else "")
        lines = [
            f"crawldedup checked {pluralize(counts['checked'], self._noun)}: {counts['new']} new, {near} near and "
            f"{exact} exact duplicates ({self._dropped_duplicates} dropped), {revisits}, {counts['thin']} thin"
        ]
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
        for group, text in (("skipped/", "not checked"), ("error/", "passed unchecked after an error")):
            if names := sorted(name for name in counts if name.startswith(group)):
                listed = ", ".join(f"{name.removeprefix(group)} {counts[name]}" for name in names)
                lines.append(f"  {sum(counts[name] for name in names)} {text}: {listed}")
        for url, copies in sorted(self._most_copied.items(), key=lambda item: -item[1]):
            if copies > 1:
                lines.append(f"  {copies} copies of {printable(url)}")
        return "\n".join(lines)

    def _add(self, name: str) -> None:
        self._counts[name] += 1
        self._stats.inc_value(self._prefix + name)
