"""Read values with labels, and the price, from the lines of a page: "Size: L", "€ 240.90".

All variants of a product share its description. What tells them apart is in short lines around it.
"""

import re
from collections.abc import Iterator
from typing import Final

from crawldedup.reading.blocks import Blocks
from crawldedup.reading.mark_words import NO_FIELD, has_digit, without_visits

_LABELED: Final = re.compile(r"([^\W\d_][^:：|]{1,29}?)\s?[:：]\s?([^:：|]{1,40})")
_LONGEST: Final = 72
_MOST_WORDS: Final = 4
_MOST_VALUES: Final = 6
_CURRENCY: Final = (
    r"(?:[€$£¥₹₽₴₺₩฿₪₱₫₦]|(?:US|A|C|R)\$|kr\.?|zł|Kč|Ft|lei|лв|руб\.?|"
    r"USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|INR|AUD|CAD|BRL)"
)
_PRICE: Final = re.compile(
    rf"(?:{_CURRENCY}\s?\d[\d.,' ]*|\d[\d.,' ]*\s?{_CURRENCY})", re.IGNORECASE
)
_MOST_PRICES: Final = 2
_LONGEST_PRICE: Final = 24
# Labels whose values depend on how or when somebody visits the page. "Tag Archives: Boats" is the
# heading of a list, which its links identify.
_ABOUT_VISIT: Final = re.compile(
    r"categor|kategor|catég|section|rubri|tags?$|archiv|schlagw|étiquet|etiquet|mots?-clé|"
    r"рубрик|метк|标签|標籤|分类|分類|タグ|カテゴリ|posted|by$|author|autor|auteur|stock|lager|"
    r"deliver|liefer|rating|share|teilen|page|seite|menu|navig|you are|home|copyright|phone|tel|"
    r"basket|cart|warenkorb|panier|cesta|hits|views|visits|aufrufe|zugriffe|vues|lectures|visitas|visite|"
    r"просмотр|浏览|瀏覽|閲覧",
    re.IGNORECASE,
)

_MOST_LINES: Final = 5_000  # the most lines with a colon to read; each takes about 40 µs


def labeled_values(blocks: Blocks) -> Iterator[tuple[str, str]]:
    """Yield the price on a page, and its first few labels with their values.

    A label with several values is left out. Prices are left out if there are more than an old and a
    new one. Only the first few thousand lines with a colon are read.
    """
    values: dict[str, set[str]] = {}
    prices: set[str] = set()
    looked_at = 0
    for line, linked, _ in blocks.lines:
        if linked or len(line) > _LONGEST:
            continue
        # Asking for digits first takes a third of the time.
        if len(line) <= _LONGEST_PRICE and has_digit(line) and _PRICE.fullmatch(line):
            prices.add(line)
            continue
        if looked_at == _MOST_LINES or (":" not in line and "：" not in line):
            continue
        looked_at += 1
        match = _LABELED.fullmatch(line)
        if match is not None and _is_about_content(line, match[1], match[2]):
            values.setdefault(match[1].lower(), set()).add(match[2])
    if 0 < len(prices) <= _MOST_PRICES:
        yield "price shown", " ".join(sorted(prices))
    distinct = [(label, found) for label, found in values.items() if len(found) == 1]
    for label, found in distinct[:_MOST_VALUES]:
        yield f"label {label}", found.pop()


def _is_about_content(line: str, label: str, value: str) -> bool:
    if len(label.split()) > _MOST_WORDS or len(value.split()) > _MOST_WORDS:
        return False
    if _ABOUT_VISIT.search(label) or NO_FIELD.search(label):
        return False
    return without_visits(line) == line
