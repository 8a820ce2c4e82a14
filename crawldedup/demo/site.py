"""The demo site: 300 pages with the near duplicates of the real web, and a list of all copies.

``site.jsonl`` has one page per line. `python -m crawldedup.demo.site` just serves the site.
"""

import argparse
import calendar
import contextlib
import datetime
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import Any, Final

HTML: Final = "text/html; charset=utf-8"

# Like other calendars, this one has practically no last page.
_MONTH: Final = re.compile(r"/calendar/([12]\d{3})-(0[1-9]|1[0-2])/")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers.

    `headers` are sent in addition to Content-Type and Content-Length.
    """

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] | None = None


def path_of(target: str) -> str:
    """Return the path that a client requests, without the query.

    Unlike `urlsplit`, this never raises an error, no matter what clients send.
    """
    return target.partition("#")[0].partition("?")[0]


def target_of(url: str) -> str:
    """Return what a client requests in order to get a URL: its path and query."""
    return (
        "/" + url.partition("#")[0].partition("://")[2].partition("/")[2] if "://" in url else url
    )


class LocalServer(ThreadingHTTPServer):
    """A web server that stays silent if a client disconnects."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(reply_to: Callable[[str], Reply], port: int = 0) -> Iterator[str]:
    """Serve a site from threads of this process, and yield its base URL.

    Port 0 takes any free port.

    `reply_to` answers a request target, which is a path with an optional query. It must not raise
    an error for any target.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are sent in one packet. With two, each response might wait 40 ms for
        # an acknowledgment.
        wbufsize = -1

        def do_GET(self) -> None:
            reply = reply_to(self.path)
            self.send_response(reply.status)
            about = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body))}
            for name, value in (about | dict(reply.headers or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the crawl reports on its pages itself."""

    with LocalServer(("127.0.0.1", port), Handler) as server:
        # With a short poll interval, the server stops without a noticeable delay.
        threading.Thread(
            target=server.serve_forever, args=(0.05,), name="crawldedup-demo", daemon=True
        ).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page: the server's response for a path, its entry in the manifest, and its text.

    The text has one paragraph per line. Pages of one `cluster` have the same content. `cluster` is
    empty for redirects, errors and files. If `judged` is False, a page has so few words, or such a
    broken encoding, that both keeping and dropping it is right.
    """

    path: str
    reply: Reply
    kind: str
    cluster: str = ""
    judged: bool = True
    language: str = ""
    title: str = ""
    text: str = ""


class DemoSite:
    """Answers requests for the demo site, which is the same on every run.

    `pages` maps paths with queries to pages.
    """

    def __init__(self) -> None:
        self.pages = all_pages()

    def reply(self, target: str) -> Reply:
        """Answer a request for a path and query, as `serving` expects."""
        if target == "/manifest.json":
            shown = ("path", "kind", "cluster", "judged")
            entries = [
                {name: getattr(page, name) for name in shown} for page in self.manifest().values()
            ]
            return Reply(json.dumps(entries, indent=1).encode(), "application/json")
        page = self._page_at(target)
        return (
            page.reply
            if page
            else Reply(b"<html><body><h1>Not found</h1></body></html>", status=404)
        )

    def manifest(self) -> dict[str, SitePage]:
        """Return the pages that have copies or could have some, without the endless calendar."""
        return {path: page for path, page in self.pages.items() if page.cluster}

    def entry(self, url: str) -> SitePage | None:
        """Return the page at a URL on any host, or None if the manifest doesn't have it."""
        page = self._page_at(target_of(url))
        return page if page is not None and page.cluster else None

    def _page_at(self, target: str) -> SitePage | None:
        path = path_of(target)
        return self.pages.get(target) or self.pages.get(path) or month_page(path)


@cache
def all_pages() -> dict[str, SitePage]:
    """Return every page of the site by path and query, without the endless calendar.

    The articles come first.
    """
    pages = dict[str, SitePage]()
    texts = dict[str, str]()
    for line in Path(__file__).with_name("site.jsonl").read_text("utf-8").strip().split("\n"):
        row: dict[str, Any] = json.loads(line)
        body = row.pop("body").encode(row.pop("encoding", "utf-8"))
        reply = Reply(body, row.pop("type", HTML), row.pop("status", 200), row.pop("headers", None))
        # The file contains the text of identical copies only once.
        row["text"] = row.get("text") or texts.get(row.get("cluster", ""), "")
        page = pages[row["path"]] = SitePage(reply=reply, **row)
        texts.setdefault(page.cluster, page.text)
    return pages


def all_articles() -> list[SitePage]:
    """Return all articles and the page about the site, sorted by language."""
    pages = all_pages()
    return [page for page in pages.values() if page.kind == "article" or page is pages["/about/"]]


def month_page(path: str) -> SitePage | None:
    """Return a month of the endless calendar, or None if the path is not one.

    Months look similar, and link to their neighbors.
    """
    match = _MONTH.fullmatch(path)
    if match is None:
        return None
    month = datetime.date(int(match[1]), int(match[2]), 1)
    first_weekday, days = calendar.monthrange(month.year, month.month)
    html = Template(Path(__file__).with_name("calendar.html").read_text("utf-8")).substitute(
        month=f"{month:%B} {month.year}",
        title_length=len(f"Events in {month:%B} {month.year}"),
        grid="".join(
            f"<td>{day}</td>" + "</tr><tr>" * (day % 7 == 0) for day in range(1, days + 1)
        ),
        saturday=1 + (calendar.SATURDAY - first_weekday) % 7,
        before=(month - datetime.timedelta(days=1)).isoformat()[:7],
        after=(month + datetime.timedelta(days=days)).isoformat()[:7],
    )
    return SitePage(path, Reply(html.encode()), "calendar", path, judged=False)


def main() -> None:
    """Serve the demo site until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m crawldedup.demo.site", description="Serve the demo site."
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="0 takes any free port (default: 8000)"
    )
    with (
        contextlib.suppress(KeyboardInterrupt),
        serving(DemoSite().reply, parser.parse_args().port) as base_url,
    ):
        print(
            f"The demo site is at {base_url}/ (Ctrl-C stops it). Its list of copies: "
            f"{base_url}/manifest.json"
        )
        threading.Event().wait()


if __name__ == "__main__":
    main()
