"""Run the actions of ``scrapy dedup`` with the settings of a project."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from w3lib.url import is_url

from crawldedup.commands import indexes, pages
from crawldedup.commands.explain import explain
from crawldedup.commands.output import run_command
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.commands.fetching import fetch
from crawldedup.scrapy_plugin.items.text import named_identity, site_of_name
from crawldedup.scrapy_plugin.pipeline import items_index_of
from crawldedup.scrapy_plugin.policy import PagePolicy, job_of, reason_to_skip
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.sources import Source, readable_sources, under_url
from crawldedup.stores.registry import is_persistent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import Settings

    from crawldedup.commands.output import Output
    from crawldedup.scrapy_plugin.commands.fetching import Fetched


def run_action(
    action: str, names: list[str], given: argparse.Namespace, settings: Settings, process: CrawlerProcessBase
) -> int:
    """Run an action on pages of these names, and return its exit status as `run_command` does."""

    def run(output: Output) -> None:
        if given.spider:
            _take_settings_of(given.spider, settings, process)
        options = CrawlOptions.from_settings(settings)
        if given.items:
            options = items_index_of(options)
        _require_lasting(options, given.spider)

        def fetch_pages(urls: list[str]) -> list[Fetched]:
            return fetch(urls, name=given.spider or "dedup", settings=settings, process=process)

        with closing(Deduplicator.from_options(options)) as dedup:
            _ACTIONS[action](_Job(dedup, options, names, given, output, fetch_pages))

    return run_command(run, as_json=given.json)


@dataclass(frozen=True, slots=True)
class _Job:
    dedup: Deduplicator
    settings: CrawlOptions
    names: list[str]
    given: argparse.Namespace
    output: Output
    fetch: Callable[[list[str]], list[Fetched]]

    @property
    def scope_key(self) -> str | None:
        return self.given.spider if self.settings.scope == "spider" else None

    def pages(self) -> Iterator[Source]:
        return under_url(self._pages(), self.given.url)

    def _pages(self) -> Iterator[Source]:
        urls = [name for name in self.names if is_url(name)]
        fetched = {page.url: page for page in self.fetch(urls)} if urls else {}
        for name in self.names:
            if name not in fetched:
                yield from readable_sources([name], self.output.unreadable)
                continue
            try:
                yield _source_of(fetched[name], self.settings)
            except _NotCheckedError as error:
                self.output.skip(error.url, error)
            except PageError as error:
                self.output.unreadable(error)

    def names_to_forget(self) -> list[indexes.PageName]:
        if self.given.items:
            return [indexes.PageName(name, named_identity(name), self._scope_key_of_item(name)) for name in self.names]
        return [indexes.PageName(name, scope_key=self.scope_key) for name in self.names]

    def _scope_key_of_item(self, name: str) -> str | None:
        if self.settings.scope != "site":
            return self.scope_key
        if site := site_of_name(name) or site_of(self.given.url or ""):
            return site
        raise ConfigurationError(
            f"CRAWLDEDUP_SCOPE is 'site', and {name!r} does not tell its site: add --url with a URL of that site"
        )


class _NotCheckedError(PageError):
    """Raised for a response that crawls do not check, either."""

    def __init__(self, url: str, reason: str, message: str) -> None:
        self.url = url
        super().__init__(reason, message)


def _take_settings_of(spider: str, settings: Settings, process: CrawlerProcessBase) -> None:
    try:
        process.spider_loader.load(spider).update_settings(settings)
    except KeyError:
        known = ", ".join(sorted(process.spider_loader.list())) or "none"
        raise ConfigurationError(f"there is no spider {spider!r}; the project's spiders: {known}") from None


def _require_lasting(settings: CrawlOptions, spider: str | None) -> None:
    if not is_persistent(settings.store):
        raise ConfigurationError(
            "the project keeps its index in memory, where it ends with the crawl. Name a lasting one by "
            "CRAWLDEDUP_STORE, or the directory of a crawl that has one by -s JOBDIR=..."
        )
    if settings.scope == "spider" and spider is None:
        raise ConfigurationError(
            "CRAWLDEDUP_SCOPE is 'spider', so that each spider's pages are apart: add --spider NAME"
        )


def _source_of(page: Fetched, settings: CrawlOptions) -> Source:
    if page.answered is None:
        raise PageError("unreachable", f"{page.url} cannot be fetched: {page.error}")
    request, response = page.answered
    if skipped := reason_to_skip(request, response, settings.deny):
        message = f"crawls do not check such a response (status {response.status})"
        raise _NotCheckedError(response.url, skipped, message)
    job = job_of(request, response, PagePolicy.of_crawl(settings))
    return Source(job.url, html=job.html(), text=job.text(), encoding=job.encoding, canonical=job.canonical())


_ACTIONS: Final[dict[str, Callable[[_Job], None]]] = {
    "check": lambda job: pages.check_as_crawl(
        job.dedup, job.pages(), job.output, remember=job.given.remember, scope_key=job.scope_key
    ),
    "explain": lambda job: explain(job.dedup, job.pages(), job.output, scope_key=job.scope_key),
    "forget": lambda job: indexes.forget(job.dedup, job.names_to_forget(), job.output),
    "info": lambda job: indexes.info(job.dedup, job.output),
    "prune": lambda job: indexes.prune(job.dedup, job.output, hint="set CRAWLDEDUP_TTL or CRAWLDEDUP_MAX_PAGES"),
    "clear": lambda job: indexes.clear(job.dedup, job.output, yes=job.given.yes),
}
