"""The shared store on a Redis Cluster: an index behind several prefixes, each in one hash slot.

All pages of a site, or of a spider, lie behind one prefix: a check is one script call, with the promise of one server.
Pages that are compared with all others lie behind one prefix, too, so an index of the scope global does not spread.

While a replica takes the place of a dead master, or a slot moves, calls are repeated for some seconds.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from itertools import count
from typing import Any, Final, cast

import redis
from redis.crc import key_slot

from crawldedup.errors import StoreUnavailableError
from crawldedup.stores.base import Layout
from crawldedup.stores.redis.client import TIMEOUT_SECONDS, connect_cluster
from crawldedup.stores.redis.errors import ANY_ERROR, our_error
from crawldedup.stores.redis.store import RedisStore

PREFIXES: Final = 16
FAILOVER_SECONDS: Final = 5.0
"""Time for a replica to take the place of a dead master."""

_SLOTS: Final = 16384
_PAUSE_SECONDS: Final = 0.1

_log = logging.getLogger(__name__)


class RedisClusterStore(RedisStore):
    """One namespace of a Redis Cluster. Safe to use from several threads, processes and machines."""

    SCHEMES = ("redis+cluster",)

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        super().__init__(url, layout, clock=clock)
        self._prefixes = self._answering = prefixes(layout.namespace)
        self._has_warned = False

    @cached_property
    def _client(self) -> Any:
        return connect_cluster(self._target)

    def _server(self, prefix: str) -> redis.Redis:
        # No key has the bare prefix as its name, but all have its slot.
        client = self._client
        return cast(redis.Redis, client.get_redis_connection(client.get_node_from_key(prefix)))

    def _prefix(self, shard_key: int | None) -> str:
        if shard_key is None and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "%s: an index of the scope global lies on one server of the cluster and does not spread; those of the "
                "scopes site and spider do",
                self._url,
            )
        return super()._prefix(shard_key)

    def _attempts(self) -> Iterator[None]:
        """Yield before each attempt. The last one begins early enough to end within FAILOVER_SECONDS."""
        last_start = time.monotonic() + FAILOVER_SECONDS - TIMEOUT_SECONDS
        yield
        # The connection may just have been idle for too long.
        pause = 0.0
        while time.monotonic() + pause <= last_start:
            time.sleep(pause)
            with contextlib.suppress(*ANY_ERROR):
                self._client.nodes_manager.initialize()
            yield
            pause = _PAUSE_SECONDS

    def _is_repeated(self, answer: object) -> bool:
        return isinstance(answer, Exception) and our_error(answer, self._url)[0] is StoreUnavailableError


@cache
def prefixes(namespace: str) -> tuple[str, ...]:
    """Return a prefix in each 16th of the slots. The braces hold what Redis derives the slot from."""
    found: dict[int, str] = {}
    numbers = count()
    while len(found) < PREFIXES:
        prefix = f"crawldedup:{{{namespace}/{next(numbers)}}}:"
        found.setdefault(key_slot(prefix.encode()) * PREFIXES // _SLOTS, prefix)
    return tuple(prefix for _, prefix in sorted(found.items()))
