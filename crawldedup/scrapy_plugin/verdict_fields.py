"""Items and verdicts: what ``CRAWLDEDUP_ACTION = "drop-items"`` drops, and verdicts as fields of items."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from itemadapter import ItemAdapter
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from crawldedup import wire
from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.policy import DROP_ITEMS_KEY, VERDICT_KEY
from crawldedup.verdict import Kind, Verdict

Item = TypeVar("Item")

VERDICT_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {"kind": "dedup_kind", "original": "dedup_original", "similarity": "dedup_similarity"}
)
"""What `add_verdict` writes by default: part of the verdict, and the field it goes into."""

_PARTS: Final = tuple(wire.plain(Verdict(Kind.NEW, "")))


class DropItemsMiddleware(BaseSpiderMiddleware):
    """Drops the items of pages that the downloader middleware has marked, before any pipeline sees them."""

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return the item, or None for an item of a duplicate page."""
        if response is None or response.request is None or not response.request.meta.get(DROP_ITEMS_KEY):
            return item
        self.crawler.stats.inc_value("crawldedup/items_dropped")
        return None


def add_verdict(item: Item, source: Response | Verdict | None, fields: Mapping[str, str] = VERDICT_FIELDS) -> Item:
    """Write parts of a verdict into fields of an item, and return the item.

    For a page that was not judged all fields are None, so that every item of an export has the same columns.

    Args:
        item: An item of any kind that Scrapy knows.
        source: The response whose page was judged, or the verdict itself.
        fields: The names in the JSON of a verdict, and the field that each goes into.

    Returns:
        The same item.

    Raises:
        ConfigurationError: No verdict has such a part, the item lacks a field, or it does not take a value.

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
        raise ConfigurationError(f"a verdict has no part {unknown[0]!r}; it has {', '.join(_PARTS)}")
    adapter = ItemAdapter(item)
    # Of a dict, and of any class that does not say, every name is a field.
    declared = None if isinstance(item, dict) else set(adapter.field_names())
    if declared is not None and (missing := [field for field in fields.values() if field not in declared]):
        raise ConfigurationError(
            f"{type(item).__qualname__} has no field {missing[0]!r} for its verdict; declare "
            f"{', '.join(fields.values())}, or name other fields"
        )
    verdict = source
    if isinstance(source, Response):
        # A response without a request has no meta to ask.
        verdict = source.request.meta.get(VERDICT_KEY) if source.request is not None else None
    parts = wire.plain(verdict) if isinstance(verdict, Verdict) else {}
    try:
        for part, field in fields.items():
            adapter[field] = parts.get(part)
    # The classes are the user's: what their validators raise may be anything.
    except Exception as error:
        raise ConfigurationError(
            f"{type(item).__qualname__} does not take its verdict ({type(error).__name__}: {error}); let its fields "
            f"{', '.join(fields.values())} be written and hold None, or name other fields"
        ) from error
    return item
