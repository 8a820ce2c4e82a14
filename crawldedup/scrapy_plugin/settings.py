"""The ``CRAWLDEDUP_*`` settings: the options of an index, and those of a crawl, read once and checked strictly."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from scrapy.settings import SETTINGS_PRIORITIES

from crawldedup import checks
from crawldedup.errors import ConfigurationError
from crawldedup.journal import check_crawl, check_journal
from crawldedup.options import Options, check_similarity, option, options_of
from crawldedup.scope import check_sites
from crawldedup.scrapy_plugin.items.text import ItemFields, check_item_fields
from crawldedup.scrapy_plugin.patterns import Pattern, check_patterns
from crawldedup.stores.registry import check_store_url

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from crawldedup.options import Option

PREFIX: Final = "CRAWLDEDUP_"

_crawl_option = partial(option, owner="crawl")

_MOST_WORKERS: Final = 4
# One process keeps up with Scrapy itself.
QUICK_EXTRACTORS: Final = ("blocks", "text")
"""Extractors that are faster than Scrapy."""


def _report(name: str, value: object) -> str:
    from crawldedup.report.render.files import check_path

    path = checks.string(name, value)
    check_path(name, Path(path))
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(Options):
    """The options of a crawl beside those of its index.

    `namespace` is "default" and not the project's BOT_NAME: the library, the command line and Scrapy look at the same
    index, and renaming a project does not lose it.
    """

    enabled: bool = _crawl_option(True, checks.flag, "Switch the plugin off with False.", kind=bool)
    action: str = _crawl_option(
        "drop-items",
        checks.one_of("drop", "drop-items", "mark"),
        "What happens to a duplicate: drop its items and follow its links (drop-items), drop the page (drop), or mark "
        "it (mark).",
    )
    keep_per_cluster: int = _crawl_option(
        1, checks.whole(1), "Let this many pages of one content pass, the original included.", kind=int
    )
    trusted_sites: frozenset[str] | None = _crawl_option(
        None,
        checks.optional(check_sites),
        "Sites that may own a text: duplicates of other sites' pages pass. None trusts all.",
    )
    deny: tuple[Pattern, ...] = _crawl_option(
        (), check_patterns, "Regular expressions of URLs whose pages are not checked."
    )
    prefer: tuple[Pattern, ...] | None = _crawl_option(
        None,
        checks.optional(check_patterns),
        "Regular expressions of the URLs to keep of several copies, best first. A better copy is delivered although a "
        "worse one was, and takes its place. An empty list keeps the first copy.",
    )
    canonical: str = _crawl_option(
        "compare",
        checks.one_of("ignore", "compare"),
        "With compare, a page's word on its canonical page counts: it is a duplicate of that page from a similarity on "
        "that is 0.1 lower. With ignore it does not count.",
    )
    wall: str = _crawl_option(
        "warn",
        checks.one_of("warn", "retry", "close", "ignore"),
        "What to do about a wall, such as a login form or a ban in place of many pages. Log it (warn), ask for such "
        "pages again later (retry), end the crawl (close), or do nothing (ignore).",
    )
    revisit: str = _crawl_option(
        "keep",
        checks.one_of("keep", "drop"),
        "With drop, a page that an earlier crawl has seen with the same text is treated as a duplicate.",
    )
    revisit_similarity: float | None = _crawl_option(
        None,
        checks.optional(check_similarity),
        "With revisit drop, a page counts as unchanged if it is at least so similar to the text that was delivered "
        "last. None asks for equal texts.",
        kind=float,
    )
    remember: bool = _crawl_option(
        True, checks.flag, "With False, pages are looked up and nothing is added.", kind=bool
    )
    rules: str | None = _crawl_option(
        None,
        checks.optional(checks.string),
        "A file of URL rules, which `crawldedup advise --output` writes. Requests that a rule calls copies are skipped "
        "once a copy of their page is confirmed, and one in twenty of them is fetched as a check.",
    )
    on_error: str = _crawl_option(
        "pass",
        checks.one_of("pass", "fail"),
        "What to do while the store or a worker fails: let pages pass unchecked (pass), or end the crawl (fail).",
    )
    workers: int = _crawl_option(
        None,
        checks.optional(checks.whole(1)),
        "The number of processes that read pages and ask the store. None chooses by extractor and cores.",
        kind=int,
    )
    page_seconds: int = _crawl_option(30, checks.whole(1), "Give up a page that takes longer to read.", kind=int)
    stats_by_site: bool = _crawl_option(
        False, checks.flag, "Count checked, duplicate and dropped pages of each site, too, of 500 at most.", kind=bool
    )
    gc_freeze: bool = _crawl_option(
        True,
        checks.flag,
        "Exempt objects that exist at the start of the crawl from Python's full garbage collections, which stop the "
        "event loop.",
        kind=bool,
    )
    journal: str | bool = _crawl_option(
        "crawldedup",
        check_journal,
        "The directory, below the project's data directory, for the crawl's journal, of which reports are made. False "
        "writes none.",
    )
    journal_keep: int = _crawl_option(
        20,
        checks.whole(1),
        "How many crawls keep their journals in the directory, the present one included.",
        kind=int,
    )
    crawl: str | None = _crawl_option(
        None,
        checks.optional(check_crawl),
        "The name of the crawl, which the processes of one crawl share. None takes the spider's name and the time.",
    )
    report: str | None = _crawl_option(
        None,
        checks.optional(_report),
        "Write a report of the crawl into this file at its end: a page (.html), data (.json), or every verdict as a "
        "row (.csv, .jsonl, .parquet).",
    )
    item_fields: ItemFields | None = option(
        None,
        checks.optional(check_item_fields),
        "The fields whose text makes two items duplicates: a list, or a dict of item classes and such lists. "
        "Setting it adds the item pipeline.",
        owner="items",
    )
    item_action: str = option(
        "drop",
        checks.one_of("drop", "mark"),
        "What happens to a duplicate item: drop it, or write the verdict into its fields.",
        owner="items",
    )

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> CrawlOptions:
        """Read Scrapy's settings. Raises ConfigurationError, which names the setting and what it allows."""
        declared = crawl_settings()
        for name in settings:
            if isinstance(name, str) and name.startswith(PREFIX) and name not in declared:
                if name == f"{PREFIX}LEARN":
                    raise ConfigurationError(
                        f"{name} is gone: write rules by `crawldedup advise --output rules.json` after a crawl, set "
                        f'{PREFIX}RULES = "rules.json" for the next one'
                    )
                # A setting that nothing reads would be thought to work.
                hint = checks.did_you_mean(name, declared)
                raise ConfigurationError(f"{name} is not a setting of crawldedup{hint}")
        values = {each.name: _value(settings, name, each) for name, each in declared.items() if name in settings}
        given = {name: value for name, value in values.items() if value is not None}
        given.setdefault("store", _default_store(settings))
        given.setdefault("workers", default_workers(given.get("extractor", declared[f"{PREFIX}EXTRACTOR"].default)))
        options = cls(**given)
        if options.report and options.journal is False:
            raise ConfigurationError(f"{PREFIX}REPORT needs a journal, and {PREFIX}JOURNAL is False")
        return options


def crawl_settings() -> dict[str, Option]:
    """Return all settings by their names."""
    return {PREFIX + each.name.upper(): each for each in options_of(CrawlOptions) if each.owner != "library"}


def is_enabled(settings: BaseSettings) -> bool:
    """Read ``CRAWLDEDUP_ENABLED`` alone: a plugin that is switched off does not check its other settings."""
    name = f"{PREFIX}ENABLED"
    value = _value(settings, name, crawl_settings()[name])
    return value is None or bool(value)


def default_workers(extractor: str) -> int:
    """Return one process less than there are cores, at most 4; one for a quick extractor."""
    if extractor in QUICK_EXTRACTORS:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MOST_WORKERS, cores - 1))


def _value(settings: BaseSettings, name: str, declared: Option) -> Any:
    """Return the checked value of a setting, or None if it is not set."""
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
    if directory := settings.get("JOBDIR"):
        return f"sqlite:///{quote(directory)}/crawldedup.sqlite"
    return "memory://"


def is_interactive(crawler: Crawler) -> bool:
    """Return True in `scrapy shell`, `fetch`, `view`, `parse`, `check` and `bench`, once the engine is being built.

    Scrapy tells nobody which command runs, and takes its name out of ``sys.argv``. But the shell builds the
    engine before there is a spider, and the other commands put a `start` of their own into the spider's class.
    """
    if crawler.spider is None:
        return True
    return str(getattr(crawler.spider.start, "__module__", "")).startswith("scrapy.commands.")


def options_for_inspection(options: CrawlOptions, crawler: Crawler) -> CrawlOptions:
    """Return the options for such a command: nothing is remembered, unless the command line itself says so."""
    priority = crawler.settings.getpriority(f"{PREFIX}REMEMBER")
    if options.remember and priority is not None and priority >= SETTINGS_PRIORITIES["cmdline"]:
        return options
    return replace(options, remember=False)
