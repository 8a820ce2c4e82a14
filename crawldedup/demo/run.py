"""Run the demo: serve a site, crawl it, and compare the result with the site's list of copies."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from crawldedup.commands.command import Output
from crawldedup.deduplicator import Deduplicator
from crawldedup.demo.site import DemoSite, Reply, serving, target_of
from crawldedup.errors import CrawlDedupError
from crawldedup.journal import find_journals
from crawldedup.stores.contract import NO_SESSION
from crawldedup.text import pluralize, printable

_SETTINGS: Final[dict[str, Any]] = {
    "ADDONS": '{"crawldedup.Addon": 500}',
    "CONCURRENT_REQUESTS": 8,
    "HTTPPROXY_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    # The calendar is endless, and a year of it is enough to see what happens.
    "DEPTH_LIMIT": 12,
    # Breadth first, so an article usually comes before its copies.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    # The demo shows which pages are recognized, in the order of the crawl.
    "CRAWLDEDUP_ACTION": "drop",
    "CRAWLDEDUP_PREFER": "[]",
}
_SHOWN: Final = 10

DEFAULT_REPORT: Final = Path("crawldedup-demo.html")


class CrawlError(CrawlDedupError):
    """Raised if the crawl of the demo failed. The message ends with its log."""


@dataclass(slots=True)
class Score:
    """How well a crawl did, by the manifest of its site, which lists all copies.

    `right` counts pages that were dropped for a page with the same content, and `wrong` lists pages
    that were dropped for a page with different content. `missed` are copies that were kept. `kept`
    is the number of pieces of content that were kept, `not_reached` lists the pages that the crawl
    didn't get to, and `unscored` is the number of pages that may be either. The remaining responses
    aren't compared with the manifest: `revisits` counts pages that were loaded before, and
    `unlisted` counts responses that the manifest doesn't have, such as errors and files.
    """

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    kept: int = 0
    missed: list[str] = field(default_factory=list)
    not_reached: list[str] = field(default_factory=list)
    unscored: int = 0
    revisits: int = 0
    unlisted: int = 0


def run(given: Namespace, output: Output) -> None:
    """Run the demo, and write the report of its crawl if the required packages are installed.

    Raises ConfigurationError if the output can't be written, and CrawlError if the crawl fails.
    """
    can_report = all(find_spec(package) is not None for package in ("duckdb", "jinja2"))
    path: Path | None = given.output
    if path is None and can_report and not output.as_json:
        path = DEFAULT_REPORT
    if path is not None:
        # Imported here so that `--help` does not have to wait for DuckDB.
        from crawldedup.report.render import check_path

        check_path("--output", path)
    site = DemoSite()
    with tempfile.TemporaryDirectory(prefix="crawldedup-demo-") as name:
        folder = Path(name)
        with output.progress("crawling") as progress:
            pages = crawl(site, folder, progress)
        if path is not None:
            _write_report(folder / "journal", path, output)
    score = scored(pages, site)
    outcomes = Counter(page["outcome"] for page in pages)
    data = {"pages": len(pages), "outcomes": dict(outcomes), "manifest": asdict(score)}
    count = f"{len(pages)} pages were crawled."
    if path is not None:
        report = (
            f"The report is in {printable(str(path))}: open it in a browser. Its links no longer "
            "work, because the demo site has ended."
        )
    else:
        report = "To get a report, run `pip install 'crawldedup[report]'` first."
    output.show(data, f"{count} {report}", *score_lines(score))


def _write_report(folder: Path, path: Path, output: Output) -> None:
    from crawldedup.report.queries import Database, make_report
    from crawldedup.report.render import write_report

    with output.shares() as progress, Database(progress) as database:
        report = make_report(database, find_journals([str(folder)]), [])
        write_report(database, report, path)


def crawl(site: DemoSite, folder: Path, progress: Callable[..., None]) -> list[dict[str, Any]]:
    """Crawl a site with Scrapy in a separate process. Return its journal's line for each page.

    Raises CrawlError.
    """
    store = f"sqlite:///{folder.absolute()}/index.sqlite"
    # The index has no key, so all runs make the same estimates. Passing a session avoids the
    # warning about a new index.
    with closing(Deduplicator(store, key=0)) as dedup:
        dedup.open(NO_SESSION)
    settings = {**_SETTINGS, "CRAWLDEDUP_STORE": store, "CRAWLDEDUP_JOURNAL": folder / "journal"}
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    spider = Path(__file__).with_name("spider.py")
    answers = count(1)

    def reply_to(target: str) -> Reply:
        progress(next(answers), len(site.pages))
        return site.reply(target)

    with serving(reply_to) as base_url:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "scrapy",
                "runspider",
                spider,
                "-a",
                f"start={base_url}/",
                *options,
            ],
            # Ignores a Scrapy project in the current folder.
            cwd=folder,
            env={
                name: value
                for name, value in os.environ.items()
                if name != "SCRAPY_SETTINGS_MODULE"
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    journals = (folder / "journal").glob("*.jsonl")
    lines = [json.loads(line) for path in journals for line in path.read_bytes().splitlines()]
    reason = next((line["end"] for line in lines if "end" in line), None)
    if done.returncode or reason != "finished":
        log = done.stderr.decode(errors="replace")[-2000:].strip()
        raise CrawlError(
            f"the crawl failed ({reason or 'its process ended too early'}). The end of its "
            f"log:\n{log}"
        )
    return [line for line in lines if "outcome" in line]


def scored(pages: Sequence[Mapping[str, Any]], site: DemoSite) -> Score:
    """Compare the verdicts in a journal with the manifest of the site.

    A page is dropped correctly if its original is in the same cluster.
    """
    score = Score()
    kept = set[str]()
    for page in pages:
        entry = site.entry(page["url"])
        if entry is None:
            score.unlisted += 1
        elif page["outcome"] == "revisit":
            score.revisits += 1
        elif page["outcome"] not in ("new", "near", "exact") or not entry.judged:
            score.unscored += 1
        elif page.get("action") == "dropped":
            original = site.entry(page.get("original") or "")
            if original is not None and original.cluster == entry.cluster:
                score.right += 1
            else:
                score.wrong.append(page["url"])
        elif entry.cluster in kept:
            score.missed.append(page["url"])
        else:
            kept.add(entry.cluster)
    seen = {target_of(page["url"]) for page in pages}
    score.kept = len(kept)
    score.not_reached = [path for path in site.manifest() if path not in seen]
    return score


def score_lines(score: Score) -> Iterator[Text]:
    """Yield lines that tell the user how well the crawl did."""
    yield Text("\nCompared with the site's own list of its copies:", style="bold")
    yield Text(
        f"dropped: {score.right} copies, and {len(score.wrong)} pages by "
        f"mistake{_named(score.wrong)}"
    )
    yield Text(
        f"kept: {score.kept} pieces of content, and {len(score.missed)} copies by "
        f"mistake{_named(score.missed)}"
    )
    yield Text(
        f"not scored: {score.unscored} very short, empty, garbled and calendar pages, which may "
        "count as either"
    )
    yield Text(
        f"not compared: {pluralize(score.revisits, 'repeat visit')}, and "
        f"{pluralize(score.unlisted, 'response')} without a page, such as errors and files"
    )
    if score.not_reached:
        yield Text(f"not reached: {len(score.not_reached)} pages{_named(score.not_reached)}")


def _named(urls: Sequence[str]) -> str:
    return f": {', '.join(map(printable, urls[:_SHOWN]))}" if urls else ""
