"""`scrapy dedup`, in this process and as a program."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from crawldedup import Deduplicator
from crawldedup.scrapy_plugin.command import Command
from crawldedup.scrapy_plugin.items import identity_in
from tests.advice.known_site import BUILT_WITH
from tests.commands.test_advise import journal, rules_in
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import article

A, NEAR, OTHER = article(1).body, article(1, changed_words=2).body, article(2).body
FURTHER = article(1, changed_words=14).body
URL = "https://example.com/a"


class News:
    @staticmethod
    def update_settings(settings: Settings) -> None:
        settings.set("CRAWLDEDUP_NAMESPACE", "of-news", priority="spider")


SPIDERS = {"news": News}


def parsed(command: Command, *arguments: str) -> tuple[list[str], argparse.Namespace]:
    """The arguments and options as Scrapy hands them to a command."""
    parser = argparse.ArgumentParser()
    command.settings = command.settings or Settings()
    command.add_options(parser)
    options, rest = parser.parse_known_args(arguments)
    return rest, options


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
def files(tmp_path: Path) -> dict[str, str]:
    pages = {
        "a": A,
        "near": NEAR,
        "further": FURTHER,
        "other": OTHER,
        "empty": b"<p>",
        "few": b"<p>Three small words</p>",
    }
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_bytes(body)
    return {name: str(tmp_path / f"{name}.html") for name in pages}


def test_a_page_that_comes_again_is_judged_as_the_crawls_judge_it(project: Project, files: dict[str, str]) -> None:
    project.settings["CRAWLDEDUP_REVISIT_SIMILARITY"] = 0.8
    for revisit, changed in (("keep", True), ("drop", False)):
        project.settings["CRAWLDEDUP_REVISIT"] = revisit
        (explained,) = project.json("explain", files["near"], "--url", URL)
        assert (explained["kind"], explained["changed"]) == ("revisit", changed)


def test_forget_and_clear(project: Project) -> None:
    assert project.json("forget", URL, "https://example.com/unknown") == [{"forgotten": 1}]
    assert project.json("info")[0]["pages"] == 0
    status, _, err = project.run("clear")
    assert status == 2
    assert "add --yes" in err
    assert project.run("clear", "--yes")[0] == 0


def test_the_index_of_items_is_another(project: Project, tmp_path: Path) -> None:
    project.settings["CRAWLDEDUP_ITEM_FIELDS"] = "body"
    with Deduplicator(sqlite(tmp_path), namespace="default.items", extractor="text") as items:
        for number in range(3):
            url, identity = identity_in({"url": f"https://example.com/#{number}"})
            items.check(url, text=f"{number} words of an item", identity=identity)
    assert project.json("info", "--items")[0]["pages"] == 3
    assert project.json("forget", "--items", "https://example.com/#1", "https://example.com/#3") == [{"forgotten": 1}]
    assert project.json("info", "--items")[0]["pages"] == 2
    assert project.json("info")[0]["pages"] == 1
    project.run("clear", "--items", "--yes")
    assert "there is no index" in project.run("info", "--items")[2]
    assert project.json("info")[0]["pages"] == 1


def test_items_are_forgotten_in_their_scope(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://shop.example.com/a"
    for scope, spider in (("site", []), ("spider", ["--spider", "news"])):
        project = Project(sqlite(tmp_path), capsys, scope=scope, item_fields="body", namespace=scope)
        namespace = "of-news.items" if spider else "site.items"
        with Deduplicator(sqlite(tmp_path), namespace=namespace, extractor="text", scope=scope) as items:
            key = "news" if spider else None
            items.check(url, text="words of an item", identity=identity_in({"url": url})[1], scope_key=key)
        assert project.json("forget", "--items", url, "A-1", *spider) == [{"forgotten": 1}]


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/index.sqlite"


def test_a_scope_of_spiders_needs_a_spider(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Deduplicator(sqlite(tmp_path), extractor="text", namespace="of-news", scope="spider") as crawled:
        crawled.check(URL, html=A, scope_key="news")
    project = Project(sqlite(tmp_path), capsys, scope="spider")
    status, _, err = project.run("explain", files["a"])
    assert (status, "add --spider NAME" in err) == (2, True)
    (verdict,) = project.json("explain", files["a"], "--spider", "news")
    assert (verdict["original"], verdict["scope_key"]) == (URL, "news")
    assert project.json("forget", URL, "--spider", "news") == [{"forgotten": 1}]
    status, _, err = project.run("explain", files["a"], "--spider", "nobody")
    assert (status, "there is no spider 'nobody'; the project's: news" in err) == (2, True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"store": "memory://"}, "the project's crawls keep no index"),
        ({"store": "sqlite:///missing.sqlite"}, "there is no index 'default' in sqlite:///missing.sqlite"),
        ({"similarity": 9}, "CRAWLDEDUP_SIMILARITY is 9"),
        ({"similarty": 0.9}, "did you mean 'CRAWLDEDUP_SIMILARITY'?"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(
    settings: dict[str, Any],
    message: str,
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    project = Project(capsys=capsys, **{"store": sqlite(tmp_path), **settings})
    for action, *pages in (["explain", files["a"]], ["forget", URL], ["info"]):
        status, out, err = project.run(action, *pages)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert not list(tmp_path.glob("*.sqlite"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain"], "explain needs the pages"),
        (["forget"], "forget needs the pages"),
        (["info", "a.html"], "info takes no pages"),
        (["explain", "a.html", "--jsn"], "there is no option --jsn"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], message: str) -> None:
    command = Command()
    with pytest.raises(UsageError, match=re.escape(message)):
        command.run(*parsed(command, *arguments))


def test_advice_is_that_of_the_projects_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project("memory://", capsys, journal=journal(tmp_path))
    (rules,) = project.json("advise", "--crawl", "known")
    assert rules_in(rules) == {*BUILT_WITH}
    status, out, err = project.run("advise", "--format", "duplicate-url-discarder", str(tmp_path / "known.jsonl"))
    assert status == 0
    assert len(json.loads(out)) == 4
    assert " is left out: the tool can only remove parts of URLs" in err
    project.settings["CRAWLDEDUP_JOURNAL"] = False
    assert project.run("advise")[::2] == (2, "crawldedup: CRAWLDEDUP_JOURNAL is False: name the journals to read\n")


def test_as_a_program_it_asks_the_index_of_a_job_and_touches_nothing_of_its_crawls(tmp_path: Path) -> None:
    job, page, feed = tmp_path / "job", tmp_path / "near.html", tmp_path / "items.jsonl"
    job.mkdir()
    page.write_bytes(NEAR)
    feed.write_text("what an earlier crawl wrote\n")
    with Deduplicator(f"sqlite:///{job}/crawldedup.sqlite", extractor="text") as crawled:
        crawled.check(URL, html=A)
    feeds = json.dumps({str(feed): {"format": "jsonlines", "overwrite": True}})
    settings = {"JOBDIR": str(job), "CRAWLDEDUP_EXTRACTOR": "text", "FEEDS": feeds}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    done = run_prepared("scrapy", "dedup", "explain", str(page), *options, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "near.html: near duplicate (0.9" in done.stdout
    assert feed.read_text() == "what an earlier crawl wrote\n"
    assert [path.name for path in job.iterdir() if not path.name.startswith("crawldedup.sqlite")] == []


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    with Deduplicator(sqlite(tmp_path), extractor="text") as crawled:
        crawled.check(URL, html=A)
    settings = ["-s", f"CRAWLDEDUP_STORE={sqlite(tmp_path)}", "-s", "CRAWLDEDUP_EXTRACTOR=text"]
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "dedup", "info", "--json", *settings],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(60) == 0
