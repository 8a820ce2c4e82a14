"""Find the facts of a page: what tells it from pages that read alike.

Two products of one shop may share a template, a description, and all but one word or number of the rest. No
similarity of texts tells those from two copies of one page. So a page about one product has the product's attributes
as facts: its name, prices and specification. Pages of different facts are never duplicates of each other; pages of
equal facts are compared like any other.

Every view of a product must have equal facts: with a session id, printed, in another template. So they are what the
page shows. Its structured data say that it is a product page and which name is the product's, and add what is not
shown.

A page is about a product if its structured data say so, if a price stands by itself near its name, or if it has a buy
control with a price or a specification. Listings and articles are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.errors import PageError
from crawldedup.facts import limits
from crawldedup.facts.attributes import ProductAttributes
from crawldedup.facts.buttons import buy_controls, may_be_for_sale
from crawldedup.facts.layout import Layout
from crawldedup.facts.names import product_named, titles_of
from crawldedup.facts.numerals import numbers, numbers_in_words, plain
from crawldedup.facts.prices import may_hold_a_price
from crawldedup.facts.product import ProductView
from crawldedup.facts.structured_data import may_hold_product_data, structured_data

if TYPE_CHECKING:
    from crawldedup.facts.schema_org import Product
    from crawldedup.facts.structured_data import StructuredData
    from crawldedup.text.extract import HtmlPage, PageText


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
        raise PageError("broken", f"looking for a product failed: {type(error).__name__}: {error}") from error
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
    """Return the attributes of the product that a page is about, one a line."""
    is_short = len(main) <= limits.DESCRIPTION
    may_show = is_short and (may_hold_a_price(page.html) or may_be_for_sale(page.html))
    if not may_show and not may_hold_product_data(page.html):
        return []
    try:
        tree = page.tree
    except PageError:
        return []
    data = structured_data(tree)
    controls = buy_controls(tree)
    for_sale = bool(controls)
    if not (may_show or for_sale or data.all_products) or (data.is_article and not for_sale):
        return []
    titles = titles_of(tree)
    layout = Layout(tree, controls)
    view = ProductView(layout, titles)
    headings = (line.text for line in layout.lines if line.is_heading)
    product = product_named(data, [*view.names, *titles], headings, for_sale=for_sale)
    if _is_article(data, product, for_sale=for_sale):
        return []
    if product is None and not (is_short and view.offers_one_product(for_sale=for_sale)):
        return []
    attributes = ProductAttributes.of(view, main)
    if product is not None:
        attributes.add_unshown(product)
    return attributes.lines()


def _is_article(data: StructuredData, product: Product | None, *, for_sale: bool) -> bool:
    """Return whether a page is an article by its structured data, and neither has a buy control nor an offer."""
    if product is None and data.is_article:
        return True
    return data.calls_itself_article and not for_sale and (product is None or not product.prices)
