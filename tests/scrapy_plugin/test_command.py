"""`scrapy dedup`, and what Scrapy's own commands show as a person or cron runs them."""

import argparse
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.settings import Settings

from crawldedup import Deduplicator
from crawldedup.scrapy_plugin.command import Command
from crawldedup.scrapy_plugin.items import identity_in
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Site, article

A, NEAR = article(1).body, article(1, changed_words=2).body
URL = "https://example.com/a"


def update_settings(settings: Settings) -> None:
    settings.set("CRAWLDEDUP_NAMESPACE", "of-news", priority="spider")


SPIDERS = {"news": SimpleNamespace(update_settings=update_settings)}


def parsed(command: Command, *arguments: str) -> tuple[list[str], argparse.Namespace]:
    """The arguments and options as Scrapy hands them to a command."""
    parser = argparse.ArgumentParser()
    command.settings = command.settings or Settings()
    command.add_options(parser)
    options, rest = parser.parse_known_args(arguments)
    return rest, options


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/index.sqlite"


class Project:
    """A project's settings, and its index."""

    def __init__(self, store: str, capsys: pytest.CaptureFixture[str], **settings: Any) -> None:
        self.settings = {"CRAWLDEDUP_STORE": store, "CRAWLDEDUP_EXTRACTOR": "text"}
        self.settings |= {f"CRAWLDEDUP_{name.upper()}": value for name, value in settings.items()}
        self.capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        command = Command()
        command.settings = Settings(self.settings)
        loader = SimpleNamespace(load=SPIDERS.__getitem__, list=lambda: list(SPIDERS))
        command.crawler_process = SimpleNamespace(spider_loader=loader)  # type: ignore[assignment]
        command.run(*parsed(command, *arguments))
        out, err = self.capsys.readouterr()
        return command.exitcode, out, err

    def json(self, *arguments: str) -> list[Any]:
        status, out, err = self.run(*arguments, "--json")
        assert (status, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """A project that has crawled one page."""
    with Deduplicator(sqlite(tmp_path), extractor="text") as crawled:
        crawled.check(URL, html=A)
    return Project(sqlite(tmp_path), capsys)


@pytest.fixture
def near(tmp_path: Path) -> str:
    """A file with a page that is near the one that was crawled."""
    (tmp_path / "near.html").write_bytes(NEAR)
    return str(tmp_path / "near.html")


def test_a_page_that_comes_again_is_judged_as_the_crawls_judge_it(
    project: Project, near: str
) -> None:
    project.settings["CRAWLDEDUP_REVISIT_SIMILARITY"] = 0.8
    for revisit, changed in (("keep", True), ("drop", False)):
        project.settings["CRAWLDEDUP_REVISIT"] = revisit
        (explained,) = project.json("explain", near, "--url", URL)
        assert (explained["kind"], explained["changed"]) == ("revisit", changed)


def test_pages_are_forgotten_and_the_index_of_items_is_another(
    project: Project, tmp_path: Path
) -> None:
    project.settings["CRAWLDEDUP_ITEM_FIELDS"] = "body"
    with Deduplicator(sqlite(tmp_path), namespace="default.items", extractor="text") as items:
        for number in range(3):
            url, identity = identity_in({"url": f"{URL}#{number}"})
            items.check(url, text=f"{number} words of an item", identity=identity)
    assert project.json("forget", "--items", f"{URL}#1", f"{URL}#3") == [{"forgotten": 1}]
    assert [project.json("info", *index)[0]["pages"] for index in (["--items"], [])] == [2, 1]
    status, _, err = project.run("clear", "--items")
    assert (status, "add --yes" in err) == (2, True)
    assert project.run("clear", "--items", "--yes")[0] == 0
    assert "there is no index" in project.run("info", "--items")[2]
    assert project.json("forget", URL, f"{URL}/unknown") == [{"forgotten": 1}]
    assert project.json("info")[0]["pages"] == 0


def test_a_scope_of_spiders_needs_a_spider(project: Project, tmp_path: Path, near: str) -> None:
    with Deduplicator(
        sqlite(tmp_path), extractor="text", namespace="of-news", scope="spider"
    ) as crawled:
        crawled.check(URL, html=A, scope_key="news")
        crawled.check(f"{URL}/b", text="Another page of the news.", scope_key="news")
    project.settings["CRAWLDEDUP_SCOPE"] = "spider"
    (verdict,) = project.json("explain", near, "--spider", "news")
    assert (verdict["original"], verdict["scope_key"]) == (URL, "news")
    assert project.json("forget", URL, "--spider", "news") == [{"forgotten": 1}]
    project.settings["CRAWLDEDUP_NAMESPACE"] = "of-news"
    assert project.json("forget", f"{URL}/b") == [{"forgotten": 1}]
    refusals = {
        (): "add --spider NAME",
        ("--spider", "x"): "there is no spider 'x'; the project's: news",
    }
    for options, message in refusals.items():
        status, _, err = project.run("explain", near, *options)
        assert (status, message in err) == (2, True)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("STORE", "memory://", "the project's crawls keep no index"),
        (
            "STORE",
            "sqlite:///missing.sqlite",
            "there is no index 'default' in sqlite:///missing.sqlite",
        ),
        ("SIMILARTY", 0.9, "did you mean 'CRAWLDEDUP_SIMILARITY'?"),
        ("JOURNAL", False, "CRAWLDEDUP_JOURNAL is False: name the journals to read"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(
    project: Project, near: str, setting: str, value: object, message: str
) -> None:
    project.settings[f"CRAWLDEDUP_{setting}"] = value
    for action in (
        (["report"], ["advise"])
        if setting == "JOURNAL"
        else (["explain", near], ["forget", URL], ["info"])
    ):
        status, out, err = project.run(*action)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert not Path("missing.sqlite").exists()


def test_changes_are_shown_by_another_program(project: Project) -> None:
    with pytest.raises(SystemExit):
        project.run("changes")
    assert "`crawldedup changes` compares two crawls" in project.capsys.readouterr().err


def test_as_a_program_it_asks_the_index_of_a_job_and_touches_nothing_of_its_crawls(
    tmp_path: Path, near: str
) -> None:
    job, feed = tmp_path / "job", tmp_path / "items.jsonl"
    job.mkdir()
    feed.write_text("what an earlier crawl wrote\n")
    with Deduplicator(f"sqlite:///{job}/crawldedup.sqlite", extractor="text") as crawled:
        crawled.check(URL, html=A)
    feeds = json.dumps({str(feed): {"format": "jsonlines", "overwrite": True}})
    settings = {"JOBDIR": str(job), "CRAWLDEDUP_EXTRACTOR": "text", "FEEDS": feeds}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    done = run_prepared("scrapy", "dedup", "explain", near, *options, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "near.html: near duplicate (0.9" in done.stdout
    assert feed.read_text() == "what an earlier crawl wrote\n"
    assert [
        path.name for path in job.iterdir() if not path.name.startswith("crawldedup.sqlite")
    ] == []


SPIDER = '''
import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["{url}/a"]

    def parse(self, response):
        """Contracts.

        @url {url}/near/a
        @returns items 1 1
        """
        verdict = response.meta.get("crawldedup_verdict")
        yield {{"body": response.text, "kind": verdict and str(verdict.kind)}}
'''
SETTINGS = """
SPIDER_MODULES = ["spiders"]
ADDONS = {"crawldedup.Addon": 500}
DUPEFILTER_CLASS = "scrapy.dupefilters.RFPDupeFilter"
CRAWLDEDUP_EXTRACTOR = "text"
"""


def scrapy(
    folder: Path, site: Site, *command: str, settings: str = ""
) -> tuple[int, str, list[str]]:
    """Run a command in a project of this folder.

    `{url}` in it is the site's. Return status, output, and errors.
    """
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (folder / "project_settings.py").write_text(SETTINGS + settings)
    (folder / "spiders.py").write_text(SPIDER.format(url=site.url))
    site.asked.clear()
    done = run_prepared("scrapy", *(part.format(url=site.url) for part in command), folder=folder)
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if " ERROR: " in line]
    return done.returncode, (done.stderr + done.stdout).replace(site.url, ""), errors


STORE = "CRAWLDEDUP_STORE = 'sqlite:///index.sqlite'\n"


@pytest.fixture
def index(site: Site, tmp_path: Path) -> str:
    """The URL of an index of one page of the site, beside that of another program's items."""
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store, extractor="text") as dedup:
        dedup.check(f"{site.url}/a", html=site.pages["/a"].body)
    with Deduplicator(
        store, namespace="default.items", extractor="text", distinguish="nothing"
    ) as items:
        items.check("https://e.com/", text="some words")
    return store


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        # The add-on adds the pipeline, which refuses them, too.
        ("CRAWLDEDUP_SIMILARITY = 9", "CRAWLDEDUP_SIMILARITY is 9; it must be a number above 0.5"),
        (STORE, "was made with different settings"),
    ],
)
def test_a_crawl_that_cannot_start_ends_with_1_and_one_line(
    site: Site, tmp_path: Path, index: str, setting: str, message: str
) -> None:
    settings = f"CRAWLDEDUP_ITEM_FIELDS = ['body']\n{setting}"
    status, _, (line,) = scrapy(tmp_path, site, "crawl", "pages", settings=settings)
    assert (status, message in line, site.asked.total()) == (1, True, 0)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("fetch {url}/near/a -s CRAWLDEDUP_ACTION=drop", "/near/a is near duplicate (0.9"),
        ("parse --spider=pages {url}/near/a --nocolour", "'kind': 'near_duplicate'}]"),
        (
            "shell {url}/b -c [fetch('{url}/near/a'),response.flags]",
            "\n[None, ['crawldedup:near_duplicate']]",
        ),
        ("check pages", "OK"),
    ],
)
def test_a_page_is_shown_with_its_verdict_and_not_remembered(
    site: Site, tmp_path: Path, index: str, command: str, shown: str
) -> None:
    assert shown in scrapy(tmp_path, site, *command.split(), settings=STORE)[1]
    with Deduplicator(index, extractor="text") as dedup:
        assert dedup.info().pages == 1


def test_an_index_that_is_not_there_is_not_begun(site: Site, tmp_path: Path) -> None:
    assert "/a is new" in scrapy(tmp_path, site, "fetch", "{url}/a", settings=STORE)[1]
    assert not (tmp_path / "index.sqlite").exists()
