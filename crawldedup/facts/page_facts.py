"""What tells a page from others that read alike: the facts of a product, or the numbers of any page.

Two products of one shop may share a template, a description, and all but one word or number of the rest. No
similarity of texts tells those from two copies of one page, so pages that are about one product are told
apart by their facts: its name, its price, and its specification. Pages of different facts are never
duplicates of each other, and pages of equal facts are compared like any other.

So facts must be equal in every view of one product: with a session id, printed, in another template. They
are therefore taken from what the page shows; what it declares for machines says that it is a product page,
which of its names is the product's, and is added where the page does not show it. And they leave out what
differs from visit to visit: other products, reviews, stock, delivery, dates.

Facts are a set: names, prices, rows of a specification (tables, lists of terms, "Colour: red"), and all numbers
with their units in the rest of the product's text. A description that differs in words alone is left to the
similarity.

A page is about a product if it says so (JSON-LD, microdata, RDFa, Open Graph), or if a price stands by itself
near its name, or if it has a button to buy and a price or a specification, wherever those stand, and is no list
of things to buy. Articles are not, prices or no prices.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.facts.buttons import buy_controls, may_be_for_sale
from crawldedup.facts.declared import declarations
from crawldedup.facts.lines import page_lines
from crawldedup.facts.prices import may_hold_a_price, numbers, numbers_in_words, plain
from crawldedup.facts.product import ProductView, ReadLine, spelled, without_site, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml.html import HtmlElement

    from crawldedup.facts.declared import Declarations
    from crawldedup.facts.schema_org import Product
    from crawldedup.text.extract import PageText
    from crawldedup.text.html_page import HtmlPage

# Cheap signs in the page's source, without which it is not parsed.
_DECLARES_A_PRODUCT: Final = re.compile(r"""roduct(?:(?:Group|Model)?["'>]|:price|\.item|\.group)""")
_DECLARES_OFFERS: Final = re.compile(r"""offers(?<=["':=]offers)["'\s>]""")
_DECLARES_A_PRICE: Final = "og:price"

_MAX_NAME: Final = 300
_MAX_DESCRIPTION: Final = 12_000
_OPEN_GRAPH: Final = "(.//meta[@property='og:title'])[1] | (.//meta[@property='og:site_name'])[1]"


def page_facts(page: PageText, distinguish: str) -> str | None:
    """Return what tells a page from pages that read alike, one fact a line; None for nothing. Raises PageError.

    "products" gives the attributes of a product page. "numbers" adds the numbers of the main text in order, so that
    two rows that swap theirs differ. A page too short to be fingerprinted has no facts.
    """
    if distinguish == "nothing" or page.whole is not None:
        return None
    try:
        product = _product_of_page(page.source, page.main)
    # Parsers may raise anything on hostile input, RecursionError and MemoryError included.
    except Exception as error:
        raise PageError("broken", f"looking for a product failed: {type(error).__name__}: {error}") from error
    return "\n".join([*sorted(product), *_numbers(page.main, distinguish)]) or None


def text_facts(main: str, distinguish: str) -> str | None:
    """Return the facts of a text without HTML, as `page_facts` does: its numbers, if "numbers" is asked for."""
    return "\n".join(_numbers(main, distinguish)) or None


def _numbers(main: str, distinguish: str) -> list[str]:
    if distinguish != "numbers":
        return []
    text = plain(main)
    return [f"numbers {' '.join(found)}" for found in (numbers(text), numbers_in_words(text)) if found]


def _product_of_page(page: HtmlPage, main: str) -> set[str]:
    html = page.html
    may_show = len(main) <= _MAX_DESCRIPTION and (may_hold_a_price(html) or may_be_for_sale(html))
    if not may_show and not _may_declare(html):
        return set()
    try:
        tree = page.tree
    except PageError:
        return set()
    declared = declarations(tree)
    controls = buy_controls(tree)
    for_sale = bool(controls)
    if not (may_show or for_sale or declared.any_product) or (declared.is_article and not for_sale):
        return set()
    titles = _titles(tree)
    shown = page_lines(tree, controls)
    lines = [ReadLine(line) for line in shown.lines]
    view = ProductView.of(lines, titles, shown.buttons)
    headings = [line.line.text for line in lines if line.line.heading]
    product = _the_product(declared, [*view.names, *titles], headings, for_sale=for_sale)
    if product is not None and declared.calls_itself_article and not (product.prices or for_sale):
        return set()
    if product is None:
        is_shown = len(main) <= _MAX_DESCRIPTION and view.offers_one_product(for_sale=for_sale)
        if not is_shown or declared.is_article or (declared.calls_itself_article and not for_sale):
            return set()
    facts = view.facts(main)
    if product is not None:
        facts.add_hidden(product)
    return facts.all()


def _may_declare(html: str) -> bool:
    signs = (_DECLARES_A_PRODUCT, _DECLARES_OFFERS)
    return _DECLARES_A_PRICE in html or any(sign.search(html) for sign in signs)


def _the_product(
    declared: Declarations, names: Sequence[str], headings: Sequence[str], *, for_sale: bool
) -> Product | None:
    """The product the page is about, of those it declares: that whose name is the page's, or the only one for sale."""
    candidates = declared.products if declared.of_the_page is None else (*declared.products, declared.of_the_page)
    title = set(words_of(plain(" ".join(names))))
    known = {spelled(plain(heading[:_MAX_NAME])) for heading in headings}
    for product in candidates:
        words = set(words_of(plain(product.name)))
        if spelled(plain(product.name)) in known or 2 * len(words & title) >= len(words) > 0:
            return product
    only = candidates[0] if len(candidates) == 1 else None
    return only if only is not None and (for_sale or not only.name) else None


def _titles(tree: HtmlElement) -> list[str]:
    """og:title and title, as far as there are any, without the site's name where that is declared."""
    meta = {element.get("property"): element.get("content") or "" for element in tree.xpath(_OPEN_GRAPH)}
    title = tree.find(".//title")
    texts = (meta.get("og:title", ""), "" if title is None else title.text or "")
    site = " ".join(meta.get("og:site_name", "").split())
    titles = (" ".join(text[: 2 * _MAX_NAME].split())[:_MAX_NAME] for text in texts)
    return [text for title in titles if (text := without_site(title, site))]
