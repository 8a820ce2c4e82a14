"""Products in the vocabulary of https://schema.org/Product, whatever the syntax."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from crawldedup.facts import limits
from crawldedup.facts.prices import price_of
from crawldedup.facts.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.facts.prices import Price

PRODUCTS: Final = frozenset(VOCABULARY["product_types"])
ARTICLES: Final = frozenset(VOCABULARY["article_types"])
NOT_SOLD: Final = ARTICLES | frozenset(VOCABULARY["other_types"])
IDS: Final = ("sku", "mpn", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "isbn", "productID", "productGroupID")
ATTRIBUTES: Final = ("color", "size", "material", "model", "pattern", "width", "height", "depth", "weight")
PRICES: Final = ("price", "lowPrice", "highPrice")


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
