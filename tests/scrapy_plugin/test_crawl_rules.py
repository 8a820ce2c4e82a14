"""Real crawls under every rule that users set: in every mode, and with every kind of store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.scrapy_plugin.conftest import in_every_mode, with_every_lasting_store, with_every_store
from tests.scrapy_plugin.crawling import MODES
from tests.scrapy_plugin.website import Site, article

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scrapy_plugin.conftest import Crawler

WORDS = article(1)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/a": WORDS,
            "/a-copy": WORDS,
            "/a-near": article(1, changed_words=2),
            "/a-print": article(1, changed_words=10, head="<link rel=canonical href=/a>"),
            "/b": article(2),
            "/b-print": article(2, changed_words=100, head="<link rel=canonical href=/a>"),
            "/c": article(3),
        }
    ) as running:
        yield running


@with_every_store
def test_a_dropped_page_is_told_to_all_who_ask(site: Site, crawl: Crawler, store: str) -> None:
    result = crawl(site, ["/a", "/a-near", "/a-copy"], follow={"/a-near": "/b"}, CRAWLDEDUP_STORE=store)
    # No callback, no links followed, no items.
    assert result.passed == result.items == ["/a"]
    near, copy = result.failed
    assert near[0] == "/a-near"
    assert re.fullmatch(r"near duplicate \(0\.9\d\d\) of /a", near[1])
    assert copy == ["/a-copy", "exact duplicate of /a"]
    assert result.report["signals"] == [
        ["/a", "new", False],
        ["/a-near", "near_duplicate", True],
        ["/a-copy", "exact_duplicate", True],
    ]
    assert result.report["duplicates"] == [["/a-near", "/a", True], ["/a-copy", "/a", True]]
    assert result.counts == {"checked": 3, "new": 1, "duplicate/near": 1, "duplicate/exact": 1, "dropped": 2}
    dropped = [line for line in result.log.splitlines() if "crawldedup: dropped " in line]
    assert len(dropped) == 2
    assert f"DEBUG: crawldedup: dropped {site.url}/a-copy: exact duplicate of {site.url}/a" in dropped[1]
    assert "INFO: crawldedup checked 3 pages: 1 new, 1 near and 1 exact duplicates (2 dropped)" in result.log
    assert result.errors == []


@in_every_mode
def test_links_of_a_duplicate_are_followed_without_its_items(site: Site, crawl: Crawler, store: str) -> None:
    result = crawl(
        site,
        ["/a", "/a-near"],
        follow={"/a-near": "/b"},
        CRAWLDEDUP_ACTION="drop-items",
        CRAWLDEDUP_STORE=store,
    )
    assert result.passed == ["/a", "/a-near", "/b"]
    assert result.items == ["/a", "/b"]
    assert (result.counts["items_dropped"], result.counts.get("dropped", 0)) == (1, 0)


@in_every_mode
def test_marked_duplicates_come_with_their_verdicts(site: Site, crawl: Crawler, store: str) -> None:
    pages = ["/a", "/a-near", "/a-copy", {"url": "/b", "meta": {"crawldedup": False}}]
    result = crawl(site, pages, CRAWLDEDUP_ACTION="mark", CRAWLDEDUP_STORE=store)
    assert result.passed == ["/a", "/a-near", "/a-copy", "/b"]
    assert result.report["flags"] == [
        ["/a-near", ["crawldedup:near_duplicate"]],
        ["/a-copy", ["crawldedup:exact_duplicate"]],
    ]
    assert [[item["dedup_kind"], item["dedup_original"]] for item in result.report["items"]] == [
        ["new", None],
        ["near_duplicate", "/a"],
        ["exact_duplicate", "/a"],
        [None, None],
    ]
    assert "dropped" not in result.counts


@in_every_mode
def test_one_page_can_have_rules_of_its_own(site: Site, crawl: Crawler, store: str) -> None:
    def with_rules(page: str, **rules: object) -> dict[str, object]:
        return {"url": page, "meta": {"crawldedup": rules}}

    pages = [
        "/a",
        with_rules("/a-near?marked", action="mark"),
        with_rules("/a-near?strict", similarity=1),
        with_rules("/a-copy?several", keep_per_cluster=9),
        {"url": "/a-copy?off", "meta": {"crawldedup": False}},
        with_rules("/c", similarty=1),
        with_rules("/b", remember=False),
        "/b?again",
        "/b?copy",
    ]
    result = crawl(site, pages, CRAWLDEDUP_STORE=store)
    passed = ["/a", "/a-near?marked", "/a-near?strict", "/a-copy?several", "/a-copy?off", "/c", "/b", "/b?again"]
    assert result.passed == passed
    # A page that is not remembered has no copies.
    assert result.report["duplicates"][-1] == ["/b?copy", "/b?again", True]
    assert result.counts["skipped/disabled"] == result.counts["error/meta"] == 1
    assert "unknown key 'similarty'" in result.log


@in_every_mode
def test_a_spider_has_rules_of_its_own(site: Site, crawl: Crawler, store: str) -> None:
    rules = {"CRAWLDEDUP_ACTION": "mark", "CRAWLDEDUP_SIMILARITY": 1}
    result = crawl(
        site, ["/a", "/a-near", "/a-copy"], custom_settings=rules, CRAWLDEDUP_ACTION="drop", CRAWLDEDUP_STORE=store
    )
    assert result.report["flags"] == [["/a-copy", ["crawldedup:exact_duplicate"]]]


@in_every_mode
def test_pages_are_compared_with_those_of_their_scope(site: Site, crawl: Crawler, store: str) -> None:
    # The loopback has two names, which makes two sites of one.
    elsewhere = site.url.replace("127.0.0.1", "localhost")

    def kinds(scope: str) -> list[str]:
        pages = ["/a", f"{elsewhere}/a-near", "/a-copy"]
        settings = {"CRAWLDEDUP_SCOPE": scope, "CRAWLDEDUP_NAMESPACE": scope, "CRAWLDEDUP_STORE": store}
        # Pages of different hosts may overtake each other.
        judged = {page: kind for page, kind, _ in crawl(site, pages, **settings).report["signals"]}
        return [judged[page] for page in pages]

    assert kinds("global") == ["new", "near_duplicate", "exact_duplicate"]
    assert kinds("site") == ["new", "new", "exact_duplicate"]
    assert kinds("spider") == ["new", "near_duplicate", "exact_duplicate"]


@with_every_lasting_store
def test_spiders_that_share_an_index_can_be_told_apart(site: Site, crawl: Crawler, lasting_store: str) -> None:
    def passed(spider: str, scope: str, page: str) -> list[str]:
        options = {"CRAWLDEDUP_SCOPE": scope, "CRAWLDEDUP_NAMESPACE": scope, "CRAWLDEDUP_STORE": lasting_store}
        return crawl(site, [page], spider=spider, **options).passed

    for scope, of_other in (("global", []), ("spider", ["/a-near"])):
        assert passed("one", scope, "/a") == ["/a"]
        assert passed("other", scope, "/a-near") == of_other
        assert passed("one", scope, "/a-copy") == []


@with_every_store
def test_a_page_that_names_its_original_is_compared_with_it(site: Site, crawl: Crawler, store: str) -> None:
    usual = {"url": "/a-print?usual", "meta": {"crawldedup": {"canonical": "ignore"}}}
    pages = ["/a", "/a-print?compared", "/b-print", usual]
    result = crawl(site, pages, CRAWLDEDUP_STORE=store)
    # Naming a page that it does not resemble makes no page a copy, nor is one that resembles it little without.
    assert result.passed == ["/a", "/b-print", "/a-print?usual"]
    assert result.report["duplicates"] == [["/a-print?compared", "/a", True]]


@with_every_lasting_store
def test_a_crawl_can_change_nothing(site: Site, crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store}
    assert crawl(site, ["/a"], **settings).passed == ["/a"]
    for _ in range(2):
        looked = crawl(site, ["/a-near", "/b", "/b?copy", "/a-print"], CRAWLDEDUP_REMEMBER=False, **settings)
        assert looked.passed == ["/b", "/b?copy"]
        assert looked.counts == {"checked": 4, "new": 2, "duplicate/near": 2, "dropped": 2}


@pytest.mark.parametrize(
    ("crawling", "lasting_store", "action", "passed", "items"),
    [
        (min(MODES), "sqlite", "drop", "bc", "bc"),
        (max(MODES), "redis", "drop-items", "abcd", "bcd"),
        (max(MODES), "sqlite", "mark", "abcd", "abcd"),
    ],
    indirect=["crawling", "lasting_store"],
)
def test_a_crawl_can_leave_out_what_is_unchanged_since_the_last_one(
    crawl: Crawler, lasting_store: str, action: str, passed: str, items: str
) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop", "CRAWLDEDUP_ACTION": action}
    with Site({"/a": WORDS, "/b": article(2)}) as site:
        # What this crawl has let pass may be asked for again.
        assert crawl(site, ["/a", "/b"], again=["/b"], **settings).items == ["/a", "/b", "/b"]
        site.pages |= {"/b": article(3), "/c": article(4), "/d": article(5)}
        kept = {"url": "/a", "meta": {"crawldedup": {"revisit": "keep"}}}
        second = crawl(site, ["/a", "/b", "/c"], follow={"/a": "/d"}, **settings)
        assert sorted(second.passed) == [f"/{name}" for name in passed]
        assert sorted(second.items) == [f"/{name}" for name in items]
        assert second.report["flags"] == ([["/a", ["crawldedup:unchanged"]]] if action == "mark" else [])
        assert second.failed == ([["/a", "known and unchanged"]] if action == "drop" else [])
        assert (second.counts["changed"], second.counts["unchanged"]) == (1, 1)
        dropped = {"drop": ", 1 dropped", "drop-items": ", items of 1 dropped", "mark": ""}[action]
        assert f"revisits (1 changed, 1 unchanged{dropped})" in second.log
        # The index has the new text of /b, and no longer the old one.
        site.pages |= {"/b-old": article(2), "/b-new": article(3)}
        third = crawl(site, [kept, "/b-old", "/b-new"], **{**settings, "CRAWLDEDUP_ACTION": "drop"})
        assert third.passed == ["/a", "/b-old"]
        assert third.report["duplicates"] == [["/b-new", "/b", True]]


@pytest.mark.nightly
@with_every_lasting_store
def test_a_counter_in_the_text_brings_no_page_again_but_slow_drift_does(crawl: Crawler, lasting_store: str) -> None:
    settings = {
        "CRAWLDEDUP_STORE": lasting_store,
        "CRAWLDEDUP_REVISIT": "drop",
        "CRAWLDEDUP_REVISIT_SIMILARITY": 0.9,
        "CRAWLDEDUP_EXTRACTOR": "text",
    }
    with Site({"/a": WORDS}) as site:
        assert crawl(site, ["/a"], **settings).passed == ["/a"]
        passed = dropped = 0
        # Each text is much like the one before it, and the last is quite another than the first.
        for changed in range(1, 40, 3):
            site.pages["/a"] = article(1, changed_words=changed)
            # One that this crawl delivers is delivered again, and no other.
            result = crawl(site, ["/a"], again=["/a"], **settings)
            assert len(result.passed) == 2 * result.counts.get("changed", 0)
            assert all(words.startswith("known and hardly changed (0.") for _, words in result.failed)
            passed += bool(result.passed)
            dropped += len(result.failed)
        assert 2 <= passed <= 6
        assert dropped == 13 - passed


@with_every_lasting_store
def test_a_page_whose_callback_failed_is_seen_again(site: Site, crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop"}
    broken = {"url": "/a", "callback": "broken"}
    for pages, passed in (([broken], ["/a"]), (["/a", "/b"], ["/a", "/b"]), (["/a", "/b"], [])):
        assert crawl(site, pages, **settings).passed == passed
