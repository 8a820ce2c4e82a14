"""The service: in this process, or as `crawldedup serve` in one of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import uvicorn

from crawldedup.service.app import Edge
from crawldedup.service.command import ServiceSettings
from crawldedup.service.connections import Connection
from tests.servers import free_port, wait_until

ROOT = Path(__file__).parents[2]
TIDES = (
    "Low tide uncovers the sand bank twice a day, and the seals come to rest on it until the water "
    "is back. Whoever "
    "walks out to see them should know the hour of the flood by heart, because it comes from "
    "behind: the channels "
    "fill first, and the way to the shore is cut off long before the bank itself is wet. Three "
    "ships a year are lost "
    "there in the fog, and their crews tell of barking in the night that sounded like a harbour "
    "full of dogs."
)


def story(number: int, words: int = 80) -> str:
    """A text unlike those of other numbers."""
    return " ".join(f"word{number}x{place * place % 97}" for place in range(words))


class Service:
    """A service, and how to ask it."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.url, timeout=60)

    def post(self, path: str, value: Any, **options: Any) -> httpx.Response:
        return self.http.post(path, json=value, **options)

    def check(self, url: str, **page: Any) -> dict[str, Any]:
        answer = self.post("/v1/check", {"url": url, **page})
        assert answer.status_code == 200, answer.text
        verdict: dict[str, Any] = answer.json()
        return verdict


@contextlib.contextmanager
def service_here(**settings: Any) -> Iterator[Service]:
    """A service in a thread of this process, in memory unless the settings name a store."""
    service = Service()
    app = Edge(ServiceSettings(**settings))
    config = uvicorn.Config(
        app, port=service.port, log_config=None, lifespan="on", http=Connection, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        with service.http:
            yield service
    finally:
        # It would wait for a last request.
        service.http.close()
        server.should_exit = True
        thread.join()


class ServiceProcess(Service):
    """`crawldedup serve` on a free port. `stop` ends it as an operator does."""

    def __init__(self, *arguments: str, wait: bool = True, **environment: str) -> None:
        super().__init__()
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-m", "crawldedup.cli", "serve", "--port", str(self.port), *arguments],
            stderr=self._log,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        try:
            if wait:
                wait_until(self.answers)
        except BaseException:
            self.process.kill()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        # The service would wait for a last request.
        self.http.close()
        self.stop()
        self._log.close()

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(httpx.TransportError):
            return self.http.get("/health/live").status_code == 200
        return False

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read()
