"""Merge the notes of several crawlers about the same host."""

from typing import Protocol, TypeVar


class Note(Protocol):
    """Evidence about a line, a mark or a view of a host, which pages have given."""

    @property
    def evidence(self) -> int:
        """How many loads, or pairs of pages, the note is based on."""


K = TypeVar("K")
N = TypeVar("N", bound=Note)


def merge_notes(notes: dict[K, N], others: dict[K, N]) -> None:
    """Add the notes of another crawler. If both have one, the note with more evidence wins."""
    for name, note in others.items():
        own = notes.get(name)
        if own is None or note.evidence > own.evidence:
            notes[name] = note
