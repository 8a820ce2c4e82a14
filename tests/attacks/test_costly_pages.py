"""Pages below every limit of size that take much memory: each is read within bounds, or refused."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

MOST_MEGABYTES = 500

PROSE = " ".join(f"word{number}" for number in range(80))

# Reads the page on its standard input in a process of its own; says what came of it, and the megabytes that it took.
READER = """
import json, sys
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
reader = PageReader(Options.from_values({"extractor": sys.argv[1]}))
reader.read_page(Page("", html="<p>warm up</p>"))
body = sys.stdin.buffer.read()
try:
    came = reader.read_page(Page("", html=body)).fingerprint.words
except PageError as error:
    came = error.reason
# A child begins with the `ru_maxrss` of its parent, but not with its `VmHWM`.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([came, int(peak.split()[1]) / 1024]))
"""


def attributes(count: int, prefix: str = "a") -> str:
    return " ".join(f"{prefix}{number}=1" for number in range(count))


def page(inside: str) -> str:
    return f"<html><title>t</title><body><p>{PROSE}</p>{inside}"


SHAPES: dict[str, Callable[[], str]] = {
    "very many attributes": lambda: page(f"<p {attributes(60)}>x" * 19_900),
    "attributes in quotes": lambda: page("""<p a=">"b='>'c="" d e f/g/h>x""" * 19_900),
    "comments in an attribute": lambda: page("<b>" * 100 + "<i {title}='" + "<!--" * 1_400_000 + "'>"),
    "reopened elements": lambda: page(
        "<p>" + "".join(f"<{tag} {attributes(60)}>" for tag in ("b", "i", "u", "s", "em", "tt")) + "<p>x" * 19_000
    ),
    "readings of no word": lambda: page("<rt>" * 60_000),
    "groups of options": lambda: page("<optgroup><option>" * 80_000),
    "letters that swell": lambda: page("<p>" + "\ufdfa" * 2_750_000),
    "words that swell": lambda: page("<p>" + "\u3316 " * 2_000_000),
}


FIRST, *OTHERS = [(shape, extractor) for shape in SHAPES for extractor in ("blocks", "trafilatura", "text")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("shape", "extractor"), [FIRST, *(pytest.param(*each, marks=pytest.mark.nightly) for each in OTHERS)]
)
def test_a_costly_page_is_held(shape: str, extractor: str) -> None:
    command = [sys.executable, "-c", READER, extractor]
    done = subprocess.run(command, input=SHAPES[shape]().encode(), capture_output=True, check=True)
    came, megabytes = json.loads(done.stdout)
    assert came in ("too_large", "too_deep") or came > 80
    assert megabytes < MOST_MEGABYTES
