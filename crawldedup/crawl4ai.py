"""Recognize duplicates in a crawl4ai crawl: add verdicts to results, or drop the duplicates."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

from crawldedup.adapter import HTML, MARK, CrawlDeduplicator
from crawldedup.aio import asynchronous


class DedupResults(CrawlDeduplicator):
    """Marks the duplicates among results, or with `action="drop"` leaves them out.

    The verdict is in `result.metadata["crawldedup"]`. Results that can't be judged, such as failed
    pages, pass.

    Example:
        async with DedupResults("sqlite:///seen.sqlite") as dedup, AsyncWebCrawler() as crawler:
            config = CrawlerRunConfig(stream=True)
            async for result in dedup.marked(await crawler.arun_many(urls, config)):
                if not is_duplicate(result):
                    print(result.url)
    """

    async def marked(self, results: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Yield the results of `arun`, `arun_many` or a deep crawl with their verdicts.

        With `action="drop"`, results that can be ignored are left out: see `is_duplicate`. A page
        counts as delivered once the next one is requested.
        """
        async for result in asynchronous(results):
            await self.mark(result)
            if self.options.action == "drop" and is_duplicate(result):
                continue
            yield result
            self.dedup.deliver(result.redirected_url or result.url)

    def watch(self, strategy: Any) -> Any:
        """Let a deep crawl strategy mark each result before its links are extracted, and return it.

        With `action="drop"`, the links of duplicates are not followed, except on start pages.
        """
        discover = strategy.link_discovery

        async def link_discovery(result: Any, *args: Any, **kwargs: Any) -> None:
            await self.mark(result)
            if not result.metadata.get(MARK, {}).get("dropped"):
                await discover(result, *args, **kwargs)

        strategy.link_discovery = link_discovery
        return strategy

    async def mark(self, result: Any) -> None:
        """Put the verdict into a result, unless it is there already.

        Only HTML pages that were loaded successfully (status 2xx) get one.
        """
        result.metadata = result.metadata or {}
        headers = {name.lower(): value for name, value in (result.response_headers or {}).items()}
        # Data and errors aren't checked, because they resemble each other. For a redirect, only the
        # status of its target counts.
        is_html = headers.get("content-type", HTML[0]).partition(";")[0].strip().lower() in HTML
        status = getattr(result, "redirected_status_code", None) or result.status_code or 200
        if MARK in result.metadata or not (
            result.success and result.html and is_html and 200 <= status < 300
        ):
            return
        url = result.redirected_url or result.url
        links = headers.get("link", "")
        depth = result.metadata.get("depth")
        result.metadata[MARK] = await self.judge(url, result.html, links=links, is_start=not depth)


def is_duplicate(result: Any) -> bool:
    """Return whether a result can be ignored.

    This is so if it's a copy, or with `revisit="drop"` if it's unchanged.
    """
    return bool((result.metadata or {}).get(MARK, {}).get("refused"))
