"""Pages below every limit of size that take much memory: each is read within bounds, or refused."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from crawldedup.errors import PageError
from crawldedup.reading.html import bounded
from crawldedup.reading.misplaced import check_copied_text

MOST_MEGABYTES = 500

PROSE = " ".join(f"word{number}" for number in range(80))
ARTICLE = "".join(f"<p>{part}: {PROSE}</p>" for part in range(5))

# Reads the page on its standard input in each way; says what came of it, and the megabytes that it
# took.
READER = """
import json, sys
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
body, came = sys.stdin.buffer.read(), []
for extractor in ("blocks", "trafilatura", "text"):
    try:
        reader = PageReader(Options.from_values({"extractor": extractor}))
        came.append(reader.read_page(Page("", html=body)).fingerprint.words)
    except PageError as error:
        came.append(error.reason)
# A child begins with the `ru_maxrss` of its parent, but not with its `VmHWM`.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([*came, int(peak.split()[1]) / 1024]))
"""


ATTRIBUTES = " ".join(f"a{number}=1" for number in range(60))


def page(inside: str) -> str:
    return f"<html><title>t</title><body><p>{PROSE}</p>{inside}"


def nested(tag: str, letters: int, *, outer: str = "svg", number: int = 1400) -> str:
    """Elements within each other: in SVG and MathML, nothing ends a script."""
    return f"<{outer}>" + f"<{tag}>{'a ' * (letters // 2)}" * number


def between(tag: str, before: str = "", text: str = "x ") -> str:
    """A text that repeats a tag again and again."""
    return before + (tag + text * 160) * 4000


# What is ignored where it stands, so that the text before it continues.
MISPLACED: dict[str, Callable[[], str]] = {
    "cells outside of a table": lambda: page(between("<td a=1>")),
    "cells behind a table in a table": lambda: page(between("<td a=1>", "<table><table></table>")),
    "cells behind a template": lambda: page(between("<td a=1>", "<template><table></template>")),
    "ends of nothing": lambda: page(between("</x a=1>")),
    "ends of nothing in another alphabet": lambda: page(between("</x a=1>", text="\u0436\u4e00")),
    "ends in a script of SVG": lambda: page(between("</x a=1>", "<svg><script>")),
    "ends in a script below HTML in SVG": lambda: page(
        between("</x a=1>", "<svg><desc><div></svg></div></desc><script>")
    ),
    "second bodies": lambda: page(between("<body a=1>")),
    "forms in a form": lambda: page(between("<form a=1>", "<form>")),
    "quotes": lambda: page(between("<td '=1 a=\"'\">")),
    "comments in a table": lambda: page(between("<!-- c -->", "<table>")),
    "hidden fields in a table": lambda: page(between("<input type=hidden>", "<table>")),
    "rows in a table without cells": lambda: page(between("<tr a=1>", "<table>")),
    "texts between cells": lambda: page("<table>" + ("x " * 160 + "<td>x</td>") * 4000),
    "texts between tables in cells": lambda: page(
        "<table>" + ("x " * 160 + "<td><table a=1></table><div></div></td>") * 4000
    ),
    "paragraphs in a frameset": lambda: between("<p a=1>", "<frameset>", "  "),
    "paragraphs behind a column": lambda: between("<p a=1>", "<template><col>", "  "),
    "scripts behind the head": lambda: between("<script a=1></script>", "</head>", "  "),
    "types of documents": lambda: page(between('<!doctype html PUBLIC "a" "b">')),
}
IN_PLACE: dict[str, Callable[[], str]] = {
    "cells": lambda: page(between("<tr a=1><td a=1>", "<table>")),
    "cells of tables in a cell": lambda: page(
        between("<table a=1><td a=1>x</td></table><p a=1>", "<table><td>")
    ),
    "captions": lambda: page(between("<table><caption a=1>")),
    "comments beside paragraphs": lambda: page(between("<!-- c --><p>")),
    "fields": lambda: page(between("<p><input a=1>")),
    "paragraphs in SVG": lambda: page(between("<svg><title>x</title></svg><p a=1>")),
}

SHAPES: dict[str, Callable[[], str]] = {
    "nested scripts alone": lambda: nested("script", 3900),
    "nested scripts": lambda: page(nested("script type=application/ld+json", 3900)),
    "nested scripts in MathML": lambda: page(nested("script", 3900, outer="math")),
    "nested programs": lambda: '<div id="app"></div>' + nested("script", 3900, number=500),
    "nested styles": lambda: page(nested("style", 3900)),
    "nested titles": lambda: page(nested("title", 3900)),
    "nested links": lambda: page(nested("a href=/b", 500, number=9000)),
    "nested notes": lambda: nested("noscript", 3900),
    "nested notes beside an article": lambda: page(ARTICLE + nested("noscript", 3900)),
    "nested fields beside an article": lambda: page(ARTICLE + nested("textarea", 3900)),
    "nested options": lambda: page("<svg><select name=a>" + nested("option", 3900)),
    "nested properties": lambda: page(nested("span itemprop=sku", 500, outer="b", number=9000)),
    "very many attributes": lambda: page(f"<p {ATTRIBUTES}>x" * 19_900),
    "comments in an attribute": lambda: page(
        "<b>" * 100 + "<i {title}='" + "<!--" * 1_400_000 + "'>"
    ),
    "reopened elements": lambda: page(
        "<p>"
        + "".join(f"<{tag} {ATTRIBUTES}>" for tag in ("b", "i", "u", "s", "em", "tt"))
        + "<p>x" * 19_000
    ),
    "groups of options": lambda: page("<optgroup><option>" * 80_000),
    "letters that swell": lambda: page("<p>" + "\ufdfa" * 2_750_000),
    **MISPLACED,
    **IN_PLACE,
}


ALONE = frozenset(
    [
        "nested scripts alone",
        "nested programs",
        "nested notes",
        "paragraphs in a frameset",
        "paragraphs behind a column",
        "scripts behind the head",
    ]
)
"""Shapes without any prose."""

REFUSED = frozenset(["too_large", "too_deep", "empty", "shell"])

EACH_TIME = frozenset(
    [
        "nested scripts alone",
        "nested fields beside an article",
        "very many attributes",
        "cells outside of a table",
    ]
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=() if shape in EACH_TIME else pytest.mark.nightly)
        for shape in SHAPES
    ],
)
def test_a_costly_page_is_held(shape: str) -> None:
    command = [sys.executable, "-c", READER]
    done = subprocess.run(command, input=SHAPES[shape]().encode(), capture_output=True, check=True)
    *came, megabytes = json.loads(done.stdout)
    may_be_short = shape in ALONE
    assert all(each in REFUSED or may_be_short or each > 80 for each in came)
    assert megabytes < MOST_MEGABYTES


def check_copied(html: str) -> None:
    check_copied_text(html, html.count("<"), len(html.encode("utf-8", "surrogatepass")))


@pytest.mark.parametrize("shape", MISPLACED)
def test_text_between_misplaced_tags_is_refused_before_it_is_parsed(shape: str) -> None:
    with pytest.raises(PageError) as caught:
        check_copied(MISPLACED[shape]())
    assert caught.value.reason == "too_deep"


@pytest.mark.parametrize("shape", IN_PLACE)
def test_as_many_tags_in_their_place_are_read(shape: str) -> None:
    check_copied(IN_PLACE[shape]())


@pytest.mark.parametrize(
    "unit",
    ["<a ", "<a '", '<a "', '<a b="', "<a b='", "<!--", "<![CDATA[", "<svg>", "<script>", "</"],
)
def test_what_has_no_end_is_looked_at_once(unit: str) -> None:
    started = time.process_time()
    with suppress(PageError):
        check_copied("<template>" + unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("<a<:{", id="names"),
        pytest.param("<a/b=", id="values"),
        pytest.param("<a/b=" * 390 + " ", id="values of many letters"),
        pytest.param("<a b='<a b=\">\"' ", id="quoted values"),
    ],
)
def test_tags_within_tags_are_refused_before_each_is_searched(unit: str) -> None:
    started = time.process_time()
    with pytest.raises(PageError) as caught:
        bounded(unit * (500_000 // len(unit)))
    assert caught.value.reason == "too_deep"
    assert time.process_time() - started < 4
