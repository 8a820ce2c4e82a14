"""Check pages on their way to the spider, and drop or mark the duplicates.

`process_response` follows these steps, and each of them has a module of its own:

1. `responses` decides whether a response is checked, and turns it into a `Page`. `overrides` looks
   up the options of that page.
2. `AsyncDeduplicator.judge` has a worker process read the page. What `copies.Copies.preparer` made
   then ranks the page by its URL and by the original that it names, and `Deduplicator.check_batch`
   checks the fingerprints of all pages that are waiting.
3. `outcomes.decide` turns the verdict into an `Outcome`. `deliveries.Deliveries` keeps track of the
   page until the spider is done with it.
4. `walls.WallWatch` checks whether the site sends one page in place of many, and whether it now
   also sends it in place of earlier pages.
5. `stats` and `crawl_journal` record the outcome, and `signals` announce it. The verdict goes into
   the meta of the request, and with `text` the main text as well.
6. The page is dropped, marked or returned.

If one of the first three steps fails, `CrawlStats.failed` counts and explains the failure, and the
page passes. `shells` warns of sites whose pages a script has yet to fill. If the error is fatal, or
the option `on_error` is "fail", the spider is closed.

The crawl also learns which lines of a site change with every load: it requests a few pages a second
time (`reloads`), and compares the second response with the first (`extra_loads`). No spider sees a
second response.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Self

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response

from crawldedup.aio import AsyncDeduplicator, Judged
from crawldedup.crawling.copies import Copies
from crawldedup.crawling.dated import DatedPages
from crawldedup.crawling.options import OWN_TEXT, CrawlOptions
from crawldedup.crawling.outcomes import Fate, Outcome, decide, key_of
from crawldedup.crawling.repeated import RepeatedLines
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.crawl_journal import CrawlJournal
from crawldedup.scrapy_plugin.deliveries import Deliveries
from crawldedup.scrapy_plugin.extra_loads import ExtraLoads
from crawldedup.scrapy_plugin.items import DropItemsMiddleware
from crawldedup.scrapy_plugin.left_out import LeftOutLines
from crawldedup.scrapy_plugin.meta import (
    BROWSER_PAGE_KEY,
    DROP_ITEMS_KEY,
    NAME_KEY,
    PAGE_KEYS,
    REPEATS_KEY,
    TEXT_KEY,
    VERDICT_KEY,
)
from crawldedup.scrapy_plugin.overrides import changed, options_for
from crawldedup.scrapy_plugin.reloads import Reloads
from crawldedup.scrapy_plugin.responses import is_start, page_of, reason_to_skip
from crawldedup.scrapy_plugin.settings import crawl_options, is_interactive
from crawldedup.scrapy_plugin.shells import ShellWarnings
from crawldedup.scrapy_plugin.signals import say
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.scrapy_plugin.unmet_hosts import UnmetHosts
from crawldedup.scrapy_plugin.walls import WallWatch
from crawldedup.stores.registry import is_persistent
from crawldedup.verdict import Kind, Verdict, describe, mark_of_sibling


class DuplicatePageError(IgnoreRequest):
    """Raised for a page that is dropped, as a duplicate or as an unchanged revisit.

    The request's errback receives it. Its `verdict` names the original.
    """

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason)


class DedupMiddleware:
    """Checks the pages that a spider requests, and drops or marks duplicates.

    The verdict is stored in ``request.meta["crawldedup_verdict"]``, which is `response.meta` in a
    callback. A page that cannot be checked passes, and is counted.

    In an interactive command such as `scrapy shell`, the log shows the verdict on each page, and no
    page is dropped or remembered.
    """

    def __init__(
        self,
        crawler: Crawler,
        options: CrawlOptions,
        dedup: AsyncDeduplicator,
        *,
        is_interactive: bool = False,
    ) -> None:
        self._crawler = crawler
        self._options = options
        self._is_interactive = is_interactive
        self._dedup = dedup
        self._seen: set[int] = set()  # The keys of the pages that passed in this crawl.
        self._began = time.time()
        self._reloads = Reloads(options.reloads)
        self._copies = Copies(options.prefer, options.trusted_sites)
        self._deliveries = Deliveries(crawler)
        self._stats = CrawlStats(crawler, options)
        self.journal = CrawlJournal(crawler, options)
        self._left_out = LeftOutLines(crawler, self.journal)
        self._walls = WallWatch(crawler, options.wall, self._stats, self.journal)
        self._extra_loads = ExtraLoads(dedup, self._walls, self._page_to_compare)
        self._repeated = RepeatedLines()
        self._dated = DatedPages()
        self._shells = ShellWarnings(crawler)
        self._unmet_hosts = UnmetHosts(options.ignore_marks)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware from Scrapy's settings.

        Raises NotConfigured if they are invalid, or if crawldedup is disabled.
        """
        with crawl_options(crawler) as options:
            if interactive := is_interactive(crawler):
                calm = {
                    "on_error": "pass",
                    "wall": "ignore",
                    "journal": False,
                    "report": None,
                    "reloads": 0,
                }
                options = changed(options, action="mark", remember=False, **calm)
            dedup = AsyncDeduplicator.from_options(
                options, workers=options.workers, page_seconds=options.page_seconds
            )
        if options.revisit == "drop" and not is_persistent(options.store) and not interactive:
            text = (
                "CRAWLDEDUP_REVISIT is 'drop', but CRAWLDEDUP_STORE remembers nothing of earlier "
                "crawls"
            )
            say(crawler, logging.WARNING, f"{text}; sqlite:///seen.sqlite would.")
        middleware = cls(crawler, options, dedup, is_interactive=interactive)
        crawler.signals.connect(middleware.spider_opened, signal=scrapy_signals.spider_opened)
        crawler.signals.connect(middleware.page_failed, signal=scrapy_signals.spider_error)
        crawler.signals.connect(middleware.page_failed, signal=scrapy_signals.item_error)
        crawler.signals.connect(middleware.spider_idle, signal=scrapy_signals.spider_idle)
        crawler.signals.connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        return middleware

    async def spider_opened(self, spider: Spider) -> None:
        """Open the store. Worker processes start up during the first downloads.

        If opening it fails for good, the crawl ends before its first request.
        """
        # A crawl that resumes a job makes no start requests.
        self._copies.start_at(*getattr(spider, "start_urls", None) or ())
        if self._is_interactive:
            return
        known = None
        index = None
        try:
            if self._options.action == "drop-items" and not self._crawler.get_spider_middleware(
                DropItemsMiddleware
            ):
                raise ConfigurationError(
                    "The action 'drop-items' needs a spider middleware, which the add-on brings "
                    "along: set "
                    'ADDONS = {"crawldedup.Addon": 500}.'
                )
            if self._options.remember:
                await self._dedup.open()
                # Each new index has a key of its own, unless a program made it without one.
                index = f"{self._dedup.key.id:016x}"
            known = (
                self._dedup.pages if self._options.remember else (await self._dedup.info()).pages
            )
        except Exception as error:
            if self._stats.ends_at_start(error):
                return
        # Loads the list of public suffixes while the first worker starts.
        site_of("//a.example")
        # All objects that exist now live as long as the crawl, so the garbage collector can skip
        # them.
        gc.collect()
        gc.freeze()
        self._stats.begin(known)
        self.journal.begin(known, index)

    async def spider_closed(self, reason: str) -> None:
        """Close the store, the workers and the journal, and log the summary."""
        index_bytes = None
        with suppress(CrawlDedupError):
            self._tell_delivered()
            if self._dedup.session is not None:
                index_bytes = (await self._dedup.info()).bytes
        await self._dedup.close()
        gc.unfreeze()
        await self.journal.end(reason, self._dedup.pages, index_bytes)
        self._stats.end()
        for complaint in self._unmet_hosts.complaints():
            say(self._crawler, logging.WARNING, complaint)

    def spider_idle(self) -> None:
        """Raise CloseSpider if only sites that answer with walls are left to crawl."""
        if self._walls.are_all_that_is_left:
            raise CloseSpider("crawldedup_wall")

    def process_request(self, request: Request) -> None:
        """Let a request pass, or raise IgnoreRequest if its site answers with a wall."""
        self._walls.let_pass(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Check a response if it is a page to check, and return it with flags.

        Raises DuplicatePageError to drop the page, and IgnoreRequest for a response that the plugin
        itself has requested.
        """
        # Spiders hand the meta of a page on to the next request.
        for key in PAGE_KEYS:
            request.meta.pop(key, None)
        await self._extra_loads.take(request, response)
        try:
            if reason := reason_to_skip(request, response, self._options.unchecked_urls):
                self._stats.count(f"skipped/{reason}")
                self.journal.unchecked(request, response, "skipped", reason)
                return response
            policy = self._policy_for(request)
            page = self._page_of(request, response, policy)
            self._tell_delivered()
            prepare = self._preparer_for(request, response, policy)
            judged = await self._dedup.judge(page, prepare, with_text=bool(policy.text))
            if judged.verdict.changed and policy.revisit == "drop":
                judged = await self._as_copy(page, judged)
            outcome = self._outcome_of(request, page, judged.verdict, policy)
        except Exception as error:
            self.journal.unchecked(request, response, *self._stats.failed(response.url, error))
            self._shells.note(request, response.url, error)
            return response
        await self._walls.look_at(request, judged)
        self._leave_text(request, response, judged, policy)
        await self._record(request, response, judged, outcome)
        self._load_again(request, judged.read)
        return await self._carry_out(request, response, judged.verdict, outcome)

    def _load_again(self, request: Request, read: ReadPage) -> None:
        """Request a page a second time, if `Reloads` chooses it to learn what changes."""
        again = self._reloads.again(request, read)
        if again is not None:
            self._stats.count("reloads")
            assert self._crawler.engine is not None
            self._crawler.engine.crawl(again)

    def page_failed(self, response: object) -> None:
        """Note that a page is not delivered because its callback or an item failed."""
        # A spider may fail before there is any response, and an item need not come from one.
        if isinstance(response, Response):
            self._deliveries.failed(response.request)

    def _policy_for(self, request: Request) -> CrawlOptions:
        policy = options_for(request, self._options)
        if self._is_interactive:
            return changed(policy, action="mark", remember=False)
        action = policy.action
        if action == "drop" and is_start(request):
            action = "drop-items"  # so that the spider still follows its links
        # Without the spider middleware, items cannot be dropped.
        if action == "drop-items" and not self._crawler.get_spider_middleware(DropItemsMiddleware):
            action = "mark"
        return policy if action == policy.action else changed(policy, action=action)

    def _page_of(self, request: Request, response: Response, policy: CrawlOptions) -> Page:
        assert self._crawler.spider is not None  # responses come to open spiders only
        page = page_of(request, response, policy, self._crawler.spider.name)
        # A page that passed in this crawl is delivered at each visit, so the text of this visit is
        # remembered, no matter how little has changed.
        is_again = page.revisit_similarity is not None and key_of(page) in self._seen
        return replace(page, revisit_similarity=None) if is_again else page

    def _page_to_compare(self, request: Request, response: Response) -> Page:
        """Turn a response into a page that is compared but not remembered by the index."""
        return replace(self._page_of(request, response, self._options), remember=False)

    def _preparer_for(
        self, request: Request, response: Response, policy: CrawlOptions
    ) -> Callable[[Page, ReadPage], Page]:
        """Return a function that completes the page of a response once its content is read."""
        if is_start(request):
            self._copies.start_at(request.url, response.url)
        headers = [value.decode("latin-1") for value in response.headers.getlist(b"Link")]
        is_lenient = policy.canonical == "compare"
        return self._copies.preparer(response.url, headers, is_lenient=is_lenient)

    async def _as_copy(self, page: Page, judged: Judged) -> Judged:
        """Turn a changed revisit into a duplicate if its new text is that of another page.

        The other page must have passed during this crawl, here or in another crawler. Otherwise,
        the verdict stays as it is.
        """
        matches = await self._dedup.find(
            url=page.url,
            fingerprint=judged.read.fingerprint,
            scope_key=page.scope_key,
            similarity=page.similarity,
        )
        for match in matches:
            other = key_of(replace(page, url=match.url, identity=None))
            if match.sibling is not None or other == key_of(page):
                continue
            if other in self._seen or match.added_at > self._began:
                kind = Kind.EXACT_DUPLICATE if match.exact else Kind.NEAR_DUPLICATE
                found = replace(
                    judged.verdict, kind=kind, original=match.url, hamming=match.hamming
                )
                return judged._replace(
                    verdict=replace(found, similarity=match.similarity, copies=match.copies + 1)
                )
        return judged

    def _outcome_of(
        self, request: Request, page: Page, verdict: Verdict, policy: CrawlOptions
    ) -> Outcome:
        """Decide what happens to a page, and start tracking it if the spider will receive it."""
        outcome = decide(
            verdict,
            policy,
            seen=policy.revisit == "drop" and key_of(page) in self._seen,
            is_repeat=verdict.kind is Kind.REVISIT and self._repeats_delivery(request, page),
        )
        if policy.remember and (not verdict.is_duplicate or verdict.replaces or verdict.changed):
            self._deliveries.passed(request, page)
        drops_revisits = "drop" in (policy.revisit, self._options.revisit)
        if policy.remember and drops_revisits and not (outcome.unchanged or verdict.is_duplicate):
            self._seen.add(key_of(page))
        return outcome

    def _repeats_delivery(self, request: Request, page: Page) -> bool:
        """Return whether this crawl has already delivered the page that a request leads to.

        A link to the page that the crawl started with is an example.
        """
        # A page that was on its way when this one was requested may be delivered by now.
        self._tell_delivered()
        can_drop_items = self._crawler.get_spider_middleware(DropItemsMiddleware) is not None
        return can_drop_items and self._deliveries.has_delivered(request, page)

    def _tell_delivered(self) -> None:
        for page in self._deliveries.pop_delivered():
            self._dedup.deliver(page.url, identity=page.identity, scope_key=page.scope_key)

    def _leave_text(
        self, request: Request, response: Response, judged: Judged, policy: CrawlOptions
    ) -> None:
        """Put the main text and the name of a page into its meta if the options ask for them."""
        main = judged.read.main
        if main is None:
            return
        text = main.text
        if policy.text == OWN_TEXT:
            is_copy = judged.verdict.is_duplicate
            text = self._repeated.own_text(response.url, main, is_copy=is_copy)
        request.meta.update({TEXT_KEY: text, NAME_KEY: main.name})

    async def _record(
        self, request: Request, response: Response, judged: Judged, outcome: Outcome
    ) -> None:
        """Count, log and announce the outcome for a page, and put its verdict into the meta."""
        verdict = judged.verdict
        self._stats.checked(judged, outcome, size=len(response.body), is_start=is_start(request))
        self.journal.checked(request, response, judged, outcome, known=self._dedup.pages)
        self._left_out.tell(site_of(response.url), judged.read.left_out)
        self._unmet_hosts.note(response.url)
        request.meta[VERDICT_KEY] = verdict
        if self._options.budget is not None:
            request.meta[REPEATS_KEY] = self._dated.repeats(verdict.url, judged.read)
        event = {
            "request": request,
            "response": response,
            "verdict": verdict,
            "dropped": outcome.fate is Fate.DROPPED,
        }
        await signals.send(signals.page_judged, self._crawler, **event)
        if verdict.is_duplicate:
            await signals.send(signals.page_deduplicated, self._crawler, **event)
        if self._is_interactive:
            say(self._crawler, logging.INFO, f"{response.url} is {describe(verdict)}")
        elif _is_told(verdict, outcome):
            say(self._crawler, logging.DEBUG, f"{outcome.done} {response.url}: {describe(verdict)}")

    async def _carry_out(
        self, request: Request, response: Response, verdict: Verdict, outcome: Outcome
    ) -> Response:
        """Return the response with its flags, or raise DuplicatePageError to drop the page."""
        if outcome.fate is Fate.DROPPED:
            await close_browser_page(self._crawler, request)
            # The engine sends this signal for responses that pass all middlewares, and many
            # parts of Scrapy count them by it.
            response.request = response.request or request
            received = {
                "response": response,
                "request": response.request,
                "spider": self._crawler.spider,
            }
            self._crawler.signals.send_catch_log(scrapy_signals.response_received, **received)
            raise DuplicatePageError(describe(verdict), verdict)
        if outcome.fate is Fate.ITEMS_DROPPED:
            request.meta[DROP_ITEMS_KEY] = True
        response.flags += [*outcome.flags]
        return response


def _is_told(verdict: Verdict, outcome: Outcome) -> bool:
    """Return whether a page is worth a line in the log, at the level DEBUG."""
    return (
        outcome.refused
        or verdict.is_duplicate
        or verdict.is_partial
        or bool(verdict.difference)
        or mark_of_sibling(verdict) is not None
    )


async def close_browser_page(crawler: Crawler, request: Request) -> None:
    """Close the tab that scrapy-playwright keeps open for a callback.

    If the request has an errback, closing the tab is left to it.
    """
    page = request.meta.get(BROWSER_PAGE_KEY)
    if page is not None and request.errback is None:
        try:
            await asyncio.wait_for(page.close(), 10.0)
        except Exception as error:
            say(
                crawler,
                logging.WARNING,
                f"cannot close the browser's page of a duplicate: {type(error).__name__}",
            )
