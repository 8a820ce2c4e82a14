"""Read Redis URLs: hosts, login, TLS and options. Nothing is connected here.

redis-py reads each server's part of a URL; lists of hosts and the check of every option are our own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url as parse_server_url
from redis.retry import Retry

from crawldedup.errors import ConfigurationError
from crawldedup.stores.shown import shown_url

TIMEOUT_SECONDS: Final = 2.0
"""Limit for connecting and for an answer. Longer, and pages pass unchecked instead."""

DEFAULT_PARTITIONS: Final = 16
"""Of a new index on a cluster."""

_FORMS: Final = {
    "redis": "redis://user:password@host:port/db",
    "rediss": "rediss://user:password@host:port/db",
    "unix": "unix://user:password@/path/to/socket?db=0",
    "redis+sentinel": "redis+sentinel://user:password@host:port,host:port/service/db",
    "redis+cluster": "redis+cluster://user:password@host:port,host:port",
}
SINGLE_SERVER: Final = ("redis", "rediss", "unix", "redis+sentinel")
CLUSTER: Final = "redis+cluster"
_HOST: Final = re.compile(r"(\[[^\[\]]+\]|[^\[\]:,\s/@]+)(:0*[1-9][0-9]{0,4})?")
_YES_OR_NO: Final = (r"(?i)true|yes|1|false|no|0", "true or false")
_NUMBER: Final = (r"[0-9]{1,9}", "a whole number")
_SECONDS: Final = (r"(?=.*[1-9])[0-9]{0,6}(\.[0-9]+)?", "seconds, more than 0")
_ANY: Final = (".*", "")
_ALWAYS: Final = {
    "username": _ANY,
    "password": _ANY,
    "client_name": _ANY,
    "protocol": ("[23]", "2 or 3"),
    "max_connections": _NUMBER,
    "socket_timeout": _SECONDS,
    "socket_connect_timeout": _SECONDS,
    "socket_keepalive": _YES_OR_NO,
}
_TLS: Final = {
    **dict.fromkeys(("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password"), _ANY),
    "ssl_cert_reqs": ("none|optional|required", "none, optional or required"),
    "ssl_check_hostname": _YES_OR_NO,
}
_ONE: Final = {**_ALWAYS, "db": _NUMBER}
_MANY: Final = {**_ALWAYS, "ssl": _YES_OR_NO, **_TLS}
_OPTIONS: Final = {
    "redis": _ONE,
    "rediss": {**_ONE, **_TLS},
    "unix": _ONE,
    "redis+sentinel": {**_MANY, "db": _NUMBER, "sentinel_username": _ANY, "sentinel_password": _ANY},
    "redis+cluster": {**_MANY, "partitions": ("1|2|4|8|16|32|64|128|256", "a power of two up to 256")},
}


def wire_options(seconds: float) -> dict[str, Any]:
    """Return the options of every client: a time limit for connecting and for an answer, and the protocol."""
    # Protocol 3 would bring longer handshakes, and servers may ask its clients to wait longer than our limit.
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "protocol": 2}


def client_options(seconds: float) -> dict[str, Any]:
    """Return the options of a client of one server. It repeats no command: only `retry_once` knows which may be."""
    return {**wire_options(seconds), "retry": Retry(NoBackoff(), 0), "health_check_interval": 0}


@dataclass(frozen=True, slots=True)
class Target:
    """What a URL says. `options` are a connection's, in redis-py's names; `hosts` is empty for a socket."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    service: str
    options: dict[str, Any]
    tls: bool
    partitions: int
    sentinel_login: dict[str, str]

    def client(self, address: tuple[str, int] | None) -> redis.Redis:
        """Return a client of one server, or of the socket in `options`."""
        kind = redis.SSLConnection if self.tls else redis.Connection if address else redis.UnixDomainSocketConnection
        place = {"host": address[0], "port": address[1]} if address else {}
        options = {**client_options(TIMEOUT_SECONDS), **place, **self.options}
        return redis.Redis.from_pool(redis.ConnectionPool(connection_class=kind, **options))


class _UrlError(Exception):
    """What is wrong with a URL, without any part of its login."""


def parse_url(url: str, *schemes: str) -> Target:
    """Return what a URL of one of the schemes says. Raises ConfigurationError, in which no password shows."""
    scheme, _, rest = url.strip().partition("://")
    scheme = scheme.lower()
    try:
        if scheme not in schemes:
            raise _UrlError(f"write {' or '.join(_FORMS[name] for name in schemes)}")
        return _read(scheme, rest)
    except _UrlError as error:
        problem = str(error)
    except ValueError:  # its text may show a part of a password
        problem = f"write {_FORMS[scheme]}, with the signs / ? # @ : , of a password percent-encoded"
    raise ConfigurationError(f"the store URL {shown_url(url)!r} is not valid: {problem}")


def _read(scheme: str, rest: str) -> Target:
    """Raises ValueError for a URL of another form, and _UrlError for what is wrong behind its hosts."""
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    login, at, places = authority.rpartition("@")
    service, database = "", path
    if scheme == "redis+sentinel":
        service, _, database = path.partition("/")
    is_complete = service if scheme == "redis+sentinel" else path and not places if scheme == "unix" else True
    names = places.split(",") if "+" in scheme else [places or "localhost"]
    if "#" in rest + query or not is_complete or not all(map(_HOST.fullmatch, names)):
        raise ValueError
    _check_options(scheme, query)
    if scheme == "unix":
        hosts, options = [], _parsed(f"unix://{login}{at}/{path}?{query}")
    else:
        port = 26379 if scheme == "redis+sentinel" else 6379
        hosts, options = [_address(name, port) for name in names], _parsed(f"redis://{login}{at}?{query}")
        if scheme == "redis+cluster" and database not in ("", "0"):
            raise _UrlError("a cluster has one database, so leave out what follows the hosts")
        if scheme != "redis+cluster" and (number := database.strip("/")):
            if not (number.isascii() and number.isdecimal()):
                raise _UrlError("what follows the host must be the number of a database, as in redis://host:port/0")
            options.setdefault("db", int(number))
    tls = scheme == "rediss" or _is_true(options.pop("ssl", "no"))
    if not tls and (lone := [name for name in options if name.startswith("ssl_")]):
        raise _UrlError(f"an option is wrong: {lone[0]} needs ssl=true")
    if options.get("ssl_cert_reqs") == "none":
        # A name without a certificate cannot be checked, which older clients do not know.
        options.setdefault("ssl_check_hostname", False)
    if "ssl_certfile" in options or "ssl_keyfile" in options:
        # Without a password, an encrypted key would ask for it on the terminal.
        options.setdefault("ssl_password", "")
    logins = {name: options.pop(f"sentinel_{name}", None) for name in ("username", "password")}
    return Target(
        scheme=scheme,
        hosts=tuple(hosts),
        service=unquote(service),
        tls=tls,
        partitions=int(options.pop("partitions", DEFAULT_PARTITIONS)),
        sentinel_login={name: value for name, value in logins.items() if value is not None},
        options=options,
    )


def _check_options(scheme: str, query: str) -> None:
    allowed = _OPTIONS[scheme]
    for name, value in parse_qsl(query, keep_blank_values=True):
        if scheme == "redis" and name in _TLS:
            raise _UrlError(f"an option is wrong: {name} needs rediss://")
        if name not in allowed:
            # What looks like no name may be the end of a password that holds a question mark.
            shown = name if name.isidentifier() else "what follows the question mark"
            raise _UrlError(f"an option is wrong: {shown} is not known; allowed are {', '.join(allowed)}")
        pattern, wanted = allowed[name]
        if not re.fullmatch(pattern, value):
            raise _UrlError(f"an option is wrong: {name} has a value that is not allowed; write {wanted}")


def _parsed(url: str) -> dict[str, Any]:
    options: dict[str, Any] = parse_server_url(url)  # type: ignore[no-untyped-call]
    options.pop("connection_class", None)
    return options


def _is_true(text: str) -> bool:
    return text.lower() in ("true", "yes", "1")


def _address(name: str, default_port: int) -> tuple[str, int]:
    found = _parsed(f"redis://{name}")
    # Raises UnicodeError for empty or overlong parts of a name, which connecting would only find out later.
    found["host"].encode("idna")
    return found["host"], found.get("port", default_port)
