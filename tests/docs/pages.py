"""The pages of the documentation, as the tests read them."""

import re
import runpy
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "example_project" / "README.md",
    *sorted(path for path in SITE.rglob("*.md") if "_build" not in path.parts),
]
# Pages that the site shows by including them, or not at all.
PROJECT_PAGES = [ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]


class Block(NamedTuple):
    """One block of code in a page."""

    page: Path
    line: int
    language: str
    code: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str, pages: list[Path] = PAGES) -> list[Block]:
    """Return the blocks of code in these languages."""
    return [block for page in pages for block in _blocks_of(page) if block.language in languages]


def _blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    fences = re.finditer(r"^```(\w+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [
        Block(page, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2]) for fence in fences
    ]


def section(page: Path, title: str) -> str:
    """Return the text below a heading, up to the next one."""
    return re.split(rf"^#+ {re.escape(title)}\n", page.read_text("utf-8"), flags=re.MULTILINE)[
        1
    ].partition("\n#")[0]


def anchors_of(page: Path) -> set[str]:
    """Return the names by which links lead to places of a page: its headings, and its labels."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = [
        re.sub(r"\]\(.*?\)", "", title)
        for title in re.findall(r"^#+ (.*?)\s*$", text, re.MULTILINE)
    ]
    slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings]
    return {*slugs, *re.findall(r"^\((\S+)\)=$", text, re.MULTILINE)}


def shell_lines(program: str, pages: list[Path] = PAGES) -> list[tuple[str, str]]:
    """Return where each command line of a program stands, and the line without prompt, comment and
    redirection.
    """
    found = []
    for block in blocks("console", "sh", pages=pages):
        for line in block.code.splitlines():
            command = line.removeprefix("$ ").partition("  #")[0].partition(" > ")[0].strip()
            if command.split(" ")[0] == program:
                found.append((block.name, command))
    return found


def module_at(path: Path) -> SimpleNamespace:
    """Return the names of a file that belongs to no package."""
    return SimpleNamespace(**runpy.run_path(str(path)))


@cache
def _named_stats() -> re.Pattern[str]:
    named = re.findall(
        r"`(crawldedup/[^`\s]*[^`\s/])`", (SITE / "reference" / "stats.md").read_text("utf-8")
    )
    # `<reason>` and the like stand for any word.
    return re.compile("|".join(re.sub(r"<\w+>", "[^/]+", re.escape(name)) for name in named))


def undocumented_stats(stats: Iterable[str]) -> set[str]:
    """Return those of Scrapy's stats that are ours and that the reference does not name."""
    return {
        name
        for name in stats
        if name.startswith("crawldedup/") and not _named_stats().fullmatch(name)
    }
