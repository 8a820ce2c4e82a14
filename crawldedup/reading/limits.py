"""Bound the shape of pages, since parsers and extractors have no time limits.

Parsing takes linear time, except for tags of thousands of attributes and tags left open. Extractors move text
element by element and level by level: they take 10 ms for an article, and minutes for 50,000 elements, or for 10,000
nested 250 deep. Such a page is read without an extractor.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.errors import PageError
from crawldedup.reading.tags import FORMATTING, NEED_END_TAG, NEED_NO_END_TAG

if TYPE_CHECKING:
    from collections.abc import Iterator

# The most hostile pages known take two seconds and 500 MB. Of 2,300 real pages the largest had 5.3 MB and 18,000
# elements.
MAX_BYTES: Final = 6 * 1024 * 1024
"""Bytes of the largest page that is read (as UTF-8, if it is given as text)."""
MAX_TAGS: Final = 250_000
"""Start tags of the largest page that is read."""
MAX_ATTRIBUTES: Final = 500_000
"""Attributes of the largest page that is read. A tree takes 500 bytes for one, and an extractor's copies 2,000."""
MAX_LETTERS: Final = MAX_BYTES
"""Letters of the longest text that is fingerprinted, after normalisation, which makes eighteen of some."""
EXTRACTOR_ATTRIBUTES: Final = 100_000
"""Attributes of the largest page that is given to an extractor."""
EXTRACTOR_VALUES: Final = 1_000_000
"""Letters in the attributes of such a page, which are searched for dozens of words; data URLs do not count."""
EXTRACTOR_TAGS: Final = 20_000
"""Start tags of the largest page that is given to an extractor."""
EXTRACTOR_LEVELS: Final = 64
"""Levels of nesting of the deepest such page; real pages have up to 60."""
EXTRACTOR_WORK: Final = 1_500_000_000
"""Tags times bytes of text of such a page, since removing an element copies the text around it."""

_START_TAG: Final = re.compile(r"<[A-Za-z]")
_TAG: Final = re.compile(r"</?[A-Za-z][A-Za-z0-9]*")

# Possessive groups go wrong in Python before 3.11.5, so the groups are atomic.
# Parsers compare each attribute of a tag with all before it. The search has bounds, or it would start over at every
# "<" of a page full of them; a tag with longer names, values or spaces has no room for many attributes.
_MANY_ATTRIBUTES: Final = 64
_ATTRIBUTE: Final = (
    r"""[\s/]{0,199}+[^\s/>][^\s/>=]{0,199}+"""
    r"""(?>(?:\s{0,99}+=\s{0,99}+(?:"[^"]*+"|'[^']*+'|[^\s>"']{0,1999}+))?)"""
)
_ENDLESS_TAG: Final = re.compile(rf"<[A-Za-z][^\s/>]{{0,99}}+(?=(?:{_ATTRIBUTE}){{{_MANY_ATTRIBUTES}}})")
_START: Final = re.compile(rf"<([A-Za-z][^\s/>]{{0,99}}+)((?>(?:{_ATTRIBUTE})+))")
_EACH_ATTRIBUTE: Final = re.compile(_ATTRIBUTE)
# One of them stands before every attribute, and counting them takes no time.
_SEPARATORS: Final = " \t\n\f\r/\"'"
# Lexbor takes half a second for so many open elements, and as long for so many letters of attributes in one tag.
_FEW_TAGS: Final = 20_000
_FEW_LETTERS: Final = 80_000
# A link ends the one before, so no more than one of them is reopened.
_PILED: Final = sorted(FORMATTING - {"a", "nobr"})
_PILED_TAG: Final = re.compile(
    rf"(</?[{''.join({letter for name in _PILED for letter in (name[0], name[0].upper())})}]"
    rf"(?i:{'|'.join(sorted({name[1:] for name in _PILED}, reverse=True))}))(?=[\s/>])"
)
_WHOLE_PILED_TAG: Final = re.compile(rf"{_PILED_TAG.pattern}[^<>]*+>?")
_ATTRIBUTES: Final = re.compile(rf"(?>(?:{_ATTRIBUTE})+)")

# Counts of depth take every omitted end tag for another level, so they only decide which pages are repaired.
_MANY_OPEN: Final = EXTRACTOR_LEVELS
# Most unknown elements are shapes of SVG icons, which close themselves.
_MANY_UNKNOWN: Final = 2000
# An open formatting element is reopened in every later block: the work is tags times open elements.
_MANY_REOPENED: Final = 200_000
# Its attributes are copied each time.
_MANY_COPIED: Final = 1_500_000
# All that NFKC makes four letters of, or more, except the few above the basic plane.
_SWELLING: Final = re.compile("[\u2057\u2152\u2167\u2177\u247d-\u2487\u3200-\u33ff\ufdf0-\ufdfc]")
_MOST_OF_ONE: Final = 18


def check_size(body: bytes | str) -> None:
    """Raise PageError("empty") for white space only, PageError("too_large") above `MAX_BYTES`."""
    if not body or body.isspace():
        raise PageError("empty", "the body is empty")
    size = len(body)
    if isinstance(body, str) and not body.isascii() and size <= MAX_BYTES:
        size = len(body.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise PageError("too_large", f"the page has {size:,} bytes, more than {MAX_BYTES:,}")


def check_tags(html: str) -> None:
    """Raise PageError("too_large") above `MAX_TAGS`; tags in comments and scripts count, too."""
    if html.count("<") > MAX_TAGS and (tags := sum(1 for _ in _START_TAG.finditer(html))) > MAX_TAGS:
        raise PageError("too_large", f"the page has {tags:,} tags, more than {MAX_TAGS:,}")


def may_nest_deep(html: str) -> bool:
    """Return whether a large page may have so many open elements that it must be balanced. Raises PageError."""
    may_hold_many = len(html) > 2 * MAX_ATTRIBUTES and sum(map(html.count, _SEPARATORS)) > MAX_ATTRIBUTES
    return (html.count("<") > _FEW_TAGS or may_hold_many) and shape_of(html).may_nest_deep


def without_piles(html: str) -> str:
    """Return a page without its formatting elements if these are reopened too often; they are no part of the text."""
    return _WHOLE_PILED_TAG.sub("", html) if _reopened(html) > _MANY_REOPENED else html


def _reopened(html: str) -> int:
    """Return how many tags are behind formatting elements that are open, for each of these and their attributes."""
    still_open: dict[str, list[int]] = {}
    reopened = weight = 0
    pieces = _PILED_TAG.split(html)
    for tag, behind in zip(pieces[1::2], pieces[2::2], strict=True):
        name = tag.lstrip("</").lower()
        if tag[1] != "/":
            attributes = None if behind[0] == ">" else _ATTRIBUTES.match(behind)
            count = len(_EACH_ATTRIBUTE.findall(attributes.group())) if attributes else 0
            still_open.setdefault(name, []).append(1 + count)
            weight += 1 + count
        elif still_open.get(name):
            weight -= still_open[name].pop()
        if weight:
            reopened += weight * (1 + behind.count("<"))
    return reopened


def shorten_tags(html: str) -> str:
    """Close tags of dozens of attributes before the first one, which turns the attributes into text."""
    if len(html) <= _FEW_LETTERS:
        return html
    # A comparison in a script can look like such a tag; another ">" does no harm there.
    return _ENDLESS_TAG.sub(r"\g<0>>", html)


def check_letters(text: str) -> None:
    """Raise PageError("too_large") for a text that normalisation may make longer than `MAX_LETTERS`."""
    if len(text) * _MOST_OF_ONE > MAX_LETTERS:
        letters = len(text) + (_MOST_OF_ONE - 1) * sum(1 for _ in _SWELLING.finditer(text))
        if letters > MAX_LETTERS:
            raise PageError("too_large", f"the text has up to {letters:,} letters, more than {MAX_LETTERS:,}")


class Shape(NamedTuple):
    """What decides who may read a page: its start tags, those in comments and scripts included, and attributes.

    A number of attributes that is certainly small is 0.
    """

    start_tags: int
    attributes: int
    may_nest_deep: bool
    may_copy: bool
    """Whether parsers may copy attributes a million times as they reopen elements; `copies_attributes` tells."""


def shape_of(html: str) -> Shape:
    """Return the shape of a page. Raises PageError("too_large") above `MAX_ATTRIBUTES`."""
    attributes = 0
    if sum(map(html.count, _SEPARATORS)) > EXTRACTOR_ATTRIBUTES:
        for _, count in _attributes(html):
            attributes += count
            if attributes > MAX_ATTRIBUTES:
                raise PageError("too_large", f"the page has more than {MAX_ATTRIBUTES:,} attributes")
    tags = _TAG.findall(html)
    is_deep, reopened = _nesting(tags)
    may_copy = is_deep or reopened * _MANY_ATTRIBUTES > _MANY_COPIED
    return Shape(len(tags) - "".join(tags).count("/"), attributes, is_deep, may_copy)


def copies_attributes(html: str) -> bool:
    """Return whether parsers that reopen formatting elements copy too many attributes."""
    most = max((count for name, count in _attributes(html) if name.lower() in FORMATTING), default=0)
    return _nesting(_TAG.findall(html))[1] * most > _MANY_COPIED


def _attributes(html: str) -> Iterator[tuple[str, int]]:
    """Yield the name of each start tag with attributes, and how many it has."""
    return ((tag[1], len(_EACH_ATTRIBUTE.findall(tag[2]))) for tag in _START.finditer(html))


def _nesting(tags: list[str]) -> tuple[bool, int]:
    """Return whether tags may nest deep, and about how often elements are reopened."""
    names = {tag: tag.lstrip("</").lower() for tag in set(tags)}
    still_open: dict[str, int] = {}
    depth = formatting = reopened = unknown = 0
    for tag in tags:
        name = names[tag]
        if name in NEED_END_TAG:
            count = still_open.get(name, 0)
            step = 1 if tag[1] != "/" else -1
            if count + step < 0:
                continue
            still_open[name] = count + step
            depth += step
            if name in FORMATTING:
                formatting += step
        elif name not in NEED_NO_END_TAG:
            unknown += 1
        reopened += formatting
        if depth > _MANY_OPEN or reopened > _MANY_REOPENED:
            return True, reopened
    return unknown > _MANY_UNKNOWN, reopened
