"""Count a crawl's pages in Scrapy's stats, explain failures once, and log a summary.

Every response counts exactly once: as checked, as skipped or as an error.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from typing import Final

from scrapy.crawler import Crawler

from crawldedup.aio import Judged
from crawldedup.crawling.options import CrawlOptions
from crawldedup.crawling.outcomes import Fate, Outcome
from crawldedup.errors import CrawlDedupError, PageError, StoreError, UnexpectedReadError
from crawldedup.passwords import shown_url
from crawldedup.scrapy_plugin.settings import CLOSE_REASON, end_unstarted, is_interactive
from crawldedup.scrapy_plugin.signals import logger, say
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Kind, Verdict, mark_of_sibling

NOVELTY_PAGES: Final = 200  # The number of last pages that show how much new content there is.
# If this many pages, and this share of those to check, pass unchecked, the log complains.
LEAST_UNCHECKED: Final = 10
SHARE_UNCHECKED: Final = 0.05
# The time in seconds before the log says again that the store is down.
SILENT_SECONDS: Final = 60.0

_DUPLICATES: Final = {
    Kind.NEAR_DUPLICATE: "duplicate/near",
    Kind.EXACT_DUPLICATE: "duplicate/exact",
}


class CrawlStats:
    """Counts the pages or items of a crawl in Scrapy's stats, and explains failures in the log.

    ``checked``, all ``skipped/<reason>`` and all ``error/<kind>`` add up to the responses that came
    in. Each kind of failure is explained once, and the crawl continues, because a crawl without its
    index for a while is better than none. A fatal error ends it, because nothing would be checked.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions, noun: str = "page") -> None:
        assert crawler.stats is not None  # a crawler has stats before any component is built
        self._crawler = crawler
        self._options = options
        self._noun = noun
        self._stats = crawler.stats
        self._prefix = "crawldedup/" if noun == "page" else f"crawldedup/{noun}/"
        self._counts: Counter[str] = Counter()
        self._fates: Counter[str] = Counter()  # only for the summary
        self._novelty: deque[bool] = deque(maxlen=NOVELTY_PAGES)
        self._explained: set[str] = set()
        self._outage_was_said = False
        self._closing: object = None  # Keeps the closing task alive: the event loop doesn't.
        self._silent_until = float("-inf")

    def begin(self, known: int | None) -> None:
        """Log the options of a crawl and the size of its index, without the store's password."""
        options = self._options
        is_page = self._noun == "page"
        number = f"an unknown number of {self._noun}s"
        if known is not None:
            number = pluralize(known, self._noun)
        parts = [
            f"store {printable(shown_url(options.store))}",
            f"namespace {options.namespace!r}",
            f"{number} known",
            f"action {options.action if is_page else options.item_action}",
            f"similarity {options.similarity}",
        ]
        if is_page:
            selected = " of selected content" if options.content else ""
            parts += (
                [f"{pluralize(options.reloads, 'page')} of each host loaded twice"]
                if options.reloads
                else []
            )
            parts += [
                f"extractor {options.extractor}{selected}",
                pluralize(options.workers, "worker"),
            ]
        say(self._crawler, logging.INFO, f"checks {self._noun}s: {', '.join(parts)}")

    def ends_at_start(self, error: Exception) -> bool:
        """Log why the store can't be opened, and return whether the crawl has to end."""
        if (reason := self._reason_to_end(error)) is not None:
            end_unstarted(self._crawler, reason)
        return reason is not None

    def end(self) -> None:
        """Log the summary, and a warning for everything that looks wrong with the crawl."""
        logger.info("%s", self.summary(), extra={"spider": self._crawler.spider})
        for complaint in self.complaints():
            say(self._crawler, logging.WARNING, complaint)

    def checked(
        self, judged: Judged, outcome: Outcome, *, size: int = 0, is_start: bool = False
    ) -> None:
        """Count a checked page, with its size in bytes, its outcome, and the time it took."""
        self._end_outage()
        self._count_verdict(judged, outcome, size)
        self._count_news(judged.verdict)
        self._count_fate(judged.verdict, outcome, is_start=is_start)
        self._count_words(judged.verdict)
        self._count_seconds(judged)

    def _end_outage(self) -> None:
        if self._outage_was_said:
            message = f"the store answers again, so {self._noun}s are checked"
            say(self._crawler, logging.WARNING, message)
            self._outage_was_said = False

    def _count_verdict(self, judged: Judged, outcome: Outcome, size: int) -> None:
        """Count the kind of a verdict, and everything else that is remarkable about it."""
        verdict = judged.verdict
        is_dropped = outcome.fate is Fate.DROPPED
        flags = {
            "duplicate/across_sites": verdict.is_across_sites,
            "replaced": verdict.replaces,
            "changed": verdict.changed,
            "unchanged": outcome.unchanged,
            "dropped": is_dropped,
            "unselected": judged.read.unselected,
            "volatile": bool(judged.read.left_out),
        }
        kind = _DUPLICATES.get(verdict.kind, str(verdict.kind))
        for name in ("checked", kind, *(name for name, is_set in flags.items() if is_set)):
            self.count(name)
        if mark := mark_of_sibling(verdict):
            self.count(f"siblings/{mark}")
        if is_dropped and size:
            self.count("bytes_saved", size)
        if verdict.is_duplicate:
            self._stats.max_value(f"{self._prefix}largest_cluster", verdict.copies)

    def _count_news(self, verdict: Verdict) -> None:
        """Note whether a page was new, to show how much new content the crawl still finds.

        Revisits don't count.
        """
        if verdict.kind is not Kind.REVISIT:
            self._novelty.append(verdict.kind is Kind.NEW)
            self._stats.set_value(
                f"{self._prefix}novelty", round(sum(self._novelty) / len(self._novelty), 3)
            )

    def _count_fate(self, verdict: Verdict, outcome: Outcome, *, is_start: bool) -> None:
        """Note what happened to a page, for the summary and the complaints."""
        if outcome.fate in (Fate.DROPPED, Fate.ITEMS_DROPPED):
            what = "unchanged" if outcome.unchanged else "partial"
            if verdict.is_duplicate:
                what = "duplicate"
            self._fates[f"{outcome.fate} {what}"] += 1
        if is_start and outcome.fate is not Fate.MARKED:
            self._fates["starts"] += 1
            self._fates["lost starts"] += outcome.refused and verdict.is_duplicate

    def _count_words(self, verdict: Verdict) -> None:
        """Count how many words of a page are new and known, if its paragraphs are compared."""
        if self._options.paragraphs is None or self._noun != "page":
            return
        if verdict.kind not in (Kind.NEW, Kind.REVISIT):
            return
        coverage = verdict.coverage
        if coverage is None:
            self.count("paragraphs/failed")
            return
        self.count("paragraphs/pages")
        self.count("paragraphs/partial", coverage.is_partial)
        self.count("paragraphs/words/new", coverage.new_words)
        self.count("paragraphs/words/known", coverage.known_words)
        self.count("paragraphs/words/boilerplate", coverage.boilerplate_words)

    def _count_seconds(self, judged: Judged) -> None:
        for name, seconds in (
            ("waiting", judged.timings.waiting),
            ("reading", judged.timings.reading),
            ("store", judged.timings.asking),
        ):
            stat = f"{self._prefix}seconds/{name}"
            self._stats.set_value(stat, round(self._stats.get_value(stat, 0.0) + seconds, 6))
            self._stats.max_value(f"{stat}_max", round(seconds, 6))

    def failed(self, name: str, error: Exception) -> tuple[str, str]:
        """Count a page that passes unchecked because of an error, and explain the error once.

        If the error has to end the crawl, the spider is closed. Return "skipped" and the reason, or
        "error" and the kind.
        """
        if isinstance(error, PageError):
            message = f"cannot read {name}: {error}"
            # An extractor with a bug fails for every page, so no page would be checked.
            if error.reason == "broken":
                self.explain("broken", f"{message}; {self._noun}s like this pass", logging.WARNING)
            say(self._crawler, logging.DEBUG, message)
            counter = "skipped", error.reason
        else:
            counter = "error", error.counter if isinstance(error, CrawlDedupError) else "internal"
            reason = self._reason_to_end(error)
            if reason is not None and self._closing is None:
                say(self._crawler, logging.ERROR, reason)
                assert self._crawler.engine is not None
                # In the background, because closing waits for this page. An interactive command
                # continues.
                self._closing = is_interactive(self._crawler) or asyncio.ensure_future(
                    self._crawler.engine.close_spider_async(reason=CLOSE_REASON)
                )
        self.count("/".join(counter))
        return counter

    def count(self, name: str, number: int = 1) -> None:
        """Increase a counter, such as `skipped/<reason>`, `error/<kind>` or `walls/suspected`."""
        self._counts[name] += number
        self._stats.inc_value(self._prefix + name, number)

    def explain(
        self, kind: str, message: str, level: int = logging.ERROR, error: Exception | None = None
    ) -> None:
        """Log a failure if it is the first of its kind."""
        if kind not in self._explained:
            self._explained.add(kind)
            say(
                self._crawler,
                level,
                f"{message} (logged only once; the stats count the rest)",
                error,
            )

    def _reason_to_end(self, error: Exception) -> str | None:
        """Explain a failure once. Return why it has to end the crawl, or None if it doesn't."""
        if isinstance(error, CrawlDedupError) and error.is_fatal:
            return str(error)
        # A message about closing the spider says so, and no page passes.
        ends = self._options.on_error == "fail"
        sentence = f"{str(error).rstrip('.!? ')}."
        if isinstance(error, StoreError):
            # A full store still answers for pages that it knows, so it would seem to go down and
            # come back with every page.
            if not (ends or self._outage_was_said) and time.monotonic() >= self._silent_until:
                self._outage_was_said = True
                self._silent_until = time.monotonic() + SILENT_SECONDS
                message = f"{sentence} {self._noun.title()}s pass unchecked until the store answers"
                say(self._crawler, logging.WARNING, message)
        elif isinstance(error, CrawlDedupError) and not isinstance(error, UnexpectedReadError):
            self.explain(str(error), f"{sentence} The {self._noun} passes")
        else:
            kind = error.kind if isinstance(error, UnexpectedReadError) else type(error).__name__
            self.explain(kind, f"unexpected error, the {self._noun} passes: {kind}", error=error)
        return f"{sentence} CRAWLDEDUP_ON_ERROR is 'fail'." if ends else None

    def complaints(self) -> list[str]:
        """Return a sentence for everything that went wrong and cost the crawl pages or verdicts."""
        complaints = []
        counts = self._counts
        starts = self._fates["starts"]
        unwanted = (
            sum(counts[name] for name in ("duplicate/near", "duplicate/exact", "unchanged"))
            - counts["replaced"]
        )
        if starts and starts == self._fates["lost starts"] and counts["checked"] == unwanted:
            of_whom = "another crawler on this index, or an earlier crawl, has delivered"
            complaints.append(
                f"nothing new was found: all start pages ({starts:,}) were duplicates, which "
                f"{of_whom}."
            )
        if (missed := counts["unselected"]) >= LEAST_UNCHECKED and 2 * missed > counts["checked"]:
            complaints.append(
                f"{missed:,} pages have nothing that CRAWLDEDUP_CONTENT selects: is a selector "
                "misspelled?"
            )
        errors = self._counts_of("error")
        errors.pop("mark", None)  # these items were checked, but couldn't be marked
        unchecked = sum(errors.values())
        came = counts["checked"] + unchecked
        if unchecked >= LEAST_UNCHECKED and unchecked >= SHARE_UNCHECKED * came:
            of_all = f"{unchecked:,} of {pluralize(came, self._noun)}"
            complaints.append(f"{of_all} passed unchecked after an error: {_listed(errors)}.")
        return complaints

    def summary(self) -> str:
        """Return a few lines for the log about what happened to the pages of the crawl."""
        counts = self._counts
        news = [
            f"{counts[of]} {of}" for of in ("changed", "unchanged") if counts[of]
        ] + self._dropped("unchanged")
        revisits = pluralize(counts["revisit"], "revisit")
        of_known = f"; of known ones {', '.join(news)}" if news else ""
        lines = [
            f"crawldedup checked {pluralize(counts['checked'], self._noun)}: {counts['new']} new, "
            f"{counts['duplicate/near']} near and {counts['duplicate/exact']} exact duplicates "
            f"({', '.join(self._dropped('duplicate')) or '0 dropped'}), {revisits}, "
            f"{counts['thin']} thin{of_known}"
        ]
        if replaced := counts["replaced"]:
            better = "better copy" if replaced == 1 else "better copies"
            lines.append(f"  {replaced:,} {better} delivered as well (CRAWLDEDUP_PREFER)")
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
        if siblings := self._counts_of("siblings"):
            number = pluralize(sum(siblings.values()), f"new {self._noun}")
            lines.append(f"  {number} kept apart from a sibling: {_listed(siblings)}")
        if known := counts["paragraphs/words/known"]:
            share = known / (known + counts["paragraphs/words/new"])
            pages, partial = (
                pluralize(counts[f"paragraphs/{name}"], "page") for name in ("pages", "partial")
            )
            refused = self._fates["dropped partial"] + self._fates["items_dropped partial"]
            end = f" ({refused} refused)" if refused else ""
            lines.append(
                f"  {share:.0%} of the words of {pages} were known; {partial} had too few new "
                f"ones{end}"
            )
        for group, text in (
            ("skipped", "not checked"),
            ("error", "passed unchecked after an error"),
        ):
            if reasons := self._counts_of(group):
                lines.append(f"  {sum(reasons.values())} {text}: {_listed(reasons)}")
        return "\n".join([*lines, *self._not_set_aside(), *self._skipped_requests()])

    def _not_set_aside(self) -> list[str]:
        """Return a line about items that were delivered because they couldn't be set aside."""
        failed = self._stats.get_value("crawldedup/set_aside/failed", 0)
        if not failed:
            return []
        return [
            f"  {pluralize(failed, 'item')} could not be set aside, so delivered after all "
            "(CRAWLDEDUP_SET_ASIDE)"
        ]

    def _skipped_requests(self) -> list[str]:
        """Return lines about how many requests were skipped, and why."""
        reasons = {
            "rules": "CRAWLDEDUP_RULES predicts copies",
            "budget": "the last pages of their patterns brought nothing new (CRAWLDEDUP_BUDGET)",
        }
        lines = []
        for name, reason in reasons.items():
            skipped = self._stats.get_value(f"crawldedup/{name}/skipped", 0)
            if skipped and self._noun == "page":
                lines.append(f"  {pluralize(skipped, 'request')} not sent because {reason}")
        return lines

    def _dropped(self, what: str) -> list[str]:
        dropped = self._fates[f"dropped {what}"]
        itemless = self._fates[f"items_dropped {what}"]
        return [
            *([f"{dropped} dropped"] if dropped else []),
            *([f"items of {itemless} dropped"] if itemless else []),
        ]

    def _counts_of(self, group: str) -> dict[str, int]:
        counts = sorted(self._counts.items())
        return {
            name.removeprefix(f"{group}/"): count
            for name, count in counts
            if name.startswith(f"{group}/")
        }


_IN_WORDS: Final = {"no_callback": "no_callback (robots.txt, media and the like)"}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{_IN_WORDS.get(reason, reason)} {count}" for reason, count in counts.items())
