"""Decide which responses are checked, and turn them into pages."""

import hashlib
import mimetypes
import re
from collections.abc import Sequence
from typing import Any, Final

from scrapy import Request
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached

from crawldedup.crawling.options import CrawlOptions
from crawldedup.page import Page
from crawldedup.patterns import Pattern, matches
from crawldedup.reading.charsets import label_in_type, text_of
from crawldedup.reading.html import MAX_BYTES
from crawldedup.reading.markup import is_html
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.overrides import OVERRIDE_KEY
from crawldedup.urls import canonical_url

# Flags that Scrapy sets on a response that ended early, or may have ended early. Half a page
# resembles too many others.
_NO_LENGTH: Final = "partial"
_PARTIAL_FLAGS: Final = frozenset({_NO_LENGTH, "dataloss", "download_stopped"})
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)

# Style sheets, scripts and tables are text/* as well, but no reader would call them pages.
_PROSE_TYPES: Final = frozenset({"text/plain", "text/markdown"})


def reason_to_skip(
    request: Request, response: Response, unchecked_urls: Sequence[Pattern] = ()
) -> str | None:
    """Return why a response is not checked, or None if it is checked.

    Responses to the spider's own requests are checked if they are complete pages of HTML, XHTML or
    prose. JSON, XML and feeds are data whose records repeat their structure, and a search result
    that changed a little is not a copy that should be dropped.

    Args:
        request: The request that the spider made.
        response: The response to it.
        unchecked_urls: Patterns of URLs whose pages are not checked.

    Returns:
        A short, stable word, which the stats count under ``skipped/``.
    """
    return _reason_in_request(request, response.url, unchecked_urls) or _reason_in_response(
        response
    )


def _reason_in_request(request: Request, url: str, unchecked_urls: Sequence[Pattern]) -> str | None:
    override = request.meta.get(OVERRIDE_KEY)
    if override is False:
        return "disabled"
    # robots.txt, media and downloads by other components, unless the request asks for a check.
    if request.callback is NO_CALLBACK and not override:
        return "no_callback"
    if not override and any(matches(pattern, url, otherwise=True) for pattern in unchecked_urls):
        return "url"
    if request.method == "HEAD":
        return "method"
    return None


def _reason_in_response(response: Response) -> str | None:
    """Return why a response isn't a complete page to check, or None."""
    if not 200 <= response.status < 300 or response.status == 206:
        return f"http_{response.status}"
    if flags := _PARTIAL_FLAGS.intersection(response.flags):
        tail = _COMMENT.sub(b"", response.body[-2048:]).rstrip().lower()
        # A page that ends like HTML is complete, even with a comment or two after the end.
        if flags != {_NO_LENGTH} or not tail.endswith(b"</html>"):
            return "partial"
    if not isinstance(response, HtmlResponse) and not _is_prose(response):
        return "content_type"
    # Sitemap spiders request robots.txt themselves, and many sites have the same one.
    if urlparse_cached(response).path == "/robots.txt":
        return "robots_txt"
    if not response.body:
        return "empty"
    # The reader would reject it as well, but only after it was copied to a worker.
    return "too_large" if len(response.body) > MAX_BYTES else None


def _is_prose(response: Response) -> bool:
    if not isinstance(response, TextResponse) or isinstance(response, XmlResponse | JsonResponse):
        return False
    declared = (
        (response.headers.get(b"Content-Type") or b"")
        .split(b";")[0]
        .strip()
        .lower()
        .decode("latin-1")
    )
    return (declared or mimetypes.guess_type(response.url)[0]) in _PROSE_TYPES


def is_start(request: Request) -> bool:
    """Return whether a request is one of those that the crawl starts with."""
    # Spiders copy the meta of a page to their next requests.
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def is_exempt(request: Request, *, is_postponed: bool = False) -> bool:
    """Return whether a request is never skipped or postponed, because that might lose content.

    Examples are start requests, forms that are sent, redirects, and requests with `dont_filter`.
    """
    return (
        request.method != "GET"
        or bool(request.body)
        or request.callback is NO_CALLBACK
        or request.meta.get(OVERRIDE_KEY) is False
        or "redirect_urls" in request.meta
        or is_start(request)
        or (request.dont_filter and not is_postponed)
    )


def page_of(request: Request, response: Response, policy: CrawlOptions, spider: str = "") -> Page:
    """Turn a response into the page to check.

    HTML keeps the encoding that the server declared, but not one that was guessed.
    """
    body: dict[str, Any]
    declared = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
    encoding = response.encoding if isinstance(response, TextResponse) else "utf-8"
    # Browsers show the source of HTML that is sent as plain text, but spiders extract from it.
    if isinstance(response, HtmlResponse) or is_html(
        text := text_of(response.body, encoding, "replace"),
        parts=not declared.lower().startswith("text/markdown"),
    ):
        body = {"html": response.body, "encoding": label_in_type(declared)}
    else:
        body = {"text": text}
    identity = None
    if request.method != "GET" or request.body:
        # One URL answers many POST requests (searches, GraphQL), so the method and the body are
        # part of the page's identity.
        identity = (
            f"{request.method} {canonical_url(response.url)} "
            f"{hashlib.sha256(request.body).hexdigest()[:32]}"
        )
    return Page(
        response.url,
        **body,
        identity=identity,
        scope_key=scope_key_of(policy.scope, response.url, spider),
        similarity=policy.similarity,
        revisit_similarity=policy.similarity_of_revisits,
        remember=policy.remember,
        delivered=False,
    )


def scope_key_of(scope: str, url: str, spider: str) -> str:
    """Return a key for the pages (or items) that may be compared: those with the same key.

    It is "" unless the scope is "site" or "spider". The site of the URL is looked up only if the
    scope needs it.
    """
    if scope == "site":
        return site_of(url)
    return spider if scope == "spider" else ""
