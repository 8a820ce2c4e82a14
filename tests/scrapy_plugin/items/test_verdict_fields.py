"""Verdicts as fields of items."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.items.verdict_fields import add_verdict
from crawldedup.verdict import Kind, Verdict

VERDICT = Verdict(Kind.NEAR_DUPLICATE, "https://e.com/b", "https://e.com/a", 0.97, 2, words=80, copies=3)


class ScrapyItem(scrapy.Item):
    dedup_kind = scrapy.Field()
    dedup_original = scrapy.Field()
    dedup_similarity = scrapy.Field()


@dataclass
class DataclassItem:
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


@attrs.define
class AttrsItem:
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


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
    dedup_kind: str = attrs.field(default="none yet", validator=attrs.validators.instance_of(str))
    dedup_original: str = attrs.field(default="", validator=attrs.validators.instance_of(str))
    dedup_similarity: float = attrs.field(default=0.5, validator=attrs.validators.lt(0.9))


@dataclass
class RefusesLate:
    """Has no kind to begin with, and refuses the similarity after it was written."""

    dedup_kind: str = dataclasses.field(init=False)
    dedup_original: str | None = "https://e.com/older"
    dedup_similarity: float | None = 0.5

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if value == VERDICT.similarity:
            raise RuntimeError("too much")


class RefusingDict(dict[str, object]):
    def __setitem__(self, key: str, value: object) -> None:
        if key == "dedup_similarity":
            raise RuntimeError("too much")
        super().__setitem__(key, value)


def response(**meta: Any) -> HtmlResponse:
    return HtmlResponse("https://e.com/b", request=scrapy.Request("https://e.com/b", meta=meta))


def field(item: Any, name: str) -> object:
    return item[name] if isinstance(item, dict | scrapy.Item) else getattr(item, name)


@pytest.mark.parametrize("cls", [dict, ScrapyItem, DataclassItem, AttrsItem])
def test_every_kind_of_item_can_hold_its_verdict(cls: type) -> None:
    item = cls()
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
    with pytest.raises(ConfigurationError, match="Closed has no field 'dedup_kind' for its verdict; declare"):
        add_verdict(item, VERDICT)
    assert item == Closed()
    values: dict[str, str] = {}
    with pytest.raises(ConfigurationError, match="a verdict has no part 'kinds'; it has kind, url"):
        add_verdict(values, VERDICT, {"kind": "a", "kinds": "b"})
    assert values == {}


def everything_in(item: object) -> dict[str, object]:
    return dict(ItemAdapter(item))


@pytest.mark.parametrize(
    ("item", "refused_with"),
    [
        (Frozen(), "FrozenInstanceError"),
        (Checked(), "ValueError"),
        (RefusesLate(), "RuntimeError: too much"),
        (RefusingDict(title="A title", dedup_original="https://e.com/older"), "RuntimeError: too much"),
    ],
    ids=["frozen", "validators", "written and refused", "dict"],
)
def test_an_item_that_refuses_a_part_holds_none(item: object, refused_with: str) -> None:
    before = everything_in(item)
    with pytest.raises(
        ConfigurationError, match=f"does not take its verdict .{refused_with}.*; let its fields dedup_kind"
    ):
        add_verdict(item, VERDICT)
    assert everything_in(item) == before


def test_a_pydantic_item_that_refuses_a_part_holds_none() -> None:
    strict = pydantic.ConfigDict(validate_assignment=True)
    fields = {"dedup_kind": (str, "none yet"), "dedup_original": (str, None), "dedup_similarity": (float, 0)}
    item = pydantic.create_model("Strict", __config__=strict, **fields)()
    before = everything_in(item)
    with pytest.raises(ConfigurationError, match=r"Strict does not take its verdict \(ValidationError"):
        add_verdict(item, None)
    assert everything_in(item) == before
    assert everything_in(add_verdict(item, VERDICT))["dedup_kind"] == "near_duplicate"
