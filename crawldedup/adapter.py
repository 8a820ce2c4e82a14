"""What the adapters for other crawlers have in common.

They judge pages like a Scrapy crawl, with the same options except for those in `SCRAPY_ALONE`.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Self

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.checks import refused
from crawldedup.crawling.copies import Copies
from crawldedup.crawling.options import OWN_TEXT, CrawlOptions
from crawldedup.crawling.outcomes import Fate, decide, key_of
from crawldedup.crawling.repeated import RepeatedLines
from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError
from crawldedup.options import options_of
from crawldedup.page import Page
from crawldedup.reading.shells import SHELL
from crawldedup.scope import site_of
from crawldedup.text import printable
from crawldedup.verdict import mark_of_sibling

MARK: Final = "crawldedup"  # the name under which a page carries its verdict
HTML: Final = ("text/html", "application/xhtml+xml")
ACTIONS: Final = ("mark", "drop")
SCRAPY_ALONE: Final = (
    "budget",
    "crawl",
    "enabled",
    "item_action",
    "item_fields",
    "journal",
    "on_error",
    "postpone",
    "reloads",
    "report",
    "rules",
    "set_aside",
    "unchecked_urls",
    "wall",
)
"""The options that only work in Scrapy, because they affect its requests, items or files."""

_MOST_SITES: Final = 100

_log: Final = logging.getLogger("crawldedup")


class CrawlDeduplicator:
    """Judges the pages of a crawl.

    Pages that can't be judged pass. `counts` has the number of verdicts of each kind, of siblings
    by mark, and of pages that couldn't be judged by reason.

    Args:
        store: The URL of the store.
        action: With "mark", pages carry their verdicts. With "drop", the adapter also drops
            duplicates.
        **options: The settings of a Scrapy crawl, in small letters and without CRAWLDEDUP_, such as
            `revisit`.

    Raises:
        ConfigurationError: A value isn't allowed, or an option doesn't exist or only works in
            Scrapy.
    """

    def __init__(self, store: str = "memory://", *, action: str = "mark", **options: Any) -> None:
        values = {"volatile": True, "workers": 1, **options, "store": store, "action": action}
        _check_options(values)
        self.options = CrawlOptions.from_values(values)
        self.dedup = AsyncDeduplicator.from_options(
            self.options, workers=self.options.workers, page_seconds=self.options.page_seconds
        )
        self._copies = Copies(self.options.prefer, self.options.trusted_sites)
        self._repeated = RepeatedLines()
        self._seen: set[int] = set()
        self._shells: set[str] = set()  # Sites whose pages a script has yet to fill.
        self.counts: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        await self.dedup.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.dedup.close()

    async def judge(
        self,
        url: str,
        html: bytes | str,
        encoding: str | None = None,
        *,
        links: str = "",
        is_start: bool = False,
    ) -> dict[str, Any]:
        """Judge a page, and return the verdict as plain values, with `refused` and `dropped`.

        `refused` says whether the page can be ignored, and `dropped` whether it is dropped, which
        a start page never is. With the option `text`, the main `text` of the page and its `name`
        are included. If the page can't be judged, the failure is counted and logged, and the result
        is empty: errors of reading or of the store aren't raised.

        Args:
            url: The URL of the page.
            html: Its HTML.
            encoding: The encoding that the server declares.
            links: Its Link header.
            is_start: Whether the crawl starts here. Copies on the sites of such pages are better
                than others.
        """
        options = self.options
        if is_start:
            self._copies.start_at(url)
        asked: dict[str, Any] = {"similarity": options.similarity, "remember": options.remember}
        asked["revisit_similarity"] = options.similarity_of_revisits
        page = Page(url, html=html, encoding=encoding, delivered=False, **asked)
        try:
            is_lenient = options.canonical == "compare"
            prepare = self._copies.preparer(url, [links], is_lenient=is_lenient)
            judged = await self.dedup.judge(page, prepare, with_text=bool(options.text))
        except Exception as error:
            self._count_failure(url, error)
            return {}
        verdict = judged.verdict
        main = judged.read.main
        key = key_of(page)
        outcome = decide(verdict, options, seen=key in self._seen)
        if not (verdict.is_duplicate or outcome.unchanged):
            self._seen.add(key)
        self.counts[verdict.kind] += 1
        if sibling := mark_of_sibling(verdict):
            self.counts[f"siblings/{sibling}"] += 1
        mark: dict[str, Any] = wire.plain(verdict)
        if main is not None:
            text = main.text
            if options.text == OWN_TEXT:
                text = self._repeated.own_text(url, main, is_copy=verdict.is_duplicate)
            mark |= {"text": text, "name": main.name}
        # The links of a start page must be followed.
        return mark | {
            "refused": outcome.refused,
            "dropped": outcome.fate is Fate.DROPPED and not is_start,
        }

    def _count_failure(self, url: str, error: Exception) -> None:
        """Count a page that passes unchecked, and log the first failure of each kind.

        A page that a script has yet to fill is logged once for each site, for up to 100 sites.
        """
        kind = (
            error.reason
            if isinstance(error, PageError)
            else getattr(error, "counter", CrawlDedupError.counter)
        )
        what = "a page"
        is_first = not self.counts[kind]
        if kind == SHELL:
            site = site_of(url)
            what = f"{url} (give {site} a browser that waits for the content)"
            is_first = site not in self._shells and len(self._shells) < _MOST_SITES
            if is_first:
                self._shells.add(site)
        if is_first:
            _log.warning(
                "crawldedup: %s passes unchecked (logged only once; the stats count the rest): %s",
                printable(what),
                printable(str(error)),
            )
        self.counts[kind] += 1


def _check_options(values: Mapping[str, object]) -> None:
    """Raise ConfigurationError for an unknown action, and for an option that only works in Scrapy.

    Such an option may be given if it has its default value.
    """
    if values["action"] not in ACTIONS:
        raise refused("action", values["action"], f"one of {', '.join(ACTIONS)}")
    for option in options_of(CrawlOptions):
        is_set = values.get(option.name, option.default) != option.default
        if is_set and option.name in SCRAPY_ALONE:
            others = ", ".join(name for name in SCRAPY_ALONE if name != option.name)
            raise ConfigurationError(
                f"the option {option.name!r} only has an effect in Scrapy, and so have {others}: "
                "leave it out"
            )
