"""Bound the shape of pages, since parsers have no time limits: what is beyond is refused, and counted.

Parsing takes linear time, except for tags of thousands of attributes and elements left open.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Final

from crawldedup.errors import PageError
from crawldedup.reading.blocks import tags

# The most hostile pages known take two seconds and 500 MB. Of 2,300 real pages the largest had 5.3 MB and 18,000
# elements.
MAX_BYTES: Final = 6 * 1024 * 1024
"""Bytes of the largest page that is read (as UTF-8, if it is given as text)."""
MAX_TAGS: Final = 250_000
"""Start tags of the largest page that is read."""
MAX_ATTRIBUTES: Final = 500_000
"""Attributes of the largest page that is read. A tree takes 500 bytes for one."""
MAX_LETTERS: Final = MAX_BYTES
"""Letters of the longest text that is fingerprinted, after normalisation, which makes eighteen of some."""

_START_TAG: Final = re.compile(r"<[A-Za-z]")
# Possessive groups go wrong in Python before 3.11.5, so the groups are atomic.
# Parsers compare each attribute of a tag with all before it. The search has bounds, or it would start over at every
# "<" of a page full of them; a tag with longer names, values or spaces has no room for many attributes.
_MANY_ATTRIBUTES: Final = 64
_ATTRIBUTE: Final = (
    r"""[\s/]{0,199}+[^\s/>][^\s/>=]{0,199}+"""
    r"""(?>(?:\s{0,99}+=\s{0,99}+(?:"[^"]*+"|'[^']*+'|[^\s>"']{0,1999}+))?)"""
)
_ENDLESS_TAG: Final = re.compile(rf"<[A-Za-z][^\s/>]{{0,99}}+(?=(?:{_ATTRIBUTE}){{{_MANY_ATTRIBUTES}}})")
_ATTRIBUTES: Final = re.compile(rf"<[A-Za-z][^\s/>]{{0,99}}+((?>(?:{_ATTRIBUTE})+))")
_EACH_ATTRIBUTE: Final = re.compile(_ATTRIBUTE)
# One of them stands before every attribute, and counting them takes no time.
_SEPARATORS: Final = " \t\n\f\r/\"'"
# Lexbor takes half a second for so many letters of attributes in one tag, and as long for so many open elements.
_FEW_LETTERS: Final = 80_000
_FEW_TAGS: Final = 20_000
_MOST_STEPS: Final = 200_000_000
"""Open elements that are looked at for the tags of a page."""
_NEAR: Final = 4
# An open formatting element is made anew in every later block, up to three of one spelling; a link ends the one before.
# This one finds some other elements, too, such as <form>: what it counts is an upper bound.
_MAY_FORMAT: Final = re.compile(r"<(?:[bisuBISU](?=[\s/>])|[bcefstBCEFST][imotIMOT](?=[gdnraGDNRA\s/>]))[^>]*")
_SAME: Final = 3
_MOST_REOPENED: Final = 4_000_000
"""Letters of tags that are made anew: of a letter come up to 100 bytes of attributes."""
_FORMATTING: Final = tags("b big code em font i s small strike strong tt u")
_NEED_NO_END_TAG: Final = tags("""
    area base basefont bgsound body br caption col colgroup dd dt embed frame head hr html image img input keygen li
    link meta option p param source tbody td tfoot th thead tr track wbr
""")
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]{0,99})([^>]*)")
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


def check_letters(text: str) -> None:
    """Raise PageError("too_large") for a text that normalisation may make longer than `MAX_LETTERS`."""
    if len(text) * _MOST_OF_ONE > MAX_LETTERS:
        letters = len(text) + (_MOST_OF_ONE - 1) * sum(1 for _ in _SWELLING.finditer(text))
        if letters > MAX_LETTERS:
            raise PageError("too_large", f"the text has up to {letters:,} letters, more than {MAX_LETTERS:,}")


def bounded(html: str) -> str:
    """Return a page that is parsed within bounds: tags of dozens of attributes end before these, which become text.

    Raises PageError: "too_large" above `MAX_TAGS` and `MAX_ATTRIBUTES`, "too_deep" if too much is left open. What
    stands in comments and scripts counts, too.
    """
    tags = html.count("<")
    if tags > MAX_TAGS and (starts := sum(1 for _ in _START_TAG.finditer(html))) > MAX_TAGS:
        raise PageError("too_large", f"the page has {starts:,} tags, more than {MAX_TAGS:,}")
    # To search takes half the time of putting something in.
    if len(html) > _FEW_LETTERS and _ENDLESS_TAG.search(html):
        # A comparison in a script can look like such a tag; another ">" does no harm there.
        html = _ENDLESS_TAG.sub(r"\g<0>>", html)
    if tags * _MANY_ATTRIBUTES > MAX_ATTRIBUTES and sum(map(html.count, _SEPARATORS)) > MAX_ATTRIBUTES:
        attributes = sum(len(_EACH_ATTRIBUTE.findall(tag[1])) for tag in _ATTRIBUTES.finditer(html))
        if attributes > MAX_ATTRIBUTES:
            raise PageError("too_large", f"the page has {attributes:,} attributes, more than {MAX_ATTRIBUTES:,}")
    formatting = Counter(_MAY_FORMAT.findall(html))
    letters = sum([len(tag) * min(count, _SAME) for tag, count in formatting.items()])
    if tags > _FEW_TAGS or tags * letters > _MOST_REOPENED:
        _check_open(html)
    return html


def _check_open(html: str) -> None:
    """Raise PageError("too_deep") if a page leaves so much open that its parse takes seconds."""
    opened: list[str] = []
    formatting: defaultdict[str, list[str]] = defaultdict(list)
    spelled: Counter[tuple[str, str]] = Counter()
    crossed = steps = letters = reopened = 0
    for end, name, attributes in _TAG.findall(html):
        name = name.lower()
        if end:
            # The end of an outer element may close the inner ones, or nothing.
            inner = next((inner for inner, other in enumerate(opened[: -_NEAR - 1 : -1]) if other == name), None)
            if inner is not None:
                crossed += inner
                del opened[-inner - 1 :]
        elif name not in _NEED_NO_END_TAG:
            opened.append(name)
        if name in _FORMATTING and (formatting[name] or not end):
            attributes = formatting[name].pop() if end else attributes
            spelled[name, attributes] += -1 if end else 1
            if spelled[name, attributes] + bool(end) <= _SAME:
                letters += len(name + attributes) * (-1 if end else 1)
            if not end:
                formatting[name].append(attributes)
        steps += len(opened) + crossed
        reopened += letters
        if steps > _MOST_STEPS or reopened > _MOST_REOPENED:
            raise PageError("too_deep", "the page is nested too deep: too many elements are left open")
