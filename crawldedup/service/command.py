"""The command `crawldedup serve`: its settings, and how the service starts and ends."""

import json
import logging
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from argparse import Namespace
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup import checks
from crawldedup.commands.command import (
    INDEX_OPTIONS,
    PARAGRAPH_OPTIONS,
    PROFILE_OPTIONS,
    STORE_VARIABLE,
    Command,
    checked_options,
)
from crawldedup.errors import ConfigurationError, MissingDependencyError, StoreUnavailableError
from crawldedup.options import Options, option, options_of
from crawldedup.service.tokens import (
    READ_TOKEN_VARIABLE,
    TOKEN_VARIABLE,
    Tokens,
    tokens_from,
)

if TYPE_CHECKING:
    from crawldedup.deduplicator import Deduplicator

# Tells worker processes where the file with their settings, session and tokens is.
VARIABLE: Final = "CRAWLDEDUP_SERVICE"
# In bytes: twice the longest names that a query may contain, as they are sent.
_MOST_HEAD: Final = 64 << 10
_SLOWEST_START_SECONDS: Final = 60
_log: Final = logging.getLogger(__name__)

_argument: Final = partial(option, owner="service")
_text: Final = checks.optional(checks.string)
_seconds: Final = checks.number("from 0.1", lambda value: value >= 0.1)
_level: Final = checks.one_of("debug", "info", "warning")
_ANY_PROXY: Final = "*"


def _proxies(name: str, value: object) -> str:
    """Check the addresses of proxies, because uvicorn trusts nobody for those it can't read.

    Raises ConfigurationError, which names the first one that is not allowed.
    """
    text = checks.string(name, value)
    if text.strip() == _ANY_PROXY:
        return text
    for proxy in text.split(","):
        address = proxy.strip()
        # A network needs a slash for uvicorn.
        parse = ip_network if "/" in address else ip_address
        try:
            parse(address)
        except ValueError as error:
            allowed = (
                "the IP address of a proxy, such as 10.0.0.1, a network, such as 10.0.0.0/8, "
                f"several of them, separated by commas, or {_ANY_PROXY} for any proxy"
            )
            raise checks.refused(name, address, f"{allowed} ({error})") from None
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings(Options):
    """The options of `crawldedup serve`: those of its index, and those of the service itself."""

    host: str = _argument("127.0.0.1", checks.string, "the address to listen on")
    port: int = _argument(8300, checks.whole(1, 65535), "the port to listen on")
    workers: int = _argument(1, checks.whole(1), "processes that answer requests")
    readers: int = _argument(
        1, checks.whole(1), "processes per worker that read HTML, started when they are needed"
    )
    token_file: str | None = _argument(
        None,
        _text,
        "a file with one token per line; clients must send one of them as `Authorization: "
        f"Bearer TOKEN` (default: the variable {TOKEN_VARIABLE}; without a token, the service "
        "accepts connections only from this machine)",
    )
    read_token_file: str | None = _argument(
        None,
        _text,
        "a file of read-only tokens: with them, clients can find, explain and compare pages, but "
        f"not change anything (default: the variable {READ_TOKEN_VARIABLE})",
    )
    max_body: int = _argument(
        8 << 20,
        checks.whole(1024),
        "the maximum size of a body in bytes, both before and after decompression",
    )
    client_seconds: float = _argument(
        30.0, _seconds, "refuse a client that takes longer than this to send a body"
    )
    trust_proxy: str | None = _argument(
        None,
        checks.optional(_proxies),
        "take the addresses of clients from the X-Forwarded-For header that this proxy sends "
        "(IP addresses or networks, separated by commas)",
    )
    log_level: str = _argument(
        "info", _level, "what is logged: debug, info (a line for each request), or warning"
    )

    @property
    def tokens(self) -> Tokens:
        """The tokens, one of which clients have to send. Raises ConfigurationError."""
        return tokens_from(self.token_file, self.read_token_file)


_OF_SERVICE: Final = tuple(
    each.name for each in options_of(ServiceSettings) if each.owner == "service"
)
_OF_INDEX: Final = (
    *INDEX_OPTIONS,
    "scope",
    "similarity",
    "recall",
    *PROFILE_OPTIONS,
    "ttl",
    "max_pages",
    "store_urls",
)

SERVE: Final = Command(
    "check, find, forget and explain pages over HTTP, for programs and browsers",
    options=(*_OF_SERVICE, *_OF_INDEX, "keep_texts", *PARAGRAPH_OPTIONS),
    module=__name__,
    run="serve",
    kind=ServiceSettings,
    shows_results=False,
)


def serve(dedup: "Deduplicator", given: Namespace, _: object) -> None:
    """Run the service on an index until a signal ends it.

    Raises ConfigurationError, StoreError and the like.
    """
    _check_packages()
    settings = ServiceSettings(**checked_options(given, ServiceSettings))
    _check(settings)
    log_to_stderr(settings.log_level)
    _allow_many_connections()
    # This applies until uvicorn handles the signal, and again after uvicorn is done.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    # uvicorn replaces its workers at this signal, if there are several. It doesn't handle it for a
    # single one, and the default would cut off the requests under way.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    _open_when_ready(dedup, settings)
    fields = {
        "address": f"{settings.host}:{settings.port}",
        "index": repr(dedup),
        "pages": dedup.pages,
    }
    _log.info("serves", extra={"fields": fields})
    with tempfile.TemporaryDirectory(prefix="crawldedup-", ignore_cleanup_errors=True) as folder:
        _share(dedup, settings, Path(folder))
        _run(settings)


def _check_packages() -> None:
    """Raise MissingDependencyError if a package that the service needs is missing."""
    try:
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError.of_extra(
            "server", f"{error}; `crawldedup serve` needs"
        ) from error


def _allow_many_connections() -> None:
    """Raise the limit of open files, so clients that only connect don't block others."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _open_when_ready(dedup: "Deduplicator", settings: ServiceSettings) -> None:
    """Open the index. If its server hasn't started yet, wait for it.

    Raises StoreUnavailableError if the store is a file that can't be used.
    """
    while not dedup.session:
        try:
            dedup.open()
        except StoreUnavailableError as error:
            # A server may start later, but a file that can't be used stays that way.
            if settings.store.lower().startswith("sqlite:"):
                raise
            _log.warning("waits for the store", extra={"fields": {"error": str(error)}})
            time.sleep(2)


def _share(dedup: "Deduplicator", settings: ServiceSettings, folder: Path) -> None:
    """Write a file with everything that the worker processes need to know.

    Any program of the same user can read the environment of a process, including the password of
    the store. So processes get the name of a file, and no variable with a secret.
    """
    assert dedup.session is not None
    shared = json.dumps(
        {
            "settings": asdict(settings),
            # All processes share a session, so they count as one crawler.
            "session": astuple(dedup.session),
            "tokens": asdict(settings.tokens),
        }
    )
    file = folder / "service.json"
    file.touch(0o600)
    file.write_text(shared, "utf-8")
    os.environ[VARIABLE] = str(file)
    for name in (TOKEN_VARIABLE, READ_TOKEN_VARIABLE, STORE_VARIABLE):
        os.environ.pop(name, None)
    if settings.workers > 1:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def _run(settings: ServiceSettings) -> None:
    """Run the server until a signal ends it."""
    import uvicorn

    from crawldedup.service.connections import Connection

    uvicorn.run(
        "crawldedup.service.app:make_app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        # It uses h11. httptools loses the body of a request that offers HTTP/2 with `Upgrade`, as
        # clients in Java do, and collects heads without a limit.
        http=Connection,
        h11_max_incomplete_event_size=_MOST_HEAD,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.trust_proxy is not None,
        forwarded_allow_ips=settings.trust_proxy,
        timeout_keep_alive=max(1, int(settings.client_seconds)),
        # A process that replaces another one takes a few seconds to start.
        timeout_worker_healthcheck=_SLOWEST_START_SECONDS,
    )


class JsonFormatter(logging.Formatter):
    """Formats a record of the log as one line of JSON.

    The dictionary `fields`, given as `extra`, is merged into it.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON.

        It contains time, level, message and process, the `fields`, and the end of a traceback.
        """
        values = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "process": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            values["trace"] = self.formatException(record.exc_info)[-8000:]
        return json.dumps(values, default=str)


def log_to_stderr(level: str) -> None:
    """Send everything that this process logs to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)


def is_this_machine(host: str) -> bool:
    """Return whether a host name or address always stands for this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _check(settings: ServiceSettings) -> None:
    """Check that the settings are consistent and that the address can be used.

    Raises ConfigurationError.
    """
    from crawldedup.stores.registry import is_persistent

    host = settings.host
    port = settings.port
    if not settings.tokens and not is_this_machine(host):
        reach = f"--host is {host!r}, and everyone who can reach it could change the index"
        raise ConfigurationError(f"{reach}: set {TOKEN_VARIABLE}, or give --token-file")
    if settings.workers > 1 and not is_persistent(settings.store):
        raise ConfigurationError(
            "--workers is above 1, and memory:// cannot be shared: name a store with --store"
        )
    try:
        # uvicorn would only report this after everything else.
        socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ).close()
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}"
        ) from None
