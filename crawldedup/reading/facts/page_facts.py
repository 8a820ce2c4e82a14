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
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.reading.blocks import NUMBER, blocks_without_noise
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
from crawldedup.reading.facts.product import NEAR_LINES, ProductView, product_named, titles_of
from crawldedup.reading.nodes import elements_around

if TYPE_CHECKING:
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
    titles = titles_of(page)
    layout = Layout(tree, _blocks_around(page, controls), controls)
    view = ProductView(layout, titles)
    headings = (line.text for line in layout.lines if line.is_heading)
    product = product_named(data.products, [*view.names, *titles], headings, for_sale=for_sale)
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

    def __init__(self, view: ProductView, main: str) -> None:
        self._main = f" {' '.join(words_of(plain(main)))}"
        own = [
            number
            for number, line in enumerate(view.lines)
            if line.is_row or self._is_known(line) or (line.is_label and not line.is_passing)
        ]
        # Most of the site's own text follows the product's.
        self._end = own[-1] if own else NEAR_LINES
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
            found = [] if line.is_passing else numbers(without_prices(line.plain), units=True)
            self._numbers.update(found)
        elif is_card or (line.is_passing and not line.is_prose):
            return
        elif line.is_row or line.is_label or (line.is_entry and number <= self._end + NEAR_LINES):
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
