"""Make clients of the servers that a URL names, exchange commands with them, and translate their errors into ours."""

import contextlib
import hashlib
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.errors import ConfigurationError, CrawlDedupError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.shown import shown_url

ANY_ERROR: Final = (redis.RedisError, exceptions.RedisClusterException, OSError)
BAD_REPLIES: Final = (TypeError, ValueError, LookupError, AttributeError, struct.error)
"""What reading a reply raises that has the wrong form: from a broken proxy, or from a server of another kind."""
TIMEOUT_SECONDS: Final = 2.0  # for connecting and for an answer: longer, and pages pass unchecked instead
Command = tuple[Any, ...]

_SCRIPTS: Final[dict[str, str]] = {}  # that were asked for, by the names that the server has for them
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

_OPTIONS: Final = (
    *("db", "username", "password", "sentinel_username", "sentinel_password", "client_name", "protocol"),
    *("max_connections", "socket_timeout", "socket_connect_timeout", "socket_keepalive", "ssl", "ssl_check_hostname"),
    *("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_cert_reqs"),
)
_NOT_WITH: Final = {"redis+sentinel": "-", "redis+cluster": "db|sentinel_.*"}


class Target(NamedTuple):
    """What a URL says. `options` are a connection's, in redis-py's names; a socket has a path in place of hosts."""

    hosts: list[tuple[str, int]]
    service: str
    options: dict[str, Any]
    sentinel_login: dict[str, str]


def read_url(url: str, *schemes: str) -> Target:
    """Return what a URL of one of the schemes says. Raises ConfigurationError, in which no password shows."""
    scheme, _, rest = url.strip().partition("://")
    scheme = scheme.lower()
    problem = f"write {' or '.join(_FORMS[name][0] for name in schemes)}"
    if scheme in schemes:
        try:
            return _read(scheme, rest)
        except ConfigurationError as error:
            problem = f"an option is wrong: {error}"
        except ValueError:  # its text may show a part of a password
            problem = f"write {_FORMS[scheme][0]}, with the signs / ? # @ : , of a password percent-encoded"
    raise ConfigurationError(f"the store URL {shown_url(url)!r} is not valid: {problem}")


def _read(scheme: str, rest: str) -> Target:
    """Raises ValueError for a URL of another form, and ConfigurationError for what is wrong with an option."""
    found = re.fullmatch(rf"((?P<login>[^/?#]*)@)?{_FORMS[scheme][1]}(?:\?(?P<query>[^#]*))?", rest)
    if found is None:
        raise ValueError
    parts = {name: part for name, part in found.groupdict().items() if part}
    port = 26379 if scheme == "redis+sentinel" else 6379
    hosts = [] if "path" in parts else [_address(name, port) for name in parts.get("hosts", "localhost").split(",")]
    options: dict[str, Any] = {"db": int(parts["db"])} if "db" in parts else {}
    options |= _read_options(scheme, parts.get("query", ""))
    login = zip(("username", "password"), parts.get("login", "").split(":", 1), strict=False)
    options |= {name: unquote(value) for name, value in login if value}
    if "path" in parts:
        options["path"] = unquote(parts["path"])
    of_sentinels = {name[9:]: options.pop(name) for name in tuple(options) if name.startswith("sentinel_")}
    return Target(hosts, unquote(parts.get("service", "")), options, of_sentinels)


def _address(name: str, default_port: int) -> tuple[str, int]:
    place = urlsplit(f"//{name}")
    # Raises UnicodeError for empty or overlong parts of a name, which connecting would only find out later.
    str(place.hostname).encode("idna")
    return str(place.hostname), place.port or default_port


def _read_options(scheme: str, query: str) -> dict[str, Any]:
    allowed = [name for name in _OPTIONS if not re.fullmatch(_NOT_WITH.get(scheme, "ssl|sentinel_.*"), name)]
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name not in allowed:
            # What looks like no name may be the end of a password that holds a question mark.
            shown = name if name.isidentifier() else "what follows the question mark"
            raise ConfigurationError(f"{shown} is not known; allowed are {', '.join(allowed)}")
    try:
        options: dict[str, Any] = parse_url(f"redis://?{query}")  # type: ignore[no-untyped-call]
        options["ssl"] = scheme == "rediss" or options.get("ssl", "no").lower() in ("true", "yes", "1")
        own = {name: value for name, value in options.items() if not name.startswith("sentinel_")}
        redis.Redis(**own).connection_pool.make_connection()
    except (redis.RedisError, ValueError) as error:
        raise ConfigurationError(error) from None
    if not all(0 < options.get(name, 1) < 1_000_000 for name in ("socket_timeout", "socket_connect_timeout")):
        raise ConfigurationError("a timeout is not a number of seconds above 0")
    if not options["ssl"] and (lone := [name for name in options if name.startswith("ssl_")]):
        raise ConfigurationError(f"{lone[0]} needs {'rediss://' if scheme == 'redis' else 'ssl=true'}")
    # Without a password, an encrypted key would ask for it on the terminal. Names are checked in certificates alone.
    defaults = {"ssl_password": "", "ssl_check_hostname": options.get("ssl_cert_reqs") != "none"}
    return {**defaults, **options} if options["ssl"] else options


def connect(target: Target) -> redis.Redis:
    """Return a client of one server, not yet connected.

    With sentinels, every new connection asks them for the master, so a failover needs no restart.
    """
    options = {**_limits(), **target.options}
    if target.service:
        # They are asked one after another, so together they get the time of one server.
        shared = {name: value for name, value in options.items() if name.startswith("ssl")}
        limits = {**_limits(len(target.hosts)), **shared, **target.sentinel_login}
        sentinels = _Sentinels(target.hosts, sentinel_kwargs=limits, **options)  # type: ignore[no-untyped-call]
        return sentinels.master_for(target.service)  # type: ignore[no-any-return, no-untyped-call]
    kind: Any = redis.SSLConnection if options.pop("ssl") else redis.Connection
    if target.hosts:
        options["host"], options["port"] = target.hosts[0]
    else:
        kind = redis.UnixDomainSocketConnection
    return redis.Redis.from_pool(redis.ConnectionPool(kind, **options))


def _limits(share: int = 1) -> dict[str, Any]:
    """Return the options of every connection: it repeats nothing, because only the store knows what may be."""
    # Protocol 3 would bring longer handshakes, and servers may ask its clients to wait longer than our limit.
    seconds = TIMEOUT_SECONDS / share
    limits = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}
    return {**limits, "retry": Retry(NoBackoff(), 0), "health_check_interval": 0}


def connect_cluster(target: Target) -> RedisCluster:
    """Return a connected client of a cluster. Raises the client's own errors."""
    nodes = [ClusterNode(host, port) for host, port in target.hosts]  # type: ignore[no-untyped-call]
    # While one master is down, the others work.
    return _Cluster(startup_nodes=nodes, require_full_coverage=False, **{**_limits(), **target.options})


class _Cluster(RedisCluster):
    """A cluster's client that connects while a master is gone, from which it would learn where commands have keys."""

    def command(self, **kwargs: Any) -> dict[str, dict[str, Any]]:
        try:
            return super().command(**kwargs)
        except (redis.ConnectionError, redis.TimeoutError):
            return {}


class _Sentinels(Sentinel):
    """Sentinels that are asked one by one; if none knows a master, the error says why."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        known: set[str] = set()
        errors: list[Exception] = []
        for sentinel in self.sentinels:
            try:
                masters: Any = sentinel.sentinel_masters()
                known.update(masters)
                state = masters.get(service_name)
                if state and self.check_master_state(state, service_name):  # type: ignore[no-untyped-call]
                    return state["ip"], state["port"]
            except (*ANY_ERROR, *BAD_REPLIES) as error:
                errors.append(error)
            finally:
                # They are asked for new connections alone, which are rare. Other threads may be asking, too.
                sentinel.connection_pool.disconnect(inuse_connections=False)
        if len(errors) == len(self.sentinels):
            refusals = (error for error in errors if our_error(error, "")[0] is ConfigurationError)
            # The client would repeat a ConnectionError, but silent sentinels have used up the time.
            raise next(refusals, redis.TimeoutError(f"no sentinel answers ({'; '.join(map(str, errors))})"))
        if service_name in known:
            raise MasterNotFoundError(f"no sentinel names a master of {service_name!r}")
        names = ", ".join(map(repr, sorted(known))) or "none"
        raise UnknownServiceError(f"no sentinel knows {service_name!r}; known are: {names}")


@cache
def script_sha(name: str) -> str:
    """Return the server's name of an entry script."""
    text = script_text(name)
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    _SCRIPTS[sha] = text
    return sha


def script_text(name: str) -> str:
    """Return an entry script behind its parts, which it names in its first line in the order of building on each other.

    All but the first part stand in a function of their own: Lua looks up what a function takes from around it in a
    list of all such names of one level, and a script makes some fifty functions each time it runs.
    """
    folder = resources.files("crawldedup.stores.redis").joinpath("lua")
    entry = folder.joinpath(f"{name}.lua").read_text("utf-8")
    parts = entry.partition("\n")[0].removeprefix("-- parts: ").split(", ")
    first, *others = (folder.joinpath(f"lib/{part}.lua").read_text("utf-8") for part in parts)
    return "\n".join((first, "return (function()", *others, entry, "end)()"))


def exchange(asked: Sequence[tuple[redis.Redis, Sequence[Command]]]) -> list[list[Any]]:
    """Send each server its commands, then read what it answers, or errors in place of answers.

    Servers work at the same time. A server is told the scripts that it does not know, and asked again.
    """
    talks = [_talk(server, commands) for server, commands in asked]
    answers = [next(talk) for talk in talks]
    for talk in talks:
        next(talk, None)
    for (server, commands), replies in zip(asked, answers, strict=True):
        if unknown := [place for place, reply in enumerate(replies) if isinstance(reply, exceptions.NoScriptError)]:
            again = [commands[place] for place in unknown]
            loads: list[Command] = [("SCRIPT", "LOAD", _SCRIPTS[sha]) for sha in {command[1] for command in again}]
            (fresh, *_) = _talk(server, [*loads, *again])
            for place, reply in zip(unknown, fresh[len(loads) :], strict=True):
                replies[place] = reply
    return answers


def _talk(server: redis.Redis, commands: Sequence[Command]) -> Iterator[list[Any]]:
    """Send commands to a server and yield a list; then fill it with the answers, or the errors in place of them."""
    replies: list[Any] = []
    connection: Any = None
    is_whole = False
    try:
        connection = server.connection_pool.get_connection()
        connection.send_packed_command([b"".join(map(_pack, commands))])
        yield replies
        for _ in commands:
            try:
                replies.append(connection.read_response())
            except redis.ResponseError as error:
                replies.append(error)
        is_whole = True
    except ANY_ERROR as error:
        replies += [error] * (len(commands) - len(replies))
    finally:
        if connection and not is_whole:
            # No later call must read what was meant for this one.
            connection.disconnect()
        if connection:
            server.connection_pool.release(connection)
    yield replies


def _pack(command: Command) -> bytes:
    """Return a command as it is sent. The client's own way takes five times as long."""
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        value = argument if isinstance(argument, bytes) else str(argument).encode("utf-8", "replace")
        parts += (b"$%d\r\n" % len(value), value, b"\r\n")
    return b"".join(parts)


class UnknownServiceError(MasterNotFoundError):
    """Raised when sentinels answer but none knows the service."""


_NOT_OURS: Final = (
    "has a key in the namespace {!r} with what crawldedup did not write there; remove that key if nobody needs it, or "
    "use another namespace or database"
)
_TRANSIENT: Final = (
    *(redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, OSError, exceptions.RedisClusterException),
    *(exceptions.ClusterError, exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterCrossSlotError),
)
_CODES: Final = r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non local key"
_CASES: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, type[CrawlDedupError], str], ...]] = (
    # What only other settings can mend. A cluster's client wraps it in errors of its own.
    (redis.AuthenticationError, "", ConfigurationError, "refuses the user or the password"),
    (exceptions.NoPermissionError, "", ConfigurationError, "does not let this user work"),
    (UnknownServiceError, "", ConfigurationError, "names a service that the sentinels do not know"),
    (redis.ConnectionError, "CERTIFICATE_(VERIFY|REQ)", ConfigurationError, "and this program do not agree on TLS"),
    (exceptions.MovedError, "", ConfigurationError, "is a node of a cluster, so write redis+cluster://"),
    (redis.ResponseError, "cluster support", ConfigurationError, "is not a node of a cluster, so write redis://"),
    (redis.ResponseError, "DB index", ConfigurationError, "names a database the server does not have"),
    (BAD_REPLIES, "", StoreError, "does not answer as Redis does; look at what is at that address, or in front of it"),
    # Before the codes below, because a key's name may look like one.
    (ANY_ERROR, r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b", StoreError, _NOT_OURS),
    (redis.OutOfMemoryError, "", StoreFullError, "is full (maxmemory reached)"),
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    (ANY_ERROR, r"\bOOM\b", StoreFullError, "is full (maxmemory reached)"),
    (_TRANSIENT, "", StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, _CODES, StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, "", StoreError, "answers with an error"),
)
"""Kinds and pattern of the client's errors, what they become, and what the message says of the store."""


def our_error(error: Exception, store: str) -> tuple[type[CrawlDedupError], str]:
    """Return what an error of the client becomes, and what the message says of the store."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = (cause.__cause__ or cause.__context__) if isinstance(cause, exceptions.RedisClusterException) else None
    for kinds, pattern, ours, words in _CASES:
        is_moved = kinds is exceptions.MovedError and store.startswith("redis+cluster:")
        met = causes if ours is ConfigurationError else [error]
        if not is_moved and any(isinstance(cause, kinds) and re.search(pattern, str(cause)) for cause in met):
            return ours, words
    raise error


@contextlib.contextmanager
def store_errors(store: str, was_in: Callable[[], bool], namespace: str) -> Iterator[None]:
    """Turn the client's errors into ours. The URL `store` and the `namespace` are for messages.

    What only other settings can mend is a ConfigurationError, unless the server has let us in before (`was_in`): then
    it is being reconfigured, and no crawl must end because of that.
    """
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except (*ANY_ERROR, *BAD_REPLIES) as error:
        ours, words = our_error(error, store)
        if ours is ConfigurationError and was_in():
            ours = StoreUnavailableError
        raise ours(f"{store} {words.format(namespace)}: {error}") from error
