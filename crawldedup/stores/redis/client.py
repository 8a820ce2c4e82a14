"""Read the URLs of Redis stores, and make clients that connect to the servers they name."""

import re
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from crawldedup.errors import ConfigurationError
from crawldedup.passwords import shown_url

TIMEOUT_SECONDS: Final = 2.0
"""The time limit for connecting and for each reply. If it passes, pages go through unchecked."""
_LONGEST_TIMEOUT_SECONDS: Final = 1_000_000
_SENTINEL_PORT: Final = 26379
_REDIS_PORT: Final = 6379
_SENTINEL_PREFIX: Final = "sentinel_"
_LONGEST_SHOWN: Final = 200
_NO_OPTION: Final = re.compile(
    r"(?:unexpected keyword argument|multiple values for (?:keyword )?argument) '(\w+)'"
)


class _UrlForm(NamedTuple):
    """What the URLs of a scheme may have between the login and the options."""

    example: str
    pattern: str


_HOST: Final = r"[^,/?#@\s]+"
_HOSTS: Final = rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
# redis-py falls back to database 0 if it can't read the number.
_DATABASE: Final = r"(?:/(?P<database>[0-9]{0,9}))?"
_ONE_SERVER: Final = _UrlForm("host:port/db", rf"(?:{_HOST})?{_DATABASE}")
_FORMS: Final = {
    "redis": _ONE_SERVER,
    "rediss": _ONE_SERVER,
    "unix": _UrlForm("/path/to/socket?db=0", "/[^?#@]+"),
    "redis+sentinel": _UrlForm(
        "host:port,host:port/service/db", rf"{_HOSTS}/(?P<service>[^/?#@]+){_DATABASE}"
    ),
    "redis+cluster": _UrlForm("host:port,host:port", rf"{_HOSTS}/?"),
}
"""The form of a URL, by its scheme."""


class Target(NamedTuple):
    """The servers that a store URL names, and how to connect to them."""

    options: dict[str, Any]  # the options of a connection, as redis-py names them
    hosts: list[tuple[str, int]]  # empty for a single server, which `options` names
    service: str  # the name by which the sentinels know the servers
    sentinel_options: dict[str, str]

    @property
    def passwords(self) -> tuple[str, ...]:
        """The passwords of the servers and of their sentinels."""
        options = {**self.options, **self.sentinel_options}
        return tuple(
            str(value) for name, value in options.items() if name.endswith("password") and value
        )


class _UrlParts(NamedTuple):
    """The parts of a store URL. Parts that it lacks are empty."""

    scheme: str
    login: str = ""
    place: str = ""
    query: str = ""
    hosts: str = ""
    service: str = ""
    database: str = ""


def read_url(url: str) -> Target:
    """Parse the URL of a Redis store into the servers that it names.

    Raises ConfigurationError, which doesn't show the password, if the URL is not valid.
    """
    scheme, _, rest = url.strip().partition("://")
    scheme = scheme.lower()
    form = _FORMS[scheme]
    # There is no @ after the login, so nothing after a / or ? in a password is taken for a host
    # or an option.
    pattern = rf"(?:(?P<login>[^/?#]*)@)?(?P<place>{form.pattern})(?:\?(?P<query>[^#@]*))?"
    problem = ""
    try:
        if match := re.fullmatch(pattern, rest):
            return _target(_UrlParts(scheme, **match.groupdict("")))
    except (redis.RedisError, TypeError, ValueError) as error:
        problem = f"{_in_words(error)}; "
    raise ConfigurationError(
        f"the store URL {shown_url(url)[:_LONGEST_SHOWN]!r} is not valid: {problem}write "
        f"{scheme}://user:password@{form.example}, with the characters / ? # @ : , of a password "
        "percent-encoded, and with options that redis-py has for it"
    )


def _unknown_option(error: Exception) -> str:
    """Return the name of an option that redis-py doesn't know, given its error, or ""."""
    found = _NO_OPTION.search(str(error))
    return found[1] if found else ""


def _in_words(error: Exception) -> str:
    """Say what is wrong with an option, without the internal terms of redis-py."""
    if name := _unknown_option(error):
        return f"there is no option {name!r}"
    if isinstance(error, TypeError):
        return "an option has a value that it cannot have"
    if "int_max_str_digits" in str(error):
        return "a number is too long"
    return str(error)


def _target(parts: _UrlParts) -> Target:
    """Work out the servers and connection options that a store URL names.

    Raises ValueError, TypeError or an error of redis-py if a host or an option is not valid.
    """
    options = _options(parts)
    sentinel_options = _take_sentinel_options(options) if parts.service else {}
    options = _with_tls(options, parts.scheme)
    # Making a connection checks the options, but doesn't connect.
    _pool(options).make_connection()
    _check_sentinel_options(sentinel_options, ssl=options["ssl"])
    _check_timeouts(options)
    if parts.scheme == "redis+cluster" and options.get("db"):
        raise ValueError("a cluster has no databases")
    default_port = _SENTINEL_PORT if parts.service else _REDIS_PORT
    return Target(
        options, _addresses(parts, default_port), unquote(parts.service), sentinel_options
    )


def _options(parts: _UrlParts) -> dict[str, Any]:
    """Return the connection options in a URL as redis-py reads them, including the login."""
    if parts.hosts:
        url = f"redis:///{parts.database}?{parts.query}"
    else:
        url = f"{parts.scheme}://{parts.place}?{parts.query}"
    options: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    options.pop("connection_class", None)
    username, _, password = parts.login.partition(":")
    if username:
        options["username"] = unquote(username)
    if password:
        options["password"] = unquote(password)
    return options


def _take_sentinel_options(options: dict[str, Any]) -> dict[str, str]:
    """Remove the options that are meant for the sentinels, and return them without their prefix."""
    names = [name for name in options if name.startswith(_SENTINEL_PREFIX)]
    return {name.removeprefix(_SENTINEL_PREFIX): options.pop(name) for name in names}


def _check_sentinel_options(sentinel_options: dict[str, str], *, ssl: bool) -> None:
    """Raise ValueError if an option isn't one that sentinels have."""
    try:
        _pool({**sentinel_options, "ssl": ssl}).make_connection()
    except TypeError as error:
        if name := _unknown_option(error):
            raise ValueError(f"there is no option {_SENTINEL_PREFIX + name!r}") from None
        raise


def _with_tls(options: dict[str, Any], scheme: str) -> dict[str, Any]:
    """Add `ssl` (True or False) to the options of a connection, and our defaults for TLS."""
    is_wanted = options.get("ssl", "no").lower() in ("true", "yes", "1")
    options["ssl"] = scheme == "rediss" or is_wanted
    if not options["ssl"]:
        return options
    defaults = {
        # Without a password, an encrypted key would prompt for one on the terminal.
        "ssl_password": "",
        "ssl_check_hostname": options.get("ssl_cert_reqs") != "none",
    }
    return defaults | options


def _check_timeouts(options: dict[str, Any]) -> None:
    for name in ("socket_timeout", "socket_connect_timeout"):
        if not 0 < options.get(name, 1) < _LONGEST_TIMEOUT_SECONDS:
            raise ValueError("a timeout is not a number of seconds above 0")


def _addresses(parts: _UrlParts, default_port: int) -> list[tuple[str, int]]:
    places = [urlsplit(f"//{host}") for host in parts.hosts.split(",") if host]
    return [(str(place.hostname), place.port or default_port) for place in places]


def _pool(options: dict[str, Any]) -> redis.ConnectionPool:
    """Make a pool of connections with these options.

    Raises TypeError for an option that such connections don't have.
    """
    kind: Any = redis.Connection
    if options["ssl"]:
        kind = redis.SSLConnection
    elif "path" in options:
        kind = redis.UnixDomainSocketConnection
    return redis.ConnectionPool(
        kind, **{name: value for name, value in options.items() if name != "ssl"}
    )


def connect(target: Target) -> redis.Redis:
    """Return a client of one server. It connects when it is first used.

    If the target has sentinels, each new connection asks them for the master.
    """
    options = _limited(target.options)
    if not target.service:
        return redis.Redis.from_pool(_pool(options))
    # Sentinels are asked one after another, so together they get the time of one server.
    shared = {name: value for name, value in options.items() if name.startswith("ssl")}
    sentinel_options = _limited({**shared, **target.sentinel_options}, len(target.hosts))
    sentinels = _Sentinels(target.hosts, sentinel_kwargs=sentinel_options, **options)  # type: ignore[no-untyped-call]
    return sentinels.master_for(target.service)  # type: ignore[no-any-return, no-untyped-call]


def connect_cluster(target: Target) -> RedisCluster:
    """Connect to a cluster, and return the client. Raises redis-py's own errors."""
    nodes = [ClusterNode(host, port) for host, port in target.hosts]  # type: ignore[no-untyped-call]
    # While one master is down, the others work.
    return _Cluster(startup_nodes=nodes, require_full_coverage=False, **_limited(target.options))


def _limited(options: dict[str, Any], servers: int = 1) -> dict[str, Any]:
    """Add our time limits to the options of a connection, and the settings that we rely on.

    `servers` is the number of servers that share the time. Time limits in the URL take precedence.
    """
    seconds = TIMEOUT_SECONDS / servers
    defaults = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        # Protocol 3 has longer handshakes, and servers can ask clients to wait longer than our
        # limit.
        "protocol": 2,
    }
    required = {
        # Only the store knows which commands may be repeated.
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
        # The store reads bytes.
        "decode_responses": False,
    }
    return {**defaults, **options, **required}


class _Sentinels(Sentinel):
    """A client of sentinels that keeps passwords out of errors, unlike some redis-py versions."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        try:
            return super().discover_master(service_name)  # type: ignore[no-any-return, no-untyped-call]
        except MasterNotFoundError:
            message = f"none of the sentinels that answer has a master named {service_name!r}"
            raise MasterNotFoundError(message) from None


class _Cluster(RedisCluster):
    """A client of a cluster that can connect while a master is down.

    redis-py's own client asks one of the masters which arguments of commands are keys, and fails if
    that one is down.
    """

    def command(self, **kwargs: Any) -> dict[str, dict[str, Any]]:
        try:
            return super().command(**kwargs)
        except (redis.ConnectionError, redis.TimeoutError):
            return {}
