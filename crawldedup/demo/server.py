"""A local web server for anything that can answer a path; as a program it serves the demo site alone."""

from __future__ import annotations

import argparse
import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from crawldedup.demo.site import DemoSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.demo.reply import Site

LOCALHOST = "127.0.0.1"


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
