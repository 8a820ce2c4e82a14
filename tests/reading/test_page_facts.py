"""Which pages have facts, and which facts they have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crawldedup.reading.blocks import parse
from crawldedup.reading.extract import PageText
from crawldedup.reading.facts.declared import read_declared
from crawldedup.reading.facts.page_facts import page_facts, sells, text_facts
from crawldedup.reading.html import HtmlPage

PROSE = (
    "The ferry to the outer islands leaves at dawn, and by the time the fog has lifted the harbour "
    "is already out "
    "of sight. Nobody on deck speaks much; the engine does the talking, and the gulls answer it."
)
SCHEMA = "https://schema.org/"


def page(body: str, head: str = "", title: str = "Storm lantern - Lamps 24") -> str:
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    )


def facts_of(html: str, main: str, distinguish: str) -> str | None:
    """The facts of a page of which `main` is the main text."""
    source = HtmlPage.read(html, None)
    return page_facts(PageText(main, None, source=source), distinguish)


def facts(html: str, main: str = PROSE) -> list[str]:
    found = facts_of(html, main, "products")
    return found.split("\n") if found else []


NAMED = f"<h1>Storm lantern</h1><p>{PROSE}</p>"
PRICED = f"<h1>Storm lantern</h1><p>£74.00</p><p>{PROSE}</p>"


def script(data: Any) -> str:
    return f"<script type='application/ld+json'>{data if isinstance(data, str) else json.dumps(data)}</script>"


def product(**members: Any) -> dict[str, Any]:
    return {"@type": "Product", "name": "Storm lantern"} | members


def offer(price: Any, **members: Any) -> dict[str, Any]:
    return {"@type": "Offer", "price": price, "priceCurrency": "GBP"} | members


# What is declared


DECLARED = [
    product(offers=offer("74.00")),
    [{"@type": "WebSite", "name": "Lamps"}, product(offers=[offer(74)])],
    {"@context": SCHEMA, "@graph": [{"@type": "Organization"}, product(offers=offer("74"))]},
    product(offers=offer("74"), **{"@type": ["Thing", "http://schema.org/Product"]}),
    product(offers={"priceSpecification": {"price": 74, "priceCurrency": "GBP"}}),
    product(offers={"@type": "AggregateOffer", "lowPrice": "74", "priceCurrency": "gbp"}),
    "<!--//--><![CDATA[ " + json.dumps(product(offers=offer("74"))) + " //]]>;",
    [product(name="Cork", offers=offer(3)), product(offers=offer(74)), product(name="Wick")],
    *(product(offers=offer(74)) | {"@type": kind} for kind in ("Book", "Car", "Event")),
]


@pytest.mark.parametrize("data", DECLARED)
def test_json_declares_a_price_that_the_page_does_not_show(data: Any) -> None:
    assert "price £74" in facts(page(NAMED + script(data)))
    assert "price £3" not in facts(page(NAMED + script(data)))


MARKED_UP = {
    "microdata": "<div itemscope itemtype='http://schema.org/Product'><h1 itemprop='name'>Storm lantern</h1><div "
    "itemprop='offers' itemscope itemtype='http://schema.org/Offer'><meta itemprop='price' "
    "content='74'>"
    "<meta itemprop='priceCurrency' content='GBP'></div></div>",
    "RDFa": "<div typeof='schema:Product'><h1 property='schema:name'>Storm lantern</h1><div property='offers' "
    "typeof='Offer'><b property='price'>74</b><meta property='schema:priceCurrency' "
    "content='GBP'></div></div>",
    "beside other products": "<h1>Storm lantern</h1>"
    "<div itemscope itemtype='http://schema.org/Product'><a href='/3' itemprop='name'>Cork tile</a>"
    "<i itemprop='price'>3</i></div>"
    "<div itemscope itemtype='http://schema.org/Product'><b itemprop='name'>Storm lantern</b>"
    "<span itemprop='brand' itemscope itemtype='http://schema.org/Brand'><b "
    "itemprop='name'>Cork</b></span>"
    "<meta itemprop='price' content='74'><meta itemprop='priceCurrency' content='GBP'></div>",
    "Open Graph": "<meta property='og:title' content='Storm lantern'><meta property='og:type' content='product'>"
    "<meta property='product:price:amount' content='74.00'><meta property='product:price:currency' "
    "content='GBP'>"
    "<h1>Storm lantern</h1>",
}


@pytest.mark.parametrize("markup", MARKED_UP.values(), ids=MARKED_UP)
def test_markup_declares_a_price_that_the_page_does_not_show(markup: str) -> None:
    found = facts(page(f"{markup}<p>{PROSE}</p>"))
    assert "price £74" in found
    assert "name storm lantern" in found
    assert not any("cork" in fact for fact in found)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("sku", "KT-10442"),
        ("weight", {"@type": "QuantitativeValue", "value": 1.9, "unitCode": "KGM"}),
        ("additionalProperty", [{"@type": "PropertyValue", "name": "Fuel", "value": "lamp oil"}]),
        ("brand", {"@type": "Brand", "name": "Acme"}),
        ("itemCondition", "https://schema.org/UsedCondition"),
    ],
)
def test_what_is_declared_and_not_shown_tells_apart(member: str, value: Any) -> None:
    plain_page, other = (page(PRICED + script(product(**data))) for data in ({}, {member: value}))
    assert facts(plain_page) != facts(other)


def test_what_is_declared_of_a_visit_tells_nothing_apart() -> None:
    noise = {
        "description": "A pump",
        "image": "https://shop.example/a.jpg?v=3",
        "aggregateRating": {"ratingValue": "4.5"},
        "releaseDate": "2024-01-02",
        "url": "https://shop.example/a?sid=7",
    }
    assert facts(page(PRICED + script(product(**noise)))) == facts(page(PRICED + script(product())))


@pytest.mark.parametrize(
    "rows",
    [
        "<table><tr><th>Item</th><td>KT-10442</td></tr><tr><th>Colour</th><td>moss "
        "green</td></tr></table>",
        "<dl><dt>Item</dt><dd>KT-10442</dd><dt>Colour:</dt><dd><span>moss green</span></dd></dl>",
        "<div><div><b>Item</b><span>KT-10442</span></div><div><b>Colour</b><span>moss "
        "green</span></div></div>",
        "<p>Colour: moss green</p><p>Item : KT-10442</p>",
    ],
    ids=["table", "terms", "div", "lines"],
)
def test_a_specification_is_one_however_it_is_laid_out_and_declared(rows: str) -> None:
    expected = ["name storm lantern", "price £74", "row colour moss green", "row item kt-10442"]
    data = script(product(sku="KT-10442", color="Moss green", offers=offer("74.00")))
    assert facts(page(PRICED + rows)) == expected
    assert facts(page(PRICED + rows + data)) == expected


# What is not declared

BUTTON = "<form action='/cart/add'><button>Buy now</button></form>"


@pytest.mark.parametrize(
    "price",
    [
        "£74",
        "&pound;74.00",
        "74 GBP",
        "Price: <b>£</b><span>74</span>",
        "Now only £74.00 incl. VAT",
        "£74,00",
    ],
)
def test_a_price_by_itself_near_the_name_makes_a_product_page(price: str) -> None:
    found = facts(page(f"<h1>Storm lantern</h1><p>{price}</p><p>{PROSE}</p>"))
    assert found == ["name storm lantern", "price £74"]


NOT_PRODUCTS = {
    "no price": NAMED,
    "a price in the text": f"<h1>Storm lantern</h1><p>{PROSE} A lantern costs £74 or so, we were told.</p>",
    "a price far below": f"<h1>Storm lantern</h1><p>{PROSE}</p>"
    + "<p>Nothing.</p>" * 30
    + "<p>£74</p>",
    "a price under another heading": f"<h1>Storm lantern</h1><p>{PROSE}</p><h2>Subscribe</h2><p>£74</p>",
    "a price in a line about other things": "<h1>Storm lantern</h1><p>Lantern repair at home from $49 by our "
    "friendly team in all of the county</p>",
    "a price in a link": "<h1>Storm lantern</h1><p><a href='/offer'>Only £74</a></p>",
    "a price in the footer": f"{NAMED}<footer>£74</footer>",
    "a list of things to buy": "<h1>Storm lantern</h1>"
    + "".join(f"<div><a href='/{n}'>Lamp {n}</a><p>£{n}.00</p></div>" for n in range(1, 9))
    + BUTTON,
    "an article on a product": PRICED
    + script([{"@type": "NewsArticle"}, product(offers=offer(74))]),
    "an article by Open Graph": "<meta property='og:type' content='article'>" + PRICED,
    "an article with a date": f"<article>{PRICED}<time>17 minutes ago</time></article>",
    "a list of things under headings": "<h1>Storm lantern</h1>"
    + "".join(f"<h2>Lamp {n}</h2><p>{PROSE}</p><p>£{n}.00</p>{BUTTON}" for n in range(1, 16)),
    "the offers of a site": NAMED
    + script({"@type": "WebSite", "name": "Storm lantern", "offers": offer(74)}),
    "another product is declared": NAMED + script(product(name="Cork tile", offers=offer(3))),
}


@pytest.mark.parametrize("body", NOT_PRODUCTS.values(), ids=NOT_PRODUCTS)
def test_pages_that_are_about_no_product(body: str) -> None:
    assert facts(page(body)) == []


OTHERS = "".join(f"<div><a href='/{n}'>Lamp {n}</a><p>£{n}.00</p></div>" for n in range(1, 9))
TABLE = "<table><tr><th>Fuel</th><td>oil</td></tr><tr><th>Glass</th><td>clear</td></tr></table>"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"<article>{PRICED}{BUTTON}<time>17 minutes ago</time></article>", ["price £74"]),
        (f"<meta property='og:type' content='article'>{PRICED}{BUTTON}", ["price £74"]),
        (f"<h1>Storm lantern</h1><p>{PROSE}</p><p>{PROSE}</p><p>£74</p>{BUTTON}", ["price £74"]),
        (PRICED + OTHERS + BUTTON, ["price £74"]),
        (f"{NAMED}<aside><p>£74</p>{BUTTON}</aside>", ["price £74"]),
        (f"{NAMED}<h2>Price</h2><p>£74</p>{BUTTON}", ["price £74"]),
        (NAMED + TABLE + BUTTON, ["row fuel oil", "row glass clear"]),
    ],
)
def test_pages_that_are_about_one_product_all_the_same(body: str, found: list[str]) -> None:
    assert facts(page(body)) == ["name storm lantern", *found]


# What facts are

PASSING = [
    "<p>Only 3 left in stock</p>",
    "<p>12 customer reviews</p>",
    "<div class='ratings'>4.5 of 5</div>",
    "<p>Delivery by 24 November</p>",
    "<p>When <select class='delivery-slot' name='slot'><option "
    "selected>Monday</option></select></p>",
    "<p>24.11.2024</p>",
    "<section class='related'><h2>More</h2><p>Cork, 3 cm</p><p>£3.00</p></section>",
    "<div><a href='/cork'>Cork 5 cm</a> <span>£3.00</span></div>",
    "<footer>© 2024, No. 17</footer>",
    "<p>https://lamps.example/storm?sid=17</p>",
    f"<div class='main-nav'><p>Lamps, 31 cm</p><p>{PROSE}</p></div>",
]


@pytest.mark.parametrize("extra", PASSING)
def test_what_changes_from_visit_to_visit_is_no_fact(extra: str) -> None:
    assert facts(page(PRICED + extra)) == facts(page(PRICED))


SPECIFIC = [
    *(
        "",
        "<ul><li>31 cm high</li></ul>",
        "<p>Model XT-250</p>",
        "<p>31 mm high</p>",
        "<p>Glass: frosted</p>",
    ),
    *(
        "<p>Energy: A+</p>",
        "<p>Energy: A++</p>",
        "<p>-5 °C</p>",
        "<p>5 °C</p>",
        "<p>13 ft high</p>",
    ),
    *(f"<p>{PROSE} It holds 3 litres.</p>", f"<p>{PROSE} It holds 3 gal.</p>"),
    *(
        "<div class='price-box'><p>31 cm</p></div>",
        "<p>£7.40 a month for 10 months</p>",
        "<p>£99.00</p>",
    ),
    "<p>£7.40 for 100 g</p>",
]


def test_every_detail_makes_another_product() -> None:
    found = {
        tuple(facts(page(f"<h1>Storm lantern</h1><p>£74.00</p>{each}<p>{PROSE}</p>"))): each
        for each in SPECIFIC
    }
    assert len(found) == len(SPECIFIC), sorted(found.values())


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Storm lantern - Lamps 24", "<h1>Storm lantern</h1>"),
        ("Buy Storm lantern online", "<h1>Storm Lantern</h1>"),
        ("Lamps 24: Storm lantern", "<h1><a href='/'>Lamps 24</a></h1><h2>Storm lantern</h2>"),
        ("Lamps 24: Storm lantern", "<h1><a href='/'>Lamps 24</a></h1><div>Storm lantern</div>"),
        ("Lamps 24 | Storm lantern", "<h1>Storm lantern</h1><p><a href='/'>Lamps 24</a></p>"),
        ("Storm lantern – Lamps 24", "<div>Storm lantern</div>"),
        ("Storm lantern", ""),
        ("", "<h1>Storm lantern</h1>"),
    ],
)
def test_the_name_is_without_the_name_of_the_site(title: str, heading: str) -> None:
    found = facts(page(f"{heading}<p>£74.00</p><p>{PROSE}</p>", title=title))
    assert found == ["name storm lantern", "price £74"]


@pytest.mark.parametrize(
    ("title", "layout"),
    [
        ("{} - Lamps 24", "<h1>Lamps 24</h1><h2>{}</h2>"),
        ("Lantern, {} | Lamps", "<h1>Lantern</h1>"),
    ],
)
def test_a_heading_that_does_not_name_the_product_does_not_stand_for_its_name(
    title: str, layout: str
) -> None:
    one, other = (
        facts(page(layout.format(name) + f"<p>£74</p>{PROSE}", title=title.format(name)))
        for name in ("the old harbour", "the new harbour")
    )
    assert [] != one != other != []


LAID_OUT = {
    "parts in a block": "<div><span>Colour</span><span>{}</span></div>",
    "a marked word": "<p>Colour <b>{}</b></p>",
    "an entry with a mark": "<ul><li><b>Colour:</b> {}</li></ul>",
    "a choice": "<label>Colour <select name='c'><option>blue<option selected>{}</select></label>",
    "a radio button": "<label><input type='radio' name='c' checked> Colour {}</label>",
}


@pytest.mark.parametrize("layout", LAID_OUT.values(), ids=LAID_OUT)
def test_a_property_is_one_row_however_it_is_laid_out(layout: str) -> None:
    assert facts(page(PRICED + layout.format("red"))) == [
        "name storm lantern",
        "price £74",
        "row colour red",
    ]


NO_ROWS = {
    "a short line": "<p>Print this page</p>",
    "a pair with a link": "<div><span>Colour</span><a href='/red'>red</a></div>",
    "a pair with a heading": "<div><h3>Colour</h3><p>red</p></div>",
    "a table for the layout": "<table><tr><td><h2>Colour</h2></td><td>red</td></tr></table>",
    "a choice of the visitor's": "<label>Sort <select name='sort'><option selected>by price</select></label>",
}


@pytest.mark.parametrize("extra", NO_ROWS.values(), ids=NO_ROWS)
def test_other_short_lines_are_no_rows(extra: str) -> None:
    assert facts(page(PRICED + extra)) == facts(page(PRICED))


# Numbers, and nothing


def test_what_is_distinguished_decides_which_facts_there_are() -> None:
    sold = page(PRICED + script(product(sku="1234")))
    told = facts_of(page(PRICED), "Storm lantern 74", "numbers")
    assert told == "name storm lantern\nprice £74\nheading storm lantern\nnumbers 74"
    assert facts_of(page(f"<h2>Storm</h2>{PROSE}", title="Storm"), PROSE, "numbers") is None
    assert (
        facts_of(page(f"<h1>Nurse, Aldham!</h1>{PROSE}"), PROSE, "numbers")
        == "heading nurse aldham"
    )
    assert facts_of(sold, PROSE, "nothing") is None
    # A text without HTML is no product.
    for text in (PROSE, f"Storm lantern\n£74.00\n{PROSE}", "awk\n$0 is the line, $1 a field."):
        assert text_facts(text, "products") is text_facts(text, "nothing") is None


# Hostile pages

# With a rule of quadratic time, one of them takes minutes.
HOSTILE = {
    "digits": "1" * 1_000_000,
    "prices": "<p class=price>" + "£1 " * 40_000,
    "cells": "<table><tr>" + "<td>1" * 40_000,
    "nested rows": "<table><tr><td>a<td>" * 60,
    "nested pairs": "<div><b>a</b>" * 100,
    "nested lists in JSON": script("[" * 200_000),
    "endless spaces in JSON": script('{"@type": "Product",' + " " * 200_000 + "x"),
    "odd values in JSON": script(
        product(name=[], offers=[None, 7, "x", {"price": True}], sku={"a": 1}, color=[[[]]])
    ),
    "products in products": "<div itemscope itemtype='http://schema.org/Product'>" * 100
    + "<b itemprop=price>5</b>" * 9_000,
    "choices": "<select><option selected>a</select>" * 20_000,
    "buttons": "<p>£1</p><button>Buy now</button>" * 20_000,
    "asides": "<aside><p>£1</p><button>Buy now</button>" * 200
    + "</aside>" * 200
    + "<aside><button>Buy" * 9_000,
    "radio buttons in one label": "<label>" + "<input type=radio checked>" * 40_000,
    "marks": "<p>" + "a\u0301" * 40_000,
}
EMPTY = "<i></i>" * 1_000


@pytest.mark.parametrize("tag", ["button", "a href='#'"])
def test_a_button_is_not_searched_for_its_text(tag: str) -> None:
    """Or else, of 200 within each other, each would be searched to the end."""
    near, far = (
        parse(f"<p><{tag}>{between}Add to cart</{tag.split()[0]}></p>")
        for between in ("<i></i>", EMPTY)
    )
    assert (sells(near, "button, a"), sells(far, "button, a")) == (True, False)


@pytest.mark.parametrize(
    "start", ["<label><input type='radio' checked>", "<select><option selected>"]
)
def test_a_choice_is_not_searched_for_its_text(start: str) -> None:
    near, far = (
        facts(page(f"{PRICED}{start}{between}Red</select>")) for between in ("<i></i>", EMPTY)
    )
    assert far != near == [*facts(page(PRICED)), "row red"]


def in_markup(values: list[str]) -> str:
    members = "".join(f"<meta itemprop='material' content='{value}'>" for value in values)
    return (
        "<div itemscope itemtype='http://schema.org/Product'><b itemprop='name'>Storm "
        f"lantern</b>{members}</div>"
    )


def test_of_very_many_values_of_a_product_the_same_few_are_taken() -> None:
    many = [f"x{number}y" for number in range(1_000)]
    found, turned = (facts(page(PRICED + in_markup(values))) for values in (many, many[::-1]))
    assert 100 < len(found) < 300
    assert found == turned


def test_of_very_many_products_the_first_are_read() -> None:
    scripts = script([product(name=f"Lamp {number}") for number in range(900)]) * 3
    assert len(read_declared(parse(page(scripts)))[0]) == 1_000


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_are_read(body: str) -> None:
    # Behind a main text as long as the page, products are not looked for.
    for main, distinguish in ((PROSE, "products"), (body, "numbers")):
        found = facts_of(page(PRICED + body), main, distinguish)
        assert found is None or "\n\n" not in found
