"""The settings of a crawl: how values are read, what is refused and with which words, and what the
add-on does.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import regex
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError
from crawldedup.patterns import check_patterns, matches
from crawldedup.scrapy_plugin import Addon, DedupItemPipeline, DedupMiddleware
from crawldedup.scrapy_plugin.items import DropItemsMiddleware
from crawldedup.scrapy_plugin.postpone import PostponeMiddleware
from crawldedup.scrapy_plugin.rules import RulesMiddleware
from crawldedup.scrapy_plugin.settings import crawl_options, default_workers, read_settings
from tests.scrapy_plugin.fakes import FakeCrawler


def read(**given: object) -> CrawlOptions:
    return read_settings(Settings(given))


def test_defaults() -> None:
    settings = read()
    assert settings == CrawlOptions(workers=default_workers("blocks"), volatile=True)
    assert (settings.store, settings.action, settings.similarity) == (
        "memory://",
        "drop-items",
        0.9,
    )


@pytest.mark.parametrize(
    ("name", "given", "read_as"),
    [
        ("SIMILARITY", "0.85", 0.85),
        ("KEEP_PER_CLUSTER", "3", 3),
        ("TTL", "30d", 30 * 86400),
        ("REMEMBER", "False", False),
        ("BUDGET", "0", None),
        ("BUDGET", 0, None),
        ("BUDGET", "10", 10),
        ("PARAGRAPHS", "0.2", 0.2),
        ("PARAGRAPHS", "mark", "mark"),
        ("JOURNAL", "False", False),
        ("DISTINGUISH_PARAMS", '{"shop.example": ["img"]}', {"shop.example": ["img"]}),
        ("IGNORE_MARKS", '{"news.example": ["picture"]}', {"news.example": ["picture"]}),
        ("TRUSTED_SITES", "www.e.com, https://e.org/a", frozenset({"e.com", "e.org"})),
        ("ITEM_FIELDS", "title, body", ("title", "body")),
        ("UNCHECKED_URLS", r"/(a|b),\d{1,2}", (regex.compile(r"/(a|b),\d{1,2}"),)),
        (
            "UNCHECKED_URLS",
            ["x", re.compile("Y", re.IGNORECASE)],
            (regex.compile("x"), regex.compile("Y", regex.I)),
        ),
        ("PREFER", '["^a", "^b"]', (regex.compile("^a"), regex.compile("^b"))),
    ],
)
def test_values_as_code_and_command_line_give_them(
    name: str, given: object, read_as: object
) -> None:
    value = getattr(read(**{f"CRAWLDEDUP_{name}": given}), name.lower())
    assert value == read_as
    assert type(value) is type(read_as)


# Those of the index are in tests/test_options.py.
REFUSED: dict[str, list[object]] = {
    "SIMILARITY": ["90%", 1.01],
    "KEEP_PER_CLUSTER": [0, 1.5],
    "ACTION": ["delete"],
    "REMEMBER": ["seldom"],
    "REVISIT_SIMILARITY": [0.5],
    "PARAGRAPHS": ["half", 1],
    "UNCHECKED_URLS": [7, ""],
    "ITEM_FIELDS": [[], {"body"}],
    "STORE": ["rdis://localhost"],
    "NAMESPACE": ["a b"],
    "TRUSTED_SITES": [5, "two words"],
}


@pytest.mark.parametrize(
    ("name", "given"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, given: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(**{f"CRAWLDEDUP_{name}": given})
    assert str(refused.value).startswith(f"CRAWLDEDUP_{name} is {given!r}")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CRAWLDEDUP_SIMILARITY": "nan"}, "CRAWLDEDUP_SIMILARITY is nan; it must be "),
        (
            {"CRAWLDEDUP_UNCHECKED_URLS": ["ok", "(page"]},
            r"CRAWLDEDUP_UNCHECKED_URLS is '\(page'; .*missing \)",
        ),
        (
            {"CRAWLDEDUP_SIMILARTY": 1},
            "CRAWLDEDUP_SIMILARTY is not .* did you mean 'CRAWLDEDUP_SIMILARITY'",
        ),
        (
            {"CRAWLDEDUP_DENY": "/login"},
            "CRAWLDEDUP_DENY is called CRAWLDEDUP_UNCHECKED_URLS now: its pages are .* delivered",
        ),
        ({"CRAWLDEDUP_REPORT": "report.pdf"}, "CRAWLDEDUP_REPORT.*must end with one of .html"),
        (
            {"CRAWLDEDUP_RULES": "r.json", "CRAWLDEDUP_KEEP_PER_CLUSTER": 2},
            "CRAWLDEDUP_KEEP_PER_CLUSTER asks for some",
        ),
    ],
)
def test_settings_are_refused_with_what_is_wrong_in_them(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(**settings)


def test_a_report_can_be_turned_off_for_one_run() -> None:
    assert read(CRAWLDEDUP_REPORT="report.html").report == "report.html"
    assert read(CRAWLDEDUP_REPORT="").report is None


def test_the_store_falls_back_to_redis_then_to_the_job_directory(tmp_path: Path) -> None:
    job = str(tmp_path / "job")
    assert read(JOBDIR=job).store == f"sqlite:///{job}/crawldedup.sqlite"
    assert not Path(job).exists(), "interactive commands leave no trace"
    assert read(JOBDIR=job, REDIS_URL="redis://cache").store == "redis://cache"
    assert (
        read(JOBDIR=job, REDIS_URL="redis://cache", CRAWLDEDUP_STORE="redis://own").store
        == "redis://own"
    )


@pytest.mark.parametrize(("cores", "slow"), [(1, 1), (3, 2), (16, 4)])
def test_workers_are_chosen_by_extractor_and_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int, slow: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    extractors = ("text", "blocks", "textwrap.dedent")
    assert [read(CRAWLDEDUP_EXTRACTOR=name).workers for name in extractors] == [1, 1, slow]
    assert read(CRAWLDEDUP_EXTRACTOR="text", CRAWLDEDUP_WORKERS="3").workers == 3


def test_a_plugin_that_is_switched_off_reads_nothing_else() -> None:
    crawler: Any = FakeCrawler(CRAWLDEDUP_ENABLED="False", CRAWLDEDUP_SIMILARITY=7)
    with pytest.raises(NotConfigured), crawl_options(crawler):
        pass


@pytest.mark.timeout(20)
@pytest.mark.parametrize("otherwise", [True, False])
def test_a_search_without_end_is_given_up(otherwise: bool) -> None:
    (slow,) = check_patterns("UNCHECKED_URLS", ["(a|aa)+$"])
    assert matches(slow, f"https://e.com/{'a' * 5000}b", otherwise=otherwise) is otherwise


def placed(settings: Settings, name: str = "DOWNLOADER_MIDDLEWARES") -> dict[object, int | None]:
    Addon().update_settings(settings)
    return {load_object(key): order for key, order in settings.getdict(name).items()}


def test_the_addon_puts_the_middlewares_where_they_belong() -> None:
    settings = Settings()
    assert placed(settings) == placed(settings) == {PostponeMiddleware: 40, DedupMiddleware: 545}
    assert DropItemsMiddleware in settings.getdict("SPIDER_MIDDLEWARES")
    assert placed(Settings({"CRAWLDEDUP_RULES": "rules.json"}))[RulesMiddleware] == 544


@pytest.mark.parametrize("key", [DedupMiddleware, "crawldedup.scrapy_plugin.DedupMiddleware"])
def test_the_addon_respects_what_the_project_says(key: object) -> None:
    for order in (300, None):
        assert placed(Settings({"DOWNLOADER_MIDDLEWARES": {key: order}}))[DedupMiddleware] == order


@pytest.mark.parametrize(
    ("fields", "pipelines"),
    [(["body"], {DedupItemPipeline: 400}), ("", {DedupItemPipeline: 400}), (None, {})],
)
def test_the_pipeline_is_there_where_fields_are_named_or_named_wrongly(
    fields: object, pipelines: object
) -> None:
    assert placed(Settings({"CRAWLDEDUP_ITEM_FIELDS": fields}), "ITEM_PIPELINES") == pipelines
