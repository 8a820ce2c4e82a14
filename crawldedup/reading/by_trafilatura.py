"""Find the main text of a page with trafilatura, within limits, because it has no time limit."""

import logging
import re
from collections import Counter
from typing import Final

import trafilatura
from lxml import etree
from lxml.html import HtmlElement, document_fromstring

from crawldedup.errors import PageError
from crawldedup.reading.blocks import BOILERPLATE_TAGS
from crawldedup.reading.html import HtmlPage

# It moves text element by element and level by level. That takes 10 ms for an article, but minutes
# for 50,000 elements or for 10,000 that are nested 250 deep, and quadratic time for a table row.
_MOST_TAGS: Final = 20_000
_MOST_ATTRIBUTES: Final = 100_000
# Letters, which it searches for dozens of words. Data URLs don't count.
_MOST_IN_ATTRIBUTES: Final = 1_000_000
_MOST_LEVELS: Final = 64
# Tags times letters, since removing an element copies the text around it.
_MOST_WORK: Final = 1_500_000_000
_MOST_CELLS_PER_ROW: Final = 5000

# It warns about every page without text. A log level that the user has set is kept.
_logger: Final = logging.getLogger("trafilatura")
if _logger.level == logging.NOTSET:
    _logger.setLevel(logging.CRITICAL)

_END_OF_DOCUMENT: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
# One class for all elements: lxml.html calls Python to find the class of each.
_ELEMENTS: Final = etree.ElementDefaultClassLookup(element=HtmlElement)
_holds_content: Final = etree.XPath("boolean(.//h1 or .//main or .//article)")
_seen_texts: Final = etree.XPath("//text()[not(parent::script or parent::style)]")
_too_deep: Final = etree.XPath("boolean(" + "/*" * (_MOST_LEVELS + 1) + ")")


def parse_with_lxml(html: str) -> HtmlElement:
    """Parse a page with lxml.

    Raises PageError: "empty" without an element, "too_deep" above 256 levels.
    """
    parser = etree.HTMLParser(
        encoding="utf-8", collect_ids=False, remove_comments=True, remove_pis=True
    )
    parser.set_element_class_lookup(_ELEMENTS)
    try:
        # libxml2 stops at the end of the document, but sites append to it and browsers read on.
        tree = document_fromstring(_END_OF_DOCUMENT.sub("", html).encode("utf-8"), parser=parser)
    except etree.ParserError as error:
        raise PageError("empty", "there is nothing on the page") from error
    # When it reaches its limits, libxml2 returns the tree so far without an error, and pages that
    # are cut off at the same place would look alike.
    if parser.error_log.filter_types(etree.ErrorTypes.ERR_RESOURCE_LIMIT):
        raise PageError("too_deep", "the elements of the page are nested more than 256 deep")
    return tree


def main_text(page: HtmlPage) -> str:
    """Extract the main text with trafilatura's fast mode, including tables.

    The text is "" for a page that would take too long. Raises PageError if lxml can't parse the
    page.
    """
    tags = page.html.count("<") - page.html.count("</")
    if tags > _MOST_TAGS:
        return ""
    tree = parse_with_lxml(page.html)
    values = tree.xpath("//@*")
    in_attributes = sum(len(value) for value in values if not value.startswith("data:"))
    if len(values) > _MOST_ATTRIBUTES or in_attributes > _MOST_IN_ATTRIBUTES or _too_deep(tree):
        return ""
    if tags * len(page.html) > _MOST_WORK and tags * sum(map(len, _seen_texts(tree))) > _MOST_WORK:
        return ""
    # If trafilatura finds little text, it takes all there is, even from scripts and JSON, in
    # quadratic time.
    for element in tree.iter(*BOILERPLATE_TAGS):
        element.tag = "div" if _holds_content(element) else "script"
    etree.strip_elements(tree, "script", "style", "noscript", with_tail=False)
    # It repeats a cell with spans up to 100 x 100 times, so a page of such cells takes minutes.
    etree.strip_attributes(tree, "data-preloaded", "colspan", "rowspan")
    parents = [cell.getparent() for cell in tree.iter("td", "th")]
    rows = Counter(parent for parent in parents if parent.tag == "tr")
    is_wide = max(rows.values(), default=0) > _MOST_CELLS_PER_ROW
    document = trafilatura.bare_extraction(
        tree, fast=True, include_comments=False, include_tables=not is_wide
    )
    return str(getattr(document, "text", None) or "")
