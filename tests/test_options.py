"""Options, pages and the checks of their values."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Page, checks
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options, OptionValues, options_of
from crawldedup.page import PageValues


def test_the_keyword_arguments_are_the_options() -> None:
    """All but the store, which is the first argument."""
    assert list(Options().index_values()) == [field.name for field in fields(Options)[1:]]
    for cls in (Deduplicator, AsyncDeduplicator):
        assert inspect.signature(cls).parameters["store"].default == Options().store


def test_every_default_passes_its_own_check() -> None:
    for option in options_of():
        assert option.check(option.name, option.default) == option.default
        assert option.help.endswith(".")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("similarity", "0.8", 0.8),
        ("min_words", "30", 30),
        ("ttl_refresh", "False", False),
        ("extractor", "text", "text"),
    ],
)
def test_a_text_stands_for_a_value(name: str, text: str, value: Any) -> None:
    (option,) = (option for option in options_of() if option.name == name)
    assert option.from_text(text) == value


REFUSED: dict[str, list[Any]] = {
    "store": ["postgres://localhost", 5],
    "namespace": ["", "a b", "{a}", "é", "x" * 101, 5],
    "scope": ["domain"],
    "extractor": ["magic", ["text"]],
    "similarity": [90, 0.5, 1.1, float("nan"), True, None, "1"],
    "recall": [1, 0.1, "1"],
    "ttl": [0, -5, "month", "0.5s", "8000w", 10**400],
    "max_pages": [0, "many", "1"],
    "min_words": [0, 1.5, True, "1"],
    "expected_pages": ["1"],
    "ttl_refresh": ["no", "1", 1, None],
    "store_urls": [None],
    "distinguish": ["number"],
    "distinguish_params": [
        7,
        [],
        {},
        [7],
        [""],
        "a,,b",
        "{",
        {"shop.example": []},
        {"https://a.example/": ["a"]},
        {"[": ["a"]},
        '{"a":' * 10_000,
    ],
    "apart": ["", 7, [7], [""], {"a": "b"}, "/nowhere/apart.jl", "/", "a\0b", b"apart.jl"],
    "ignore_marks": [
        '{"a":' * 10_000,
        7,
        {},
        "picture",
        '{"news.example": "picture"}',
        ["picture"],
        {"news.example": 7},
    ],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values]
)
def test_a_value_that_is_not_allowed_is_refused_by_name(name: str, value: Any) -> None:
    """Python takes no text for a number or a flag."""
    for make in (Options, Deduplicator, AsyncDeduplicator):
        with pytest.raises(ConfigurationError, match=f"^{name} is .*|magic"):
            make(**{name: value})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("similarty", "did you mean 'similarity'"),
        ("threshold", "did you mean 'similarity'"),
        ("xyzzy", "options: store, "),
    ],
)
def test_a_name_that_is_no_option_is_refused(name: str, said: str) -> None:
    for make in (Deduplicator, AsyncDeduplicator):
        with pytest.raises(
            ConfigurationError, match=f"there is no option {name!r}.*{re.escape(said)}"
        ):
            make(**{name: 1})


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        (None, None),
        ("", None),
        ("img, colour", {"*": ["img", "colour"]}),
        (("img",), {"*": ["img"]}),
        ('["img"]', {"*": ["img"]}),
        ({"WWW.Shop.example": ["img"], "*": ("v",)}, {"shop.example": ["img"], "*": ["v"]}),
        ('{"bücher.example": ["img"]}', {"xn--bcher-kva.example": ["img"]}),
    ],
)
def test_distinguish_params_takes_names_or_hosts(given: object, hosts: object) -> None:
    options = Options(distinguish_params=given)
    assert (
        options.distinguish_params == hosts == Options(distinguish_params=hosts).distinguish_params
    )


def test_a_deduplicator_is_made_of_options_and_tells_them() -> None:
    options = Options(namespace="news", ttl="1d", similarity=0.8, distinguish="nothing")
    assert options.ttl == 86400
    for cls in (Deduplicator, AsyncDeduplicator):
        assert cls.from_options(options).options == options
    assert (
        Deduplicator().options
        == Options()
        == replace(options, **Deduplicator().options.index_values())
    )


@pytest.mark.parametrize(
    ("url", "page", "said"),
    [
        ("u", {}, "must have one of html, text and fingerprint"),
        ("u", {"html": "<p>", "text": "x"}, "must have one of html, text and fingerprint"),
        (None, {"html": "<p>"}, "url is None; it must be a str"),
        *(("u", {name: 5}, f"{name} is 5") for name in ("html", "text")),
        *(
            ("u", {"text": "", name: 5}, f"{name} is 5")
            for name in ("encoding", "identity", "scope_key", "canonical")
        ),
        *(("u", {"text": "", "rank": rank}, f"rank is {rank}") for rank in (-1, 256, 1.5, True)),
        ("u", {"fingerprint": "f0"}, "fingerprint is 'f0'; it must be one that"),
        ("u", {"text": "x", "similarity": 7}, "^similarity is 7"),
    ],
)
def test_what_is_no_page_is_refused_at_once(url: Any, page: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Page(url, **page)


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        (None, None),
        ("", None),
        (90, 90),
        ("90", 90),
        ("90m", 5400),
        ("1.5h", 5400),
        (" 8 w ", 4838400),
    ],
)
def test_a_time_to_live_has_a_unit(ttl: Any, seconds: int | None) -> None:
    assert checks.ttl_seconds("ttl", ttl) == seconds


def test_of_a_large_value_only_the_beginning_is_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        checks.string("text", b"\x1b[2J" + b"words of a page " * 1000)
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)


def test_option_values_name_every_option_but_the_store() -> None:
    assert OptionValues.__annotations__.keys() == {each.name for each in fields(Options)} - {
        "store"
    }


def test_page_values_name_every_part_of_a_page_but_its_url() -> None:
    assert PageValues.__annotations__.keys() == {each.name for each in fields(Page)} - {"url"}
