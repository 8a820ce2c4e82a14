"""What of an item is compared."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pydantic
import pytest
from scrapy.settings import Settings

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.scrapy_plugin import items
from crawldedup.scrapy_plugin.items import bare_text, identity_in
from crawldedup.scrapy_plugin.settings import CrawlOptions, check_item_fields
from tests.scrapy_plugin.item_classes import MAKERS, ScrapyItem

PROSE = "The ferry leaves the island at seven in the morning and comes back long after dark every day of the year. " * 2


def named(fields: Any = ("title", "body")) -> tuple[str, ...]:
    return check_item_fields("CRAWLDEDUP_ITEM_FIELDS", fields)


def texts_of(item: object, fields: Any = ("title", "body")) -> list[str]:
    return items.texts_of(item, named(fields))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_text_of_every_kind_of_item_is_its_fields_in_their_order(make: Callable[..., Any]) -> None:
    item = make(url="A title", body="The body")
    assert texts_of(item, ["url", "body"]) == ["A title", "The body"]
    assert texts_of(item, "body, url") == ["The body", "A title"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["First.", "Second.", None, ""], "First.\nSecond."),
        (("One", ["two", 3]), "One\ntwo\n3"),
        (19.5, "19.5"),
        (Decimal("19.50"), "19.50"),
    ],
)
def test_lists_and_numbers_have_texts(value: object, text: str) -> None:
    assert texts_of({"body": value}, ["body"]) == [text]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"title": "A title"}, "no_field"),
        ({"title": "A title", "body": None}, "no_field"),
        ({"title": "A title", "body": " \n"}, "no_field"),
        ({"title": "A title", "body": []}, "no_field"),
        ({"title": "A title", "body": {"text": "The body"}}, "field_type"),
        ({"title": "A title", "body": b"The body"}, "field_type"),
        ({"title": "A title", "body": True}, "field_type"),
        ({"title": "A title", "body": "x" * 30_000_000}, "too_large"),
    ],
)
def test_an_item_without_its_text_is_not_judged_by_the_rest(item: dict[str, object], reason: str) -> None:
    with pytest.raises(PageError) as error:
        items.texts_of(item, named())
    assert error.value.reason == reason


def test_an_attribute_that_is_not_set_yet_is_a_field_that_is_missing() -> None:
    @dataclass
    class Unfinished:
        body: str = field(init=False)
        url: str = field(init=False)

    with pytest.raises(PageError) as error:
        items.texts_of(Unfinished(), named(["body"]))
    assert error.value.reason == "no_field"
    assert identity_in(Unfinished())[0] == ""


def test_the_command_line_names_fields_with_commas() -> None:
    assert named("title, body") == named(["title", "body"]) == named(named())


def test_a_text_that_is_no_valid_unicode_can_be_read() -> None:
    assert texts_of({"body": "half a \ud83d pair"}, ["body"]) == ["half a ? pair"]


def test_an_item_is_itself_by_its_url_with_the_fragment() -> None:
    def identity(value: object) -> tuple[str, str]:
        return identity_in({"url": value})

    assert identity("https://e.com/t?b=1&a=2") == ("https://e.com/t?b=1&a=2", identity("https://e.com/t?a=2&b=1")[1])
    assert identity("https://e.com/t#post-1")[1] != identity("https://e.com/t#post-2")[1]
    assert identity(["https://e.com/t"]) == identity("https://e.com/t")
    assert identity("http://[broken")[0] == "http://[broken"


class Handle:
    """Has no text but its address."""


@pytest.mark.parametrize("name", ["SKU:1", "a b", "A?c=1&b=2", "e.com/t?c=1&b=2", "//e.com/t"])
def test_a_name_that_is_no_url_counts_as_it_is_spelled(name: str) -> None:
    assert identity_in({"url": name}) == (name, f"item {name}")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (Decimal("7.50"), "7.50"),
        (Path("a/b"), "a/b"),
        (7, "7"),
        ([uuid.UUID(int=7)], "00000000-0000-0000-0000-000000000007"),
    ],
)
def test_what_has_a_text_is_a_name(value: object, name: str) -> None:
    assert identity_in({"url": value})[0] == name


def test_the_url_of_a_pydantic_item_is_its_identity() -> None:
    item = pydantic.create_model("Item", url=(pydantic.HttpUrl, ...))(url="https://e.com/t?b=1&a=2")
    assert identity_in(item) == identity_in({"url": "https://e.com/t?b=1&a=2"})


@pytest.mark.parametrize("value", [None, "", "  ", True, ["a", "b"], 1.5, {"a": 1}, b"a", ScrapyItem(), Handle()])
def test_an_item_without_a_name_is_never_the_same_again(value: object) -> None:
    item = {"url": value}
    first, second = identity_in(item), identity_in(item)
    assert first[0] == second[0] == ""
    assert first[1] != second[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"CRAWLDEDUP_ITEM_FIELDS is \[\]; it must be a list"),
        ({"body", "title"}, "it must be a list"),
        (["body", 5], "it must be a list"),
        ("", "it must be a list"),
        (5, "it must be a list"),
        ({"Article": ["body"]}, "it must be a list"),
        ('["body"]', "names with commas between"),
    ],
)
def test_wrong_fields_are_refused_with_what_is_allowed(given: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        CrawlOptions.from_settings(Settings({"CRAWLDEDUP_ITEM_FIELDS": given}))


UNCLOSED = ("<!-- advert", "<script>var x", "<style>", "<iframe>", "<p class='lead", "<svg>", "<template>", "<head>")


@pytest.mark.parametrize("text", ["if a < b and c > d: e", "1 <2> 3", "a <- b, b -> c", "mail <someone@example.com>"])
def test_angle_brackets_alone_are_no_markup(text: str) -> None:
    assert bare_text([text]) == text
    assert bare_text([f"{text}<br>"]) != f"{text}<br>"


@pytest.mark.parametrize("unclosed", UNCLOSED)
def test_what_one_field_leaves_open_swallows_none_of_the_next(unclosed: str) -> None:
    teaser = f"<p>{PROSE}</p>"
    for body in ("<p>one two three</p>", "one two three"):
        assert bare_text([teaser + unclosed, body]).split() == [*PROSE.split(), "one", "two", "three"]


@pytest.mark.parametrize("title", ["Fish & chips < 5", "Plain"])
def test_markup_in_a_field_does_not_count_and_signs_in_the_others_do(title: str) -> None:
    marked = f"<div class='x'><p>{PROSE}</p><script>track(17)</script></div>"
    assert bare_text([title, marked]).split() == [*title.split(), *PROSE.split()]


@pytest.mark.parametrize(
    ("field_text", "reason"),
    [
        *(
            (nothing, "empty")
            for nothing in ("<p></p>", "<br>", "<img src='a.png'>", "<!-- one --><p>", "<script>1</script>")
        ),
        ("<div>" * 30_000 + "text</div>", "too_deep"),
    ],
)
def test_a_field_that_shows_nothing_is_no_field(field_text: str, reason: str) -> None:
    with pytest.raises(PageError) as error:
        bare_text(["A title", field_text])
    assert error.value.reason == reason
