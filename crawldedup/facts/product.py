"""Decide by the lines of a page whether it is about one product, what its name is, and which prices are its own."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from crawldedup.facts import limits
from crawldedup.facts.lines import spelled, words_of
from crawldedup.facts.prices import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selectolax.lexbor import LexborHTMLParser

    from crawldedup.facts.layout import Layout
    from crawldedup.facts.lines import Line
    from crawldedup.facts.schema_org import Product

NEAR_LINES: Final = 15
"""Lines behind the name, or behind the product's text, that are near it."""
# Lines between a price and the button that it belongs to.
_BESIDE_LINES: Final = 5
# So many prices under titles of their own, or buttons for different things, make a page a listing.
_LISTED: Final = 3
# Lines of prose between the name and the price of a page that sells something.
_PROSE_ABOVE: Final = 3
# Rows that make a specification.
_ROWS: Final = 2
# The name is among the first lines.
_NAMED_LINES: Final = 300
_SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")
_OPEN_GRAPH: Final = "meta[property='og:title'], meta[property='og:site_name']"


def titles_of(tree: LexborHTMLParser) -> list[str]:
    """Return og:title and title, if they are given, without the site's name if og:site_name tells it."""
    meta: dict[str | None, str] = {}
    for element in tree.css(_OPEN_GRAPH):
        meta.setdefault(element.attributes.get("property"), element.attributes.get("content") or "")
    title = tree.css_first("title")
    texts = (meta.get("og:title", ""), "" if title is None else title.text())
    site = " ".join(meta.get("og:site_name", "").split())
    titles = [" ".join(text[: 2 * limits.VALUE].split())[: limits.VALUE] for text in texts]
    for number, parts in enumerate(map(_SEPARATOR.split, titles)):
        if site and site in parts:
            titles[number] = " - ".join(part for part in parts if part != site)
    return list(filter(None, titles))


def product_named(
    products: Sequence[Product], names: Sequence[str], headings: Iterable[str], *, for_sale: bool
) -> Product | None:
    """Return the one of the products whose name is the page's, or the only one of a page that sells it."""
    title = set(words_of(plain(" ".join(names))))
    known = {spelled(plain(heading[: limits.VALUE])) for heading in headings}
    for product in products:
        words = set(words_of(plain(product.name)))
        if spelled(plain(product.name)) in known or 2 * len(words & title) >= len(words) > 0:
            return product
    return products[0] if len(products) == 1 and (for_sale or not products[0].name) else None


class ProductView:
    """The lines behind the product's name, by their numbers, and the prices that are its own."""

    def __init__(self, layout: Layout, titles: Sequence[str]) -> None:
        self.choices = layout.choices
        start, self.names = _find_name(layout.lines, titles)
        head = layout.lines[:start]
        sold = _beside(head, [button for button in layout.buttons if button < start]) - _priced_cards(head)
        self.prices_above = [price for number in sorted(sold) for price in head[number].prices]
        self.lines = layout.lines[start:]
        self._buttons = [button - start for button in layout.buttons if button >= start]

    def offers_one_product(self, *, for_sale: bool) -> bool:
        """Return whether the page is about one product: by a price near the name, or by a button and what it sells."""
        if not self.names:
            return False
        if self.prices_above or self.sold:
            return True
        if self._is_listing:
            return False
        if not self.price_block:
            return for_sale and sum(line.is_row for line in self.lines) >= _ROWS
        return self._price_is_near_the_button() if for_sale else self._price_is_near_the_name()

    def _price_is_near_the_button(self) -> bool:
        """Return whether little prose comes before the price; far below, a price behind a link is another product's."""
        first = self.price_block[0]
        prose = sum(line.is_prose for line in self.lines[:first])
        return prose <= _PROSE_ABOVE or (bool(self._buttons) and not self.lines[first - 1].is_linked)

    def _price_is_near_the_name(self) -> bool:
        before = self.lines[: self.price_block[0]]
        return (
            sum(line.is_prose for line in before) <= 1
            and not any(line.is_heading for line in before)
            and any(self.lines[number].stands_alone for number in self.price_block)
        )

    @cached_property
    def price_block(self) -> list[int]:
        """The first lines with prices, in a row: 99.00, now 74.00. None if they are far from the name."""
        priced = [number for number, line in enumerate(self.lines[: 2 * NEAR_LINES]) if line.prices]
        if not priced or priced[0] >= NEAR_LINES:
            return []
        return [number for index, number in enumerate(priced) if number - priced[0] == index]

    @cached_property
    def cards(self) -> set[int]:
        """The lines with the prices of other products."""
        return _priced_cards(self.lines)

    @cached_property
    def sold(self) -> set[int]:
        """The lines with the prices that belong to the buttons, as near to one as there are any."""
        if not self._buttons or self._buttons_sell_several:
            return set()
        own = [button for button, title in zip(self._buttons, self._button_titles, strict=True) if not title]
        if sold := _beside(self.lines, own) - self.cards:
            return sold
        if self.price_block:
            return set()
        if sold := _beside(self.lines, self._buttons):
            return {number for number in sold if number not in self.cards or not self.lines[number - 1].is_linked}
        # Price and button may be far apart.
        return {
            number
            for number, line in enumerate(self.lines)
            if number not in self.cards and line.prices and line.stands_alone
        }

    @cached_property
    def _is_listing(self) -> bool:
        """Whether the first price is one of several under titles, or there is a button for each of them."""
        first = self.price_block[0] if self.price_block else None
        if len(self.cards) >= _LISTED and (first is None or first in self.cards):
            return True
        return self._buttons_sell_several and (first is None or any(line.is_title for line in self.lines[:first]))

    @cached_property
    def _button_titles(self) -> list[str]:
        """The title of what each button buys, the last between it and the button before; "" for none."""
        titles, before = [], 0
        for button in self._buttons:
            between = self.lines[before:button][::-1]
            titles.append(next((line.text for line in between if line.is_title), ""))
            before = button
        return titles

    @cached_property
    def _buttons_sell_several(self) -> bool:
        """Whether there are buttons for several things, and none right below the name."""
        return len(set(self._button_titles) - {""}) >= _LISTED and self._button_titles[0] != ""


def _priced_cards(lines: Sequence[Line]) -> set[int]:
    """Return the numbers of the lines with prices right below titles: those of other products."""
    above = enumerate(pairwise(lines), 1)
    return {number for number, (title, line) in above if line.prices and title.is_title}


def _beside(lines: Sequence[Line], buttons: Iterable[int]) -> set[int]:
    """Return the numbers of the lines with prices next to a button, with no title nor prose between."""
    found: set[int] = set()
    for button in set(buttons):
        above = range(button - 1, max(button - 1 - _BESIDE_LINES, -1), -1)
        for way in (above, range(button, min(button + _BESIDE_LINES, len(lines)))):
            near = takewhile(lambda number: not (lines[number].is_title or lines[number].is_prose), way)
            found.update(number for number in near if lines[number].prices)
    return found


def _find_name(lines: Sequence[Line], titles: Sequence[str]) -> tuple[int, list[str]]:
    """Return the number of the line behind the name, and the name: the lines that repeat a part of a title.

    One of them may be the site's, so all of them above the first price are taken, but not headings that are links.
    Without any, the name is the first part of the title, or else the first heading.
    """
    found = _naming_lines(lines, [part for title in titles for part in _parts_of(title)])
    if found:
        first_price = next((number for number, line in enumerate(lines) if line.prices), len(lines))
        taken = [number for number in found if number < first_price] or found[:1]
        return taken[-1] + 1, [lines[number].text for number in taken]
    start = next((number for number, line in enumerate(lines, 1) if line.is_heading), 0)
    return start, _parts_of(titles[0])[:1] if titles else [line.text for line in lines[:start][-1:]]


def _parts_of(title: str) -> list[str]:
    """Return the parts of a title, which sites put their own name into; the whole of it last."""
    parts = [part.strip() for part in _SEPARATOR.split(title) if part.strip()]
    return [*parts, title] if len(parts) > 1 else [title]


def _naming_lines(lines: Sequence[Line], parts: Sequence[str]) -> list[int]:
    """Return the numbers of the lines that say a part of the title, in order; the best one for each text."""
    wanted = [(set(words), len(words) / 2) for words in (words_of(plain(part)) for part in parts)]
    found: dict[tuple[str, ...], tuple[bool, bool, int]] = {}
    for number, line in enumerate(lines[:_NAMED_LINES]):
        if len(line.text) > limits.VALUE or not line.words:
            continue
        if any(len(line.words) >= most and words.issuperset(line.words) for words, most in wanted):
            rank = (line.is_linked, not line.is_heading, number)
            found[tuple(line.words)] = min(rank, found.get(tuple(line.words), rank))
    own = [rank for rank in found.values() if not rank[0]] or list(found.values())
    headings = [rank for rank in own if not rank[1]]
    return sorted(number for _, _, number in headings or own)
