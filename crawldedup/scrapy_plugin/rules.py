"""The downloader middleware of ``CRAWLDEDUP_RULES``: skips requests that a rule for URLs calls copies.

A rule tells which URLs are taken for one page, their target. None is sent to another URL than its own. However wrong a
rule is, these keep content from getting lost:

- Nothing is skipped at a target whose content has not come, and of which no copy was confirmed for that rule, now or in
  the crawl that the rules were made of: one target says nothing of another.
- One in twenty skipped requests is fetched as a check.
- What was skipped is kept, and asked for when a check contradicts its target or its rule. Without room, requests pass.
"""

import logging
import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

from crawldedup.advice.address import Address
from crawldedup.advice.mining import LEAST_CONFIDENCE
from crawldedup.advice.rules import Contrary, Rule, RuleBook, read_rules
from crawldedup.journal import shown
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.failures import PredictedDuplicateError, crawl_options
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.policy import OVERRIDE_KEY, is_start
from crawldedup.scrapy_plugin.settings import is_interactive
from crawldedup.scrapy_plugin.signals import say
from crawldedup.verdict import Kind, Verdict

FILE_NAME: Final = "crawldedup.rules"  # has what was skipped, in the directory of a job that may be paused
CHECKED: Final = 20  # one in so many skipped requests is fetched
MOST_SKIPPED: Final = 50_000  # so many skipped requests are kept, which takes some 100 MB
MOST_TARGETS: Final = 200_000  # so many are watched, which takes some 80 MB; requests for others pass
_POSTPONED_KEY: Final = "_crawldedup_postponed"
_MOST_POSTPONED: Final = 2


@dataclass(slots=True)
class _Target:
    """What is known of a rewritten URL: the rules of which a copy is `confirmed`, and the keys of its `urls`.

    Of these, False stands for one that an earlier crawl has delivered, and this one has not met.
    """

    confirmed: set[str]
    urls: dict[int, bool] = field(default_factory=dict)
    is_on_its_way: bool = False
    is_wrong: bool = False


class _Aim(NamedTuple):
    """What a request would bring: `url` is a key of its own URL, `rules` are the names of those that rewrite it."""

    url: int
    address: Address
    rewritten: Address
    target: _Target
    rules: frozenset[str]


class RulesMiddleware:
    """Skips requests that rules call copies of pages that came. `job` is the file of a job that may be paused."""

    def __init__(self, crawler: Crawler, rules: list[Rule], job: Path | None) -> None:
        self._crawler = crawler
        self._job = job
        self._rules = {rule.name: rule for rule in rules}
        self._book = RuleBook(rules)
        self._confirmed = {rule.name: rule.targets_confirmed() for rule in rules}
        self._origins = {origin for rule in rules for origin in (rule.site, rule.replace)}
        self._targets: dict[int, _Target] = {}
        self._skipped: list[tuple[Request, _Aim]] = []
        self._copies: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._predicted = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings. Raises NotConfigured if they are wrong, or name no rules."""
        with crawl_options(crawler) as options:
            if options.rules is None or is_interactive(crawler):
                raise NotConfigured
            rules = read_rules(Path(options.rules))
        directory = job_dir(crawler.settings)
        middleware = cls(crawler, rules, Path(directory, FILE_NAME) if directory else None)
        crawler.signals.connect(middleware.engine_started, signal=scrapy_signals.engine_started)
        crawler.signals.connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def engine_started(self) -> None:
        """Take over what earlier runs of a job have skipped; ask for what no rule calls a copy any more."""
        plain = pickle.loads(self._job.read_bytes()) if self._job is not None and self._job.exists() else ()
        for request in (request_from_dict(pickle.loads(each), spider=self._crawler.spider) for each in plain):
            aim = self._aim_of(request.url, request)
            if aim is not None and aim.rules:
                self._skipped.append((request, aim))
            else:
                self._ask(request)

    def spider_closed(self, reason: str) -> None:
        """Write what was skipped for the next run of a job, if there is one. Scrapy's own queues are pickled, too."""
        if self._job is not None and reason == "finished":
            self._job.unlink(missing_ok=True)
        elif self._job is not None:
            plain = []
            for request, _ in self._skipped:
                # Its callback or its meta cannot be written, and Scrapy would not keep it either.
                with suppress(ValueError, TypeError, AttributeError, pickle.PicklingError):
                    plain.append(pickle.dumps(request.to_dict(spider=self._crawler.spider)))
            self._job.write_bytes(pickle.dumps(plain))

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or put it off while its target is on its way. Raises PredictedDuplicateError."""
        # Spiders hand the meta of a page on to the next request.
        times = request.meta.pop(_POSTPONED_KEY, 0)
        aim = None if _is_exempt(request, is_postponed=times > 0) else self._aim_of(request.url, request)
        if aim is None:
            return None
        target = aim.target
        if aim.rules and not target.is_wrong and target.urls.get(aim.url) is not False:
            if target.urls and aim.rules <= target.confirmed:
                self._skip(request, aim)
            elif target.is_on_its_way and times < _MOST_POSTPONED:
                self._count("postponed")
                meta = {**request.meta, _POSTPONED_KEY: times + 1}
                return request.replace(priority=request.priority - 1, dont_filter=True, meta=meta)
            elif target.urls:
                self._count("checked")
        target.is_on_its_way = True
        return None

    def page_judged(self, request: Request, verdict: Verdict) -> None:
        """Learn from a verdict whether the rules hold for its page."""
        aim = self._aim_of(verdict.url, request)
        if aim is None or verdict.kind is Kind.THIN:
            return
        target = aim.target
        target.is_on_its_way = False
        original = self._aim_of(verdict.original or "", request) if verdict.is_duplicate else aim
        if original is None or original.target is not target:
            # A copy of anything else may be a wall.
            return
        if target.urls and original.url not in target.urls:
            self._contradict(aim, verdict)
            return
        if verdict.is_duplicate:
            target.urls.setdefault(original.url, False)
            target.confirmed |= aim.rules | original.rules
            self._copies.update(aim.rules)
        target.urls[aim.url] = True

    def _skip(self, request: Request, aim: _Aim) -> None:
        """Raise PredictedDuplicateError, unless it is the turn of a check, or there is no room."""
        self._predicted += 1
        if self._predicted % CHECKED == 0:
            self._count("checked")
        elif len(self._skipped) >= MOST_SKIPPED:
            self._count("no_room")
        else:
            self._count("skipped")
            self._skipped.append((request, aim))
            names = sorted(aim.rules)
            self._write({"skipped": shown(request.url), "rule": shown("; ".join(names))})
            raise PredictedDuplicateError(aim.rewritten.url(), tuple(self._rules[name] for name in names))

    def _contradict(self, aim: _Aim, verdict: Verdict) -> None:
        """Skip nothing more at a target, nor by a rule whose checks fail too often; ask for what was skipped.

        Of rules that work together, the one that has done the least so far is to blame.
        """
        aim.target.is_wrong = True
        self._ask_for(lambda skipped: skipped.target is aim.target)
        if not (rules := aim.rules & self._rules.keys()):
            return
        name = min(rules, key=lambda name: (self._copies[name], name))
        self._others[name] += 1
        if self._others[name] <= (1 - LEAST_CONFIDENCE) * (self._others[name] + self._copies[name]):
            return
        rule, contrary = self._rules.pop(name), Contrary(verdict.url, aim.rewritten.url())
        self._book = RuleBook(self._rules.values())
        self._count("withdrawn")
        say(self._crawler, logging.WARNING, f"leaves out the rule {name}, for {contrary}")
        named = {part: getattr(rule, part) for part in ("kind", "site", "find", "replace")}
        self._write({"withdrawn": {**named, "folders": [aim.address.folder()]}, "rule": shown(name)})
        self._ask_for(lambda skipped: name in skipped.rules)

    def _ask_for(self, is_wanted: Callable[[_Aim], bool]) -> None:
        skipped, self._skipped = self._skipped, []
        for request, aim in skipped:
            if is_wanted(aim):
                self._ask(request)
            else:
                self._skipped.append((request, aim))

    def _ask(self, request: Request) -> None:
        self._count("asked_again")
        assert self._crawler.engine is not None
        # The filter of seen requests knows it already.
        self._crawler.engine.crawl(request.replace(dont_filter=True))

    def _aim_of(self, url: str, request: Request) -> _Aim | None:
        """Return the aim of a request at a URL; None where no rule may apply, or no further target has room.

        Another callback makes other items of the same page. A CrawlSpider has one, and the numbers of its rules.
        """
        address = Address.of(url)
        if address is None or address.origin not in self._origins:
            return None
        rewritten, rules = self._book.rewritten(address)
        number = request.meta.get("rule")
        callback = getattr(request.callback, "__name__", "parse"), number if isinstance(number, int) else None
        if (key := hash((callback, rewritten.key()))) not in self._targets:
            if len(self._targets) == MOST_TARGETS:
                return None
            digest = rewritten.digest()
            self._targets[key] = _Target({name for name, known in self._confirmed.items() if digest in known})
        names = frozenset(rule.name for rule in rules)
        return _Aim(address.key(), address, rewritten, self._targets[key], names)

    def _write(self, record: dict[str, Any]) -> None:
        if (dedup := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
            dedup.journal.put(record)

    def _count(self, name: str) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"crawldedup/rules/{name}")


def _is_exempt(request: Request, *, is_postponed: bool) -> bool:
    """Return True for a request that is made whatever it brings: one that a crawl starts with, or that is asked for."""
    return (
        request.method != "GET"
        or bool(request.body)
        or request.callback is NO_CALLBACK
        or request.meta.get(OVERRIDE_KEY) is False
        or "redirect_urls" in request.meta
        or is_start(request)
        or (request.dont_filter and not is_postponed)
    )
