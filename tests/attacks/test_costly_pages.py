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


SHAPES: dict[str, Callable[[], str]] = {
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


FIRST, *OTHERS = SHAPES


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "shape", [FIRST, *(pytest.param(each, marks=pytest.mark.nightly) for each in OTHERS)]
)
def test_a_costly_page_is_held(shape: str) -> None:
    command = [sys.executable, "-c", READER]
    done = subprocess.run(command, input=SHAPES[shape]().encode(), capture_output=True, check=True)
    *came, megabytes = json.loads(done.stdout)
    assert all(each in ("too_large", "too_deep") or each > 80 for each in came)
    assert megabytes < MOST_MEGABYTES
