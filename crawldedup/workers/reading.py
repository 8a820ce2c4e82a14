"""What worker processes do with pages: read, show and compare them.

Nothing of the store is known there. A page that takes a worker over learns the key of the index, and no password.
"""

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import msgspec

from crawldedup.options import Options
from crawldedup.page import Page, PageReader, ReadPage
from crawldedup.reading.area import area_of
from crawldedup.reading.canonical import NO_LINKS, HeadLinks
from crawldedup.reading.keys import Key
from crawldedup.wire import pack_fingerprint, plain, unpack_fingerprint
from crawldedup.workers.program import valid

HANDLER: Final = "crawldedup.workers.reading:reader"

_CACHED_PAGES: Final = 10_000  # some 3 KB each
_WARM_UP: Final = "<p>The first page pays for the imports of the extractor."
_answers: Final = msgspec.msgpack.Decoder(tuple[bytes, HeadLinks, bool, float, str | None, tuple[str, ...]])


class Read(NamedTuple):
    """What came of reading a page, in how many seconds, and what is compared of it if that was asked for."""

    page: ReadPage
    seconds: float
    text: str | None = None
    facts: tuple[str, ...] = ()


def setup_of(options: Options) -> dict[str, Any]:
    """Return what workers must know to read pages as these options say."""
    return {**options.index_values(), "key": None}


def request(do: str, pages: Sequence[Page], key: Key) -> dict[str, Any]:
    """Return the message that asks to "read" or "show" a page, or to "compare" two."""
    return {"do": do, "key": key.secret, "pages": list(map(plain_page, pages))}


def read_of(answer: bytes) -> Read:
    """Return what a worker answered to "read" and "show". Raises ValueError and MsgspecError for nonsense."""
    packed, links, unselected, seconds, text, facts = _answers.decode(answer)
    return Read(ReadPage(unpack_fingerprint(packed), links, unselected), seconds, text, facts)


def reader(setup: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    """Return the handler of a worker that reads pages, and remembers the last ones by their bytes."""
    options = Options.from_values(setup)
    pages = PageReader(options)
    last: OrderedDict[bytes, tuple[object, ...]] = OrderedDict()
    secret = os.urandom(16)
    with suppress(Exception):
        pages.read_page(Page("", html=_WARM_UP))

    def read(page: Page, key: Key) -> tuple[object, ...]:
        begun = time.perf_counter()
        area = area_of(options.content, page.url)
        content = msgspec.msgpack.encode([page.html, page.text, page.encoding, area, key.id])
        # Nobody who knows no secret can make two pages of one digest.
        known_by = hashlib.blake2b(content, key=secret).digest()
        if known_by not in last:
            made = pages.read_page(page, key)
            last[known_by] = pack_fingerprint(made.fingerprint), made.links, made.unselected
            if len(last) > _CACHED_PAGES:
                last.popitem(last=False)
        last.move_to_end(known_by)
        return *last[known_by], time.perf_counter() - begun, None, ()

    def show(page: Page, key: Key) -> tuple[object, ...]:
        content = pages.content(page)
        packed = pack_fingerprint(pages.fingerprints([content], key)[0])
        return packed, NO_LINKS, content.unselected, 0.0, valid(content.text), list(map(valid, content.fact_lines))

    def answer(message: dict[str, Any]) -> object:
        asked = [Page(**values) for values in message["pages"]]
        if message["do"] == "compare":
            from crawldedup.explain import compare  # seldom used, and the start should be quick

            return plain(compare(*asked, **options.index_values()))
        return (show if message["do"] == "show" else read)(asked[0], Key(message["key"]))

    return answer


def plain_page(page: Page) -> dict[str, Any]:
    """Return what names and is read of a page as plain data: the arguments of `Page`."""
    names = ("url", "html", "text", "encoding", "identity", "scope_key", "similarity")
    values = {name: getattr(page, name) for name in names}
    return {name: valid(value) if isinstance(value, str) else value for name, value in values.items()}
