"""Find the facts of a page: what tells it from pages that read alike.

Two products of one shop may share all but one word or number, so no similarity of texts tells them from two copies of
one page. So a page about one product has the product's attributes as facts: its name, prices and specification. Pages
of different facts are never duplicates of each other. Every view of a product must have equal facts: with a session
id, printed, in another template. So they are what the page shows; its structured data add what is not shown.

A page is about a product if its structured data say so, if a price stands by itself near its name, or if it has a buy
control with a price or a specification. Listings and articles are not.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.reading.blocks import NUMBER, blocks_without_noise, elements_around
from crawldedup.reading.facts import limits
from crawldedup.reading.facts.buttons import buy_buttons, buy_controls
from crawldedup.reading.facts.declared import may_declare_product, read_declared
from crawldedup.reading.facts.layout import Layout
from crawldedup.reading.facts.prices import (
    numbers,
    numbers_in_words,
    plain,
    show_a_price,
    spelled,
    without_prices,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from selectolax.lexbor import LexborNode

    from crawldedup.reading.blocks import Blocks
    from crawldedup.reading.extract import PageText
    from crawldedup.reading.facts.declared import Product
    from crawldedup.reading.facts.layout import Line
    from crawldedup.reading.html import HtmlPage

_ASIDE: Final = NUMBER["aside"]
# More buy controls in an aside are those of other products.
_BUTTONS_IN_A_BOX: Final = 3
# So many words in the order of the main text are a part of it.
_KNOWN_WORDS: Final = 5
# Articles say when they were published.
_DATED_ARTICLE: Final = "meta[property^='article:'], article time"
_DIGITS_ONLY: Final = re.compile(r"[\d\W]+")
# Lines behind the name, or behind the product's text, that are near it.
_NEAR_LINES: Final = 15
# Lines between a price and the button that it belongs to.
_BESIDE_LINES: Final = 5
# So many prices under titles of their own, or buttons for different things, make a page a listing.
_LISTED: Final = 3
# Lines of prose between the name and the price of a page that sells something.
_PROSE_ABOVE: Final = 3
# Rows that make a specification.
_ROWS: Final = 2
_SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")
_DATE: Final = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}:\d\d")


def page_facts(page: PageText, distinguish: str) -> str | None:
    """Return the facts of a page, one a line; None if there are none. Raises PageError.

    "products" gives the attributes of a product page. "numbers" adds the numbers of the main text in order, so that
    two rows that swap theirs differ. A page too short to be fingerprinted has no facts.
    """
    if distinguish == "nothing" or page.whole is not None:
        return None
    try:
        attributes = _attributes(page.source, page.main)
    # Parsers may raise anything on hostile input, RecursionError and MemoryError included.
    except Exception as error:
        raise PageError.after(error, "looking for a product") from error
    return "\n".join([*attributes, *_numbers(page.main, distinguish)]) or None


def text_facts(main: str, distinguish: str) -> str | None:
    """Return the facts of a text without HTML: its numbers for "numbers", else None."""
    return "\n".join(_numbers(main, distinguish)) or None


def _numbers(main: str, distinguish: str) -> list[str]:
    if distinguish != "numbers":
        return []
    text = plain(main)
    return [f"numbers {' '.join(found)}" for found in (numbers(text), numbers_in_words(text)) if found]


def _attributes(page: HtmlPage, main: str) -> list[str]:
    tree = page.tree
    is_short = len(main) <= limits.DESCRIPTION
    shows_price = is_short and show_a_price((text for text, _, _ in page.blocks.lines), page.html)
    buttons = buy_buttons(tree)
    if not (shows_price or buttons or may_declare_product(page.html)):
        return []
    data = read_declared(tree)
    if not (shows_price or buttons or data.products):
        return []
    controls = buy_controls(tree, buttons)
    for_sale = bool(controls)
    is_dated = not for_sale and tree.css_first(_DATED_ARTICLE) is not None
    if not for_sale and (data.is_article or (is_dated and not data.products)):
        return []
    titles = _titles_of(page)
    layout = Layout(tree, _blocks_around(page, controls), controls)
    view = _ProductView(layout, titles)
    headings = (line.text for line in layout.lines if line.is_heading)
    product = _product_named(data.products, [*view.names, *titles], headings, for_sale=for_sale)
    may_be_shown = is_short and not (data.is_article or is_dated)
    if product is None and not (may_be_shown and view.offers_one_product(for_sale=for_sale)):
        return []
    if data.calls_itself_article and not for_sale and (product is None or not product.prices):
        return []
    attributes = _Attributes(view, main)
    if product is not None:
        attributes.add_unshown(product)
    return attributes.lines()


def _blocks_around(page: HtmlPage, controls: list[LexborNode]) -> Blocks:
    """Return the blocks of a page without noise, but with the asides that sell its product."""
    around = (outer for control in controls for outer in elements_around(control))
    asides = Counter(outer.mem_id for outer in around if outer.tag_id == _ASIDE)
    boxes = {aside for aside, count in asides.items() if count <= _BUTTONS_IN_A_BOX}
    return blocks_without_noise(page.tree, page.holders | boxes) if boxes else page.blocks


class _Attributes:
    """The attributes that a page shows of its product, and those that only its structured data give, as sets.

    They leave out what differs from visit to visit: other products, reviews, stock, delivery, dates. A description
    that differs in words alone is left to the similarity.
    """

    def __init__(self, view: _ProductView, main: str) -> None:
        self._main = f" {' '.join(words_of(plain(main)))}"
        own = [
            number
            for number, line in enumerate(view.lines)
            if line.is_row or self._is_known(line) or (line.is_label and not line.is_passing)
        ]
        # Most of the site's own text follows the product's.
        self._end = own[-1] if own else _NEAR_LINES
        self._names = {spelled(name[: limits.VALUE]) for name in view.names} - {""}
        self._prices = set(view.prices_above)
        self._rows = {spelled(choice) for choice in view.choices} - {""}
        self._numbers: set[str] = set()
        self._unshown: set[str] = set()
        for number, line in enumerate(view.lines):
            if line.is_row or line.is_item or line.is_label or line.may_hold_numbers:
                self._read(number, line, is_card=number in view.cards)

    def _read(self, number: int, line: Line, *, is_card: bool) -> None:
        if line.prices and (line.is_row or not is_card):
            self._prices.update(line.prices)
            if not line.is_passing:
                self._numbers.update(numbers(without_prices(line.plain), units=True))
        elif is_card or (line.is_passing and not line.is_prose):
            return
        elif line.is_row or line.is_label or (line.is_entry and number <= self._end + _NEAR_LINES):
            self._rows.add(spelled(line.text))
        elif not line.is_linked and (not line.is_prose or self._is_known(line)):
            found = numbers(_DATE.sub(" ", line.plain), units=True)
            # Behind the product's text, years and telephone numbers are the site's.
            self._numbers.update(text for text in found if number <= self._end or not _DIGITS_ONLY.fullmatch(text))

    def _is_known(self, line: Line) -> bool:
        """Return whether a line is prose of the main text."""
        return line.is_prose and f" {' '.join(line.words[:_KNOWN_WORDS])}" in self._main

    def add_unshown(self, product: Product) -> None:
        """Add what the structured data give and the page does not show. A print view has no structured data."""
        name = set(words_of(plain(product.name)))
        if not any(name <= set(words_of(known)) for known in self._names):
            self._unshown.add(spelled(product.name))
        amounts = {price.amount: price.currency for price in self._prices}
        # The page may give no currency, or its data none.
        self._prices |= {
            price
            for price in product.prices
            if price.amount not in amounts or (price.currency and amounts[price.amount])
        }
        shown = f" {' '.join((*self._rows, *self._names))} "
        for value in product.attributes | product.ids:
            text = spelled(value)
            if text and text not in self._numbers and f" {text} " not in shown:
                self._unshown.add(text)

    def lines(self) -> list[str]:
        """Return one line of text for each attribute, sorted."""
        shown = {"name": self._names, "price": map(str, self._prices), "row": self._rows, "number": self._numbers}
        kinds = {**shown, "declared": self._unshown}
        return sorted({f"{kind} {value}" for kind, values in kinds.items() for value in values})


def _titles_of(page: HtmlPage) -> list[str]:
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


def _product_named(
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


class _ProductView:
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
            near = [number for number in self.cards if number < _NEAR_LINES and len(self.cards) < _LISTED]
            self._own = sorted(number for number in beside if not self.lines[number - 1].is_linked) or sorted(near)
            self.cards.difference_update(self._own)

    def offers_one_product(self, *, for_sale: bool) -> bool:
        """Return whether the page is about one product: by a price near the name, or by a button and what it sells."""
        if not self.names:
            return False
        stands_alone = any(self.lines[number].stands_alone for number in self._own)
        if self.prices_above or (self._buttons and stands_alone and not self._sells_several):
            return True
        before = self.lines[: self._own[0]] if self._own else self.lines
        listed = sorted(self.cards)
        if len(listed) >= _LISTED and self._own and listed[0] < self._own[0]:
            return False
        if self._sells_several and (not self._own or any(line.is_title for line in before)):
            return False
        if len(before) >= _NEAR_LINES or not self._own:
            specified = self.lines[: listed[_LISTED - 1]] if len(listed) >= _LISTED else self.lines
            return for_sale and sum(line.is_row for line in specified) >= _ROWS
        prose = sum(line.is_prose for line in before)
        if for_sale:
            return prose <= _PROSE_ABOVE
        return prose <= 1 and stands_alone and not any(line.is_heading for line in before)

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
    ways = (range(max(button - _BESIDE_LINES, 0), min(button + _BESIDE_LINES, len(lines))) for button in set(buttons))
    return {number for way in ways for number in way if lines[number].prices}


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
