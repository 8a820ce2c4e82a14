"""Rules for URLs: copies are not downloaded, no content is lost, and no wrong rule lasts."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK

from crawldedup.advice.rules import Rule
from crawldedup.cli import main
from crawldedup.scrapy_plugin.rules import PredictedDuplicateError, RulesMiddleware
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler, nightly
from tests.scrapy_plugin.fakes import FakeCrawler
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
    stories = numbered("news", 10)
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


FAILURES = {
    "not found": Answer(b"gone", 404),
    "down": Answer(b"down", 503),
    "broken off": article(999)._replace(missing_bytes=9),
    "no page": Answer(b"{}", content_type="application/json"),
    "wall": article(999),
    "another text": article(998),
    "redirected to a wall": Answer(b"", 302, headers={"Location": "/wall"}),
}


@nightly
@pytest.mark.parametrize("failure", FAILURES)
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


def test_a_rule_that_proves_wrong_is_told_and_is_no_advice(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first copies of each page are copies indeed, and none of the later ones."""
    stories = numbered("news", 8)
    later = [f"{path}?sid={number}" for path in stories for number in range(6)]
    with Site(stories) as site:
        for number, url in enumerate(later):
            site.pages[url] = article(5000 + number, words=120)
        settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, sid(site)), "CRAWLDEDUP_JOURNAL": str(tmp_path)}
        result = crawl(site, [*with_sids(stories), *map(page, later)], **settings)
        assert {*later} <= {*result.items}
        assert texts(result.items) == {*stories}
        assert (result.counts["rules/withdrawn"], site.asked.total()) == (1, 11 * 8)
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


SITE = "https://e.com"
TARGET, COPIES = f"{SITE}/news/1", [f"{SITE}/news/1?sid={number}" for number in range(100)]
RULE = Rule("query", SITE, "sid", folders=frozenset({"/news/"}))


class Requests:
    """A crawl whose requests are handed to the middleware one by one, and answered at once."""

    def __init__(self, job: Path | None = None) -> None:
        self.crawler = FakeCrawler()
        self.middleware = RulesMiddleware(self.crawler, [RULE], job)  # type: ignore[arg-type]
        self.originals: dict[str, str] = {}

    def make(self, url: str, content: str | None = "text", **options: Any) -> str:
        """What becomes of a request. One that is made brings a page of this content, or nothing."""
        request = Request(url, **options)
        try:
            put_off = self.middleware.process_request(request)
        except PredictedDuplicateError:
            return "skipped"
        if put_off is not None:
            assert put_off.priority < request.priority
            return "postponed"
        if content is not None:
            original = self.originals.setdefault(content, url)
            kind = Kind.NEW if original == url else Kind.EXACT_DUPLICATE
            self.middleware.page_judged(request, Verdict(kind, url, None if kind is Kind.NEW else original))
        return "made"

    @property
    def asked_again(self) -> list[str]:
        return [request.url for request in self.crawler.engine.crawled]

    def count(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"crawldedup/rules/{name}", 0))


def confirmed(job: Path | None = None) -> Requests:
    """A crawl that has met a page and its first copy."""
    crawl = Requests(job)
    assert [crawl.make(url) for url in (TARGET, COPIES[0])] == ["made"] * 2
    return crawl


def test_once_a_copy_is_confirmed_all_but_one_in_twenty_are_skipped() -> None:
    crawl = confirmed()
    made = [crawl.make(url) == "made" for url in COPIES[1:61]]
    assert (sum(made), crawl.count("skipped"), crawl.count("checked")) == (3, 57, 4)
    # Another page says nothing of its copies.
    assert crawl.make(f"{SITE}/news/2", "other") == crawl.make(f"{SITE}/news/2?sid=1", "other") == "made"


ALWAYS_MADE: dict[str, dict[str, Any]] = {
    "another method": {"method": "POST"},
    "a body": {"body": b"query"},
    "no callback": {"callback": NO_CALLBACK},
    "not filtered": {"dont_filter": True},
    "not checked": {"meta": {"crawldedup": False}},
    "a start": {"meta": {"is_start_request": True}},
    "redirected": {"meta": {"redirect_urls": [SITE]}},
    # Other items of the same page.
    "another callback": {"callback": Spider("news")._parse},
    "another rule of the spider": {"meta": {"rule": 7}},
}


@pytest.mark.parametrize("options", ALWAYS_MADE.values(), ids=ALWAYS_MADE)
def test_some_requests_are_always_made(options: dict[str, Any]) -> None:
    crawl = confirmed()
    assert crawl.make(COPIES[1], **options) == "made"
    assert crawl.make(COPIES[1]) == "skipped"


def test_copies_wait_for_their_target_but_not_for_ever() -> None:
    crawl = Requests()
    assert crawl.make(TARGET, None) == "made"
    again = crawl.middleware.process_request(Request(COPIES[0]))
    assert again is not None
    last = crawl.middleware.process_request(again)
    assert last is not None
    assert (last.priority, last.dont_filter) == (-2, True)
    assert crawl.middleware.process_request(last) is None
    assert crawl.make(COPIES[1]) == "postponed"


@pytest.mark.parametrize("bad", [None, "a wall"])
def test_copies_of_a_page_that_did_not_come_are_made(bad: str | None) -> None:
    crawl = Requests()
    crawl.make(f"{SITE}/login", "a wall")
    crawl.make(TARGET, bad)
    postponed = {"_crawldedup_postponed": 2}
    assert [crawl.make(url, meta=dict(postponed)) for url in COPIES[:2]] == ["made", "made"]


def test_the_url_that_an_earlier_crawl_has_delivered_is_fetched() -> None:
    crawl = Requests()
    crawl.originals["text"] = COPIES[7]
    assert crawl.make(COPIES[0]) == "made"
    assert [crawl.make(COPIES[number]) for number in (1, 7, 2)] == ["skipped", "made", "skipped"]


def test_what_a_wrong_rule_has_skipped_is_asked_for() -> None:
    crawl = confirmed()
    skipped = [url for url in COPIES[1:20] if crawl.make(url) == "skipped"]
    for number in range(9):
        crawl.make(f"{SITE}/news/{number + 9}", f"story {number}")
        crawl.make(f"{SITE}/news/{number + 9}?sid=1", f"other {number}")
    assert crawl.count("withdrawn") == 1
    assert crawl.asked_again == skipped
    assert all(request.dont_filter for request in crawl.crawler.engine.crawled)
    assert crawl.make(COPIES[40], "of its own") == "made"


def test_without_room_for_what_is_skipped_requests_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawldedup.advice.rules.MOST_SKIPPED", 3)
    crawl = confirmed()
    assert [crawl.make(url) for url in COPIES[1:6]] == ["skipped"] * 3 + ["made"] * 2
    assert crawl.count("no_room") == 2


def test_a_resumed_crawl_knows_what_the_first_run_has_skipped(tmp_path: Path) -> None:
    job = tmp_path / "crawldedup.rules"
    first = confirmed(job)
    skipped = [url for url in COPIES[1:9] if first.make(url) == "skipped"]
    first.middleware.spider_closed("finished")
    assert pickle.loads(job.read_bytes()) == []
    first.middleware.spider_closed("shutdown")
    second = confirmed(job)
    second.middleware.engine_started()
    assert not second.asked_again
    second.make(COPIES[50], "of its own", meta={"crawldedup": False})
    assert sorted(second.asked_again) == sorted(skipped)


def test_the_skipped_requests_of_a_job_lie_in_its_directory(tmp_path: Path) -> None:
    settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, RULE), "JOBDIR": str(tmp_path)}

    async def run() -> None:
        crawler = FakeCrawler(**settings)
        middleware = RulesMiddleware.from_crawler(crawler)  # type: ignore[arg-type]
        await crawler.signals.send_catch_log_async(signals.engine_started)
        await crawler.signals.send_catch_log_async(signals.spider_closed, reason="shutdown")
        assert middleware is not None  # signals hold it weakly

    asyncio.run(run())
    assert pickle.loads((tmp_path / "crawldedup.rules").read_bytes()) == []


@pytest.mark.parametrize("kind", [Kind.REVISIT, Kind.THIN])
def test_a_known_page_and_a_thin_one_contradict_no_rule(kind: Kind) -> None:
    crawl = confirmed()
    assert crawl.make(COPIES[1]) == "skipped"
    crawl.middleware.page_judged(Request(COPIES[50]), Verdict(kind, COPIES[50]))
    assert not crawl.asked_again


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"CRAWLDEDUP_RULES": "missing.json"}, "missing.json cannot be read as rules"),
        ({"CRAWLDEDUP_RULES": "[]", "CRAWLDEDUP_KEEP_PER_CLUSTER": 2}, "CRAWLDEDUP_KEEP_PER_CLUSTER wants some"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture) -> None:
    crawler = FakeCrawler(**settings)

    async def begin() -> None:
        with pytest.raises(NotConfigured):
            RulesMiddleware.from_crawler(crawler)  # type: ignore[arg-type]
        await crawler.signals.send_catch_log_async(signals.engine_started)

    asyncio.run(begin())
    assert crawler.engine.closed == ["crawldedup_error"]
    assert message in caplog.text
