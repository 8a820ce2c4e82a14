"""The reference names every stat that the add-on can set, and none that it cannot."""

import ast
import re
from itertools import product
from pathlib import Path
from typing import Final

import crawldedup.scrapy_plugin
from crawldedup.advice.prediction import Step
from crawldedup.aio import Judged
from crawldedup.deduplicator import Deduplicator
from crawldedup.page import ReadPage
from crawldedup.scrapy_plugin.failures import CLOSE_REASON
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.stats import PREFIX, CrawlStats
from crawldedup.scrapy_plugin.walls import WALL_REASON
from crawldedup.verdict import Coverage, Kind, Verdict
from tests.docs.pages import section
from tests.docs.stats_page import PAGE, named_stats, undocumented
from tests.scrapy_plugin.fakes import FakeCrawler

PLUGIN: Final = Path(crawldedup.scrapy_plugin.__file__).parent
SETTERS: Final = {"inc_value", "set_value", "max_value"}
PARTIAL: Final = Coverage(new_words=1, known_words=2, boilerplate_words=3, is_partial=True)


def set_by_counting(noun: str) -> set[str]:
    """Everything that is counted, of verdicts of every kind; the words in <> stand for what is told of."""
    crawler, is_page = FakeCrawler(), noun == "page"
    stats = CrawlStats(crawler, CrawlOptions(paragraphs="mark"), noun)  # type: ignore[arg-type]
    read = Deduplicator(key=0).fingerprint(text="words")
    dropped = Outcome(Fate.DROPPED, refused=True, unchanged=is_page)
    for kind, changed, replaces, coverage in product(Kind, (False, True), (False, is_page), (None, PARTIAL)):
        original = "https://b.example/" if kind.value.endswith("_duplicate") else None
        url = "https://a.example/"
        verdict = Verdict(kind, url, original, copies=1, changed=changed, replaces=replaces, coverage=coverage)
        judged = Judged(
            verdict, ReadPage(read, unselected=is_page, left_out=("24 users",) if is_page else ()), 0.1, 0.1, 0.1
        )
        stats.checked(judged, dropped, size=int(is_page))
    stats.count("skipped/<reason>")
    stats.count("error/<kind>")
    if is_page:
        stats.count("walls/suspected")
        stats.count("walls/ignored")
        stats.count("reloads")
    return set(crawler.stats.get_stats())


def set_elsewhere() -> set[str]:
    """The stats that other modules than that of `CrawlStats` set."""
    names = {f"rules/{name}" for name in re.findall(r'_count\("(\w+)"\)', source_of("rules.py"))}
    names |= {f"rules/{step}" for step in Step if step is not Step.MADE}
    counted = re.findall(r'[ct]_value\("(crawldedup/\S+)"', source_of("items.py"))
    names |= {name.removeprefix(PREFIX) for name in counted}
    return {PREFIX + name for name in names}


def source_of(name: str) -> str:
    return (PLUGIN / name).read_text("utf-8")


def calls(tree: ast.AST, names: set[str]) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
    ]


def as_on_the_page(stats: set[str]) -> set[str]:
    """The page names the seconds of one page for all parts at once, and so the kinds of words."""
    parts = {re.sub(r"(/seconds/)\w+?(_max)$", r"\1<part>\2", name) for name in stats}
    return {re.sub(r"(/paragraphs/words/)\w+$", r"\1<kind>", name) for name in parts}


def test_every_stat_of_pages_is_in_the_reference_and_no_other() -> None:
    of_items = {name for name in named_stats() if name.startswith(f"{PREFIX}item/")}
    assert as_on_the_page(set_by_counting("page")) | set_elsewhere() == named_stats() - of_items


def test_every_stat_of_items_is_in_the_reference_and_no_other() -> None:
    named = {name for name in named_stats() if name.startswith(f"{PREFIX}item/")}
    assert {re.sub(r"/seconds/\w+?(_max)?$", r"/seconds/<part>\1", name) for name in set_by_counting("item")} == named


def test_no_other_module_sets_stats() -> None:
    setting = {
        str(path.relative_to(PLUGIN)): len(calls(ast.parse(path.read_text("utf-8")), SETTERS))
        for path in PLUGIN.rglob("*.py")
    }
    # The figures are of the calls whose names the tests above collect: a new one has to be collected, too.
    assert {name: count for name, count in setting.items() if count} == {
        "stats.py": 5,
        "items.py": 1,
        "rules.py": 1,
    }


def test_all_that_is_counted_by_name_was_counted_above() -> None:
    added = calls(ast.parse(source_of("stats.py")), {"count"})
    names = {call.args[0].value for call in added if isinstance(call.args[0], ast.Constant)}
    assert len(names) >= 4
    assert {name for name in names if PREFIX + str(name) not in set_by_counting("page")} == set()


def test_a_stat_that_is_not_named_is_found() -> None:
    assert undocumented(["crawldedup/skipped/status", "crawldedup/item/seconds/store_max", "retry/count"]) == set()
    wrong = {"crawldedup/invented", "crawldedup/skipped/a/b", "crawldedup/item/bytes_saved", "crawldedup/checked_max"}
    assert undocumented(wrong) == wrong


def test_every_reason_to_finish_is_in_the_reference() -> None:
    reasons = re.findall(r"^\| `(\w+)` \|", section(PAGE, "Finish reasons"), re.MULTILINE)
    assert sorted(reasons) == sorted((CLOSE_REASON, WALL_REASON))
