from __future__ import annotations

import re
from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.middleware import deduplicator_for
from crawldedup.scrapy_plugin.settings import DedupSettings, default_workers, is_enabled


def read(**given: object) -> DedupSettings:
    return DedupSettings.from_settings(Settings(given))


def test_defaults() -> None:
    settings = read()
    assert settings == DedupSettings(workers=default_workers("trafilatura"))
    assert (settings.store, settings.namespace, settings.action, settings.similarity) == (
        "memory://",
        "default",
        "drop",
        0.9,
    )


@pytest.mark.parametrize(
    ("name", "given", "read_as"),
    [
        ("SIMILARITY", "0.85", 0.85),
        ("SIMILARITY", 1, 1.0),
        ("RECALL", "0.95", 0.95),
        ("KEEP_PER_CLUSTER", "3", 3),
        ("WORKERS", "0", 0),
        ("PAGE_SECONDS", "5", 5),
        ("MIN_WORDS", "20", 20),
        ("DEFAULT", "false", False),
        ("DEFAULT", 0, False),
        ("DEFAULT", "True", True),
        ("TTL", "30d", "30d"),
        ("TTL", "3600", 3600),
        ("TTL", 3600, 3600),
        ("TTL_REFRESH", "False", False),
        ("MAX_PAGES", "1000000", 1_000_000),
        ("STORE_URLS", 0, False),
        ("ACTION", "mark", "mark"),
        ("SCOPE", "site", "site"),
        ("ON_ERROR", "fail", "fail"),
        ("REMEMBER", "False", False),
        ("CANONICAL", "compare", "compare"),
        ("REVISIT", "drop", "drop"),
        ("ALLOW", r"/(a|b),\d{1,2}", (re.compile(r"/(a|b),\d{1,2}"),)),
        ("ALLOW", [], ()),
        ("DENY", ["x", re.compile("Y", re.IGNORECASE)], (re.compile("x"), re.compile("Y", re.IGNORECASE))),
    ],
)
def test_values_as_code_and_command_line_give_them(name: str, given: object, read_as: object) -> None:
    value = getattr(read(**{f"CRAWLDEDUP_{name}": given}), name.lower())
    assert value == read_as
    assert type(value) is type(read_as)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("SIMILARITY", 0.5),
        ("SIMILARITY", "90%"),
        ("SIMILARITY", 1.01),
        ("SIMILARITY", "nan"),
        ("SIMILARITY", True),
        ("RECALL", 0),
        ("RECALL", "inf"),
        ("KEEP_PER_CLUSTER", 0),
        ("KEEP_PER_CLUSTER", 1.5),
        ("WORKERS", -1),
        ("PAGE_SECONDS", 0),
        ("MIN_WORDS", 0),
        ("DEFAULT", "maybe"),
        ("ACTION", "delete"),
        ("ACTION", ["drop"]),
        ("SCOPE", "page"),
        ("ON_ERROR", True),
        ("REMEMBER", "seldom"),
        ("CANONICAL", "obey"),
        ("REVISIT", "skip"),
        ("ALLOW", 7),
        ("DENY", [b"bytes"]),
        ("DENY", ""),
        ("ALLOW", ["/news/", ""]),
        ("DENY", re.compile("")),
        ("ITEM_ACTION", "marc"),
        ("ITEM_ACTION", ""),
        ("ITEM_IDENTITY", " "),
        ("ITEM_IDENTITY", ["sku"]),
        ("STORE", ""),
        ("NAMESPACE", 7),
        ("TTL", 1.5),
        ("TTL_REFRESH", "never"),
        ("MAX_PAGES", 0),
        ("MAX_PAGES", "1e99"),
        ("MAX_PAGES", True),
        ("STORE_URLS", "hashed"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(name: str, given: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(**{f"CRAWLDEDUP_{name}": given})
    assert str(refused.value).startswith(f"CRAWLDEDUP_{name} is {given!r}; it must be ")


def test_a_broken_expression_is_refused_with_what_is_wrong_in_it() -> None:
    with pytest.raises(ConfigurationError, match=r"^CRAWLDEDUP_DENY holds '\(page'; .*unterminated subpattern"):
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
    with pytest.raises(ConfigurationError, match=f"{unknown} is not .* did you mean {closest}"):
        read(**{unknown: 1})


def test_none_means_not_set() -> None:
    assert read(CRAWLDEDUP_TTL=None, CRAWLDEDUP_SIMILARITY=None).similarity == 0.9


def test_the_store_falls_back_to_redis_then_to_the_job_directory(tmp_path: Path) -> None:
    job = str(tmp_path / "job")
    assert read(JOBDIR=job).store == f"sqlite:///{job}/crawldedup.sqlite"
    assert read(JOBDIR=job, REDIS_URL="redis://cache").store == "redis://cache"
    assert not Path(job).exists(), "who only looks at an index leaves no trace"
    own = read(JOBDIR=job, REDIS_URL="redis://cache", CRAWLDEDUP_STORE="redis://own")
    assert own.store == "redis://own"


@pytest.mark.parametrize(("cores", "quick", "slow"), [(1, 0, 1), (2, 1, 1), (3, 1, 2), (16, 1, 4)])
def test_the_quicker_an_extractor_the_fewer_processes(
    monkeypatch: pytest.MonkeyPatch, cores: int, quick: int, slow: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    extractors = ("text", "resiliparse", "textwrap.dedent")
    assert [read(CRAWLDEDUP_EXTRACTOR=name).workers for name in extractors] == [0, quick, slow]
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
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        DedupSettings.from_settings(Settings({name: value}))


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("DISTINGUISH", "prices", "'numbers'"),
    ],
)
def test_a_word_that_does_not_exist_is_refused_under_its_setting(name: str, given: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as error:
        read(**{f"CRAWLDEDUP_{name}": given})
    assert f"CRAWLDEDUP_{name}" in str(error.value)


def test_what_is_remembered_and_for_how_long_reaches_the_index() -> None:
    settings = read(CRAWLDEDUP_TTL_REFRESH=False, CRAWLDEDUP_MAX_PAGES=1, CRAWLDEDUP_STORE_URLS=False)
    dedup = deduplicator_for(settings)
    dedup.check("https://a.example/", text=" ".join(f"alpha{number}" for number in range(100)))
    dedup.check("https://b.example/", text=" ".join(f"beta{number}" for number in range(100)))
    copy = dedup.check("https://c.example/", text=" ".join(f"beta{number}" for number in range(100)))
    assert (copy.is_duplicate, copy.original) == (True, None)
    assert dedup.info().pages == 1
