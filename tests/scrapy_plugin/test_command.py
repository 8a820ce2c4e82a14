"""`scrapy dedup`: on every shared store, and as a program that fetches from a real server."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest
from crawldedup.scrapy_plugin.commands.actions import run_action
from crawldedup.scrapy_plugin.commands.dedup import Command
from crawldedup.scrapy_plugin.items.text import identity_in
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from crawldedup import Deduplicator
from crawldedup.advice.rules import Rule
from tests.advice.known_site import BUILT_WITH
from tests.commands.test_advise import journal
from tests.scrapy_plugin.conftest import store_url
from tests.scrapy_plugin.crawling import MODES
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Answer, Site, article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stores.backends import Backend

A, NEAR, OTHER = article(1).body, article(1, changed_words=2).body, article(2).body
FURTHER = article(1, changed_words=14).body
URL = "https://example.com/a"


def parsed(*arguments: str) -> tuple[list[str], argparse.Namespace]:
    """The arguments and options as Scrapy hands them to a command."""
    command = Command()
    command.settings = Settings()
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    options, rest = parser.parse_known_args(arguments)
    return rest, options


class FakeSpiders:
    def list(self) -> list[str]:
        return ["news"]

    def load(self, name: str) -> Any:
        if name != "news":
            raise KeyError(name)

        class News:
            @staticmethod
            def update_settings(settings: Settings) -> None:
                settings.set("CRAWLDEDUP_NAMESPACE", "of-news", priority="spider")

        return News


class FakeProcess:
    spider_loader = FakeSpiders()


class Project:
    """A project's settings, and its index."""

    def __init__(self, store: str, capsys: pytest.CaptureFixture[str], **settings: Any) -> None:
        self.settings = {"CRAWLDEDUP_STORE": store, "CRAWLDEDUP_EXTRACTOR": "text"}
        self.settings |= {f"CRAWLDEDUP_{name.upper()}": value for name, value in settings.items()}
        self.capsys = capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        (action, *pages), options = parsed(*arguments)
        status = run_action(action, pages, options, Settings(self.settings), FakeProcess())  # type: ignore[arg-type]
        out, err = self.capsys.readouterr()
        return status, out, err

    def json(self, *arguments: str) -> list[Any]:
        status, out, err = self.run(*arguments, "--json")
        assert (status, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def project(shared_backend: Backend, capsys: pytest.CaptureFixture[str]) -> Project:
    """A project that has crawled one page."""
    with Deduplicator(shared_backend.url, extractor="text") as crawled:
        crawled.check(URL, html=A)
    return Project(shared_backend.url, capsys)


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


def test_check_looks_only_unless_it_is_told_to_remember(project: Project, files: dict[str, str]) -> None:
    names = [files[name] for name in ("a", "near", "other", "few")]
    for _ in range(2):
        verdicts = project.json("check", *names)
        assert [verdict["kind"] for verdict in verdicts] == ["exact_duplicate", "near_duplicate", "new", "thin"]
        assert [verdict["original"] for verdict in verdicts] == [URL, URL, None, None]
        assert not any(verdict["remembered"] for verdict in verdicts)
        assert project.json("info")[0]["pages"] == 1
    (own,) = project.json("check", files["a"], "--url", URL)
    assert own["kind"] == "revisit"
    (added,) = project.json("check", files["other"], "--remember")
    assert (added["kind"], added["remembered"]) == ("new", True)
    assert project.json("info")[0]["pages"] == 2


def test_a_page_that_comes_again_is_judged_as_the_crawls_judge_it(project: Project, files: dict[str, str]) -> None:
    again = [files["near"], "--url", URL]
    project.settings["CRAWLDEDUP_REVISIT_SIMILARITY"] = 0.8
    for revisit, changed in (("keep", True), ("drop", False)):
        project.settings["CRAWLDEDUP_REVISIT"] = revisit
        ((looked,), (explained,)) = (project.json(action, *again) for action in ("check", "explain"))
        assert [(verdict["kind"], verdict["changed"]) for verdict in (looked, explained)] == [("revisit", changed)] * 2
    (remembered,) = project.json("check", *again, "--remember")
    assert not remembered["changed"]
    assert project.json("check", files["a"])[0]["kind"] == "exact_duplicate"


def test_check_in_words(project: Project, files: dict[str, str]) -> None:
    status, out, err = project.run("check", files["near"], files["empty"], files["other"])
    assert (status, err) == (0, "")
    near, empty, other = out.splitlines()
    assert "/near.html: near duplicate (0.9" in near
    assert near.endswith(f") of {URL}")
    assert "/empty.html: skipped (empty): " in empty
    assert other.endswith("/other.html: new")


def test_what_cannot_be_read_is_said_and_the_rest_is_checked(project: Project, files: dict[str, str]) -> None:
    status, out, err = project.run("check", "nothing.html", files["a"])
    assert status == 1
    assert out.endswith(f"/a.html: exact duplicate of {URL}\n")
    assert "'nothing.html' is no file" in err


def test_explain_tells_what_was_compared_and_by_which_threshold(project: Project, files: dict[str, str]) -> None:
    near, further = project.json("explain", files["near"], files["further"])
    assert (near["kind"], further["kind"]) == ("near_duplicate", "new")
    assert near["words"] > 300
    assert near["text"].startswith("Article")
    assert 0.84 < near["threshold"] < 0.9
    assert near["wanted_similarity"] == 0.9
    assert near["candidates"] == 1
    assert near["pages"] == 1
    (match,) = near["compared"]
    assert match["url"] == URL
    assert match["accepted"]
    assert match["cost"] <= near["limit"]
    assert match["similarity"] == near["similarity"] > near["threshold"]
    (refused,) = further["compared"]
    assert not refused["accepted"]
    assert refused["cost"] > further["limit"]
    assert 0.5 < refused["similarity"] < further["threshold"]


def test_explain_in_words(project: Project, files: dict[str, str]) -> None:
    status, out, _ = project.run("explain", files["near"], files["few"])
    assert status == 0
    assert "namespace default, 1 page\n" in out
    assert "an estimated similarity of about 0.8" in out
    assert f"accepted   {URL}\n             similarity 0.9" in out
    assert "/few.html: thin\n" in out
    assert "an exact copy only, for the page is thin" in out


def test_explain_changes_nothing(project: Project, files: dict[str, str], shared_backend: Backend) -> None:
    project.run("explain", files["near"])
    before = project.json("info")[0]
    copies = project.json("explain", files["near"])[0]["copies"]
    assert project.json("explain", files["near"])[0]["copies"] == copies == 1
    assert project.json("info")[0]["pages"] == before["pages"] == 1


@pytest.mark.parametrize("name", ["a", "near", "further", "other", "few"])
def test_explain_and_check_agree_with_a_crawl(project: Project, files: dict[str, str], name: str) -> None:
    (looked,), (explained,) = project.json("check", files[name]), project.json("explain", files[name])
    (crawled,) = project.json("check", files[name], "--remember")
    parts = ("kind", "original", "similarity", "hamming", "words", "copies", "changed")
    assert [looked[part] for part in parts] == [explained[part] for part in parts] == [crawled[part] for part in parts]


def test_facts_are_shown(project: Project, tmp_path: Path) -> None:
    page = tmp_path / "product.html"
    page.write_text(
        "<html><head><title>Tide book</title></head><body><main><h1>Tide book</h1><p>&pound; 16.00</p>"
        "<button>Add to basket</button><p>A book of tables that tells when the water comes and when it goes again, for "
        "every harbour of this coast, on paper that does not mind being wet.</p></main></body></html>"
    )
    (product,) = project.json("explain", str(page))
    assert "price £16" in product["facts"]
    assert "  attribute  price £16" in project.run("explain", str(page))[1]


def test_forget_prune_and_clear(project: Project) -> None:
    assert project.json("forget", URL, "https://example.com/unknown") == [{"forgotten": 1}]
    assert project.json("info")[0]["pages"] == 0
    status, _, err = project.run("prune")
    assert status == 2
    assert "set CRAWLDEDUP_TTL or CRAWLDEDUP_MAX_PAGES" in err
    project.settings["CRAWLDEDUP_MAX_PAGES"] = "1"
    assert project.json("prune") == [{"freed": 0, "pages": 0}]
    status, _, err = project.run("clear")
    assert status == 2
    assert "add --yes" in err
    assert project.run("clear", "--yes")[0] == 0


def test_the_index_of_items_is_another(project: Project, shared_backend: Backend) -> None:
    project.settings["CRAWLDEDUP_ITEM_FIELDS"] = "body"
    with Deduplicator(shared_backend.url, namespace="default.items", extractor="text") as items:
        for number in range(3):
            url, identity = identity_in({"url": f"https://example.com/#{number}"})
            items.check(url, text=f"{number} words of an item", identity=identity)
    assert project.json("info", "--items")[0]["pages"] == 3
    assert project.json("forget", "--items", "https://example.com/#1", "https://example.com/#3") == [{"forgotten": 1}]
    assert project.json("info", "--items")[0]["pages"] == 2
    assert project.json("info")[0]["pages"] == 1
    project.run("clear", "--items", "--yes")
    assert project.json("info", "--items")[0]["pages"] == 0
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


@pytest.mark.parametrize("arguments", [["check", "a.html"], ["explain", "a.html"], ["forget", URL], ["info"]])
def test_a_namespace_without_an_index_is_answered_with_those_that_are(
    project: Project, files: dict[str, str], arguments: list[str]
) -> None:
    project.settings["CRAWLDEDUP_NAMESPACE"] = "defautl"
    status, out, err = project.run(*[files["a"] if name == "a.html" else name for name in arguments])
    assert (status, out) == (2, "")
    assert "there is no index 'defautl' in " in err
    assert "; there are: default\n" in err


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder}/index.sqlite"


def test_a_scope_of_spiders_needs_a_spider(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Deduplicator(sqlite(tmp_path), extractor="text", namespace="of-news", scope="spider") as crawled:
        crawled.check(URL, html=A, scope_key="news")
    project = Project(sqlite(tmp_path), capsys, scope="spider")
    status, _, err = project.run("check", files["a"])
    assert status == 2
    assert "add --spider NAME" in err
    (verdict,) = project.json("check", files["a"], "--spider", "news")
    assert verdict["original"] == URL
    assert project.json("explain", files["a"], "--spider", "news")[0]["scope_key"] == "news"
    assert project.json("forget", URL, "--spider", "news") == [{"forgotten": 1}]
    status, _, err = project.run("check", files["a"], "--spider", "nobody")
    assert status == 2
    assert "there is no spider 'nobody'; the project's spiders: news" in err


def test_a_scope_of_sites_takes_the_site_of_the_url(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with Deduplicator(sqlite(tmp_path), extractor="text", scope="site") as crawled:
        crawled.check(URL, html=A)
    project = Project(sqlite(tmp_path), capsys, scope="site")
    kinds = [
        project.json(action, files["a"], "--url", url)[0]["kind"]
        for action in ("check", "explain")
        for url in ("https://www.example.com/b", "https://example.org/b")
    ]
    assert kinds == ["exact_duplicate", "new"] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"store": "memory://"}, "the project's crawls keep no index"),
        ({"store": "sqlite:///missing.sqlite"}, "sqlite:///missing.sqlite; it holds none at all"),
        ({"similarity": 9}, "CRAWLDEDUP_SIMILARITY is 9"),
        ({"similarty": 0.9}, "did you mean 'CRAWLDEDUP_SIMILARITY'?"),
    ],
)
@pytest.mark.parametrize("action", ["check", "explain", "forget", "info"])
def test_what_is_not_possible_is_said_in_one_line(
    action: str,
    settings: dict[str, Any],
    message: str,
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    pages = [] if action == "info" else [files["a"]]
    status, out, err = Project(capsys=capsys, **{"store": sqlite(tmp_path), **settings}).run(action, *pages)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("*.sqlite"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name an action"),
        (["chek", "a.html"], "there is no action 'chek'; did you mean 'check'?"),
        (["everything"], "there is no action 'everything'; actions: check, explain"),
        (["check"], "check needs the URL of a page"),
        (["info", "a.html"], "info takes no pages, but 'a.html' was given"),
        (["check", "a.html", "--jsn"], "there is no option --jsn; did you mean '--json'?"),
        (["explain", "a.html", "--remember"], "--remember is for check only"),
        (["explain", "a.html", "--items"], "explain is for pages"),
        (["check", "a.html", "b.html", "--url", URL], "--url is for one page"),
        (["forget", URL, "--url", URL], "--url is for one page to check or explain"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], message: str) -> None:
    rest, options = parsed(*arguments)
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        Command().run(rest, options)


def test_advice_is_that_of_the_projects_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project("memory://", capsys, journal=journal(tmp_path))
    (rules,) = project.json("advise")
    assert {Rule.from_dict(each).id for each in rules} == BUILT_WITH
    status, out, err = project.run("advise", "--format", "duplicate-url-discarder", str(tmp_path / "known.jsonl"))
    assert status == 0
    assert len(json.loads(out)) == 4
    assert "rules left out" in err
    project.settings["CRAWLDEDUP_JOURNAL"] = False
    assert project.run("advise")[::2] == (2, "crawldedup: CRAWLDEDUP_JOURNAL is False: name the journals to read\n")


def test_scrapy_finds_the_command() -> None:
    (found,) = entry_points(group="scrapy.commands", name="dedup")
    assert found.load() is Command


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain"),
            "/a": article(1),
            "/near": article(1, changed_words=2),
            "/canonical": article(1, changed_words=10, head="<link rel=canonical href=/a>"),
            "/moved": Answer(b"", 302, headers={"Location": "/near"}),
            "/missing": Answer(b"not found", 404),
            "/private": article(3),
            "/notes.txt": Answer(b"all the words of a note in plain text " * 9, content_type="text/plain"),
        }
    ) as running:
        yield running


def scrapy(folder: Path, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    options = [f"{name}={value}" for name, value in settings.items()]
    # Warnings would show on standard error, which the tests look at.
    return run_prepared(
        "scrapy", "dedup", *arguments, *(part for option in options for part in ("-s", option)), folder=folder
    )


# The mode decides how a page comes, the store who is asked: they do not touch each other.
@pytest.mark.parametrize(("mode", "kind"), list(zip(MODES, ["sqlite", "redis", "sqlite"], strict=False)))
def test_pages_are_fetched_as_a_crawl_would(
    site: Site, tmp_path: Path, request: pytest.FixtureRequest, mode: str, kind: str
) -> None:
    store = store_url(kind, request, tmp_path)
    with Deduplicator(store, extractor="text") as crawled:
        crawled.check(site.url + "/a", html=A)
    names = ["/a", "/moved", "/missing", "/private", "/notes.txt"]
    done = scrapy(
        tmp_path,
        "check",
        "--json",
        "http://[::1",
        *(site.url + name for name in names),
        CRAWLDEDUP_STORE=store,
        CRAWLDEDUP_EXTRACTOR="text",
        CLOSESPIDER_PAGECOUNT_NO_ITEM=1,
        ROBOTSTXT_OBEY=True,
        USER_AGENT="somebody",
        **MODES[mode],
    )
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    shown = [(line["url"].removeprefix(site.url), line.get("kind") or line["skipped"]) for line in lines]
    assert shown == [("/a", "revisit"), ("/near", "near_duplicate"), ("/missing", "status"), ("/notes.txt", "new")]
    no_url, refused = done.stderr.splitlines()
    assert no_url.startswith("crawldedup: http://[::1 cannot be fetched")
    assert refused.startswith(f"crawldedup: {site.url}/private cannot be fetched")


def test_nothing_of_the_projects_crawls_is_touched(site: Site, tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    with Deduplicator(f"sqlite:///{job}/crawldedup.sqlite", extractor="text") as crawled:
        crawled.check(site.url + "/a", html=A)
    feed = tmp_path / "items.jsonl"
    feed.write_text("what an earlier crawl wrote\n")
    done = scrapy(
        tmp_path,
        "explain",
        site.url + "/near",
        JOBDIR=str(job),
        CRAWLDEDUP_EXTRACTOR="text",
        ADDONS=json.dumps({"crawldedup.Addon": 500}),
        FEEDS=json.dumps({str(feed): {"format": "jsonlines", "overwrite": True}}),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{site.url}/near: near duplicate (0.9")
    assert feed.read_text() == "what an earlier crawl wrote\n"
    assert [path.name for path in job.iterdir() if not path.name.startswith("crawldedup.sqlite")] == []


def test_a_page_that_names_its_original_is_judged_as_in_a_crawl(site: Site, tmp_path: Path) -> None:
    with Deduplicator(sqlite(tmp_path), extractor="text") as crawled:
        crawled.check(site.url + "/a", html=A)
    settings = {"CRAWLDEDUP_STORE": sqlite(tmp_path), "CRAWLDEDUP_EXTRACTOR": "text"}
    url = site.url + "/canonical"
    found = [
        [
            json.loads(scrapy(tmp_path, action, url, "--json", CRAWLDEDUP_CANONICAL=canonical, **settings).stdout)
            for action in ("check", "explain")
        ]
        for canonical in ("ignore", "compare")
    ]
    assert [[verdict["kind"] for verdict in pair] for pair in found] == [["new"] * 2, ["near_duplicate"] * 2]
    assert found[1][1]["wanted_similarity"] < found[0][1]["wanted_similarity"]


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
