"""Which responses are checked, and as which pages."""

from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK

from crawldedup.crawling.options import CrawlOptions
from crawldedup.page import Page
from crawldedup.patterns import check_patterns
from crawldedup.scrapy_plugin.responses import is_start, page_of, reason_to_skip

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
    assert reason_to_skip(Request(URL), response) == reason


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
    unchecked = check_patterns("UNCHECKED_URLS", ["/news/", "a=1$"])
    assert reason_to_skip(Request(URL, **options), html(), unchecked) == reason
    assert reason_to_skip(Request(URL, **options), html(), unchecked[:1]) == (
        None if reason == "url" else reason
    )


def page(response: Response, policy: CrawlOptions = USUAL, **request: Any) -> Page:
    return page_of(Request(URL, **request), response, policy, "news")


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
    assert page(declared) == replace(usual, encoding="windows-1252")
    plain = TextResponse(URL, body="Grüße".encode(), headers={"Content-Type": "text/plain"})
    assert page(plain) == replace(usual, html=None, text="Grüße")


@pytest.mark.parametrize(
    ("content_type", "source", "is_page"),
    [
        ("text/plain; charset=x-sjis", "<!DOCTYPE html><p>a", True),
        ("text/plain", "\n<!-- a -->\n<html><p>a", True),
        ("text/plain", "<div><p>a</p></div>", True),
        ("text/markdown", "<div><p>a</p></div>", False),
        ("text/markdown", "<html><p>a", True),
        ("text/plain", "How to write <html>", False),
    ],
)
def test_html_that_is_sent_as_text_is_html(content_type: str, source: str, is_page: bool) -> None:
    headers = {"Content-Type": content_type}
    sent = page(TextResponse(URL, body=source.encode(), headers=headers))
    assert (sent.html, sent.text) == ((source.encode(), None) if is_page else (None, source))
    assert sent.encoding == ("x-sjis" if "x-sjis" in content_type else None)


def test_start_pages_are_told_from_those_that_they_lead_to() -> None:
    assert is_start(Request(URL, meta={"is_start_request": True, "depth": 0, "redirect_times": 1}))
    # A spider that hands on the meta of a start page.
    for meta in ({"depth": 1}, {"is_start_request": True, "depth": 1}):
        assert not is_start(Request(URL, meta=meta))
