"""What a crawl has let pass: to tell retries from pages unchanged since an earlier crawl, and what was delivered."""

from array import array
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from crawldedup.page import Page
from crawldedup.scope import page_key

FILE_NAME: Final = "crawldedup.visits"
_KEY_BYTES: Final = 8


class SeenPages:
    """The pages that this crawl has let pass. With a file, the runs of one paused and resumed job share it.

    Each page takes 8 bytes of the file, which is opened at the first question. Raises OSError if it cannot be used.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._keys: set[int] = set()

    def __contains__(self, page: Page) -> bool:
        return self._key_of(page) in self._keys

    def add(self, page: Page) -> None:
        """Note a page, in the file at once: a crawl may be killed."""
        if (key := self._key_of(page)) not in self._keys:
            if self._file is not None:
                self._file.write(array("Q", [key]).tobytes())
            self._keys.add(key)

    def close(self, *, finished: bool) -> None:
        """Close the file, and remove it if the job is done: the next one in its place is another crawl."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if finished and self._path is not None:
            self._path.unlink(missing_ok=True)

    def _key_of(self, page: Page) -> int:
        if self._path is not None and self._file is None:
            # Without a buffer: what was noted is in the file when the process is killed.
            file = self._path.open("ab", buffering=0)
            content = self._path.read_bytes()
            whole = len(content) // _KEY_BYTES * _KEY_BYTES
            # A write that a crash has cut short would shift all that come after it.
            file.truncate(whole)
            self._keys.update(array("Q", content[:whole]))
            self._file = file
        return page_key(page.scope_key or "", page.url, page.identity)


class Name(NamedTuple):
    """How the index names a page that passed. It is to `forget` what fails, or the next crawl takes it for known."""

    url: str
    identity: str | None
    scope_key: str | None
    forget: bool = False


class Deliveries:
    """Pages on their way through callbacks, and with their items through pipelines, until the engine is done."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._on_their_way: dict[Request, Name] = {}
        self._unsent: tuple[Name, ...] = ()

    def passed(self, request: Request, page: Page, *, forget: bool = False) -> None:
        self._on_their_way[request] = Name(page.url, page.identity, page.scope_key, forget)

    def failed(self, request: Request | None) -> Name | None:
        """Return the page of a request whose callback or items failed, if it is to be forgotten."""
        name = None if request is None else self._on_their_way.get(request)
        return name if name is not None and name.forget else None

    def pop_delivered(self) -> tuple[Name, ...]:
        """Return the pages that were delivered since the last call.

        A page that a callback downloaded by itself counts as delivered when the callback has it.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        # Without Scrapy's word on it none counts as delivered, which costs a second delivery at most.
        in_progress = self._on_their_way if slot is None else slot.inprogress
        delivered = [request for request in self._on_their_way if request not in in_progress]
        unsent = (*self._unsent, *(self._on_their_way.pop(request) for request in delivered))
        # Of a page that was asked for twice, the second answer may be another.
        expected = {name[:3] for name in self._on_their_way.values()} if unsent else ()
        self._unsent = tuple(name for name in unsent if name[:3] in expected)
        return tuple(name for name in unsent if name[:3] not in expected)
