"""The store on a Redis Cluster, which spreads an index over several masters.

An index has several prefixes, each in one hash slot, so its sites or spiders are spread over the
masters. All pages of a site or a spider have the same prefix, and so do all pages of an index with
the scope global. Therefore, a check is still a single script call, with the same guarantees as on
one server.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import count
from typing import Any, ClassVar, Final, cast

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from crawldedup.errors import StoreUnavailableError
from crawldedup.passwords import shown_url
from crawldedup.stores.contract import Answers, Layout, Query
from crawldedup.stores.redis.client import TIMEOUT_SECONDS, connect_cluster, read_url
from crawldedup.stores.redis.connection import Connection
from crawldedup.stores.redis.errors import ANY_ERROR, translation_of
from crawldedup.stores.redis.store import RedisStore

PREFIXES: Final = 16
"""The number of key prefixes over which the pages of an index are spread."""
FAILOVER_SECONDS: Final = 5.0
"""How long to wait for a replica to replace a dead master."""
_PAUSE_SECONDS: Final = 0.1

_log = logging.getLogger(__name__)


class ClusterConnection(Connection):
    """A connection to all masters of a Redis Cluster.

    While a replica replaces a dead master, or a slot moves, calls are repeated for a few seconds.
    """

    @cached_property
    def _client(self) -> Any:
        return connect_cluster(self._target)

    def _server(self, prefix: str) -> redis.Redis:
        # No key has the name of the bare prefix, but all keys have its slot.
        node = self._client.get_node_from_key(prefix)
        return cast(redis.Redis, self._client.get_redis_connection(node))

    def _attempts(self) -> Iterator[None]:
        """Yield before each attempt to get replies, so the caller can loop until it has them.

        The last attempt starts early enough to end within FAILOVER_SECONDS.
        """
        last_start = time.monotonic() + FAILOVER_SECONDS - TIMEOUT_SECONDS
        yield
        # The second attempt comes at once, because the connection may just have been idle for too
        # long.
        pause = 0.0
        while time.monotonic() + pause <= last_start:
            time.sleep(pause)
            with contextlib.suppress(*ANY_ERROR):
                self._client.nodes_manager.initialize()
            yield
            pause = _PAUSE_SECONDS

    def _is_worth_repeating(self, reply: object) -> bool:
        return (
            isinstance(reply, Exception)
            and translation_of(reply, self._store).error is StoreUnavailableError
        )


class RedisClusterStore(RedisStore):
    """An index on a Redis Cluster. See `RedisStore`."""

    schemes: ClassVar[tuple[str, ...]] = ("redis+cluster",)

    def __init__(
        self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(url, layout, clock=clock)
        self._has_warned = False

    def _make_connection(self, url: str) -> Connection:
        return ClusterConnection(read_url(url), shown_url(url), prefixes(self.layout.namespace))

    def check(self, queries: Sequence[Query]) -> Answers:
        # Only checks need a scope: a search for a page may look in every scope.
        if not self._has_warned and any(query.shard_key is None for query in queries):
            self._has_warned = True
            _log.warning(
                "%s: an index with the scope global is on one server; the scopes site and spider "
                "spread it",
                self._url,
            )
        return super().check(queries)


@cache
def prefixes(namespace: str) -> tuple[str, ...]:
    """Return the key prefixes of an index, one in each sixteenth of the cluster's hash slots.

    Redis derives the slot of a key from the text in the braces.
    """
    by_part: dict[int, str] = {}
    for number in count():
        prefix = f"crawldedup:{{{namespace}/{number}}}:"
        part = key_slot(prefix.encode()) * PREFIXES // REDIS_CLUSTER_HASH_SLOTS
        by_part.setdefault(part, prefix)
        if len(by_part) == PREFIXES:
            break
    return tuple(by_part[part] for part in range(PREFIXES))
