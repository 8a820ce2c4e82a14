"""Read the numbers of a text, each in one spelling."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

NUMERAL: Final = re.compile(
    r"\d{1,3}(?:[ ',.]\d{2,3}){0,4}[ ',.]\d{3}(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d{1,12}(?!\d)(?:[.,]\d{1,4}(?!\d))?"
)
"""A number without a sign or unit, with or without separators, in a `plain` text."""

_FOREIGN_DIGIT: Final = re.compile(r"[^\D0-9]")
_SEPARATORS: Final = {"٫": ".", "٬": ",", "’": "'", "−": "-", "‑": "-", "‐": "-"}
_SPACED: Final = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3}){1,6}(?!\d)")
_NUMBER: Final = re.compile(r"(?:(?<![^\s(])-)?[a-z]{0,20}+\d(?:[\da-z]|[-'.,:/](?=\d))*+")
_UNIT: Final = re.compile(r"\s?(?:[^\W\d_]{1,3}+(?![^\W\d_])|[%°\"'′″]|[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2})")
_WRITTEN_OUT: Final = re.compile(
    r"-?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:\.\d{3})+,\d+|(?:'\d{3})+(?:[.,]\d+)?|(?:,\d{3}){2,}|(?:\.\d{3}){2,})"
)
# Unicode counts them as letters, and Chinese and Japanese dates and sums are written with them.
_HAN_NUMBER: Final = re.compile("[〇零一二三四五六七八九十百千万萬亿億兆两兩壹贰叁肆伍陆柒捌玖拾佰仟]+")


def plain(text: str) -> str:
    """Return the text in NFKC, case-folded, with ASCII digits and one kind of each separator."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        for separator, kind in _SEPARATORS.items():
            text = text.replace(separator, kind)
        text = _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit.group())), text)
    return text.casefold()


def amount_of(numeral: str) -> str:
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
            number = amount_of(number) if number[0] != "-" else f"-{amount_of(number[1:])}"
        if units and number[-1].isdigit() and (unit := _UNIT.match(joined, match.end())):
            number += unit.group().strip()
        found.append(number)
    return found


def numbers_in_words(text: str) -> list[str]:
    """Return every run of Han numerals of a `plain` text, in order."""
    return _HAN_NUMBER.findall(text)
