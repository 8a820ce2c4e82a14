"""Merge what several crawlers have noted."""

from typing import Protocol, TypeVar


class Note(Protocol):
    """What pages have shown of one thing."""

    @property
    def evidence(self) -> int:
        """How many loads, or pairs of pages, speak of it."""


K = TypeVar("K")
N = TypeVar("N", bound=Note)


def merge_notes(notes: dict[K, N], others: dict[K, N]) -> None:
    """Take over what others have noted: of two notes, the one with more evidence holds."""
    for name, note in others.items():
        own = notes.get(name)
        if own is None or note.evidence > own.evidence:
            notes[name] = note
