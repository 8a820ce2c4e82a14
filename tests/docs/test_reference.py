"""The reference names all that users can name, and no page shows a name or a command line that does
not exist.
"""

import ast
import importlib
import inspect
import re
import shlex
import sqlite3
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

import pytest
from scrapy.settings import Settings

import crawldedup
import crawldedup.journal as crawl_journal
from crawldedup import aside, client, errors, scrapy_plugin
from crawldedup.cli import parser
from crawldedup.scan.read import FORMAT
from crawldedup.scrapy_plugin import command, overrides, signals
from crawldedup.scrapy_plugin.settings import PREFIX, crawl_settings
from crawldedup.service import app, metrics
from crawldedup.stores import registry
from tests.docs.pages import PAGES, ROOT, SITE, section, shell_lines

REFERENCE = SITE / "reference"
PYTHON = "".join(
    (REFERENCE / f"{name}.md").read_text("utf-8") for name in ("python", "stores", "literature")
)

# Not settings: variables of the environment of the documentation's build, of commands and of the
# service.
NOT_SETTINGS = {"DOCS_ONLINE", "READ_TOKEN", "SERVICE", "STORE_FILE", "TOKEN"}


def first_column(page: str, title: str) -> set[str]:
    return set(re.findall(r"^\| `([\w-]+)` \|", section(REFERENCE / page, title), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_no_setting_that_does_not_exist(page: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])", page.read_text("utf-8")))
    assert named - NOT_SETTINGS <= {name.removeprefix(PREFIX) for name in crawl_settings()}


def examples_of_settings() -> list[tuple[str, object]]:
    page = (REFERENCE / "settings.md").read_text("utf-8")
    lines = re.findall(r"^(CRAWLDEDUP_\w+) = (.+)$", page, re.MULTILINE)
    return [(name, ast.literal_eval(value)) for name, value in lines]


def test_the_reference_has_one_example_for_each_setting() -> None:
    names = [name for name, _ in examples_of_settings()]
    assert sorted(names) == sorted(crawl_settings())


@pytest.mark.parametrize(("name", "value"), examples_of_settings())
def test_the_example_of_a_setting_is_valid_and_not_its_default(
    name: str, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apart.jl").touch()
    option = crawl_settings()[name]
    assert option.check(name, value) != option.default


def test_the_reference_has_every_key_of_meta_signal_and_scheme_of_a_store() -> None:
    assert first_column("meta.md", "crawldedup") - {"True", "False"} == set(overrides._OVERRIDABLE)
    names = {name for name, value in vars(signals).items() if type(value) is object}
    assert (
        set(re.findall(r"```\{signal\} (\w+)\n", (REFERENCE / "meta.md").read_text("utf-8")))
        == names
    )
    schemes = re.findall(r"^(\S+)://", (REFERENCE / "settings.md").read_text("utf-8"), re.MULTILINE)
    assert {*schemes} == {*registry.BUILT_IN}


def test_every_kind_of_error_is_in_the_reference() -> None:
    modules = errors, overrides
    counters = {
        cls.counter
        for module in modules
        for cls in vars(module).values()
        if hasattr(cls, "counter")
    }
    # Pages that cannot be read are skipped, and a crawl closes nothing that it still uses.
    assert first_column("stats.md", "Kinds of `error`") == counters - {"page", "closed"}
    rows = re.findall(
        r"^\| \{py:exc\}`~[\w.]+\.(\w+)` \| `(\w+)` \| (.*) \|$", PYTHON, re.MULTILINE
    )
    public = [
        cls
        for cls in vars(errors).values()
        if inspect.isclass(cls) and cls is not errors.CrawlDedupError
    ]
    assert {name: (counter, what == "ends") for name, counter, what in rows} == {
        cls.__name__: (cls.counter, cls.is_fatal) for cls in [*public, client.ServiceError]
    }


def test_the_reference_has_the_versions_of_the_files(tmp_path: Path) -> None:
    page = (REFERENCE / "files.md").read_text("utf-8")
    with crawldedup.Deduplicator(f"sqlite:///{tmp_path}/a.sqlite") as dedup:
        profile = dedup.info().profile
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as db:
        (layout,) = db.execute("PRAGMA user_version").fetchone()
    (shown,) = re.findall(r"^\S+/key\.\S+$", page, re.MULTILINE)
    assert shown.rpartition("/")[0] == profile.rpartition("/")[0]
    *_, fingerprint, tables, _ = profile.split("/")
    assert f"| `{fingerprint}` | the version of the fingerprint |" in page
    assert f"| `{tables}` |" in page
    assert f"(#sqlite-index) | layout `{layout}` |" in page
    assert f"(#work-folder-of-a-scan) | format `{FORMAT}` |" in page
    assert f'"format": {FORMAT}`' in page
    assert f"| format `{crawl_journal.VERSION}`, `{crawl_journal.FORMAT}` in" in page
    assert f"| format `{aside.VERSION}`, `{aside.FORMAT}` in" in page


def dedup_parser() -> ArgumentParser:
    parser, own = ArgumentParser(), command.Command()
    own.settings = Settings()
    own.add_options(parser)
    return parser


def test_every_option_of_scrapy_dedup_is_in_the_reference() -> None:
    (group,) = (group for group in dedup_parser()._action_groups if group.title == "Deduplication")
    options = {option for action in group._group_actions for option in action.option_strings}
    page = (REFERENCE / "commands.md").read_text("utf-8")
    assert {option for option in options if not re.search(rf"`{option}[` ]", page)} == set()


def test_the_reference_names_every_public_name_and_no_other() -> None:
    of_errors = {name for name in vars(errors) if name.endswith("Error")}
    ours = {f"crawldedup.{name}" for name in {*crawldedup.__all__} - of_errors}
    of_scrapy = {*scrapy_plugin.__all__} - {*crawldedup.__all__} - {"signals"}
    ours |= {f"crawldedup.scrapy_plugin.{name}" for name in of_scrapy}
    ours |= {
        f"{module.__name__}.{name}" for module in (client, crawl_journal) for name in module.__all__
    }
    assert {name for name in ours if f":: {name}\n" not in PYTHON} == set()
    named = re.findall(
        r"auto(?:class|function|exception|data):: (crawldedup[\w.]*)\.(\w+)\n", PYTHON
    )
    # Apache Spark is not here to import its module.
    named = [(module, name) for module, name in named if module != "crawldedup.spark"]
    assert [
        name for module, name in named if not hasattr(importlib.import_module(module), name)
    ] == []


def test_every_page_and_metric_of_the_service_is_in_the_reference() -> None:
    routes = {
        (method, route.path)
        for route in app.routes()
        if route.is_page
        for method in set(route.methods) - {"HEAD"}
    }
    assert (
        set(
            re.findall(r"`(GET|POST) (/\S*)`", section(REFERENCE / "http.md", "Pages for browsers"))
        )
        == routes
    )
    collected = metrics.METRICS.collect()
    counted = {f"{each.name}_total" if each.type == "counter" else each.name for each in collected}
    assert first_column("http.md", "Metrics") == counted


LINES = shell_lines("crawldedup")
LINES += [(place, line) for place, line in shell_lines("scrapy") if line.split()[1] == "dedup"]


@pytest.mark.parametrize(("place", "line"), LINES, ids=[f"{place} {line}" for place, line in LINES])
def test_a_command_line_is_understood(place: str, line: str) -> None:
    program, *arguments = shlex.split(line)
    if program == "crawldedup":
        # A wrong line ends the program.
        assert parser().parse_args(arguments)
    else:
        _, unknown = dedup_parser().parse_known_args(arguments[1:])
        assert not [each for each in unknown if each.startswith("-")]
