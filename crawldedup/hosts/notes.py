"""Merge what several crawlers have noted."""

from typing import Protocol, TypeVar


class Note(Protocol):
    """The evidence that pages have given about a line, a mark or a view of a host."""

    @property
    def evidence(self) -> int:
        """The number of loads, or pairs of pages, that it's based on."""


K = TypeVar("K")
N = TypeVar("N", bound=Note)


def merge_notes(notes: dict[K, N], others: dict[K, N]) -> None:
    """Merge in what others have noted. Of two notes, the one with more evidence wins."""
    for name, note in others.items():
        own = notes.get(name)
        if own is None or note.evidence > own.evidence:
            notes[name] = note
