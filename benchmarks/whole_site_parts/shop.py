"""Products in three colors: each variant is a separate piece of content, and half of the products
have structured data.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import Page, bullets, link, lists, own_page, paragraphs

if TYPE_CHECKING:
    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Writer

PRODUCTS: Final = 60
_COLOURS: Final = ("red", "blue", "black")
_DELIVERY: Final = (
    "We send within two working days. You have thirty days to send back what you do not like, in "
    "its box and unused, "
    "and we pay the postage both ways. Our lamps are tested by hand before they leave the "
    "workshop, and every one has "
    "a warranty of five years on all parts but the bulb."
)


def shop(plan: Plan) -> tuple[list[Page], list[Page]]:
    """The variants, and the lists that lead to one of each product."""
    pages, links = [], []
    for number in range(plan.count(PRODUCTS)):
        writer = plan.prose.writer(f"product {number}")
        name = f"{writer.term().title()} lamp"
        variants = _variants(plan, writer, number, name)
        pages += variants
        links.append((variants[0].url, name))
    return pages, lists(f"{plan.hosts.own}/shop", "Our lamps", links)


def _variants(plan: Plan, writer: Writer, number: int, name: str) -> list[Page]:
    about, code = writer.paragraphs(2, 3), writer.random.randint(1000, 9999)
    features = bullets(escape(writer.sentence()) for _ in range(3))
    price = writer.random.randint(15, 240)
    urls = {colour: f"{plan.hosts.own}/shop/lamp-{number}/{colour}/" for colour in _COLOURS}
    choice = ", ".join(link(url, colour) for colour, url in urls.items())
    pages = []
    for place, colour in enumerate(_COLOURS):
        # Of every third product, the colours differ in price.
        cost = f"{price + (0 if number % 3 else 5 * place)}.90"
        item = f"{code}-{colour[:2].upper()}"
        main = (
            f"<h1>{name}, {colour}</h1><p class=price>&euro; {cost}</p><p>Item number: {item}</p>"
            f"<p>Colour: {colour}</p>{paragraphs(about)}{features}<p>Choose a colour: {choice}</p>"
            f"<h2>Delivery</h2><p>{_DELIVERY}</p><button>Add to basket</button>"
        )
        data = {
            "@context": "https://schema.org",
            "@type": "Product",
            "name": f"{name}, {colour}",
            "sku": item,
            "color": colour,
            "offers": {"@type": "Offer", "price": cost, "priceCurrency": "EUR"},
        }
        head = (
            f'<script type="application/ld+json">{json.dumps(data)}</script>' if number % 2 else ""
        )
        kind = "shop: with JSON-LD" if number % 2 else "shop: without"
        pages.append(
            Page(
                urls[colour],
                kind,
                f"lamp-{number}-{colour}",
                own_page(f"{name}, {colour}", main, head),
            )
        )
    return pages
