"""Recognize HTML, and rewrite XHTML and ruby annotations so HTML parsers read them correctly."""

import html
import re
from functools import lru_cache
from html.entities import html5
from typing import Final
from xml.parsers import expat

from crawldedup.reading.blocks import tags

_XHTML: Final = "http://www.w3.org/1999/xhtml"
_DTD: Final = "//DTD XHTML "
# Namespaces in which tags are recognized by name.
_KNOWN_NAMESPACES: Final = frozenset(
    {_XHTML, "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
)
_VOID: Final = tags("area base br col embed hr img input link meta param source track wbr")
# Elements whose text an HTML parser doesn't parse.
_RAW: Final = tags("iframe noembed noframes script style xmp")
# The number of letters in which a page declares that it is XML, without whitespace and comments.
_HEAD: Final = 4096
# What HTML parsers and XML parsers read differently: empty-element tags, CDATA sections, and tags
# with a prefix. Without these, the HTML parser is used, because it takes a tenth of the time.
_PREFIXED: Final = re.compile(r":(?:html|body)[\s>]")
_NAME: Final = re.compile(r"<([A-Za-z][^\s/<>]*)")
_DOCTYPE: Final = re.compile(
    r"""<!DOCTYPE\s(?>(?:[^\[\]<>"']|"[^"]*"|'[^']*')*)(?:\[[^\[\]]*\]\s*)?>"""
)
_ENTITY: Final = re.compile("&[A-Za-z][A-Za-z0-9]{1,31};")
_ENTITIES_OF_XML: Final = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_MOST_GROWTH: Final = 2  # times the length of a page, because "<" in CDATA becomes "&lt;"

# The tags that a page begins with, and those that a part of one may begin with. Scripts and
# templates are left out, because programs also begin with them.
_BEFORE: Final = re.compile(r"(?>\s*)(?:<!--.*?-->|<\?xml[^<>]*>)", re.DOTALL)
_PAGE: Final = re.compile(r"\s*<(?:!doctype\s+html|html|head|body|title|meta)[\s/>]", re.IGNORECASE)
_PART: Final = re.compile(
    r"\s*<(?:article|center|div|font|h[1-6]|header|main|nav|p|section|span|table|ul)[\s>]",
    re.IGNORECASE,
)
_END: Final = re.compile(r"</[a-z][a-z0-9]{0,9}\s*>\s*\Z|<br\s*/?>\s*\Z", re.IGNORECASE)
_LONGEST_END: Final = 200

_MOST_OF_READING: Final = 200  # letters between two tags
_INLINE: Final = r"</?(?:a|b|bdi|bdo|em|font|i|small|span|strong|sub|sup|u|wbr)(?:\s[^<>]{0,300})?>"
_READING_TEXT: Final = rf"(?>[^<]{{0,{_MOST_OF_READING}}})"
# A reading with its end tag, or up to the tag that ends it. Otherwise, one that was never closed
# would contain the rest of the page.
_READING: Final = re.compile(
    rf"<(r[tp]|rtc)(?:\s[^<>]{{0,300}})?>(?>{_READING_TEXT}(?:{_INLINE}{_READING_TEXT}){{0,8}})"
    r"(?:</\1\s*>|(?=<r(?:[tpb]|tc)[\s>]|</r(?:uby|tc|b)\s*>))",
    re.IGNORECASE,
)


def is_html(text: str, *, parts: bool = True) -> bool:
    """Return whether a text is HTML source. A server may have sent it as plain text.

    Args:
        text: The text.
        parts: Whether a part of a page counts as well. Markdown may begin with one.
    """
    place = 0
    head = text[:_HEAD].lstrip("\ufeff")
    while before := _BEFORE.match(head, place):
        place = before.end()
    if _PAGE.match(head, place):
        return True
    if not parts or not _PART.match(head, place):
        return False
    return _END.search(text[-_LONGEST_END:]) is not None


def as_html(page: str, most_tags: int) -> str:
    """Convert a page of XHTML to HTML if an HTML parser might misread it.

    In XML, `<title/>` is an empty title, not the start of one that swallows the page. A page that
    isn't declared as XHTML or isn't well-formed is returned as it is, and so is one with more than
    `most_tags` tags, or one that would become much longer.
    """
    head = page[:_HEAD].lstrip("\ufeff \t\r\n\f")
    declares_xml = head.startswith("<?xml") or _XHTML in head or _DTD in head
    if not declares_xml or not _differs(page):
        return page
    if page.count("<") - page.count("</") > most_tags:
        return page
    writer = _Writer()
    try:
        writer.read(_ENTITY.sub(lambda entity: _by_numbers(entity[0]), _without_doctype(page)))
    except expat.ExpatError:
        return page
    written = "".join(writer.parts)
    return written if len(written) <= _MOST_GROWTH * len(page) else page


def _differs(page: str) -> bool:
    """Return whether an HTML parser might misread a page that is XML."""
    if "<![CDATA[" in page or _PREFIXED.search(page):
        return True
    # Splitting the page at the ends of tags takes a tenth of the time of a pattern.
    for before in page.split("/>")[:-1]:
        name = _NAME.match(before, max(before.rfind("<"), 0))
        if name and name[1] not in _VOID:
            return True
    return False


def _without_doctype(page: str) -> str:
    """Remove the DOCTYPE from a page. It may declare entities, which a parser would expand."""
    page = page.lstrip("\ufeff \t\r\n\f")
    place = page.find("<!DOCTYPE", 0, _HEAD)
    doctype = _DOCTYPE.match(page, place) if place >= 0 else None
    return page[: doctype.start()] + page[doctype.end() :] if doctype else page


@lru_cache(maxsize=4096)
def _by_numbers(entity: str) -> str:
    """Return the numeric form of an HTML entity, because XML only has five names."""
    name = entity.removeprefix("&")
    if name in _ENTITIES_OF_XML or name not in html5:
        return entity
    return "".join(f"&#{ord(character)};" for character in html5[name])


class _Writer:
    """Writes a page of XHTML as HTML, while an XML parser reads it.

    Namespaces aren't resolved, because a name of one letter may stand for one of a million letters.
    """

    def __init__(self) -> None:
        self.parts: list[str] = ["<!DOCTYPE html>"]
        self._prefixes: set[str] = set()
        self._raw = ""  # the open element whose text isn't markup

    def read(self, page: str) -> None:
        """Convert a page.

        Raises ExpatError if it isn't well-formed, isn't XHTML, or has a DOCTYPE.
        """
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.Parse(page, True)

    def _refuse(self, *_declared: object) -> None:
        raise expat.ExpatError("its entities are not expanded")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        for attribute, value in attributes.items():
            if attribute.startswith("xmlns:") and value.rstrip("/") in _KNOWN_NAMESPACES:
                self._prefixes.add(attribute.removeprefix("xmlns:"))
        name = self._plain(name)
        if len(self.parts) == 1 and name.lower() != "html":
            raise expat.ExpatError("it is another kind of document")
        written = [f' {key}="{html.escape(value)}"' for key, value in attributes.items()]
        self.parts.append(f"<{name}{''.join(written)}>")
        if name in _RAW:
            self._raw = name

    def _end(self, name: str) -> None:
        name = self._plain(name)
        self._raw = ""
        if name not in _VOID:
            self.parts.append(f"</{name}>")

    def _text(self, text: str) -> None:
        if self._raw and f"</{self._raw}" not in text.lower():
            self.parts.append(text)
        else:
            self.parts.append(html.escape(text, quote=False))

    def _comment(self, text: str) -> None:
        # In HTML, ">" would end a comment that begins like this at once.
        if not text.startswith((">", "->")) and len(self.parts) > 1:
            self.parts.append(f"<!--{text}-->")

    def _plain(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return local if prefix in self._prefixes else name


def without_readings(page: str) -> str:
    """Remove the readings in <ruby> from a page, because they aren't part of the text."""
    # Pages with tags in capital letters are older than <ruby>.
    return _READING.sub("", page) if "ruby" in page else page
