"""What a page declares for machines about products: JSON-LD, microdata, RDFa and Open Graph.

Vocabulary: https://schema.org/Product and https://ogp.me; publishers follow both freely.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from crawldedup.text.amounts import price_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawldedup.text.amounts import Price

_MAX_SCRIPT: Final = 500_000
_MAX_SCRIPTS: Final = 20
_MAX_NODES: Final = 5_000
_MAX_OFFERS: Final = 100
_MAX_ELEMENTS: Final = 2_000
_MAX_VALUE: Final = 300

_PRODUCTS: Final = frozenset(["product", "productgroup", "productmodel", "individualproduct", "someproducts"])
_ARTICLES: Final = frozenset(
    ["article", "newsarticle", "blogposting", "reportagenewsarticle", "techarticle", "scholarlyarticle", "recipe"]
)
# What may have offers without being what the page sells: it is the seller, the page, a part of it, or an offer.
_NOT_SOLD: Final = _ARTICLES | frozenset(
    [
        "thing",
        "creativework",
        "webpage",
        "itempage",
        "collectionpage",
        "searchresultspage",
        "aboutpage",
        "faqpage",
        "qapage",
        "profilepage",
        "website",
        "webpageelement",
        "organization",
        "newsmediaorganization",
        "corporation",
        "localbusiness",
        "store",
        "onlinestore",
        "person",
        "brand",
        "breadcrumblist",
        "itemlist",
        "offercatalog",
        "listitem",
        "offer",
        "aggregateoffer",
        "demand",
        "pricespecification",
        "review",
        "aggregaterating",
        "imageobject",
        "videoobject",
        "comment",
        "question",
        "answer",
        "howto",
        "jobposting",
        "newspaper",
        "periodical",
        "blog",
    ]
)
_ABOUT_OTHERS: Final = frozenset(["about", "mentions", "isPartOf", "hasPart", "isRelatedTo", "publisher"])
_IDS: Final = ("sku", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn", "productID", "productGroupID")
_ATTRIBUTES: Final = ("color", "size", "material", "model", "pattern", "width", "height", "depth", "weight")
# What any member but these says describes the product; these change, or are long, or about something else.
_NOT_DESCRIPTIVE: Final = re.compile(
    r"^@|^(?:name|offers?|hasVariant|isVariantOf|variesBy|text|headline|about|mentions|isPartOf|hasPart|startTime|endTime)$|"
    r"(?i:rating|review|comment|count(?!ry)|stock|inventory|avail|date|valid|url|image|logo|photo|video|thumbnail|seller|"
    r"offeredby|provider|description|slogan|caption|action|page|sameas|relat|similar|accessory|consumable|language|"
    r"keyword|award|statistic|position|shipping|delivery|return)"
)
_IS_NEW: Final = re.compile(r"NewCondition$|^new$", re.I)
_DESCRIBES: Final = 100
_PRICES: Final = ("price", "lowPrice", "highPrice")
_WANTED: Final = frozenset(map(str.lower, ("name", "priceCurrency", *_IDS, *_ATTRIBUTES, *_PRICES)))

_WRAPPINGS: Final = ("<!--", "//", "/*", "<![CDATA[", "*/", "-->", "]]>", ";")
_TRAILING_COMMA: Final = re.compile(r",(\s{0,99}[}\]])")
_BROKEN_TYPE: Final = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:https?://schema\.org/)?Product"', re.I)
_BROKEN_MEMBER: Final = re.compile(
    rf'"({"|".join(("name", "priceCurrency", *_IDS, *_ATTRIBUTES, *_PRICES))})"'
    r'\s{0,9}:\s{0,9}(?:"((?:[^"\\\n]|\\.){1,300})"|(\d[\d.]{0,20}))'
)
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
class Product:
    """One product as a page declares it. `attributes` are values only, such as "red"."""

    name: str = ""
    prices: frozenset[Price] = frozenset()
    ids: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


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
    data = _Data.read(tree)
    kind, of_the_page = _open_graph(tree)
    return Declarations(
        products=(*data.products, *_marked_up(tree)),
        of_the_page=of_the_page,
        is_article=data.is_article or _marks_an_article(tree),
        calls_itself_article=kind == "article",
    )


@dataclass(frozen=True, slots=True)
class _Data:
    products: list[Product]
    is_article: bool

    @classmethod
    def read(cls, tree: HtmlElement) -> _Data:
        products: list[Product] = []
        is_article = False
        scripts = (script for script in tree.iter("script") if "ld+json" in (script.get("type") or "").lower())
        for script, _ in zip(scripts, range(_MAX_SCRIPTS), strict=False):
            source = (script.text or "")[:_MAX_SCRIPT]
            try:
                content = _load(source)
            except (ValueError, RecursionError):
                if product := _from_broken(source):
                    products.append(product)
                continue
            for node in _nodes(content):
                kinds = _kinds(node)
                is_article |= not kinds.isdisjoint(_ARTICLES)
                if _is_sold(node, kinds):
                    products.append(_from_data(node))
        return cls(products, is_article)


def _load(source: str) -> Any:
    content = _unwrapped(source)
    try:
        return json.loads(content, strict=False)
    except ValueError:
        return json.loads(_TRAILING_COMMA.sub(r"\1", content), strict=False)


def _unwrapped(source: str) -> str:
    """Without the comment marks that old browsers and XHTML were given."""
    content, before = source.strip(), ""
    while content != before:
        before = content
        for mark in _WRAPPINGS:
            content = content.removeprefix(mark).removesuffix(mark).strip()
    return content


def _nodes(content: Any) -> Iterator[dict[str, Any]]:
    """Every object that is not part of a product, outermost first: what a product holds are its own offers,
    or the products it is sold with."""
    waiting = deque([content])
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.popleft()
        if isinstance(node, list):
            waiting.extend(node[:_MAX_NODES])
        elif isinstance(node, dict):
            yield node
            if not _is_sold(node, _kinds(node)):
                waiting.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)


def _kinds(node: dict[str, Any]) -> set[str]:
    kinds = node.get("@type")
    return {_last_part(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(kind, str)}


def _is_sold(node: dict[str, Any], kinds: set[str]) -> bool:
    """Whether it is a product, or a book, car, event or whatever else is offered."""
    return not kinds.isdisjoint(_PRODUCTS) or (
        bool(kinds)
        and kinds.isdisjoint(_NOT_SOLD)
        and any(isinstance(offer, dict) for offer in _list(node.get("offers")))
    )


def _last_part(kind: str) -> str:
    return kind.rpartition("/")[2].rpartition(":")[2].rpartition("#")[2].lower()


def _from_data(node: dict[str, Any]) -> Product:
    variants = [item for item in _list(node.get("hasVariant"))[:_MAX_OFFERS] if isinstance(item, dict)]
    offers = [offer for owner in (node, *variants) for offer in _offers(owner.get("offers"))]
    found = [
        price_of(_value(offer.get(key)), _value(offer.get("priceCurrency"))) for offer in offers for key in _PRICES
    ]
    return Product(
        name=_value(node.get("name")),
        prices=frozenset(price for price in found if price),
        ids=_filled(owner.get(key) for owner in (node, *variants, *offers) for key in _IDS),
        attributes=frozenset(text for owner in (node, *variants) for text in _descriptive(owner))
        | _filled(
            offer.get("itemCondition") for offer in offers if not _IS_NEW.search(_value(offer.get("itemCondition")))
        ),
    )


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """The short values that describe a product. New is what products are, so it says nothing."""
    for key, values in islice(node.items(), _MAX_OFFERS):
        if key in _IDS or _NOT_DESCRIPTIVE.search(key):
            continue
        for value in _list(values)[:_MAX_OFFERS]:
            text = _value(value)
            if key == "itemCondition":
                text = "" if _IS_NEW.search(text) else text.rpartition("/")[2]
            if text and len(text) <= _DESCRIBES and "://" not in text:
                yield text


def _offers(value: Any) -> Iterator[dict[str, Any]]:
    waiting = deque(_list(value)[:_MAX_OFFERS])
    for _ in range(_MAX_OFFERS):
        if not waiting:
            return
        offer = waiting.popleft()
        if isinstance(offer, dict):
            yield offer
            for key in ("offers", "priceSpecification"):
                waiting.extend(_list(offer.get(key))[:_MAX_OFFERS])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(value: Any) -> str:
    """A value as text, whether it is given plainly, in a list, or as an object with a name or a value."""
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else ""
        elif isinstance(value, dict):
            value = value.get("value", value.get("name", value.get("@value", "")))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    # The digits of a huge integer take quadratic time.
    return str(value)[:_MAX_VALUE].strip() if not isinstance(value, int) or abs(value) < 10**40 else ""


def _filled(values: Iterator[Any] | list[Any]) -> frozenset[str]:
    return frozenset(text for value in values if (text := _value(value)))


def _from_broken(source: str) -> Product | None:
    """What can be made out of a broken script: the first of each member behind the product's type."""
    start = _BROKEN_TYPE.search(source)
    if start is None:
        return None
    members: dict[str, str] = {}
    for match, _ in zip(_BROKEN_MEMBER.finditer(source, start.end()), range(_MAX_NODES), strict=False):
        members.setdefault(match[1].lower(), _unescaped(match[2]) if match[2] else match[3])
    return _from_members(list(members.items()))


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _from_members(members: list[tuple[str, str]]) -> Product:
    of = {key: [value for name, value in members if name == key.lower()] for key in (*_IDS, *_ATTRIBUTES, *_PRICES)}
    first = dict(reversed(members))
    currency = first.get("pricecurrency", "")
    found = [price_of(value, currency) for key in _PRICES for value in of[key]]
    return Product(
        name=first.get("name", ""),
        prices=frozenset(price for price in found if price),
        ids=_filled([value for key in _IDS for value in of[key]]),
        attributes=_filled([value for key in _ATTRIBUTES for value in of[key]]),
    )


def _marks_an_article(tree: HtmlElement) -> bool:
    marked = (element.get("itemtype") or element.get("typeof") or "" for element in _marked(tree)[:_MAX_ELEMENTS])
    return any(_last_part(kind) in _ARTICLES for kinds in marked for kind in kinds.split()[:9])


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
        is_sold = element in sold or not _marked_kinds(element).isdisjoint(_PRODUCTS)
        if is_sold and len(products) < _MAX_OFFERS:
            products.append((element, []))
            open_products.append(len(products) - 1)
            continue
        name = element.get("itemprop") or element.get("property")
        if name and open_products and (key := _last_part(name)) in _WANTED and members < _MAX_ELEMENTS:
            # The name of a brand or of a reviewer is not the product's.
            if key == "name" and _owner(element) is not products[open_products[-1]][0]:
                continue
            members += 1
            products[open_products[-1]][1].append((key, _content(element)))
    return [_from_members(found) for _, found in products]


def _with_offers(tree: HtmlElement) -> set[HtmlElement]:
    """What has offers and is no part of the page or its seller."""
    owners = {owner for element in _offered(tree)[:_MAX_ELEMENTS] if (owner := _owner(element)) is not None}
    return {owner for owner in owners if (kinds := _marked_kinds(owner)) and kinds.isdisjoint(_NOT_SOLD)}


def _marked_kinds(element: HtmlElement) -> set[str]:
    return {_last_part(kind) for kind in (element.get("itemtype") or element.get("typeof") or "").split()[:9]}


def _owner(element: HtmlElement) -> HtmlElement | None:
    for ancestor in element.iterancestors():
        if ancestor.get("itemtype") or ancestor.get("typeof") or ancestor.get("itemscope") is not None:
            owner: HtmlElement = ancestor
            return owner
    return None


def _content(element: HtmlElement) -> str:
    content = element.get("content") or element.get("value")
    if content is None:
        pieces = (piece for piece, _ in zip(element.itertext(), range(50), strict=False))
        content = "".join(pieces)
    return " ".join(content[:_MAX_VALUE].split())


def _open_graph(tree: HtmlElement) -> tuple[str, Product | None]:
    kind = title = ""
    members: list[tuple[str, str]] = []
    for meta, _ in zip(tree.iter("meta"), range(_MAX_ELEMENTS), strict=False):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = " ".join((meta.get("content") or "")[:_MAX_VALUE].split())
        if name == "og:type":
            kind = content.lower()
        elif name == "og:title":
            title = content
        elif name in _META:
            members.append((_META[name].lower(), content))
    is_product = kind in ("product", "og:product", "product.item", "product.group") or any(
        key == "price" for key, _ in members
    )
    return kind, _from_members([("name", title), *members]) if is_product else None
