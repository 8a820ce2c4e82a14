"""What is done with all pages of an index: copy them to another, and find its largest clusters."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawldedup.stores.base import Record

    OnRecords = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class CopyResult:
    """Tells what `Deduplicator.copy_to` did.

    Attributes:
        pages: How many pages were read.
        added: How many of them were not known to the other index.
    """

    pages: int
    added: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """Describes a remembered page and its duplicates.

    Attributes:
        url: The URL of the page; empty if the index holds none.
        copies: How many duplicates of the page were seen, from 1.
        added_at: When the page was added, in whole seconds since 1970 (UTC).
        seen_at: When the page was seen last, in whole seconds since 1970 (UTC).
    """

    url: str
    copies: int
    added_at: int
    seen_at: int


def copied(
    batches: Iterable[Sequence[Record]], load: Callable[[Sequence[Record]], int], on_records: OnRecords
) -> CopyResult:
    """Load records elsewhere. `on_records` is called with the records copied so far."""
    pages = added = 0
    for records in batches:
        added += load(records)
        pages += len(records)
        on_records(pages)
    return CopyResult(pages, added)


def largest_clusters(batches: Iterable[Sequence[Record]], most: int, on_records: OnRecords) -> list[Cluster]:
    """Return the clusters of most copies, these first. `on_records` is called with the records looked at so far."""
    looked_at = 0
    largest: list[Cluster] = []
    for records in batches:
        found = (Cluster(each.url, each.copies, each.added_at, each.seen_at) for each in records if each.copies)
        largest = nlargest(most, (*largest, *found), key=lambda cluster: cluster.copies)
        looked_at += len(records)
        on_records(looked_at)
    return largest
