"""Pages that read alike and are not the same, and pages that are the same and do not look it.

Products, short pages, templates, listings, tables, code, calendars, repetition: what counts as a duplicate
there, and what the setting `distinguish` changes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from html import escape

import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.facts.page_facts import page_facts

# Products


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True)
class Shop:
    """A language, and how a shop of that country writes."""

    language: str
    vocabulary: tuple[str, ...]
    space: str
    stop: str
    price: str
    currency: str
    buy: str
    rows: tuple[tuple[str, str], ...]
    other_colour: str
    other_weight: str
    name: str
    other_name: str
    amount: str = "1299.00"
    other_amount: str = "1399.00"


SHOPS = {
    "en": Shop(
        "en",
        words(
            "kettle copper handle water kitchen morning quiet steam spout maker bench polish evenly warm stove "
            "family table pour gentle craft rivet lid balance solid gleam flame simple useful trusted"
        ),
        " ",
        ". ",
        "£1,299.00",
        "GBP",
        "Add to basket",
        (("Colour", "signal red"), ("Weight", "1.2 kg"), ("Capacity", "3 litres"), ("Item no.", "KT-10442")),
        "moss green",
        "1.3 kg",
        "Harbour copper kettle",
        "Lighthouse copper kettle",
    ),
    "ja": Shop(
        "ja",
        words("銅 湯 台所 朝 静か 蒸気 注ぎ口 職人 磨く 火 家族 食卓 優しい 蓋 手仕事 の は を"),
        "",
        "。",
        "1,299円（税込）",
        "JPY",
        "カートに入れる",
        (("色", "赤"), ("重さ", "1.2kg"), ("容量", "3リットル"), ("品番", "KT-10442")),
        "緑",
        "1.3kg",
        "港の銅やかん",
        "灯台の銅やかん",
    ),
}


@dataclass(frozen=True)
class Item:
    """A product. `description` is shared by all products of a group."""

    shop: Shop
    name: str
    amount: str
    price: str
    rows: tuple[tuple[str, str], ...]
    description: tuple[str, ...]


@dataclass(frozen=True)
class Visit:
    """What differs each time a page is asked for."""

    number: int = 0
    turn: int = 0

    @property
    def session(self) -> str:
        return f"?sid={self.number * 7919}&utm_source=mail{self.number}"

    def choose(self, *choices: str) -> str:
        return choices[self.turn % len(choices)]


def sentences(shop: Shop, length: int, seed: int = 1) -> tuple[str, ...]:
    """Paragraphs of so many words (characters, where there are no spaces)."""
    source = random.Random(seed)
    paragraphs, written = [], 0
    while written < length:
        chosen = [shop.space.join(source.choices(shop.vocabulary, k=source.randint(9, 14))) for _ in range(3)]
        paragraphs.append("".join(f"{sentence}{shop.stop}" for sentence in chosen).strip())
        written += sum(len(sentence.split()) if shop.space else len(sentence) for sentence in chosen)
    return tuple(paragraphs)


def group(shop: Shop, length: int) -> dict[str, Item]:
    """Products that share a description and differ from the first in one thing."""

    def rows(**values: str) -> tuple[tuple[str, str], ...]:
        keys = ("colour", "weight", "capacity", "code")
        return tuple((key, values.get(kind, value)) for kind, (key, value) in zip(keys, shop.rows, strict=True))

    first = Item(shop, shop.name, shop.amount, shop.price, shop.rows, sentences(shop, length))
    dearer = shop.price.replace("299", "399")
    return {
        "first": first,
        "name": replace(first, name=shop.other_name),
        "price": replace(first, amount=shop.other_amount, price=dearer),
        "colour": replace(first, rows=rows(colour=shop.other_colour)),
        "weight": replace(first, rows=rows(weight=shop.other_weight)),
        "code": replace(first, rows=rows(code="KT-10443")),
    }


def paragraphs_of(item: Item) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in item.description)


def others(visit: Visit, item: Item) -> str:
    """Other products, which the shop shows in turn."""
    cards = "".join(
        f"<div class='card'><a href='/p/{number}{visit.session}'><h3>No. {number} {item.name}</h3></a>"
        f"<span class='price'>{item.price.replace('1', '2')}</span></div>"
        for number in range(visit.turn * 3, visit.turn * 3 + 3)
    )
    return f"<section class='related-products'><h2>More</h2>{cards}</section>"


def document(head: str, body: str, shop: Shop) -> str:
    head = f"<meta charset='utf-8'>{head}"
    return f"<!DOCTYPE html><html lang='{shop.language}'><head>{head}</head><body>{body}</body></html>"


def around(body: str, visit: Visit) -> str:
    links = "".join(f"<li><a href='/{name}{visit.session}'>{name}</a></li>" for name in ("home", "shop", "cart"))
    return (
        f"<header><a href='/{visit.session}'>Kettles 24</a><nav><ul>{links}</ul></nav></header>{body}"
        "<footer><p>Free delivery over 50. Call 0800 123 456. © 2024</p></footer>"
    )


def json_data(item: Item) -> str:
    data = {
        "@context": "https://schema.org",
        "@graph": [
            {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": 1, "name": "Shop"}]},
            {
                "@type": ["Product"],
                "name": item.name,
                "sku": item.rows[-1][1],
                "offers": {"@type": "Offer", "price": item.amount, "priceCurrency": item.shop.currency},
                "aggregateRating": {"@type": "AggregateRating", "ratingValue": "4.5"},
            },
        ],
    }
    return f"<script type='application/ld+json'>{json.dumps(data)}</script>"


def modern(item: Item, visit: Visit) -> str:
    """JSON-LD, and a specification of <div> only."""
    rows = "".join(
        f"<div class='attribute'><span>{escape(key)}</span><span>{escape(value)}</span></div>"
        for key, value in item.rows
    )
    body = (
        f"<main><div class='product has-reviews'><h1>{item.name}</h1>"
        f"<a class='rating' href='#reviews'>4.{visit.choose('5', '6')} ({visit.choose('12', '13')})</a>"
        f"<p class='price'>{item.price}</p><p>Only {visit.choose('3', '2')} left in stock</p>"
        f"<button>{item.shop.buy}</button><div class='description'>{paragraphs_of(item)}</div>"
        f"<div class='attributes'>{rows}</div></div>{others(visit, item)}</main>"
    )
    return document(f"<title>{item.name} | Kettles 24</title>{json_data(item)}", around(body, visit), item.shop)


def broken_data(item: Item, visit: Visit) -> str:
    """The same, but the script cannot be read as JSON."""
    return modern(item, visit).replace('"@graph": [', '"@graph": [,', 1)


def microdata(item: Item, visit: Visit) -> str:
    rows = "".join(f"<tr><th>{escape(key)}</th><td><p>{escape(value)}</p></td></tr>" for key, value in item.rows)
    body = (
        f"<div id='product-17' class='product type-product instock shipping-taxable' itemscope "
        f"itemtype='http://schema.org/Product'><h1 itemprop='name'>{item.name}</h1>"
        f"<p class='price' itemprop='offers' itemscope itemtype='http://schema.org/Offer'>"
        f"<meta itemprop='price' content='{item.amount}'>"
        f"<meta itemprop='priceCurrency' content='{item.shop.currency}'>{item.price}</p>"
        f"<form class='cart' action='/{visit.session}'><button>{item.shop.buy}</button></form>"
        f"<div itemprop='description'>{paragraphs_of(item)}</div><table class='attributes'>{rows}</table></div>"
        + others(visit, item)
    )
    return document(f"<title>{item.name} – Kettles 24</title>", around(body, visit), item.shop)


def open_graph(item: Item, visit: Visit) -> str:
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in item.rows)
    body = (
        f"<div class='content'><h1>{item.name}</h1><div>{item.price}</div><dl>{rows}</dl>{paragraphs_of(item)}</div>"
        + others(visit, item)
    )
    head = (
        f"<meta property='og:type' content='product'><meta property='og:title' content='{item.name}'>"
        f"<meta property='product:price:amount' content='{item.amount}'>"
        f"<meta property='product:price:currency' content='{item.shop.currency}'><title>Kettles 24</title>"
    )
    return document(head, around(body, visit), item.shop)


def undeclared(item: Item, visit: Visit) -> str:
    """Nothing for machines: a price near a name, a button, and a list."""
    rows = "".join(f"<li>{escape(key)}: {escape(value)}</li>" for key, value in item.rows)
    body = (
        f"<div class='box'><h1>{item.name}</h1><span class='sum'>{item.price}</span>"
        f"<form><button>{item.shop.buy}</button></form>{paragraphs_of(item)}<ul>{rows}</ul></div>{others(visit, item)}"
    )
    return document(f"<title>{item.name} - Kettles 24</title>", around(body, visit), item.shop)


def printed(item: Item) -> str:
    rows = "".join(f"<tr><td>{escape(key)}</td><td>{escape(value)}</td></tr>" for key, value in item.rows)
    body = f"<h1>{item.name}</h1><p>{item.price}</p>{paragraphs_of(item)}<table>{rows}</table>"
    return document(f"<title>{item.name} (print)</title>", body, item.shop)


def mirrored(item: Item) -> str:
    """Another site's template, of the time of layout tables."""
    rows = "".join(f"<TR><TD><B>{escape(key)}:</B></TD><TD>{escape(value)}</TD></TR>" for key, value in item.rows)
    body = (
        f"<TABLE><TR><TD COLSPAN=2>mirror.example - document 815</TD></TR><TR><TD><A HREF='/'>Index</A><BR>"
        f"Mirrored nightly</TD><TD><H2>{item.name}</H2><B>{item.price}</B><P>{paragraphs_of(item)}"
        f"<TABLE BORDER=1>{rows}</TABLE></TD></TR></TABLE><HR><ADDRESS>Webmaster 1999</ADDRESS>"
    )
    return document(f"<TITLE>{item.name}</TITLE>", body, item.shop)


Template = Callable[[Item, Visit], str]
TEMPLATES: dict[str, Template] = {
    "JSON-LD": modern,
    "broken JSON-LD": broken_data,
    "microdata": microdata,
    "Open Graph": open_graph,
    "undeclared": undeclared,
}


@cache
def facts(html: str) -> str | None:
    return page_facts(extract_page(html, None, get_extractor("trafilatura"), min_words=8), "products")


class TestProducts:
    # Every template in every language, and every length in all of both, instead of each with each of the others.
    @pytest.mark.parametrize(
        ("template", "language", "length"),
        [
            (template, language, (30, 150, 400)[(place + number) % 3])
            for place, template in enumerate(TEMPLATES)
            for number, language in enumerate(SHOPS)
        ],
    )
    def test_one_difference_makes_another_product_and_a_session_does_not(
        self, template: str, language: str, length: int
    ) -> None:
        make = TEMPLATES[template]
        items = group(SHOPS[language], length)
        # In a short page, other products beside it are a good part of the text.
        again = Visit(number=1, turn=int(length > 100))
        with Deduplicator() as dedup:
            for kind, item in items.items():
                verdict = dedup.check(f"https://shop.example/{kind}", html=make(item, Visit()))
                assert verdict.kind is Kind.NEW, (kind, verdict)
            for kind, item in items.items():
                verdict = dedup.check(f"https://shop.example/{kind}/again", html=make(item, again))
                assert verdict.original == f"https://shop.example/{kind}", (kind, verdict)

    @pytest.mark.parametrize("language", SHOPS)
    @pytest.mark.parametrize("template", TEMPLATES)
    def test_every_view_has_the_same_facts_and_is_found(self, template: str, language: str) -> None:
        items = group(SHOPS[language], 600)
        with Deduplicator() as dedup:
            for kind, item in items.items():
                page = TEMPLATES[template](item, Visit())
                assert facts(page)
                assert facts(printed(item)) == facts(mirrored(item)) == facts(page), kind
                assert dedup.check(f"https://shop.example/{kind}", html=page).kind is Kind.NEW
            for view in (printed, mirrored):
                for kind, item in items.items():
                    verdict = dedup.check(f"https://other.example/{view.__name__}/{kind}", html=view(item))
                    assert verdict.original == f"https://shop.example/{kind}", (view, verdict)

    def test_a_text_without_html_is_compared_by_its_words_alone(self) -> None:
        """Name and price in the first lines, the rest in lines as well."""
        verdicts = {}
        with Deduplicator() as dedup:
            for kind, item in group(SHOPS["en"], 400).items():
                rows = "\n".join(f"{key}: {value}" for key, value in item.rows)
                text = "\n".join((item.name, item.price, *item.description, rows))
                verdicts[kind] = dedup.check(f"https://shop.example/{kind}", text=text).is_duplicate
        assert verdicts == {kind: kind != "first" for kind in verdicts}

    def test_distinguishing_nothing_leaves_them_to_the_similarity(self) -> None:
        with Deduplicator(distinguish="nothing") as dedup:
            verdicts = {
                kind: dedup.check(f"https://shop.example/{kind}", html=modern(item, Visit())).is_duplicate
                for kind, item in group(SHOPS["en"], 400).items()
            }
        assert verdicts == {kind: kind != "first" for kind in verdicts}


LONG = "".join(f"<p>{text}</p>" for text in sentences(SHOPS["en"], 240))
BUTTON = "<button>Add to cart</button>"
ROWS = "<table><tr><th>Colour</th><td>{}</td></tr><tr><th>Weight</th><td>4 kg</td></tr></table>"


def sold(body: str, data: object = None) -> str:
    """A shop's page, with its own link and navigation."""
    head = f"<script type='application/ld+json'>{json.dumps(data)}</script>" if data else ""
    return document(f"<title>Pump Aqua - Shop</title>{head}", around(f"<main>{body}</main>", Visit()), SHOPS["en"])


def offered(kind: str, price: str = "49") -> str:
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
    return sold(f"<h1>Pump Aqua</h1>{LONG}", {"@type": kind, "name": "Pump Aqua", "offers": offer})


def variants(price: str, size: str) -> str:
    one = {"@type": "Product", "name": "Pump Aqua L", "size": size, "offers": {"price": price, "priceCurrency": "EUR"}}
    return sold(f"<h1>Pump Aqua</h1>{LONG}", {"@type": "ProductGroup", "name": "Pump Aqua", "hasVariant": [one]})


WHEREVER = {
    "price and button after the text": f"<h1>Pump Aqua</h1>{LONG}<p>{{}}</p>{BUTTON}",
    "price and button above the name": f"<p>{{}}</p>{BUTTON}<h1>Pump Aqua</h1>{LONG}",
    "button at the name, price after the text": f"<h1>Pump Aqua</h1>{BUTTON}{LONG}<p>{{}}</p>",
    "a form at the end": f"<h1>Pump Aqua</h1>{LONG}<form action='/cart/add'><p>{{}}</p><input type='submit'></form>",
    "a box beside the text": f"<h1>Pump Aqua</h1>{LONG}<aside><p>{{}}</p>{BUTTON}</aside>",
    "a price under a heading": f"<h1>Pump Aqua</h1>{LONG}<h2>Price</h2><p>{{}}</p>{BUTTON}",
}
DIFFERENT = {
    **{name: (sold(body.format("49.90 €")), sold(body.format("54.90 €"))) for name, body in WHEREVER.items()},
    "a specification and a button": tuple(
        sold(f"<h1>Pump Aqua</h1>{LONG}{ROWS.format(colour)}{BUTTON}") for colour in ("Red", "Blue")
    ),
    "a bare price": tuple(
        sold(f"<h1>Pump Aqua</h1><p class='price'>{price}</p>{LONG}") for price in ("49.90", "54.90")
    ),
    "the price of a book": (offered("Book"), offered("Book", "59")),
    "a variant's price": (variants("49", "L"), variants("59", "L")),
    "a variant's size": (variants("49", "L"), variants("49", "M")),
}
NO_PRODUCT = {
    "a list of things to buy": tuple(
        sold(
            "<h1>Pumps</h1>"
            + "".join(f"<h2>Pump {n}</h2>{LONG[:200]}</p><p>{n + (n == 7) * more}.00 €</p>{BUTTON}" for n in range(15))
        )
        for more in (0, 9)
    ),
    "the date of an article": tuple(
        sold(f"<h1>Pump Aqua</h1><div>{day}</div>{LONG}") for day in ("Fr 24.12", "Fr 31.12")
    ),
    **{
        f"offers of a {kind}": (offered(kind), offered(kind, "59"))
        for kind in ("NewsArticle", "Organization", "WebSite")
    },
}


@pytest.mark.parametrize("pages", DIFFERENT.values(), ids=DIFFERENT)
def test_products_that_differ_in_one_thing_are_two_and_their_copies_are_found(pages: tuple[str, str]) -> None:
    with Deduplicator() as dedup:
        for number, html in enumerate(pages):
            assert dedup.check(f"https://shop.example/{number}", html=html).kind is Kind.NEW
        for number, html in enumerate(pages):
            links = html.replace("sid=0", "sid=7")
            printed_page = links.replace("<main>", "<p>Print this page</p><main>").replace("© 2024", "Session 8f3a77c1")
            for visit, copy in enumerate((links, printed_page)):
                verdict = dedup.check(f"https://shop.example/{number}?visit={visit}", html=copy)
                assert verdict.original == f"https://shop.example/{number}", verdict


@pytest.mark.parametrize("pages", NO_PRODUCT.values(), ids=NO_PRODUCT)
def test_lists_articles_and_organizations_are_no_products(pages: tuple[str, str]) -> None:
    with Deduplicator() as dedup:
        assert dedup.check("https://shop.example/1", html=pages[0]).kind is Kind.NEW
        assert dedup.check("https://shop.example/2", html=pages[1]).is_duplicate


@pytest.mark.parametrize("price", ["49.90 €", "49.90"])
def test_a_print_view_without_data_has_the_facts_of_the_page(price: str) -> None:
    shown = f"<h1>Pump Aqua</h1><p class='price'>{price}</p>{LONG}"
    offer = {"@type": "Offer", "price": "49.90", "priceCurrency": "EUR"}
    data = {"@type": "Product", "name": "Pump Aqua", "brand": "Aqua", "offers": offer}
    assert facts(sold(shown)) == facts(sold(shown, data)) is not None


@pytest.mark.parametrize("distinguish", ["products", "nothing"])
def test_an_article_on_prices_is_found_on_another_site(distinguish: str) -> None:
    shop = SHOPS["en"]
    body = "".join(f"<p>{text} The kettle costs £{30 + n}.</p>" for n, text in enumerate(sentences(shop, 300)))
    data = json.dumps({"@type": "NewsArticle", "headline": "Kettles", "about": {"@type": "Product", "name": "Kettles"}})
    one = document(
        f"<title>Kettles get dearer - The Herald 24</title><script type='application/ld+json'>{data}</script>",
        around(f"<article><h1>Kettles get dearer</h1><p>4 May</p>{body}</article>", Visit()),
        shop,
    )
    other = document(
        "<title>Why kettles get dearer | Gazette</title>",
        f"<div id='top'>Gazette, only £1 a month</div><div class='story'><h1>Why kettles get dearer</h1>{body}</div>"
        "<div class='box'><a href='/offer'>Our offer</a><span>£9.99</span><a href='/cart/add/3'>Buy now</a></div>",
        shop,
    )
    with Deduplicator(distinguish=distinguish) as dedup:
        assert dedup.check("https://herald.example/", html=one).kind is Kind.NEW
        assert dedup.check("https://gazette.example/", html=other).is_duplicate


# Short pages

VOCABULARY = ["".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(2000)]


def text_of(length: int, *, changed: str = "", seed: int = 1) -> str:
    """So many words, that in the middle replaced."""
    found = random.Random(seed).choices(VOCABULARY, k=length)
    if changed:
        found[length // 2] = changed
    return " ".join(found)


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (10, Kind.THIN),
        (20, Kind.NEW),
        (30, Kind.NEW),
        (100, Kind.NEAR_DUPLICATE),
        (400, Kind.NEAR_DUPLICATE),
    ],
)
def test_one_changed_word(length: int, expected: Kind) -> None:
    """It takes three shingles with it: of 98 not enough to matter, of 18 it is."""
    for seed in range(5):
        with Deduplicator() as dedup:
            dedup.check("https://a.example/", text=text_of(length, changed="before", seed=seed))
            verdict = dedup.check("https://b.example/", text=text_of(length, changed="after", seed=seed))
            assert verdict.kind is expected, (seed, verdict)


@pytest.mark.parametrize("length", [10, 20, 50, 100, 400])
def test_the_same_words_are_a_copy_however_few(length: int) -> None:
    for distinguish in ("nothing", "products", "numbers"):
        with Deduplicator(distinguish=distinguish) as dedup:
            dedup.check("https://a.example/", text=text_of(length, changed="1024"))
            verdict = dedup.check("https://b.example/", text=text_of(length, changed="1024"))
            assert verdict.kind is Kind.EXACT_DUPLICATE


# Numbers

ENGLISH = SHOPS["en"]
TERMS = " ".join(sentences(ENGLISH, 300, seed=3))
LISTING = [f"Lamp number {number}, {VOCABULARY[number]}, {number * 7} hours" for number in range(40)]
TABLE = [[VOCABULARY[row], *(str(row * 13 + column * 7) for column in range(4))] for row in range(60)]
CODE = [f"    {VOCABULARY[n]} = {VOCABULARY[n + 1]}({VOCABULARY[n + 2]}, {VOCABULARY[n + 3]})" for n in range(80)]


def page(title: str, body: str) -> str:
    return document(
        f"<title>{title} | The Site</title>", around(f"<main><h1>{title}</h1>{body}</main>", Visit()), ENGLISH
    )


def table(cells: list[list[str]]) -> str:
    return (
        "<table>"
        + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells)
        + "</table>"
    )


def receipt(number: int, day: int) -> str:
    return page("Your receipt", f"<p>Receipt {number} of {day} May 2024. {TERMS}</p>")


def month(name: str, first: int) -> str:
    days = [
        [str(day) if 1 <= day <= 30 else "" for day in range(week - first, week - first + 7)]
        for week in range(1, 36, 7)
    ]
    return page(f"Events in {name}", f"{table(days)}<p>Flea market on the {8 - first}th.</p><p>{TERMS}</p>")


def with_cell(value: str) -> str:
    cells = [list(row) for row in TABLE]
    cells[30][2] = value
    return page("Results", table(cells))


def swapped() -> str:
    cells = [list(row) for row in TABLE]
    cells[30][2], cells[31][2] = cells[31][2], cells[30][2]
    return page("Results", table(cells))


def code(name: str) -> str:
    lines = [*CODE[:40], f"    {name} = 1", *CODE[40:]]
    return page("A function", "<pre>" + "\n".join(lines) + "</pre>")


SAME_TEMPLATE = {
    "receipts": (receipt(10442, 3), receipt(10443, 4)),
    "months of a calendar": (month("April 2024", 1), month("September 2024", 3)),
    "tables but for a cell": (with_cell("404"), with_cell("405")),
    "tables but for the order of two cells": (with_cell(TABLE[30][2]), swapped()),
    "Japanese but for a date": tuple(
        page("お知らせ", f"<p>{date}。{''.join(sentences(SHOPS['ja'], 500))}</p>")
        for date in ("二〇二四年三月", "二〇二四年四月")
    ),
}


@pytest.mark.parametrize("pages", SAME_TEMPLATE.values(), ids=SAME_TEMPLATE)
def test_pages_that_differ_in_numbers_alone(pages: tuple[str, str]) -> None:
    """Near duplicates they are; who must keep them says so, and still loses the copies."""
    one, other = pages
    for distinguish, expected in (
        ("nothing", Kind.NEAR_DUPLICATE),
        ("products", Kind.NEAR_DUPLICATE),
        ("numbers", Kind.NEW),
    ):
        with Deduplicator(distinguish=distinguish) as dedup:
            assert dedup.check("https://site.example/1", html=one).kind is Kind.NEW
            assert dedup.check("https://site.example/2", html=other).kind is expected, distinguish
            assert dedup.check("https://site.example/1/print", html=one).is_duplicate
            assert dedup.check("https://site.example/2/print", html=other).is_duplicate


def test_code_that_differs_in_a_name_is_a_near_duplicate() -> None:
    with Deduplicator() as dedup:
        assert dedup.check("https://code.example/1", html=code("alpha")).kind is Kind.NEW
        assert dedup.check("https://code.example/2", html=code("beta")).kind is Kind.NEAR_DUPLICATE


# Templates and lists


def test_short_texts_in_one_template_stay_apart() -> None:
    sidebar = f"<aside><p>{TERMS}</p></aside>"
    with Deduplicator() as dedup:
        for seed in range(20):
            html = page("Notice", f"<p>{text_of(30, seed=seed)}.</p>").replace("<footer>", f"{sidebar}<footer>")
            assert dedup.check(f"https://site.example/{seed}", html=html).kind is Kind.NEW
            other_session = html.replace("sid=0", "sid=5")
            assert dedup.check(f"https://site.example/{seed}?s", html=other_session).is_duplicate


def test_the_pages_of_a_listing_stay_apart_and_a_reload_is_found() -> None:
    def listing(first: int) -> str:
        return page("Lamps", "<ul>" + "".join(f"<li>{line}</li>" for line in LISTING[first : first + 20]) + "</ul>")

    with Deduplicator() as dedup:
        assert dedup.check("https://site.example/lamps", html=listing(0)).kind is Kind.NEW
        assert dedup.check("https://site.example/lamps?page=2", html=listing(20)).kind is Kind.NEW
        assert dedup.check("https://site.example/lamps?page=1", html=listing(0)).kind is Kind.EXACT_DUPLICATE


REPETITIVE = {
    **{f"{word} a thousand times": f"{word} " * 1000 for word in ("spam", "ham", "0", "1", "字", "汉", "λ")},
    "two in turn": "spam ham " * 500,
    "two, the other way round": "ham spam ham spam egg " * 200,
    "lines": "the same line again\n" * 300,
    "other lines": "the same line anew\n" * 300,
}


@pytest.mark.parametrize("distinguish", ["nothing", "products", "numbers"])
def test_repetition_makes_no_two_pages_alike(distinguish: str) -> None:
    with Deduplicator(distinguish=distinguish) as dedup:
        for name, text in REPETITIVE.items():
            assert dedup.check(f"https://spam.example/{name}", text=text).kind is Kind.NEW, name
        prints = [dedup.fingerprint(text=text) for text in REPETITIVE.values()]
    for number, one in enumerate(prints):
        for other in prints[:number]:
            assert one.search != other.search
            assert one.verify != other.verify
