"""The shared store: one Redis (or Valkey) server, 6.2 or later, one script call a page.

Everything that must be atomic is in the scripts under `lua/`; `lua/lib/layout.lua` describes the keys.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import redis
from redis.exceptions import NoScriptError

from crawldedup.errors import ProfileMismatchError, StoreUnavailableError
from crawldedup.stores.base import LEASE_SECONDS, NO_SESSION, Answer, CrawlSession, Pruned, Status, StoreInfo, shown_url
from crawldedup.stores.process import own_process
from crawldedup.stores.redis.client import connect, retry_once
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.redis.health import layout_warnings
from crawldedup.stores.redis.keys import heads_on, namespaces_among
from crawldedup.stores.redis.protocol import bytes8, crawl, loaded, packed_order, question, unpacked
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.redis.scripts import script_text
from crawldedup.stores.redis.upkeep import expire_dead_sessions, list_of_records, measure, remove_epochs
from crawldedup.stores.redis.url import SINGLE_SERVER, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis.commands.core import Script

    from crawldedup.stores.base import Layout, Query, Record, Retention

_PRUNED_AT_ONCE: Final = 256
_LOADED_AT_ONCE: Final = 200

_log = logging.getLogger(__name__)


class RedisStore:
    """One namespace of a Redis server. Safe to use from several threads, processes and machines.

    Without a `clock` the server's clock counts, which the machines of a fleet share.
    """

    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self._layout = layout
        self._clock = clock
        self._prefix = f"crawldedup:{{{layout.namespace}}}:"
        self._order = packed_order(layout.tables)
        self._session = NO_SESSION
        self._joining = threading.Lock()
        self._url = shown_url(url)
        self._client = connect(url)
        self._script: Callable[[str], Script] = cache(lambda name: self._client.register_script(script_text(name)))
        self._has_warned = False

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        parse_url(url, *SINGLE_SERVER)

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        return cls(url, layout)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """See `Store`."""
        errors = store_errors(shown_url(url), lambda: False, wanted)
        with contextlib.closing(connect(url)) as client, errors, replies_read():
            if client.exists(f"crawldedup:{{{wanted}}}:m"):
                return [wanted]
            return namespaces_among(heads_on(client))

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._joining, self._errors():
            return retry_once(lambda _: self._join(session or replace(self._session, first=0)))

    def _join(self, session: CrawlSession) -> int:
        expire_dead_sessions(self._client, self._prefix)
        own = (session.number, session.first)
        answer = self._run("join", self._layout.profile, self._order, self._now() or "", LEASE_SECONDS, *own)
        self._session = CrawlSession(int(answer[1]), int(answer[2]), session.process or own_process())
        with contextlib.suppress(redis.OutOfMemoryError):
            self._client.hset(f"{self._prefix}w", str(self._session.number), self._session.process)
        if not self._has_warned:
            self._has_warned = True
            for warning in self._warnings():
                _log.warning("%s: %s", self._url, warning)
        return int(answer[3])

    @replies_read()
    def _warnings(self) -> tuple[str, ...]:
        return layout_warnings(self._client)

    def open_read_only(self) -> int:
        """See `Store`."""
        with self._errors():
            return int(self._ask("look", self._layout.profile)[1])

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        return next(self.check_many((query,)))

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. One round trip for all of them."""
        return map(self._answer_or_raise, queries, self._check(queries))

    def _answer_or_raise(self, query: Query, answer: Any) -> Answer:
        with self._errors():
            if isinstance(answer, Exception):
                raise answer
            return self._answer(query, self._validated("check", answer))

    def _check(self, queries: Sequence[Query]) -> list[Any]:
        """Run the script `check` for each page; return what it answers, or errors."""
        with self._errors():
            if len(queries) == 1:
                return [self._check_one(queries[0])]
            batch = secrets.token_hex(4).encode()
            answers = retry_once(lambda again: self._pipelined(queries, range(len(queries)), batch, again))
            unknown = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:
                self._client.script_load(script_text("check"))
                for place, answer in zip(unknown, self._pipelined(queries, unknown, batch, again=False), strict=True):
                    answers[place] = answer
            return answers

    def _check_one(self, query: Query) -> Any:
        return retry_once(lambda again: self._run("check", *self._arguments(query, again=again)))

    def _pipelined(self, queries: Sequence[Query], places: Sequence[int], batch: bytes, again: bool) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        asked: set[int] = set()
        for place in places:
            query = queries[place]
            # What comes twice in a batch is a revisit the second time, whether or not an answer was lost.
            first_time = query.entry.url_key not in asked
            asked.add(query.entry.url_key)
            arguments = self._arguments(query, again=again and first_time, place=place, batch=batch)
            pipeline.evalsha(self._script("check").sha, 1, self._prefix, *arguments)
        return pipeline.execute(raise_on_error=False)

    def _arguments(self, query: Query, **repetition: Any) -> tuple[bytes | str, ...]:
        own = crawl(query.retention, self._session.number, self._session.first, **repetition)
        return (self._layout.profile, *question(query, self._layout, self._now()), own)

    def _answer(self, query: Query, answer: Any) -> Answer:
        if answer[0] == b"lost":
            # The index was lost in mid-crawl: begin it again with this crawler as its first.
            self.open()
            answer = self._check_one(query)
        if answer[0] == b"lost":
            raise StoreUnavailableError(f"{self._url} loses the index as soon as it is begun")
        status, changed, pages, candidates, record = answer
        found = unpacked(record, self._layout) if record else None
        return Answer(Status(status.decode()), found, bool(changed), int(pages), int(candidates))

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._errors():
            asked = question(query, self._layout, self._now())
            _, *records = self._ask("find", self._layout.profile, *asked)
            return [unpacked(record, self._layout) for record in records]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._errors():
            return bool(self._ask("forget", bytes8(url_key)))

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._errors():
            remove_epochs(self._client, self._prefix, int(self._ask("clear")))
        if self._session.number:
            self.open()

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`. What has expired goes first, or live pages would go for it."""
        first, freed = 0, 0
        limits = (retention.ttl_seconds or 0, int(retention.refresh))
        while True:
            with self._errors():
                asked = (self._now() or "", *limits, 0, first, _PRUNED_AT_ONCE)
                removed, following, oldest, pages = self._ask("prune", *asked)
            freed += removed
            # Before the oldest page there is nothing to look at.
            first = max(first + _PRUNED_AT_ONCE, oldest - oldest % _PRUNED_AT_ONCE)
            yield Pruned(min(first, following), freed)
            if first >= following:
                break
        while retention.max_pages is not None and pages > retention.max_pages and oldest < following:
            with self._errors():
                asked = (self._now() or "", *limits, retention.max_pages, first, _PRUNED_AT_ONCE)
                removed, following, oldest, pages = self._ask("prune", *asked)
            freed += removed
            yield Pruned(following, freed)

    def records(self) -> Iterator[list[Record]]:
        """See `Store`."""
        number, more = 0, True
        while more:
            with self._errors():
                records, more = list_of_records(self._client, self._prefix, self._layout, number)
            if records:
                yield records
            number += 1

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`. Some hundred pages a script call, so that a crawl can go on meanwhile."""
        added = 0
        with self._errors():
            for first in range(0, len(records), _LOADED_AT_ONCE):
                packed = loaded(records[first : first + _LOADED_AT_ONCE], self._layout)
                answer = self._ask("load", self._layout.profile, len(self._layout.tables), packed)
                if answer[0] == b"lost":
                    raise StoreUnavailableError(f"the index in {self._url} was lost")
                added += int(answer[1])
        return added

    def info(self) -> StoreInfo:
        """See `Store`. Sizes are projected from a sample of the index's keys."""
        tables = len(self._layout.tables)
        with self._errors():
            pages, size, table_bytes = retry_once(lambda _: measure(self._client, self._prefix, tables))
            return StoreInfo(
                pages=pages,
                bytes=size,
                table_bytes=table_bytes,
                tables=tables,
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store=self._url,
                warnings=retry_once(lambda _: self._warnings()),
            )

    def heartbeat(self) -> None:
        """See `Store`."""
        with self._errors():
            self._ask("heartbeat", self._now() or "", LEASE_SECONDS, self._session.number)

    def close(self, *, leave: bool = True) -> None:
        """See `Store`."""
        with self._joining, contextlib.suppress(redis.RedisError, OSError):
            number, self._session = self._session.number, NO_SESSION
            try:
                if number and leave:
                    self._client.zrem(self._prefix + "c", number)
                    self._client.hdel(self._prefix + "w", str(number))
            finally:
                self._client.close()

    def _ask(self, script: str, *arguments: bytes | str | float) -> Any:
        """Run a script that may be run twice."""
        return retry_once(lambda _: self._run(script, *arguments))

    def _run(self, script: str, *arguments: bytes | str | float) -> Any:
        return self._validated(script, self._script(script)(keys=[self._prefix], args=arguments))

    def _validated(self, script: str, answer: Any) -> Any:
        """Return a script's answer. Raises UnexpectedReplyError, or ProfileMismatchError for another profile."""
        if isinstance(validate_reply(script, answer), list) and answer[0] == b"profile":
            raise ProfileMismatchError(
                f"the namespace {self._layout.namespace!r} of {self._url}",
                index_profile=answer[1].decode("utf-8", "replace"),
                own_profile=self._layout.profile,
            )
        return answer

    def _errors(self) -> contextlib.AbstractContextManager[None]:
        return store_errors(self._url, lambda: self._session.number > 0, self._layout.namespace)

    def _now(self) -> int:
        """Return seconds since 1970; 0 for the server's clock."""
        return 0 if self._clock is None else int(self._clock())
