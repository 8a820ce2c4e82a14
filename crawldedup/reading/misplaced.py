"""Reject pages on which misplaced tags would make the parser take too much memory.

A parser ignores a tag that isn't allowed where it is, such as the start of a cell outside of a
table or a second `<body>`, and continues the text before it. Text inside of a table but outside of
its cells continues the text before the table. If anything has taken memory in between, such as an
attribute, Lexbor copies the whole text each time: a page of 1.3 MB takes 1 GB that way. So the
letters that may be copied are counted before a page is parsed.

The count is an upper bound: unless it is certain that a text ends, it is assumed to continue.
"""

import re
from typing import Final

from crawldedup.errors import PageError
from crawldedup.reading.blocks import tags

# Bytes. A third of them takes memory at the same time, because copies replace earlier ones.
_MOST_COPIED: Final = 600_000_000

# Tags that are ignored in some places, with anything in them that takes memory. The group is the
# name of a tag after which all tags may be ignored. Most tags begin with none of the letters.
_MAY_BE_MISPLACED: Final = re.compile(
    r"""
    <(?:
      [!?]
    | /[A-Za-z][^\s/>]*+[\s/]
    | (?=[BCFHILMNSTbcfhilmnst])
      (?i:
        (frameset|template)
      | (?:caption|t[dh])[\s/>]
      | (?:base(?:font)?|bgsound|body|col(?:group)?|form|frame|head|html|input|link|meta|noframes|
          script|style|t(?:body|foot|head|itle|r))[\s/]
      )
    )
    """,
    re.VERBOSE,
)
# Outside of a value, a quote is a letter like any other. All groups are possessive, and the end may
# be missing, so no letter is examined twice.
_VALUE: Final = r"""(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)"""
_ATTRIBUTES: Final = rf"(?:[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+{_VALUE}?+)?+)*+"
# A text, and the tag or comment after it, if any.
_TOKEN: Final = re.compile(
    rf"((?:[^<]++|<(?![A-Za-z/!?]))*+)"
    rf"(?:<(/?)([A-Za-z][^\s/>]*+)({_ATTRIBUTES})[\s/]*+>?|(<[!?/][^>]*+))?+"
)
_CDATA: Final = "<![CDATA["
_END_OF_COMMENT: Final = re.compile("--!?>")
_WHITE_SPACE: Final = " \t\n\r\f"

_COLUMNS: Final = tags("col colgroup")
_CELLS: Final = tags("caption td th")
_CELLS_OF_ROWS: Final = tags("td th")
_IN_TABLES: Final = tags("caption col colgroup tbody td tfoot th thead tr")
_OF_TABLES: Final = _IN_TABLES | {"table"}
# These are ignored or moved in some places. All others end a text.
_MAY_END_NO_TEXT: Final = _IN_TABLES | tags("""
    base basefont bgsound body form frame frameset head html input link meta noframes script style
    template title
""")
# Their content is text, except in SVG and MathML.
_RAW: Final = tags("iframe noembed noframes noscript plaintext script style textarea title xmp")
_END_OF_RAW: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _RAW - {"plaintext"}}
_FOREIGN: Final = ("math", "svg")
# These contain HTML inside of SVG and MathML.
_BACK_TO_HTML: Final = tags("annotation-xml desc foreignobject mi mn mo ms mtext title")
# Outside of SVG and MathML, all other tags do nothing but end a text.
_SPECIAL: Final = _MAY_END_NO_TEXT | _OF_TABLES | _RAW | _BACK_TO_HTML | {*_FOREIGN}


def check_copied_text(html: str, tags: int, size: int) -> None:
    """Reject a page whose misplaced tags may make the parser copy hundreds of megabytes.

    Raises PageError("too_deep").

    Takes linear time. Pages of fewer than 80,000 letters take less than 150 MB.

    Args:
        html: The page.
        tags: The number of "<" in it, which callers already know.
        size: Its bytes in UTF-8.
    """
    if tags * size > _MOST_COPIED and _may_copy_much(html, size):
        _check_each_text(html)


def _may_copy_much(html: str, size: int) -> bool:
    starts = []
    for tag in _MAY_BE_MISPLACED.finditer(html):
        if tag[1]:
            return True
        starts.append(tag.start())
    # A text isn't longer than the page before the tag, and each letter after it has a byte or more.
    beyond_ascii = size - len(html)
    return sum(starts) + len(starts) * beyond_ascii > _MOST_COPIED


def _check_each_text(html: str) -> None:
    """Raise PageError("too_deep") if the texts of a page may be copied too often."""
    texts = _Texts()
    place = 0
    while place < len(html) and (token := _TOKEN.match(html, place)) is not None:
        text, end, name, attributes, other = token.groups()
        place = token.end()
        if text:
            texts.add(text)
        if attributes:
            texts.took_memory = True
        if other:
            place = texts.skip(html, token.start(5), place)
        elif name and (texts.may_be_foreign or name.lower() in _SPECIAL):
            place = texts.read_special(html, name.lower(), place, is_end=bool(end))
        elif name and not end:
            texts.length = 0
        if texts.copied > _MOST_COPIED:
            raise PageError(
                "too_deep", "too much text of the page stands between tags that have no place there"
            )


class _Texts:
    """Counts the bytes that a parser copies in order to continue texts, token by token.

    Attributes:
        copied: The bytes that may have been copied.
        length: The bytes of the text that the next one may continue.
        took_memory: Whether anything has taken memory since that text.
        may_be_foreign: Whether the content of a script may contain tags, as in SVG.
    """

    def __init__(self) -> None:
        self.copied = 0
        self.length = 0
        self.took_memory = False
        self.may_be_foreign = False
        # For each open table, the bytes that were moved before it, and the open cell, or "?".
        self._moved: list[int] = []
        self._cells: list[str] = []
        self._knows_tables = True
        self._open = dict.fromkeys((*_FOREIGN, "template"), 0)
        self._back_to_html = ""
        self._has_html_inside = False  # whether HTML is inside of SVG or MathML
        self._ends_nothing = False  # because tags that end a text elsewhere are ignored

    def add(self, text: str) -> None:
        """Count a text between two tags."""
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        cells = self._cells
        if cells and not (self._knows_tables and cells[-1] in _CELLS) and text.strip(_WHITE_SPACE):
            self.copied += self._moved[-1]
            self._moved[-1] += size
            self.took_memory = True
            if self._knows_tables and not cells[-1]:
                return
        if self.took_memory:
            self.copied += self.length
        self.length += size
        self.took_memory = False

    def read_special(self, html: str, name: str, place: int, *, is_end: bool) -> int:
        """Take account of a tag that ends at `place` and does more than end a text.

        Return where the tag ends or, for a script and the like, where its text ends.
        """
        if is_end:
            self._end(name)
            return place
        self._start(name, is_empty=html.endswith("/>", 0, place))
        if name in _RAW and not self.may_be_foreign:
            return self._skip_raw(html, name, place)
        return place

    def _start(self, name: str, *, is_empty: bool) -> None:
        if self.may_be_foreign and name not in _FOREIGN:
            self._has_html_inside |= self._back_to_html != ""
            if name in _BACK_TO_HTML and not is_empty:
                self._back_to_html = name
        if name in self._open and not is_empty:
            self._open[name] += 1
        if name == "frameset" or (name in _COLUMNS and self._open["template"]):
            self._ends_nothing = True
        self._update_foreign()
        if name in _OF_TABLES:
            self._start_in_table(name)
        elif name not in _MAY_END_NO_TEXT and not self._ends_nothing:
            self.length = 0

    def _update_foreign(self) -> None:
        is_open = self._open["svg"] > 0 or self._open["math"] > 0
        self.may_be_foreign = is_open or self._has_html_inside or self._ends_nothing

    def _start_in_table(self, name: str) -> None:
        self._check_tables()
        if name == "table":
            self._start_table()
        elif self._moved:
            self._cells[-1] = name if name in _CELLS else ""
        ends_text = name == "table" or (self._moved and self._knows_tables)
        if ends_text and not self._ends_nothing:
            self.length = 0

    def _start_table(self) -> None:
        if self._cells and self._cells[-1] == "?":
            self._knows_tables = False
        if self._knows_tables and self._cells and not self._cells[-1]:
            # It replaces the one before.
            self._moved[-1] = self.length
        else:
            self._moved.append(self.length)
            self._cells.append("")

    def _end(self, name: str) -> None:
        """Take account of an end tag, which may close a table, a cell, or SVG or MathML."""
        if name == self._back_to_html:
            self._back_to_html = ""
        if self._open.get(name):
            self._open[name] -= 1
            self._update_foreign()
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
            # It is ignored, or ends the cell together with the part of the table around it.
            self._cells[-1] = "?"

    def _check_tables(self) -> None:
        # In this case, a tag may close an outer table, or belong to none.
        if self.may_be_foreign or self._open["template"]:
            self._knows_tables = False

    def skip(self, html: str, start: int, end: int) -> int:
        """Skip a comment or the like, and return where it ends."""
        self.took_memory = True
        if html.startswith("<!--", start):
            comment = _END_OF_COMMENT.search(html, start + len("<!"))
            return comment.end() if comment else len(html)
        if self.may_be_foreign and html.startswith(_CDATA, start):
            # It ends somewhere else, and what looks like tags inside of it is text.
            self._ends_nothing = True
            self._update_foreign()
            return start + len(_CDATA)
        return end

    def _skip_raw(self, html: str, name: str, start: int) -> int:
        self.took_memory = True
        if name == "plaintext":
            return len(html)
        end = _END_OF_RAW[name].search(html, start)
        return end.start() if end else len(html)
