"""`crawldedup serve`."""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup import checks
from crawldedup.commands.command import INDEX_OPTIONS, PARAGRAPH_OPTIONS, PROFILE_OPTIONS, Command
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.stores.registry import is_persistent

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.deduplicator import Deduplicator

TOKEN_VARIABLE: Final = "CRAWLDEDUP_TOKEN"
_SHORTEST_TOKEN: Final = 16

_ARGUMENTS: Final[dict[str, dict[str, Any]]] = {
    "--host": {"default": "127.0.0.1", "help": "the address to listen on (default: 127.0.0.1)"},
    "--port": {"type": int, "default": 8300, "metavar": "N", "help": "the port to listen on (default: 8300)"},
    "--workers": {"type": int, "default": 1, "metavar": "N", "help": "processes that answer (default: 1)"},
    "--readers": {
        "type": int,
        "default": 1,
        "metavar": "N",
        "help": "processes of each of these that read HTML, started when it comes (default: 1)",
    },
    "--token-file": {
        "type": Path,
        "metavar": "FILE",
        "help": "a file of tokens, one a line, of which clients must send one as `Authorization: Bearer TOKEN` "
        f"(default: the environment's {TOKEN_VARIABLE}; without one, only this machine is listened to)",
    },
    "--max-body": {
        "type": int,
        "default": 8 << 20,
        "metavar": "BYTES",
        "help": "the largest body, or line of a stream, that is taken (default: 8388608)",
    },
    "--rate": {
        "type": float,
        "default": 0,
        "metavar": "X",
        "help": "the pages a second that one client may check, in each worker (default: 0, any number)",
    },
    "--client-seconds": {
        "type": float,
        "default": 30,
        "metavar": "X",
        "help": "a client that takes longer to send a request, or to take an answer, is given up (default: 30)",
    },
    "--trust-proxy": {
        "metavar": "ADDRESS",
        "help": "take the addresses of clients from the X-Forwarded-For of the proxy at this address",
    },
    "--fetch-host": {
        "action": "append",
        "default": [],
        "metavar": "HOST",
        "help": "let the page at / fetch URLs of this host; *.HOST stands for those below it, HOST:PORT for a port. "
        "Can be given again (default: no URL is fetched)",
    },
    "--reports": {
        "metavar": "SOURCE",
        "help": "show the report of the last crawl of this journal or folder of journals at /report",
    },
    "--log-level": {
        "choices": ("debug", "info", "warning"),
        "default": "info",
        "help": "what is logged: info has a line for each request (default: info)",
    },
}

SERVE: Final = Command(
    "answer over HTTP: check, find, forget and explain pages, for programs and for a browser",
    _ARGUMENTS,
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


def serve(dedup: Deduplicator, given: Namespace) -> None:
    """Serve an index until a signal ends it. Raises ConfigurationError, StoreError and the like."""
    try:
        import uvicorn

        from crawldedup.service.console.fetching import check_hosts
        from crawldedup.service.logs import log_to_stderr
        from crawldedup.service.protocol import PatientProtocol
        from crawldedup.service.settings import ServiceSettings
    except ImportError as error:
        raise MissingDependencyError(f"{error}; `crawldedup serve` needs: pip install 'crawldedup[server]'") from error
    settings = ServiceSettings(
        options=dedup.options,
        tokens=_tokens(given.token_file),
        host=given.host,
        port=checks.whole(1, 65535)("--port", given.port),
        workers=checks.whole(1)("--workers", given.workers),
        parent=os.getpid(),
        readers=checks.whole(1)("--readers", given.readers),
        max_body=checks.whole(1024)("--max-body", given.max_body),
        rate=checks.number("from 0", lambda value: value >= 0)("--rate", given.rate),
        client_seconds=checks.number("from 0.1", lambda value: value >= 0.1)("--client-seconds", given.client_seconds),
        log_level=given.log_level,
        trust_proxy=given.trust_proxy,
        fetch_hosts=tuple(given.fetch_host),
        reports=given.reports,
    )
    check_hosts(settings.fetch_hosts)
    _check(settings.tokens, settings.host)
    if settings.workers > 1 and not is_persistent(dedup.options.store):
        raise ConfigurationError("--workers is above 1, and memory:// cannot be shared: name a store by --store")
    _check_port(settings.host, settings.port)
    dedup.open()
    if dedup.session is not None:
        settings = replace(settings, session=dedup.session)
    log_to_stderr(settings.log_level)
    with ExitStack() as stack:
        if settings.workers > 1:
            # It tells which workers die, and that others take their places.
            logging.getLogger("uvicorn.error").setLevel(settings.log_level.upper())
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="crawldedup-", ignore_cleanup_errors=True)
            )
        settings.hand_on()
        for number in (signal.SIGTERM, signal.SIGINT):
            # uvicorn raises the signal again when all is done, and the index is still to be closed.
            signal.signal(number, lambda *_: None)
        fields = {"address": f"{settings.host}:{settings.port}", "index": repr(dedup), "pages": dedup.pages}
        logging.getLogger(__name__).info("serves", extra={"fields": fields})
        uvicorn.run(
            "crawldedup.service.app:make_app",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=settings.trust_proxy is not None,
            forwarded_allow_ips=settings.trust_proxy,
            timeout_keep_alive=max(1, int(settings.client_seconds)),
        )
    logging.getLogger(__name__).info("has stopped")


def _check_port(host: str, port: int) -> None:
    """Raise ConfigurationError for an address that cannot be listened on: uvicorn would say so after all else."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.create_server(address[:2], family=family):
            pass
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def _tokens(file: Path | None) -> tuple[str, ...]:
    text = os.environ.get(TOKEN_VARIABLE, "") if file is None else file.read_text("utf-8")
    tokens = tuple(text.split())
    if file is not None and not tokens:
        raise ConfigurationError(f"{file} holds no token")
    if any(len(token) < _SHORTEST_TOKEN or not token.isascii() for token in tokens):
        raise ConfigurationError(f"a token must have {_SHORTEST_TOKEN} or more ASCII characters")
    return tokens


def _check(tokens: tuple[str, ...], host: str) -> None:
    try:
        is_local = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not tokens and not is_local:
        raise ConfigurationError(
            f"--host is {host!r}, and everyone who reaches it could change the index: set {TOKEN_VARIABLE}, or give "
            f"--token-file"
        )
