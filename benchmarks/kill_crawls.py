"""Kill Scrapy crawls, their workers and their Redis at random, and count the contents that nobody delivered.

    python benchmarks/kill_crawls.py
    python benchmarks/kill_crawls.py --what crawls --kills 20 --json

A site on this machine shows each content at three URLs, one of them with a word changed. A spider follows all links and
writes an item for each page that it gets, at once. The action is "drop-items".

- crawls: the crawl is killed (SIGKILL) and begun again on the same index, until it ends; stores in turn;
- workers: the processes that read pages are killed during a crawl;
- redis: the server, which syncs every write, is killed during a crawl, and started again.

Lost are contents of which no page was delivered.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run
from tests.servers import RedisServer

WHAT: Final = ("crawls", "workers", "redis")
URLS_OF_A_CONTENT: Final = 3

SPIDER: Final = """
import os, sys, scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [sys.argv[1]]
    custom_settings = {
        "ADDONS": {"crawldedup.Addon": 500}, "CRAWLDEDUP_STORE": sys.argv[2], "CRAWLDEDUP_JOURNAL": False,
        "CRAWLDEDUP_NAMESPACE": sys.argv[4], "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "DOWNLOAD_DELAY": 0,
        "ITEM_PIPELINES": {f"{__name__}.Written": 300},
    }
    def parse(self, response):
        if "/p/" in response.url:
            yield {"content": response.url.split("/")[4]}
        yield from response.follow_all(css="a")

class Written:
    def process_item(self, item):
        with open(sys.argv[3], "a") as file:
            file.write(item["content"] + "\\n")
        return item

process = CrawlerProcess()
process.crawl(Pages)
process.start()
"""


@dataclass(frozen=True)
class Row:
    """What became of the contents of crawls."""

    what: str
    store: str
    contents: int
    kills: int
    lost: int
    delivered: int
    seconds: float


class Site:
    """Pages of `contents` contents, on a port of this machine."""

    def __init__(self, contents: int, delay: float) -> None:
        dice = random.Random(contents)
        words = [f"word{number}" for number in range(2000)]
        self._texts = [dice.choices(words, k=120) for _ in range(contents)]
        places = [(content, view) for content in range(contents) for view in range(URLS_OF_A_CONTENT)]
        dice.shuffle(places)
        self._links = [f"/p/{content}/{view}" for content, view in places]
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                time.sleep(delay)
                body = site.body(self.path).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                """Say nothing of killed clients."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def body(self, path: str) -> str:
        if not path.startswith("/p/"):
            return "".join(f'<a href="{link}">page</a> ' for link in self._links)
        content, view = map(int, path.split("/")[2:4])
        words = list(self._texts[content])
        if view == URLS_OF_A_CONTENT - 1:
            words[60] = "changed"
        return f"<html><body><main><h1>{content}</h1><p>{' '.join(words)}.</p></main></body></html>"

    def close(self) -> None:
        self._server.shutdown()


def children_of(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


@contextlib.contextmanager
def store_of(kind: str, folder: Path) -> Iterator[tuple[str, RedisServer | None]]:
    if kind == "redis":
        with RedisServer("--appendonly", "yes", "--appendfsync", "always", "--dir", str(folder)) as server:
            yield server.url, server
    else:
        yield f"sqlite:///{folder}/index.sqlite", None


def crawl_to_the_end(what: str, kind: str, contents: int, kills: int, dice: random.Random, number: int) -> Row:
    """Crawl a site once, however often it is killed on the way, `kills` times at most."""
    delay = 0.005 if what == "crawls" else 0.05
    began, done, site = time.monotonic(), 0, Site(contents, delay)
    with tempfile.TemporaryDirectory() as name, store_of(kind, Path(name)) as (url, server):
        items, program = Path(name, "items"), Path(name, "spider.py")
        program.write_text(SPIDER)
        command = [sys.executable, str(program), site.url, url, str(items), f"n{number}"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(["", *sys.path])}
        while True:
            crawl = subprocess.Popen(command, env=environment, cwd=name, stderr=subprocess.DEVNULL)
            time.sleep(dice.uniform(1.0, 3.0) if what == "crawls" else 1.5)
            if what == "crawls" and done < kills and crawl.poll() is None:
                crawl.send_signal(signal.SIGKILL)
                crawl.wait()
                done += 1
                continue
            while done < kills and crawl.poll() is None:
                done += kill_a_part(what, crawl.pid, server, dice)
                time.sleep(dice.uniform(0.05, 0.5))
            crawl.wait()
            break
        written = items.read_text().split() if items.exists() else []
    site.close()
    lost = contents - len(set(written))
    return Row(what, kind, contents, done, lost, len(written), round(time.monotonic() - began, 1))


def kill_a_part(what: str, crawl: int, server: RedisServer | None, dice: random.Random) -> int:
    if server is not None and what == "redis":
        server.stop()
        time.sleep(dice.uniform(0.0, 0.3))
        server.start()
        return 1
    workers = children_of(crawl)
    if not workers:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(dice.choice(workers), signal.SIGKILL)
    return 1


def measure(what: str, kills: int, contents: int) -> list[Row]:
    dice, rows, done = random.Random(1), list[Row](), 0
    kinds = ("sqlite", "redis") if what == "crawls" else ("redis",) if what == "redis" else ("sqlite",)
    with progress(what, kills) as advance:
        while done < kills:
            most = min(kills - done, 10 if what == "crawls" else 25)
            row = crawl_to_the_end(what, kinds[len(rows) % len(kinds)], contents, most, dice, len(rows))
            rows.append(row)
            done += row.kills
            advance(row.kills)
    return rows


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--what", type=one_of(*WHAT), default=list(WHAT), help="what is killed, with commas")
    parser.add_argument("--kills", type=count, default=100, help="kills of each; twice as many crawls (default: 100)")
    parser.add_argument("--contents", type=count, default=400, help="contents of a site (default: 400)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments: argparse.Namespace = parser.parse_args(given)
    rows = [
        row
        for what in arguments.what
        for row in measure(what, arguments.kills * (2 if what == "crawls" else 1), arguments.contents)
    ]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        table = make_table("Crawls with kills", "what", "store", "contents", "kills", "lost", "delivered", "seconds")
        for row in rows:
            table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in asdict(row).values()))
        Console(width=max(120, Console().width)).print(table)
    return int(any(row.lost for row in rows))


if __name__ == "__main__":
    run(main, "--kills 2 --contents 30")
