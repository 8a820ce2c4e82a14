"""A shop whose products have several addresses.

- A product is at `/p/NAME`, in its category, at `?ref=rec` from the boxes of other products, and,
  for ten of them, at a campaign's link. All addresses name `/p/NAME` as canonical.
- A third of the products have three colors, and a third have three sizes with different prices. The
  plain page shows the first of them. Every tenth product has three pictures at `?img=`, and nothing
  else tells these apart.
- A quarter of the products each are declared in JSON-LD, in microdata, in Open Graph, and not at
  all.
- Stock, visitors and the time left to order change with every load, and so do the products in the
  boxes.
- Lists by category, color, price and brand don't count as content.

On the second day, some products are new, one in twelve has another price, and one in twelve has
other words.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.pages import Page, bullets, document, link, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.whole_site_parts.pages import Plan

PRODUCTS: Final = 280
_CATEGORIES: Final = ("lamps", "kettles", "chairs", "ropes", "clocks", "knives")
_COLOURS: Final = ("red", "blue", "black")
_SIZES: Final = ("S", "M", "L")
_PICTURES: Final = ("coral", "mint", "sand")
_VARIANTS: Final[Sequence[Mapping[str, Sequence[str]]]] = (
    {"color": _COLOURS},
    {"size": _SIZES},
    {},
)
_WITH_PICTURES: Final = 10
_IN_CAMPAIGN: Final = 10
_PER_LIST: Final = 24
_NEW_SHARE: Final = 0.08


class ShopSite:
    """All pages of the shop."""

    def __init__(self, plan: Plan) -> None:
        self._base = plan.hosts.own
        count = plan.count(PRODUCTS)
        known = count if plan.day > 1 else count - round(count * _NEW_SHARE)
        self._products = [_Product(plan, number) for number in range(known)]

    def pages(self) -> Iterator[Page]:
        deals = [
            link(f"{p.path}?utm_source=banner&utm_campaign=week", p.name)
            for p in self._products[:_IN_CAMPAIGN]
        ]
        shelves = [link(f"/c/{name}/", name) for name in _CATEGORIES]
        brands = [
            link(f"/b/{number}/", f"Brand {number}")
            for number in range(0, len(self._products), _PER_LIST)
        ]
        home = (
            "<h1>The Chandlery</h1><h2>Deals of the "
            f"week</h2>{bullets(deals)}{bullets(shelves)}{bullets(brands)}"
        )
        yield Page(f"{self._base}/", "front page", "", _framed("The Chandlery", home))
        for start in range(0, len(self._products), _PER_LIST):
            shown = self._products[start : start + _PER_LIST]
            yield _list(f"{self._base}/b/{start}/", "Brand", [(p.path, p) for p in shown])
        for name in _CATEGORIES:
            yield from self._category(name)
        for product in self._products:
            yield from self._of_product(product)

    def _category(self, name: str) -> Iterator[Page]:
        path = f"/c/{name}/"
        shelf = [product for product in self._products if product.category == name]
        facets = [link(f"{path}?color={colour}", colour) for colour in _COLOURS]
        facets += [link(f"{path}?sort={order}", f"by {order}") for order in ("price", "name")]
        facets += [
            link(f"{path}?sort=price&color={colour}", f"cheap and {colour}") for colour in _COLOURS
        ]
        orders = {
            "": shelf,
            "price": sorted(shelf, key=lambda p: p.price),
            "name": sorted(shelf, key=lambda p: p.name),
        }
        for order, products in orders.items():
            rows = [(f"/c/{name}{product.path}", product) for product in products]
            yield _list(f"{self._base}{path}{order and f'?sort={order}'}", name, rows, facets)
        for colour in _COLOURS:
            rows = [(f"{p.path}?color={colour}", p) for p in shelf if "color" in p.variants]
            yield _list(f"{self._base}{path}?color={colour}", name, rows, facets)
            rows.sort(key=lambda row: row[1].price)
            yield _list(f"{self._base}{path}?sort=price&color={colour}", name, rows, facets)

    def _of_product(self, product: _Product) -> Iterator[Page]:
        first = product.first
        body = self._body(product, *first)
        ways = {
            "": "shop: product",
            "?ref=rec": "shop: from a box",
            "?utm_source=banner&utm_campaign=week": "shop: campaign",
        }
        for query, kind in ways.items():
            if "utm" not in query or product.number < _IN_CAMPAIGN:
                yield Page(
                    f"{self._base}{product.path}{query}", kind, product.content(first[1]), body
                )
        url = f"{self._base}/c/{product.category}{product.path}"
        yield Page(url, "shop: in its category", product.content(first[1]), body)
        for name, values in product.variants.items():
            for value in values:
                kind = {"img": "shop: picture variant", "size": "shop: size"}.get(
                    name, "shop: colour"
                )
                content, body = product.content(value), self._body(product, name, value)
                yield Page(f"{self._base}{product.path}?{name}={value}", kind, content, body)

    def _body(self, product: _Product, name: str, value: str) -> bytes:
        count = len(self._products)
        boxes = [
            "".join(
                _tile(self._products[(product.number + shift + way) % count]) for way in (1, 2, 3)
            )
            for shift in (0, 3, 6)
        ]
        return product.page(name, value, choice(*boxes))


class _Product:
    def __init__(self, plan: Plan, number: int) -> None:
        writer = plan.prose.writer(f"shop product {number}")
        self.number, self.category = number, _CATEGORIES[number % len(_CATEGORIES)]
        self.name = f"{writer.term().title()} {writer.term()} {self.category}"
        self.path = f"/p/{writer.term()}-{number}"
        self.price = writer.random.randint(8, 240)
        self._about, self._code = writer.paragraphs(1, 3), writer.random.randint(10000, 99999)
        self._features = [writer.sentence() for _ in range(2)]
        self._reviews = [
            (writer.name(), writer.sentence()) for _ in range(writer.random.randint(0, 3))
        ]
        self.variants: Mapping[str, Sequence[str]] = _VARIANTS[number % 3]
        if number % _WITH_PICTURES == 0:
            self.variants = {**self.variants, "img": _PICTURES}
        self._changed = plan.day > 1 and number % 12 in (5, 7)
        if self._changed and number % 12 == 5:
            self.price += 3
        elif self._changed:
            self._about = [*self._about[:-1], writer.paragraph()]

    @property
    def first(self) -> tuple[str, str]:
        """What the plain page shows."""
        name = next((name for name in ("color", "size") if name in self.variants), "")
        return name, self.variants[name][0] if name else ""

    def content(self, value: str) -> str:
        """The name of what a page says; another if it has changed since the first day."""
        return f"product-{self.number}{value and f'-{value}'}{'.2' if self._changed else ''}"

    def page(self, name: str, value: str, box: str) -> bytes:
        """A page of the product in a colour, a size or a picture."""
        # Whoever looks at pictures sees the first colour or size.
        shown, of = (name, value) if name in ("color", "size") else self.first
        price = f"{self.price + (5 * _SIZES.index(of) if shown == 'size' else 0)}.90"
        code = f"{self._code}{of and f'-{of[:2].upper()}'}"
        title = f"{self.name}{f', {of}' if shown == 'color' else ''}"
        picture = f"/img/{self.number}-{value if name == 'img' else of or 'front'}.jpg"
        choices = "".join(
            f"<p>{'Colour' if each == 'color' else 'Size' if each == 'size' else 'Pictures'}: "
            f"{', '.join(link(f'{self.path}?{each}={one}', one) for one in values)}</p>"
            for each, values in self.variants.items()
        )
        chosen = {"color": f"<p>Colour: {of}</p>", "size": f"<p>Size: {of}</p>"}.get(shown, "")
        head, facts = self._declared(title, code, price, of if shown == "color" else "", picture)
        reviews = "".join(
            f"<div class=review><b>{who}</b><p>{escape(what)}</p></div>"
            for who, what in self._reviews
        )
        main = (
            f'{facts[0]}<h1{facts[1]}>{escape(title)}</h1><img src="{picture}" '
            f'alt="{escape(self.name)}">'
            f"<p class=price>&euro; {price}</p><p>Item number: {code}</p>{chosen}"
            "<p class=stock>Only ¤ left in stock - ¤¤ people are looking at this</p>"
            "<p class=delivery>Order within the next ¤ hours and ¤¤ minutes to have it tomorrow</p>"
            f"<button>Add to basket</button>{choices}<div class=about>{paragraphs(self._about)}"
            f"{bullets(map(escape, self._features))}</div>{facts[2]}"
            f"<h2>Reviews</h2>{reviews or '<p>There are no reviews yet.</p>'}"
            f"<h2>Customers also bought</h2><div class=also>{box}</div>"
        )
        return _framed(title, main, f'<link rel="canonical" href="{self.path}">{head}')

    def _declared(
        self, title: str, code: str, price: str, colour: str, picture: str
    ) -> tuple[str, tuple[str, ...]]:
        """What stands in the head, and what around the facts in the body, the way this product
        declares them.
        """
        plain = ("", "", "")
        if self.number % 4 == 0:
            data = {
                "@context": "https://schema.org",
                "@type": "Product",
                "name": title,
                "sku": code,
                **({"color": colour} if colour else {}),
                "offers": {"@type": "Offer", "price": price, "priceCurrency": "EUR"},
            }
            return f'<script type="application/ld+json">{json.dumps(data)}</script>', plain
        if self.number % 4 == 1:
            values = f'<meta itemprop=sku content="{code}"><meta itemprop=color content="{colour}">'
            offer = (
                '<div itemprop=offers itemscope itemtype="https://schema.org/Offer">'
                f'<meta itemprop=price content="{price}"><meta itemprop=priceCurrency '
                'content="EUR"></div>'
            )
            return "", (
                '<div itemscope itemtype="https://schema.org/Product">',
                " itemprop=name",
                f"{values}{offer}</div>",
            )
        if self.number % 4 == 2:
            told = {
                "og:type": "product",
                "og:title": title,
                "product:price:amount": price,
                "og:image": picture,
            }
            return "".join(
                f'<meta property="{name}" content="{value}">' for name, value in told.items()
            ), plain
        return "", plain


def _tile(product: _Product) -> str:
    return (
        f"<div>{link(product.path + '?ref=rec', product.name)} <span>&euro; "
        f"{product.price}.90</span></div>"
    )


def _list(
    url: str, title: str, rows: Sequence[tuple[str, _Product]], facets: Sequence[str] = ()
) -> Page:
    shown = "".join(
        f"<div>{link(path, product.name)} <span>&euro; {product.price}.90</span> <span>¤ "
        "left</span></div>"
        for path, product in rows
    )
    return Page(
        url,
        "list",
        "",
        _framed(title, f"<h1>{title}</h1><div class=facets>{bullets(facets)}</div>{shown}"),
    )


def _framed(title: str, main: str, head: str = "") -> bytes:
    ways = bullets(link(f"/c/{name}/", name.title()) for name in _CATEGORIES)
    body = (
        f"<header>{link('/', 'The Chandlery')}<p>Free delivery from &euro; 50</p><p>Basket: 0 "
        "articles</p></header>"
        f"<nav>{ways}</nav>\n<div id=content>{main}</div>\n<footer><p>All prices with VAT. You "
        "have thirty days to "
        "send back what you do not like.</p><p>The Chandlery, 8 Rope Walk</p></footer>"
    )
    return document(f"{title} | The Chandlery", body, head)
