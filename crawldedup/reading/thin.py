"""Read everything by which a page with little text may differ from others.

The pages of a photo gallery, of a paste bin, or of a shop that fills its pages by script may differ
in one address, and in nothing else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from crawldedup.reading import shell_words
from crawldedup.reading.addresses import (
    addresses_in_style,
    addresses_of,
    digest_of,
    is_media_file,
    named_files,
    shortened,
)
from crawldedup.reading.blocks import BOILERPLATE_ROLES, BOILERPLATE_TAGS, blocks_of, tags
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.last_resorts import LastResorts
from crawldedup.reading.nodes import own_text
from crawldedup.reading.volatile import without_visit
from crawldedup.urls import TOKEN

Attributes = Mapping[str, str | None]

_MEDIA: Final = tags("audio embed frame iframe image img object source track video")
# For links, for pictures in drawings, and for elements that a program turns into links.
_TARGETS: Final = ("href", "xlink:href", "data-href")
_SILENT: Final = tags("base head link script style template title use")
_IDENTIFYING_META: Final = frozenset(["description", "og:title", "og:description", "og:image"])
_LABELS: Final = ("alt", "data-alt")
_TITLES: Final = ("title", "aria-label")
_DRAWN: Final = tags("desc text textpath title tspan")
_HTML_IN_DRAWING: Final = "foreignobject"
_PROGRAMS: Final = tags("script style")
_TIMES: Final = tags("relative-time time time-ago")  # their titles may say how long ago it was

# Fields whose values aren't shown, or don't belong to the page.
_NO_VALUE: Final = tags("hidden password file image")
# Fields whose values are words of the page, or change from day to day.
_NO_CONTENT: Final = _NO_VALUE | tags("button submit reset date datetime-local month time week")
_CHOICES: Final = tags("checkbox radio")
_VALUED: Final = tags("meter progress")
_TOKEN: Final = re.compile(TOKEN, re.IGNORECASE)

_LEAST_SHOWN: Final = 3
"""The size in pixels below which a picture only counts visits."""

_MOST_ELEMENTS: Final = 20_000
"""The maximum number of elements that are read. A page with more is compared by all its markup."""

_LONGEST_HOST: Final = 200
"""The number of letters of an address in which the name of a tracker is searched for."""

_PIXELS: Final = re.compile(r"\s{0,9}(\d{1,6})(?:px)?\s{0,9}")
# Parameters with the address to return to after a login. That is the page itself, unless it is on
# another site.
_WAY_BACK: Final = re.compile(
    r"(?<=[?&])(?:next|return|return_?(?:url|to|path)|redirect|redirect_?(?:url|uri|to)|continue|"
    r"dest|destination|goto|back|back_?url|came_from|refer(?:er|rer))=(?:/|%2f)(?!/|%2f)[^&#]*&?",
    re.IGNORECASE,
)
_REFERRER: Final = re.compile(r"[?&]ref=", re.IGNORECASE)
_SHARES: Final = re.compile(
    r"^(?:https?:)?//(?:[\w-]{1,20}\.)?(?:facebook\.com/(?:sharer|share|dialog)|"
    r"(?:twitter|x)\.com/(?:share|intent|home\?status)|pinterest\.\w{2,3}/pin/create|"
    r"linkedin\.com/(?:share|cws)|reddit\.com/submit|tumblr\.com/share|"
    r"(?:wa\.me|api\.whatsapp\.com|t\.me/share)\b|vk\.com/share|addtoany\.com|addthis\.com)|"
    r"^(?:mailto:\?|whatsapp:)",
    re.IGNORECASE,
)
# Code that leads to another page when somebody clicks.
_LEADS: Final = re.compile(r"location|open\s?\(", re.IGNORECASE)


class ThinTexts(NamedTuple):
    """The texts by which a page with little text is compared.

    Attributes:
        whole: Everything that exact copies have in common, including programs; "" if there is
            nothing to see.
        core: What two visits have in common if the page doesn't change. Programs, and the links and
            fields around the content, often change with every load.
    """

    whole: str
    core: str


def visible_text(page: HtmlPage) -> str:
    """Return all the text that a visitor without scripts sees, or "" if there is none.

    The title comes first, followed by the lines of the blocks.
    """
    return "\n".join(filter(None, (page.title, *_lines(page))))


def thin_texts(page: HtmlPage, main: str, resorts: LastResorts | None) -> ThinTexts:
    """Read the texts by which a page with little text is compared.

    Args:
        page: The page.
        main: The main text of the page.
        resorts: Its last resorts, which browsers only show if something else fails.
    """
    parts = [_Part(visible_text(page), f"{page.title}\n{main}"), *_Elements(page).parts()]
    excuses: tuple[str, ...] = ()
    if resorts is not None:
        excuses = resorts.excuses
        if resorts.is_cut:
            parts.append(_words(digest_of(page.html)))
        parts += map(_words, resorts.beside_excuses)
        templates = () if resorts.templates is None else (resorts.templates,)
        for inner in (*resorts.pages, *templates):
            parts += map(_words, _lines(inner))
            parts += _Elements(inner, without_trackers=True).parts()
    whole = _joined([part.whole for part in parts])
    # A request to enable scripts doesn't count as visible.
    return ThinTexts(
        whole=_joined([whole, *excuses]) if whole else "",
        core=_joined([part.core for part in parts]),
    )


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(filter(None, map(str.strip, parts)))


def _lines(page: HtmlPage) -> list[str]:
    return [text for text, _, _ in blocks_of(page.tree, with_controls=True).lines]


# What elements say


class _Part(NamedTuple):
    """What an element says: for exact copies of the whole page, and for its core."""

    whole: str
    core: str


def _words(text: str) -> _Part:
    return _Part(text, text)


def _address(address: str, *, stays: bool = True) -> _Part:
    address = shortened(address.strip())
    return _Part(address, without_visit(address) if stays else "")


def _target(address: str) -> _Part:
    """Return where a link leads, leaving out the session and the way back to the page itself.

    If a parameter names the site that refers a visitor, the session stays in `whole`.
    """
    target = _WAY_BACK.sub("", shortened(address.strip()))
    core = without_visit(target)
    # The site that refers a visitor may be the only thing that a link says.
    return _Part(target if _REFERRER.search(target) else core, core)


class _Elements:
    """Reads what the elements of a page say besides their text, such as addresses and values."""

    def __init__(self, page: HtmlPage, *, without_trackers: bool = False) -> None:
        self._page = page
        self._content = page.content
        self._without_trackers = without_trackers
        self._known: dict[int, bool] = {}
        # Elements of HTML that are seen so far inside of drawings, as in diagrams.
        self._in_drawings: set[int] = set()

    def parts(self) -> Iterator[_Part]:
        """Yield what each element says, in document order.

        If there are too many elements, a digest of the whole page comes first, and only some are
        read.
        """
        elements = self._page.tree.css("*")
        if len(elements) > _MOST_ELEMENTS:
            yield _words(digest_of(self._page.html))
        for element in elements[:_MOST_ELEMENTS]:
            tag = element.tag or ""
            if tag == "script":
                program = own_text(element)
                is_data = "json" in (element.attributes.get("type") or "")
                yield _Part(program, program if is_data else "")
            elif tag == "style":
                for address in addresses_in_style(own_text(element)):
                    if is_media_file(address):
                        yield _address(address)
            elif tag == "meta":
                yield from _of_meta(element.attributes)
            elif tag not in _SILENT and (attributes := element.attributes):
                yield from self._of_element(element, tag, attributes)
            if self._is_drawn(element, tag):
                yield _words(own_text(element))

    def _is_drawn(self, element: LexborNode, tag: str) -> bool:
        """Return whether the text of an element is part of a drawing."""
        outer = element.parent
        if outer is None or tag in _PROGRAMS:
            return False
        if tag.lower() == _HTML_IN_DRAWING or outer.mem_id in self._in_drawings:
            self._in_drawings.add(element.mem_id)
            return True
        return tag.lower() in _DRAWN and outer.tag != "head"

    def _of_element(self, element: LexborNode, tag: str, attributes: Attributes) -> Iterator[_Part]:
        is_media = tag in _MEDIA
        if is_media and self._counts_visits(attributes):
            return
        for label in _LABELS:
            yield _words(attributes.get(label) or "")
        titles = [text for name in _TITLES if (text := attributes.get(name))]
        said = [*_links(tag, attributes), *_values(tag, attributes)]
        if is_media or attributes.get("role") == "img":
            yield from map(_words, titles)
        elif tag not in _TIMES:
            said += map(_words, titles)
        yield from self._addresses(element, is_media=is_media)
        if said and not self._is_around_content(element):
            yield from said

    def _addresses(self, element: LexborNode, *, is_media: bool) -> Iterator[_Part]:
        attributes = element.attributes
        addresses = [*addresses_of(attributes)]
        addresses += named_files(attributes)
        style = attributes.get("style")
        if style and "(" in style:
            addresses += addresses_in_style(style)
        if addresses:
            stays = is_media or not self._is_around_content(element)
            for address in addresses:
                yield _address(address, stays=stays)

    def _counts_visits(self, attributes: Attributes) -> bool:
        """Return whether an element is a tracker, which only counts visits."""
        if self._without_trackers:
            source = next(addresses_of(attributes), "")
            if shell_words.OF_OTHERS.search(source[:_LONGEST_HOST]):
                return True
        width, height = (
            _PIXELS.fullmatch(attributes.get(name) or "") for name in ("width", "height")
        )
        if width is None or height is None or "data-src" in attributes:
            return False
        return max(int(width[1]), int(height[1])) < _LEAST_SHOWN

    def _is_around_content(self, element: LexborNode) -> bool:
        """Return whether an element is inside of a navigation, a footer or a sidebar.

        Results for the outer elements are remembered, so none is examined twice.
        """
        path = []
        outer = element.parent
        while outer is not None and outer.mem_id not in self._known:
            path.append(outer)
            outer = outer.parent
        is_around = outer is not None and self._known[outer.mem_id]
        for node in reversed(path):
            is_around = is_around or (
                node.mem_id not in self._content
                and (
                    node.tag in BOILERPLATE_TAGS or node.attributes.get("role") in BOILERPLATE_ROLES
                )
            )
            self._known[node.mem_id] = is_around
        return is_around


def _of_meta(attributes: Attributes) -> Iterator[_Part]:
    name = attributes.get("property") or attributes.get("name") or ""
    content = attributes.get("content") or ""
    if name.lower() in _IDENTIFYING_META:
        yield _words(content)
    elif (attributes.get("http-equiv") or "").lower() == "refresh":
        yield _target(content)


def _links(tag: str, attributes: Attributes) -> Iterator[_Part]:
    """Yield the addresses to which an element leads if somebody clicks on it."""
    for name in _TARGETS:
        href = attributes.get(name)
        if href and not _SHARES.match(href):
            yield _target(href)
    if tag == "form" and (attributes.get("method") or "get").lower() == "get":
        yield _target(attributes.get("action") or "")
    if "formaction" in attributes:
        yield _target(attributes["formaction"] or "")
    program = attributes.get("onclick")
    if program and _LEADS.search(program):
        yield _Part(program, "")


def _values(tag: str, attributes: Attributes) -> Iterator[_Part]:
    """Yield the values that an element shows or passes on, such as those of a form field."""
    value = attributes.get("value") or ""
    if tag == "param":
        yield _address(value)
    elif tag == "input":
        yield from _of_field(attributes, value)
    elif tag == "option":
        if "selected" in attributes:
            yield _words(f"selected {value}")
    elif value and (tag in _VALUED or "-" in tag):
        yield _words(value)
    if text := attributes.get("data-clipboard-text"):
        yield _words(text)


def _of_field(attributes: Attributes, value: str) -> Iterator[_Part]:
    kind = (attributes.get("type") or "text").lower()
    if kind in _CHOICES:
        if "checked" in attributes:
            yield _words(f"checked {attributes.get('name') or ''} {value}")
    elif value and kind not in _NO_VALUE:
        is_fixed = "readonly" in attributes or "disabled" in attributes
        stays = is_fixed or not (kind in _NO_CONTENT or _TOKEN.fullmatch(value))
        yield _Part(value, value if stays else "")
