"""The code that the documentation and the docstrings show runs as it is shown."""

import asyncio
import doctest
import textwrap
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.settings import Settings

from crawldedup.journal import FileJournal, line_of
from crawldedup.reading.extract import custom_extractor
from crawldedup.reading.html import HtmlPage
from crawldedup.scrapy_plugin import DuplicatePageError
from crawldedup.scrapy_plugin.settings import PREFIX, read_settings
from crawldedup.verdict import Kind, Verdict
from tests.docs.pages import ROOT, SITE, Block, blocks
from tests.journal.lines import END, START, header, page

# What needs Apache Spark or crawl4ai is run in tests of its own.
PYTHON = [
    block
    for block in blocks("python")
    if "spark" not in block.page.name and "crawl4ai" not in block.code
]
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
def test_settings_can_be_pasted(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apart.jl").touch()
    settings = Settings({name: value for name, value in run(block).items() if name.isupper()})
    if (extractor := f"{PREFIX}EXTRACTOR") in settings:
        settings.pop(extractor)  # of a project that is not here
        assert len(settings) == len(Settings())
    else:
        assert read_settings(settings) != read_settings(Settings())


def test_snippets_do_what_they_are_for(tmp_path: Path) -> None:
    def snippet(page: str, start: str) -> Any:
        (block,) = (block for block in PYTHON if block.page == SITE / page and start in block.code)
        return run(block)[start.split()[1]]

    verdict, said = Verdict(Kind.EXACT_DUPLICATE, "https://b/", "https://a/"), []
    error = DuplicatePageError("a copy", verdict)
    failure = SimpleNamespace(
        value=error,
        request=SimpleNamespace(url="https://b/"),
        check=lambda *kinds: isinstance(error, kinds),
    )
    spider = SimpleNamespace(logger=SimpleNamespace(info=lambda *words: said.append(words)))
    snippet("how-to/choose-an-action.md", "def on_error")(spider, failure)
    assert said == [("%s repeats %s", "https://b/", "https://a/")]
    extension = snippet("how-to/choose-an-action.md", "class DuplicatesFile")(tmp_path / "d.jsonl")
    extension.page_deduplicated(verdict, dropped=True)
    assert '"original": "https://a/"' in (tmp_path / "d.jsonl").read_text()
    main_text = snippet("how-to/own-extractor.md", "def main_text")
    assert custom_extractor("myproject.pages.main_text", main_text).extract(HtmlPage("<p>")) == ""


def test_the_pages_of_the_last_crawl_are_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in PYTHON if "def urls_of_last_crawl" in block.code)
    names = run(block)
    folder = Path(".scrapy/crawldedup")

    def write(crawl: str, at: int, *lines: dict[str, Any], spider: str = "news") -> FileJournal:
        about = header(crawl, started=START + at) | {"spider": spider}
        journal = FileJournal(folder, about, keep=9)
        for line in lines:
            journal.write(line_of(line))
        return journal

    # The journal of the crawl that is running is there before its first request.
    running = write("now", 50, page(6))
    requested = names["NewsSpider"]().start

    async def urls() -> list[str]:
        return [request.url async for request in requested()]

    assert asyncio.run(urls()) == ["https://news.example/"]
    pages = [page(1), page(2) | {"outcome": "near"}, page(3) | {"outcome": "revisit"}]
    others = [page(4) | {"outcome": "skipped"}, {"t": 1, "skipped": "https://e.com/5"}]
    write("first", 10, page(7), END).close()
    write("second", 20, *pages, *others, END).close()
    write("killed", 30, page(8)).close()
    write("shop", 40, page(9), END, spider="shop").close()
    expected = ["https://news.example/", "https://e.com/1", "https://e.com/3"]
    assert asyncio.run(urls()) == expected
    running.close()


EXAMPLES = [
    path for path in sorted((ROOT / "crawldedup").rglob("*.py")) if ">>>" in path.read_text("utf-8")
]


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    said: list[str] = []
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        journal = FileJournal(folder / "journals", header("news"), keep=1)
        for line in (page(1), page(2), END):
            journal.write(line_of(line))
        journal.close()
        doctest.DocTestRunner().run(test, out=said.append)
    assert "".join(said) == ""
