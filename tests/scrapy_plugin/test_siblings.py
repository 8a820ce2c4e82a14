"""Crawls of pages that share a text: what log, journal and report say of them, and what may be
told to keep quiet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawldedup.aio import Judged
from crawldedup.aio.judged import Timings
from crawldedup.journal import journals
from crawldedup.marks.values import HEADLINE, ShownMarks, ShownName
from crawldedup.reading.reader import ReadPage
from crawldedup.scrapy_plugin.siblings import SiblingReasons
from crawldedup.scrapy_plugin.unmet_hosts import UnmetHosts
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.fakes import FINGERPRINT
from tests.scrapy_plugin.website import Answer, Site, article

STORIES = range(12)


def with_picture(seed: int, picture: str, title: str = "") -> Answer:
    """An article with a lead picture."""
    body = article(seed, words=150).body.decode()
    image = f"<img src='/pictures/{picture}.jpg' width=900 height=500>"
    named = body.replace(">Article<", f">{title or f'Story {seed}'}<")
    return Answer(named.replace("</h1>", f"</h1>{image}").encode())


def rotating() -> dict[str, Answer]:
    """Stories at two addresses each, with a picture that changes with every load."""
    pages = {f"/story/{n}": with_picture(n, f"river{n}") for n in STORIES}
    return pages | {f"/archive/old/{n}": with_picture(n, f"mill{n}") for n in STORIES}


def journal_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the lines of the last crawl's pages, by URL."""
    lines = [
        json.loads(line) for path in journals(folder) for line in path.read_text().splitlines()
    ]
    return {line["url"]: line for line in lines if "outcome" in line}


def test_a_rotating_picture_is_shown_suggested_and_told_to_keep_quiet(
    crawl: Crawler, tmp_path: Path
) -> None:
    report, folder = tmp_path / "report.json", tmp_path / "journal"
    settings = {
        "CRAWLDEDUP_JOURNAL": str(folder),
        "CRAWLDEDUP_REPORT": str(report.with_name("made.json")),
        "CONCURRENT_REQUESTS": 1,
        "CRAWLDEDUP_POSTPONE": False,
    }
    with Site(rotating()) as site:
        first = crawl(site, list(site.pages), **settings)
        made = json.loads((tmp_path / "made.json").read_text())
        line = journal_of(folder)[f"{site.url}/archive/old/3"]
        (suggested,) = made["ignorable"]
        ignored = json.loads(suggested["setting"].partition(" = ")[2])
        second = crawl(site, list(site.pages), **settings, CRAWLDEDUP_IGNORE_MARKS=ignored)
    assert (first.counts["new"], first.counts["siblings/picture"]) == (24, 12)
    assert line["rejected_url"] == f"{site.url}/story/3"
    assert line["apart"] == "another lead picture, river3 and mill3"
    assert ignored == {"127.0.0.1": ["picture"]}
    assert suggested["example"]["reason"].startswith("another lead picture, river")
    (row,) = made["apart"]
    assert (row["name"], row["kind"], row["pages"], row["same_text"]) == (
        "/archive/old/{n}",
        "picture",
        12,
        12,
    )
    assert (second.counts["new"], second.counts["duplicate/exact"]) == (12, 12)
    assert second.errors == []


def test_a_host_that_is_never_met_is_named_at_the_end(crawl: Crawler) -> None:
    ignored = {"127.0.0.1": ["picture"], "127.0.0.7": ["name"], "*": ["player"]}
    with Site({"/a": article(1), "/b": article(2)}) as site:
        result = crawl(site, ["/a", "/b"], CRAWLDEDUP_IGNORE_MARKS=ignored)
    (warning,) = result.errors
    assert "CRAWLDEDUP_IGNORE_MARKS names '127.0.0.7', but no page of this host" in warning
    assert "did you mean '127.0.0.1'?" in warning


def test_a_crawl_without_pages_says_nothing_of_hosts() -> None:
    hosts = UnmetHosts({"news.example": ["picture"]})
    assert hosts.complaints() == []
    hosts.note("https://other.example/\x1b[31m")
    (complaint,) = hosts.complaints()
    assert complaint.isprintable()
    hosts.note("https://www.news.example/")
    assert hosts.complaints() == []


class HeroPages(dict[str, Answer]):
    """Pages that show one of three hero pictures in turn, except for those of the gallery."""

    loads = 0

    def get(self, path: str, default: Any = None) -> Any:
        answer = super().get(path, default)
        if answer is default or path.startswith("/gallery/"):
            return answer
        self.loads += 1
        return answer._replace(body=answer.body.replace(b"hero", b"hero%d" % (self.loads % 3)))


def test_a_crawl_learns_that_a_picture_rotates_and_keeps_those_that_do_not(
    crawl: Crawler, tmp_path: Path
) -> None:
    """Visitors get a session, and a hero picture that changes with every load."""
    pages = {f"/news/{n}": with_picture(n, "hero") for n in STORIES}
    pages |= {f"/archive/old/{n}": with_picture(n, "hero") for n in STORIES}
    pages |= {f"/gallery/{n}": with_picture(50, f"lamp{n}", "The lamp") for n in STORIES}
    sessions = [f"a1b2c3d4e5f6a7b{visit}" for visit in range(4)]
    news = [f"/news/{n}?sid={session}" for session in sessions for n in range(4)]
    news += [f"/news/{n}?sid={sessions[0]}" for n in range(4, 12)]
    archive = [f"/archive/old/{n}" for n in STORIES]
    gallery = [f"/gallery/{n}" for n in STORIES]
    settings = {
        "CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite",
        "CRAWLDEDUP_POSTPONE": False,
    }
    with Site({}) as site:
        site.pages = HeroPages(pages)
        result = crawl(site, [*news, *archive, *gallery], **settings)
    assert result.errors == []
    first_loads = [f"/news/{n}?sid={sessions[0]}" for n in STORIES]
    assert [page for page in result.passed if page.startswith("/news/")] == first_loads
    assert [page for page in result.passed if page.startswith("/archive/")] == []
    assert [page for page in result.passed if page.startswith("/gallery/")] == gallery


def test_a_wrong_mark_ends_the_crawl_before_it_starts(crawl: Crawler) -> None:
    with Site({"/a": article(1)}) as site:
        result = crawl(site, ["/a"], CRAWLDEDUP_IGNORE_MARKS={"127.0.0.1": ["pictures"]})
    assert result.passed == []
    assert "CRAWLDEDUP_IGNORE_MARKS['127.0.0.1'] is 'pictures'; it must be one" in result.log
    assert "did you mean 'picture'?" in result.log


def test_hostile_marks_are_escaped_in_the_journal(crawl: Crawler, tmp_path: Path) -> None:
    hostile = "\x1b[2J\u202e" + "long " * 500
    pages = {
        f"/{folder}/{name}": with_picture(1, "x", title=f"{name} {hostile}")
        for folder, name in (("one", "first"), ("two", "second"))
    }
    with Site(pages) as site:
        crawl(site, list(pages), CRAWLDEDUP_JOURNAL=str(tmp_path), CONCURRENT_REQUESTS=1)
        line = journal_of(tmp_path)[f"{site.url}/two/second"]
    assert line["rejected_by"] == "name"
    assert line["apart"].startswith('another name, "first')
    assert line["apart"].isprintable()
    assert len(line["apart"]) < 400


def judged(name: str, url: str, sibling: str | None = None) -> Judged:
    """A page of this name, which was kept apart from its sibling."""
    verdict = Verdict(Kind.NEW, url, rejected=sibling, rejected_by="name" if sibling else None)
    marks = ShownMarks(names=(ShownName(name, HEADLINE),))
    return Judged(verdict, ReadPage(FINGERPRINT, marks=marks), Timings(0, 0, 0))


class TestSiblingReasons:
    def test_a_page_without_a_sibling_has_no_reason(self) -> None:
        assert SiblingReasons().add(judged("one", "u:1")) is None

    @pytest.mark.parametrize(
        ("sibling", "reason"),
        [("u:1", 'another name, "one" and "two"'), ("u:gone", "another name")],
    )
    def test_the_marks_of_both_are_named_if_they_are_known(self, sibling: str, reason: str) -> None:
        reasons = SiblingReasons()
        reasons.add(judged("one", "u:1"))
        assert reasons.add(judged("two", "u:2", sibling)) == reason

    def test_what_it_holds_is_bounded_and_what_is_needed_stays(self) -> None:
        reasons = SiblingReasons()
        reasons.add(judged("one", "u:first"))
        for number in range(12_000):
            reasons.add(judged(f"{number}", f"u:{number}", "u:first"))
        assert len(reasons._shown) == 5_000
        assert reasons.add(judged("x", "u:x", "u:first")) == 'another name, "one" and "x"'
        assert reasons.add(judged("y", "u:y", "u:1")) == "another name"
