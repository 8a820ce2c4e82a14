"""Scrapy's own commands, as a person or cron runs them: what they show, and their exit status."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Site, article

PROGRAM = Path(__file__).parent / "scrapy_program.py"
SPIDER = '''
import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["{url}/a"]

    def parse(self, response):
        """Contracts.

        @url {url}/near
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


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site({"/a": article(1), "/near": article(1, changed_words=2), "/b": article(2)}) as running:
        yield running


def scrapy(
    folder: Path, site: Site, *command: str, settings: str = "", config: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command in a project of this folder. `{url}` in it is the site's."""
    (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = project_settings\n{config}")
    (folder / "project_settings.py").write_text(SETTINGS + settings)
    (folder / "spiders.py").write_text(SPIDER.format(url=site.url))
    site.asked.clear()
    return run_prepared(str(PROGRAM), *(part.format(url=site.url) for part in command), folder=folder)


def said_by(done: subprocess.CompletedProcess[str], site: Site) -> str:
    assert "Traceback" not in done.stderr
    return (done.stderr + done.stdout).replace(site.url, "")


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if " ERROR: " in line]


def test_a_crawl_that_ran_ends_with_0(site: Site, tmp_path: Path) -> None:
    done = scrapy(tmp_path, site, "crawl", "pages", settings="CRAWLDEDUP_ITEM_FIELDS = ['body']")
    assert (done.returncode, errors(done), site.asked["/a"]) == (0, [], 1)


def test_a_data_directory_that_cannot_be_made_costs_the_journal_alone(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = scrapy(tmp_path, site, "crawl", "pages", config=f"[datadir]\ndefault = {tmp_path}/file/data\n")
    assert (done.returncode, errors(done), site.asked["/a"]) == (0, [], 1)
    (warning,) = [line for line in done.stderr.splitlines() if " WARNING: " in line]
    assert "crawldedup: cannot write the journal, and the crawl goes on: " in warning
    assert f"{tmp_path}/file/data" in warning


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("CRAWLDEDUP_SIMILARITY = 9", "CRAWLDEDUP_SIMILARITY is 9; it must be a number above 0.5"),
        # The add-on adds the pipeline, which refuses them.
        ("CRAWLDEDUP_ITEM_FIELDS = []", "CRAWLDEDUP_ITEM_FIELDS is []"),
        # By itself.
        (
            "ADDONS = {}\nITEM_PIPELINES = {'crawldedup.DedupItemPipeline': 400}",
            "CRAWLDEDUP_ITEM_FIELDS is not set",
        ),
        (
            "ADDONS = {}\nDOWNLOADER_MIDDLEWARES = {'crawldedup.scrapy_plugin.DedupMiddleware': 545}\n"
            "CRAWLDEDUP_ACTION = 'drop-items'",
            "The action 'drop-items' needs a spider middleware",
        ),
        ("CRAWLDEDUP_STORE = 'sqlite:///dir.sqlite/'", "sqlite:///dir.sqlite/"),
    ],
)
def test_a_refused_setting_ends_it_with_1_and_one_line(site: Site, tmp_path: Path, settings: str, message: str) -> None:
    done = scrapy(tmp_path, site, "crawl", "pages", settings=settings)
    (line,) = errors(done)
    assert message in line
    assert done.returncode == 1
    assert not site.asked


@pytest.mark.parametrize("namespace", ["default", "default.items"])
def test_an_index_of_another_profile_ends_it_with_1(site: Site, tmp_path: Path, namespace: str) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Deduplicator(store, namespace=namespace, extractor="text", distinguish="nothing") as other:
        other.check("https://e.com/", text="some words")
    settings = f"CRAWLDEDUP_STORE = '{store}'\nCRAWLDEDUP_ITEM_FIELDS = ['body']"
    done = scrapy(tmp_path, site, "crawl", "pages", settings=settings)
    (line,) = errors(done)
    assert "holds fingerprints of the profile" in line
    assert done.returncode == 1
    assert not site.asked


@pytest.mark.parametrize("command", [["fetch", "{url}/a"], ["shell", "{url}/a", "-c", "response.status"]])
def test_a_command_that_shows_a_page_says_it_too(site: Site, tmp_path: Path, command: list[str]) -> None:
    done = scrapy(tmp_path, site, *command, settings="CRAWLDEDUP_SIMILARITY = 9")
    (line,) = errors(done)
    assert "CRAWLDEDUP_SIMILARITY is 9" in line
    # The shell works, and checks nothing.
    assert command[0] == "fetch" or (done.returncode, done.stdout) == (0, "200\n")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["fetch", "{url}/near", "-s", "CRAWLDEDUP_ACTION=drop"], "/near is near duplicate (0.9"),
        (["parse", "--spider=pages", "{url}/near", "--nocolour"], "'kind': 'near_duplicate'}]"),
        (["shell", "{url}/near", "-c", "response.flags"], "\n['crawldedup:near_duplicate']"),
        (["shell", "{url}/b", "-c", "[fetch('{url}/near'), response]"], "/near is near"),
        (["check", "pages"], "OK"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_page_is_shown_with_its_verdict_and_not_remembered(
    site: Site, tmp_path: Path, command: list[str], shown: str
) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store, extractor="text") as dedup:
        dedup.check(f"{site.url}/a", html=site.pages["/a"].body)
    assert shown in said_by(scrapy(tmp_path, site, *command, settings=f"CRAWLDEDUP_STORE = '{store}'"), site)
    with Deduplicator(store, extractor="text") as dedup:
        assert dedup.info().pages == 1


def test_the_shell_on_another_reactor_shows_pages_and_says_what_checking_them_needs(site: Site, tmp_path: Path) -> None:
    reactor = "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"
    done = scrapy(tmp_path, site, "shell", "{url}/b", "-c", "[fetch('{url}/near'), response]", "-s", reactor)
    said = said_by(done, site)
    assert "<200 /near>" in said
    assert "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default" in said


def test_an_index_that_is_not_there_is_not_begun(site: Site, tmp_path: Path) -> None:
    done = scrapy(tmp_path, site, "fetch", "{url}/a", settings=f"CRAWLDEDUP_STORE = 'sqlite:///{tmp_path}/none.sqlite'")
    assert "/a is new" in said_by(done, site)
    assert not (tmp_path / "none.sqlite").exists()
