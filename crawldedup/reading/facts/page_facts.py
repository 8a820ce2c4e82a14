"""Find the facts of a page: what tells it from pages that read alike.

Two products of one shop may share all but one word or number, so no similarity of texts tells them
from two copies of one page. So a page about one product has the product's attributes as facts: its
name, prices and specification. Pages of different facts are never duplicates of each other. Every
view of a product must have equal facts: with a session id, printed, in another template. So they
are what the page shows; its structured data add what is not shown.

A page is about a product if its structured data say so, if a price stands by itself near its name,
or if it has a buy control with a price or a specification. Listings and articles are not.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from crawldedup.errors import PageError
from crawldedup.reading import blocks as walk
from crawldedup.reading.extract import PageText
from crawldedup.reading.facts import declared
from crawldedup.reading.facts.declared import (
    Most,
    Product,
    numbers,
    plain,
    spelled,
    words_of,
)
from crawldedup.reading.facts.layout import (
    BUTTONS,
    DATE,
    DATED_ARTICLE,
    DIGITS_ONLY,
    KNOWN_WORDS,
    LISTED,
    NEAR_LINES,
    PASSING,
    SEPARATOR,
    SPECIFICATION,
    Layout,
    Line,
    sells,
)
from crawldedup.reading.html import HtmlPage


def page_facts(page: PageText, distinguish: str) -> str | None:
    """Return the facts of a page, one a line; None if there are none. Raises PageError.

    "products" gives the attributes of a product page. "numbers" adds the main headings, and the
    numbers of the main text in order, so that two rows that swap theirs differ. A page too short to
    be fingerprinted has no facts.
    """
    if distinguish == "nothing" or page.whole is not None:
        return None
    try:
        attributes = _attributes(page.source, page.main)
    # Parsers may raise anything on hostile input, RecursionError and MemoryError included.
    except Exception as error:
        raise PageError.after(error, "looking for a product") from error
    if distinguish == "numbers":
        attributes += [
            f"heading {spelled(h1.text()[: Most.VALUE])}" for h1 in page.source.tree.css("h1")[:9]
        ]
    return "\n".join(filter(None, [*attributes, text_facts(page.main, distinguish)])) or None


def text_facts(main: str, distinguish: str) -> str | None:
    """Return the facts of a text without HTML: its numbers for "numbers", else None."""
    if distinguish != "numbers":
        return None
    text = plain(main)
    found = (numbers(text), declared.HAN_NUMBER.findall(text))
    return "\n".join([f"numbers {' '.join(words)}" for words in found if words]) or None


def _attributes(page: HtmlPage, main: str) -> list[str]:
    tree = page.tree
    products, is_article, calls_itself_article = declared.read_declared(tree)
    has_button, is_short = sells(tree, BUTTONS), len(main) <= Most.DESCRIPTION
    shown = (text for text, _, _ in page.blocks.lines)
    if not (products or has_button or (is_short and declared.show_a_price(shown, page.html))):
        return []
    for_sale = has_button or sells(tree, "a")
    is_dated = not for_sale and tree.css_first(DATED_ARTICLE) is not None
    if not for_sale and (is_article or (is_dated and not products)):
        return []
    titles = list(filter(None, dict.fromkeys([page.name[: Most.VALUE], page.title[: Most.VALUE]])))
    # An aside that sells something is no boilerplate.
    boxes = {
        aside.mem_id
        for aside in tree.css("aside")[: Most.ASIDES]
        if has_button and sells(aside, BUTTONS)
    }
    blocks = walk.blocks_without_noise(tree, page.holders | boxes) if boxes else page.blocks
    view = _ProductView(
        Layout(tree, blocks, page.holders), titles, for_sale=for_sale, has_button=has_button
    )
    product = view.product_of(products)
    may_be_shown = is_short and not (is_article or is_dated)
    if product is None and not (may_be_shown and view.offers_one_product()):
        return []
    if calls_itself_article and not for_sale and (product is None or not product.prices):
        return []
    return view.attributes(main, product)


class _ProductView:
    """What a page shows of its product: the lines behind the name, by their numbers.

    `_own` are those with its prices, `_cards` those with the prices of other products, each below a
    title of its own.
    """

    def __init__(
        self, layout: Layout, titles: Sequence[str], *, for_sale: bool, has_button: bool
    ) -> None:
        self._for_sale = for_sale
        start, self._names = _find_name(layout.lines, titles)
        self._title = set(words_of(plain(" ".join([*self._names, *titles]))))
        self._headings = {
            spelled(line.text[: Most.VALUE]) for line in layout.lines if line.is_heading
        }
        self._lines = layout.lines[start:]
        self._choices = layout.choices
        self._own, self._cards = _prices_in(self._lines)
        # The box with the price and the button may stand above the name.
        above = layout.lines[:start] if has_button else []
        self._above = {price for number in _prices_in(above)[0] for price in above[number].prices}

    def product_of(self, products: Sequence[Product]) -> Product | None:
        """Return the one of the products whose name is the page's, or the only one of a page that
        sells it.
        """
        for product in products:
            words = set(words_of(plain(product.name)))
            if (
                spelled(product.name) in self._headings
                or 2 * len(words & self._title) >= len(words) > 0
            ):
                return product
        return (
            products[0] if len(products) == 1 and (self._for_sale or not products[0].name) else None
        )

    def offers_one_product(self) -> bool:
        """Return whether the page is about one product: by a price near the name, or by a button
        and what it sells.
        """
        if not self._names:
            return False
        is_listing, rows = len(self._cards) >= LISTED, sum(line.is_row for line in self._lines)
        if self._for_sale and ((self._above and not is_listing) or rows >= SPECIFICATION):
            return True
        if not self._own or (is_listing and self._cards[0] < self._own[0]):
            return False
        between = (self._lines[start:end] for start, end in pairwise([0, *self._own]))
        if len(self._own) >= LISTED and all(
            any(line.is_heading for line in lines) for lines in between
        ):
            return False
        before = self._lines[: self._own[0]]
        is_near = len(before) < NEAR_LINES and not any(line.is_heading for line in before)
        return self._for_sale or (is_near and sum(line.is_prose for line in before) <= 1)

    def attributes(self, main: str, product: Product | None) -> list[str]:
        """Return the attributes that the page shows, and those that only its structured data give,
        sorted.

        They leave out what differs from visit to visit: other products, reviews, stock, delivery,
        dates. A description that differs in words alone is left to the similarity.
        """
        text = f" {' '.join(words_of(plain(main)))}"
        prose = [(number, line) for number, line in enumerate(self._lines) if line.is_prose]
        known = {
            number for number, line in prose if f" {' '.join(line.words[:KNOWN_WORDS])}" in text
        }
        rows = [number for number, line in enumerate(self._lines) if line.is_row]
        # Most of the site's own text follows the product's.
        end = max((*known, *rows), default=NEAR_LINES)
        names = {spelled(name[: Most.VALUE]) for name in self._names}
        shown = defaultdict[str, set[str]](set, name=names, row=set(map(spelled, self._choices)))
        amounts = set(self._above)
        # Its price may stand right below a link, such as that to the cart.
        cards = set(self._cards if self._own else self._cards[1:])
        for number, line in enumerate(self._lines):
            if not (line.is_row or line.is_entry or line.has_digits):
                continue
            if line.prices and (line.is_row or number not in cards):
                amounts.update(line.prices)
                if not PASSING.search(line.text):
                    shown["number"].update(numbers(declared.without_prices(line.text), units=True))
            elif number in cards or (not line.is_prose and PASSING.search(line.text)):
                continue
            elif line.is_row or (line.is_entry and number <= end + NEAR_LINES):
                shown["row"].add(spelled(line.text))
            elif not line.is_linked and (not line.is_prose or number in known):
                found = numbers(DATE.sub(" ", line.text), units=True)
                # Behind the product's text, years and telephone numbers are the site's.
                shown["number"].update(
                    word for word in found if number <= end or not DIGITS_ONLY.fullmatch(word)
                )
        if product is not None:
            _add_unshown(shown, amounts, product)
        shown["price"] = set(map(str, amounts))
        return sorted(
            {f"{kind} {value}" for kind, values in shown.items() for value in values if value}
        )


def _prices_in(lines: Sequence[Line]) -> tuple[list[int], list[int]]:
    """Return the numbers of the lines with a product's prices, and of those right below titles of
    other products.
    """
    priced = [number for number, line in enumerate(lines) if line.prices]
    cards = [
        number
        for number in priced
        if number and (lines[number - 1].is_heading or lines[number - 1].is_linked)
    ]
    if len(cards) == len(priced) < LISTED:
        return cards, []
    return sorted({*priced}.difference(cards)), cards


def _add_unshown(shown: dict[str, set[str]], prices: set[declared.Price], product: Product) -> None:
    """Add what the structured data give and the page does not show.

    A print view has no structured data.
    """
    words = set(words_of(plain(product.name)))
    if not any(words <= set(words_of(name)) for name in shown["name"]):
        shown["declared"].add(spelled(product.name))
    amounts = {price.amount: price.currency for price in prices}
    # The page may give no currency, or its data none.
    prices |= {
        price
        for price in product.prices
        if price.amount not in amounts or (price.currency and amounts[price.amount])
    }
    text = f" {' '.join((*shown['row'], *shown['name']))} "
    for value in map(spelled, product.attributes):
        if value not in shown["number"] and f" {value} " not in text:
            shown["declared"].add(value)


def _find_name(lines: Sequence[Line], titles: Sequence[str]) -> tuple[int, list[str]]:
    """Return the number of the line behind the name, and the name: the lines that repeat a part of
    a title.

    One of them may be the site's, so all of them above the first price are taken, but links are the
    last choice and headings the first. Without any, the name is the title and the first heading,
    which may have the price in it.
    """
    titles = list(map(plain, titles))
    parts = [words_of(part) for title in titles for part in (*SEPARATOR.split(title), title)]
    longest = max(map(len, titles), default=0)
    wanted = [(len(words) / 2, set(words)) for words in parts if words]
    said = [
        number
        for number, line in enumerate(lines)
        if 0 < len(line.text) <= longest
        and any(len(line.words) >= most and words.issuperset(line.words) for most, words in wanted)
    ]
    said = [number for number in said if not lines[number].is_linked] or said
    said = [number for number in said if lines[number].is_heading] or said
    found = sorted({tuple(lines[number].words): number for number in reversed(said)}.values())
    if found:
        first_price = next((number for number, line in enumerate(lines) if line.prices), len(lines))
        taken = [number for number in found if number < first_price] or found[:1]
        return taken[-1] + 1, [lines[number].text for number in taken]
    start = next((number for number, line in enumerate(lines) if line.is_heading), -1)
    heading = lines[start : start + 1]
    has_price = any(price.currency for line in heading for price in line.prices)
    return start if has_price else start + 1, [*titles[:1], *(line.text for line in heading)]
