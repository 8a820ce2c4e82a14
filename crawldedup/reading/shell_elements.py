"""Find the elements that show whether a page is a shell, which a script has yet to fill.

These are its mount points, and the elements around the content, such as a header.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final

from selectolax.lexbor import LexborNode

from crawldedup.reading import shell_words
from crawldedup.reading.blocks import (
    BLOCKS,
    BOILERPLATE_ROLES,
    TEXT,
    holders_of_content,
    kind_of,
    kinds_of,
    tags,
)
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import link_target, picture_name, player_name
from crawldedup.reading.nodes import elements_around, text_within

# Limits, because a page may have 100,000 of each, and an attribute may have megabytes.
_MOST_ELEMENTS: Final = 600
_MOST_AROUND: Final = 1_500
"""The maximum number of elements in a header, a navigation, a footer and the like."""
_MOST_LINKS: Final = 2
_MOST_PARTS: Final = 40
_LONGEST_LABEL: Final = 150
_LONGEST_ATTRIBUTE: Final = 2_000

# Where an element is. In a header, or next to the content, a heading may be the page's own.
_OUTSIDE, _IN_CONTENT, _HEADER, _AROUND = range(4)

_BODY: Final = kind_of("body")
_LINK: Final = kind_of("a")
_PICTURE: Final = kind_of("img")
_SVG: Final = kind_of("svg")
_PROGRAMS: Final = kinds_of(tags("script style template link meta base title noscript"))
_FIELDS: Final = kinds_of(tags("input select textarea"))
_WITH_SOURCE: Final = kinds_of(tags("img iframe frame video audio source embed object"))
_SOURCES: Final = ("src", "data-src", "data")
_NO_ADDRESS: Final = ("data:", "about:", "javascript:", "blob:")
_OWN_PARTS: Final = kinds_of(tags("article main section"))
"""Elements to which a header, a footer or an aside inside of them belongs."""
_HEADERS: Final = kinds_of(tags("header aside"))
_FOOTERS: Final = kinds_of(tags("footer"))
_NAVIGATION: Final = kinds_of(tags("nav dialog menu search"))
_MAIN: Final = kind_of("main")
_BLOCKS: Final = kinds_of(BLOCKS)
_SAYS_NOTHING: Final = frozenset(["class", "style"])
# All other tags may be mount points: `<div>`, `<main>`, `<canvas>`, and a site's own ones.
_NO_CONTAINERS: Final = kinds_of(
    tags("""
    a abbr acronym address applet area aside audio b base bdi bdo big blockquote body br button
    caption center cite code col colgroup data datalist dd del details dfn dialog dir dl dt
    em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 header
    hgroup hr i iframe img input ins kbd label legend li link map mark marquee menu meta meter nav
    nobr noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp
    script search select slot small source span strike strong style sub summary sup svg table tbody
    td template textarea tfoot th thead time title tr track tt u ul var video wbr
    """)
)


@dataclass(slots=True)
class Elements:
    """The elements of a page that matter for whether a script has yet to fill it.

    Attributes:
        ids: The IDs of the elements that a script may fill.
        is_empty: Whether such an element is empty.
        mounts: The `mem_id` of each element whose content can only be that of the page. It is
            outside of headers and the like, has its own name or tag, and isn't meant for a map,
            comments or advertisements.
        places: Where each element of a header, a navigation and the like is, by `mem_id`.
        texts: The lines of such elements that aren't blocks, as of a link to skip the navigation.
        has_controls: Whether there are links, fields or pictures that only belong to a shell
            because of where they are.
    """

    ids: set[str] = field(default_factory=set)
    is_empty: bool = False
    mounts: set[int] = field(default_factory=set)
    places: dict[int, int] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    has_controls: bool = False

    def is_around(self, node: LexborNode, line: str) -> bool:
        """Return whether a line is around the content, as in a header that all pages have."""
        return node.mem_id in self.places or line in self.texts

    def may_have_headings(self, node: LexborNode) -> bool:
        """Return whether the headings in an element around the content belong to the site."""
        return self.places.get(node.mem_id) == _AROUND


def elements_of(page: HtmlPage) -> Elements | None:
    """Find the elements of a page that matter for whether it is a shell.

    The result is None if the page can't be one: it shows content, has more elements than shells
    have, or has no body.
    """
    body = page.tree.body
    if body is None:
        return None
    found = Elements()
    no_mounts: set[int] = set()
    links = inner = 0
    for node, place in _nodes(body, page):
        is_around = place >= _HEADER
        inner += not is_around
        if is_around:
            found.places[node.mem_id] = place
            if node.tag_id not in _BLOCKS:
                found.texts.add(text_within(node, _LONGEST_ATTRIBUTE))
        if inner > _MOST_ELEMENTS or len(found.places) > _MOST_AROUND:
            return None
        if _shows_content(node):
            if not is_around or _is_own(node, place):
                return None
            found.has_controls = True
        links += _note(node, found, is_around=is_around)
        if links > _MOST_LINKS:
            return None
        if is_around or node.tag_id == _SVG or _is_slot(node):
            _rule_out(node, no_mounts)
    found.mounts -= no_mounts
    found.ids.discard("")
    return found


def _note(node: LexborNode, found: Elements, *, is_around: bool) -> int:
    """Record what an element says about whether the page is a shell.

    Return 1 for a link to elsewhere that isn't around the content, else 0.
    """
    kind = node.tag_id
    if kind == _LINK:
        if not _leads_away(node):
            return 0
        found.has_controls = found.has_controls or is_around
        return int(not is_around)
    if kind not in _NO_CONTAINERS:
        found.ids.add((node.attributes.get("id") or "")[:_LONGEST_ATTRIBUTE])
        found.is_empty = found.is_empty or _is_empty(node)
        if not is_around and _is_named(node):
            found.mounts.add(node.mem_id)
    return 0


def _rule_out(node: LexborNode, no_mounts: set[int]) -> None:
    """Note that neither an element nor those around it are mount points."""
    for outer in chain([node], elements_around(node)):
        if outer.mem_id in no_mounts:
            return
        no_mounts.add(outer.mem_id)


def _nodes(body: LexborNode, page: HtmlPage) -> Iterator[tuple[LexborNode, int]]:
    """Yield the elements of a body that may show something, and where each of them is.

    The inside of drawings is left out. The elements around the content come last, because the
    content of most pages shows that they aren't shells.
    """
    holders = holders_of_content(page.tree, "article, main")
    waiting = [(body, _OUTSIDE)]
    around: list[tuple[LexborNode, int]] = []
    while waiting or around:
        outer, place_of_outer = waiting.pop() if waiting else around.pop()
        node = outer.first_child
        while node is not None:
            if node.is_element_node and node.tag_id not in _PROGRAMS:
                place = place_of_outer
                # A navigation that holds the article was never closed.
                if place < _HEADER and node.mem_id not in holders:
                    place = _place_of(node, place, holds_heading=node.mem_id in page.holders)
                yield node, place
                if node.tag_id != _SVG:
                    holder = around if place >= _HEADER else waiting
                    holder.append((node, place))
            node = node.next


def _place_of(node: LexborNode, outer: int, *, holds_heading: bool) -> int:
    """Return where an element is: in a header, otherwise around the content, in it, or outside.

    Its tag, its role and its names decide.
    """
    kind = node.tag_id
    if kind in _OWN_PARTS:
        return _IN_CONTENT
    if outer == _OUTSIDE and kind in _HEADERS:
        return _HEADER
    if kind in _NAVIGATION or (outer == _OUTSIDE and kind in _FOOTERS):
        return _AROUND
    attributes = node.attributes
    if not attributes or holds_heading:
        return outer
    if (attributes.get("role") or "").lower() in BOILERPLATE_ROLES:
        return _AROUND
    names = [(attributes.get(name) or "")[:_LONGEST_LABEL] for name in ("class", "id")]
    return _AROUND if any(map(_is_called_around, names)) else outer


# The same few names are on all pages of a site.
@lru_cache(maxsize=4096)
def _is_called_around(name: str) -> bool:
    return shell_words.AROUND.search(name) is not None


def _is_named(node: LexborNode) -> bool:
    """Return whether an element has a name, so it is more than a part of a layout."""
    is_own_tag = "-" in (node.tag or "") or node.tag_id == _MAIN
    return is_own_tag or not _SAYS_NOTHING.issuperset(node.attributes)


def _is_slot(node: LexborNode) -> bool:
    """Return whether an element is a slot that ordinary pages also leave empty, such as for ads.

    Its class, ID or tag says so.
    """
    attributes = node.attributes
    names = [(attributes.get(name) or "")[:_LONGEST_LABEL] for name in ("class", "id")]
    return any(map(_is_called_slot, [*names, (node.tag or "")[:_LONGEST_LABEL]]))


@lru_cache(maxsize=4096)
def _is_called_slot(name: str) -> bool:
    return shell_words.SLOT.search(name) is not None


def _is_empty(node: LexborNode) -> bool:
    """Return whether an element has neither text nor other elements, apart from programs."""
    child = node.first_child
    for _ in range(_MOST_PARTS):
        if child is None:
            return True
        if child.is_element_node and child.tag_id not in _PROGRAMS:
            return False
        if child.tag_id == TEXT and not (child.text_content or "").isspace():
            return False
        child = child.next
    return False


def _shows_content(node: LexborNode) -> bool:
    """Return whether an element shows a field, a picture or a player, which shells don't have."""
    kind = node.tag_id
    attributes = node.attributes if kind in _WITH_SOURCE or kind in _FIELDS else {}
    if kind in _FIELDS:
        return attributes.get("type") != "hidden"
    if kind not in _WITH_SOURCE:
        return False
    source = next(filter(None, (attributes.get(name) for name in _SOURCES)), "")
    if not source or source.startswith(_NO_ADDRESS):
        return bool(attributes.get("srcset"))
    if kind == _PICTURE:
        return picture_name(source) is not None and not is_called(node, shell_words.SPLASH)
    return player_name(source) is not None


def _is_own(node: LexborNode, place: int) -> bool:
    """Return whether a field or a picture around the content belongs to the page, not the site.

    These belong to the site: an empty search field, the boxes of a banner, the pictures of a
    footer, and the picture in a header that links to the home page.
    """
    attributes = node.attributes
    if node.tag_id in _FIELDS:
        is_choice = (attributes.get("type") or "").lower() in shell_words.CHOICES
        return bool(attributes.get("value")) and not is_choice
    if node.tag_id != _PICTURE:
        return True
    link = node.parent
    is_home = link is not None and link.tag_id == _LINK and not link_target(_href(link).rstrip("/"))
    return place == _HEADER and not is_home


def _href(link: LexborNode) -> str:
    return link.attributes.get("href") or ""


def _leads_away(link: LexborNode) -> bool:
    """Return whether a link leads to another page. One to a newer browser doesn't count."""
    return bool(link_target(_href(link))) and not is_called(link, shell_words.EXCUSE)


def is_called(node: LexborNode, label: re.Pattern[str]) -> bool:
    """Return whether `label` matches a name of an element, or of one around it in the body."""
    for outer in chain([node], elements_around(node)):
        # A body may have such a name although all of its content is there.
        if outer.tag_id == _BODY:
            return False
        attributes = outer.attributes
        for name in ("class", "id", "role"):
            if label.search((attributes.get(name) or "")[:_LONGEST_LABEL]):
                return True
    return False
