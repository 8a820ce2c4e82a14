"""The lines of a page, and what stands where on it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawldedup.reading import blocks as walk
from crawldedup.reading.blocks import (
    COMMENT,
    HEADINGS,
    TEXT,
    Blocks,
    elements_around,
    kind_of,
    kinds_of,
    text_within,
)
from crawldedup.reading.facts import declared
from crawldedup.reading.facts.declared import (
    VOCABULARY,
    Most,
    plain,
    prices,
    words_of,
)

_BUTTON, _DD, _HEADER, _INPUT, _LABEL, _LI, _SELECT, _TR = map(
    kind_of, ["button", "dd", "header", "input", "label", "li", "select", "tr"]
)
_BLOCKS: Final = kinds_of(walk.BLOCKS)
_ROWS: Final = kinds_of(["tr", "dt", "dd"])
_PAIRS: Final = kinds_of(["div", "li", "p"])
_MARKS: Final = kinds_of(["b", "strong", "span", "em", "i"])
_NOT_IN_A_PAIR: Final = kinds_of(["a", "br", "img"])
_SHOW_TEXTS: Final = kinds_of(["a", "button"])
BUTTONS: Final = "button, input, form"
_CHOSEN: Final = "select option[selected], input[type='radio'][checked]"
_PAGE_LINKS: Final = ":is(a:not([href]), a[href=''], a[href^='#'])"
DATED_ARTICLE: Final = "meta[property^='article:'], article time"  # it says when it was published
# What elements say by their attributes: that they buy, show a price, or are about a visit or other
# things.
BUY_SIGNS: Final = tuple(VOCABULARY["buy_signs"])
_BUY_BUTTONS: Final = frozenset(VOCABULARY["buy_buttons"])
_SAYING: Final = ("class", "id", "name", "value", "action", "title", "aria-label")
_NAMING: Final = ("class", "id", "itemprop")
_ABOUT_OTHERS: Final = re.compile(
    rf"(?<![A-Za-z])(?i:{'|'.join(VOCABULARY['about_others'])})(?![a-z])"
)
_PRICE: Final = re.compile(r"(?i:price|preis|precio|prezzo|preço|\bprix)")
_OTHER_CHOICES: Final = re.compile("|".join(VOCABULARY["other_choices"]), re.I)
_SKIPPED, _PRICED, _HEADING = 1, 2, 4  # what is known of a block, and of all that it holds
_ROW_SIZE: Final = 400  # characters of the largest row
_ROW_LINES: Final = 20  # of the largest row
_ENTRY_SIZE: Final = 80  # characters of the largest entry or choice
_ENTRY_WORDS: Final = 8  # of an entry of a list that has no key
_PRICE_WORDS: Final = 12  # of a line that is about its price
_PROSE_WORDS: Final = 12  # from which on a line is prose, if it is punctuated
KNOWN_WORDS: Final = 5  # in the order of the main text, which make a line a part of it
NEAR_LINES: Final = 15  # behind the name, or behind the product's text, that are near it
# Prices, each right below a title or under a heading of its own, that make a page a listing.
LISTED: Final = 3
SPECIFICATION: Final = 2  # rows that make one
DIGITS_ONLY: Final = re.compile(r"[\d\W]+")
DATE: Final = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}:\d\d")
_SENTENCE: Final = re.compile(r"[.!?。！？।۔؟](?:\s|$)|[。！？、，،,;；]")
_LABELLED: Final = re.compile(r"[^:|=]{1,40}\s?(?::(?![\d/])|\||=)\s?\S.{0,100}")
SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")
# What changes from visit to visit: stock, delivery, reviews.
PASSING: Final = re.compile(
    rf"\b(?:{'|'.join(VOCABULARY['passing'])})\b|{'|'.join(VOCABULARY['passing_without_spaces'])}"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One block of `plain` text of a page, and what it reads like.

    `is_row`: a key and its value. `is_entry`: a property without a key, such as "red" in a list.
    `is_prose`: a sentence or more. `prices` are those of a line about little else.
    """

    text: str
    words: list[str]
    is_heading: bool
    is_linked: bool
    is_row: bool
    is_entry: bool
    is_prose: bool
    has_digits: bool
    prices: list[declared.Price]


class Layout:
    """The lines of a page, without what is about other pages, and the choices made on it."""

    def __init__(self, tree: LexborHTMLParser, blocks: Blocks, holders: set[int]) -> None:
        self._blocks = blocks
        self._block_of_node = {node.mem_id: block for block, node in enumerate(blocks.nodes)}
        own = Counter(block for _, _, block in blocks.lines)
        # How many lines each block holds, and what is known of it.
        self._held = walk.totals([own[block] for block in range(len(blocks.nodes))], blocks.ends)
        self._marks = [0]
        for node, kind, parent in islice(
            zip(blocks.nodes, blocks.kinds, blocks.parents, strict=True), 1, None
        ):
            marks, attributes = self._marks[parent], node.attributes
            if attributes and not marks & _SKIPPED:
                said = _marks_of(attributes)
                # What holds the page's own content is left out by its role alone.
                marks |= said & ~_SKIPPED if node.mem_id in holders else said
                marks |= _SKIPPED if attributes.get("role") in walk.BOILERPLATE_ROLES else 0
            if kind == _HEADER and parent == 0 and node.mem_id not in holders:
                marks |= _SKIPPED
            self._marks.append(marks | (_HEADING if kind in HEADINGS else 0))
        links = tree.css(f"{_PAGE_LINKS}, {_PAGE_LINKS} *")[: Most.ELEMENTS]
        self._page_links = {self._block_at(link) for link in links}
        # The text of each pair that is one line, by its block.
        self._pairs: dict[int, str] = {}
        self.lines = list(self._read())
        self.choices = set(self._choices(tree))

    def _block_at(self, node: LexborNode) -> int:
        blocks = (self._block_of_node.get(outer.mem_id) for outer in (node, *elements_around(node)))
        return next((block for block in blocks if block is not None), 0)

    def _read(self) -> Iterator[Line]:
        """Yield each line. The lines of a row are one."""
        kept = (line for line in self._blocks.lines if not self._marks[line[2]] & _SKIPPED)
        for holder, group in groupby(islice(kept, Most.LINES), self._holder):
            lines = list(group)
            size = sum(len(text) for text, _, _ in lines)
            if any(self._marks[block] & _HEADING for _, _, block in lines):
                size = Most.LINE
            if holder and self._is_row(holder, lines, size):
                yield self._line(lines, is_grouped=True)
            else:
                is_item = self._blocks.kinds[holder] in _PAIRS and size <= _ENTRY_SIZE
                yield from (self._line([line], is_item=is_item) for line in lines)

    def _holder(self, line: walk.TextLine) -> int:
        """Return the block of the row or entry that a line is or is a part of; 0 for none."""
        text, linked, inner = line
        is_short, found = not linked and len(text) <= _ENTRY_SIZE, 0
        may_be_pair = is_short and self._held[inner] == 1 and self._blocks.kinds[inner] in _PAIRS
        if may_be_pair and (pair := _pair_in(self._blocks.nodes[inner])):
            self._pairs[inner] = pair
            found = inner
        for block in self._blocks.way_to(inner):
            held, kind = self._held[block], self._blocks.kinds[block]
            if held > _ROW_LINES:
                break
            if kind in _ROWS:
                term = (
                    walk.sibling(self._blocks.nodes[block], forward=False) if kind == _DD else None
                )
                return block if term is None else self._block_at(term)
            if is_short and not found and (kind == _LI or (kind in _PAIRS and held == 2)):
                found = block
        return found

    def _is_row(self, holder: int, lines: Sequence[walk.TextLine], size: int) -> bool:
        """Return whether lines are a row of a table, a term and what is said of it, or a pair of
        short texts.
        """
        kind, held = self._blocks.kinds[holder], self._held[holder]
        if kind in _ROWS:
            has_cells = len(lines) == held and len(list(self._blocks.children(holder))) > 1
            return size <= _ROW_SIZE and (has_cells if kind == _TR else len(lines) > held)
        # A name and a price are two lines, wherever they stand.
        is_pair = len(lines) == held == 2 and not any(prices(plain(text)) for text, _, _ in lines)
        return size <= 2 * _ENTRY_SIZE and (holder in self._pairs or is_pair)

    def _line(
        self, lines: Sequence[walk.TextLine], *, is_grouped: bool = False, is_item: bool = False
    ) -> Line:
        text = " ".join([self._pairs.get(block, text) for text, _, block in lines])[: Most.LINE]
        block = lines[0][2]
        marks = self._marks[block]
        is_linked = (
            2 * sum(linked for _, linked, _ in lines) > len(text) and block not in self._page_links
        )
        if len(text) <= Most.SHORT and not is_linked and declared.DIGIT.search(text):
            text, marks_within = self._in_line(block, text)
            marks |= marks_within
        text = plain(text)
        words = words_of(text)
        is_heading, is_priced = bool(marks & _HEADING), bool(marks & _PRICED)
        is_title = is_heading or is_linked
        is_row = is_grouped or (not is_title and _LABELLED.fullmatch(text[:_ROW_SIZE]) is not None)
        is_entry = is_item and not is_title and len(words) <= _ENTRY_WORDS
        is_prose = (
            not is_grouped and len(words) >= _PROSE_WORDS and _SENTENCE.search(text) is not None
        )
        has_digits = declared.DIGIT.search(text) is not None
        may_hold_prices = (
            has_digits and not is_linked and not is_prose and len(words) <= _PRICE_WORDS
        )
        found = prices(text, bare=is_priced) if may_hold_prices else []
        return Line(
            text, words, is_heading, is_linked, is_row, is_entry, is_prose, has_digits, found
        )

    def _in_line(self, block: int, text: str) -> tuple[str, int]:
        """Return a line without passing or other products' elements at its ends, and the marks of
        the elements left.
        """
        marks, is_begun = 0, False
        for part in walk.within(self._blocks.nodes[block]):
            if part.tag_id == TEXT:
                is_begun = is_begun or not (part.text_content or "").isspace()
            elif part.tag_id != COMMENT and (attributes := part.attributes):
                said = _marks_of(attributes)
                if said & _SKIPPED:
                    about_others = text_within(part, _ENTRY_SIZE)
                    text = (
                        text.removesuffix(about_others)
                        if is_begun
                        else text.removeprefix(about_others)
                    )
                else:
                    marks |= said
        return text.strip(), marks

    def _choices(self, tree: LexborHTMLParser) -> Iterator[str]:
        """Yield the texts of the choices that are made, each with its label."""
        for chosen in tree.css(_CHOSEN)[: Most.ELEMENTS]:
            control = next(
                (outer for outer in elements_around(chosen) if outer.tag_id == _SELECT), chosen
            )
            around = list(elements_around(control))
            holder = next((outer for outer in around if outer.tag_id in _BLOCKS), None)
            block = None if holder is None else self._block_of_node.get(holder.mem_id)
            names = f"{control.attributes.get('name')} {control.attributes.get('id')}"[: Most.VALUE]
            is_skipped = (
                block is None or (self._marks[block] | _marks_of(control.attributes)) & _SKIPPED
            )
            if is_skipped or _OTHER_CHOICES.search(names):
                continue
            near = (
                *around,
                walk.sibling(control, forward=True),
                walk.sibling(control, forward=False),
            )
            label = next(
                (node for node in near if node is not None and node.tag_id == _LABEL), None
            )
            parts = (
                []
                if label is None
                else [part for part in walk.within(label) if part.tag_id == TEXT]
            )
            texts = list(filter(None, [text_within(part, _ENTRY_SIZE) for part in parts]))
            # The label may hold the select with all its options.
            yield " ".join(
                [*(texts if control is chosen else texts[:1]), text_within(chosen, _ENTRY_SIZE)]
            )


def _pair_in(node: LexborNode) -> str:
    """Return two short texts in a block of one line, or a word and a marked one:

    Colour <b>red</b>; "" for others.
    """
    parts: list[LexborNode] = []
    for child in node.iter(include_text=True):
        kind = child.tag_id
        if kind in _NOT_IN_A_PAIR or len(parts) > 2:
            return ""
        if kind != COMMENT and (kind != TEXT or (child.text_content or "").strip(" \n\r\t:")):
            parts.append(child)
    if (
        len(parts) != 2
        or parts[1].tag_id == TEXT
        or (parts[0].tag_id == TEXT and parts[1].tag_id not in _MARKS)
    ):
        return ""
    texts = [text_within(part, _ENTRY_SIZE) for part in parts]
    return " ".join(texts) if all(texts) else ""


def _marks_of(attributes: Mapping[str, str | None]) -> int:
    """Return what the names of an element say: that it is about others, or a price."""
    return _said(*[(attributes.get(name) or "")[: Most.VALUE] for name in _NAMING])


# The pages of a site share their classes.
@lru_cache(10_000)
def _said(kind: str, identity: str, member: str) -> int:
    is_about_others = _ABOUT_OTHERS.search(f"{kind} {identity}"[: Most.VALUE])
    is_price = _PRICE.search(member or kind or identity)
    return (_SKIPPED if is_about_others else 0) | (_PRICED if is_price else 0)


def sells(part: LexborHTMLParser | LexborNode, controls: str) -> bool:
    """Return whether one of the controls buys something, by its names and texts; of very many, the
    first are read.
    """
    read = [_said_by(control) for control in part.css(controls)[: Most.ELEMENTS]]
    names = "\n".join([said for said, _ in read])
    return any(sign in names for sign in BUY_SIGNS) or any(text in _BUY_BUTTONS for _, text in read)


def _said_by(control: LexborNode) -> tuple[str, str]:
    """Return what a control says by its names and texts, and the text on it if it is a button, in
    lower case.
    """
    attributes, kind = control.attributes, control.tag_id
    pieces = [value[: Most.VALUE] for name in _SAYING if (value := attributes.get(name))]
    text = text_within(control, Most.VALUE) if kind in _SHOW_TEXTS else ""
    label = text if kind == _BUTTON else ""
    if kind == _INPUT and attributes.get("type") in ("submit", "button"):
        label = " ".join((attributes.get("value") or "")[: Most.VALUE].split())
    return "\n".join([*pieces, text]).lower(), label.strip("!").lower()
