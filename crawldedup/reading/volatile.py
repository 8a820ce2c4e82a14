"""Learn which numbers of a site change with every load, and leave them out of what is compared.

"Who is online: 24 users", "Time: 0.769s", "Only 6 left": such lines differ between two answers of
one page within minutes, in their numbers alone. Only that is evidence: pages that are alike are
none, and what has changed since yesterday is news. A line with a price, a heading, a long line and
one of little else than numbers is always content.

Three pages of a host, with different headings, must show that a line changes, one of them in the
folder where it counts, or all three in the folder above: on a shared host nobody can have numbers
of others left out. A page counts in the folder of its canonical URL, too, which it names itself. A
line that stays the same four times as often is content again. What changed is left out: the line,
or of its numbers only some.
"""

import math
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import count
from typing import Final
from urllib.parse import urlsplit

import mmh3
import msgspec

from crawldedup.recent import put_last
from crawldedup.urls import TOKEN, canonical_url

Numbers = dict[
    int, tuple[int, ...]
]  # by the hash of a line without its numbers, theirs; under 0, that of the headings
Changing = dict[
    int, tuple[int, ...]
]  # by that hash, which numbers of a line change where a page stands
# By that hash, which numbers change on a host, and a hash of each folder where.
Known = dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
NOTHING: Final[Known] = {}
_LONGEST: Final = 200  # letters of a line
_MOST_LINES: Final = 64  # of a page, and of a host
_MOST_SHARE: Final = 0.4  # of a text that is left out
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_CODES: Final = "eur|usd|gbp|chf|jpy|cny|rub|pln|sek|nok|dkk|czk|huf|ft|kr|zł"
_CURRENCY: Final = re.compile(rf"[$€£¥₹₽₩฿₺₴₫]|(?<![^\W\d_])(?:{_CODES})(?![^\W\d_])", re.I)
_MOST_PAGES: Final = 4096
_MOST_HOSTS: Final = 1000
_MOST_FOLDERS: Final = 32  # of a line
_MINUTES: Final = 600.0  # in seconds, between two answers
_WITNESSES: Final = 3
_CHANGED: Final = 2  # pages of a text that change by themselves
_MOST_SAME: Final = 4  # times as often may a line be the same as it changes
_MOST_NOTE: Final = 1_000_000
# Where a session is no token, such as session=12, it may name the content; so may ref=12.
_VISIT: Final = re.compile(
    r"(?<=[?&])(?:(?:phpsessid|jsessionid|utm_\w+|gclid|fbclid|msclkid)=[^&#]*|ref=[a-z_-]+(?=[&#]|$)|"
    rf"(?:s|sid|session_?(?:id)?|cfid|cftoken)=(?:{TOKEN})(?=[&#]|$))&?|;jsessionid=[^?#]*",
    re.I,
)
# By such a path, a server may answer with a page of another folder.
_ANOTHERS_FOLDER: Final = re.compile(r"%2e|%2f|%5c|\\|/\.\.?/", re.I)


def numbers_of(lines: Iterable[str], headings: Collection[str] = ()) -> Numbers:
    """Hash the numbers of each line that may prove volatile.

    Leave out lines that differ in their numbers alone.
    """
    kinds = defaultdict(list)
    for line in dict.fromkeys(lines):
        kinds[_name_of(line, headings)].append(line)
    once = [(name, kind[0]) for name, kind in kinds.items() if name and len(kind) == 1][
        :_MOST_LINES
    ]
    numbers = {
        name: tuple([mmh3.hash(number) for number in _NUMBER.findall(line)]) for name, line in once
    }
    return {0: (mmh3.hash("\n".join(sorted(headings))),), **numbers} if numbers else {}


def changing_at(known: Known, *urls: str) -> Changing:
    """Return what is known of the lines in the folders of a page with these URLs."""
    own = {_place_of(url)[1] for url in urls}
    folders = {*map(mmh3.hash, [*own, *(f"{folder.partition('/')[0]}/*" for folder in own)])}
    return {
        name: numbers
        for name, (numbers, seen_in) in known.items()
        if not folders.isdisjoint(seen_in)
    }


def without_volatile(
    text: str, known: Changing, headings: Collection[str] = ()
) -> tuple[str, list[str]]:
    """Return a text without its volatile parts, and the lines that had them; the whole text if they
    are much of it.
    """
    lines = text.split("\n")
    kept = [rest_of(line, known, headings) for line in lines]
    left_out = [line for line, rest in zip(lines, kept, strict=True) if rest != line]
    if not left_out or sum(map(len, left_out)) > _MOST_SHARE * len(text):
        return text, []
    return "\n".join(filter(None, kept)), left_out


def rest_of(line: str, known: Changing, headings: Collection[str] = ()) -> str:
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


def without_visit(url: str) -> str:
    """Return a URL without session and campaign: it names the same page."""
    return _VISIT.sub("", url)


def _name_of(line: str, headings: Collection[str]) -> int:
    """Return the hash of a line without its numbers; 0 for a line that is always compared."""
    if len(line) > _LONGEST or not _NUMBER.search(line):
        return 0
    shape, numbers = _NUMBER.subn("0", line)
    others, in_numbers = len(shape) - numbers - shape.count(" "), len(line) - len(shape) + numbers
    if others <= in_numbers or line in headings or _CURRENCY.search(shape):
        return 0
    return int(mmh3.hash64(shape, signed=False)[0])


class _Line(msgspec.Struct, array_like=True):
    """What reloads showed of a line: which numbers change, on how many pages of each folder; how
    often none did.

    Pages with the same headings may differ in their numbers alone, so that these are what they are
    about.
    """

    numbers: set[int] = set()
    folders: dict[str, int] = {}
    same: int = 0
    headings: set[int] = set()

    @property
    def changes(self) -> int:
        return sum(self.folders.values())

    def known(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return which numbers are known to change, and the folders where they do, and within
        which.
        """
        if len(self.headings) < _WITNESSES or self.same > _MOST_SAME * self.changes:
            return (), ()
        within = [f"{folder}/*" for folder, pages in self.folders.items() if pages >= _WITNESSES]
        return tuple(sorted(self.numbers)), tuple(map(mmh3.hash, [*self.folders, *within]))


_Hosts = dict[str, dict[int, _Line]]


class VolatileLines:
    """Knows which lines of a host change.

    Compares the numbers on the last pages with those of their reloads.

    Threads may share it: the thread that asks the store exchanges notes.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: dict[str, tuple[float, Numbers | None]] = {}
        self._hosts: _Hosts = {}
        self._loads: dict[tuple[int, str], int] = {}
        self._changing: dict[int, set[str]] = {}  # the pages of a text that change by themselves

    def known_at(self, url: str) -> Known:
        """Return what is known of the lines of a page's host."""
        with self._lock:
            lines = self._hosts.get(_place_of(url)[0], {})
            return {name: known for name, line in lines.items() if (known := line.known())[0]}

    def learn(self, url: str, identity: str | None, numbers: Numbers) -> None:
        """Compare the numbers on a page with those of its load of the last minutes, if there is
        one.
        """
        if not numbers or _ANOTHERS_FOLDER.search(url.partition("?")[0]):
            return
        page, now = identity or canonical_url(without_visit(url)), self._clock()
        with self._lock:
            earlier_at, earlier = self._pages.get(page, (-math.inf, {}))
            if earlier is None:
                return  # a page is evidence once
            # Pages of other headings are not one, whatever their URLs say.
            is_evidence = now - earlier_at <= _MINUTES and numbers.get(0) == earlier.get(0)
            put_last(self._pages, page, (now, None if is_evidence else numbers), _MOST_PAGES)
            if is_evidence:
                self._compare(url, numbers, earlier)

    def note_load(self, url: str, text: int, full_text: int) -> None:
        """Note the digests of a page without and with its volatile lines, which tell what changes
        by itself.
        """
        page = canonical_url(without_visit(url))
        with self._lock:
            if self._loads.get((text, page), full_text) != full_text:
                put_last(
                    self._changing,
                    text,
                    {page, *[*self._changing.get(text, ())][-_CHANGED:]},
                    _MOST_PAGES,
                )
            put_last(self._loads, (text, page), full_text, _MOST_PAGES)

    def may_be_two(self, url: str, original: str | None, text: int) -> bool:
        """Return whether a page and its original may be two pages that only the numbers left out
        tell apart.

        True if only the path's end or query values differ in their URLs, or `original` is None.
        False once two pages with the digest `text` have changed by themselves.
        """
        own, other = canonical_url(without_visit(url)), canonical_url(without_visit(original or ""))
        is_of_one_form = original is None or (own != other and _form_of(own) == _form_of(other))
        with self._lock:
            return is_of_one_form and len(self._changing.get(text, ())) < _CHANGED

    def _compare(self, url: str, numbers: Numbers, earlier: Numbers) -> None:
        host, folder = _place_of(url)
        lines = self._hosts.get(host, {})
        for name in (numbers.keys() & earlier.keys()) - {0}:
            pairs = enumerate(zip(numbers[name], earlier[name], strict=False))
            changed = {number for number, (one, other) in pairs if one != other}
            if name in lines or (changed and len(lines) < _MOST_LINES):
                line = lines.setdefault(name, _Line())
                line.numbers |= changed
                line.same += not changed
                if changed:
                    line.headings |= (
                        {*numbers.get(0, ())} if len(line.headings) < _WITNESSES else set()
                    )
                    put_last(line.folders, folder, line.folders.get(folder, 0) + 1, _MOST_FOLDERS)
                put_last(self._hosts, host, lines, _MOST_HOSTS)

    def exchange(self, noted: str) -> str:
        """Take over what others have noted beside an index, and return the note that tells them
        what is known here.

        Of two notes about a line, the one from more loads holds. The note has the last hosts, in a
        megabyte at most.
        """
        hosts: _Hosts = {}
        with suppress(msgspec.MsgspecError):  # what is no such note is left alone
            hosts = msgspec.json.decode(noted or "{}", type=_Hosts)
        with self._lock:
            for host, lines in hosts.items():
                known = self._hosts.get(host, {})
                for name, line in lines.items():
                    known[name] = max(
                        known.get(name, line), line, key=lambda line: line.changes + line.same
                    )
                put_last(self._hosts, host, known, _MOST_HOSTS)
            if hosts == self._hosts:
                return noted
            while len(note := msgspec.json.encode(self._hosts)) > _MOST_NOTE:
                for host in list(self._hosts)[: 1 + len(self._hosts) // 8]:
                    del self._hosts[host]
            return note.decode()


def _place_of(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    # On a shared host they name a user, or a user and a project.
    return parts.netloc.lower(), "/".join(parts.path.strip("/").split("/")[:-1][:2])


def _form_of(url: str) -> str:
    path, _, query = url.partition("?")
    return path.rpartition("/")[0] + "?" + re.sub("=[^&]*", "", query)
