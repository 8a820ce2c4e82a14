"""The documentation is plain English: short sentences, no phrases that are hard to read, a way out
of each limit.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from crawldedup.cli import parser
from crawldedup.options import options_of
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.service.openapi import description
from tests.docs.pages import PAGES, PROJECT_PAGES, ROOT, SITE, module_at

LONGEST_SENTENCE = 30
CHECKED = [*PAGES, *PROJECT_PAGES]


def passages(text: str) -> list[str]:
    """Return the paragraphs, the items of lists, and the cells of tables, without blocks of code
    and directives.
    """
    text = re.sub(
        r"^(`{3,}|:{3,})(?!\{(?:note|tip|warning)).*?^\1$",
        "\n",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    # No prose: a heading, an anchor, a picture, a rule of a table.
    text = re.sub(
        r"^\s*(?:#|\(\S+\)=|!\[|:\w[\w-]*:|\|[-| :]+\|$|:::|---$).*", "", text, flags=re.MULTILINE
    )
    text = re.sub(r"^\s*(?:[-*+]|\d+\.|:) ", "\n\n", text, flags=re.MULTILINE)
    text = re.sub(
        r"^\s*\|.*", lambda row: re.sub(r"(?<!\\)\|", "\n\n", row[0]), text, flags=re.MULTILINE
    )
    return [" ".join(passage.split()) for passage in re.split(r"\n\s*\n", text) if passage.strip()]


def sentences(passage: str) -> list[str]:
    """Return the sentences of a passage, each link as its words, and each name of code as one word.

    A colon or a semicolon ends none.
    """
    passage = re.sub(
        r"\{\w+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`", lambda role: role[1] or "NAME", passage
    )
    passage = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", passage)
    plain = re.sub(r"`[^`]+`", "NAME", passage).replace("**", "")
    return re.split(r"(?<=[.!?])\)?\s+(?=[\"(*]?[A-Z0-9])", plain)


def long_sentences(texts: Iterable[str]) -> list[str]:
    found = [each for text in texts for each in sentences(text)]
    return [each for each in found if len(re.findall(r"\w[\w'’.,-]*", each)) > LONGEST_SENTENCE]


def option_texts() -> list[str]:
    """Return what the reference of settings and options says of each."""
    return [each.help for each in options_of(CrawlOptions)]


def command_texts() -> list[str]:
    """Return what the commands say of themselves and of their options."""
    parsers = list(module_at(SITE / "_ext" / "reference_markdown.py").leaf_parsers(parser()))
    told = [passage for each in parsers for passage in passages(each.description or "")]
    return told + [action.help for each in parsers for action in each._actions if action.help]


def http_texts() -> list[str]:
    """Return what the OpenAPI document says."""
    document = json.dumps(description())
    return [
        json.loads(f'"{text}"')
        for text in re.findall(r'"(?:description|summary)": "((?:[^"\\\\]|\\\\.)*)"', document)
    ]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_long(page: Path) -> None:
    assert long_sentences(passages(page.read_text("utf-8"))) == []


@pytest.mark.parametrize("texts", [option_texts, command_texts, http_texts])
def test_no_sentence_of_a_generated_page_is_long(texts: Callable[[], list[str]]) -> None:
    assert len(texts()) > 30
    assert long_sentences(texts()) == []
