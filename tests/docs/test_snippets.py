"""The code that the documentation shows runs as it is shown."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from crawldedup.reading.extract import custom_extractor
from crawldedup.reading.html import HtmlPage
from crawldedup.scrapy_plugin import DuplicatePageError
from crawldedup.scrapy_plugin.settings import PREFIX, CrawlOptions
from crawldedup.verdict import Kind, Verdict
from tests.docs.pages import SITE, Block, blocks

# What needs Apache Spark or crawl4ai is run in tests of its own.
PYTHON = [block for block in blocks("python") if "spark" not in block.page.name and "crawl4ai" not in block.code]
OF_SETTINGS = [block for block in PYTHON if block.code.startswith(PREFIX)]


def run(block: Block) -> dict[str, Any]:
    """Run a block and return its names; one that is part of a callback is only compiled."""
    names: dict[str, Any] = {}
    code = block.code
    if code.startswith("yield "):
        compile("def parse(self, response):\n" + textwrap.indent(code, "    "), block.name, "exec")
    else:
        exec(compile(f"from __future__ import annotations\n{code}", block.name, "exec"), names)
    return names


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_a_snippet_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(block)


@pytest.mark.parametrize("block", OF_SETTINGS, ids=lambda block: block.name)
def test_settings_can_be_pasted(block: Block) -> None:
    settings = Settings({name: value for name, value in run(block).items() if name.isupper()})
    if (extractor := f"{PREFIX}EXTRACTOR") in settings:
        settings.pop(extractor)  # of a project that is not here
        assert len(settings) == len(Settings())
    else:
        assert CrawlOptions.from_settings(settings) != CrawlOptions.from_settings(Settings())


def snippet(page: str, start: str) -> dict[str, Any]:
    (block,) = (block for block in PYTHON if block.page == SITE / page and start in block.code)
    return run(block)


def test_the_errback_gets_the_original() -> None:
    said = []

    class Failure:
        value = DuplicatePageError("a copy", Verdict(Kind.EXACT_DUPLICATE, "https://b/", "https://a/"))
        request = type("Request", (), {"url": "https://b/"})

        def check(self, *kinds: type) -> bool:
            return isinstance(self.value, kinds)

    logger = type("Logger", (), {"info": staticmethod(lambda *words: said.append(words))})
    on_error = snippet("how-to/choose-an-action.md", "def on_error")["on_error"]
    on_error(type("Spider", (), {"logger": logger}), Failure())
    assert said == [("%s repeats %s", "https://b/", "https://a/")]


def test_the_extension_writes_duplicates(tmp_path: Path) -> None:
    extension = snippet("how-to/choose-an-action.md", "class DuplicatesFile")["DuplicatesFile"](tmp_path / "d.jsonl")
    extension.page_deduplicated(Verdict(Kind.EXACT_DUPLICATE, "https://b/", "https://a/"), dropped=True)
    assert '"original": "https://a/"' in (tmp_path / "d.jsonl").read_text()


def test_the_extractor_is_one() -> None:
    main_text = snippet("how-to/own-extractor.md", "def main_text")["main_text"]
    assert custom_extractor("myproject.pages.main_text", main_text).extract(HtmlPage("<p>")) == ""
