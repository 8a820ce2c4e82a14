"""Read the texts of the demo site from ``texts/``, and put them into its templates.

A ``.txt`` file holds the articles of one language. An article is a head of ``name: value`` lines, a blank line and
paragraphs. A section ``== rewrite keep N`` holds the paragraphs that follow the first N in a second version.
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE = re.compile(r"[^.!?。]+[.!?。]\s*")


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
    def path(self) -> str:
        """Return where the article stands on the site."""
        return f"/{self.language}/{self.slug}/"

    @property
    def text(self) -> str:
        """Return the paragraphs, one a line."""
        return "\n".join(self.paragraphs)

    def sentence(self, number: int) -> str:
        """Return one sentence, as a teaser."""
        return [match[0] for match in _SENTENCE.finditer(self.text)][number].strip()

    def edited(self, changes: Sequence[tuple[str, str]]) -> Article:
        """Return a later edition, in which every old part of the text gives way to a new one."""
        text = "\n\n".join(self.paragraphs)
        for old, new in changes:
            text = text.replace(old, new, 1)
        later = datetime.date.fromisoformat(self.date) + datetime.timedelta(days=9)
        return replace(self, date=later.isoformat(), paragraphs=tuple(text.split("\n\n")))

    def retold(self, version: str) -> Article:
        """Return the second version of an article that has one; "new-ending" replaces the last paragraph alone."""
        new = [paragraph for paragraph in self.rewritten if paragraph not in self.paragraphs]
        return replace(self, paragraphs=(*self.paragraphs[:-1], *new) if version == "new-ending" else self.rewritten)


@dataclass(frozen=True, slots=True)
class Content:
    """A page's own part: a heading, perhaps a line below it, and a fragment of HTML."""

    language: str
    title: str
    html: str
    byline: str = ""


@cache
def read_text(name: str) -> str:
    """Return a file of ``texts/``."""
    return Path(__file__).with_name("texts").joinpath(name).read_text(encoding="utf-8")


@cache
def read_json(name: str) -> Any:
    """Return the object in a JSON file of ``texts/``: ``phrases.json`` holds labels and comments by language."""
    return json.loads(read_text(name))


@cache
def all_articles() -> tuple[Article, ...]:
    """Return every article, by language and then in the order of the file."""
    files = ((read_text(f"{language}.txt"), language) for language in ("de", "en", "es", "fr", "ja", "ru"))
    return tuple(_parse(block, language) for text, language in files for block in text.split("==== article\n"))


def fill(template: str, **parts: object) -> str:
    """Fill a template of ``texts/`` with HTML."""
    return Template(read_text(template)).substitute(parts)


def link(path: str, title: str) -> str:
    """Return a link as HTML."""
    return f'<a href="{escape(path)}">{escape(title)}</a>'


def article_content(article: Article) -> Content:
    """Return what a page says that shows this article."""
    html = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs)
    byline = f"{read_json('phrases.json')[article.language]['labels']['by']} {article.author}, {article.date}"
    return Content(article.language, article.title, html, byline)


def magazine(content: Content, *, related: Sequence[str] = (), comments: Sequence[str] = (), tools: str = "") -> str:
    """Fill the site's own template: banner, navigation, sidebar, related links, comments, tools, footer."""
    labels = {name: escape(label) for name, label in read_json("phrases.json")[content.language]["labels"].items()}
    links = "".join(f"<li>{each}</li>" for each in related)
    said = "".join(f'<div class="comment"><p>{escape(comment)}</p></div>' for comment in comments)
    heading = f"<h3>{labels['comments']} ({len(comments)})</h3>"
    parts = {
        "title_length": len(content.title),
        "byline": content.byline and f'<p class="byline">{escape(content.byline)}</p>',
        "tools": tools and f'<p><a href="{tools}">{labels["print"]}</a></p>',
        "related_links": links and f'<section class="related"><h3>{labels["related"]}</h3><ul>{links}</ul></section>',
        "comment_list": said and f'<section id="comments" class="comments">{heading}{said}</section>',
    }
    return plain("magazine.html", content, **labels | parts)


def plain(template: str, content: Content, **parts: object) -> str:
    """Fill a template that shows little more than the content."""
    own = {"lang": content.language, "title": escape(content.title), "html": content.html}
    return fill(template, **own | {"byline": escape(content.byline)} | parts)


def _parse(block: str, language: str) -> Article:
    original, _, rewrite = block.partition("== rewrite keep ")
    head, _, body = original.partition("\n\n")
    values = dict(line.split(": ", 1) for line in head.splitlines())
    paragraphs = _paragraphs(body)
    kept, _, ending = rewrite.partition("\n\n")
    rewritten = paragraphs[: int(kept)] + _paragraphs(ending) if rewrite else ()
    return Article(**values, language=language, paragraphs=paragraphs, rewritten=rewritten)


def _paragraphs(body: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in body.split("\n\n") if part.strip())
