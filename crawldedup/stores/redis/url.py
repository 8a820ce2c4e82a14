"""What a Redis URL says: servers, login, TLS, options. Nothing is connected here."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawldedup.errors import ConfigurationError
from crawldedup.stores.base import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_SECONDS: Final = 2.0
"""For connecting and for an answer. A crawl waits no longer for a verdict: pages pass instead."""

_FORMS: Final = {
    "redis": "redis://user:password@host:port/db",
    "rediss": "rediss://user:password@host:port/db",
    "unix": "unix://user:password@/path/to/socket?db=0",
    "redis+sentinel": "redis+sentinel://user:password@host:port,host:port/service/db",
    "redis+cluster": "redis+cluster://user:password@host:port,host:port",
}
_SENTINEL_PORT: Final = 26379
_SERVER_PORT: Final = 6379


def wire_options(seconds: float) -> dict[str, Any]:
    """What every client is told, with so long a time limit for connecting and for an answer."""
    return {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        # Version 3 would bring longer handshakes, and servers that may ask the client to wait longer than our limit.
        "protocol": 2,
    }


def client_options(seconds: float) -> dict[str, Any]:
    """The same for a client of one server."""
    return {
        **wire_options(seconds),
        # Only `retry_once` knows whether a command may be sent again as it is.
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
    }


@dataclass(frozen=True, slots=True)
class Target:
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
        options = {**client_options(TIMEOUT_SECONDS), **place, **self.options}
        return redis.Redis.from_pool(redis.ConnectionPool(connection_class=kind, **options))


class _UrlError(Exception):
    """What is wrong with a URL, in words that hold nothing of its login."""


def parse_url(url: str, *schemes: str) -> Target:
    """What a URL of one of the schemes says. Raises ConfigurationError, in which no password shows."""
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


def _read(scheme: str, rest: str) -> Target:
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
        raise _UrlError(f"an option is wrong: {lone[0]} needs ssl=true")
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
    return Target(
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
        if scheme == "redis" and name in _TLS_OPTIONS:
            raise _UrlError(f"an option is wrong: {name} needs rediss://")
        if name not in allowed:
            # What looks like no name may be the end of a password that holds a question mark.
            shown = name if name.isidentifier() else "what follows the question mark"
            raise _UrlError(f"an option is wrong: {shown} is not known; allowed are {', '.join(allowed)}")
        try:
            options[name] = allowed[name](value)
        except ValueError as error:
            raise _UrlError(f"an option is wrong: {name} has a value that is not allowed; write {error}") from None
    return options


def _try_out(target: Target) -> None:
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
        raise _UrlError("a name of a host has an empty part, or one of more than 63 letters") from None
    except (TypeError, ValueError, redis.RedisError) as error:
        raise _UrlError(f"an option is wrong: {error}") from None


# What reads a value raises ValueError with what is allowed instead, as it goes on after "write".


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\[\]:,\s/@]+))(?::([0-9]{1,5}))?", text)
    if found is None or not 0 < int(found[3] or default_port) < 65536:
        raise ValueError("host:port")
    return unquote(found[1] or found[2]), int(found[3] or default_port)


def _boolean(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError("true or false")
    return words[text.lower()]


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("a whole number")
    return int(text)


def _seconds(text: str) -> float:
    if not (re.fullmatch(r"[0-9]*\.?[0-9]+", text) and 0 < float(text) < float("inf")):
        raise ValueError("seconds, more than 0")
    return float(text)


def _certificate_need(text: str) -> str:
    need = text.lower().removeprefix("cert_")
    if need not in ("none", "optional", "required"):
        raise ValueError("none, optional or required")
    return need


_ANY_OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "username": str,
    "password": str,
    "client_name": str,
    "protocol": _whole_number,
    "max_connections": _whole_number,
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
    "db": _whole_number,
    "replica": lambda text: _host_and_port(text, _SERVER_PORT),
}
_OF_SEVERAL: Final[dict[str, Callable[[str], Any]]] = {
    **_ANY_OPTIONS,
    "ssl": _boolean,
    **_TLS_OPTIONS,
    "replicas": _boolean,
}
_OPTIONS: Final[dict[str, dict[str, Callable[[str], Any]]]] = {
    "redis": _OF_ONE_SERVER,
    "rediss": {**_OF_ONE_SERVER, **_TLS_OPTIONS},
    "unix": {**_ANY_OPTIONS, "db": _whole_number},
    "redis+sentinel": {**_OF_SEVERAL, "db": _whole_number, "sentinel_username": str, "sentinel_password": str},
    "redis+cluster": _OF_SEVERAL,
}
