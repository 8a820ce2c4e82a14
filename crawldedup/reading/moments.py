"""Leave the moment of rendering out of short texts: "Last updated 12:59", "3 guests online", "Generated in 0.03 s".

Two views of a short page may differ in nothing else and yet be far from similar, since a word is part of three
shingles. A number alone tells nothing: it is the content of a receipt or a timetable. So a moment is a number, time or
date beside words by which templates announce one, as those of widespread forums and wikis do. `moments.json` has them.
"""

import json
import re
from functools import cache
from importlib import resources
from typing import Final

from crawldedup.reading.tokenize import count_words

LONGEST_WITH_MOMENTS: Final = 230
"""Words from which on a text is not short: three moments of two words change 12 shingles, which leaves it 0.9."""

# Characters. Templates announce a moment in a short line, and the work stays small.
_LONGEST_LINE: Final = 160

_WORDS: Final = {
    name: f"(?:{'|'.join(words)})"
    for name, words in json.loads(resources.files(__package__).joinpath("moments.json").read_text("utf-8")).items()
}

_WORD: Final = r"[^\W\d_]{1,14}"
_YEAR: Final = r"(?:19|20)\d\d"
_NUMBER: Final = r"\d[\d.,']{0,14}"
_CLOCK: Final = r"\d{1,2}(?::\d\d(?::\d\d)?|h\d\d(?:min)?)(?:\s?[ap]\.?m\b\.?)?(?:\s?uhr\b)?"
_ORDINAL: Final = r"(?:st|[nr]d|th)?"
_DATE: Final = (
    rf"(?:(?:{_WORD}\W{{1,2}})?(?:{_WORD}\W{{1,2}}\d{{1,2}}{_ORDINAL}|\d{{1,2}}(?:{_ORDINAL}|\.)\s(?:de\s)?{_WORD})"
    rf"\W{{1,2}}(?:de\s)?{_YEAR}"
    rf"|(?:{_WORD}\W{{1,2}})?\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}"
    rf"|{_YEAR}年\d{{1,2}}月\d{{1,2}}日(?:\s?\(\w{{1,3}}\))?)"
)
_TO: Final = rf"\W{{1,3}}(?:{_WORD}\s){{0,2}}"
_TIME: Final = rf"(?:{_DATE}(?:{_TO}{_CLOCK})?|{_CLOCK}(?:{_TO}{_DATE})?)"

_RULES: Final = (
    rf"\b{_WORDS['announcing']}(?:\W{{1,3}}{_WORD}){{0,2}}\W{{0,3}}(?<![^\W_]){_TIME}",
    rf"{_WORDS['announcing_without_spaces']}\W{{0,3}}{_TIME}",
    rf"\b{_WORDS['announcing_around'].replace('(?:time)', _TIME)}\b",
    rf"\b{_NUMBER}\s?{_WORDS['units']}\s{_WORDS['behind_ago']}\b",
    rf"\b{_WORDS['before_ago']}\s{_NUMBER}\s{_WORDS['units']}\b",
    rf"\d{{1,3}}\s?{_WORDS['units_without_spaces']}",
    rf"\b{_WORDS['made']}\s(?:in|en)\W{{1,2}}{_NUMBER}\s?(?:m?s\b|sec\w{{0,5}}|sekunden)"
    rf"(?:\W{{1,2}}(?:with|using|mit)?\s?{_NUMBER}\s(?:queries|abfragen))?",
    rf"(?:(?:©|\(c\))\s?(?:copyright\s)?|\bcopyright\s(?:©\s?|\(c\)\s?)?)(?:{_YEAR}\s?[-–—]\s?)?{_YEAR}",
    r"\b(?:ray|request|incident|session|trace|correlation)\sid\W{1,3}[\w.-]{6,64}",
    rf"^\W{{0,3}}{_NUMBER}\s{_WORDS['counted']}(?:\sfound)?\W{{0,3}}$",
    rf"^\W{{0,3}}{_WORDS['counted']}\W{{1,3}}{_NUMBER}\W{{0,3}}$",
)
_NUMBERS: Final = re.compile(_NUMBER)
_DIGIT: Final = re.compile(r"\d")


def lasting_text(text: str, words: int, least: int) -> str:
    """Return what a text of so many words says at any moment. A long one, or one that says little else, stays whole.

    `least` is the number of words that have to be left.
    """
    if words >= LONGEST_WITH_MOMENTS:
        return text
    lasting = "\n".join(map(_without_moments, text.split("\n")))
    return lasting if lasting == text or count_words(lasting) >= least else text


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a moment, and what finds a line of counts. To compile them takes a program's start too long."""
    moment = re.compile("|".join(f"(?:{rule})" for rule in _RULES), re.IGNORECASE)
    return moment, re.compile(rf"\b{_WORDS['counting_line']}\b", re.IGNORECASE)


def _without_moments(line: str) -> str:
    if len(line) > _LONGEST_LINE or not _DIGIT.search(line):
        return line
    moment, counting_line = _patterns()
    return moment.sub(" ", _NUMBERS.sub(" ", line) if counting_line.search(line) else line)
