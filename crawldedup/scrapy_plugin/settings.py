"""The ``CRAWLDEDUP_*`` settings: the options of an index, and those of a crawl, read once and
checked strictly.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeAlias
from urllib.parse import quote
from weakref import WeakKeyDictionary

import regex
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import is_asyncio_available

from crawldedup import checks
from crawldedup.aside import check_path
from crawldedup.errors import ConfigurationError
from crawldedup.journal import check_journal
from crawldedup.options import Option, Options, check_similarity, option, options_of
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.signals import logger, say
from crawldedup.stores.registry import check_store_url
from crawldedup.text import printable

PREFIX: Final = "CRAWLDEDUP_"
CLOSE_REASON: Final = "crawldedup_error"

_PATTERNS: Final = "a regular expression or a list of them, none of them empty"
_PATTERN_SECONDS: Final = 0.05
_RENAMED: Final = {
    f"{PREFIX}DENY": f"is called {PREFIX}UNCHECKED_URLS now: its pages are fetched last, not "
    "checked, and delivered. To not fetch them, use the `deny` of your LinkExtractor."
}
_slow_patterns: Final[set[str]] = set()  # Expressions of the user, so there are few.
# Why a crawl does not start: several components may refuse the same settings, or to start at all.
_reasons: WeakKeyDictionary[Crawler, list[str]] = WeakKeyDictionary()

Pattern: TypeAlias = regex.Pattern[str]


def matches(pattern: Pattern, url: str, *, otherwise: bool = False) -> bool:
    """Return whether a pattern is found in a URL, or `otherwise` if that takes longer than a
    twentieth of a second.
    """
    try:
        return pattern.search(url, timeout=_PATTERN_SECONDS) is not None
    except TimeoutError:
        if pattern.pattern not in _slow_patterns:
            _slow_patterns.add(pattern.pattern)
            slow = (
                f"the regular expression {printable(pattern.pattern, 200)} takes more than "
                f"{_PATTERN_SECONDS} s"
            )
            result = f"is given up there: it counts as {'' if otherwise else 'not '}found"
            logger.warning("crawldedup: %s on %s, and %s.", slow, printable(url, 200), result)
        return otherwise


def check_patterns(name: str, value: object) -> tuple[Pattern, ...]:
    """Compile regular expressions: one, or several in a list, as texts or compiled already."""
    if isinstance(value, str) and re.match(r"\[\s*(['\"]|]$)", value):
        try:  # Scrapy's command line gives texts.
            value = json.loads(value)
        except ValueError:
            hint = "on a command line a list is JSON, with double quotes around texts"
            raise checks.refused(name, value, f"{_PATTERNS}; {hint}") from None
    patterns = []
    for expression in value if isinstance(value, list | tuple | set | frozenset) else [value]:
        text, flags = getattr(expression, "pattern", expression), getattr(expression, "flags", 0)
        if not isinstance(text, str) or not text:
            raise checks.refused(name, expression, _PATTERNS)
        try:
            # Both libraries have the same numbers for these.
            patterns.append(regex.compile(text, flags & (regex.I | regex.M | regex.S | regex.X)))
        except regex.error as error:
            raise checks.refused(name, expression, f"{_PATTERNS}: {error}") from None
    return tuple(patterns)


def check_item_fields(name: str, value: Any) -> tuple[str, ...]:
    """Return the names of the fields that a setting gives. Raises ConfigurationError."""
    fields = value.split(",") if isinstance(value, str) and "[" not in value else value
    # No sets: the order of the fields is the order of the text.
    is_list = isinstance(fields, list | tuple) and bool(fields)
    if not is_list or not all(isinstance(field, str) and field.strip() for field in fields):
        raise checks.refused(
            name, value, "a list of names of fields; on a command line, names with commas between"
        )
    return tuple(field.strip() for field in fields)


def check_sites(name: str, value: Any) -> frozenset[str]:
    """Check for sites in a list, or in a text with commas between them; return their registered
    domains.
    """
    names = filter(str.strip, value.split(",")) if isinstance(value, str) else value
    try:
        sites = frozenset(site_of(each if "//" in each else f"//{each.strip()}") for each in names)
    except (TypeError, AttributeError):
        sites = frozenset([""])
    if any(not site or re.search(r"[\s@?#]", site) for site in sites):
        raise checks.refused(
            name, value, "a list of sites, such as example.com; an empty list trusts none"
        )
    return sites


def _report(name: str, value: object) -> str:
    from crawldedup.report.render import check_path

    check_path(name, Path(checks.string(name, value)))
    return str(value)


_option: Final = partial(option, owner="crawl")


def _optional(check: checks.Check, help: str, kind: type = str, owner: str = "crawl") -> Any:
    return option(None, checks.optional(check), help, owner=owner, kind=kind)


def _word(default: str, allowed: str, help: str, owner: str = "crawl") -> Any:
    return option(default, checks.one_of(*allowed.split()), help, owner=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(Options):
    """The options of a crawl beside those of its index.

    Those of owner "request" stand in ``meta["crawldedup"]`` only.

    `namespace` is "default" and not the project's BOT_NAME: the library, the command line and
    Scrapy look at the same index, and renaming a project does not lose it.
    """

    reloads: int = _option(
        0,
        checks.whole(0, 5),
        "Load so many pages of each host twice, to learn which lines and marks change with every "
        "load.",
    )
    enabled: bool = _option(True, checks.flag, "Switch the plugin off with False.")
    action: str = _word(
        "drop-items",
        "drop drop-items mark",
        "What happens to a duplicate: drop its items and follow its links (drop-items), drop the "
        "page, or mark it.",
    )
    keep_per_cluster: int = _option(
        1, checks.whole(1), "Let this many pages of one content pass, the original too."
    )
    trusted_sites: frozenset[str] | None = _optional(
        check_sites,
        "Sites that may own a text: duplicates of other sites' pages pass. None trusts all.",
    )
    unchecked_urls: tuple[Pattern, ...] = _option(
        (),
        check_patterns,
        "Regular expressions of URLs whose pages are not checked: these are fetched after all "
        "others, and delivered even if they are copies.",
        kind=str,
    )
    prefer: tuple[Pattern, ...] | None = _optional(
        check_patterns,
        "Regular expressions of the URLs to keep of several copies, best first. A better copy "
        "takes the place of a worse one that was delivered, and is delivered, too. An empty list "
        "keeps the first copy.",
    )
    canonical: str = _word(
        "compare",
        "ignore compare",
        "With compare, a page's word on its canonical page counts: it is a duplicate of that page "
        "from a similarity on that is 0.1 lower. With ignore it does not count.",
        "request",
    )
    wall: str = _word(
        "warn",
        "warn close ignore",
        "At a wall, such as a login form: log it, or crawl no more of the site (close).",
    )
    revisit: str = _word(
        "keep",
        "keep drop",
        "With drop, a page that an earlier crawl saw with the same text is treated as a duplicate.",
    )
    revisit_similarity: float | None = _optional(
        check_similarity,
        "With revisit drop, a page counts as unchanged if it is at least so similar to the text "
        "that was delivered last. None asks for equal texts.",
        float,
    )
    text: bool = _option(
        False,
        checks.flag,
        "Leave the main text of each checked page, and its name, for the callback: in the meta of "
        "its request, as crawldedup_text and crawldedup_name.",
    )
    set_aside: str | None = _optional(
        check_path,
        "Keep the items that are dropped in this file, from which `crawldedup restore` brings them "
        'back: "aside.jl.gz". It is appended to.',
    )
    remember: bool = _option(
        True, checks.flag, "With False, pages are looked up and nothing is added."
    )
    on_error: str = _word(
        "pass",
        "pass fail",
        "While the store or a worker fails: let pages pass unchecked, or end the crawl (fail).",
    )
    rules: str | None = _optional(
        checks.string,
        "A file of URL rules, which `crawldedup advise --output` writes. Requests that a rule "
        "calls copies are skipped once a copy of their page is confirmed, and one in twenty of "
        "them is fetched as a check.",
    )
    postpone: bool = _option(
        True,
        checks.flag,
        "Fetch first what promises new content: a URL waits behind others if the last pages of "
        "its pattern were copies. Nothing is skipped.",
    )
    workers: int = _optional(
        checks.whole(1), "So many processes read pages. None chooses by extractor and cores.", int
    )
    page_seconds: int = _option(30, checks.whole(1), "Give up a page that takes longer to read.")
    journal: str | bool = _option(
        "crawldedup",
        check_journal,
        "The directory that the crawl writes its journal into, of which reports are made. A "
        "relative path is below the project's data directory. False writes none.",
    )
    crawl: str | None = _optional(
        checks.namespace,
        "The name that the processes of one crawl share. None takes the spider's name and the "
        "time.",
    )
    report: str | None = _optional(
        _report,
        "Write a report of the crawl into this file at its end: a page (.html), data (.json), or "
        "every verdict as a row (.csv, .jsonl, .parquet).",
    )
    item_fields: tuple[str, ...] | None = _optional(
        check_item_fields,
        "The fields whose text makes two items duplicates. Setting it adds the item pipeline.",
        owner="items",
    )
    item_action: str = _word(
        "drop",
        "drop mark",
        "What happens to a duplicate item: drop it, or write the verdict into its fields.",
        "items",
    )

    @property
    def similarity_of_revisits(self) -> float | None:
        """The least similarity of an unchanged revisit; None asks for equal texts, as where
        revisits are kept.
        """
        return self.revisit_similarity if self.revisit == "drop" else None

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read Scrapy's settings.

        Raises ConfigurationError, which names the setting and what it allows.
        """
        declared = crawl_settings()
        for name in settings:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in declared:
                # A setting that nothing reads would be thought to work.
                if name in _RENAMED:
                    raise ConfigurationError(f"{name} {_RENAMED[name]}")
                raise ConfigurationError(
                    f"{name} is not a setting of crawldedup{checks.did_you_mean(name, declared)}"
                )
        values = {each.name: _value(settings, name, each) for name, each in declared.items()}
        given = {name: value for name, value in values.items() if value is not None}
        given.setdefault("store", _default_store(settings))
        given.setdefault("volatile", True)
        given.setdefault(
            "workers",
            default_workers(given.get("extractor", declared[f"{PREFIX}EXTRACTOR"].default)),
        )
        options = cls(**given)
        if options.report and options.journal is False:
            raise ConfigurationError(
                f"{PREFIX}REPORT needs a journal, and {PREFIX}JOURNAL is False"
            )
        if options.rules and options.keep_per_cluster > 1:
            raise ConfigurationError(
                f"{PREFIX}RULES skips copies, and {PREFIX}KEEP_PER_CLUSTER wants some"
            )
        return options


def crawl_settings() -> dict[str, Option]:
    """Return all settings by their names."""
    declared = options_of(CrawlOptions)
    return {
        PREFIX + each.name.upper(): each
        for each in declared
        if each.owner not in ("library", "request")
    }


def default_workers(extractor: str) -> int:
    """Return one process less than there are cores, at most 4; one for extractors that keep up with
    Scrapy.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return 1 if extractor in ("blocks", "text") else max(1, min(4, cores - 1))


def _value(settings: BaseSettings, name: str, declared: Option) -> Any:
    value = settings.get(name)
    if value is None:
        return None
    # Scrapy's command line gives texts, and settings.py may say 1 for True.
    if isinstance(value, str) or (declared.kind is bool and isinstance(value, int)):
        value = declared.from_text(str(value))
    return declared.check(name, value)


def _default_store(settings: BaseSettings) -> str:
    if redis_url := settings.get("REDIS_URL"):
        return check_store_url("REDIS_URL", redis_url)
    # Not by Scrapy's job_dir, which makes the directory: interactive commands leave no trace.
    directory = settings.get("JOBDIR")
    return f"sqlite:///{quote(directory)}/crawldedup.sqlite" if directory else "memory://"


def is_interactive(crawler: Crawler) -> bool:
    """Return True in `scrapy shell`, `fetch`, `view`, `parse`, `check` and `bench`, once the engine
    is being built.

    Scrapy tells nobody which command runs, and takes its name out of ``sys.argv``. But the shell
    builds the engine before there is a spider, and the other commands put a `start` of their own
    into the spider's class.
    """
    spider = crawler.spider
    return spider is None or str(getattr(spider.start, "__module__", "")).startswith(
        "scrapy.commands."
    )


@contextmanager
def crawl_options(crawler: Crawler) -> Iterator[CrawlOptions]:
    """Build a component by the options of its crawl.

    Raises NotConfigured if crawldedup is disabled, or cannot start.

    What is wrong ends the crawl with the error's message alone. The error itself would come under a
    traceback, which Scrapy writes for whatever is raised at a crawl's start, by an add-on, too.
    """
    try:
        # A plugin that is switched off does not check its other settings.
        name = f"{PREFIX}ENABLED"
        if _value(crawler.settings, name, crawl_settings()[name]) is False:
            raise NotConfigured
        if not is_asyncio_available():
            raise ConfigurationError(
                "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default, "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'."
            )
        yield CrawlOptions.from_settings(crawler.settings)
    except ConfigurationError as error:
        end_unstarted(crawler, str(error))
        raise NotConfigured from None


def end_unstarted(crawler: Crawler, message: str) -> None:
    """Say why once, and close the spider before its first request: Scrapy cannot before the engine
    has started.

    The process of `scrapy crawl` ends with the exit status 1. In `scrapy shell`, which opens its
    spider later, the message is all.
    """

    async def engine_started() -> None:
        crawler.signals.disconnect(engine_started, signal=signals.engine_started)
        for reason in dict.fromkeys(reasons):
            say(crawler, logging.ERROR, reason)
        assert crawler.engine is not None
        if crawler.engine.spider is not None:
            await crawler.engine.close_spider_async(reason=CLOSE_REASON)
            # Other components start at the same signal, and may use the spider when they go on.
            for _ in range(100 if is_asyncio_available() else 0):
                await asyncio.sleep(0.001)
            # To Scrapy a crawler that is left without a spider is one that could not start.
            crawler.spider = None

    reasons = _reasons.setdefault(crawler, [])
    if not reasons:
        crawler.signals.connect(engine_started, signal=signals.engine_started, weak=False)
    reasons.append(message)
