"""Read what tells a page apart from similar ones: names, pictures, players, data, text and links.

The walk for the main text collects links and pictures, so those in navigation, footers and the like
aren't marks of the page.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    MOST_DATA,
    MOST_NAMES,
    MOST_PICTURES,
    MOST_PLAYERS,
    SOCIAL_TITLE,
    TITLE_PART,
    ShownMarks,
    ShownName,
)
from crawldedup.reading import mark_words
from crawldedup.reading.addresses import first_address
from crawldedup.reading.blocks import Blocks, kind_of, kinds_of
from crawldedup.reading.declared import NEXT_SITE, Elements, declared_data, places_on_maps
from crawldedup.reading.embeds import Embeds, ShownPicture, first_picture, is_small
from crawldedup.reading.full_name import full_name
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.listing import Listing, listing_of
from crawldedup.reading.mark_words import name_of, without_visits, words_of

_H1: Final = kind_of("h1")
_LINK: Final = kind_of("a")
_PICTURE: Final = kind_of("img")
_HEADINGS: Final = kinds_of(["h1", "h2", "h3"])
_LISTED: Final = kinds_of(["li", "td"])

# Limits, because a page may have 100,000 of each.
_MOST_LINKS: Final = 400
_MOST_MEDIA: Final = 200
_MOST_META: Final = 100
_MOST_LETTERS: Final = 200_000
LONGEST_TITLE: Final = 500
LONGEST_HEADING: Final = 300
_MOST_PARTS: Final = 4
_MOST_SOURCES: Final = 10
_FEWEST_TEASERS: Final = 2

_FULL_NAME: Final = "full name"
_REFRESH: Final = re.compile(r"[\s\d.]{0,9}[;,]\s{0,9}url\s{0,9}=\s{0,9}['\"]?([^'\"\s]+)", re.I)
_LONGEST_REFRESH: Final = 2_000

_PUNCTUATION: Final = " .:!?…»)”’\"'"


def read_marks(
    page: HtmlPage, text: str, url: str = "", *, with_numbers: bool = False
) -> ShownMarks:
    """Read the marks of a page, which show what content it has.

    Args:
        page: The page.
        text: Its main text.
        url: Its URL.
        with_numbers: Whether other numbers in the text tell pages apart as well.
    """
    headings = list(_headings_of_page(page.blocks, url))
    meta = _meta(page)
    names = _names(page, headings, meta.get("og:title", ""))
    embeds = Embeds.of(page, text)
    pictures = _pictures(page.blocks, embeds.pictures, meta.get("og:image", ""))
    elements = Elements.of(page.tree, text)
    links = _links(page.blocks)
    listing = listing_of(page.blocks, links, url)
    described = full_name(page, [heading.text for heading in headings])
    if partner := _next_site(meta.get("refresh", ""), url):
        meta[NEXT_SITE] = partner
    data = declared_data(page.blocks, elements, meta)
    return ShownMarks(
        names=names,
        pictures=pictures.names,
        has_lead=pictures.has_lead,
        players=_players(page.blocks, elements, embeds.players),
        data=((_FULL_NAME, described), *data)[:MOST_DATA] if described else data,
        text=_text_of_teasers(listing) or _steady_text(page.blocks, text, names),
        links=links if listing is None else listing.targets,
        is_listing=listing is not None,
        numbers=_numbers(text, headings) if with_numbers else None,
    )


def marks_of_text(text: str, title: str | None, *, with_numbers: bool = False) -> ShownMarks | None:
    """Read the marks of a text that comes without HTML.

    They are None for a text without a title, unless its numbers tell it apart from others.

    Args:
        text: The text.
        title: Its title.
        with_numbers: Whether other numbers in the text tell pages apart as well.
    """
    numbers = _numbers(text, []) if with_numbers else None
    name = words_of(name_of((title or "")[:LONGEST_TITLE]))
    if not name:
        return None if numbers is None else ShownMarks(numbers=numbers)
    roles = FIRST_HEADING | TITLE_PART | FIRST_PART | ALIAS
    return ShownMarks(
        names=(_shown_name(name, roles),),
        text="\n".join([without_visits(line) for line in text[:_MOST_LETTERS].split("\n")]),
        numbers=numbers,
    )


def _meta(page: HtmlPage) -> dict[str, str]:
    """Return what the <meta> elements of a page say, by property. The first of each counts."""
    head = page.tree.head
    if head is None:
        return {}
    found: dict[str, str] = {}
    for node in head.css("meta[property], meta[name], meta[http-equiv]")[:_MOST_META]:
        attributes = node.attributes
        name = (
            attributes.get("property")
            or attributes.get("name")
            or attributes.get("http-equiv")
            or ""
        )
        content = attributes.get("content")
        if content:
            found.setdefault(name.lower(), content)
    return found


def _next_site(refresh: str, url: str) -> str:
    """Return the address on another site that a page leads to after a few seconds, or "".

    Args:
        refresh: The content of <meta http-equiv="refresh">.
        url: The URL of the page.
    """
    match = _REFRESH.match(refresh[:_LONGEST_REFRESH])
    if match is None:
        return ""
    try:
        host = urlsplit(match[1]).hostname
        its_host = urlsplit(url).hostname
    except ValueError:
        return ""
    is_partner = host is not None and its_host is not None and host != its_host
    return match[1] if is_partner else ""


# Names


class Heading(NamedTuple):
    """The text of a heading in the content. `is_first` is True for an <h1>."""

    text: str
    is_first: bool


def headings_of(blocks: Blocks) -> Iterator[Heading]:
    """Yield the headings of the content."""
    for heading, _, _ in _headings_with_links(blocks):
        yield heading


def _headings_of_page(blocks: Blocks, url: str) -> Iterator[Heading]:
    """Yield the headings of the content, without those that lead to the home page.

    Many themes show the name of the site as a heading on every page. The title repeats it as well,
    and it's often longer than the name of the page.
    """
    for heading, linked, block in _headings_with_links(blocks):
        link = blocks.nodes[block].css_first("a[href]") if 2 * linked > len(heading.text) else None
        if link is None or not mark_words.leads_home(link.attributes, url):
            yield heading


def _headings_with_links(blocks: Blocks) -> Iterator[tuple[Heading, int, int]]:
    """Yield each heading of the content with its number of linked letters and its block."""
    kinds = blocks.kinds
    parents = blocks.parents
    for text, linked, block in blocks.lines:
        kind = kinds[block]
        if kind not in _HEADINGS:
            kind = kinds[parents[block]] if block else kind
        if kind in _HEADINGS:
            yield Heading(text, kind == _H1), linked, block


def _names(page: HtmlPage, headings: Sequence[Heading], social_title: str) -> tuple[ShownName, ...]:
    """Return the names that a page has in its headings and titles, each with its roles."""
    title = mark_words.VERSION.sub("", name_of(page.title[:LONGEST_TITLE]))
    whole = words_of(title)
    parts = [words_of(part) for part in mark_words.SEPARATOR.split(title)]
    called = [(words_of(name_of(each.text[:LONGEST_HEADING])), each) for each in headings]
    first_headings = {name for name, heading in called if name and heading.is_first}
    roles: dict[str, int] = {}

    def add(name: str, role: int) -> None:
        if name:
            roles[name] = roles.get(name, 0) | role

    for name in _headlines(called, whole, parts):
        add(name, HEADLINE)
    if len(first_headings) == 1:
        add(first_headings.pop(), FIRST_HEADING)
    add(words_of(name_of(social_title[:LONGEST_HEADING])), SOCIAL_TITLE)
    role = TITLE_PART | FIRST_PART
    for part in [part for part in parts if part][:_MOST_PARTS]:
        add(part, role)
        role = TITLE_PART
    add(whole, ALIAS)
    labeled = mark_words.AFTER_LABEL.match(title)
    if labeled is not None:
        add(words_of(mark_words.SEPARATOR.split(labeled[1])[0]), ALIAS)
    return tuple([_shown_name(*name) for name in list(roles.items())[:MOST_NAMES]])


def _headlines(
    called: Sequence[tuple[str, Heading]], title: str, parts: Sequence[str]
) -> tuple[str, ...]:
    """Return the headings that are headlines, because the title repeats them.

    These are the longest one, and another one that is a whole part of the title, if there is one.
    One of them may be the name of the site. The name of a manual with a version isn't one, because
    it differs in other versions of the page.
    """
    around = f" {title} "
    longest = ""
    for name, _ in called:
        if len(name) > len(longest) and f" {name} " in around:
            longest = name
    for name, heading in called:
        is_part = name != "" and name != longest and name in parts
        if is_part and not mark_words.RELEASE.search(heading.text):
            return longest, name
    return (longest,)


def _shown_name(words: str, roles: int) -> ShownName:
    if any(char.isdigit() for char in words):
        roles |= HAS_NUMBER
    if " " not in words:
        roles |= IS_SINGLE_WORD
    return ShownName(words, roles)


# Pictures and players


class _Pictures(NamedTuple):
    names: tuple[str, ...]
    has_lead: bool


def _pictures(blocks: Blocks, embeds: Sequence[ShownPicture], social_picture: str) -> _Pictures:
    """Return the pictures of the content, the lead picture first.

    A lead picture stands alone, not in a link to another page or in a list. Backgrounds and the
    like only lead if nothing else does, because one of all pages would make them alike.
    """
    shown: list[str] = []
    linked: list[str] = []
    leading: list[str] = []
    for node in blocks.media[:_MOST_MEDIA]:
        if node.tag_id != _PICTURE:
            continue
        attributes = node.attributes
        name = None if is_small(attributes) else _picture_name(node, attributes)
        if name is None:
            continue
        place = _place_of(node)
        if not place.in_link:
            shown.append(name)
        else:
            linked.append(name)
            if not place.in_list:
                leading.append(name)
    late = [embed.name for embed in embeds if _stands_alone(embed.node)]
    linked += [embed.name for embed in embeds if embed.name not in late]
    social = mark_words.picture_name(social_picture)
    socials = [] if social is None else [social]
    leads = [*shown, *leading, *socials, *late][:1]
    names = dict.fromkeys([*leads, *shown, *socials, *late, *linked])
    return _Pictures(tuple(names)[:MOST_PICTURES], bool(leads))


def _players(blocks: Blocks, elements: Elements, embeds: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for node in blocks.media[:_MOST_MEDIA]:
        if node.tag_id == _PICTURE:
            continue
        source = first_address(node.attributes)
        if not source:
            inner = node.css_first("source, embed")
            source = "" if inner is None else first_address(inner.attributes)
        if source and (name := mark_words.player_name(source)):
            found.append(name)
    found += [f"place {place}" for place in places_on_maps(blocks, elements)]
    # Next to frames that tell pages apart, an embed of all pages would make them alike.
    return tuple(dict.fromkeys(found or embeds))[:MOST_PLAYERS]


def _picture_name(node: LexborNode, attributes: Mapping[str, str | None]) -> str | None:
    """Return the name of the picture that an element shows, loaded late or at once, or None."""
    name = first_picture(attributes)
    outer = node.parent
    if name is not None or outer is None or outer.tag != "picture":
        return name
    names = (first_picture(source.attributes) for source in outer.css("source")[:_MOST_SOURCES])
    return next(filter(None, names), None)


class _Place(NamedTuple):
    in_link: bool
    in_list: bool


def _stands_alone(node: LexborNode) -> bool:
    """Return whether a picture is neither in a list nor in a link to another page.

    It may be such a link itself only if the link leads to a picture.
    """
    if node.tag_id == _LINK and not mark_words.PICTURE_FILE.search(node.attrs.get("href") or ""):
        return False
    place = _place_of(node)
    return not (place.in_link or place.in_list)


def _place_of(node: LexborNode) -> _Place:
    """Return whether an element is inside of a link to a page, and inside of a list or table."""
    in_link = in_list = False
    outer = node.parent
    for _ in range(4):
        if outer is None:
            break
        kind = outer.tag_id
        if kind == _LINK:
            href = outer.attributes.get("href") or ""
            in_link = in_link or not mark_words.PICTURE_FILE.search(href)
        in_list = in_list or kind in _LISTED
        outer = outer.parent
    return _Place(in_link, in_list)


# Text and links


def _steady_text(blocks: Blocks, text: str, names: Sequence[ShownName]) -> str:
    """Return the main text without names, links, and the numbers of visits and dates."""
    linked = {line for line, letters, _ in blocks.lines if 2 * letters > len(line)}
    called = {name.words for name in names}
    endings = tuple({name.words[-1] for name in names})
    lines = []
    letters = 0
    for line in text.split("\n"):
        if line in linked:
            continue
        letters += len(line)
        if letters > _MOST_LETTERS:
            lines.append(line)
            continue
        # Few lines end like a name, and splitting a line into words is slow.
        may_be_name = len(line) <= LONGEST_HEADING and _end_of(line).endswith(endings)
        if may_be_name and words_of(name_of(line)) in called:
            continue
        lines.append(without_visits(line))
    return "\n".join(lines)


def _text_of_teasers(listing: Listing | None) -> str:
    """Return a text that stands for several teasers, or "" if the page has none.

    A listing may shorten its teasers in another way than a listing of the same pages does.
    """
    if listing is None or not listing.has_teasers or len(listing.targets) < _FEWEST_TEASERS:
        return ""
    return "\n".join(sorted(listing.targets))


def _end_of(line: str) -> str:
    """Return the last letters of a line, not counting punctuation."""
    return line[-8:].rstrip(_PUNCTUATION).lower()


def _links(blocks: Blocks) -> tuple[str, ...]:
    """Return the targets of the links in the content."""
    targets: dict[str, None] = {}
    for node in blocks.links[:_MOST_LINKS]:
        target = mark_words.link_target(node.attrs.get("href") or "")
        if target is not None:
            targets[target] = None
    return tuple(targets)


def _numbers(text: str, headings: Sequence[Heading]) -> str:
    """Return the <h1> above a text and all numbers in it, for `distinguish="numbers"`."""
    heading = next((heading.text for heading in headings if heading.is_first), "")
    numbers = sorted(set(mark_words.NUMBER.findall(text)))
    return f"{words_of(heading)}\n{' '.join(numbers)}"
