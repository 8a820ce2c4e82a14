"""Real crawls by rules for URLs: copies are not downloaded, no content is lost, and no wrong rule lasts."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from crawldedup.advice.rules import Rule
from crawldedup.cli import main
from tests.scrapy_plugin.conftest import Crawler, nightly
from tests.scrapy_plugin.crawling import QUICK, crawl_apart
from tests.scrapy_plugin.website import Answer, Site, article

SIDS = ("?sid=0a1b2c3d", "?sid=1b2c3d4e", "?sid=2c3d4e5f", "?sid=3d4e5f6a")


def page(path: str, **others: Any) -> dict[str, Any]:
    # What is not to be filtered is never skipped, and that are the pages of this spider otherwise.
    return {"url": path, "dont_filter": False, **others}


def numbered(folder: str, count: int, first: int = 0) -> dict[str, Answer]:
    return {f"/{folder}/{number}": article(first + number, words=120) for number in range(count)}


def with_sids(paths: Any, sids: tuple[str, ...] = ("", *SIDS)) -> list[dict[str, Any]]:
    return [page(path + sid) for path in paths for sid in sids]


def rules_file(folder: Path, *rules: Rule) -> str:
    (folder / "own.json").write_text(json.dumps([rule.as_dict() for rule in rules]))
    return str(folder / "own.json")


def sid(site: Site, *folders: str) -> Rule:
    return Rule("query", site.url, "sid", folders=frozenset(folders or ("/news/",)))


def prefix(site: Site) -> Rule:
    """Pages below /b/ are taken for copies of those below /a/."""
    return Rule("prefix", site.url, "/b/", "/a/", frozenset({"/b/"}))


def texts(paths: list[str]) -> set[str]:
    return {path.partition("?")[0] for path in paths}


def test_copies_are_not_downloaded_and_no_content_is_lost(crawl: Crawler, tmp_path: Path) -> None:
    """With rules that the first crawl has led to, for session ids and print views."""
    stories = numbered("news", 24)
    printed = {path.replace("news", "print"): answer for path, answer in stories.items()}
    pages = [*with_sids(stories), *with_sids(printed)]
    settings = {"CRAWLDEDUP_JOURNAL": str(tmp_path / "journal")}
    with Site({**stories, **printed}) as site:
        first = crawl(site, pages, **settings)
        assert site.asked.total() == len(pages)
        output = str(tmp_path / "rules.json")
        assert main(["advise", str(tmp_path / "journal"), "--output", output]) == 0
        site.asked.clear()
        result = crawl(site, pages, CRAWLDEDUP_RULES=output, **settings)
    assert texts(first.items) == texts(result.items) == {*stories}
    assert result.errors == []
    # The first crawl has confirmed a copy of each story: the second fetches the story and checks, of ten URLs.
    assert len(pages) - site.asked.total() == result.counts["rules/skipped"] > 0.8 * len(pages)
    assert result.counts["rules/checked"] < 0.06 * len(pages)
    assert "rules/withdrawn" not in result.counts
    skipped = [error for _, error in result.failed if error == "PredictedDuplicateError"]
    assert len(skipped) == result.counts["rules/skipped"]


def test_the_next_crawl_fetches_the_url_that_an_earlier_one_has_delivered(crawl: Crawler, tmp_path: Path) -> None:
    """Each link has an id of its own, and it is chance which one the first crawl has come by."""
    stories, store = numbered("news", 20), f"sqlite:///{tmp_path}/index.sqlite"
    known = [f"{path}?sid=first" for path in stories]
    with Site(stories) as site:
        settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, sid(site)), "CRAWLDEDUP_STORE": store}
        assert crawl(site, [*map(page, known)], **settings).items == known
        site.asked.clear()
        others = [f"{path}?sid={number}" for number in range(5) for path in stories]
        result = crawl(site, [*map(page, others + known)], **settings)
        assert {*result.items} == {*known}
        # One copy of each, the known URL, and some checks.
        assert site.asked.total() <= 2 * len(stories) + 6


FAILURES = {
    "not found": Answer(b"gone", 404),
    "down": Answer(b"down", 503),
    "broken off": article(999)._replace(missing_bytes=9),
    "no page": Answer(b"{}", content_type="application/json"),
    "wall": article(999),
    "another text": article(998),
    "redirected to a wall": Answer(b"", 302, headers={"Location": "/wall"}),
}


@pytest.mark.parametrize(
    "failure", [pytest.param(name, marks=[] if name in ("down", "wall") else nightly) for name in FAILURES]
)
def test_copies_are_fetched_if_their_target_fails(crawl: Crawler, tmp_path: Path, failure: str) -> None:
    """Wherever in their order it stands, and although the rule is right at other targets."""
    stories = numbered("news", 30)
    copies = {path + each: answer for path, answer in stories.items() for each in SIDS}
    failing = {f"/news/{number}": FAILURES[failure] for number in range(25, 30)}
    with Site({**stories, **copies, **failing, "/wall": article(999)}) as site:
        asked = with_sids(stories)
        random.Random(1).shuffle(asked)
        result = crawl(site, [page("/wall"), *asked], CRAWLDEDUP_RULES=rules_file(tmp_path, sid(site)))
        assert texts(result.items) >= {*stories}
        assert result.report["stats"]["finish_reason"] == "finished"


@pytest.mark.parametrize("has_room", [True, False])
def test_a_rule_that_proves_wrong_is_left_out_and_what_it_skipped_is_fetched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], has_room: bool
) -> None:
    """The first copies of each page are copies indeed, and none of the later ones."""
    spider = "page_spider.PageSpider" if has_room else "roomless_spider.RoomlessSpider"
    stories = numbered("news", 12)
    later = [f"{path}?sid={number}" for path in stories for number in range(8)]
    with Site(stories) as site:
        for number, url in enumerate(later):
            site.pages[url] = article(5000 + number, words=120)
        settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, sid(site)), "CRAWLDEDUP_JOURNAL": str(tmp_path)}
        pages = [*with_sids(stories), *map(page, later)]
        result = crawl_apart(site, tmp_path, pages, spider_class=spider, **QUICK, **settings)
        assert {*later} <= {*result.items}
        assert texts(result.items) == {*stories}
        assert result.counts["rules/withdrawn"] == 1
        assert site.asked.total() == len(pages)
        assert result.counts["rules/asked_again"] == result.counts["rules/skipped"]
        assert result.counts["rules/skipped"] == 3 or has_room
        assert ("rules/no_room" in result.counts) == (not has_room)
        (warning,) = result.errors
        assert f"leaves out the rule {site.url}: ?sid, for {site.url}/news/" in warning
        assert main(["report", "--json", str(tmp_path)]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["withdrawn"] == [f"{site.url}: ?sid"]
        assert any("URL rule proved wrong" in finding["text"] for finding in report["findings"])
        # Nor is it advice, although most pages speak for it.
        assert f"{site.url}: ?sid" not in [f"{each['site']}: {each['what']}" for each in report["advice"]]


@nightly
def test_no_request_goes_to_another_host_in_place_of_its_own(crawl: Crawler, tmp_path: Path) -> None:
    """Attack H1: a site that has mirrored the first pages of another falsifies later ones."""
    stories = numbered("p", 60)
    with Site(stories) as victim, Site(stories) as evil:
        evil.pages["/p/55"] = article(5555, words=120)
        pages = [page(f"{site.url}/p/{n}") for n in range(40) for site in (victim, evil)]
        settings = {"CRAWLDEDUP_JOURNAL": str(tmp_path / "journal")}
        crawl(victim, pages, **settings)
        output = str(tmp_path / "rules.json")
        assert main(["advise", str(tmp_path / "journal"), "--output", output]) == 0
        assert json.loads(Path(output).read_text()) == []
        # Not even by a file that somebody else has written.
        forged = Rule("host", victim.url, victim.url, evil.url, frozenset({"/p/"}))
        refused = crawl(victim, pages, CRAWLDEDUP_RULES=rules_file(tmp_path, forged))
        assert refused.report["stats"]["finish_reason"] == "crawldedup_error"
        evil.asked.clear()
        victim.asked.clear()
        secret = {"Authorization": "Bearer secret"}
        later = [page(f"{victim.url}/p/{n}", headers=secret) for n in range(60)]
        rules = rules_file(tmp_path, sid(victim, "/p/"))
        result = crawl(victim, later, CRAWLDEDUP_RULES=rules)
        assert evil.asked.total() == 0
        assert {*result.items} == {*stories}


@nightly
def test_folders_that_support_a_rule_say_nothing_of_another(crawl: Crawler, tmp_path: Path) -> None:
    """Attack H2: whoever may publish pages at which a parameter says nothing has others' pages skipped."""
    junk = {**numbered("u", 12), **numbered("v", 12, first=100)}
    stories = {f"/story?ref={n}": article(3000 + n, words=120) for n in range(30)}
    pages = [page(f"{path}?ref={n}") for n in range(12) for path in junk]
    output = str(tmp_path / "rules.json")
    with Site(junk) as site:
        site.pages |= stories
        crawl(site, pages, CRAWLDEDUP_JOURNAL=str(tmp_path / "journal"))
        assert main(["advise", str(tmp_path / "journal"), "--output", output]) == 0
        (rule,) = json.loads(Path(output).read_text())
        assert (rule["what"], rule["folders"]) == ("?ref", ["/u/", "/v/"])
        # And if the attacker publishes in the same folder, before the rules were made:
        wide = Rule("query", site.url, "ref", folders=frozenset({"/u/", "/v/", "/"}))
        for rules in (output, rules_file(tmp_path, wide)):
            drowned = [*pages, *map(page, stories)]
            random.Random(1).shuffle(drowned)
            result = crawl(site, drowned, CRAWLDEDUP_RULES=rules)
            assert {*stories} <= {*result.items}
            assert texts(result.items) == {*junk, "/story"}
            assert ("rules/withdrawn" in result.counts) == (rules != output)
            assert result.counts["rules/skipped"] > 100 or rules != output


def test_some_requests_are_always_made(crawl: Crawler, tmp_path: Path) -> None:
    stories = numbered("news", 12)
    with Site(stories) as site:
        always = [
            page("/news/8?sid=8", meta={"is_start_request": True}),
            page("/news/9?sid=8", meta={"crawldedup": False}),
            page("/news/10?sid=8", method="POST"),
            {"url": "/news/11?sid=8"},
        ]
        pages = [*with_sids(stories, ("", *SIDS[:1])), *always, *(page(f"/news/{n}?sid=8") for n in range(8))]
        result = crawl(site, pages, CRAWLDEDUP_RULES=rules_file(tmp_path, sid(site)))
    assert sorted(int(path[6:-6]) for path in site.asked if path.endswith("?sid=8")) == [8, 9, 10, 11]
    assert result.counts["rules/skipped"] == 8


def test_another_callback_makes_other_items_of_the_same_page(crawl: Crawler, tmp_path: Path) -> None:
    stories = numbered("news", 3)
    with Site(stories) as site:
        pages = [*with_sids(stories), *(page(f"{path}?sid=9", callback="listed") for path in stories)]
        crawl(site, pages, CRAWLDEDUP_RULES=rules_file(tmp_path, sid(site)))
    assert sum(path.endswith("?sid=9") for path in site.asked) == 3


def test_copies_wait_for_their_target_and_are_skipped_when_it_has_come(crawl: Crawler, tmp_path: Path) -> None:
    """Many requests are sent at once, and copies stand beside each other."""
    stories = numbered("news", 20)
    with Site({**stories, "/": article(999)}) as site:
        settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, sid(site)), "CONCURRENT_REQUESTS": 16}
        result = crawl(site, with_sids(stories), spider_class="linking_spider.LinkingSpider", **settings)
        assert texts(result.items) == {*stories}
        assert site.asked.total() <= 3 * len(stories)
        assert result.counts["rules/postponed"] > 0


def test_a_resumed_crawl_loses_nothing(crawl: Crawler, tmp_path: Path) -> None:
    """What the first run has skipped is asked for when the second finds the rule wrong."""
    # The twentieth request that is taken for a copy is a check.
    stories = numbered("news", 4)
    hidden = [f"{path}?sid=hidden" for path in stories]
    wrong = [f"{path}?sid=wrong{number}" for path in stories for number in range(9)]
    with Site({**stories, "/stop": article(4999)}) as site:
        for number, url in enumerate([*hidden, *wrong]):
            site.pages[url] = article(5000 + number, words=120)
        rules = rules_file(tmp_path, sid(site))
        settings = {"JOBDIR": str(tmp_path / "job"), "CRAWLDEDUP_RULES": rules, "SCHEDULER_DEBUG": True}
        pages = [*with_sids(stories), *map(page, hidden), page("/stop"), *map(page, wrong)]
        first = crawl(site, pages, close_at="/stop", **settings)
        assert first.report["stats"]["finish_reason"] == "enough"
        assert first.counts["rules/skipped"] >= 16
        assert not {*hidden} & {*first.items}
        second = crawl(site, [], **settings)
        assert second.report["stats"]["finish_reason"] == "finished"
        assert {*hidden, *wrong} <= {*first.items, *second.items}
        assert pickle.loads((tmp_path / "job" / "crawldedup.rules").read_bytes()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CRAWLDEDUP_RULES": "missing.json"}, "missing.json cannot be read as rules"),
        ({"CRAWLDEDUP_RULES": "", "CRAWLDEDUP_KEEP_PER_CLUSTER": 2}, "CRAWLDEDUP_KEEP_PER_CLUSTER wants some"),
    ],
)
def test_wrong_settings_end_the_crawl(crawl: Crawler, tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with Site({}) as site:
        if settings.get("CRAWLDEDUP_RULES") == "":
            settings["CRAWLDEDUP_RULES"] = rules_file(tmp_path, sid(site))
        result = crawl(site, ["/1"], **settings)
    assert result.report["stats"]["finish_reason"] == "crawldedup_error"
    assert message in result.errors[0]
