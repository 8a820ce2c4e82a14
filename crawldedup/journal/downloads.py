"""Read journals from Redis into files, a file for each process of a crawl."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crawldedup.journal.records import header_in, record_in
from crawldedup.journal.streams import CRAWLS, END, client_of, keys_of
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_LINES_AT_ONCE: Final = 1000
_RUNNING_SECONDS: Final = 60.0
"""A crawl that has written nothing for so long is taken for a dead one."""


@dataclass(frozen=True, slots=True)
class StoredCrawl:
    """A crawl in a Redis: headers and ends by writer, how many lines there are, and when the last one was written."""

    headers: dict[str, dict[str, Any]]
    ends: dict[str, dict[str, Any]]
    lines: int
    written_at: float

    @property
    def is_running(self) -> bool:
        """True for a crawl without an end that has written a moment ago."""
        return len(self.ends) < len(self.headers) and time.time() - self.written_at < _RUNNING_SECONDS


def stored_crawls(url: str) -> list[StoredCrawl]:
    """Return the crawls that a Redis has journals of. Raises ConfigurationError and StoreError."""
    with _client(url) as client, _errors(url):
        named = client.zrange(CRAWLS, 0, -1, withscores=True)
        found = [_stored(client, name.decode("utf-8", "replace"), written_at) for name, written_at in named]
    return [crawl for crawl in found if crawl.headers]


def download(url: str, crawl: str, folder: Path) -> list[Path]:
    """Write the journals of a crawl into a folder, and return their paths. Raises StoreError and OSError."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(_client(url))
        with _errors(url):
            headers = {name: line for name, line in _heads(client, crawl).items() if header_in(line) is not None}
        files: dict[str, BinaryIO] = {}
        for number, (writer, line) in enumerate(headers.items()):
            files[writer] = stack.enter_context((folder / f"{number}.jsonl").open("wb"))
            files[writer].write(line)
        for writer, line in _lines(url, client, crawl):
            if writer in files:
                files[writer].write(line)
        return [folder / f"{number}.jsonl" for number in range(len(files))]


@contextlib.contextmanager
def _client(url: str) -> Iterator[Any]:
    with _errors(url):
        client = client_of(url)
    try:
        yield client
    finally:
        client.close()


@contextlib.contextmanager
def _errors(url: str) -> Iterator[None]:
    with store_errors(shown_url(url), lambda: False), replies_read():
        yield


def _heads(client: Any, crawl: str) -> dict[str, bytes]:
    return {name.decode("utf-8", "replace"): line for name, line in client.hgetall(keys_of(crawl)[1]).items()}


def _stored(client: Any, crawl: str, written_at: float) -> StoredCrawl:
    heads = _heads(client, crawl)
    headers = {name: header for name, line in heads.items() if (header := header_in(line)) is not None}
    records = {name: record_in(heads.get(f"{name}{END}", b"")) for name in headers}
    ends = {name: record for name, record in records.items() if record is not None and "end" in record}
    return StoredCrawl(headers, ends, client.xlen(keys_of(crawl)[0]), written_at)


def _lines(url: str, client: Any, crawl: str) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a stream, each with its writer."""
    stream, _ = keys_of(crawl)
    after = "-"
    while after:
        with _errors(url):
            batch = client.xrange(stream, min=after, count=_LINES_AT_ONCE)
            # A line may not become two.
            lines = [(entry[b"w"].decode(), entry[b"l"].strip().replace(b"\n", b" ") + b"\n") for _, entry in batch]
            after = f"({batch[-1][0].decode()}" if batch else ""
        yield from lines
