"""What a report holds. Every format shows one `Report`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawldedup.report.changes import Comparison
    from crawldedup.report.counts import Counts


NAMELESS = "(no name)"
"""Stands for the empty name of a parameter where it is shown."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a crawl.

    `end` is the reason why it finished. None is recorded while it runs, after it was killed, or without room for it.
    """

    host: str
    pid: int
    started: float
    end: str | None


@dataclass(frozen=True, slots=True)
class Crawl:
    """The crawl. `left_out` counts the lines of its journals that cannot be read."""

    name: str
    spider: str
    started: float
    seconds: float
    version: str
    settings: dict[str, Any]
    processes: tuple[Process, ...]
    left_out: int = 0

    @property
    def has_ended(self) -> bool:
        """True if no process is missing its last line."""
        return all(process.end is not None for process in self.processes)


@dataclass(frozen=True, slots=True)
class Totals:
    """Figures of the whole crawl.

    The bytes and seconds of duplicates are those of their downloads, which knowing them earlier would save. Of the
    revisits, those that were `unwanted` had the text of an earlier crawl, and were not delivered.
    """

    counts: Counts
    clusters: int = 0
    across_sites: int = 0
    replaced: int = 0
    changed: int = 0
    unwanted: int = 0
    abandoned: int = 0
    bytes: int = 0
    duplicate_bytes: int = 0
    duplicate_seconds: float = 0.0
    actions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands out. `level` is "bad", "warn" or "info"; `section` names where more of it is shown."""

    level: str
    text: str
    section: str


@dataclass(frozen=True, slots=True)
class Moment:
    """The responses of one step of time. `known` is how many pages the index held at its end, if that was recorded."""

    seconds: float
    counts: Counts
    known: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """The crawl in steps of `step` seconds; the last one may be shorter, and lasts `last_step`."""

    step: float
    last_step: float
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The pages of a site, of one pattern of paths, or with one parameter in their query.

    `recent` is the share of new pages among the last 100 judged ones, `since_new` the number of judged pages after the
    last new one or revisit; these and `originals`, an estimate of how many pages the copies repeat, are not there for
    parameters. `values` estimates how many values a parameter has. `trap` says what crawlers get lost in there.
    """

    site: str
    name: str
    counts: Counts
    bytes: int = 0
    recent: float | None = None
    since_new: int = 0
    originals: int = 0
    values: int = 0
    trap: str = ""


@dataclass(frozen=True, slots=True)
class Bin:
    """Near duplicates with an estimated similarity from `low` on, below `high`."""

    low: float
    high: float
    pages: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What another similarity would change: near duplicates that would be kept, None if nobody can know."""

    similarity: float
    limit: float
    kept: int | None


@dataclass(frozen=True, slots=True)
class Member:
    """A duplicate, where the crawl met it, and how it differs from its original, if that is known.

    The `action` of a page that was kept until a better copy came is "replaced", and its `original` is that copy.
    """

    url: str
    original: str
    outcome: str
    similarity: float | None
    action: str
    referer: str
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Similarity:
    """The estimated similarities of near duplicates. `limit` is the least that was accepted in this crawl."""

    wanted: float | None
    limit: float | None
    bins: tuple[Bin, ...]
    what_if: tuple[WhatIf, ...]
    least: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A kept page and its duplicates, of which `members` are those least alike to it."""

    kept: str
    near: int
    exact: int
    lowest: float | None
    bytes: int
    members: tuple[Member, ...]

    @property
    def size(self) -> int:
        """How many duplicates there are."""
        return self.near + self.exact


@dataclass(frozen=True, slots=True)
class Reason:
    """Why pages were skipped, or passed unchecked."""

    outcome: str
    reason: str
    status: int | None
    pages: int


@dataclass(frozen=True, slots=True)
class Wall:
    """An original that attracted a great share of the last pages."""

    url: str
    share: float
    window: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure is spread over the pages: its sum, and estimated quantiles."""

    name: str
    total: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True)
class Index:
    """How full the index was, how much work it was to ask it, and what it finds.

    `recall` is the share of pages of exactly the similarity asked for that are expected to be found in an index of this
    size.
    """

    known_before: int | None
    known_after: int | None
    bytes: int | None
    recall: float | None
    work: tuple[Spread, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """A rule about URLs that would have saved downloads."""

    kind: str
    site: str
    what: str
    support: int
    confidence: float
    examples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Saving:
    """How many downloads of the crawl a rule has saved."""

    rule: str
    downloads: int


@dataclass(frozen=True, slots=True)
class Report:
    """All that is shown of a crawl. Lists hold the most important entries only, so that a report stays small.

    `withdrawn` names the rules of `CRAWLDEDUP_RULES` that proved wrong.
    """

    crawl: Crawl
    totals: Totals
    findings: tuple[Finding, ...]
    timeline: Timeline
    stale: tuple[Group, ...]
    sites: tuple[Group, ...]
    patterns: tuple[Group, ...]
    parameters: tuple[Group, ...]
    similarity: Similarity
    clusters: tuple[Cluster, ...]
    reasons: tuple[Reason, ...]
    walls: tuple[Wall, ...]
    index: Index
    times: tuple[Spread, ...]
    stats: dict[str, float | str]
    comparison: Comparison | None = None
    advice: tuple[Advice, ...] = ()
    savings: tuple[Saving, ...] = ()
    withdrawn: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"crawldedup_report": 1, **asdict(self)}
