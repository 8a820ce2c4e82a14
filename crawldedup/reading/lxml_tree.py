"""Trees of lxml: for the extractors of other packages, and to balance the tags of pages that may nest deep."""

from __future__ import annotations

import re
from typing import Final

from lxml import etree
from lxml.html import HtmlElement, document_fromstring, tostring

from crawldedup.errors import PageError
from crawldedup.reading import limits
from crawldedup.reading.tags import BOILERPLATE_TAGS

_END_OF_DOCUMENT: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
# One class for all elements: lxml.html calls Python to find the class of each.
_ELEMENTS: Final = etree.ElementDefaultClassLookup(element=HtmlElement)
# A navigation that holds the article was never closed.
_holds_content: Final = etree.XPath("boolean(.//main or .//article or (.//h1 and .//p))")
_visible_texts: Final = etree.XPath("//text()[not(parent::script or parent::style)]")
_with_comments: Final = etree.XPath("//*[@*[contains(., '<!--')]]")


def parse(html: str) -> HtmlElement:
    """Return the tree of a page. Raises PageError: "empty" without an element, "too_deep" above 256 levels."""
    parser = etree.HTMLParser(encoding="utf-8", collect_ids=False, remove_comments=True, remove_pis=True)
    parser.set_element_class_lookup(_ELEMENTS)
    try:
        # libxml2 stops at the end of the document, but sites append to it and browsers read on.
        tree = document_fromstring(_END_OF_DOCUMENT.sub("", html).encode("utf-8"), parser=parser)
    except etree.ParserError as error:
        raise PageError("empty", "there is nothing on the page") from error
    # At its limits libxml2 returns the tree so far without an error; pages cut off at one place would look alike.
    fatal = parser.error_log.filter_from_fatals()
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in fatal):
        raise PageError("too_deep", "the elements of the page are nested more than 256 deep")
    return tree


def to_html(tree: HtmlElement) -> str:
    """Return the page of a tree, with every element closed.

    Elements with a comment in an attribute lose their attributes, which libxml2 would write in quadratic time.
    """
    for element in _with_comments(tree):
        element.attrib.clear()
    return str(tostring(tree, encoding="unicode"))


def suits_extractors(html: str) -> bool:
    """Return whether any extractor reads a page in seconds. Raises PageError."""
    (tags, attributes, may_nest_deep, may_copy), most = limits.shape_of(html), limits.EXTRACTOR_WORK
    if tags > limits.EXTRACTOR_TAGS or attributes > limits.EXTRACTOR_ATTRIBUTES:
        return False
    if may_copy and limits.copies_attributes(html):
        return False
    if len(html) > limits.EXTRACTOR_VALUES and _letters_in_attributes(parse(html)) > limits.EXTRACTOR_VALUES:
        return False
    if not may_nest_deep and tags * len(html.encode()) <= most:
        return True
    tree = parse(html)
    letters = sum(len(text.encode()) for text in _visible_texts(tree))
    return _levels(tree) <= limits.EXTRACTOR_LEVELS and tags * letters <= most


def _levels(tree: HtmlElement) -> int:
    """Return how deep the elements are nested."""
    deepest = depth = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _letters_in_attributes(tree: HtmlElement) -> int:
    """Return how many letters the values of all attributes have, but for data URLs."""
    values = (value for element in tree.iter() for value in element.attrib.values())
    return sum(len(value) for value in values if not value.startswith("data:"))


def strip_boilerplate(tree: HtmlElement) -> None:
    """Remove navigation, footer, scripts and the like from a tree, but not if they hold the content."""
    for element in tree.iter(*BOILERPLATE_TAGS):
        element.tag = "div" if _holds_content(element) else "script"
    etree.strip_elements(tree, "script", "style", "noscript", with_tail=False)
