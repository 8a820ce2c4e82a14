"""Read the bytes of a page: decode them, bound what they cost, and parse them once for all that is
read of them.

A wrong or unknown encoding never raises; bytes that are no text do. Parsers have no time limits,
and take linear time except for tags of thousands of attributes and elements left open. So what is
beyond bounds is refused, and counted.
"""

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from selectolax.lexbor import LexborHTMLParser
from w3lib.encoding import read_bom, to_unicode

from crawldedup.errors import PageError
from crawldedup.fingerprinting.tokenize import without_endless_marks
from crawldedup.reading.blocks import (
    HEADINGS,
    Blocks,
    blocks_without_noise,
    holders_of_content,
    parse,
    tags,
)
from crawldedup.reading.charsets import WIDE, codec_inside, codec_of
from crawldedup.reading.markup import as_html, without_readings
from crawldedup.reading.misplaced import check_copied_text
from crawldedup.urls import MAX_CLAIMS, NO_LINKS, HeadLinks

# The most hostile pages known take two seconds and 500 MB. Of 2,300 real pages, the largest had
# 18,000 elements.
MAX_BYTES: Final = 6 * 1024 * 1024  # of a page (as UTF-8, if it is given as text)
MAX_TAGS: Final = 250_000  # start tags of a page
MAX_ATTRIBUTES: Final = 500_000  # of a page, since a tree takes 500 bytes for one
# Different names of tags and attributes: parsers look for each among a hundredth of the others.
# Real pages have a few hundred.
MAX_NAMES: Final = 60_000
# Of a text that is fingerprinted, after normalization, which makes eighteen of some.
MAX_LETTERS: Final = MAX_BYTES

# Possessive groups go wrong in Python before 3.11.5, so the groups are atomic. Parsers compare each
# attribute of a tag with all before it. The search has bounds, or it would start over at every "<"
# of a page full of them; a tag with longer names or values has no room for many attributes. Spaces
# before an attribute have none: after a few of them, thousands of attributes would not be found.
_MANY_ATTRIBUTES: Final = 64
# That of HTML: to look for what Unicode counts as well takes a third more time.
_SPACE: Final = r" \t\n\f\r"
_ATTRIBUTE: Final = (
    rf"""[{_SPACE}/]*+[^{_SPACE}/>][^{_SPACE}/>=]{{0,199}}+"""
    rf"""(?>(?:[{_SPACE}]{{0,99}}+=[{_SPACE}]{{0,99}}+"""
    rf"""(?:"[^"]*+"|'[^']*+'|[^{_SPACE}>"']{{0,1999}}+))?)"""
)
_ENDLESS_TAG: Final = re.compile(
    rf"<[A-Za-z][^{_SPACE}/>]{{0,99}}+(?=(?:{_ATTRIBUTE}){{{_MANY_ATTRIBUTES}}})"
)
_TAG_START: Final = re.compile("<[A-Za-z]")
_FIRST_ATTRIBUTES: Final = re.compile(
    rf"<[A-Za-z][^{_SPACE}/>]{{0,99}}+(?:{_ATTRIBUTE}){{0,{_MANY_ATTRIBUTES}}}+"
)
# Starts of tags within others, and letters that are looked at to find endless ones. Of 4,473 real
# pages, the worst had 404 such starts, and 1.3 million letters.
_IN_TAG: Final = re.compile(r"<[A-Za-z][^<>]*+(?=<)")
_FEW_IN_TAGS: Final = 200
_MOST_LOOKED_AT: Final = 30_000_000
_ATTRIBUTES: Final = re.compile(rf"<[A-Za-z][^{_SPACE}/>]{{0,99}}+((?>(?:{_ATTRIBUTE})+))")
_EACH_ATTRIBUTE: Final = re.compile(_ATTRIBUTE)
_TAG_NAME: Final = re.compile(r"<[A-Za-z][^\s/>]{0,199}")
# Bytes in UTF-8 that a name takes with what separates it, if there are `MAX_NAMES` different ones:
# some hundred have one byte, and some ten thousand two.
_LEAST_OF_NAME: Final = 3
# One of them stands before every attribute, or white space.
_SEPARATORS: Final = "/\"'"
# Lexbor takes half a second for so many letters of attributes in one tag, and as long for so many
# open elements. They have no room for `MAX_NAMES`, of which each takes two with what separates it.
_FEW_LETTERS: Final = 80_000
_FEW_TAGS: Final = 20_000
_MOST_STEPS: Final = 200_000_000  # open elements that are looked at for the tags of a page
_NEAR: Final = 4
# An open formatting element is made anew in every later block, up to three of one spelling; a link
# ends the one before. This one finds some other elements, too, such as <form>: what it counts is an
# upper bound.
_MAY_FORMAT: Final = re.compile(
    r"<(?:[bisuBISU](?=[\s/>])|[bcefstBCEFST][imotIMOT](?=[gdnraGDNRA\s/>]))[^>]*"
)
_SAME: Final = 3
# Letters of tags that are made anew: of one come up to 100 bytes of attributes.
_MOST_REOPENED: Final = 4_000_000
_FORMATTING: Final = tags("b big code em font i s small strike strong tt u")
_NEED_NO_END_TAG: Final = tags("""
    area base basefont bgsound body br caption col colgroup dd dt embed frame head hr html image img
    input keygen li link meta option p param source tbody td tfoot th thead tr track wbr
""")
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]{0,99})([^>]*)")
# All that NFKC makes four letters of, or more, except the few above the basic plane.
_SWELLING: Final = re.compile("[\u2057\u2152\u2167\u2177\u247d-\u2487\u3200-\u33ff\ufdf0-\ufdfc]")
_MOST_OF_ONE: Final = 18

# What servers send as text/html by mistake is known by its control characters. These files may
# begin with text.
_SIGNATURES: Final = (b"%PDF-", b"PK\x03\x04")
_SAMPLE_BYTES: Final = 8192
# w3lib replaces each broken byte of GB 18030 in Python, where other rules than the codec's hold.
_MOST_REPAIRED: Final = 1 << 20
_LARGEST_CONTROL_SHARE: Final = 0.03
# Escape stays out: ISO-2022-JP switches its character sets with it.
_CONTROL_BYTES: Final = bytes({*range(0x20)} - set(b"\t\n\v\f\r\x1a\x1b"))
# NUL bytes and lone surrogates cannot be stored or encoded, the others XML and HTML trees refuse.
_FORBIDDEN: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_WHITE_SPACE: Final = b"\t\n\r"
_DELETE: Final = b"\x7f"
# Each byte is a character, so no bytes are wrong in them.
_SINGLE_BYTE: Final = ("cp125", "cp866", "cp874", "iso8859-", "koi8-", "mac-")
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))
# Characters of several bytes that UTF-8 has: a page in Latin-1 that explains "Ã©" has fewer.
_BEYOND_CHANCE: Final = 3


@dataclass(frozen=True)
class HtmlPage:
    """A decoded page."""

    html: str

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None) -> Self:
        """Decode a page and check what it costs. Raises PageError."""
        check_size(body)
        page = without_readings(as_html(decode(body, encoding), MAX_TAGS))
        return cls(bounded(page))

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed page, which nobody may change."""
        return parse(self.html)

    @cached_property
    def title(self) -> str:
        """The title in one line; "" if the page has none."""
        title = self.tree.css_first("title")
        return "" if title is None else " ".join(title.text().split())

    @property
    def name(self) -> str:
        """The name of the page: og:title, which seldom has the site's name behind it, or else the
        title.
        """
        metas = self.tree.css("meta[property='og:title'], meta[name='og:title']")
        names = (" ".join((meta.attributes.get("content") or "").split()) for meta in metas)
        return next(filter(None, names), self.title)

    @property
    def headings(self) -> set[str]:
        """The title, and the lines of the headings."""
        kinds = self.blocks.kinds
        return {
            self.title,
            *[text for text, _, block in self.blocks.lines if kinds[block] in HEADINGS],
        }

    @property
    def links(self) -> HeadLinks:
        """The canonical links in the head. Those in the body may be a visitor's."""
        head = self.tree.head
        if head is None:
            return NO_LINKS
        selectors = ("base[href]", "link[rel~='canonical' i][href]")
        links = ([node.attributes["href"] for node in head.css(selector)] for selector in selectors)
        bases, canonical = (tuple(filter(None, hrefs)) for hrefs in links)
        return HeadLinks("".join(bases[:1]), canonical[:MAX_CLAIMS])

    @cached_property
    def holders(self) -> set[int]:
        """The elements around the first heading, an article or <main>, by `mem_id`."""
        return holders_of_content(self.tree)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks and lines of the page, without controls and noise."""
        return blocks_without_noise(self.tree, self.holders)

    @property
    def content(self) -> Set[int]:
        """The elements that are content whatever they are called, by `mem_id`: the holders, and
        those that hold most of the page.
        """
        return self.holders | self.blocks.content


def check_size(body: bytes | str) -> None:
    """Raise PageError("empty") for white space only, PageError("too_large") above `MAX_BYTES`."""
    if not body or body.isspace():
        raise PageError("empty", "the body is empty")
    size = len(body)
    if isinstance(body, str) and not body.isascii() and size <= MAX_BYTES:
        size = len(body.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise PageError("too_large", f"the page has {size:,} bytes, more than {MAX_BYTES:,}")


def decode(body: bytes | str, declared: str | None) -> str:
    """Decode a page, best evidence first: byte order mark, `declared`, <meta>, UTF-8 if valid,
    cp1252.

    Browsers follow the same evidence, and show the wrong characters if it is wrong. Copies of a
    page must get the same text here, so the bytes overrule the evidence in two cases:

    - Valid UTF-8 is decoded as UTF-8, whatever single-byte charset is declared.
    - A page that is declared as UTF-8, but has more broken bytes than UTF-8 characters, is decoded
      by the charset in <meta> if that is a different one, and as cp1252 otherwise. A page that was
      cut off, or has a few broken bytes, stays UTF-8.

    Args:
        body: The page. A text only loses the characters below.
        declared: The charset in the Content-Type header, if any.

    Returns:
        The text, which can be encoded as UTF-8: it has no lone surrogates, no NUL, and no control
        characters except white space.

    Raises:
        PageError: "binary", for images, archives, programs and the like.
    """
    if isinstance(body, str):
        _refuse_controls(body[:_SAMPLE_BYTES].encode("utf-8", "replace"))
        return clean(body)
    if body.startswith(_SIGNATURES):
        raise PageError(
            "binary", f"the body begins with {body[:4]!r}: it is a document or archive, not a page"
        )
    encoding, mark = read_bom(body)
    if encoding and mark:
        return clean(to_unicode(body[len(mark) :], encoding))
    encoding = codec_of(declared) or codec_inside(body)
    if encoding is None or not encoding.startswith(WIDE):
        _refuse_controls(body[:_SAMPLE_BYTES])
    if encoding is None or encoding == "utf-8":
        try:
            return clean(body.decode(), body)
        except UnicodeDecodeError:
            encoding = _encoding_of_invalid_utf8(body, is_declared=encoding is not None)
    elif encoding.startswith(_SINGLE_BYTE) and _is_utf8_beyond_chance(body):
        encoding = "utf-8"
    return clean(_decode_leniently(body, encoding))


def _encoding_of_invalid_utf8(body: bytes, *, is_declared: bool) -> str:
    """Return the encoding of a page that is not valid UTF-8, and may be declared as UTF-8."""
    valid, broken = _characters_beyond_ascii(body)
    if is_declared and broken <= valid:
        return "utf-8"
    inside = codec_inside(body)
    return "cp1252" if inside is None or inside == "utf-8" else inside


def _is_utf8_beyond_chance(body: bytes) -> bool:
    valid, broken = _characters_beyond_ascii(body)
    return valid >= _BEYOND_CHANCE and not broken


def _decode_leniently(body: bytes, encoding: str) -> str:
    try:
        if len(body) > _MOST_REPAIRED:
            return body.decode(encoding, "replace")
        return to_unicode(body, encoding)
    except (LookupError, ValueError):
        # Some codecs have no replacement character, and raise nevertheless.
        return body.decode("utf-8", "replace")


def clean(text: str, utf8: bytes | None = None) -> str:
    """Drop the characters that trees, stores or UTF-8 do not take.

    `utf8` is the same text, where it is known.
    """
    utf8 = text.encode("utf-8", "surrogatepass") if utf8 is None else utf8
    # To look at the bytes first takes a tenth of the time.
    has_controls = _has_controls(utf8)
    # A single byte is found much sooner than several.
    has_others = b"\xed" in utf8 or (
        b"\xef" in utf8 and (b"\xef\xbf\xbe" in utf8 or b"\xef\xbf\xbf" in utf8)
    )
    return _FORBIDDEN.sub("", text) if has_controls or has_others else text


def _has_controls(utf8: bytes) -> bool:
    letters = np.frombuffer(utf8, np.uint8)
    below_blank = letters[letters < ord(" ")].tobytes()
    return below_blank.translate(None, _WHITE_SPACE) != b"" or _DELETE in utf8


def _characters_beyond_ascii(body: bytes) -> tuple[int, int]:
    """Return how many are valid as UTF-8, and how many are broken; the last one may be cut off."""
    text, _ = codecs.utf_8_decode(body, "replace", False)
    broken = text.count("\ufffd") - body.count("\ufffd".encode())
    return len(text) - len(body.translate(None, _HIGH_BYTES)) - broken, broken


def _refuse_controls(sample: bytes) -> None:
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    if controls > _LARGEST_CONTROL_SHARE * len(sample):
        raise PageError(
            "binary", f"{controls} of the first {len(sample)} bytes are control characters"
        )


def bounded(html: str) -> str:
    """Return a page that is parsed within bounds: tags of dozens of attributes end before these,
    which become text.

    Raises:
        PageError: "too_large" above `MAX_TAGS`, `MAX_ATTRIBUTES` and `MAX_NAMES`, even in scripts,
            "too_deep" with too much open, or within each other.
    """
    is_short = len(html) <= _FEW_LETTERS
    utf8 = b"" if is_short else html.encode("utf-8", "surrogatepass")
    # Of long pages, to count bytes takes NumPy a tenth of the time.
    tags = html.count("<") if is_short else _count_byte(utf8, "<")
    if tags > MAX_TAGS and (starts := tags - html.count("</")) > MAX_TAGS:
        raise PageError("too_large", f"the page has {starts:,} tags, more than {MAX_TAGS:,}")
    if not is_short:
        check_copied_text(html, tags, len(utf8))
        _check_tags_in_tags(html, utf8)
        # To search takes half the time of putting something in.
        if _ENDLESS_TAG.search(html):
            # A comparison in a script can look like such a tag; another ">" does no harm there.
            html = _ENDLESS_TAG.sub(r"\g<0>>", html)
        if _may_have_many_names(utf8, tags):
            _check_attributes(html, utf8, tags)
    formatting = Counter(_MAY_FORMAT.findall(html))
    letters = sum([len(tag) * min(count, _SAME) for tag, count in formatting.items()])
    if tags > _FEW_TAGS or tags * letters > _MOST_REOPENED:
        _check_open(html)
    return html


def _check_tags_in_tags(html: str, utf8: bytes) -> None:
    """Raise PageError("too_deep") for so many tags within each other that the search for endless
    ones takes seconds, since it looks at all attributes behind each.
    """
    # To look at the brackets alone takes a small part of the time of a pattern.
    if _count_unclosed(utf8) <= _FEW_IN_TAGS or len(_IN_TAG.findall(html)) <= _FEW_IN_TAGS:
        return
    looked_at = 0
    for tag in _TAG_START.finditer(html):
        attributes = _FIRST_ATTRIBUTES.match(html, tag.start())
        looked_at += attributes.end() - attributes.start() if attributes else 0
        if looked_at > _MOST_LOOKED_AT:
            raise PageError("too_deep", "the page has too many tags within each other")


def _count_byte(utf8: bytes, letter: str) -> int:
    return int(np.count_nonzero(np.frombuffer(utf8, np.uint8) == ord(letter)))


def _count_unclosed(utf8: bytes) -> int:
    """Return how many "<" have another "<" behind them before any ">"."""
    letters = np.frombuffer(utf8, np.uint8)
    opens = letters == ord("<")
    opening = opens[opens | (letters == ord(">"))]
    return int(np.count_nonzero(opening[1:] & opening[:-1]))


def _may_have_many_names(utf8: bytes, tags: int) -> bool:
    """Return whether a page may have more than `MAX_NAMES` tags and attributes of different names.

    There is a separator before each attribute.
    """
    if len(utf8) <= MAX_NAMES * _LEAST_OF_NAME:
        return False
    white_space = int(np.count_nonzero(np.frombuffer(utf8, np.uint8) <= ord(" ")))
    separators = sum([_count_byte(utf8, letter) for letter in _SEPARATORS])
    return tags + white_space + separators > MAX_NAMES


def _check_attributes(html: str, utf8: bytes, tags: int) -> None:
    """Raise PageError("too_large") for too many attributes, or too many names of any kind."""
    # White space, a slash or the quote behind a value stands before each attribute.
    quotes = _count_byte(utf8, '"') + _count_byte(utf8, "'")
    beside = tags + _count_byte(utf8, "/") + quotes // 2
    # Bytes are split at the white space of HTML, and letters at that of Unicode as well.
    if beside <= MAX_NAMES and beside + len(set(utf8.split())) <= MAX_NAMES:
        return
    names = set(_TAG_NAME.findall(html))
    attributes = 0
    for tag in _ATTRIBUTES.finditer(html):
        found = _EACH_ATTRIBUTE.findall(tag[1])
        attributes += len(found)
        names.update([attribute.partition("=")[0].strip() for attribute in found])
    for kind, count, most in (
        ("attributes", attributes, MAX_ATTRIBUTES),
        ("names of tags and attributes", len(names), MAX_NAMES),
    ):
        if count > most:
            raise PageError("too_large", f"the page has {count:,} {kind}, more than {most:,}")


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
            inner = next(
                (inner for inner, other in enumerate(opened[: -_NEAR - 1 : -1]) if other == name),
                None,
            )
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
            raise PageError(
                "too_deep", "the page is nested too deep: too many elements are left open"
            )


def tidy(text: str) -> str:
    """Return the text without what takes more than linear time to fingerprint, stripped.

    Raises PageError("too_large") for what normalization swells.
    """
    if len(text) * _MOST_OF_ONE > MAX_LETTERS:
        letters = len(text) + (_MOST_OF_ONE - 1) * sum(1 for _ in _SWELLING.finditer(text))
        if letters > MAX_LETTERS:
            raise PageError(
                "too_large", f"the text has up to {letters:,} letters, more than {MAX_LETTERS:,}"
            )
    return without_endless_marks(clean(text)).strip()
