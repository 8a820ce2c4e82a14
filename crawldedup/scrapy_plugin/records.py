"""What is told of a crawl: stats and the log, in which every response counts once, and the journal.

In stats it is checked, skipped or an error. The journal has a line for each response and wall, and
for the crawl's begin and end; of it the report is made.
"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.job import job_dir
from scrapy.utils.project import data_path

from crawldedup import __version__, journal
from crawldedup.aio import Judged
from crawldedup.errors import CrawlDedupError, PageError, StoreError, UnexpectedReadError
from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.journal import FileJournal, shown
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import (
    CLOSE_REASON,
    CrawlOptions,
    end_unstarted,
    is_interactive,
)
from crawldedup.scrapy_plugin.signals import logger, say
from crawldedup.search.decision import accept_threshold
from crawldedup.stores.registry import shown_url
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Kind

NOVELTY_PAGES: Final = 200  # So many of the last pages tell how much new a crawl still finds.
# So many pages, and this share of those to check, are too many to pass unchecked.
LEAST_UNCHECKED: Final = 10
SHARE_UNCHECKED: Final = 0.05
# After the log said that the store is down, it says so again no sooner.
SILENT_SECONDS: Final = 60.0

_DUPLICATES: Final = {
    Kind.NEAR_DUPLICATE: "duplicate/near",
    Kind.EXACT_DUPLICATE: "duplicate/exact",
}

# So many crawls keep their journals in a directory, the present one included.
KEPT_CRAWLS: Final = 20

_SHOWN_STATS: Final = (
    "crawldedup/",
    "downloader/",
    "item_",
    "response_received_count",
    "memusage/",
    "log_count/",
)
_SHOWN_OPTIONS: Final = (
    "namespace",
    "action",
    "similarity",
    "recall",
    "extractor",
    "workers",
    "revisit",
    "scope",
)
_SHOWN_OF_VERDICT: Final = (
    *("hamming", "copies", "words", "changed", "replaces"),
    *("abandoned", "difference", "probes", "candidates", "rejected_similarity", "rejected_by"),
)
_MOST: Final = 1 << 31


class CrawlStats:
    """Counts pages, or items, into Scrapy's stats, and keeps its own counts for the log.

    ``checked``, all ``skipped/<reason>`` and all ``error/<kind>`` together are the responses that
    came by. A crawl without its index for a while is worth more than one that stops: each kind of
    failure is explained once. But after a fatal error nothing would be checked.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions, noun: str = "page") -> None:
        assert crawler.stats is not None  # crawlers have theirs before any component is built
        self._crawler = crawler
        self._options = options
        self._noun = noun
        self._stats = crawler.stats
        self._prefix = "crawldedup/" if noun == "page" else f"crawldedup/{noun}/"
        self._counts: Counter[str] = Counter()
        self._fates: Counter[str] = Counter()  # for the summary alone
        self._novelty: deque[bool] = deque(maxlen=NOVELTY_PAGES)
        self._explained: set[str] = set()
        self._outage_was_said = False
        self._closing: object = None  # The event loop alone would let go of what closes the spider.
        self._silent_until = float("-inf")

    def begin(self, known: int | None) -> None:
        """Log the options of a crawl, without the password of its store, and how much the index
        knows.
        """
        options, is_page = self._options, self._noun == "page"
        parts = [
            f"store {printable(shown_url(options.store))}",
            f"namespace {options.namespace!r}",
            f"{f'an unknown number of {self._noun}s' if known is None else pluralize(known, self._noun)} known",
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
        """Explain why the store cannot be opened.

        Return True if the crawl must not go on: it ends.
        """
        if (reason := self._reason_to_end(error)) is not None:
            end_unstarted(self._crawler, reason)
        return reason is not None

    def end(self) -> None:
        """Log the summary, and a warning for each thing that looks wrong with the crawl."""
        logger.info("%s", self.summary(), extra={"spider": self._crawler.spider})
        for complaint in self.complaints():
            say(self._crawler, logging.WARNING, complaint)

    def checked(
        self, judged: Judged, outcome: Outcome, *, size: int = 0, is_start: bool = False
    ) -> None:
        """Count a checked page of `size` bytes, what became of it, and its seconds."""
        if self._outage_was_said:
            say(
                self._crawler,
                logging.WARNING,
                f"the store answers again, {self._noun}s are checked",
            )
            self._outage_was_said = False
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
        if is_dropped and size:
            self.count("bytes_saved", size)
        if verdict.kind is not Kind.REVISIT:
            self._novelty.append(verdict.kind is Kind.NEW)
            self._stats.set_value(
                f"{self._prefix}novelty", round(sum(self._novelty) / len(self._novelty), 3)
            )
        if is_dropped or outcome.fate is Fate.ITEMS_DROPPED:
            what = (
                "duplicate"
                if verdict.is_duplicate
                else "unchanged"
                if outcome.unchanged
                else "partial"
            )
            self._fates[f"{outcome.fate} {what}"] += 1
        if is_start and outcome.fate is not Fate.MARKED:
            self._fates["starts"] += 1
            self._fates["lost starts"] += outcome.refused and verdict.is_duplicate
        if (
            self._options.paragraphs is not None
            and self._noun == "page"
            and verdict.kind in (Kind.NEW, Kind.REVISIT)
        ):
            if (coverage := verdict.coverage) is None:
                self.count("paragraphs/failed")
            else:
                self.count("paragraphs/pages")
                self.count("paragraphs/partial", coverage.is_partial)
                for part in ("new", "known", "boilerplate"):
                    self.count(f"paragraphs/words/{part}", getattr(coverage, f"{part}_words"))
        if verdict.is_duplicate:
            self._stats.max_value(f"{self._prefix}largest_cluster", verdict.copies)
        for name, seconds in (
            ("waiting", judged.timings.waiting),
            ("reading", judged.timings.reading),
            ("store", judged.timings.asking),
        ):
            stat = f"{self._prefix}seconds/{name}"
            self._stats.set_value(stat, round(self._stats.get_value(stat, 0.0) + seconds, 6))
            self._stats.max_value(f"{stat}_max", round(seconds, 6))

    def failed(self, name: str, error: Exception) -> tuple[str, str]:
        """Count and explain a page that passes unchecked; return "skipped" or "error", and the
        reason or kind.
        """
        if isinstance(error, PageError):
            message = f"cannot read {name}: {error}"
            # An extractor with a mistake in it fails for every page, and then no page is checked.
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
                # In the background: to wait would be to wait for a page. A person who looks at
                # pages goes on.
                self._closing = is_interactive(self._crawler) or asyncio.ensure_future(
                    self._crawler.engine.close_spider_async(reason=CLOSE_REASON)
                )
        self.count("/".join(counter))
        return counter

    def count(self, name: str, number: int = 1) -> None:
        """Count under a name, such as `skipped/<reason>`, `error/<kind>` or `walls/suspected`."""
        self._counts[name] += number
        self._stats.inc_value(self._prefix + name, number)

    def explain(
        self, kind: str, message: str, level: int = logging.ERROR, error: Exception | None = None
    ) -> None:
        """Log the first failure of a kind."""
        if kind not in self._explained:
            self._explained.add(kind)
            say(self._crawler, level, f"{message} (further ones are only counted)", error)

    def _reason_to_end(self, error: Exception) -> str | None:
        """Explain a failure once, and return why the crawl must end, if it must."""
        if isinstance(error, CrawlDedupError) and error.is_fatal:
            return str(error)
        # Where it closes the spider, that is said, and nothing passes.
        ends = self._options.on_error == "fail"
        sentence = f"{str(error).rstrip('.!? ')}."
        if isinstance(error, StoreError):
            # A full store still answers for what it knows: page by page it would be down and up
            # again.
            if not (ends or self._outage_was_said) and time.monotonic() >= self._silent_until:
                self._outage_was_said, self._silent_until = True, time.monotonic() + SILENT_SECONDS
                message = f"{sentence} {self._noun.title()}s pass unchecked until the store answers"
                say(self._crawler, logging.WARNING, message)
        elif isinstance(error, CrawlDedupError) and not isinstance(error, UnexpectedReadError):
            self.explain(str(error), f"{sentence} The {self._noun} passes")
        else:
            kind = error.kind if isinstance(error, UnexpectedReadError) else type(error).__name__
            self.explain(kind, f"unexpected error, the {self._noun} passes: {kind}", error=error)
        return f"{sentence} CRAWLDEDUP_ON_ERROR is 'fail'." if ends else None

    def complaints(self) -> list[str]:
        """Return a sentence for each thing that has cost the crawl pages, or its decisions."""
        complaints = []
        counts, starts = self._counts, self._fates["starts"]
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
                "misspelt?"
            )
        errors = self._counts_of("error")
        errors.pop("mark", None)  # such an item was checked
        unchecked = sum(errors.values())
        came = counts["checked"] + unchecked
        if unchecked >= LEAST_UNCHECKED and unchecked >= SHARE_UNCHECKED * came:
            of_all = f"{unchecked:,} of {pluralize(came, self._noun)}"
            complaints.append(f"{of_all} passed unchecked after an error: {_listed(errors)}.")
        return complaints

    def summary(self) -> str:
        """Return what became of the pages, in some lines."""
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
            lines.append(f"  {pluralize(replaced, 'duplicate')} replaced a worse copy")
        if across := counts["duplicate/across_sites"]:
            lines.append(f"  {pluralize(across, 'duplicate')} of pages on other sites")
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
        return "\n".join(lines)

    def _dropped(self, what: str) -> list[str]:
        dropped, itemless = self._fates[f"dropped {what}"], self._fates[f"items_dropped {what}"]
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


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in counts.items())


class CrawlJournal:
    """Writes what a crawl gets, once it has begun. Whatever goes wrong costs lines, and no page."""

    def __init__(self, crawler: Crawler, options: CrawlOptions) -> None:
        self._crawler = crawler
        self._options = options
        self._file: FileJournal | None = None
        self._job: Path | None = None
        self._has_complained = False
        self._began = 0.0
        self._place = self._crawl = ""

    def begin(self, known: int | None) -> None:
        """Write the header. `known` are the pages in the index."""
        if self._options.journal is False:
            return
        try:
            self._place = data_path(str(self._options.journal))
        except OSError as error:
            self._complain("the journal", error)
            return
        assert self._crawler.spider is not None
        spider, started, self._began = self._crawler.spider.name, time.time(), time.monotonic()
        self._job = Path(directory) if (directory := job_dir(self._crawler.settings)) else None
        self._crawl = self._options.crawl or journal.name_of_job(
            self._job, journal.crawl_of(spider, started)
        )
        header = {
            journal.FORMAT: journal.VERSION,
            "crawl": self._crawl,
            "spider": spider,
            "started": round(started, 3),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "version": __version__,
            "known": known,
            "settings": {
                "store": shown_url(self._options.store),
                "threshold": round(
                    accept_threshold(self._options.similarity, VERIFY_BITS, self._options.recall), 4
                ),
                **{name: getattr(self._options, name) for name in _SHOWN_OPTIONS},
            },
        }
        self._file = FileJournal(Path(self._place), header, keep=KEPT_CRAWLS)

    def checked(
        self, request: Request, response: Response, judged: Judged, outcome: Outcome, known: int
    ) -> None:
        """Write what a page is, and what became of it. `known` are the pages in the index."""
        verdict, coverage = judged.verdict, judged.verdict.coverage
        figures = {
            "original": shown(verdict.original or ""),
            "similarity": round(verdict.similarity or 0.0, 4),
            "rejected_url": shown(verdict.rejected or ""),
            "action": str(outcome.fate),
            "unchanged": outcome.unchanged,
            **{name: getattr(verdict, name) for name in _SHOWN_OF_VERDICT},
            "digest": f"{judged.read.fingerprint.digest:016x}",
            "waited": round(judged.timings.waiting, 4),
            "read": round(judged.timings.reading, 4),
            "store": round(judged.timings.asking, 5),
            "known": known,
        }
        if coverage is not None and coverage.share_new is not None and coverage.sources:
            figures["share_known"] = round(1 - coverage.share_new, 4)
            figures["source"] = shown(coverage.sources[0][0])
        self._write_page(request, response, journal.OUTCOMES[verdict.kind], figures)

    def unchecked(self, request: Request, response: Response, outcome: str, reason: str) -> None:
        """Write that a response was skipped, or met an error, and why."""
        self._write_page(request, response, outcome, {"reason": reason})

    async def end(self, reason: str, known: int, index_bytes: int | None) -> None:
        """Write the last line, with the crawl's stats, close the journal, and write the report that
        was asked for.
        """
        if self._file is None:
            return
        assert self._crawler.stats is not None
        stats = {
            name: value
            for name, value in self._crawler.stats.get_stats().items()
            if name.startswith(_SHOWN_STATS)
            and isinstance(value, int | float)
            and abs(value) < _MOST**2
        }
        self.put({"end": reason, "stats": stats, "known": known, "index_bytes": index_bytes})
        await asyncio.to_thread(self._file.close)
        self._file = None
        if self._job is not None and reason == "finished":
            (self._job / journal.NAME_FILE).unlink(missing_ok=True)
        if self._options.report is not None:
            await self._write_report(self._options.report)

    def put(self, record: Mapping[str, Any]) -> None:
        """Write a record, without what is None, False or zero in it, once the crawl has begun."""
        if self._file is not None:
            fields = {name: value for name, value in record.items() if value}
            self._file.write(
                journal.line_of({"t": round(time.monotonic() - self._began, 3), **fields})
            )
            if self._file.trouble is not None and not self._has_complained:
                self._has_complained = True
                self._complain(f"the journal in {self._place}", self._file.trouble)

    def _write_page(
        self, request: Request, response: Response, outcome: str, figures: Mapping[str, Any]
    ) -> None:
        referer = (request.headers.get(b"Referer") or b"").decode("utf-8", "replace")
        depth, latency = request.meta.get("depth"), request.meta.get("download_latency")
        record = {
            "url": shown(response.url),
            "outcome": outcome,
            **figures,
            "bytes": len(response.body),
            "status": response.status,
            "referer": shown(referer),
            # Spiders may put anything there.
            "depth": depth if isinstance(depth, int) and 0 < depth < _MOST else None,
            "latency": round(latency, 3)
            if isinstance(latency, float) and 0 < latency < _MOST
            else None,
        }
        self.put(record)

    def _complain(self, what: str, trouble: object) -> None:
        say(
            self._crawler, logging.WARNING, f"cannot write {what}, and the crawl goes on: {trouble}"
        )

    async def _write_report(self, path: str) -> None:
        """Write the report of the crawl, in a process whose memory ends with it.

        Logs what goes wrong.
        """
        program = [sys.executable, "-m", "crawldedup.cli", "report", self._place]
        command = [*program, "--crawl", self._crawl, "--output", path]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        if done.returncode:
            trouble = printable(done.stderr.strip().rpartition("\n")[2], 500)
            say(self._crawler, logging.WARNING, f"the report was not written: {trouble}")
        else:
            say(self._crawler, logging.INFO, f"the report is in {Path(path).absolute()}")
