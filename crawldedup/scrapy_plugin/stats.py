"""Counting: every response once, as checked, skipped or error; times; and what the log says of them."""

import logging
from collections import Counter, deque
from typing import Final

from scrapy.crawler import Crawler

from crawldedup.aio import Judged
from crawldedup.printable import pluralize, printable
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.signals import logger, say
from crawldedup.stores.registry import shown_url
from crawldedup.verdict import Coverage, Kind, Verdict

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
        self._fates: Counter[str] = Counter()  # for the summary alone
        self._seconds = dict.fromkeys(("waiting", "reading", "store"), 0.0)
        self._timed = 0
        self._covers = covers
        self._novelty: deque[bool] = deque(maxlen=NOVELTY_PAGES)

    def begin(self, options: CrawlOptions, known: int | None) -> None:
        """Log the options of a crawl, and how many pages or items the index knows."""
        say(self._crawler, logging.INFO, start_line(options, known, self.noun))

    def end(self, *, complains: bool = True) -> None:
        """Log the summary, and a warning for each thing that looks wrong with the crawl."""
        logger.info("%s", self.summary(), extra={"spider": self._crawler.spider})
        for complaint in self.complaints() if complains else ():
            say(self._crawler, logging.WARNING, complaint)

    def checked(self, verdict: Verdict, outcome: Outcome, *, size: int = 0, is_start: bool = False) -> None:
        """Count a checked page of `size` bytes, and what became of it."""
        is_dropped = outcome.fate is Fate.DROPPED
        flags = {
            "duplicate/across_sites": verdict.is_across_sites,
            "replaced": verdict.replaces,
            "changed": verdict.changed,
            "unchanged": outcome.unchanged,
            "dropped": is_dropped,
        }
        for name in ("checked", _KINDS[verdict.kind], *(name for name, is_set in flags.items() if is_set)):
            self.count(name)
        if is_dropped and size:
            self.count("bytes_saved", size)
        if verdict.kind is not Kind.REVISIT:
            self._novelty.append(verdict.kind is Kind.NEW)
            self._stats.set_value(f"{self._prefix}novelty", round(sum(self._novelty) / len(self._novelty), 3))
        if is_dropped or outcome.fate is Fate.ITEMS_DROPPED:
            what = "duplicate" if verdict.is_duplicate else "unchanged" if outcome.unchanged else "partial"
            self._fates[f"{outcome.fate} {what}"] += 1
        if is_start and outcome.fate is not Fate.MARKED:
            self._fates["starts"] += 1
            self._fates["lost starts"] += outcome.refused and verdict.is_duplicate
        if self._covers and verdict.kind in (Kind.NEW, Kind.REVISIT):
            self._add_coverage(verdict.coverage)
        if verdict.is_duplicate:
            self._stats.max_value(f"{self._prefix}largest_cluster", verdict.copies)

    def count(self, name: str, number: int = 1) -> None:
        """Count under a name, such as `skipped/<reason>`, `error/<kind>` or `walls/suspected`."""
        self._counts[name] += number
        self._stats.inc_value(self._prefix + name, number)

    def timed(self, judged: Judged) -> None:
        """Count for how many seconds a page waited for its verdict, was read, and was asked about in the store."""
        if judged.read.unselected:
            self.count("unselected")
        self._timed += 1
        for name, seconds in (("waiting", judged.waited), ("reading", judged.reading), ("store", judged.asking)):
            self._seconds[name] += seconds
            stat = f"{self._prefix}seconds/{name}"
            self._stats.set_value(stat, round(self._seconds[name], 3))
            self._stats.set_value(f"{stat}_mean", round(self._seconds[name] / self._timed, 6))
            self._stats.max_value(f"{stat}_max", round(seconds, 6))

    def complaints(self) -> list[str]:
        """Return a sentence for each thing that has cost the crawl pages, or its decisions."""
        complaints = []
        counts, starts = self._counts, self._fates["starts"]
        unwanted = sum(counts[name] for name in ("duplicate/near", "duplicate/exact", "unchanged")) - counts["replaced"]
        if starts and starts == self._fates["lost starts"] and counts["checked"] == unwanted:
            complaints.append(
                f"nothing new was found: all start pages ({starts:,}) were duplicates, which another crawler on this "
                f"index, or an earlier crawl, has delivered."
            )
        errors = self._counts_of("error")
        errors.pop("mark", None)  # such an item was checked
        unchecked = sum(errors.values())
        came = counts["checked"] + unchecked
        if unchecked >= LEAST_UNCHECKED and unchecked >= SHARE_UNCHECKED * came:
            of_all = f"{unchecked:,} of {pluralize(came, self.noun)}"
            complaints.append(f"{of_all} passed unchecked after an error: {_listed(errors)}.")
        return complaints

    def summary(self) -> str:
        """Return what became of the pages, in some lines."""
        counts = self._counts
        news = [f"{counts[name]} {name}" for name in ("changed", "unchanged") if counts[name]]
        news += self._dropped("unchanged")
        revisits = pluralize(counts["revisit"], "revisit") + (f" ({', '.join(news)})" if news else "")
        lines = [
            f"crawldedup checked {pluralize(counts['checked'], self.noun)}: {counts['new']} new, "
            f"{counts['duplicate/near']} near and {counts['duplicate/exact']} exact duplicates "
            f"({', '.join(self._dropped('duplicate')) or '0 dropped'}), {revisits}, {counts['thin']} thin"
        ]
        if replaced := counts["replaced"]:
            lines.append(f"  {pluralize(replaced, 'duplicate')} replaced a worse copy")
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
        if known := counts["paragraphs/words/known"]:
            share = known / (known + counts["paragraphs/words/new"])
            pages, partial = (pluralize(counts[f"paragraphs/{name}"], "page") for name in ("pages", "partial"))
            refused = self._fates["dropped partial"] + self._fates["items_dropped partial"]
            end = f" ({refused} refused)" if refused else ""
            lines.append(f"  {share:.0%} of the words of {pages} were known; {partial} had too few new ones{end}")
        for group, text in (("skipped", "not checked"), ("error", "passed unchecked after an error")):
            if reasons := self._counts_of(group):
                lines.append(f"  {sum(reasons.values())} {text}: {_listed(reasons)}")
        return "\n".join(lines)

    def _dropped(self, what: str) -> list[str]:
        dropped, itemless = self._fates[f"dropped {what}"], self._fates[f"items_dropped {what}"]
        return [*([f"{dropped} dropped"] if dropped else []), *([f"items of {itemless} dropped"] if itemless else [])]

    def _counts_of(self, group: str) -> dict[str, int]:
        """Return the counts of a group by their reasons, sorted."""
        counts = sorted(self._counts.items())
        return {name.removeprefix(f"{group}/"): count for name, count in counts if name.startswith(f"{group}/")}

    def _add_coverage(self, coverage: Coverage | None) -> None:
        if coverage is None:
            self.count("paragraphs/failed")
            return
        self.count("paragraphs/pages")
        self.count("paragraphs/partial", coverage.is_partial)
        for kind in ("new", "known", "boilerplate"):
            self.count(f"paragraphs/words/{kind}", getattr(coverage, f"{kind}_words"))


def start_line(options: CrawlOptions, known: int | None, noun: str = "page") -> str:
    """Return the options of a crawl in one line, without the password of its store."""
    parts = [
        f"store {printable(shown_url(options.store))}",
        f"namespace {options.namespace!r}",
        f"{f'an unknown number of {noun}s' if known is None else pluralize(known, noun)} known",
        f"action {options.item_action if noun == 'item' else options.action}",
        f"similarity {options.similarity}",
    ]
    if noun == "page":
        selected = " of selected content" if options.content else ""
        parts += [f"extractor {options.extractor}{selected}", pluralize(options.workers, "worker")]
    return f"checks {noun}s: {', '.join(parts)}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())
