"""The shared store: one Redis (or Valkey) server, 6.2 or later, one script call a page.

Everything that must be atomic is in the scripts under `lua/`; `lua/layout.lua` describes the layout.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import redis
from redis.exceptions import NoScriptError

from crawldedup.errors import ProfileMismatchError, StoreUnavailableError
from crawldedup.stores.base import LEASE_SECONDS, NO_SESSION, Answer, CrawlSession, Pruned, Status, StoreInfo, shown_url
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.redis.client import connect, retry_once
from crawldedup.stores.redis.errors import is_transient, replies_read, store_errors
from crawldedup.stores.redis.health import layout_warnings
from crawldedup.stores.redis.keys import Names, bucket_names, heads_on, namespaces_among, sample
from crawldedup.stores.redis.protocol import (
    RECORDS_A_LIST,
    bytes8,
    crawl,
    loaded,
    packed_order,
    question,
    unpacked,
)
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.redis.scripts import script_text
from crawldedup.stores.redis.url import SINGLE_SERVER, parse_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from redis.commands.core import Script

    from crawldedup.stores.base import Layout, Query, Record, Retention

KEY_PREFIX: Final = "crawldedup"

_PRUNED_AT_ONCE: Final = 256
_LOADED_AT_ONCE: Final = 200

_log = logging.getLogger(__name__)


class RedisStore:
    """One namespace of a Redis server. Safe to use from several threads, processes and machines."""

    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self._layout = layout
        # None lets the server's clock count, which the machines of a fleet share.
        self._clock = clock
        self._prefix = f"{KEY_PREFIX}:{{{layout.namespace}}}:"
        self._order = packed_order(layout.tables)
        self._session = NO_SESSION
        self._joining = threading.Lock()
        self._url = shown_url(url)
        self._connection = connect(url)
        self._client = self._connection.main
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
        with contextlib.closing(connect(url)) as connection, errors, replies_read():
            if connection.main.exists(f"{KEY_PREFIX}:{{{wanted}}}:m"):
                return [wanted]
            return namespaces_among(heads_on(connection.main))

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._joining, self._errors():
            return retry_once(lambda _: self._join(session or replace(self._session, first=0)))

    def _join(self, session: CrawlSession) -> int:
        self._expire_dead_sessions()
        own = (session.number, session.first)
        answer = self._run("join", self._layout.profile, self._order, self._now() or "", LEASE_SECONDS, *own)
        self._check_profile(answer)
        self._session = CrawlSession(int(answer[1]), int(answer[2]), session.process or own_process())
        with contextlib.suppress(redis.OutOfMemoryError):
            self._client.hset(self._prefix + "w", str(self._session.number), self._session.process)
        self._warn_once()
        return int(answer[3])

    @replies_read()
    def _expire_dead_sessions(self) -> None:
        """Expire the leases of crawlers whose process on this machine has exited."""
        processes: Any = self._client.hgetall(self._prefix + "w")
        dead = [number for number, process in processes.items() if has_exited(process.decode("utf-8", "replace"))]
        if dead:
            self._client.zrem(self._prefix + "c", *dead)
            self._client.hdel(self._prefix + "w", *dead)

    @replies_read()
    def _warn_once(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            for warning in layout_warnings(self._client):
                _log.warning("%s: %s", self._url, warning)

    def open_read_only(self) -> int:
        """See `Store`."""
        with self._errors():
            answer = self._ask("look", self._layout.profile)
            self._check_profile(answer)
            return int(answer[1])

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        return next(self.check_many((query,)))

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. One round trip for all of them."""
        for query, answer in zip(queries, self._asked(queries), strict=True):
            with self._errors():
                if isinstance(answer, Exception):
                    raise answer
                yield self._answer(query, validate_reply("check", answer))

    def _asked(self, queries: Sequence[Query]) -> list[Any]:
        """What the script `check` says of each page: an answer or an error."""
        with self._errors():
            if len(queries) == 1:
                return [retry_once(lambda again: self._run("check", *self._arguments(queries[0], again)))]
            answers = retry_once(lambda again: self._pipelined(queries, again))
            if any(isinstance(answer, NoScriptError) for answer in answers):
                self._client.script_load(script_text("check"))
                places = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
                asked = [queries[place] for place in places]
                for place, answer in zip(places, self._pipelined(asked, again=False), strict=True):
                    answers[place] = answer
            return answers

    def _pipelined(self, queries: Sequence[Query], again: bool) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        asked: set[int] = set()
        for query in queries:
            # What comes twice in a batch is a revisit the second time, whether or not an answer was lost.
            first_time = query.entry.url_key not in asked
            asked.add(query.entry.url_key)
            arguments = self._arguments(query, again and first_time)
            pipeline.evalsha(self._script("check").sha, 1, self._prefix, *arguments)
        return pipeline.execute(raise_on_error=False)

    def _arguments(self, query: Query, again: bool) -> tuple[bytes | str, ...]:
        own = crawl(query.retention, self._session.number, self._session.first, again=again)
        return (self._layout.profile, *question(query, self._layout, self._now()), own)

    def _answer(self, query: Query, answer: Any) -> Answer:
        if answer[0] == b"lost":
            # The index went under our feet: begin it again with this crawler as its first.
            self.open()
            answer = retry_once(lambda again: self._run("check", *self._arguments(query, again)))
        self._check_profile(answer)
        if answer[0] == b"lost":
            raise StoreUnavailableError(f"{self._url} loses the index as soon as it is begun")
        status, changed, pages, candidates, record = answer
        return Answer(
            Status(status.decode()),
            unpacked(record, self._layout) if record else None,
            bool(changed),
            int(pages),
            int(candidates),
        )

    def find(self, query: Query) -> list[Record]:
        """See `Store`. On a replica, if the URL names one."""
        with self._errors():
            asked = question(query, self._layout, self._now())
            answer = self._read_only("find", self._layout.profile, *asked)
            self._check_profile(answer)
            return [unpacked(record, self._layout) for record in answer[1:]]

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._errors():
            return bool(self._ask("forget", bytes8(url_key)))

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._errors():
            self._remove_keys(int(self._ask("clear")))
        if self._session.number:
            self.open()

    @replies_read()
    def _remove_keys(self, newest: int) -> None:
        """Remove the keys of epochs up to this one. Later ones are in use, for others may have cleared since."""
        batch: list[bytes] = []
        for key in self._client.scan_iter(match=f"{self._prefix}[0-9]*", count=1000):
            if int(key[len(self._prefix) :].partition(b":")[0]) <= newest:
                batch.append(key)
            if len(batch) == 1000:
                self._client.unlink(*batch)
                batch.clear()
        if batch:
            self._client.unlink(*batch)

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
        number = 0
        while True:
            with self._errors():
                following, batch = self._list_of_records(number)
            if batch:
                yield batch
            number += 1
            if number * RECORDS_A_LIST >= following:
                return

    @replies_read()
    def _list_of_records(self, number: int) -> tuple[int, list[Record]]:
        """The number of the next page to be added, and the records of one list."""
        meta: Any = retry_once(lambda _: self._client.hmget(self._prefix + "m", "epoch", "next"))
        epoch, following = (int(value or 0) for value in meta)
        found: Any = retry_once(lambda _: self._client.lrange(f"{self._prefix}{epoch}:r:{number}", 0, -1))
        return following, [unpacked(record, self._layout) for record in found if record]

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`. Some hundred pages a script call, so that a crawl can go on beside it."""
        parts = [
            loaded(records[first : first + _LOADED_AT_ONCE], self._layout)
            for first in range(0, len(records), _LOADED_AT_ONCE)
        ]
        added = 0
        with self._errors():
            for part in parts:
                answer = self._ask("load", self._layout.profile, len(self._layout.tables), part)
                self._check_profile(answer)
                if answer[0] == b"lost":
                    raise StoreUnavailableError(f"the index in {self._url} is gone")
                added += int(answer[1])
        return added

    def info(self) -> StoreInfo:
        """See `Store`. Sizes are projected from a sample of the index's keys."""
        with self._errors():
            return retry_once(lambda _: self._info())

    @replies_read()
    def _info(self) -> StoreInfo:
        meta = self._client.hgetall(self._prefix + "m")
        pages, depth, split, following, oldest, epoch = (
            int(meta.get(name, 0)) for name in (b"pages", b"depth", b"split", b"next", b"oldest", b"epoch")
        )
        data = f"{self._prefix}{epoch}:"
        in_tables = 0
        for table in range(len(self._layout.tables)):
            in_tables += self._sampled_bytes(bucket_names(f"{data}t{table}:", depth, split))
            in_tables += self._sampled_bytes([Names(f"{data}f{table}:", range(depth, depth + 2))])
        lists = range(oldest // RECORDS_A_LIST, -(-following // RECORDS_A_LIST))
        rest = self._sampled_bytes(bucket_names(f"{data}u:", depth, split))
        rest += self._sampled_bytes([Names(f"{data}r:", lists)])
        warnings = layout_warnings(self._client)
        return StoreInfo(
            pages=pages,
            bytes=in_tables + rest,
            table_bytes=in_tables,
            tables=len(self._layout.tables),
            profile=self._layout.profile,
            namespace=self._layout.namespace,
            store=self._url,
            warnings=warnings,
        )

    def _sampled_bytes(self, names: Sequence[Names]) -> int:
        """Memory of keys, projected from a sample."""
        chosen, keys = sample(names)
        pipeline = self._client.pipeline(transaction=False)
        for key in chosen:
            pipeline.memory_usage(key, samples=0)
        sizes = [size or 0 for size in pipeline.execute()]
        return round(sum(sizes) / len(sizes) * keys) if sizes else 0

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
                self._connection.close()

    def _read_only(self, script: str, *arguments: bytes | str | float) -> Any:
        """Run a script that only reads on the replica, if there is one and it works."""
        if self._connection.reader is not self._client:
            try:
                return self._run(script, *arguments, client=self._connection.reader)
            except redis.RedisError as error:
                if not is_transient(error):
                    raise
                _log.debug("%s: the replica cannot be used: %s", self._url, error)
        return self._ask(script, *arguments)

    def _ask(self, script: str, *arguments: bytes | str | float) -> Any:
        """Run a script that may be run twice."""
        return retry_once(lambda _: self._run(script, *arguments))

    def _run(self, script: str, *arguments: bytes | str | float, client: redis.Redis | None = None) -> Any:
        return validate_reply(script, self._script(script)(keys=[self._prefix], args=arguments, client=client))

    def _errors(self) -> contextlib.AbstractContextManager[None]:
        return store_errors(self._url, lambda: self._session.number > 0, self._layout.namespace)

    def _check_profile(self, answer: Any) -> None:
        if answer[0] == b"profile":
            raise ProfileMismatchError(
                f"the namespace {self._layout.namespace!r} of {self._url}",
                index_profile=answer[1].decode("utf-8", "replace"),
                own_profile=self._layout.profile,
            )

    def _now(self) -> int:
        """Seconds since 1970; 0 for the server's clock."""
        return 0 if self._clock is None else int(self._clock())
