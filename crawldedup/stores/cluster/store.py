"""The shared store on a Redis Cluster: one index over all masters.

It is cut into partitions, each within one hash slot, and each a whole index of the one-server kind. A page that is
compared with the pages of one place only (its site, its spider) belongs to one partition, where a check is one script
call, as on a single server, with the same promise. Pages that are compared with all others belong where their text
says: see `crawldedup.search.routing`, and `check` for what is promised.

Where the number of pages is limited, each partition may have its share. While a slot moves to another node, the
partition in it is waited for, for some seconds; then the store is unavailable until it has arrived. A page that a
master has taken in may be lost with that master, if it dies before its replica has heard of the page.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from crawldedup.errors import StoreError
from crawldedup.search.routing import partition_of
from crawldedup.stores.base import LEASE_SECONDS, UNKNOWN_SHARD, Record, Retention
from crawldedup.stores.cluster.check import GlobalCheck, claim
from crawldedup.stores.cluster.nodes import Call, Nodes, script_call
from crawldedup.stores.cluster.partitions import old_head, prefixes, share
from crawldedup.stores.redis.client import check_cluster_url
from crawldedup.stores.redis.errors import is_transient, replies_read, store_errors
from crawldedup.stores.redis.protocol import bytes8, crawl, question, unpacked
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.redis.shared import SharedStore
from crawldedup.stores.redis.upkeep import expire_dead_sessions, heads_on, namespaces_among
from crawldedup.stores.redis.url import CLUSTER, parse_url
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import redis

    from crawldedup.stores.base import Answer, CrawlSession, Layout, Pruned, Query, StoreInfo
    from crawldedup.stores.redis.shared import Argument

_DELIVERED_AT_ONCE: Final = 50
_Asked = TypeVar("_Asked")
_TELLS_PAGES: Final = {"check": 2, "scout": 1, "claim": 1, "count": 1, "look": 1, "join": 2}
"""By script, the place of the number of pages in its answer."""


class ClusterStore(SharedStore):
    """One namespace of a Redis Cluster. Safe to use from several threads, processes and machines.

    `nodes` counts what was asked.
    """

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self.nodes = Nodes(url)
        self._wanted = parse_url(url, CLUSTER).partitions
        self._released: dict[int, bytes] = {}
        self._pages_at: dict[str, int] = {}
        self._delivered: dict[int, None] = {}
        self._told_at = _DELIVERED_AT_ONCE
        super().__init__(url, layout, prefixes(layout.namespace, self._wanted), clock)

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        check_cluster_url(url)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """See `Store`."""
        errors = store_errors(shown_url(url), lambda: False, wanted)
        with contextlib.closing(Nodes(url)) as nodes, errors, replies_read():
            head = f"{prefixes(wanted, 1)[0]}m"
            if nodes.run([Call(head, ("EXISTS", head))])[0]:
                return [wanted]
            return namespaces_among((head for node in nodes.masters() for head in heads_on(node)), partitioned=True)

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        self._learn_partitions()
        return super().open(session)

    def _wanted_partitions(self) -> tuple[int, ...]:
        return (len(self._prefixes),)

    def _begin(self, pages: int, partitions: int) -> int:  # noqa: ARG002
        self._prefixes = prefixes(self._layout.namespace, partitions)
        own = (self._now() or "", LEASE_SECONDS, self._session.number, partitions)
        self._ask_each(self._prefixes[1:], "join", self._layout.profile, self._order, *own)
        return self._pages()

    def open_read_only(self) -> int:
        """See `Store`. The pages of partitions that do not answer are not counted."""
        self._learn_partitions()
        with self._errors():
            looks = [script_call("look", prefix, self._layout.profile) for prefix in self._prefixes]
            for call, answer in _sound(looks, self.nodes.try_to_run(looks)):
                self._note_pages(call, validate_reply("look", answer))
            return self._pages()

    def _learn_partitions(self) -> None:
        """Read the number of partitions from the index. Raises StoreError for an index of an older version."""
        # Whatever their number, an index has these two; where one was lost with its master, the other may be left.
        heads = [f"{prefix}m" for prefix in prefixes(self._layout.namespace, 2)]
        old = old_head(self._layout.namespace)
        asked = [*(Call(head, ("HGET", head, "partitions")) for head in heads), Call(old, ("EXISTS", old))]
        with self._errors():
            told = _sound(range(3), self.nodes.try_to_run(asked))
        number = next((int(answer) for place, answer in told if place < 2 and answer), self._wanted)
        self._prefixes = prefixes(self._layout.namespace, number)
        if (2, 1) in told:
            raise StoreError(
                f"the index {self._layout.namespace!r} in {self._url} was made by an earlier version, which spread "
                f"pages in another way: clear it (crawldedup clear), or take another namespace"
            )

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. Pages in a row that have places take one round trip, others are checked one by one."""
        self._delivered.update((url_key, None) for query in queries for url_key in query.delivered)
        if len(self._delivered) >= self._told_at:
            # A partition that does not answer is no trouble of pages of others.
            with contextlib.suppress(StoreError):
                self.deliver(())
        groups = groupby(queries, lambda query: query.shard_key is not None)
        return chain.from_iterable(
            self._check_placed(list(group)) if is_placed else map(self._check_global, list(group))
            for is_placed, group in groups
        )

    def heartbeat(self) -> None:
        """See `Store`."""
        super().heartbeat()
        self.deliver(())

    def deliver(self, url_keys: Sequence[int]) -> None:
        """See `Store`. Tells all partitions what was collected too, because nobody notes which of them has a page."""
        self._delivered.update(dict.fromkeys(url_keys))
        collected = tuple(self._delivered)
        # Where it fails, it is not tried again at each check.
        self._told_at = len(collected) + _DELIVERED_AT_ONCE
        super().deliver(collected)
        for url_key in collected:
            self._delivered.pop(url_key, None)
        self._told_at = _DELIVERED_AT_ONCE

    def _check_placed(self, queries: Sequence[Query]) -> Iterator[Answer]:
        with self._errors():
            replies = self.nodes.try_to_run([self._placed_check(query) for query in queries])
        return map(self._placed_answer, queries, replies)

    def _placed_answer(self, query: Query, reply: Any) -> Answer:
        answer = self._answer(query, reply)
        self._pages_at[self._place(query)] = answer.pages
        return replace(answer, pages=self._pages())

    def _check_one(self, query: Query) -> Any:
        return validate_reply("check", self.nodes.run([self._placed_check(query)])[0])

    def _placed_check(self, query: Query) -> Call:
        asked = question(query, self._layout, self._now())
        shared = replace(query, retention=self._share(query.retention))
        own, again = (crawl(shared, self._session, again=again) for again in (False, True))
        return script_call("check", self._place(query), self._layout.profile, *asked, b"", own, last_again=again)

    def _check_global(self, query: Query) -> Answer:
        asked = replace(query, retention=self._share(query.retention))

        def check() -> Answer:
            own = (self._layout, self._session, self._prefixes, self._released, self._now())
            return GlobalCheck(self._run, asked, *own).answer()

        with self._errors():
            answer = self._begun_again(check)
            if self._is_copy_of_itself(query, answer) and expire_dead_sessions(self._send, self._prefixes):
                answer = check()
            return replace(answer, pages=self._pages())

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        asked = question(query, self._layout, self._now())
        number = len(self._prefixes)
        parts = range(number) if query.route is None else query.route(number)
        places = [self._place(query)] if query.shard_key is not None else [self._prefixes[part] for part in parts]
        with self._errors():
            answers = self._ask_each(places, "find", self._layout.profile, *asked)
        found = [unpacked(record, self._layout) for answer in answers for record in answer[1:]]
        signature = query.entry.signature
        return sorted(found, key=lambda record: query.rule.cost(signature, record.signature))

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`. One partition after the other."""
        yield from super().prune(self._share(retention))

    def clear(self) -> None:
        """See `Store`. Removes an index of an older version, too."""
        with contextlib.suppress(StoreError):
            self._learn_partitions()
        with self._errors():
            old = re.compile(rf"crawldedup:\{{{re.escape(self._layout.namespace)}\.[0-9a-f][0-9]*\}}:".encode())
            for master in self.nodes.masters():
                keys = master.scan_iter(f"crawldedup:{{{self._layout.namespace}.*", count=1000)
                for key in filter(old.match, keys):
                    master.unlink(key)
        super().clear()

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        if any(record.shard_key == UNKNOWN_SHARD for record in records):
            raise StoreError(
                "a cluster keeps pages by their sites or spiders, and these do not tell theirs: load them into one "
                "server, or with the scope site and URLs"
            )
        if any(record.shard_key is None and record.home is None for record in records):
            raise StoreError(
                "a cluster keeps pages by their texts, and some of these were remembered by an earlier version, which "
                "did not note where they belong: load them into one server, or crawl anew"
            )
        with self._errors():
            placed: dict[str, list[Record]] = {}
            for record in self._not_elsewhere(records):
                placed.setdefault(self._place(record), []).append(record)
            return sum(self._load_part(prefix, mine) for prefix, mine in placed.items())

    def _not_elsewhere(self, records: Sequence[Record]) -> list[Record]:
        """Note the homes of records of the global scope; return all but those whose URL is kept at another home."""
        first = {record.url_key: record for record in reversed(records)}
        noted = [record for record in first.values() if record.shard_key is None]
        formers = self._run(*(self._noting(record, forced=False) for record in noted))
        told = [
            (record, self._prefix_of(reply[2][0])) for record, reply in zip(noted, formers, strict=True) if reply[2]
        ]
        elsewhere = [(record, prefix) for record, prefix in told if prefix != self._place(record)]
        kept = self._run(*(self._own(record, prefix) for record, prefix in elsewhere))
        known = {record.url_key for (record, _), reply in zip(elsewhere, kept, strict=True) if reply[1]}
        self._run(*(self._noting(record, forced=True) for record, _ in elsewhere if record.url_key not in known))
        return [record for record in reversed(first.values()) if record.url_key not in known]

    def _own(self, record: Record, prefix: str) -> Call:
        return script_call("own", prefix, self._layout.profile, bytes8(record.url_key), bytes(13))

    def _noting(self, record: Record, *, forced: bool) -> Call:
        packed = claim(record.url_key, record.home or 0, Retention(), self._now(), forced=forced)
        prefix = self._prefixes[record.url_key % len(self._prefixes)]
        return script_call("claim", prefix, self._layout.profile, packed)

    def info(self) -> StoreInfo:
        """See `Store`. Of the partitions that answer; a warning names the others."""
        with self._errors():
            every = self._prefixes
            heads = self.nodes.try_to_run(Call(prefix, ("EXISTS", f"{prefix}m")) for prefix in every)
            answering = [prefix for prefix, _ in _sound(every, heads)]
        silent = [str(number) for number, prefix in enumerate(every) if prefix not in answering]
        names = ", ".join(silent)
        warning = f"of {len(every)} partitions, these do not answer, and their pages are not counted: {names}"
        return self._info_of(answering, warning if silent else None)

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Argument) -> list[Any]:
        return self._run(*(script_call(script, prefix, *arguments) for prefix in prefixes))

    def _run(self, *calls: Call) -> list[Any]:
        """Return the validated answers of scripts that are called at once."""
        replies = [validate_reply(call.script, reply) for call, reply in zip(calls, self.nodes.run(calls), strict=True)]
        for call, reply in zip(calls, replies, strict=True):
            self._note_pages(call, reply)
        return replies

    def _note_pages(self, call: Call, reply: Any) -> None:
        place = _TELLS_PAGES.get(call.script, 0)
        if place and len(reply) > place:
            self._pages_at[call.key] = reply[place]
        elif call.script == "forget":
            self._pages_at[call.key] = max(0, self._pages_at.get(call.key, 0) - reply)
        elif call.script == "load":
            self._pages_at[call.key] = self._pages_at.get(call.key, 0) + reply[1]

    def _pages(self) -> int:
        """Return about how many pages there are: as many as each partition had when it was last asked."""
        return sum(self._pages_at.get(prefix, 0) for prefix in self._prefixes)

    def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self.nodes.run(Call(command[1], command) for command in commands)

    def _servers(self) -> Iterator[redis.Redis]:
        return self.nodes.masters()

    def _disconnect(self) -> None:
        self.nodes.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with super()._errors(), replies_read():
            yield

    def _share(self, retention: Retention) -> Retention:
        return share(retention, len(self._prefixes))

    def _place(self, page: Query | Record) -> str:
        """Return the prefix of the partition that a page belongs to."""
        if page.shard_key is not None:
            return self._prefixes[page.shard_key % len(self._prefixes)]
        entry = page if isinstance(page, Record) else page.entry
        return self._prefix_of(entry.home or 0)

    def _prefix_of(self, home: int) -> str:
        return self._prefixes[partition_of(home, len(self._prefixes))]


def _sound(asked: Sequence[_Asked], answers: Sequence[Any]) -> list[tuple[_Asked, Any]]:
    """Return what answered, and how. Raises the error of what did not, unless it is transient and others answered."""
    sound = [(item, answer) for item, answer in zip(asked, answers, strict=True) if not isinstance(answer, Exception)]
    for answer in answers:
        if isinstance(answer, Exception) and not (sound and is_transient(answer)):
            raise answer
    return sound
