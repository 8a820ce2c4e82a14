"""Read the numbers and prices of a text, each in one spelling, and tell from its source if a page may hold a price."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from crawldedup.reading.facts import VOCABULARY, Most

# A number without a sign or unit, with or without separators, in a `plain` text.
_NUMERAL: Final = re.compile(
    r"(?<!\d)(?:\d{1,3}(?:[ ',.]\d{2,3}){0,4}[ ',.]\d{3}(?!\d)(?:[.,]\d{1,2}(?!\d))?|"
    r"\d{1,12}(?!\d)(?:[.,]\d{1,4}(?!\d))?)"
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
HAN_NUMBER: Final = re.compile("[〇零一二三四五六七八九十百千万萬亿億兆两兩壹贰叁肆伍陆柒捌玖拾佰仟]+")

_SIGN_OF: Final[dict[str, str]] = {
    spelling: sign for sign, spellings in VOCABULARY["currencies"].items() for spelling in spellings.split()
}
# A price and its currency are at most so many spaces and signs apart.
_GAP: Final = 3
_REACH: Final = max(map(len, _SIGN_OF)) + _GAP + 1


def _beside_a_number(spellings: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the longest currency near a number, if it is no part of a longer word.

    Chinese and Japanese put no spaces around words, so a neighbour makes no other word of theirs.
    """
    names = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    return re.compile(rf"[ .,:–\-\xa0\n\t]{{0,{_GAP}}}({names})(?:(?<=[円元圓圆块])|(?<![^\W\d_])|(?![^\W\d_]))")


_BEHIND: Final = _beside_a_number(_SIGN_OF)
# Matched against a text that is turned around.
_BEFORE: Final = _beside_a_number(spelling[::-1] for spelling in _SIGN_OF)
# Currencies whose names mean other things, too, where such a price is the whole text: "Fr. 49", "4 990 Ft".
_WHOLE_TEXT: Final = re.compile(
    rf"^\s?(?:s?fr\.?\s?(?P<chf>{_NUMERAL.pattern})(?:[.,]?\s?[-–—]+)?|"
    rf"(?P<huf>{_NUMERAL.pattern})(?<=\d\d\d)\s?ft\.?)\s?$",
    re.MULTILINE,
)
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


def prices(text: str, *, bare: bool = False) -> list[Price]:
    """Return the prices of a short `plain` text; with `bare`, numbers without a currency if there is none with one."""
    found = [price for price, _, _ in _with_currency(text)]
    if not found and (match := _WHOLE_TEXT.search(text)) and (bare or not _FRIDAY.fullmatch(text.strip())):
        found = [Price(_amount_of(amount), currency) for currency, amount in match.groupdict().items() if amount]
    found = found or [Price(_amount_of(match[1]), "") for match in _DASHED.finditer(text)]
    if not found and bare:
        found = [Price(_amount_of(match.group()), "") for match in _NUMERAL.finditer(text)]
    return found


def without_prices(text: str) -> str:
    """Return what a `plain` text says beside its prices."""
    for _, start, end in reversed(list(_with_currency(text))):
        text = f"{text[:start]} {text[end:]}"
    return text


def price_of(amount: str, currency: str) -> Price | None:
    """Return a price of structured data; None without an amount, or for 0."""
    match = _NUMERAL.search(plain(amount[:40]))
    if match is None or not (value := _amount_of(match.group())).strip("0"):
        return None
    name = plain(currency[:10]).strip()
    return Price(value, _SIGN_OF.get(name, name))


def show_a_price(texts: Iterable[str], html: str) -> bool:
    """Return whether the lines of a page may show a price: an amount and a currency, or one in an element so named.

    A page with a Friday may show one.
    """
    short = [text for text in texts if len(text) <= _SIGN_ALONE or (len(text) <= _SHOWN and _DIGIT.search(text))]
    lines = plain("\n".join(short[: Most.LINES]))
    if any(_with_currency(lines)) or _DASHED.search(lines) or _WHOLE_TEXT.search(lines):
        return True
    return any(map(_ONLY_NUMBER.fullmatch, short)) and any(name in html for name in _PRICE_NAMES)


def _with_currency(text: str) -> Iterator[tuple[Price, int, int]]:
    """Yield each price with its start and end. A currency between two numbers belongs to the second."""
    free = 0
    for match in _NUMERAL.finditer(text):
        start, end = match.span()
        if currency := _BEFORE.match(text[max(free, start - _REACH) : start][::-1]):
            start -= currency.end()
            name = currency[1][::-1]
        elif currency := _BEHIND.match(text, end):
            end, name = currency.end(), currency[1]
        else:
            continue
        free = end
        yield Price(_amount_of(match.group()), _SIGN_OF[name]), start, end
