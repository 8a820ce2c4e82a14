"""What ``scrapy dedup`` does: the actions of the ``crawldedup`` program, with the settings of a project."""

from __future__ import annotations

import argparse
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text
from w3lib.url import is_url

from crawldedup.cli import commands, moving
from crawldedup.cli.output import print_error, print_forgotten, print_json, status_of
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.facts.page_facts import page_facts, text_facts
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.printable import counted, printable
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.commands.fetching import fetch
from crawldedup.scrapy_plugin.commands.looking import LookOnly
from crawldedup.scrapy_plugin.items.text import named_identity, site_of_name
from crawldedup.scrapy_plugin.middleware import deduplicator_for
from crawldedup.scrapy_plugin.pipeline import items_index_of
from crawldedup.scrapy_plugin.policy import PagePolicy, UrlPatterns, canonical_of, page_of, reason_to_skip
from crawldedup.scrapy_plugin.settings import DedupSettings
from crawldedup.sources import Source
from crawldedup.stores.base import shown_url
from crawldedup.stores.registry import require_index
from crawldedup.text.decode import tidy
from crawldedup.text.extract import extract_page, get_extractor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import Settings

    from crawldedup.explain import Explanation
    from crawldedup.scrapy_plugin.commands.fetching import Fetched
    from crawldedup.verdict import Verdict

_SHOWN_TEXT = 200
_SHOWN_CANDIDATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What an action works with. `spider` is the name of the spider whose settings count, None for the project's."""

    pages: list[str]
    url: str | None
    remember: bool
    items: bool
    yes: bool
    json: bool
    settings: DedupSettings
    spider: str | None
    fetch: Callable[[list[str]], list[Fetched]]
    out: Console
    err: Console

    def scope_key(self, url: str) -> str:
        """Names the pages that a page is compared with, as `policy.scope_key_of` does for a response."""
        if self.settings.scope == "spider":
            assert self.spider is not None
            return self.spider
        return site_of(url) if self.settings.scope == "site" else ""

    def scope_key_of_item(self, name: str) -> str:
        """The same, of the item with this URL or other name. Raises ConfigurationError where its site is not told."""
        if self.settings.scope != "site":
            return self.scope_key(name)
        if site := site_of_name(name) or site_of(self.url or ""):
            return site
        raise ConfigurationError(
            f"CRAWLDEDUP_SCOPE is 'site', and {name!r} does not tell its site: add --url with a URL of that site"
        )

    def require_index(self) -> None:
        """Raise ConfigurationError, which names the indexes that there are, unless this one is there."""
        require_index(self.settings.store, self.settings.namespace)

    def options(self) -> argparse.Namespace:
        """The same for the actions of the ``crawldedup`` program."""
        values = asdict(self.settings) | {"yes": self.yes, "json": self.json}
        if self.settings.min_words is None:
            values["min_words"] = MIN_WORDS
        return argparse.Namespace(**values)


def run_action(
    action: str, pages: list[str], opts: argparse.Namespace, settings: Settings, process: CrawlerProcessBase
) -> int:
    """Run an action; the exit status, as of the ``crawldedup`` program."""
    out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)

    def act() -> int:
        if opts.spider:
            _take_settings_of(opts.spider, settings, process)
        dedup_settings = DedupSettings.from_settings(settings)
        if opts.items:
            dedup_settings = items_index_of(dedup_settings)
        _require_index(dedup_settings, opts.spider)
        job = Job(
            pages=pages,
            url=opts.url,
            remember=opts.remember,
            items=opts.items,
            yes=opts.yes,
            json=opts.json,
            settings=dedup_settings,
            spider=opts.spider,
            fetch=lambda urls: fetch(urls, name=opts.spider or "dedup", settings=settings, process=process),
            out=out,
            err=err,
        )
        return _ACTIONS[action](job)

    return status_of(act, err)


def _take_settings_of(spider: str, settings: Settings, process: CrawlerProcessBase) -> None:
    try:
        process.spider_loader.load(spider).update_settings(settings)
    except KeyError:
        known = ", ".join(sorted(process.spider_loader.list())) or "none"
        raise ConfigurationError(f"there is no spider {spider!r}; the project's spiders: {known}") from None


def _require_index(settings: DedupSettings, spider: str | None) -> None:
    if settings.store == "memory://":
        raise ConfigurationError(
            "the project keeps its index in memory, where it ends with the crawl. Name a lasting one by "
            "CRAWLDEDUP_STORE, or the directory of a crawl that has one by -s JOBDIR=..."
        )
    if settings.scope == "spider" and spider is None:
        raise ConfigurationError(
            "CRAWLDEDUP_SCOPE is 'spider', so that each spider's pages are apart: add --spider NAME"
        )


def _check(job: Job) -> int:
    if not job.remember:
        job.require_index()
    found = _Found(job)
    with closing(deduplicator_for(job.settings)) as dedup:
        for named in found:
            url = named.source.url
            with found.counted(url):
                page = named.source.read(dedup.reader)
                verdict = dedup.check_fingerprint(
                    url, page, scope_key=job.scope_key(url), canonical=named.canonical, remember=job.remember
                )
                if job.json:
                    print_json(job.out, verdict.as_dict() | {"remembered": job.remember})
                else:
                    job.out.print(Text(_in_words(verdict)))
    return found.status


def _explain(job: Job) -> int:
    job.require_index()
    found = _Found(job)
    with LookOnly(job.settings) as index:
        for named in found:
            source = named.source
            with found.counted(source.url):
                page = source.read(index.reader)
                look = index.look(source.url, page, scope_key=job.scope_key(source.url), canonical=named.canonical)
                text, facts = _text_and_facts(source, job.settings)
                if job.json:
                    print_json(job.out, _as_dict(job, look, text, facts, thin=page.thin))
                else:
                    _print_look(job, look, text, facts, thin=page.thin)
    return found.status


def _forget(job: Job) -> int:
    job.require_index()
    named = [
        (name, named_identity(name), job.scope_key_of_item(name)) if job.items else (name, None, job.scope_key(name))
        for name in job.pages
    ]
    with closing(deduplicator_for(job.settings)) as dedup:
        removed = sum(dedup.forget(name, identity=identity, scope_key=key) for name, identity, key in named)
    print_forgotten(job.out, removed, len(named), as_json=job.json)
    return 0


def _prune(job: Job) -> int:
    if job.settings.ttl is None and job.settings.max_pages is None:
        raise ConfigurationError("there is nothing to prune by: set CRAWLDEDUP_TTL or CRAWLDEDUP_MAX_PAGES")
    return moving.prune(job.options(), job.out, job.err)


@dataclass(frozen=True, slots=True)
class _Named:
    """A page, and the URL that it names as its original where the project asks for that."""

    source: Source
    canonical: str | None = None


class _Found:
    """The pages that are named, fetched or read; of each one that cannot be had an error is printed."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self.status = 0

    def __iter__(self) -> Iterator[_Named]:
        urls = [name for name in self._job.pages if is_url(name)]
        fetched = {page.url: page for page in self._job.fetch(urls)} if urls else {}
        for name in self._job.pages:
            for named in self._answered(fetched[name]) if name in fetched else self._read(name):
                url = self._job.url or named.source.url
                yield replace(named, source=replace(named.source, url=url))

    @contextmanager
    def counted(self, url: str) -> Iterator[None]:
        """Go on with the next page after one that holds nothing to compare."""
        try:
            yield
        except PageError as error:
            self._skip(url, error.reason, str(error))

    def _read(self, name: str) -> Iterator[_Named]:
        found = commands.Found([name], self._job.err)
        yield from map(_Named, found)
        self.status = max(self.status, found.status)

    def _answered(self, page: Fetched) -> Iterator[_Named]:
        settings = self._job.settings
        if page.answered is None:
            self.status = 1
            print_error(self._job.err, PageError("unreachable", f"{page.url} cannot be fetched: {page.error}"))
            return
        request, response = page.answered
        urls = UrlPatterns(settings.allow, settings.deny)
        if skipped := reason_to_skip(request, response, judge_by_default=True, urls=urls):
            self._skip(response.url, skipped, f"crawls do not judge such an answer (status {response.status})")
        else:
            read = page_of(response)
            text = None if read.is_html else read.body.decode(read.encoding or "utf-8", "replace")
            source = Source(response.url, html=read.body if read.is_html else None, text=text, encoding=read.encoding)
            policy = PagePolicy(
                settings.action, settings.scope, settings.keep_per_cluster, canonical=settings.canonical
            )
            yield _Named(source, canonical_of(policy, response))

    def _skip(self, url: str, reason: str, message: str) -> None:
        if self._job.json:
            print_json(self._job.out, {"url": url, "skipped": reason, "message": message})
        else:
            self._job.out.print(Text(f"skipped ({reason}): {printable(url)}: {printable(message)}"))


def _in_words(verdict: Verdict) -> str:
    about = "" if verdict.similarity is None else f" ({verdict.similarity:.3f})"
    changed = " with another text" if verdict.changed else ""
    original = f" of {printable(verdict.original)}" if verdict.original and verdict.is_duplicate else ""
    return f"{verdict.kind}{about}{changed}: {printable(verdict.url)}{original}"


def _text_and_facts(source: Source, settings: DedupSettings) -> tuple[str, list[str]]:
    """The text that is compared, and what tells the page from others that read alike."""
    if source.text is not None:
        main = tidy(source.text)
        facts = text_facts(main, settings.distinguish)
    else:
        page = extract_page(
            source.html or b"",
            source.encoding,
            get_extractor(settings.extractor),
            min_words=MIN_WORDS if settings.min_words is None else settings.min_words,
        )
        main, facts = page.main, page_facts(page, settings.distinguish)
    return main, facts.split("\n") if facts else []


def _as_dict(job: Job, look: Explanation, text: str, facts: list[str], *, thin: bool) -> dict[str, Any]:
    settings = job.settings
    return {
        **look.verdict.as_dict(),
        "thin": thin,
        "text": text[:_SHOWN_TEXT],
        "facts": facts,
        "store": shown_url(settings.store),
        "namespace": settings.namespace,
        "pages": look.pages,
        "scope": settings.scope,
        "scope_key": job.scope_key(look.verdict.url),
        "wanted_similarity": look.similarity,
        "wanted_recall": settings.recall,
        "threshold": look.threshold,
        "limit": look.limit,
        "compared": [candidate.as_dict() for candidate in look.candidates],
    }


def _print_look(job: Job, look: Explanation, text: str, facts: list[str], *, thin: bool) -> None:
    settings, verdict = job.settings, look.verdict
    store = printable(shown_url(settings.store))
    scope_key = job.scope_key(verdict.url)
    accepted = (
        "an exact copy only, for the page is thin"
        if thin
        else f"a cost of at most {look.limit}"
        + ("" if look.threshold is None else f", an estimated similarity of about {look.threshold:.3f}")
        + f", to find pages from {look.similarity:g} on with a recall of {settings.recall:g}"
    )
    lines = [
        _in_words(verdict),
        f"  text       {verdict.words} words: {printable(' '.join(text.split()), _SHOWN_TEXT)}",
        *(f"  fact       {printable(fact, _SHOWN_TEXT)}" for fact in facts),
        f"  index      {store}, namespace {settings.namespace}, {counted(look.pages, 'page')}",
        f"  scope      {settings.scope}{f': {printable(scope_key)}' if scope_key else ''}",
        f"  search     {counted(verdict.probes, 'range')} read, {counted(verdict.candidates, 'page')} compared",
        f"  accepted   {accepted}",
    ]
    for candidate in look.candidates[:_SHOWN_CANDIDATES]:
        match = candidate.match
        judged = "same text" if match.exact else "accepted" if candidate.accepted else "refused"
        lines.append(
            f"  {judged:9}  similarity {match.similarity:.3f}, cost {candidate.cost}, "
            f"{match.hamming} search bits differ: {printable(match.url) or 'a page without URL'}"
        )
    if (more := len(look.candidates) - _SHOWN_CANDIDATES) > 0:
        lines.append(f"             and {more} more")
    job.out.print(Text("\n".join(lines)))


_ACTIONS: dict[str, Callable[[Job], int]] = {
    "check": _check,
    "explain": _explain,
    "forget": _forget,
    "info": lambda job: commands.info(job.options(), job.out, job.err),
    "prune": _prune,
    "clear": lambda job: commands.clear(job.options(), job.out, job.err),
}
