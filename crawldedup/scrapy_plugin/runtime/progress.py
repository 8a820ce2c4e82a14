"""What the log says of a crawl while it runs: what is compared with what at the start, and how far it is."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup.printable import pluralize, printable
from crawldedup.scrapy_plugin.settings import QUICK_EXTRACTORS
from crawldedup.scrapy_plugin.stats import Figures
from crawldedup.stores.registry import is_persistent
from crawldedup.stores.shown import shown_url
from crawldedup.stores.sqlite.database import path_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawldedup.scrapy_plugin.settings import CrawlOptions
    from crawldedup.scrapy_plugin.stats import CrawlStats

logger = logging.getLogger(__name__)

# The share of the time from which on workers have nothing left to give.
_BUSY: Final = 0.9


class Progress:
    """Logs what is checked, when the crawl starts and every ``LOGSTATS_INTERVAL`` seconds. `noun` is page or item."""

    def __init__(self, crawler: Crawler, stats: CrawlStats, noun: str = "page") -> None:
        self._crawler = crawler
        self._stats = stats
        self._noun = noun
        self._interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        self._before = Figures()
        self._options: CrawlOptions | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, options: CrawlOptions, known: int | None) -> None:
        """Log the options that a crawl begins with, and how many pages or items the index knows, if that is known."""
        self._options = options
        self._log(start_line(options, known, self._noun))
        if self._interval:
            self._task = asyncio.ensure_future(self._repeat())

    def end(self) -> None:
        """Log nothing more."""
        if self._task is not None:
            self._task.cancel()

    def tell(self) -> None:
        """Log how far the crawl is, if it is further than the last time."""
        figures, before = self._stats.figures(), self._before
        self._before = figures
        if (figures.checked, figures.unchecked) != (before.checked, before.unchecked):
            self._log(progress_line(figures, before, self._interval, self._noun))
        if self._options is not None and (hint := bottleneck(figures, before, self._interval, self._options)):
            self._options = None  # Once is enough.
            self._log(hint)

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            self.tell()

    def _log(self, line: str) -> None:
        logger.info("crawldedup: %s", line, extra={"spider": self._crawler.spider})


def log_end(crawler: Crawler, stats: CrawlStats, *, complains: bool = True) -> None:
    """Log the summary of a crawl, and a warning for each thing that looks wrong with it."""
    extra = {"spider": crawler.spider}
    logger.info("%s", stats.summary(), extra=extra)
    for complaint in stats.complaints() if complains else ():
        logger.warning("crawldedup: %s", complaint, extra=extra)


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


def progress_line(figures: Figures, before: Figures, seconds: float, noun: str = "page") -> str:
    """Return how far a crawl is, and what happened in the last seconds."""
    a_minute = 60 / seconds
    dropped = [f"{figures.dropped:,} dropped"]
    if figures.items_dropped:
        dropped.append(f"{pluralize(figures.items_dropped, 'item')} of duplicates dropped")
    return (
        f"{pluralize(figures.checked, noun)} checked (at {(figures.checked - before.checked) * a_minute:.0f}/min), "
        f"{', '.join(dropped)}, {figures.unchecked:,} passed unchecked, duplicates at "
        f"{(figures.duplicates - before.duplicates) * a_minute:.0f}/min; {noun}s waited "
        f"{figures.waiting - before.waiting:.1f} s: reading {figures.reading - before.reading:.1f} s, "
        f"store {figures.store - before.store:.1f} s"
    )


def bottleneck(figures: Figures, before: Figures, seconds: float, options: CrawlOptions) -> str | None:
    """Return what helps a crawl whose workers had no rest in the last seconds; None for another."""
    reading, store = figures.reading - before.reading, figures.store - before.store
    busy = (reading + store) / (seconds * options.workers)
    if busy < _BUSY:
        return None
    is_reading = reading >= store
    is_slow = is_reading and options.extractor not in QUICK_EXTRACTORS
    quicker = 'CRAWLDEDUP_EXTRACTOR = "blocks" reads faster, and ' if is_slow else ""
    return (
        f"{'reading pages' if is_reading else 'asking the store'} holds the crawl up: "
        f"{pluralize(options.workers, 'worker')} worked for {min(busy, 1):.0%} of the last {seconds:.0f} s; {quicker}"
        f"more CRAWLDEDUP_WORKERS do more, where there are cores for them"
    )
