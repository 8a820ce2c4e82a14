"""`crawldedup serve`: its settings, and how the service starts and ends."""

import json
import logging
import os
import resource
import signal
import socket
import tempfile
import threading
import time
from argparse import Namespace
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from crawldedup import checks
from crawldedup.commands.command import INDEX_OPTIONS, PARAGRAPH_OPTIONS, PROFILE_OPTIONS, Command
from crawldedup.errors import ConfigurationError, CrawlDedupError, MissingDependencyError, StoreUnavailableError
from crawldedup.options import Option, Options, option
from crawldedup.stores.registry import is_persistent

if TYPE_CHECKING:
    from crawldedup.deduplicator import Deduplicator

TOKEN_VARIABLE: Final = "CRAWLDEDUP_TOKEN"
VARIABLE: Final = "CRAWLDEDUP_SERVICE"
"""The variable of the environment in which worker processes find their settings; users have no use for it."""
_SHORTEST_TOKEN: Final = 16
_MOST_HEAD: Final = 64 << 10
"""Bytes of the head of a request: twice the longest names that a query may hold, as they are sent."""
_STORE_SECONDS: Final = 1.0
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """The settings of one service: first what `crawldedup serve` takes, then what follows of it.

    Its worker processes share the `session`, and so count as one crawler; `parent` is the process that starts them.
    A session is a number and a
    process. If the store was not up in time, the parent writes it into `session_file` as soon as it is.
    """

    host: str = option("127.0.0.1", checks.string, "the address to listen on")
    port: int = option(8300, checks.whole(1, 65535), "the port to listen on")
    workers: int = option(1, checks.whole(1), "processes that answer")
    readers: int = option(1, checks.whole(1), "processes of each of these that read HTML, started when it comes")
    token_file: str | None = option(
        None,
        checks.optional(checks.string),
        "a file of tokens, one a line, of which clients must send one as `Authorization: Bearer TOKEN` (default: the "
        f"environment's {TOKEN_VARIABLE}; without one, only this machine is listened to)",
    )
    max_body: int = option(8 << 20, checks.whole(1024), "the largest body that is taken, in bytes")
    client_seconds: float = option(
        30.0,
        checks.number("from 0.1", lambda value: value >= 0.1),
        "a client that takes longer to send the body of a request is given up",
    )
    trust_proxy: str | None = option(
        None,
        checks.optional(checks.string),
        "take the addresses of clients from the X-Forwarded-For of the proxy at this address",
    )
    log_level: str = option(
        "info",
        checks.one_of("debug", "info", "warning"),
        "what is logged: debug, info, which has a line for each request, or warning",
    )
    options: Options
    tokens: tuple[str, ...] = ()
    session: tuple[int, str] = (0, "")
    session_file: str = ""
    parent: int = 0

    @classmethod
    def of(cls, given: Namespace, options: Options) -> Self:
        """Return the settings of a command line. Raises ConfigurationError."""
        values = {name: each.check(_flag(name), getattr(given, name)) for name, each in _ARGUMENTS.items()}
        settings = cls(**values, options=options, tokens=_tokens(given.token_file), parent=os.getpid())
        _check(settings)
        return settings

    def hand_on(self) -> None:
        """Leave the settings to the worker processes that are started next."""
        values = asdict(self) | {"options": {"store": self.options.store, **self.options.index_values()}}
        os.environ[VARIABLE] = json.dumps(values)

    @classmethod
    def handed_on(cls) -> Self:
        """Return the settings that the parent process has left."""
        values: dict[str, Any] = json.loads(os.environ[VARIABLE])
        values["options"] = Options.from_values(values["options"])
        return cls(**values | {"tokens": tuple(values["tokens"]), "session": tuple(values["session"])})

    def present_session(self) -> tuple[int, str]:
        """Return the session that a worker joins. Raises StoreUnavailableError while there is none to share."""
        if any(self.session) or self.workers == 1:
            return self.session
        try:
            number, process = json.loads(Path(self.session_file).read_bytes())
            return number, process
        except OSError:
            raise StoreUnavailableError("the store has not answered since the service was started") from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _argument(declared: Option) -> dict[str, Any]:
    default = "" if declared.default is None else f" (default: {declared.default})"
    return {"type": declared.from_text, "default": declared.default, "help": f"{declared.help}{default}"} | {
        "metavar": {int: "N", float: "X"}.get(declared.kind, declared.name.upper())
    }


_ARGUMENTS: Final = {
    each.name: Option(each.name, each.default, **each.metadata) for each in fields(ServiceSettings) if each.metadata
}

SERVE: Final = Command(
    "answer over HTTP: check, find, forget and explain pages, for programs and for a browser",
    {_flag(name): _argument(declared) for name, declared in _ARGUMENTS.items()},
    (
        *INDEX_OPTIONS,
        "scope",
        "similarity",
        "recall",
        *PROFILE_OPTIONS,
        "ttl",
        "max_pages",
        "store_urls",
        "keep_texts",
        *PARAGRAPH_OPTIONS,
    ),
)


def serve(dedup: "Deduplicator", given: Namespace) -> None:
    """Serve an index until a signal ends it. Raises ConfigurationError, StoreError and the like."""
    try:
        import jinja2  # noqa: F401
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        packages = "starlette uvicorn uvloop prometheus-client jinja2"
        raise MissingDependencyError(f"{error}; `crawldedup serve` needs: pip install {packages}") from error
    from crawldedup.service.logs import log_to_stderr

    settings = ServiceSettings.of(given, dedup.options)
    log_to_stderr(settings.log_level)
    # Clients that only connect shut others out later.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="crawldedup-", ignore_cleanup_errors=True))
        settings = replace(settings, session_file=f"{folder}/session")
        try:
            dedup.open()
            settings = replace(settings, session=_session_of(dedup))
        except StoreUnavailableError as error:
            _log.warning("waits for the store", extra={"fields": {"error": str(error)}})
            if settings.workers > 1:
                threading.Thread(target=_join_later, args=(dedup, settings.session_file), daemon=True).start()
        settings.hand_on()
        fields = {"address": f"{settings.host}:{settings.port}", "index": repr(dedup), "pages": dedup.pages}
        _log.info("serves", extra={"fields": fields})
        config: dict[str, Any] = {
            "app": "crawldedup.service.app:make_app",
            "factory": True,
            "host": settings.host,
            "port": settings.port,
            # httptools gathers the head of a request without a bound.
            "http": "h11",
            "h11_max_incomplete_event_size": _MOST_HEAD,
            "ws": "none",
            "lifespan": "on",
            "log_config": None,
            "access_log": False,
            "server_header": False,
            "proxy_headers": settings.trust_proxy is not None,
            "forwarded_allow_ips": settings.trust_proxy,
            "timeout_keep_alive": max(1, int(settings.client_seconds)),
        }
        if settings.workers > 1:
            # It tells which workers die, and that others take their places.
            logging.getLogger("uvicorn.error").setLevel(settings.log_level.upper())
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            uvicorn.run(**config, workers=settings.workers)
        else:
            server = uvicorn.Server(uvicorn.Config(**config))
            for number in (signal.SIGTERM, signal.SIGINT):
                # Until the server listens to signals itself. Raised once more when all is done, one changes nothing.
                signal.signal(number, lambda *_: setattr(server, "should_exit", True))
            server.run()
    _log.info("has stopped")


def _join_later(dedup: "Deduplicator", file: str) -> None:
    """Join the crawl once the store is up, and leave the session to the workers. End the service if that is no use."""
    while dedup.session is None:
        try:
            dedup.open()
        except StoreUnavailableError:
            time.sleep(_STORE_SECONDS)
        except CrawlDedupError as error:
            _log.error("the store is of no use", extra={"fields": {"error": str(error)}})
            os.kill(os.getpid(), signal.SIGTERM)
            return
    unfinished = Path(f"{file}.part")
    unfinished.write_text(json.dumps(_session_of(dedup)))
    unfinished.replace(file)


def _session_of(dedup: "Deduplicator") -> tuple[int, str]:
    return (dedup.session.number, dedup.session.process) if dedup.session else (0, "")


def _tokens(file: str | None) -> tuple[str, ...]:
    text = os.environ.get(TOKEN_VARIABLE, "") if file is None else Path(file).read_text("utf-8")
    tokens = tuple(text.split())
    if file is not None and not tokens:
        raise ConfigurationError(f"{file} holds no token")
    if any(len(token) < _SHORTEST_TOKEN or not token.isascii() for token in tokens):
        raise ConfigurationError(f"a token must have {_SHORTEST_TOKEN} or more ASCII characters")
    return tokens


def _check(settings: ServiceSettings) -> None:
    """Raise ConfigurationError for settings that do not go together, or an address that cannot be listened on."""
    host, port = settings.host, settings.port
    try:
        is_local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not settings.tokens and not is_local:
        raise ConfigurationError(
            f"--host is {host!r}, and everyone who reaches it could change the index: set {TOKEN_VARIABLE}, or give "
            f"--token-file"
        )
    if settings.workers > 1 and not is_persistent(settings.options.store):
        raise ConfigurationError("--workers is above 1, and memory:// cannot be shared: name a store by --store")
    try:
        # uvicorn would say so after all else.
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server(address[:2], family=family):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
