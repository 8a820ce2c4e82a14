"""Decode the bytes of a page, reject it if parsing it would cost too much, and parse it once.

A wrong or unknown encoding never raises an error, but bytes that aren't text do. Parsers have no
time limits. They take linear time except for tags with thousands of attributes and for elements
that are left open. So pages that exceed certain limits are rejected and counted.
"""

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple, Self

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
MAX_BYTES: Final = 6 * 1024 * 1024  # the size of a page (in UTF-8, if it is given as text)
MAX_TAGS: Final = 250_000  # the number of start tags on a page
MAX_ATTRIBUTES: Final = 500_000  # the number on a page: each takes 500 bytes in a tree
# Different names of tags and attributes. Parsers look up each name among a hundredth of the others.
# Real pages have a few hundred names.
MAX_NAMES: Final = 60_000
# Letters of a text to fingerprint, after normalization, which turns some letters into eighteen.
MAX_LETTERS: Final = MAX_BYTES

# Parsers compare each attribute of a tag with all attributes before it, so tags with many of them
# must be found. Possessive groups have a bug in Python before 3.11.5, so the groups are atomic. The
# pattern limits lengths, because otherwise the search would start over at every "<" of a page full
# of them. A tag with longer names or values has no room for many attributes. The spaces before an
# attribute have no limit, because a few of them could hide thousands of attributes.
_MANY_ATTRIBUTES: Final = 64
# The whitespace of HTML. Searching for all whitespace of Unicode takes a third more time.
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
# Starts of tags inside of other tags, and letters that are examined to find endless tags. Of 4,473
# real pages, the worst had 404 such starts, and 1.3 million such letters.
_FEW_IN_TAGS: Final = 200
_MOST_LOOKED_AT: Final = 30_000_000
_ATTRIBUTES: Final = re.compile(rf"<[A-Za-z][^{_SPACE}/>]{{0,99}}+((?>(?:{_ATTRIBUTE})+))")
_EACH_ATTRIBUTE: Final = re.compile(_ATTRIBUTE)
_TAG_NAME: Final = re.compile(r"<[A-Za-z][^\s/>]{0,199}")
# UTF-8 bytes that a name takes with its separator, if there are `MAX_NAMES` different names: only
# about a hundred names have one byte, and about ten thousand have two.
_LEAST_OF_NAME: Final = 3
# Lexbor takes half a second for this many letters of attributes in one tag, and also for this many
# open elements. They have no room for `MAX_NAMES`, because each name takes two bytes with its
# separator.
_FEW_LETTERS: Final = 80_000
_FEW_TAGS: Final = 20_000
_MOST_STEPS: Final = 200_000_000  # the number of open elements examined for all tags of a page
_NEAR: Final = 4
# An open formatting element is created again in every later block, up to three with the same
# spelling. A link ends the one before. The pattern also matches some other elements, such as
# <form>, so the count is an upper bound.
_MAY_FORMAT: Final = re.compile(
    r"<(?:[bisuBISU](?=[\s/>])|[bcefstBCEFST][imotIMOT](?=[gdnraGDNRA\s/>]))[^>]*"
)
_SAME: Final = 3
# Letters of tags that are created again. Each letter can take up to 100 bytes of attributes.
_MOST_REOPENED: Final = 4_000_000
_FORMATTING: Final = tags("b big code em font i s small strike strong tt u")
_NEED_NO_END_TAG: Final = tags("""
    area base basefont bgsound body br caption col colgroup dd dt embed frame head hr html image img
    input keygen li link meta option p param source tbody td tfoot th thead tr track wbr
""")
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]{0,99})([^>]*)")
# All characters that NFKC turns into four or more, except for a few above the basic plane.
_SWELLING: Final = re.compile("[\u2057\u2152\u2167\u2177\u247d-\u2487\u3200-\u33ff\ufdf0-\ufdfc]")
_MOST_OF_ONE: Final = 18

# Files that servers send as text/html by mistake are recognized by control characters. The files
# with these signatures may begin with text.
_SIGNATURES: Final = (b"%PDF-", b"PK\x03\x04")
_SAMPLE_BYTES: Final = 8192
# For GB 18030, w3lib has other rules than the codec, so it replaces each broken byte in Python.
_MOST_REPAIRED: Final = 1 << 20
_LARGEST_CONTROL_SHARE: Final = 0.03
# Escape is left out because ISO-2022-JP uses it to switch character sets.
_CONTROL_BYTES: Final = bytes({*range(0x20)} - set(b"\t\n\v\f\r\x1a\x1b"))
# NUL and lone surrogates can't be stored or encoded, and XML and HTML trees reject the others.
_FORBIDDEN: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_WHITE_SPACE: Final = b"\t\n\r"
_DELETE: Final = b"\x7f"
# In these, each byte is a character, so no byte can be invalid.
_SINGLE_BYTE: Final = ("cp125", "cp866", "cp874", "iso8859-", "koi8-", "mac-")
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))
# The least number of multibyte characters in UTF-8. A Latin-1 page that explains "Ã©" has fewer.
_BEYOND_CHANCE: Final = 3


@dataclass(frozen=True)
class HtmlPage:
    """A page of HTML, decoded and checked. It is parsed when something in it is first needed."""

    html: str
    utf8: bytes | None = field(default=None, repr=False, compare=False)  # for the parser, if known

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None) -> Self:
        """Decode a page, convert XHTML, and check that it is safe to parse.

        Raises PageError if it isn't, or if it isn't text.
        """
        check_size(body)
        text, utf8 = _decoded(body, encoding)
        page = without_readings(as_html(text, MAX_TAGS))
        if utf8 is None or page is not text:
            utf8 = page.encode()
        html = bounded(page, utf8)
        return cls(html, utf8 if html is page else None)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed page, which must not be changed."""
        return parse(self.html if self.utf8 is None else self.utf8)

    @cached_property
    def title(self) -> str:
        """The title on one line, or "" if the page has none."""
        title = self.tree.css_first("title")
        return "" if title is None else " ".join(title.text().split())

    @property
    def name(self) -> str:
        """The name of the page: og:title, which seldom has the site's name in it, or the title."""
        metas = self.tree.css("meta[property='og:title'], meta[name='og:title']")
        names = (" ".join((meta.attributes.get("content") or "").split()) for meta in metas)
        return next(filter(None, names), self.title)

    @property
    def headings(self) -> set[str]:
        """The texts of the title and the headings."""
        kinds = self.blocks.kinds
        return {
            self.title,
            *[text for text, _, block in self.blocks.lines if kinds[block] in HEADINGS],
        }

    @property
    def links(self) -> HeadLinks:
        """The canonical links in the head. Visitors may have put some into the body."""
        head = self.tree.head
        if head is None:
            return NO_LINKS
        selectors = ("base[href]", "link[rel~='canonical' i][href]")
        links = ([node.attributes["href"] for node in head.css(selector)] for selector in selectors)
        bases, canonical = (tuple(filter(None, hrefs)) for hrefs in links)
        return HeadLinks("".join(bases[:1]), canonical[:MAX_CLAIMS])

    @cached_property
    def holders(self) -> set[int]:
        """The `mem_id` of the elements that contain an <h1>, an <article> or <main>."""
        return holders_of_content(self.tree)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks and lines of the page, without controls and noise."""
        return blocks_without_noise(self.tree, self.holders)

    @property
    def content(self) -> Set[int]:
        """The `mem_id` of the elements that are content, no matter how they are named.

        These are the `holders`, and the elements with most of the page's text.
        """
        return self.holders | self.blocks.content


def check_size(body: bytes | str) -> None:
    """Check the size of a page.

    Raises PageError: "empty" if there is only whitespace, "too_large" above `MAX_BYTES`.
    """
    if not body or body.isspace():
        raise PageError("empty", "the body is empty")
    size = len(body)
    if isinstance(body, str) and not body.isascii() and size <= MAX_BYTES:
        size = len(body.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise PageError("too_large", f"the page has {size:,} bytes, more than {MAX_BYTES:,}")


def decode(body: bytes | str, declared: str | None) -> str:
    """Decode a page, using the best evidence for its encoding.

    The order is: byte order mark, `declared`, <meta>, UTF-8 if valid, cp1252. Browsers follow the
    same evidence, and show the wrong characters if it is wrong. Here, copies of a page must get the
    same text, so the bytes overrule the evidence in two cases:

    - Valid UTF-8 is decoded as UTF-8, whatever single-byte charset is declared.
    - A page that is declared as UTF-8, but has more broken bytes than UTF-8 characters, is decoded
      by the charset in <meta> if that is a different one, and as cp1252 otherwise. A page that was
      cut off, or has a few broken bytes, stays UTF-8.

    Args:
        body: The page. If it is a str, only the characters listed below are removed.
        declared: The charset in the Content-Type header, if any.

    Returns:
        The text, which can be encoded as UTF-8: it has no lone surrogates, no NUL, and no control
        characters except white space.

    Raises:
        PageError: "binary" for images, archives, programs and the like.
    """
    return _decoded(body, declared).text


class _Decoded(NamedTuple):
    """A text and, if they are known, its bytes in UTF-8."""

    text: str
    utf8: bytes | None


def _decoded(body: bytes | str, declared: str | None) -> _Decoded:
    """Decode a page as `decode` does, and return its bytes in UTF-8 as well if they are known.

    Raises PageError("binary").
    """
    if isinstance(body, str):
        _refuse_controls(body[:_SAMPLE_BYTES].encode("utf-8", "replace"))
        return _cleaned(body)
    if body.startswith(_SIGNATURES):
        raise PageError(
            "binary", f"the body begins with {body[:4]!r}: it is a document or archive, not a page"
        )
    encoding, mark = read_bom(body)
    if encoding and mark:
        return _cleaned(to_unicode(body[len(mark) :], encoding))
    encoding = codec_of(declared) or codec_inside(body)
    if encoding is None or not encoding.startswith(WIDE):
        _refuse_controls(body[:_SAMPLE_BYTES])
    if encoding is None or encoding == "utf-8":
        try:
            return _cleaned(body.decode(), body)
        except UnicodeDecodeError:
            encoding = _encoding_of_invalid_utf8(body, is_declared=encoding is not None)
    elif encoding.startswith(_SINGLE_BYTE) and _is_utf8_beyond_chance(body):
        encoding = "utf-8"
    return _cleaned(_decode_leniently(body, encoding))


def _encoding_of_invalid_utf8(body: bytes, *, is_declared: bool) -> str:
    """Return the likely encoding of a page that isn't valid UTF-8, but may be declared as UTF-8."""
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
        # Some codecs have no replacement character, so they raise an error anyway.
        return body.decode("utf-8", "replace")


def clean(text: str) -> str:
    """Return a text without the characters that trees, stores or UTF-8 don't allow."""
    return _cleaned(text).text


def _cleaned(text: str, utf8: bytes | None = None) -> _Decoded:
    utf8 = text.encode("utf-8", "surrogatepass") if utf8 is None else utf8
    # Searching the bytes first takes a tenth of the time.
    has_controls = _has_controls(utf8)
    # Searching for a single byte is much faster than for several.
    has_others = b"\xed" in utf8 or (
        b"\xef" in utf8 and (b"\xef\xbf\xbe" in utf8 or b"\xef\xbf\xbf" in utf8)
    )
    if has_controls or has_others:
        return _Decoded(_FORBIDDEN.sub("", text), None)
    return _Decoded(text, utf8)


def _has_controls(utf8: bytes) -> bool:
    return _below_blank(utf8).translate(None, _WHITE_SPACE) != b"" or _DELETE in utf8


def _below_blank(text: bytes) -> bytes:
    """Return the bytes of a text below that of a blank: white space and control characters."""
    letters = np.frombuffer(text, np.uint8)
    return letters[letters < ord(" ")].tobytes()


def _characters_beyond_ascii(body: bytes) -> tuple[int, int]:
    """Count the valid and the broken characters of UTF-8 in a body. The last one may be cut off."""
    text, _ = codecs.utf_8_decode(body, "replace", False)
    broken = text.count("\ufffd") - body.count("\ufffd".encode())
    return len(text) - len(body.translate(None, _HIGH_BYTES)) - broken, broken


def _refuse_controls(sample: bytes) -> None:
    below = _below_blank(sample)
    controls = len(below) - len(below.translate(None, _CONTROL_BYTES))
    if controls > _LARGEST_CONTROL_SHARE * len(sample):
        raise PageError(
            "binary", f"{controls} of the first {len(sample)} bytes are control characters"
        )


def bounded(html: str, utf8: bytes | None = None) -> str:
    """Check that a page can be parsed within the limits, and shorten tags with many attributes.

    On long pages, tags with more than a few dozen attributes end before the excess attributes,
    which become text.

    Args:
        html: The page.
        utf8: Its bytes in UTF-8, if they are known.

    Raises:
        PageError: "too_large" above `MAX_TAGS`, `MAX_ATTRIBUTES` or `MAX_NAMES`, counting scripts
            as well, or "too_deep" if too much is left open or nested.
    """
    if utf8 is None:
        utf8 = html.encode("utf-8", "surrogatepass")
    tags = _count_byte(utf8, "<")
    if tags > MAX_TAGS and (starts := tags - html.count("</")) > MAX_TAGS:
        raise PageError("too_large", f"the page has {starts:,} tags, more than {MAX_TAGS:,}")
    if len(html) > _FEW_LETTERS:
        check_copied_text(html, tags, len(utf8))
        _check_tags_in_tags(html, utf8)
        # Searching first takes half the time of a replacement.
        if endless := _ENDLESS_TAG.search(html):
            # A comparison in a script can look like such a tag. An extra ">" does no harm there.
            start = endless.start()
            html = html[:start] + _ENDLESS_TAG.sub(r"\g<0>>", html[start:])
        if _may_have_many_names(utf8, tags):
            _check_attributes(html)
    if tags > _FEW_TAGS or _may_be_reopened(html, tags):
        _check_open(html)
    return html


def _may_be_reopened(html: str, tags: int) -> bool:
    """Return whether the parser may have to open formatting elements again too often."""
    if tags * len(html) <= _MOST_REOPENED:
        return False
    formatting = Counter(_MAY_FORMAT.findall(html))
    letters = sum([len(tag) * min(count, _SAME) for tag, count in formatting.items()])
    return tags * letters > _MOST_REOPENED


def _check_tags_in_tags(html: str, utf8: bytes) -> None:
    """Raise PageError("too_deep") if the search for endless tags would take seconds.

    It examines all attributes after each start of a tag, including starts inside of other tags.
    """
    if _count_unclosed(utf8) <= _FEW_IN_TAGS:
        return
    looked_at = 0
    for tag in _TAG_START.finditer(html):
        attributes = _FIRST_ATTRIBUTES.match(html, tag.start())
        looked_at += attributes.end() - attributes.start() if attributes else 0
        if looked_at > _MOST_LOOKED_AT:
            raise PageError("too_deep", "the page has too many nested tags")


def _count_byte(utf8: bytes, letter: str) -> int:
    # On long pages, NumPy takes a tenth of the time of `bytes.count`.
    return int(np.count_nonzero(np.frombuffer(utf8, np.uint8) == ord(letter)))


def _count_unclosed(utf8: bytes) -> int:
    """Count the tags that aren't closed before the next one starts: a "<" comes before any ">"."""
    letters = np.frombuffer(utf8, np.uint8)
    brackets = np.flatnonzero((letters == ord("<")) | (letters == ord(">")))
    opens = letters[brackets] == ord("<")
    unclosed = brackets[:-1][opens[:-1] & opens[1:]]
    # This bit is all that tells small letters from capital ones.
    small = letters[unclosed + 1] | (ord("a") ^ ord("A"))
    return int(np.count_nonzero((small >= ord("a")) & (small <= ord("z"))))


def _may_have_many_names(utf8: bytes, tags: int) -> bool:
    """Return whether there may be more than `MAX_NAMES` different names of tags and attributes.

    Each is a word between whitespace, or the end of one after "<", a slash or a quoted value.
    """
    if len(utf8) <= MAX_NAMES * _LEAST_OF_NAME:
        return False
    quotes = _count_byte(utf8, '"') + _count_byte(utf8, "'")
    within_words = tags + _count_byte(utf8, "/") + quotes // 2
    if within_words + _count_words(utf8) <= MAX_NAMES:
        return False
    # `bytes.split` only splits at the whitespace of HTML, while `str.split` splits at any.
    return within_words > MAX_NAMES or within_words + len(set(utf8.split())) > MAX_NAMES


def _count_words(utf8: bytes) -> int:
    is_space = np.frombuffer(utf8, np.uint8) <= ord(" ")
    return int(np.count_nonzero(is_space[:-1] & ~is_space[1:])) + 1


def _check_attributes(html: str) -> None:
    """Raise PageError("too_large") if there are too many attributes or different names."""
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
    """Check how much a page leaves open. Raises PageError("too_deep") if parsing takes seconds."""
    opened: list[str] = []
    formatting: defaultdict[str, list[str]] = defaultdict(list)
    spelled: Counter[tuple[str, str]] = Counter()
    crossed = steps = letters = reopened = 0
    for end, name, attributes in _TAG.findall(html):
        name = name.lower()
        if end:
            # The end tag of an outer element may close the inner ones, or nothing at all.
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
                "too_deep", "the page is nested too deeply: too many elements are left open"
            )


def tidy(text: str) -> str:
    """Strip a text, and remove what stores reject or takes more than linear time to fingerprint.

    Raises PageError("too_large") if normalization makes it too long.
    """
    if len(text) * _MOST_OF_ONE > MAX_LETTERS:
        letters = len(text) + (_MOST_OF_ONE - 1) * sum(1 for _ in _SWELLING.finditer(text))
        if letters > MAX_LETTERS:
            raise PageError(
                "too_large", f"the text has up to {letters:,} letters, more than {MAX_LETTERS:,}"
            )
    return without_endless_marks(clean(text)).strip()
