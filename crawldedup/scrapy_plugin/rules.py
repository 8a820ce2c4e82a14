"""The downloader middleware of ``CRAWLDEDUP_RULES``: skips requests that a rule for URLs calls copies.

A rule tells which URLs are taken for one page, their target. A request is skipped or it passes; none is ever sent to
another URL than its own. However wrong a rule is, these keep content from getting lost:

- For each rule, URLs of a target are fetched until one is confirmed as a copy, by this crawl or by the one that the
  rules were made of: one target says nothing of another. And the content of a target must have come in this crawl.
- One in twenty skipped requests is fetched as a check.
- What was skipped is kept, and asked for when a check contradicts its target or its rule. Without room, requests pass.
"""

from __future__ import annotations

import logging
import pickle
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self

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
from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scrapy_plugin import signals
from crawldedup.scrapy_plugin.errors import PredictedDuplicateError
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.policy import OVERRIDE_KEY, is_start
from crawldedup.scrapy_plugin.runtime.failures import refuse
from crawldedup.scrapy_plugin.settings import CrawlOptions, is_enabled, is_interactive
from crawldedup.verdict import Kind, Verdict

logger = logging.getLogger(__name__)

FILE_NAME: Final = "crawldedup.rules"
"""Has what was skipped, in the directory of a job that may be paused."""

CHECKED: Final = 20
"""One in so many skipped requests is fetched."""

MOST_SKIPPED: Final = 50_000
"""So many skipped requests are kept, which takes some 100 MB."""

MOST_TARGETS: Final = 200_000
"""So many targets are watched, which takes some 80 MB. Requests for others pass."""

_POSTPONED_KEY: Final = "_crawldedup_postponed"
_MOST_POSTPONED: Final = 2


@dataclass(slots=True)
class _Target:
    """What is known of a rewritten URL: the names of the rules of which a copy is `confirmed`, and its `urls`.

    Those are keys of all URLs with its content; False stands for one that an earlier crawl has delivered, not this one.
    """

    urls: dict[int, bool] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    skipped: list[tuple[Request, frozenset[str]]] = field(default_factory=list)
    is_on_its_way: bool = False
    is_wrong: bool = False


class _Aim(NamedTuple):
    """What a request would bring: `url` is the key of its own URL, and `rules` names those that lead to `target`."""

    url: int
    folder: str
    target: Address
    key: int
    rules: frozenset[str]


class RulesMiddleware:
    """Skips requests that rules call copies of pages that came. `job` is the file of a job that may be paused."""

    def __init__(self, crawler: Crawler, rules: Iterable[Rule], job: Path | None) -> None:
        self._crawler = crawler
        self._rules = {rule.name: rule for rule in rules}
        self._confirmed = {rule.name: rule.targets_confirmed() for rule in rules}
        self._book = RuleBook(rules)
        self._origins = {origin for rule in rules for origin in (rule.site, rule.replace)}
        self._targets: dict[int, _Target] = {}
        self._copies: Counter[str] = Counter()
        self._others: Counter[str] = Counter()
        self._predicted = self._kept = 0
        self._job = job
        self._file: BinaryIO | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build it from Scrapy's settings. Raises NotConfigured if they are wrong, or name no rules."""
        try:
            if not is_enabled(crawler.settings) or is_interactive(crawler):
                raise NotConfigured
            options = CrawlOptions.from_settings(crawler.settings)
            if options.rules is None:
                raise NotConfigured
            if options.keep_per_cluster > 1:
                raise ConfigurationError("CRAWLDEDUP_RULES skips copies, and CRAWLDEDUP_KEEP_PER_CLUSTER wants some")
            rules = read_rules(Path(options.rules))
        except ConfigurationError as error:
            raise refuse(crawler, error) from None
        directory = job_dir(crawler.settings)
        middleware = cls(crawler, rules, Path(directory, FILE_NAME) if directory else None)
        for name in ("engine_started", "spider_closed"):
            crawler.signals.connect(getattr(middleware, name), signal=getattr(scrapy_signals, name))
        crawler.signals.connect(middleware.page_judged, signal=signals.page_judged)
        return middleware

    def engine_started(self) -> None:
        """Take what earlier runs of a job have skipped, and leave out the rules that they found wrong."""
        if self._job is None:
            return
        requests = []
        # A run that was killed may have cut the last value off.
        with suppress(OSError, EOFError, pickle.UnpicklingError), self._job.open("rb") as file:
            # As Scrapy's own queues in that directory.
            while value := pickle.load(file):
                if isinstance(value, str):
                    self._rules.pop(value, None)
                else:
                    requests.append(request_from_dict(value, spider=self._crawler.spider))
        self._book = RuleBook(self._rules.values())
        with suppress(OSError):
            self._file = self._job.open("ab")
        for request in requests:
            aim = self._aim_of(request.url, request)
            if aim is None or not aim.rules or not self._keep(request, aim, is_written=True):
                self._ask(request)

    def spider_closed(self, reason: str) -> None:
        """Close the file of a job. The next run needs it, unless there is none."""
        if self._file is not None and self._job is not None:
            self._file.close()
            if reason == "finished":
                self._job.unlink(missing_ok=True)

    def process_request(self, request: Request) -> Request | None:
        """Let a request pass, or put it off while its target is on its way. Raises PredictedDuplicateError."""
        url, times = request.meta.get(_POSTPONED_KEY) or ("", 0)
        # Spiders hand the meta of a page on to the next request.
        times = times if url == request.url else 0
        if _is_exempt(request) or (request.dont_filter and not times):
            return None
        aim = self._aim_of(request.url, request)
        target = aim and self._target(aim)
        if aim is None or target is None:
            return None
        if aim.rules and not target.is_wrong and target.urls.get(aim.url) is not False:
            if target.urls and aim.rules <= target.confirmed:
                self._skip(request, aim)
            elif target.is_on_its_way and times < _MOST_POSTPONED:
                self._count("postponed")
                later = request.replace(priority=request.priority - 1, dont_filter=True)
                later.meta[_POSTPONED_KEY] = [request.url, times + 1]
                return later
            elif target.urls:
                self._count("checked")
        target.is_on_its_way = True
        return None

    def page_judged(self, request: Request, verdict: Verdict) -> None:
        """Learn from a verdict whether the rules hold for its page."""
        aim = self._aim_of(verdict.url, request)
        target = aim and self._target(aim)
        if aim is None or target is None or verdict.kind is Kind.THIN:
            return
        target.is_on_its_way = False
        original = None
        if verdict.is_duplicate:
            original = self._aim_of(verdict.original or "", request)
            # A copy of anything else may be a wall.
            if original is None or original.key != aim.key:
                return
        if target.urls and (original or aim).url not in target.urls:
            self._contradict(aim, target, verdict)
            return
        if original is not None:
            target.urls.setdefault(original.url, False)
            target.confirmed |= aim.rules | original.rules
            self._copies.update(aim.rules)
        target.urls[aim.url] = True

    def _skip(self, request: Request, aim: _Aim) -> None:
        """Raise PredictedDuplicateError, unless it is the turn of a check, or there is no room."""
        self._predicted += 1
        if self._predicted % CHECKED == 0:
            self._count("checked")
        elif not self._keep(request, aim):
            self._count("no_room")
        else:
            self._count("skipped")
            rules = tuple(self._rules[name] for name in sorted(aim.rules))
            if (dedup := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
                dedup.journal.skipped(request.url, rules)
            raise PredictedDuplicateError(aim.target.url(), rules)

    def _keep(self, request: Request, aim: _Aim, *, is_written: bool = False) -> bool:
        """Keep a request that is skipped. Return False if there is no room, or a later run could not read it."""
        target = self._target(aim)
        if self._kept >= MOST_SKIPPED or target is None:
            return False
        try:
            if not is_written and self._job is not None:
                self._write(request.to_dict(spider=self._crawler.spider))
        except (OSError, ValueError, TypeError, AttributeError, pickle.PicklingError):
            return False
        self._kept += 1
        target.skipped.append((request, aim.rules))
        return True

    def _write(self, value: dict[str, Any] | str) -> None:
        """Write for later runs of the job. Raises OSError, and what comes of values that cannot be pickled."""
        if self._file is None:
            raise OSError
        self._file.write(pickle.dumps(value))
        self._file.flush()

    def _contradict(self, aim: _Aim, target: _Target, verdict: Verdict) -> None:
        """Skip nothing more at a target, nor by a rule whose checks fail too often; ask for what was skipped.

        Of rules that work together, the one that has done the least so far is to blame.
        """
        target.is_wrong = True
        self._ask_for_skipped(target)
        if not (rules := sorted(aim.rules & self._rules.keys(), key=lambda name: (self._copies[name], name))):
            return
        name = rules[0]
        self._others[name] += 1
        if self._others[name] <= (1 - LEAST_CONFIDENCE) * (self._others[name] + self._copies[name]):
            return
        contrary = Contrary(verdict.url, aim.target.url())
        rule = replace(self._rules.pop(name), folders=frozenset({aim.folder}), contrary=contrary)
        self._book = RuleBook(self._rules.values())
        self._count("withdrawn")
        text = printable(f"leaves out the rule {name}, for {contrary}", 2000)
        logger.warning("crawldedup: %s", text, extra={"spider": self._crawler.spider})
        if (dedup := self._crawler.get_downloader_middleware(DedupMiddleware)) is not None:
            dedup.journal.withdrawn([rule])
        with suppress(OSError):
            self._write(name)
        for each in self._targets.values():
            self._ask_for_skipped(each, name)

    def _ask_for_skipped(self, target: _Target, rule: str | None = None) -> None:
        """Ask for what was skipped at a target, by one rule or by any."""
        skipped, target.skipped = target.skipped, []
        for request, rules in skipped:
            if rule is None or rule in rules:
                self._kept -= 1
                self._ask(request)
            else:
                target.skipped.append((request, rules))

    def _ask(self, request: Request) -> None:
        """Ask for what was skipped. The filter of seen requests knows it already."""
        assert self._crawler.engine is not None
        self._count("asked_again")
        self._crawler.engine.crawl(request.replace(dont_filter=True))

    def _target(self, aim: _Aim) -> _Target | None:
        if aim.key not in self._targets and len(self._targets) < MOST_TARGETS:
            digest = aim.target.digest()
            confirmed = {name for name, targets in self._confirmed.items() if digest in targets}
            self._targets[aim.key] = _Target(confirmed=confirmed)
        return self._targets.get(aim.key)

    def _aim_of(self, url: str, request: Request) -> _Aim | None:
        """Return the aim of a request at a URL; None where no rule may apply.

        Another callback makes other items of the same page. A CrawlSpider has one, and the numbers of its rules.
        """
        address = Address.of(url)
        if address is None or address.origin not in self._origins:
            return None
        target, rules = self._book.rewritten(address)
        number = request.meta.get("rule")
        key = getattr(request.callback, "__name__", "parse"), number if isinstance(number, int) else None, target.key()
        return _Aim(address.key(), address.folder(), target, hash(key), frozenset(rule.name for rule in rules))

    def _count(self, name: str) -> None:
        assert self._crawler.stats is not None
        self._crawler.stats.inc_value(f"crawldedup/rules/{name}")


def _is_exempt(request: Request) -> bool:
    """Return True for a request that is made whatever it brings: one that a crawl starts with, or that is asked for."""
    return (
        request.method != "GET"
        or bool(request.body)
        or request.callback is NO_CALLBACK
        or request.meta.get(OVERRIDE_KEY) is False
        or "redirect_urls" in request.meta
        or is_start(request)
    )
