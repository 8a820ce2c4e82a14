"""Patterns for URLs: hostile ones end the search, not the crawl."""

from __future__ import annotations

import re

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.patterns import Pattern, check_patterns

ENDLESS = "https://e.com/" + "a" * 5000 + "b"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("otherwise", [True, False])
def test_a_search_without_end_is_given_up(otherwise: bool) -> None:
    assert Pattern.of(r"(a|aa)+$").matches(ENDLESS, otherwise=otherwise) is otherwise


def test_a_compiled_expression_keeps_its_flags() -> None:
    one, other = check_patterns("DENY", [re.compile("/NEWS/ .", re.IGNORECASE | re.VERBOSE), "/NEWS/."])
    assert one.matches("https://e.com/news/1")
    assert not other.matches("https://e.com/news/1")
    assert not one.matches("https://e.com/news/", otherwise=True)


@pytest.mark.parametrize(("text", "count"), [('["^a", "^b"]', 2), ("[]", 0), ("[ab]", 1), ("[1]", 1), ("a", 1)])
def test_lists_are_json_on_the_command_line(text: str, count: int) -> None:
    assert len(check_patterns("PREFER", text)) == count


def test_an_expression_that_takes_too_long_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    (slow,) = check_patterns("DENY", [r"(a|aa)+$\\x1b?"])
    for _ in range(2):
        assert slow.matches("a" * 80 + "N!", otherwise=True)
    (message,) = caplog.messages
    assert message.startswith("crawldedup: the regular expression (a|aa)+$")
    assert message.endswith("is given up there: it counts as found.")


@pytest.mark.parametrize("text", ["['/login']", "[\"/login']", '[ "a", ]'])
def test_a_list_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="a list is JSON, with double quotes"):
        check_patterns("DENY", text)
