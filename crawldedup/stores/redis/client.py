"""Make clients of the servers that a URL names, with our time limits, and exchange commands with them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.errors import ConfigurationError
from crawldedup.stores.redis.errors import BAD_REPLIES, UnknownServiceError
from crawldedup.stores.redis.scripts import SCRIPTS
from crawldedup.stores.shown import shown_url

TIMEOUT_SECONDS: Final = 2.0
"""Limit for connecting and for an answer. Longer, and pages pass unchecked instead."""

CUT_OFF: Final = (redis.ConnectionError, redis.TimeoutError, OSError)
ANY_ERROR: Final = (redis.RedisError, exceptions.RedisClusterException, OSError)
Command = tuple[Any, ...]

_HOST: Final = r"(?:\[[^\[\]]+\]|[^\[\]:,\s/@?#]+)(?::0*[1-9][0-9]{0,4})?"
_HOSTS: Final = rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
_DATABASE: Final = "(?:/(?P<db>[0-9]*))?"
_FORMS: Final = {
    "redis": ("redis://user:password@host:port/db", rf"(?P<hosts>{_HOST})?{_DATABASE}"),
    "rediss": ("rediss://user:password@host:port/db", rf"(?P<hosts>{_HOST})?{_DATABASE}"),
    "unix": ("unix://user:password@/path/to/socket?db=0", "(?P<path>/[^?#]+)"),
    "redis+sentinel": (
        "redis+sentinel://user:password@host:port,host:port/service/db",
        rf"{_HOSTS}/(?P<service>[^/?#]+){_DATABASE}",
    ),
    "redis+cluster": ("redis+cluster://user:password@host:port,host:port", f"{_HOSTS}/?0?"),
}
"""By scheme: the form for messages, and the pattern of what stands between the login and the options."""

_YES_OR_NO, _SECONDS = r"(?i)true|yes|1|false|no|0", r"(?=.*[1-9])[0-9]{0,6}(\.[0-9]+)?"
_OPTIONS: Final = {
    **dict.fromkeys(("username", "password", "sentinel_username", "sentinel_password", "client_name"), ".*"),
    **{"db": "[0-9]{1,9}", "protocol": "[23]", "max_connections": "[1-9][0-9]{0,8}"},
    **dict.fromkeys(("socket_timeout", "socket_connect_timeout"), _SECONDS),
    **dict.fromkeys(("socket_keepalive", "ssl", "ssl_check_hostname"), _YES_OR_NO),
    **dict.fromkeys(("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password"), ".*"),
    "ssl_cert_reqs": "none|optional|required",
}


class Target(NamedTuple):
    """What a URL says. `options` are a connection's, in redis-py's names; `hosts` is empty for a socket."""

    hosts: list[tuple[str, int]]
    service: str
    tls: bool
    options: dict[str, Any]
    sentinel_login: dict[str, str]


def read_url(url: str, *schemes: str) -> Target:
    """Return what a URL of one of the schemes says. Raises ConfigurationError, in which no password shows."""
    scheme, _, rest = url.strip().partition("://")
    scheme = scheme.lower()
    try:
        if scheme in schemes:
            return _read(scheme, rest)
        problem = f"write {' or '.join(_FORMS[name][0] for name in schemes)}"
    except _OptionError as error:
        problem = f"an option is wrong: {error}"
    except ValueError:  # its text may show a part of a password
        problem = f"write {_FORMS[scheme][0]}, with the signs / ? # @ : , of a password percent-encoded"
    raise ConfigurationError(f"the store URL {shown_url(url)!r} is not valid: {problem}")


class _OptionError(Exception):
    """What is wrong with an option, without any part of a login."""


def _read(scheme: str, rest: str) -> Target:
    """Raises ValueError for a URL of another form, and _OptionError."""
    found = re.fullmatch(rf"(?P<login>[^/?#]*@)?{_FORMS[scheme][1]}(?:\?(?P<query>[^#]*))?", rest)
    if found is None:
        raise ValueError
    parts: dict[str, str] = {
        "path": "",
        "service": "",
        **{name: part or "" for name, part in found.groupdict().items()},
    }
    _check_options(scheme, parts["query"])
    start = f"unix://{parts['login']}{parts['path']}" if parts["path"] else f"redis://{parts['login']}"
    options: dict[str, Any] = parse_url(f"{start}?{parts['query']}")  # type: ignore[no-untyped-call]
    options.pop("connection_class", None)
    if parts.get("db"):
        options.setdefault("db", int(parts["db"]))
    tls = scheme == "rediss" or options.pop("ssl", "no").lower() in ("true", "yes", "1")
    if not tls and (lone := [name for name in options if name.startswith("ssl_")]):
        raise _OptionError(f"{lone[0]} needs {'rediss://' if scheme == 'redis' else 'ssl=true'}")
    if options.keys() & {"ssl_certfile", "ssl_keyfile"}:
        # Without a password, an encrypted key would ask for it on the terminal.
        options.setdefault("ssl_password", "")
    port = 26379 if scheme == "redis+sentinel" else 6379
    hosts = [] if parts["path"] else [_address(name, port) for name in (parts["hosts"] or "localhost").split(",")]
    login = {name[9:]: options.pop(name) for name in ("sentinel_username", "sentinel_password") if name in options}
    return Target(hosts, unquote(parts["service"]), tls, options, login)


def _check_options(scheme: str, query: str) -> None:
    not_here = {"redis+sentinel": "-", "redis+cluster": "db|sentinel_.*"}.get(scheme, "ssl|sentinel_.*")
    allowed = {name: pattern for name, pattern in _OPTIONS.items() if not re.fullmatch(not_here, name)}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            # What looks like no name may be the end of a password that holds a question mark.
            shown = name if name.isidentifier() else "what follows the question mark"
            raise _OptionError(f"{shown} is not known; allowed are {', '.join(allowed)}")
        if not re.fullmatch(allowed[name], value):
            raise _OptionError(f"{name} has a value that is not allowed")


def _address(name: str, default_port: int) -> tuple[str, int]:
    found = parse_url(f"redis://{name}")  # type: ignore[no-untyped-call]
    # Raises UnicodeError for empty or overlong parts of a name, which connecting would only find out later.
    found["host"].encode("idna")
    return found["host"], found.get("port", default_port)


def _options(target: Target, share: int = 1) -> dict[str, Any]:
    """Return the options of every connection: it repeats nothing, because only the store knows what may be."""
    # Protocol 3 would bring longer handshakes, and servers may ask its clients to wait longer than our limit.
    seconds = TIMEOUT_SECONDS / share
    limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}
    return {**limits, "retry": Retry(NoBackoff(), 0), "health_check_interval": 0, **target.options}


def connect(target: Target) -> redis.Redis:
    """Return a client of one server, not yet connected.

    With sentinels, every new connection asks them for the master, so a failover needs no restart.
    """
    options = _options(target)
    if target.service:
        # They are asked one after another, so together they get the time of one server.
        shared = {name: value for name, value in target.options.items() if name.startswith("ssl_")}
        of_sentinels = target._replace(options={"ssl": target.tls, **shared, **target.sentinel_login})
        limits = _options(of_sentinels, len(target.hosts))
        sentinels = _Sentinels(target.hosts, sentinel_kwargs=limits, ssl=target.tls, **options)  # type: ignore[no-untyped-call]
        return sentinels.master_for(target.service)  # type: ignore[no-any-return, no-untyped-call]
    kind: Any = redis.SSLConnection if target.tls else redis.Connection
    if not target.hosts:
        return redis.Redis.from_pool(redis.ConnectionPool(redis.UnixDomainSocketConnection, **options))
    host, port = target.hosts[0]
    return redis.Redis.from_pool(redis.ConnectionPool(kind, host=host, port=port, **options))


def connect_cluster(target: Target) -> RedisCluster:
    """Return a connected client of a cluster. Raises the client's own errors."""
    nodes = [ClusterNode(host, port) for host, port in target.hosts]  # type: ignore[no-untyped-call]
    # While one master is down, the others work.
    return _Cluster(startup_nodes=nodes, require_full_coverage=False, ssl=target.tls, **_options(target))


class _Cluster(RedisCluster):
    """A cluster's client that connects while a master is gone, from which it would learn where commands have keys."""

    def command(self, **kwargs: Any) -> dict[str, dict[str, Any]]:
        """Return what the server says of its commands, or nothing: the store tells the keys of its own."""
        try:
            return super().command(**kwargs)
        except (redis.ConnectionError, redis.TimeoutError):
            return {}


class _Sentinels(Sentinel):
    """Sentinels that are asked one by one; if none knows a master, the error says why."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Return host and port of the master. Raises MasterNotFoundError, TimeoutError, or a sentinel's refusal."""
        known: dict[str, Any] = {}
        errors: list[Exception] = []
        for sentinel in self.sentinels:
            try:
                masters: Any = sentinel.sentinel_masters()
                known.update(masters)
                state = masters.get(service_name)
                if state and self.check_master_state(state, service_name):  # type: ignore[no-untyped-call]
                    return state["ip"], state["port"]
            except (redis.RedisError, OSError, *BAD_REPLIES) as error:
                errors.append(error)
            finally:
                # They are asked for new connections alone, which are rare. Other threads may be asking, too.
                sentinel.connection_pool.disconnect(inuse_connections=False)
        if len(errors) == len(self.sentinels):
            refusals = (
                error for error in errors if isinstance(error, redis.AuthenticationError | exceptions.NoPermissionError)
            )
            # The client would repeat a ConnectionError, but silent sentinels have used up the time.
            raise next(refusals, redis.TimeoutError(f"no sentinel answers ({'; '.join(map(str, errors))})"))
        if service_name not in known:
            names = ", ".join(map(repr, sorted(known))) or "none"
            raise UnknownServiceError(f"no sentinel knows {service_name!r}; known are: {names}")
        raise MasterNotFoundError(f"no sentinel names a master of {service_name!r}")


def exchange(asked: Sequence[tuple[redis.Redis, Sequence[Command]]]) -> list[list[Any]]:
    """Send each server its commands, then read what it answers, or errors in place of answers.

    Servers work at the same time. A server is told the scripts that it does not know, and asked again.
    """
    talks = [_talk(server, commands) for server, commands in asked]
    for talk in talks:
        next(talk)
    answers = [list(talk) for talk in talks]
    for (server, commands), replies in zip(asked, answers, strict=True):
        if unknown := [place for place, reply in enumerate(replies) if isinstance(reply, exceptions.NoScriptError)]:
            again = [commands[place] for place in unknown]
            loads: list[Command] = [("SCRIPT", "LOAD", SCRIPTS[str(sha)]) for sha in {command[1] for command in again}]
            _, *replies_now = _talk(server, [*loads, *again])
            for place, reply in zip(unknown, replies_now[len(loads) :], strict=True):
                replies[place] = reply
    return answers


def _talk(server: redis.Redis, commands: Sequence[Command]) -> Iterator[Any]:
    """Send commands to a server and yield nothing; then yield its answers, or the errors in place of them."""
    connection: Any = None
    trouble: BaseException | None = None
    try:
        try:
            connection = server.connection_pool.get_connection()
            connection.send_packed_command([b"".join(map(_pack, commands))])
        except ANY_ERROR as error:
            trouble = error
        yield None
        for _ in commands:
            answer: Any = trouble
            if trouble is None:
                try:
                    answer = connection.read_response()
                except redis.ResponseError as error:
                    answer = error
                except ANY_ERROR as error:
                    answer = trouble = error
            yield answer
    except BaseException as error:
        trouble = error
        raise
    finally:
        if connection:
            if trouble:
                # No later call must read what was meant for this one.
                connection.disconnect()
            server.connection_pool.release(connection)


def _pack(command: Command) -> bytes:
    """Return a command as it is sent. The client's own way takes five times as long."""
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        value = argument if isinstance(argument, bytes) else str(argument).encode("utf-8", "replace")
        parts += (b"$%d\r\n" % len(value), value, b"\r\n")
    return b"".join(parts)
