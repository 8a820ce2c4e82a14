from __future__ import annotations

import inspect
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options, options_of


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
        ("min_words", "30.5", "30.5"),
        ("ttl_refresh", "False", False),
        ("ttl_refresh", "1", True),
        ("ttl_refresh", "perhaps", "perhaps"),
        ("ttl", "30d", "30d"),
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
    "ttl_refresh": ["no", "1"],
    "store_urls": [None],
    "keep_texts": ["yes", 1, None],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
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
        with pytest.raises(ConfigurationError, match=f"there is no option {name!r}.*{re.escape(said)}"):
            make(**{name: 1})


def test_a_deduplicator_is_made_of_options_and_tells_them() -> None:
    options = Options(namespace="news", ttl="1d", similarity=0.8, distinguish="nothing")
    assert options.ttl == 86400
    for cls in (Deduplicator, AsyncDeduplicator):
        assert cls.from_options(options).options == options
    assert Deduplicator().options == Options() == replace(options, **Deduplicator().options.index_values())
