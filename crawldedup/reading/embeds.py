"""Find pictures, players and posts that aren't in ordinary markup: scripts and styles insert them.

In the markup, they are custom elements, backgrounds, quotes, scripts, or elements with an address
in an attribute. `crawldedup.reading.marks` reads ordinary pictures and frames itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, Self

from selectolax.lexbor import LexborNode

from crawldedup.reading import shell_words
from crawldedup.reading.addresses import (
    NO_ADDRESS,
    addresses_in_style,
    addresses_of,
)
from crawldedup.reading.block_names import Label, label_of
from crawldedup.reading.blocks import BLOCKS, INVISIBLE, kind_of, kinds_of, parse
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import PICTURE_FILE, file_name, picture_name, player_name
from crawldedup.reading.nodes import elements_around, own_text, sibling, text_within, within
from crawldedup.urls import TOKEN

Attributes = Mapping[str, str | None]

_LEAST_PICTURE: Final = 65
"""The minimum size of a picture, in pixels. Smaller ones are symbols."""

_NUMBER_BEFORE: Final = re.compile(r"\d+")

_LONG_TEXT: Final = 3_000
"""If the main text has this many letters, the page isn't about what is embedded in it."""

# Limits, because a page may have 100,000 of each.
_MOST_EMBEDS: Final = 200
_MOST_TAGS: Final = 50
_MOST_LINKS: Final = 400
_MOST_PICTURES_INSIDE: Final = 5
_LONGEST_FALLBACK: Final = 5_000
_LONGEST_ADDRESS: Final = 500
_LONGEST_CLASS: Final = 300

# Attributes that only have the address of a picture. In others, it must be a file.
_BACKGROUNDS: Final = (
    "data-bg",
    "data-bgset",
    "data-bg-image",
    "data-bg-src",
    "data-background",
    "data-background-image",
    "data-lazy-bg",
    "data-lazy-background",
    "data-parallax-image",
    "data-image-src",
)
_MAY_BE_PICTURE: Final = ("data-src", "data-image", "data-img", "data-image-url", "data-original")

# Searches are many times faster if a pattern begins with letters in one case.
_CLASSES: Final = re.compile(r"class=[\"']?([^\"'<>]{1,300})")
_DATA_NAMES: Final = re.compile(r"data-[a-z-]{1,40}(?==)")
# Lexbor numbers the tags of HTML, SVG and MathML first. All others have larger numbers.
_LAST_KNOWN_TAG: Final = 1_000
_CUSTOM_TAG: Final = re.compile(r"[a-z][a-z\d]{0,30}(?:-[a-z\d]{1,30}){1,5}")
_PICTURE_TAG: Final = re.compile(r"(?:^|-)(?:img|image|picture|photo|anim)(?:-|$)")
_PLAYER_TAG: Final = re.compile(
    r"video|audio|player|tube|vimeo|dailymotion|brightcove|tweet|twitter|instagram|tiktok|facebook|"
    r"reddit|pinterest|imgur|gist|iframe|embed|soundcloud|spotify|podcast|lottie|viewer"
)
_NO_CONTENT_TAG: Final = re.compile(
    r"(?:^|-)(?:ads?|pixel|analytics|tracking|consent|icons?|shar(?:e|ing)|social|comments?|like|"
    r"sticky|search|login|captcha)(?:-|$)|^amp-embed$"
)
_PLAYER_ID: Final = re.compile(
    r"(?:data-)?(?:[a-z]{1,20}-)?(?:video|tweet|media|playback|track|episode|asset|post|embed|gist)"
    r"-?(?:id|code|url|key)|data-shortcode"
)
_PLAYER_SOURCE: Final = ("src", "data-src", "href", "url", "uri", "data-href", "data-url")

# The words in the class of a quote or an empty element that a script turns into a post or a player.
_POST_WORDS: Final = (
    "tweet",
    "instagram-media",
    "text-post-media",
    "fb-post",
    "fb-video",
    "reddit-card",
    "embed",
    "codepen",
)
# Words that may also name a person who plays, or a link to a channel.
_PLAYER_WORDS: Final = ("player", "youtube", "vimeo", "wistia_async_")
_PLAYER_ATTRIBUTES: Final = (
    "data-plyr-embed-id",
    "data-video-id",
    "data-videoid",
    "data-youtube-id",
    "data-youtube",
    "data-vimeo-id",
    "data-vimeo",
)
_POST_CLASS: Final = re.compile("|".join(_POST_WORDS), re.IGNORECASE)
_PLAYER_CLASS: Final = re.compile("|".join(_PLAYER_WORDS), re.IGNORECASE)
_ID_IN_CLASS: Final = re.compile(r"wistia_async_(\w+)")
_OF_BUILDER: Final = re.compile(r"elementor", re.IGNORECASE)  # its ids name parts of a template
_EMBED_ADDRESS: Final = re.compile(
    r"cite|data-(?:[a-z]{1,20}-){0,3}(?:permalink|href|url|uri|src|hash|video-?id|tweet-?id)"
)
_EMBED_ID: Final = re.compile(r"data-(?:[a-z]{1,20}-){0,3}(?:id|configid|video|youtube|vimeo)")
_TOKEN: Final = re.compile(TOKEN, re.IGNORECASE)
_HOST: Final = re.compile(r"(?:https?:)?//[^/]*/", re.IGNORECASE)

# Scripts that write what their address names into the page. Scripts with a general name are the
# same on all pages.
_WRITING_SCRIPT: Final = re.compile(
    r"gist\.|/snippets/|asciinema|/embeds?/|/players?/|[?&](?:embed|video|playlist)_?id=",
    re.IGNORECASE,
)
_GENERAL_SCRIPT: Final = re.compile(
    r"(?:[\w.-]*[._-])?(?:embeds?|embed-?code|players?|widgets?|loader|load|sdk|api|iframe_api|index|main|"
    r"bundle|all|app|init|async|script|js|oembed|platform)(?:[._-](?:min|v?\d+))*\.m?js",
    re.IGNORECASE,
)
# The elements are found by these. Of the many attributes and classes, only those that a page uses
# are searched for.
_ALWAYS_SEARCHED: Final = ("noscript", "[style*='url(']", "script[src]")
# One of these is in the address of each script that may be an embed.
_SCRIPT_WORDS: Final = ("gist.", "/snippets/", "asciinema", "/embed", "/player", "id=")
_ATTRIBUTES: Final = (*_BACKGROUNDS, *_MAY_BE_PICTURE, *_PLAYER_ATTRIBUTES)
_CLASS_WORDS: Final = (*_POST_WORDS, *_PLAYER_WORDS)

_DOCUMENT: Final = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|epub|djvu|ps|csv|zip|mp[34]|m4[av]|ogg|webm|wav)$",
    re.IGNORECASE,
)

_LINK, _SCRIPT = (kind_of(tag) for tag in ("a", "script"))
_BLOCK_KINDS: Final = kinds_of(BLOCKS | INVISIBLE)
_LEFT_OUT: Final = frozenset([Label.HIDDEN, Label.NOISE, Label.COMMENTS])


class ShownPicture(NamedTuple):
    """The name of a picture, and the element that shows it."""

    node: LexborNode
    name: str


class Embeds(NamedTuple):
    """What scripts and style sheets put into the content, in the order of the document."""

    pictures: Sequence[ShownPicture]
    players: Sequence[str]

    @classmethod
    def of(cls, page: HtmlPage, text: str) -> Self:
        """Find what is embedded in the content of a page. Next to a long text, nothing counts."""
        if len(text) >= _LONG_TEXT:
            return cls((), ())
        pictures = [*_linked_pictures(page)]
        players: list[str] = []
        elements = _candidates(page)
        if elements:
            content = _Content(page)
            for node in elements:
                if not content.has(node):
                    continue
                player = _player_of(node)
                if player:
                    players.append(player)
                else:
                    pictures += [ShownPicture(node, name) for name in _pictures_of(node)]
        return cls(pictures, players or [*_only_document(page)])


def first_picture(attributes: Attributes) -> str | None:
    """Return the name of the first picture in an element's attributes, or None."""
    for address in addresses_of(attributes):
        if not address.startswith(NO_ADDRESS) and (name := picture_name(address)):
            return name
    return None


def is_small(attributes: Attributes) -> bool:
    """Return whether a picture is too small to be more than a symbol."""
    for name in ("width", "height"):
        number = _NUMBER_BEFORE.match(attributes.get(name) or "")
        if number is not None and 0 < int(number[0][:6]) < _LEAST_PICTURE:
            return True
    return False


# Finding the elements that are embeds


def _candidates(page: HtmlPage) -> list[LexborNode]:
    """Find the elements that may be embeds, up to a few hundred, in the order of the document."""
    selectors = [*_ALWAYS_SEARCHED, *_custom_tags(page)]
    used = set(_DATA_NAMES.findall(page.html))
    selectors += [f"[{name}]" for name in _ATTRIBUTES if name in used]
    classes = " ".join(_CLASSES.findall(page.html))
    selectors += [f"[class*='{word}']" for word in _CLASS_WORDS if word in classes]
    # An element is found once for each selector that matches.
    found = {node.mem_id: node for node in page.tree.css(", ".join(selectors))}
    embeds = (node for node in found.values() if node.tag_id != _SCRIPT or _may_write(node))
    return list(islice(embeds, _MOST_EMBEDS))


def _may_write(script: LexborNode) -> bool:
    """Return whether a script may insert something that its address names."""
    address = (script.attributes.get("src") or "").lower()
    return any(word in address for word in _SCRIPT_WORDS)


def _custom_tags(page: HtmlPage) -> list[str]:
    """Return the custom tags of a page that may show content."""
    root = page.tree.root
    if root is None:
        return []
    tags: dict[str, None] = {}
    for node in root.traverse():
        if node.tag_id > _LAST_KNOWN_TAG:
            tags[node.tag or ""] = None
            if len(tags) >= _MOST_TAGS:
                break
    return [tag for tag in tags if _CUSTOM_TAG.fullmatch(tag) and not _NO_CONTENT_TAG.search(tag)]


class _Content:
    """Tells whether an element is in the content of a page."""

    def __init__(self, page: HtmlPage) -> None:
        blocks = page.blocks
        self._body = blocks.nodes[0].mem_id if blocks.nodes else 0
        self._held = blocks.content | page.content
        self._labels = {
            node.mem_id: label for node, label in zip(blocks.nodes, blocks.names, strict=True)
        }

    def has(self, element: LexborNode) -> bool:
        """Return whether an element is in the content: nothing around it is noise or left out."""
        for outer in elements_around(element):
            place = outer.mem_id
            if place == self._body:
                return True
            label = self._labels.get(place)
            if label is None:
                if outer.tag_id in _BLOCK_KINDS:
                    return False
            elif label in _LEFT_OUT and place not in self._held:
                return False
        return False


# Reading what they show


def _player_of(node: LexborNode) -> str | None:
    tag = node.tag or ""
    attributes = node.attributes
    if tag == "script":
        return _of_script(attributes.get("src") or "")
    if "-" in tag and _PLAYER_TAG.search(tag):
        values = [value for name, value in attributes.items() if _PLAYER_ID.fullmatch(name)]
        values += [attributes.get(name) for name in _PLAYER_SOURCE]
        return _first_player(values)
    names = (attributes.get("class") or "")[:_LONGEST_CLASS]
    if _is_embed(node, names):
        return _first_player(_addresses_of_embed(node, tag, attributes))
    return None


def _is_embed(node: LexborNode, names: str) -> bool:
    """Return whether a script turns an element with these classes into a post or a player.

    Attributes can show it as well.
    """
    if _OF_BUILDER.search(names):
        return False
    if _POST_CLASS.search(names):
        return True
    attributes = node.attributes
    may_be_player = _PLAYER_CLASS.search(names) or any(map(attributes.get, _PLAYER_ATTRIBUTES))
    return bool(may_be_player) and node.tag != "a" and not text_within(node, _LONGEST_CLASS)


def _first_player(values: Iterable[str | None]) -> str | None:
    for value in values:
        if value and not value.startswith(NO_ADDRESS):
            return player_name(value)
    return None


def _addresses_of_embed(node: LexborNode, tag: str, attributes: Attributes) -> Iterator[str]:
    """Yield the addresses of what an embed may show, the most reliable one first.

    Hosts are left out, because some of them also serve advertisements, and their addresses would be
    ignored. Here, they lead to posts.
    """
    named = [(name, value) for name, value in attributes.items() if value]
    for name, value in named:
        if _EMBED_ADDRESS.fullmatch(name):
            yield _HOST.sub("", value[:_LONGEST_ADDRESS])
    for name, value in named:
        # A token may be made for each visit.
        if _EMBED_ID.fullmatch(name) and not _TOKEN.fullmatch(value):
            yield value
    in_class = _ID_IN_CLASS.search((attributes.get("class") or "")[:_LONGEST_CLASS])
    if in_class is not None:
        yield in_class[1]
    if tag == "a":
        yield attributes.get("href") or ""
    elif tag == "blockquote":
        links = [part.attributes.get("href") for part in within(node) if part.tag_id == _LINK]
        # The first links may be those in the post.
        yield from [_HOST.sub("", href[:_LONGEST_ADDRESS]) for href in links[-1:] if href]


def _of_script(source: str) -> str | None:
    """Return what a script inserts, or None if it belongs to the site or shows ads."""
    address = source[:_LONGEST_ADDRESS]
    path, _, query = address.partition("?")
    # Few scripts pass the first of these, and the last takes the longest.
    if not _WRITING_SCRIPT.search(address):
        return None
    is_general = not query and _GENERAL_SCRIPT.fullmatch(path.rpartition("/")[2])
    if is_general or shell_words.OF_OTHERS.search(address):
        return None
    return player_name(address)


def _pictures_of(node: LexborNode) -> Iterator[str]:
    """Yield the names of pictures that an element shows, if it isn't an <img>."""
    tag = node.tag or ""
    attributes = node.attributes
    if tag == "noscript":
        before = sibling(node, forward=False)
        is_late = before is not None and before.tag == "img"
        yield from _pictures_in(own_text(node), is_late=is_late)
    elif tag in ("img", "script", "source", "video", "audio", "iframe", "embed", "object"):
        return
    elif "-" in tag:
        is_shown = _PICTURE_TAG.search(tag) or any(
            map(PICTURE_FILE.search, addresses_of(attributes))
        )
        # With other layouts, width and height are only a proportion.
        has_size = attributes.get("layout") in (None, "fixed")
        if is_shown and not (has_size and is_small(attributes)):
            yield from filter(None, [first_picture(attributes)])
    elif label_of(node) not in _LEFT_OUT:
        yield from filter(None, map(_background, _backgrounds_of(attributes)))


def _background(address: str) -> str | None:
    return None if address.startswith(NO_ADDRESS) else picture_name(address)


def _backgrounds_of(attributes: Attributes) -> Iterator[str]:
    yield from addresses_in_style(attributes.get("style") or "")
    named = {name: attributes[name] for name in _BACKGROUNDS if name in attributes}
    yield from addresses_of(named)
    for name in _MAY_BE_PICTURE:
        value = attributes.get(name) or ""
        if PICTURE_FILE.search(value[:_LONGEST_ADDRESS]):
            yield value


def _pictures_in(fallback: str, *, is_late: bool) -> Iterator[str]:
    """Yield the pictures in a <noscript> element, which a script loads late.

    Args:
        fallback: The content of <noscript>.
        is_late: Whether it follows a picture. Otherwise, an address that isn't a file may count
            visits.
    """
    if "<img" not in fallback or len(fallback) > _LONGEST_FALLBACK:
        return
    for picture in parse(fallback).css("img")[:_MOST_PICTURES_INSIDE]:
        attributes = picture.attributes
        source = attributes.get("src") or ""
        is_picture = is_late or PICTURE_FILE.search(source)
        if not is_picture or is_small(attributes):
            continue
        name = first_picture(attributes)
        if name and not shell_words.OF_OTHERS.search(source):
            yield name


def _linked_pictures(page: HtmlPage) -> Iterator[ShownPicture]:
    """Yield the pictures that open when somebody clicks on a link.

    The picture inside such a link may be a small version, or it may be loaded later by a script.
    """
    for link in page.blocks.links[:_MOST_LINKS]:
        href = link.attrs.get("href") or ""
        if PICTURE_FILE.search(href) and (name := picture_name(href)):
            yield ShownPicture(link, name)


def _only_document(page: HtmlPage) -> Iterator[str]:
    """Yield the document, recording or archive that the content offers, if there is only one."""
    files: dict[str, None] = {}
    for link in page.blocks.links[:_MOST_LINKS]:
        path = (link.attrs.get("href") or "").partition("#")[0].partition("?")[0]
        if _DOCUMENT.search(path[-10:]) and (name := file_name(path)):
            files[name] = None
    if len(files) == 1:
        yield from [f"file {name}" for name in files]
