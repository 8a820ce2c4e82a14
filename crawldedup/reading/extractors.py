"""Extract the main text of a page, by an extractor that is chosen by name. `_BUILT_IN` lists them."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import logging
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from lxml import etree
from lxml.html import HtmlElement, document_fromstring

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.reading.blocks import BOILERPLATE_TAGS, blocks_of
from crawldedup.reading.main_text import main_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.reading.html import HtmlPage

# trafilatura has no time limits: it moves text element by element and level by level, takes 10 ms for an article, and
# minutes for 50,000 elements, or for 10,000 nested 250 deep, and quadratic time for a row.
_MOST_TAGS: Final = 20_000
_MOST_ATTRIBUTES: Final = 100_000
_MOST_IN_ATTRIBUTES: Final = 1_000_000
"""Letters in attributes, which it searches for dozens of words; data URLs do not count."""
_MOST_LEVELS: Final = 64
_MOST_WORK: Final = 1_500_000_000
"""Tags times letters, since removing an element copies the text around it."""
_MOST_CELLS_PER_ROW: Final = 5000

_END_OF_DOCUMENT: Final = re.compile(r"</(?:body|html)\s*>", re.IGNORECASE)
# One class for all elements: lxml.html calls Python to find the class of each.
_ELEMENTS: Final = etree.ElementDefaultClassLookup(element=HtmlElement)
_holds_content: Final = etree.XPath("boolean(.//h1 or .//main or .//article)")
_seen_texts: Final = etree.XPath("//text()[not(parent::script or parent::style)]")
_values: Final = etree.XPath("//@*")
_too_deep: Final = etree.XPath("boolean(" + "/*" * (_MOST_LEVELS + 1) + ")")


@dataclass(frozen=True)
class Extractor:
    """What takes the text to compare out of a page. If it raises, the page is counted as broken.

    `extract` is given a checked and decoded page, and gives the same text for the same page. `version` is as much of
    another package's version as may change its texts, and "" for rules of one's own. `is_heuristic` says whether it
    guesses which part of a page is the main text, and so may miss it. From `name`, `get_extractor` makes the same
    extractor in another process.
    """

    name: str
    extract: Callable[[HtmlPage], str]
    version: str = ""
    is_heuristic: bool = True


def parse_with_lxml(html: str) -> HtmlElement:
    """Return the tree of a page. Raises PageError: "empty" without an element, "too_deep" above 256 levels."""
    parser = etree.HTMLParser(encoding="utf-8", collect_ids=False, remove_comments=True, remove_pis=True)
    parser.set_element_class_lookup(_ELEMENTS)
    try:
        # libxml2 stops at the end of the document, but sites append to it and browsers read on.
        tree = document_fromstring(_END_OF_DOCUMENT.sub("", html).encode("utf-8"), parser=parser)
    except etree.ParserError as error:
        raise PageError("empty", "there is nothing on the page") from error
    # At its limits libxml2 returns the tree so far without an error; pages cut off at one place would look alike.
    if parser.error_log.filter_types(etree.ErrorTypes.ERR_RESOURCE_LIMIT):
        raise PageError("too_deep", "the elements of the page are nested more than 256 deep")
    return tree


def visible_text(page: HtmlPage) -> str:
    """Return all text that a visitor without scripts sees, title first, one block of the page a line."""
    lines = [text for text, _, _ in blocks_of(page.tree, with_controls=True).lines]
    return "\n".join(filter(None, (page.title, *lines)))


def _by_trafilatura(page: HtmlPage) -> str:
    """Return what trafilatura's fast mode finds, with tables, without comments; "" if it would take it too long."""
    tags = page.html.count("<") - page.html.count("</")
    tree = parse_with_lxml(page.html) if tags <= _MOST_TAGS else None
    if tree is None or _is_too_much(tree, tags, len(page.html)):
        return ""
    # If trafilatura finds little text, it takes all there is, out of scripts and JSON, too, in quadratic time.
    for element in tree.iter(*BOILERPLATE_TAGS):
        element.tag = "div" if _holds_content(element) else "script"
    etree.strip_elements(tree, "script", "style", "noscript", with_tail=False)
    # It repeats a spanned cell up to 100 x 100 times, which takes minutes for a page of such cells.
    etree.strip_attributes(tree, "data-preloaded", "colspan", "rowspan")
    rows = Counter(row for cell in tree.iter("td", "th") if (row := cell.getparent()).tag == "tr")
    document = _bare_extraction()(
        tree,
        fast=True,
        include_comments=False,
        include_tables=max(rows.values(), default=0) <= _MOST_CELLS_PER_ROW,
        # With it, the text of a page would depend on the pages before.
        deduplicate=False,
    )
    return "" if document is None else str(document.text or "")


def _is_too_much(tree: HtmlElement, tags: int, letters: int) -> bool:
    values = _values(tree)
    if len(values) > _MOST_ATTRIBUTES or _too_deep(tree):
        return True
    if sum(len(value) for value in values if not value.startswith("data:")) > _MOST_IN_ATTRIBUTES:
        return True
    return tags * letters > _MOST_WORK and tags * sum(map(len, _seen_texts(tree))) > _MOST_WORK


@cache
def _bare_extraction() -> Callable[..., Any]:
    # A process that reads no page does without its tens of thousands of objects.
    import trafilatura

    logger = logging.getLogger("trafilatura")
    # It warns of every page without text. A level that the user has set stands.
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)
    return trafilatura.bare_extraction


def _trafilatura() -> Extractor:
    release = ".".join(importlib.metadata.version("trafilatura").split(".")[:2])
    return Extractor("trafilatura", _by_trafilatura, release)


_BUILT_IN: Final[dict[str, Callable[[], Extractor]]] = {
    "blocks": lambda: Extractor("blocks", lambda page: main_text(page.blocks, page.holders, page.title)),
    "trafilatura": _trafilatura,
    "text": lambda: Extractor("text", visible_text, is_heuristic=False),
}


@cache
def get_extractor(name: str) -> Extractor:
    """Make a built-in extractor by its name, or a custom one by its dotted path.

    ``myproject.extract.main_text`` is a function of the HTML, or an object or class with a method `extract`; a class
    is called without arguments first. Raises ConfigurationError.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if "." in name:
        return custom_extractor(name, _custom(name))
    hint = did_you_mean(name, _BUILT_IN)
    raise ConfigurationError(
        f"there is no extractor {name!r}{f'{hint} It' if hint else '; it'} is one of {', '.join(_BUILT_IN)}, or the "
        "dotted path of your own (myproject.pages.main_text)"
    )


def custom_extractor(name: str, extract: Callable[[str], str | None]) -> Extractor:
    """Return a user's callable as an extractor. Its result is used unchanged; None counts as no text."""

    def text_of(page: HtmlPage) -> str:
        text = extract(page.html)
        if not isinstance(text, str | None):
            raise TypeError(f"{name} returned {type(text).__name__}, not str")
        return text or ""

    return Extractor(name, text_of, is_heuristic=False)


def check_extractor(name: str, value: object) -> str:
    """Return the name of an extractor that can be made. Raises ConfigurationError, which begins with `name`."""
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} is {value!r}; it must be the name of an extractor")
    try:
        get_extractor(value)
    except ConfigurationError as error:
        raise type(error)(f"{name} is {value!r}: {error}") from error
    return value


def _custom(path: str) -> Callable[[str], str | None]:
    module_name, _, attribute = path.rpartition(".")
    doing = f"importing {module_name!r}"
    # The module is the user's, so it may raise anything.
    try:
        module = importlib.import_module(module_name)
        extractor: Any = getattr(module, attribute, None)
        doing = f"{path}()"
        if inspect.isclass(extractor):
            extractor = extractor()
    except Exception as error:
        cause = f"{doing} failed with {type(error).__name__}: {error}"
        raise ConfigurationError(f"the extractor {path!r} cannot be used: {cause}") from error
    if extractor is None:
        cause = f"{module_name!r} has no attribute {attribute!r}{did_you_mean(attribute, dir(module))}"
        raise ConfigurationError(f"the extractor {path!r} cannot be used: {cause}")
    method: Callable[[str], str | None] = getattr(extractor, "extract", extractor)
    if not callable(method):
        raise ConfigurationError(
            f"the extractor {path!r} is a {type(extractor).__name__}; it must be a function of the HTML, or an object "
            "or class with a method extract(html)"
        )
    return method
