"""Real crawls that learn: copies are not downloaded, no content is lost, and a rule that is wrong does not last."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator
from crawldedup.advice.kept import NOTE, KeptRules
from crawldedup.advice.rules import Rule
from crawldedup.cli import main
from tests.scrapy_plugin.conftest import in_one_mode, in_redis_first
from tests.scrapy_plugin.website import Answer, Site, article

if TYPE_CHECKING:
    from pathlib import Path

    from tests.scrapy_plugin.conftest import Crawler

VARIANTS = ("?sid=0a1b2c3d", "?sid=1b2c3d4e", "?utm_source=a&utm_medium=b", "")


def page(path: str, **others: Any) -> dict[str, Any]:
    # What is not to be filtered is never skipped, and that are the pages of this spider otherwise.
    return {"url": path, "dont_filter": False, **others}


def numbered(folder: str, count: int, first: int = 0) -> dict[str, Answer]:
    return {f"/{folder}/{number}": article(first + number, words=120) for number in range(count)}


def index(folder: Path) -> str:
    return f"sqlite:///{folder}/rules.sqlite"


def kept(store: str, rules: KeptRules | None = None) -> KeptRules:
    """The rules that the index of a crawl keeps, those that are given before."""
    with closing(Deduplicator(store, extractor="text")) as dedup:
        return KeptRules.from_text(dedup.note(NOTE, rules and rules.to_text()))


def learned(site: Site) -> KeptRules:
    """A rule of an earlier crawl: pages below /b/ are copies of those below /a/."""
    return KeptRules((Rule("prefix", site.url, "/b/", "/a/", support=50, targets=1.0),))


@in_one_mode
@in_redis_first
def test_copies_are_not_downloaded_and_no_content_is_lost(crawl: Crawler, lasting_store: str) -> None:
    stories = numbered("news", 60)
    # Copies without a session are better on the site that the crawl starts on.
    start = page("/start", meta={"is_start_request": True})
    pages = [start, *(page(path + variant) for path in stories for variant in VARIANTS)]
    copies = (len(VARIANTS) - 1) * len(stories)
    saved = []
    with Site({**stories, "/start": article(999)}) as site:
        for _ in range(2):
            site.asked.clear()
            result = crawl(site, pages, CRAWLDEDUP_LEARN=True, CRAWLDEDUP_STORE=lasting_store)
            assert {path.split("?")[0] for path in result.items} == {"/start", *stories}
            assert result.errors == []
            saved.append(len(pages) - site.asked.total())
        found = {(rule.what, rule.section) for rule in kept(lasting_store).rules}
    assert found == {("?sid", "/news/"), ("?utm_medium&utm_source", "/news/")}
    # The first learns from more than a hundred pages.
    assert saved[0] > 0.2 * copies
    assert saved[1] >= 0.8 * copies
    assert result.counts["learn/rules"] == 2
    assert result.counts["learn/skipped"] >= saved[1]
    assert result.counts["learn/sampled"] >= 3
    assert "learn/withdrawn" not in result.counts


@in_one_mode
@pytest.mark.parametrize("comes_again", [True, False])
def test_of_a_page_that_an_earlier_crawl_delivered_its_own_url_is_fetched_and_one_copy(
    crawl: Crawler, tmp_path: Path, comes_again: bool
) -> None:
    """Each link has an id of its own, and it is chance which one the first crawl has come by."""
    stories, settings = numbered("news", 20), {"CRAWLDEDUP_LEARN": True, "CRAWLDEDUP_STORE": index(tmp_path)}
    known = [f"{path}?sid=first" for path in stories]
    with Site(stories) as site:
        sid = Rule("query", site.url, "sid", section="/news/", support=50)
        kept(index(tmp_path), KeptRules((sid,)))
        assert {*crawl(site, [*map(page, known)], **settings).items} == {*known}
        site.asked.clear()
        others = [f"{path}?sid={number}" for number in range(5) for path in stories]
        result = crawl(site, [*map(page, others + known * comes_again)], **settings)
        assert {*result.items} == {*known[: len(known) * comes_again]}
        assert {path.split("?")[0] for path in site.asked} == {*stories}
        # Some are samples.
        assert site.asked.total() <= len(stories) * (1 + comes_again) + 5


@pytest.mark.exhaustive
@in_one_mode
def test_what_speaks_against_a_rule_at_the_end_of_a_crawl_counts(crawl: Crawler, tmp_path: Path) -> None:
    stories = numbered("a", 50)
    copies = {path.replace("/a/", "/b/"): answer for path, answer in stories.items()}
    # Each of these is linked from a copy alone, and comes when the rule is learned.
    hidden = numbered("only", 10, first=500)
    follow = {f"/b/{number}": f"/only/{number}" for number in range(10)}
    settings = {"CRAWLDEDUP_LEARN": True, "CRAWLDEDUP_STORE": index(tmp_path), "CRAWLDEDUP_ACTION": "drop-items"}
    settings |= {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue", "DEPTH_PRIORITY": 1}
    start = page("/start", meta={"is_start_request": True})
    with Site({**stories, **copies, **hidden, "/start": article(999)}) as site:
        for _ in range(2):
            result = crawl(site, [start, *map(page, stories), *map(page, copies)], follow=follow, **settings)
            assert {*hidden} <= {*result.items}
            assert kept(index(tmp_path)).rules == ()


FAILURES = {
    "not found": Answer(b"gone", 404),
    "down": Answer(b"down", 503),
    "broken off": article(999)._replace(missing_bytes=9),
    "no page": Answer(b"{}", content_type="application/json"),
    "wall": article(999),
    "redirected to a wall": Answer(b"", 302, headers={"Location": "/a/wall"}),
}


@in_one_mode
@pytest.mark.parametrize("failure", FAILURES)
def test_a_copy_is_fetched_if_its_target_fails(crawl: Crawler, tmp_path: Path, failure: str) -> None:
    """Of some stories the target is there, so that the rule is not to be given up at once."""
    copies = numbered("b", 30)
    targets = {f"/a/{n}": copies[f"/b/{n}"] if n < 20 else FAILURES[failure] for n in range(30)}
    with Site({**copies, **targets, "/a/wall": article(999), **numbered("later", 9, 500)}) as site:
        kept(index(tmp_path), learned(site))
        pages = [page("/a/wall"), *map(page, copies), *map(page, numbered("later", 9))]
        result = crawl(site, pages, CRAWLDEDUP_LEARN=True, CRAWLDEDUP_STORE=index(tmp_path))
        # A wall has another text than the copies, which speaks against the rule in the end.
        assert site.asked["/b/15"] == (failure == "wall")
    stories = [path for path in result.items if path.startswith(("/a/", "/b/")) and path != "/a/wall"]
    assert {int(path[3:]) for path in stories} >= {*range(30)}
    # At once, and not when there is nothing else to do.
    assert {*result.items[-3:]} == {"/later/6", "/later/7", "/later/8"}
    assert result.report["stats"]["finish_reason"] == "finished"


@in_one_mode
def test_a_rule_that_proves_wrong_is_withdrawn_and_what_it_skipped_is_fetched(crawl: Crawler, tmp_path: Path) -> None:
    # The first thirty are copies indeed.
    copies = {**numbered("b", 30), **{f"/b/{n}": article(1000 + n, words=120) for n in range(30, 80)}}
    with Site({**numbered("a", 80), **copies}) as site:
        store = index(tmp_path)
        kept(store, learned(site))
        pages = [*map(page, numbered("a", 80)), *map(page, copies)]
        result = crawl(site, pages, CRAWLDEDUP_LEARN=True, CRAWLDEDUP_STORE=store)
        wrong = {f"/b/{n}" for n in range(30, 80)}
        assert wrong <= {*result.items}
        assert result.counts["learn/withdrawn"] == 1
        assert result.counts["learn/rules"] == 0
        assert f": /b/ -> /a/, for {site.url}/b/42 is no copy of {site.url}/a/42\n" in result.log
        assert kept(store).withdrawn[0].id == learned(site).rules[0].id
        assert kept(store).rules == ()


@pytest.mark.exhaustive
@in_one_mode
def test_what_a_crawl_has_withdrawn_is_no_advice(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second crawl knows it from the index alone: its own pages speak for the rule again."""
    copies = {**numbered("b", 60), "/b/1": article(1000, words=120)}
    with Site({**numbered("a", 60), **copies}) as site:
        kept(index(tmp_path), learned(site))
        pages = [*map(page, numbered("a", 60)), *map(page, copies)]
        for name, withdrawn in (("first", 1), ("second", 0)):
            settings = {"CRAWLDEDUP_STORE": index(tmp_path), "CRAWLDEDUP_JOURNAL": str(tmp_path / name)}
            result = crawl(site, pages, CRAWLDEDUP_LEARN=True, **settings)
            assert {*copies} == {path for path, _, _ in result.report["signals"] if path.startswith("/b/")}
            assert result.counts.get("learn/withdrawn", 0) == withdrawn
            assert main(["advise", str(tmp_path / name)]) == 0
            assert capsys.readouterr().out == "not enough pages speak for any rule\n"
            assert main(["report", "--json", str(tmp_path / name)]) == 0
            report = json.loads(capsys.readouterr().out)
            assert (report["advice"], report["crawl"]["left_out"]) == ([], 0)


@in_one_mode
def test_some_requests_are_always_made(crawl: Crawler, tmp_path: Path) -> None:
    copies = numbered("b", 12)
    with Site({**numbered("a", 12), **copies}) as site:
        kept(index(tmp_path), learned(site))
        others = [
            page("/b/8", meta={"is_start_request": True}),
            page("/b/9", meta={"crawldedup": False}),
            page("/b/10", callback="listed"),
            {"url": "/b/11"},
        ]
        pages = [*map(page, numbered("a", 12)), *(page(f"/b/{n}") for n in range(8)), *others]
        result = crawl(site, pages, CRAWLDEDUP_LEARN=True, CRAWLDEDUP_STORE=index(tmp_path))
        # The first three are samples.
        asked = [int(path[3:]) for path in site.asked if path.startswith("/b/")]
        # Another callback makes other items of the same page.
        assert site.asked["/a/10"] == 2
    assert sorted(asked) == [0, 1, 2, 8, 9, 11]
    assert result.counts["learn/skipped"] == 6
    assert [error for path, error in result.failed if path == "/b/5"] == ["PredictedDuplicateError"]


@in_one_mode
@pytest.mark.parametrize("query", ["", pytest.param("?sid=7", marks=pytest.mark.exhaustive)])
def test_a_trap_is_left_for_later(crawl: Crawler, tmp_path: Path, query: str) -> None:
    """Whether or not a rule applies to it."""
    months = {f"/calendar/{n}": article(7, words=120) for n in range(140)}
    with Site({**months, **numbered("news", 20)}) as site:
        kept(index(tmp_path), KeptRules((Rule("query", site.url, "sid"),)))
        pages = [*(page(path + query) for path in months), *map(page, numbered("news", 20))]
        result = crawl(site, pages, CRAWLDEDUP_LEARN=True, CRAWLDEDUP_STORE=index(tmp_path))
        assert site.asked.total() == len(pages)
    order = [path for path, _, _ in result.report["signals"]]
    assert result.counts["learn/postponed"] > 20
    assert order.index("/news/19") < order.index(f"/calendar/139{query}")


@in_one_mode
def test_copies_that_are_wanted_cannot_be_skipped(crawl: Crawler) -> None:
    with Site({}) as site:
        result = crawl(site, ["/1"], CRAWLDEDUP_LEARN=True, CRAWLDEDUP_KEEP_PER_CLUSTER=2)
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
    assert "CRAWLDEDUP_KEEP_PER_CLUSTER" in result.errors[0]


@in_one_mode
def test_nothing_is_learned_unless_it_is_asked_for(crawl: Crawler, tmp_path: Path) -> None:
    with Site({**numbered("a", 9), **numbered("b", 9)}) as site:
        kept(index(tmp_path), learned(site))
        pages = [*map(page, numbered("a", 9)), *map(page, numbered("b", 9))]
        result = crawl(site, pages, CRAWLDEDUP_STORE=index(tmp_path), CRAWLDEDUP_LEARN=False)
        assert site.asked.total() == len(pages)
    assert not [name for name in result.counts if name.startswith("learn/")]
