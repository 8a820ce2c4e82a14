"""The docstrings of the public names: their examples run, and their sections name what is there."""

from __future__ import annotations

import ast
import builtins
import doctest
import enum
import inspect
import re
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from crawldedup import client, errors
from crawldedup.journal import FileJournal, line_of
from crawldedup.options import Options
from crawldedup.scrapy_plugin import policy, signals
from tests.docs.pages import ROOT
from tests.journal.lines import END, header, page

PACKAGES = (
    "crawldedup",
    *(f"crawldedup.{name}" for name in ("client", "errors", "explain", "journal", "scrapy_plugin", "verdict")),
)
# Apache Spark is not here to import it.
SPARK = ROOT / "crawldedup" / "spark" / "deduplication.py"

WITH_EXAMPLE = [
    "AsyncDeduplicator",
    "Deduplicator",
    "Key",
    "Page",
    "Verdict",
    "add_verdict",
    *("client.AsyncClient", "client.Client"),
    "compare",
    "fingerprint",
    "journal.crawls",
    "spark.deduplicate",
]

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example")
ELSEWHERE = "Arguments that are not listed here are as in `"
LONGEST_SENTENCE = 25
"""Words."""
LONGEST_LINE = 80
"""Letters of an example that the site shows without a scroll bar."""

RAISED = {*vars(builtins), *vars(errors), *vars(policy), *vars(client), "NotConfigured"}

EXAMPLES = [path for path in sorted((ROOT / "crawldedup").rglob("*.py")) if ">>>" in path.read_text("utf-8")]


class Documented(NamedTuple):
    """A public name: its docstring, its parameters, and its fields if it has any that a docstring must tell."""

    name: str
    doc: str
    parameters: Collection[str]
    fields: Collection[str] = ()


def documented() -> Iterator[Documented]:
    for package in map(import_module, PACKAGES):
        for name, value in sorted(public_names(package).items()):
            full = f"{package.__name__}.{name}".removeprefix("crawldedup.")
            if inspect.isclass(value):
                yield Documented(full, own_doc(value), parameters_of(value), fields_of(value))
                yield from members_of(full, value)
            elif callable(value):
                yield Documented(full, own_doc(value), parameters_of(value))
    (function,) = (node for node in ast.parse(SPARK.read_text()).body if getattr(node, "name", "") == "deduplicate")
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    names = [each.arg for each in (*given.args, *given.kwonlyargs)] + [f"**{given.kwarg and given.kwarg.arg}"]
    yield Documented("spark.deduplicate", ast.get_docstring(function) or "", names)


def public_names(module: ModuleType) -> dict[str, Any]:
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}


def members_of(name: str, cls: type) -> Iterator[Documented]:
    for member in dir(cls):
        if member.startswith("_"):
            continue
        home = next(base for base in cls.__mro__ if member in vars(base))
        value = inspect.getattr_static(cls, member)
        if not home.__module__.startswith("crawldedup"):
            continue
        if isinstance(value, property):
            yield Documented(f"{name}.{member}", own_doc(value), ())
        elif inspect.isroutine(value) and value.__module__.startswith("crawldedup"):  # not one that a test put there
            yield Documented(f"{name}.{member}", own_doc(value), parameters_of(getattr(cls, member)) - {"self"})


def own_doc(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "")


def parameters_of(value: Any) -> set[str]:
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # of an exception, as Python has it
        return set()
    return {f"{'**' if each.kind is each.VAR_KEYWORD else ''}{each.name}" for each in parameters}


def fields_of(cls: type) -> Collection[str]:
    if cls is Options or issubclass(cls, enum.Enum):
        return ()  # Options have their help, and members docstrings of their own
    is_record = hasattr(cls, "__dataclass_fields__") or hasattr(cls, "_fields") or hasattr(cls, "__total__")
    if not is_record:
        return ()
    beside = re.findall(r"^    (\w+): .*  #: [A-Z`].*\.$", inspect.getsource(cls), re.MULTILINE)
    return [name for name in inspect.get_annotations(cls) if name not in beside]


def complaints(told: Documented) -> Iterator[str]:
    first, _, rest = told.doc.partition("\n")
    if not re.match(r"[A-Z].*\.$", first) or (rest and not rest.startswith("\n")):
        yield f"the first line is no sentence of its own: {first!r}"
    parts = sections(told.doc)
    yield from (f"there is no section {title!r}" for title in parts.keys() - {"", *SECTIONS})
    named = {title: set(re.findall(r"^    ([*\w]+): ", text, re.MULTILINE)) for title, text in parts.items()}
    for title, wanted in (("Args", told.parameters), ("Attributes", told.fields)):
        if title in parts and (title == "Args" or told.fields):
            others = named[title] ^ {*wanted} if ELSEWHERE not in told.doc else named[title] - {*wanted}
            yield from (f"{title} and the code differ in {name}" for name in sorted(others))
    if told.fields and "Attributes" not in parts:
        yield "its fields are not told"
    yield from (f"there is no error {name}" for name in sorted(named.get("Raises", set()) - RAISED))
    for sentence in sentences(told.doc):
        if len(sentence.split()) > LONGEST_SENTENCE:
            yield f"a long sentence: {sentence}"
    for line in parts.get("Example", "").splitlines():
        if len(line) - 4 > LONGEST_LINE:
            yield f"a long line: {line}"


def sections(doc: str) -> dict[str, str]:
    """Return the sections of a docstring by their titles; what stands above them has none."""
    lead, *others = re.split(r"^(\w+):\n", doc, flags=re.MULTILINE)
    return {"": lead, **dict(zip(others[::2], others[1::2], strict=True))}


def sentences(doc: str) -> Iterator[str]:
    for title, text in sections(doc).items():
        if title != "Example":
            for passage in re.split(r"\n\n|\n(?=    [*\w]+: |- )", text):
                yield from re.split(r"(?<=\.) ", " ".join(passage.split()))


DOCUMENTED = [*documented()]


@pytest.mark.parametrize("told", DOCUMENTED, ids=lambda told: told.name)
def test_a_public_name_has_a_docstring_in_form(told: Documented) -> None:
    assert list(complaints(told)) == []


@pytest.mark.parametrize(
    ("doc", "complaint"),
    [
        ("", "the first line"),
        ("return a page.", "the first line"),
        ("Return a page", "the first line"),
        ("Return a page.\nThe page is new.", "the first line"),
        ("Return a page.\n\nArguments:\n    url: The URL.", "there is no section 'Arguments'"),
        ("Return a page.\n\nArgs:\n    uri: The URL.", "Args and the code differ in uri"),
        ("Return a page.\n\nArgs:\n    uri: The URL.", "Args and the code differ in url"),
        (f"Return a page.\n\n{ELSEWHERE}find`.\n\nArgs:\n    uri: The URL.", "Args and the code differ in uri"),
        ("Return a page.\n\nRaises:\n    PagError: It is broken.", "there is no error PagError"),
        (f"Return a page.\n\nThe{' very' * LONGEST_SENTENCE} long sentence.", "a long sentence"),
        (f"Return a page.\n\nExample:\n    >>> {'1 + ' * LONGEST_LINE}1", "a long line"),
    ],
)
def test_a_wrong_docstring_is_found(doc: str, complaint: str) -> None:
    assert any(each.startswith(complaint) for each in complaints(Documented("page", doc, ["url"])))


def test_fields_that_are_not_told_are_found() -> None:
    told = "Hold a page.\n\nAttributes:\n    url: The URL."
    assert list(complaints(Documented("Page", told, (), ["url", "text"]))) == ["Attributes and the code differ in text"]
    assert list(complaints(Documented("Page", "Hold a page.", (), ["url"]))) == ["its fields are not told"]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_a_name_to_begin_with_has_an_example(name: str) -> None:
    (doc,) = (told.doc for told in DOCUMENTED if told.name == name)
    assert re.search(r">>> |\.\. code-block:: python", sections(doc).get("Example", ""))


def attribute_docs(module: ModuleType) -> dict[str, str]:
    """Return the docstrings that stand behind assignments, or beside them, by the names of these."""
    source = inspect.getsource(module)
    found = {}
    for scope in ast.walk(ast.parse(source)):
        if isinstance(scope, ast.Module | ast.ClassDef):
            prefix = f"{scope.name}." if isinstance(scope, ast.ClassDef) else ""
            own = source.splitlines()[getattr(scope, "lineno", 0) : getattr(scope, "end_lineno", None)]
            found |= {prefix + name: doc for name, doc in re.findall(r"(?m)^ *(\w+) = .*  #: (.*)$", "\n".join(own))}
            for node, behind in zip(scope.body, scope.body[1:], strict=False):
                target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
                if isinstance(target, ast.Name) and isinstance(behind, ast.Expr):
                    found[prefix + target.id] = ast.literal_eval(behind.value)
    return found


def constants() -> Iterator[tuple[str, str]]:
    for package in map(import_module, PACKAGES):
        for name, value in public_names(package).items():
            if inspect.isclass(value) and issubclass(value, enum.Enum):
                docs = attribute_docs(import_module(value.__module__))
                yield from ((f"{name}.{each.name}", docs.get(f"{name}.{each.name}", "")) for each in value)
    sent = [name for name, value in vars(signals).items() if type(value) is object]
    yield from ((name, attribute_docs(signals).get(name, "")) for name in sent)


@pytest.mark.parametrize(("name", "doc"), [*constants()], ids=lambda value: str(value).partition("\n")[0])
def test_a_public_constant_has_a_docstring(name: str, doc: str) -> None:
    assert list(complaints(Documented(name, inspect.cleandoc(doc), ()))) == []


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    said: list[str] = []
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        write_journal(folder / "journals")
        doctest.DocTestRunner().run(test, out=said.append)
    assert "".join(said) == ""


def write_journal(directory: Path) -> None:
    journal = FileJournal(directory, header("news"), keep=1)
    for line in (page(1), page(2), END):
        journal.write(line_of(line))
    journal.close()
