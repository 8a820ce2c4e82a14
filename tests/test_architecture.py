"""How the package is arranged: what import-linter's layers in pyproject.toml do not say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "crawldedup"
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 500
"""Lines of a module."""

# The lines that a room may have. They only ever fall: a room that needs more takes it from another.
BUDGETS = {
    "library": 2187,
    "reading": 2820,
    "search": 1272,
    "stores": 2292,
    "workers": 495,
    "scrapy_plugin": 2078,
    "report": 1822,
    "scan": 1046,
    "spark": 423,
    "service": 1223,
    "cli": 1725,
    "literature": 1692,
    "adapters": 302,
}
MOST_LINES = 19_377
MOST_LUA_LINES = 967

# The folders and modules of each room. All others are the library's: what users hold, give and get.
ROOMS = {
    "reading": "reading",
    "search": "fingerprinting search paragraphs",
    "stores": "stores",
    "workers": "workers",
    "scrapy_plugin": "scrapy_plugin",
    "report": "journal advice report",
    "scan": "scan",
    "spark": "spark",
    "service": "service client",
    "cli": "cli commands",
    "literature": "literature measure demo",
    "adapters": "adapter crawlee crawl4ai archives",
}
ROOM_OF = {place: room for room, places in ROOMS.items() for place in places.split()}


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE.parent))


def private_imports(tree: ast.AST) -> list[str]:
    """Return the private names that a module takes from other modules of the package."""
    taken = []
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crawldedup"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            taken += [name for name in names if name.startswith("_") and not name.startswith("__")]
            modules |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
        ):
            taken += (
                [node.attr] if node.attr.startswith("_") and not node.attr.startswith("__") else []
            )
    return taken


def test_private_imports_are_found() -> None:
    source = "from crawldedup.a import _b\nfrom crawldedup import c\nprint(c._d, c.e, c.__name__)"
    assert private_imports(ast.parse(source)) == ["_b", "_d"]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_uses_no_private_name_of_another(module: Path) -> None:
    assert private_imports(ast.parse(module.read_text("utf-8"))) == []


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def room_of(path: Path) -> str:
    place = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return ROOM_OF.get(place) or ROOM_OF.get(place.partition("/")[0], "library")


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_short(module: Path) -> None:
    assert lines_of(module) <= LONGEST_MODULE


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_keeps_within_its_budget(room: str) -> None:
    assert sum(lines_of(path) for path in MODULES if room_of(path) == room) <= BUDGETS[room]


@pytest.mark.parametrize(
    ("folder", "kind", "most"),
    [("tests", "py", 20_000), ("benchmarks", "py", 6_000), ("docs", "md", 4_800)],
)
def test_what_stands_around_the_package_keeps_within_its_budget(
    folder: str, kind: str, most: int
) -> None:
    files = [
        path
        for path in (PACKAGE.parent / folder).rglob(f"*.{kind}")
        if not {"_build", ".peers"} & {*path.parts}
    ]
    assert sum(map(lines_of, files)) <= most
    assert kind == "py" or len(files) <= 45


def test_the_package_keeps_within_its_budget() -> None:
    assert sum(map(lines_of, MODULES)) <= MOST_LINES
    assert sum(map(lines_of, PACKAGE.rglob("*.lua"))) <= MOST_LUA_LINES
