from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from crawldedup.scrapy_plugin.reading.base import Page
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK

from crawldedup.errors import ConfigurationError
from crawldedup.scrapy_plugin.policy import (
    PagePolicy,
    UrlPatterns,
    canonical_of,
    identity_of,
    page_of,
    policy_for,
    reason_to_skip,
    scope_key_of,
)
from crawldedup.verdict import Kind, Verdict

URL = "https://www.example.co.uk/page?b=2&a=1"
USUAL = PagePolicy(action="drop", scope="global", keep_per_cluster=1)


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
        (html(status=206), "status"),
        (html(status=304), "status"),
        (html(status=404), "status"),
        (html(status=503), "status"),
        (html(body=b""), "empty"),
        (html(body=b"<p>" + b"long " * 2_000_000), "too_large"),
        (html(flags=["cached"]), None),
        (html(flags=["dataloss"]), "partial"),
        (html(flags=["download_stopped"]), "partial"),
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
    assert reason_to_skip(Request(URL), response, judge_by_default=True) == reason


@pytest.mark.parametrize(
    ("request_", "default", "reason"),
    [
        (Request(URL), True, None),
        (Request(URL), False, "disabled"),
        (Request(URL, meta={"crawldedup": False}), True, "disabled"),
        (Request(URL, meta={"crawldedup": True}), False, None),
        (Request(URL, meta={"crawldedup": {"action": "mark"}}), False, None),
        (Request(URL, method="POST"), True, None),
        (Request(URL, method="HEAD"), True, "method"),
        (Request(URL, callback=NO_CALLBACK), True, "no_callback"),
        (Request(URL, callback=NO_CALLBACK, meta={"crawldedup": True}), True, None),
    ],
)
def test_requests_decide_whether_their_answers_are_judged(request_: Request, default: bool, reason: str | None) -> None:
    assert reason_to_skip(request_, html(), judge_by_default=default) == reason


@pytest.mark.parametrize(
    ("allow", "deny", "admitted"),
    [
        ([], [], True),
        (["example"], [], True),
        (["^https://example", r"/page\?"], [], True),
        (["/news/"], [], False),
        ([], ["/news/", "a=1$"], False),
        (["example"], ["page"], False),
    ],
)
def test_urls_are_allowed_and_denied(allow: list[str], deny: list[str], admitted: bool) -> None:
    urls = UrlPatterns(tuple(map(re.compile, allow)), tuple(map(re.compile, deny)))
    reason = None if admitted else "url"
    assert reason_to_skip(Request(URL), html(), judge_by_default=True, urls=urls) == reason
    asked_for = Request(URL, meta={"crawldedup": {"action": "mark"}})
    assert reason_to_skip(asked_for, html(), judge_by_default=True, urls=urls) is None


def test_the_original_a_page_names_is_only_read_where_it_is_wanted() -> None:
    compare = replace(USUAL, canonical="compare")
    page = html(body=b"<head><link rel=canonical href=/other></head>")
    assert canonical_of(USUAL, page) is None
    assert canonical_of(compare, page) == "https://www.example.co.uk/other"
    prose = TextResponse(
        URL, body=page.body, headers={"Content-Type": "text/plain", "Link": ["</x>; rel=next", "</y>; rel=canonical"]}
    )
    assert canonical_of(compare, prose) == "https://www.example.co.uk/y"


def test_overrides_apply_to_one_request() -> None:
    given = {
        "action": "mark",
        "scope": "site",
        "keep_per_cluster": 3,
        "similarity": 0.8,
        "remember": False,
        "canonical": "compare",
        "revisit": "drop",
    }
    assert policy_for(Request(URL, meta={"crawldedup": given}), USUAL) == PagePolicy(**given)
    for neutral in (None, True, {}):
        assert policy_for(Request(URL, meta={"crawldedup": neutral}), USUAL) is USUAL or not neutral
    assert policy_for(Request(URL, meta={"crawldedup": {}}), USUAL) == USUAL


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            {"threshold": 0.8},
            r"unknown key 'threshold'; allowed are action, canonical, keep_per_cluster, remember, revisit, scope, sim",
        ),
        ({"similarity": 0.2}, r'meta\["crawldedup"\]\["similarity"\] is 0.2; it must be a number above 0.5'),
        ({"keep_per_cluster": 0}, "whole number of at least 1"),
        ({"action": "delete"}, "'drop' or 'drop-items' or 'mark'"),
        ({"remember": "maybe"}, "True or False"),
        ({"canonical": True}, "'ignore' or 'compare'"),
        ({"revisit": "skip"}, "'keep' or 'drop'"),
        ("yes", "must be True, False or a dict"),
        (1, "must be True, False or a dict"),
    ],
)
def test_a_wrong_override_is_explained(override: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        policy_for(Request(URL, meta={"crawldedup": override}), USUAL)


@pytest.mark.parametrize(
    ("kind", "copies", "keep", "refused"),
    [
        (Kind.NEW, 0, 1, False),
        (Kind.REVISIT, 5, 1, False),
        (Kind.THIN, 0, 1, False),
        (Kind.NEAR_DUPLICATE, 1, 1, True),
        (Kind.EXACT_DUPLICATE, 1, 1, True),
        (Kind.NEAR_DUPLICATE, 1, 2, False),
        (Kind.NEAR_DUPLICATE, 2, 2, True),
        (Kind.EXACT_DUPLICATE, 7, 3, True),
    ],
)
def test_as_many_pages_of_a_cluster_are_kept_as_were_asked_for(
    kind: Kind, copies: int, keep: int, refused: bool
) -> None:
    policy = PagePolicy(action="drop", scope="global", keep_per_cluster=keep)
    assert policy.refuses(Verdict(kind, URL, copies=copies)) is refused


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
    policy = PagePolicy(action="drop", scope=scope, keep_per_cluster=1)
    assert scope_key_of(policy, html(), Spider("news")) == key


def test_of_html_only_the_declared_encoding_is_passed_on() -> None:
    meta = "<meta charset=latin-1>Grüße".encode("latin-1")
    assert page_of(html(body=meta)) == Page(meta, None, is_html=True)
    declared = html(body=meta, headers={"Content-Type": "text/html; charset=windows-1252"})
    assert page_of(declared) == Page(meta, "cp1252", is_html=True)
    plain = TextResponse(URL, body="Grüße".encode(), headers={"Content-Type": "text/plain"})
    assert page_of(plain) == Page("Grüße".encode(), "utf-8", is_html=False)
