"""Real crawls of a real server: in processes of their own, or one after the other in one."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urljoin

import scrapy

from tests.docs.stats_page import undocumented
from tests.scrapy_plugin.prepared import PATIENCE_SECONDS, PreparedServant, run_prepared
from tests.scrapy_plugin.website import Site

HERE = Path(__file__).parent
QUICK: Final = {"CRAWLDEDUP_EXTRACTOR": "text"}

# The settings that choose an event loop. Scrapy crawls without a reactor since 2.15.
_NO_REACTOR: Final[dict[str, dict[str, Any]]] = (
    {"no reactor": {"TWISTED_REACTOR_ENABLED": False}} if scrapy.version_info >= (2, 15) else {}
)
MODES: Final[dict[str, dict[str, Any]]] = {"asyncio": {}, **_NO_REACTOR}


# Stats that count no pages.
_FIGURES: Final = ("novelty", "clusters", "largest_cluster", "bytes_saved", "seconds/")


def counts_in(stats: Mapping[str, Any]) -> dict[str, int]:
    """Of Scrapy's stats, our counts of pages and items, without their prefix."""
    ours = {name.removeprefix("crawldedup/"): value for name, value in stats.items() if name.startswith("crawldedup/")}
    return {name: value for name, value in ours.items() if not name.removeprefix("item/").startswith(_FIGURES)}


@dataclass(frozen=True, slots=True)
class Crawl:
    """What came of a crawl. Paths stand for the site's URLs."""

    exit_status: int
    log: str
    report: dict[str, Any]

    def __post_init__(self) -> None:
        """Every crawl of the tests holds the reference to the stats that it has set."""
        assert undocumented(self.report.get("stats", ())) == set()

    @property
    def counts(self) -> dict[str, int]:
        """How many pages came to what: our stats without their prefix."""
        return counts_in(self.report["stats"])

    @property
    def passed(self) -> list[str]:
        """The pages that came to a callback, in their order."""
        return [str(path) for path in self.report["passed"]]

    @property
    def failed(self) -> list[list[str]]:
        """The pages that came to an errback, and why."""
        return [list(page) for page in self.report["failed"]]

    @property
    def items(self) -> list[str]:
        """The pages whose items came to the pipelines."""
        return [str(item["url"]) for item in self.report["items"]]

    @property
    def errors(self) -> list[str]:
        """The lines of the log that are warnings or worse, but for what is usual."""
        lines = [line for line in self.log.splitlines() if any(f" {level}: " in line for level in ("WARNING", "ERROR"))]
        usual = ("DownloadHandler is experimental", "a new index begins")
        return [line for line in lines if not any(words in line for words in usual)]


def task_of(
    site: Site,
    folder: Path,
    pages: list[Any],
    *,
    follow: dict[str, str] | None = None,
    again: list[str] | None = None,
    close_at: str = "",
    spider: str = "pages",
    spider_class: str = "page_spider.PageSpider",
    items: list[dict[str, Any]] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """A crawl of some of a site's pages: paths, or the arguments of requests. `items` come before the pages.

    `follow` maps pages to a page that they link to, `again` are asked for once more by their callback, and at
    `close_at` the spider ends the crawl.
    """
    return {
        "base": site.url,
        "report": str(folder / "report.json"),
        "pages": [
            {"url": urljoin(site.url, page)}
            if isinstance(page, str)
            else {**page, "url": urljoin(site.url, page["url"])}
            for page in pages
        ],
        "follow": follow or {},
        "again": again or [],
        "close_at": close_at,
        "spider": spider,
        "spider_class": spider_class,
        "items": items or [],
        "settings": settings,
    }


def start(site: Site, folder: Path, pages: list[Any], **options: Any) -> subprocess.Popen[str]:
    """Start a crawl in a process of its own, which works in the folder. The options are those of `task_of`."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "crawl_program.py")],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(task_of(site, folder, pages, **options)))
    process.stdin.close()
    process.stdin = None  # communicate() would close it again
    return process


def finish(process: subprocess.Popen[str], folder: Path) -> Crawl:
    out, log = process.communicate(timeout=PATIENCE_SECONDS)
    return crawl_of(subprocess.CompletedProcess(process.args, process.returncode, out, log), folder)


def crawl_of(ended: subprocess.CompletedProcess[str], folder: Path) -> Crawl:
    report = folder / "report.json"
    return Crawl(ended.returncode, ended.stderr, json.loads(report.read_text()) if report.exists() else {})


def crawl_apart(site: Site, folder: Path, pages: list[Any], **options: Any) -> Crawl:
    """Crawl in a process of its own, which has all modules already."""
    program, task = str(HERE / "crawl_program.py"), task_of(site, folder, pages, **options)
    return crawl_of(run_prepared(program, folder=folder, stdin=json.dumps(task)), folder)


class Crawling:
    """A process that crawls one task after the other, all in one mode."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._folder = tempfile.TemporaryDirectory()
        self._process: PreparedServant | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            if kind is not None:
                self._process.kill()
            self._process.end()
        self._folder.cleanup()

    def crawl(self, site: Site, folder: Path, pages: list[Any], **options: Any) -> Crawl:
        """Crawl, and wait until it is done. The options are those of `task_of`."""
        task = task_of(site, folder, pages, **{**MODES[self.mode], **options})
        assert self._running().ask(json.dumps(task)) == "done\n", "the process of the crawls has ended"
        report = json.loads(Path(task["report"]).read_text())
        return Crawl(0, report.pop("log"), report)

    def _running(self) -> PreparedServant:
        # A crawl that ends the process costs its own test only.
        if self._process is None or not self._process.is_alive:
            self._process = PreparedServant(str(HERE / "crawls_program.py"), self.mode, folder=Path(self._folder.name))
        return self._process
