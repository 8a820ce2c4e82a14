"""What a demo crawl found: values, ready for a table or for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Band:
    """Pages by the similarity of their best earlier kept page: from `low` to below `high`; both 1: equal."""

    low: float
    high: float
    pages: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Truth:
    """The crawl against the exact similarity of the texts.

    `duplicates` are the pages whose best earlier kept page reaches `similarity`; `dropped_similar` counts the
    dropped pages whose best is at most `tolerance` below it, the zone in which an estimate may err. `missed`
    and `wrong` are the URLs of duplicates that were kept, and of pages dropped from below that zone.
    """

    similarity: float
    tolerance: float
    pages: int
    pages_without_text: int
    duplicates: int
    dropped: int
    dropped_duplicates: int
    dropped_similar: int
    bands: tuple[Band, ...]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def recall(self) -> float | None:
        """Of the duplicates, the share that was dropped; None if there are none."""
        return _share(self.dropped_duplicates, self.duplicates)

    @property
    def precision(self) -> float | None:
        """Of the dropped pages, the share that are duplicates; None if none was dropped."""
        return _share(self.dropped_duplicates, self.dropped)

    @property
    def precision_with_tolerance(self) -> float | None:
        """Of the dropped pages, the share that are duplicates or at most `tolerance` less similar."""
        return _share(self.dropped_similar, self.dropped)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            **asdict(self),
            "recall": self.recall,
            "precision": self.precision,
            "precision_with_tolerance": self.precision_with_tolerance,
        }


@dataclass(frozen=True, slots=True)
class ManifestScore:
    """The crawl against what the site's author says, page by page, in the order of judgement.

    A page is a duplicate if a page of its cluster was kept before it. Of the pages that count: `found` are
    duplicates that were dropped, `missed` duplicates that were kept, `wrong` pages dropped though nothing of
    their cluster had been kept, `right` the others that were kept. `unscored` pages may be either; `unjudged`
    ones reached the spider without a verdict, after an error.
    """

    found: int
    right: int
    unscored: int
    unjudged: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    not_reached: tuple[str, ...]

    @property
    def recall(self) -> float | None:
        """Of the duplicates, the share that was dropped."""
        return _share(self.found, self.found + len(self.missed))

    @property
    def precision(self) -> float | None:
        """Of the dropped pages, the share that were duplicates."""
        return _share(self.found, self.found + len(self.wrong))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "recall": self.recall, "precision": self.precision}


@dataclass(frozen=True, slots=True)
class Member:
    """A duplicate in a cluster: `similarity` is the filter's estimate."""

    url: str
    verdict: str
    similarity: float | None
    dropped: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """An original and the duplicates that were recognised of it."""

    original: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a crawl asked of the network, and how many pages reached the spider."""

    requests: int
    pages: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DemoResult:
    """All of a demo crawl.

    `dropped_bytes` are the bodies of dropped pages: they were downloaded, but nothing behind the filter had
    to process or store them. `without` is the same crawl with the filter switched off, if it was run: the
    difference to `traffic` is what the filter saved, measured and not guessed. `log` holds the last warnings
    of the crawl, if there were any.
    """

    site: str
    pages_fetched: int
    pages_kept: int
    dropped_near: int
    dropped_exact: int
    dropped_bytes: int
    verdicts: dict[str, int]
    skipped: dict[str, int]
    errors: dict[str, int]
    traffic: Traffic
    finish_reason: str
    clusters: tuple[Cluster, ...]
    without: Traffic | None = None
    manifest: ManifestScore | None = None
    truth: Truth | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    log: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            **asdict(self),
            "manifest": self.manifest.as_dict() if self.manifest else None,
            "truth": self.truth.as_dict() if self.truth else None,
        }
