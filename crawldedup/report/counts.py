"""Responses by outcome, and the shares that are told of them."""

from __future__ import annotations

from dataclasses import dataclass

JUDGED = ("new", "near", "exact", "thin")
OUTCOMES = (*JUDGED, "revisit", "skipped", "error")


@dataclass(frozen=True, slots=True)
class Counts:
    """Responses by outcome."""

    new: int = 0
    near: int = 0
    exact: int = 0
    thin: int = 0
    revisit: int = 0
    skipped: int = 0
    error: int = 0

    @property
    def pages(self) -> int:
        """All responses."""
        return self.checked + self.skipped + self.error

    @property
    def checked(self) -> int:
        """Pages with a verdict."""
        return self.judged + self.revisit

    @property
    def judged(self) -> int:
        """Pages that were compared with others: revisits say nothing of what is left to find."""
        return self.new + self.duplicates + self.thin

    @property
    def duplicates(self) -> int:
        """Near and exact duplicates."""
        return self.near + self.exact

    @property
    def novelty(self) -> float | None:
        """Return the share of new pages among the judged ones."""
        return self.new / self.judged if self.judged else None

    @property
    def duplicate_share(self) -> float | None:
        """Return the share of duplicates among the checked pages."""
        return self.duplicates / self.checked if self.checked else None
