"""A local web server for anything that can answer a path; as a program it serves the demo site alone."""

from __future__ import annotations

import argparse
import contextlib
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCALHOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers. `headers` come beside Content-Type and Content-Length."""

    body: bytes
    content_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] | None = None


NOT_FOUND = Reply(b"<html><body><h1>Not found</h1></body></html>", status=404)


def path_of(target: str) -> str:
    """A request target without its query. Never raises, as `urlsplit` does for some of what clients send."""
    return target.partition("#")[0].partition("?")[0]


def target_of(url: str) -> str:
    """What a client sends to the server of this URL: the path and the query."""
    return "/" + url.partition("#")[0].partition("://")[2].partition("/")[2] if "://" in url else url


class Site(Protocol):
    """A site that can be served and crawled."""

    @property
    def name(self) -> str:
        """What to call it in a report."""

    @property
    def start_paths(self) -> list[str]:
        """Where a crawl has to start to see all of it."""

    def reply(self, target: str) -> Reply:
        """Answer a request target: a path, with the query if there is one. Must not raise for any target."""


@contextlib.contextmanager
def serving(site: Site, port: int = 0, host: str = LOCALHOST) -> Iterator[str]:
    """Serve the site from threads of this process; gives its base URL. Port 0 takes any free port."""
    server = ThreadingHTTPServer((host, port), _handler_for(site))
    server.daemon_threads = True
    # A short poll interval, so that leaving takes no noticeable time.
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="crawldedup-demo", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler_for(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body leave in one packet; in two, each answer may wait 40 ms for an acknowledgement.
        wbufsize = -1

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the crawl reports on its pages itself."""

        def _answer(self, *, with_body: bool) -> None:
            reply = site.reply(self.path)
            with contextlib.suppress(ConnectionError):
                self.send_response(reply.status)
                if reply.content_type is not None:
                    self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                for name, value in (reply.headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                if with_body:
                    self.wfile.write(reply.body)

    return Handler


def main(arguments: list[str] | None = None) -> None:
    """Serve the demo site until Ctrl-C."""
    from crawldedup.demo.site import DemoSite

    parser = argparse.ArgumentParser(
        prog="python -m crawldedup.demo.server", description="Serve the demo site, for a crawler to visit."
    )
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free port (default: 8000)")
    options = parser.parse_args(arguments)
    with contextlib.suppress(KeyboardInterrupt), serving(DemoSite(), options.port) as base_url:
        print(f"The demo site is at {base_url}/ (Ctrl-C ends). What is a copy of what: {base_url}/manifest.json")
        threading.Event().wait()


if __name__ == "__main__":
    main()
