"""Read the products that the elements of a page are marked up as, in microdata and RDFa."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lxml import etree

from crawldedup.facts.limits import MAX_EDGES, MAX_MARKED, MAX_MARKED_PRODUCTS, MAX_TYPES, MAX_VALUE
from crawldedup.facts.schema_org import (
    ARTICLES,
    ATTRIBUTES,
    IDS,
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

_WANTED: Final = frozenset(map(str.lower, ("name", "priceCurrency", *IDS, *ATTRIBUTES, *PRICES)))
_marked: Final = etree.XPath(".//*[@itemtype or @typeof]")
_marks_a_product: Final = etree.XPath("boolean(.//*[contains(@itemtype, 'roduct') or contains(@typeof, 'roduct')])")
_offers: Final = etree.XPath(".//*[contains(@itemprop, 'offers') or contains(@property, 'offers')]")


def marks_an_article(tree: HtmlElement) -> bool:
    """Return whether an element is marked up as an article."""
    return any(not _types(element).isdisjoint(ARTICLES) for element in _marked(tree)[:MAX_MARKED])


def products_in_markup(tree: HtmlElement) -> list[Product]:
    """Return the products of the page, in order."""
    sold = _owners_of_offers(tree)
    if not sold and not _marks_a_product(tree):
        return []
    products: list[tuple[HtmlElement, list[tuple[str, str]]]] = []
    around: list[int] = []
    members_read = 0
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if event == "end":
            if around and products[around[-1]][0] is element:
                around.pop()
        elif len(products) < MAX_MARKED_PRODUCTS and (element in sold or not _types(element).isdisjoint(PRODUCTS)):
            around.append(len(products))
            products.append((element, []))
        elif around and members_read < MAX_MARKED and (key := _wanted_member(element)):
            members_read += 1
            product, members = products[around[-1]]
            # The name of a brand or of a reviewer is not the product's.
            if key != "name" or _owner(element) is product:
                members.append((key, _content(element)))
    return [product_of_members(members) for _, members in products]


def _wanted_member(element: HtmlElement) -> str:
    name = element.get("itemprop") or element.get("property")
    key = last_part(name) if name else ""
    return key if key in _WANTED else ""


def _owners_of_offers(tree: HtmlElement) -> set[HtmlElement]:
    """Return what has offers and is no part of the page nor its seller."""
    owners = {owner for element in _offers(tree)[:MAX_MARKED] if (owner := _owner(element)) is not None}
    return {owner for owner in owners if (types := _types(owner)) and types.isdisjoint(NOT_SOLD)}


def _types(element: HtmlElement) -> set[str]:
    return {last_part(name) for name in (element.get("itemtype") or element.get("typeof") or "").split()[:MAX_TYPES]}


def _owner(element: HtmlElement) -> HtmlElement | None:
    for ancestor in element.iterancestors():
        if ancestor.get("itemtype") or ancestor.get("typeof") or ancestor.get("itemscope") is not None:
            owner: HtmlElement = ancestor
            return owner
    return None


def _content(element: HtmlElement) -> str:
    content = element.get("content") or element.get("value")
    if content is None:
        content = "".join(first_texts(element, MAX_EDGES))
    return " ".join(content[:MAX_VALUE].split())
