"""Compares a crawl with the manifest of the demo site, and sorts its duplicates into clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.demo.result import Cluster, ManifestScore, Member
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawldedup.demo.crawl import Judged
    from crawldedup.demo.site import Entry


def score(
    judged: Sequence[Judged],
    kept_urls: Iterable[str],
    entry_of: Callable[[str], Entry | None],
    expected: Iterable[Entry],
) -> ManifestScore:
    """Go through the pages in the order of judgement; see `ManifestScore` for what counts as what.

    `kept_urls` are the pages that reached the spider, `expected` those that a whole crawl would reach.

    A revisit is the same page under the same canonical URL, not a copy, and is not scored.
    """
    kept_clusters: set[str] = set()
    seen: set[str] = set()
    found = right = unscored = 0
    missed: list[str] = []
    wrong: list[str] = []
    for page in judged:
        entry = entry_of(page.url)
        if entry is None:
            continue
        seen.add(entry.path)
        if page.kind == Kind.REVISIT:
            continue
        is_duplicate = entry.cluster in kept_clusters
        if not entry.judged:
            unscored += 1
        elif page.dropped and is_duplicate:
            found += 1
        elif page.dropped:
            wrong.append(page.url)
        elif is_duplicate:
            missed.append(page.url)
        else:
            right += 1
        if not page.dropped:
            kept_clusters.add(entry.cluster)
    passed = {entry.path for url in kept_urls if (entry := entry_of(url)) is not None and entry.judged}
    return ManifestScore(
        found=found,
        right=right,
        unscored=unscored,
        unjudged=len(passed - seen),
        missed=tuple(missed),
        wrong=tuple(wrong),
        not_reached=tuple(entry.path for entry in expected if entry.judged and entry.path not in seen | passed),
    )


def clusters_of(judged: Iterable[Judged]) -> tuple[Cluster, ...]:
    """The duplicates by original, largest cluster first."""
    members: dict[str, list[Member]] = {}
    for page in judged:
        if page.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE) and page.original is not None:
            member = Member(page.url, page.kind, page.similarity, page.dropped)
            members.setdefault(page.original, []).append(member)
    clusters = [Cluster(original, tuple(copies)) for original, copies in members.items()]
    return tuple(sorted(clusters, key=lambda cluster: -len(cluster.members)))
