"""Read the products in the JSON-LD scripts of a page, which are often broken."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.facts.limits import (
    MAX_NODES,
    MAX_OFFERS,
    MAX_SCRIPT,
    MAX_SCRIPT_PRODUCTS,
    MAX_SCRIPTS,
    MAX_VALUE,
)
from crawldedup.facts.prices import price_of
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
    some_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

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
_TRAILING_COMMA: Final = re.compile(r",(\s{0,99}[}\]])")
_BROKEN_TYPE: Final = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:https?://schema\.org/)?Product"', re.I)
_BROKEN_MEMBER: Final = re.compile(
    rf'"({"|".join(("name", "priceCurrency", *IDS, *ATTRIBUTES, *PRICES))})"'
    r'\s{0,9}:\s{0,9}(?:"((?:[^"\\\n]|\\.){1,300})"|(\d[\d.]{0,20}))'
)


@dataclass(frozen=True, slots=True)
class LinkedData:
    """The products of the scripts, in order, and whether a script describes an article."""

    products: list[Product]
    is_article: bool

    @classmethod
    def of(cls, tree: HtmlElement) -> LinkedData:
        """Read a bounded part of the scripts of a page, whatever is in them."""
        products: list[Product] = []
        is_article = False
        scripts = (script for script in tree.iter("script") if "ld+json" in (script.get("type") or "").lower())
        for script in islice(scripts, MAX_SCRIPTS):
            source = (script.text or "")[:MAX_SCRIPT]
            try:
                content = _load(source)
            except (ValueError, RecursionError):
                if product := _from_broken(source):
                    products.append(product)
                continue
            for node in _nodes(content):
                kinds = _kinds(node)
                is_article |= not kinds.isdisjoint(ARTICLES)
                if _is_sold(node, kinds) and len(products) < MAX_SCRIPT_PRODUCTS:
                    products.append(_from_data(node))
        return cls(products, is_article)


def _load(source: str) -> Any:
    content = _unwrapped(source)
    try:
        return json.loads(content, strict=False)
    except ValueError:
        return json.loads(_TRAILING_COMMA.sub(r"\1", content), strict=False)


def _unwrapped(source: str) -> str:
    content = source.strip()
    for _ in range(_MAX_WRAPPINGS):
        for mark in _WRAPPINGS:
            content = content.removeprefix(mark).removesuffix(mark).strip()
    return content


def _nodes(content: Any) -> Iterator[dict[str, Any]]:
    """Yield every object that is not part of a product, outermost first.

    What a product holds are its own offers, or products that are sold with it.
    """
    waiting = deque([content])
    for _ in range(MAX_NODES):
        if not waiting:
            return
        node = waiting.popleft()
        if isinstance(node, list):
            waiting.extend(node[:MAX_NODES])
        elif isinstance(node, dict):
            yield node
            if not _is_sold(node, _kinds(node)):
                waiting.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)


def _kinds(node: dict[str, Any]) -> set[str]:
    kinds = node.get("@type")
    return {last_part(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)}


def _is_sold(node: dict[str, Any], kinds: set[str]) -> bool:
    """Return whether it is a product, or another thing with an offer: a book, a car, an event."""
    return not kinds.isdisjoint(PRODUCTS) or (
        bool(kinds)
        and kinds.isdisjoint(NOT_SOLD)
        and any(isinstance(offer, dict) for offer in _list(node.get("offers")))
    )


def _from_data(node: dict[str, Any]) -> Product:
    variants = [item for item in _list(node.get("hasVariant"))[:MAX_OFFERS] if isinstance(item, dict)]
    offers = [offer for owner in (node, *variants) for offer in _offers(owner.get("offers"))]
    found = [price_of(_value(offer.get(key)), _value(offer.get("priceCurrency"))) for offer in offers for key in PRICES]
    return Product(
        name=_value(node.get("name")),
        prices=frozenset(price for price in found if price),
        ids=some_of(_value(owner.get(key)) for owner in (node, *variants, *offers) for key in IDS),
        attributes=some_of(
            chain(
                (text for owner in (node, *variants) for text in _descriptive(owner)),
                (text for offer in offers if not _IS_NEW.search(text := _value(offer.get("itemCondition")))),
            )
        ),
    )


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """Yield the short values that describe a product. That it is new says nothing: most are."""
    for key, values in islice(node.items(), MAX_OFFERS):
        if key in IDS or _NOT_DESCRIPTIVE.search(key):
            continue
        for value in _list(values)[:MAX_OFFERS]:
            text = _value(value)
            if key == "itemCondition":
                text = "" if _IS_NEW.search(text) else text.rpartition("/")[2]
            if text and len(text) <= _LONGEST_DESCRIPTIVE and "://" not in text:
                yield text


def _offers(value: Any) -> Iterator[dict[str, Any]]:
    waiting = deque(_list(value)[:MAX_OFFERS])
    for _ in range(MAX_OFFERS):
        if not waiting:
            return
        offer = waiting.popleft()
        if isinstance(offer, dict):
            yield offer
            for key in ("offers", "priceSpecification"):
                waiting.extend(_list(offer.get(key))[:MAX_OFFERS])


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
    return str(value)[:MAX_VALUE].strip() if not isinstance(value, int) or abs(value) < 10**40 else ""


def _from_broken(source: str) -> Product | None:
    """Read a broken script: the first of each member behind the product's type."""
    start = _BROKEN_TYPE.search(source)
    if start is None:
        return None
    members: dict[str, str] = {}
    for match in islice(_BROKEN_MEMBER.finditer(source, start.end()), MAX_NODES):
        members.setdefault(match[1].lower(), _unescaped(match[2]) if match[2] else match[3])
    return product_of_members(list(members.items()))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text
