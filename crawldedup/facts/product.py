"""What a page, or a text, shows of a product: its name, prices, specification and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from crawldedup.facts.prices import numbers, plain, prices, without_prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.facts.lines import Line
    from crawldedup.facts.prices import Price
    from crawldedup.facts.schema_org import Product

_NEAR_LINES: Final = 15
_BESIDE_WORDS: Final = 8
_PRICE_WORDS: Final = 16
_PROSE_WORDS: Final = 12
_LONG_WORDS: Final = 25
_SENTENCE: Final = re.compile(r"[.!?。！？।۔؟](?:\s|$)|[。！？،、，,;；]")
_MANY_CARDS: Final = 3
_PROSE_ABOVE: Final = 3
_NAMED_LINES: Final = 300
_ROWS: Final = 2
_BESIDE_LINES: Final = 5
_ITEM_WORDS: Final = 8
_MAX_NAME: Final = 300
_ID_SIZE: Final = 4
_KNOWN_WORDS: Final = 5
_LABELLED: Final = re.compile(r"[^:|=]{1,40}\s?(?::(?![\d/])|\||=)\s?\S.{0,100}")
_LABELLED_WORDS: Final = 30
_SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")
_WORD: Final = re.compile(r"""(?:[^\s"'`“”„‟«»「」『』()\[\]{}:|=;!?…]|(?<=\d):(?=\d))++""")
# Han, Kana, Thai, Burmese and Khmer letters are a word each.
_ROUGH_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]|"
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]++"
)
_MEANS_SOMETHING: Final = re.compile(r"[^\W_]|[-+#%°<>±×]{2}|[+#%°<>±×]")
_DIGITS_ONLY: Final = re.compile(r"[\d\W]+")
_DATE: Final = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}|\d{1,2}:\d\d")
# What changes from visit to visit, in lines of their own.
_PASSING: Final = re.compile(
    r"\b(?:reviews?|ratings?|stock|availab\w+|deliver\w*|shipping|shipped|dispatch\w*|sold|views?|viewed|watching|"
    r"visitors?|customers?|questions?|left|hurry|ends|rank|bewertung\w*|lieferzeit|lieferung|versand\w*|lagerbestand|"
    r"auf lager|verfügbar\w*|verkauft|avis|livraison|expédi\w+|disponib\w+|disponív\w+|vendus?|reseñas?|opiniones|"
    r"envío|entrega|existencias|recension\w*|spedizion\w*|consegna|avaliaç\w+|estoque|voorraad|levering|beoordeling\w*|"
    r"leverans\w*|recensioner|opini[ei]|dostaw\w*|dostępn\w*|отзыв\w*|доставк\w*|наличи\w+|оцен\w+|تقييم\w*|مراجع\w*|"
    r"توصيل|شحن|متوفر|مخزون)\b|レビュー|在庫|配送|評価|お届け|口コミ|评价|評價|库存|庫存|销量|銷量|评论|發貨|发货|리뷰|재고|배송|평점|©"
)


class ReadLine:
    """A line and what it is, which is found out when it is asked for: for most lines it never is."""

    def __init__(self, line: Line) -> None:
        self.line = line

    @cached_property
    def text(self) -> str:
        """The line as `plain` text."""
        return plain(self.line.text)

    @cached_property
    def words(self) -> list[str]:
        """Its words."""
        return words_of(self.text)

    @cached_property
    def is_prose(self) -> bool:
        """Whether it is a sentence or more."""
        count = len(self.words)
        return not self.line.row and (
            count >= _LONG_WORDS or (count >= _PROSE_WORDS and _SENTENCE.search(self.text) is not None)
        )

    @cached_property
    def prices(self) -> list[Price]:
        """Its prices, if it is about little else."""
        if self.line.linked or self.is_prose or len(self.words) > _PRICE_WORDS:
            return []
        return prices(self.text, bare=self.line.priced)

    @property
    def is_passing(self) -> bool:
        """Whether it is about stock, delivery, reviews and the like."""
        return _PASSING.search(self.text) is not None

    @property
    def is_label(self) -> bool:
        """Whether it reads "Colour: red"."""
        return (
            not self.line.linked
            and not self.line.heading
            and len(self.words) <= _LABELLED_WORDS
            and _LABELLED.fullmatch(self.text) is not None
        )

    @property
    def stands_alone(self) -> bool:
        """Whether there is little else than a price."""
        return len(words_of(without_prices(self.text))) <= _BESIDE_WORDS


@dataclass(slots=True)
class ProductFacts:
    """What is collected of a product."""

    names: set[str] = field(default_factory=set)
    prices: set[Price] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)

    def all(self) -> set[str]:
        """One line of text for each fact."""
        kinds = {"name": self.names, "price": map(str, self.prices), "row": self.rows, "number": self.numbers}
        facts = {f"{kind} {value}" for kind, values in kinds.items() for value in values}
        return facts | {f"declared {value}" for value in self.hidden}

    def add_hidden(self, product: Product) -> None:
        """What is declared and not shown. What is shown is a fact already, and the print view declares nothing."""
        name = set(words_of(plain(product.name)))
        if not any(name <= set(words_of(known)) for known in self.names):
            self.hidden.add(spelled(plain(product.name)))
        amounts = {price.amount: price.currency for price in self.prices}
        # The page may give no currency, or its data none.
        self.prices |= {
            price
            for price in product.prices
            if price.amount not in amounts or (price.currency and amounts[price.amount])
        }
        shown = f" {' '.join((*self.rows, *self.names))} "
        for value in product.attributes | product.ids:
            text = spelled(plain(value))
            # A short number may be shown as another thing's.
            is_sure = len(text) >= _ID_SIZE or value in product.attributes
            is_shown = text in self.numbers or f" {text} " in shown
            if text and not (is_shown and is_sure):
                self.hidden.add(text)


class ProductView:
    """What a page shows behind the product's name."""

    def __init__(
        self, lines: Sequence[ReadLine], names: Sequence[str], buttons: Sequence[int] = (), above: Sequence[Price] = ()
    ) -> None:
        """`buttons` stand in front of the lines of these numbers; the prices `above` in front of the name."""
        self._lines = lines
        self._buttons = buttons
        self._above = above
        self.names = names

    @classmethod
    def of(cls, lines: Sequence[ReadLine], titles: Sequence[str], buttons: Sequence[int]) -> ProductView:
        """Find the name: the lines that a part of the page's title repeats, or else the title's first part.

        One of them may be the site's, so all are taken; but for a heading that is a link, as sites' names are.
        """
        found = _naming_lines(lines, [part for title in titles for part in parts_of(title)])
        first_price = next((number for number, line in enumerate(lines) if line.prices), len(lines))
        above = [number for number in found if number < first_price]
        if found:
            start = (above or found[:1])[-1] + 1
            names = [lines[number].line.text for number in above or found[:1]]
        else:
            start = next((number for number, line in enumerate(lines, 1) if line.line.heading), 0)
            names = parts_of(titles[0])[:1] if titles else [line.line.text for line in lines[:start][-1:]]
        head = lines[:start]
        sold = _beside(head, [button for button in buttons if button < start])
        return cls(
            lines[start:],
            names,
            [button - start for button in buttons if button >= start],
            [price for number in sorted(sold - _cards(head)) for price in head[number].prices],
        )

    def offers_one_product(self, *, for_sale: bool) -> bool:
        """Whether a price near the name, or a button and what is sold by it, say that the page is about one product."""
        block = self._price_block()
        if not self.names:
            return False
        if self._above or self._sold:
            return True
        if self._is_listing(block):
            return False
        if not block:
            return for_sale and sum(line.line.row for line in self._lines) >= _ROWS
        before = self._lines[: block[0]]
        prose = sum(line.is_prose for line in before)
        if for_sale:
            # Far below its text, a price below a link is another product's.
            return prose <= _PROSE_ABOVE or (bool(self._buttons) and not self._lines[block[0] - 1].line.linked)
        return (
            prose <= 1
            and not any(line.line.heading for line in before)
            and any(self._lines[number].stands_alone for number in block)
        )

    def _price_block(self) -> list[int]:
        """The numbers of the first lines with prices, those beside each other: 99.00, now 74.00."""
        priced = [number for number, line in enumerate(self._lines[: 2 * _NEAR_LINES]) if line.prices]
        if not priced or priced[0] >= _NEAR_LINES:
            return []
        return [number for index, number in enumerate(priced) if number - priced[0] == index]

    def _is_listing(self, block: Sequence[int]) -> bool:
        """Whether the first price is one of several below links or headings, or there is a button for each of them."""
        cards = _cards(self._lines)
        if len(cards) >= _MANY_CARDS and (not block or block[0] in cards):
            return True
        return self._is_listing_by_buttons and (
            not block or any(line.line.linked or line.line.heading for line in self._lines[: block[0]])
        )

    @cached_property
    def _titles(self) -> list[str]:
        """What each button is for: the last heading or link between it and the button before it; "" for none."""
        titles, before = [], 0
        for button in self._buttons:
            between = (line.line for line in self._lines[before:button][::-1])
            titles.append(next((line.text for line in between if line.heading or line.linked), ""))
            before = button
        return titles

    @cached_property
    def _is_listing_by_buttons(self) -> bool:
        """Whether there are buttons to buy several things, and none of them is right below the name."""
        return len(set(self._titles) - {""}) >= _MANY_CARDS and self._titles[0] != ""

    @cached_property
    def _sold(self) -> set[int]:
        """The numbers of the lines with the prices that belong to the buttons; as near to one as there are any."""
        if not self._buttons or self._is_listing_by_buttons:
            return set()
        lines, cards = self._lines, _cards(self._lines)
        first = [button for button, title in zip(self._buttons, self._titles, strict=True) if not title]
        if sold := _beside(lines, first) - cards:
            return sold
        if self._price_block():
            return set()
        if sold := _beside(lines, self._buttons):
            return {number for number in sold if number not in cards or not lines[number - 1].line.linked}
        # Far from each other, in one page.
        return {
            number for number, line in enumerate(lines) if number not in cards and line.prices and line.stands_alone
        }

    def facts(self, main: str) -> ProductFacts:
        """The facts among the lines."""
        facts = ProductFacts(names={spelled(plain(name[:_MAX_NAME])) for name in self.names} - {""})
        facts.prices.update(self._above)
        block, cards = {*self._price_block(), *self._sold}, _cards(self._lines)
        known = _beginnings(main)
        end = self._end_of_text(known)
        for number, line in enumerate(self._lines):
            if number in block or (line.prices and line.line.row and not line.line.linked):
                facts.prices.update(line.prices)
                if not line.is_passing:
                    facts.numbers.update(numbers(without_prices(line.text), units=True))
            elif number in cards or (line.is_passing and not line.is_prose):
                continue
            elif line.line.row or line.is_label or (_is_item(line) and number <= end + _NEAR_LINES):
                facts.rows.add(spelled(line.text))
            elif not line.line.linked and (not line.is_prose or _is_known(line, known)):
                found = numbers(_DATE.sub(" ", line.text), units=True)
                # Behind the text, a year or a telephone number is the site's, but a measure is the product's.
                facts.numbers.update(value for value in found if number <= end or not _DIGITS_ONLY.fullmatch(value))
        return facts

    def _end_of_text(self, known: set[tuple[str, ...]]) -> int:
        """The number of the last line of the product's own text; most of what follows is the site's."""
        own = (
            number
            for number, line in enumerate(self._lines)
            if line.line.row or _is_known(line, known) or (line.is_label and not line.is_passing)
        )
        return max(own, default=_NEAR_LINES)


def _cards(lines: Sequence[ReadLine]) -> set[int]:
    """The numbers of the lines with prices below links or headings, which are those of other products."""
    above = enumerate(pairwise(lines), 1)
    return {number for number, (title, line) in above if line.prices and (title.line.linked or title.line.heading)}


def _beside(lines: Sequence[ReadLine], buttons: Sequence[int]) -> set[int]:
    """The numbers of the lines with prices that are next to a button, with no heading, link or prose between."""
    found: set[int] = set()
    for button in set(buttons):
        above = range(button - 1, max(button - 1 - _BESIDE_LINES, -1), -1)
        for way in (above, range(button, min(button + _BESIDE_LINES, len(lines)))):
            near = takewhile(lambda number: not _separates(lines[number]), way)
            found.update(number for number in near if lines[number].prices)
    return found


def _separates(line: ReadLine) -> bool:
    return line.line.heading or line.line.linked or line.is_prose


def _is_item(line: ReadLine) -> bool:
    """Whether it is a property of the product though it is no row: "red"."""
    return line.line.item and not line.line.linked and not line.line.heading and len(line.words) <= _ITEM_WORDS


def words_of(text: str) -> list[str]:
    """The words of a `plain` text, rougher and quicker than those of fingerprints."""
    return _ROUGH_WORD.findall(text)


def spelled(text: str) -> str:
    """A `plain` text without what is typed in one template and not in the other; signs such as A+ and -5 stay."""
    words = (word.strip(".,") for word in _WORD.findall(text))
    return " ".join(word for word in words if _MEANS_SOMETHING.search(word))


def parts_of(title: str) -> list[str]:
    """The title, cut where sites put their own name; the whole of it last."""
    parts = [part.strip() for part in _SEPARATOR.split(title) if part.strip()]
    return [*parts, title] if len(parts) > 1 else [title]


def without_site(title: str, site: str) -> str:
    """The title without the part that is the site's name."""
    parts = _SEPARATOR.split(title)
    return title if not site or site not in parts else " - ".join(part for part in parts if part != site)


def _naming_lines(lines: Sequence[ReadLine], parts: Sequence[str]) -> list[int]:
    """The numbers of the lines that say a part of the title, in order; the best one for each text."""
    wanted = [words_of(plain(part)) for part in parts]
    found: dict[tuple[str, ...], tuple[bool, bool, int]] = {}
    for number, line in enumerate(lines[:_NAMED_LINES]):
        if len(line.line.text) <= _MAX_NAME and any(_is_most_of(line.words, part) for part in wanted):
            rank = (line.line.linked, not line.line.heading, number)
            found[tuple(line.words)] = min(rank, found.get(tuple(line.words), rank))
    own = [rank for rank in found.values() if not rank[0]] or list(found.values())
    headings = [rank for rank in own if not rank[1]]
    return sorted(number for _, _, number in headings or own)


def _is_most_of(own: Sequence[str], part: Sequence[str]) -> bool:
    return bool(own) and set(own) <= set(part) and 2 * len(own) >= len(part)


def _beginnings(text: str) -> set[tuple[str, ...]]:
    words = words_of(plain(text))
    return set(zip(*(words[first:] for first in range(_KNOWN_WORDS)), strict=False))


def _is_known(line: ReadLine, known: set[tuple[str, ...]]) -> bool:
    """Whether a line of prose is in the main text."""
    return line.is_prose and tuple(line.words[:_KNOWN_WORDS]) in known
