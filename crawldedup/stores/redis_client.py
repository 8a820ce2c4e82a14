"""From a Redis URL to clients with our limits, and from the clients' errors to ours.

One server, a set of sentinels or a cluster, with or without TLS. Nothing here knows what is kept in the server.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster
from redis.exceptions import (
    AskError,
    ClusterCrossSlotError,
    ClusterError,
    MovedError,
    NoPermissionError,
    RedisClusterException,
    TryAgainError,
)
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.stores.base import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Result = TypeVar("_Result")

TIMEOUT_SECONDS: Final = 2.0
"""For connecting and for an answer. A crawl waits no longer for a verdict: pages pass instead."""

FAILOVER_SECONDS: Final = 5.0
"""For the replica of a dead master to take its place in a cluster: see `through_failover`."""

ACL_RULES: Final = (
    "~crawldedup:*",
    *("+select", "+evalsha", "+script|load", "+scan", "+memory|usage", "+time", "+unlink"),
    *("+hget", "+hgetall", "+hmget", "+hset", "+hincrby", "+hdel"),
    *("+zadd", "+zcard", "+zrange", "+zrangebylex", "+zrevrangebylex", "+zrem", "+zremrangebyscore"),
    *("+lindex", "+llen", "+lrange", "+lset", "+rpush"),
    *("+bitfield_ro", "+setbit", "+setrange"),
)
"""All that the user of a store must be allowed, as `ACL SETUSER` takes it: the commands in the scripts count too.

With `+config|get` beside it, the store warns of a configuration that spoils the index.
"""

CLUSTER_ACL_RULES: Final = ("+cluster|slots", "+command", "+readonly")
"""What that user needs beside it on the nodes of a cluster."""

SENTINEL_ACL_RULES: Final = ("+sentinel|masters", "+sentinel|slaves")
"""What the user of the sentinels needs there."""

_FORMS: Final = {
    "redis": "redis://user:password@host:port/db",
    "rediss": "rediss://user:password@host:port/db",
    "unix": "unix://user:password@/path/to/socket?db=0",
    "redis+sentinel": "redis+sentinel://user:password@host:port,host:port/service/db",
    "redis+cluster": "redis+cluster://user:password@host:port,host:port",
}
_SENTINEL_PORT: Final = 26379
_SERVER_PORT: Final = 6379


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
    target = _parse(url, "redis", "rediss", "unix", "redis+sentinel")
    if target.scheme == "redis+sentinel":
        return _sentinel_connection(target)
    main = target.client(target.hosts[0] if target.hosts else None)
    if target.replica is None:
        return Connection(main, main)
    return Connection(main, target.client(target.replica))


def check_cluster_url(url: str) -> None:
    """Raise ConfigurationError, in which no password shows, unless this is a `redis+cluster` URL without mistakes."""
    _parse(url, "redis+cluster")


def connect_cluster(url: str) -> RedisCluster:
    """A client of the cluster that a `redis+cluster` URL names, connected: it has asked who serves what.

    With `replicas=true` the commands that only read (`EVALSHA` is none of them) go to replicas. The client follows
    slots that move; waiting for a failover is left to `through_failover`.
    Raises ConfigurationError as `connect` does, and the client's own errors.
    """
    target = _parse(url, "redis+cluster")
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in target.hosts],  # type: ignore[no-untyped-call]
        # Of the retry the client heeds the count alone: it would use up any number before a replica takes over.
        retry=Retry(NoBackoff(), 0),
        # While one master is gone, the others work.
        require_full_coverage=False,
        load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN_REPLICAS if target.replicas else None,
        ssl=target.tls,
        **{**_wire(TIMEOUT_SECONDS), **target.options},
    )


def once_more(call: Callable[[bool], _Result]) -> _Result:
    """The result of a call that is made again at once if the connection breaks: it may just have been idle too long.

    The call is told whether it is the second time, for the server may have done what it was told and only the answer
    was lost.
    """
    try:
        return call(False)
    except redis.ConnectionError:
        return call(True)


def through_failover(call: Callable[[], _Result]) -> _Result:
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
            if _refused(error) or not _unavailable(error) or time.monotonic() + pause > last_start:
                raise
        time.sleep(pause)
        pause = 0.1


@contextlib.contextmanager
def store_errors(shown_url: str, was_in: Callable[[], bool]) -> Iterator[None]:
    """The client's errors as ours. `shown_url` is the store's without its password.

    What only a change of the settings can mend is a ConfigurationError, unless the server has let us in before
    (`was_in`): then it is being reconfigured, and no crawl must end for that.
    """
    try:
        yield
    except (redis.RedisError, RedisClusterException, OSError) as error:
        raise _as_ours(error, shown_url, was_in()) from error


def _as_ours(error: Exception, store: str, was_in: bool) -> CrawlDedupError:
    text = str(error)
    if refusal := _refused(error) or _wrong_kind(error, store):
        message = f"{store} {refusal}: {text}"
        return StoreUnavailableError(message) if was_in else ConfigurationError(message)
    # Redis 6.2 hides the code of an error inside a script in the middle of the message.
    if isinstance(error, redis.OutOfMemoryError) or re.search(r"\bOOM\b", text):
        return StoreFullError(f"{store} is full (maxmemory reached): {text}")
    if _unavailable(error):
        return StoreUnavailableError(f"{store} cannot be used: {text}")
    if "DB index" in text:
        return ConfigurationError(f"{store} names a database the server does not have: {text}")
    return StoreError(f"{store}: {text}")


def _refused(error: BaseException) -> str | None:
    """What a server has against us, if that is what the error says."""
    if isinstance(error, redis.AuthenticationError):
        return "refuses the user or the password"
    if isinstance(error, NoPermissionError):
        return "does not let this user work"
    if isinstance(error, _UnknownServiceError):
        return "names a service that the sentinels do not know"
    if isinstance(error, redis.ConnectionError) and _TLS_TROUBLE.search(str(error)):
        return "and this program do not agree on TLS"
    # A cluster's client wraps what befell it when it connects.
    if isinstance(error, RedisClusterException) and error.__cause__ is not None:
        return _refused(error.__cause__)
    return None


def _wrong_kind(error: Exception, store: str) -> str | None:
    """What the server is instead of what the URL takes it for."""
    if isinstance(error, MovedError) and not store.startswith("redis+cluster:"):
        return "is a node of a cluster, so write redis+cluster://"
    if isinstance(error, RedisClusterException) and "Cluster mode is not enabled" in str(error):
        return "is not a node of a cluster, so write redis://"
    return None


_UNAVAILABLE_KINDS: Final = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    ClusterError,
    AskError,
    TryAgainError,
    ClusterCrossSlotError,
    RedisClusterException,
    OSError,
)
_UNAVAILABLE: Final = re.compile(
    r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non local key"
)
_TLS_TROUBLE: Final = re.compile(r"CERTIFICATE_VERIFY_FAILED|ALERT_CERTIFICATE_REQUIRED")


def _unavailable(error: Exception) -> bool:
    """True for what time may mend."""
    return isinstance(error, _UNAVAILABLE_KINDS) or _UNAVAILABLE.search(str(error)) is not None


class _UnknownServiceError(MasterNotFoundError):
    """Sentinels answered, and none has heard of the service."""


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
            raise _UnknownServiceError(f"no sentinel knows {service_name!r}; known are: {names}")
        raise MasterNotFoundError(f"no sentinel names a master of {service_name!r} ({'; '.join(answers)})")

    def discover_slaves(self, service_name: str) -> Any:
        """Hosts and ports of the replicas that are up. Raises as `discover_master` does."""
        # Asks one that answers first, and none if none does.
        with contextlib.suppress(MasterNotFoundError):
            self.discover_master(service_name)
        return super().discover_slaves(service_name)  # type: ignore[no-untyped-call]


def _sentinel_connection(target: _Target) -> Connection:
    # One after another is asked while none answers, so together they get the time of one server.
    limits = _limits(TIMEOUT_SECONDS / len(target.hosts))
    shared = {name: value for name, value in target.options.items() if name.startswith("ssl_")}
    sentinels = _Sentinels(  # type: ignore[no-untyped-call]
        target.hosts,
        sentinel_kwargs={**limits, "ssl": target.tls, **shared, **target.sentinel_login},
        ssl=target.tls,
        **{**_limits(TIMEOUT_SECONDS), **target.options},
    )
    main = sentinels.master_for(target.service)  # type: ignore[no-untyped-call]
    clients = tuple(sentinels.sentinels)
    if not target.replicas:
        return Connection(main, main, clients)
    return Connection(main, sentinels.slave_for(target.service), clients)  # type: ignore[no-untyped-call]


def _wire(seconds: float) -> dict[str, Any]:
    return {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        # Version 3 would bring longer handshakes, and servers that may ask the client to wait longer than our limit.
        "protocol": 2,
    }


def _limits(seconds: float) -> dict[str, Any]:
    return {
        **_wire(seconds),
        # Only `once_more` knows whether a command may be sent again as it is.
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
    }


@dataclass(frozen=True, slots=True)
class _Target:
    """What a URL says. `options` are for a connection, in the client's names; `hosts` is empty for a socket."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    service: str
    options: dict[str, Any]
    tls: bool
    replicas: bool
    replica: tuple[str, int] | None
    sentinel_login: dict[str, str]

    def client(self, address: tuple[str, int] | None) -> redis.Redis:
        """A client of one server, or of the socket in `options`."""
        kind = redis.SSLConnection if self.tls else redis.Connection if address else redis.UnixDomainSocketConnection
        place = {"host": address[0], "port": address[1]} if address else {}
        options = {**_limits(TIMEOUT_SECONDS), **place, **self.options}
        return redis.Redis.from_pool(redis.ConnectionPool(connection_class=kind, **options))


class _UrlError(Exception):
    """What is wrong with a URL, in words that hold nothing of its login."""


def _parse(url: str, *schemes: str) -> _Target:
    scheme, _, rest = url.strip().partition("://")
    scheme = scheme.lower()
    try:
        if scheme not in schemes:
            raise _UrlError(f"write {' or '.join(_FORMS[name] for name in schemes)}")
        target = _read(scheme, rest)
        _try_out(target)
        return target
    except _UrlError as problem:
        message = f"the store URL {shown_url(url)!r} is not valid: {problem}"
    raise ConfigurationError(message)


def _read(scheme: str, rest: str) -> _Target:
    badly_written = _UrlError(f"write {_FORMS[scheme]}, with the signs / ? # @ : , of a password percent-encoded")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    login, _, places = authority.rpartition("@")
    user, _, password = login.partition(":")
    if "#" in rest + query:
        raise badly_written
    if scheme == "unix":
        if places or not path:
            raise badly_written
        hosts: tuple[tuple[str, int], ...] = ()
    else:
        several = "+" in scheme
        port = _SENTINEL_PORT if scheme == "redis+sentinel" else _SERVER_PORT
        names = places.split(",") if several else [places or "localhost"]
        try:
            hosts = tuple(_host_and_port(name, port) for name in names)
        except ValueError:
            raise badly_written from None
    options = _options(scheme, query)
    tls = options.pop("ssl", scheme == "rediss")
    if options.get("ssl_cert_reqs") == "none":
        # A name without a certificate cannot be checked, which older clients do not know.
        options.setdefault("ssl_check_hostname", False)
    if not tls and (lone := [name for name in options if name.startswith("ssl_")]):
        raise _UrlError(f"an option is wrong: {lone[0]} needs {'ssl=true' if '+' in scheme else 'rediss://'}")
    options |= {name: unquote(value) for name, value in (("username", user), ("password", password)) if value}
    service = ""
    if scheme == "unix":
        options["path"] = unquote(f"/{path}")
    elif scheme == "redis+sentinel":
        service, _, path = path.partition("/")
        if not service:
            raise badly_written
    if scheme == "redis+cluster" and path not in ("", "0"):
        raise _UrlError("a cluster has one database, so leave out what follows the hosts")
    if scheme in ("redis", "rediss", "redis+sentinel") and (path := path.strip("/")):
        if not (path.isascii() and path.isdecimal()):
            raise _UrlError("what follows the host must be the number of a database, as in redis://host:port/0")
        options.setdefault("db", int(path))
    return _Target(
        scheme=scheme,
        hosts=hosts,
        service=unquote(service),
        tls=tls,
        replicas=options.pop("replicas", False),
        replica=options.pop("replica", None),
        sentinel_login={
            name: options.pop(f"sentinel_{name}") for name in ("username", "password") if f"sentinel_{name}" in options
        },
        options=options,
    )


def _options(scheme: str, query: str) -> dict[str, Any]:
    allowed = _OPTIONS[scheme]
    options = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            # What looks like no name may be the end of a password that holds a question mark.
            shown = name if name.isidentifier() else "what follows the question mark"
            raise _UrlError(f"an option is wrong: {shown} is not known; allowed are {', '.join(allowed)}")
        try:
            options[name] = allowed[name](value)
        except ValueError:
            raise _UrlError(f"an option is wrong: {name} has a value that is not allowed") from None
    return options


def _try_out(target: _Target) -> None:
    """The client looks at most options only when it connects: look at them now."""
    options = target.options
    try:
        for host, _ in (*target.hosts, *([target.replica] if target.replica else [])):
            host.encode("idna")
        pool = target.client(target.hosts[0] if target.hosts else None).connection_pool
        pool.connection_class(**pool.connection_kwargs)
        if target.tls:
            context = ssl.create_default_context()
            if "ssl_ca_certs" in options or "ssl_ca_path" in options:
                context.load_verify_locations(options.get("ssl_ca_certs"), options.get("ssl_ca_path"))
            if "ssl_certfile" in options or "ssl_keyfile" in options:
                # Without a password it would be asked for on the terminal.
                context.load_cert_chain(
                    options.get("ssl_certfile", ""), options.get("ssl_keyfile"), options.get("ssl_password", "")
                )
    except OSError as error:
        raise _UrlError(f"a file that an ssl_ option names cannot be used: {error}") from None
    except UnicodeError:
        raise _UrlError("a name of a host is no such name") from None
    except (TypeError, ValueError, redis.RedisError) as error:
        raise _UrlError(f"an option is wrong: {error}") from None


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Raises ValueError."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\[\]:,\s/@]+))(?::([0-9]{1,5}))?", text)
    if found is None or not 0 < int(found[3] or default_port) < 65536:
        raise ValueError
    return unquote(found[1] or found[2]), int(found[3] or default_port)


def _boolean(text: str) -> bool:
    """Raises ValueError."""
    words = ("false", "no", "0", "true", "yes", "1")
    return words.index(text.lower()) > 2


def _seconds(text: str) -> float:
    """Raises ValueError."""
    if not 0 < float(text) < float("inf"):
        raise ValueError
    return float(text)


def _certificate_need(text: str) -> str:
    """Raises ValueError."""
    words = ("none", "optional", "required")
    return words[words.index(text.lower().removeprefix("cert_"))]


_ANY_OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "username": str,
    "password": str,
    "client_name": str,
    "protocol": int,
    "max_connections": int,
    "socket_timeout": _seconds,
    "socket_connect_timeout": _seconds,
    "socket_keepalive": _boolean,
}
_TLS_OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "ssl_ca_certs": str,
    "ssl_ca_path": str,
    "ssl_certfile": str,
    "ssl_keyfile": str,
    "ssl_password": str,
    "ssl_cert_reqs": _certificate_need,
    "ssl_check_hostname": _boolean,
}
_OF_ONE_SERVER: Final[dict[str, Callable[[str], Any]]] = {
    **_ANY_OPTIONS,
    "db": int,
    "replica": lambda text: _host_and_port(text, _SERVER_PORT),
}
_OF_SEVERAL: Final[dict[str, Callable[[str], Any]]] = {
    **_ANY_OPTIONS,
    "ssl": _boolean,
    **_TLS_OPTIONS,
    "replicas": _boolean,
}
_OPTIONS: Final[dict[str, dict[str, Callable[[str], Any]]]] = {
    "redis": {**_OF_ONE_SERVER, **_TLS_OPTIONS},
    "rediss": {**_OF_ONE_SERVER, **_TLS_OPTIONS},
    "unix": {**_ANY_OPTIONS, "db": int},
    "redis+sentinel": {**_OF_SEVERAL, "db": int, "sentinel_username": str, "sentinel_password": str},
    "redis+cluster": _OF_SEVERAL,
}
