"""Counting: every response once, as checked, skipped or error; times; and the summary at the end of a crawl."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.printable import pluralize, printable
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.runtime.clusters import Clusters
from crawldedup.scrapy_plugin.runtime.complaints import complaints, listed
from crawldedup.verdict import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.statscollectors import StatsCollector

    from crawldedup.scrapy_plugin.reading.messages import Judged

PREFIX = "crawldedup/"
_KINDS = {
    Kind.NEW: "new",
    Kind.NEAR_DUPLICATE: "duplicate/near",
    Kind.EXACT_DUPLICATE: "duplicate/exact",
    Kind.REVISIT: "revisit",
    Kind.THIN: "thin",
}
_SHOWN_ORIGINALS = 5

NOVELTY_PAGES: Final = 200
"""So many of the last pages tell how much new a crawl still finds."""

MOST_SITES: Final = 500
"""So many sites have stats of their own. What comes from others is counted as `other`."""


class Figures(NamedTuple):
    """How far a crawl is. `waiting` are the seconds that pages waited, `reading` and `store` what for."""

    checked: int = 0
    duplicates: int = 0
    dropped: int = 0
    items_dropped: int = 0
    unchecked: int = 0
    waiting: float = 0.0
    reading: float = 0.0
    store: float = 0.0


class CrawlStats:
    """Counts pages, or items, into Scrapy's stats, and keeps its own counts for the summary.

    ``checked`` is the sum of ``new``, ``duplicate/near``, ``duplicate/exact``, ``revisit`` and ``thin``, and
    ``checked``, all ``skipped/<reason>`` and all ``error/<kind>`` together are the responses that came by.
    ``changed`` and ``unchanged`` are revisits, the latter only those that are unwanted for it;
    ``duplicate/across_sites`` are duplicates of pages on other sites, ``replaced`` those that replace their original.
    """

    def __init__(
        self, stats: StatsCollector | None, noun: str = "page", *, by_site: bool = False, covers: bool = False
    ) -> None:
        assert stats is not None  # crawlers have theirs before any component is built
        self._stats = stats
        self._noun = noun
        self._prefix = PREFIX if noun == "page" else f"{PREFIX}{noun}/"
        self._counts: Counter[str] = Counter()
        self._seconds = {"waiting": 0.0, "reading": 0.0, "store": 0.0}
        self._timed: Counter[str] = Counter()
        self._sites: set[str] | None = set() if by_site else None
        self._covers = covers
        self._clusters = Clusters()
        self._novelty: deque[bool] = deque(maxlen=NOVELTY_PAGES)
        self._starts = self._lost_starts = 0
        self._dropped_duplicates = self._dropped_unchanged = self._itemless = self._refused_partial = 0
        self._itemless_unchanged = 0
        self._most_copied: dict[str, int] = {}

    def checked(
        self, verdict: Verdict, *, dropped: bool, itemless: bool = False, unchanged: bool = False, size: int = 0
    ) -> None:
        """Count a checked page of `size` bytes; `itemless` if its items are dropped.

        It is `unchanged` if earlier crawls have seen the same of it.
        """
        self._add("checked")
        self._add(_KINDS[verdict.kind])
        if verdict.kind is not Kind.REVISIT:
            self._novelty.append(verdict.kind is Kind.NEW)
            self._stats.set_value(f"{self._prefix}novelty", round(sum(self._novelty) / len(self._novelty), 3))
        if verdict.is_across_sites:
            self._add("duplicate/across_sites")
        if verdict.replaces:
            self._add("replaced")
        if verdict.changed:
            self._add("changed")
        if unchanged:
            self._add("unchanged")
        self._itemless += itemless and verdict.is_duplicate
        self._itemless_unchanged += itemless and unchanged
        self._refused_partial += (dropped or itemless) and not (verdict.is_duplicate or unchanged)
        if dropped:
            self._add("dropped")
            self._dropped_duplicates += verdict.is_duplicate
            self._dropped_unchanged += unchanged
            if size:
                self._add("bytes_saved", size)
        self._add_coverage(verdict)
        if self._sites is not None:
            self._add_to_site(verdict, dropped=dropped)
        if verdict.is_duplicate and verdict.original is not None:
            original = verdict.original
            if verdict.replaces:
                self._most_copied.pop(original, None)
                self._clusters.rename(original, verdict.url)
                original = verdict.url
            self._clusters.add(original, verdict.copies)
            self._stats.set_value(f"{self._prefix}clusters", self._clusters.count)
            self._stats.set_value(f"{self._prefix}largest_cluster", self._clusters.largest)
            self._most_copied[original] = verdict.copies
            if len(self._most_copied) > _SHOWN_ORIGINALS:
                # An original's copies only grow, so the few largest can be kept without the rest.
                del self._most_copied[min(self._most_copied, key=self._most_copied.__getitem__)]

    def skipped(self, reason: str) -> None:
        """Count a page that was not checked because it is none, or could not be read."""
        self._add(f"skipped/{reason}")

    def error(self, kind: str) -> None:
        """Count a page that passed unchecked because something failed."""
        self._add(f"error/{kind}")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count for how long a page waits for its verdict, or for the error in its place."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self._add_seconds("waiting", time.perf_counter() - begun)

    def worked(self, judged: Judged) -> None:
        """Count for how long a worker read a page and asked the store about it, and what it noticed."""
        if judged.kept_apart:
            self._add("kept_apart")
        if judged.unselected:
            self._add("unselected")
        self._add_seconds("reading", judged.reading)
        self._add_seconds("store", judged.store)

    def started(self, *, lost: bool) -> None:
        """Count a start page; `lost` if it was delivered before."""
        self._starts += 1
        self._lost_starts += lost

    def wall(self, event: str) -> None:
        """Count an original that was suspected as a wall, or a page that was retried for one."""
        self._add(f"walls/{event}")

    def figures(self) -> Figures:
        """Return how far the crawl is."""
        counts = self._counts
        return Figures(
            checked=counts["checked"],
            duplicates=counts["duplicate/near"] + counts["duplicate/exact"],
            dropped=counts["dropped"],
            items_dropped=self._stats.get_value(f"{self._prefix}items_dropped", 0),
            unchecked=sum(count for name, count in counts.items() if name.startswith("error/")),
            **self._seconds,
        )

    def complaints(self) -> list[str]:
        """Return what the end of the crawl is to warn of, in sentences."""
        return complaints(self._counts, self._noun, starts=self._starts, lost_starts=self._lost_starts)

    def summary(self) -> str:
        """Return a few lines for the log."""
        counts = self._counts
        near, exact = counts["duplicate/near"], counts["duplicate/exact"]
        news = [f"{counts[name]} {name}" for name in ("changed", "unchanged") if counts[name]]
        if self._dropped_unchanged:
            news.append(f"{self._dropped_unchanged} dropped")
        if self._itemless_unchanged:
            news.append(f"items of {self._itemless_unchanged} dropped")
        revisits = pluralize(counts["revisit"], "revisit") + (f" ({', '.join(news)})" if news else "")
        gone = [f"{self._dropped_duplicates} dropped"] if self._dropped_duplicates or not self._itemless else []
        gone += [f"items of {self._itemless} dropped"] if self._itemless else []
        lines = [
            f"crawldedup checked {pluralize(counts['checked'], self._noun)}: {counts['new']} new, {near} near and "
            f"{exact} exact duplicates ({', '.join(gone)}), {revisits}, {counts['thin']} thin"
        ]
        if replaced := counts["replaced"]:
            lines.append(f"  {pluralize(replaced, 'duplicate')} replaced a worse copy")
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
        if known := counts["paragraphs/words/known"]:
            share = known / (known + counts["paragraphs/words/new"])
            pages, partial = (pluralize(counts[f"paragraphs/{name}"], "page") for name in ("pages", "partial"))
            refused = f" ({self._refused_partial} refused)" if self._refused_partial else ""
            lines.append(f"  {share:.0%} of the words of {pages} were known; {partial} had too few new ones{refused}")
        for group, text in (("skipped/", "not checked"), ("error/", "passed unchecked after an error")):
            if found := {name: count for name, count in counts.items() if name.startswith(group)}:
                lines.append(f"  {sum(found.values())} {text}: {listed(found)}")
        if retried := counts["walls/retried"]:
            lines.append(f"  {retried} copies of suspected walls were asked for again")
        for url, copies in sorted(self._most_copied.items(), key=lambda item: -item[1]):
            if copies > 1:
                lines.append(f"  {copies} copies of {printable(url)}")
        return "\n".join(lines)

    def _add(self, name: str, count: int = 1) -> None:
        self._counts[name] += count
        self._stats.inc_value(self._prefix + name, count)

    def _add_seconds(self, name: str, seconds: float) -> None:
        self._seconds[name] += seconds
        self._timed[name] += 1
        stat = f"{self._prefix}seconds/{name}"
        self._stats.set_value(stat, round(self._seconds[name], 3))
        self._stats.set_value(f"{stat}_mean", round(self._seconds[name] / self._timed[name], 6))
        self._stats.max_value(f"{stat}_max", round(seconds, 6))

    def _add_coverage(self, verdict: Verdict) -> None:
        if not self._covers or verdict.kind not in (Kind.NEW, Kind.REVISIT):
            return
        if (coverage := verdict.coverage) is None:
            self._add("paragraphs/failed")
            return
        self._add("paragraphs/pages")
        self._add("paragraphs/partial", coverage.is_partial)
        for kind in ("new", "known", "boilerplate"):
            self._add(f"paragraphs/words/{kind}", getattr(coverage, f"{kind}_words"))

    def _add_to_site(self, verdict: Verdict, *, dropped: bool) -> None:
        assert self._sites is not None
        site = site_of(verdict.url) or "other"
        if len(self._sites) < MOST_SITES:
            self._sites.add(site)
        elif site not in self._sites:
            site = "other"
        for name, is_so in (("checked", True), ("duplicate", verdict.is_duplicate), ("dropped", dropped)):
            if is_so:
                self._stats.inc_value(f"{self._prefix}site/{site}/{name}")
