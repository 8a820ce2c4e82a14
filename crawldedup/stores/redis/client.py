"""Make clients of a server, of sentinels or of a cluster, with our time limits and retries."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import NoPermissionError, RedisClusterException
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.stores.redis.errors import UnknownServiceError, auth_error, is_transient, replies_read
from crawldedup.stores.redis.url import (
    CLUSTER,
    SINGLE_SERVER,
    TIMEOUT_SECONDS,
    client_options,
    parse_url,
    wire_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")

FAILOVER_SECONDS: Final = 5.0
"""Time for a replica to take the place of a dead master in a cluster; see `retry_on_failover`."""

ACL_RULES: Final = (
    "~crawldedup:*",
    *("+select", "+evalsha", "+script|load", "+scan", "+memory|usage", "+time", "+exists", "+unlink"),
    *("+get", "+set", "+hget", "+hgetall", "+hmget", "+hset", "+hincrby", "+hdel"),
    *("+zadd", "+zrange", "+zrangebylex", "+zrevrangebylex", "+zrem", "+zscore"),
    *("+lindex", "+llen", "+lpop", "+lrange", "+lset", "+rpush"),
    *("+bitfield_ro", "+setbit", "+setrange"),
)
"""The rights that a store's user needs, as `ACL SETUSER` takes them; commands within scripts count too.

With `+config|get` as well, the store warns of a configuration that spoils the index.
"""

CLUSTER_ACL_RULES: Final = ("+cluster|slots", "+command")
"""The further rights that a store's user needs on a cluster."""

SENTINEL_ACL_RULES: Final = ("+sentinel|masters",)
"""The right that the sentinels' user needs."""


def connect(url: str) -> redis.Redis:
    """Return a client of the server that a `redis`, `rediss`, `unix` or `redis+sentinel` URL names, not yet connected.

    Every new connection asks the sentinels for the master, so a failover needs no restart.
    Raises ConfigurationError, in which no password shows.
    """
    target = parse_url(url, *SINGLE_SERVER)
    if target.scheme != "redis+sentinel":
        return target.client(target.hosts[0] if target.hosts else None)
    # They are asked one after another, so together they get the time of one server.
    limits = client_options(TIMEOUT_SECONDS / len(target.hosts))
    shared = {name: value for name, value in target.options.items() if name.startswith("ssl_")}
    sentinels = _Sentinels(  # type: ignore[no-untyped-call]
        target.hosts,
        sentinel_kwargs={**limits, "ssl": target.tls, **shared, **target.sentinel_login},
        ssl=target.tls,
        **{**client_options(TIMEOUT_SECONDS), **target.options},
    )
    client: redis.Redis = sentinels.master_for(target.service)  # type: ignore[no-untyped-call]
    return client


def check_cluster_url(url: str) -> None:
    """Raise ConfigurationError, in which no password shows, unless this is a valid `redis+cluster` URL."""
    parse_url(url, CLUSTER)


def connect_cluster(url: str) -> RedisCluster:
    """Return a connected client of the cluster that a `redis+cluster` URL names.

    The client follows slots that move; `retry_on_failover` waits for failovers.
    Raises ConfigurationError as `connect` does, and the client's own errors.
    """
    target = parse_url(url, CLUSTER)
    return _Cluster(
        startup_nodes=[ClusterNode(host, port) for host, port in target.hosts],  # type: ignore[no-untyped-call]
        # The client ignores the pauses of a retry, so it would use up any number before a replica takes over.
        retry=Retry(NoBackoff(), 0),
        # While one master is down, the others work.
        require_full_coverage=False,
        ssl=target.tls,
        **{**wire_options(TIMEOUT_SECONDS), **target.options},
    )


def retry_once(call: Callable[[bool], _Result]) -> _Result:
    """Make a call, and again at once if the connection breaks, which may just have been idle for too long.

    The call gets True the second time: the server may have run it before, and only the answer was lost.
    """
    try:
        return call(False)
    except redis.ConnectionError:
        return call(True)


def retry_on_failover(call: Callable[[], _Result]) -> _Result:
    """Make a call to a cluster, again and again while a replica takes the place of a dead master.

    The call must be safe to repeat. The first repetition is immediate, because the connection may just have been idle
    for too long. The last one begins early enough to end within FAILOVER_SECONDS.
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


class _Cluster(RedisCluster):
    """A cluster's client that connects while a master is gone, from which it would learn where commands have keys."""

    def command(self, **kwargs: Any) -> dict[str, dict[str, Any]]:
        """Return what the server says of its commands, or nothing: the stores tell the keys of theirs."""
        try:
            return super().command(**kwargs)
        except (redis.ConnectionError, redis.TimeoutError):
            return {}


class _Sentinels(Sentinel):
    """Sentinels that are asked one by one; if none knows a master, the error tells what each of them answered."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return host and port of the master. Raises MasterNotFoundError, TimeoutError, or a sentinel's refusal."""
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
            finally:
                # They are asked for new connections alone, which are rare. Other threads may be asking, too.
                sentinel.connection_pool.disconnect(inuse_connections=False)
            # The one that answered comes first from now on. Threads share the list, so it is not changed in place.
            self.sentinels = [sentinel, *(other for other in self.sentinels if other is not sentinel)]
            known = {*masters, *(known or ())}
            if service_name not in masters:
                answers.append(f"{address} does not know it")
            elif not self.check_master_state(masters[service_name], service_name):  # type: ignore[no-untyped-call]
                answers.append(f"{address} calls it {masters[service_name]['flags']}")
            else:
                return masters[service_name]["ip"], masters[service_name]["port"]
        if known is None:
            # The client would repeat a ConnectionError, but silent sentinels have used up the time.
            raise refusal or redis.TimeoutError(f"no sentinel answers ({'; '.join(answers)})")
        if service_name not in known:
            names = ", ".join(map(repr, sorted(known))) or "none"
            raise UnknownServiceError(f"no sentinel knows {service_name!r}; known are: {names}")
        raise MasterNotFoundError(f"no sentinel names a master of {service_name!r} ({'; '.join(answers)})")
