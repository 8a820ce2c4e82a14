"""Read the structured data of a page on products: JSON-LD, microdata, RDFa and Open Graph.

Vocabularies: https://schema.org/Product and https://ogp.me; publishers follow both loosely.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts import limits, schema_org
from crawldedup.facts.schema_org import Product, last_part, product_of_members, read_scripts
from crawldedup.facts.vocabulary import VOCABULARY
from crawldedup.text.lxml_tree import first_texts

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_WANTED: Final = frozenset(map(str.lower, schema_org.MEMBERS))
_marked: Final = etree.XPath(".//*[@itemtype or @typeof]")
_marks_a_product: Final = etree.XPath("boolean(.//*[contains(@itemtype, 'roduct') or contains(@typeof, 'roduct')])")
_offers: Final = etree.XPath(".//*[contains(@itemprop, 'offers') or contains(@property, 'offers')]")
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


def structured_data(tree: HtmlElement) -> StructuredData:
    """Read a bounded part of the structured data of a page, whatever is in it."""
    products, is_article = read_scripts(tree)
    kind, of_the_page = _open_graph(tree)
    types = map(_types, _marked(tree)[: limits.MARKED])
    is_article = is_article or not all(map(schema_org.ARTICLES.isdisjoint, types))
    return StructuredData((*products, *_products_in_markup(tree), *of_the_page), is_article, kind == "article")


def _open_graph(tree: HtmlElement) -> tuple[str, list[Product]]:
    """Return the type of a page, and the product that it is about, if any."""
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta in islice(tree.iter("meta"), limits.MARKED):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = " ".join((meta.get("content") or "")[: limits.VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in VOCABULARY["open_graph"]:
            members.append((VOCABULARY["open_graph"][name], content))
    is_product = kind in _OPEN_GRAPH_PRODUCTS or any(key == "price" for key, _ in members)
    return kind, [product_of_members([("name", title), *members])] if is_product else []


def _products_in_markup(tree: HtmlElement) -> list[Product]:
    sold = _owners_of_offers(tree)
    if not sold and not _marks_a_product(tree):
        return []
    products: list[list[tuple[str, str]]] = []
    around: list[tuple[HtmlElement, list[tuple[str, str]]]] = []
    members_read = 0
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        is_sold = event == "start" and (element in sold or not _types(element).isdisjoint(schema_org.PRODUCTS))
        if event == "end":
            if around and around[-1][0] is element:
                around.pop()
        elif is_sold and len(products) < limits.MARKED_PRODUCTS:
            products.append([])
            around.append((element, products[-1]))
        elif around and members_read < limits.MARKED:
            key = last_part(element.get("itemprop") or element.get("property") or "")
            members_read += key in _WANTED
            product, members = around[-1]
            # The name of a brand or of a reviewer is not the product's.
            if key in _WANTED and (key != "name" or _owner(element) is product):
                members.append((key, _content(element)))
    return [product_of_members(members) for members in products]


def _owners_of_offers(tree: HtmlElement) -> set[HtmlElement]:
    """Return what has offers and is no part of the page nor its seller."""
    owners = {owner for element in _offers(tree)[: limits.MARKED] if (owner := _owner(element)) is not None}
    return {owner for owner in owners if (types := _types(owner)) and types.isdisjoint(schema_org.NOT_SOLD)}


def _types(element: HtmlElement) -> set[str]:
    names = element.get("itemtype") or element.get("typeof") or ""
    return {last_part(name) for name in names.split()[: limits.TYPES]}


def _owner(element: HtmlElement) -> HtmlElement | None:
    around = element.iterancestors()
    return next((e for e in around if e.get("itemtype") or e.get("typeof") or e.get("itemscope") is not None), None)


def _content(element: HtmlElement) -> str:
    content = element.get("content") or element.get("value")
    if content is None:
        content = "".join(first_texts(element, limits.EDGES))
    return " ".join(content[: limits.VALUE].split())
