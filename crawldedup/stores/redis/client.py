"""Make clients of the servers that a URL names, exchange commands with them, and translate their
errors into ours.
"""

import contextlib
import hashlib
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.stores.registry import shown_url

BAD_REPLIES: Final = (TypeError, ValueError, LookupError, AttributeError, struct.error)
"""What reading a reply raises that has the wrong form: from a broken proxy, or from a server of
another kind.
"""
ANY_ERROR: Final = (redis.RedisError, exceptions.RedisClusterException, OSError)
# For connecting and for an answer: longer, and pages pass unchecked instead.
TIMEOUT_SECONDS: Final = 2.0
Command = tuple[Any, ...]

_SCRIPTS: Final[
    dict[str, str]
] = {}  # that were asked for, by the names that the server has for them
_HOST: Final = r"[^,/?#@\s]+"
_HOSTS: Final = rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
_DATABASE: Final = r"(?:/(?P<db>\d*))?"
_FORMS: Final = {
    **dict.fromkeys(("redis", "rediss"), ("host:port/db", rf"(?:{_HOST})?{_DATABASE}")),
    "unix": ("/path/to/socket?db=0", "/[^?#@]+"),
    "redis+sentinel": (
        "host:port,host:port/service/db",
        rf"{_HOSTS}/(?P<service>[^/?#@]+){_DATABASE}",
    ),
    "redis+cluster": ("host:port,host:port", rf"{_HOSTS}/?"),
}
"""By scheme: the form and the pattern of what stands between the login and the options."""


class Target(NamedTuple):
    """What a URL says: the options of a connection, as redis-py has them; of several servers, the
    hosts.
    """

    options: dict[str, Any]
    hosts: list[tuple[str, int]]
    service: str
    sentinel_login: dict[str, str]


def read_url(url: str) -> Target:
    """Return what a URL says whose scheme is one of ours.

    Raises ConfigurationError, in which no password shows.
    """
    scheme, _, rest = url.strip().partition("://")
    form, place = _FORMS[scheme.lower()]
    form, problem = f"{scheme.lower()}://user:password@{form}", ""
    try:
        # Behind the login there is no @: what follows a / or ? in a password is not taken for a
        # host or an option.
        if match := re.fullmatch(
            rf"(?:(?P<login>[^/?#]*)@)?(?P<place>{place})(?:\?(?P<query>[^#@]*))?", rest
        ):
            return _target(scheme.lower(), **match.groupdict(""))
    except (redis.RedisError, TypeError, ValueError) as error:
        problem = f"{error}; "
    raise ConfigurationError(
        f"the store URL {shown_url(url)!r} is not valid: {problem}write {form}, with the signs / ? "
        "# @ : , of a password percent-encoded, and options that redis-py has for it"
    )


def _target(
    scheme: str,
    login: str,
    place: str,
    query: str,
    hosts: str = "",
    service: str = "",
    db: str = "",
) -> Target:
    """Raises ValueError, TypeError or an error of the client for what is wrong with a host or an
    option.
    """
    url = f"redis:///{db}?{query}" if hosts else f"{scheme}://{place}?{query}"
    options: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    options.pop("connection_class", None)
    named = zip(("username", "password"), login.split(":", 1), strict=False)
    options |= {name: unquote(value) for name, value in named if value}
    of_sentinels = {
        name[9:]: options.pop(name)
        for name in tuple(options)
        if service and name.startswith("sentinel_")
    }
    options["ssl"] = scheme == "rediss" or options.get("ssl", "no").lower() in ("true", "yes", "1")
    if options["ssl"]:
        # Without a password, an encrypted key would ask for it on the terminal.
        options = {
            "ssl_password": "",
            "ssl_check_hostname": options.get("ssl_cert_reqs") != "none",
            **options,
        }
    _pool(options).make_connection()
    if not all(
        0 < options.get(name, 1) < 1_000_000
        for name in ("socket_timeout", "socket_connect_timeout")
    ):
        raise ValueError("a timeout is not a number of seconds above 0")
    if scheme == "redis+cluster" and options.get("db"):
        raise ValueError("a cluster has no databases")
    default_port = 26379 if service else 6379
    places = [urlsplit(f"//{host}") for host in hosts.split(",") if host]
    addresses = [(str(place.hostname), place.port or default_port) for place in places]
    return Target(options, addresses, unquote(service), of_sentinels)


def _pool(options: dict[str, Any]) -> redis.ConnectionPool:
    """Return a pool of connections.

    Raises TypeError for an option that such connections do not have.
    """
    kind: Any = redis.UnixDomainSocketConnection if "path" in options else redis.Connection
    kind = redis.SSLConnection if options["ssl"] else kind
    return redis.ConnectionPool(
        kind, **{name: value for name, value in options.items() if name != "ssl"}
    )


def connect(target: Target) -> redis.Redis:
    """Return a client of one server, not yet connected; each new connection asks the sentinels for
    the master.
    """
    options = _limited(target.options)
    if not target.service:
        return redis.Redis.from_pool(_pool(options))
    # They are asked one after another, so together they get the time of one server.
    shared = {name: value for name, value in options.items() if name.startswith("ssl")}
    asking = _limited({**shared, **target.sentinel_login}, len(target.hosts))
    sentinels = _Sentinels(target.hosts, sentinel_kwargs=asking, **options)  # type: ignore[no-untyped-call]
    return sentinels.master_for(target.service)  # type: ignore[no-any-return, no-untyped-call]


def _limited(options: dict[str, Any], share: int = 1) -> dict[str, Any]:
    """Return a connection's options with our limits of time, unless the URL has others, and with
    what we rely on.
    """
    seconds = TIMEOUT_SECONDS / share
    # Protocol 3 would bring longer handshakes, and servers may ask its clients to wait longer than
    # our limit.
    defaults = {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}
    # Only the store knows what may be repeated. It reads bytes.
    fixed = {"retry": Retry(NoBackoff(), 0), "health_check_interval": 0, "decode_responses": False}
    return {**defaults, **options, **fixed}


def connect_cluster(target: Target) -> RedisCluster:
    """Return a connected client of a cluster. Raises the client's own errors."""
    nodes = [ClusterNode(host, port) for host, port in target.hosts]  # type: ignore[no-untyped-call]
    # While one master is down, the others work.
    return _Cluster(startup_nodes=nodes, require_full_coverage=False, **_limited(target.options))


class _Sentinels(Sentinel):
    """Sentinels whose errors show no password, as those of some versions of the client do."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        with contextlib.suppress(MasterNotFoundError):
            return super().discover_master(service_name)  # type: ignore[no-any-return, no-untyped-call]
        raise MasterNotFoundError(f"no sentinel that answers names a master of {service_name!r}")


class _Cluster(RedisCluster):
    """A cluster's client that connects while a master is gone, from which it would learn where
    commands have keys.
    """

    def command(self, **kwargs: Any) -> dict[str, dict[str, Any]]:
        try:
            return super().command(**kwargs)
        except (redis.ConnectionError, redis.TimeoutError):
            return {}


@cache
def script_sha(name: str) -> str:
    """Return the server's name of an entry script."""
    text = script_text(name)
    sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    _SCRIPTS[sha] = text
    return sha


def script_text(name: str) -> str:
    """Return an entry script behind its parts, which it names in its first line in the order of
    building on each other.

    All but the first part stand in a function of their own: Lua looks up what a function takes from
    around it in a list of all such names of one level, and a script makes some fifty functions each
    time it runs.
    """
    folder = resources.files("crawldedup.stores.redis").joinpath("lua")
    entry = folder.joinpath(f"{name}.lua").read_text("utf-8")
    parts = entry.partition("\n")[0].removeprefix("-- parts: ").split(", ")
    first, *others = (folder.joinpath(f"lib/{part}.lua").read_text("utf-8") for part in parts)
    return "\n".join((first, "return (function()", *others, entry, "end)()"))


def exchange(asked: Sequence[tuple[redis.Redis, Sequence[Command]]]) -> list[list[Any]]:
    """Return what each server answers to its commands, or errors in place of answers.

    Servers work at the same time.
    """
    if len(asked) < 2:
        return [_answers(server, commands) for server, commands in asked]
    with ThreadPoolExecutor(len(asked)) as threads:
        return list(threads.map(_answers, *zip(*asked, strict=True)))


def _answers(server: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """Return the answers of a server, which is told the scripts that it does not know, and asked
    again.
    """
    answers = _pipelined(server, commands)
    if unknown := [
        place
        for place, answer in enumerate(answers)
        if isinstance(answer, exceptions.NoScriptError)
    ]:
        loads: list[Command] = [
            ("SCRIPT LOAD", _SCRIPTS[sha]) for sha in {commands[place][1] for place in unknown}
        ]
        fresh = _pipelined(server, [*loads, *(commands[place] for place in unknown)])
        for place, answer in zip(unknown, fresh[len(loads) :], strict=True):
            answers[place] = answer
    return answers


def _pipelined(server: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    pipeline = server.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
    try:
        return pipeline.execute(raise_on_error=False)
    except (*ANY_ERROR, *BAD_REPLIES) as error:
        return [error] * len(commands)


_NOT_OURS: Final = (
    "has a key in the namespace {!r} with what crawldedup did not write there; remove that key if "
    "nobody needs it, or "
    "use another namespace or database"
)
_TRANSIENT: Final = (
    *(
        redis.ConnectionError,
        redis.TimeoutError,
        redis.ReadOnlyError,
        OSError,
        exceptions.RedisClusterException,
    ),
    *(
        exceptions.ClusterError,
        exceptions.AskError,
        exceptions.TryAgainError,
        exceptions.ClusterCrossSlotError,
    ),
)
_CODES: Final = (
    r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non "
    r"local key"
)
_CASES: Final[
    tuple[
        tuple[type[Exception] | tuple[type[Exception], ...], str, type[CrawlDedupError], str], ...
    ]
] = (
    # What only other settings can mend. A cluster's client wraps it in errors of its own.
    (redis.AuthenticationError, "", ConfigurationError, "refuses the user or the password"),
    (exceptions.NoPermissionError, "", ConfigurationError, "does not let this user work"),
    (
        MasterNotFoundError,
        "",
        StoreUnavailableError,
        "needs its sentinels and the name of their service",
    ),
    (
        redis.ConnectionError,
        "CERTIFICATE_(VERIFY|REQ)",
        ConfigurationError,
        "and this program do not agree on TLS",
    ),
    (
        exceptions.MovedError,
        "",
        ConfigurationError,
        "is a node of a cluster, so write redis+cluster://",
    ),
    (
        redis.ResponseError,
        "cluster support",
        ConfigurationError,
        "is not a node of a cluster, so write redis://",
    ),
    (
        redis.ResponseError,
        "DB index",
        ConfigurationError,
        "names a database the server does not have",
    ),
    (
        BAD_REPLIES,
        "",
        StoreError,
        "does not answer as Redis does; look at what is at that address, or in front of it",
    ),
    # Before the codes below, because a key's name may look like one.
    (ANY_ERROR, r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b", StoreError, _NOT_OURS),
    (redis.OutOfMemoryError, "", StoreFullError, "is full (maxmemory reached)"),
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    (ANY_ERROR, r"\bOOM\b", StoreFullError, "is full (maxmemory reached)"),
    (_TRANSIENT, "", StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, _CODES, StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, "", StoreError, "answers with an error"),
)
"""Kinds and pattern of the client's errors, what they become, and what the message says of the
store.
"""


def our_error(error: Exception, store: str) -> tuple[type[CrawlDedupError], str]:
    """Return what an error of the client becomes, and what the message says of the store."""
    causes: list[BaseException] = [error]
    while isinstance(causes[-1], exceptions.RedisClusterException):
        if not (cause := causes[-1].__cause__ or causes[-1].__context__):
            break
        causes.append(cause)
    for kinds, pattern, ours, words in _CASES:
        is_moved = kinds is exceptions.MovedError and store.startswith("redis+cluster:")
        met = causes if ours is ConfigurationError else [error]
        if not is_moved and any(
            isinstance(cause, kinds) and re.search(pattern, str(cause)) for cause in met
        ):
            return ours, words
    raise error


@contextlib.contextmanager
def store_errors(store: str, was_in: Callable[[], bool], namespace: str) -> Iterator[None]:
    """Turn the client's errors into ours. The URL `store` and the `namespace` are for messages.

    What only other settings can mend is a ConfigurationError, unless the server has let us in
    before (`was_in`): then it is being reconfigured, and no crawl must end because of that.
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
