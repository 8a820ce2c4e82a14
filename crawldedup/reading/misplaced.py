"""Bound the memory that a text takes in which misplaced tags stand.

A parser ignores a tag that has no place where it stands, such as the start of a cell outside of a
table or a second `<body>`, and continues the text before it. A text that stands in a table but in
no cell continues the text before the table. Lexbor copies the text each time, if anything else has
taken memory since, such as an attribute: a page of 1.3 MB takes 1 GB that way. So the letters that
may be copied are counted before a page is parsed.

The count is an upper bound: wherever it isn't certain that a text ends, it continues.
"""

import re
from typing import Final

from crawldedup.errors import PageError
from crawldedup.reading.blocks import tags

# Pages of fewer letters take less than 150 MB.
_FEW_LETTERS: Final = 80_000
# Bytes. A third of them takes memory at once, since copies take the place of earlier ones.
_MOST_COPIED: Final = 400_000_000

# Tags that are ignored in some places, with what takes memory.
_MAY_BE_MISPLACED: Final = re.compile(
    r"<(?:[!?]|/[a-z][^\s/>]*+[\s/]|(?:caption|t[dh])[\s/>]|"
    r"(?:base(?:font)?|bgsound|body|col(?:group)?|form|frame(?:set)?|head|html|input|link|meta|"
    r"noframes|script|style|t(?:body|emplate|foot|head|itle|r))[\s/])",
    re.IGNORECASE,
)
# Behind these, all tags may be ignored.
_MAY_IGNORE_ALL: Final = re.compile("<(?:frameset|template)", re.IGNORECASE)
# Outside of a value, a quote is a letter like any other. All groups are possessive, and no end has
# to be there, so that no letter is looked at twice.
_VALUE: Final = r"""(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)"""
_ATTRIBUTES: Final = rf"(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE}?+)?+)*+"
_TOKEN: Final = re.compile(
    rf"<(?:(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})[\s/]*+>?|[!?/][^>]*+)"
)
_CDATA: Final = "<![CDATA["
_END_OF_COMMENT: Final = re.compile("--!?>")
_WHITE_SPACE: Final = " \t\n\r\f"

_COLUMNS: Final = tags("col colgroup")
_CELLS: Final = tags("caption td th")
_CELLS_OF_ROWS: Final = tags("td th")
_IN_TABLES: Final = tags("caption col colgroup tbody td tfoot th thead tr")
_OF_TABLES: Final = _IN_TABLES | {"table"}
# Each of these is ignored in some places, or put elsewhere. All others end a text.
_MAY_END_NO_TEXT: Final = _IN_TABLES | tags("""
    base basefont bgsound body form frame frameset head html input link meta noframes script style
    template title
""")
# What stands in them is text, except in SVG and MathML.
_RAW: Final = tags("iframe noembed noframes noscript plaintext script style textarea title xmp")
_END_OF_RAW: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _RAW - {"plaintext"}}
_FOREIGN: Final = ("math", "svg")
# In these, HTML stands within SVG and MathML.
_BACK_TO_HTML: Final = tags("annotation-xml desc foreignobject mi mn mo ms mtext title")


def check_copied_text(html: str) -> None:
    """Raise PageError("too_deep") if text between misplaced tags may take hundreds of megabytes.

    Takes linear time.
    """
    if len(html) <= _FEW_LETTERS:
        return
    size = len(html) if html.isascii() else len(html.encode("utf-8", "surrogatepass"))
    misplaced = sum([1 for _ in _MAY_BE_MISPLACED.finditer(html)])
    if misplaced * size > _MOST_COPIED or _MAY_IGNORE_ALL.search(html):
        _check_each_text(html)


def _check_each_text(html: str) -> None:
    texts = _Texts()
    place = 0
    while token := _TOKEN.search(html, place):
        texts.add(html[place : token.start()])
        place = token.end()
        if token["name"] is None:
            place = texts.skip(html, token.start(), place)
        elif token["end"]:
            texts.end(token["name"].lower(), has_attributes=bool(token["attributes"]))
        else:
            name = token["name"].lower()
            is_empty = token[0].endswith("/>")
            texts.start(name, has_attributes=bool(token["attributes"]), is_empty=is_empty)
            if name in _RAW and not texts.may_be_foreign:
                place = texts.skip_raw(html, name, place)
        if texts.copied > _MOST_COPIED:
            raise PageError(
                "too_deep", "too much text of the page stands between tags that have no place there"
            )
    texts.add(html[place:])


class _Texts:
    """Counts the bytes that are copied to continue the texts of a page, token by token.

    Attributes:
        copied: The bytes that may have been copied.
    """

    def __init__(self) -> None:
        self.copied = 0
        self._length = 0  # of the text that the next one may continue
        self._took_memory = False  # anything has, since that text
        # Of each open table: the bytes that were moved before it, and the open cell, or "?".
        self._moved: list[int] = []
        self._cells: list[str] = []
        self._knows_tables = True
        self._open = dict.fromkeys((*_FOREIGN, "template"), 0)
        self._back_to_html = ""
        self._has_html_inside = False  # of SVG or MathML
        self._ends_nothing = False  # since tags are ignored that end a text elsewhere

    @property
    def may_be_foreign(self) -> bool:
        """Whether what stands in a script may be tags, as in SVG."""
        is_foreign = any(self._open[name] for name in _FOREIGN)
        return is_foreign or self._has_html_inside or self._ends_nothing

    def add(self, text: str) -> None:
        """Read a text between two tags."""
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if not size:
            return
        may_be_moved = self._moved and not (self._knows_tables and self._cells[-1] in _CELLS)
        if may_be_moved and text.strip(_WHITE_SPACE):
            self.copied += self._moved[-1]
            self._moved[-1] += size
            self._took_memory = True
            if self._knows_tables and not self._cells[-1]:
                return
        if self._took_memory:
            self.copied += self._length
        self._length += size
        self._took_memory = False

    def start(self, name: str, *, has_attributes: bool, is_empty: bool) -> None:
        """Read a start tag."""
        self._took_memory |= has_attributes
        if self.may_be_foreign and name not in _FOREIGN:
            self._has_html_inside |= self._back_to_html != ""
            if name in _BACK_TO_HTML and not is_empty:
                self._back_to_html = name
        if name in self._open and not is_empty:
            self._open[name] += 1
        if name == "frameset" or (name in _COLUMNS and self._open["template"]):
            self._ends_nothing = True
        if name in _OF_TABLES:
            self._start_in_table(name)
        elif name not in _MAY_END_NO_TEXT and not self._ends_nothing:
            self._length = 0

    def _start_in_table(self, name: str) -> None:
        self._check_tables()
        if name == "table":
            self._start_table()
        elif self._moved:
            self._cells[-1] = name if name in _CELLS else ""
        ends_text = name == "table" or (self._moved and self._knows_tables)
        if ends_text and not self._ends_nothing:
            self._length = 0

    def _start_table(self) -> None:
        if self._cells and self._cells[-1] == "?":
            self._knows_tables = False
        if self._knows_tables and self._cells and not self._cells[-1]:
            # It takes the place of the one before.
            self._moved[-1] = self._length
        else:
            self._moved.append(self._length)
            self._cells.append("")

    def end(self, name: str, *, has_attributes: bool) -> None:
        """Read an end tag."""
        self._took_memory |= has_attributes
        if name == self._back_to_html:
            self._back_to_html = ""
        if self._open.get(name):
            self._open[name] -= 1
        if name not in _OF_TABLES:
            return
        self._check_tables()
        if not self._moved:
            return
        cell = self._cells[-1]
        if name == "table":
            if self._knows_tables:
                self._moved.pop()
                self._cells.pop()
        elif name == cell or (name == "tr" and cell in _CELLS_OF_ROWS):
            self._cells[-1] = ""
        elif cell:
            # It is ignored, or ends the cell with the part of the table that it stands in.
            self._cells[-1] = "?"

    def _check_tables(self) -> None:
        # There, a tag may close a table outside, or belong to none.
        if any(self._open.values()):
            self._knows_tables = False

    def skip(self, html: str, start: int, end: int) -> int:
        """Read a comment or the like; return where it ends."""
        self._took_memory = True
        if html.startswith("<!--", start):
            comment = _END_OF_COMMENT.search(html, start + len("<!"))
            return comment.end() if comment else len(html)
        if self.may_be_foreign and html.startswith(_CDATA, start):
            # It ends at another place, and what looks like tags in it is text.
            self._ends_nothing = True
            return start + len(_CDATA)
        return end

    def skip_raw(self, html: str, name: str, start: int) -> int:
        """Read the text of a script or the like; return where it ends."""
        self._took_memory = True
        if name == "plaintext":
            return len(html)
        end = _END_OF_RAW[name].search(html, start)
        return end.start() if end else len(html)
