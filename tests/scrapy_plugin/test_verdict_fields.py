"""Verdicts as fields of items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import attrs
import pytest
import scrapy
from scrapy.http import HtmlResponse

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.items import add_verdict
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.item_classes import MAKERS

VERDICT = Verdict(Kind.NEAR_DUPLICATE, "https://e.com/b", "https://e.com/a", 0.97, 2, words=80, copies=3)


@dataclass
class Closed:
    title: str = "A title"


@dataclass(frozen=True)
class Frozen:
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


@attrs.define
class Checked:
    dedup_kind: str = attrs.field(default="new", validator=attrs.validators.max_len(3))
    dedup_original: str = ""
    dedup_similarity: float = 0.5


def response(**meta: Any) -> HtmlResponse:
    return HtmlResponse("https://e.com/b", request=scrapy.Request("https://e.com/b", meta=meta))


def field(item: Any, name: str) -> object:
    return item[name] if isinstance(item, dict | scrapy.Item) else getattr(item, name)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_item_can_hold_its_verdict(make: Callable[..., Any]) -> None:
    item = make(url="https://e.com/b", body=None)
    assert add_verdict(item, response(crawldedup_verdict=VERDICT)) is item
    assert field(item, "dedup_kind") == "near_duplicate"
    assert field(item, "dedup_original") == "https://e.com/a"
    assert field(item, "dedup_similarity") == 0.97


def test_fields_and_parts_can_be_chosen_and_the_verdict_itself_given() -> None:
    item = add_verdict({"title": "A title"}, VERDICT, {"copies": "seen", "is_duplicate": "again"})
    assert item == {"title": "A title", "seen": 3, "again": True}


@pytest.mark.parametrize(
    "source",
    [response(), HtmlResponse("https://e.com/"), None],
    ids=["not judged", "without request", "none"],
)
def test_an_item_of_a_page_that_was_not_judged_has_the_same_columns(source: HtmlResponse | None) -> None:
    assert add_verdict({}, source) == {"dedup_kind": None, "dedup_original": None, "dedup_similarity": None}


def test_what_cannot_be_written_leaves_the_item_as_it_was() -> None:
    item = Closed()
    with pytest.raises(ConfigurationError, match=r"Closed does not take its verdict .*; declare the fields dedup_kind"):
        add_verdict(item, VERDICT)
    assert item == Closed()
    values: dict[str, str] = {}
    with pytest.raises(ConfigurationError, match="a verdict has no part 'kinds'; it has kind, url"):
        add_verdict(values, VERDICT, {"kind": "a", "kinds": "b"})
    assert values == {}


@pytest.mark.parametrize(("item", "error"), [(Frozen(), "FrozenInstanceError"), (Checked(), "ValueError")])
def test_an_item_that_refuses_a_part_is_explained(item: object, error: str) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"does not take its verdict .{error}.*; declare the fields dedup_kind"
    ):
        add_verdict(item, VERDICT)
