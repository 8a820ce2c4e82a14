"""Scrapy's own commands that show a page to a person, as a person runs them."""

from __future__ import annotations

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

    def parse(self, response):
        """Contracts.

        @url {url}/near
        @returns items 1 1
        """
        yield {{"kind": str(response.meta["crawldedup_verdict"].kind)}}
'''
SETTINGS = """
SPIDER_MODULES = ["spiders"]
ADDONS = {{"crawldedup.Addon": 500}}
DUPEFILTER_CLASS = "scrapy.dupefilters.RFPDupeFilter"
CRAWLDEDUP_REMEMBER = True
CRAWLDEDUP_EXTRACTOR = "text"
CRAWLDEDUP_STORE = "{store}"
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site({"/a": article(1), "/near": article(1, changed_words=2), "/b": article(2)}) as running:
        yield running


class Project:
    def __init__(self, folder: Path, site: Site, store: str) -> None:
        self.folder, self.site, self.store = folder, site, store
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
        (folder / "project_settings.py").write_text(SETTINGS.format(store=store))
        (folder / "spiders.py").write_text(SPIDER.format(url=site.url))

    def remember(self, path: str) -> None:
        with Deduplicator(self.store, extractor="text") as dedup:
            dedup.check(self.site.url + path, html=self.site.pages[path].body)

    def pages(self) -> int:
        with Deduplicator(self.store, extractor="text") as dedup:
            return dedup.info().pages

    def scrapy(self, *command: str) -> str:
        arguments = [part.format(url=self.site.url) for part in command]
        done = run_prepared(str(PROGRAM), *arguments, folder=self.folder)
        assert "Traceback" not in done.stderr
        return (done.stderr + done.stdout).replace(self.site.url, "")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["fetch", "{url}/near", "-s", "CRAWLDEDUP_ACTION=drop"], "/near is near duplicate (0.9"),
        (["parse", "--spider=pages", "{url}/near", "--nocolour"], "[{'kind': 'near_duplicate'}]"),
        (["shell", "{url}/near", "-c", "response.flags"], "\n['crawldedup:near_duplicate']"),
        (["shell", "{url}/b", "-c", "[fetch('{url}/near'), response]"], "/near is near"),
        (["check", "pages"], "OK"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_page_is_shown_with_its_verdict_and_not_remembered(
    site: Site, tmp_path: Path, command: list[str], shown: str
) -> None:
    project = Project(tmp_path, site, f"sqlite:///{tmp_path}/index.sqlite")
    project.remember("/a")
    assert shown in project.scrapy(*command)
    assert project.pages() == 1


def test_the_shell_on_another_reactor_shows_pages_and_says_what_checking_them_needs(site: Site, tmp_path: Path) -> None:
    project = Project(tmp_path, site, f"sqlite:///{tmp_path}/index.sqlite")
    reactor = "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"
    said = project.scrapy("shell", "{url}/b", "-c", "[fetch('{url}/near'), response]", "-s", reactor)
    assert "<200 /near>" in said
    assert "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default" in said


def test_an_index_that_is_not_there_is_not_begun(site: Site, tmp_path: Path) -> None:
    project = Project(tmp_path, site, f"sqlite:///{tmp_path}/none.sqlite")
    assert "/a is new" in project.scrapy("fetch", "{url}/a")
    assert not (tmp_path / "none.sqlite").exists()
