"""Read, show and compare pages in worker processes, which know the key of the index, and no
password of its store.
"""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import msgspec

from crawldedup.fingerprinting.bits import check_fingerprint
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.area import area_of
from crawldedup.reading.reader import PageReader, ReadPage
from crawldedup.reading.volatile import NOTHING, Known
from crawldedup.recent import put_last
from crawldedup.wire import from_weights, plain, to_weights
from crawldedup.workers.program import valid

HANDLER: Final = "crawldedup.workers.reading:reader"

_SECRET: Final = os.urandom(16)
_CACHED_PAGES: Final = 10_000  # some 3 KB each
_packed: Final = msgspec.msgpack.Encoder(enc_hook=from_weights)
_answers: Final = msgspec.msgpack.Decoder(tuple[ReadPage, float], dec_hook=to_weights)


def request(do: str, pages: Sequence[Page], key: Key, known: Known = NOTHING) -> dict[str, Any]:
    """Return the message that asks to "read" or "show" a page without the `known` numbers, or to
    "compare" two.
    """
    return {"do": do, "key": key.secret, "pages": list(map(plain_page, pages)), "known": known}


def read_of(answer: bytes) -> tuple[ReadPage, float]:
    """Return what a worker answered to "read" and "show", and its seconds.

    Raises ValueError for nonsense.
    """
    read, seconds = _answers.decode(answer)
    check_fingerprint(read.fingerprint)
    return read, seconds


def reader(setup: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    """Return the handler of a worker that reads pages as these options say, and remembers the last
    by their bytes.
    """
    options = Options.from_values(setup)
    pages = PageReader(options)
    last: dict[bytes, msgspec.Raw] = {}
    with suppress(Exception):
        pages.read_page(Page("", html="<p>The first page pays for the imports of the extractor."))

    def read(page: Page, key: Key, known: Known) -> tuple[msgspec.Raw, float]:
        begun = time.perf_counter()
        area = area_of(options.content, page.url)
        known_by = content_digest(
            page.html, page.text, page.encoding, area, key.id, known, known and page.url
        )
        if known_by not in last:
            compared = replace(pages.read_page(page, key, known), text=None, facts=())
            put_last(last, known_by, msgspec.Raw(_packed.encode(compared)), _CACHED_PAGES)
        return last[known_by], time.perf_counter() - begun

    def answer(message: dict[str, Any]) -> object:
        inputs, key, known = (
            [Page(**values) for values in message["pages"]],
            Key(message["key"]),
            message["known"],
        )
        if message["do"] == "compare":
            from crawldedup.index.explain import (
                compare,
            )  # seldom used, and the start should be quick

            return plain(compare(*inputs, **options.index_values() | {"key": key.secret or 0}))
        if message["do"] == "read":
            return read(inputs[0], key, known)
        shown = pages.read_page(inputs[0], key, known)
        shown = replace(shown, text=valid(shown.text or ""), facts=tuple(map(valid, shown.facts)))
        return msgspec.Raw(_packed.encode(shown)), 0.0

    return answer


def content_digest(*read: object) -> bytes:
    """Return a digest of what is read of a page.

    Nobody who knows no secret can make two pages of one.
    """
    return hashlib.blake2b(msgspec.msgpack.encode(read), key=_SECRET).digest()


def plain_page(page: Page) -> dict[str, Any]:
    """Return what names and is read of a page as plain data: the arguments of `Page`."""
    names = ("url", "html", "text", "encoding", "identity", "scope_key", "similarity")
    values = {name: getattr(page, name) for name in names}
    return {
        name: valid(value) if isinstance(value, str) else value for name, value in values.items()
    }
