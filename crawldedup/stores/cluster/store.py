"""The shared store on a Redis Cluster: one index over all masters.

It is cut into 16 partitions, each within one hash slot. A page that is compared with the pages of one place only (its
site, its spider) belongs to one partition, where a check is one script call, as on a single server, with the same
promise. Pages that are compared with all others are spread over all partitions: see `check` for how, and for
what is promised.

Where the number of pages is limited, each partition may have its sixteenth, of either kind. While a slot moves to
another node, the partition in it is waited for, for some seconds; then the store is unavailable until it has arrived.
A page that a master has taken in may be lost with that master, if it dies before its replica has heard of the page.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import StoreError
from crawldedup.stores.base import UNKNOWN_SHARD, shown_url
from crawldedup.stores.cluster.check import Check
from crawldedup.stores.cluster.nodes import Call, Nodes, script_call
from crawldedup.stores.cluster.protocol import PARTITIONS, prefixes, split
from crawldedup.stores.cluster.spread import Spread, sound
from crawldedup.stores.redis.client import check_cluster_url
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.redis.protocol import crawl, question
from crawldedup.stores.redis.replies import LostPartError, validate_reply
from crawldedup.stores.redis.shared import SharedStore
from crawldedup.stores.redis.upkeep import Part, heads_on, namespaces_among

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import redis

    from crawldedup.stores.base import Answer, Layout, Pruned, Query, Record, Retention
    from crawldedup.stores.cluster.nodes import Argument, Fanout
    from crawldedup.stores.redis.upkeep import PruneStep

_LOADED_AT_ONCE: Final = 1000


class ClusterStore(SharedStore):
    """One namespace of a Redis Cluster. Safe to use from several threads, processes and machines."""

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        placed = prefixes(layout.namespace)
        self._placed_pages = [0] * PARTITIONS
        self._nodes = Nodes(url)
        self._spread = Spread(self._nodes, layout)
        parts = [Part(prefix) for prefix in placed]
        parts += [Part(prefix, has_tables=False) for prefix in self._spread.homes]
        parts += [Part(prefix, has_records=False) for prefix in self._spread.tables]
        super().__init__(url, layout, placed, parts, clock)

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        check_cluster_url(url)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """See `Store`."""
        errors = store_errors(shown_url(url), lambda: False, wanted)
        with contextlib.closing(Nodes(url)) as nodes, errors, replies_read():
            heads = [f"{prefix}m" for prefix in prefixes(wanted)]
            if any(nodes.run([Call(head, ("EXISTS", head)) for head in heads])):
                return [wanted]
            return namespaces_among((head for node in nodes.masters() for head in heads_on(node)), partitioned=True)

    @property
    def fanout(self) -> Fanout:
        """What this store has asked of the cluster so far."""
        return self._nodes.fanout

    def _begin(self, pages: int) -> int:  # noqa: ARG002
        profile, now, number = self._layout.profile, self._now() or "", self._session.number
        orders = [self._order] * PARTITIONS + [b""] * (len(self._parts) - PARTITIONS)
        begun = self._nodes.run(
            [
                script_call("spread_begin", part.prefix, profile, order, now, number)
                for part, order in zip(self._parts, orders, strict=True)
            ]
        )
        self._note_pages([sound(answer) for answer in begun])
        self._spread.finish()
        return self._pages()

    def open_read_only(self) -> int:
        """See `Store`."""
        with self._errors():
            self._note_pages(self._ask_each([part.prefix for part in self._parts], "look", self._layout.profile))
            return self._pages()

    def _note_pages(self, answers: Sequence[Any]) -> None:
        """What the parts say of themselves: first those of placed pages, then the homes of the others."""
        for partition in range(PARTITIONS):
            self._placed_pages[partition] = answers[partition][1]
            self._spread.note_pages(partition, answers[PARTITIONS + partition][1])

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
        return map(self._placed_answer, queries, answers)

    def _placed_answer(self, query: Query, reply: Any) -> Answer:
        answer = self._answer(query, reply)
        self._placed_pages[_place(query)] = answer.pages
        return replace(answer, pages=self._pages())

    def _check_one(self, query: Query) -> Any:
        return validate_reply("check", self._nodes.run([self._placed_check(query)])[0])

    def _placed_check(self, query: Query) -> Call:
        asked = question(query, self._layout, self._now())
        own, again = (crawl(_share(query.retention), self._session, again=again) for again in (False, True))
        prefix = self._prefixes[_place(query)]
        return script_call("check", prefix, self._layout.profile, *asked, own, last_again=again)

    def _check_spread(self, query: Query) -> Answer:
        with self._errors():
            asked = split(query, self._layout, self._now())
            own = crawl(_share(query.retention), self._session)
            answer = self._begun_again(Check(self._spread, query, asked, own, token_bytes(8)).run)
            return replace(answer, pages=self._pages())

    def _pages(self) -> int:
        return sum(self._placed_pages) + self._spread.pages()

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._errors(), contextlib.suppress(LostPartError):
            if query.shard_key is None:
                return self._spread.find(query, split(query, self._layout, self._now()))
            return self._find(self._prefixes[_place(query)], query)
        return []

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        placed = super().forget(url_key)
        with self._errors(), contextlib.suppress(LostPartError):
            return self._spread.forget(url_key) or placed
        return placed

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`. One partition after the other."""
        yield from super().prune(_share(retention))

    def _prune_steps(self) -> list[PruneStep]:
        self._spread.finish()
        return [*super()._prune_steps(), *(partial(self._spread.prune, home) for home in range(PARTITIONS))]

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
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
            chunks = range(0, len(spread), _LOADED_AT_ONCE)
            added = sum(self._spread.load(spread[first : first + _LOADED_AT_ONCE]) for first in chunks)
            return added + sum(self._load_part(self._prefixes[place], mine) for place, mine in placed.items())

    def heartbeat(self) -> None:
        """See `Store`. Files what others have left unfiled, too."""
        super().heartbeat()
        with self._errors(), contextlib.suppress(LostPartError):
            self._spread.finish()

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Argument) -> list[Any]:
        answers = self._nodes.run([script_call(script, prefix, *arguments) for prefix in prefixes])
        return [validate_reply(script, answer) for answer in answers]

    def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._nodes.run([Call(command[1], command) for command in commands])

    def _servers(self) -> Iterator[redis.Redis]:
        return self._nodes.masters()

    def _disconnect(self) -> None:
        self._nodes.close()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with super()._errors(), replies_read():
            yield


def _place(query: Query) -> int:
    """The partition of a query with a place."""
    return (query.shard_key or 0) % PARTITIONS


def _share(retention: Retention) -> Retention:
    """What of a limit is one partition's."""
    most = retention.max_pages
    return retention if most is None else replace(retention, max_pages=-(-most // PARTITIONS))
