"""Read products in the vocabulary of https://schema.org/Product, in JSON-LD scripts."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.reading.facts import limits
from crawldedup.reading.facts.prices import price_of
from crawldedup.reading.facts.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborHTMLParser

    from crawldedup.reading.facts.prices import Price

PRODUCTS: Final = frozenset(VOCABULARY["product_types"])
ARTICLES: Final = frozenset(VOCABULARY["article_types"])
NOT_SOLD: Final = ARTICLES | frozenset(VOCABULARY["other_types"])
IDS: Final = ("sku", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn", "productID", "productGroupID")
ATTRIBUTES: Final = ("color", "size", "material", "model", "pattern", "width", "height", "depth", "weight")
PRICES: Final = ("price", "lowPrice", "highPrice")
MEMBERS: Final = ("name", "priceCurrency", *IDS, *ATTRIBUTES, *PRICES)

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
_WRAPPINGS: Final = ("<!--", "//", "/*", "<![CDATA[", "*/", "-->", "]]>", ";")
_MAX_WRAPPINGS: Final = 9


@dataclass(frozen=True, slots=True)
class Product:
    """One product of structured data. `attributes` are values only, such as "red"."""

    name: str = ""
    prices: frozenset[Price] = frozenset()
    ids: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


def last_part(kind: str) -> str:
    """Return the name of a type or property without its vocabulary, in lower case: "product" of "schema:Product"."""
    return kind.rpartition("/")[2].rpartition(":")[2].rpartition("#")[2].lower()


def some_of(values: Iterable[str]) -> frozenset[str]:
    """Return the values that are not empty; of very many the first by the alphabet, since their order differs."""
    return frozenset(nsmallest(limits.VALUES, {text for value in values if (text := value.strip())}))


def product_of_members(members: Sequence[tuple[str, str]]) -> Product:
    """Return the product of members, given by their names in lower case. Of several names, the first is its own."""
    of = {key: [value for name, value in members if name == key.lower()] for key in (*IDS, *ATTRIBUTES, *PRICES)}
    first = dict(reversed(members))
    currency = first.get("pricecurrency", "")
    found = [price_of(value, currency) for key in PRICES for value in of[key]]
    return Product(
        name=first.get("name", ""),
        prices=frozenset(price for price in found if price),
        ids=some_of(value for key in IDS for value in of[key]),
        attributes=some_of(value for key in ATTRIBUTES for value in of[key]),
    )


def read_scripts(tree: LexborHTMLParser) -> tuple[list[Product], bool]:
    """Return the products of the scripts, in order, and whether a script describes an article."""
    products: list[Product] = []
    is_article = False
    for script in islice(tree.css("script[type*='ld+json' i]"), limits.SCRIPTS):
        try:
            waiting = deque([_load(script.text()[: limits.SCRIPT])])
        except (ValueError, RecursionError):
            continue
        for node in _drain(waiting, limits.NODES):
            if isinstance(node, list):
                waiting.extend(node[: limits.NODES])
            elif isinstance(node, dict):
                types = {last_part(name) for name in _list(node.get("@type")) if isinstance(name, str)}
                is_article |= not types.isdisjoint(ARTICLES)
                # What a product holds are its own offers, or products that are sold with it.
                if not _is_sold(node, types):
                    waiting.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)
                elif len(products) < limits.SCRIPT_PRODUCTS:
                    products.append(_from_data(node))
    return products, is_article


def _load(source: str) -> Any:
    content = source.strip()
    for _ in range(_MAX_WRAPPINGS):
        for mark in _WRAPPINGS:
            content = content.removeprefix(mark).removesuffix(mark).strip()
    return json.loads(content, strict=False)


def _drain(waiting: deque[Any], most: int) -> Iterator[Any]:
    """Yield what is waiting, including what is added meanwhile."""
    while waiting and most > 0:
        most -= 1
        yield waiting.popleft()


def _is_sold(node: dict[str, Any], types: set[str]) -> bool:
    """Return whether it is a product, or another thing with an offer: a book, a car, an event."""
    if not types.isdisjoint(PRODUCTS):
        return True
    has_offer = any(isinstance(offer, dict) for offer in _list(node.get("offers")))
    return bool(types) and types.isdisjoint(NOT_SOLD) and has_offer


def _from_data(node: dict[str, Any]) -> Product:
    variants = [item for item in _list(node.get("hasVariant"))[: limits.OFFERS] if isinstance(item, dict)]
    offers = [offer for owner in (node, *variants) for offer in _offers(owner.get("offers"))]
    used = (text for offer in offers if not _IS_NEW.search(text := _value(offer.get("itemCondition"))))
    found = [price_of(_value(offer.get(key)), _value(offer.get("priceCurrency"))) for offer in offers for key in PRICES]
    return Product(
        name=_value(node.get("name")),
        prices=frozenset(price for price in found if price),
        ids=some_of(_value(owner.get(key)) for owner in (node, *variants, *offers) for key in IDS),
        attributes=some_of((*chain.from_iterable(map(_descriptive, (node, *variants))), *used)),
    )


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """Yield the short values that describe a product. That it is new says nothing: most are."""
    for key, values in islice(node.items(), limits.OFFERS):
        if key in IDS or _NOT_DESCRIPTIVE.search(key):
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
