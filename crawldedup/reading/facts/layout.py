"""Read the lines of a page as its layout shows them: headings, prices, rows of a specification, choices, buttons.

They are the lines that the main text was read from. Elements are looked at only where a block may be left out, as
boilerplate or as being about other pages, and where a short line has a number or may be a row.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, groupby, islice
from operator import or_
from typing import TYPE_CHECKING, Final

from crawldedup.reading.blocks import (
    BLOCKS,
    BOILERPLATE_ROLES,
    COMMENT,
    HEADINGS,
    NUMBER,
    TEXT,
    elements_around,
    numbers,
    sibling,
    texts_within,
    within,
)
from crawldedup.reading.facts import VOCABULARY, limits
from crawldedup.reading.facts.prices import plain, prices, without_prices, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from crawldedup.reading.blocks import Blocks
    from crawldedup.reading.blocks import Line as TextLine
    from crawldedup.reading.facts.prices import Price

    _Attributes = Mapping[str, str | None]

# The first headings are the page's own.
_OWN_HEADINGS: Final = 3
# Characters and lines of the largest row, and characters and parts of the largest entry or choice.
_ROW_SIZE: Final = 400
_ROW_LINES: Final = 20
_ENTRY_SIZE: Final = 80
_ENTRY_PARTS: Final = 30
# Characters of a line that may be about its number.
_SHORT: Final = 100

_BODY, _DD, _DT, _HEADER, _LABEL, _LI, _TR = (
    NUMBER[name] for name in ("body", "dd", "dt", "header", "label", "li", "tr")
)
_HEADINGS: Final = numbers(HEADINGS)
_NEVER_SKIPPED: Final = numbers(["body", "main", "article"])
_BLOCKS: Final = numbers(BLOCKS)
_ROWS: Final = numbers(["tr", "dt", "dd"])
_PAIRS: Final = numbers(["div", "li", "p"])
_MARKS: Final = numbers(["b", "strong", "span", "em", "i"])
_NOT_IN_A_PAIR: Final = numbers(["a", "br", "img"])
# What is known of a block, and of all that it holds.
_SKIPPED, _PRICED, _HEADING = 1, 2, 4

# Classes of what changes from visit to visit, or is about other things than this page.
_ABOUT_OTHERS: Final = re.compile(
    r"(?<![A-Za-z])(?i:related|recommend(?:ed|ations?|er)?|similar|up-?sells?|cross-?sells?|also|recent(?:ly)?|"
    r"reviews?|ratings?|stars|comments?|breadcrumbs?|newsletter|share|social|cookies?|consent|footer|mini-?cart|"
    r"countdown|stock|inventory|availability|delivery|shipping|questions)(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")
# Names of choices that make no other product of it.
_OTHER_CHOICES: Final = re.compile(
    r"(?i:qty|quantit|anzahl|menge|sort|order|country|currency|lang|page|limit|ship|deliver|pay|amount|rating|review)"
)
_CHOSEN: Final = "select option[selected], input[type='radio'][checked]"
# Links to a part of the page, and what they hold.
_PAGE_LINKS: Final = ":is(a:not([href]), a[href=''], a[href^='#'])"
_DIGIT: Final = re.compile(r"\d")

# A line of so many words is prose if it is punctuated.
_PROSE_WORDS: Final = 12
_SENTENCE: Final = re.compile(r"[.!?。！？।۔؟](?:\s|$)|[。！？、，،,;；]")
# A line with more words is not about its price; one with so few beside its price is about nothing else.
_PRICE_WORDS: Final = 16
_BESIDE_WORDS: Final = 8
_ENTRY_WORDS: Final = 8
_LABELLED: Final = re.compile(r"[^:|=]{1,40}\s?(?::(?![\d/])|\||=)\s?\S.{0,100}")
_LABEL_SIGNS: Final = ":|=：｜＝"
_LABELLED_WORDS: Final = 30
# What changes from visit to visit: stock, delivery, reviews.
_PASSING: Final = re.compile(
    rf"\b(?:{'|'.join(VOCABULARY['passing'])})\b|{'|'.join(VOCABULARY['passing_without_spaces'])}"
)


@dataclass(eq=False)
class Line:
    """One block of text of a page. What it reads like is found out on demand: for most lines it never is.

    `is_row`: a key and its value, among others. `is_item`: a short entry of a list, a single key and value, or a
    choice that is made. `is_linked`: mostly a link. `is_priced`: in an element named a price.
    """

    text: str
    is_heading: bool
    is_row: bool
    is_item: bool
    is_linked: bool
    is_priced: bool

    @cached_property
    def plain(self) -> str:
        """The text, `plain`."""
        return plain(self.text)

    @cached_property
    def words(self) -> list[str]:
        """The words of the text."""
        return words_of(self.plain)

    @cached_property
    def is_prose(self) -> bool:
        """Whether it is a sentence or more."""
        # Words of Latin letters have spaces between them.
        if self.is_row or len(self.text) < _PROSE_WORDS * (2 if self.text.isascii() else 1) - 1:
            return False
        return len(self.words) >= _PROSE_WORDS and _SENTENCE.search(self.plain) is not None

    @property
    def may_hold_numbers(self) -> bool:
        """Whether it has digits, which may be small or in circles."""
        return not self.text.isascii() or _DIGIT.search(self.text) is not None

    @cached_property
    def prices(self) -> list[Price]:
        """The prices, if it is about little else."""
        if self.is_linked or not self.may_hold_numbers or self.is_prose or len(self.words) > _PRICE_WORDS:
            return []
        return prices(self.plain, bare=self.is_priced)

    @property
    def is_passing(self) -> bool:
        """Whether it is about what changes from visit to visit."""
        return _PASSING.search(self.plain) is not None

    @property
    def is_title(self) -> bool:
        """Whether what follows may be about another thing than what comes before."""
        return self.is_heading or self.is_linked

    @property
    def is_label(self) -> bool:
        """Whether it reads "Colour: red"."""
        if self.is_title or not any(sign in self.text for sign in _LABEL_SIGNS) or len(self.words) > _LABELLED_WORDS:
            return False
        return _LABELLED.fullmatch(self.plain) is not None

    @property
    def is_entry(self) -> bool:
        """Whether it is a property of the product though it has no key: "red"."""
        return self.is_item and not self.is_title and len(self.words) <= _ENTRY_WORDS

    @property
    def stands_alone(self) -> bool:
        """Whether there is little else than a price."""
        return len(words_of(without_prices(self.plain))) <= _BESIDE_WORDS


class Layout:
    """The lines of a page, the choices made on it, and its buy controls by the number of the line behind each.

    What is about other pages is left out.
    """

    def __init__(self, tree: LexborHTMLParser, blocks: Blocks, controls: Iterable[LexborNode]) -> None:
        self._blocks = blocks
        self._block_of_node = {node.mem_id: block for block, node in enumerate(blocks.nodes)}
        # How many lines each block holds, and how many blocks stand right in it.
        self._held, self._parts = ([0] * len(blocks.nodes) for _ in range(2))
        for _, _, block in blocks.lines:
            self._held[block] += 1
        for block in range(len(blocks.nodes) - 1, 0, -1):
            self._held[blocks.parents[block]] += self._held[block]
            self._parts[blocks.parents[block]] += 1
        # The first headings and what is around them: it holds the page's own content, whatever its name.
        headings = tree.css("h1")[:_OWN_HEADINGS] or tree.css("h2")[:_OWN_HEADINGS]
        self._own = {block for heading in headings for block in blocks.way_to(self._block_at(heading))}
        links = tree.css(f"{_PAGE_LINKS}, {_PAGE_LINKS} *")[: limits.CONTROLS]
        self._page_links = {self._block_at(link) for link in links}
        # What is known of each block, and the block of the row that it stands in; 0 for none.
        self._marks, self._rows = [0], [0]
        for block, parent in islice(enumerate(blocks.parents), 1, None):
            marks, row = self._marks[parent], self._rows[parent]
            if not marks & _SKIPPED:
                marks |= self._marks_of_block(block)
                row = block if blocks.kinds[block] in _ROWS else row
            self._marks.append(marks)
            self._rows.append(row)
        # The text of each pair that is one line, by its block.
        self._pairs: dict[int, str] = {}
        read = list(self._read())
        self.lines = [line for _, line in read]
        self._opened = list(accumulate((block for block, _ in read), max))
        self.buttons = sorted(map(self._line_behind, controls))
        self.choices = set(self._choices(tree))

    def _block_at(self, node: LexborNode) -> int:
        """Return the block that an element is, or is in."""
        blocks = (self._block_of_node.get(outer.mem_id) for outer in (node, *elements_around(node)))
        return next((block for block in blocks if block is not None), 0)

    def _line_behind(self, control: LexborNode) -> int:
        """Return the number of the line behind a control. A button is no block, so what stands before it counts."""
        node, is_before = control, False
        for _ in range(limits.EDGES):
            if (block := self._block_of_node.get(node.mem_id)) is not None:
                return bisect_left(self._opened, self._blocks.ends[block] if is_before else block)
            is_before = node.prev is not None
            if (outer := node.prev if is_before else node.parent) is None:
                break
            node = outer
        return bisect_left(self._opened, self._block_at(control))

    def _marks_of_block(self, block: int) -> int:
        attributes, kind = self._blocks.nodes[block].attributes, self._blocks.kinds[block]
        marks = _marks_of(attributes) if attributes else 0
        if kind in _HEADINGS:
            marks |= _HEADING
        is_top = kind == _HEADER and self._blocks.kinds[self._blocks.parents[block]] == _BODY
        if is_top or (attributes and attributes.get("role") in BOILERPLATE_ROLES):
            marks |= _SKIPPED
        return marks & ~_SKIPPED if block in self._own or kind in _NEVER_SKIPPED else marks

    def _read(self) -> Iterator[tuple[int, Line]]:
        """Yield each line and its block. The lines of a row are one."""
        kept = (line for line in self._blocks.lines if not self._marks[line[2]] & _SKIPPED)
        for holder, group in groupby(islice(kept, limits.LINES), self._holder):
            lines = list(group)
            if holder and self._is_row(holder, lines):
                yield self._line(lines, is_row=True)
            else:
                is_item = self._blocks.kinds[holder] in _PAIRS and self._is_small(lines, _ENTRY_SIZE)
                yield from (self._line([line], is_item=is_item) for line in lines)

    def _holder(self, line: TextLine) -> int:
        """Return the block of the row or entry that a line is or is a part of; 0 for none."""
        kinds, held, (text, linked, block) = self._blocks.kinds, self._held, line
        row = self._rows[block]
        if row and held[row] <= _ROW_LINES:
            term = sibling(self._blocks.nodes[row], forward=False) if kinds[row] == _DD else None
            return row if term is None or term.tag_id != _DT else self._block_at(term)
        if linked or len(text) > _ENTRY_SIZE:
            return 0
        if kinds[block] in _PAIRS and held[block] == 1 and (pair := _pair_in(self._blocks.nodes[block])):
            self._pairs[block] = pair
            return block
        while held[block] == 1 and block and kinds[block] != _LI:
            block = self._blocks.parents[block]
        return block if kinds[block] == _LI or (kinds[block] in _PAIRS and held[block] == 2) else 0

    def _is_row(self, holder: int, lines: Sequence[TextLine]) -> bool:
        """Return whether lines are a row of a table, a term and what is said of it, or a pair of short texts."""
        kind, held = self._blocks.kinds[holder], self._held[holder]
        if kind in _ROWS:
            is_whole = len(lines) == held and self._parts[holder] > 1 if kind == _TR else len(lines) > held
            return kind != _DD and is_whole and self._is_small(lines, _ROW_SIZE)
        if holder in self._pairs:
            return self._is_small(lines, 2 * _ENTRY_SIZE)
        # A name and a price are two lines, wherever they stand.
        is_pair = kind in _PAIRS and len(lines) == held == 2 and self._is_small(lines, 2 * _ENTRY_SIZE)
        return is_pair and not any(prices(plain(text)) for text, _, _ in lines)

    def _is_small(self, lines: Sequence[TextLine], most: int) -> bool:
        """Return whether lines have no heading, and at most so many characters."""
        return _size(lines) <= most and not any(self._marks[block] & _HEADING for _, _, block in lines)

    def _line(self, lines: Sequence[TextLine], *, is_row: bool = False, is_item: bool = False) -> tuple[int, Line]:
        text = " ".join(self._pairs.get(block, text) for text, _, block in lines)
        _, _, block = lines[0]
        marks = reduce(or_, (self._marks[block] for _, _, block in lines))
        is_linked = 2 * sum(linked for _, linked, _ in lines) > _size(lines) and block not in self._page_links
        if len(text) <= _SHORT and not is_linked and _DIGIT.search(text):
            text, said = self._in_line(block, text)
            marks |= said
        is_heading, is_priced = bool(marks & _HEADING), bool(marks & _PRICED)
        return block, Line(text[: limits.LINE], is_heading, is_row, is_item, is_linked, is_priced)

    def _in_line(self, block: int, text: str) -> tuple[str, int]:
        """Return a line without what is about others at its edges, and what is known of the other parts of it."""
        marks, is_begun = 0, False
        for part in islice(within(self._blocks.nodes[block]), _ENTRY_PARTS):
            if part.tag_id == TEXT:
                is_begun = is_begun or not (part.text_content or "").isspace()
            elif part.tag_id != COMMENT and (attributes := part.attributes):
                said = _marks_of(attributes)
                if said & _SKIPPED:
                    text = text.removesuffix(short_text(part)) if is_begun else text.removeprefix(short_text(part))
                else:
                    marks |= said
        return text.strip(), marks

    def _choices(self, tree: LexborHTMLParser) -> Iterator[str]:
        """Yield the texts of the choices that are made, each with its label."""
        for chosen in tree.css(_CHOSEN)[: limits.CONTROLS]:
            select = next((outer for outer in elements_around(chosen) if outer.tag == "select"), None)
            control = chosen if select is None else select
            names = f"{control.attributes.get('name')} {control.attributes.get('id')}"[: limits.VALUE]
            if _OTHER_CHOICES.search(names) or _marks_of(control.attributes) & _SKIPPED or self._is_left_out(control):
                continue
            label = _label_of(control)
            if select is None:
                yield "" if label is None else short_text(label)
            else:
                texts = iter(()) if label is None else islice(texts_within(label), _ENTRY_PARTS)
                yield f"{next(filter(str.strip, texts), '')} {short_text(chosen)}"

    def _is_left_out(self, control: LexborNode) -> bool:
        """Return whether the block around a control is not read."""
        holder = next((outer for outer in elements_around(control) if outer.tag_id in _BLOCKS), None)
        block = None if holder is None else self._block_of_node.get(holder.mem_id)
        return block is None or bool(self._marks[block] & _SKIPPED)


def _size(lines: Iterable[TextLine]) -> int:
    return sum(len(text) for text, _, _ in lines)


def _pair_in(node: LexborNode) -> str:
    """Return two short texts in a block of one line, or a word and a marked one: Colour <b>red</b>; "" for others."""
    parts: list[LexborNode] = []
    child = node.first_child
    while child is not None:
        kind = child.tag_id
        if kind in _NOT_IN_A_PAIR or len(parts) > 2:
            return ""
        if kind != COMMENT and (kind != TEXT or (child.text_content or "").strip(" \n\r\t:")):
            parts.append(child)
        child = child.next
    if len(parts) != 2 or parts[1].tag_id == TEXT or (parts[0].tag_id == TEXT and parts[1].tag_id not in _MARKS):
        return ""
    texts = [" ".join((part.text_content or "").split()) if part.tag_id == TEXT else short_text(part) for part in parts]
    return " ".join(texts) if all(texts) else ""


def short_text(node: LexborNode) -> str:
    """Return the first texts in a node, in one line."""
    return " ".join("".join(islice(texts_within(node), _ENTRY_PARTS))[:_ENTRY_SIZE].split())


def _marks_of(attributes: _Attributes) -> int:
    """Return what the names of an element say: that it is about others, or a price."""
    kind, identity = attributes.get("class") or "", attributes.get("id") or ""
    if not (kind or identity or "itemprop" in attributes):
        return 0
    return _said(kind[: limits.CLASS], identity[: limits.CLASS], (attributes.get("itemprop") or "")[: limits.CLASS])


# The pages of a site share their classes.
@lru_cache(10_000)
def _said(kind: str, identity: str, member: str) -> int:
    is_about_others = _ABOUT_OTHERS.search(f"{kind} {identity}"[: limits.CLASS])
    is_price = _PRICE.search(member or kind or identity)
    return (_SKIPPED if is_about_others else 0) | (_PRICED if is_price else 0)


def _label_of(node: LexborNode) -> LexborNode | None:
    around = next((outer for outer in elements_around(node) if outer.tag_id == _LABEL), None)
    beside = (around, sibling(node, forward=True), sibling(node, forward=False))
    return next((label for label in beside if label is not None and label.tag_id == _LABEL), None)
