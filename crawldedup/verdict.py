"""What a check answers: `Verdict` for a page that was judged, `Match` for a page that was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self

from crawldedup.printable import printable


class Kind(StrEnum):
    """What a page is, compared with the pages seen before it."""

    NEW = "new"
    NEAR_DUPLICATE = "near_duplicate"
    EXACT_DUPLICATE = "exact_duplicate"
    REVISIT = "revisit"
    THIN = "thin"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one page.

    `original` is the URL of the earlier page, `similarity` the estimated Jaccard similarity (0..1) of the
    two pages' word 3-shingles, `hamming` the number of differing search bits; all three are None for a
    page that is `new` or `thin`. `original` is also None where the index does not hold the earlier page's URL.
    `copies` counts the duplicates of the earlier page seen so far, this page included. `changed` says that a
    `revisit` brought other text than the last visit did. `probes` and `candidates` are the work that was done:
    ranges planned, and remembered pages compared.
    """

    kind: Kind
    url: str
    original: str | None = None
    similarity: float | None = None
    hamming: int | None = None
    words: int = 0
    copies: int = 0
    changed: bool = False
    probes: int = 0
    candidates: int = 0

    @property
    def is_duplicate(self) -> bool:
        """True for `near_duplicate` and `exact_duplicate`."""
        return self.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "kind": str(self.kind), "is_duplicate": self.is_duplicate}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the verdict of which `as_dict` gave these values."""
        given = {each.name: values[each.name] for each in fields(cls)}
        return cls(**{**given, "kind": Kind(given["kind"])})


@dataclass(frozen=True, slots=True)
class Match:
    """One remembered page that resembles the page asked about; `url` is empty where the index does not hold it."""

    url: str
    similarity: float
    hamming: int
    exact: bool
    seen_at: int
    copies: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON. `seen_at` is in seconds since 1970 (UTC)."""
        return asdict(self)


def describe(verdict: Verdict, *, unnamed: str = "an unknown page") -> str:
    """Return what a page is, in words that are safe to show. `unnamed` stands for an original without URL."""
    original = printable(verdict.original or unnamed)
    match verdict.kind:
        case Kind.EXACT_DUPLICATE:
            return f"exact duplicate of {original}"
        case Kind.NEAR_DUPLICATE:
            return f"near duplicate ({verdict.similarity or 0:.3f}) of {original}"
        case Kind.REVISIT:
            return "known, with other text" if verdict.changed else "known and unchanged"
        case Kind.NEW | Kind.THIN:
            return str(verdict.kind)
