"""The documentation is plain English: short sentences, no phrases that are hard to read, a way out of each limit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from crawldedup.cli import parser
from crawldedup.options import options_of
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.service.openapi import description
from tests.docs.pages import PAGES, PROJECT_PAGES, ROOT, SITE, module_at

LONGEST_SENTENCE = 30
CHECKED = [*PAGES, *PROJECT_PAGES]


def is_marked_up(line: str) -> bool:
    """Return True for a line that is no prose: a heading, an anchor, a picture, a rule of a table."""
    return bool(re.match(r"#|\(\S+\)=|!\[|:\w[\w-]*:|\|[-| :]+\|$|:::|---$", line))


def without_code(text: str) -> str:
    """Return a page without its blocks of code and its directives."""
    return re.sub(r"^(`{3,}|:{3,})(?!\{(?:note|tip|warning)).*?^\1$", "\n", text, flags=re.MULTILINE | re.DOTALL)


def passages(text: str) -> list[str]:
    """Return the paragraphs, the items of lists, and the cells of tables."""
    found: list[list[str]] = [[]]
    for line in without_code(text).splitlines():
        stripped = line.strip()
        if not stripped or is_marked_up(stripped):
            found.append([])
        elif stripped.startswith("|"):
            found += [[cell] for cell in re.split(r"(?<!\\)\|", stripped)]
            found.append([])
        else:
            if re.match(r"(?:[-*+]|\d+\.|:) ", stripped):
                found.append([])
            found[-1].append(re.sub(r"^(?:[-*+]|\d+\.|:) ", "", stripped))
    return [" ".join(lines).strip() for lines in found if "".join(lines).strip()]


def plain(passage: str) -> str:
    """Return a passage with each link as its words, and each name of code as one word."""
    passage = re.sub(r"\{\w+\}`(?:([^`<]*?)\s*<[^`]*>|[^`]*)`", lambda role: role[1] or "NAME", passage)
    passage = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", passage)
    return re.sub(r"`[^`]+`", "NAME", passage).replace("**", "")


def sentences(passage: str) -> list[str]:
    """Return the sentences of a passage. A colon or a semicolon ends none."""
    return re.split(r"(?<=[.!?])\)?\s+(?=[\"(*]?[A-Z0-9])", plain(passage))


def words(sentence: str) -> list[str]:
    """Return the words of a sentence."""
    return re.findall(r"\w[\w'’.,-]*", sentence)


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
        json.loads(f'"{text}"') for text in re.findall(r'"(?:description|summary)": "((?:[^"\\\\]|\\\\.)*)"', document)
    ]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_long(page: Path) -> None:
    found = [each for passage in passages(page.read_text("utf-8")) for each in sentences(passage)]
    assert [each for each in found if len(words(each)) > LONGEST_SENTENCE] == []


@pytest.mark.parametrize("texts", [option_texts, command_texts, http_texts])
def test_no_sentence_of_a_generated_page_is_long(texts: Callable[[], list[str]]) -> None:
    found = [each for text in texts() for each in sentences(text)]
    assert len(found) > 30
    assert [each for each in found if len(words(each)) > LONGEST_SENTENCE] == []
