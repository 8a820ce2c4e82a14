"""Real crawls, in processes of their own, of a real server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator
from tests.servers import RedisServer, free_port

from .website import Answer, Site, article, compressed

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = Path(__file__).with_name("crawl_program.py")
QUICK = {"CRAWLDEDUP_EXTRACTOR": "text"}
WORDS = article(1)


@dataclass
class Crawl:
    exit_status: int
    log: str
    report: dict[str, Any]

    @property
    def counts(self) -> dict[str, int]:
        stats = self.report["stats"].items()
        return {name.removeprefix("crawldedup/"): value for name, value in stats if name.startswith("crawldedup/")}

    @property
    def passed(self) -> list[str]:
        return [str(path) for path in self.report["passed"]]


def start(site: Site, folder: Path, pages: list[Any], **settings: Any) -> subprocess.Popen[str]:
    task = {
        "base": site.url,
        "report": str(folder / "report.json"),
        "pages": [
            {"url": site.url + page} if isinstance(page, str) else {**page, "url": site.url + page["url"]}
            for page in pages
        ],
        "follow": settings.pop("follow", {}),
        "again": settings.pop("again", []),
        "settings": settings,
    }
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(task))
    process.stdin.close()
    process.stdin = None  # communicate() would close it again
    return process


def finish(process: subprocess.Popen[str], folder: Path) -> Crawl:
    _, log = process.communicate(timeout=60)
    report = folder / "report.json"
    return Crawl(process.returncode, log, json.loads(report.read_text()) if report.exists() else {})


def crawl(site: Site, folder: Path, pages: list[Any], **settings: Any) -> Crawl:
    return finish(start(site, folder, pages, **settings), folder)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain"),
            "/a": WORDS,
            "/a-copy": WORDS,
            "/a-near": article(1, changed_words=2),
            "/a-gzip": compressed(WORDS),
            "/a-print": article(1, changed_words=10, head="<link rel=canonical href=/a>"),
            "/b-print": article(2, changed_words=100, head="<link rel=canonical href=/a>"),
            "/b": article(2),
            "/deadly": Answer(b"<p>" + b"this page is deadly for its reader " * 20),
            "/b-later": article(2, head="<meta http-equiv=refresh content='0; url=/b'>"),
            "/moved": Answer(b"<p>" + b"moved to the page a " * 40, 302, headers={"Location": "/a-copy"}),
            "/missing": WORDS._replace(status=404),
            "/busy": WORDS._replace(status=503),
            "/short": Answer(b"<p>Only three words</p>"),
            "/empty": Answer(b""),
            "/data.json": Answer(b'{"text": "some words"}', content_type="application/json"),
            "/feed.xml": Answer(b"<rss/>", content_type="application/rss+xml"),
            "/style.css": Answer(b"p { color: red }", content_type="text/css"),
            "/picture": Answer(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
            "/notes.txt": Answer(b"all the words of a note in plain text " * 9, content_type="text/plain"),
            "/search": WORDS,
            "/searchq=1": article(4),
            "/searchq=2": article(5),
        }
    ) as running:
        yield running


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param({}, id="asyncio"),
        pytest.param({"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}, id="select"),
        pytest.param({"TWISTED_REACTOR_ENABLED": False}, id="no reactor"),
    ],
)
def test_a_crawl_judges_the_spiders_pages_and_nothing_else(site: Site, tmp_path: Path, mode: dict[str, Any]) -> None:
    result = crawl(
        site,
        tmp_path,
        [
            {"url": "/picture", "callback": "NO_CALLBACK"},
            "/a",
            "/a-near",
            "/a-gzip",
            "/a",
            "/moved",
            "/b",
            "/b-later",
            "/missing",
            "/busy",
            "/short",
            "/empty",
            "/data.json",
            "/feed.xml",
            "/style.css",
            "/picture",
            "/notes.txt",
            "/private",
            {"url": "/a-copy", "method": "HEAD"},
            {"url": "/a-copy", "meta": {"crawldedup": False}},
            {"url": "/search", "method": "POST", "body": "q=1"},
            {"url": "/search", "method": "POST", "body": "q=2"},
            {"url": "/search", "method": "POST", "body": "q=1"},
        ],
        ROBOTSTXT_OBEY=True,
        **mode,
    )
    assert result.exit_status == 0
    errors = [line for line in result.log.splitlines() if " ERROR: " in line]
    assert [line for line in errors if "Gave up retrying" not in line] == []
    assert result.counts == {
        "checked": 12,
        "new": 5,  # a, b, notes.txt and two searches
        "duplicate/near": 1,
        "duplicate/exact": 2,  # a-gzip, moved
        "revisit": 3,  # a, b-later's target, search
        "thin": 1,
        "dropped": 3,
        "skipped/status": 2,
        "skipped/no_callback": 2,  # robots.txt, the download of the spider's own
        "skipped/empty": 1,
        "skipped/content_type": 4,
        "skipped/method": 1,
        "skipped/disabled": 1,
    }
    dropped = [page for page in result.report["failed"] if "duplicate" in page[1]]
    assert [page[0] for page in dropped] == ["/a-near", "/a-gzip", "/a-copy"]
    assert re.fullmatch(r"near duplicate \(0\.9\d\) of /a", dropped[0][1])
    assert dropped[1][1] == "exact duplicate of /a"
    assert len(result.report["signals"]) == result.counts["checked"]
    assert sum(is_dropped for _, _, is_dropped in result.report["signals"]) == 3
    assert "crawldedup checked 12 pages: 5 new, 1 near and 2 exact duplicates (3 dropped)" in result.log


def test_marked_duplicates_reach_the_callback(site: Site, tmp_path: Path) -> None:
    result = crawl(site, tmp_path, ["/a", "/a-near", "/a-copy"], CRAWLDEDUP_ACTION="mark", **QUICK)
    assert result.passed == ["/a", "/a-near", "/a-copy"]
    assert result.report["flags"] == [
        ["/a-near", ["crawldedup:near_duplicate"]],
        ["/a-copy", ["crawldedup:exact_duplicate"]],
    ]
    assert "dropped" not in result.counts


def test_links_of_a_duplicate_are_followed_without_its_items(site: Site, tmp_path: Path) -> None:
    result = crawl(
        site,
        tmp_path,
        ["/a", "/a-near"],
        follow={"/a-near": "/b"},
        CRAWLDEDUP_ACTION="drop-items",
        **QUICK,
    )
    assert result.passed == ["/a", "/a-near", "/b"]
    assert result.report["items"] == ["/a", "/b"]
    assert result.counts["items_dropped"] == 1


def test_several_copies_and_single_pages_can_be_kept(site: Site, tmp_path: Path) -> None:
    exempt = {"url": "/a-gzip", "meta": {"crawldedup": {"keep_per_cluster": 9}}}
    result = crawl(
        site,
        tmp_path,
        ["/a", "/a-near", "/a-copy", exempt, {"url": "/b", "meta": {"crawldedup": {"similarty": 1}}}],
        CRAWLDEDUP_KEEP_PER_CLUSTER="2",
        **QUICK,
    )
    assert result.passed == ["/a", "/a-near", "/a-gzip", "/b"]
    assert result.counts["error/meta"] == 1
    assert "unknown key 'similarty'" in result.log


def test_a_page_that_names_its_original_is_compared_with_it(site: Site, tmp_path: Path) -> None:
    usual = {"url": "/a-print?usual", "meta": {"crawldedup": {"canonical": "ignore"}}}
    result = crawl(
        site,
        tmp_path,
        ["/a", "/a-print?compared", "/b-print", usual],
        CRAWLDEDUP_CANONICAL="compare",
        **QUICK,
    )
    # Naming a page that it does not resemble makes no page a copy, nor is one that resembles it little without.
    assert result.passed == ["/a", "/b-print", "/a-print?usual"]
    assert result.report["duplicates"] == [["/a-print?compared", "/a", True]]


def test_pages_are_left_alone_by_url_and_looked_at_by_request(site: Site, tmp_path: Path) -> None:
    look = {"url": "/a", "meta": {"crawldedup": {"remember": False}}}
    result = crawl(site, tmp_path, [look, "/a-near", "/a-copy", look], CRAWLDEDUP_DENY=["copy$"], **QUICK)
    assert result.passed == ["/a", "/a-near", "/a-copy"]
    assert result.counts["skipped/url"] == 1
    assert result.report["duplicates"] == [["/a", "/a-near", True]]


def test_a_crawl_can_drop_what_is_unchanged_since_the_last_one(tmp_path: Path) -> None:
    settings = {"CRAWLDEDUP_STORE": "sqlite:///index.sqlite", "CRAWLDEDUP_REVISIT": "drop", **QUICK}
    with Site({"/a": article(1), "/b": article(2)}) as site:
        assert crawl(site, tmp_path, ["/a", "/b"], again=["/b"], **settings).passed == ["/a", "/b", "/b"]
        site.pages |= {"/b": article(3), "/c": article(4)}
        # The second crawl is stopped early, and goes on.
        job = {"JOBDIR": "job", "CLOSESPIDER_PAGECOUNT": 3, **settings}
        stopped = crawl(site, tmp_path, ["/a", "/b", "/c"], again=["/b"], **job)
        assert stopped.report["stats"]["finish_reason"] == "closespider_pagecount"
        assert stopped.report["failed"] == [["/a", "known and unchanged"]]
        assert stopped.passed[:1] == ["/b"]
        counts = stopped.counts
        assert (counts["changed"], counts["unchanged"], counts["dropped"]) == (1, 1, 1)
        resumed = crawl(site, tmp_path, ["/a", "/b", "/c"], again=["/b"], JOBDIR="job", **settings)
        assert resumed.report["failed"] == [["/a", "known and unchanged"]]
        assert {"/b", "/c"} <= set(resumed.passed)
        third = crawl(site, tmp_path, ["/a", "/b", "/c"], **settings)
        assert third.passed == []
        assert third.counts == {"checked": 3, "revisit": 3, "unchanged": 3, "dropped": 3}
        assert "3 revisits (3 unchanged)" in third.log


def test_a_job_directory_remembers(site: Site, tmp_path: Path) -> None:
    settings = {"JOBDIR": "job", **QUICK}
    assert crawl(site, tmp_path, ["/a"], **settings).counts["new"] == 1
    again = crawl(site, tmp_path, ["/a", "/a-near"], **settings)
    assert (again.counts["revisit"], again.counts["dropped"]) == (1, 1)
    assert (tmp_path / "job" / "crawldedup.sqlite").exists()


def test_a_store_that_goes_and_comes_back_costs_no_page(site: Site, tmp_path: Path) -> None:
    with RedisServer() as redis:

        def restart() -> None:
            redis.start()
            time.sleep(1.5)  # longer than the pauses after two failures

        site.actions = {"/missing?stop": redis.stop, "/missing?start": restart}
        result = crawl(
            site,
            tmp_path,
            ["/a", "/missing?stop", "/b", "/a-copy", "/missing?start", "/a-near", "/a"],
            CRAWLDEDUP_STORE=redis.url,
            **QUICK,
        )
    # The index was lost with the server, so what came first afterwards is new.
    assert result.passed == ["/a", "/b", "/a-copy", "/a-near"]
    assert result.counts == {
        "error/unavailable": 2,
        "checked": 3,
        "new": 2,
        "duplicate/near": 1,
        "dropped": 1,
        "skipped/status": 2,
    }
    assert result.log.count("Pages pass unjudged") == 1
    assert result.log.count("the store answers again") == 1
    assert result.report["stats"].get("log_count/ERROR", 0) == 0


def test_a_store_that_is_never_there_costs_no_page(site: Site, tmp_path: Path) -> None:
    store = f"redis://127.0.0.1:{free_port()}/0"
    result = crawl(site, tmp_path, ["/a", "/b", "/a-near"], CRAWLDEDUP_STORE=store, **QUICK)
    assert result.passed == ["/a", "/b", "/a-near"]
    assert result.counts == {"error/unavailable": 3}
    assert result.log.count("Pages pass unjudged") == 1
    assert result.report["stats"].get("log_count/ERROR", 0) == 0


def test_crawls_share_an_index_in_redis(site: Site, tmp_path: Path) -> None:
    with RedisServer() as redis:
        settings = {"CRAWLDEDUP_STORE": redis.url, **QUICK}
        assert crawl(site, tmp_path, ["/a"], **settings).counts["new"] == 1
        assert crawl(site, tmp_path, ["/a-near"], **settings).counts["dropped"] == 1


def test_a_crawl_can_be_told_to_stop_without_its_store(site: Site, tmp_path: Path) -> None:
    result = crawl(
        site,
        tmp_path,
        ["/a", "/b"],
        CRAWLDEDUP_STORE=f"redis://127.0.0.1:{free_port()}/0",
        CRAWLDEDUP_ON_ERROR="fail",
        **QUICK,
    )
    assert result.passed == []
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "CRAWLDEDUP_SIMILARITY",
            9,
            "CRAWLDEDUP_SIMILARITY is 9; it must be a number above 0.5 and at most 1.",
        ),
        ("CRAWLDEDUP_SIMILARTY", 0.9, "did you mean CRAWLDEDUP_SIMILARITY?"),
        ("CRAWLDEDUP_STORE", "rediss:/x", "rediss:/x"),
    ],
)
def test_a_wrong_setting_stops_the_crawl(site: Site, tmp_path: Path, setting: str, value: object, message: str) -> None:
    site.asked.clear()
    result = crawl(site, tmp_path, ["/a"], **{setting: value})
    [line] = [line for line in result.log.splitlines() if " ERROR: " in line]
    assert message in line
    assert "Traceback" not in result.log
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
    assert not site.asked


def test_an_index_of_another_profile_stops_the_crawl_with_one_line(site: Site, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store, extractor="resiliparse") as other:
        other.check("https://example.com/", html=WORDS.body)
    site.asked.clear()
    result = crawl(site, tmp_path, ["/a"], CRAWLDEDUP_STORE=store, **QUICK)
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
    assert not site.asked
    [line] = [line for line in result.log.splitlines() if " ERROR: " in line]
    assert "resiliparse" in line
    assert "text/" in line
    assert "Traceback" not in result.log


def test_a_page_that_kills_its_worker_costs_only_itself(site: Site, tmp_path: Path) -> None:
    result = crawl(
        site,
        tmp_path,
        ["/a", "/deadly", "/a-near"],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.deadly",
        CRAWLDEDUP_WORKERS=1,
    )
    assert result.passed == ["/a", "/deadly"]
    assert result.counts == {"error/worker": 1, "checked": 2, "new": 1, "duplicate/near": 1, "dropped": 1}


def test_pages_that_wait_for_a_worker_hold_the_crawl_back(site: Site, tmp_path: Path) -> None:
    site.asked.clear()
    process = start(
        site,
        tmp_path,
        [f"/a?{number}" for number in range(30)],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.waiting",
        CRAWLDEDUP_WORKERS=1,
        CRAWLDEDUP_ACTION="mark",
        CONCURRENT_REQUESTS=3,
    )
    while not (tmp_path / "reading").exists():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1)
    assert site.asked.total() <= 3
    (tmp_path / "go on").touch()
    assert len(finish(process, tmp_path).passed) == 30


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupted_crawl_ends_without_noise_and_without_orphans(site: Site, tmp_path: Path, signals: int) -> None:
    # The extractor waits for this file, so the signal comes in the middle of a check.
    process = start(
        site,
        tmp_path,
        ["/a", "/b"],
        CRAWLDEDUP_EXTRACTOR="deadly_extractor.waiting",
        CRAWLDEDUP_WORKERS=1,
    )
    reading = tmp_path / "reading"
    while not reading.exists():
        assert process.poll() is None
        time.sleep(0.02)
    worker = int(reading.read_text())
    for number in range(signals):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5 * (signals - number - 1))
    if signals == 1:
        (tmp_path / "go on").touch()
    result = finish(process, tmp_path)
    assert "Traceback" not in result.log
    if signals == 1:
        assert result.report["stats"]["finish_reason"] == "shutdown"
        assert result.counts == {"checked": 1, "new": 1}
    while is_alive(worker):
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
