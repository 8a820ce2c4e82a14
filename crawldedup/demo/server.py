"""Serve a site on this machine; `python -m crawldedup.demo.server` serves the demo site alone."""

from __future__ import annotations

import argparse
import contextlib
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers. `headers` come beside Content-Type and Content-Length."""

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] | None = None


NOT_FOUND: Final = Reply(b"<html><body><h1>Not found</h1></body></html>", status=404)


class Site(Protocol):
    """A site that can be served and crawled; `start_paths` are where a crawl must start to see all of it."""

    name: str
    start_paths: list[str]

    def reply(self, target: str) -> Reply:
        """Answer a request target: a path, perhaps with a query. Must not raise for any target."""


def path_of(target: str) -> str:
    """Return a request target without its query. Never raises; `urlsplit` does, for some of what clients send."""
    return target.partition("#")[0].partition("?")[0]


def target_of(url: str) -> str:
    """Return what a client sends to the server of this URL: the path and the query."""
    return "/" + url.partition("#")[0].partition("://")[2].partition("/")[2] if "://" in url else url


@contextlib.contextmanager
def serving(site: Site, port: int = 0) -> Iterator[str]:
    """Serve the site from threads of this process; yields its base URL. Port 0 takes any free port."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(site))
    server.daemon_threads = True
    # A short poll interval lets the server stop in no noticeable time.
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="crawldedup-demo", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
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
            reply = site.reply(self.path)
            with contextlib.suppress(ConnectionError):
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(reply.body)))
                for name, value in (reply.headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(reply.body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the crawl reports on its pages itself."""

    return Handler


def main() -> None:
    """Serve the demo site until Ctrl-C."""
    from crawldedup.demo.site import DemoSite

    parser = argparse.ArgumentParser(prog="python -m crawldedup.demo.server", description="Serve the demo site.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free port (default: 8000)")
    with contextlib.suppress(KeyboardInterrupt), serving(DemoSite(), parser.parse_args().port) as base_url:
        print(f"The demo site is at {base_url}/ (Ctrl-C ends). What is a copy of what: {base_url}/manifest.json")
        threading.Event().wait()


if __name__ == "__main__":
    main()
