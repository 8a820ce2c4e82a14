"""Learn which numbers of a site change with every load, and leave them out of what is compared.

"Who is online: 24 users", "Time: 0.769s", "Only 6 left": such lines differ between two answers of one page within
minutes, in their numbers alone. Only that is evidence: pages that are alike are none, and what has changed since
yesterday is news. A line with a price, a heading, a long line and one of little else than numbers is always content.

Three pages of a host must show that a line changes, one of them in the folder where it counts, or all three in the
folder above: on a shared host nobody can have numbers of others left out. A line that stays the same four times as
often is content again. What changed is left out: the line, or of its numbers only some.
"""

import math
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import count
from typing import Any, Final
from urllib.parse import urlsplit

import mmh3
import msgspec

from crawldedup.reading.canonical import TOKEN, canonical_url

Numbers = dict[int, tuple[int, ...]]
"""A hash of each number of short lines, by the hash of the line without them; under 0 one of the headings."""
Known = dict[int, tuple[int, ...]]
"""Which numbers of a line change, by the hash of the line without them."""
NOTHING: Final[Known] = {}

_LONGEST: Final = 200  # letters of a line
_MOST_LINES: Final = 64  # of a page, and of a place
_MOST_SHARE: Final = 0.25  # of a text that is left out
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_CURRENCY: Final = re.compile(
    r"[$€£¥₹₽₩฿₺₴₫]|(?<![^\W\d_])(?:eur|usd|gbp|chf|jpy|cny|rub|pln|sek|nok|dkk|czk|huf|ft|kr|zł)(?![^\W\d_])", re.I
)

_MOST_PAGES: Final = 4096
_MOST_PLACES: Final = 2000
_MINUTES: Final = 600.0  # in seconds, between two answers
_WITNESSES: Final = 3
_MOST_SAME: Final = 4  # times as often may a line be the same as it changes
_MOST_NOTE: Final = 1_000_000
# Where a session is no token, such as session=12, it may name the content.
_VISIT: Final = re.compile(
    r"(?<=[?&])(?:(?:phpsessid|jsessionid|utm_\w+|gclid|fbclid|msclkid)=[^&#]*|"
    rf"(?:s|sid|session_?(?:id)?|cfid|cftoken)=(?:{TOKEN})(?=[&#]|$))&?|;jsessionid=[^?#]*",
    re.I,
)


def numbers_of(lines: Iterable[str], headings: Collection[str] = ()) -> Numbers:
    """Return the numbers of the lines that may turn out to change; those of a kind that occurs once."""
    kinds = defaultdict(list)
    for line in dict.fromkeys(lines):
        kinds[_name_of(line, headings)].append(line)
    once = [(name, kind[0]) for name, kind in kinds.items() if name and len(kind) == 1][:_MOST_LINES]
    numbers = {name: tuple([mmh3.hash(number) for number in _NUMBER.findall(line)]) for name, line in once}
    return {0: (mmh3.hash("\n".join(sorted(headings))),), **numbers} if numbers else {}


def without_volatile(text: str, known: Known, headings: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return a text without what is known to change, and the lines where that was; all of it if that is much of it."""
    lines = text.split("\n")
    kept = [rest_of(line, known, headings) for line in lines]
    left_out = [line for line, rest in zip(lines, kept, strict=True) if rest != line]
    if not left_out or sum(map(len, left_out)) > _MOST_SHARE * len(text):
        return text, []
    return "\n".join(filter(None, kept)), left_out


def rest_of(line: str, known: Known, headings: Collection[str] = ()) -> str:
    """Return a line without its numbers that are known to change, or "" if all are."""
    changing = known.get(_name_of(line, headings))
    if changing is None:
        return line
    place = count()
    rest = _NUMBER.sub(lambda number: "" if next(place) in changing else number[0], line)
    return rest if _NUMBER.search(rest) else ""


def shape_of(line: str) -> str:
    """Return a line with 0 in place of each number."""
    return _NUMBER.sub("0", line)


def _name_of(line: str, headings: Collection[str]) -> int:
    """Return the hash of a line without its numbers; 0 for one that is content whatever it does."""
    if len(line) > _LONGEST:
        return 0
    shape, numbers = _NUMBER.subn("0", line)
    others, in_numbers = len(shape) - numbers - shape.count(" "), len(line) - len(shape) + numbers
    if not numbers or others <= in_numbers or line in headings or _CURRENCY.search(shape):
        return 0
    return int(mmh3.hash64(shape, signed=False)[0])


class _Line(msgspec.Struct, array_like=True):
    """What second answers showed of a line: which numbers change, for how many pages, and for how many none did."""

    numbers: set[int] = set()
    changes: int = 0
    same: int = 0

    @property
    def is_volatile(self) -> bool:
        return self.changes >= _WITNESSES and self.same <= _MOST_SAME * self.changes


_Places = dict[str, dict[int, _Line]]


class VolatileLines:
    """What is known of lines by host and by folder, and the numbers on the last pages, whose second answers tell more.

    Threads may share it: where a store is asked in one, that exchanges notes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: dict[str, tuple[float, Numbers | None]] = {}
        self._places: _Places = {}

    def known_at(self, url: str) -> Known:
        """Return what is known of lines where a page stands."""
        with self._lock:
            host, here, above = [self._places.get(place, {}) for place in _places_of(url)]
            return {
                name: tuple(sorted(line.numbers))
                for name, line in host.items()
                if line.is_volatile and (name in here or (name in above and above[name].is_volatile))
            }

    def learn(self, url: str, identity: str | None, numbers: Numbers) -> None:
        """Compare the answer of a page with one of the last minutes, if there is one."""
        if not numbers:
            return
        # Session and campaign aside, a URL names one page.
        page, now = identity or canonical_url(_VISIT.sub("", url)), self._clock()
        with self._lock:
            earlier_at, earlier = self._pages.get(page, (-math.inf, {}))
            if earlier is None:
                return  # a page is evidence once
            # Pages of other headings are not one, whatever their URLs say.
            is_evidence = now - earlier_at <= _MINUTES and numbers.get(0) == earlier.get(0)
            _put(self._pages, page, (now, None if is_evidence else numbers), _MOST_PAGES)
            for place in _places_of(url)[:2] if is_evidence else ():
                self._compare(place, numbers, earlier)

    def _compare(self, place: str, numbers: Numbers, earlier: Numbers) -> None:
        lines = self._places.get(place, {})
        for name in (numbers.keys() & earlier.keys()) - {0}:
            pairs = enumerate(zip(numbers[name], earlier[name], strict=False))
            changed = {number for number, (one, other) in pairs if one != other}
            if name in lines or (changed and len(lines) < _MOST_LINES):
                line = lines.setdefault(name, _Line())
                line.numbers |= changed
                line.changes += bool(changed)
                line.same += not changed
                _put(self._places, place, lines, _MOST_PLACES)

    def exchange(self, noted: str) -> str:
        """Take over what others have noted beside an index, and return the note that tells them what is known here.

        Of a line, what more answers have shown holds. The note has the places that changed last, in a megabyte at most.
        """
        places: _Places = {}
        with suppress(msgspec.MsgspecError):  # what is no such note is left alone
            places = msgspec.json.decode(noted or "{}", type=_Places)
        with self._lock:
            for place, lines in places.items():
                known = self._places.get(place, {})
                for name, line in lines.items():
                    known[name] = max(known.get(name, line), line, key=lambda line: line.changes + line.same)
                _put(self._places, place, known, _MOST_PLACES)
            if places == self._places:
                return noted
            while len(note := msgspec.json.encode(self._places)) > _MOST_NOTE:
                for place in list(self._places)[: 1 + len(self._places) // 8]:
                    del self._places[place]
            return note.decode()


def _put(values: dict[str, Any], key: str, value: object, most: int) -> None:
    """Put a value behind all others, of which the first goes where they are too many."""
    values.pop(key, None)
    values[key] = value
    if len(values) > most:
        del values[next(iter(values))]


def _places_of(url: str) -> tuple[str, str, str]:
    """Return the host of a URL, and it with the first two folders of the path, and with the first one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "", ""
    # On a shared host they name a user, or a user and a project.
    host, folders = parts.netloc.lower(), parts.path.strip("/").split("/")[:-1]
    return host, "/".join([host, *folders[:2], ""]), "/".join([host, *folders[:1], ""])
