"""Write the journal of a crawl, the file from which its report is made.

It has a line for each response and each wall, one for the start of the crawl, and one for its end.
"""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import time
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
from crawldedup.crawling.options import CrawlOptions
from crawldedup.crawling.outcomes import Outcome
from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.journal import FileJournal, shown
from crawldedup.passwords import shown_url
from crawldedup.scrapy_plugin.siblings import SiblingReasons
from crawldedup.scrapy_plugin.signals import say
from crawldedup.search.decision import accept_threshold
from crawldedup.text import printable

# The number of crawls whose journals stay in a directory, including the current one.
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
    "hamming",
    "copies",
    "words",
    "changed",
    "replaces",
    "by_view",
    "abandoned",
    "difference",
    "probes",
    "candidates",
    "rejected_similarity",
    "rejected_by",
)
_MOST: Final = 1 << 31


class CrawlJournal:
    """Writes the journal of a crawl: a file of JSON lines with the verdict on each response.

    If writing fails, lines of the journal are lost, but never a page.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions) -> None:
        self._crawler = crawler
        self._options = options
        self._file: FileJournal | None = None
        self._job: Path | None = None
        self._has_complained = False
        self._began = 0.0
        self._place = self._crawl = ""
        self._siblings = SiblingReasons()

    def begin(self, known: int | None, index: str | None) -> None:
        """Write the first line, which describes the crawl.

        Args:
            known: The number of pages in the index.
            index: A name for this very index, which changes when it's emptied or replaced.
        """
        if self._options.journal is False:
            return
        try:
            self._place = data_path(str(self._options.journal))
        except OSError as error:
            self._complain("the journal", error)
            return
        assert self._crawler.spider is not None
        spider = self._crawler.spider.name
        started = time.time()
        self._began = time.monotonic()
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
            "index": index,
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
        """Write down the verdict on a page and what happened to it.

        `known` is the number of pages in the index.
        """
        if self._file is None:
            return
        verdict = judged.verdict
        coverage = judged.verdict.coverage
        figures = {
            "original": shown(verdict.original or ""),
            "similarity": round(verdict.similarity or 0.0, 4),
            "rejected_url": shown(verdict.rejected or ""),
            "apart": self._siblings.add(judged),
            "action": str(outcome.fate),
            "unchanged": outcome.unchanged,
            "changed_by": ", ".join(verdict.changed_by),
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
        """Write down that a response was skipped or caused an error, and why."""
        self._write_page(request, response, outcome, {"reason": reason})

    async def end(self, reason: str, known: int, index_bytes: int | None) -> None:
        """Write the last line, with the stats of the crawl, and close the journal.

        Then write a report if one was requested.
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
        """Write a record as a line, if the crawl has begun.

        Empty fields (None, False, 0, "") are left out.
        """
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
        """Write a line about a response, with what is known about its request."""
        referer = (request.headers.get(b"Referer") or b"").decode("utf-8", "replace")
        depth = request.meta.get("depth")
        latency = request.meta.get("download_latency")
        asked = next(iter(request.meta.get("redirect_urls", ())), "")
        record = {
            "url": shown(response.url),
            "asked": shown(asked),
            "method": "" if request.method == "GET" else shown(request.method),
            "outcome": outcome,
            **figures,
            "bytes": len(response.body),
            "status": response.status,
            "referer": shown(referer),
            # Spiders may put anything into the meta.
            "depth": depth if isinstance(depth, int) and 0 < depth < _MOST else None,
            "latency": round(latency, 3)
            if isinstance(latency, float) and 0 < latency < _MOST
            else None,
        }
        self.put(record)

    def _complain(self, what: str, trouble: object) -> None:
        say(
            self._crawler,
            logging.WARNING,
            (f"cannot write {what}, but the crawl continues: {trouble}"),
        )

    async def _write_report(self, path: str) -> None:
        """Write the report of the crawl in a separate process, so its memory is freed.

        Errors are logged.
        """
        program = [sys.executable, "-m", "crawldedup.cli", "report", self._place]
        command = [*program, "--crawl", self._crawl, "--output", path]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        if done.returncode:
            trouble = printable(done.stderr.strip().rpartition("\n")[2], 500)
            say(self._crawler, logging.WARNING, f"the report was not written: {trouble}")
        else:
            say(self._crawler, logging.INFO, f"the report is in {Path(path).absolute()}")
