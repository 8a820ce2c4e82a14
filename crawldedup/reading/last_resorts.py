"""Read last resorts: content that browsers only show if something else fails.

These are the content of <noscript>, the document in `srcdoc` of a frame, a text field, the
replacement for an object, a canvas or a player that can't be shown, everything after a <map> that
was never closed, and the content of a <template>, which is shown in a component or once a script
fills it in. On most pages, this is a request to enable scripts, or a pixel that counts visits. On a
few pages, it is the only content.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape, unescape
from itertools import chain, filterfalse, islice, takewhile
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from crawldedup.errors import PageError
from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.reading import shell_words
from crawldedup.reading.blocks import TEXT, kind_of, kinds_of, tags
from crawldedup.reading.html import HtmlPage, bounded
from crawldedup.reading.templates import Template, templates_of

_MOST_LEVELS: Final = 4
"""How deeply last resorts may be nested, as in a picture in an object in another object."""

_MOST_TAGS: Final = 20_000
"""The number of tags that are read. Of 2,300 real pages, the largest had 18,000 elements."""

_MOST_MARKUPS: Final = 5_000
_MOST_LETTERS: Final = 2_000_000

_LONGEST_EXCUSE: Final = 5_000
"""The maximum number of letters in markup that may just ask to enable scripts (an excuse)."""

_LONGEST_LINE: Final = 60
"""The maximum number of words in a line that asks to enable scripts."""

_MOST_BESIDE: Final = 60
"""The maximum number of words besides such a line, such as those that explain how to do it."""

_WITHIN: Final = tags("audio canvas map object video")
_IN_TREE: Final = kinds_of(_WITHIN)
_RAW: Final = tags("noembed noframes noscript")
_TAGS: Final = sorted(_WITHIN | _RAW | {"iframe", "template", "textarea"})
_TEMPLATE: Final = kind_of("template")

_UNABLE: Final = re.compile(
    r"\b(?:html\s?5|flash|plug-?ins?|frames?|iframes?|canvas|video|audio|svg|object)\b", re.I
)
_INNER_PROGRAM: Final = re.compile(
    r"<(style|script)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE
)
_INLINE_TAG: Final = re.compile(r"</?(?:a|b|i|em|strong|span|code|abbr)(?:\s[^<>]*)?>", re.I)
_TAG: Final = re.compile(r"<[^<>]*>")
_PICTURE: Final = re.compile(r"<img\s[^<>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LastResorts:
    """The content of a page that browsers only show if something else fails.

    Attributes:
        pages: Documents of last resorts. Each contains those nested inside of the one before it.
        templates: A document of the templates that scripts may fill in, or None if there are none.
        excuses: Lines that ask to enable scripts or to use another browser.
        beside_excuses: The lines next to these, which are hardly the content of a page.
        is_cut: Whether there is more than is read.
    """

    pages: tuple[HtmlPage, ...]
    templates: HtmlPage | None
    excuses: tuple[str, ...]
    beside_excuses: tuple[str, ...]
    is_cut: bool


class _Markup(NamedTuple):
    """The HTML in a last resort, whether it may only be an excuse, and the tag of its element."""

    html: str
    may_excuse: bool
    tag: str


class _Found(NamedTuple):
    """Where the last resorts of a page are: in elements, which may be nested, and in templates."""

    elements: Sequence[LexborNode]
    may_be_nested: bool
    templates: Sequence[Template]


def last_resorts(page: HtmlPage) -> LastResorts | None:
    """Read the last resorts of a page, or return None if it has none.

    Raises:
        PageError: Reading them would cost too much.
    """
    pages: list[HtmlPage] = []
    excuses: dict[str, None] = {}
    beside: dict[str, None] = {}
    found = inner = _found(page)
    budget = _Budget()
    for _ in range(_MOST_LEVELS):
        content: list[str] = []
        for markup in takewhile(budget.allows, _markups(inner)):
            lines = _lines_of_excuse(markup.html) if markup.may_excuse else []
            if lines:
                excuses |= dict.fromkeys(filter(_is_excuse, lines))
                beside |= dict.fromkeys(filterfalse(_is_excuse, lines))
            else:
                content.append(f"<div>{markup.html}</div>")
        if not content:
            break
        pages.append(HtmlPage(bounded("\n".join(content))))
        inner = _found(pages[-1])
    else:
        budget.is_spent = budget.is_spent or any(True for _ in _markups(inner))
    templates = _templates(found, budget)
    if not pages and not excuses and templates is None and not budget.is_spent:
        return None
    return LastResorts(tuple(pages), templates, tuple(excuses), tuple(beside), budget.is_spent)


def may_outweigh(page: HtmlPage, letters: int) -> bool:
    """Return whether the last resorts of a page may be long: at least `letters`, including tags.

    This is much cheaper than reading them, which is worth it on few pages. Pictures don't count,
    because many pages repeat each of their pictures in a <noscript>.
    """
    found = _found(page)
    return _have_letters(islice(_markups(found), _MOST_MARKUPS), letters) or _have_letters(
        _hidden_templates(found), letters
    )


def _have_letters(markups: Iterable[_Markup], letters: int) -> bool:
    texts = [markup.html for markup in markups]
    if sum(map(len, texts)) < letters:
        return False
    return sum([len(_PICTURE.sub("", text)) for text in texts]) >= letters


def lines_of_last_resorts(page: HtmlPage) -> Iterator[tuple[str, str]]:
    """Yield the lines of last resorts, which browsers hardly ever show, as pairs.

    The tag of the element comes first, and then the line. Those that cost too much to read are left
    out.
    """
    budget = _Budget()
    found = _found(page)
    markups = chain(_markups(found), _hidden_templates(found))
    for markup in takewhile(budget.allows, markups):
        # If it would cost too much to read, it isn't compared either.
        with suppress(PageError):
            document = HtmlPage(bounded(f"<div>{markup.html}</div>"))
            yield from [(markup.tag, text) for text, _, _ in document.blocks.lines]


def _found(page: HtmlPage) -> _Found:
    # Looking up a tag takes half the time of a selector, and most pages have few of these tags.
    used = [tag for tag in _TAGS if page.tree.tags(tag)]
    elements = page.tree.css(", ".join(used)) if used else []
    kinds = {element.tag_id for element in elements}
    # Few pages have templates, and searching the markup for them takes as long as all the rest.
    templates = list(templates_of(page.html)) if _TEMPLATE in kinds else []
    return _Found(elements, not kinds.isdisjoint(_IN_TREE), templates)


def _templates(found: _Found, budget: "_Budget") -> HtmlPage | None:
    """Return a document made of the templates that scripts may fill in, or None."""
    content = [
        f"<div>{markup.html}</div>" for markup in takewhile(budget.allows, _hidden_templates(found))
    ]
    return HtmlPage(bounded("\n".join(content))) if content else None


def _hidden_templates(found: _Found) -> Iterator[_Markup]:
    for template in found.templates:
        if not template.is_shown:
            yield _Markup(template.html, may_excuse=False, tag="template")


class _Budget:
    """Limits how much of a page's last resorts is read: how many of them, tags and letters."""

    def __init__(self) -> None:
        self.is_spent = False
        self._markups = _MOST_MARKUPS
        self._tags = _MOST_TAGS
        self._letters = _MOST_LETTERS

    def allows(self, markup: _Markup) -> bool:
        """Return whether some markup may still be read, and subtract it from the budget."""
        self._markups -= 1
        self._tags -= markup.html.count("<")
        self._letters -= len(markup.html)
        self.is_spent = min(self._markups, self._tags, self._letters) < 0
        return not self.is_spent


def _markups(found: _Found) -> Iterator[_Markup]:
    """Yield the last resorts of a page that have content and aren't inside of another one.

    Templates that a script has yet to fill in aren't among them: see `_hidden_templates`.
    """
    for template in found.templates:
        if template.is_shown:
            yield _Markup(template.html, may_excuse=False, tag="template")
    known: dict[int, bool] = {}
    for node in found.elements:
        # Nested ones are read with the outer one.
        is_nested = found.may_be_nested and _is_within(node, known)
        if not is_nested and node.tag_id != _TEMPLATE:
            yield from _markups_in(node)


def _markups_in(node: LexborNode) -> Iterator[_Markup]:
    """Yield the content of a last resort and, for a frame, the document in `srcdoc`."""
    tag = node.tag or ""
    if node.tag_id in _IN_TREE:
        if node.first_child is not None:
            yield _Markup(node.inner_html or "", may_excuse=True, tag=tag)
        return
    if _has_elements(node):
        return
    text = node.text() or ""
    if tag == "textarea":
        if text.strip():
            markup = f"<pre>{escape(text, quote=False)}</pre>"
            yield _Markup(markup, may_excuse=False, tag=tag)
        return
    document = node.attributes.get("srcdoc") if tag == "iframe" else None
    if document:
        yield _Markup(document, may_excuse=False, tag=tag)
    if text.strip():
        yield _Markup(text, may_excuse=True, tag=tag)


def _has_elements(node: LexborNode) -> bool:
    """Return whether an element contains other elements, not just a text.

    In HTML, a <noscript> or a <textarea> contains only a text. In SVG and MathML, it's an element
    that browsers don't show, and may be one of thousands inside of each other.
    """
    inner = node.first_child
    return inner is not None and (inner.tag_id != TEXT or inner.next is not None)


def _is_within(node: LexborNode, known: dict[int, bool]) -> bool:
    """Return whether an element is inside of another last resort.

    Args:
        node: The element.
        known: The results for outer elements so far, by their `mem_id`. It is updated, so no
            element is examined twice.
    """
    path = []
    outer = node.parent
    while outer is not None and outer.mem_id not in known:
        path.append(outer)
        outer = outer.parent
    is_within = outer is not None and known[outer.mem_id]
    for above in reversed(path):
        is_within = is_within or above.tag_id in _IN_TREE
        known[above.mem_id] = is_within
    return is_within


def _lines_of_excuse(markup: str) -> list[str]:
    """Return the lines of markup that only asks for scripts or for another browser.

    There are none if the markup doesn't ask for these, or contains much else.
    """
    if len(markup) > _LONGEST_EXCUSE:
        return []
    text = _TAG.sub("\n", _INLINE_TAG.sub("", _INNER_PROGRAM.sub("\n", markup)))
    lines = [line for part in unescape(text).split("\n") if (line := " ".join(part.split()))]
    others = [line for line in lines if not _is_excuse(line)]
    if len(others) == len(lines) or count_words("\n".join(others)) > _MOST_BESIDE:
        return []
    return lines


def _is_excuse(line: str) -> bool:
    is_about_scripts = shell_words.SCRIPTS.search(line) or _UNABLE.search(line)
    if not is_about_scripts or not shell_words.ENABLE.search(line):
        return False
    return count_words(line) <= _LONGEST_LINE
