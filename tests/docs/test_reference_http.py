"""The reference of the service names each path, problem and metric that the code has, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import crawldedup.service
from crawldedup.service import metrics
from crawldedup.service.console import PAGES
from tests.docs.pages import SITE, section

PAGE: Final = SITE / "reference" / "http.md"
SERVICE: Final = Path(crawldedup.service.__file__).parent


def problems_in_code() -> dict[str, set[int]]:
    """The words of problems and their statuses; {-1} stands for statuses that are not written out."""
    found: dict[str, set[int]] = {}
    for path in SERVICE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ProblemError":
                word, status = node.args[:2]
                number = status.value if isinstance(status, ast.Constant) else -1
                for each in ast.walk(word):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        found.setdefault(each.value, set()).add(int(number))
    # The words of Starlette's own refusals stand above the call.
    chosen = re.search(r"code = (.*)", (SERVICE / "problems.py").read_text("utf-8"))
    assert chosen is not None
    for word in re.findall(r'"([\w-]+)"', chosen[1]):
        found.setdefault(word, set()).add(-1)
    return found


def problems_on_page() -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for statuses, words in re.findall(r"^\| ([\d, ]+) \| (`[^|]+`) \|", PAGE.read_text("utf-8"), re.MULTILINE):
        for word in re.findall(r"`([\w-]+)`", words):
            found.setdefault(word, set()).update(map(int, statuses.split(", ")))
    return found


def test_every_problem_is_in_the_reference_and_no_other() -> None:
    in_code, on_page = problems_in_code(), problems_on_page()
    assert len(in_code) > 10
    assert in_code.keys() == on_page.keys()
    assert {word for word, statuses in in_code.items() if not statuses - {-1} <= on_page[word]} == set()


def test_every_page_for_browsers_is_in_the_reference() -> None:
    table = section(PAGE, "Pages for browsers")
    named = set(re.findall(r"`(GET|POST) (/\S*)`", table))
    assert named == {(method, route.path) for route in PAGES for method in (route.methods or set()) - {"HEAD"}}


def test_every_metric_is_in_the_reference_with_its_kind_and_labels() -> None:
    table = section(PAGE, "Metrics")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\|", table, re.MULTILINE)
    named = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    made = [each for each in vars(metrics).values() if hasattr(each, "_labelnames")]
    assert len(made) == len(list(metrics._own.collect()))
    assert named == {
        each._name + ("_total" if each._type == "counter" else ""): (each._type, each._labelnames) for each in made
    }
