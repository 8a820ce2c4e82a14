"""A site on this machine that redirects, lies about its length, and takes its time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        name, _, target = self.path[1:].partition("?")
        body, status, headers = b"<p>a page</p>", 200, {"Content-Type": "text/html; charset=latin-1"}
        match name:
            case "to":
                status, headers = 302, {"Location": target}
            case "loop":
                status, headers = 302, {"Location": "/loop"}
            case "text":
                headers = {"Content-Type": "text/plain; charset=no-such"}
            case "large":
                body = b"x" * 30_000
            case "gone":
                status = 404
            case "packed":
                headers = {"Content-Encoding": "gzip"}
            case "short":
                headers["Content-Length"] = "99"
            case "slow":
                headers["Content-Length"] = "99"
        self.send_response(status)
        for header, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)
        if name == "slow":
            self.rfile.read()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()
