"""Prices and other numbers of a text, each in one spelling."""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Signs and names of one currency, and of those that share a sign: a page says "$" where its data says "CAD".
# Names that mean other things beside a number are left out (ft, kn, pounds, won, try).
_CURRENCIES: Final = {
    "$": "$ us$ c$ a$ ca$ au$ nz$ hk$ s$ nt$ mx$ usd cad aud nzd hkd sgd twd mxn clp cop ars dollar dollars peso pesos",
    "€": "€ eur euro euros",
    "£": "£ gbp",
    "¥": "¥ jpy cny rmb 円 元 圓 圆 块 yen yuan",
    "kr": "kr sek nok dkk isk",
    "₩": "₩ krw 원",
    "₹": "₹ inr rs rupees",
    "₽": "₽ rub rur руб р рублей",
    "₴": "₴ uah грн",
    "₺": "₺ tl",
    "zł": "zł pln",
    "kč": "kč czk",
    "huf": "huf",
    "lei": "lei ron",
    "лв": "лв bgn",
    "chf": "chf sfr",
    "r$": "r$ brl",
    "₫": "₫ vnd đ",
    "฿": "฿ thb บาท",
    "₪": "₪ ils nis",
    "₱": "₱ php",
    "₦": "₦ ngn",
    "rp": "rp idr",
    "rm": "rm myr",
    "zar": "zar",
    "aed": "aed درهم د.إ",
    "sar": "sar ريال ر.س",
    "egp": "egp جنيه ج.م",
    "kzt": "〒 ₸ kzt тг",
    "kwd": "kwd دينار د.ك",
    "irr": "irr تومان",
}
_CLASS_OF: Final = {spelling: sign for sign, spellings in _CURRENCIES.items() for spelling in spellings.split()}
_LONGEST: Final = max(map(len, _CLASS_OF))
_FIRST_LETTERS: Final = frozenset(spelling[0] for spelling in _CLASS_OF)
_LAST_LETTERS: Final = frozenset(spelling[-1] for spelling in _CLASS_OF)
# Chinese and Japanese put no spaces around words, so what stands beside these makes no other word of them.
_ALONE: Final = frozenset("円元圓圆块")
_BETWEEN: Final = " .,:–-\xa0\n\t"
_NUMERAL: Final = re.compile(
    r"\d{1,3}(?:[ ',.]\d{2,3}){0,4}[ ',.]\d{3}(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d{1,12}(?!\d)(?:[.,]\d{1,4}(?!\d))?"
)
# Currencies whose names mean other things too, where such a price is all that a text says: "Fr. 49", "4 990 Ft".
_BY_ITSELF: Final = re.compile(
    rf"s?fr\.?\s?(?P<chf>{_NUMERAL.pattern})(?:[.,]?\s?[-–—]+)?|(?P<huf>{_NUMERAL.pattern})(?<=\d\d\d)\s?ft\.?"
)
# A Friday: "Fr 24.12", "Fr. 7.1". With nothing to say that it is a price, it is taken for one only as in "Fr. 9.10.–".
_FRIDAY: Final = re.compile(r"fr\.?\s?(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])(?:\s?[-–—]+)?")
# 49,- and 49,–: a price without a currency.
_DASHED: Final = re.compile(r"(?<![\w.,:/-])(\d{1,3}(?:[ .']\d{3}){0,3}|\d{1,7})(?:,[-–—]{1,2}|\.(?:--|[–—]))(?![\w-])")
# The start tag of an element that is called a price.
_NAMED_PRICE: Final = re.compile(
    r"(?:class|itemprop)\s?=[^=]{0,80}?(?:price|preis|precio|prezzo|preço|\bprix)", re.IGNORECASE
)
_ONLY_NUMBER: Final = re.compile(r">\s{0,20}+\d[\d.,' ]{0,15}+\s{0,20}+<")
_TAG_SIZE: Final = 200
# A short piece of text with a number, in the source of a page; the currency may stand in a tag of its own.
_SHORT_NUMBER: Final = re.compile(r">[^<>\d]{0,30}+\d[^<>]{0,60}+<")
_SIGN: Final = re.compile("[$€£¥￥＄₩₹₽₴₺₫฿₪₱₦円元圓圆块원&]")
_TAG: Final = re.compile(r"<[^<>]*>?|^[^<>]*>")
_BESIDE: Final = 60
_MAX_LOOKED_AT: Final = 3_000

_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_SEPARATORS: Final = {"٫": ".", "٬": ",", "’": "'", "−": "-", "‑": "-", "‐": "-"}
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,6}(?!\d)")
_NUMBER: Final = re.compile(r"(?:(?<![^\s(])-)?[a-z]{0,20}+\d(?:[\da-z]|[-'.,:/](?=\d))*+")
_UNIT: Final = re.compile(r"\s?(?:[^\W\d_]{1,3}+(?![^\W\d_])|[%°\"'′″]|[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2})")
_WRITTEN_OUT: Final = re.compile(
    r"-?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+|(?:'\d{3})+(?:[.,]\d+)?|(?:,\d{3}){2,}|(?:\.\d{3}){2,})"
)
# They are letters to Unicode, and what Chinese and Japanese dates and sums are often written with.
_HAN_NUMBER: Final = re.compile("[〇零一二三四五六七八九十百千万萬亿億兆两兩壹贰叁肆伍陆柒捌玖拾佰仟]+")


class Price(NamedTuple):
    """An amount as in 1299.5, and the currency's sign, or "" where none is given."""

    amount: str
    currency: str

    def __str__(self) -> str:
        return f"{self.currency}{self.amount}"


def plain(text: str) -> str:
    """The text in NFKC, case-folded, with the digits of every script as 0 to 9 and one kind of each separator."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for separator, kind in _SEPARATORS.items():
            text = text.replace(separator, kind)
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
    return text.casefold()


def prices(text: str, *, bare: bool = False) -> list[Price]:
    """The prices of a short `plain` text; with `bare`, every number is one if none has a currency."""
    found = [price for price, _, _ in _prices(text)]
    if not found and (price := _by_itself(text)) and (bare or not _FRIDAY.fullmatch(text.strip())):
        found = [price]
    if not found:
        found = [Price(_amount(match[1]), "") for match in _DASHED.finditer(text)]
    if not found and bare:
        found = [Price(_amount(match.group()), "") for match in _NUMERAL.finditer(text)]
    return found


def _by_itself(text: str) -> Price | None:
    match = _BY_ITSELF.fullmatch(text.strip()) if len(text) <= _BESIDE else None
    return Price(_amount(match[match.lastgroup]), match.lastgroup) if match and match.lastgroup else None


def without_prices(text: str) -> str:
    """What a `plain` text says beside its prices."""
    pieces, end = [], 0
    for _, start, stop in _prices(text):
        pieces.append(text[end:start])
        end = stop
    return " ".join((*pieces, text[end:]))


def _prices(text: str) -> Iterator[tuple[Price, int, int]]:
    """Each price, and where it starts and ends. A currency between two numbers belongs to the second."""
    free = 0
    for match in _NUMERAL.finditer(text):
        start, end = match.span()
        if start and text[start - 1].isdigit():
            continue
        before = text[max(free, start - _LONGEST - 3) : start].rstrip(_BETWEEN)
        behind = text[end : end + _LONGEST + 3]
        after = behind.lstrip(_BETWEEN)
        if size := _size_of_currency_before(before):
            start -= len(text[max(free, start - _LONGEST - 3) : start]) - len(before) + size
            sign = before[-size:]
        elif size := _size_of_currency_behind(after):
            end += len(behind) - len(after) + size
            sign = after[:size]
        else:
            continue
        free = end
        yield Price(_amount(match.group()), _CLASS_OF[sign]), start, end


def _size_of_currency_before(text: str) -> int:
    """Letters of the currency that ends the text; 0 if none does, as in front of most numbers."""
    if text[-1:] not in _LAST_LETTERS:
        return 0
    return next((size for size in _sizes(text) if _is_currency(text[-size:], text[:-size])), 0)


def _size_of_currency_behind(text: str) -> int:
    if text[:1] not in _FIRST_LETTERS:
        return 0
    return next((size for size in _sizes(text) if _is_currency(text[:size], text[size:], behind=True)), 0)


def _sizes(text: str) -> range:
    return range(min(_LONGEST, len(text)), 0, -1)


def _is_currency(name: str, beside: str, *, behind: bool = False) -> bool:
    """Whether a name is a currency's, and not a part of a longer word."""
    if name not in _CLASS_OF:
        return False
    edge, neighbour = (name[-1], beside[:1]) if behind else (name[0], beside[-1:])
    return edge in _ALONE or not (edge.isalpha() and neighbour.isalpha())


def may_hold_a_price(html: str) -> bool:
    """Whether a number in a short text, beside a currency, can be found in the source of a page.

    A page with so many short numbers that they are not all looked at may hold one, and so may one with a Friday.
    So does a number in an element that is called a price.
    """
    found = list(islice(_SHORT_NUMBER.finditer(html), _MAX_LOOKED_AT + 1))
    if len(found) > _MAX_LOOKED_AT:
        return True
    without_sign = []
    for number in found:
        start, end = number.span()
        if _ONLY_NUMBER.fullmatch(html, start, end) and _NAMED_PRICE.search(_tag_before(html, start)):
            return True
        own = number.group()[1:-1]
        first, last = max(0, start - _BESIDE), end + _BESIDE
        if not _SIGN.search(html, first, last):
            without_sign.append(own)
        elif _holds_a_price(plain(unescape(_TAG.sub(" ", html[first:last])))) or _needs_no_currency(plain(own)):
            return True
    # Looked through as one: a page has twenty on average, and hardly ever a price. No price holds a NUL.
    texts = plain("\0".join(without_sign))
    return _holds_a_price(texts) or any(map(_needs_no_currency, texts.split("\0")))


def _holds_a_price(text: str) -> bool:
    return next(_prices(text), None) is not None


def _needs_no_currency(text: str) -> bool:
    return _by_itself(text) is not None or _DASHED.search(text) is not None


def _tag_before(html: str, end: int) -> str:
    return html[max(0, end - _TAG_SIZE) : end].rpartition("<")[2]


def price_of(amount: str, currency: str) -> Price | None:
    """A price from the amount and the currency that a page's data give; None without an amount, or for 0."""
    match = _NUMERAL.search(plain(amount[:40]))
    if match is None or not (value := _amount(match.group())).strip("0"):
        return None
    return Price(value, _CLASS_OF.get(plain(currency[:10]).strip(), plain(currency[:10]).strip()))


def _amount(numeral: str) -> str:
    """1299.5 from 1,299.50 and 1.299,50 and 1299.5; three digits behind a single separator are thousands."""
    digits = numeral.replace(" ", "").replace("'", "")
    separators = re.sub(r"\d", "", digits)
    if not separators:
        return digits.lstrip("0") or "0"
    head, _, tail = digits.replace(",", ".").rpartition(".")
    whole = head.replace(".", "").lstrip("0")
    repeated = len(separators) > 1 and len(set(separators)) == 1
    if repeated or (len(separators) == 1 and len(tail) == 3 and 0 < len(whole) <= 3):
        return whole + tail
    return f"{whole or '0'}.{tail}".rstrip("0").rstrip(".")


def numbers(text: str, *, units: bool = False) -> list[str]:
    """Every word with a digit in it, in order; with `units`, with the short word or sign that follows a number.

    `text` is `plain`. 1,299.00 and 1299 are one number; 1,299 alone is not 1299, since it may be a decimal.
    """
    joined = _SPACED.sub(lambda match: match.group().replace(" ", ""), text)
    found = []
    for match in _NUMBER.finditer(joined):
        number = match.group()
        if _WRITTEN_OUT.fullmatch(number):
            number = _amount(number) if number[0] != "-" else f"-{_amount(number[1:])}"
        if units and number[-1].isdigit() and (unit := _UNIT.match(joined, match.end())):
            number += unit.group().strip()
        found.append(number)
    return found


def numbers_in_words(text: str) -> list[str]:
    """Every run of Han numerals of a `plain` text, in order."""
    return _HAN_NUMBER.findall(text)
