"""Stand-ins for the parts around the plugin. Worker processes import this module too: no Scrapy here."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

from crawldedup.scrapy_plugin.reading.base import Page

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.verdict import Kind, Verdict


class Clock:
    """Shows what it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def page(text: str, **how: Any) -> Page:
    """What is read, as UTF-8."""
    return Page(text.encode(), "utf-8", **how)


class FakeReader:
    """Does what the page says."""

    def read(self, body: bytes | str, encoding: str | None = None) -> str:
        text = body.decode(encoding or "utf-8") if isinstance(body, bytes) else body
        return self.read_text(text)

    def read_text(self, text: str) -> str:
        match text.split(":")[0]:
            case "page error":
                raise PageError("too_deep", "The page is nested too deeply.")
            case "configuration error":
                raise ConfigurationError("No such extractor.")
            case "unexpected":
                raise ZeroDivisionError("bad \x1b[31m page")
            case "panic":
                raise SystemExit(3)
            case "stdin":
                return sys.stdin.read() + "nothing"
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "forever":
                while True:
                    time.sleep(0.05)
            case "print":
                print("noise that must not break the protocol")
                os.write(1, b"more noise")
            case "pid":
                return str(os.getpid())
            case "modules":
                return " ".join(name for name in ("scrapy", "twisted") if name in sys.modules)
        return text


class BrokenReader:
    """Its process dies while it starts."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (3,)


class SlowToStart(FakeReader):
    """Takes its time to get ready."""

    def __reduce__(self) -> tuple[object, ...]:
        return _slowly_made, ()


def _slowly_made() -> FakeReader:
    time.sleep(0.3)
    return FakeReader()


class GatedReader(FakeReader):
    """Waits until it is let go, for pages that begin with "wait"."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.gate = threading.Event()

    def read_text(self, text: str) -> str:
        if text.startswith("wait"):
            self.entered.set()
            self.gate.wait(30)
        return super().read_text(text)


class FakeDeduplicator:
    """Calls texts near duplicates that differ in case only; raises the errors it is told to raise."""

    answers_at_once = False

    def __init__(self) -> None:
        self.reader = FakeReader()
        self.errors: list[Exception | None] = []
        self.calls: list[str] = []
        self.judged: list[dict[str, object]] = []
        self.threads: set[int] = set()
        self._seen: dict[str, list[str]] = {}

    def open(self) -> None:
        self._call("open")

    def heartbeat(self) -> None:
        self._call("heartbeat")

    def close(self) -> None:
        self.calls.append("close")

    def check_fingerprint(self, url: str, fingerprint: str, **rules: object) -> Verdict:
        self._call("check_fingerprint")
        self.judged.append({"url": url, **rules})
        urls = self._seen.setdefault(fingerprint.lower(), [])
        if url in urls:
            return Verdict(Kind.REVISIT, url, changed=fingerprint.startswith("changed"))
        if rules.get("remember", True):
            urls.append(url)
        else:
            urls = [*urls, url]
        if len(urls) == 1:
            return Verdict(Kind.NEW, url)
        return Verdict(Kind.NEAR_DUPLICATE, url, urls[0], 0.97, 2, copies=len(urls) - 1)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        self.threads.add(threading.get_ident())
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
