"""What worker processes do with pages: read, show and compare them. Nothing of the store is known there.

A page that takes a worker over learns the key of the index, and no password.
"""

import contextlib
import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from crawldedup.extraction.area import area_of
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reader import PageReader, ReadPage
from crawldedup.text.canonical import HeadLinks
from crawldedup.text.keys import Key
from crawldedup.wire import pack_fingerprint, unpack_fingerprint
from crawldedup.workers.frames import Plain

HANDLER: Final = "crawldedup.workers.reading:reader"

_CACHED_PAGES: Final = 250
_WARM_UP: Final = b"<html><body><p>The first page pays for the imports of the extractor.</p></body></html>"


class Read(NamedTuple):
    """What came of reading a page, for how many seconds, and what is compared of it if that was to be shown."""

    page: ReadPage
    seconds: float
    text: str = ""
    facts: tuple[str, ...] = ()


def setup_of(options: Options) -> Plain:
    """Return what workers must know to read pages as these options say."""
    values = {**options.index_values(), "key": None, "store": "memory://"}
    return {"options": msgspec.to_builtins(values)}


def request(do: str, pages: list[Page], key: Key) -> Plain:
    """Return the message that asks to "read" or "show" a page, or to "compare" two."""
    return {"do": do, "key": key.secret, "pages": list(map(_plain, pages))}


def read_of(answer: bytes) -> Read:
    """Return what a worker answered to "read" and "show". Raises ValueError for nonsense."""
    packed, base, canonical, unselected, seconds, text, facts = _answers.decode(answer)
    return Read(
        ReadPage(unpack_fingerprint(packed), HeadLinks(base, canonical), unselected), max(0.0, seconds), text, facts
    )


_answers: Final = msgspec.msgpack.Decoder(tuple[bytes, str, tuple[str, ...], bool, float, str, tuple[str, ...]])


def reader(setup: Plain) -> Callable[[Plain], object]:
    """Return the handler of a worker that reads pages."""
    return _Handler(Options.from_values(setup["options"])).answer


class _Handler:
    """Reads pages, and remembers the last ones by their bytes: a site may give one page at many URLs."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader = PageReader(options)
        self._last: OrderedDict[tuple[object, ...], tuple[Any, ...]] = OrderedDict()
        self._secret = os.urandom(16)
        with contextlib.suppress(Exception):
            self._reader.read(_WARM_UP)

    def answer(self, message: Plain) -> object:
        """Answer a request. Raises PageError."""
        pages = [_page(values) for values in message["pages"]]
        if message["do"] == "compare":
            from crawldedup.explanation.comparison import compare

            return compare(*pages, **self._options.index_values()).as_dict()
        (page,), key = pages, Key(message["key"])
        if message["do"] == "show":
            return self._shown(page, key)
        return self._read(page, key)

    def _read(self, page: Page, key: Key) -> tuple[Any, ...]:
        begun = time.perf_counter()
        known_by = (*_digest(page, self._secret), page.encoding, area_of(self._options.content, page.url), key.id)
        if (known := self._last.get(known_by)) is not None:
            self._last.move_to_end(known_by)
            return known
        read = self._reader.read_page(page, key)
        values = (pack_fingerprint(read.fingerprint), *read.links, read.unselected)
        self._last[known_by] = (*values, 0.0, "", ())
        if len(self._last) > _CACHED_PAGES:
            self._last.popitem(last=False)
        return (*values, time.perf_counter() - begun, "", ())

    def _shown(self, page: Page, key: Key) -> tuple[Any, ...]:
        content = self._reader.content(page.html, page.text, page.encoding, page.url)
        fingerprint = pack_fingerprint(self._reader.fingerprint(content, key))
        return (fingerprint, "", (), content.unselected, 0.0, content.text, content.fact_lines)


def _digest(page: Page, secret: bytes) -> tuple[object, ...]:
    content = page.text if page.html is None else page.html
    body = content if isinstance(content, bytes) else (content or "").encode("utf-8", "surrogatepass")
    return hashlib.blake2b(body, key=secret).digest(), type(content).__name__, page.html is None


def _plain(page: Page) -> Plain:
    """Return what is read of a page; texts as bytes: MessagePack knows no halves of surrogate pairs."""
    return {
        name: [isinstance(value, str), value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value]
        for name in ("url", "html", "text", "encoding", "similarity")
        if (value := getattr(page, name)) is not None
    }


def _page(values: dict[str, tuple[bool, Any]]) -> Page:
    return Page(**{name: v.decode("utf-8", "surrogatepass") if is_text else v for name, (is_text, v) in values.items()})
