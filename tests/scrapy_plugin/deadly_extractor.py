"""Extractors that misbehave, for worker processes."""

import os
import re
import signal
import time
from pathlib import Path

_TAG = re.compile("<[^>]*>")
_kept: list[bytes] = []


def obedient(html: str) -> str:
    """Does what the first word of a page says."""
    text = _TAG.sub(" ", html).strip()
    match text.split(" ")[0]:
        case "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            raise SystemExit(3)
        case "raise":
            raise ZeroDivisionError("bad \x1b[31m page")
        case "forever":
            while True:
                time.sleep(0.05)
    return text


def waiting(html: str) -> str:
    """Says that it works, and waits until it may go on."""
    if "Article" in html:
        Path("reading").write_text(str(os.getpid()))
        while not Path("go on").exists():
            time.sleep(0.02)
    return _TAG.sub(" ", html)


def greedy(html: str) -> str:
    """Takes much memory, or keeps it, where the first word of a page says so."""
    text = _TAG.sub(" ", html).strip()
    if text.startswith("hungry"):
        text += str(len(bytearray(3 << 30)))
    if text.startswith("keep"):
        _kept.append(b"x" * (400 << 20))
    return text
