"""Which pages have facts, and which facts they have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from crawldedup.reading.blocks import parse
from crawldedup.reading.extract import PageText
from crawldedup.reading.facts.declared import numbers, plain, prices, read_declared
from crawldedup.reading.facts.page_facts import page_facts, sells, text_facts
from crawldedup.reading.html import HtmlPage

PROSE = (
    "The ferry to the outer islands leaves at dawn, and by the time the fog has lifted the harbour is already out "
    "of sight. Nobody on deck speaks much; the engine does the talking, and the gulls answer it."
)
SCHEMA = "https://schema.org/"


def page(body: str, head: str = "", title: str = "Storm lantern - Lamps 24") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


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

DEEP: Any = product(offers=offer(74))
for _ in range(40):
    DEEP = {"@type": "WebPage", "mainEntity": [DEEP]}

DECLARED = {
    "an object": product(offers=offer("74.00")),
    "a number": product(offers=offer(74)),
    "a list": [{"@type": "WebSite", "name": "Lamps"}, product(offers=[offer("74.0")])],
    "a graph": {"@context": SCHEMA, "@graph": [{"@type": "Organization"}, product(offers=offer("74"))]},
    "a type as an address": product(offers=offer("74"), **{"@type": ["Thing", "http://schema.org/Product"]}),
    "nested": {"@type": "ItemPage", "mainEntity": product(offers=offer("74"))},
    "nested deep": DEEP,
    "a price specification": product(offers={"priceSpecification": {"price": 74, "priceCurrency": "GBP"}}),
    "the range of several offers": product(
        offers={"@type": "AggregateOffer", "lowPrice": "74", "priceCurrency": "gbp"}
    ),
    "a group": product(offers=offer("74"), **{"@type": "ProductGroup"}),
    "comment marks": "<!--//--><![CDATA[ " + json.dumps(product(offers=offer("74"))) + " //]]>;",
    "a line break in a text": json.dumps(product(offers=offer("74"), text="a\nb")).replace("\\n", "\n"),
    "other products beside it": [
        product(name="Cork", offers=offer(3)),
        product(offers=offer(74)),
        product(name="Wick"),
    ],
}


BROKEN = json.dumps(product(offers=offer(74)))[:-1]


def test_a_script_that_is_no_json_declares_nothing() -> None:
    assert facts(page(NAMED + script(BROKEN))) == []
    assert "price £74" in facts(page(NAMED + script(BROKEN) + script(product(offers=offer(74)))))


@pytest.mark.parametrize("data", DECLARED.values(), ids=DECLARED)
def test_json_declares_a_price_that_the_page_does_not_show(data: Any) -> None:
    assert "price £74" in facts(page(NAMED + script(data)))
    assert "price £3" not in facts(page(NAMED + script(data)))


MARKED_UP = {
    "microdata": "<div itemscope itemtype='http://schema.org/Product'><h1 itemprop='name'>Storm lantern</h1><div "
    "itemprop='offers' itemscope itemtype='http://schema.org/Offer'><meta itemprop='price' content='74'>"
    "<meta itemprop='priceCurrency' content='GBP'></div></div>",
    "without a name": "<h1>Storm lantern</h1><div itemscope itemtype='https://schema.org/Product'>"
    "<span itemprop='price' content='74.00'></span><span itemprop='priceCurrency' content='GBP'></span></div>",
    "RDFa": "<div vocab='http://schema.org/' typeof='Product'><h1 property='name'>Storm lantern</h1>"
    "<div property='offers' typeof='Offer'><b property='price'>74</b><meta property='priceCurrency' content='GBP'>"
    "</div></div>",
    "prefixed RDFa": "<div typeof='schema:Product'><h1 property='schema:name'>Storm lantern</h1>"
    "<meta property='schema:price' content='74'><meta property='schema:priceCurrency' content='GBP'></div>",
    "beside other products": "<h1>Storm lantern</h1>"
    "<div itemscope itemtype='http://schema.org/Product'><a href='/3' itemprop='name'>Cork tile</a>"
    "<i itemprop='price'>3</i></div>"
    "<div itemscope itemtype='http://schema.org/Product'><b itemprop='name'>Storm lantern</b>"
    "<span itemprop='brand' itemscope itemtype='http://schema.org/Brand'><b itemprop='name'>Cork</b></span>"
    "<meta itemprop='price' content='74'><meta itemprop='priceCurrency' content='GBP'></div>",
    "Open Graph": "<meta property='og:title' content='Storm lantern'><meta property='og:type' content='product'>"
    "<meta property='product:price:amount' content='74.00'><meta property='product:price:currency' content='GBP'>"
    "<h1>Storm lantern</h1>",
    "Open Graph of a shop": "<meta property='og:price:amount' content='74.00'>"
    "<meta property='og:price:currency' content='GBP'><h1>Storm lantern</h1>",
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
        ("gtin13", "4006381333931"),
        ("mpn", 925872),
        ("productID", "isbn:123-456-789"),
        ("color", "moss green"),
        ("size", "XL"),
        ("material", {"@type": "Text", "name": "brass"}),
        ("weight", {"@type": "QuantitativeValue", "value": 1.9, "unitCode": "KGM"}),
        ("additionalProperty", [{"@type": "PropertyValue", "name": "Fuel", "value": "lamp oil"}]),
        ("name", "Storm lantern, red"),
        ("brand", {"@type": "Brand", "name": "Acme"}),
        ("category", "Lamps"),
        ("itemCondition", "https://schema.org/UsedCondition"),
        ("hasMeasurement", {"value": "2"}),
        ("countryOfAssembly", "Norway"),
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


@pytest.mark.parametrize("kind", ["Book", "Vehicle", "Car", "Event", "Hotel", "Movie", "Apartment"])
def test_what_is_for_sale_may_be_declared_as_more_than_a_product(kind: str) -> None:
    assert "price £74" in facts(page(NAMED + script(product(offers=offer(74)) | {"@type": kind})))


@pytest.mark.parametrize(
    "rows",
    [
        "<table><tr><th>Item</th><td>KT-10442</td></tr><tr><th>Colour</th><td>moss green</td></tr></table>",
        "<dl><dt>Item</dt><dd>KT-10442</dd><dt>Colour:</dt><dd><span>moss green</span></dd></dl>",
        "<ul><li>Item: KT-10442</li><li><b>Colour:</b> moss green</li></ul>",
        "<div><div><b>Item</b><span>KT-10442</span></div><div><b>Colour</b><span>moss green</span></div></div>",
        "<p>Colour: moss green</p><p>Item : KT-10442</p>",
        "<table><tr><td>Colour<td><ul><li>moss green</li></ul><tr><td>Item<td>KT-10442</table>",
    ],
    ids=["table", "terms", "list", "div", "lines", "list in a table"],
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
    ["£74", "&pound;74.00", "74 GBP", "Price: <b>£</b><span>74</span>", "Now only £74.00 incl. VAT", "£74,00"],
)
def test_a_price_by_itself_near_the_name_makes_a_product_page(price: str) -> None:
    found = facts(page(f"<h1>Storm lantern</h1><p>{price}</p><p>{PROSE}</p>"))
    assert found == ["name storm lantern", "price £74"]


NOT_PRODUCTS = {
    "no price": NAMED,
    "a price in the text": f"<h1>Storm lantern</h1><p>{PROSE} A lantern costs £74 or so, we were told.</p>",
    "a price far below": f"<h1>Storm lantern</h1><p>{PROSE}</p>" + "<p>Nothing.</p>" * 30 + "<p>£74</p>",
    "a price under another heading": f"<h1>Storm lantern</h1><p>{PROSE}</p><h2>Subscribe</h2><p>£74</p>",
    "a price below the text": f"<h1>Storm lantern</h1><p>{PROSE}</p><p>{PROSE}</p><p>£74</p>",
    "a price in a line about other things": "<h1>Storm lantern</h1><p>Lantern repair at home from $49 by our "
    "friendly team in all of the county</p>",
    "a price in a link": "<h1>Storm lantern</h1><p><a href='/offer'>Only £74</a></p>",
    "a price in the footer": f"{NAMED}<footer>£74</footer>",
    "a list of things to buy": "<h1>Storm lantern</h1>"
    + "".join(f"<div><a href='/{n}'>Lamp {n}</a><p>£{n}.00</p></div>" for n in range(1, 9))
    + BUTTON,
    "an article on a product": PRICED + script([{"@type": "NewsArticle"}, product(offers=offer(74))]),
    "an article by Open Graph": "<meta property='og:type' content='article'>" + PRICED,
    "an article with a date": f"<article>{PRICED}<time>17 minutes ago</time></article>",
    "an article that gives its date": "<meta property='article:published_time' content='2026-11-23'>" + PRICED,
    "an article in microdata": "<div itemscope itemtype='http://schema.org/NewsArticle'></div>" + PRICED,
    "a newspaper that is for sale itself": "<meta property='og:type' content='article'>"
    + NAMED
    + "<div itemscope itemtype='http://schema.org/Product'><meta itemprop='name' content='Lamps 24'></div>",
    "a part of a work for sale": NAMED + script({"@type": "WebPage", "isPartOf": product(offers=offer(3))}),
    "another product is declared": NAMED + script(product(name="Cork tile", offers=offer(3))),
    "a weekday and a date": "<h1>Storm lantern</h1><p>Fr 24.12</p>",
    "a chapter's number": "<h1>Storm lantern</h1><p>6.5 원래 이야기</p><p>7.3 đưa</p><p>3 frames</p>",
}


@pytest.mark.parametrize("body", NOT_PRODUCTS.values(), ids=NOT_PRODUCTS)
def test_pages_that_are_about_no_product(body: str) -> None:
    assert facts(page(body)) == []


def test_a_product_for_sale_may_stand_in_a_dated_article() -> None:
    assert facts(page(f"<article>{PRICED}{BUTTON}<time>17 minutes ago</time></article>"))
    assert facts(page(f"<article>{PRICED}</article>"))


def test_a_shop_that_calls_its_products_articles_has_products() -> None:
    assert facts(page("<meta property='og:type' content='article'>" + PRICED + BUTTON))


def test_a_description_may_stand_before_the_price_if_there_is_a_button() -> None:
    body = f"<h1>Storm lantern</h1><p>{PROSE}</p><p>{PROSE}</p><p>£74</p>"
    assert facts(page(body + BUTTON)) == ["name storm lantern", "price £74"]


def test_a_shop_may_show_other_products_below() -> None:
    others = "".join(f"<div><a href='/{n}'>Lamp {n}</a><p>£{n}.00</p></div>" for n in range(1, 9))
    assert facts(page(PRICED + others + BUTTON)) == ["name storm lantern", "price £74"]


def test_a_product_that_is_sold_out_has_a_button_and_a_specification() -> None:
    rows = "<table><tr><th>Fuel</th><td>oil</td></tr><tr><th>Glass</th><td>clear</td></tr>"
    rows += "<tr><th>A</th><td>b</td></tr></table>"
    head = "<meta property='og:site_name' content='products'><b class='product'></b>"
    assert facts(page(NAMED + rows + BUTTON + head)) == [
        "name storm lantern",
        "row a b",
        "row fuel oil",
        "row glass clear",
    ]


def test_a_declared_offer_outweighs_a_page_that_calls_itself_an_article() -> None:
    assert "price £74" in facts(
        page("<meta property='og:type' content='article'>" + NAMED + script(product(offers=offer(74))))
    )


# What facts are

PASSING = [
    "<p>Only 3 left in stock</p>",
    "<p>12 customer reviews</p>",
    "<div class='ratings'>4.5 of 5</div>",
    "<p>Delivery by 24 November</p>",
    "<p>Lieferzeit: 3 Tage</p>",
    "<p>在庫: 3</p>",
    "<p>When <select class='delivery-slot' name='slot'><option selected>Monday</option></select></p>",
    "<p>Ready <select id='stock'><option selected>in 3 days</option></select></p>",
    "<p>24.11.2024</p>",
    "<section class='related'><h2>More</h2><p>Cork, 3 cm</p><p>£3.00</p></section>",
    "<div id='recently_viewed'><p>Colour: red</p></div>",
    "<div><a href='/cork'>Cork 5 cm</a> <span>£3.00</span></div>",
    "<aside>Call 0800 123</aside>",
    "<footer>© 2024, No. 17</footer>",
    "<p>© 2024 Lamps</p>",
    "<p>https://lamps.example/storm?sid=17</p>",
    f"<div class='main-nav'><p>Lamps, 31 cm</p><p>{PROSE}</p></div>",
    f"<form class='nav-search'><select name='in'><option selected>All lamps</option><option>{PROSE}</option></select>",
]


@pytest.mark.parametrize("extra", PASSING)
def test_what_changes_from_visit_to_visit_is_no_fact(extra: str) -> None:
    assert facts(page(PRICED + extra)) == facts(page(PRICED))


SPECIFIC = {
    "a number in a list": "<ul><li>31 cm high</li></ul>",
    "a model": "<p>Model XT-250</p>",
    "a unit": "<p>31 mm high</p>",
    "a row": "<p>Glass: frosted</p>",
    "a class": "<p>Energy: A+</p>",
    "another class": "<p>Energy: A++</p>",
    "a temperature": "<p>-5 °C</p>",
    "another temperature": "<p>5 °C</p>",
    "a number in the text": f"<p>{PROSE} It holds 3 litres.</p>",
    "a unit in the text": f"<p>{PROSE} It holds 3 pints.</p>".replace("pints", "gal"),
    "a size in a box named for the price": "<div class='price-box'><p>31 cm</p></div>",
    "a size in feet": "<p>13 ft high</p>",
    "a rate": "<p>£7.40 a month for 10 months</p>",
    "an older price": "<p>£99.00</p>",
    "a price for a quantity": "<p>£7.40 for 100 g</p>",
}


def test_every_detail_makes_another_product() -> None:
    pages = {
        name: facts(page(f"<h1>Storm lantern</h1><p>£74.00</p>{extra}<p>{PROSE}</p>"))
        for name, extra in {"nothing": "", **SPECIFIC}.items()
    }
    distinct = {tuple(found): name for name, found in pages.items()}
    assert len(distinct) == len(pages), sorted(distinct.values())


def test_the_order_does_not_matter() -> None:
    rows = ["<li>Glass: clear</li>", "<li>Fuel: oil</li>", "<li>31 cm</li>"]
    body = "<h1>Storm lantern</h1><p>£74</p><ul>{}</ul>"
    assert facts(page(body.format("".join(rows)))) == facts(page(body.format("".join(rows[::-1]))))


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Storm lantern - Lamps 24", "<h1>Storm lantern</h1>"),
        ("Storm lantern | Lamps 24", "<h2>Storm lantern</h2>"),
        ("Buy Storm lantern online", "<h1>Storm Lantern</h1>"),
        ("Storm lantern (print)", "<h1>Storm lantern</h1>"),
        ("Lamps 24: Storm lantern", "<h1><a href='/'>Lamps 24</a></h1><h2>Storm lantern</h2>"),
        ("Lamps 24: Storm lantern", "<h1><a href='/'>Lamps 24</a></h1><div>Storm lantern</div>"),
        ("Lamps 24 | Storm lantern", "<h1>Storm lantern</h1><p><a href='/'>Lamps 24</a></p>"),
        ("Storm lantern – Lamps 24", "<div>Storm lantern</div>"),
        ("Storm lantern – Lamps 24", "<div><div>Storm lantern</div><div>£74.00</div></div>"),
        ("Storm lantern", ""),
        ("", "<h1>Storm lantern</h1>"),
    ],
)
def test_the_name_is_without_the_name_of_the_site(title: str, heading: str) -> None:
    found = facts(page(f"{heading}<p>£74.00</p><p>{PROSE}</p>", title=title))
    assert found == ["name storm lantern", "price £74"]


def test_a_heading_that_names_only_the_kind_is_not_the_name() -> None:
    one, other = (
        facts(page("<h1>Lantern</h1><p>£74</p>", title=f"Lantern, {name} | Lamps"))
        for name in ("the old harbour", "the new harbour")
    )
    assert one != other


@pytest.mark.parametrize("title", ["{} - Lamps 24", "Lamps 24 - {}", "Lamps 24: {}"])
@pytest.mark.parametrize("layout", ["<h1>Lamps 24</h1><h2>{}</h2>", "<h1>Lamps 24</h1><h3>{}</h3>", "<h2>{}</h2>"])
def test_a_heading_with_the_name_of_the_site_does_not_stand_for_the_name(title: str, layout: str) -> None:
    one, other = (
        facts(page(layout.format(name) + "<p>£74</p>" + PROSE, title=title.format(name)))
        for name in ("Storm lantern", "Night light")
    )
    assert one
    assert other
    assert one != other


LAID_OUT = {
    "parts in a block": "<div><span>Colour</span><span>{}</span></div>",
    "blocks in a block": "<div><div>Colour</div><div><p>{}</p></div></div>",
    "a marked word": "<p>Colour <b>{}</b></p>",
    "an entry with a mark": "<ul><li><b>Colour:</b> {}</li></ul>",
    "a choice": "<label>Colour <select name='c'><option>blue<option selected>{}</select></label>",
    "a choice behind its label": "<label>Colour</label><select name='c'><option>blue<option selected>{}</select>",
    "a radio button": "<label><input type='radio' name='c' checked> Colour {}</label>",
}


@pytest.mark.parametrize("layout", LAID_OUT.values(), ids=LAID_OUT)
def test_a_property_is_one_row_however_it_is_laid_out(layout: str) -> None:
    assert facts(page(PRICED + layout.format("red"))) == ["name storm lantern", "price £74", "row colour red"]


def test_entries_in_a_table_for_the_layout_are_entries() -> None:
    table = "<table><tr><td><ul><li>red</li></ul></td><td>" + "<p>Nothing</p>" * 30 + "</td></tr></table>"
    assert facts(page(PRICED + table)) == ["name storm lantern", "price £74", "row red"]


NO_ROWS = {
    "a short line": "<p>Print this page</p>",
    "a pair with a link": "<div><span>Colour</span><a href='/red'>red</a></div>",
    "a pair with a heading": "<div><h3>Colour</h3><p>red</p></div>",
    "a table for the layout": "<table><tr><td><h2>Colour</h2></td><td>red</td></tr></table>",
    "a table around one": "<table><tr><td>red<table><tr><td>Lamps</td></tr></table></td></tr></table>",
    "an entry with a link": "<ul><li><a href='/red'>red</a></li></ul>",
    "a choice of the visitor's": "<label>Sort <select name='sort'><option selected>by price</select></label>",
    "a choice in the footer": "<footer><label>Colour <select><option selected>red</select></label></footer>",
}


@pytest.mark.parametrize("extra", NO_ROWS.values(), ids=NO_ROWS)
def test_other_short_lines_are_no_rows(extra: str) -> None:
    assert facts(page(PRICED + extra)) == facts(page(PRICED))


def test_stars_above_the_price_that_lead_down_the_page_are_no_title_of_another_product() -> None:
    stars = "<a href='#reviews'><ul><li>4.5</li><li>5</li></ul><div>(44)</div></a>"
    assert "price £74" in facts(page(f"<h1>Storm lantern</h1>{stars}<p>£74.00</p><p>{PROSE}</p>" + BUTTON))


@pytest.mark.parametrize(
    "line", ["<p>33 cm <span class='stars'>{}</span></p>", "<p><span class='stars'>{}</span> 33 cm</p>"]
)
def test_a_number_in_a_part_about_reviews_is_left_out_of_its_line(line: str) -> None:
    found = [facts(page(PRICED + line.format(stars))) for stars in ("", "3", "4")]
    assert all(any("33" in fact and "cm" in fact for fact in each) for each in found)
    assert found[1] == found[2]


@pytest.mark.parametrize("part", ["nav", "footer", "dialog"])
def test_only_an_aside_with_a_buy_button_is_no_boilerplate(part: str) -> None:
    box = "<{0}><p>31 cm</p>" + BUTTON + "</{0}>"
    assert facts(page(PRICED + box.format(part))) == ["name storm lantern", "price £74"]
    assert "number 31cm" in facts(page(PRICED + box.format("aside")))


# Texts


@pytest.mark.parametrize("text", [PROSE, f"Storm lantern\n£74.00\n{PROSE}", "awk\n$0 is the line, $1 a field."])
def test_a_text_without_html_is_no_products(text: str) -> None:
    assert text_facts(text, "products") is None


# Numbers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Room 7 of 9", "Room 8 of 9"),
        ("A 5, B 7", "A 7, B 5"),
        ("1 and 1", "1"),
        ("It is -5 today", "It is 5 today"),
        ("version 1.10", "version 1.1"),
        ("12.5", "12,5"),
        ("1,299 kg", "1299 kg"),
        ("5 and 10", "5-10"),
        ("三月", "四月"),
        ("二〇二四", "二〇二五"),
        ("٣ أيام", "٤ أيام"),
        ("model x1", "model y1"),
    ],
)
def test_texts_with_different_numbers_differ(one: str, other: str) -> None:
    assert text_facts(one, "numbers") != text_facts(other, "numbers")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Room 7 of 9", "Chamber 7 out of 9"),
        ("1,299.00 in all", "1299 in all"),
        ("1.299,00", "1299"),
        ("1,234,567", "1 234 567"),
        ("1'299", "1\u00a0299"),
        ("２０２４年３月", "2024年3月"),
        ("٢٠٢٤", "2024"),
        ("−5", "-5"),
        ("No numbers", "None at all"),
    ],
)
def test_one_number_in_two_spellings_is_one(one: str, other: str) -> None:
    assert text_facts(one, "numbers") == text_facts(other, "numbers")


def test_without_numbers_there_are_no_facts() -> None:
    assert text_facts("No numbers", "numbers") is None
    assert facts_of(page(NAMED, title="Storm"), PROSE, "numbers") is None


def test_numbers_come_on_top_of_the_facts_of_a_product() -> None:
    found = facts_of(page(PRICED), "Storm lantern 74", "numbers")
    assert found == "name storm lantern\nprice £74\nnumbers 74"


def test_nothing_is_nothing() -> None:
    assert facts_of(page(PRICED + script(product(sku="1234"))), PROSE, "nothing") is None
    assert text_facts("Storm lantern\n£74", "nothing") is None


# Prices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("£1,299.00", ["£1299"]),
        ("1.299,00 €", ["€1299"]),
        ("1 299,50 kr", ["kr1299.5"]),
        ("19,- €", ["€19"]),
        ("CHF 1’299.–", ["chf1299"]),
        ("US$ 1,299", ["$1299"]),
        ("CA$12.5", ["$12.5"]),
        ("₹1,29,999", ["₹129999"]),
        ("Rp 1.250.000", ["rp1250000"]),
        ("R$ 1.299,90", ["r$1299.9"]),
        ("1,299円（税込）", ["¥1299"]),
        ("￥１２９９", ["¥1299"]),
        ("12元/件", ["¥12"]),
        ("12,000원", ["₩12000"]),
        ("١٬٢٩٩٫٠٠ ر.س", ["sar1299"]),
        ("1 299 ₽", ["₽1299"]),
        ("49,99 zł", ["zł49.99"]),
        ("0.99 USD", ["$0.99"]),
        ("was £99 now £74.00", ["£99", "£74"]),
        ("5€ 6€", ["€5", "€6"]),
        ("3 frames for 4 turns", []),
        ("6.5. 원래", []),
        ("7.3 đưa", []),
        ("49,-", ["49"]),
        ("1.299,–", ["1299"]),
        ("Fr. 49.90", ["chf49.9"]),
        ("4 990 Ft", ["huf4990"]),
        ("Fr. 12. Mai", []),
        ("Fr 24.12", []),
        ("Fr. 7.1", []),
        ("Fr 24.12 –", []),
        ("Fr. 24.12.–", ["chf24.12"]),
        ("Fr. 24.–", ["chf24"]),
        ("Fr. 19.50", ["chf19.5"]),
        ("Fr. 32.10", ["chf32.1"]),
        ("SFr. 9.10", ["chf9.1"]),
        ("13 ft", []),
        ("a cliff of 1,300 ft", []),
        ("(1,-1)", []),
        ("page 12", []),
    ],
)
def test_prices(text: str, expected: list[str]) -> None:
    assert [str(price) for price in prices(plain(text))] == expected


def test_what_could_be_a_friday_is_a_price_where_it_is_marked_as_one() -> None:
    assert [str(price) for price in prices("fr. 9.10", bare=True)] == ["chf9.1"]
    shown = "<h1>Storm lantern</h1><p class='price'><b>Fr. 9.10</b></p>"
    assert "price chf9.1" in facts(page(shown))


def test_numbers_have_their_units() -> None:
    text = plain("31 cm, 5kg, 220V, 40 %, 1.5 l, 12公斤, 3 friends")
    assert numbers(text, units=True) == ["31cm", "5kg", "220v", "40%", "1.5l", "12公斤", "3"]


# Hostile pages

HOSTILE = {
    "digits": "1" * 1_000_000,
    "numbers": "<b>1</b>&" * 20_000,
    "prices": "<p class=price>" + "£1 " * 40_000,
    "rows": "<table>" + "<tr><td>a<td>1" * 20_000,
    "cells": "<table><tr>" + "<td>1" * 40_000,
    "nested rows": "<table><tr><td>a<td>" * 60,
    "nested pairs": "<div><b>a</b>" * 100,
    "terms": "<dt>a<dd>1" * 20_000,
    "headings": "<h1>" * 100 + "x" + "</h1>" * 100,
    "nested lists in JSON": script("[" * 200_000),
    "endless spaces in JSON": script('{"@type": "Product",' + " " * 200_000 + "x"),
    "semicolons after JSON": script("{" + ";" * 199_000) * 14,
    "slashes before JSON": script("/*" * 40_000),
    "a huge number in JSON": script('{"@type": "Product", "sku": ' + "9" * 40_000 + "}"),
    "odd values in JSON": script(product(name=[], offers=[None, 7, "x", {"price": True}], sku={"a": 1}, color=[[[]]])),
    "a number of 4,000 digits in JSON": script('{"@type": "Product", "sku": ' + "9" * 4_000 + "}"),
    "products in products": "<div itemscope itemtype='http://schema.org/Product'>" * 100
    + "<b itemprop=price>5</b>" * 9_000,
    "choices": "<select><option selected>a</select>" * 20_000,
    "radio buttons": "<label><input type=radio checked>a</label>" * 20_000,
    "buttons": "<p>£1</p><button>Buy now</button>" * 20_000,
    "asides": "<aside><p>£1</p><button>Buy now</button>" * 200 + "</aside>" * 200 + "<aside><button>Buy" * 9_000,
    "radio buttons in one label": "<label>" + "<input type=radio checked>" * 40_000,
    "nested entries": "<ul>" + "<li>" * 100 + "<li>a" * 20_000,
    "attributes without an end": "class=price class=" * 20_000,
    "separators": "<title>" + " - a" * 40_000,
    "marks": "<p>" + "a\u0301" * 40_000,
}


EMPTY = "<i></i>" * 1_000


@pytest.mark.parametrize("tag", ["button", "a href='#'"])
def test_a_button_is_not_searched_for_its_text(tag: str) -> None:
    """Or else, of 200 within each other, each would be searched to the end."""
    near, far = (parse(f"<p><{tag}>{between}Add to cart</{tag.split()[0]}></p>") for between in ("<i></i>", EMPTY))
    assert sells(near, "button, a")
    assert not sells(far, "button, a")


@pytest.mark.parametrize("tag", ["label", "select"])
def test_a_choice_is_not_searched_for_its_text(tag: str) -> None:
    inner = "<input type='radio' checked>" if tag == "label" else "<option selected>"
    near, far = (facts(page(f"{PRICED}<{tag}>{inner}{between}Red</{tag}>")) for between in ("<i></i>", EMPTY))
    assert near == [*facts(page(PRICED)), "row red"]
    assert far != near


def test_markup_is_not_searched_for_its_text() -> None:
    marked = "<div itemscope itemtype='http://schema.org/Product'><b itemprop='color'>{}Red</b></div>"
    near, far = (read_declared(parse(page(marked.format(between)))) for between in ("<i></i>", EMPTY))
    assert [set(found.products[0].attributes) for found in (near, far)] == [{"Red"}, set()]


MANY = [f"x{number}y" for number in range(1_000)]


def in_json(values: list[str]) -> str:
    return script(product(hasVariant=[{"material": values[first : first + 20]} for first in range(0, 1_000, 20)]))


def in_markup(values: list[str]) -> str:
    members = "".join(f"<meta itemprop='material' content='{value}'>" for value in values)
    return f"<div itemscope itemtype='http://schema.org/Product'><b itemprop='name'>Storm lantern</b>{members}</div>"


@pytest.mark.parametrize("declared", [in_json, in_markup])
def test_of_very_many_values_of_a_product_the_same_few_are_taken(declared: Callable[[list[str]], str]) -> None:
    found, turned = (facts(page(PRICED + declared(values))) for values in (MANY, MANY[::-1]))
    assert 100 < len(found) < 300
    assert found == turned


def test_of_very_many_products_the_first_are_read() -> None:
    scripts = script([product(name=f"Lamp {number}") for number in range(900)]) * 3
    assert len(read_declared(parse(page(scripts))).products) == 1_000


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_are_read(body: str) -> None:
    # Behind a main text as long as the page, products are not looked for.
    for main, distinguish in ((PROSE, "products"), (body, "numbers")):
        found = facts_of(page(PRICED + body), main, distinguish)
        assert found is None or "\n\n" not in found
