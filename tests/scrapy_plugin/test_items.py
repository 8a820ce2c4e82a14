"""Items: what of them is compared, verdicts as their fields, and what the pipeline decides about
them.
"""

import asyncio
import dataclasses
import logging
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import attrs
import pydantic
import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse

from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError, StoreFullError
from crawldedup.page import Page
from crawldedup.scrapy_plugin import DedupItemPipeline, DuplicateItemError, add_verdict
from crawldedup.scrapy_plugin.items import bare_text, identity_in, texts_of, title_in
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler, HandedIn

PROSE = (
    "The ferry leaves the island at seven in the morning and comes back long after dark every day "
    "of the year. " * 2
)
VERDICT = Verdict(
    Kind.NEAR_DUPLICATE, "https://e.com/b", "https://e.com/a", 0.97, 2, words=80, copies=3
)
FIELDS = ("url", "body", "dedup_kind", "dedup_original", "dedup_similarity")
DataclassItem = dataclasses.make_dataclass("DataclassItem", [(name, Any, None) for name in FIELDS])
MAKERS: Final[dict[str, Callable[..., Any]]] = {
    "dict": dict,
    "Item": type("ScrapyItem", (scrapy.Item,), {name: scrapy.Field() for name in FIELDS}),
    "dataclass": DataclassItem,
    "attrs": attrs.make_class("AttrsItem", {name: attrs.field(default=None) for name in FIELDS}),
    "pydantic": pydantic.create_model("PydanticItem", **dict.fromkeys(FIELDS, (Any, None))),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_item_gives_its_fields_in_their_order_and_takes_its_verdict(
    make: Callable[..., Any],
) -> None:
    item = make(url="A title", body="The body")
    assert texts_of(item, ["url", "body"]) == ["A title", "The body"]
    assert texts_of(item, ["body", "url"]) == ["The body", "A title"]
    request = scrapy.Request("https://e.com/b", meta={"crawldedup_verdict": VERDICT})
    assert add_verdict(item, HtmlResponse("https://e.com/b", request=request)) is item
    fields = [ItemAdapter(item)[f"dedup_{part}"] for part in ("kind", "original", "similarity")]
    assert fields == ["near_duplicate", "https://e.com/a", 0.97]


def outcome(function: Callable[..., list[str] | str], *arguments: Any) -> list[str] | str:
    """Return what a function returns, or why a page cannot be read."""
    try:
        return function(*arguments)
    except PageError as error:
        return error.reason


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["First.", "Second.", None, ""], ["First.\nSecond."]),
        (("One", ["two", 3]), ["One\ntwo\n3"]),
        (19.5, ["19.5"]),
        (Decimal("19.50"), ["19.50"]),
        ("half a \ud83d pair", ["half a ? pair"]),
        (None, "no_field"),
        (" \n", "no_field"),
        ([], "no_field"),
        ({"text": "The body"}, "field_type"),
        (b"The body", "field_type"),
        (True, "field_type"),
        ("x" * 30_000_000, "too_large"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_field_has_a_text_or_the_item_is_not_compared_by_the_rest(
    value: object, text: list[str] | str
) -> None:
    expected = ["A title", *text] if isinstance(text, list) else text
    assert outcome(texts_of, {"title": "A title", "body": value}, ["title", "body"]) == expected


def test_an_attribute_that_is_not_set_yet_is_a_field_that_is_missing() -> None:
    unset = [(name, str, dataclasses.field(init=False)) for name in ("url", "body")]
    item = dataclasses.make_dataclass("Unfinished", unset)()
    assert outcome(texts_of, item, ["body"]) == "no_field"
    assert identity_in(item)[0] == ""


def test_the_title_of_an_item_is_a_text() -> None:
    titles = ["Seals", ["Seals"], " ", None, 7, ["Seals", "Boats"]]
    assert [title_in({"title": title}) for title in titles] == ["Seals", "Seals", *[None] * 4]
    assert title_in({"body": PROSE}) is None


def test_an_item_is_itself_by_its_url_with_the_fragment() -> None:
    def identity(value: object) -> tuple[str, str]:
        return identity_in({"url": value})

    url = "https://e.com/t?b=1&a=2"
    assert identity(url) == (url, identity("https://e.com/t?a=2&b=1")[1])
    assert identity([url]) == identity(pydantic.HttpUrl(url)) == identity(url)
    assert identity("https://e.com/t#post-1")[1] != identity("https://e.com/t#post-2")[1]
    assert identity("http://[broken")[0] == "http://[broken"


@pytest.mark.parametrize(
    "name", ["SKU:1", "A?c=1&b=2", "//e.com/t", 7, Decimal("7.50"), uuid.UUID(int=7), Path("a/b")]
)
def test_a_name_that_is_not_a_url_is_used_as_it_is(name: object) -> None:
    assert identity_in({"url": name}) == (str(name), f"item {name}")


@pytest.mark.parametrize(
    "value",
    [None, " ", True, ["a", "b"], 1.5, {"a": 1}, b"a", MAKERS["Item"](), type("Handle", (), {})()],
)
def test_an_item_without_a_name_is_never_the_same_again(value: object) -> None:
    (name, one), (again, other) = (identity_in({"url": value}) for _ in range(2))
    assert name == again == ""
    assert one != other


UNCLOSED = (
    "<!-- advert",
    "<script>var x",
    "<style>",
    "<iframe>",
    "<p class='lead",
    "<svg>",
    "<template>",
    "<head>",
)


@pytest.mark.parametrize("unclosed", UNCLOSED)
@pytest.mark.parametrize("body", ["<p>one two three</p>", "one two < three"])
def test_markup_of_a_field_neither_counts_nor_swallows_the_next(unclosed: str, body: str) -> None:
    teaser = f"<div class='x'><p>{PROSE}</p><script>track(17)</script></div>"
    shown = body.removeprefix("<p>").removesuffix("</p>")
    assert bare_text([teaser + unclosed, body]).split() == [*PROSE.split(), *shown.split()]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(
            (text, text)
            for text in (
                "if a < b and c > d: e",
                "1 <2> 3",
                "a <- b, b -> c",
                "mail <someone@e.com>",
            )
        ),
        *(
            (text, "empty")
            for text in (
                "<p></p>",
                "<br>",
                "<img src='a.png'>",
                "<!-- one --><p>",
                "<script>1</script>",
            )
        ),
        ("<div>" * 30_000 + "text</div>", "too_deep"),
    ],
    ids=lambda value: value[:20],
)
def test_angle_brackets_alone_are_no_markup_and_markup_alone_is_no_text(
    text: str, shown: str
) -> None:
    assert outcome(bare_text, ["Title", text]) == (f"Title\n{shown}" if shown == text else shown)


def test_parts_of_a_verdict_and_their_fields_can_be_chosen() -> None:
    item = add_verdict({"title": "A title"}, VERDICT, {"copies": "seen", "is_duplicate": "again"})
    assert item == {"title": "A title", "seen": 3, "again": True}


@pytest.mark.parametrize("request_", [scrapy.Request("https://e.com/"), None])
def test_an_item_of_a_page_that_was_not_judged_has_the_same_columns(
    request_: scrapy.Request | None,
) -> None:
    empty = {"dedup_kind": None, "dedup_original": None, "dedup_similarity": None}
    assert (
        add_verdict({}, HtmlResponse("https://e.com/", request=request_))
        == add_verdict({}, None)
        == empty
    )


@dataclasses.dataclass
class Closed:
    body: str = "text"
    url: str = "https://e.com/a"


Frozen = dataclasses.make_dataclass("Frozen", [("dedup_kind", str, "new")], frozen=True)
SHORT = attrs.field(default="", validator=attrs.validators.max_len(3))
Checked = attrs.make_class("Checked", {"dedup_kind": SHORT}, on_setattr=attrs.setters.validate)


@pytest.mark.parametrize(
    ("item", "error"),
    [(Closed(), "KeyError"), (Frozen(), "FrozenInstanceError"), (Checked(), "ValueError")],
)
def test_an_item_that_refuses_its_verdict_is_explained(item: object, error: str) -> None:
    said = (
        rf"{type(item).__name__} does not accept its verdict .{error}.*; declare the fields "
        r"dedup_kind"
    )
    with pytest.raises(ConfigurationError, match=said):
        add_verdict(item, VERDICT)


def test_a_part_that_no_verdict_has_leaves_the_item_as_it_was() -> None:
    values: dict[str, str] = {}
    with pytest.raises(ConfigurationError, match="a verdict has no part 'kinds'; it has kind, url"):
        add_verdict(values, VERDICT, {"kind": "a", "kinds": "b"})
    assert values == {}


class Crawl(HandedIn):
    """A crawl whose items are handed in one by one."""

    def __init__(self, action: str = "drop", **options: Any) -> None:
        super().__init__()
        values: dict[str, Any] = {"item_fields": ["body"], "item_action": action, **options}
        dedup: Any = self.dedup
        self.pipeline = DedupItemPipeline(self.crawler, CrawlOptions(**values), dedup)
        self.opened, self.closed = self.pipeline.open_spider, self.pipeline.close_spider

    def item(self, item: Any) -> Any:
        """The item if it is kept, or why it is not."""
        try:
            return self.wait(self.pipeline.process_item(item))
        except DuplicateItemError as dropped:
            return dropped

    def is_kept(self, name: str, body: Any) -> bool:
        return isinstance(self.item({"url": f"https://e.com/{name}", "body": body}), dict)

    @property
    def counts(self) -> dict[str, int]:
        return {name.removeprefix("item/"): value for name, value in super().counts.items()}


def test_a_near_duplicate_is_dropped_and_says_of_what() -> None:
    with Crawl(revisit="drop") as crawl:
        item = {"url": "https://e.com/\x1b[2Ja", "body": "text"}
        assert crawl.item(dict(item)) == item
        dropped = crawl.item({"url": "https://e.com/b", "body": "TEXT"})
        assert str(dropped) == r"near duplicate (0.970) of https://e.com/\x1b[2Ja"
        assert (dropped.verdict.original, dropped.log_level) == (item["url"], "DEBUG")
        assert crawl.item(item) == item
    assert crawl.counts == {"checked": 3, "new": 1, "duplicate/near": 1, "dropped": 1, "revisit": 1}
    assert crawl.dedup.calls == ["info", *["judge"] * 3, "close"]


@pytest.mark.parametrize(
    ("body", "kind"), [("text", "text"), ("<table><tr><td>text", "text"), ("<p>text</p>", "html")]
)
def test_an_item_is_a_page_of_its_text(body: str, kind: str) -> None:
    pages = []
    for options in ({"scope": "site"}, {"scope": "spider", "remember": False}):
        with Crawl(**options) as crawl:
            assert crawl.is_kept("a", body)
        pages += crawl.dedup.pages_asked
    content: dict[str, Any] = {kind: body}
    page = Page("https://e.com/a", **content, identity="item https://e.com/a", scope_key="e.com")
    assert pages == [page, dataclasses.replace(page, scope_key="news", remember=False)]


@pytest.mark.parametrize(
    ("url", "site"),
    [
        (["https://shop.e.co.uk/a"], "e.co.uk"),
        ("//shop.e.co.uk/7", "e.co.uk"),
        ("ftp://e.com/a", "e.com"),
        *(
            (unknown, None)
            for unknown in (None, "", "/a", "7", "https://", "http://[broken", True, object())
        ),
    ],
)
def test_the_site_of_an_item_is_that_of_its_url(url: object, site: str | None) -> None:
    with Crawl(scope="site") as crawl:
        crawl.item({"url": url, "body": "text"})
    assert [page.scope_key for page in crawl.dedup.pages_asked] == ([site] if site else [])
    assert crawl.counts.get("skipped/no_site", 0) == (site is None)


def test_marked_items_all_pass_with_their_verdicts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Crawl("mark") as crawl:
        items = [
            crawl.item({"url": name, "body": text})
            for name, text in (("a", "text"), ("b", "Text"), ("c", None))
        ]
    assert [item["dedup_kind"] for item in items] == ["new", "near_duplicate", None]
    assert crawl.counts == {"checked": 2, "new": 1, "duplicate/near": 1, "skipped/no_field": 1}
    assert "marks b: near duplicate (0.970) of a" in caplog.text


class Hostile(dict[str, Any]):
    def __setitem__(self, key: str, value: object) -> None:
        raise KeyError(f"{key} \x1b[31m")


@pytest.mark.parametrize("item", [Closed(), Hostile(body="text")])
def test_an_item_that_has_no_room_for_its_verdict_passes_and_is_said_once(
    caplog: pytest.LogCaptureFixture, item: object
) -> None:
    with Crawl("mark") as crawl:
        assert [crawl.item(item), crawl.item(item)] == [item, item]
    assert (crawl.counts["checked"], crawl.counts["error/mark"]) == (2, 2)
    assert caplog.text.count("does not accept its verdict") == 1
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize(
    ("item", "counter"),
    [
        ({"url": "u"}, "skipped/no_field"),
        (None, "skipped/not_an_item"),
        ({"body": "page error: x"}, "skipped/too_deep"),
        ({"body": "unexpected: x"}, "error/internal"),
    ],
)
def test_an_item_that_cannot_be_read_passes_and_is_counted(item: object, counter: str) -> None:
    for action in ("drop", "mark"):
        with Crawl(action) as crawl:
            assert crawl.item(item) is item
        assert crawl.counts == {counter: 1}


def test_a_store_that_fails_costs_no_item() -> None:
    with Crawl() as crawl:
        crawl.dedup.errors = [StoreFullError("full")]
        assert [crawl.is_kept(name, "text") for name in "abc"] == [True, True, False]
    assert crawl.counts == {
        "error/full": 1,
        "checked": 2,
        "new": 1,
        "duplicate/near": 1,
        "dropped": 1,
    }
    assert crawl.crawler.engine.closed == []


@pytest.mark.parametrize("problem", [None, "parse", "disabled", "no fields", "no package"])
def test_it_is_there_in_crawls_that_are_set_rightly(
    problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(options: CrawlOptions, **_: object) -> None:
        if problem == "no package":
            raise MissingDependencyError("install crawldedup[redis]")

    async def build() -> None:
        DedupItemPipeline.from_crawler(crawler)

    monkeypatch.setattr("crawldedup.scrapy_plugin.items.AsyncDeduplicator.from_options", make)
    fields = None if problem == "no fields" else "body"
    crawler: Any = FakeCrawler(
        CRAWLDEDUP_ITEM_FIELDS=fields, CRAWLDEDUP_ENABLED=problem != "disabled"
    )
    if problem == "parse":
        crawler.work_for("parse")
    with pytest.raises(NotConfigured) if problem else nullcontext():
        asyncio.run(build())
