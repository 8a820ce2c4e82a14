"""Learn while a crawl runs: when the last pages are looked at, and how the rules come into the index and out of it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from crawldedup.advice.kept import NOTE, KeptRules
from crawldedup.errors import CrawlDedupError
from crawldedup.printable import printable
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.learning.trials import Trials
from crawldedup.scrapy_plugin.learning.window import Window, lessons
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.stats import PREFIX
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    from scrapy.crawler import Crawler

    from crawldedup.advice.evidence import Seen
    from crawldedup.advice.rules import Contrary, Rule
    from crawldedup.scrapy_plugin.settings import CrawlOptions
    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)

_LONGEST_LINE: Final = 2000


class Teacher:
    """Finds rules and traps among the last pages, and keeps the rules with the index.

    `on_withdrawn` takes rules that have proved wrong.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions, on_withdrawn: Callable[[set[Rule]], None]) -> None:
        assert crawler.stats is not None
        self.trials = Trials()
        self.traps: frozenset[str] = frozenset()
        self._crawler = crawler
        self._stats = crawler.stats
        self._options = options
        self._on_withdrawn = on_withdrawn
        self._window = Window()
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        self._is_learning = False

    async def begin(self) -> None:
        """Take the rules that the index keeps."""
        self._take(KeptRules.from_text(await self._note() or ""))

    async def end(self) -> None:
        """Stop learning."""
        for task in list(self._tasks):
            task.cancel()

    def judged(self, verdict: Verdict, referer: str | None) -> None:
        """Note a page that was judged, and learn now and then."""
        self._window.add(verdict, referer)
        if not self._is_learning and (pages := self._window.take()) is not None:
            self._is_learning = True
            self._start(self._learn(pages))

    @property
    def is_busy(self) -> bool:
        """True while rules are looked for, or brought into the index."""
        return bool(self._tasks)

    def look_again(self) -> None:
        """Hold the rules against the pages that came since they were last looked at."""
        if not self._is_learning and (pages := self._window.take(all_new=True)) is not None:
            taught = lessons(pages, self.trials.kept())
            self._withdrawn(self.trials.weighed(taught.weighed))

    def sampled(self, rules: Sequence[Rule], verdict: Verdict, contrary: Contrary) -> None:
        """Note what a sample was. If it is no copy, it is `contrary` to the rules."""
        # A short page says nothing, nor does one that an earlier crawl has seen.
        if verdict.is_duplicate or verdict.kind is Kind.NEW:
            wrong = self.trials.sampled(rules, is_copy=verdict.is_duplicate)
            self._withdrawn(replace(rule, contrary=contrary) for rule in wrong)

    async def _learn(self, pages: Sequence[Seen]) -> None:
        try:
            taught = await asyncio.to_thread(lessons, pages, self.trials.kept())
        finally:
            self._is_learning = False
        self.traps = taught.traps
        self._withdrawn(self.trials.weighed(taught.weighed))
        if learned := self.trials.learn(filter(self._is_allowed, taught.rules)):
            for rule in learned:
                self._log(f"learned that the text stays the same at {rule.site}{rule.section}: {rule.what}")
            await self._save()

    def _is_allowed(self, rule: Rule) -> bool:
        """Return True unless a page of a site that is not trusted would stand for one of another site."""
        trusted, sites = self._options.trusted_sites, (site_of(rule.site), site_of(rule.replace))
        return rule.kind != "host" or trusted is None or sites[0] == sites[1] or sites[1] in trusted

    def _withdrawn(self, rules: Iterable[Rule]) -> None:
        """Tell of rules that have proved wrong."""
        if not (wrong := {*rules}):
            return
        self._give_up(wrong)
        for rule in wrong:
            self._stats.inc_value(f"{PREFIX}learn/withdrawn")
            self._log(f"gives up what it learned of {rule.site}{rule.section}: {rule.what}, for {rule.contrary}")
        self._start(self._save())

    def _take(self, kept: KeptRules) -> None:
        """Go by what the index keeps."""
        self._give_up({*self.trials.take(kept)})
        self._stats.set_value(f"{PREFIX}learn/rules", len(self.trials.book.rules))

    def _give_up(self, wrong: set[Rule]) -> None:
        if (checking := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
            checking.journal.withdrawn(wrong)
        self._on_withdrawn(wrong)

    async def _save(self) -> None:
        """Bring the rules that the index keeps together with those of this crawl."""
        async with self._saving:
            if (text := await self._note()) is None:
                return
            kept = KeptRules.from_text(text)
            self._take(kept)
            if self._options.remember:
                await self._note(self.trials.kept().merged(kept).to_text())

    async def _note(self, text: str | None = None) -> str | None:
        """Return the note of the index, or None if the store fails: the crawl goes on with the rules that it has."""
        checking = self._crawler.get_downloader_middleware(DedupMiddleware)
        if checking is None:
            return None
        try:
            return await checking.pool.note(NOTE, text)
        except CrawlDedupError as error:
            logger.debug("crawldedup: cannot keep rules: %s", printable(str(error)))
            return None

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _log(self, message: str) -> None:
        logger.info("crawldedup: %s", printable(message, _LONGEST_LINE), extra={"spider": self._crawler.spider})
