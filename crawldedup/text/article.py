"""The part of a page's main text that is its article: what an article on another site has in common with it.

Extractors of main text recognise navigation and footers by their names and shapes, and leave in what a template
puts beside an article in whole sentences: teasers, notices, comments, "about us". But an article stands in an
element of its own. So the long pieces of text are looked up in the tree of the page, and from the top of the
tree the way is followed to the element that holds most of them, as long as what is left behind is not told
in the same voice: paragraphs, lists and headings right beside that element, or elements of its kind.
Documentation, forums and listings consist of such, and stay whole.

What remains is all between the first and the last piece, short lines, tables and code too. The numbers below were
chosen on half of the articles of `benchmarks/templates.py`, and on manuals, of which nothing may be lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

_MOST: Final = 0.5
"""Share of the article's characters the element must hold."""
_MAY_BE_LEFT: Final = 0.25
"""Share of its characters that may be left behind in its own voice. From 0.3 on, sections of manuals get lost."""
_MIN_CHARACTERS: Final = 250
"""Of long pieces: below, a page has no article."""
_MIN_SHARE: Final = 0.3
"""Of the main text, in long pieces: below, a page is a list, a table or code rather than an article."""
_LEAST_KEPT: Final = 0.5
"""Of the main text: what leaves out more than it keeps has found something else, say the notices beside a poem."""
_LONG_BYTES: Final = 60
"""Of a piece. As UTF-8, for scripts with many characters need few of them."""
_LONG_LETTERS: Final = _LONG_BYTES // 4
"""No text with fewer has so many bytes."""
_LONG_WITHOUT_PUNCTUATION: Final = 180
"""Thai is written without."""
_PUNCTUATION: Final = re.compile(r"[.!?,;:…。！？、，；：．،؛؟।॥។៕၊။։፡።፣·]")
# Searching takes pieces times text. Real articles need a hundredth of this, and it takes two seconds at worst.
_MOST_WORK: Final = 30_000_000

# The first condition spares short texts the second.
_long_texts: Final = etree.XPath(
    f"/descendant::text()[string-length() >= {_LONG_LETTERS}][string-length(normalize-space()) >= {_LONG_LETTERS}]"
)
_string: Final = etree.XPath("string()")
_NO_TEXT: Final = frozenset(["noscript", "script", "style", "template", "textarea", "title"])
_LINKS_AND_SCRIPTS: Final = ("a", "noscript", "script", "style")
# fmt: off
_IN_LINES: Final = frozenset((
    "a", "b", "code", "em", "font", "i", "li", "p", "span", "strong", "u",
))
_PLAIN_BLOCKS: Final = frozenset((
    "a", "b", "blockquote", "center", "code", "dd", "dl", "dt", "em", "figure", "font", "h2", "h3", "h4", "h5", "i",
    "li", "ol", "p", "pre", "span", "strong", "table", "ul",
))
# fmt: on


class _Piece(NamedTuple):
    element: HtmlElement
    """The one it stands in."""
    start: int
    end: int


def may_be_article(text: str) -> bool:
    """Whether `article_of` can find an article in a main text; a page need not be parsed to be told that it cannot."""
    return len(text) >= _MIN_CHARACTERS


def article_of(text: str, tree: HtmlElement) -> str:
    """The lines of the main text `text` that are the article of the page `tree`; all of them if there is none."""
    lines = [line for line in (" ".join(line.split()) for line in text.split("\n")) if line]
    joined = " ".join(lines)
    texts = _long_texts(tree)
    if (len(texts) + len(lines)) * len(joined) > _MOST_WORK:
        return text
    pieces = list(_pieces(texts, joined))
    held = _held(pieces)
    total = held.get(tree, 0)
    if total < max(_MIN_CHARACTERS, _MIN_SHARE * len(joined)):
        return text
    element = _element_of_article(tree, held, total)
    inside = [piece for piece in pieces if piece.element in held and _is_within(piece.element, element)]
    if not inside:
        return text
    first, last = _line_numbers(lines, min(piece.start for piece in inside), max(piece.end for piece in inside))
    # Its short paragraphs and headings at either end.
    letters = "".join(_string(element).split())
    while first > 0 and lines[first - 1].replace(" ", "") in letters:
        first -= 1
    while last < len(lines) - 1 and lines[last + 1].replace(" ", "") in letters:
        last += 1
    article = "\n".join(lines[first : last + 1])
    return article if len(article) >= _LEAST_KEPT * len(joined) else text


def _pieces(texts: list[etree._ElementUnicodeResult], joined: str) -> Iterator[_Piece]:
    """The sentences among the texts of the tree that the main text holds, but those of links."""
    for found in texts:
        if len(found.encode()) < _LONG_BYTES:
            continue
        piece = " ".join(found.split())
        size = len(piece.encode())
        if size < _LONG_BYTES or (size < _LONG_WITHOUT_PUNCTUATION and not _PUNCTUATION.search(piece)):
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
            yield _Piece(element, start, start + len(piece))


def _held(pieces: list[_Piece]) -> dict[HtmlElement, int]:
    """How many characters of the pieces every element holds."""
    held: dict[HtmlElement, int] = {}
    for element, start, end in pieces:
        holder = element
        while holder is not None:
            held[holder] = held.get(holder, 0) + end - start
            holder = holder.getparent()
    return held


def _element_of_article(tree: HtmlElement, held: dict[HtmlElement, int], total: int) -> HtmlElement:
    element = tree
    left = 0
    while True:
        inner = max(element, key=lambda child: held.get(child, 0), default=None)
        if inner is None or held.get(inner, 0) < _MOST * total:
            break
        left += _left_behind(element, inner)
        if left > _MAY_BE_LEFT * held[inner]:
            break
        element = inner
    while element.tag in _IN_LINES:
        element = element.getparent()
    return element


def _left_behind(element: HtmlElement, inner: HtmlElement) -> int:
    """Characters in `element` that are told in the voice of its child `inner`, without links."""
    kind = (inner.tag, inner.get("class"))
    characters = len((element.text or "").strip())
    for child in element:
        characters += len((child.tail or "").strip())
        if child is not inner and (child.tag in _PLAIN_BLOCKS or (child.tag, child.get("class")) == kind):
            linked = sum(len(_string(link)) for link in child.iter(*_LINKS_AND_SCRIPTS))
            characters += max(len(_string(child)) - linked, 0)
    return characters


def _is_within(element: HtmlElement, holder: HtmlElement) -> bool:
    return element is holder or any(ancestor is holder for ancestor in element.iterancestors())


def _line_numbers(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The lines in which the characters `start` and `end - 1` of the joined lines stand."""
    first = last = offset = 0
    for number, line in enumerate(lines):
        if offset <= start:
            first = number
        if offset < end:
            last = number
        offset += len(line) + 1
    return first, last
