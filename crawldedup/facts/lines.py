"""One line of a page: how its layout shows it, and what it reads like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from crawldedup.facts.prices import plain, prices, without_prices

if TYPE_CHECKING:
    from crawldedup.facts.prices import Price

# A line of so many words is prose if it is punctuated, and one of so many more in any case.
_PROSE_WORDS: Final = 12
_LONG_WORDS: Final = 25
_SENTENCE: Final = re.compile(r"[.!?。！？।۔؟](?:\s|$)|[。！？、，،,;；]")
# A line with more words is not about its price; one with so few beside its price is about nothing else.
_PRICE_WORDS: Final = 16
_BESIDE_WORDS: Final = 8
_ENTRY_WORDS: Final = 8
_LABELLED: Final = re.compile(r"[^:|=]{1,40}\s?(?::(?![\d/])|\||=)\s?\S.{0,100}")
_LABELLED_WORDS: Final = 30
_DIGIT: Final = re.compile(r"\d")
_WORD: Final = re.compile(r"""(?:[^\s"'`“”„‟«»「」『』()\[\]{}:|=;!?…]|(?<=\d):(?=\d))+""")
# Han, Kana, Thai, Burmese and Khmer letters are a word each.
_ROUGH_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]|"
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]++"
)
_MEANS_SOMETHING: Final = re.compile(r"[^\W_]|[-+#%°<>±×]{2}|[+#%°<>±×]")
# What changes from visit to visit: stock, delivery, reviews.
_PASSING: Final = re.compile(
    r"\b(?:reviews?|ratings?|stock|availab\w+|deliver\w*|shipping|shipped|dispatch\w*|sold|views?|viewed|watching|"
    r"visitors?|customers?|questions?|left|hurry|ends|rank|bewertung\w*|lieferzeit|lieferung|versand\w*|lagerbestand|"
    r"auf lager|verfügbar\w*|verkauft|avis|livraison|expédi\w+|disponib\w+|disponív\w+|vendus?|reseñas?|opiniones|"
    r"envío|entrega|existencias|recension\w*|spedizion\w*|consegna|avaliaç\w+|estoque|voorraad|levering|beoordeling\w*|"
    r"leverans\w*|recensioner|opini[ei]|dostaw\w*|dostępn\w*|отзыв\w*|доставк\w*|наличи\w+|оцен\w+|تقييم\w*|مراجع\w*|"
    r"توصيل|شحن|متوفر|مخزون)\b|レビュー|在庫|配送|評価|お届け|口コミ|评价|評價|库存|庫存|销量|銷量|评论|發貨|发货|리뷰|재고|배송|평점|©"
)


def words_of(text: str) -> list[str]:
    """Return the words of a `plain` text, split more roughly and faster than those of fingerprints."""
    return _ROUGH_WORD.findall(text)


def spelled(text: str) -> str:
    """Return a `plain` text without the punctuation that templates add; signs such as A+ and -5 stay."""
    words = (word.strip(".,") for word in _WORD.findall(text))
    return " ".join(word for word in words if _MEANS_SOMETHING.search(word))


@dataclass(frozen=True)
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
        if self.is_row or (count := len(self.words)) < _PROSE_WORDS:
            return False
        return count >= _LONG_WORDS or _SENTENCE.search(self.plain) is not None

    @cached_property
    def prices(self) -> list[Price]:
        """The prices, if it is about little else."""
        if self.is_linked or not _DIGIT.search(self.text) or self.is_prose or len(self.words) > _PRICE_WORDS:
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
        is_short = len(self.words) <= _LABELLED_WORDS
        return not self.is_title and is_short and _LABELLED.fullmatch(self.plain) is not None

    @property
    def is_entry(self) -> bool:
        """Whether it is a property of the product though it has no key: "red"."""
        return self.is_item and not self.is_title and len(self.words) <= _ENTRY_WORDS

    @property
    def stands_alone(self) -> bool:
        """Whether there is little else than a price."""
        return len(words_of(without_prices(self.plain))) <= _BESIDE_WORDS
