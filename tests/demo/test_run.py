"""The demo: a real server, a real crawl in its own process, the real add-on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.console import Console

from crawldedup.cli import main
from crawldedup.demo import run
from crawldedup.demo.run import CrawlError, crawl, score_lines, scored
from crawldedup.demo.site import DemoSite

SITE = DemoSite()


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a crawl of the demo site."""
    folder, told = tmp_path_factory.mktemp("demo"), []
    pages = crawl(SITE, folder, lambda done, total: told.append((done, total)))
    assert told[0] == (1, len(SITE.pages))
    assert told[-1][0] == len(told) > 300
    (folder / "pages.json").write_text(json.dumps(pages))
    return folder


@pytest.fixture
def pages(crawled: Path) -> list[dict[str, Any]]:
    """What the journal says."""
    found: list[dict[str, Any]] = json.loads((crawled / "pages.json").read_text())
    return found


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
    console = Console(width=200)
    with console.capture() as said:
        console.print(*score_lines(score), sep="\n")
    assert "kept: 1 contents, and 1 copies that were missed: http://h:1/en/the-slow-loaf/" in said.get()
    score = scored([entry_line("/notices/lost-cat/", "thin"), entry_line("/nowhere", "new")], SITE)
    assert (score.kept, score.missed) == (0, ())
    assert len(score.not_reached) >= len(SITE.manifest()) - 1


def test_the_command_reports_and_compares_with_the_truth(
    crawled: Path, pages: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    def again(_site: DemoSite, folder: Path, *_: object, **__: object) -> list[dict[str, Any]]:
        shutil.copytree(crawled / "journal", folder / "journal")
        return pages

    with mock.patch.object(run, "crawl", autospec=True, side_effect=again):
        assert main(["demo"]) == 0
        told = capsys.readouterr().out
        assert re.search(r"Largest of \d\d clusters", told)
        assert re.search(r" 0 pages wrongly\nkept: \d+ contents, and 0 copies that were missed\n", told)
        assert main(["demo", "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert (values["pages"], values["manifest"]["wrong"]) == (len(pages), [])
        assert values["outcomes"]["exact"] > 20
        # Without DuckDB the truth is told alone.
        with mock.patch.object(run, "find_spec", return_value=None):
            assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "`pip install duckdb jinja2`" in told
    assert "copies rightly, 0 pages wrongly" in told


def test_a_crawl_that_fails_says_why(tmp_path: Path) -> None:
    wrong = {**run._SETTINGS, "CRAWLDEDUP_SIMILARITY": 7}
    with (
        mock.patch.object(run, "_SETTINGS", wrong),
        pytest.raises(CrawlError, match=r"its process ended too early(.|\n)*CRAWLDEDUP_SIMILARITY"),
    ):
        crawl(SITE, tmp_path, lambda *_: None)
