"""Item pipelines as users write them today to drop items whose page resembles an earlier one."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import trafilatura
from parsel import Selector
from scrapy.exceptions import DropItem

from benchmarks import peers
from benchmarks.shared.peer_methods import DatasketchLSH, Simhash1e0ng

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from benchmarks.shared.peer_detectors import Detector


class DetectorPipeline(ABC):
    """Drops an item if the main text of its page is one that a detector knows; a page without text passes."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(cls.detector(crawler))

    @staticmethod
    @abstractmethod
    def detector(crawler: Crawler, /) -> Detector:
        """Make the detector by the crawl's settings."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        text = trafilatura.extract(item["html"])
        if text and self._detector.check(item["url"], text) is not None:
            raise DropItem(item["url"])
        return item


class MinHashPipeline(DetectorPipeline):
    """MinHashLSH of datasketch, with 128 permutations of word 3-shingles."""

    @staticmethod
    def detector(crawler: Crawler, /) -> Detector:
        peer = peers.load("datasketch")
        assert peer is not None
        return DatasketchLSH("datasketch", peer.module, threshold=crawler.settings.getfloat("MINHASH_THRESHOLD"))


class SimhashPipeline(DetectorPipeline):
    """Simhash and SimhashIndex of the package simhash, as its documentation says."""

    @staticmethod
    def detector(_: Crawler, /) -> Detector:
        peer = peers.load("simhash")
        assert peer is not None
        return Simhash1e0ng("simhash", peer.module)


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
