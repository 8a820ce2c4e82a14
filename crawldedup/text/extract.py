"""HTML to the text that is fingerprinted.

Which text that is decides what counts as a duplicate. Too much of the template, and an article on another
site is missed while two short pages of one site look alike; too little of the page, and what tells two pages
apart is thrown away. The rule, for the extractors that guess at the main part:

1. The text is the extractor's main text, headed by the page's own name (og:title or title) if it is shorter than
   `NAMED_WORDS`. Products that share a description differ at least in name; in an article, a headline that
   another editor has rewritten must not count.
2. A main text below `FALLBACK_WORDS` words means that the extractor has missed the point of the page (a
   listing, a product, a form): then all text counts but navigation, page header, footer and the like.
3. If that too is below `min_words`, the page is for its exact copies only, by `PageText.whole`, and its name
   is left out, lest the name alone make pages comparable.

Measured with trafilatura on 1,122 pairs of pages of one site each (articles, products, listings, forums,
documentation), at Jaccard >= .86: the bare main text takes 11 pairs of different pages for duplicates, the
rule 3, falling back to all visible text 6. Falling back wherever the main text is less than a third of the
page takes 3 as well, but 9 instead of 4 at >= .8, since the template then decides, and does so on a tenth of
all articles; the rule on less than 1 %.

What an article keeps of its text in another site's template is measured by `benchmarks/templates.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.text.decode import tidy
from crawldedup.text.extractors import Extractor, get_extractor
from crawldedup.text.html_page import HtmlPage
from crawldedup.text.limits import DEFAULT_LIMITS, Limits
from crawldedup.text.tokenize import word_hashes
from crawldedup.text.visible import content_text, headline, identity_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = [
    "DEFAULT_LIMITS",
    "FALLBACK_WORDS",
    "NAMED_WORDS",
    "TEXT_PROFILE",
    "Extractor",
    "Limits",
    "PageText",
    "extract_page",
    "get_extractor",
]

FALLBACK_WORDS: Final = 50
"""A main text with fewer words is not believed to be the main text."""

NAMED_WORDS: Final = 100
"""A main text of so many words goes without the page's name: in it, a name too short for a headline changes nothing."""

TEXT_PROFILE: Final = "text3"
"""Names the rules of this package. Whoever changes what text comes out of a page changes this, for fingerprints of
different texts must not meet in one index."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page. It can be encoded as UTF-8 whatever the page was.

    `main` is what is fingerprinted. `whole` is what an exact copy of a page too short to be fingerprinted
    must share: all its visible text and all else that tells it from another page; it is given only if `main`
    has fewer words than were asked for, and None otherwise. `used_fallback` says that the extractor's
    text was not used because it was too short. `source` is the page.
    """

    main: str
    whole: str | None
    used_fallback: bool
    source: HtmlPage = field(repr=False, compare=False)


def extract_page(
    body: bytes | str,
    encoding: str | None,
    extractor: Extractor,
    *,
    min_words: int = FALLBACK_WORDS,
    limits: Limits = DEFAULT_LIMITS,
) -> PageText:
    """Decode a page and take out the text to compare.

    `encoding` is the charset the server declared, if any. `min_words` is the number of words from which on
    the page is fingerprinted.
    Raises PageError: `empty`, `too_large`, `too_deep`, `binary`, or `broken` where the extractor failed.
    """
    try:
        return _page_text(HtmlPage.read(body, encoding, limits), extractor, min_words)
    except PageError:
        raise
    # Other people's code on hostile input may raise anything, RecursionError and MemoryError included.
    except Exception as error:
        raise PageError("broken", f"reading with {extractor.name!r} failed: {type(error).__name__}: {error}") from error


def _page_text(page: HtmlPage, extractor: Extractor, min_words: int) -> PageText:
    ask = page.suits_extractors or not extractor.is_heuristic
    main = tidy(extractor.extract(page.html)) if ask else ""
    words = _count(main)
    used_fallback = False
    if extractor.is_heuristic and words < FALLBACK_WORDS:
        content = tidy(content_text(page.tree))
        if (content_words := _count(content)) > words:
            main, words, used_fallback = content, content_words, True
    if words < min_words:
        return PageText(main, _identity(page.tree), used_fallback, page)
    if extractor.is_heuristic and words < NAMED_WORDS:
        main = f"{tidy(headline(page.html))}\n{main}".strip()
    return PageText(main, None, used_fallback, page)


def _identity(tree: HtmlElement) -> str:
    whole = tidy(identity_text(tree))
    if not whole:
        raise PageError("empty", "there is nothing to see on the page")
    return whole


def _count(text: str) -> int:
    return len(word_hashes(text))
