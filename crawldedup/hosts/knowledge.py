"""Gather what a crawl learns about each host, and share it with other crawlers of the index."""

import logging
import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

import msgspec

from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.hosts.lines import Lines, compare_loads, known_lines
from crawldedup.hosts.marks import (
    NAME,
    ChangingMarks,
    compare_marks,
    meet_values,
    quiet_kinds,
    without_changing,
)
from crawldedup.hosts.notes import merge_notes
from crawldedup.hosts.texts import ChangingTexts
from crawldedup.hosts.views import (
    ProvedViews,
    ViewOfPage,
    are_proved,
    compare_views,
)
from crawldedup.marks.address import Address, View
from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.reading.volatile import NOTHING, Known, Numbers, without_visit
from crawldedup.recent import RecentBytes, put_last, shortened
from crawldedup.scope import Folder, folder_at, folder_of
from crawldedup.urls import canonical_url

_MOST_PAGES: Final = 4096
_MOST_BYTES_OF_LOADS: Final = 8_000_000
_MOST_VIEWS: Final = 3  # the maximum number of views per page
_LONGEST_SHOWN: Final = 200  # letters of a folder in the log
_log: Final = logging.getLogger(__name__)
_MOST_HOSTS: Final = 1000
_MOST_FOLDERS: Final = 64  # the maximum number of folders per host
_MINUTES: Final = 600.0  # the most seconds between two loads that are compared
_MOST_NOTE: Final = 1_000_000
_MOST_READ: Final = 4 * _MOST_NOTE  # letters of a note; some take four bytes
_MOST_OF_HOST: Final = 64_000  # bytes of a note, so no host takes the room of all others
_LONGEST_FOLDER: Final = 200  # letters
# For such a path, a server may answer with a page from another folder.
_ANOTHERS_FOLDER: Final = re.compile(r"%25|%2e|%2f|%3b|%5c|\\|/\.\.?[/;]", re.I)


class FolderNotes(msgspec.Struct, array_like=True):
    """What was learned about a folder of a host: which marks change, and which views are proved."""

    marks: ChangingMarks = {}
    views: ProvedViews = {}


class HostNotes(msgspec.Struct, array_like=True):
    """What was learned about a host: which of its lines change, and the notes about its folders."""

    lines: Lines = {}
    folders: dict[str, FolderNotes] = {}

    def folder(self, path: str) -> FolderNotes:
        """Return the notes about a folder, creating them if necessary."""
        notes = self.folders.get(path)
        if notes is None:
            notes = FolderNotes()
        put_last(self.folders, path, notes, _MOST_FOLDERS)
        return notes

    def merge(self, other: "HostNotes") -> None:
        """Add what other crawlers have learned about the host."""
        merge_notes(self.lines, other.lines)
        for path, notes in other.folders.items():
            own = self.folder(path)
            merge_notes(own.marks, notes.marks)
            merge_notes(own.views, notes.views)


_NOTHING_KNOWN: Final = HostNotes()
_Hosts = dict[str, HostNotes]


@dataclass(frozen=True, slots=True)
class _Load:
    """The last time that a page was loaded, to be compared with the next one."""

    at: float
    numbers: bytes | None
    """The packed numbers, or None once they were used as evidence, which happens once per page."""


@dataclass(frozen=True, slots=True)
class _MarkedLoad:
    """The last time that a page was loaded, with the marks that it showed."""

    at: float
    folder: Folder
    fingerprint: Fingerprint


_PACKED: Final = msgspec.msgpack.Encoder()
_UNPACKED: Final = msgspec.msgpack.Decoder(Numbers)
_NEVER: Final = _Load(-math.inf, _PACKED.encode({}))


class HostKnowledge:
    """Collects what a crawl learns about hosts, and answers questions about it.

    Threads may share it: the thread that asks the store exchanges notes.

    Args:
        volatile: The option with this name. Only with True, two loads within minutes are compared.
            With False, nothing is known about lines and marks that change.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, volatile: bool | str = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._volatile = volatile
        self._clock = clock
        self._lock = threading.Lock()
        self._hosts: _Hosts = {}
        self._texts = ChangingTexts()
        self._loads: RecentBytes[_Load] = RecentBytes(_MOST_PAGES, _MOST_BYTES_OF_LOADS)
        self._marked: dict[str, _MarkedLoad] = {}
        self._views: dict[str, tuple[ViewOfPage, ...]] = {}
        self._values: dict[tuple[str, str, View], str] = {}

    # What is known

    def known_at(self, url: str) -> Known:
        """Return which lines of a host are known to change, as far as that applies to a page."""
        if self._volatile is False:
            return NOTHING
        folder = folder_of(url)
        with self._lock:
            notes = self._hosts.get(folder.host)
            return known_lines(notes.lines, folder) if notes else NOTHING

    def quiet_at(self, url: str) -> frozenset[str]:
        """Return the kinds of marks that change by themselves in a page's folder.

        Of these kinds, `steady_marks` only leaves out the marks that are known to come and go.
        """
        if self._volatile is False:
            return frozenset()
        with self._lock:
            folder = folder_of(url)
            notes = [self._folder_notes(folder.host, path) for path in _paths_of(folder)]
            return frozenset().union(*(quiet_kinds(note.marks) for note in notes))

    def steady_marks(self, url: str, marks: bytes) -> bytes:
        """Return the packed marks of a page without those known to come and go in its folder.

        Names aren't left out. Instead, the other names that the page has shown are added.
        """
        if self._volatile is False:
            return marks
        with self._lock:
            folder = folder_of(url)
            for path in _paths_of(folder):
                marks = without_changing(marks, self._folder_notes(folder.host, path).marks)
            return marks

    def are_proved(self, address: Address) -> bool:
        """Return whether a URL has views that are proved in its folder, with tokens that recur."""
        with self._lock:
            return bool(address.views) and self._are_certain(address)

    def proved_views_at(self, address: Address) -> list[tuple[View, ...]]:
        """Return the combinations of proved views in which a page was loaded so far."""
        with self._lock:
            met = self._views.get(_name_without_views(address), ())
            proved = []
            for page in met:
                views = tuple(sorted(page.views))
                if views and self._are_certain(replace(address, views=views)):
                    proved.append(views)
            return proved

    def may_be_two(
        self, url: str, original: str | None, text: int, claimed: str | None = None
    ) -> bool:
        """Return whether a page and its original may be two pages with other volatile numbers.

        See `ChangingTexts.may_be_two`.
        """
        with self._lock:
            return self._texts.may_be_two(url, original, text, claimed)

    # What is learned

    def learn(self, page: Page, read: ReadPage) -> None:
        """Compare a page with earlier loads of it, and keep it to be compared with later ones.

        With `volatile` other than True, only views are learned.
        """
        self.learn_lines(page, read.numbers)
        self.learn_marks(page, read.fingerprint, carries_view=read.carries_view)

    def learn_lines(self, page: Page, numbers: Numbers) -> None:
        """Learn which numbers of a page have changed since it was loaded a few minutes ago.

        Each page is evidence only once.
        """
        folder = folder_of(page.url)
        if not numbers or not self._compares_loads(page.url, folder):
            return
        name = _name_without_visit(page)
        now = self._clock()
        with self._lock:
            earlier = self._loads.get(name) or _NEVER
            if earlier.numbers is None:
                return  # A page is evidence once.
            before = _UNPACKED.decode(earlier.numbers)
            # Pages with different headings are not the same page, whatever their URLs say.
            is_evidence = now - earlier.at <= _MINUTES and numbers.get(0) == before.get(0)
            packed = None if is_evidence else _PACKED.encode(numbers)
            self._loads.put(name, _Load(now, packed), len(packed or b""))
            if is_evidence:
                compare_loads(self._host(folder.host).lines, folder, numbers, before)

    def learn_marks(self, page: Page, fingerprint: Fingerprint, *, carries_view: bool) -> None:
        """Learn which marks change and which views are proved, from an earlier load of a page.

        Args:
            page: The page.
            fingerprint: Its fingerprint.
            carries_view: Whether its links carry the session in its URL to other pages.
        """
        if not fingerprint.marks:
            return
        # Only the stored values of a load are compared, so no texts are needed.
        fingerprint = replace(fingerprint, packed_text=b"", paragraphs=(), full=None)
        with self._lock:
            self._learn_views(page, fingerprint, carries_view=carries_view)
            folder = folder_of(page.url)
            if self._compares_loads(page.url, folder):
                self._learn_changing_marks(page, folder, fingerprint)

    def _compares_loads(self, url: str, folder: Folder) -> bool:
        """Return whether two loads of a page within minutes count as evidence of what changes."""
        return self._volatile is True and _is_own(url, folder)

    def note_load(self, url: str, text: int, full_text: int) -> None:
        """Note the digests of a page's text, without and with its volatile lines."""
        with self._lock:
            self._texts.note_load(url, text, full_text)

    def _learn_changing_marks(self, page: Page, folder: Folder, fingerprint: Fingerprint) -> None:
        """Compare the marks of a page with those of its last load, if that was minutes ago.

        The load is kept for the next comparison.
        """
        address = Address.of(page.url, page.identity)
        if address is None:
            return
        # Until a view is proved, what looks like a session or a referrer may name content.
        is_visit = bool(address.views) and self._are_certain(address)
        views = () if is_visit else address.views
        name = shortened("&".join([address.path, *address.parameters, *map(str, views)]))
        load = _MarkedLoad(self._clock(), folder, fingerprint)
        earlier = self._marked.get(name)
        put_last(self._marked, name, load, _MOST_PAGES)
        notes = self._folder_notes(folder.host, folder.undated)
        page_name = _name_without_views(address)
        meet_values(notes.marks, page_name, fingerprint)
        if earlier is None or load.at - earlier.at > _MINUTES:
            return
        self._compare_marks(page_name, folder, load, earlier)
        if earlier.folder.owner == folder.owner and (
            (earlier.folder.host, earlier.folder.undated) != (folder.host, folder.undated)
        ):
            # The page has a view on another host or in another folder, so it changes in both.
            self._compare_marks(page_name, earlier.folder, load, earlier)

    def _compare_marks(
        self, page: str, folder: Folder, load: _MarkedLoad, earlier: _MarkedLoad
    ) -> None:
        """Note which marks differ between two loads of a page in a folder."""
        notes = self._host(folder.host).folder(folder.undated)
        known = quiet_kinds(notes.marks)
        compare_marks(notes.marks, page, load.fingerprint, earlier.fingerprint)
        for kind in sorted(quiet_kinds(notes.marks) - known):
            _log.info(
                "crawldedup: the mark %r changes by itself below %r: values that come and go "
                "there are not compared",
                kind.partition(" ")[0],
                f"{folder.host}/{folder.undated}"[:_LONGEST_SHOWN],
            )

    def _learn_views(self, page: Page, fingerprint: Fingerprint, *, carries_view: bool) -> None:
        """Note the views in a page's URL, and compare it with its last loads as other views."""
        address = Address.of(page.url, page.identity)
        if address is None:
            return
        folder = _folder_without_views(address)
        own_folder = folder_of(page.url)
        if not _is_own(page.url, folder) or unquote(own_folder.owner) != folder.owner:
            return
        for view in address.views:
            if view.value:
                self._note_value(address, folder, view, recurs=carries_view)
        name = _name_without_views(address)
        own = ViewOfPage.of(address, fingerprint)
        others = [other for other in self._views.get(name, ()) if other.views != own.views]
        notes = self._folder_notes(own_folder.host, own_folder.undated)
        names_change = self._volatile is not False and NAME in quiet_kinds(notes.marks)
        for other in others:
            views = self._host(folder.host).folder(folder.form).views
            compare_views(views, own, other, names_change=names_change)
        kept = (own, *others)[:_MOST_VIEWS]
        put_last(self._views, name, kept, _MOST_PAGES)

    def _are_certain(self, address: Address) -> bool:
        folder = _folder_without_views(address)
        notes = self._folder_notes(folder.host, folder.form)
        if not are_proved(notes.views, frozenset(address.views)):
            return False
        return all(self._recurs(address, folder, view) for view in address.views)

    def _note_value(self, address: Address, folder: Folder, view: View, *, recurs: bool) -> None:
        """Note at which path the value of a view was seen, or "" if there were several paths."""
        key = _values_key(address, folder, view)
        path = shortened(address.path)
        is_elsewhere = recurs or self._values.get(key, path) != path
        put_last(self._values, key, "" if is_elsewhere else path, _MOST_PAGES)

    def _recurs(self, address: Address, folder: Folder, view: View) -> bool:
        """Return whether the value of a view was also seen at another address."""
        return not view.value or self._values.get(_values_key(address, folder, view)) == ""

    def _host(self, host: str) -> HostNotes:
        notes = self._hosts.get(host)
        if notes is None:
            notes = HostNotes()
        put_last(self._hosts, host, notes, _MOST_HOSTS)
        return notes

    def _folder_notes(self, host: str, path: str) -> FolderNotes:
        notes = self._hosts.get(host, _NOTHING_KNOWN)
        return notes.folders.get(path, FolderNotes())

    # What is shared

    def exchange(self, noted: str) -> str:
        """Add what other crawlers have noted with the index, and return the updated note.

        The note contains the most recent hosts, and is a megabyte at most. If it can't be read, it
        counts as empty.
        """
        hosts = _hosts_in(noted)
        with self._lock:
            for host, notes in hosts.items():
                self._host(host).merge(notes)
            if hosts == self._hosts:
                return noted
            return _packed_note(self._hosts)


def _name_without_visit(page: Page) -> str:
    """Return what identifies a page: its URL without session ID and campaign.

    A page that the user identifies in another way has its host and that identity instead.
    """
    if page.identity is not None:
        return shortened(f"{folder_of(page.url).host} {page.identity}")
    return shortened(canonical_url(without_visit(page.url)))


def _name_without_views(address: Address) -> str:
    """Return a name for a page that is the same for all of its views."""
    return shortened("&".join([address.path, *address.parameters]))


def _folder_without_views(address: Address) -> Folder:
    """Return the folder of a page, leaving out folders that name a view."""
    host, _, path = address.path.partition("/")
    return folder_at(host, f"/{path}")


def _values_key(address: Address, folder: Folder, view: View) -> tuple[str, str, View]:
    """Return where the value of a view has to recur: on its site, or on its user's pages."""
    return address.site, shortened(folder.owner), view._replace(value=shortened(view.value))


def _paths_of(folder: Folder) -> list[str]:
    """Return the folders whose changing marks a page may show: its own, and the one inside it.

    A page in `world/` may also be in `latest/world/`, with the pictures that rotate there.
    """
    path = folder.undated
    inner = path.partition("/")[2]
    return [path, inner] if inner and not folder.is_shared else [path]


def _is_own(url: str, folder: Folder) -> bool:
    """Return whether all pages in a folder certainly come from its owner."""
    if folder.is_common or len(folder.path) > _LONGEST_FOLDER:
        return False
    return _ANOTHERS_FOLDER.search(url.partition("?")[0]) is None


def _hosts_in(noted: str) -> _Hosts:
    """Read a note about hosts. The result is empty if the note is invalid or too long."""
    if len(noted) > _MOST_READ:
        return {}
    try:
        hosts = msgspec.json.decode(noted or "{}", type=_Hosts)
        # The lines are sent to workers, so no number may be longer than 64 bits.
        _PACKED.encode(hosts)
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return {}
    return hosts


def _packed_note(hosts: _Hosts) -> str:
    """Write the note about hosts, without those with too many notes, and without the oldest ones.

    The latter are only left out if the note would be longer than a megabyte.
    """
    packed = {host: _packed_host(notes) for host, notes in hosts.items()}
    kept = {host: note for host, note in packed.items() if len(note) <= _MOST_OF_HOST}
    size = sum(len(host) + len(note) + 6 for host, note in kept.items())
    for host in list(kept):
        if size <= _MOST_NOTE:
            break
        size -= len(host) + len(kept.pop(host)) + 6
    return msgspec.json.encode({host: msgspec.Raw(note) for host, note in kept.items()}).decode()


def _packed_host(notes: HostNotes) -> bytes:
    """Pack the notes about a host. While they are too long, half of the folders are left out."""
    packed = msgspec.json.encode(notes)
    folders = list(notes.folders.items())
    while len(packed) > _MOST_OF_HOST and folders:
        folders = folders[len(folders) // 2 + 1 :]
        packed = msgspec.json.encode(HostNotes(notes.lines, dict(folders)))
    return packed
