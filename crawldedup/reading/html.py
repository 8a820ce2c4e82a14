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
from crawldedup.reading.blocks import Blocks, blocks_without_noise, holders_of_content, parse
from crawldedup.reading.limits import bounded, check_letters, check_size

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

# First bytes of what servers send as text/html by mistake.
_SIGNATURES: Final = {
    b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF8": "a GIF image",
    b"RIFF": "a RIFF file (WebP, AVI, WAV)", b"%PDF-": "a PDF document", b"\x00\x00\x01\x00": "an icon",
    b"PK\x03\x04": "a ZIP archive (or an office document)", b"\x1f\x8b": "gzip data", b"\x28\xb5\x2f\xfd": "zstd data",
    b"7z\xbc\xaf": "a 7z archive", b"Rar!": "a RAR archive", b"\x7fELF": "an ELF program",
    b"MZ\x90": "a Windows program", b"\x00asm": "a WebAssembly module", b"OggS": "an Ogg stream", b"ID3": "an MP3 file",
    b"wOFF": "a font", b"wOF2": "a font",
}  # fmt: skip
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
    for signature, kind in _SIGNATURES.items():
        if body.startswith(signature):
            raise PageError("binary", f"the body is {kind}, not a page")
    encoding, mark = read_bom(body)
    if encoding is not None and mark is not None:
        return clean(to_unicode(body[len(mark) :], encoding))
    encoding = _usable(declared) or _declared_inside(body)
    if encoding is None or not encoding.startswith(_WIDE):
        _refuse_controls(body[:_SAMPLE_BYTES])
    if encoding is None or encoding == "utf-8":
        try:
            return _cleaned(body.decode(), body)
        except UnicodeDecodeError:
            encoding = "cp1252" if encoding is None else _despite_utf8(body)
    elif encoding.startswith(_SINGLE_BYTE) and _is_utf8(body):
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


def _is_utf8(body: bytes) -> bool:
    """Return True for valid UTF-8 beyond ASCII, which may end within a character."""
    try:
        text, _ = codecs.utf_8_decode(body, "strict", False)
    except UnicodeDecodeError:
        return False
    return len(text) - _ascii_letters(body) >= _BEYOND_CHANCE


def _despite_utf8(body: bytes) -> str:
    """Return the encoding in which fewer characters are wrong, of a page that is declared as UTF-8 and is not valid."""
    # The last character may be cut off.
    text, _ = codecs.utf_8_decode(body, "replace", False)
    broken = text.count("\ufffd") - body.count("\ufffd".encode())
    valid = len(text) - _ascii_letters(body) - broken
    if broken <= valid:
        return "utf-8"
    inside = _declared_inside(body)
    return "cp1252" if inside is None or inside == "utf-8" else inside


def _ascii_letters(body: bytes) -> int:
    return len(body.translate(None, _HIGH_BYTES))


def _refuse_controls(sample: bytes) -> None:
    controls = len(sample) - len(sample.translate(None, _CONTROL_BYTES))
    if controls > _LARGEST_CONTROL_SHARE * len(sample):
        raise PageError("binary", f"{controls} of the first {len(sample)} bytes are control characters")


# Unicode normalisation takes quadratic time on long runs of accents; no language stacks more than a few.
_ENDLESS_MARKS: Final = re.compile(r"([^\w\s\x00-\x7f]{32})[^\w\s\x00-\x7f]+")
# Every eighth character of a text with 33 of them in a row holds this.
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
