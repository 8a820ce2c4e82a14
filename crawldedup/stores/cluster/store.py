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
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ProfileMismatchError, StoreError
from crawldedup.search.routing import partition_of
from crawldedup.stores.base import LEASE_SECONDS, UNKNOWN_SHARD, Record, Retention
from crawldedup.stores.candidates import accepted, resembling
from crawldedup.stores.cluster.check import GlobalCheck, check_call, claim
from crawldedup.stores.cluster.nodes import Call, Nodes, script_call
from crawldedup.stores.cluster.partitions import PageCounts, old_head, prefixes
from crawldedup.stores.redis.client import check_cluster_url
from crawldedup.stores.redis.crawlers import expire_dead_sessions, is_copy_of_itself
from crawldedup.stores.redis.errors import is_transient, replies_read, store_errors
from crawldedup.stores.redis.protocol import bytes8, question, unpacked
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.redis.shared import SharedStore
from crawldedup.stores.redis.upkeep import heads_on, load, namespaces_among
from crawldedup.stores.redis.url import CLUSTER, parse_url
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import redis

    from crawldedup.stores.base import Answer, CrawlSession, Layout, Pruned, Query, StoreInfo
    from crawldedup.stores.redis.shared import Argument

_DELIVERED_AT_ONCE: Final = 50


class ClusterStore(SharedStore):
    """One namespace of a Redis Cluster. Safe to use from several threads, processes and machines."""

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self.nodes = Nodes(url)
        self._wanted = parse_url(url, CLUSTER).partitions
        self._released: defaultdict[int, bytes] = defaultdict(bytes)
        self._pages = PageCounts()
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
        own = (self._now() or "", LEASE_SECONDS, self._session.number, self._layout.key.secret, partitions)
        others = [prefix for prefix in self._answering() if prefix != self._leading]
        self._ask_each(others, "join", self._layout.profile, self._order, *own)
        return self._pages.of(self._prefixes)

    def open_read_only(self) -> int:
        """See `Store`. The pages of partitions that do not answer are not counted."""
        self._learn_partitions()
        with self._errors():
            looks = [script_call("look", prefix, self._layout.profile) for prefix in self._prefixes]
            for call, answer in self._told(looks):
                self._pages.note("look", call.key, validate_reply("look", answer))
            return self._pages.of(self._prefixes)

    def _learn_partitions(self) -> None:
        """Read the number of partitions and the key from the index. Raises StoreError for one of an older version."""
        # Whatever their number, an index has the first two; where one was lost with its master, the other may be left.
        old = old_head(self._layout.namespace)
        heads = [*(f"{prefix}m" for prefix in prefixes(self._layout.namespace, 2)), old]
        with self._errors():
            asked = [Call(head, ("HMGET", head, "partitions", "profile", "key")) for head in heads]
            answered = {call.key: answer for call, answer in self._told(asked)}
            told = {head: answer for head, answer in answered.items() if answer[1]}
            is_old = told.pop(old, None)
            number, profile, key = next((answer for answer in told.values() if answer[0]), (self._wanted, None, None))
            self._prefixes = prefixes(self._layout.namespace, int(number))
            self._leading = next((prefix for prefix in self._prefixes if f"{prefix}m" in answered), self._prefixes[0])
            self._fit(profile, key)
        if is_old:
            raise StoreError(
                f"the index {self._layout.namespace!r} in {self._url} was made by an earlier version, which spread "
                f"pages in another way: clear it (crawldedup clear), or take another namespace"
            )

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. Pages that have places take one round trip, others are checked one by one."""
        self._delivered.update((url_key, None) for query in queries for url_key in query.delivered)
        if len(self._delivered) >= self._told_at:
            # A partition that does not answer is no trouble of pages of others.
            with contextlib.suppress(StoreError):
                self.deliver(())
        if any(query.shard_key is None for query in queries):
            return map(self._check_alone, queries)
        with self._errors():
            return map(self._placed_answer, queries, self.nodes.try_to_run(map(self._placed_check, queries)))

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

    def _placed_answer(self, query: Query, reply: Any) -> Answer:
        answer = self._answer(query, reply)
        self._pages[self._place(query)] = answer.pages
        return replace(answer, pages=self._pages.of(self._prefixes))

    def _check_one(self, query: Query) -> Any:
        return self._run(self._placed_check(query))[0]

    def _placed_check(self, query: Query) -> Call:
        asked = question(query, self._layout, self._now())
        shared = replace(query, retention=self._share(query.retention))
        return check_call(self._place(query), asked, shared, self._layout.profile_of(query), self._session)

    def _check_alone(self, query: Query) -> Answer:
        if query.shard_key is not None:
            return self.check_and_add(query)
        # The directory tells pages by their URL keys alone.
        asked = replace(query, retention=self._share(query.retention), is_own=True)

        def check(asked: Query) -> Answer:
            own = (self._layout, self._session, self._prefixes, self._released, self._now())
            return GlobalCheck(self._run, asked, *own).answer()

        with self._errors():
            answer = self._begun_again(lambda: check(asked))
            if is_copy_of_itself(asked, answer):
                # Its crawler may have died.
                expire_dead_sessions(self._send, self._leading, self._answering)
                answer = check(replace(asked, is_asked_again=True))
            return replace(answer, pages=self._pages.of(self._prefixes))

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        asked = question(resembling(query), self._layout, self._now())
        parts = query.route(len(self._prefixes)) if query.route else range(len(self._prefixes))
        places = [self._place(query)] if query.shard_key is not None else [self._prefixes[part] for part in parts]
        with self._errors():
            answers = self._ask_each(places, "find", self._layout.profile_of(query), *asked)
        found = [unpacked(record, self._layout) for answer in answers for record in answer[1:]]
        matches = accepted(query, [record.signature for record in found], [record.digest for record in found])
        return [found[place] for _, place in sorted(matches)]

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`. One partition after the other."""
        yield from super().prune(self._share(retention))

    def clear(self) -> None:
        """See `Store`. Removes an index of an older version, too."""
        with contextlib.suppress(StoreError, ProfileMismatchError):
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
        places = {record.home if record.shard_key is None else record.shard_key for record in records}
        if places & {None, UNKNOWN_SHARD}:
            raise StoreError(
                "a cluster keeps pages by their sites, spiders or texts, and some of these do not tell theirs: load "
                "them with the scope that they were remembered with (site needs their URLs); those of the scope "
                "spider, and of a version that did not note where texts belong, go into one server only"
            )
        unique = {record.url_key: record for record in reversed(records)}.values()
        placed: defaultdict[str, list[Record]] = defaultdict(list)
        with self._errors():
            noted = self._run(*(self._noting(record) for record in reversed(unique) if record.shard_key is None))
            homes = iter([reply[2] for reply in noted])
            for record in reversed(unique):
                if record.shard_key is not None or not self._is_elsewhere(record, next(homes)):
                    placed[self._place(record)].append(record)
            return sum(load(self._ask, self._layout, prefix, mine) for prefix, mine in placed.items())

    def _is_elsewhere(self, record: Record, noted: bytes) -> bool:
        """Return True if a URL is kept at the home that was noted for it, and that is another one than the record's."""
        prefix = self._prefix_of(noted[0]) if noted else self._place(record)
        if prefix == self._place(record):
            return False
        kept = self._run(script_call("own", prefix, self._layout.profile, bytes8(record.url_key), bytes(14)))[0][1]
        if not kept:
            self._run(self._noting(record, forced=True))
        return bool(kept)

    def _noting(self, record: Record, *, forced: bool = False) -> Call:
        packed = claim(record, Retention(), self._now(), forced=forced)
        prefix = self._prefixes[record.url_key % len(self._prefixes)]
        return script_call("claim", prefix, self._layout.profile, packed)

    def info(self) -> StoreInfo:
        """See `Store`. Of the partitions that answer; a warning names the others."""
        every = self._prefixes
        with self._errors():
            answering = self._answering()
        silent = ", ".join(str(number) for number, prefix in enumerate(every) if prefix not in answering)
        warning = f"of {len(every)} partitions, these do not answer, and their pages are not counted: {silent}"
        return self._info_of(answering, warning if silent else None)

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Argument) -> list[Any]:
        return self._run(*(script_call(script, prefix, *arguments) for prefix in prefixes))

    def _answering(self) -> list[str]:
        return [
            call.key for call, _ in self._told([Call(prefix, ("EXISTS", f"{prefix}m")) for prefix in self._prefixes])
        ]

    def _told(self, calls: Sequence[Call]) -> list[tuple[Call, Any]]:
        """Return what was answered. Raises the error of what was not, unless it is transient and others were."""
        answers = self.nodes.try_to_run(calls)
        told = [each for each in zip(calls, answers, strict=True) if not isinstance(each[1], Exception)]
        for answer in answers:
            if isinstance(answer, Exception) and not (told and is_transient(answer)):
                raise answer
        return told

    def _run(self, *calls: Call) -> list[Any]:
        """Return the validated answers of scripts that are called at once."""
        replies = [validate_reply(call.script, reply) for call, reply in zip(calls, self.nodes.run(calls), strict=True)]
        for call, reply in zip(calls, replies, strict=True):
            self._pages.note(call.script, call.key, reply)
        return replies

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
        """Return what of a limit of pages is one partition's."""
        most = retention.max_pages
        return retention if most is None else replace(retention, max_pages=-(-most // len(self._prefixes)))

    def _place(self, page: Query | Record) -> str:
        """Return the prefix of the partition that a page belongs to."""
        if page.shard_key is not None:
            return self._prefixes[page.shard_key % len(self._prefixes)]
        entry = page if isinstance(page, Record) else page.entry
        return self._prefix_of(entry.home or 0)

    def _prefix_of(self, home: int) -> str:
        return self._prefixes[partition_of(home, len(self._prefixes))]
