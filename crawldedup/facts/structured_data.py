"""Read what a page says of products for machines: JSON-LD, microdata, RDFa and Open Graph.

Vocabularies: https://schema.org/Product and https://ogp.me; publishers follow both loosely.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.facts.json_ld import LinkedData
from crawldedup.facts.limits import MAX_MARKED, MAX_VALUE
from crawldedup.facts.microdata import marks_an_article, products_in_markup
from crawldedup.facts.schema_org import Product, product_of_members

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_PRODUCT_TYPES: Final = frozenset(["product", "og:product", "product.item", "product.group"])
_MEMBERS: Final = {
    "product:price:amount": "price",
    "og:price:amount": "price",
    "product:price:currency": "pricecurrency",
    "og:price:currency": "pricecurrency",
    "product:retailer_item_id": "sku",
    "product:mfr_part_no": "mpn",
    "product:ean": "gtin",
    "product:upc": "gtin",
    "product:isbn": "isbn",
    "product:color": "color",
    "product:size": "size",
    "product:material": "material",
}


@dataclass(frozen=True, slots=True)
class StructuredData:
    """The structured data of a page. `of_the_page` is the product that its meta elements describe.

    `calls_itself_article` is a weaker sign than `is_article`: much shop software gives every page that Open Graph type.
    """

    products: tuple[Product, ...]
    of_the_page: Product | None
    is_article: bool
    calls_itself_article: bool

    @property
    def all_products(self) -> tuple[Product, ...]:
        """Every product, that of the page last."""
        return self.products if self.of_the_page is None else (*self.products, self.of_the_page)


def structured_data(tree: HtmlElement) -> StructuredData:
    """Read a bounded part of the structured data of a page, whatever is in it."""
    data = LinkedData.of(tree)
    kind, of_the_page = _open_graph(tree)
    return StructuredData(
        products=(*data.products, *products_in_markup(tree)),
        of_the_page=of_the_page,
        is_article=data.is_article or marks_an_article(tree),
        calls_itself_article=kind == "article",
    )


def _open_graph(tree: HtmlElement) -> tuple[str, Product | None]:
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta in islice(tree.iter("meta"), MAX_MARKED):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = " ".join((meta.get("content") or "")[:MAX_VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in _MEMBERS:
            members.append((_MEMBERS[name], content))
    is_product = kind in _PRODUCT_TYPES or any(key == "price" for key, _ in members)
    return kind, product_of_members([("name", title), *members]) if is_product else None
