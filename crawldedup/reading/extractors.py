"""Extract the main text of a page, by an extractor that is chosen by name. `_BUILT_IN` lists them."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import logging
from collections import Counter
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from lxml import etree

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.reading.lxml_tree import parse, strip_boilerplate
from crawldedup.reading.main_text import main_text
from crawldedup.reading.visible import visible_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.reading.html_page import HtmlPage


class Extractor(Protocol):
    """Takes the text to compare out of a page. If it raises, the page is counted as broken."""

    @property
    def name(self) -> str:
        """The name from which `get_extractor` makes the same extractor, in another process, too."""

    @property
    def version(self) -> str:
        """As much of another package's version as may change its texts; "" for rules of one's own."""

    @property
    def is_heuristic(self) -> bool:
        """Whether it guesses which part of a page is the main text, and so may miss it."""

    def extract(self, page: HtmlPage) -> str:
        """Return the text of a checked and decoded page, always the same for the same page."""


class BlocksExtractor:
    """The main text by the blocks of the page: see `crawldedup.reading.main_text`."""

    name = "blocks"
    version = ""
    is_heuristic = True

    def extract(self, page: HtmlPage) -> str:
        """Return the article, or all but navigation and the like of a page that is none."""
        return main_text(page.blocks, page.title)


def _minor_version(package: str) -> str:
    return ".".join(importlib.metadata.version(package).split(".")[:2])


# trafilatura takes quadratic time for a row.
_MAX_CELLS_PER_ROW: Final = 5000


class TrafilaturaExtractor:
    """trafilatura in its fast mode, with tables, without comments."""

    name = "trafilatura"
    is_heuristic = True

    @cached_property
    def version(self) -> str:
        """The release, such as 2.3."""
        return _minor_version("trafilatura")

    @cached_property
    def _extract(self) -> Callable[..., Any]:
        # A process that reads no page does without its tens of thousands of objects.
        import trafilatura

        logger = logging.getLogger("trafilatura")
        # It warns of every page without text. A level that the user has set stands.
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
        return trafilatura.bare_extraction

    def extract(self, page: HtmlPage) -> str:
        """Return the main text; "" if trafilatura finds none, or if the page would take it too long."""
        if not page.suits_extractors:
            return ""
        tree = parse(page.html)
        # If trafilatura finds little text, it takes all there is, out of scripts and JSON, too, in quadratic time.
        strip_boilerplate(tree)
        etree.strip_attributes(tree, "data-preloaded")
        # It repeats a spanned cell up to 100 x 100 times, which takes minutes for a page of such cells.
        etree.strip_attributes(tree, "colspan", "rowspan")
        document: Any = self._extract(
            tree,
            fast=True,
            include_comments=False,
            include_tables=_widest_row(tree) <= _MAX_CELLS_PER_ROW,
            # With it, the text of a page would depend on the pages before.
            deduplicate=False,
        )
        return "" if document is None else str(document.text or "")


def _widest_row(tree: Any) -> int:
    rows = (row if (row := cell.getparent()).tag == "tr" else None for cell in tree.iter("td", "th"))
    return max(Counter(rows).values(), default=0)


class VisibleTextExtractor:
    """All text that a visitor sees, including navigation and footer."""

    name = "text"
    version = ""
    is_heuristic = False

    def extract(self, page: HtmlPage) -> str:
        """Return the visible text, one block of the page a line."""
        return visible_text(page)


class CustomExtractor:
    """A user's callable, by its dotted path. Its result is used unchanged."""

    version = ""
    is_heuristic = False

    def __init__(self, name: str, extract: Callable[[str], str | None]) -> None:
        self.name = name
        self._extract = extract

    def extract(self, page: HtmlPage) -> str:
        """Return what the callable returns; None counts as no text."""
        text = self._extract(page.html)
        if not isinstance(text, str | None):
            raise TypeError(f"{self.name} returned {type(text).__name__}, not str")
        return text or ""


_BUILT_IN: Final[dict[str, Callable[[], Extractor]]] = {
    "blocks": BlocksExtractor,
    "trafilatura": TrafilaturaExtractor,
    "text": VisibleTextExtractor,
}


@cache
def get_extractor(name: str) -> Extractor:
    """Make a built-in extractor by its name, or a custom one by its dotted path.

    ``myproject.extract.main_text`` is a function of the HTML, or an object or class with a method `extract`; a class
    is called without arguments first. Raises ConfigurationError.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if isinstance(name, str) and "." in name:
        return CustomExtractor(name, _custom(name))
    hint = did_you_mean(name, _BUILT_IN)
    raise ConfigurationError(
        f"there is no extractor {name!r}{f'{hint} It' if hint else '; it'} is one of {', '.join(_BUILT_IN)}, or the "
        "dotted path of your own (myproject.pages.main_text)"
    )


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
    try:
        module = importlib.import_module(module_name)
    # The module is the user's, so it may raise anything.
    except Exception as error:
        raise _unusable(path, f"importing {module_name!r} failed", error) from error
    if not hasattr(module, attribute):
        hint = did_you_mean(attribute, dir(module))
        raise _unusable(path, f"{module_name!r} has no attribute {attribute!r}{hint}")
    found = getattr(module, attribute)
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:
            raise _unusable(path, f"{path}() failed", error) from error
    method: Callable[[str], str | None] = getattr(found, "extract", found)
    if not callable(method):
        raise ConfigurationError(
            f"the extractor {path!r} is a {type(found).__name__}; it must be a function of the HTML, or an object or "
            "class with a method extract(html)"
        )
    return method


def _unusable(path: str, reason: str, error: Exception | None = None) -> ConfigurationError:
    cause = f" with {type(error).__name__}: {error}" if error else ""
    return ConfigurationError(f"the extractor {path!r} cannot be used: {reason}{cause}")
