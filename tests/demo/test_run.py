"""Whole runs: a real server, a real crawl in its own process, the real add-on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawldedup.demo.crawl import CrawlError, Judged, run_crawl
from crawldedup.demo.library import all_articles
from crawldedup.demo.run import DemoOptions, DemoResult, run_demo
from crawldedup.demo.server import serving
from crawldedup.demo.site import DemoSite
from crawldedup.errors import ConfigurationError
from tests.scrapy_plugin.prepared import prepared_demo_crawls, run_prepared

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parents[2] / "example_project"
QUICK = DemoOptions(extractor="blocks", compare=False, exact=False)


@pytest.fixture(scope="module")
def stages() -> dict[str, tuple[int, int, str]]:
    return {}


@pytest.fixture(scope="module")
def result(stages: dict[str, tuple[int, int, str]]) -> DemoResult:
    def listen(stage: str, done: int, total: int, note: str) -> None:
        stages[stage] = (done, total, note)

    return run_demo(DemoOptions(), listen)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with serving(DemoSite()) as url:
        yield url


@pytest.fixture
def prepared() -> Iterator[None]:
    """For the crawls in which it does not matter how their processes begin; the others show that."""
    with prepared_demo_crawls():
        yield


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Three pages: a text, the same text with another heading, another text. No page links to another."""
    first, second = all_articles()[8:10]
    for name, article, heading in [("a", first, "One"), ("b", first, "Two"), ("c", second, "Three")]:
        body = "".join(f"<p>{paragraph}</p>" for paragraph in article.paragraphs)
        (tmp_path / f"{name}.html").write_text(f"<html><body><h1>{heading}</h1>{body}</body></html>")
    return tmp_path


def test_the_demo_site_is_recognised_as_its_manifest_says(result: DemoResult) -> None:
    assert result.manifest is not None
    assert result.manifest.recall is not None
    assert result.manifest.recall >= 0.98
    assert result.manifest.wrong == ()
    assert result.not_reached == ()
    assert result.manifest.found.flagged > 140


def test_the_demo_site_is_recognised_as_its_texts_say(result: DemoResult) -> None:
    assert result.truth is not None
    assert result.truth.recall is not None
    assert result.truth.recall >= 0.98
    assert result.truth.wrong == ()
    assert result.truth.found.pages > 140


def test_the_counts_agree(result: DemoResult) -> None:
    dropped = result.dropped_near + result.dropped_exact
    assert dropped == result.stats["crawldedup/dropped"]
    assert result.pages_fetched == result.pages_kept + dropped
    assert sum(result.verdicts.values()) == result.stats["crawldedup/checked"]
    assert sum(len(members) for members in result.clusters.values()) == dropped
    assert set(result.skipped) >= {"content_type", "status"}
    assert result.errors == {}
    assert (result.finish_reason, result.log) == ("finished", "")


def test_the_filter_ends_the_calendar_trap(result: DemoResult) -> None:
    assert result.without is not None
    assert result.without["requests"] - result.traffic["requests"] > 5
    assert result.without["pages"] - result.traffic["pages"] > result.dropped_near


def test_a_result_is_json(result: DemoResult) -> None:
    values = json.loads(json.dumps(result.as_dict()))
    assert values["manifest"]["precision"] == 1.0
    assert values["truth"]["bands"][-1]["low"] == 1.0
    assert next(iter(values["clusters"].values()))[0]["url"].startswith("http://127.0.0.1:")


def test_progress_is_reported_by_stage(result: DemoResult, stages: dict[str, tuple[int, int, str]]) -> None:
    assert list(stages) == ["Crawling", "Without crawldedup", "Reading for the exact comparison"]
    done, _, note = stages["Crawling"]
    assert done == result.pages_fetched
    assert note == f"{result.pages_kept} kept, {result.dropped_near + result.dropped_exact} dropped"
    done, total, _ = stages["Reading for the exact comparison"]
    assert done == total == sum(result.verdicts.values())


@pytest.mark.usefixtures("prepared")
def test_a_directory_is_crawled_whole_and_its_index_can_be_kept(copies: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    options = DemoOptions(directory=copies, extractor="blocks", store=store, namespace="mine")
    first = run_demo(options)
    assert (first.pages_fetched, first.dropped_near + first.dropped_exact) == (3, 1)
    assert {original[-6:] for original in first.clusters} <= {"a.html", "b.html"}
    assert first.truth is not None
    assert (first.truth.recall, first.truth.precision) == (1.0, 1.0)
    assert first.without is None
    assert first.manifest is None
    # Another port makes other URLs: the same texts are copies now.
    assert run_demo(replace(options, exact=False)).pages_kept == 0
    with pytest.raises(CrawlError, match="blocks"):
        run_demo(replace(options, exact=False, extractor="text"))


@pytest.mark.parametrize(
    "options",
    [
        DemoOptions(similarity=7),
        DemoOptions(settings={"CRAWLDEDUP_TYPO": 1}),
    ],
    ids=lambda options: "options",
)
def test_wrong_options_are_refused(options: DemoOptions) -> None:
    with pytest.raises(ConfigurationError, match=r"CRAWLDEDUP_SIMILARITY is 7|CRAWLDEDUP_TYPO is not a setting"):
        run_demo(options)


def test_a_crawl_whose_process_dies_says_why(base_url: str) -> None:
    with pytest.raises(CrawlError, match="NoSuchReactor"):
        run_crawl([base_url], {"TWISTED_REACTOR": "twisted.NoSuchReactor"})


def test_an_exception_in_the_listener_ends_the_crawl(base_url: str) -> None:
    def interrupt(event: Judged | str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_crawl([base_url + "/"], {"LOG_LEVEL": "ERROR"}, on_event=interrupt)


def crawl_command(*arguments: str, output: Path) -> list[str]:
    settings = ["-s", "CRAWLDEDUP_EXTRACTOR=blocks", "-s", "LOG_LEVEL=ERROR"]
    return ["crawl", "pages", "-O", str(output), *arguments, *settings]


def items_of(done: subprocess.CompletedProcess[str], output: Path) -> list[dict[str, str]]:
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in output.read_text().splitlines()]


def test_the_example_project_crawls_the_demo_site(base_url: str, tmp_path: Path) -> None:
    # Only the pages that this one leads to, to save time: its own copies and the lists.
    arguments = ["-a", f"start={base_url}/about/", "-s", "DEPTH_LIMIT=1"]
    output = tmp_path / "pages.jsonl"
    items = items_of(run_prepared("scrapy", *crawl_command(*arguments, output=output), folder=EXAMPLE), output)
    entries = [DemoSite().entry(item["url"]) for item in items]
    assert [entry.kind for entry in entries if entry].count("self") == 1
    assert [entry.kind for entry in entries if entry].count("list") > 10


def test_the_example_project_crawls_a_directory(copies: Path, tmp_path: Path) -> None:
    output = tmp_path / "pages.jsonl"
    command = [sys.executable, "-m", "scrapy", *crawl_command("-a", f"dir={copies}", output=output)]
    items = items_of(subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True), output)
    assert len(items) == 2
