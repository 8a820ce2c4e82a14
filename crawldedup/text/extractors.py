"""Main-content extractors by name. A new one is one class and one line in `_BUILT_IN`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import logging
from collections import Counter
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from lxml import etree

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.text.article import article_of, may_be_article
from crawldedup.text.visible import parse, strip_boilerplate, visible_text

if TYPE_CHECKING:
    from collections.abc import Callable


class Extractor(Protocol):
    """Takes the text to compare out of a page. May raise anything: the page is then counted as broken."""

    @property
    def name(self) -> str:
        """What `get_extractor` makes the same extractor from, in another process too."""

    @property
    def is_heuristic(self) -> bool:
        """Whether it guesses at the main part of the page, and so may have missed it."""

    def extract(self, html: str) -> str:
        """The text of a page that has been checked and decoded. The same for the same page, always."""


class TrafilaturaExtractor:
    """trafilatura in its fast mode, with tables, without comments."""

    name = "trafilatura"
    is_heuristic = True

    @cached_property
    def _extract(self) -> Callable[..., Any]:
        # Not before the first page: a crawl whose pages are read by other processes can do without tens of thousands
        # of objects, which every full garbage collection would go through.
        import trafilatura

        logger = logging.getLogger("trafilatura")
        # It warns of every page without text, which is no news for a crawl of all sorts of pages. A level the
        # user has set stands.
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL)
        return trafilatura.bare_extraction

    def extract(self, html: str) -> str:
        """The main text; "" where trafilatura finds none."""
        tree = parse(html)
        # Where trafilatura finds little text, it takes all there is, and tags and texts out of scripts and JSON
        # (in quadratic time). What it had better not find is taken out first.
        strip_boilerplate(tree)
        etree.strip_attributes(tree, "data-preloaded")
        # A spanned cell is repeated up to 100 x 100 times, which takes minutes for a page of such cells.
        etree.strip_attributes(tree, "colspan", "rowspan")
        document: Any = self._extract(
            tree,
            fast=True,
            include_comments=False,
            include_tables=_widest_row(tree) <= _MAX_CELLS_A_ROW,
            # Deduplication would make the text of a page depend on the pages before it.
            deduplicate=False,
        )
        return "" if document is None else str(document.text or "")


# Rows take quadratic time.
_MAX_CELLS_A_ROW: Final = 5000


def _widest_row(tree: Any) -> int:
    # Cells outside a row all join one.
    rows = (row if (row := cell.getparent()).tag == "tr" else None for cell in tree.iter("td", "th"))
    return max(Counter(rows).values(), default=0)


class ResiliparseExtractor:
    """resiliparse's main content and, of that, the article: several times as fast as trafilatura.

    It keeps nearly all of the main text, and more of the template than trafilatura does; `article_of` takes out
    what stands apart from the article. What an article keeps in another site's template is measured by
    `benchmarks/templates.py`.
    """

    name = "resiliparse"
    is_heuristic = True

    def __init__(self) -> None:
        if importlib.util.find_spec("resiliparse") is None:
            raise MissingDependencyError(
                "the extractor 'resiliparse' needs the package resiliparse; install it with: pip install resiliparse"
            )

    @cached_property
    def _extract(self) -> Callable[..., str]:
        from resiliparse.extract.html2text import extract_plain_text

        return extract_plain_text

    def extract(self, html: str) -> str:
        """The article, or all of the main text of a page that is none."""
        text = str(self._extract(html, main_content=True, alt_texts=False, comments=False))
        return article_of(text, parse(html)) if may_be_article(text) else text


class VisibleTextExtractor:
    """All text of the page that a visitor sees, navigation and footer included."""

    name = "text"
    is_heuristic = False

    def extract(self, html: str) -> str:
        """The visible text, one block of the page a line."""
        return visible_text(parse(html))


class CustomExtractor:
    """A user's callable, by its dotted path. What it returns is taken as it is."""

    is_heuristic = False

    def __init__(self, name: str, extract: Callable[[str], str | None]) -> None:
        self.name = name
        self._extract = extract

    def extract(self, html: str) -> str:
        """What the callable returns; None counts as no text."""
        text = self._extract(html)
        if not isinstance(text, str | None):
            raise TypeError(f"{self.name} returned {type(text).__name__}, not str")
        return text or ""


_BUILT_IN: Final[dict[str, Callable[[], Extractor]]] = {
    "trafilatura": TrafilaturaExtractor,
    "resiliparse": ResiliparseExtractor,
    "text": VisibleTextExtractor,
}


def get_extractor(name: str) -> Extractor:
    """Make the extractor of that name: one of the built-in ones, or your own by its dotted path.

    ``myproject.extract.main_text`` may be a function of the HTML, or an object or class with a method
    `extract`; a class is called without arguments first.
    Raises ConfigurationError, or MissingDependencyError for an extractor that is not installed.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if isinstance(name, str) and "." in name:
        return CustomExtractor(name, _method(name, _load(name)))
    close = get_close_matches(str(name).lower(), _BUILT_IN, n=1)
    raise ConfigurationError(
        f"there is no extractor {name!r}"
        + (f"; did you mean {close[0]!r}? It" if close else "; it")
        + f" is one of {', '.join(_BUILT_IN)}, or the dotted path of your own (myproject.pages.main_text)"
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


def _load(path: str) -> Any:
    module_name, _, attribute = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    # The module is the user's, and so may raise anything.
    except Exception as error:
        raise ConfigurationError(
            f"the extractor {path!r} cannot be used: importing {module_name!r} failed with "
            f"{type(error).__name__}: {error}"
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        close = get_close_matches(attribute, dir(module), n=1)
        raise ConfigurationError(
            f"the extractor {path!r} cannot be used: {module_name!r} has no attribute {attribute!r}"
            + (f"; did you mean {close[0]!r}?" if close else "")
        ) from None


def _method(path: str, found: Any) -> Callable[[str], str | None]:
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as error:
            raise ConfigurationError(
                f"the extractor {path!r} cannot be used: {path}() failed with {type(error).__name__}: {error}"
            ) from error
    method: Callable[[str], str | None] = getattr(found, "extract", found)
    if not callable(method):
        raise ConfigurationError(
            f"the extractor {path!r} is a {type(found).__name__}; it must be a function of the HTML, "
            f"or an object or class with a method extract(html)"
        )
    return method
