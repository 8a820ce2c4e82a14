from __future__ import annotations

import re
from pathlib import Path

import pytest
import regex
from scrapy.settings import Settings

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.settings import (
    CrawlOptions,
    check_patterns,
    default_workers,
    is_enabled,
    matches,
)


def read(**given: object) -> CrawlOptions:
    return CrawlOptions.from_settings(Settings(given))


def test_defaults() -> None:
    settings = read()
    assert settings == CrawlOptions(workers=default_workers("blocks"), volatile=True)
    assert (settings.store, settings.namespace, settings.action, settings.similarity) == (
        "memory://",
        "default",
        "drop-items",
        0.9,
    )


@pytest.mark.parametrize(
    ("name", "given", "read_as"),
    [
        ("SIMILARITY", "0.85", 0.85),
        ("SIMILARITY", "1", 1.0),
        ("SIMILARITY", 1, 1),
        ("KEEP_PER_CLUSTER", "3", 3),
        ("PAGE_SECONDS", "5", 5),
        ("MIN_WORDS", "20", 20),
        ("TTL", "30d", 30 * 86400),
        ("TTL", "3600", 3600),
        ("TTL", 3600, 3600),
        ("MAX_PAGES", "1000000", 1_000_000),
        ("ACTION", "mark", "mark"),
        ("SCOPE", "site", "site"),
        ("ON_ERROR", "fail", "fail"),
        ("REMEMBER", "False", False),
        ("REVISIT", "drop", "drop"),
        ("REVISIT_SIMILARITY", "0.95", 0.95),
        ("PARAGRAPHS", "0.2", 0.2),
        ("PARAGRAPHS", "mark", "mark"),
        ("MAX_PARAGRAPHS", "50000", 50_000),
        ("REMEMBER", 0, False),
        ("ENABLED", "true", True),
        ("JOURNAL", "False", False),
        ("JOURNAL", "journals", "journals"),
        ("CRAWL", "news-1", "news-1"),
        ("DISTINGUISH_PARAMS", '{"shop.example": ["img"]}', {"shop.example": ["img"]}),
        ("WORKERS", "2", 2),
        ("DENY", r"/(a|b),\d{1,2}", (regex.compile(r"/(a|b),\d{1,2}"),)),
        ("DENY", [], ()),
        ("DENY", ["x", re.compile("Y", re.IGNORECASE)], (regex.compile("x"), regex.compile("Y", regex.I))),
    ],
)
def test_values_as_code_and_command_line_give_them(name: str, given: object, read_as: object) -> None:
    value = getattr(read(**{f"CRAWLDEDUP_{name}": given}), name.lower())
    assert value == read_as
    assert type(value) is type(read_as)


REFUSED: dict[str, list[object]] = {
    "SIMILARITY": [0.5, "90%", 1.01, True],
    "KEEP_PER_CLUSTER": [0, 1.5],
    "WORKERS": [0],
    "PAGE_SECONDS": [0],
    "MIN_WORDS": [0],
    "ACTION": ["delete", ["drop"]],
    "SCOPE": ["page"],
    "ON_ERROR": [True],
    "REMEMBER": ["seldom"],
    "REVISIT": ["skip"],
    "REVISIT_SIMILARITY": [0.5],
    "PARAGRAPHS": ["half", 0, 1, True],
    "MAX_PARAGRAPHS": [999],
    "DENY": [7, "", re.compile("")],
    "ITEM_ACTION": ["marc", ""],
    "STORE": [""],
    "WALL": ["retry"],
    "JOURNAL": [""],
    "NAMESPACE": [7],
    "TTL": ["soon"],
    "MAX_PAGES": [0, "1e99", True],
    "TRUSTED_SITES": [5, [""], "two words"],
}


@pytest.mark.parametrize(("name", "given"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_what_is_not_allowed_is_refused_by_name(name: str, given: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(**{f"CRAWLDEDUP_{name}": given})
    assert str(refused.value).startswith(f"CRAWLDEDUP_{name} is {given!r}; it must be ")


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        ("SIMILARITY", "nan", "nan"),
        ("SIMILARITY", "inf", "inf"),
        ("DENY", [b"bytes"], "b'bytes'"),
        ("DENY", ["/news/", ""], "''"),
    ],
)
def test_what_is_wrong_of_it_is_shown(name: str, given: object, shown: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(**{f"CRAWLDEDUP_{name}": given})
    assert str(refused.value).startswith(f"CRAWLDEDUP_{name} is {shown}; it must be ")


def test_a_broken_expression_is_refused_with_what_is_wrong_in_it() -> None:
    with pytest.raises(ConfigurationError, match=r"^CRAWLDEDUP_DENY is '\(page'; .*missing \)"):
        read(CRAWLDEDUP_DENY=["ok", "(page"])


@pytest.mark.parametrize(
    ("unknown", "closest"),
    [
        ("CRAWLDEDUP_SIMILARTY", "CRAWLDEDUP_SIMILARITY"),
        ("CRAWLDEDUP_THRESHOLD", "CRAWLDEDUP_"),
        ("CRAWLDEDUP_STORE_URL", "CRAWLDEDUP_STORE"),
    ],
)
def test_an_unknown_setting_is_refused_with_the_closest_name(unknown: str, closest: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{unknown} is not .* did you mean '{closest}"):
        read(**{unknown: 1})


def test_the_store_falls_back_to_redis_then_to_the_job_directory(tmp_path: Path) -> None:
    job = str(tmp_path / "job")
    assert read(JOBDIR=job).store == f"sqlite:///{job}/crawldedup.sqlite"
    assert read(JOBDIR=job, REDIS_URL="redis://cache").store == "redis://cache"
    assert not Path(job).exists(), "who only looks at an index leaves no trace"
    own = read(JOBDIR=job, REDIS_URL="redis://cache", CRAWLDEDUP_STORE="redis://own")
    assert own.store == "redis://own"


@pytest.mark.parametrize(("cores", "quick", "slow"), [(1, 1, 1), (2, 1, 1), (3, 1, 2), (16, 1, 4)])
def test_the_quicker_an_extractor_the_fewer_processes(
    monkeypatch: pytest.MonkeyPatch, cores: int, quick: int, slow: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    extractors = ("text", "blocks", "textwrap.dedent")
    assert [read(CRAWLDEDUP_EXTRACTOR=name).workers for name in extractors] == [1, quick, slow]
    assert read(CRAWLDEDUP_EXTRACTOR="text", CRAWLDEDUP_WORKERS=2).workers == 2


def test_a_plugin_that_is_switched_off_reads_nothing_else() -> None:
    assert is_enabled(Settings())
    assert not is_enabled(Settings({"CRAWLDEDUP_ENABLED": "False", "CRAWLDEDUP_SIMILARITY": 7}))
    with pytest.raises(ConfigurationError, match="CRAWLDEDUP_ENABLED"):
        is_enabled(Settings({"CRAWLDEDUP_ENABLED": "perhaps"}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRAWLDEDUP_STORE", "rdis://localhost"),
        ("REDIS_URL", "rdis://localhost"),
        ("CRAWLDEDUP_EXTRACTOR", "trafilatur"),
        ("CRAWLDEDUP_NAMESPACE", "a b"),
        ("CRAWLDEDUP_TTL", "3 fortnights"),
    ],
)
def test_what_only_the_core_can_judge_is_refused_under_the_settings_name(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} is {value!r}"):
        CrawlOptions.from_settings(Settings({name: value}))


def test_a_report_is_written_from_a_journal(tmp_path: Path) -> None:
    path = str(tmp_path / "report.html")
    assert read(CRAWLDEDUP_REPORT=path).report == path
    with pytest.raises(ConfigurationError, match="CRAWLDEDUP_REPORT needs a journal, and CRAWLDEDUP_JOURNAL is False"):
        read(CRAWLDEDUP_REPORT=path, CRAWLDEDUP_JOURNAL=False)
    for wrong, why in (("report.pdf", "must end with one of .html"), ("nowhere/report.html", "there is no folder")):
        with pytest.raises(ConfigurationError, match=f"CRAWLDEDUP_REPORT.*{why}"):
            read(CRAWLDEDUP_REPORT=wrong)


ENDLESS = "https://e.com/" + "a" * 5000 + "b"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("otherwise", [True, False])
def test_a_search_without_end_is_given_up_and_named_once(otherwise: bool, caplog: pytest.LogCaptureFixture) -> None:
    (slow,) = check_patterns("DENY", [rf"(a|aa)+${otherwise}?"])
    for _ in range(2):
        assert matches(slow, ENDLESS, otherwise=otherwise) is otherwise
    (message,) = caplog.messages
    assert message.startswith("crawldedup: the regular expression (a|aa)+$")
    assert message.endswith(f"it counts as {'' if otherwise else 'not '}found.")


def test_a_compiled_expression_keeps_its_flags() -> None:
    one, other = check_patterns("DENY", [re.compile("/NEWS/ .", re.IGNORECASE | re.VERBOSE), "/NEWS/."])
    assert matches(one, "https://e.com/news/1")
    assert not matches(other, "https://e.com/news/1")
    assert not matches(one, "https://e.com/news/", otherwise=True)


@pytest.mark.parametrize(("text", "count"), [('["^a", "^b"]', 2), ("[]", 0), ("[ab]", 1), ("[1]", 1), ("a", 1)])
def test_lists_of_expressions_are_json_on_the_command_line(text: str, count: int) -> None:
    assert len(check_patterns("PREFER", text)) == count


@pytest.mark.parametrize("text", ["['/login']", "[\"/login']", '[ "a", ]'])
def test_a_list_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="a list is JSON, with double quotes"):
        check_patterns("DENY", text)
