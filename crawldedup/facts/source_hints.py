"""Look for signs of a product in the source of a page. They are cheap, and most pages without one are not parsed."""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import Final

from crawldedup.facts.buttons import BUY_SIGNS
from crawldedup.facts.limits import MAX_NUMBERS
from crawldedup.facts.numerals import plain
from crawldedup.facts.prices import has_currency, needs_no_currency

# A short text with a number; the currency may stand in a tag of its own, so many characters before or behind it.
_SHORT_NUMBER: Final = re.compile(r">[^<>\d]{0,30}+\d[^<>]{0,60}+<")
_BESIDE: Final = 60
_SIGN: Final = re.compile("[$€£¥￥＄₩₹₽₴₺₫฿₪₱₦円元圓圆块원&]")
_TAG: Final = re.compile(r"<[^<>]*>?|^[^<>]*>")
# A number alone in an element that is named a price; of its start tag, the last so many characters are read.
_ONLY_NUMBER: Final = re.compile(r">\s{0,20}+\d[\d.,' ]{0,15}+\s{0,20}+<")
_NAMED_PRICE: Final = re.compile(
    r"(?:class|itemprop)\s?=[^=]{0,80}?(?:price|preis|precio|prezzo|preço|\bprix)", re.IGNORECASE
)
_TAG_SIZE: Final = 200

_PRODUCT_DATA: Final = re.compile(r"""roduct(?:(?:Group|Model)?["'>]|:price|\.item|\.group)""")
_OFFER_DATA: Final = re.compile(r"""offers(?<=["':=]offers)["'\s>]""")
_PRICE_DATA: Final = "og:price"

# Every sign holds one of them.
_RARE_LETTERS: Final = "kjybcкضفו買购購カ구"


def _signs_by_letter() -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each rare letter, which stands first in it: any other search takes twice as long."""
    by_letter: dict[str, list[str]] = {}
    for sign in BUY_SIGNS:
        letter = next(letter for letter in _RARE_LETTERS if letter in sign)
        rest = sign.partition(letter)[2]
        by_letter.setdefault(letter, []).append(f"{re.escape(rest)}(?<={re.escape(sign)})")
    return tuple(re.compile(f"{letter}(?:{'|'.join(rests)})") for letter, rests in by_letter.items())


_BUY_BY_LETTER: Final = _signs_by_letter()


def may_be_for_sale(html: str) -> bool:
    """Return whether the source of a page names a buy control."""
    source = html.lower()
    return any(signs.search(source) for signs in _BUY_BY_LETTER)


def may_hold_product_data(html: str) -> bool:
    """Return whether the source of a page names a product, an offer or a price of structured data."""
    return _PRICE_DATA in html or any(sign.search(html) for sign in (_PRODUCT_DATA, _OFFER_DATA))


def may_hold_a_price(html: str) -> bool:
    """Return whether a short text with a number and a currency, or an element named a price, is in the source.

    A page with very many short numbers may hold one, and so may a page with a Friday.
    """
    found = list(islice(_SHORT_NUMBER.finditer(html), MAX_NUMBERS + 1))
    if len(found) > MAX_NUMBERS:
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
        elif has_currency(plain(unescape(_TAG.sub(" ", html[first:last])))) or needs_no_currency(plain(own)):
            return True
    # One search for all of them: a page has twenty on average, and hardly ever a price. No price holds a NUL.
    texts = plain("\0".join(without_sign))
    return has_currency(texts) or any(map(needs_no_currency, texts.split("\0")))


def _tag_before(html: str, end: int) -> str:
    return html[max(0, end - _TAG_SIZE) : end].rpartition("<")[2]
