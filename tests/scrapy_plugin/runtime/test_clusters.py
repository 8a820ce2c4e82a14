from __future__ import annotations

from crawldedup.scrapy_plugin.runtime.clusters import Clusters


def test_clusters_are_counted_by_their_originals_and_measured_by_their_copies() -> None:
    clusters = Clusters()
    assert (clusters.count, clusters.largest) == (0, 0)
    # The index has seen copies of b in earlier crawls.
    for original, copies in (("a", 1), ("b", 7), ("a", 2), ("a", 3), ("c", 1)):
        clusters.add(original, copies)
    assert (clusters.count, clusters.largest) == (3, 3)


def test_beyond_its_bound_it_forgets_small_clusters_and_counts_on() -> None:
    clusters = Clusters(most=10)
    copies = dict.fromkeys(range(1000), 0)
    for number in range(1000):
        for original in (number, number // 2, 0):
            copies[original] += 1
            clusters.add(f"{original}", copies[original])
    assert (clusters.count, clusters.largest) == (1000, copies[0])
    assert len(clusters._copies) <= 10
