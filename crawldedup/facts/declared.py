"""What a page declares for machines about products: JSON-LD, microdata, RDFa and Open Graph.

Vocabulary: https://schema.org/Product and https://ogp.me; publishers follow both freely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts.json_ld import LinkedData
from crawldedup.facts.schema_org import (
    ARTICLES,
    ATTRIBUTES,
    IDS,
    MAX_VALUE,
    NOT_SOLD,
    PRICES,
    PRODUCTS,
    Product,
    last_part,
    product_of_members,
)
from crawldedup.text.visible import first_texts

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MAX_PRODUCTS: Final = 100
_MAX_ELEMENTS: Final = 2_000
_MAX_EDGES: Final = 100

_WANTED: Final = frozenset(map(str.lower, ("name", "priceCurrency", *IDS, *ATTRIBUTES, *PRICES)))
_marked: Final = etree.XPath(".//*[@itemtype or @typeof]")
_marks_a_product: Final = etree.XPath("boolean(.//*[contains(@itemtype, 'roduct') or contains(@typeof, 'roduct')])")
_offered: Final = etree.XPath(".//*[contains(@itemprop, 'offers') or contains(@property, 'offers')]")
_META: Final = {
    "product:price:amount": "price",
    "og:price:amount": "price",
    "product:price:currency": "priceCurrency",
    "og:price:currency": "priceCurrency",
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
class Declarations:
    """All a page declares. `of_the_page` is what its meta elements say of the page itself.

    Many a shop's software calls every page an article in Open Graph: `calls_itself_article` is the weaker sign.
    """

    products: tuple[Product, ...]
    of_the_page: Product | None
    is_article: bool
    calls_itself_article: bool

    @property
    def any_product(self) -> bool:
        """Whether any product is declared, be it the page's or another."""
        return bool(self.products) or self.of_the_page is not None


def declarations(tree: HtmlElement) -> Declarations:
    """Read what a page declares. Never raises for what the page says, and reads a bounded part of it."""
    data = LinkedData.of(tree)
    kind, of_the_page = _open_graph(tree)
    return Declarations(
        products=(*data.products, *_marked_up(tree)),
        of_the_page=of_the_page,
        is_article=data.is_article or _marks_an_article(tree),
        calls_itself_article=kind == "article",
    )


def _marks_an_article(tree: HtmlElement) -> bool:
    marked = (element.get("itemtype") or element.get("typeof") or "" for element in _marked(tree)[:_MAX_ELEMENTS])
    return any(last_part(kind) in ARTICLES for kinds in marked for kind in kinds.split()[:9])


def _marked_up(tree: HtmlElement) -> list[Product]:
    """The products of microdata and RDFa, in the order of the page."""
    products: list[tuple[HtmlElement, list[tuple[str, str]]]] = []
    open_products: list[int] = []
    sold = _with_offers(tree)
    walk = etree.iterwalk(tree, events=("start", "end")) if sold or _marks_a_product(tree) else ()
    members = 0
    for event, element in walk:
        if event == "end":
            if open_products and products[open_products[-1]][0] is element:
                open_products.pop()
            continue
        is_sold = element in sold or not _marked_kinds(element).isdisjoint(PRODUCTS)
        if is_sold and len(products) < _MAX_PRODUCTS:
            products.append((element, []))
            open_products.append(len(products) - 1)
            continue
        name = element.get("itemprop") or element.get("property")
        if name and open_products and (key := last_part(name)) in _WANTED and members < _MAX_ELEMENTS:
            members += 1
            # The name of a brand or of a reviewer is not the product's.
            if key == "name" and _owner(element) is not products[open_products[-1]][0]:
                continue
            products[open_products[-1]][1].append((key, _content(element)))
    return [product_of_members(found) for _, found in products]


def _with_offers(tree: HtmlElement) -> set[HtmlElement]:
    """What has offers and is no part of the page or its seller."""
    owners = {owner for element in _offered(tree)[:_MAX_ELEMENTS] if (owner := _owner(element)) is not None}
    return {owner for owner in owners if (kinds := _marked_kinds(owner)) and kinds.isdisjoint(NOT_SOLD)}


def _marked_kinds(element: HtmlElement) -> set[str]:
    return {last_part(kind) for kind in (element.get("itemtype") or element.get("typeof") or "").split()[:9]}


def _owner(element: HtmlElement) -> HtmlElement | None:
    for ancestor in element.iterancestors():
        if ancestor.get("itemtype") or ancestor.get("typeof") or ancestor.get("itemscope") is not None:
            owner: HtmlElement = ancestor
            return owner
    return None


def _content(element: HtmlElement) -> str:
    content = element.get("content") or element.get("value")
    if content is None:
        content = "".join(first_texts(element, _MAX_EDGES))
    return " ".join(content[:MAX_VALUE].split())


def _open_graph(tree: HtmlElement) -> tuple[str, Product | None]:
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta, _ in zip(tree.iter("meta"), range(_MAX_ELEMENTS), strict=False):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = " ".join((meta.get("content") or "")[:MAX_VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in _META:
            members.append((_META[name].lower(), content))
    is_product = kind in ("product", "og:product", "product.item", "product.group") or any(
        key == "price" for key, _ in members
    )
    return kind, product_of_members([("name", title), *members]) if is_product else None
