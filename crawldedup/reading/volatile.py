"""Leave out volatile lines: those whose numbers change with every load, such as "Only 6 left".

Other examples are "Who is online: 24 users" and "Time: 0.769s". Between two loads of a page within
minutes, such lines differ only in their numbers. `crawldedup.hosts.lines` learns which lines these
are, and here, they are hashed and removed. Lines with a price, headings, long lines, and lines with
little else than numbers are always content.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Final

from crawldedup.key import NO_KEY, Key
from crawldedup.scope import folder_of
from crawldedup.urls import TOKEN

Numbers = dict[int, tuple[int, ...]]
"""The numbers in each line that may be volatile, as hashes.

The keys are hashes of the lines without their numbers. The key 0 has the hash of the headings.
Hashes are made with the key of the index.
"""

Changing = dict[int, tuple[int, ...]]
"""Which numbers of each line change, as far as a page's folder is concerned.

The keys are hashes of the lines without their numbers.
"""


KnownLine = dict[str, tuple[int, ...]]
"""Which numbers of a line change, by the places where they do: see `places_at`."""

Known = dict[int, KnownLine]
"""What is known about the lines of a host. The keys are hashes of lines without their numbers."""

NOTHING: Final[Known] = {}
EVERYWHERE: Final = "*"
"""The place that stands for a whole host."""

MOST_LINES: Final = 64
"""The maximum number of lines to read from a page, and of lines to learn for a host."""

_MOST_NUMBERS: Final = 8
"""How many numbers of a line, from its beginning, may be volatile. Others are always compared."""

_NUMBER_BITS: Final = 32
_LONGEST: Final = 200  # the number of letters of the longest line that may be volatile
_MOST_SHARE: Final = 0.8  # the largest share of a text that may be left out
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_CODES: Final = "eur|usd|gbp|chf|jpy|cny|rub|pln|sek|nok|dkk|czk|huf|ft|kr|zł"
_CURRENCY: Final = re.compile(rf"[$€£¥₹₽₩฿₺₴₫]|(?<![^\W\d_])(?:{_CODES})(?![^\W\d_])", re.I)
# A session that isn't a token, such as session=12, may name the content, and so may ref=12.
_VISIT: Final = re.compile(
    r"(?<=[?&])(?:(?:phpsessid|jsessionid|aspsessionid\w*|utm_\w+|gclid|fbclid|msclkid)=[^&#]*|"
    r"ref=[a-z_-]+(?=[&#]|$)|"
    r"(?:s|sid|[a-z]{0,8}sess(?:ion)?_?(?:id)?|cfid|cftoken|oscsid|zenid)="
    rf"(?:{TOKEN})(?=[&#]|$))&?|;jsessionid=[^?#]*",
    re.I,
)
# A separator without a parameter after it.
_OPEN_END: Final = re.compile(r"[?&](?=#|$)")


def numbers_of(lines: Iterable[str], headings: Collection[str] = (), key: Key = NO_KEY) -> Numbers:
    """Hash the numbers of the lines that may be volatile, at most 64 lines.

    Lines that differ only in their numbers are left out.
    """
    numbers: Numbers = {}
    for name, alike in _kinds_of(lines, headings, key).items():
        if len(alike) == 1 and len(numbers) < MOST_LINES:
            found = _NUMBER.findall(alike[0])[:_MOST_NUMBERS]
            numbers[name] = tuple([_hash_of(number, "number", key) for number in found])
    if numbers:
        numbers[0] = (_hash_of("\n".join(sorted(headings)), "headings", key),)
    return numbers


def without_repeated(
    known: Changing, lines: Iterable[str], headings: Collection[str] = (), key: Key = NO_KEY
) -> Changing:
    """Return what is known about lines, except for lines that a page repeats with other numbers.

    For example, a table has such lines, and its numbers are content.

    Args:
        known: What is known about the lines of the page.
        lines: All lines of the page.
        headings: Its headings, which are always compared.
        key: The key of the index.
    """
    kinds = _kinds_of(lines, headings, key)
    return {name: numbers for name, numbers in known.items() if len(kinds.get(name, ())) < 2}


def _kinds_of(
    lines: Iterable[str], headings: Collection[str], key: Key
) -> Mapping[int, Sequence[str]]:
    """Group the lines that may change by the hash of a line without its numbers."""
    kinds: defaultdict[int, list[str]] = defaultdict(list)
    for line in dict.fromkeys(lines):
        name = _name_of(line, headings, key)
        if name:
            kinds[name].append(line)
    return kinds


def in_folder(path: str) -> str:
    """Return the place that stands for a single folder."""
    return f"={path}"


def below_folder(top: str) -> str:
    """Return the place that stands for everything below a host's first folder."""
    return f"<{top}"


def places_at(*urls: str) -> set[str]:
    """Return all places that a page with these URLs is in: its host, and folders on it."""
    places = {EVERYWHERE}
    for url in urls:
        folder = folder_of(url)
        places |= {in_folder(folder.path), below_folder(folder.top)}
    return places


def changing_at(known: Known, *urls: str) -> Changing:
    """Return which numbers of which lines change at the places of these URLs."""
    own = places_at(*urls)
    changing: Changing = {}
    for name, line in known.items():
        numbers = {number for place in own & line.keys() for number in line[place]}
        if numbers:
            changing[name] = tuple(sorted(numbers))
    return changing


def without_volatile(
    text: str, known: Changing, headings: Collection[str] = (), key: Key = NO_KEY
) -> tuple[str, list[str]]:
    """Remove the numbers that change from a text, and return it with the lines that had them.

    A line without other numbers is removed as a whole. If these lines make up too much of a text,
    it's returned as it is.
    """
    lines = text.split("\n")
    kept = [rest_of(line, known, headings, key) for line in lines]
    left_out = [line for line, rest in zip(lines, kept, strict=True) if rest != line]
    if not left_out or sum(map(len, left_out)) > _MOST_SHARE * len(text):
        return text, []
    return "\n".join(filter(None, kept)), left_out


def rest_of(line: str, known: Changing, headings: Collection[str] = (), key: Key = NO_KEY) -> str:
    """Return a line without the numbers that are known to change, or "" if no others are left."""
    changing = known.get(_name_of(line, headings, key))
    if changing is None:
        return line
    place = count()
    rest = _NUMBER.sub(lambda number: "" if next(place) in changing else number[0], line)
    return rest if _NUMBER.search(rest) else ""


def shape_of(line: str) -> str:
    """Return a line with each number replaced by 0."""
    return _NUMBER.sub("0", line)


def without_visit(url: str) -> str:
    """Return a URL without its session and campaign. It still leads to the same page.

    The link `/news?PHPSESSID=9f3a` is the link `/news`, without the question mark.
    """
    return _OPEN_END.sub("", _VISIT.sub("", url))


def _name_of(line: str, headings: Collection[str], key: Key) -> int:
    """Return the hash of a line without its numbers, or 0 for a line that is always compared."""
    if len(line) > _LONGEST or not _NUMBER.search(line):
        return 0
    shape, numbers = _NUMBER.subn("0", line)
    others = len(shape) - numbers - shape.count(" ")
    in_numbers = len(line) - len(shape) + numbers
    if others <= in_numbers or line in headings or _CURRENCY.search(shape):
        return 0
    return key.number(shape.encode("utf-8", "replace"), "line")


def _hash_of(text: str, purpose: str, key: Key) -> int:
    """Return a 32-bit hash for comparing two loads of the same page."""
    return key.number(text.encode("utf-8", "replace"), purpose) >> 64 - _NUMBER_BITS
