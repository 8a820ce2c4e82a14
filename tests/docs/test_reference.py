"""The reference names all that the code has, and no page names what the code does not have."""

from __future__ import annotations

import importlib
import inspect
import re
from argparse import ArgumentParser
from itertools import product
from pathlib import Path

import pytest
from scrapy.settings import Settings

import crawldedup
from crawldedup import client, errors, scrapy_plugin
from crawldedup import journal as crawl_journal
from crawldedup.scrapy_plugin import command as dedup
from crawldedup.scrapy_plugin import failures as crawl_errors
from crawldedup.scrapy_plugin import journal, middleware, policy, rules, signals, stats
from crawldedup.scrapy_plugin.settings import PREFIX, CrawlOptions, crawl_settings
from crawldedup.stores import registry
from crawldedup.verdict import Coverage, Kind, Verdict
from tests.docs.pages import PAGES, ROOT, SITE, section

REFERENCE = SITE / "reference"
STATS = REFERENCE / "stats.md"

# Not settings: variables of the environment of the documentation's build, and of the service.
NOT_SETTINGS = {"DOCS_ONLINE", "SERVICE", "TOKEN"}


def settings() -> set[str]:
    return {name.removeprefix(PREFIX) for name in crawl_settings()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_no_setting_that_does_not_exist(page: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])", page.read_text("utf-8")))
    assert named - NOT_SETTINGS <= settings()


def test_every_key_of_meta_is_in_the_reference() -> None:
    page = (REFERENCE / "meta.md").read_text("utf-8")
    for key in (policy.OVERRIDE_KEY, policy.VERDICT_KEY):
        assert f"```{{reqmeta}} {key}\n" in page
    named = re.findall(r"^\| `([a-z_]+)` \|", section(REFERENCE / "meta.md", "crawldedup"), flags=re.MULTILINE)
    assert sorted(named) == sorted(policy._OVERRIDABLE)


def test_every_signal_is_in_the_reference() -> None:
    page = (REFERENCE / "signals.md").read_text("utf-8")
    names = [name for name, value in vars(signals).items() if type(value) is object]
    assert names
    for name in names:
        assert f"```{{signal}} {name}\n" in page


def test_every_stat_of_a_verdict_is_in_the_reference() -> None:
    table = section(STATS, "Pages")
    for name in ("checked", *stats._KINDS.values(), "changed", "unchanged", "dropped", "items_dropped"):
        assert f"| `{stats.PREFIX}{name}` |" in table


def test_every_figure_of_a_crawl_is_in_the_reference() -> None:
    source = inspect.getsource(stats)
    figures = {"bytes_saved", *re.findall(r"\{self\._prefix\}(novelty|largest_cluster)", source)}
    assert len(figures) == 3
    figures |= {f"seconds/{name}" for name in ("waiting", "reading", "store")}
    table = section(STATS, "Figures of a crawl")
    assert set(re.findall(rf"^\| `{stats.PREFIX}(\S+)` \|", table, flags=re.MULTILINE)) == figures


def test_every_field_of_a_journal_is_in_the_reference() -> None:
    fields = set(re.findall(r'^ +(?:\w+\.\w+\()?\{?"(\w+)": ', inspect.getsource(journal), re.MULTILINE))
    fields |= set(journal._SHOWN_OF_VERDICT)
    assert len(fields) > 30
    page = (REFERENCE / "journal.md").read_text("utf-8")
    assert {name for name in fields if f"`{name}`" not in page} == set()


def test_every_reason_to_skip_is_in_the_reference() -> None:
    reasons = set(re.findall(r'return "(\w+)"', inspect.getsource(policy.reason_to_skip)))
    assert len(reasons) > 5
    reasons |= {"too_large", "too_deep", "too_slow", "out_of_memory", "binary", "empty", "broken"}
    assert first_column("Reasons for `skipped`") == reasons


def test_every_kind_of_error_is_in_the_reference() -> None:
    classes = [cls for module in (errors, crawl_errors, policy) for cls in vars(module).values()]
    counters = {cls.counter for cls in classes if hasattr(cls, "counter")}
    # Pages that cannot be read are skipped, and a crawl closes nothing that it still uses.
    assert first_column("Kinds of `error`") == counters - {"page", "closed"}


def test_every_action_and_option_of_scrapy_dedup_is_in_the_reference() -> None:
    page = (REFERENCE / "scrapy-dedup.md").read_text("utf-8")
    parser, command = ArgumentParser(), dedup.Command()
    command.settings = Settings()
    command.add_options(parser)
    (own,) = (group for group in parser._action_groups if group.title == "Deduplication")
    options = {option for action in own._group_actions for option in action.option_strings}
    assert {"--crawls", "--format"} <= options
    assert {option for option in options if not re.search(rf"`{option}[` ]", page)} == set()
    actions = {*dedup._ON_PAGES, *dedup._ON_INDEX, *(f"{action} [SOURCE ...]" for action in dedup._ON_JOURNALS)}
    assert {action for action in actions if f"scrapy dedup {action} " not in page} == set()


def test_every_public_name_is_in_the_reference() -> None:
    documented = (REFERENCE / "python.md").read_text("utf-8")
    of_errors = {name for name in vars(errors) if name.endswith("Error")}
    for name in set(crawldedup.__all__) - of_errors:
        assert f":: crawldedup.{name}\n" in documented
    of_scrapy = set(scrapy_plugin.__all__) - set(crawldedup.__all__) - {"signals"}
    pages = documented + (REFERENCE / "errors.md").read_text("utf-8")
    for name in of_scrapy:
        assert f":: crawldedup.scrapy_plugin.{name}\n" in pages
    for module in (client, crawl_journal):
        for name in module.__all__:
            assert f":: {module.__name__}.{name}\n" in documented
    assert ":: crawldedup.spark.deduplicate\n" in documented
    # All errors of the module are there by autodoc, each by its docstring.
    assert ":: crawldedup.errors\n   :members:" in (REFERENCE / "errors.md").read_text("utf-8")
    assert all(inspect.getdoc(getattr(errors, name)) for name in of_errors)


def test_the_reference_names_no_name_that_does_not_exist() -> None:
    pages = "".join((REFERENCE / name).read_text("utf-8") for name in ("python.md", "errors.md"))
    named = re.findall(r"auto(?:class|function|exception|data):: (crawldedup[\w.]*)\.(\w+)\n", pages)
    modules = {module for module, _ in named} - {"crawldedup.spark"}
    homes = {module: importlib.import_module(module) for module in modules}
    public = {(module, name) for module, home in homes.items() for name in getattr(home, "__all__", vars(home))}
    assert {(module, name) for module, name in named if module in modules} <= public
    assert {name for module, name in named if module == "crawldedup.spark"} == {"deduplicate"}
    for module, members in re.findall(r"automodule:: (crawldedup\.literature\.\w+)\n   :members: (.*)\n", pages):
        assert all(hasattr(importlib.import_module(module), name) for name in members.split(", "))


def test_every_scheme_of_a_store_is_in_the_reference() -> None:
    schemes = set(re.findall(r"^(\S+)://", (REFERENCE / "store-urls.md").read_text("utf-8"), re.MULTILINE))
    assert schemes == set(registry._STORES)


def first_column(title: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", section(STATS, title), flags=re.MULTILINE))


def test_every_flag_of_a_response_is_in_the_reference() -> None:
    named = set(re.findall(r"`crawldedup:([\w=<>]+)`", section(REFERENCE / "meta.md", "response.flags")))
    sites = frozenset({"b.example"})
    partial = Coverage(new_words=1, known_words=1, boilerplate_words=0, is_partial=True)
    flags: set[str] = set()
    for action, kind, replaces, unchanged, trusted, coverage in product(
        ("drop", "drop-items", "mark"), Kind, (False, True), (False, True), (None, sites), (None, partial)
    ):
        is_duplicate = kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)
        if (replaces and not is_duplicate) or (unchanged and kind is not Kind.REVISIT):
            continue
        original = "https://a.example/" if is_duplicate else None
        verdict = Verdict(kind, "https://c.example/", original, copies=1, replaces=replaces, coverage=coverage)
        revisit = "drop" if unchanged else "keep"
        rules = CrawlOptions(action=action, trusted_sites=trusted, revisit=revisit)
        flags.update(policy.decide(verdict, rules).flags)
    assert named == {re.sub(r"=[\d.]+", "=<share>", flag.removeprefix("crawldedup:")) for flag in flags}


def test_the_reference_of_journals_names_no_field_that_does_not_exist() -> None:
    page = REFERENCE / "journal.md"
    lines = page.read_text("utf-8").partition("\n## Lines\n")[2].partition("\n## Nothing\n")[0]
    named = {
        name for row in re.findall(r"^\| (`[^|]+`) \|", lines, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert len(named) > 40
    written = "".join(map(inspect.getsource, (journal, crawl_journal, middleware, rules)))
    assert {name for name in named if f'"{name}"' not in written} == set()
