"""Real crawls of everything that servers answer: no page is lost, and none is checked that is not
the spider's.
"""

import json
import random
import re
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import pytest

from crawldedup import __version__
from crawldedup.journal import crawls, journals
from tests.conftest import make_backend
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.crawling import MODES, QUICK, Crawl, crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site, article, compressed
from tests.stores.backends import NAMES

WORDS = article(1)
# Pairs of pages that are related, and not near enough to be duplicates.
PAIRS = {f"/old{seed}": article(seed) for seed in (20, 21)}
PAIRS |= {f"/new{seed}": article(seed, changed_words=14) for seed in (20, 21)}


@pytest.fixture(scope="module")
def everything(site: Site) -> Site:
    """A site that answers as servers may."""
    site.pages |= PAIRS | {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", content_type="text/plain"),
        "/a-gzip": compressed(WORDS),
        "/b-later": article(2, head="<meta http-equiv=refresh content='0; url=/b'>"),
        "/moved": Answer(
            b"<p>" + b"moved to the page a " * 40, 302, headers={"Location": "/a-copy"}
        ),
        "/missing": WORDS._replace(status=404),
        "/busy": WORDS._replace(status=503),
        "/short": Answer(b"<p>Only three words</p>"),
        "/empty": Answer(b""),
        "/data.json": Answer(b'{"text": "some words"}', content_type="application/json"),
        "/feed.xml": Answer(b"<rss/>", content_type="application/rss+xml"),
        "/style.css": Answer(b"p { color: red }", content_type="text/css"),
        "/picture": Answer(b"\x89PNG\r\n\x1a\n\0\0", content_type="image/png"),
        "/notes.txt": Answer(
            b"all the words of a note in plain text " * 9, content_type="text/plain"
        ),
        "/search": WORDS,
        "/searchq=1": article(4),
        "/searchq=2": article(5),
        "/cut": article(6)._replace(missing_bytes=100),
    }
    return site


EVERYTHING = [
    {"url": "/picture", "callback": "NO_CALLBACK"},
    *(
        "/a",
        "/near/a",
        "/a-gzip",
        "/a",
        "/moved",
        "/b",
        "/b-later",
        "/missing",
        "/busy",
        "/short",
        "/empty",
    ),
    *("/data.json", "/feed.xml", "/style.css", "/picture", "/notes.txt", "/private"),
    {"url": "/a-copy", "method": "HEAD"},
    {"url": "/a-copy", "meta": {"crawldedup": False}},
    *({"url": "/search", "method": "POST", "body": body} for body in ("q=1", "q=2", "q=1")),
    "/cut",
]
REALISTIC = {"ROBOTSTXT_OBEY": True, "DOWNLOAD_FAIL_ON_DATALOSS": False}


def assert_everything_was_judged_rightly(result: Crawl, site: Site) -> None:
    assert result.exit_status == 0
    assert [line for line in result.lines("ERROR") if "Gave up retrying" not in line] == []
    assert result.counts == {
        "checked": 12,
        "new": 5,  # a, b, notes.txt and two searches
        "duplicate/near": 1,
        "duplicate/exact": 2,  # a-gzip, moved
        "revisit": 3,  # a, b-later's target, search
        "thin": 1,
        "dropped": 3,
        "skipped/no_callback": 2,  # robots.txt, the download of the spider's own
        "skipped/content_type": 4,
        **{
            f"skipped/{reason}": 1
            for reason in ("http_404", "http_503", "empty", "method", "disabled", "partial")
        },
    }
    # Who asks is told: the errback, the signals, and the log.
    near, *others = [page for page in result.failed if "duplicate" in page[1]]
    assert near[0] == "/near/a"
    assert re.fullmatch(r"near duplicate \(0\.9\d\d\) of /a", near[1])
    assert others == [["/a-gzip", "exact duplicate of /a"], ["/a-copy", "exact duplicate of /a"]]
    assert len(result.report["signals"]) == result.counts["checked"]
    assert result.report["signals"][:2] == [
        ["/a", "new", False],
        ["/near/a", "near_duplicate", True],
    ]
    assert result.report["duplicates"] == [
        [path, "/a", True] for path in ("/near/a", "/a-gzip", "/a-copy")
    ]
    assert (
        f"DEBUG: crawldedup: dropped {site.url}/a-copy: exact duplicate of {site.url}/a"
        in result.log
    )
    assert (
        "crawldedup checked 12 pages: 5 new, 1 near and 2 exact duplicates (3 dropped)"
        in result.log
    )
    # Scrapy counts dropped pages, too.
    assert result.report["stats"]["response_received_count"] == 24


# Mode and store do not meet: the event loop waits for a worker process, and asks the store itself.
@pytest.mark.parametrize(
    ("crawling", "name"), list(zip(cycle(MODES), NAMES, strict=False)), indirect=["crawling"]
)
def test_a_crawl_checks_the_spiders_pages_and_nothing_else(
    everything: Site, crawl: Crawler, name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store = make_backend(name, request, tmp_path).url
    assert_everything_was_judged_rightly(
        crawl(everything, EVERYTHING, CRAWLDEDUP_STORE=store, **REALISTIC), everything
    )


def test_so_does_one_by_itself_and_leaves_journal_and_report(
    everything: Site, tmp_path: Path
) -> None:
    path = tmp_path / "end.json"
    process = start(everything, tmp_path, EVERYTHING, CRAWLDEDUP_REPORT=str(path), **REALISTIC)
    result = finish(process, tmp_path)
    assert_everything_was_judged_rightly(result, everything)
    assert f"INFO: crawldedup: the report is in {path}" in result.log
    counts = json.loads(path.read_text())["totals"]["counts"]
    assert (counts["new"], counts["skipped"]) == (5, 12)
    (listed,) = crawls(tmp_path / ".scrapy" / "crawldedup")
    assert (listed.pages, listed.state) == (24, "finished")


def test_another_reactor_ends_the_crawl_at_its_start_and_says_why(
    site: Site, tmp_path: Path
) -> None:
    reactor = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    result = crawl_apart(
        site, tmp_path, ["/a"], CRAWLDEDUP_ITEM_FIELDS=["body"], **QUICK, **reactor
    )
    assert (result.report["stats"]["finish_reason"], result.passed) == ("crawldedup_error", [])
    # The middleware and the pipeline both need it.
    (line,) = result.errors
    assert "crawldedup needs asyncio; leave TWISTED_REACTOR at Scrapy's default" in line
    assert "Traceback" not in result.log


def test_actions_decide_about_links_items_and_flags(
    everything: Site, crawl: Crawler, lasting_store: str
) -> None:
    pages = [
        {"url": "/a", "meta": {"is_start_request": True}},
        {"url": "/a-copy", "meta": {"crawldedup": {"action": "drop"}}},
        {"url": "/a-copy?2", "meta": {"crawldedup": {"action": "drop-items"}}},
        {"url": "/near/a", "meta": {"crawldedup": {"action": "mark"}}},
        {"url": "/b", "meta": {"crawldedup": False}},
    ]
    settings = {"CRAWLDEDUP_ACTION": "mark", "CRAWLDEDUP_STORE": lasting_store}
    result = crawl(
        everything, pages, follow={"/a-copy": "/missing", "/a-copy?2": "/new20"}, **settings
    )
    assert result.passed == ["/a", "/a-copy?2", "/near/a", "/new20", "/b"]
    assert [
        [item["url"], item["dedup_kind"], item["dedup_original"]] for item in result.report["kept"]
    ] == [
        ["/a", "new", None],
        ["/near/a", "near_duplicate", "/a"],
        ["/new20", "new", None],
        ["/b", None, None],
    ]
    assert result.report["flags"] == [["/near/a", ["crawldedup:near_duplicate"]]]
    assert [dropped for _, _, dropped in result.report["duplicates"]] == [True, False, False]
    assert (result.counts["items_dropped"], result.counts["dropped"]) == (1, 1)
    assert result.errors == []
    # A crawl whose start pages were all delivered before finds nothing new.
    starts = [
        {"url": path, "meta": {"is_start_request": True}} for path in ("/a-copy?3", "/near/a")
    ]
    second = crawl(everything, starts, CRAWLDEDUP_STORE=lasting_store)
    assert "namespace 'default', 2 pages known, action drop" in second.log
    (warning,) = second.errors
    assert "crawldedup: nothing new was found: all start pages (2) were duplicates" in warning
    assert second.passed == ["/a-copy?3", "/near/a"]
    assert second.items == []


def test_of_pages_that_come_at_once_or_were_tried_again_one_of_each_content_is_kept(
    crawl: Crawler,
) -> None:
    pages = {f"/{content}/{copy}": article(content) for copy in range(8) for content in range(6)}
    flaky = {"/4/0": Answer(b"try again", 503), "/5/0": article(5)._replace(missing_bytes=100)}
    with Site({**pages, **flaky}) as site:
        site.actions = {path: partial(site.pages.update, {path: pages[path]}) for path in flaky}
        result = crawl(site, list(pages), CONCURRENT_REQUESTS=24, CONCURRENT_REQUESTS_PER_DOMAIN=24)
        assert {path: times for path, times in site.asked.items() if times > 1} == dict.fromkeys(
            flaky, 2
        )
    assert sorted(page.split("/")[1] for page in result.passed) == list("012345")
    assert result.counts == {"checked": 48, "new": 6, "duplicate/exact": 42, "dropped": 42}


def test_a_paused_crawl_goes_on_where_it_stopped(crawl: Crawler, tmp_path: Path) -> None:
    # Without a store of its own it keeps its index in the job's directory.
    place = tmp_path / "journals"
    settings = {
        "JOBDIR": str(tmp_path / "job"),
        "CONCURRENT_REQUESTS": 4,
        "CRAWLDEDUP_JOURNAL": str(place),
    }
    contents = {f"/{content}/{copy}": article(content) for content in range(8) for copy in range(2)}
    with Site(contents) as site:
        pages = [{"url": path, "dont_filter": False} for path in contents]
        stopped = crawl(site, pages, CLOSESPIDER_PAGECOUNT=5, **settings)
        resumed = crawl(site, pages, **settings)
    assert stopped.report["stats"]["finish_reason"] == "closespider_pagecount"
    assert 0 < len(stopped.passed) < 8
    assert sorted(page.split("/")[1] for page in stopped.passed + resumed.passed) == list(
        "01234567"
    )
    assert stopped.counts["checked"] + resumed.counts["checked"] == 16
    assert (tmp_path / "job" / "crawldedup.sqlite").exists()
    assert stopped.errors == resumed.errors == []
    # The journals of its runs have one name, and a crawl that begins the job anew has another.
    (listed,) = crawls(place)
    assert (listed.processes, listed.pages, listed.state) == (
        2,
        16,
        "closespider_pagecount, finished",
    )
    assert not (tmp_path / "job" / "crawldedup.crawl").exists()


def test_a_spider_that_closes_gets_the_pages_that_are_being_checked(crawl: Crawler) -> None:
    with Site({f"/{content}": article(content) for content in range(60)}) as site:
        result = crawl(site, list(site.pages), close_at="/0", CONCURRENT_REQUESTS=8)
    assert result.report["stats"]["finish_reason"] == "enough"
    # A callback is called for each of them.
    assert (
        1
        <= len(result.passed)
        == result.counts["checked"]
        == result.counts["new"]
        <= site.asked.total()
        < 60
    )
    assert [line for line in result.errors if "crawldedup" in line] == []


def journal_of(place: Path) -> list[dict[str, Any]]:
    """The records of the only journal."""
    (path,) = journals(place)
    return [record for record in map(json.loads, path.read_bytes().splitlines()) if record]


def test_every_response_is_in_the_journal(everything: Site, crawl: Crawler, tmp_path: Path) -> None:
    place, report = tmp_path / "journal", tmp_path / "reports" / "report.json"
    report.parent.mkdir()
    # Nor does a report that cannot be written cost any.
    everything.actions = {"/missing": report.mkdir}
    pages = ["/a", "/near/a", "/a-copy", "/a", "/short", "/picture", "/missing", *PAIRS]
    settings = {"CRAWLDEDUP_JOURNAL": str(place), "CRAWLDEDUP_REPORT": str(report)}
    result = crawl(everything, pages, follow={"/a": "/b"}, **settings)
    everything.actions = {}
    header, *lines, end = journal_of(place)
    assert (header["spider"], header["known"], header["version"]) == ("pages", 0, __version__)
    assert 0.8 < header["settings"]["threshold"] < header["settings"]["similarity"]
    by_path = {line["url"].removeprefix(everything.url): line for line in lines}
    outcomes = [line["outcome"] for path, line in by_path.items() if path not in (*PAIRS, "/b")]
    assert outcomes == ["revisit", "near", "exact", "thin", "skipped", "skipped"]
    near, linked = by_path["/near/a"], by_path["/b"]
    assert (near["original"], near["copies"], near["action"]) == (
        f"{everything.url}/a",
        1,
        "dropped",
    )
    assert 0.9 < near["similarity"] < 1
    assert near["bytes"] == len(everything.pages["/near/a"].body)
    assert (linked["referer"], linked["depth"], linked["action"]) == (
        f"{everything.url}/a",
        1,
        "delivered",
    )
    assert [by_path[path]["reason"] for path in ("/picture", "/missing")] == [
        "content_type",
        "http_404",
    ]
    rejected = [line for line in lines if "rejected_url" in line]
    assert rejected
    assert all(line["url"].replace("/new", "/old") == line["rejected_url"] for line in rejected)
    assert (end["end"], end["index_bytes"] > 0) == ("finished", True)
    assert end["stats"]["downloader/response_count"] == len(lines) == len(pages) + 1
    (warning,) = result.errors
    assert "the report was not written: " in warning
    assert "already exists, and is not a file" in warning


HOME = {"url": "/", "meta": {"is_start_request": True}}


def naming(number: int, original: str) -> Answer:
    return article(number, head=f'<link rel="canonical" href="{original}">')


def test_a_better_copy_is_delivered_once_and_a_page_that_names_anothers_displaces_none(
    crawl: Crawler,
) -> None:
    pages = {
        "/": article(9),
        "/print/1": article(1),
        "/1?sid=a1b2c3d4": article(1),
        "/1": article(1, changed_words=1),
        "/again/1": article(1),
        "/2-copy": naming(2, "/2"),
        "/2": article(2),
        "/3-copy": naming(3, "https://victim.example/3"),
        "/3": naming(3, "https://victim.example/3"),
    }
    with Site(pages) as site:
        result = crawl(site, [HOME, *list(pages)[1:], "/2-copy"])
    assert result.passed == ["/", "/print/1", "/1", "/2-copy", "/2", "/3-copy"]
    assert [flags for _, flags in result.report["flags"]] == [["crawldedup:replaces"]] * 2
    dropped = [
        (page, original) for page, original, is_dropped in result.report["duplicates"] if is_dropped
    ]
    assert dropped == [
        ("/1?sid=a1b2c3d4", "/print/1"),
        ("/again/1", "/1"),
        ("/3", "/3-copy"),
        ("/2-copy", "/2"),
    ]
    assert (result.counts["replaced"], result.counts["dropped"]) == (2, 4)


def test_what_is_unchanged_does_not_come_again(crawl: Crawler, lasting_store: str) -> None:
    """A crawl a day.

    A new text at two known URLs comes once, and a page whose callback failed comes again.
    """
    settings: dict[str, Any] = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop"}
    with Site({f"/{name}": article(number) for number, name in enumerate("abcd")}) as site:

        def day(*pages: Any, texts: dict[str, Answer] | None = None, **options: Any) -> Any:
            site.pages |= texts or {}
            return crawl(site, [*pages], **{**settings, **options})

        # What this crawl has let pass may be asked for again.
        assert day("/a", "/b", {"url": "/c", "callback": "broken"}, again=["/b"]).items == [
            "/a",
            "/b",
            "/b",
        ]
        options = {"follow": {"/a": "/d"}, "CRAWLDEDUP_ACTION": "drop-items"}
        second = day("/a", "/b", "/c", texts={"/b": article(1, changed_words=1)}, **options)
        assert sorted(second.passed) == ["/a", "/b", "/c", "/d"]
        assert sorted(second.items) == ["/b", "/c", "/d"]
        assert (second.counts["changed"], second.counts["unchanged"]) == (1, 1)
        one_text = dict.fromkeys(("/a", "/b"), article(7))
        assert day("/a", "/b", "/c", texts=one_text).passed == ["/a"]
        assert day("/a", "/b", "/c").passed == []
        # The text of a is known, but was not delivered in this crawl: it is news of c.
        assert day("/a", "/b", "/c", texts={"/c": article(7)}).passed == ["/c"]
        # New texts that read alike are news of both, if another word tells the pages apart.
        siblings = {"/a": article(8), "/b": article(8, changed_words=1)}
        assert day("/a", "/b", "/c", texts=siblings).passed == ["/a", "/b"]


TOPICS = 6


class CountedPages(dict[str, Answer]):
    """Pages that each tell another number of visitors when they are asked for, but for those below
    /plain.
    """

    numbers = count(100, 7)

    def get(self, path: str, default: Any = None) -> Any:
        answer = super().get(path, default)
        online = (
            f"<p>Who is online: {next(self.numbers)} users online and {next(self.numbers)} "
            "guests</p></article>"
        )
        if answer and not path.startswith("/plain"):
            body = answer.body.replace(b"<h1>Article", b"<h1>Topic " + path.encode())
            answer = answer._replace(body=body.replace(b"</article>", online.encode()))
        return answer


def counting_site() -> Site:
    site, folders = Site({}), {"": 0, "/plain": 50}
    pages = {
        f"{folder}/{at}": article(at + seed, words=60)
        for folder, seed in folders.items()
        for at in range(TOPICS)
    }
    site.pages = CountedPages(pages)
    return site


def test_a_crawl_learns_what_changes_with_every_load(crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_SIMILARITY": 0.98}
    sessions = [
        f"/{number}?sid=a1b2c3d{session}" for session in range(3) for number in range(TOPICS)
    ]
    with counting_site() as site:
        result = crawl(site, sessions, **settings)
        again = crawl(
            site, [f"/{number}" for number in range(TOPICS)], CRAWLDEDUP_REVISIT="drop", **settings
        )
    # The line is learned while the second session comes: only some pages of that are remembered
    # without it.
    assert [url for url in sessions[-3:] if url in result.passed] == []
    assert [url for url in sessions[TOPICS:] if url in result.passed] != []
    assert "ignores the numbers that always change in a line on" in result.log
    assert "Who is online: " in result.log
    assert result.counts["volatile"] >= TOPICS
    # The next crawl begins with what was learned.
    assert again.counts["volatile"] == TOPICS


def test_a_crawl_may_load_some_pages_with_numbers_twice(crawl: Crawler) -> None:
    with counting_site() as site:
        paths = list(site.pages)
        result = crawl(site, paths, CRAWLDEDUP_RELOADS=4)
    # Three of a pattern suffice, and the first ones may be lists.
    assert [path for path, times in site.asked.items() if times > 1] == [
        f"/{number}" for number in (3, 4, 5)
    ]
    assert (result.counts["reloads"], result.counts["checked"]) == (3, 2 * TOPICS)
    assert result.passed == paths


@pytest.mark.parametrize(("reloads", "known"), [(0, 0), (3, TOPICS)])
def test_pages_with_a_counter_are_unchanged_the_next_day_if_some_are_loaded_twice(
    crawl: Crawler, lasting_store: str, reloads: int, known: int
) -> None:
    """The how-to page on daily crawls says so. Without reloads, each number may be news."""
    settings = {
        "CRAWLDEDUP_STORE": lasting_store,
        "CRAWLDEDUP_REVISIT": "drop",
        "CRAWLDEDUP_RELOADS": reloads,
    }
    with counting_site() as site:
        pages = [f"/{number}" for number in range(TOPICS)]
        assert len(crawl(site, pages, **settings).items) == TOPICS
        again = crawl(site, pages, **settings)
    assert len(again.items) == TOPICS - known
    assert again.counts.get("volatile", 0) == known


@pytest.mark.parametrize("action", ["drop", "drop-items", "mark"])
def test_the_item_of_the_start_page_comes_once_and_its_links_are_followed_each_time(
    crawl: Crawler, action: str
) -> None:
    # As every page does, "/" links to itself as well.
    follow = {"/": "/a", "/a": "/"}
    with Site({"/": article(9), "/a": article(1)}) as site:
        result = crawl(site, ["/"], follow=follow, CRAWLDEDUP_ACTION=action)
    assert result.passed == ["/", "/a", "/"]
    assert result.items == (["/", "/a", "/"] if action == "mark" else ["/", "/a"])
    assert result.counts["unchanged"] == 1
    marked = [["/", ["crawldedup:unchanged"]]] if action == "mark" else []
    assert result.report["flags"] == marked


def test_a_start_page_comes_again_if_it_has_changed_or_is_asked_for_again(crawl: Crawler) -> None:
    with Site({"/": article(9), "/a": article(1)}) as site:
        site.actions["/a"] = lambda: site.pages.update({"/": article(10)})
        changed = crawl(site, ["/"], follow={"/": "/a", "/a": "/"})
        again = crawl(site, ["/"], again=["/"])
    assert changed.items == ["/", "/a", "/"]
    assert again.items == ["/", "/"]


def test_at_a_wall_the_crawl_ends(crawl: Crawler) -> None:
    pages, first_login, suspected = [f"/{number}" for number in range(90)], 10, 70
    with Site({path: article(number + 1, words=60) for number, path in enumerate(pages)}) as site:
        site.actions = {
            pages[first_login - 1]: lambda: site.pages.update(dict.fromkeys(pages, article(0)))
        }
        result = crawl(site, pages, CRAWLDEDUP_WALL="close")
    assert result.report["stats"]["finish_reason"] == "crawldedup_wall"
    assert result.passed == pages[: first_login + 1]
    assert result.report["walls"] == [[pages[first_login], 60, suspected]]
    assert suspected <= sum(site.asked.values()) < len(pages) - 5
    assert "CRAWLDEDUP_WALL is 'close': the crawl requests 3 earlier pages" in result.log
    assert (
        "Earlier pages of 127.0.0.1 are gone: the crawl sends no more requests to it." in result.log
    )


def story(seed: int) -> list[str]:
    chooser = random.Random(seed)
    words = ["".join(chooser.choices("abdeiklmnorstu", k=6)) for _ in range(900)]
    return [f"{' '.join(words[at : at + 150]).capitalize()}." for at in range(0, 900, 150)]


ONE, TWO, OWN = story(1), story(2), story(3)
# "framed" is a story with a frame of its own.
STORIES = {
    "/one": ONE,
    "/two": TWO,
    "/framed": [*OWN[:3], *ONE, *OWN[3:]],
    "/both": [*ONE, *TWO],
    "/copy": ONE,
}


def test_pages_with_too_little_of_their_own_are_dropped_and_items_are_not(
    crawl: Crawler, tmp_path: Path
) -> None:
    html = "<html><head><title>A</title></head><body><article><p>{}</p></article></body></html>"
    pages = {
        path: Answer(html.format("</p><p>".join(story)).encode()) for path, story in STORIES.items()
    }
    items = [{"url": f"/item{path}", "body": "\n".join(story)} for path, story in STORIES.items()]
    place = tmp_path / "journal"
    settings = {
        "CRAWLDEDUP_PARAGRAPHS": 0.2,
        "CRAWLDEDUP_ITEM_FIELDS": ["body"],
        "CRAWLDEDUP_JOURNAL": str(place),
    }
    with Site(pages) as site:
        result = crawl(site, list(pages), items=items, **settings)
    assert result.passed == ["/one", "/two", "/framed"]
    ((path, (flag,)),) = result.report["flags"]
    assert path == "/framed"
    assert 0.4 < float(flag.removeprefix("crawldedup:new=")) < 0.6
    assert (result.counts["paragraphs/pages"], result.counts["paragraphs/partial"]) == (4, 1)
    assert (
        "  50% of the words of 4 pages were known; 1 page had too few new ones (1 refused)\n"
        in result.log
    )
    lines = {
        line["url"].removeprefix(site.url): line for line in journal_of(place) if "url" in line
    }
    assert [lines[path].get("action") for path in ("/framed", "/both")] == ["delivered", "dropped"]
    assert (lines["/both"]["outcome"], lines["/both"]["share_known"]) == ("new", 1)
    # Items have no paragraphs.
    of_items = [url.removeprefix("/item") for url in result.items if url.startswith("/item")]
    assert of_items == ["/one", "/two", "/framed", "/both"]


def test_pages_and_items_are_judged_beside_each_other_and_never_meet(
    crawl: Crawler, lasting_store: str
) -> None:
    pages = {"/a": article(1), "/near/a": article(1, changed_words=2), "/c": article(3)}
    prose = " ".join(article(2).body.decode().split("<p>")[1:])
    bodies = {"/item": prose, "/item-copy": f"<div><p>{prose}</p></div>", "/item#2": prose}
    items = [{"url": url, "body": body} for url, body in bodies.items()]
    settings: dict[str, Any] = {
        "CRAWLDEDUP_STORE": lasting_store,
        "CRAWLDEDUP_ITEM_FIELDS": ["body"],
    }
    with Site(pages) as site:
        result = crawl(site, list(pages), items=items, CRAWLDEDUP_ACTION="mark", **settings)
        # The pipeline works without the add-on, which judges pages.
        alone = {
            "ADDONS": {},
            "ITEM_PIPELINES": {"crawldedup.scrapy_plugin.items.DedupItemPipeline": 100},
        }
        again = crawl(site, ["/a", "/near/a"], CRAWLDEDUP_TTL="1d", **alone, **settings)
    # The page passes, its item does not.
    assert sorted(result.items) == ["/a", "/c", "/item"]
    assert sorted(result.report["refused"])[:-1] == [
        ["/item#2", "exact duplicate of /item"],
        ["/item-copy", "exact duplicate of /item"],
    ]
    of_pages = {"skipped/content_type": 1, "checked": 3, "new": 2, "duplicate/near": 1}
    of_items = {"checked": 6, "new": 3, "duplicate/near": 1, "duplicate/exact": 2, "dropped": 3}
    assert result.counts == {
        **of_pages,
        **{f"item/{name}": number for name, number in of_items.items()},
    }
    assert result.errors == again.errors == []
    assert again.counts == {
        "item/checked": 2,
        "item/revisit": 1,
        "item/duplicate/near": 1,
        "item/dropped": 1,
    }


def variant(seed: int, old: bytes, new: bytes) -> Answer:
    """An article with something else in it."""
    page = article(seed).body
    assert old in page
    return Answer(page.replace(old, new))


def pictured(file: str) -> Answer:
    tag = f"<article><img src='/pictures/{file}.jpg' width=800 height=600>"
    return variant(3, b"<article>", tag.encode())


def test_siblings_are_delivered_counted_and_named(crawl: Crawler) -> None:
    pages = {
        "/1": article(1),
        "/2": article(1, changed_words=1),
        "/other/1": variant(1, b"Article<", b"Another article<"),
        "/pier": pictured("pier"),
        "/tower": pictured("tower"),
        "/copy/pier": pictured("pier"),
    }
    with Site(pages) as site:
        result = crawl(site, list(pages))
    assert result.passed == [path for path in pages if path != "/copy/pier"]
    assert result.counts == {
        "checked": 6,
        "new": 5,
        "siblings/text": 1,
        "siblings/name": 1,
        "siblings/picture": 1,
        "duplicate/exact": 1,
        "dropped": 1,
    }
    told = [
        line.partition("delivers ")[2].replace(site.url, "")
        for line in result.lines("DEBUG")
        if "crawldedup: delivers" in line
    ]
    assert told == [
        "/2: new, a sibling of /1: another text at an address of the same form",
        "/other/1: new, a sibling of /1: another name",
        "/tower: new, a sibling of /pier: another lead picture",
    ]
    assert "3 new pages kept apart from a sibling: name 1, picture 1, text 1" in result.log
    assert result.errors == []


def test_what_leads_to_copies_waits_and_nothing_is_skipped(crawl: Crawler) -> None:
    months, stories = (
        [f"/{kind}/{number}" for number in range(10)] for kind in ("calendar", "stories")
    )
    answers = {path: article(1) for path in months} | {
        path: article(number) for number, path in enumerate(stories)
    }
    pages = [{"url": path, "dont_filter": False, "priority": 1} for path in months]
    pages += [{"url": path, "dont_filter": False, "priority": -1} for path in stories]
    with Site(answers) as site:
        result = crawl(site, pages, CRAWLDEDUP_ACTION="drop-items")
    assert result.counts["postponed"] > 0
    assert site.asked == dict.fromkeys(answers, 1)
    assert result.passed[:10] != months
    assert result.counts["checked"] == 20
