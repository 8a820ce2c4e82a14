"""Counting: every response once, as checked, skipped or error; times; and what the log says of them."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Final

from scrapy.crawler import Crawler

from crawldedup.aio import Judged
from crawldedup.printable import pluralize, printable
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.signals import logger, say
from crawldedup.stores.registry import is_persistent
from crawldedup.stores.shown import shown_url
from crawldedup.stores.sqlite.schema import path_of
from crawldedup.verdict import Kind, Verdict

PREFIX: Final = "crawldedup/"
NOVELTY_PAGES: Final = 200
"""So many of the last pages tell how much new a crawl still finds."""

LEAST_UNCHECKED: Final = 10
SHARE_UNCHECKED: Final = 0.05
"""So many pages, and this share of those that were to be checked, are too many to pass unchecked."""

_KINDS: Final = {
    Kind.NEW: "new",
    Kind.NEAR_DUPLICATE: "duplicate/near",
    Kind.EXACT_DUPLICATE: "duplicate/exact",
    Kind.REVISIT: "revisit",
    Kind.THIN: "thin",
}
_SHOWN_ORIGINALS: Final = 5
# What is no page, and pages of which somebody decided that they are not checked.
_NO_REASON: Final = frozenset(
    f"skipped/{reason}" for reason in ("content_type", "method", "no_callback", "robots_txt", "disabled", "url")
)


class CrawlStats:
    """Counts pages, or items, into Scrapy's stats, and keeps its own counts for the log.

    ``checked``, all ``skipped/<reason>`` and all ``error/<kind>`` together are the responses that came by.
    """

    def __init__(self, crawler: Crawler, noun: str = "page", *, covers: bool = False) -> None:
        assert crawler.stats is not None  # crawlers have theirs before any component is built
        self.noun = noun
        self._crawler = crawler
        self._stats = crawler.stats
        self._prefix = PREFIX if noun == "page" else f"{PREFIX}{noun}/"
        self._counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()  # for the summary alone
        self._seconds = dict.fromkeys(("waiting", "reading", "store"), 0.0)
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._before: dict[str, float] = self._figures()
        self._telling: asyncio.Task[None] | None = None
        self._covers = covers
        self._novelty: deque[bool] = deque(maxlen=NOVELTY_PAGES)
        self._copies: dict[str, int] = {}

    def begin(self, options: CrawlOptions, known: int | None) -> None:
        """Log the options of a crawl and how many pages or items the index knows; every interval, how far it is."""
        say(self._crawler, logging.INFO, start_line(options, known, self.noun))
        if self._interval:
            self._telling = asyncio.ensure_future(self._tell())

    def end(self, *, complains: bool = True) -> None:
        """Log the summary, and a warning for each thing that looks wrong with the crawl."""
        if self._telling is not None:
            self._telling.cancel()
        logger.info("%s", self.summary(), extra={"spider": self._crawler.spider})
        for complaint in self.complaints() if complains else ():
            say(self._crawler, logging.WARNING, complaint)

    def checked(self, verdict: Verdict, outcome: Outcome, *, size: int = 0, is_start: bool = False) -> None:
        """Count a checked page of `size` bytes, and what became of it."""
        told, is_dropped = self._told, outcome.fate is Fate.DROPPED
        self._add("checked")
        self._add(_KINDS[verdict.kind])
        if verdict.kind is not Kind.REVISIT:
            self._novelty.append(verdict.kind is Kind.NEW)
            self._stats.set_value(f"{self._prefix}novelty", round(sum(self._novelty) / len(self._novelty), 3))
        names = ("duplicate/across_sites", "replaced", "changed", "unchanged", "dropped")
        flags = (verdict.is_across_sites, verdict.replaces, verdict.changed, outcome.unchanged, is_dropped)
        for name in compress(names, flags):
            self._add(name)
        if is_dropped and size:
            self._add("bytes_saved", size)
        if is_dropped or outcome.fate is Fate.ITEMS_DROPPED:
            what = "duplicate" if verdict.is_duplicate else "unchanged" if outcome.unchanged else "partial"
            told[f"{outcome.fate} {what}"] += 1
        if is_start and outcome.fate is not Fate.MARKED:
            told["starts"] += 1
            told["lost starts"] += outcome.refused and verdict.is_duplicate
        self._add_coverage(verdict)
        if verdict.is_duplicate and verdict.original is not None:
            self._add_copy(verdict)

    def skipped(self, reason: str) -> None:
        self._add(f"skipped/{reason}")

    def error(self, kind: str) -> None:
        self._add(f"error/{kind}")

    def timed(self, judged: Judged) -> None:
        """Count for how many seconds a page waited for its verdict, was read, and was asked about in the store."""
        if judged.read.unselected:
            self._add("unselected")
        self._told["timed"] += 1
        seconds = {"waiting": judged.waited, "reading": judged.reading, "store": judged.asking}
        for name, value in seconds.items():
            self._seconds[name] += value
            stat = f"{self._prefix}seconds/{name}"
            self._stats.set_value(stat, round(self._seconds[name], 3))
            self._stats.set_value(f"{stat}_mean", round(self._seconds[name] / self._told["timed"], 6))
            self._stats.max_value(f"{stat}_max", round(value, 6))

    def wall(self) -> None:
        self._add("walls/suspected")

    def progress(self) -> str | None:
        """Return how far a crawl is, and what happened in the last interval; None if that is nothing."""
        now, before = self._figures(), self._before
        self._before = now
        new = {name: value - before[name] for name, value in now.items()}
        if not (new["checked"] or new["unchecked"]):
            return None
        a_minute = 60 / self._interval
        gone = int(self._stats.get_value(f"{self._prefix}items_dropped", 0))
        items = f"{pluralize(gone, 'item')} of duplicates dropped, " if gone else ""
        return (
            f"{pluralize(int(now['checked']), self.noun)} checked (at {new['checked'] * a_minute:.0f}/min), "
            f"{now['dropped']:,.0f} dropped, {items}{now['unchecked']:,.0f} passed unchecked, duplicates at "
            f"{new['duplicates'] * a_minute:.0f}/min; {self.noun}s waited {new['waiting']:.1f} s: reading "
            f"{new['reading']:.1f} s, store {new['store']:.1f} s"
        )

    def complaints(self) -> list[str]:
        """Return a sentence for each thing that looks as if the crawl did not do what it was started for."""
        found = []
        counts, checked, starts = self._counts, self._counts["checked"], self._told["starts"]
        errors = _below(counts, "error/")
        errors.pop("error/mark", None)  # such an item was checked
        unchecked = sum(errors.values())
        unwanted = sum(counts[name] for name in ("duplicate/near", "duplicate/exact", "unchanged")) - counts["replaced"]
        if starts and starts == self._told["lost starts"] and checked == unwanted:
            found.append(
                f"nothing new was found: all start pages ({starts:,}) were duplicates, which another crawler on this "
                f"index, or an earlier crawl, has delivered."
            )
        if (unselected := counts["unselected"]) >= LEAST_UNCHECKED and 2 * unselected > checked:
            found.append(
                f"{unselected:,} of {pluralize(checked, self.noun)} have nothing that CRAWLDEDUP_CONTENT selects; the "
                f"extractor read them."
            )
        reasons = {**_below(counts, "skipped/"), **errors}
        if not checked and reasons.keys() - _NO_REASON:
            came = pluralize(sum(reasons.values()), self.noun)
            found.append(f"nothing was checked, although {came} came: {listed(reasons)}.")
        elif checked and unchecked >= LEAST_UNCHECKED and unchecked >= SHARE_UNCHECKED * (checked + unchecked):
            came = pluralize(checked + unchecked, self.noun)
            found.append(f"{unchecked:,} of {came} passed unchecked after an error: {listed(errors)}.")
        return found

    def summary(self) -> str:
        counts, told = self._counts, self._told
        near, exact = counts["duplicate/near"], counts["duplicate/exact"]
        news = [f"{counts[name]} {name}" for name in ("changed", "unchanged") if counts[name]]
        news += [f"{told['dropped unchanged']} dropped"] if told["dropped unchanged"] else []
        news += [f"items of {told['items_dropped unchanged']} dropped"] if told["items_dropped unchanged"] else []
        revisits = pluralize(counts["revisit"], "revisit") + (f" ({', '.join(news)})" if news else "")
        dropped, itemless = told["dropped duplicate"], told["items_dropped duplicate"]
        gone = [f"{dropped} dropped"] if dropped or not itemless else []
        gone += [f"items of {itemless} dropped"] if itemless else []
        lines = [
            f"crawldedup checked {pluralize(counts['checked'], self.noun)}: {counts['new']} new, {near} near and "
            f"{exact} exact duplicates ({', '.join(gone)}), {revisits}, {counts['thin']} thin"
        ]
        if replaced := counts["replaced"]:
            lines.append(f"  {pluralize(replaced, 'duplicate')} replaced a worse copy")
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
        if known := counts["paragraphs/words/known"]:
            share = known / (known + counts["paragraphs/words/new"])
            pages, partial = (pluralize(counts[f"paragraphs/{name}"], "page") for name in ("pages", "partial"))
            refused = told["dropped partial"] + told["items_dropped partial"]
            lines.append(f"  {share:.0%} of the words of {pages} were known; {partial} had too few new ones")
            lines[-1] += f" ({refused} refused)" * bool(refused)
        for group, text in (("skipped/", "not checked"), ("error/", "passed unchecked after an error")):
            if found := _below(counts, group):
                lines.append(f"  {sum(found.values())} {text}: {listed(found)}")
        for url, copies in sorted(self._copies.items(), key=lambda item: -item[1]):
            if copies > 1:
                lines.append(f"  {copies} copies of {printable(url)}")
        return "\n".join(lines)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            if (line := self.progress()) is not None:
                say(self._crawler, logging.INFO, line)

    def _figures(self) -> dict[str, float]:
        counts = self._counts
        return {
            "checked": counts["checked"],
            "dropped": counts["dropped"],
            "duplicates": counts["duplicate/near"] + counts["duplicate/exact"],
            "unchecked": sum(_below(counts, "error/").values()),
            **self._seconds,
        }

    def _add(self, name: str, count: int = 1) -> None:
        self._counts[name] += count
        self._stats.inc_value(self._prefix + name, count)

    def _add_copy(self, verdict: Verdict) -> None:
        original = verdict.original or ""
        if verdict.replaces:
            self._copies.pop(original, None)
            original = verdict.url
        self._stats.max_value(f"{self._prefix}largest_cluster", verdict.copies)
        self._copies[original] = verdict.copies
        if len(self._copies) > _SHOWN_ORIGINALS:
            # An original's copies only grow, so the few largest can be kept without the rest.
            del self._copies[min(self._copies, key=self._copies.__getitem__)]

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


def start_line(options: CrawlOptions, known: int | None, noun: str = "page") -> str:
    """Return the options of a crawl in one line, without the password of its store."""
    is_item = noun == "item"
    parts = [
        f"store {printable(place_of(options.store))}",
        f"namespace {options.namespace!r}",
        f"{'an unknown number of ' + noun + 's' if known is None else pluralize(known, noun)} known",
        f"action {options.item_action if is_item else options.action}",
        f"similarity {options.similarity}",
        *([] if is_item else [f"extractor {options.extractor}{' of selected content' * bool(options.content)}"]),
        *([] if is_item else [pluralize(options.workers, "worker")]),
    ]
    return f"checks {noun}s: {', '.join(parts)}"


def place_of(store: str) -> str:
    """Return where a store is, without its password: the absolute path of a file, or the server."""
    if not is_persistent(store):
        return "memory, which ends with the crawl"
    if store.partition("://")[0].lower() == "sqlite":
        return str(Path(path_of(store)).absolute())
    return shown_url(store)


def listed(counts: Mapping[str, int]) -> str:
    """Return reasons with their counts, by name: "status 2, unavailable 1"."""
    return ", ".join(f"{name.partition('/')[2]} {counts[name]}" for name in sorted(counts))


def _below(counts: Mapping[str, int], group: str) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name.startswith(group) and count}
