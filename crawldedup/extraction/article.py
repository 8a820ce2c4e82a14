"""Find the article within a main text: what it has in common with its copy on another site.

Extractors leave in whole sentences of a template: teasers, notices, comments. But an article stands in an element of
its own. From the top of the tree, the way leads to the child that holds most of the text's long pieces, as long as
little is left behind in its own voice: paragraphs, lists and headings beside that child, or elements of its kind. So
documentation, forums and listings stay whole. The numbers were chosen on half of the articles of
`benchmarks/templates.py`, and on manuals, of which nothing may be lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from crawldedup.extraction.prose import LONG, is_prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

# Share of the pieces that the article's element holds.
_MOST: Final = 0.5
# Share of its characters that may be left behind in its own voice; with 0.3, sections of manuals get lost.
_MAY_BE_LEFT: Final = 0.25
# Characters in long pieces, and their share of the main text, without which a page is a list, a table or code.
_MIN_CHARACTERS: Final = 250
_MIN_SHARE: Final = 0.3
# Share of the main text that is kept; a smaller one is something else, such as the notices beside a poem.
_LEAST_KEPT: Final = 0.5
_LONG_LETTERS: Final = LONG // 4
# Pieces times characters of the search, two seconds at worst; real articles need a hundredth of it.
_MOST_WORK: Final = 30_000_000

# The first condition is the cheaper one.
_long_texts: Final = etree.XPath(
    f"/descendant::text()[string-length() >= {_LONG_LETTERS}][string-length(normalize-space()) >= {_LONG_LETTERS}]"
)
_string: Final = etree.XPath("string()")
_NO_TEXT: Final = frozenset(["noscript", "script", "style", "template", "textarea", "title"])
_LINKS_AND_SCRIPTS: Final = ("a", "noscript", "script", "style")
_IN_LINES: Final = frozenset(["a", "b", "code", "em", "font", "i", "li", "p", "span", "strong", "u"])
_PLAIN_BLOCKS: Final = _IN_LINES - {"u"} | frozenset(
    ["blockquote", "center", "dd", "dl", "dt", "figure", "h2", "h3", "h4", "h5", "ol", "pre", "table", "ul"]
)


def may_be_article(text: str) -> bool:
    """Return whether `article_of` can find an article in a main text; if not, the page need not be parsed for it."""
    return len(text) >= _MIN_CHARACTERS


def article_of(text: str, tree: HtmlElement) -> str:
    """Return the lines of the main text `text` that are the article of the page `tree`; all if there is none."""
    lines = [line for line in (" ".join(line.split()) for line in text.split("\n")) if line]
    joined = " ".join(lines)
    texts = _long_texts(tree)
    if (len(texts) + len(lines)) * len(joined) > _MOST_WORK:
        return text
    pieces = list(_pieces(texts, joined))
    held: Counter[HtmlElement] = Counter()
    for part, start, end in pieces:
        for holder in (part, *part.iterancestors()):
            held[holder] += end - start
    total = held[tree]
    if total < max(_MIN_CHARACTERS, _MIN_SHARE * len(joined)):
        return text
    element = _element_of_article(tree, held, total)
    inside = [(start, end) for part, start, end in pieces if element in (part, *part.iterancestors())]
    if not inside:
        return text
    offsets = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    first = bisect_right(offsets, min(start for start, _ in inside)) - 1
    last = bisect_left(offsets, max(end for _, end in inside)) - 1
    # Short paragraphs and headings of the article, at either end.
    letters = "".join(_string(element).split())
    while first > 0 and lines[first - 1].replace(" ", "") in letters:
        first -= 1
    while last < len(lines) - 1 and lines[last + 1].replace(" ", "") in letters:
        last += 1
    article = "\n".join(lines[first : last + 1])
    return article if len(article) >= _LEAST_KEPT * len(joined) else text


def _pieces(texts: list[Any], joined: str) -> Iterator[tuple[HtmlElement, int, int]]:
    """Yield element, start and end of each sentence of the tree that the main text holds, without those of links."""
    for found in texts:
        piece = " ".join(found.split())
        if not is_prose(piece, len(piece.encode())):
            continue
        element = found.getparent()
        if element is None or (not found.is_tail and element.tag in _NO_TEXT):
            continue
        if found.is_tail:
            element = element.getparent()
        if element.tag == "a" or ((parent := element.getparent()) is not None and parent.tag == "a"):
            continue
        start = joined.find(piece)
        if start >= 0:
            yield element, start, start + len(piece)


def _element_of_article(tree: HtmlElement, held: Counter[HtmlElement], total: int) -> HtmlElement:
    element = tree
    left = 0
    while (inner := max(element, key=held.__getitem__, default=None)) is not None and held[inner] >= _MOST * total:
        left += _left_behind(element, inner)
        if left > _MAY_BE_LEFT * held[inner]:
            break
        element = inner
    while element.tag in _IN_LINES:
        element = element.getparent()
    return element


def _left_behind(element: HtmlElement, inner: HtmlElement) -> int:
    """Return the characters in `element`, without links, in the voice of its child `inner`."""
    kind = (inner.tag, inner.get("class"))
    characters = len((element.text or "").strip())
    for child in element:
        characters += len((child.tail or "").strip())
        if child is not inner and (child.tag in _PLAIN_BLOCKS or (child.tag, child.get("class")) == kind):
            linked = sum(len(_string(link)) for link in child.iter(*_LINKS_AND_SCRIPTS))
            characters += max(len(_string(child)) - linked, 0)
    return characters
