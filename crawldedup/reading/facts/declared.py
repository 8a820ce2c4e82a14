"""Read the numbers and prices of a text, each in one spelling, and what a page declares of
products.

Products are declared by JSON-LD, microdata and RDFa as of https://schema.org/Product, and by Open
Graph, all loosely.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from importlib import resources
from itertools import chain, islice, starmap
from typing import Any, Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawldedup.reading.blocks import elements_around, text_within

# The words of many languages, and of schema.org and Open Graph, by which products are recognised.
# `currencies` that share a sign are one, since a page shows "$" where its data says "CAD"; names
# that mean other things beside a number are left out (ft, kn, pounds, won, try). `buy_signs` are
# parts of the names and texts of buy controls, `buy_buttons` whole texts. `other_types` have offers
# and are not what a page sells: the seller, the page, an offer. `passing` are patterns of what
# changes from visit to visit, `about_others` classes of that and of other products. `other_members`
# and their parts do not describe a product, nor do `other_choices`.
VOCABULARY: Final[dict[str, Any]] = json.loads(
    (resources.files(__package__) / "vocabulary.json").read_text("utf-8")
)


class Most:
    """Bounds what is read of one page for its facts, so that hostile pages take bounded time."""

    # Characters of a name, a value, a text on a button, or the classes of an element.
    VALUE: Final = 500
    LINES: Final = 4_000  # lines of a page
    LINE: Final = 20_000  # characters of a line
    SHORT: Final = 100  # characters of a line that may be about its price or number
    # Characters of the main text of a page that only looks like a product's, no article's.
    DESCRIPTION: Final = 20_000
    # Buttons, inputs and forms that may be buy controls, links, and those with structured data.
    ELEMENTS: Final = 2_000
    SCRIPTS: Final = 20  # scripts of JSON-LD
    SCRIPT: Final = 500_000  # characters of such a script
    NODES: Final = 5_000  # objects and lists of such a script
    ASIDES: Final = 10  # asides that may hold such controls
    PRODUCTS: Final = 1_000  # products in all such scripts, and in microdata and RDFa
    # Offers, variants and values of one product: each value is looked for in all that is shown.
    VALUES: Final = 200


# A number without a sign or unit, with or without separators, in a `plain` text.
_NUMERAL: Final = re.compile(
    r"(?<!\d)(?:\d{1,3}(?:[ ',.]\d{2,3}){0,4}[ ',.]\d{3}(?!\d)(?:[.,]\d{1,2}(?!\d))?|"
    r"\d{1,12}(?!\d)(?:[.,]\d{1,4}(?!\d))?)"
)
# Han, Kana, Thai, Burmese and Khmer letters are a word each.
_ROUGH_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]|"
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]++"
)
_WORD: Final = re.compile(r"""(?:[^\s"'`“”„‟«»「」『』()\[\]{}:|=;!?…]|(?<=\d):(?=\d))+""")
_MEANS_SOMETHING: Final = re.compile(r"[^\W_]|[-+#%°<>±×]{2}|[+#%°<>±×]")
_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_SEPARATORS: Final = {"٫": ".", "٬": ",", "’": "'", "−": "-", "‑": "-", "‐": "-"}
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,6}(?!\d)")
_NUMBER: Final = re.compile(r"(?:(?<![^\s(])-)?[a-z]{0,20}+\d(?:[\da-z]|[-'.,:/](?=\d))*")
_UNIT: Final = re.compile(
    r"\s?(?:[^\W\d_]{1,3}+(?![^\W\d_])|[%°\"'′″]|[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2})"
)
_WRITTEN_OUT: Final = re.compile(
    r"-?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+|(?:'\d{3})+(?:[.,]\d+)?|(?:,\d{3}){2,}|(?:\.\d{3}){2,})"
)
# Unicode counts them as letters, and Chinese and Japanese dates and sums are written with them.
HAN_NUMBER: Final = re.compile(
    "[〇零一二三四五六七八九十百千万萬亿億兆两兩壹贰叁肆伍陆柒捌玖拾佰仟]+"
)

_SIGN_OF: Final[dict[str, str]] = {
    spelling: sign
    for sign, spellings in VOCABULARY["currencies"].items()
    for spelling in spellings.split()
}
_GAP: Final = 3  # spaces and signs between a price and its currency
_REACH: Final = max(map(len, _SIGN_OF)) + _GAP + 1


def _beside_a_number(spellings: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the longest currency near a number, if it is no part of a longer word.

    Chinese and Japanese put no spaces around words, so a neighbour makes no other word of theirs.
    """
    names = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    return re.compile(
        rf"[ .,:–\-\xa0\n\t]{{0,{_GAP}}}({names})(?:(?<=[円元圓圆块])|(?<![^\W\d_])|(?![^\W\d_]))"
    )


_BEHIND: Final = _beside_a_number(_SIGN_OF)
_BEFORE: Final = _beside_a_number(
    spelling[::-1] for spelling in _SIGN_OF
)  # in a text that is turned around
# Currencies whose names mean other things, too, where such a price is the whole text: "Fr. 49", "4
# 990 Ft".
_WHOLE_TEXT: Final = re.compile(
    rf"^\s?(?:s?fr\.?\s?(?P<chf>{_NUMERAL.pattern})(?:[.,]?\s?[-–—]+)?|"
    rf"(?P<huf>{_NUMERAL.pattern})(?<=\d\d\d)\s?ft\.?)\s?$",
    re.MULTILINE,
)
# "Fr 24.12" and "Fr. 7.1" are Fridays; "Fr. 9.10.–" is a price.
_FRIDAY: Final = re.compile(r"fr\.?\s?(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])(?:\s?[-–—]+)?")
# Prices without a currency: "49,-" and "49,–".
_DASHED: Final = re.compile(
    r"(?<![\w.,:/-])(\d{1,3}(?:[ .']\d{3}){0,3}|\d{1,7})(?:,[-–—]{1,2}|\.(?:--|[–—]))(?![\w-])"
)

_SIGN_ALONE: Final = 5  # letters of a currency, which may stand in a block of its own
DIGIT: Final = re.compile(r"\d")
_ONLY_NUMBER: Final = re.compile(r"\d[\d.,' ]{0,15}+")
_PRICE_NAMES: Final = ("rice", "reis", "recio", "rezzo", "reço", "prix")


class Price(NamedTuple):
    """An amount such as 1299.5, and the sign of its currency, or "" where none is given."""

    amount: str
    currency: str

    def __str__(self) -> str:
        return f"{self.currency}{self.amount}"


def plain(text: str) -> str:
    """Return the text in NFKC, case-folded, with ASCII digits and one kind of each separator."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for separator, kind in _SEPARATORS.items():
            text = text.replace(separator, kind)
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
    return text.casefold()


def words_of(text: str) -> list[str]:
    """Return the words of a `plain` text, split roughly and fast."""
    return _ROUGH_WORD.findall(text)


def spelled(text: str) -> str:
    """Return a text, `plain` and without the punctuation that templates add; signs such as A+ and
    -5 stay.
    """
    words = (word.strip(".,") for word in _WORD.findall(plain(text)))
    return " ".join(word for word in words if _MEANS_SOMETHING.search(word))


def _amount_of(numeral: str) -> str:
    """Return 1299.5 for 1,299.50 and 1.299,50 and 1299.5; three digits behind a single separator
    are thousands.
    """
    digits = numeral.replace(" ", "").replace("'", "")
    separators = re.sub(r"\d", "", digits)
    if not separators:
        return digits.lstrip("0") or "0"
    head, _, tail = digits.replace(",", ".").rpartition(".")
    whole = head.replace(".", "").lstrip("0")
    is_repeated = len(separators) > 1 and len(set(separators)) == 1
    if is_repeated or (len(separators) == 1 and len(tail) == 3 and 0 < len(whole) <= 3):
        return whole + tail
    return f"{whole or '0'}.{tail}".rstrip("0").rstrip(".")


def numbers(text: str, *, units: bool = False) -> list[str]:
    """Return every word of a `plain` text with a digit in it, in order.

    With `units`, with the unit that follows.

    1,299.00 and 1299 are one number. 1,299 alone is not 1299, since it may be a decimal.
    """
    joined = _SPACED.sub(lambda match: match.group().replace(" ", ""), text)
    found = []
    for match in _NUMBER.finditer(joined):
        number = match.group()
        if _WRITTEN_OUT.fullmatch(number):
            number = _amount_of(number) if number[0] != "-" else f"-{_amount_of(number[1:])}"
        if units and number[-1].isdigit() and (unit := _UNIT.match(joined, match.end())):
            number += unit.group().strip()
        found.append(number)
    return found


def prices(text: str, *, bare: bool = False) -> list[Price]:
    """Return the prices of a short `plain` text; with `bare`, numbers without a currency if there
    is none with one.
    """
    found = [price for price, _, _ in _with_currency(text)]
    if (
        not found
        and (match := _WHOLE_TEXT.search(text))
        and (bare or not _FRIDAY.fullmatch(text.strip()))
    ):
        found = [
            Price(_amount_of(amount), currency)
            for currency, amount in match.groupdict().items()
            if amount
        ]
    found = found or [Price(_amount_of(match[1]), "") for match in _DASHED.finditer(text)]
    if not found and bare:
        found = [Price(_amount_of(match.group()), "") for match in _NUMERAL.finditer(text)]
    return found


def without_prices(text: str) -> str:
    """Return what a `plain` text says beside its prices."""
    for _, start, end in reversed(list(_with_currency(text))):
        text = f"{text[:start]} {text[end:]}"
    return text


def price_of(amount: str, currency: str) -> Price | None:
    """Return a price of structured data; None without an amount, or for 0."""
    match = _NUMERAL.search(plain(amount[:40]))
    if match is None or not (value := _amount_of(match.group())).strip("0"):
        return None
    name = plain(currency[:10]).strip()
    return Price(value, _SIGN_OF.get(name, name))


def show_a_price(texts: Iterable[str], html: str) -> bool:
    """Return whether the lines of a page may show a price: an amount and a currency, or one in an
    element so named.

    A page with a Friday may show one.
    """
    short = [
        text
        for text in texts
        if len(text) <= _SIGN_ALONE or (len(text) <= Most.SHORT and DIGIT.search(text))
    ]
    lines = plain("\n".join(short[: Most.LINES]))
    if any(_with_currency(lines)) or _DASHED.search(lines) or _WHOLE_TEXT.search(lines):
        return True
    return any(map(_ONLY_NUMBER.fullmatch, short)) and any(name in html for name in _PRICE_NAMES)


def _with_currency(text: str) -> Iterator[tuple[Price, int, int]]:
    """Yield each price with its start and end.

    A currency between two numbers belongs to the second.
    """
    free = 0
    for match in _NUMERAL.finditer(text):
        start, end = match.span()
        if currency := _BEFORE.match(text[max(free, start - _REACH) : start][::-1]):
            start -= currency.end()
            name = currency[1][::-1]
        elif currency := _BEHIND.match(text, end):
            end, name = currency.end(), currency[1]
        else:
            continue
        free = end
        yield Price(_amount_of(match.group()), _SIGN_OF[name]), start, end


# --- Declared products

_PRODUCTS: Final = frozenset(VOCABULARY["product_types"])
_ARTICLES: Final = frozenset(VOCABULARY["article_types"])
_NOT_SOLD: Final = _ARTICLES | frozenset(VOCABULARY["other_types"])
_PRICES: Final = ("price", "lowPrice", "highPrice")
_MADE_OF: Final = ("hasVariant", "offers", "priceSpecification")
_MEMBERS: Final = frozenset(VOCABULARY["product_members"])
_ABOUT_OTHERS: Final = frozenset(
    ["about", "mentions", "isPartOf", "hasPart", "isRelatedTo", "publisher"]
)
# Any other member describes the product: these change, are long, or are about something else.
_NOT_DESCRIPTIVE: Final = re.compile(
    rf"^@|^(?:{'|'.join(VOCABULARY['other_members'])})$|(?i:{'|'.join(VOCABULARY['parts_of_other_members'])})"
)
_SCHEMA: Final = re.compile(r"^https?://schema\.org/")
_IS_NEW: Final = re.compile(r"(?:.*NewCondition|new)?", re.I)
_LONGEST_DESCRIPTIVE: Final = 100  # characters of a value that describes; a longer one is prose
# Comment marks, which scripts were wrapped in for old browsers and for XHTML, several times over.
_WRAPPING: Final = re.compile(r"\A(?:\s|<!--|//|/\*|<!\[CDATA\[|\*/|-->)*+")
_JSON: Final = json.JSONDecoder(strict=False)
_OPEN_GRAPH_PRODUCTS: Final = frozenset(["product", "og:product", "product.item", "product.group"])


class Product(NamedTuple):
    """One declared product.

    `attributes` are values only, such as "red"; identifiers are among them.
    """

    name: str
    prices: frozenset[Price]
    attributes: frozenset[str]


def read_declared(tree: LexborHTMLParser) -> tuple[list[Product], bool, bool]:
    """Return the products that a page declares, last that of its meta elements, and whether it
    declares an article.

    That it calls itself an article is a weaker sign: much shop software gives every page that Open
    Graph type.
    """
    products, is_article = _in_scripts(tree)
    kind, of_the_page = _in_meta(tree)
    typed = {}
    for element in tree.css("[itemtype], [typeof], [itemscope]")[: Most.ELEMENTS]:
        names = element.attributes.get("itemtype") or element.attributes.get("typeof") or ""
        typed[element.mem_id] = {_last_part(name) for name in names[: Most.VALUE].split()}
    is_article = is_article or any(not types.isdisjoint(_ARTICLES) for types in typed.values())
    return [*products, *_in_markup(tree, typed), *of_the_page], is_article, kind == "article"


def _last_part(kind: str) -> str:
    """Return the name of a type or property without its vocabulary, in lower case: "product" of
    "schema:Product".
    """
    return kind.rpartition("/")[2].rpartition(":")[2].rpartition("#")[2].lower()


def _product(name: str, prices: Iterable[tuple[str, str]], values: Iterable[str]) -> Product:
    """Return a product.

    Of very many values the first by the alphabet are taken, since their order differs.
    """
    attributes = nsmallest(Most.VALUES, {text for value in values if (text := value.strip())})
    return Product(name, frozenset(filter(None, starmap(price_of, prices))), frozenset(attributes))


def _in_scripts(tree: LexborHTMLParser) -> tuple[list[Product], bool]:
    products: list[Product] = []
    is_article = False
    for script in islice(tree.css("script[type*='ld+json' i]"), Most.SCRIPTS):
        try:
            nodes = [_JSON.raw_decode(_WRAPPING.sub("", script.text()[: Most.SCRIPT], 1))[0]]
        except (ValueError, RecursionError):
            continue
        for node in islice(
            nodes, Most.NODES
        ):  # which grow: of each node, what it holds comes behind all others
            if isinstance(node, list):
                nodes.extend(node[: Most.NODES])
            elif isinstance(node, dict):
                types = {
                    _last_part(name) for name in _list(node.get("@type")) if isinstance(name, str)
                }
                is_article |= not types.isdisjoint(_ARTICLES)
                # What a product holds are its own offers, or products that are sold with it.
                has_offer = any(isinstance(offer, dict) for offer in _list(node.get("offers")))
                if not _is_sold(types, has_offer=has_offer):
                    nodes.extend(value for key, value in node.items() if key not in _ABOUT_OTHERS)
                elif len(products) < Most.PRODUCTS:
                    products.append(_product_of(node))
    return products, is_article


def _is_sold(types: set[str], *, has_offer: bool) -> bool:
    """Return whether it is a product, or another thing with an offer: a book, a car, an event."""
    return not types.isdisjoint(_PRODUCTS) or (
        bool(types) and types.isdisjoint(_NOT_SOLD) and has_offer
    )


def _product_of(node: dict[str, Any]) -> Product:
    parts = list(islice(_parts(node), Most.NODES))
    prices = (
        (_value(part.get(key)), _value(part.get("priceCurrency")))
        for part in parts
        for key in _PRICES
    )
    return _product(_value(node.get("name")), prices, chain.from_iterable(map(_descriptive, parts)))


def _parts(node: dict[str, Any], depth: int = 4) -> Iterator[dict[str, Any]]:
    """Yield a product, its variants and offers, and what they are made of."""
    yield node
    inner = (
        chain.from_iterable(_list(node.get(key))[: Most.VALUES] for key in _MADE_OF)
        if depth
        else ()
    )
    for part in inner:
        if isinstance(part, dict):
            yield from _parts(part, depth - 1)


def _descriptive(node: dict[str, Any]) -> Iterator[str]:
    """Yield the short values that describe a product or an offer.

    That it is new says nothing: most are.
    """
    for key, values in islice(node.items(), Most.VALUES):
        if not _NOT_DESCRIPTIVE.search(key):
            for value in _list(values)[: Most.VALUES]:
                text = _SCHEMA.sub("", _value(value))
                if (
                    len(text) <= _LONGEST_DESCRIPTIVE
                    and "://" not in text
                    and not _IS_NEW.fullmatch(text)
                ):
                    yield text


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _value(value: Any) -> str:
    """Return a value as text, plain, in a list, or in an object."""
    for _ in range(3):
        if isinstance(value, list):
            value = value[0] if value else ""
        elif isinstance(value, dict):
            value = value.get("value", value.get("name", value.get("@value", "")))
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    # The digits of a huge integer take quadratic time.
    return (
        str(value)[: Most.VALUE].strip()
        if not isinstance(value, int) or abs(value) < 10**40
        else ""
    )


def _in_meta(tree: LexborHTMLParser) -> tuple[str, list[Product]]:
    """Return the Open Graph type of a page, and the product that it is about, if any."""
    metas: list[tuple[str, str]] = []
    for attributes in (meta.attributes for meta in islice(tree.css("meta"), Most.ELEMENTS)):
        name = (attributes.get("property") or attributes.get("name") or "").lower()
        metas.append((name, " ".join((attributes.get("content") or "")[: Most.VALUE].split())))
    last, keys = dict(metas), VOCABULARY["open_graph"]
    kind, title = last.get("og:type", "").lower(), last.get("og:title", "")
    members = [(keys[name], content) for name, content in metas if name in keys]
    is_product = kind in _OPEN_GRAPH_PRODUCTS or any(key == "price" for key, _ in members)
    return kind, [_product_of_members([("name", title), *members])] if is_product else []


def _product_of_members(members: Sequence[tuple[str, str]]) -> Product:
    """Return the product of members, whose names are in lower case.

    Of several names, the first is its own.
    """
    first = dict(reversed(members))
    currency = first.get("pricecurrency", "")
    prices = [(value, currency) for key, value in members if key.endswith("price")]
    values = [value for key, value in members if key != "name" and "price" not in key]
    return _product(first.get("name", ""), prices, values)


def _in_markup(tree: LexborHTMLParser, typed: dict[int, set[str]]) -> list[Product]:
    """Return the products in microdata and RDFa.

    What a product holds describes it, up to the next product.
    """
    products: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for element in tree.css("[itemprop], [property]")[: Most.ELEMENTS] if typed else ():
        key = _last_part(
            element.attributes.get("itemprop") or element.attributes.get("property") or ""
        )
        if key in _MEMBERS:
            owners = [outer.mem_id for outer in elements_around(element) if outer.mem_id in typed]
            product = next(
                (owner for owner in owners if _is_sold(typed[owner], has_offer=True)), None
            )
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
    return (
        text_within(element, Most.VALUE)
        if content is None
        else " ".join(content[: Most.VALUE].split())
    )
