"""Read what a page declares of products: JSON-LD, microdata and RDFa by https://schema.org/Product, and Open Graph.

Publishers follow these vocabularies loosely.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.reading.blocks import elements_around, texts_within
from crawldedup.reading.facts import VOCABULARY, limits
from crawldedup.reading.facts.prices import price_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from crawldedup.reading.facts.prices import Price

_PRODUCTS: Final = frozenset(VOCABULARY["product_types"])
_ARTICLES: Final = frozenset(VOCABULARY["article_types"])
_NOT_SOLD: Final = _ARTICLES | frozenset(VOCABULARY["other_types"])
_IDS: Final = ("sku", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn", "productID", "productGroupID")
_ATTRIBUTES: Final = ("color", "size", "material", "model", "pattern", "width", "height", "depth", "weight")
_PRICES: Final = ("price", "lowPrice", "highPrice")
_MEMBERS: Final = frozenset(map(str.lower, ("name", "priceCurrency", *_IDS, *_ATTRIBUTES, *_PRICES)))

_ABOUT_OTHERS: Final = frozenset(["about", "mentions", "isPartOf", "hasPart", "isRelatedTo", "publisher"])
# Any other member describes the product: these change, are long, or are about something else.
_NOT_DESCRIPTIVE: Final = re.compile(
    r"^@|^(?:name|offers?|hasVariant|isVariantOf|variesBy|text|headline|about|mentions|isPartOf|hasPart|startTime|endTime)$|"
    r"(?i:rating|review|comment|count(?!ry)|stock|inventory|avail|date|valid|url|image|logo|photo|video|thumbnail|seller|"
    r"offeredby|provider|description|slogan|caption|action|page|sameas|relat|similar|accessory|consumable|language|"
    r"keyword|award|statistic|position|shipping|delivery|return)"
)
_IS_NEW: Final = re.compile(r"NewCondition$|^new$", re.I)
# Characters of a value that describes; a longer one is prose.
_LONGEST_DESCRIPTIVE: Final = 100
# Comment marks, which scripts were wrapped in for old browsers and for XHTML, several times over.
_WRAPPING: Final = re.compile(r"\A(?:\s|<!--|//|/\*|<!\[CDATA\[|\*/|-->)*+")
_JSON: Final = json.JSONDecoder(strict=False)

# Each begins with letters, for which a source is searched fast.
_PRODUCT_SIGN: Final = re.compile(r"""roduct(?:(?:Group|Model)?["'>]|:price|\.item|\.group)""")
_OFFER_SIGN: Final = re.compile(r"""offers(?<=["':=]offers)["'\s>]""")
_OPEN_GRAPH_PRODUCTS: Final = frozenset(["product", "og:product", "product.item", "product.group"])


@dataclass(frozen=True, slots=True)
class Product:
    """One declared product. `attributes` are values only, such as "red"."""

    name: str
    prices: frozenset[Price]
    ids: frozenset[str]
    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a page declares. The product that its meta elements describe is the last.

    `calls_itself_article` is a weaker sign than `is_article`: much shop software gives every page that Open Graph type.
    """

    products: tuple[Product, ...]
    is_article: bool
    calls_itself_article: bool


def may_declare_product(html: str) -> bool:
    """Return whether the source of a page names a product, an offer or a price of structured data."""
    return "og:price" in html or any(sign.search(html) for sign in (_PRODUCT_SIGN, _OFFER_SIGN))


def read_declared(tree: LexborHTMLParser) -> Declared:
    """Read a bounded part of the structured data of a page, whatever is in it."""
    products, is_article = _in_scripts(tree)
    kind, of_the_page = _in_meta(tree)
    typed = tree.css("[itemtype], [typeof]")[: limits.MARKED]
    is_article = is_article or any(not _types(element).isdisjoint(_ARTICLES) for element in typed)
    return Declared((*products, *(_in_markup(tree) if typed else ()), *of_the_page), is_article, kind == "article")


def _last_part(kind: str) -> str:
    """Return the name of a type or property without its vocabulary, in lower case: "product" of "schema:Product"."""
    return kind.rpartition("/")[2].rpartition(":")[2].rpartition("#")[2].lower()


def _some_of(values: Iterable[str]) -> frozenset[str]:
    """Return the values that are not empty; of very many the first by the alphabet, since their order differs."""
    return frozenset(nsmallest(limits.VALUES, {text for value in values if (text := value.strip())}))


# JSON-LD


def _in_scripts(tree: LexborHTMLParser) -> tuple[list[Product], bool]:
    """Return the products of the scripts, in order, and whether a script describes an article."""
    products: list[Product] = []
    is_article = False
    for script in islice(tree.css("script[type*='ld+json' i]"), limits.SCRIPTS):
        try:
            waiting = deque([_JSON.raw_decode(_WRAPPING.sub("", script.text()[: limits.SCRIPT], 1))[0]])
        except (ValueError, RecursionError):
            continue
        for node in _drain(waiting, limits.NODES):
            if isinstance(node, list):
                waiting.extend(node[: limits.NODES])
            elif isinstance(node, dict):
                types = {_last_part(name) for name in _list(node.get("@type")) if isinstance(name, str)}
                is_article |= not types.isdisjoint(_ARTICLES)
                # What a product holds are its own offers, or products that are sold with it.
                if not _is_sold(node, types):
                    waiting.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)
                elif len(products) < limits.SCRIPT_PRODUCTS:
                    products.append(_product_of(node))
    return products, is_article


def _drain(waiting: deque[Any], most: int) -> Iterator[Any]:
    """Yield what is waiting, including what is added meanwhile."""
    while waiting and most > 0:
        most -= 1
        yield waiting.popleft()


def _is_sold(node: dict[str, Any], types: set[str]) -> bool:
    """Return whether it is a product, or another thing with an offer: a book, a car, an event."""
    has_offer = any(isinstance(offer, dict) for offer in _list(node.get("offers")))
    return not types.isdisjoint(_PRODUCTS) or (bool(types) and types.isdisjoint(_NOT_SOLD) and has_offer)


def _product_of(node: dict[str, Any]) -> Product:
    variants = [item for item in _list(node.get("hasVariant"))[: limits.OFFERS] if isinstance(item, dict)]
    offers = [offer for owner in (node, *variants) for offer in _offers(owner.get("offers"))]
    used = (text for offer in offers if not _IS_NEW.search(text := _value(offer.get("itemCondition"))))
    found = (
        price_of(_value(offer.get(key)), _value(offer.get("priceCurrency"))) for offer in offers for key in _PRICES
    )
    return Product(
        name=_value(node.get("name")),
        prices=frozenset(filter(None, found)),
        ids=_some_of(_value(owner.get(key)) for owner in (node, *variants, *offers) for key in _IDS),
        attributes=_some_of((*chain.from_iterable(map(_descriptive, (node, *variants))), *used)),
    )


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """Yield the short values that describe a product. That it is new says nothing: most are."""
    for key, values in islice(node.items(), limits.OFFERS):
        if key in _IDS or _NOT_DESCRIPTIVE.search(key):
            continue
        for value in _list(values)[: limits.OFFERS]:
            text = _value(value)
            if key == "itemCondition":
                text = "" if _IS_NEW.search(text) else text.rpartition("/")[2]
            if text and len(text) <= _LONGEST_DESCRIPTIVE and "://" not in text:
                yield text


def _offers(value: Any) -> Iterator[dict[str, Any]]:
    waiting = deque(_list(value)[: limits.OFFERS])
    for offer in _drain(waiting, limits.OFFERS):
        if isinstance(offer, dict):
            yield offer
            for key in ("offers", "priceSpecification"):
                waiting.extend(_list(offer.get(key))[: limits.OFFERS])


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
    return str(value)[: limits.VALUE].strip() if not isinstance(value, int) or abs(value) < 10**40 else ""


# Meta elements and markup


def _in_meta(tree: LexborHTMLParser) -> tuple[str, list[Product]]:
    """Return the Open Graph type of a page, and the product that it is about, if any."""
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
    return kind, [_product_of_members([("name", title), *members])] if is_product else []


def _product_of_members(members: Sequence[tuple[str, str]]) -> Product:
    """Return the product of members, whose names are in lower case. Of several names, the first is its own."""
    of = {key: [value for name, value in members if name == key.lower()] for key in (*_IDS, *_ATTRIBUTES, *_PRICES)}
    first = dict(reversed(members))
    found = (price_of(value, first.get("pricecurrency", "")) for key in _PRICES for value in of[key])
    return Product(
        name=first.get("name", ""),
        prices=frozenset(filter(None, found)),
        ids=_some_of(value for key in _IDS for value in of[key]),
        attributes=_some_of(value for key in _ATTRIBUTES for value in of[key]),
    )


def _in_markup(tree: LexborHTMLParser) -> list[Product]:
    """Return the products in microdata and RDFa. What a product holds describes it, up to the next product."""
    # What has offers is sold, but for a part of the page and its seller.
    offers = tree.css("[itemprop*='offers'], [property*='offers']")[: limits.MARKED]
    owners = (owner for offer in offers if (owner := _owner_of(offer)) is not None)
    sold = {owner.mem_id for owner in owners if (types := _types(owner)) and types.isdisjoint(_NOT_SOLD)}
    products: dict[int, list[tuple[str, str]]] = {}
    for element in tree.css("[itemtype], [typeof], [itemprop], [property]")[: limits.MARKED]:
        is_sold = element.mem_id in sold or not _types(element).isdisjoint(_PRODUCTS)
        if is_sold and len(products) < limits.MARKED_PRODUCTS:
            products[element.mem_id] = []
            continue
        key = _last_part(element.attributes.get("itemprop") or element.attributes.get("property") or "")
        if key not in _MEMBERS:
            continue
        product = next((outer.mem_id for outer in elements_around(element) if outer.mem_id in products), None)
        # The name of a brand or of a reviewer is not the product's.
        if product is not None and (key != "name" or ((owner := _owner_of(element)) and owner.mem_id == product)):
            products[product].append((key, _content(element)))
    return [_product_of_members(members) for members in products.values()]


def _types(element: LexborNode) -> set[str]:
    names = element.attributes.get("itemtype") or element.attributes.get("typeof") or ""
    return {_last_part(name) for name in names.split()[: limits.TYPES]}


def _owner_of(element: LexborNode) -> LexborNode | None:
    """Return the element whose property this one is."""
    marks = ("itemtype", "typeof", "itemscope")
    return next((outer for outer in elements_around(element) if any(mark in outer.attributes for mark in marks)), None)


def _content(element: LexborNode) -> str:
    attributes = element.attributes
    content = attributes.get("content") or attributes.get("value")
    if content is None:
        content = "".join(islice(texts_within(element), limits.EDGES))
    return " ".join(content[: limits.VALUE].split())
