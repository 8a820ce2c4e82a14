"""Recognize duplicates in a Crawlee crawl, with a hook that runs between load and handler."""

from typing import Any

from crawldedup.adapter import HTML, MARK, CrawlDeduplicator
from crawldedup.errors import MissingDependencyError
from crawldedup.reading.charsets import label_in_type
from crawldedup.verdict import MainText

try:
    from crawlee import RequestState
    from crawlee.errors import ContextPipelineInterruptedError
except ImportError as error:
    raise MissingDependencyError.of_extra(
        "crawlee", f"{error}; crawldedup.crawlee needs"
    ) from error


class DedupHook(CrawlDeduplicator):
    """Marks the duplicates of a crawl, or hides them from the handler with `action="drop"`.

    The verdict is in `context.request.user_data["crawldedup"]`. The crawler is done with a dropped
    page, and doesn't follow its links. Start pages are never dropped. The hook works with HTTP
    crawlers as well as with browsers.

    Example:
        async with DedupHook("sqlite:///seen.sqlite") as dedup:
            crawler = ParselCrawler()
            crawler.post_navigation_hook(dedup)

            @crawler.router.default_handler
            async def handle(context):
                await context.enqueue_links()
                if not is_duplicate(context):
                    await context.push_data({"url": context.request.url})

            await crawler.run(["https://example.com/"])
    """

    def __init__(self, store: str = "memory://", *, action: str = "mark", **options: Any) -> None:
        super().__init__(store, action=action, **options)
        # The main texts of pages whose handlers are running, by request.
        self._texts: dict[str, MainText] = {}

    async def __call__(self, context: Any) -> None:
        """Judge the page of a context, and put the verdict into the data of its request.

        Only HTML pages that a GET request loaded successfully (status 2xx) are judged. Raises
        ContextPipelineInterruptedError if the page is dropped.
        """
        request = context.request
        response = getattr(context, "http_response", None) or context.response
        status = getattr(response, "status_code", None) or response.status
        headers = response.headers
        declared = headers.get("content-type", HTML[0])
        if (
            request.method != "GET"
            or not 200 <= status < 300
            or declared.partition(";")[0].strip().lower() not in HTML
        ):
            return
        # The content of a browser has no encoding.
        encoding = None if hasattr(context, "page") else label_in_type(declared)
        html = await (context.page.content() if hasattr(context, "page") else response.read())
        url = request.loaded_url or request.url
        links = headers.get("link", "")
        mark = await self.judge(url, html, encoding, links=links, is_start=not request.crawl_depth)
        main = _main_of(mark)
        request.user_data[MARK] = mark
        if mark.get("dropped"):
            raise ContextPipelineInterruptedError(f"{url} is a copy of {mark['original']}")

        async def deliver() -> None:
            self._texts.pop(request.unique_key, None)
            if request.state is RequestState.DONE:
                self.dedup.deliver(url)

        if main is not None:
            self._texts[request.unique_key] = main
        context.register_deferred_cleanup(deliver)

    def text_of(self, context: Any) -> MainText | None:
        """Return the main text and the name of the page of a context, while its handler runs.

        It is None without the option `text`, if the page couldn't be judged, or after the handler
        has returned.
        """
        return self._texts.get(context.request.unique_key)


def is_duplicate(context: Any) -> bool:
    """Return whether the page of a context can be ignored.

    This is so if it's a copy, or with `revisit="drop"` if it's unchanged.
    """
    return bool(context.request.user_data.get(MARK, {}).get("refused"))


def _main_of(mark: dict[str, Any]) -> MainText | None:
    """Remove the main text from a verdict, and return it, or None if there is none.

    It must not stay there, because a queue writes the data of its requests to disk.
    """
    text = mark.pop("text", None)
    name = mark.pop("name", None)
    return None if text is None else MainText(text, name)
