"""Find out which encoding a page declares, and which codec decodes it.

Labels are those of the WHATWG standard (https://encoding.spec.whatwg.org/#names-and-labels), as in
browsers. Python's own names are known as well, such as utf-32.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

import webencodings
from w3lib.encoding import resolve_encoding

WIDE: Final = ("utf-16", "utf-32")
# Text encodings of Python that no web page uses. One of them, punycode, takes quadratic time.
_NOT_FOR_PAGES: Final = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"}
)
# Encodings of the standard that have different names in Python.
_CODECS: Final = {
    # In both, letters are in reading order.
    "iso-8859-8-i": "iso8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
}
# On a page, it means windows-1252, which is the default if nothing is declared.
_USER_DEFINED: Final = "x-user-defined"
# Browsers only look at the first 1,024 bytes.
_HEAD: Final = 4096
_LONGEST_LABEL: Final = 100
# If a quote is missing, a value may contain the rest of the page.
_END_OF_LABEL: Final = re.compile(r"""[\s<>"';,]""")
_AROUND_LABEL: Final = " \t\n\f\r\"'"
_IN_TYPE: Final = re.compile(r"""(?:^|;)\s*charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_IN_CONTENT: Final = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_MAY_DECLARE: Final = re.compile(r"<(!--|body(?=[\s/>])|meta(?=[\s/])|\?xml(?=\s))", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"""[\s/"']*([^\s=/>"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]*)))?"""
)
_TYPE_IN_META: Final = re.compile(r"content[-_ ]?type", re.IGNORECASE)
# An XML declaration in an encoding with two bytes per letter.
_WIDE_XML: Final = {b"<\0?\0x\0": "utf-16-le", b"\0<\0?\0x": "utf-16-be"}


def codec_of(label: str | None) -> str | None:
    """Return the codec for an encoding's label, or None if pages can't have this encoding."""
    written = _END_OF_LABEL.split((label or "").strip(_AROUND_LABEL)[:_LONGEST_LABEL])[0]
    try:
        standard = webencodings.lookup(written)
        name = str(standard.name) if standard else written
        if name == _USER_DEFINED:
            return None
        # The standard has one name for several encodings that it refuses to decode.
        codec = _CODECS.get(name) or resolve_encoding(name) or resolve_encoding(written)
        if codec is None or codec in _NOT_FOR_PAGES:
            return None
        # Codecs that aren't text encodings, such as hex, raise LookupError, and a NUL in the label
        # raises ValueError.
        "".encode(codec)
    except (LookupError, ValueError):
        return None
    return f"{codec}-be" if codec in WIDE else codec


def names_no_page(label: str | None) -> bool:
    """Return whether a label names an encoding that is known, but that no web page uses.

    An example is utf-7. Bytes in such an encoding may look like a different text in UTF-8. An
    unknown label says nothing about the bytes.
    """
    if not label or codec_of(label) is not None:
        return False
    try:
        codecs.lookup(label.strip(_AROUND_LABEL)[:_LONGEST_LABEL])
    except (LookupError, ValueError):
        return False
    return True


def text_of(body: bytes, label: str | None, errors: str = "strict") -> str:
    """Decode a plain text from bytes, and remove the byte order mark.

    Args:
        body: The bytes.
        label: The label of their encoding. Without one, or with one that web pages can't have,
            UTF-8.
        errors: What to do with bytes that are invalid in the encoding, as in `bytes.decode`.

    Raises:
        UnicodeDecodeError: The bytes aren't text in this encoding, and `errors` is "strict".
    """
    return body.decode(codec_of(label) or "utf-8", errors).removeprefix("\ufeff")


def label_in_type(content_type: str | None) -> str | None:
    """Return the label of the encoding in a Content-Type header, or None."""
    label = _IN_TYPE.search(content_type or "")
    return label and label[1]


def codec_inside(body: bytes) -> str | None:
    """Return the codec for the encoding that a page declares inside, or None.

    Pages declare it in <meta> or in an XML declaration.
    """
    for beginning, wide in _WIDE_XML.items():
        if body.startswith(beginning):
            return wide
    for label in _labels_inside(body):
        codec = codec_of(label)
        if codec is not None:
            # What can be read as ASCII isn't UTF-16, whatever it says (HTML standard, 13.2.3.2).
            return "utf-8" if codec.startswith(WIDE) else codec
    return None


def _labels_inside(body: bytes) -> Iterator[str]:
    """Yield the labels of encodings at the beginning of a page, in document order.

    They may be "".
    """
    head = body[:_HEAD].decode("latin-1")
    place = 0
    while found := _MAY_DECLARE.search(head, place):
        kind = found[1].lower()
        place = found.end()
        if kind == "body":
            return
        if kind == "!--":
            end = head.find("-->", found.start() + len("<!"))
            place = len(head) if end < 0 else end
            continue
        attributes: dict[str, str] = {}
        while attribute := _ATTRIBUTE.match(head, place):
            place = attribute.end()
            # If an attribute is repeated, the first one counts.
            value = attribute[2] or attribute[3] or attribute[4] or ""
            attributes.setdefault(attribute[1].lower(), value)
        yield _label_in_xml(attributes) if kind == "?xml" else _label_in_meta(attributes)


def _label_in_xml(attributes: dict[str, str]) -> str:
    return attributes.get("encoding", "")


def _label_in_meta(attributes: dict[str, str]) -> str:
    if "charset" in attributes:
        return attributes["charset"]
    # Some spell it http_equiv or httpequiv.
    pragma = "".join(value for name, value in attributes.items() if name.startswith("http"))
    label = _IN_CONTENT.search(attributes.get("content", ""))
    return label[1] if label and _TYPE_IN_META.search(pragma) else ""
