"""Learn which marks of a host change by themselves: rotating pictures, headlines under test.

Two loads of one address within minutes show the same content, so a mark that conflicts between
them says nothing about it. A kind of mark counts as changing in a folder if it changed on three of
its pages, and in more than a tenth of the loads that could be compared, until it is stable again.

Even there, a mark is left out only if it is known to come and go: a picture or player that changed
on two pages, or a declared value that never recurs, such as a random number. A name stays, but
doesn't tell the page apart from pages with a name that it had before. The rest of a page, outside
its main text, is left out altogether. So the pictures of a gallery still count next to four pages
that each show a random one of them, and so do the names of pages next to addresses that show a
random page.

Knowledge applies to its own folder and, unless many users share the host, to a folder that contains
one of the same name, such as `latest/world/` for `world/`. That way, no user can cause the marks of
others to be left out. If a page has proved views in two folders or on two hosts, it counts in both.
The main text of a page, and where its links lead, are never left out.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.marks.packing import packed_content, unpacked
from crawldedup.marks.relation import (
    have_other_leads,
    have_other_names,
    have_other_players,
)
from crawldedup.marks.values import ALIAS, MOST_NAMES, ContentMarks, Name, best_name
from crawldedup.recent import put_last
from crawldedup.search.decision import estimate_similarity

NAME: Final = "name"
PICTURE: Final = "picture"
PLAYER: Final = "player"
DATA: Final = "data"
REST: Final = "rest"

_WITNESSES: Final = 3
_MOST_SHARE: Final = 0.1
_MOST_LOADS: Final = 64
"""After this many loads, older evidence counts half as much, so marks can become stable again."""

_MOST_KINDS: Final = 32  # the maximum number of kinds of marks per folder
_MOST_VALUES: Final = 128  # the maximum number of values per kind
_COPY: Final = 0.9
_WITNESS_BYTES: Final = 12


class Changes(msgspec.Struct, array_like=True):
    """How often a kind of mark differed between two loads of the same page, in one folder."""

    loads: int = 0
    conflicts: int = 0
    witnesses: set[str] = set()
    """Up to three pages on which it differed, by their names or addresses."""

    values: dict[int, str] = {}
    """The values that came or went. Each has its page, or "" if there were several pages."""

    recurring: int = 0
    """How often a value was also seen on another page. It is only counted for declared values."""

    def meet(self, value: int, witness: str) -> None:
        """Note that a value was seen on a page."""
        known = self.values.get(value, witness)
        if known != witness:
            self.recurring += bool(known)
            witness = ""
        put_last(self.values, value, witness, _MOST_VALUES)

    def beside(self, value: int) -> list[int]:
        """Return the other values of the page that has this value, if only one page has it."""
        page = self.values.get(value)
        if not page:
            return []
        return [other for other, its in self.values.items() if its == page and other != value]

    def has_rotated(self, value: int) -> bool:
        """Whether a value has come and gone on several pages."""
        return self.values.get(value) == ""

    @property
    def evidence(self) -> int:
        """How many pairs of loads were compared."""
        return self.loads

    @property
    def are_frequent(self) -> bool:
        """Whether the kind of mark changes by itself in the folder: often, and on several pages."""
        return len(self.witnesses) >= _WITNESSES and self.conflicts > _MOST_SHARE * self.loads

    def add(self, witness: str, *, is_conflict: bool) -> None:
        """Count a comparison of two loads of a page, and whether the mark differed."""
        self.loads += 1
        if is_conflict:
            self.conflicts += 1
            if len(self.witnesses) < _WITNESSES:
                self.witnesses.add(witness)
        if self.loads >= _MOST_LOADS:
            self.loads //= 2
            self.conflicts //= 2


ChangingMarks = dict[str, Changes]
"""How often each kind of mark changed in a folder. Data are counted by name: "data 12ab"."""


def compare_marks(changes: ChangingMarks, page: str, load: Fingerprint, other: Fingerprint) -> None:
    """Find out which marks differ between two loads of a page, and note it.

    Args:
        changes: What is known about the folder of the page.
        page: The address of the page.
        load: One load of the page.
        other: The other load.
    """
    marks = unpacked(load.marks)
    others = unpacked(other.marks)
    if marks is None or others is None or load.key_id != other.key_id:
        return
    content = marks.content
    its = others.content
    if _are_alike(load, other) or _say_the_same(load, other, content, its):
        # It is the same page, perhaps under another name.
        is_conflict = have_other_names(content.names, its.names)
        best = best_name(content.names)
        other_best = best_name(its.names)
        values = [name.hash for name in (best, other_best) if name is not None]
        _note(changes, NAME, _hash_of(page), values if is_conflict else [])
    if not have_other_names(content.names, its.names):
        witness = _witness(content, page)
        if content.has_lead and its.has_lead:
            leads = [content.pictures[0], its.pictures[0]]
            _note(changes, PICTURE, witness, leads if have_other_leads(content, its) else [])
        if content.players and its.players:
            players = [*content.players, *its.players]
            _note(changes, PLAYER, witness, players if have_other_players(content, its) else [])
        if content.rest is not None and its.rest is not None:
            rests = [content.rest, its.rest]
            _note(changes, REST, witness, rests if content.rest != its.rest else [])
        _compare_data(changes, witness, content, its)


def _witness(content: ContentMarks, page: str) -> str:
    """Return what identifies a page that has shown a change: its name, or else its address."""
    best = best_name(content.names)
    return f"{best.hash:x}" if best is not None else _hash_of(page)


def _hash_of(page: str) -> str:
    """Return a short hash of an address, to keep notes short."""
    digest = hashlib.blake2b(page.encode("utf-8", "replace"), digest_size=_WITNESS_BYTES)
    return base64.b64encode(digest.digest()).decode()


def _compare_data(
    changes: ChangingMarks, witness: str, content: ContentMarks, other: ContentMarks
) -> None:
    values = dict(other.data)
    for name, value in dict(content.data).items():
        if name in values:
            both = [value, values[name]]
            _note(changes, kind_of_datum(name), witness, both if value != values[name] else [])


def _are_alike(load: Fingerprint, other: Fingerprint) -> bool:
    """Return whether two loads of a page have the same text, or one with a similarity of 0.9.

    Short texts have to be the same.
    """
    if load.digest == other.digest:
        return True
    if load.thin or other.thin:
        return False
    return estimate_similarity(load.verify_weights, load.verify, other.verify) >= _COPY


def _say_the_same(
    load: Fingerprint, other: Fingerprint, content: ContentMarks, its: ContentMarks
) -> bool:
    """Return whether two loads of a page have the same content, even if their names differ.

    On a short page, a headline that occurs in several places is more than a tenth of the words.
    """
    if load.thin or other.thin or content.is_listing or its.is_listing:
        return False
    return content.text == its.text is not None


def may_change(marks: bytes) -> bool:
    """Return whether a page has marks of the kinds that often change by themselves."""
    page = unpacked(marks)
    if page is None:
        return False
    content = page.content
    has_values = bool(content.players or content.data)
    return content.has_lead or has_values or content.rest is not None


def kind_of_datum(name: int) -> str:
    """Return the kind under which changes of a declared value are counted, such as "data 12ab"."""
    return f"{DATA} {name:x}"


def _note(changes: ChangingMarks, kind: str, witness: str, conflicting: Sequence[int]) -> None:
    """Note that a kind of mark was compared in two loads, and which values only one of them had."""
    if kind not in changes and (not conflicting or len(changes) >= _MOST_KINDS):
        return
    known = changes.setdefault(kind, Changes())
    known.add(witness, is_conflict=bool(conflicting))
    for value in conflicting:
        known.meet(value, witness)


def meet_values(changes: ChangingMarks, page: str, load: Fingerprint) -> None:
    """Note the names and declared values of a page, to see which ones recur on other pages.

    A random number doesn't recur. If a name recurs, it's the name of another page, because an
    address that shows a random page has the names of all of them.
    """
    marks = unpacked(load.marks)
    if marks is None or not changes:
        return
    best = best_name(marks.content.names)
    if NAME in changes and best is not None and best.hash in changes[NAME].values:
        changes[NAME].meet(best.hash, _hash_of(page))
    for datum in marks.content.data:
        known = changes.get(kind_of_datum(datum.name))
        if known is not None:
            known.meet(datum.value, _witness(marks.content, page))


def quiet_kinds(changes: ChangingMarks) -> frozenset[str]:
    """Return the kinds of marks that change by themselves in a folder.

    Only some of their values are left out there: see `without_changing`.
    """
    return frozenset([kind for kind, known in changes.items() if known.are_frequent])


def without_changing(marks: bytes, changes: ChangingMarks) -> bytes:
    """Remove the marks that are known to come and go from the packed marks of a page's content.

    Names stay, and the other names that the page is known to have are added to them.
    """
    kinds = quiet_kinds(changes)
    page = unpacked(marks) if kinds else None
    if page is None:
        return marks
    content = page.content
    names = content.names
    pictures = content.pictures
    players = content.players
    best = best_name(names)
    if NAME in kinds and best is not None:
        # The name still tells the page apart from pages with other names.
        aliases = [Name(other, ALIAS) for other in changes[NAME].beside(best.hash)]
        names = (*names, *aliases)[:MOST_NAMES]
    if PICTURE in kinds and content.has_lead and changes[PICTURE].has_rotated(pictures[0]):
        pictures = ()
    if PLAYER in kinds:
        players = tuple([each for each in players if not changes[PLAYER].has_rotated(each)])
    data = []
    for datum in content.data:
        kind = kind_of_datum(datum.name)
        if kind not in kinds or changes[kind].recurring:
            data.append(datum)
    kept = replace(
        content,
        names=names,
        pictures=pictures,
        has_lead=content.has_lead and bool(pictures),
        players=players,
        data=tuple(data),
        rest=None if REST in kinds else content.rest,
    )
    return packed_content(kept)
