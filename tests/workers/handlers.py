"""Handlers that misbehave as their messages say."""

import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crawldedup.errors import ConfigurationError, PageError

_kept: list[bytes] = []


def obedient(setup: dict[str, Any]) -> Callable[[Any], object]:
    """Return a handler that follows the message, and answers with its process and the message."""
    if "refuse" in setup:
        raise ConfigurationError(setup["refuse"])
    if "die" in setup:
        # As often as there are files to take away.
        for file in Path(setup["die"]).iterdir():
            file.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def handle(message: Any) -> object:
        do, *rest = message if isinstance(message, list) else [message]
        _ACTIONS.get(do, lambda *_: None)(*rest)
        return [os.getpid(), message]

    return handle


def _forever() -> None:
    while True:
        time.sleep(0.05)


def _raise() -> None:
    raise ZeroDivisionError("bad \x1b[31m page")


def _refuse() -> None:
    raise PageError("binary", "it is no text \ud800")


def _leave() -> None:
    raise SystemExit(3)


def _send(data: bytes) -> None:
    """Send what nobody asked for, as a page could that has taken the process over."""
    for descriptor in range(3, 30):
        try:
            with socket.socket(fileno=os.dup(descriptor)) as connected:
                connected.sendall(data)
        except OSError:
            continue


_ACTIONS: dict[str, Callable[..., object]] = {
    "crash": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit": lambda: os._exit(3),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "interrupt": lambda: [
        os.kill(os.getpid(), number) for number in (signal.SIGINT, signal.SIGTERM)
    ],
    "once": lambda name: Path(name).exists() and (Path(name).unlink(), os._exit(3)),
    "forever": _forever,
    "sleep": time.sleep,
    "raise": _raise,
    "refuse": _refuse,
    "leave": _leave,
    "hungry": lambda: bytearray(3 << 30),
    "keep": lambda: _kept.append(b"x" * (400 << 20)),
    "print": lambda: os.write(1, b"noise"),
    "nonsense": lambda: _send(b"GET / HTTP/1.1\r\n\r\n"),
    "huge": lambda: _send(struct.pack("!I", 1 << 31)),
    "environment": lambda name: Path(name).write_text(repr(dict(os.environ))),
}
