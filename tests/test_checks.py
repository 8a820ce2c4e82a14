from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from crawldedup import checks
from crawldedup.errors import ConfigurationError


def assert_refused(check: Callable[..., object], *values: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(*values)
    assert said in str(caught.value)


def test_a_text_is_a_str() -> None:
    assert checks.string("url", "") == ""
    assert_refused(checks.string, "url", None, said="url is None; it must be a str")
    assert_refused(checks.string, "url", b"x", said="url is b'x'; it must be a str")


@pytest.mark.parametrize("value", ["no", None, 0, 1])
def test_a_flag_is_true_or_false(value: Any) -> None:
    assert_refused(checks.flag, "store_urls", value, said=f"store_urls is {value!r}; it must be True or False")
    assert checks.flag("store_urls", False) is False


@pytest.mark.parametrize("number", [0, -1, "5", 1.5, None, True, 8])
def test_a_whole_number_lies_within_bounds(number: Any) -> None:
    said = f"batch is {number!r}; it must be a whole number from 1 to 7"
    assert_refused(checks.whole(1, 7), "batch", number, said=said)
    assert checks.whole(1, 7)("batch", 7) == 7


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [(None, None), ("", None), (90, 90), ("90", 90), ("90m", 5400), ("1.5h", 5400), (" 8 w ", 4838400)],
)
def test_a_time_to_live_has_a_unit(ttl: Any, seconds: int | None) -> None:
    assert checks.ttl_seconds("ttl", ttl) == seconds


def test_a_word_names_the_closest_one_that_is_allowed() -> None:
    check = checks.one_of("nothing", "products", "numbers")
    assert check("distinguish", "numbers") == "numbers"
    said = "distinguish is 'number'; it must be 'nothing' or 'products' or 'numbers'; did you mean 'numbers'?"
    assert_refused(check, "distinguish", "number", said=said)


def test_of_a_large_value_only_the_beginning_is_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        checks.string("text", b"\x1b[2J" + b"words of a page " * 1000)
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)
