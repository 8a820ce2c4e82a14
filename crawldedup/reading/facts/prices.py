"""Read the numbers and prices of a text, each in one spelling, and tell from its source if a page may hold a price."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.reading.facts import limits
from crawldedup.reading.facts.vocabulary import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A number without a sign or unit, with or without separators, in a `plain` text.
_NUMERAL: Final = re.compile(
    r"\d{1,3}(?:[ ',.]\d{2,3}){0,4}[ ',.]\d{3}(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d{1,12}(?!\d)(?:[.,]\d{1,4}(?!\d))?"
)
# Han, Kana, Thai, Burmese and Khmer letters are a word each.
_ROUGH_WORD: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]|"
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]++"
)
_WORD: Final = re.compile(r"""(?:[^\s"'`“”„‟«»「」『』()\[\]{}:|=;!?…]|(?<=\d):(?=\d))+""")
_MEANS_SOMETHING: Final = re.compile(r"[^\W_]|[-+#%°<>±×]{2}|[+#%°<>±×]")
_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_SEPARATORS: Final = {"٫": ".", "٬": ",", "’": "'", "−": "-", "‑": "-", "‐": "-"}
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,6}(?!\d)")
_NUMBER: Final = re.compile(r"(?:(?<![^\s(])-)?[a-z]{0,20}+\d(?:[\da-z]|[-'.,:/](?=\d))*")
_UNIT: Final = re.compile(r"\s?(?:[^\W\d_]{1,3}+(?![^\W\d_])|[%°\"'′″]|[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2})")
_WRITTEN_OUT: Final = re.compile(
    r"-?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+|(?:'\d{3})+(?:[.,]\d+)?|(?:,\d{3}){2,}|(?:\.\d{3}){2,})"
)
# Unicode counts them as letters, and Chinese and Japanese dates and sums are written with them.
_HAN_NUMBER: Final = re.compile("[〇零一二三四五六七八九十百千万萬亿億兆两兩壹贰叁肆伍陆柒捌玖拾佰仟]+")

_SIGN_OF: Final[dict[str, str]] = {
    spelling: sign for sign, spellings in VOCABULARY["currencies"].items() for spelling in spellings.split()
}
_LONGEST: Final = max(map(len, _SIGN_OF))


def _by_letter(place: int) -> dict[str, list[str]]:
    """Return the spellings by the letter at this place, the longest first."""
    by_letter: dict[str, list[str]] = {}
    for spelling in sorted(_SIGN_OF, key=len, reverse=True):
        by_letter.setdefault(spelling[place], []).append(spelling)
    return by_letter


_BY_FIRST_LETTER: Final = _by_letter(0)
_BY_LAST_LETTER: Final = _by_letter(-1)
# Chinese and Japanese put no spaces around words, so a neighbour makes no other word of these.
_ALONE: Final = frozenset("円元圓圆块")
_BETWEEN: Final = " .,:–-\xa0\n\t"
# A price and its currency are at most so many of `_BETWEEN` apart.
_GAP: Final = 3
# Currencies whose names mean other things, too, where such a price is the whole text: "Fr. 49", "4 990 Ft".
_WHOLE_TEXT: Final = re.compile(
    rf"s?fr\.?\s?(?P<chf>{_NUMERAL.pattern})(?:[.,]?\s?[-–—]+)?|(?P<huf>{_NUMERAL.pattern})(?<=\d\d\d)\s?ft\.?"
)
_WHOLE_TEXT_NAMES: Final = ("fr", "ft")
_LONGEST_WHOLE_TEXT: Final = 60
# "Fr 24.12" and "Fr. 7.1" are Fridays; "Fr. 9.10.–" is a price.
_FRIDAY: Final = re.compile(r"fr\.?\s?(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])(?:\s?[-–—]+)?")
# Prices without a currency: "49,-" and "49,–".
_DASHED: Final = re.compile(r"(?<![\w.,:/-])(\d{1,3}(?:[ .']\d{3}){0,3}|\d{1,7})(?:,[-–—]{1,2}|\.(?:--|[–—]))(?![\w-])")

# Longer lines are not about their price.
_SHOWN: Final = 100
# The currency may stand in a block of its own.
_SIGN_ALONE: Final = 5
_DIGIT: Final = re.compile(r"\d")
_ONLY_NUMBER: Final = re.compile(r"\d[\d.,' ]{0,15}+")
_PRICE_NAMES: Final = ("rice", "reis", "recio", "rezzo", "reço", "prix")


class Price(NamedTuple):
    """An amount such as 1299.5, and the sign of its currency, or "" where none is given."""

    amount: str
    currency: str

    def __str__(self) -> str:
        return f"{self.currency}{self.amount}"


def plain(text: str) -> str:
    """Return the text in NFKC, case-folded, with ASCII digits and one kind of each separator."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for separator, kind in _SEPARATORS.items():
            text = text.replace(separator, kind)
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
    return text.casefold()


def words_of(text: str) -> list[str]:
    """Return the words of a `plain` text, split more roughly and faster than those of fingerprints."""
    return _ROUGH_WORD.findall(text)


def spelled(text: str) -> str:
    """Return a text, `plain` and without the punctuation that templates add; signs such as A+ and -5 stay."""
    words = (word.strip(".,") for word in _WORD.findall(plain(text)))
    return " ".join(word for word in words if _MEANS_SOMETHING.search(word))


def _amount_of(numeral: str) -> str:
    """Return 1299.5 for 1,299.50 and 1.299,50 and 1299.5; three digits behind a single separator are thousands."""
    digits = numeral.replace(" ", "").replace("'", "")
    separators = re.sub(r"\d", "", digits)
    if not separators:
        return digits.lstrip("0") or "0"
    head, _, tail = digits.replace(",", ".").rpartition(".")
    whole = head.replace(".", "").lstrip("0")
    is_repeated = len(separators) > 1 and len(set(separators)) == 1
    if is_repeated or (len(separators) == 1 and len(tail) == 3 and 0 < len(whole) <= 3):
        return whole + tail
    return f"{whole or '0'}.{tail}".rstrip("0").rstrip(".")


def numbers(text: str, *, units: bool = False) -> list[str]:
    """Return every word of a `plain` text with a digit in it, in order; with `units`, with the unit that follows.

    1,299.00 and 1299 are one number. 1,299 alone is not 1299, since it may be a decimal.
    """
    joined = _SPACED.sub(lambda match: match.group().replace(" ", ""), text)
    found = []
    for match in _NUMBER.finditer(joined):
        number = match.group()
        if _WRITTEN_OUT.fullmatch(number):
            number = _amount_of(number) if number[0] != "-" else f"-{_amount_of(number[1:])}"
        if units and number[-1].isdigit() and (unit := _UNIT.match(joined, match.end())):
            number += unit.group().strip()
        found.append(number)
    return found


def numbers_in_words(text: str) -> list[str]:
    """Return every run of Han numerals of a `plain` text, in order."""
    return _HAN_NUMBER.findall(text)


def prices(text: str, *, bare: bool = False) -> list[Price]:
    """Return the prices of a short `plain` text; with `bare`, numbers without a currency if there is none with one."""
    found = [price for price, _, _ in _with_currency(text)]
    if not found and (price := _as_whole_text(text)) and (bare or not _FRIDAY.fullmatch(text.strip())):
        found = [price]
    if not found:
        found = [Price(_amount_of(match[1]), "") for match in _DASHED.finditer(text)]
    if not found and bare:
        found = [Price(_amount_of(match.group()), "") for match in _NUMERAL.finditer(text)]
    return found


def without_prices(text: str) -> str:
    """Return what a `plain` text says beside its prices."""
    pieces, end = [], 0
    for _, start, stop in _with_currency(text):
        pieces.append(text[end:start])
        end = stop
    return " ".join((*pieces, text[end:]))


def price_of(amount: str, currency: str) -> Price | None:
    """Return a price of structured data; None without an amount, or for 0."""
    match = _NUMERAL.search(plain(amount[:40]))
    if match is None or not (value := _amount_of(match.group())).strip("0"):
        return None
    name = plain(currency[:10]).strip()
    return Price(value, _SIGN_OF.get(name, name))


def show_a_price(texts: Iterable[str], html: str) -> bool:
    """Return whether the lines of a page may show a price: an amount and a currency, or one in an element so named.

    A page with very many short numbers may show one, and so may a page with a Friday.
    """
    short = [text for text in texts if len(text) <= _SIGN_ALONE or (len(text) <= _SHOWN and _DIGIT.search(text))]
    if len(short) > limits.NUMBERS:
        return True
    lines = plain("\n".join(short))
    if next(_with_currency(lines), None) is not None or _DASHED.search(lines) is not None:
        return True
    if any(name in lines for name in _WHOLE_TEXT_NAMES) and any(map(_as_whole_text, lines.split("\n"))):
        return True
    return any(map(_ONLY_NUMBER.fullmatch, short)) and any(name in html for name in _PRICE_NAMES)


def _as_whole_text(text: str) -> Price | None:
    match = _WHOLE_TEXT.fullmatch(text.strip()) if len(text) <= _LONGEST_WHOLE_TEXT else None
    return Price(_amount_of(match[match.lastgroup]), match.lastgroup) if match and match.lastgroup else None


def _with_currency(text: str) -> Iterator[tuple[Price, int, int]]:
    """Yield each price with its start and end. A currency between two numbers belongs to the second."""
    free = 0
    for match in _NUMERAL.finditer(text):
        start, end = match.span()
        if start and text[start - 1].isdigit():
            continue
        before = text[max(free, start - _LONGEST - _GAP) : start]
        behind = text[end : end + _LONGEST + _GAP]
        if currency := _currency_at_end(beside := before.rstrip(_BETWEEN)):
            start -= len(before) - len(beside) + len(currency)
        elif currency := _currency_at_start(beside := behind.lstrip(_BETWEEN)):
            end += len(behind) - len(beside) + len(currency)
        else:
            continue
        free = end
        yield Price(_amount_of(match.group()), _SIGN_OF[currency]), start, end


def _currency_at_end(text: str) -> str:
    """Return the longest spelling of a currency that ends the text; "" for none, as in front of most numbers."""
    names = _BY_LAST_LETTER.get(text[-1:], ())
    return next((name for name in names if text.endswith(name) and _stands_alone(name[0], text[: -len(name)][-1:])), "")


def _currency_at_start(text: str) -> str:
    names = _BY_FIRST_LETTER.get(text[:1], ())
    return next(
        (name for name in names if text.startswith(name) and _stands_alone(name[-1], text[len(name) :][:1])), ""
    )


def _stands_alone(edge: str, neighbour: str) -> bool:
    """Return whether the edge of a currency's name is no part of a longer word."""
    return edge in _ALONE or not (edge.isalpha() and neighbour.isalpha())
