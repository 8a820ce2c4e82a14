"""Read the bytes of a page: decode them, bound what they cost, and parse them once for all that is read of them.

A wrong or unknown encoding never raises; bytes that are no text do.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from w3lib.encoding import html_body_declared_encoding, read_bom, resolve_encoding, to_unicode

from crawldedup.errors import PageError
from crawldedup.reading.blocks import HEADINGS, Blocks, blocks_without_noise, holders_of_content, numbers, parse
from crawldedup.reading.limits import bounded, check_letters, check_size

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

# What servers send as text/html by mistake is known by its control characters. These files may begin with text.
_SIGNATURES: Final = (b"%PDF-", b"PK\x03\x04")
_SAMPLE_BYTES: Final = 8192
# w3lib replaces each broken byte of GB 18030 in Python, where other rules than the codec's hold.
_MOST_REPAIRED: Final = 1 << 20
_LARGEST_CONTROL_SHARE: Final = 0.03
# Escape stays out: ISO-2022-JP switches its character sets with it.
_CONTROL_BYTES: Final = bytes({*range(0x20)} - set(b"\t\n\v\f\r\x1a\x1b"))
# NUL bytes and lone surrogates cannot be stored or encoded, the others XML and HTML trees refuse.
_FORBIDDEN: Final = "\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"
_ANY_FORBIDDEN: Final = re.compile(f"[{_FORBIDDEN}]")
_FORBIDDEN_BYTES: Final = bytes({*range(0x20), 0x7F} - set(b"\t\n\r"))
# Text encodings of Python that no web page is written in; punycode takes quadratic time.
_NOT_FOR_PAGES: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"})
_WIDE: Final = ("utf-16", "utf-32")
# Each byte is a character, so no bytes are wrong in them.
_SINGLE_BYTE: Final = ("cp125", "cp866", "cp874", "iso8859-", "koi8-", "mac-")
_HIGH_BYTES: Final = bytes(range(0x80, 0x100))
_BEYOND_CHANCE: Final = 3
"""Characters of several bytes that valid UTF-8 has at least: a page in Latin-1 that explains "Ã©" has fewer."""


@dataclass(frozen=True)
class HtmlPage:
    """A decoded page."""

    html: str

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None) -> Self:
        """Decode a page and check what it costs. Raises PageError."""
        check_size(body)
        return cls(bounded(decode(body, encoding)))

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
        """The name of the page: og:title, which seldom has the site's name behind it, or else the title."""
        metas = self.tree.css("meta[property='og:title'], meta[name='og:title']")
        names = (" ".join((meta.attributes.get("content") or "").split()) for meta in metas)
        return next(filter(None, names), self.title)

    @property
    def headings(self) -> set[str]:
        """The title, and the lines of the headings."""
        kinds = self.blocks.kinds
        return {self.title, *[text for text, _, block in self.blocks.lines if kinds[block] in _HEADINGS]}

    @cached_property
    def holders(self) -> set[int]:
        """The elements that hold the content, by `mem_id`."""
        return holders_of_content(self.tree)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks and lines of the page, without controls and noise."""
        return blocks_without_noise(self.tree, self.holders)


def decode(body: bytes | str, declared: str | None) -> str:
    """Decode a page, best evidence first: byte order mark, `declared`, <meta>, UTF-8 if valid, cp1252.

    `declared` is the charset of the Content-Type header, if any. Browsers go by this evidence, too, and show other
    characters than were meant where it is wrong. Here copies are to meet, so the bytes overrule it in two cases:

    - Valid UTF-8 is UTF-8, whatever single-byte charset is declared.
    - A page that is declared as UTF-8, with more broken bytes than UTF-8 characters, is of the <meta> charset, if that
      is another, else cp1252. One that was cut off, or has some broken bytes, stays UTF-8.

    The text holds no NUL, no other control character than white space, and no lone surrogate, so it can be encoded as
    UTF-8. Raises PageError("binary") for images, archives, programs and the like.
    """
    if isinstance(body, str):
        _refuse_controls(body[:_SAMPLE_BYTES].encode("utf-8", "replace"))
        return clean(body)
    if body.startswith(_SIGNATURES):
        raise PageError("binary", f"the body begins with {body[:4]!r}: it is a document or archive, not a page")
    encoding, mark = read_bom(body)
    if encoding and mark:
        return clean(to_unicode(body[len(mark) :], encoding))
    encoding = _usable(declared) or _declared_inside(body)
    if encoding is None or not encoding.startswith(_WIDE):
        _refuse_controls(body[:_SAMPLE_BYTES])
    if encoding is None or encoding == "utf-8":
        try:
            return _cleaned(body.decode(), body)
        except UnicodeDecodeError:
            valid, broken = _characters_beyond_ascii(body)
            if encoding is None or broken > valid:
                encoding = _declared_inside(body)
                encoding = "cp1252" if encoding in (None, "utf-8") else encoding
    elif encoding.startswith(_SINGLE_BYTE):
        valid, broken = _characters_beyond_ascii(body)
        if valid >= _BEYOND_CHANCE and not broken:
            encoding = "utf-8"
    try:
        return clean(to_unicode(body, encoding) if len(body) <= _MOST_REPAIRED else body.decode(encoding, "replace"))
    except (LookupError, ValueError):
        # Some codecs know no replacement character and raise all the same.
        return clean(body.decode("utf-8", "replace"))


def clean(text: str) -> str:
    """Drop the characters that trees, stores or UTF-8 do not take."""
    return _cleaned(text, text.encode("utf-8", "surrogatepass"))


def _cleaned(text: str, utf8: bytes) -> str:
    # To look at the bytes first takes a tenth of the time.
    has_controls = len(utf8.translate(None, _FORBIDDEN_BYTES)) != len(utf8)
    has_others = not text.isascii() and (b"\xed" in utf8 or (b"\xef" in utf8 and b"\xef\xbf" in utf8))
    return _ANY_FORBIDDEN.sub("", text) if has_controls or has_others else text


def _usable(label: str | None) -> str | None:
    """Return the codec for an encoding label; None if no page can be written in it."""
    try:
        name = resolve_encoding(label.strip()) if label else None
        if name is None or name in _NOT_FOR_PAGES:
            return None
        # Codecs that are no text encodings, such as hex, raise LookupError; a NUL in the label ValueError.
        "".encode(name)
    except (LookupError, ValueError):
        return None
    return f"{name}-be" if name in _WIDE else name


def _declared_inside(body: bytes) -> str | None:
    encoding = _usable(html_body_declared_encoding(body))
    # A declaration read as ASCII cannot be true of the page it stands in (HTML standard, 13.2.3.2).
    return "utf-8" if encoding is not None and encoding.startswith(_WIDE) else encoding


def _characters_beyond_ascii(body: bytes) -> tuple[int, int]:
    """Return how many are valid as UTF-8, and how many are broken; the last one may be cut off."""
    text, _ = codecs.utf_8_decode(body, "replace", False)
    broken = text.count("\ufffd") - body.count("\ufffd".encode())
    return len(text) - len(body.translate(None, _HIGH_BYTES)) - broken, broken


def _refuse_controls(sample: bytes) -> None:
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    if controls > _LARGEST_CONTROL_SHARE * len(sample):
        raise PageError("binary", f"{controls} of the first {len(sample)} bytes are control characters")


# Unicode normalisation takes quadratic time on long runs of accents; no language stacks more than a few.
_ENDLESS_MARKS: Final = re.compile(r"([^\w\s\x00-\x7f]{32})[^\w\s\x00-\x7f]+")
# Every eighth character of a text with 33 of them in a row holds this.
_HEADINGS: Final = numbers(HEADINGS)
_MANY_MARKS: Final = re.compile(r"[^\w\s\x00-\x7f]{4}")


def tidy(text: str) -> str:
    """Return the text without what takes more than linear time to fingerprint, stripped.

    Raises PageError("too_large") for what normalisation swells.
    """
    check_letters(text)
    cleaned = clean(text)
    if not cleaned.isascii() and _MANY_MARKS.search(cleaned[::8]):
        cleaned = _ENDLESS_MARKS.sub(r"\1", cleaned)
    return cleaned.strip()
