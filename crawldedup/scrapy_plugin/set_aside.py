"""Save the items that a crawl drops to a file, so `crawldedup restore` can bring them back."""

import json
import logging
import time
from io import BytesIO
from pathlib import PurePath
from typing import Any, Final

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exporters import JsonLinesItemExporter
from scrapy.settings import BaseSettings
from scrapy.utils.serialize import ScrapyJSONEncoder

from crawldedup import wire
from crawldedup.aside import FORMAT, VERSION, AsideFile, evidence_of
from crawldedup.scrapy_plugin.signals import count, say
from crawldedup.verdict import Verdict

_LINES: Final = ("jsonlines", "jsonl", "jl")  # the names of the format that `restore` writes


class SetAside:
    """Saves dropped items in a file, which is opened with the first item.

    An item that can't be set aside must not be dropped.

    Args:
        crawler: The crawler.
        path: The file to append to. Crawls may share it.
    """

    def __init__(self, crawler: Crawler, path: str) -> None:
        self._crawler = crawler
        self._path = path
        self._encoder = ScrapyJSONEncoder()
        self._encoding = encoding_of_feeds(crawler.settings)
        self._file: AsideFile | None = None
        self._has_complained = False
        self._has_warned = False

    def put(self, item: Any, verdict: Verdict) -> bool:
        """Save an item that is to be dropped, and return whether that worked."""
        try:
            record = self._record_of(item, verdict)
            if self._file is None:
                self._file = AsideFile(self._path)
            self._file.put(record)
        # The classes of items and of their values belong to the user, and may raise anything.
        except Exception as error:
            self._complain(error)
            return False
        self._warn_if_removed()
        count(self._crawler, "set_aside")
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._warn_if_removed()
            self._file = None

    def _warn_if_removed(self) -> None:
        assert self._file is not None
        if self._file.was_removed and not self._has_warned:
            self._has_warned = True
            say(
                self._crawler,
                logging.WARNING,
                f"{self._path} was removed during the crawl: the items that were set aside in it "
                "are lost, and those after them are in a new file. Do not remove it while a crawl "
                "runs",
            )

    def _record_of(self, item: Any, verdict: Verdict) -> str:
        record = {
            FORMAT: VERSION,
            "time": round(time.time(), 3),
            "evidence": evidence_of(verdict),
            "cluster": verdict.original,
            "verdict": wire.plain(verdict),
            "item": fields_of(item),
        }
        if self._encoding is not None:
            record["encoding"] = self._encoding
        return str(self._encoder.encode(record))

    def _complain(self, error: Exception) -> None:
        count(self._crawler, "set_aside/failed")
        if not self._has_complained:
            self._has_complained = True
            message = f"cannot set an item aside in {self._path}, so it is delivered: {error}"
            say(
                self._crawler,
                logging.WARNING,
                f"{message} (logged only once; the stats count the rest)",
            )


def fields_of(item: Any) -> dict[str, Any]:
    """Return the fields of an item as a feed of JSON lines would have them.

    They are in the same order, and serializers are applied. A serializer may expect a value that a
    later pipeline would have converted. If it fails, no serializer is applied.
    """
    line = BytesIO()
    try:
        JsonLinesItemExporter(line).export_item(item)
        fields: dict[str, Any] = json.loads(line.getvalue())
    # The classes of items and their serializers belong to the user, and may raise anything.
    except Exception:
        return ItemAdapter(item).asdict()
    return fields


def encoding_of_feeds(settings: BaseSettings) -> str | None:
    """Return the encoding that the crawl uses for feeds of JSON lines, or None for ASCII.

    If there are no such feeds, or their encodings differ, it's ``FEED_EXPORT_ENCODING``.
    """
    default = settings.get("FEED_EXPORT_ENCODING")
    encodings = set()
    for uri, feed in settings.getdict("FEEDS").items():
        if feed.get("format", PurePath(uri).suffix.removeprefix(".")) in _LINES:
            encodings.add(feed.get("encoding", default))
    encoding = encodings.pop() if len(encodings) == 1 else default
    return None if encoding is None else str(encoding)
