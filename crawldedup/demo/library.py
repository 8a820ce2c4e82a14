"""The articles of the demo site: prose written for this project, read from ``texts/*.txt``.

A file holds the articles of one language. An article is a head of ``name: value`` lines, a blank line and
paragraphs; a section ``== rewrite keep N`` holds the paragraphs that, in a second version of the article,
follow its first N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

_BETWEEN_ARTICLES = "==== article\n"
_REWRITE = "== rewrite keep "


@dataclass(frozen=True, slots=True)
class Article:
    """One text: `date` is ISO 8601, `rewritten` holds the paragraphs of a second version, if there is one."""

    slug: str
    language: str
    title: str
    author: str
    date: str
    topic: str
    paragraphs: tuple[str, ...]
    rewritten: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The paragraphs, one a line."""
        return "\n".join(self.paragraphs)


@cache
def all_articles() -> tuple[Article, ...]:
    """Every article, by language and then in the order of the file."""
    folder = resources.files(__package__) / "texts"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".txt")), key=lambda f: f.name)
    return tuple(
        _parse(block, language=file.name.removesuffix(".txt"))
        for file in files
        for block in file.read_text(encoding="utf-8").split(_BETWEEN_ARTICLES)
    )


def _parse(block: str, *, language: str) -> Article:
    original, _, rewrite = block.partition(_REWRITE)
    head, _, body = original.partition("\n\n")
    values = dict(line.split(": ", 1) for line in head.splitlines())
    paragraphs = _paragraphs(body)
    rewritten: tuple[str, ...] = ()
    if rewrite:
        kept, _, ending = rewrite.partition("\n\n")
        rewritten = paragraphs[: int(kept)] + _paragraphs(ending)
    return Article(
        slug=values["slug"],
        language=language,
        title=values["title"],
        author=values["author"],
        date=values["date"],
        topic=values["topic"],
        paragraphs=paragraphs,
        rewritten=rewritten,
    )


def _paragraphs(body: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in body.split("\n\n") if part.strip())
