"""Pages that read alike and are not the same, and pages that are the same and do not look it.

Products, short pages, templates, listings, tables, code, calendars, repetition: what counts as a
duplicate there, and what the setting `distinguish` changes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from crawldedup import Deduplicator, Kind

# Products


@dataclass(frozen=True)
class Shop:
    """How a shop of a country writes: its words, prices, and rows with the values of two products
    each.
    """

    language: str
    words: str
    space: str
    stop: str
    price: str
    currency: str
    buy: str
    names: tuple[str, str]
    rows: tuple[tuple[str, str, str], ...]


SHOPS = {
    "en": Shop(
        "en",
        "kettle copper handle water kitchen quiet steam spout maker bench polish warm stove table "
        "pour gentle",
        " ",
        ". ",
        "£1,299.00",
        "GBP",
        "Add to basket",
        ("Harbour copper kettle", "Lighthouse copper kettle"),
        (
            ("Colour", "signal red", "moss green"),
            ("Weight", "1.2 kg", "1.3 kg"),
            ("Item no.", "KT-10442", "KT-10443"),
        ),
    ),
    "ja": Shop(
        "ja",
        "銅 湯 台所 朝 静か 蒸気 注ぎ口 職人 磨く 火 家族 食卓 優しい 蓋 手仕事 の は を",
        "",
        "。",
        "1,299円（税込）",
        "JPY",
        "カートに入れる",
        ("港の銅やかん", "灯台の銅やかん"),
        (("色", "赤", "緑"), ("重さ", "1.2kg", "1.3kg"), ("品番", "KT-10442", "KT-10443")),
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

    @property
    def paragraphs(self) -> str:
        return "".join(f"<p>{text}</p>" for text in self.description)

    def table(self, row: str) -> str:
        return "".join(row.format(*each) for each in self.rows)


def sentences(shop: Shop, length: int, seed: int = 1) -> tuple[str, ...]:
    """Paragraphs with this many words (characters, if there are no spaces)."""
    source = random.Random(seed)
    paragraphs, written = [], 0
    while written < length:
        chosen = [
            shop.space.join(source.choices(shop.words.split(), k=source.randint(9, 14)))
            for _ in range(3)
        ]
        paragraphs.append("".join(f"{sentence}{shop.stop}" for sentence in chosen).strip())
        written += sum(
            len(sentence.split()) if shop.space else len(sentence) for sentence in chosen
        )
    return tuple(paragraphs)


def group(shop: Shop, length: int) -> dict[str, Item]:
    """Products that share a description and differ from the first in one thing."""
    rows = tuple((key, value) for key, value, _ in shop.rows)
    first = Item(shop, shop.names[0], "1299.00", shop.price, rows, sentences(shop, length))
    dearer = replace(first, amount="1399.00", price=shop.price.replace("299", "399"))
    items = {"first": first, "name": replace(first, name=shop.names[1]), "price": dearer}
    for number, (key, _, other) in enumerate(shop.rows):
        items[f"row {number}"] = replace(
            first, rows=(*rows[:number], (key, other), *rows[number + 1 :])
        )
    return items


def others(visit: int, item: Item) -> str:
    """Other products, which the shop shows in turn."""
    cards = "".join(
        f"<div class='card'><a href='/p/{number}?sid={visit}'><h3>No. {number} {item.name}</h3></a>"
        f"<span class='price'>{item.price.replace('1', '2')}</span></div>"
        for number in range(visit * 3, visit * 3 + 3)
    )
    return f"<section class='related-products'><h2>More</h2>{cards}</section>"


def document(head: str, body: str, language: str = "en") -> str:
    head = f"<meta charset='utf-8'>{head}"
    return f"<!DOCTYPE html><html lang='{language}'><head>{head}</head><body>{body}</body></html>"


def around(body: str, session: int = 0) -> str:
    links = "".join(
        f"<li><a href='/{name}?sid={session}'>{name}</a></li>" for name in ("home", "shop", "cart")
    )
    return (
        f"<header><a href='/?sid={session}'>Kettles "
        f"24</a><nav><ul>{links}</ul></nav></header>{body}"
        "<footer><p>Free delivery over 50. Call 0800 123 456. © 2024</p></footer>"
    )


def modern(item: Item, visit: int) -> str:
    """JSON-LD, and a specification of <div> only."""
    offer = {"@type": "Offer", "price": item.amount, "priceCurrency": item.shop.currency}
    product = {"@type": ["Product"], "name": item.name, "sku": item.rows[-1][1], "offers": offer}
    crumbs = {
        "@type": "BreadcrumbList",
        "itemListElement": [{"@type": "ListItem", "position": 1, "name": "Shop"}],
    }
    data = json.dumps({"@graph": [crumbs, {**product, "aggregateRating": {"ratingValue": "4.5"}}]})
    rows = item.table("<div class='attribute'><span>{}</span><span>{}</span></div>")
    body = (
        f"<main><div class='product has-reviews'><h1>{item.name}</h1>"
        f"<a class='rating' href='#reviews'>4.{5 + visit} ({12 + visit})</a>"
        f"<p class='price'>{item.price}</p><p>Only {3 - visit} left in stock</p>"
        f"<button>{item.shop.buy}</button><div class='description'>{item.paragraphs}</div>"
        f"<div class='attributes'>{rows}</div></div>{others(visit, item)}</main>"
    )
    head = (
        f"<title>{item.name} | Kettles 24</title><script type='application/ld+json'>{data}</script>"
    )
    return document(head, around(body, visit), item.shop.language)


def broken_data(item: Item, visit: int) -> str:
    """The same, but the script cannot be read as JSON."""
    return modern(item, visit).replace('"@graph": [', '"@graph": [,', 1)


def microdata(item: Item, visit: int) -> str:
    body = (
        "<div id='product-17' class='product type-product instock' itemscope "
        "itemtype='http://schema.org/Product'>"
        f"<h1 itemprop='name'>{item.name}</h1><p itemprop='offers' itemscope "
        "itemtype='http://schema.org/Offer'>"
        f"<meta itemprop='price' content='{item.amount}'>"
        f"<meta itemprop='priceCurrency' content='{item.shop.currency}'>{item.price}</p>"
        f"<form class='cart'><button>{item.shop.buy}</button></form><div "
        f"itemprop='description'>{item.paragraphs}</div>"
        f"<table>{item.table('<tr><th>{}</th><td><p>{}</p></td></tr>')}</table></div>{others(visit, item)}"
    )
    return document(
        f"<title>{item.name} – Kettles 24</title>", around(body, visit), item.shop.language
    )


def undeclared(item: Item, visit: int) -> str:
    """Nothing for machines: a price near a name, a button, and a list."""
    body = (
        f"<div class='box'><h1>{item.name}</h1><span "
        f"class='sum'>{item.price}</span><form><button>{item.shop.buy}"
        f"</button></form>{item.paragraphs}<ul>{item.table('<li>{}: {}</li>')}</ul></div>{others(visit, item)}"
    )
    return document(
        f"<title>{item.name} - Kettles 24</title>", around(body, visit), item.shop.language
    )


def printed(item: Item) -> str:
    rows = item.table("<tr><td>{}</td><td>{}</td></tr>")
    body = f"<h1>{item.name}</h1><p>{item.price}</p>{item.paragraphs}<table>{rows}</table>"
    return document(f"<title>{item.name} (print)</title>", body, item.shop.language)


def mirrored(item: Item) -> str:
    """Another site's template, of the time of layout tables."""
    rows = item.table("<TR><TD><B>{}:</B></TD><TD>{}</TD></TR>")
    body = (
        "<TABLE><TR><TD COLSPAN=2>mirror.example - document 815</TD></TR><TR><TD><A "
        "HREF='/'>Index</A><BR>"
        f"Mirrored nightly</TD><TD><H2>{item.name}</H2><B>{item.price}</B><P>{item.paragraphs}"
        f"<TABLE BORDER=1>{rows}</TABLE></TD></TR></TABLE><HR><ADDRESS>Webmaster 1999</ADDRESS>"
    )
    return document(f"<TITLE>{item.name}</TITLE>", body, item.shop.language)


TEMPLATES: tuple[Callable[[Item, int], str], ...] = (modern, broken_data, microdata, undeclared)


def told_apart(items: dict[str, Item], make: Callable[[Item, int], str]) -> dict[str, Item]:
    """The products that a template tells apart: by name, by declared data, or in the main text.

    A price or a row beside the main text is no mark.
    """
    if make is undeclared:
        return items
    kinds = ("first", "name", "price") if make is modern else ("first", "name")
    return {kind: items[kind] for kind in kinds}


@pytest.mark.parametrize("language", SHOPS)
@pytest.mark.parametrize(("place", "make"), [*enumerate(TEMPLATES)])
def test_one_difference_makes_another_product_and_a_session_does_not(
    place: int, make: Callable[[Item, int], str], language: str
) -> None:
    # Every template in every language, and every length in all of both.
    length = (30, 150, 600)[(place + len(language)) % 3]
    items = told_apart(group(SHOPS[language], length), make)
    with Deduplicator() as dedup:
        for kind, item in items.items():
            verdict = dedup.check(f"https://shop.example/{kind}", html=make(item, 0))
            assert verdict.kind is Kind.NEW, (kind, verdict)
        for kind, item in items.items():
            # In a short page, other products beside it are a good part of the text.
            again = make(item, int(length > 100)).replace("sid=0", "sid=7919&utm_source=mail")
            verdict = dedup.check(f"https://shop.example/{kind}/again", html=again)
            assert verdict.original == f"https://shop.example/{kind}", (kind, verdict)


@pytest.mark.parametrize("language", SHOPS)
@pytest.mark.parametrize("make", TEMPLATES)
def test_every_view_is_found(make: Callable[[Item, int], str], language: str) -> None:
    items = told_apart(group(SHOPS[language], 600), make)
    with Deduplicator() as dedup:
        for kind, item in items.items():
            page = make(item, 0)
            assert dedup.check(f"https://shop.example/{kind}", html=page).kind is Kind.NEW
        for view in (printed, mirrored):
            for kind, item in items.items():
                verdict = dedup.check(
                    f"https://other.example/{view.__name__}/{kind}", html=view(item)
                )
                # Across sites, names tell nothing apart.
                assert verdict.is_duplicate, (view, kind, verdict)


def test_a_text_without_html_and_pages_not_distinguished_are_compared_by_their_words_alone() -> (
    None
):
    items = group(SHOPS["en"], 400)
    with Deduplicator() as texts, Deduplicator(distinguish="nothing") as pages:
        for kind, item in items.items():
            text = "\n".join((item.name, item.price, *item.description, item.table("{}: {}\n")))
            found = texts.check(kind, text=text), pages.check(kind, html=modern(item, 0))
            assert [verdict.is_duplicate for verdict in found] == [kind != "first"] * 2


@pytest.mark.parametrize("distinguish", ["siblings", "nothing"])
def test_an_article_on_prices_is_found_on_another_site(distinguish: str) -> None:
    body = "".join(
        f"<p>{text} The kettle costs £{30 + n}.</p>"
        for n, text in enumerate(sentences(SHOPS["en"], 300))
    )
    data = json.dumps(
        {
            "@type": "NewsArticle",
            "headline": "Kettles",
            "about": {"@type": "Product", "name": "Kettles"},
        }
    )
    one = document(
        "<title>Kettles get dearer - The Herald 24</title><script "
        f"type='application/ld+json'>{data}</script>",
        around(f"<article><h1>Kettles get dearer</h1><p>4 May</p>{body}</article>"),
    )
    other = document(
        "<title>Why kettles get dearer | Gazette</title>",
        "<div id='top'>Gazette, only £1 a month</div><div class='story'><h1>Why kettles get "
        f"dearer</h1>{body}</div>"
        "<div class='box'><a href='/offer'>Our offer</a><span>£9.99</span><a "
        "href='/cart/add/3'>Buy now</a></div>",
    )
    with Deduplicator(distinguish=distinguish) as dedup:
        assert dedup.check("https://herald.example/", html=one).kind is Kind.NEW
        assert dedup.check("https://gazette.example/", html=other).is_duplicate


# Short pages

VOCABULARY = [
    "".join(random.Random(number).choices("abdeiklmnorstu", k=6)) for number in range(2000)
]


def text_of(length: int, *, changed: str = "", seed: int = 1) -> str:
    """This many words, with the one in the middle replaced."""
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
        *((n, Kind.NEAR_DUPLICATE) for n in (100, 400)),
    ],
)
def test_one_changed_word(length: int, expected: Kind) -> None:
    """It takes three shingles with it: of 98 not enough to matter, of 18 it is."""
    for seed in range(5):
        with Deduplicator() as dedup:
            dedup.check("https://a.example/", text=text_of(length, changed="before", seed=seed))
            verdict = dedup.check(
                "https://b.example/", text=text_of(length, changed="after", seed=seed)
            )
            assert verdict.kind is expected, (seed, verdict)


# Numbers

TERMS = " ".join(sentences(SHOPS["en"], 300, seed=3))
CELLS = [
    [VOCABULARY[row], *(str(row * 13 + column * 7) for column in range(4))] for row in range(60)
]
CODE = [
    f"    {VOCABULARY[n]} = {VOCABULARY[n + 1]}({VOCABULARY[n + 2]}, {VOCABULARY[n + 3]})"
    for n in range(80)
]


def page(title: str, body: str) -> str:
    return document(
        f"<title>{title} | The Site</title>", around(f"<main><h1>{title}</h1>{body}</main>")
    )


def table(**changed: str) -> str:
    """A table with other values in some cells, named by row and column."""
    rows = [
        [changed.get(f"at_{r}_{c}", cell) for c, cell in enumerate(row)]
        for r, row in enumerate(CELLS)
    ]
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return page("Results", f"<table>{cells}</table>")


def month(name: str, first: int) -> str:
    days = "".join(
        f"<td>{day}</td>" + "</tr><tr>" * ((day + first) % 7 == 0) for day in range(1, 31)
    )
    calendar = f"<table><tr>{'<td></td>' * first}{days}</tr></table>"
    return page(
        f"Events in {name}", f"{calendar}<p>Flea market on the {8 - first}th.</p><p>{TERMS}</p>"
    )


SAME_TEMPLATE = {
    "receipts": tuple(
        page("Your receipt", f"<p>Receipt {number} of {number - 10439} May 2024. {TERMS}</p>")
        for number in (10442, 10443)
    ),
    "months of a calendar": (month("April 2024", 1), month("September 2024", 3)),
    "tables but for a cell": (table(at_30_2="404"), table(at_30_2="405")),
    "tables but for the order of two cells": (
        table(),
        table(at_30_2=CELLS[31][2], at_31_2=CELLS[30][2]),
    ),
    "Japanese but for a date": tuple(
        page("お知らせ", f"<p>{date}。{''.join(sentences(SHOPS['ja'], 500))}</p>")
        for date in ("二〇二四年三月", "二〇二四年四月")
    ),
}


# The months have two names.
APART_BY_NAME = ("months of a calendar",)
# Numbers count as a set, and those in words do not count.
ALIKE_IN_NUMBERS = ("tables but for the order of two cells", "Japanese but for a date")


@pytest.mark.parametrize("case", SAME_TEMPLATE)
def test_pages_that_differ_in_numbers_alone(case: str) -> None:
    """Near duplicates they are at addresses of other forms; who must keep them says so, and still
    loses the copies.
    """
    pages = SAME_TEMPLATE[case]
    apart = {
        "nothing": False,
        "siblings": case in APART_BY_NAME,
        "numbers": case not in ALIKE_IN_NUMBERS,
    }
    first, second = "https://site.example/first", "https://site.example/archive/second"
    for distinguish, is_apart in apart.items():
        with Deduplicator(distinguish=distinguish) as dedup:
            kinds = [
                dedup.check(url, html=html).kind
                for url, html in zip((first, second), pages, strict=True)
            ]
            assert kinds == [
                Kind.NEW,
                Kind.NEW if is_apart else Kind.NEAR_DUPLICATE,
            ]
            assert all(
                dedup.check(f"https://site.example/copies/{html[-99:]}", html=html).is_duplicate
                for html in pages
            )


# Code, templates and lists


def test_code_that_differs_in_a_name_is_a_near_duplicate() -> None:
    one, other = (
        "\n".join([*CODE[:40], f"    {name} = 1", *CODE[40:]]) for name in ("alpha", "beta")
    )
    with Deduplicator() as dedup:
        assert (
            dedup.check("https://code.example/1", html=page("A function", f"<pre>{one}</pre>")).kind
            is Kind.NEW
        )
        verdict = dedup.check(
            "https://code.example/other/2", html=page("A function", f"<pre>{other}</pre>")
        )
        assert verdict.kind is Kind.NEAR_DUPLICATE


@pytest.mark.parametrize("extractor", ["blocks", "trafilatura"])
def test_short_texts_in_one_template_stay_apart(extractor: str) -> None:
    sidebar = f"<aside><p>{TERMS}</p></aside>"
    with Deduplicator(extractor=extractor) as dedup:
        for seed in range(20):
            html = page("Notice", f"<p>{text_of(30, seed=seed)}.</p>").replace(
                "<footer>", f"{sidebar}<footer>"
            )
            assert dedup.check(f"https://site.example/{seed}", html=html).kind is Kind.NEW
            other_session = html.replace("sid=0", "sid=5")
            assert dedup.check(f"https://site.example/{seed}?s", html=other_session).is_duplicate


def test_the_pages_of_a_listing_stay_apart_and_a_reload_is_found() -> None:
    lamps = [
        f"<li>Lamp number {number}, {VOCABULARY[number]}, {number * 7} hours</li>"
        for number in range(40)
    ]
    first, second = (
        page("Lamps", f"<ul>{''.join(part)}</ul>") for part in (lamps[:20], lamps[20:])
    )
    with Deduplicator() as dedup:
        kinds = [
            dedup.check(f"https://site.example/{n}", html=html).kind
            for n, html in enumerate((first, second, first))
        ]
        assert kinds == [Kind.NEW, Kind.NEW, Kind.EXACT_DUPLICATE]


REPETITIVE = [
    *(f"{word} " * 1000 for word in ("spam", "ham", "0", "1", "字", "汉", "λ")),
    *("spam ham " * 500, "ham spam ham spam egg " * 200),
    *("the same line again\n" * 300, "the same line anew\n" * 300),
]


@pytest.mark.parametrize("distinguish", ["nothing", "siblings", "numbers"])
def test_repetition_makes_no_two_pages_alike(distinguish: str) -> None:
    with Deduplicator(distinguish=distinguish) as dedup:
        for number, text in enumerate(REPETITIVE):
            assert dedup.check(f"https://spam.example/{number}", text=text).kind is Kind.NEW, text[
                :30
            ]
        prints = [dedup.fingerprint(text=text) for text in REPETITIVE]
    for number, one in enumerate(prints):
        assert all(
            one.search != other.search and one.verify != other.verify for other in prints[:number]
        )
