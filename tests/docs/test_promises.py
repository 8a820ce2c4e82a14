"""Sentences that promise something to people who are attacked or whose crawl breaks, and the tests
and benchmarks that check them. They stand in promises.toml.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PROMISES = tomllib.loads((Path(__file__).parent / "promises.toml").read_text("utf-8"))
WHOLE = PROMISES.pop("whole")
_NO_PROMISE = "no promise: "
_BENCHMARKS = "benchmarks/"
_NO_SENTENCES = ("#", "(", "```")
_END_OF_SENTENCE = re.compile(r"(?<=[.?])(?:\*\*)?\s+(?=[A-Z{`*])")

_REFERENCE = re.compile(r"See [{\[]")


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


@cache
def functions_of(name: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / name).read_text("utf-8"))
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, functions)}


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a page, the rows of its tables and the items of its lists.

    References to other pages, such as "See Limits.", promise nothing.
    """
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if not lines or lines[0].startswith(_NO_SENTENCES):
            continue
        if lines[0].startswith("|"):
            # The names of the columns and a line stand first.
            yield from lines[2:]
            continue
        for item in re.split(r"\n- ", block.strip()):
            for sentence in _END_OF_SENTENCE.split(" ".join(item.split())):
                if not _REFERENCE.match(sentence):
                    yield sentence


@pytest.mark.parametrize("page", PROMISES)
def test_what_is_promised_is_tested(page: str) -> None:
    """If you change such a sentence, or a test that supports it, change both."""
    text = " ".join(text_of(page).split())
    for sentence, checks in PROMISES[page].items():
        assert sentence in text
        assert checks
        for check in checks:
            if check.startswith(_BENCHMARKS):
                assert (ROOT / check).is_file(), check
            elif not check.startswith(_NO_PROMISE):
                file, _, name = check.partition("::")
                assert name in functions_of(file), check


@pytest.mark.parametrize("page", WHOLE)
def test_no_sentence_goes_without(page: str) -> None:
    without = [
        sentence
        for sentence in sentences_of(text_of(page))
        if not any(part in sentence for part in PROMISES[page])
    ]
    assert without == []
