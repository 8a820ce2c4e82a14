"""Real crawls of a real server: in processes of their own, or one after the other in one."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import scrapy

from tests.docs.pages import undocumented_stats
from tests.scrapy_plugin.crawl_server import serve
from tests.scrapy_plugin.prepared import CONTEXT, PATIENCE_SECONDS, run_prepared
from tests.scrapy_plugin.website import Site

PROGRAM: Final = str(Path(__file__).parent / "crawl_program.py")
QUICK: Final = {"CRAWLDEDUP_EXTRACTOR": "text"}

# The settings that choose an event loop. Scrapy crawls without a reactor since 2.15.
MODES: Final[dict[str, dict[str, Any]]] = {
    "asyncio": {},
    **(
        {"no reactor": {"TWISTED_REACTOR_ENABLED": False}} if scrapy.version_info >= (2, 15) else {}
    ),
}
# Stats that count no pages.
_FIGURES: Final = ("novelty", "clusters", "largest_cluster", "bytes_saved", "seconds/")


def counts_in(stats: Mapping[str, Any]) -> dict[str, int]:
    """Return our counts of pages and items in Scrapy's stats, without their prefix."""
    ours = {
        name.removeprefix("crawldedup/"): value
        for name, value in stats.items()
        if name.startswith("crawldedup/")
    }
    return {
        name: value
        for name, value in ours.items()
        if not name.removeprefix("item/").startswith(_FIGURES)
    }


@dataclass(frozen=True, slots=True)
class Crawl:
    """What came of a crawl. Paths stand for the site's URLs."""

    exit_status: int
    log: str
    report: dict[str, Any]

    def __post_init__(self) -> None:
        """Every crawl of the tests holds the reference to the stats that it has set."""
        assert undocumented_stats(self.report.get("stats", ())) == set()

    @property
    def counts(self) -> dict[str, int]:
        return counts_in(self.report["stats"])

    @property
    def passed(self) -> list[str]:
        """The pages that came to a callback, in their order."""
        return list(self.report["passed"])

    @property
    def failed(self) -> list[list[str]]:
        """The pages that came to an errback, and why."""
        return list(self.report["failed"])

    @property
    def items(self) -> list[str]:
        """The pages whose items came through the pipelines."""
        return [str(item["url"]) for item in self.report["kept"]]

    def lines(self, *levels: str) -> list[str]:
        """The lines of the log of these levels."""
        return [
            line for line in self.log.splitlines() if any(f" {level}: " in line for level in levels)
        ]

    @property
    def errors(self) -> list[str]:
        """The lines of the log that are warnings or worse, except for the usual ones."""
        usual = ("DownloadHandler is experimental", "a new index begins")
        return [
            line
            for line in self.lines("WARNING", "ERROR")
            if not any(words in line for words in usual)
        ]


# What the spider does beside crawling its pages, by default.
_SPIDER: Final[dict[str, Any]] = {
    "spider_class": "page_spider.PageSpider",
    "items": [],  # scraped before the first page
    "follow": {},  # from a page to the page that it links to
    "again": [],  # pages that their callback requests a second time
    "add_text": False,  # write texts into items
    "close_at": "",  # the page at which the spider ends the crawl
}


def task_of(site: Site, folder: Path, pages: list[Any], **options: Any) -> str:
    """Return the task of crawling some pages of a site, as JSON.

    Pages are paths, or the arguments of requests. The options are those of `_SPIDER`, and settings
    of Scrapy.
    """
    requests = ({"url": page} if isinstance(page, str) else page for page in pages)
    spider = {name: options.pop(name, default) for name, default in _SPIDER.items()}
    task = {
        "base": site.url,
        "report": str(folder / "report.json"),
        "pages": [{**request, "url": urljoin(site.url, request["url"])} for request in requests],
        **spider,
        "settings": options,
    }
    return json.dumps(task)


def start(site: Site, folder: Path, pages: list[Any], **options: Any) -> subprocess.Popen[str]:
    """Start a crawl in a process of its own, which works in the folder.

    The options are those of `task_of`.
    """
    with tempfile.TemporaryFile() as stdin:
        stdin.write(task_of(site, folder, pages, **options).encode())
        stdin.seek(0)
        return subprocess.Popen(
            [sys.executable, PROGRAM],
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def finish(process: subprocess.Popen[str], folder: Path) -> Crawl:
    _, log = process.communicate(timeout=PATIENCE_SECONDS)
    return _crawl_of(process.returncode, log, folder)


def _crawl_of(status: int, log: str, folder: Path) -> Crawl:
    report = folder / "report.json"
    return Crawl(status, log, json.loads(report.read_text()) if report.exists() else {})


def crawl_apart(site: Site, folder: Path, pages: list[Any], **options: Any) -> Crawl:
    """Crawl in a process of its own, which has all modules already."""
    ended = run_prepared(PROGRAM, folder=folder, stdin=task_of(site, folder, pages, **options))
    return _crawl_of(ended.returncode, ended.stderr, folder)


class Crawling:
    """A process that crawls one task after the other, all in one mode, from its first crawl on."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode = mode
        self._folder = str(folder)
        self._process: ForkServerProcess | None = None

    def crawl(self, site: Site, folder: Path, pages: list[Any], **options: Any) -> Crawl:
        """Crawl, and wait until it is done. The options are those of `task_of`."""
        # A crawl that ends the process costs its own test only.
        if self._process is None or not self._process.is_alive():
            self._tasks, tasks = CONTEXT.Pipe()
            self._process = CONTEXT.Process(target=serve, args=(self.mode, self._folder, tasks))
            self._process.start()
            tasks.close()
        self._tasks.send(task_of(site, folder, pages, **{**MODES[self.mode], **options}))
        report = self._tasks.recv()
        return Crawl(0, report.pop("log"), report)

    def close(self) -> None:
        if self._process is not None:
            self._tasks.send("")
            self._process.join(PATIENCE_SECONDS)
