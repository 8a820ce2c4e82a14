"""How the package is arranged: what import-linter's layers in pyproject.toml do not say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "crawldedup"
MODULES = sorted(PACKAGE.rglob("*.py"))

LONGEST_MODULE = 500
"""Lines of a module."""


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE.parent))


OF_NAMED_TUPLES = frozenset(["_asdict", "_field_defaults", "_fields", "_make", "_replace"])
"""Public names of every `NamedTuple`, which begin with an underscore to leave room for fields."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES


def private_imports(tree: ast.AST) -> list[str]:
    """Return the private names that a module takes from other modules of the package."""
    taken = []
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crawldedup"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            taken += [name for name in names if is_private(name)]
            modules |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in modules
            and is_private(node.attr)
        ):
            taken.append(node.attr)
    return taken


def test_private_imports_are_found() -> None:
    source = "from crawldedup.a import _b\nfrom crawldedup import c\nprint(c._d, c.e, c.__name__)"
    assert private_imports(ast.parse(source)) == ["_b", "_d"]
    source = "from crawldedup.a import Pair\nprint(Pair._fields, Pair._secret)"
    assert private_imports(ast.parse(source)) == ["_secret"]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_uses_no_private_name_of_another(module: Path) -> None:
    assert private_imports(ast.parse(module.read_text("utf-8"))) == []


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_short(module: Path) -> None:
    assert lines_of(module) <= LONGEST_MODULE


MAY_USE_MMH3 = frozenset([PACKAGE / "key.py", *(PACKAGE / "literature").rglob("*.py")])
"""Everything else hashes with the key of the index, or with a hash that nobody can aim."""


def uses_mmh3(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if any(name.partition(".")[0] == "mmh3" for name in names):
            return True
    return False


@pytest.mark.parametrize("source", ["import mmh3", "import os, mmh3 as m", "from mmh3 import hash"])
def test_uses_of_mmh3_are_found(source: str) -> None:
    assert uses_mmh3(ast.parse(source))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_no_hash_that_anybody_can_aim_decides(module: Path) -> None:
    """Anyone who knows mmh3 can make a text with a given hash within milliseconds."""
    assert module in MAY_USE_MMH3 or not uses_mmh3(ast.parse(module.read_text("utf-8")))
