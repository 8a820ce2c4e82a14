"""Read the structured data of a page on products: JSON-LD, microdata, RDFa and Open Graph.

Vocabularies: https://schema.org/Product and https://ogp.me; publishers follow both loosely.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from crawldedup.reading.facts import limits, schema_org
from crawldedup.reading.facts.schema_org import Product, last_part, product_of_members, read_scripts
from crawldedup.reading.facts.vocabulary import VOCABULARY
from crawldedup.reading.nodes import elements_around, texts_within

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_WANTED: Final = frozenset(map(str.lower, schema_org.MEMBERS))
_MARKED: Final = "[itemtype], [typeof], [itemprop], [property]"
_OFFERS: Final = "[itemprop*='offers'], [property*='offers']"
_OPEN_GRAPH_PRODUCTS: Final = frozenset(["product", "og:product", "product.item", "product.group"])

# Each begins with letters, for which a source is searched fast.
_PRODUCT_SIGN: Final = re.compile(r"""roduct(?:(?:Group|Model)?["'>]|:price|\.item|\.group)""")
_OFFER_SIGN: Final = re.compile(r"""offers(?<=["':=]offers)["'\s>]""")


@dataclass(frozen=True, slots=True)
class StructuredData:
    """The structured data of a page. The product that its meta elements describe is the last.

    `calls_itself_article` is a weaker sign than `is_article`: much shop software gives every page that Open Graph type.
    """

    products: tuple[Product, ...]
    is_article: bool
    calls_itself_article: bool


def may_hold_product_data(html: str) -> bool:
    """Return whether the source of a page names a product, an offer or a price of structured data."""
    return "og:price" in html or any(sign.search(html) for sign in (_PRODUCT_SIGN, _OFFER_SIGN))


def structured_data(tree: LexborHTMLParser) -> StructuredData:
    """Read a bounded part of the structured data of a page, whatever is in it."""
    products, is_article = read_scripts(tree)
    kind, of_the_page = _open_graph(tree)
    marked = tree.css("[itemtype], [typeof]")[: limits.MARKED]
    is_article = is_article or any(not _types(element).isdisjoint(schema_org.ARTICLES) for element in marked)
    in_markup = _products_in_markup(tree) if marked else []
    return StructuredData((*products, *in_markup, *of_the_page), is_article, kind == "article")


def _open_graph(tree: LexborHTMLParser) -> tuple[str, list[Product]]:
    """Return the type of a page, and the product that it is about, if any."""
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta in islice(tree.css("meta"), limits.MARKED):
        attributes = meta.attributes
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        content = " ".join((attributes.get("content") or "")[: limits.VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in VOCABULARY["open_graph"]:
            members.append((VOCABULARY["open_graph"][name], content))
    is_product = kind in _OPEN_GRAPH_PRODUCTS or any(key == "price" for key, _ in members)
    return kind, [product_of_members([("name", title), *members])] if is_product else []


def _products_in_markup(tree: LexborHTMLParser) -> list[Product]:
    """Return the products in microdata and RDFa. What a product holds describes it, up to the next product."""
    sold = _owners_of_offers(tree)
    products: dict[int, list[tuple[str, str]]] = {}
    for element in tree.css(_MARKED)[: limits.MARKED]:
        is_sold = element.mem_id in sold or not _types(element).isdisjoint(schema_org.PRODUCTS)
        if is_sold and len(products) < limits.MARKED_PRODUCTS:
            products[element.mem_id] = []
            continue
        key = last_part(element.attributes.get("itemprop") or element.attributes.get("property") or "")
        if key not in _WANTED:
            continue
        around = [outer.mem_id for outer in elements_around(element)]
        product = next((outer for outer in around if outer in products), None)
        # The name of a brand or of a reviewer is not the product's.
        if product is not None and (key != "name" or _owner(element) == product):
            products[product].append((key, _content(element)))
    return [product_of_members(members) for members in products.values()]


def _owners_of_offers(tree: LexborHTMLParser) -> set[int]:
    """Return what has offers and is no part of the page nor its seller."""
    owners = {}
    for element in tree.css(_OFFERS)[: limits.MARKED]:
        if (owner := _owner_of(element)) is not None:
            owners[owner.mem_id] = _types(owner)
    return {owner for owner, types in owners.items() if types and types.isdisjoint(schema_org.NOT_SOLD)}


def _types(element: LexborNode) -> set[str]:
    names = element.attributes.get("itemtype") or element.attributes.get("typeof") or ""
    return {last_part(name) for name in names.split()[: limits.TYPES]}


def _owner_of(element: LexborNode) -> LexborNode | None:
    """Return the element whose property this one is."""
    for outer in elements_around(element):
        attributes = outer.attributes
        if attributes.get("itemtype") or attributes.get("typeof") or "itemscope" in attributes:
            return outer
    return None


def _owner(element: LexborNode) -> int | None:
    return None if (owner := _owner_of(element)) is None else owner.mem_id


def _content(element: LexborNode) -> str:
    attributes = element.attributes
    content = attributes.get("content") or attributes.get("value")
    if content is None:
        content = "".join(islice(texts_within(element), limits.EDGES))
    return " ".join(content[: limits.VALUE].split())
