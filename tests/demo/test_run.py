"""The demo: a real server, a real crawl in its own process, the real add-on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.console import Console

from crawldedup.cli import main
from crawldedup.demo import run
from crawldedup.demo.run import CrawlError, crawl, score_lines, scored
from crawldedup.demo.site import DemoSite, serving
from tests.scrapy_plugin.prepared import run_prepared

EXAMPLE = Path(__file__).parents[2] / "example_project"
SITE = DemoSite()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the journal of a crawl of the demo site says."""
    folder, told = tmp_path_factory.mktemp("demo"), []
    pages = crawl(SITE, folder, lambda done, total: told.append((done, total)))
    assert told[0] == (1, len(SITE.pages))
    assert told[-1][0] == len(told) > 300
    return pages


def said(*lines: Any) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for line in lines:
            console.print(line)
    return capture.get()


def test_nothing_is_dropped_wrongly_or_missed(pages: list[dict[str, Any]]) -> None:
    score = scored(pages, SITE)
    assert (score.wrong, score.missed, score.not_reached) == ((), (), ())
    assert score.right > 140
    assert score.kept == len({entry.cluster for entry in SITE.manifest().values() if entry.judged})
    assert 10 < score.unscored < 30


def entry_line(path: str, outcome: str, original: str | None = None) -> dict[str, Any]:
    action = "delivered" if original is None else "dropped"
    there = original and f"http://h:1{original}"
    return {"url": f"http://h:1{path}", "outcome": outcome, "action": action, "original": there}


def test_a_crawl_is_scored_by_the_contents_of_its_pages() -> None:
    loaf, copy, other = "/en/the-slow-loaf/", "/en/the-slow-loaf/second-edition/", "/en/the-last-boat/"
    assert SITE.manifest()[loaf].cluster == SITE.manifest()[copy].cluster
    lines = [entry_line(loaf, "new"), entry_line(copy, "near", loaf), entry_line(other, "near", loaf)]
    score = scored(lines, SITE)
    assert (score.right, score.wrong, score.kept, score.missed) == (1, (f"http://h:1{other}",), 1, ())
    score = scored([entry_line(copy, "new"), entry_line(loaf, "new"), entry_line(loaf, "revisit")], SITE)
    assert (score.right, score.kept, score.missed) == (0, 1, (f"http://h:1{loaf}",))
    score = scored([entry_line("/notices/" + "lost-cat/", "thin"), entry_line("/nowhere", "new")], SITE)
    assert (score.kept, score.missed) == (0, ())
    assert len(score.not_reached) >= len(SITE.manifest()) - 1
    lines = said(*score_lines(scored([entry_line(copy, "new"), entry_line(loaf, "new")], SITE)))
    assert "kept: 1 contents, and 1 copies that were missed: http://h:1/en/the-slow-loaf/" in lines


def test_without_duckdb_the_truth_is_told_alone(
    pages: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        mock.patch.object(run, "crawl", return_value=pages),
        mock.patch.object(run, "find_spec", return_value=None),
    ):
        assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "`pip install duckdb jinja2`" in told
    assert "copies rightly, 0 pages wrongly" in told


def test_the_command_reports_and_compares_with_the_truth() -> None:
    done = subprocess.run([sys.executable, "-m", "crawldedup.cli", "demo"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"Largest of \d\d clusters", done.stdout)
    assert re.search(r" 0 pages wrongly\nkept: \d+ contents, and 0 copies that were missed\n", done.stdout)


def test_a_result_is_json(pages: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    with mock.patch.object(run, "crawl", return_value=pages):
        assert main(["demo", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["pages"], values["manifest"]["wrong"]) == (len(pages), [])
    assert values["outcomes"]["exact"] > 20


def test_a_crawl_that_fails_says_why(tmp_path: Path) -> None:
    wrong = {**run._SETTINGS, "CRAWLDEDUP_SIMILARITY": 7}
    with (
        mock.patch.object(run, "_SETTINGS", wrong),
        pytest.raises(CrawlError, match=r"its process ended too early(.|\n)*CRAWLDEDUP_SIMILARITY"),
    ):
        crawl(SITE, tmp_path, lambda *_: None)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with serving(SITE.reply) as url:
        yield url


def test_the_example_project_crawls_the_demo_site(base_url: str, tmp_path: Path) -> None:
    # Only the pages that this one leads to, to save time: its own copies and the lists.
    output = tmp_path / "pages.jsonl"
    arguments = ["-O", str(output), "-a", f"start={base_url}/about/", "-s", "DEPTH_LIMIT=1", "-s", "LOG_LEVEL=ERROR"]
    done = run_prepared("scrapy", "crawl", "pages", *arguments, folder=EXAMPLE)
    assert (done.returncode, done.stderr) == (0, "")
    items = [json.loads(line) for line in output.read_text().splitlines()]
    entries = [SITE.entry(item["url"]) for item in items]
    assert [entry.kind for entry in entries if entry].count("self") == 1
    assert [entry.kind for entry in entries if entry].count("list") > 10
