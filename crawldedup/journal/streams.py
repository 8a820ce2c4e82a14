"""Journals in Redis: a capped stream a crawl, which a thread of its own writes about once a second.

Two keys belong to a crawl, in one slot of a cluster. The stream has the lines of all its processes but their headers,
each with the name of its writer. The hash has what the cap must not take: the header of each writer, and its last
line, in the field that ends with `END`. A sorted set names the crawls, by when they have written last.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from crawldedup.journal.records import line_of
from crawldedup.stores.redis.client import connect, connect_cluster, retry_once
from crawldedup.stores.redis.errors import store_errors
from crawldedup.stores.redis.url import CLUSTER
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LINES: Final = 200_000
"""So many lines of a crawl are kept, and no earlier ones. They take about 90 MB."""

TTL_SECONDS: Final = 14 * 86_400
"""So long after its last line a crawl is forgotten."""

MOST_WAITING: Final = 10_000
"""So many lines wait while a server cannot be reached. Further ones are lost."""

END: Final = "/end"
CRAWLS: Final = "crawldedup:journal:crawls"

JOURNAL_ACL_RULES: Final = ("+xadd", "+xrange", "+xlen", "+expire", "+zremrangebyscore")
"""The further rights that a store's user needs for journals."""

_BATCH_LINES: Final = 500
_BATCH_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 5.0


def keys_of(crawl: str) -> tuple[str, str]:
    """Return the keys of a crawl: its stream, and the hash of its headers and ends."""
    return f"crawldedup:journal:{{{crawl}}}:lines", f"crawldedup:journal:{{{crawl}}}:heads"


def client_of(url: str) -> Any:
    """Return a client of the server or cluster that a URL names. Raises as `connect` and `connect_cluster` do."""
    return connect_cluster(url) if url.strip().lower().startswith(f"{CLUSTER}://") else connect(url)


class StreamJournal:
    """Writes a journal into the stream of its crawl. `write` never waits.

    A server that cannot be reached gets the lines that still wait when it answers again. `trouble` tells of the last
    failure, and `lost` counts the lines that are not there, so far as that is known.
    """

    def __init__(self, url: str, header: Mapping[str, Any], writer: str) -> None:
        self.trouble: str | None = None
        self._url = url
        self._crawl = header["crawl"]
        self._stream, self._heads = keys_of(self._crawl)
        # Process ids are used again.
        self._writer = f"{writer}-{header['started'] * 1000:.0f}"
        self._header = line_of(header)
        self._client: Any = None
        self._was_in = False
        self._waiting: deque[bytes] = deque()
        self._overflown = self._failed = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="crawldedup-journal", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> int:
        """The lines that no server has, or may not have; those that wait count once this is closed."""
        waiting = len(self._waiting) if self._closing.is_set() else 0
        return self._overflown + self._failed + waiting

    def write(self, line: bytes) -> None:
        """Hand a line to the thread."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(line)
        else:
            self._overflown += 1

    def close(self) -> None:
        """Write what waits, and wait for that a few seconds at most."""
        self._closing.set()
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._closing.wait(_BATCH_SECONDS)
            try:
                with store_errors(shown_url(self._url), lambda: self._was_in):
                    self._send(is_last=is_last)
            # Whatever happens, the crawl goes on, and so do attempts.
            except Exception as error:
                self.trouble = str(error)
        if self._client is not None:
            self._client.close()

    def _send(self, *, is_last: bool) -> None:
        if not self._waiting:
            return
        if self._client is None:
            self._client = client_of(self._url)
        heads = {self._writer: self._header}
        if is_last:
            heads[f"{self._writer}{END}"] = self._waiting[-1]
        # It can be repeated, so it finds out whether the server answers before any line is taken.
        retry_once(lambda _: self._name(heads))
        self._was_in = True
        while self._waiting:
            self._add([self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH_LINES))])

    def _name(self, heads: Mapping[str, bytes]) -> None:
        now = time.time()
        pipeline = self._client.pipeline(transaction=False)
        pipeline.hset(self._heads, mapping=heads)
        pipeline.expire(self._heads, TTL_SECONDS)
        pipeline.zadd(CRAWLS, {self._crawl: now})
        pipeline.zremrangebyscore(CRAWLS, "-inf", now - TTL_SECONDS)
        pipeline.execute()

    def _add(self, lines: list[bytes]) -> None:
        # Not sent again, or lines of which only the answer was lost would count twice.
        self._failed += len(lines)
        pipeline = self._client.pipeline(transaction=False)
        for line in lines:
            pipeline.xadd(self._stream, {"w": self._writer, "l": line}, maxlen=MOST_LINES, approximate=True)
        pipeline.expire(self._stream, TTL_SECONDS)
        answers = pipeline.execute(raise_on_error=False)
        refused = [answer for answer in answers[:-1] if isinstance(answer, Exception)]
        self._failed -= len(lines) - len(refused)
        if refused:
            raise refused[0]
