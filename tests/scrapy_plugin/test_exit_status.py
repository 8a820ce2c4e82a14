"""The exit status of `scrapy crawl`, as cron and CI see it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from tests.scrapy_plugin.prepared import run_prepared
from tests.scrapy_plugin.website import Site, article

PROGRAM = Path(__file__).parent / "scrapy_program.py"
SPIDER = """
import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["{url}/a"]

    def parse(self, response):
        yield {{"body": response.text}}
"""
SETTINGS = """
SPIDER_MODULES = ["spiders"]
ADDONS = {"crawldedup.Addon": 500}
CRAWLDEDUP_EXTRACTOR = "text"
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site({"/a": article(1)}) as running:
        yield running


def scrapy(
    folder: Path, site: Site, *command: str, settings: str = "", config: str = ""
) -> subprocess.CompletedProcess[str]:
    (folder / "scrapy.cfg").write_text(f"[settings]\ndefault = project_settings\n{config}")
    (folder / "project_settings.py").write_text(SETTINGS + settings)
    (folder / "spiders.py").write_text(SPIDER.format(url=site.url))
    site.asked.clear()
    return run_prepared(str(PROGRAM), *command, folder=folder)


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
    arguments = [part.format(url=site.url) for part in command]
    done = scrapy(tmp_path, site, *arguments, settings="CRAWLDEDUP_SIMILARITY = 9")
    (line,) = errors(done)
    assert "CRAWLDEDUP_SIMILARITY is 9" in line
    # The shell works, and checks nothing.
    assert command[0] == "fetch" or (done.returncode, done.stdout) == (0, "200\n")
