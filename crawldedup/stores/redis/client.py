"""Clients of one server, of a set of sentinels or of a cluster, with our limits.

Nothing here knows what is kept in the server.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster
from redis.exceptions import NoPermissionError, RedisClusterException
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.stores.redis.errors import UnknownServiceError, auth_error, is_transient, replies_read
from crawldedup.stores.redis.url import (
    CLUSTER,
    SINGLE_SERVER,
    TIMEOUT_SECONDS,
    Target,
    client_options,
    parse_url,
    wire_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")

FAILOVER_SECONDS: Final = 5.0
"""For the replica of a dead master to take its place in a cluster: see `retry_on_failover`."""

ACL_RULES: Final = (
    "~crawldedup:*",
    *("+select", "+evalsha", "+script|load", "+scan", "+memory|usage", "+time", "+exists", "+unlink"),
    *("+hget", "+hgetall", "+hmget", "+hset", "+hincrby", "+hdel"),
    *("+zadd", "+zcard", "+zrange", "+zrangebylex", "+zrevrangebylex", "+zrem"),
    *("+lindex", "+llen", "+lrange", "+lset", "+rpush"),
    *("+bitfield_ro", "+setbit", "+setrange"),
)
"""All that the user of a store must be allowed, as `ACL SETUSER` takes it: the commands in the scripts count too.

With `+config|get` beside it, the store warns of a configuration that spoils the index.
"""

CLUSTER_ACL_RULES: Final = ("+cluster|slots", "+command", "+readonly", "+ltrim")
"""What that user needs beside it on the nodes of a cluster."""

SENTINEL_ACL_RULES: Final = ("+sentinel|masters", "+sentinel|slaves")
"""What the user of the sentinels needs there."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The clients of a store that is no cluster. They connect when they are first used, and again when they must.

    `main` is the server that is written to. `reader` is for looking only: a replica if the URL asks for one, which
    may be a little behind, or else `main` itself.
    """

    main: redis.Redis
    reader: redis.Redis
    _sentinels: tuple[redis.Redis, ...] = ()

    def close(self) -> None:
        """Disconnect; the clients connect again when they are used again."""
        for client in (self.main, self.reader, *self._sentinels):
            client.close()


def connect(url: str) -> Connection:
    """The clients that a `redis`, `rediss`, `unix` or `redis+sentinel` URL names, not yet connected.

    With sentinels the master is asked for at every new connection, so a failover needs no restart.
    Raises ConfigurationError, in which no password shows.
    """
    target = parse_url(url, *SINGLE_SERVER)
    if target.scheme == "redis+sentinel":
        return _sentinel_connection(target)
    main = target.client(target.hosts[0] if target.hosts else None)
    if target.replica is None:
        return Connection(main, main)
    return Connection(main, target.client(target.replica))


def check_cluster_url(url: str) -> None:
    """Raise ConfigurationError, in which no password shows, unless this is a `redis+cluster` URL without mistakes."""
    parse_url(url, CLUSTER)


def connect_cluster(url: str) -> RedisCluster:
    """A client of the cluster that a `redis+cluster` URL names, connected: it has asked who serves what.

    With `replicas=true` the commands that only read (`EVALSHA` is none of them) go to replicas. The client follows
    slots that move; waiting for a failover is left to `retry_on_failover`.
    Raises ConfigurationError as `connect` does, and the client's own errors.
    """
    target = parse_url(url, CLUSTER)
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in target.hosts],  # type: ignore[no-untyped-call]
        # Of the retry the client heeds the count alone: it would use up any number before a replica takes over.
        retry=Retry(NoBackoff(), 0),
        # While one master is gone, the others work.
        require_full_coverage=False,
        load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN_REPLICAS if target.replicas else None,
        ssl=target.tls,
        **{**wire_options(TIMEOUT_SECONDS), **target.options},
    )


def retry_once(call: Callable[[bool], _Result]) -> _Result:
    """The result of a call that is made again at once if the connection breaks: it may just have been idle too long.

    The call is told whether it is the second time, for the server may have done what it was told and only the answer
    was lost.
    """
    try:
        return call(False)
    except redis.ConnectionError:
        return call(True)


def retry_on_failover(call: Callable[[], _Result]) -> _Result:
    """The result of a call to a cluster, called again while a replica takes the place of a dead master.

    The call must be safe to repeat. The first repetition is immediate, for the connection may just have been idle
    for too long; none begins that could not end within FAILOVER_SECONDS.
    """
    last_start = time.monotonic() + FAILOVER_SECONDS - TIMEOUT_SECONDS
    pause = 0.0
    while True:
        try:
            return call()
        except (redis.RedisError, RedisClusterException, OSError) as error:
            if auth_error(error) or not is_transient(error) or time.monotonic() + pause > last_start:
                raise
        time.sleep(pause)
        pause = 0.1


class _Sentinels(Sentinel):
    """Asks sentinels one by one, and says what each of them answered if none knows a master."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Host and port of the master. Raises MasterNotFoundError, TimeoutError, or what sentinels refuse us with."""
        answers: list[str] = []
        known: set[str] | None = None
        refusal: redis.RedisError | None = None
        for sentinel in self.sentinels:
            address = "{host}:{port}".format_map(sentinel.connection_pool.connection_kwargs)
            try:
                with replies_read():
                    masters: Any = sentinel.sentinel_masters()
            except (redis.AuthenticationError, NoPermissionError) as error:
                refusal = error
                continue
            except (redis.RedisError, OSError) as error:
                answers.append(f"{address}: {error}")
                continue
            # Who answered is asked first from now on. A new list, for threads share this one.
            self.sentinels = [sentinel, *(other for other in self.sentinels if other is not sentinel)]
            known = {*masters, *(known or ())}
            if service_name not in masters:
                answers.append(f"{address} does not know it")
            elif not self.check_master_state(masters[service_name], service_name):  # type: ignore[no-untyped-call]
                answers.append(f"{address} calls it {masters[service_name]['flags']}")
            else:
                return masters[service_name]["ip"], masters[service_name]["port"]
        if known is None:
            # The client tries again after a ConnectionError, but silent sentinels have used up the time there is.
            raise refusal or redis.TimeoutError(f"no sentinel answers ({'; '.join(answers)})")
        if service_name not in known:
            names = ", ".join(map(repr, sorted(known))) or "none"
            raise UnknownServiceError(f"no sentinel knows {service_name!r}; known are: {names}")
        raise MasterNotFoundError(f"no sentinel names a master of {service_name!r} ({'; '.join(answers)})")

    def discover_slaves(self, service_name: str) -> Any:
        """Hosts and ports of the replicas that are up. Raises as `discover_master` does."""
        # Asks one that answers first, and none if none does.
        with contextlib.suppress(MasterNotFoundError):
            self.discover_master(service_name)
        return super().discover_slaves(service_name)  # type: ignore[no-untyped-call]


def _sentinel_connection(target: Target) -> Connection:
    # One after another is asked while none answers, so together they get the time of one server.
    limits = client_options(TIMEOUT_SECONDS / len(target.hosts))
    shared = {name: value for name, value in target.options.items() if name.startswith("ssl_")}
    sentinels = _Sentinels(  # type: ignore[no-untyped-call]
        target.hosts,
        sentinel_kwargs={**limits, "ssl": target.tls, **shared, **target.sentinel_login},
        ssl=target.tls,
        **{**client_options(TIMEOUT_SECONDS), **target.options},
    )
    main = sentinels.master_for(target.service)  # type: ignore[no-untyped-call]
    clients = tuple(sentinels.sentinels)
    if not target.replicas:
        return Connection(main, main, clients)
    return Connection(main, sentinels.slave_for(target.service), clients)  # type: ignore[no-untyped-call]
