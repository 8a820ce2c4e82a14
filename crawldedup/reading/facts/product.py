"""Decide by the lines of a page whether it is about one product, what its name is, and which prices are its own."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from crawldedup.reading.facts import limits
from crawldedup.reading.facts.prices import plain, spelled, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.reading.facts.declared import Product
    from crawldedup.reading.facts.layout import Layout, Line
    from crawldedup.reading.html import HtmlPage

NEAR_LINES: Final = 15
"""Lines behind the name, or behind the product's text, that are near it."""
# Lines between a price and the button that it belongs to.
_BESIDE_LINES: Final = 5
# So many prices under titles of their own, or buttons for different things, make a page a listing.
_LISTED: Final = 3
# Rows that make a specification.
_ROWS: Final = 2
_SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")


def titles_of(page: HtmlPage) -> list[str]:
    """Return og:title and title, if they are given, without the site's name if og:site_name tells it."""
    site = _meta_of(page, "og:site_name")
    titles = []
    for title in (_meta_of(page, "og:title"), page.title):
        parts = _SEPARATOR.split(title[: limits.VALUE])
        titles.append(" - ".join(part for part in parts if part != site) if site in parts else title[: limits.VALUE])
    return list(filter(None, titles))


def _meta_of(page: HtmlPage, name: str) -> str:
    element = page.tree.css_first(f"meta[property='{name}']")
    return "" if element is None else " ".join((element.attributes.get("content") or "").split())


def product_named(
    products: Sequence[Product], names: Sequence[str], headings: Iterable[str], *, for_sale: bool
) -> Product | None:
    """Return the one of the products whose name is the page's, or the only one of a page that sells it."""
    title = set(words_of(plain(" ".join(names))))
    known = {spelled(heading[: limits.VALUE]) for heading in headings}
    for product in products:
        words = set(words_of(plain(product.name)))
        if spelled(product.name) in known or 2 * len(words & title) >= len(words) > 0:
            return product
    return products[0] if len(products) == 1 and (for_sale or not products[0].name) else None


class ProductView:
    """The lines behind the product's name, by their numbers, and which of them have its prices.

    `cards` are lines with the prices of other products, each below a title of its own. `prices_above` stand with a
    button above the name.
    """

    def __init__(self, layout: Layout, titles: Sequence[str]) -> None:
        start, self.names = _find_name(layout.lines, titles)
        head, self.lines = layout.lines[:start], layout.lines[start:]
        sold = _beside(head, [button for button in layout.buttons if button < start]) - _priced_cards(head)
        self.prices_above = [price for number in sorted(sold) for price in head[number].prices]
        self.choices = layout.choices
        self.cards = _priced_cards(self.lines)
        self._buttons = [button - start for button in layout.buttons if button >= start]
        self._sells_several = self._has_buttons_for_several()
        self._own = [number for number, line in enumerate(self.lines) if line.prices and number not in self.cards]
        if not self._own and not self._sells_several:
            # Its own price may stand below a heading if a button is beside it, and one of a few near the name anyway.
            beside = _beside(self.lines, self._buttons)
            near = [number for number in self.cards if number < NEAR_LINES and len(self.cards) < _LISTED]
            self._own = sorted(number for number in beside if not self.lines[number - 1].is_linked) or sorted(near)
            self.cards.difference_update(self._own)

    def offers_one_product(self, *, for_sale: bool) -> bool:
        """Return whether the page is about one product: by a price near the name, or by a button and what it sells."""
        if not self.names:
            return False
        if self.prices_above or (self._buttons and self._own and not self._sells_several):
            return True
        before = self.lines[: self._own[0]] if self._own else self.lines
        listed = sorted(self.cards)
        if len(listed) >= _LISTED and self._own and listed[0] < self._own[0]:
            return False
        if self._sells_several and (not self._own or any(line.is_title for line in before)):
            return False
        if len(before) >= NEAR_LINES or not self._own:
            specified = self.lines[: listed[_LISTED - 1]] if len(listed) >= _LISTED else self.lines
            return for_sale and sum(line.is_row for line in specified) >= _ROWS
        return for_sale or (sum(line.is_prose for line in before) <= 1 and not any(line.is_heading for line in before))

    def _has_buttons_for_several(self) -> bool:
        """Return whether there are buttons under several titles, and none right below the name."""
        titles, before = [], 0
        for button in self._buttons:
            between = self.lines[before:button][::-1]
            titles.append(next((line.text for line in between if line.is_title), ""))
            before = button
        return len(set(titles) - {""}) >= _LISTED and titles[0] != ""


def _priced_cards(lines: Sequence[Line]) -> set[int]:
    """Return the numbers of the lines with prices right below titles: those of other products."""
    above = enumerate(pairwise(lines), 1)
    return {number for number, (title, line) in above if line.prices and title.is_title}


def _beside(lines: Sequence[Line], buttons: Iterable[int]) -> set[int]:
    """Return the numbers of the lines with prices next to a button."""
    near = (range(max(button - _BESIDE_LINES, 0), min(button + _BESIDE_LINES, len(lines))) for button in set(buttons))
    return {number for numbers in near for number in numbers if lines[number].prices}


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
    longest = max(map(len, parts), default=0)
    initials = {word[0] for words, _ in wanted for word in words}
    found: dict[tuple[str, ...], tuple[bool, bool, int]] = {}
    for number, line in enumerate(lines):
        initial = line.text[:1].casefold()
        if len(line.text) > longest or (initial not in initials and initial.isascii() and initial.isalnum()):
            continue
        if not line.words:
            continue
        if any(len(line.words) >= most and words.issuperset(line.words) for words, most in wanted):
            rank = (line.is_linked, not line.is_heading, number)
            found[tuple(line.words)] = min(rank, found.get(tuple(line.words), rank))
    own = [rank for rank in found.values() if not rank[0]] or list(found.values())
    headings = [rank for rank in own if not rank[1]]
    return sorted(number for _, _, number in headings or own)
