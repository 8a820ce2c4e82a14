"""Item pipelines like those that users write to drop items whose pages resemble earlier ones."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import trafilatura
from parsel import Selector
from scrapy.exceptions import DropItem

from benchmarks.shared import peers

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class MinHashPipeline:
    """Drops an item if MinHashLSH of datasketch knows the main text of its page; a page without
    text passes.
    """

    def __init__(self, detector: peers.Detector) -> None:
        self._detector = detector

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        threshold = crawler.settings.getfloat("MINHASH_THRESHOLD")
        return cls(peers.datasketch(import_module("datasketch"), threshold))

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        text = trafilatura.extract(item["html"])
        if text and self._detector(item["url"], text) is not None:
            raise DropItem(item["url"])
        return item


class SimhashPipeline(MinHashPipeline):
    """The same by Simhash and SimhashIndex of the package simhash, as its documentation says."""

    @classmethod
    def from_crawler(cls, _: Crawler) -> Self:
        return cls(peers.simhash(import_module("simhash")))


class ParagraphsPipeline:
    """Drops an item if all paragraphs of its page are those of an earlier one."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        text = " ".join(Selector(item["html"]).css("p ::text").getall())
        digest = hashlib.md5(text.encode()).hexdigest()
        if text and digest in self._seen:
            raise DropItem(item["url"])
        self._seen.add(digest)
        return item
