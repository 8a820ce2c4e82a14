"""Which pages are checked, and what becomes of them."""

from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK

from crawldedup.page import Page
from crawldedup.scrapy_plugin.policy import (
    Fate,
    Outcome,
    OverrideError,
    decide,
    identity_of,
    is_start,
    options_for,
    page_of,
    reason_to_skip,
)
from crawldedup.scrapy_plugin.settings import CrawlOptions, check_patterns
from crawldedup.verdict import Coverage, Kind, Verdict

URL = "https://www.example.co.uk/page?b=2&a=1"
USUAL = CrawlOptions(action="drop")


def html(**given: Any) -> HtmlResponse:
    return HtmlResponse(given.pop("url", URL), **{"body": b"<p>text", **given})


def typed(cls: type[Response], content_type: str, url: str = URL) -> Response:
    headers = {"Content-Type": content_type} if content_type else {}
    return cls(url, body=b"some text", headers=headers)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (html(), None),
        (html(status=201), None),
        (html(status=206), "http_206"),
        (html(status=304), "http_304"),
        (html(status=404), "http_404"),
        (html(status=503), "http_503"),
        (html(body=b""), "empty"),
        (html(body=b"<p>" + b"long " * 2_000_000), "too_large"),
        (html(flags=["cached"]), None),
        (html(flags=["dataloss"]), "partial"),
        (html(flags=["download_stopped"]), "partial"),
        (html(flags=["partial"]), "partial"),
        (html(flags=["partial"], body=b"<p>text</html>"), None),
        (html(flags=["cached", "partial"], body=b"<p>text</body></HTML>\r\n<!-- 12 ms -->\n<!--\n<p> -->\n"), None),
        (html(flags=["partial"], body=b"<p>text</html>" + b" " * 3000), "partial"),
        (html(flags=["partial"], body=b"<p>text</html><!-- 12"), "partial"),
        (html(flags=["partial"], body=b"<p>text<!-- </html> -->"), "partial"),
        (html(flags=["partial"], body=b"</html><p>text"), "partial"),
        (html(flags=["partial"], body=b"</html" * 9000 + b"<!--" * 9000), "partial"),
        (html(flags=["partial", "dataloss"], body=b"<p>text</html>"), "partial"),
        (html(flags=["partial", "download_stopped"], body=b"<p>text</html>"), "partial"),
        (html(flags=["dataloss"], body=b"<p>text</html>"), "partial"),
        (html(status=206, flags=["partial"], body=b"<p>text</html>"), "http_206"),
        (html(flags=["partial"], body=b"\n"), "partial"),
        (typed(HtmlResponse, "application/xhtml+xml"), None),
        (typed(TextResponse, "text/plain"), None),
        (typed(TextResponse, "Text/Markdown; charset=utf-8"), None),
        (typed(TextResponse, "text/css"), "content_type"),
        (typed(TextResponse, "text/csv"), "content_type"),
        (typed(TextResponse, "application/javascript"), "content_type"),
        (typed(TextResponse, "", "file:///notes.txt"), None),
        (typed(TextResponse, "", "file:///table.csv"), "content_type"),
        (typed(JsonResponse, "application/json"), "content_type"),
        (typed(JsonResponse, "text/plain"), "content_type"),
        (typed(XmlResponse, "application/rss+xml"), "content_type"),
        (typed(Response, "image/png"), "content_type"),
        (typed(TextResponse, "text/plain", "https://e.com/robots.txt"), "robots_txt"),
        (typed(Response, "text/plain"), "content_type"),
    ],
)
def test_complete_pages_of_text_are_judged(response: Response, reason: str | None) -> None:
    assert reason_to_skip(Request(URL), response) == reason


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Request(URL), None),
        (Request(URL, meta={"crawldedup": False}), "disabled"),
        (Request(URL, meta={"crawldedup": True}), None),
        (Request(URL, meta={"crawldedup": {"action": "mark"}}), None),
        (Request(URL, method="POST"), None),
        (Request(URL, method="HEAD"), "method"),
        (Request(URL, callback=NO_CALLBACK), "no_callback"),
        (Request(URL, callback=NO_CALLBACK, meta={"crawldedup": True}), None),
    ],
)
def test_requests_decide_whether_their_answers_are_checked(request_: Request, reason: str | None) -> None:
    assert reason_to_skip(request_, html()) == reason


@pytest.mark.parametrize(
    ("deny", "reason"), [([], None), (["/news/"], None), (["/news/", "a=1$"], "url"), (["page"], "url")]
)
def test_urls_are_denied_unless_the_request_asks_for_it(deny: list[str], reason: str | None) -> None:
    patterns = check_patterns("DENY", deny)
    assert reason_to_skip(Request(URL), html(), patterns) == reason
    asked_for = Request(URL, meta={"crawldedup": {"action": "mark"}})
    assert reason_to_skip(asked_for, html(), patterns) is None


def page(response: Response, policy: CrawlOptions = USUAL, **request: Any) -> Page:
    return page_of(Request(URL, **request), response, policy, "news")


def test_the_rules_of_a_page_go_along() -> None:
    policy = CrawlOptions(action="mark", scope="spider", similarity=0.8, remember=False)
    posted = page(html(), policy, method="POST", body=b"q=1")
    assert (posted.url, posted.scope_key, posted.similarity, posted.remember) == (URL, "news", 0.8, False)
    assert str(posted.identity).startswith("POST https://www.example.co.uk/page?a=1&b=2 ")
    assert not posted.delivered


@pytest.mark.parametrize(("revisit", "asked"), [("keep", None), ("drop", 0.95)])
def test_where_revisits_are_kept_their_texts_are_remembered_as_they_are(revisit: str, asked: float | None) -> None:
    policy = CrawlOptions(action="drop", revisit=revisit, revisit_similarity=0.95)
    assert page(html(), policy).revisit_similarity == asked


def test_overrides_apply_to_one_request() -> None:
    given = {
        "action": "mark",
        "scope": "site",
        "keep_per_cluster": 3,
        "similarity": 0.8,
        "remember": False,
        "canonical": "compare",
        "revisit": "drop",
        "revisit_similarity": 0.95,
        "trusted_sites": frozenset({"example.com"}),
        "paragraphs": 0.2,
    }
    assert options_for(Request(URL, meta={"crawldedup": given}), USUAL) == CrawlOptions(**given)
    for neutral in (None, True, {}):
        assert options_for(Request(URL, meta={"crawldedup": neutral}), USUAL) == USUAL


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            {"threshold": 0.8},
            r"unknown key 'threshold'; allowed are action, canonical, keep_per_cluster, paragraphs, remember, revisit",
        ),
        ({"similarity": 0.2}, r'meta\["crawldedup"\]\["similarity"\] is 0.2; it must be a number above 0.5'),
        ({"keep_per_cluster": 0}, "whole number from 1"),
        ({"action": "delete"}, "'drop' or 'drop-items' or 'mark'"),
        ({"remember": "maybe"}, "True or False"),
        ({"canonical": True}, "'ignore' or 'compare'"),
        ({"revisit": "skip"}, "'keep' or 'drop'"),
        ({"revisit_similarity": 0.4}, "must be a number above 0.5"),
        ({"paragraphs": 2}, "must be a share above 0 and below 1, 'mark' or None"),
        ("yes", "must be True, False or a dict"),
        (1, "must be True, False or a dict"),
    ],
)
def test_a_wrong_override_is_explained(override: object, message: str) -> None:
    with pytest.raises(OverrideError, match=message):
        options_for(Request(URL, meta={"crawldedup": override}), USUAL)


NEW = Verdict(Kind.NEW, URL)
REVISIT = Verdict(Kind.REVISIT, URL)
COPY = Verdict(Kind.EXACT_DUPLICATE, URL, "https://www.example.co.uk/a", copies=1)
NEAR = replace(COPY, kind=Kind.NEAR_DUPLICATE)
STRANGER = replace(COPY, original="https://other.org/a")
BETTER = replace(COPY, replaces=True)
PARTIAL = replace(NEW, coverage=Coverage(1, 9, 0, is_partial=True, sources=(("https://other.org/a", 9),)))

DROP, MARK, ITEMS = (replace(USUAL, action=action) for action in ("drop", "mark", "drop-items"))
DAILY = replace(DROP, revisit="drop")
TRUSTING_ITSELF = replace(DROP, trusted_sites=frozenset())

PASSES = Outcome(Fate.DELIVERED)
DROPPED = Outcome(Fate.DROPPED, refused=True)
UNCHANGED = Outcome(Fate.DROPPED, refused=True, unchanged=True)


def flagged(*flags: str, fate: Fate = Fate.DELIVERED, refused: bool = False, unchanged: bool = False) -> Outcome:
    return Outcome(fate, refused, unchanged, tuple(f"crawldedup:{flag}" for flag in flags))


def marked(flag: str, *, refused: bool = True, unchanged: bool = False) -> Outcome:
    return flagged(flag, fate=Fate.MARKED, refused=refused, unchanged=unchanged)


@pytest.mark.parametrize(
    ("verdict", "policy", "seen", "outcome"),
    [
        *(
            (verdict, policy, False, PASSES)
            for verdict in (NEW, REVISIT, replace(NEW, kind=Kind.THIN))
            for policy in (DROP, MARK, ITEMS)
        ),
        *((verdict, DROP, False, DROPPED) for verdict in (COPY, NEAR, STRANGER)),
        *((verdict, ITEMS, False, replace(DROPPED, fate=Fate.ITEMS_DROPPED)) for verdict in (COPY, NEAR)),
        (COPY, MARK, False, marked("exact_duplicate")),
        (NEAR, MARK, False, marked("near_duplicate")),
        # A better copy takes the place of the one that was delivered.
        (BETTER, DROP, False, flagged("replaces")),
        (BETTER, ITEMS, False, flagged("replaces")),
        (BETTER, MARK, False, marked("replaces", refused=False)),
        # As many copies as are wanted.
        (NEAR, replace(DROP, keep_per_cluster=2), False, PASSES),
        (replace(NEAR, copies=2), replace(DROP, keep_per_cluster=2), False, DROPPED),
        (replace(COPY, copies=7), replace(DROP, keep_per_cluster=3), False, DROPPED),
        (NEAR, replace(MARK, keep_per_cluster=2), False, marked("near_duplicate", refused=False)),
        # A text belongs to sites that are trusted, and to the page's own.
        (COPY, TRUSTING_ITSELF, False, DROPPED),
        (STRANGER, TRUSTING_ITSELF, False, flagged("exact_duplicate")),
        (STRANGER, replace(DROP, trusted_sites=frozenset({"other.org"})), False, DROPPED),
        (replace(COPY, original=None), TRUSTING_ITSELF, False, PASSES),
        (Verdict(Kind.EXACT_DUPLICATE, "", None, copies=1), TRUSTING_ITSELF, False, PASSES),
        # What earlier crawls have seen.
        (REVISIT, DAILY, False, UNCHANGED),
        (REVISIT, replace(DAILY, action="drop-items"), False, replace(UNCHANGED, fate=Fate.ITEMS_DROPPED)),
        (REVISIT, replace(DAILY, action="mark"), False, marked("unchanged", unchanged=True)),
        (REVISIT, DAILY, True, PASSES),
        (replace(REVISIT, changed=True), DAILY, False, PASSES),
        (replace(REVISIT, abandoned=True), DAILY, False, PASSES),
        (NEW, DAILY, False, PASSES),
        (COPY, DAILY, True, DROPPED),
        # Pages that stand on others in part.
        (PARTIAL, replace(DROP, paragraphs=0.2), False, flagged("new=0.10", fate=Fate.DROPPED, refused=True)),
        (PARTIAL, replace(ITEMS, paragraphs=0.2), False, flagged("new=0.10", fate=Fate.ITEMS_DROPPED, refused=True)),
        (PARTIAL, replace(MARK, paragraphs=0.2), False, flagged("new=0.10", refused=True)),
        (PARTIAL, replace(DROP, paragraphs=0.1), False, flagged("new=0.10")),
        (PARTIAL, replace(DROP, paragraphs="mark"), False, flagged("new=0.10")),
        (PARTIAL, DROP, False, flagged("new=0.10")),
        (PARTIAL, replace(TRUSTING_ITSELF, paragraphs=0.2), False, flagged("new=0.10")),
    ],
)
def test_what_becomes_of_a_page(verdict: Verdict, policy: CrawlOptions, seen: bool, outcome: Outcome) -> None:
    assert decide(verdict, policy, seen=seen) == outcome


@pytest.mark.parametrize(
    ("policy", "done"),
    [(DROP, "dropped"), (ITEMS, "drops the items of"), (MARK, "marks"), (TRUSTING_ITSELF, "delivers")],
)
def test_the_log_tells_what_is_done(policy: CrawlOptions, done: str) -> None:
    assert decide(STRANGER, policy).done == done


def test_the_url_is_a_pages_identity_unless_one_url_answers_many_requests() -> None:
    def identity(url: str = URL, **request: Any) -> str | None:
        return identity_of(Request(URL, **request), html(url=url))

    assert identity() is None
    post = identity(method="POST", body=b"q=1")
    assert post is not None
    assert post != identity(method="POST", body=b"q=2")
    assert post != identity(method="PUT", body=b"q=1")
    assert post == identity("https://www.example.co.uk/page?a=1&b=2", method="POST", body=b"q=1")
    assert identity(body=b"q=1") not in (None, post)


@pytest.mark.parametrize(("scope", "key"), [("global", ""), ("site", "example.co.uk"), ("spider", "news")])
def test_scopes(scope: str, key: str) -> None:
    policy = CrawlOptions(action="drop", scope=scope)
    assert page_of(Request(URL), html(), policy, "news").scope_key == key


def test_of_html_only_the_declared_encoding_is_passed_on() -> None:
    meta = "<meta charset=latin-1>Grüße".encode("latin-1")
    usual = Page(URL, html=meta, scope_key="", similarity=0.9, delivered=False)
    assert page(html(body=meta)) == usual
    declared = html(body=meta, headers={"Content-Type": "text/html; charset=windows-1252"})
    assert page(declared) == replace(usual, encoding="cp1252")
    plain = TextResponse(URL, body="Grüße".encode(), headers={"Content-Type": "text/plain"})
    assert page(plain) == replace(usual, html=None, text="Grüße")


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, False),
        ({"depth": 1}, False),
        ({"is_start_request": True}, True),
        ({"is_start_request": True, "depth": 0, "redirect_times": 1}, True),
        # A spider that hands on the meta of a start page.
        ({"is_start_request": True, "depth": 1}, False),
    ],
)
def test_start_pages_are_told_from_those_that_they_lead_to(meta: dict[str, Any], expected: bool) -> None:
    assert is_start(Request(URL, meta=meta)) is expected
