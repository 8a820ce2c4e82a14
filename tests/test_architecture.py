"""How the package is arranged: what import-linter's layers in pyproject.toml do not say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "crawldedup"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")

LONGEST_MODULE = 300
"""Lines, but for docstrings: these make no module harder to hold in mind."""
LARGEST_FOLDER = 15

# The asynchronous twin is made of the methods of Deduplicator.
TWIN = {"crawldedup/aio.py": ["_read"]}


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
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            taken += [node.attr] if node.attr.startswith("_") and not node.attr.startswith("__") else []
    return taken


def test_private_imports_are_found() -> None:
    source = "from crawldedup.a import _b\nfrom crawldedup import c\nprint(c._d, c.e, c.__name__)"
    assert private_imports(ast.parse(source)) == ["_b", "_d"]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_uses_no_private_name_of_another(module: Path) -> None:
    assert private_imports(ast.parse(module.read_text("utf-8"))) == TWIN.get(name_of(module), [])


def length(source: str) -> int:
    """Return how many lines of a module are no docstring, neither that of a definition nor of a name."""
    texts = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return len(source.splitlines()) - sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in texts)


def test_lines_of_docstrings_do_not_count() -> None:
    source = '"""Hold a\npage."""\n\nA = """a\nb"""\n"""A name."""\n\n\ndef b():\n    """Return b."""\n    return "b"\n'
    assert length(source) == 7


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_is_short(module: Path) -> None:
    assert length(module.read_text("utf-8")) <= LONGEST_MODULE


@pytest.mark.parametrize("folder", [PACKAGE, *FOLDERS], ids=name_of)
def test_a_folder_is_small(folder: Path) -> None:
    files = [path for path in folder.iterdir() if path.suffix in (".py", ".lua") and path.name != "__init__.py"]
    assert len(files) <= LARGEST_FOLDER
