"""Pages below every limit of size that take much memory: each is read within bounds, or refused."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

MOST_MEGABYTES = 500

PROSE = " ".join(f"word{number}" for number in range(80))

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


SHAPES: dict[str, Callable[[], str]] = {
    "nested scripts alone": lambda: nested("script", 3900),
    "nested scripts": lambda: page(nested("script type=application/ld+json", 3900)),
    "nested scripts in MathML": lambda: page(nested("script", 3900, outer="math")),
    "nested programs": lambda: '<div id="app"></div>' + nested("script", 3900, number=500),
    "nested styles": lambda: page(nested("style", 3900)),
    "nested titles": lambda: page(nested("title", 3900)),
    "nested links": lambda: page(nested("a href=/b", 500, number=9000)),
    "nested notes": lambda: nested("noscript", 3900),
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
}


ALONE = frozenset(["nested scripts alone", "nested programs", "nested notes"])
"""Shapes without any prose."""

REFUSED = frozenset(["too_large", "too_deep", "empty", "shell"])

EACH_TIME = frozenset(["nested scripts alone", "very many attributes"])


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
