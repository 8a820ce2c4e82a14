"""What is compared of a page, chosen by CSS selectors."""

from __future__ import annotations

import json

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.area import Area, area_of, check_areas
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.reader import PageReader

BODY = " ".join(f"The ferry number {number} leaves the harbour at dawn." for number in range(20))
MORE = " ".join(f"Readers of story {number} also liked the lighthouse." for number in range(20))
PAGE = (
    "<html><head><title>Ferries</title></head><body><nav>Home</nav>"
    f"<div id=story><p>{BODY}</p><div class=ad>Buy boots</div></div><div "
    f"class=more><p>{MORE}</p></div></body></html>"
)


def main_of(html: str, content: object) -> str:
    area = area_of(check_areas("content", content), "https://news.example/1")
    return extract_page(html, None, get_extractor("blocks"), min_words=8, area=area).main


MARKED = "<div>" + PAGE.replace("<p>", "<p>one<i class=x>x</i>two ")
CELLS = (
    "<p><b>one</b> and "
    f"<b>two</b></p><table><tr><td>item10<td>120<tr><td>item101<td>20</table><p>{BODY}"
)


@pytest.mark.parametrize(
    ("html", "content", "main"),
    [
        (PAGE, "#story p", BODY),
        (PAGE, "div#story, p", f"{BODY}\nBuy boots\n{MORE}"),
        (PAGE, {"*": {"compare": "#story", "leave_out": ".ad"}}, BODY),
        (
            PAGE.replace("id=story", ""),
            {"*": {"compare": "#moved", "leave_out": ".more, .ad"}},
            BODY,
        ),
        # Words of neighbours, and of two elements, stay two.
        (MARKED, {"*": {"compare": "#story p", "leave_out": ".x"}}, f"one two {BODY}"),
        (CELLS, "b", "one two"),
    ],
)
def test_only_what_is_matched_is_compared_once(html: str, content: object, main: str) -> None:
    assert main_of(html, content) == main


@pytest.mark.parametrize(
    "content", ["#moved", "#empty", {"*": {"leave_out": "#story, .more, nav"}}]
)
def test_a_page_without_a_match_or_of_which_nothing_is_left_is_read_as_others_are(
    content: object,
) -> None:
    html = PAGE.replace("<nav>", "<div id=empty></div><nav>")
    assert main_of(html, content) == main_of(html, None)


@pytest.mark.parametrize("where", ["head", "body"])
def test_declared_data_stays_wherever_it_stands(where: str) -> None:
    def data_of(name: str) -> dict[str, str]:
        data = json.dumps(
            {"@type": "Product", "name": name, "offers": {"price": "99", "priceCurrency": "EUR"}}
        )
        parts = {"head": "", "body": ""} | {
            where: f"<script type=application/ld+json>{data}</script>"
        }
        html = f"<head><title>{name}</title>{parts['head']}</head><body>{parts['body']}<h1>{name}</h1><p class=d>{BODY}"
        content = PageReader(Options(content=".d")).content(Page("", html=html))
        assert content.marks is not None
        return dict(content.marks.data)

    for name in ("Shoe Alma", "Boot Bertram"):
        assert data_of(name)["declared name"] == name


def test_a_selector_that_takes_long_is_for_small_pages() -> None:
    small, large = (f"<p>{BODY}</p><p>{MORE}</p>" + "<br>" * count for count in (10, 6_000))
    assert main_of(small, "p:nth-child(2)") == MORE
    assert main_of(large, "p:nth-child(2)") == main_of(large, None)
    assert main_of(large, "p + p") == MORE


def test_a_page_without_a_match_is_told() -> None:
    read = [
        PageReader(Options(content=content)).content(Page("", html=PAGE)).unselected
        for content in ("#moved", "#story", None)
    ]
    assert read == [True, False, False]
    assert (
        not PageReader(Options(content={"*": {"leave_out": ".moved"}}))
        .content(Page("", html=PAGE))
        .unselected
    )


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example/1", "shop.example"),
        ("https://www.shop.example:8080/1", "shop.example"),
        ("https://myshop.example/1", "*"),
        (None, "*"),
    ],
)
def test_the_area_of_the_longest_host_counts(url: str | None, host: str) -> None:
    areas = check_areas("content", {"*": "main", "shop.example": "#a", "b.shop.example": "#b"})
    found = area_of(areas, url)
    assert found is not None
    assert found.host == host
    assert area_of(check_areas("content", {"shop.example": "#a"}), "https://other.example/") is None


def test_json_and_what_was_checked_are_taken() -> None:
    areas = (Area("b.example", "", ".b"), Area("shop.example", "#a", ".b"))
    given = {
        "www.Shop.example": {"compare": "#a", "leave_out": ".b"},
        "b.example": {"leave_out": ".b"},
    }
    for value in (given, json.dumps(given), areas, json.loads(json.dumps(areas))):
        assert check_areas("content", value) == areas


WRONG = [
    "p[",
    5,
    {"*": ""},
    {"*": {}},
    {"*": {"only": "p"}},
    {"*": {"compare": ":x"}},
    [[]],
    ["\ud800"],
]
NO_HOSTS = ["", "https://a.example/", "a.example/path", "a b"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, r"content.*CSS selector") for value in WRONG),
        *(({host: "p"}, "a host without scheme, port and path") for host in NO_HOSTS),
        ({"a.example": "p", "www.a.example": "p"}, "names each host once"),
    ],
)
def test_wrong_areas_are_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_areas("content", value)


@pytest.mark.parametrize("selector", ["html", "*"])
def test_the_whole_page_cannot_be_left_out(selector: str) -> None:
    with pytest.raises(ConfigurationError):
        check_areas("content", {"*": {"leave_out": selector}})
    assert BODY in main_of(PAGE, selector)


def test_indexes_of_other_areas_are_not_mixed_and_the_site_decides() -> None:
    pages = [PAGE.replace("Readers", f"Readers {number} times over,", 1) for number in range(2)]
    with Deduplicator(content={"news.example": "#story"}, extractor="text") as dedup:
        assert dedup.info().profile != Deduplicator(extractor="text").info().profile
        first, second = (
            dedup.check(f"https://news.example/{n}", html=html) for n, html in enumerate(pages)
        )
        assert (str(first.kind), str(second.kind)) == ("new", "exact_duplicate")
        first, second = (
            dedup.check(f"https://other.example/{n}", html=html) for n, html in enumerate(pages)
        )
        assert (str(first.kind), str(second.kind)) == ("new", "near_duplicate")
