"""Read what a page declares of products: JSON-LD, microdata and RDFa by https://schema.org/Product, and Open Graph.

Publishers follow these vocabularies loosely.
"""

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawldedup.reading.blocks import elements_around, text_within
from crawldedup.reading.facts import VOCABULARY, Most
from crawldedup.reading.facts.prices import Price, price_of

_PRODUCTS: Final = frozenset(VOCABULARY["product_types"])
_ARTICLES: Final = frozenset(VOCABULARY["article_types"])
_NOT_SOLD: Final = _ARTICLES | frozenset(VOCABULARY["other_types"])
_PRICES: Final = ("price", "lowPrice", "highPrice")
_MADE_OF: Final = ("hasVariant", "offers", "priceSpecification")
_MEMBERS: Final = frozenset(VOCABULARY["product_members"])
_ABOUT_OTHERS: Final = frozenset(["about", "mentions", "isPartOf", "hasPart", "isRelatedTo", "publisher"])
# Any other member describes the product: these change, are long, or are about something else.
_NOT_DESCRIPTIVE: Final = re.compile(
    rf"^@|^(?:{'|'.join(VOCABULARY['other_members'])})$|(?i:{'|'.join(VOCABULARY['parts_of_other_members'])})"
)
_SCHEMA: Final = re.compile(r"^https?://schema\.org/")
_IS_NEW: Final = re.compile(r"(?:.*NewCondition|new)?", re.I)
# Characters of a value that describes; a longer one is prose.
_LONGEST_DESCRIPTIVE: Final = 100
# Comment marks, which scripts were wrapped in for old browsers and for XHTML, several times over.
_WRAPPING: Final = re.compile(r"\A(?:\s|<!--|//|/\*|<!\[CDATA\[|\*/|-->)*+")
_JSON: Final = json.JSONDecoder(strict=False)
_OPEN_GRAPH_PRODUCTS: Final = frozenset(["product", "og:product", "product.item", "product.group"])


@dataclass(frozen=True, slots=True)
class Product:
    """One declared product. `attributes` are values only, such as "red"; identifiers are among them."""

    name: str
    prices: frozenset[Price]
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a page declares. The product that its meta elements describe is the last.

    `calls_itself_article` is a weaker sign than `is_article`: much shop software gives every page that Open Graph type.
    """

    products: tuple[Product, ...]
    is_article: bool
    calls_itself_article: bool


def read_declared(tree: LexborHTMLParser) -> Declared:
    """Read a bounded part of the structured data of a page, whatever is in it."""
    products, is_article = _in_scripts(tree)
    kind, of_the_page = _in_meta(tree)
    typed = {}
    for element in tree.css("[itemtype], [typeof], [itemscope]")[: Most.ELEMENTS]:
        names = element.attributes.get("itemtype") or element.attributes.get("typeof") or ""
        typed[element.mem_id] = {_last_part(name) for name in names[: Most.VALUE].split()}
    is_article = is_article or any(not types.isdisjoint(_ARTICLES) for types in typed.values())
    return Declared((*products, *_in_markup(tree, typed), *of_the_page), is_article, kind == "article")


def _last_part(kind: str) -> str:
    """Return the name of a type or property without its vocabulary, in lower case: "product" of "schema:Product"."""
    return kind.rpartition("/")[2].rpartition(":")[2].rpartition("#")[2].lower()


def _product(name: str, prices: Iterable[tuple[str, str]], values: Iterable[str]) -> Product:
    """Return a product. Of very many values the first by the alphabet are taken, since their order differs."""
    attributes = nsmallest(Most.VALUES, {text for value in values if (text := value.strip())})
    found = (price_of(amount, currency) for amount, currency in prices)
    return Product(name, frozenset(filter(None, found)), frozenset(attributes))


# JSON-LD


def _in_scripts(tree: LexborHTMLParser) -> tuple[list[Product], bool]:
    """Return the products of the scripts, in order, and whether a script describes an article."""
    products: list[Product] = []
    is_article = False
    for script in islice(tree.css("script[type*='ld+json' i]"), Most.SCRIPTS):
        try:
            waiting = deque([_JSON.raw_decode(_WRAPPING.sub("", script.text()[: Most.SCRIPT], 1))[0]])
        except (ValueError, RecursionError):
            continue
        for _ in range(Most.NODES):
            if not waiting:
                break
            node = waiting.popleft()
            if isinstance(node, list):
                waiting.extend(node[: Most.NODES])
            elif isinstance(node, dict):
                types = {_last_part(name) for name in _list(node.get("@type")) if isinstance(name, str)}
                is_article |= not types.isdisjoint(_ARTICLES)
                # What a product holds are its own offers, or products that are sold with it.
                has_offer = any(isinstance(offer, dict) for offer in _list(node.get("offers")))
                if not _is_sold(types, has_offer=has_offer):
                    waiting.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)
                elif len(products) < Most.PRODUCTS:
                    products.append(_product_of(node))
    return products, is_article


def _is_sold(types: set[str], *, has_offer: bool) -> bool:
    """Return whether it is a product, or another thing with an offer: a book, a car, an event."""
    return not types.isdisjoint(_PRODUCTS) or (bool(types) and types.isdisjoint(_NOT_SOLD) and has_offer)


def _product_of(node: dict[str, Any]) -> Product:
    parts = list(islice(_parts(node), Most.NODES))
    prices = ((_value(part.get(key)), _value(part.get("priceCurrency"))) for part in parts for key in _PRICES)
    return _product(_value(node.get("name")), prices, chain.from_iterable(map(_descriptive, parts)))


def _parts(node: dict[str, Any], depth: int = 4) -> Iterator[dict[str, Any]]:
    """Yield a product, its variants and offers, and what they are made of."""
    yield node
    inner = chain.from_iterable(_list(node.get(key))[: Most.VALUES] for key in _MADE_OF) if depth else ()
    for part in inner:
        if isinstance(part, dict):
            yield from _parts(part, depth - 1)


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """Yield the short values that describe a product or an offer. That it is new says nothing: most are."""
    for key, values in islice(node.items(), Most.VALUES):
        if not _NOT_DESCRIPTIVE.search(key):
            for value in _list(values)[: Most.VALUES]:
                text = _SCHEMA.sub("", _value(value))
                if len(text) <= _LONGEST_DESCRIPTIVE and "://" not in text and not _IS_NEW.fullmatch(text):
                    yield text


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(value: Any) -> str:
    """Return a value as text, whether it is plain, in a list, or an object with a name or a value."""
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else ""
        elif isinstance(value, dict):
            value = value.get("value", value.get("name", value.get("@value", "")))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    # The digits of a huge integer take quadratic time.
    return str(value)[: Most.VALUE].strip() if not isinstance(value, int) or abs(value) < 10**40 else ""


# Meta elements and markup


def _in_meta(tree: LexborHTMLParser) -> tuple[str, list[Product]]:
    """Return the Open Graph type of a page, and the product that it is about, if any."""
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta in islice(tree.css("meta"), Most.ELEMENTS):
        attributes = meta.attributes
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        content = " ".join((attributes.get("content") or "")[: Most.VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in VOCABULARY["open_graph"]:
            members.append((VOCABULARY["open_graph"][name], content))
    is_product = kind in _OPEN_GRAPH_PRODUCTS or any(key == "price" for key, _ in members)
    return kind, [_product_of_members([("name", title), *members])] if is_product else []


def _product_of_members(members: Sequence[tuple[str, str]]) -> Product:
    """Return the product of members, whose names are in lower case. Of several names, the first is its own."""
    first = dict(reversed(members))
    currency = first.get("pricecurrency", "")
    prices = [(value, currency) for key, value in members if key.endswith("price")]
    values = [value for key, value in members if key != "name" and "price" not in key]
    return _product(first.get("name", ""), prices, values)


def _in_markup(tree: LexborHTMLParser, typed: dict[int, set[str]]) -> list[Product]:
    """Return the products in microdata and RDFa. What a product holds describes it, up to the next product."""
    products: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for element in tree.css("[itemprop], [property]")[: Most.ELEMENTS] if typed else ():
        key = _last_part(element.attributes.get("itemprop") or element.attributes.get("property") or "")
        if key in _MEMBERS:
            owners = [outer.mem_id for outer in elements_around(element) if outer.mem_id in typed]
            product = next((owner for owner in owners if _is_sold(typed[owner], has_offer=True)), None)
            # The name of a brand or of a reviewer is not the product's.
            if product is not None and (key != "name" or owners[0] == product):
                products[product].append((key, _content(element)))
    return [
        _product_of_members(members)
        for owner, members in products.items()
        if _is_sold(typed[owner], has_offer=any(key.endswith("price") for key, _ in members))
    ]


def _content(element: LexborNode) -> str:
    attributes = element.attributes
    content = attributes.get("content") or attributes.get("value")
    return text_within(element, Most.VALUE) if content is None else " ".join(content[: Most.VALUE].split())
