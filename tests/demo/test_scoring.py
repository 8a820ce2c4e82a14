"""A crawl against the manifest, page by page."""

from __future__ import annotations

from crawldedup.demo.crawl import Judged
from crawldedup.demo.scoring import clusters_of, score
from crawldedup.demo.site import Entry

ENTRIES = {
    "a": Entry("a", "article", "one", judged=True),
    "b": Entry("b", "print", "one", judged=True),
    "c": Entry("c", "mirror", "one", judged=True),
    "d": Entry("d", "product", "two", judged=True),
    "e": Entry("e", "product", "three", judged=True),
    "t": Entry("t", "thin", "four", judged=False),
    "f": Entry("f", "article", "six", judged=True),
    "z": Entry("z", "article", "five", judged=True),
}


def judged(url: str, kind: str = "new", original: str | None = None) -> Judged:
    dropped = kind.endswith("duplicate")
    return Judged(url, kind, original, 0.95 if dropped else None, dropped, 100, "utf-8", is_html=True)


def test_each_page_counts_once_in_the_order_of_judgement() -> None:
    result = score(
        [
            judged("a"),
            judged("b", "near_duplicate", "a"),
            judged("a", "revisit", "a"),
            judged("c"),
            judged("d"),
            judged("e", "near_duplicate", "d"),
            judged("t", "exact_duplicate", "a"),
            judged("elsewhere", "near_duplicate", "a"),
        ],
        ["a", "c", "d", "f", "elsewhere"],
        ENTRIES.get,
        ENTRIES.values(),
    )
    assert (result.found, result.right, result.unscored, result.unjudged) == (1, 2, 1, 1)
    assert (result.missed, result.wrong, result.not_reached) == (("c",), ("e",), ("z",))
    assert (result.precision, result.recall) == (0.5, 0.5)


def test_the_first_of_a_cluster_is_the_original_whatever_its_kind() -> None:
    result = score([judged("b"), judged("a", "near_duplicate", "b")], [], ENTRIES.get, [])
    assert (result.found, result.right) == (1, 1)


def test_a_copy_of_a_page_that_was_dropped_by_mistake_is_no_duplicate() -> None:
    pages = [judged("d"), judged("a", "near_duplicate", "d"), judged("b")]
    result = score(pages, [], ENTRIES.get, [])
    assert (result.wrong, result.missed, result.right) == (("a",), (), 2)


def test_nothing_judged_gives_no_shares() -> None:
    result = score([], [], ENTRIES.get, [])
    assert result.precision is None
    assert result.recall is None


def test_clusters_come_largest_first_with_their_members() -> None:
    clusters = clusters_of(
        [
            judged("d"),
            judged("e", "near_duplicate", "d"),
            judged("a"),
            judged("b", "exact_duplicate", "a"),
            judged("a", "revisit", "a"),
            judged("c", "near_duplicate", "a"),
        ]
    )
    assert [(cluster.original, [m.url for m in cluster.members]) for cluster in clusters] == [
        ("a", ["b", "c"]),
        ("d", ["e"]),
    ]
