"""What is decided without I/O: which pages are checked, what becomes of them, and which copy is
kept.
"""

from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK

from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.scrapy_plugin import policy as policies
from crawldedup.scrapy_plugin.policy import Copies, Fate, Outcome, decide
from crawldedup.scrapy_plugin.settings import CrawlOptions, check_patterns
from crawldedup.urls import HeadLinks
from crawldedup.verdict import Coverage, Kind, Verdict
from tests.scrapy_plugin.fakes import FINGERPRINT, FakeCrawler

URL = "https://www.example.co.uk/page?b=2&a=1"
USUAL = CrawlOptions(action="drop")


def html(**given: Any) -> HtmlResponse:
    return HtmlResponse(given.pop("url", URL), **{"body": b"<p>text", **given})


def typed(cls: type[Response], content_type: str, url: str = URL) -> Response:
    headers = {"Content-Type": content_type} if content_type else {}
    return cls(url, body=b"some text", headers=headers)


def partial(body: bytes, *flags: str) -> HtmlResponse:
    return html(body=body, flags=["partial", *flags])


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (html(), None),
        (html(status=206), "http_206"),
        (html(body=b""), "empty"),
        (html(body=b"<p>" + b"long " * 2_000_000), "too_large"),
        (html(flags=["dataloss"], body=b"<p>text</html>"), "partial"),
        # Servers that promise no length: a page that ends as HTML does is whole.
        (partial(b"<p>text"), "partial"),
        (partial(b"<p>text</html>"), None),
        (partial(b"<p>text</body></HTML>\r\n<!-- 12 ms -->\n<!--\n<p> -->\n", "cached"), None),
        (partial(b"<p>text<!-- </html> -->"), "partial"),
        (partial(b"</html" * 9000 + b"<!--" * 9000), "partial"),
        (typed(TextResponse, "text/plain"), None),
        (typed(TextResponse, "Text/Markdown; charset=utf-8"), None),
        (typed(TextResponse, "text/css"), "content_type"),
        (typed(TextResponse, "", "file:///notes.txt"), None),
        (typed(TextResponse, "", "file:///table.csv"), "content_type"),
        (typed(XmlResponse, "application/rss+xml"), "content_type"),
        # Such as scrapy-poet's DummyResponse.
        (typed(Response, "text/html"), "content_type"),
        (typed(TextResponse, "text/plain", "https://e.com/robots.txt"), "robots_txt"),
    ],
)
def test_complete_pages_of_text_are_checked(response: Response, reason: str | None) -> None:
    assert policies.reason_to_skip(Request(URL), response) == reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"meta": {"crawldedup": False}}, "disabled"),
        ({"meta": {"crawldedup": {"action": "mark"}}}, None),
        ({"method": "POST"}, "url"),
        ({"method": "HEAD", "meta": {"crawldedup": True}}, "method"),
        ({"callback": NO_CALLBACK}, "no_callback"),
        ({"callback": NO_CALLBACK, "meta": {"crawldedup": True}}, None),
    ],
)
def test_requests_decide_whether_their_answers_are_checked(
    options: dict[str, Any], reason: str | None
) -> None:
    """Which counts more than patterns of URLs that are denied."""
    deny = check_patterns("DENY", ["/news/", "a=1$"])
    assert policies.reason_to_skip(Request(URL, **options), html(), deny) == reason
    assert policies.reason_to_skip(Request(URL, **options), html(), deny[:1]) == (
        None if reason == "url" else reason
    )


def page(response: Response, policy: CrawlOptions = USUAL, **request: Any) -> Page:
    return policies.page_of(Request(URL, **request), response, policy, "news")


@pytest.mark.parametrize(
    ("scope", "key"), [("global", ""), ("site", "example.co.uk"), ("spider", "news")]
)
def test_the_options_of_a_page_go_along(scope: str, key: str) -> None:
    posted = page(
        html(),
        CrawlOptions(scope=scope, similarity=0.8, remember=False),
        method="POST",
        body=b"q=1",
    )
    assert (posted.url, posted.scope_key, posted.similarity, posted.remember) == (
        URL,
        key,
        0.8,
        False,
    )
    assert str(posted.identity).startswith("POST https://www.example.co.uk/page?a=1&b=2 ")
    assert not posted.delivered


def test_overrides_apply_to_one_request() -> None:
    given = {
        "action": "mark",
        "scope": "site",
        "keep_per_cluster": 3,
        "similarity": 0.8,
        "remember": False,
    }
    given |= {
        "canonical": "compare",
        "revisit": "drop",
        "revisit_similarity": 0.95,
        "paragraphs": 0.2,
    }
    given["trusted_sites"] = frozenset({"example.com"})
    assert policies.options_for(Request(URL, meta={"crawldedup": given}), USUAL) == CrawlOptions(
        **given
    )
    for neutral in (None, True, {}):
        assert policies.options_for(Request(URL, meta={"crawldedup": neutral}), USUAL) == USUAL


NEW = Verdict(Kind.NEW, URL)
REVISIT = Verdict(Kind.REVISIT, URL)
COPY = Verdict(Kind.EXACT_DUPLICATE, URL, "https://www.example.co.uk/a", copies=1)
NEAR = replace(COPY, kind=Kind.NEAR_DUPLICATE)
STRANGER = replace(COPY, original="https://other.org/a")
BETTER = replace(COPY, replaces=True)
PARTIAL = replace(
    NEW, coverage=Coverage(1, 9, 0, is_partial=True, sources=(("https://other.org/a", 9),))
)

DROP, MARK, ITEMS = (replace(USUAL, action=action) for action in ("drop", "mark", "drop-items"))
DAILY = replace(DROP, revisit="drop")
TRUSTING_ITSELF = replace(DROP, trusted_sites=frozenset())

PASSES = Outcome(Fate.DELIVERED)
DROPPED = Outcome(Fate.DROPPED, refused=True)
UNCHANGED = Outcome(Fate.DROPPED, refused=True, unchanged=True)


def flagged(*flags: str, fate: Fate = Fate.DELIVERED, refused: bool = False) -> Outcome:
    return Outcome(fate, refused, flags=tuple(f"crawldedup:{flag}" for flag in flags))


def marked(flag: str) -> Outcome:
    return flagged(flag, fate=Fate.MARKED, refused=True)


@pytest.mark.parametrize(
    ("verdict", "policy", "seen", "outcome"),
    [
        *(
            (verdict, policy, False, PASSES)
            for verdict in (NEW, REVISIT, replace(NEW, kind=Kind.THIN))
            for policy in (DROP, MARK, ITEMS)
        ),
        *((verdict, DROP, False, DROPPED) for verdict in (COPY, NEAR, STRANGER)),
        *(
            (verdict, ITEMS, False, replace(DROPPED, fate=Fate.ITEMS_DROPPED))
            for verdict in (COPY, NEAR)
        ),
        (COPY, MARK, False, marked("exact_duplicate")),
        (NEAR, MARK, False, marked("near_duplicate")),
        # A better copy takes the place of the one that was delivered.
        (BETTER, DROP, False, flagged("replaces")),
        # As many copies as are wanted.
        (NEAR, replace(DROP, keep_per_cluster=2), False, PASSES),
        (replace(NEAR, copies=2), replace(DROP, keep_per_cluster=2), False, DROPPED),
        # A text belongs to sites that are trusted, and to the page's own.
        (COPY, TRUSTING_ITSELF, False, DROPPED),
        (STRANGER, TRUSTING_ITSELF, False, flagged("exact_duplicate")),
        (STRANGER, replace(DROP, trusted_sites=frozenset({"other.org"})), False, DROPPED),
        # What earlier crawls have seen.
        (REVISIT, DAILY, False, UNCHANGED),
        (
            REVISIT,
            replace(DAILY, action="mark"),
            False,
            replace(marked("unchanged"), unchanged=True),
        ),
        (REVISIT, DAILY, True, PASSES),
        (replace(REVISIT, changed=True), DAILY, False, PASSES),
        (replace(REVISIT, abandoned=True), DAILY, False, PASSES),
        (COPY, DAILY, True, DROPPED),
        # Pages that stand on others in part.
        (
            PARTIAL,
            replace(DROP, paragraphs=0.2),
            False,
            flagged("new=0.10", fate=Fate.DROPPED, refused=True),
        ),
        (PARTIAL, replace(MARK, paragraphs=0.2), False, flagged("new=0.10", refused=True)),
        (PARTIAL, replace(DROP, paragraphs=0.1), False, flagged("new=0.10")),
        (PARTIAL, replace(TRUSTING_ITSELF, paragraphs=0.2), False, flagged("new=0.10")),
    ],
)
def test_what_becomes_of_a_page(
    verdict: Verdict, policy: CrawlOptions, seen: bool, outcome: Outcome
) -> None:
    assert decide(verdict, policy, seen=seen) == outcome


def test_the_error_of_a_dropped_page_says_why() -> None:
    error = policies.DuplicatePageError("a copy", COPY)
    assert (str(error), error.verdict) == ("a copy", COPY)


def test_the_url_is_a_pages_identity_unless_one_url_answers_many_requests() -> None:
    def identity(url: str = URL, **request: Any) -> str | None:
        return page(html(url=url), **request).identity

    assert identity() is None
    post = identity(method="POST", body=b"q=1")
    assert post is not None
    assert post != identity(method="POST", body=b"q=2")
    assert post != identity(method="PUT", body=b"q=1")
    assert post == identity("https://www.example.co.uk/page?a=1&b=2", method="POST", body=b"q=1")
    assert identity(body=b"q=1") not in (None, post)


def test_of_html_only_the_declared_encoding_is_passed_on() -> None:
    meta = "<meta charset=latin-1>Grüße".encode("latin-1")
    usual = Page(URL, html=meta, scope_key="", similarity=0.9, delivered=False)
    assert page(html(body=meta)) == usual
    declared = html(body=meta, headers={"Content-Type": "text/html; charset=windows-1252"})
    assert page(declared) == replace(usual, encoding="cp1252")
    plain = TextResponse(URL, body="Grüße".encode(), headers={"Content-Type": "text/plain"})
    assert page(plain) == replace(usual, html=None, text="Grüße")


def test_start_pages_are_told_from_those_that_they_lead_to() -> None:
    assert policies.is_start(
        Request(URL, meta={"is_start_request": True, "depth": 0, "redirect_times": 1})
    )
    # A spider that hands on the meta of a start page.
    for meta in ({"depth": 1}, {"is_start_request": True, "depth": 1}):
        assert not policies.is_start(Request(URL, meta=meta))


PATHS = {
    0: "a amplifier a#part ?p=7 index.php?id=7&page=2 amp-festival a?id=1",
    1: "a?sid=1 ?p=7&utm_source=x a/amp.html m/22 a;jsessionid=1 print/a a/amp/ %70rint/a a-print",
}
POOR = ["https://m.example.com/a", "https://partner.example/a", "https://[broken/a"]


def test_a_copy_on_a_site_of_the_crawl_with_a_plain_url_is_good() -> None:
    copies = Copies()
    copies.start_at("https://www.example.com/")
    ranks = {
        f"https://example.com/{path}": rank
        for rank, paths in PATHS.items()
        for path in paths.split()
    }
    ranks |= dict.fromkeys(POOR, 1)
    assert {url: copies.rank(url) for url in ranks} == ranks


def test_good_copies_are_on_trusted_sites_where_a_crawl_did_start() -> None:
    copies = Copies(None, frozenset({"example.com"}))
    copies.start_at("data:,items", "https://[broken")
    assert copies.rank("https://example.com/a") == 1
    copies.start_at("https://www.example.com/", "https://other.example/")
    assert [copies.rank(f"https://{host}/a") for host in ("example.com", "other.example")] == [0, 1]


def read(*canonical: str) -> ReadPage:
    return ReadPage(FINGERPRINT, HeadLinks(canonical=canonical))


PLAIN, QUERY = "https://e.com/a", "https://e.com/a?page=1"


@pytest.mark.parametrize(
    ("url", "canonical", "rank", "claimed", "ranked"),
    [
        (PLAIN, ("/b",), 0, "https://e.com/b", 1),
        (
            PLAIN,
            ("/",),
            0,
            "https://e.com/",
            0,
        ),  # sites that name their home page on every page mean nothing
        (PLAIN, ("/b",), None, "https://e.com/b", 0),
        # Only the page itself tells whether the query matters.
        (QUERY, (), 0, None, 1),
        (QUERY, ("/a?page=1",), 0, None, 0),
    ],
)
def test_a_page_lowers_its_own_rank_by_its_word_on_its_original(
    url: str, canonical: tuple[str, ...], rank: int | None, claimed: str | None, ranked: int
) -> None:
    page = policies.with_claim(Page(url, text="text"), read(*canonical), rank=rank)
    assert (page.canonical, page.rank) == (claimed, ranked)
    strict = policies.with_claim(
        Page(url, text="text"), read(*canonical), rank=rank, is_lenient=False
    )
    assert (strict.canonical, strict.rank) == (None, ranked)


@pytest.mark.parametrize(
    ("canonical", "claimed"), [("ignore", None), ("compare", "https://e.com/y")]
)
def test_link_headers_and_options_count(canonical: str, claimed: str | None) -> None:
    response = HtmlResponse(PLAIN, headers={"Link": ["</x>; rel=next", "</y>; rel=canonical"]})
    start = Request(PLAIN, meta={"is_start_request": True})
    complete = Copies(()).claims_of(start, response, CrawlOptions(canonical=canonical))
    assert complete(Page(PLAIN, text="text"), read()).canonical == claimed


def test_a_page_is_delivered_when_the_engine_is_done_with_all_its_requests() -> None:
    crawler: Any = FakeCrawler()
    deliveries, requests = (
        policies.Deliveries(crawler),
        [Request(f"https://e.com/{path}") for path in "aab"],
    )
    in_progress = crawler.engine._slot.inprogress
    in_progress |= set(requests)
    for request in requests:
        deliveries.passed(request, Page(request.url, text="text"))
    delivered = []
    for done in (0, 2, 1):
        in_progress.discard(requests[done])
        delivered.append([url[-1] for url, _, _ in deliveries.pop_delivered()])
    assert delivered == [[], ["b"], ["a"]]
