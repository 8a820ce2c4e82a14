"""An item in every kind of class that Scrapy knows, with room for a verdict."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import attrs
import scrapy

try:
    import pydantic
except ImportError:
    pydantic = None  # type: ignore[assignment]
from collections.abc import Callable


class ScrapyItem(scrapy.Item):
    url = scrapy.Field()
    body = scrapy.Field()
    dedup_kind = scrapy.Field()
    dedup_original = scrapy.Field()
    dedup_similarity = scrapy.Field()


@dataclasses.dataclass
class DataclassItem:
    url: str
    body: str | None
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


@attrs.define
class AttrsItem:
    url: str
    body: str | None
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


MAKERS: Final[dict[str, Callable[..., Any]]] = {
    "dict": dict,
    "Item": ScrapyItem,
    "dataclass": DataclassItem,
    "attrs": AttrsItem,
}

if pydantic is not None:

    class PydanticItem(pydantic.BaseModel):
        url: str
        body: str | None
        dedup_kind: str | None = None
        dedup_original: str | None = None
        dedup_similarity: float | None = None

    MAKERS["pydantic"] = PydanticItem
