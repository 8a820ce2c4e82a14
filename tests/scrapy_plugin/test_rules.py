"""Rules for URLs: copies are not downloaded, no content is lost, and no wrong rule lasts."""

import asyncio
import json
import pickle
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.http.request import NO_CALLBACK

from crawldedup.advice.rules import Rule
from crawldedup.cli import main
from crawldedup.scrapy_plugin.rules import PredictedDuplicateError, RulesMiddleware
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.test_command import Project
from tests.scrapy_plugin.website import Answer, Site, article

SIDS = ("?sid=0a1b2c3d", "?sid=1b2c3d4e", "?sid=2c3d4e5f", "?sid=3d4e5f6a")


def page(path: str, **others: Any) -> dict[str, Any]:
    # What is not to be filtered is never skipped, and that are the pages of this spider otherwise.
    return {"url": path, "dont_filter": False, **others}


def numbered(folder: str, count: int, first: int = 0) -> dict[str, Answer]:
    return {f"/{folder}/{number}": article(first + number, words=120) for number in range(count)}


def with_sids(paths: Iterable[str]) -> list[dict[str, Any]]:
    return [page(path + sid) for path in paths for sid in ("", *SIDS)]


def rules_file(folder: Path, *rules: Rule) -> str:
    (folder / "own.json").write_text(json.dumps([rule.as_dict() for rule in rules]))
    return str(folder / "own.json")


def sid(site: Site) -> Rule:
    return Rule("query", site.url, "sid", folders=frozenset({"/news/"}))


def texts(paths: list[str]) -> set[str]:
    return {path.partition("?")[0] for path in paths}


def test_copies_are_not_downloaded(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With rules that the first crawl has led to, for session ids and print views."""
    stories = numbered("news", 8)
    printed = {path.replace("news", "print"): answer for path, answer in stories.items()}
    pages = with_sids([*stories, *printed])
    journal, report = str(tmp_path / "journal"), tmp_path / "report.json"
    with Site({**stories, **printed}) as site:
        first = crawl(site, pages, CRAWLDEDUP_JOURNAL=journal, CRAWLDEDUP_CRAWL="first")
        assert site.asked.total() == len(pages)
        site.asked.clear()
        rules = {"CRAWLDEDUP_RULES": str(tmp_path / "rules.json"), "CRAWLDEDUP_CRAWL": "second"}
        project = Project("memory://", capsys, journal=journal)
        assert project.run("advise", "--output", rules["CRAWLDEDUP_RULES"])[0] == 0
        result = crawl(site, pages, CRAWLDEDUP_JOURNAL=journal, **rules)
    assert texts(first.items) == texts(result.items) == {*stories}
    assert result.errors == []
    # The first crawl has confirmed a copy of each story: the second fetches the story and checks one
    # copy, of ten URLs.
    skipped = result.counts["rules/skipped"]
    assert len(pages) - site.asked.total() == skipped > 0.75 * len(pages)
    assert len(stories) <= result.counts["rules/checked"] < 0.16 * len(pages)
    assert "rules/withdrawn" not in result.counts
    assert f"  {skipped} requests not sent because CRAWLDEDUP_RULES predicts copies" in result.log
    assert "not sent" not in first.log
    assert [error for _, error in result.failed].count("PredictedDuplicateError") == skipped
    # A report counts them as saved, and not as gone.
    assert main(["report", journal, "--against", "first", "--output", str(report)]) == 0
    made = json.loads(report.read_text())
    assert sum(saved["downloads"] for saved in made["savings"]) == skipped
    assert (made["comparison"]["total"]["skipped"], made["comparison"]["total"]["gone"]) == (
        skipped,
        0,
    )


def test_copies_are_fetched_if_their_target_fails(crawl: Crawler, tmp_path: Path) -> None:
    """Wherever in their order it stands, and although the rule is right at other targets."""
    stories = numbered("news", 14)
    failures = [
        Answer(b"gone", 404),
        Answer(b"down", 503),
        Answer(b"", 302, headers={"Location": "/wall"}),
    ]
    failures += [
        article(999)._replace(missing_bytes=9),
        Answer(b"{}", content_type="application/json"),
    ]
    failures += [article(999), article(998)]
    with Site({path + each: answer for path, answer in stories.items() for each in SIDS}) as site:
        # All others come.
        site.pages |= {
            **stories,
            **dict(zip(stories, failures, strict=False)),
            "/wall": article(999),
        }
        pages = with_sids(stories)
        random.Random(1).shuffle(pages)
        result = crawl(
            site, [page("/wall"), *pages], CRAWLDEDUP_RULES=rules_file(tmp_path, sid(site))
        )
    assert texts(result.items) >= {*stories}
    assert result.counts["rules/skipped"] > 10
    assert result.report["stats"]["finish_reason"] == "finished"


def test_a_wrong_rule_is_withdrawn_and_no_advice(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first copies of each page are copies indeed, and none of the later ones."""
    stories = numbered("news", 6)
    urls = [f"{path}?sid={number}" for path in stories for number in range(6)]
    later = {url: article(5000 + number, words=120) for number, url in enumerate(urls)}
    with Site({**stories, **later}) as site:
        settings = {
            "CRAWLDEDUP_RULES": rules_file(tmp_path, sid(site)),
            "CRAWLDEDUP_JOURNAL": str(tmp_path),
        }
        result = crawl(site, [*with_sids(stories), *map(page, later)], **settings)
    assert {*later} <= {*result.items}
    assert texts(result.items) == {*stories}
    assert (result.counts["rules/withdrawn"], site.asked.total()) == (1, 11 * 6)
    (warning,) = result.errors
    assert f"leaves out the rule {site.url}: ?sid, for {site.url}/news/" in warning
    assert main(["report", "--json", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["withdrawn"] == [f"{site.url}: ?sid"]
    # Nor is it advice, although most pages speak for it.
    assert f"{site.url}: ?sid" not in [
        f"{each['site']}: {each['what']}" for each in report["advice"]
    ]


SITE = "https://e.com"
TARGET, COPIES = f"{SITE}/news/1", [f"{SITE}/news/1?sid={number}" for number in range(100)]
RULE = Rule("query", SITE, "sid", folders=frozenset({"/news/"}))


class Requests:
    """A crawl whose requests are handed to the middleware one by one, and answered at once."""

    def __init__(self, **settings: str) -> None:
        self.crawler: Any = FakeCrawler(**settings)
        self.middleware = (
            RulesMiddleware.from_crawler(self.crawler)
            if settings
            else RulesMiddleware(self.crawler, [RULE], None)
        )
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
            self.middleware.page_judged(
                request, Verdict(kind, url, None if kind is Kind.NEW else original)
            )
        return "made"

    @property
    def asked_again(self) -> list[str]:
        return [request.url for request in self.crawler.engine.crawled]

    def count(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"crawldedup/rules/{name}", 0))


def confirmed(**settings: str) -> Requests:
    """A crawl that has met a page and its first copy, and checked another one."""
    crawl = Requests(**settings)
    assert [crawl.make(url) for url in (TARGET, COPIES[0], COPIES[-1])] == ["made"] * 3
    return crawl


def test_once_a_copy_is_confirmed_all_but_one_in_twenty_are_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = confirmed()
    made = [crawl.make(url) == "made" for url in COPIES[1:61]]
    assert (sum(made), crawl.count("skipped"), crawl.count("checked")) == (3, 57, 5)
    # Another page says nothing of its copies.
    assert (
        crawl.make(f"{SITE}/news/2", "other")
        == crawl.make(f"{SITE}/news/2?sid=1", "other")
        == "made"
    )
    # Without room for what is skipped, requests are made.
    monkeypatch.setattr("crawldedup.advice.rules.MOST_SKIPPED", 57)
    assert [crawl.make(url) for url in COPIES[61:63]] == ["made"] * 2
    assert crawl.count("no_room") == 2


@pytest.mark.parametrize(
    "options",
    [
        {"method": "POST"},
        {"callback": NO_CALLBACK},
        {"dont_filter": True},
        {"meta": {"crawldedup": False}},
        {"meta": {"is_start_request": True}},
        {"meta": {"redirect_urls": [SITE]}},
        # Other items of the same page.
        {"callback": Spider("news")._parse},
        {"meta": {"rule": 7}},
    ],
)
def test_some_requests_are_always_made(options: dict[str, Any]) -> None:
    crawl = confirmed()
    assert [crawl.make(COPIES[1], **options), crawl.make(COPIES[1])] == ["made", "skipped"]


def test_copies_wait_for_their_target_but_not_for_ever() -> None:
    crawl = Requests()
    assert crawl.make(TARGET, None) == "made"
    waits: Any = Request(COPIES[0])
    for _ in range(2):
        waits = crawl.middleware.process_request(waits)
    assert (waits.priority, waits.dont_filter) == (-2, True)
    assert crawl.middleware.process_request(waits) is None


def test_the_url_that_an_earlier_crawl_has_delivered_is_fetched() -> None:
    crawl = Requests()
    crawl.originals["text"] = COPIES[7]
    assert crawl.make(COPIES[0]) == "made"
    made = [crawl.make(COPIES[number]) for number in (1, 2, 7, 3)]
    assert made == ["made", "skipped", "made", "skipped"]


def test_a_resumed_crawl_knows_what_the_first_run_has_skipped(tmp_path: Path) -> None:
    settings = {"CRAWLDEDUP_RULES": rules_file(tmp_path, RULE), "JOBDIR": str(tmp_path)}

    async def run() -> None:
        first = confirmed(**settings)
        skipped = [url for url in COPIES[1:9] if first.make(url) == "skipped"]
        for reason, kept in (("finished", 0), ("shutdown", len(skipped))):
            await first.crawler.signals.send_catch_log_async(signals.spider_closed, reason=reason)
            assert len(pickle.loads((tmp_path / "crawldedup.rules").read_bytes())) == kept
        second = confirmed(**settings)
        await second.crawler.signals.send_catch_log_async(signals.engine_started)
        assert not second.asked_again
        second.make(COPIES[50], "of its own", meta={"crawldedup": False})
        assert sorted(second.asked_again) == sorted(skipped)

    asyncio.run(run())


def test_a_known_page_and_a_thin_one_contradict_no_rule() -> None:
    crawl = confirmed()
    assert crawl.make(COPIES[1]) == "skipped"
    for kind in (Kind.REVISIT, Kind.THIN):
        crawl.middleware.page_judged(Request(COPIES[50]), Verdict(kind, COPIES[50]))
    assert not crawl.asked_again
