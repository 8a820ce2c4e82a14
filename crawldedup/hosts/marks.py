"""Learn which marks of a host change by themselves: rotating pictures, headlines under test.

Two loads of one address within minutes show the same content, so a mark that conflicts between
them says nothing about it. Marks are said to change in a folder if they did on three of its pages,
and in more than a tenth of the loads that could be compared. From then on, they are left out of
what is compared there, until they have been stable again.

Only the folder itself counts: nobody can have the marks of others left out. What a page says in its
main text, and where its links lead, is never left out.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from crawldedup.marks.packing import packed_content, unpacked
from crawldedup.marks.relation import have_other_leads, have_other_names, have_other_players
from crawldedup.marks.values import ContentMarks, best_name

NAME: Final = "name"
PICTURE: Final = "picture"
PLAYER: Final = "player"
DATA: Final = "data"

_WITNESSES: Final = 3
_MOST_SHARE: Final = 0.1
_MOST_LOADS: Final = 64
"""Beyond this many loads, older ones count half as much, so that marks can become stable again."""

_MOST_KINDS: Final = 32  # of a folder


class Changes(msgspec.Struct, array_like=True):
    """How often a kind of mark was compared between two loads in a folder, and was another one."""

    loads: int = 0
    conflicts: int = 0
    witnesses: set[str] = set()
    """What tells the pages apart where it was another one, three at most."""

    @property
    def are_frequent(self) -> bool:
        """Whether the mark says nothing in the folder."""
        return len(self.witnesses) >= _WITNESSES and self.conflicts > _MOST_SHARE * self.loads

    def add(self, witness: str, *, is_conflict: bool) -> None:
        """Add what two loads of a page have shown."""
        self.loads += 1
        if is_conflict:
            self.conflicts += 1
            if len(self.witnesses) < _WITNESSES:
                self.witnesses.add(witness)
        if self.loads >= _MOST_LOADS:
            self.loads //= 2
            self.conflicts //= 2


ChangingMarks = dict[str, Changes]
"""How often each kind of mark changed in a folder. Data count by what they are called:
"data 12ab"."""


def compare_marks(changes: ChangingMarks, page: str, marks: bytes, others: bytes) -> None:
    """Note which marks differ between two loads of a page.

    Args:
        changes: What is known of the folder of the page.
        page: The address of the page.
        marks: The packed marks of one load.
        others: The packed marks of the other load, hashed with the same key.
    """
    load, other = unpacked(marks), unpacked(others)
    if load is None or other is None:
        return
    content, its = load.content, other.content
    if content.text is not None and content.text == its.text:
        # The text leaves out names, so it shows that this is the same page under another name.
        is_conflict = have_other_names(content.names, its.names)
        _note(changes, NAME, page, is_conflict=is_conflict)
    if not have_other_names(content.names, its.names):
        best = best_name(content.names)
        witness = f"{best.hash:x}" if best is not None else page
        for kind, is_conflict in _shown_by_both(content, its):
            _note(changes, kind, witness, is_conflict=is_conflict)


def _shown_by_both(content: ContentMarks, other: ContentMarks) -> Iterable[tuple[str, bool]]:
    """Yield the kinds of marks that both loads show, and whether they conflict."""
    if content.has_lead and other.has_lead:
        yield PICTURE, have_other_leads(content, other)
    if content.players and other.players:
        yield PLAYER, have_other_players(content, other)
    values = dict(other.data)
    for name, value in dict(content.data).items():
        if name in values:
            yield kind_of_datum(name), values[name] != value


def kind_of_datum(name: int) -> str:
    """Return the kind of a declared value, from the hash of what it is called."""
    return f"{DATA} {name:x}"


def _note(changes: ChangingMarks, kind: str, witness: str, *, is_conflict: bool) -> None:
    if kind in changes or (is_conflict and len(changes) < _MOST_KINDS):
        changes.setdefault(kind, Changes()).add(witness, is_conflict=is_conflict)


def quiet_kinds(changes: ChangingMarks) -> frozenset[str]:
    """Return the kinds of marks that say nothing in a folder."""
    return frozenset([kind for kind, known in changes.items() if known.are_frequent])


def without_kinds(marks: bytes, kinds: frozenset[str]) -> bytes:
    """Return the packed marks of a content without those of these kinds."""
    page = unpacked(marks)
    if not kinds or page is None:
        return marks
    content = page.content
    is_quiet = PICTURE in kinds
    kept = ContentMarks(
        names=() if NAME in kinds else content.names,
        pictures=() if is_quiet else content.pictures,
        has_lead=content.has_lead and not is_quiet,
        players=() if PLAYER in kinds else content.players,
        data=tuple([datum for datum in content.data if kind_of_datum(datum.name) not in kinds]),
        text=content.text,
        links=content.links,
        sketch=content.sketch,
        is_listing=content.is_listing,
        numbers=content.numbers,
    )
    return packed_content(kept)


def merge_marks(changes: ChangingMarks, others: ChangingMarks) -> None:
    """Take over what others know: of two notes about a kind, the one from more loads holds."""
    for kind, known in others.items():
        own = changes.get(kind)
        if own is None or known.loads > own.loads:
            changes[kind] = known
