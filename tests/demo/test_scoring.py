"""A crawl against the manifest and against the exact similarities, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crawldedup.demo.crawl import Judged
from crawldedup.demo.run import clusters_of
from crawldedup.demo.scoring import against_manifest, against_texts, document_of
from crawldedup.demo.server import NOT_FOUND
from crawldedup.demo.site import SitePage
from crawldedup.evaluation import Document
from crawldedup.options import Options
from crawldedup.reader import PageReader
from tests.evaluation.fakes import numbered_words, product_page

if TYPE_CHECKING:
    from crawldedup.evaluation import Trial

PAGES = {
    "a": SitePage(NOT_FOUND, "article", "one"),
    "b": SitePage(NOT_FOUND, "print", "one"),
    "c": SitePage(NOT_FOUND, "mirror", "one"),
    "d": SitePage(NOT_FOUND, "product", "two"),
    "e": SitePage(NOT_FOUND, "product", "three"),
    "t": SitePage(NOT_FOUND, "thin", "four", judged=False),
    "u": SitePage(NOT_FOUND, "print", "four"),
}


def judged(url: str, kind: str = "new", original: str | None = None) -> Judged:
    dropped = kind.endswith("duplicate")
    return Judged(url, kind, original, 0.95 if dropped else None, dropped, 100, "utf-8", is_html=True)


def urls_of(trial: Trial) -> tuple[list[str], list[str]]:
    """Return the pages that were missed and those that were dropped wrongly."""
    return [mistake.url for mistake in trial.missed], [mistake.url for mistake in trial.wrong]


def test_each_page_counts_once_in_the_order_of_judgement() -> None:
    crawl = [
        judged("a"),
        judged("b", "near_duplicate", "a"),
        judged("c"),
        judged("d"),
        judged("e", "near_duplicate", "d"),
        judged("t", "exact_duplicate", "a"),
        judged("elsewhere", "near_duplicate", "a"),
    ]
    trial = against_manifest(crawl, PAGES.get)
    assert (trial.found.flagged, trial.found.pages, trial.thin.pages) == (1, 2, 1)
    assert sum(band.counts.pages for band in trial.bands) == 5
    assert urls_of(trial) == (["c"], ["e"])
    assert (trial.precision, trial.recall) == (0.5, 0.5)


def test_the_first_of_a_cluster_is_the_original_whatever_its_kind() -> None:
    trial = against_manifest([judged("b"), judged("a", "near_duplicate", "b")], PAGES.get)
    assert (trial.found.flagged, trial.found.pages, urls_of(trial)) == (1, 1, ([], []))


def test_a_copy_of_a_page_that_was_dropped_by_mistake_is_no_duplicate() -> None:
    trial = against_manifest([judged("d"), judged("a", "near_duplicate", "d"), judged("b")], PAGES.get)
    assert (trial.found.pages, urls_of(trial)) == (0, ([], ["a"]))


def test_a_copy_of_a_page_that_may_be_either_is_a_duplicate_if_that_was_kept() -> None:
    trial = against_manifest([judged("t"), judged("u", "near_duplicate", "t")], PAGES.get)
    assert (trial.found.flagged, trial.found.pages) == (1, 1)


def test_nothing_judged_gives_no_shares() -> None:
    for trial in (against_manifest([], PAGES.get), against_texts([], [], 0.9)):
        assert trial.precision is None
        assert trial.recall is None


def test_texts_are_compared_by_band() -> None:
    text = " ".join(f"w{n}" for n in range(102))
    shorter = " ".join(f"w{n}" for n in range(98))  # .96
    half = " ".join(f"w{n}" for n in range(77))  # .75
    other = " ".join(f"v{n}" for n in range(30))
    crawl = [
        (judged("1"), text),
        (judged("2", "exact_duplicate", "1"), text),
        (judged("3"), shorter),
        (judged("4", "near_duplicate", "1"), half),
        (judged("5", "near_duplicate", "1"), other),
        (judged("6"), ""),
        (judged("7", "exact_duplicate", "1"), "few words"),
    ]
    trial = against_texts(
        [page for page, _ in crawl], [Document(page.url, text) for page, text in crawl], similarity=0.9
    )
    assert {
        (band.low, band.high): (band.counts.pages, band.counts.flagged) for band in trial.bands if band.counts.pages
    } == {
        (0.0, 0.5): (2, 1),
        (0.7, 0.8): (1, 1),
        (0.95, 0.98): (1, 0),
        (1.0, 1.0): (1, 1),
    }
    assert (trial.recall, trial.precision) == (1 / 2, pytest.approx(1 / 3))
    assert (trial.thin.pages, trial.thin.flagged) == (1, 1)
    assert urls_of(trial) == (["3"], ["4", "5"])


def test_products_that_the_crawl_kept_apart_are_not_missed() -> None:
    reader, text = PageReader(Options()), numbered_words(0, 150)
    prices = {"1": "19.90", "2": "24.90", "3": "19.90"}
    documents = [
        document_of(url, product_page("Lamp", price, text).encode(), "utf-8", reader) for url, price in prices.items()
    ]
    crawl = [judged("1"), judged("2"), judged("3", "exact_duplicate", "1")]
    trial = against_texts(crawl, documents, similarity=0.9)
    assert trial.apart is not None
    assert [page.url for page in trial.apart] == ["2"]
    assert (trial.recall, urls_of(trial)) == (1.0, ([], []))


@pytest.mark.parametrize(("body", "is_html"), [(b"", True), (b" ", False)])
def test_a_page_that_cannot_be_read_has_no_text(body: bytes, is_html: bool) -> None:
    assert document_of("/", body, None, PageReader(Options()), is_html=is_html) == Document("/", "")


def test_a_text_is_read_without_facts() -> None:
    assert document_of("/", b" caf\xc3\xa9 ", "utf-8", PageReader(Options()), is_html=False) == Document("/", "café")


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
    assert [(original, [member.url for member in members]) for original, members in clusters.items()] == [
        ("a", ["b", "c"]),
        ("d", ["e"]),
    ]
