"""Parse pages, and read the text that a visitor sees."""

from __future__ import annotations

import html as html_entities
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree
from lxml.html import HtmlElement, document_fromstring, tostring

from crawldedup.errors import PageError
from crawldedup.text.tags import BLOCKS, BOILERPLATE_ROLES, BOILERPLATE_TAGS, HOLD_CONTENT, INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_END_OF_DOCUMENT: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
_OPEN_GRAPH_TITLE: Final = re.compile(r"<meta\s(?>[^<>]*?og:title)[^<>]*>", re.IGNORECASE)
_CONTENT_ATTRIBUTE: Final = re.compile(r"""\scontent\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_TITLE: Final = re.compile(r"<title(?:\s[^<>]*)?>([^<]*)", re.IGNORECASE)
# One class for all elements: lxml.html calls Python to find the class of each.
_ELEMENTS: Final = etree.ElementDefaultClassLookup(element=HtmlElement)
# A navigation that holds the article was never closed.
_holds_content: Final = etree.XPath("boolean(.//main or .//article or (.//h1 and .//p))")
_with_comments: Final = etree.XPath("//*[@*[contains(., '<!--')]]")
_IDENTIFYING_META: Final = frozenset(["description", "og:title", "og:description", "og:image"])


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


def levels(tree: HtmlElement) -> int:
    """Return how deep the elements are nested."""
    deepest = depth = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def letters_in_attributes(tree: HtmlElement) -> int:
    """Return how many letters the values of all attributes have, but for data URLs."""
    values = (value for element in tree.iter() for value in element.attrib.values())
    return sum(len(value) for value in values if not value.startswith("data:"))


def visible_text(tree: HtmlElement) -> str:
    """Return all text that a visitor without scripts sees, title first, one block of the page a line."""
    return _text(tree, lambda element: element.tag in INVISIBLE)


def content_text(tree: HtmlElement) -> str:
    """Return the visible text without title, navigation, page header and footer, sidebars and controls.

    All pages of a site share those, so short pages would look alike.
    """
    return _text(tree, _is_boilerplate)


def identity_text(tree: HtmlElement) -> str:
    """Return all that tells a page with little text from another: text, description, media addresses, scripts.

    The pages of a photo gallery, or of a shop that fills its pages by script, differ in nothing else.
    """
    parts = [visible_text(tree)]
    for element in tree.iter("meta", "script", "img", "frame", "iframe", "video", "source", "embed", "object"):
        if element.tag == "meta":
            if (element.get("property") or element.get("name") or "").lower() in _IDENTIFYING_META:
                parts.append(element.get("content") or "")
        elif element.tag == "script":
            parts.append(element.text or "")
        else:
            addresses = (element.get(name) or "" for name in ("src", "data-src", "data"))
            parts.extend(address for address in addresses if not address.startswith("data:"))
    return "\n".join(filter(None, map(str.strip, parts)))


def strip_boilerplate(tree: HtmlElement) -> None:
    """Remove navigation, footer, scripts and the like from a tree, but not if they hold the content."""
    for element in tree.iter(*BOILERPLATE_TAGS):
        element.tag = "div" if _holds_content(element) else "script"
    etree.strip_elements(tree, "script", "style", "noscript", with_tail=False)


def headline(html: str) -> str:
    """Return the name of a page: og:title, which seldom has the site's name behind it, or else the title."""
    meta = _OPEN_GRAPH_TITLE.search(html)
    content = _CONTENT_ATTRIBUTE.search(meta.group()) if meta else None
    if content and (name := _one_line(content[1] or content[2] or "")):
        return name
    title = _TITLE.search(html)
    return _one_line(title[1]) if title else ""


def first_texts(element: HtmlElement, most: int) -> Iterator[str]:
    """Yield the texts in an element that stand beside its first `most` start and end tags, in order.

    An element may hold a hundred thousand empty ones, and be one of many around them.
    """
    for event, part in islice(etree.iterwalk(element, events=("start", "end")), most):
        text = part.text if event == "start" else part.tail if part is not element else None
        if text:
            yield text


def _one_line(source: str) -> str:
    return " ".join(html_entities.unescape(source).split())


def _text(tree: HtmlElement, skip: Callable[[HtmlElement], bool]) -> str:
    pieces: list[str] = []
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        starts = event == "start"
        if element.tag in BLOCKS:
            pieces.append("\n")
        if starts and skip(element):
            walk.skip_subtree()
            continue
        if text := element.text if starts else element.tail:
            pieces.append(text)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(filter(None, lines))


def _is_boilerplate(element: HtmlElement) -> bool:
    tag = element.tag
    if tag in INVISIBLE or tag in ("title", "noscript"):
        return True
    if tag == "header":
        is_around = not any(ancestor.tag in HOLD_CONTENT for ancestor in element.iterancestors())
    else:
        is_around = tag in BOILERPLATE_TAGS or element.get("role") in BOILERPLATE_ROLES
    return is_around and not _holds_content(element)
