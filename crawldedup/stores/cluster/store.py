"""The shared store on a Redis Cluster: one index over all masters.

It is cut into 16 partitions, each within one hash slot. A page that is compared with the pages of one place only (its
site, its spider) belongs to one partition, where a check is one script call, as on a single server, with the same
promise. Pages that are compared with all others are spread over all partitions: see `cluster_check` for how, and for
what is promised.

Where the number of pages is limited, each partition may have its sixteenth, of either kind. While a slot moves to
another node, the partition in it is waited for, for some seconds; then the store is unavailable until it has arrived.
A page that a master has taken in may be lost with that master, if it dies before its replica has heard of the page.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import redis
from redis.exceptions import RedisClusterException

from crawldedup.errors import ProfileMismatchError, StoreError, StoreUnavailableError
from crawldedup.stores.base import (
    LEASE_SECONDS,
    NO_SESSION,
    UNKNOWN_SHARD,
    Answer,
    CrawlSession,
    Pruned,
    Status,
    StoreInfo,
    shown_url,
)
from crawldedup.stores.cluster.check import Check
from crawldedup.stores.cluster.nodes import Call, Nodes, script_call
from crawldedup.stores.cluster.protocol import PARTITIONS, prefixes, split
from crawldedup.stores.cluster.spread import ForeignPartError, LostPartError, Spread, new_token, sound
from crawldedup.stores.cluster.upkeep import measure, namespaces, prune, records, remove_epochs
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.redis.client import check_cluster_url
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.redis.health import layout_warnings
from crawldedup.stores.redis.protocol import bytes8, crawl, loaded, packed_order, question, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.stores.base import Layout, Query, Record, Retention
    from crawldedup.stores.cluster.nodes import Fanout

_LEADING: Final = 0
"""The partition that knows who is at work."""
_LOADED_AT_ONCE: Final = 1000

_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


class ClusterStore:
    """One namespace of a Redis Cluster. Safe to use from several threads, processes and machines."""

    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self._layout = layout
        # None lets the servers' clocks count, which the machines of a fleet share.
        self._clock = clock
        self._prefixes = prefixes(layout.namespace)
        self._order = packed_order(layout.tables)
        self._placed_pages = [0] * PARTITIONS
        self._session = NO_SESSION
        self._joining = threading.Lock()
        self._url = shown_url(url)
        self._nodes = Nodes(url)
        self._spread = Spread(self._nodes, layout)
        self._has_warned = False

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        check_cluster_url(url)

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        return cls(url, layout)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """See `Store`."""
        errors = store_errors(shown_url(url), lambda: False, wanted)
        with contextlib.closing(Nodes(url)) as nodes, errors, replies_read():
            return namespaces(nodes, wanted)

    @property
    def fanout(self) -> Fanout:
        """What this store has asked of the cluster so far."""
        return self._nodes.fanout

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._joining, self._errors():
            profile, now = self._layout.profile, self._now() or ""
            leading = self._prefixes[_LEADING]
            self._expire_dead_sessions()
            given = session or replace(self._session, first=0)
            own = (given.number, given.first)
            (answer,) = self._asked(script_call("join", leading, profile, self._order, now, LEASE_SECONDS, *own))
            self._session = CrawlSession(int(answer[1]), int(answer[2]), given.process or own_process())
            number = self._session.number
            parts = [(prefix, self._order) for prefix in self._prefixes]
            parts += [(prefix, b"") for prefix in (*self._spread.homes, *self._spread.tables)]
            begun = self._asked(
                *(script_call("spread_begin", prefix, profile, order, now, number) for prefix, order in parts)
            )
            with contextlib.suppress(redis.OutOfMemoryError):
                self._nodes.run([Call(f"{leading}w", ("HSET", f"{leading}w", number, self._session.process))])
            self._note_pages(begun)
            self._spread.finish()
            self._warn_once()
            return self._pages()

    def open_read_only(self) -> int:
        """See `Store`."""
        with self._errors():
            profile = self._layout.profile
            heads = (*self._prefixes, *self._spread.homes, *self._spread.tables)
            self._note_pages(self._asked(*(script_call("look", head, profile) for head in heads)))
            return self._pages()

    def _note_pages(self, answers: Sequence[Any]) -> None:
        """What the parts say of themselves: first those of placed pages, then the homes of the others."""
        for partition in range(PARTITIONS):
            self._placed_pages[partition] = answers[partition][1]
            self._spread.note_pages(partition, answers[PARTITIONS + partition][1])

    def _asked(self, *calls: Call) -> list[Any]:
        return [sound(answer) for answer in self._nodes.run(calls)]

    def _expire_dead_sessions(self) -> None:
        """Expire the leases of crawlers whose process on this machine has exited."""
        leading = self._prefixes[_LEADING]
        (told,) = self._nodes.run([Call(f"{leading}w", ("HGETALL", f"{leading}w"))])
        processes = dict(zip(told[::2], told[1::2], strict=True))
        dead = [number for number, process in processes.items() if has_exited(process.decode("utf-8", "replace"))]
        if dead:
            self._leave(*dead)

    def _warn_once(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            for warning in self._warnings():
                _log.warning("%s: %s", self._url, warning)

    def _warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(warning for node in self._nodes.masters() for warning in layout_warnings(node)))

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`. With a place it is one call; else several, as `cluster_check` tells."""
        return next(self.check_many((query,)))

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. Pages in a row that have places take one round trip, others are checked one by one."""
        groups = groupby(queries, lambda query: query.shard_key is not None)
        return chain.from_iterable(
            self._check_placed(list(group)) if is_placed else map(self._check_spread, list(group))
            for is_placed, group in groups
        )

    def _check_placed(self, queries: Sequence[Query]) -> Iterator[Answer]:
        with self._errors():
            answers = self._nodes.try_to_run([self._placed_check(query) for query in queries])
        return map(self._answer_or_raise, queries, answers)

    def _answer_or_raise(self, query: Query, answer: Any) -> Answer:
        with self._errors():
            if isinstance(answer, Exception):
                raise answer
            return self._placed_answer(query, answer)

    def _placed_check(self, query: Query) -> Call:
        asked = question(query, self._layout, self._now())
        own, again = (crawl(_share(query.retention), *self._numbers, again=again) for again in (False, True))
        prefix = self._prefixes[_place(query)]
        return script_call("check", prefix, self._layout.profile, *asked, own, last_again=again)

    def _placed_answer(self, query: Query, first_answer: Any) -> Answer:
        answers = iter([first_answer])

        def once() -> Any:
            answer = next(answers, None)
            return sound(self._nodes.run([self._placed_check(query)])[0] if answer is None else answer)

        status, changed, pages, candidates, record = self._begun_again(once)
        self._placed_pages[_place(query)] = pages
        return Answer(
            Status(status.decode()),
            unpacked(record, self._layout) if record else None,
            bool(changed),
            self._pages(),
            candidates,
        )

    def _check_spread(self, query: Query) -> Answer:
        with self._errors():
            asked = split(query, self._layout, self._now())
            own = crawl(_share(query.retention), *self._numbers)
            answer = self._begun_again(Check(self._spread, query, asked, own, new_token()).run)
            return replace(answer, pages=self._pages())

    def _begun_again(self, call: Callable[[], _Result]) -> _Result:
        """The result of a call; if a part of the index has gone, it is begun again first."""
        try:
            return call()
        except LostPartError:
            self.open()
        try:
            return call()
        except LostPartError:
            raise StoreUnavailableError(f"{self._url} loses the index as soon as it is begun") from None

    @property
    def _numbers(self) -> tuple[int, int]:
        return self._session.number, self._session.first

    def _pages(self) -> int:
        return sum(self._placed_pages) + self._spread.pages()

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._errors(), contextlib.suppress(LostPartError):
            if query.shard_key is None:
                return self._spread.find(query, split(query, self._layout, self._now()))
            asked = question(query, self._layout, self._now())
            call = script_call("find", self._prefixes[_place(query)], self._layout.profile, *asked)
            (answer,) = self._nodes.run([call])
            return [unpacked(record, self._layout) for record in sound(answer)[1:]]
        return []

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._errors(), contextlib.suppress(LostPartError):
            placed = self._nodes.run([script_call("forget", prefix, bytes8(url_key)) for prefix in self._prefixes])
            return self._spread.forget(url_key) or any(placed)
        return False

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._errors():
            heads = (*self._prefixes, *self._spread.homes, *self._spread.tables)
            over = self._nodes.run([script_call("clear", head) for head in heads])
            remove_epochs(self._nodes, dict(zip(heads, over, strict=True)))
        if self._session.number:
            self.open()

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`. One partition after the other."""
        with self._errors(), contextlib.suppress(LostPartError):
            yield from prune(self._nodes, self._spread, self._prefixes, _share(retention), self._now())

    def records(self) -> Iterator[list[Record]]:
        """See `Store`. In the order of adding within each partition."""
        with self._errors():
            yield from records(self._nodes, self._layout, (*self._prefixes, *self._spread.homes))

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`. Some hundred pages a script call, so that a crawl can go on beside it."""
        if any(record.shard_key == UNKNOWN_SHARD for record in records):
            raise StoreError(
                "a cluster keeps pages by their sites or spiders, and these do not tell theirs: load them into one "
                "server, or with the scope site and URLs"
            )
        spread = [record for record in records if record.shard_key is None]
        placed: dict[int, list[Record]] = {}
        for record in records:
            if record.shard_key is not None:
                placed.setdefault(record.shard_key % PARTITIONS, []).append(record)
        with self._errors():
            try:
                added = sum(self._spread.load(part) for part in _parts(spread))
                for partition, mine in placed.items():
                    for part in _parts(mine):
                        profile, tables = self._layout.profile, len(self._layout.tables)
                        packed = loaded(part, self._layout)
                        (answer,) = self._asked(script_call("load", self._prefixes[partition], profile, tables, packed))
                        added += int(answer[1])
                return added
            except LostPartError:
                raise StoreUnavailableError(f"the index in {self._url} is gone") from None

    def info(self) -> StoreInfo:
        """See `Store`. Sizes are projected from a sample of the index's keys."""
        with self._errors():
            figures = measure(self._nodes, self._layout, self._prefixes, self._spread.homes, self._spread.tables)
            return StoreInfo(
                pages=figures.pages,
                bytes=figures.bytes,
                table_bytes=figures.table_bytes,
                tables=len(self._layout.tables),
                profile=self._layout.profile,
                namespace=self._layout.namespace,
                store=self._url,
                warnings=self._warnings(),
            )

    def heartbeat(self) -> None:
        """See `Store`. Files what others have left unfiled, too."""
        leading = self._prefixes[_LEADING]
        with self._errors(), contextlib.suppress(LostPartError):
            number = self._session.number
            self._nodes.run([script_call("heartbeat", leading, self._now() or "", LEASE_SECONDS, number)])
            self._spread.finish()

    def close(self, *, leave: bool = True) -> None:
        """See `Store`."""
        with self._joining, contextlib.suppress(redis.RedisError, RedisClusterException, OSError):
            number, self._session = self._session.number, NO_SESSION
            if number and leave:
                self._leave(number)
            self._nodes.close()

    def _leave(self, *numbers: int | bytes) -> None:
        leading = self._prefixes[_LEADING]
        commands = (("ZREM", f"{leading}c"), ("HDEL", f"{leading}w"))
        self._nodes.run([Call(key, (command, key, *numbers)) for command, key in commands])

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        namespace = self._layout.namespace
        with store_errors(self._url, lambda: self._session.number > 0, namespace), replies_read():
            try:
                yield
            except ForeignPartError as error:
                raise ProfileMismatchError(
                    f"the namespace {namespace!r} of {self._url}",
                    index_profile=error.profile,
                    own_profile=self._layout.profile,
                ) from None

    def _now(self) -> int:
        """Seconds since 1970; 0 for the servers' clocks."""
        return 0 if self._clock is None else int(self._clock())


def _place(query: Query) -> int:
    """The partition of a query with a place."""
    return (query.shard_key or 0) % PARTITIONS


def _share(retention: Retention) -> Retention:
    """What of a limit is one partition's."""
    most = retention.max_pages
    return retention if most is None else replace(retention, max_pages=-(-most // PARTITIONS))


def _parts(records: Sequence[Record]) -> list[Sequence[Record]]:
    return [records[first : first + _LOADED_AT_ONCE] for first in range(0, len(records), _LOADED_AT_ONCE)]
