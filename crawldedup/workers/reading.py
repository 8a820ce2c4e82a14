"""What workers do: read, show and compare pages.

They know the key of the index, but not the password of its store.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from crawldedup.fingerprinting.bits import check_fingerprint
from crawldedup.key import Key
from crawldedup.marks.quiet import ignored_at
from crawldedup.marks.reasons import brief
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.area import area_of
from crawldedup.reading.carried import values_in
from crawldedup.reading.reader import PageReader, ReadPage
from crawldedup.reading.volatile import NOTHING, Known
from crawldedup.recent import put_last
from crawldedup.verdict import MainText
from crawldedup.wire import from_plain, from_weights, plain, to_weights
from crawldedup.workers.program import valid

if TYPE_CHECKING:
    from crawldedup.index.explain import Comparison

ReadingTask = Literal["read", "text", "show"]
Task = ReadingTask | Literal["compare"]

HANDLER: Final = "crawldedup.workers.reading:reader"

_SECRET: Final = os.urandom(16)
_CACHED_PAGES: Final = 10_000  # some 3 KB each
# Pages that were read with their texts: 32 MB at most.
_CACHED_TEXTS: Final = 1_000
_LARGEST_CACHED_TEXT: Final = 32_000
_LONG_TEXT: Final = 50_000
# Normalization turns a letter into up to 18.
_LONG_TEXT_BEYOND_ASCII: Final = 12_500


class TimedRead(NamedTuple):
    """The content of a page, and how many seconds it took to read."""

    read: ReadPage
    seconds: float


_packed: Final = msgspec.msgpack.Encoder(enc_hook=from_weights)
_answers: Final = msgspec.msgpack.Decoder(TimedRead, dec_hook=to_weights)


def needs_worker(page: Page) -> bool:
    """Return whether a worker should read a page, because HTML and long texts may take long.

    Values that aren't pages don't need a worker, because reading rejects them.
    """
    if not isinstance(page, Page):
        return False
    text = page.text or ""
    longest = _LONG_TEXT if text.isascii() else _LONG_TEXT_BEYOND_ASCII
    return page.html is not None or len(text) >= longest


def request(task: Task, pages: Sequence[Page], key: Key, known: Known = NOTHING) -> dict[str, Any]:
    """Make the message that asks a worker to do a task.

    Args:
        task: "read" one page, read it with its main "text" for users, "show" it (with its text and
            marks), or "compare" two pages.
        pages: One page or two.
        key: The key of the index.
        known: The numbers to leave out of the page, because they are known to change with every
            load.
    """
    return {
        "task": task,
        "key": key.secret,
        "pages": [plain_page(page) for page in pages],
        "known": known,
    }


def timed_read_of(answer: bytes) -> TimedRead:
    """Decode a worker's answer about one page. Raises ValueError if it is invalid."""
    timed = _answers.decode(answer)
    check_fingerprint(timed.read.fingerprint)
    return timed


def reader(setup: dict[str, Any]) -> Callable[[dict[str, Any]], object]:
    """Make the function with which a worker answers requests, given the options for reading.

    It takes the messages that `request` makes. It remembers the results for the last pages, by
    their bytes.
    """
    options = Options.from_values(setup)
    page_reader = PageReader(options)
    with suppress(Exception):
        page_reader.read_page(
            Page("", html="<p>The first page pays for the imports of the extractor.")
        )
    last_pages = _LastPages(options, page_reader)

    def show(page: Page, key: Key, known: Known) -> tuple[msgspec.Raw, float]:
        result = page_reader.show_page(page, key, known)
        result = replace(result, text=valid(result.text or ""))
        return msgspec.Raw(_packed.encode(result)), 0.0

    def compare_pages(first: Page, second: Page, key: Key) -> object:
        # Few crawls need it, and a worker should start quickly.
        from crawldedup.index.explain import compare

        values = options.index_values() | {"key": key.secret or 0}
        return plain(compare(first, second, **values))

    def answer(message: dict[str, Any]) -> object:
        pages = [Page(**values) for values in message["pages"]]
        key = Key(message["key"])
        if message["task"] == "compare":
            return compare_pages(pages[0], pages[1], key)
        if message["task"] == "show":
            return show(pages[0], key, message["known"])
        with_text = message["task"] == "text"
        return last_pages.read(pages[0], key, message["known"], with_text=with_text)

    return answer


class _LastPages:
    """Reads pages, but reuses the result if one of the last pages had the same bytes."""

    def __init__(self, options: Options, reader: PageReader) -> None:
        self._options = options
        self._reader = reader
        self._last: dict[bytes, msgspec.Raw] = {}
        self._last_with_text: dict[bytes, msgspec.Raw] = {}

    def read(
        self, page: Page, key: Key, known: Known, *, with_text: bool
    ) -> tuple[msgspec.Raw, float]:
        """Return the packed content of a page, and how many seconds it took to read."""
        begun = perf_counter()
        area = area_of(self._options.content, page.url)
        ignored = ignored_at(self._options.ignore_marks, page.url)
        digest = content_digest(
            *(page.html, page.text, page.title, page.encoding),
            *(area, ignored, key.id, known, known and page.url, values_in(page.url)),
        )
        packed = (self._last_with_text if with_text else self._last).get(digest)
        if packed is None:
            result = self._reader.read_page(page, key, known, with_text=with_text)
            content = _packed.encode(_brief_of(result))
            packed = msgspec.Raw(content)
            if not with_text and not result.by_url:
                put_last(self._last, digest, packed, _CACHED_PAGES)
            elif not result.by_url and len(content) <= _LARGEST_CACHED_TEXT:
                put_last(self._last_with_text, digest, packed, _CACHED_TEXTS)
        return packed, perf_counter() - begun


def _brief_of(read: ReadPage) -> ReadPage:
    """Shorten the content of a page to what the parent process needs."""
    marks = None if read.marks is None else brief(read.marks)
    main = read.main
    if main is not None:
        main = MainText(valid(main.text), None if main.name is None else valid(main.name))
    return replace(read, text=None, marks=marks, main=main)


def comparison_of(answer: bytes) -> "Comparison":
    """Decode a worker's answer to "compare". Raises ValueError if it is invalid."""
    from crawldedup.index.explain import Comparison

    return from_plain(Comparison, msgspec.msgpack.decode(answer))


def content_digest(*values: object) -> bytes:
    """Return a digest of everything that determines what is read from a page.

    It depends on a secret of this process, so nobody can make two pages with the same digest.
    """
    return hashlib.blake2b(msgspec.msgpack.encode(values), key=_SECRET).digest()


def plain_page(page: Page) -> dict[str, Any]:
    """Return the fields of a page that a worker needs to read it, as arguments of `Page`."""
    names = ("url", "html", "text", "title", "encoding", "identity", "scope_key", "similarity")
    values = {name: getattr(page, name) for name in names}
    return {
        name: valid(value) if isinstance(value, str) else value for name, value in values.items()
    }
