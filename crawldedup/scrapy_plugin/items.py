"""Drop or mark items: those of duplicate pages, and those whose own text repeats an earlier item.

Comparing texts is the work of the pipeline, which needs nothing but ``ITEM_PIPELINES =
{"crawldedup.DedupItemPipeline": 400}`` and ``CRAWLDEDUP_ITEM_FIELDS``. It works with and without
the middleware, on a separate index next to that of the pages. `add_verdict` and `add_text` write
what is known about a page into fields of its items.
"""

import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, Self, TypeVar

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.crawling.options import CrawlOptions
from crawldedup.crawling.outcomes import Fate, decide
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.html import MAX_BYTES
from crawldedup.scrapy_plugin.meta import DROP_ITEMS_KEY, NAME_KEY, TEXT_KEY, VERDICT_KEY
from crawldedup.scrapy_plugin.overrides import changed
from crawldedup.scrapy_plugin.responses import scope_key_of
from crawldedup.scrapy_plugin.set_aside import SetAside
from crawldedup.scrapy_plugin.settings import PREFIX, crawl_options, is_interactive
from crawldedup.scrapy_plugin.signals import say
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.urls import canonical_url
from crawldedup.verdict import Kind, Verdict, describe

Item = TypeVar("Item")

VERDICT_FIELDS: Final = {
    "kind": "dedup_kind",
    "original": "dedup_original",
    "similarity": "dedup_similarity",
}
"""The parts of a verdict that `add_verdict` writes by default, and the item fields they go into."""

TEXT_FIELDS: Final = {"text": "text", "name": "name"}
"""The parts of a page that `add_text` writes by default, and the item fields they go into."""

_PARTS: Final = tuple(wire.plain(Verdict(Kind.NEW, "")))
_WEB_URL: Final = re.compile(r"https?://", re.IGNORECASE)
# An end tag, or an element that has none: almost every fragment of a page has one, and prose about
# HTML seldom does.
_MARKUP: Final = re.compile(r"</[a-z][a-z0-9]*\s*>|<(?:br|p|hr|img)\b[^<>]*>", re.IGNORECASE)


class DuplicateItemError(DropItem):
    """Raised for an item that is dropped as a duplicate. Its `verdict` names the original."""

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason, log_level="DEBUG")


class DropItemsMiddleware(BaseSpiderMiddleware):
    """Drops the items of pages that the downloader middleware has marked.

    No pipeline sees these items. With ``CRAWLDEDUP_SET_ASIDE``, they are saved in a file, and an
    item that can't be saved isn't dropped.
    """

    _aside: SetAside | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware from Scrapy's settings, which `DedupMiddleware` checks."""
        middleware = cls(crawler)
        if path := crawler.settings.get(f"{PREFIX}SET_ASIDE"):
            middleware._aside = SetAside(crawler, path)
            crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        return middleware

    def spider_closed(self) -> None:
        """Close the file of items that were set aside."""
        if self._aside is not None:
            self._aside.close()

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        meta = {} if response is None or response.request is None else response.request.meta
        if not meta.get(DROP_ITEMS_KEY):
            return item
        if self._aside is not None and not self._aside.put(item, meta[VERDICT_KEY]):
            return item
        self.crawler.stats.inc_value("crawldedup/items_dropped")
        return None

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Remove the text of a page from the meta of a new request, and return the request.

        Spiders copy the meta of a page to the requests that they make. Thousands of such requests
        may be waiting, some of them on disk.
        """
        if response is not None and request is not response.request:
            request.meta.pop(TEXT_KEY, None)
            request.meta.pop(NAME_KEY, None)
        return request


def add_verdict(
    item: Item, source: Response | Verdict | None, fields: Mapping[str, str] = VERDICT_FIELDS
) -> Item:
    """Write parts of a verdict into fields of an item, and return the item.

    If the page wasn't judged, all fields are None, so all items of an export have the same
    columns.

    Args:
        item: An item of any kind that Scrapy knows.
        source: The response whose page was judged, or the verdict itself.
        fields: The names in the JSON of a verdict, and the field that each goes into.

    Raises:
        ConfigurationError: A verdict has no such part, or the item lacks a field or doesn't accept
            a value.

    Example:
        >>> from crawldedup import Kind, Verdict, add_verdict
        >>> url, original = "https://b.example/", "https://a.example/"
        >>> verdict = Verdict(Kind.EXACT_DUPLICATE, url, original, similarity=1.0)
        >>> add_verdict({"title": "Closed"}, verdict)  # doctest: +NORMALIZE_WHITESPACE
        {'title': 'Closed', 'dedup_kind': 'exact_duplicate',
         'dedup_original': 'https://a.example/', 'dedup_similarity': 1.0}
        >>> add_verdict({"title": "Closed"}, verdict, {"original": "first_seen_at"})
        {'title': 'Closed', 'first_seen_at': 'https://a.example/'}
    """
    if unknown := [part for part in fields if part not in _PARTS]:
        raise ConfigurationError(
            f"a verdict has no part {unknown[0]!r}; it has {', '.join(_PARTS)}"
        )
    verdict = source
    if isinstance(source, Response):
        # A response without a request has no meta to ask.
        verdict = source.request.meta.get(VERDICT_KEY) if source.request is not None else None
    parts = wire.plain(verdict) if isinstance(verdict, Verdict) else {}
    _write(item, {field: parts.get(part) for part, field in fields.items()}, "verdict")
    return item


def add_text(
    item: Item, response: Response | None, fields: Mapping[str, str] = TEXT_FIELDS
) -> Item:
    """Write the main text and the name of a page into fields of an item, and return the item.

    They are available with ``CRAWLDEDUP_TEXT``. If the page wasn't checked, all fields are None.

    Args:
        item: An item of any kind that Scrapy knows.
        response: The response whose page was checked.
        fields: "text" and "name", and the field that each goes into. A part that is left out
            is not written.

    Raises:
        ConfigurationError: A page has no such part, or the item lacks a field or doesn't accept a
            value.

    Example:
        >>> from crawldedup import add_text
        >>> from scrapy.http import HtmlResponse, Request
        >>> meta = {"crawldedup_text": "It leaves at noon.", "crawldedup_name": "Ferry"}
        >>> request = Request("https://news.example/", meta=meta)
        >>> response = HtmlResponse("https://news.example/", request=request)
        >>> add_text({"id": 7}, response, {"name": "title", "text": "body"})
        {'id': 7, 'title': 'Ferry', 'body': 'It leaves at noon.'}
    """
    if unknown := [part for part in fields if part not in TEXT_FIELDS]:
        raise ConfigurationError(
            f"there is no {unknown[0]!r} to write; there are {', '.join(TEXT_FIELDS)}"
        )
    # A response without a request has no meta to ask.
    request = None if response is None else response.request
    meta = {} if request is None else request.meta
    parts = {"text": meta.get(TEXT_KEY), "name": meta.get(NAME_KEY)}
    _write(item, {field: parts[part] for part, field in fields.items()}, "text")
    return item


def _write(item: Any, values: Mapping[str, Any], noun: str) -> None:
    """Write values into the fields of an item.

    Raises:
        ConfigurationError: The item lacks a field, or doesn't accept a value.
    """
    try:
        for field, value in values.items():
            ItemAdapter(item)[field] = value
    # The classes belong to the user, and their validators may raise anything.
    except Exception as error:
        raise ConfigurationError(
            f"{type(item).__qualname__} does not accept its {noun} ({type(error).__name__}: "
            f"{error}); declare the fields {', '.join(values)} so that they can be set and can be "
            "None, or write to other fields"
        ) from error


class DedupItemPipeline:
    """Checks the text of every item, and drops or marks the items that repeat an earlier one.

    The text is made of the fields in ``CRAWLDEDUP_ITEM_FIELDS``. An item that can't be checked
    passes, and is counted.
    """

    def __init__(self, crawler: Crawler, options: CrawlOptions, dedup: AsyncDeduplicator) -> None:
        self._crawler = crawler
        self._options = options
        self._dedup = dedup
        self._policy = changed(options, action=options.item_action, revisit="keep")
        self._stats = CrawlStats(crawler, options, "item")
        self._aside = None if options.set_aside is None else SetAside(crawler, options.set_aside)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline from Scrapy's settings.

        Raises NotConfigured if they are invalid, if crawldedup is disabled, and in interactive
        commands.
        """
        # `scrapy parse --pipelines` shows the items of a single page to a person, and these do not
        # belong to a crawl.
        if is_interactive(crawler):
            raise NotConfigured
        with crawl_options(crawler) as options:
            options = items_index_of(options)
            dedup = AsyncDeduplicator.from_options(options, page_seconds=options.page_seconds)
        return cls(crawler, options, dedup)

    async def open_spider(self) -> None:
        """Open the index of items when the crawl starts.

        Texts are read in this process, so no worker is started for them.
        """
        known = None
        try:
            known = (await self._dedup.info()).pages
        except Exception as error:
            if self._stats.ends_at_start(error):
                return
        self._stats.begin(known)

    async def close_spider(self) -> None:
        """Close the index once the queued items are done, and log the summary."""
        await self._dedup.close()
        self._stats.end()
        if self._aside is not None:
            self._aside.close()

    async def process_item(self, item: Any) -> Any:
        """Check an item, and return it, with its verdict if the action is "mark".

        An item that can't be checked is returned as well. Raises DuplicateItemError to drop an
        item.
        """
        verdict = None
        try:
            judged = await self._dedup.judge(self._page_of(item))
        except Exception as error:
            self._stats.failed("an item", error)
        else:
            verdict = judged.verdict
            outcome = decide(judged.verdict, self._policy)
            self._stats.checked(judged, outcome)
            if verdict.is_duplicate:
                reason = describe(verdict, unnamed="an item without URL")
                done = outcome.done
                if outcome.fate is Fate.DROPPED:
                    if self._may_drop(item, verdict):
                        raise DuplicateItemError(reason, verdict)
                    done = "delivers"
                say(
                    self._crawler,
                    logging.DEBUG,
                    f"{done} {verdict.url or 'an item without URL'}: {reason}",
                )
        if self._options.item_action == "mark" and ItemAdapter.is_item(item):
            try:
                add_verdict(item, verdict)
            except ConfigurationError as error:
                self._stats.count("error/mark")
                self._stats.explain(f"mark {type(item)}", str(error))
        return item

    def _may_drop(self, item: Any, verdict: Verdict) -> bool:
        return self._aside is None or self._aside.put(item, verdict)

    def _page_of(self, item: Any) -> Page:
        """Return the page by which an item is checked.

        Raises PageError if it isn't an item, has no text in one of the fields, or belongs to no
        site although the scope is "site".
        """
        if not ItemAdapter.is_item(item):
            raise PageError(
                "not_an_item", (f"{type(item)} is not a type that Scrapy accepts as an item")
            )
        assert self._options.item_fields is not None
        assert self._crawler.spider is not None  # items come from open spiders only
        texts = texts_of(item, self._options.item_fields)
        url, identity = identity_in(item)
        scope_key = scope_key_of(self._options.scope, url, self._crawler.spider.name)
        if self._options.scope == "site" and not scope_key:
            # Without a site, such items would be compared across all sites.
            raise PageError(
                "no_site",
                "CRAWLDEDUP_SCOPE is 'site', but the item has no field 'url' to tell its site",
            )
        # A single text with markup is read like a page, with its tables and headings.
        is_page = len(texts) == 1 and _MARKUP.search(texts[0])
        content: dict[str, Any] = {"html": texts[0]} if is_page else {"text": bare_text(texts)}
        content["title"] = title_in(item)
        return Page(
            url, identity=identity, scope_key=scope_key, remember=self._options.remember, **content
        )


def items_index_of(options: CrawlOptions) -> CrawlOptions:
    """Return the options for the separate index in which items are compared.

    It has its own namespace, so items and pages are never compared. Items are texts, so the
    extractor for pages isn't part of the index's profile and can be changed. Raises
    ConfigurationError if no fields are named.
    """
    if options.item_fields is None:
        example = f'{PREFIX}ITEM_FIELDS = ["title", "body"]'
        raise ConfigurationError(
            f"{PREFIX}ITEM_FIELDS is not set; name the fields whose text is compared, as in "
            f"{example}."
        )
    return replace(
        options, namespace=f"{options.namespace}.items", extractor="text", paragraphs=None
    )


def texts_of(item: Any, fields: Sequence[str]) -> list[str]:
    """Return the texts in the fields of an item that are compared.

    All fields have to be there. Otherwise, an item whose article the spider couldn't find would
    only be compared by its title. Raises PageError: `no_field`, `field_type` or `too_large`.
    """
    texts = [
        _text_of(field, _value_in(item, field)).encode("utf-8", "replace").decode()
        for field in fields
    ]
    if missing := [field for field, text in zip(fields, texts, strict=True) if not text.strip()]:
        raise PageError("no_field", f"the field {missing[0]!r} is missing or empty")
    if (size := sum(map(len, texts))) > MAX_BYTES:
        raise PageError("too_large", f"the text has {size:,} letters")
    return texts


def bare_text(texts: list[str]) -> str:
    """Return the visible text of all fields together, without any markup.

    The fields are parsed one by one. Parsed together, a comment or script that one of them leaves
    open would swallow everything after it, and items that share a teaser would become copies of
    each other. Raises PageError, `empty`, if a field has no visible text.
    """
    text_of = get_extractor("text")
    bare = [
        extract_page(text, None, text_of, min_words=1).main if _MARKUP.search(text) else text
        for text in texts
    ]
    if not all(bare):
        raise PageError("empty", "one of the fields contains nothing but markup")
    return "\n".join(bare)


def _value_in(item: Any, field: str) -> Any:
    try:
        return ItemAdapter(item)[field]
    except (KeyError, AttributeError):  # An attribute of a dataclass may not have a value yet.
        return None


def identity_in(item: Any) -> tuple[str, str]:
    """Return the field `url` of an item, and the identity by which the index recognizes the item.

    The field may have a URL or any other name. Its fragment counts, because the posts of a thread
    may differ only in that. An item without one gets "" and a random identity, so it's never taken
    for a revisit.
    """
    value = _value_in(item, "url")
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]  # as item loaders leave it
    # Python's default text for an object contains its memory address, which is always different.
    own_text: object = type(value).__str__
    has_text = isinstance(value, str | int) or own_text is not object.__str__
    name = str(value).strip() if has_text and not isinstance(value, bool | bytes | None) else ""
    return (name, named_identity(name)) if name else ("", f"item {uuid.uuid4().hex}")


def title_in(item: Any) -> str | None:
    """Return the title of an item: its field `title`, or None.

    The value has to be a text that isn't blank, or a list of one such text, as item loaders leave
    it.
    """
    value = _value_in(item, "title")
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]  # as item loaders leave it
    return value if isinstance(value, str) and value.strip() else None


def named_identity(name: str) -> str:
    """Return the identity of an item, given its URL or other name.

    URLs are made canonical; other names are used as they are.
    """
    return f"item {canonical_url(name, keep_fragment=True) if _WEB_URL.match(name) else name}"


def _text_of(name: str, value: Any) -> str:
    """Return the value of a field as text. None counts as no text.

    The value is a text, a number, or a list of them, as item loaders make it. Raises PageError,
    `field_type`, for any other type.
    """
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, (_text_of(name, part) for part in value)))
    raise PageError(
        "field_type", f"the field {name!r} contains a {type(value).__name__}, which is not a text"
    )
