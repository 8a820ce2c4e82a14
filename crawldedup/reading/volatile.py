"""Learn which numbers of a site change with every load, and leave them out of what is compared.

"Who is online: 24 users", "Time: 0.769s", "Only 6 left": such lines differ between two answers of one page within
minutes, in their numbers alone. That is the evidence. It is never taken from pages that are only alike, nor from
answers of different crawls: what has changed since yesterday is news. A line with a price, a heading, a long line and
one of little else than numbers is no such line, and of a page that consists of such lines nothing is left out.

A line is known by a hash of what it is without its numbers. Three pages of a host must show that it changes, one of
them in the folder where it counts, or all three in the folder above: on a shared host nobody can have numbers of others
left out. A line that stays the same four times as often is content again. What changed is left out: the line, or of its
numbers only some.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import mmh3
import msgspec

from crawldedup.reading.blocks import tags
from crawldedup.reading.canonical import canonical_url

Numbers = dict[int, tuple[int, ...]]
"""A hash of each number of short lines, by the hash of the line without them; under `_NAMES` those of the headings."""
Known = dict[int, int]
"""Which numbers of a line change, as bits from the first one on, by the hash of the line."""
NOTHING: Final[Known] = {}

_NAMES: Final = 0

_LONGEST: Final = 200  # letters of a line
_MOST_LINES: Final = 64  # of a page, and of a host
_MOST_NUMBERS: Final = 32  # of a line
_MOST_SHARE: Final = 0.25  # of a text that is left out
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_SIGN: Final = re.compile(r"[$€£¥₹₽₩฿₺₴₫]")
_CURRENCIES: Final = tags("EUR USD GBP CHF JPY CNY RUB PLN SEK NOK DKK CZK HUF FT KR ZŁ")

_MOST_PAGES: Final = 4096
_MOST_HOSTS: Final = 1000
_MOST_FOLDERS: Final = 64
_MINUTES: Final = 600.0  # in seconds, between two answers
_WITNESSES: Final = 3
_MOST_SAME: Final = 4  # times as often may a line be the same as it changes
_MOST_NOTE: Final = 1_000_000
_SESSION: Final = re.compile(
    r"(?<=[?&])(?:(?:phpsessid|jsessionid|utm_\w+|gclid|fbclid|msclkid)=[^&#]*|"
    # Where it is no token, such as session=12, it may name the content.
    r"(?:s|sid|session_?(?:id)?|cfid|cftoken)=(?=[0-9]*[a-z])(?=[a-z]*[0-9])[0-9a-z]{8,}(?=[&#]|$))&?|;jsessionid=[^?#]*",
    re.IGNORECASE,
)
_Noted = dict[str, dict[int, tuple[int, dict[int, int]]]]


def numbers_of(lines: Iterable[str], headings: Collection[str] = ()) -> Numbers:
    """Return the numbers of the lines that may turn out to change; those of a kind that occurs once."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for line in dict.fromkeys(lines):
        if (name := _name_of(line, headings)) is not None:
            found.setdefault(name, []).append(
                tuple([mmh3.hash(number, signed=False) for number in _NUMBER.findall(line)])
            )
    once = dict([(name, some[0]) for name, some in found.items() if len(some) == 1][:_MOST_LINES])
    return {_NAMES: tuple(sorted({mmh3.hash(each) for each in headings})), **once} if once else {}


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
    changing = known.get(_name_of(line, headings) or 0)
    if changing is None:
        return line
    bits = iter(f"{changing:b}"[::-1].ljust(_MOST_NUMBERS, "0"))
    rest = _NUMBER.sub(lambda number: "" if next(bits) == "1" else number[0], line)
    return rest if _NUMBER.search(rest) else ""


def shape_of(line: str) -> str:
    """Return a line with 0 in place of each number."""
    return _NUMBER.sub("0", line)


def without_session(url: str) -> str:
    """Return a URL without session and campaign: it names the same page."""
    return _SESSION.sub("", url)


def _name_of(line: str, headings: Collection[str]) -> int | None:
    """Return the hash of a line without its numbers; None for one that is content whatever it does."""
    if len(line) > _LONGEST:
        return None
    plain, count = _NUMBER.subn("0", line)
    others, in_numbers = len(plain) - count - plain.count(" "), len(line) - len(plain) + count
    if not 0 < count <= _MOST_NUMBERS or others <= in_numbers or line in headings:
        return None
    if _SIGN.search(plain) or not _CURRENCIES.isdisjoint(plain.replace("0", " ").upper().split()):
        return None  # it may be a price
    return int(mmh3.hash64(plain, signed=False)[0])


@dataclass(slots=True)
class _Line:
    """What two answers of one page showed of a line: on which pages of which folders it changed, and which numbers."""

    folders: dict[int, set[int]] = field(default_factory=dict)
    numbers: int = 0
    changes: int = 0
    same: int = 0

    @property
    def is_volatile(self) -> bool:
        return sum(map(len, self.folders.values())) >= _WITNESSES and self.same <= _MOST_SAME * self.changes

    def counts_in(self, folder: int, above: int) -> bool:
        """Return whether it is volatile in a folder, for a witness there, or for enough of them in the one above."""
        return self.is_volatile and (folder in self.folders or len(self.folders.get(above, ())) >= _WITNESSES)


class VolatileLines:
    """What is known of the lines of each host, and the numbers on the last pages, whose second answers tell more.

    Threads may share it: where a store is asked in one, that exchanges notes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: OrderedDict[str, tuple[float, Numbers]] = OrderedDict()
        self._hosts: OrderedDict[str, dict[int, _Line]] = OrderedDict()
        self._noted = ""
        self._is_noted = True

    def known_at(self, url: str) -> Known:
        """Return what is known of lines where a page stands."""
        host, *folders = _place_of(url)
        with self._lock:
            lines = self._hosts.get(host, {}).items()
            return {name: line.numbers for name, line in lines if line.counts_in(*folders)}

    def learn(self, url: str, identity: str | None, numbers: Numbers) -> None:
        """Compare the answer of a page with one of the last minutes, if there is one."""
        if not numbers:
            return
        page, now = identity or canonical_url(without_session(url)), self._clock()
        host, folder, _ = _place_of(url)
        with self._lock:
            earlier_at, earlier = self._pages.pop(page, (0.0, {}))
            self._pages[page] = now, numbers
            if len(self._pages) > _MOST_PAGES:
                self._pages.popitem(last=False)
            # Pages of other headings are not one, whatever their URLs say.
            is_evidence = now - earlier_at <= _MINUTES and numbers.get(_NAMES) == earlier.get(_NAMES)
            for name in (numbers.keys() & earlier.keys()) - {_NAMES} if is_evidence else ():
                self._witness(host, folder, page, name, numbers[name], earlier[name])
                self._is_noted = False

    def _witness(
        self, host: str, folder: int, page: str, name: int, now: tuple[int, ...], before: tuple[int, ...]
    ) -> None:
        lines = self._hosts.get(host, {})
        if now == before:
            if name in lines:
                lines[name].same += 1
        elif name in lines or len(lines) < _MOST_LINES:
            self._hosts[host] = lines
            self._hosts.move_to_end(host)
            line = lines.setdefault(name, _Line())
            line.changes += 1
            pairs = enumerate(zip(now, before, strict=False))
            line.numbers |= sum(1 << place for place, (one, other) in pairs if one != other)
            if folder in line.folders or len(line.folders) < _MOST_FOLDERS:
                witnesses = line.folders.setdefault(folder, set())
                witnesses |= {mmh3.hash(page)} if len(witnesses) < _WITNESSES else set()
            if len(self._hosts) > _MOST_HOSTS:
                self._hosts.popitem(last=False)

    def exchange(self, noted: str) -> str:
        """Take over what others have noted beside an index, and return the note that tells them what is known here.

        It has the hosts that changed last, in at most a megabyte.
        """
        with self._lock:
            if noted != self._noted or not self._is_noted:
                self._take_over(noted)
                self._noted, self._is_noted = self._note(), True
            return self._noted

    def _note(self) -> str:
        parts: list[str] = []
        for host, lines in reversed(self._hosts.items()):
            known = {
                name: (line.numbers, {folder: len(pages) for folder, pages in line.folders.items()})
                for name, line in lines.items()
                if line.is_volatile
            }
            if known:
                parts.append(msgspec.json.encode({host: known}).decode()[1:-1])
        while sum(map(len, parts)) + len(parts) > _MOST_NOTE:
            parts.pop()
        return f"{{{','.join(reversed(parts))}}}" if parts else ""

    def _take_over(self, noted: str) -> None:
        # What is no such note is left alone.
        with suppress(msgspec.MsgspecError):
            for host, known in msgspec.json.decode(noted or "{}", type=_Noted).items():
                lines = self._hosts.setdefault(host, {})
                for name, (numbers, folders) in known.items():
                    line = lines.setdefault(name, _Line())
                    line.changes = max(line.changes, _WITNESSES)
                    line.numbers |= numbers
                    for folder, witnesses in folders.items():
                        line.folders.setdefault(folder, set(range(witnesses)))
                while len(self._hosts) > _MOST_HOSTS:
                    self._hosts.popitem(last=False)


def _place_of(url: str) -> tuple[str, int, int]:
    """Return the host of a URL, and hashes of the first two folders of its path, and of the first one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", 0, 0
    # On a shared host they name a user, or a user and a project.
    folders = parts.path.strip("/").split("/")[:-1]
    own, above = (mmh3.hash("/".join(folders[:most]), signed=False) for most in (2, 1))
    return parts.netloc.lower(), own, above
