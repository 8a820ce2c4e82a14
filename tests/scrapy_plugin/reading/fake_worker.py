"""The program of a worker that does what a page says, as one does that the page has taken over."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from typing import Any

from crawldedup.scrapy_plugin.reading.progress import PROGRESS, Progress
from crawldedup.verdict import Kind, Verdict
from crawldedup.workers.framing import ANSWER, answer
from crawldedup.workers.inbox import Inbox


def main(descriptor: int) -> None:
    worker = FakeWorker(descriptor)
    try:
        worker.serve()
    except EOFError:
        os._exit(0)


class FakeWorker:
    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=os.dup(0))
        self.inbox = Inbox(self.socket)
        self.progress = Progress(descriptor, 100)

    def tell(self, value: object) -> None:
        self.socket.sendall(answer(value))

    def serve(self) -> None:
        request = self.inbox.take(None)
        assert request is not None
        setup = json.loads(request.body)
        match setup["start"]:
            case "die":
                os._exit(3)
            case "hang":
                time.sleep(1000)
            case "early":
                self.tell(verdict("early"))
            case "unusable":
                self.tell({"ready": {"error": "ConfigurationError", "message": "No such extractor."}})
        self.tell({"ready": None})
        while True:
            request = self.inbox.take(None)
            assert request is not None
            self.progress.begin()
            self.obey(request.body.decode())

    def obey(self, page: str) -> None:  # noqa: C901
        match page.split(" ")[0]:
            case "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                os._exit(3)
            case "forever":
                time.sleep(1000)
            case "store":
                self.progress.ask_store()
                time.sleep(1000)
            case "twice":
                self.tell(verdict(page))
            case "json":
                self.socket.sendall(ANSWER.pack(4) + b"nope")
                time.sleep(1000)
            case "shape":
                self.tell({**verdict(page), "verdict": {"kind": "new", "url": 5}})
                time.sleep(1000)
            case "huge":
                self.socket.sendall(b"\xff" * 100)
                time.sleep(1000)
            case "ready":
                self.tell({"ready": None})
                time.sleep(1000)
            case "mute":
                self.socket.shutdown(socket.SHUT_RDWR)
                time.sleep(1000)
            case "lie":
                PROGRESS.pack_into(self.progress._shared, 0, 2**64 - 1, True)
                os._exit(0)
            case "deny":
                # As if it had begun nothing.
                PROGRESS.pack_into(self.progress._shared, 0, 0, False)
                os._exit(0)
            case "error":
                self.tell({"error": "PageError", "reason": "too_deep", "message": "The page is nested too deeply."})
                return
            case "session":
                self.tell({"session": [7, "host:1:"]})
        self.tell(verdict(f"{os.getpid()}" if page == "pid" else page))


def verdict(text: str) -> dict[str, Any]:
    answer = {"verdict": Verdict(Kind.NEW, text).as_dict(), "seconds": [0, 0]}
    return {**answer, "digest": 0, "pages": 0, "kept_apart": False, "unselected": False, "face": 0}
