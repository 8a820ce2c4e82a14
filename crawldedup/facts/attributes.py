"""Collect the attributes that a page shows of a product, and those that only its structured data give.

They leave out what differs from visit to visit: other products, reviews, stock, delivery, dates. Attributes are a
set: names, prices, rows of a specification ("Colour: red"), and all numbers with their units in the product's text.
A description that differs in words alone is left to the similarity.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from crawldedup.facts import limits
from crawldedup.facts.lines import spelled, words_of
from crawldedup.facts.numerals import numbers, plain
from crawldedup.facts.prices import without_prices
from crawldedup.facts.product import NEAR_LINES

if TYPE_CHECKING:
    from crawldedup.facts.lines import Line
    from crawldedup.facts.prices import Price
    from crawldedup.facts.product import ProductView
    from crawldedup.facts.schema_org import Product

# A shorter identifier of the structured data may be shown as the number of another thing.
_ID_SIZE: Final = 4
# So many words in the order of the main text are a part of it.
_KNOWN_WORDS: Final = 5
_DIGITS_ONLY: Final = re.compile(r"[\d\W]+")
_DATE: Final = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}:\d\d")


@dataclass(slots=True)
class ProductAttributes:
    """The attributes of a product; `unshown` are those of the structured data that the page does not show."""

    names: set[str] = field(default_factory=set)
    prices: set[Price] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    unshown: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, view: ProductView, main: str) -> Self:
        """Collect what a page shows. `main` is its main text."""
        own = _OwnText(view, main)
        found = cls({spelled(plain(name[: limits.VALUE])) for name in view.names} - {""}, set(view.prices_above))
        own_prices = {*view.price_block, *view.sold}
        for number, line in enumerate(view.lines):
            if number in own_prices or (line.is_row and not line.is_linked and line.prices):
                found.prices.update(line.prices)
                if not line.is_passing:
                    found.numbers.update(numbers(without_prices(line.plain), units=True))
            elif number in view.cards or (line.is_passing and not line.is_prose):
                continue
            elif own.is_specification(number, line):
                found.rows.add(spelled(line.plain))
            else:
                found.numbers.update(own.numbers_of(number, line))
        return found

    def add_unshown(self, product: Product) -> None:
        """Add what the structured data give and the page does not show. A print view has no structured data."""
        name = set(words_of(plain(product.name)))
        if not any(name <= set(words_of(known)) for known in self.names):
            self.unshown.add(spelled(plain(product.name)))
        amounts = {price.amount: price.currency for price in self.prices}
        # The page may give no currency, or its data none.
        self.prices |= {
            price
            for price in product.prices
            if price.amount not in amounts or (price.currency and amounts[price.amount])
        }
        shown = f" {' '.join((*self.rows, *self.names))} "
        for value in product.attributes | product.ids:
            text = spelled(plain(value))
            is_sure = len(text) >= _ID_SIZE or value in product.attributes
            is_shown = text in self.numbers or f" {text} " in shown
            if text and not (is_shown and is_sure):
                self.unshown.add(text)

    def lines(self) -> list[str]:
        """Return one line of text for each attribute, sorted."""
        shown = {"name": self.names, "price": map(str, self.prices), "row": self.rows, "number": self.numbers}
        kinds = {**shown, "declared": self.unshown}
        return sorted({f"{kind} {value}" for kind, values in kinds.items() for value in values})


class _OwnText:
    """Tells the product's own text from the site's, most of which follows it."""

    def __init__(self, view: ProductView, main: str) -> None:
        words = words_of(plain(main))
        self._known = set(zip(*(words[first:] for first in range(_KNOWN_WORDS)), strict=False))
        own = (
            number
            for number, line in enumerate(view.lines)
            if line.is_row or self._is_known(line) or (line.is_label and not line.is_passing)
        )
        self._end = max(own, default=NEAR_LINES)

    def _is_known(self, line: Line) -> bool:
        """Return whether it is prose of the main text."""
        return line.is_prose and tuple(line.words[:_KNOWN_WORDS]) in self._known

    def is_specification(self, number: int, line: Line) -> bool:
        """Return whether a line is a row of the specification."""
        return line.is_row or line.is_label or (line.is_entry and number <= self._end + NEAR_LINES)

    def numbers_of(self, number: int, line: Line) -> list[str]:
        """Return the product's numbers in a line. Behind its text, years and telephone numbers are the site's."""
        if line.is_linked or (line.is_prose and not self._is_known(line)):
            return []
        found = numbers(_DATE.sub(" ", line.plain), units=True)
        return [value for value in found if number <= self._end or not _DIGITS_ONLY.fullmatch(value)]
