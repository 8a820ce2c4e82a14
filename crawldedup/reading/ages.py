"""Leave out the numbers in a text that say how old a page is, or when it was printed.

"Updated 28 minutes ago - 104 comments" and "Printed at 10:23" differ with every load, and say
nothing about the content. Other lines whose numbers change are learned from two loads of a page
within minutes (see `crawldedup.hosts.lines`), but print views and a partner's copies are often
loaded once a day. These lines are known by their words, so they need no proof.

Only short lines count that say little else. Dates and times that may be the content's own, such as
those of an event, are always compared.
"""

import re
from typing import Final

from crawldedup.reading.mark_words import has_digit, without_digits

_MOST_WORDS: Final = 8
"""The maximum number of words in a line that says an age and little else."""

_LONGEST: Final = 200
"""The maximum number of letters in a line, which may contain the URL of the page."""

_WORD: Final = re.compile(r"[^\W\d_]+")
# Searching for these first takes a tenth of the time.
_WORDS_OF_AGES: Final = frozenset(
    [
        "ago", "fa", "for", "för", "geleden", "hace", "há",
        "il", "önce", "před", "temu", "vor", "назад",
    ]
)  # fmt: skip
_LETTERS_OF_AGES: Final = re.compile("[前전]")
# A number and a unit of time, with the words that make it an age in the language.
_AGE: Final = re.compile(
    r"""
    \d\s?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\sago\b
    | \bvor\s(?:etwa\s)?\d+\s(?:sek|min|st[du])
    | \bil\sy\sa\s(?:environ\s)?\d+\s(?:sec|min|h)
    | \bhace\s\d+\s(?:seg|min|h)
    | \bhá\s\d+\s(?:seg|min|h)
    | \d\s(?:second[oi]|minut[oi]|or[ae])\sfa\b
    | \d\s(?:seconden|minuten|minuut|uur|uren)\sgeleden\b
    | \bför\s\d+\s(?:sek|min|tim)\w*\ssedan\b
    | \bfor\s\d+\s(?:sek|min|tim)\w*\ssiden\b
    | \d\s(?:sekund|minut|godzin)\w*\stemu\b
    | \bpřed\s\d+\s(?:sek|min|hod)
    | \d\s(?:секунд|минут|час)\w*\sназад\b
    | \d\s(?:saniye|dakika|saat)\sönce\b
    | \d\s?(?:秒|分|分钟|分鐘|小时|小時|時間|초|분|시간)\s?[前전]
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Searching for this first takes a tenth of the time.
_IN_MOMENT: Final = re.compile(r"\d[-:./]\d")
_PRINTED: Final = re.compile(
    r"\b(?:printed|gedruckt|ausgedruckt|imprimée?|stampat[oa]|impres[oa]|afgedrukt|utskriven|"
    r"udskrevet|wydrukowano|vytištěno|напечатано|распечатано)\b|印刷日|打印时间|列印時間",
    re.IGNORECASE,
)
# A time, and a date that is written in numbers.
_MOMENT: Final = re.compile(r"\d{1,2}:\d\d(?::\d\d)?|\b\d{1,4}([-./])\d{1,2}\1\d{1,4}\b")


def without_ages(text: str) -> str:
    """Return a text without the numbers that say its age, or when it was printed."""
    return "\n".join([line_without_age(line) for line in text.split("\n")])


def line_without_age(line: str) -> str:
    """Return a line without the numbers that say the age of its page, or when it was printed.

    A line that says an age loses all of its numbers. Most lines are returned as they are.
    """
    if len(line) > _LONGEST or not has_digit(line):
        return line
    if _tells_age(line):
        return without_digits(line)
    if _IN_MOMENT.search(line) and _PRINTED.search(line) and _MOMENT.search(line):
        return " ".join(_MOMENT.sub("", line).split())
    return line


def _tells_age(line: str) -> bool:
    if line.count(" ") >= _MOST_WORDS:
        return False
    words = _WORD.findall(line.lower())
    may_tell = not _WORDS_OF_AGES.isdisjoint(words) or _LETTERS_OF_AGES.search(line) is not None
    return may_tell and _AGE.search(line) is not None
