"""Which responses are judged, under which rules, and what becomes of a duplicate: decisions without I/O."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from w3lib.encoding import http_content_type_encoding

from crawldedup.errors import ConfigurationError
from crawldedup.options import SCOPES
from crawldedup.scope import canonical_url, site_of
from crawldedup.scrapy_plugin import settings as checks
from crawldedup.scrapy_plugin.reading.base import Page
from crawldedup.text.canonical import canonical_claim
from crawldedup.text.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    import re

    from scrapy import Request, Spider

    from crawldedup.verdict import Verdict

OVERRIDE_KEY = "crawldedup"
VERDICT_KEY = "crawldedup_verdict"
DROP_ITEMS_KEY = "_crawldedup_drop_items"

# Flags Scrapy puts on a response that ended early: half a page resembles too many others.
_PARTIAL_FLAGS = frozenset({"partial", "dataloss", "download_stopped"})
_PARTIAL_CONTENT = 206

# Style sheets, scripts and tables are text/* too, but nothing a reader would call a page.
_PROSE_TYPES = frozenset({"text/plain", "text/markdown"})


@dataclass(frozen=True, slots=True)
class PagePolicy:
    """The rules for one page. `similarity` is None where the index's own threshold applies."""

    action: str
    scope: str
    keep_per_cluster: int
    similarity: float | None = None
    remember: bool = True
    canonical: str = "ignore"
    revisit: str = "keep"

    def overridden(self, override: Mapping[str, Any]) -> PagePolicy:
        """Apply a request's ``meta["crawldedup"]``. Raises `ConfigurationError` for what is not allowed."""
        changes: dict[str, Any] = {}
        for key, value in override.items():
            if key not in _OVERRIDES:
                raise ConfigurationError(
                    f'meta["crawldedup"] has the unknown key {key!r}; allowed are {", ".join(_OVERRIDES)}.'
                )
            changes[key] = _OVERRIDES[key](f'meta["crawldedup"]["{key}"]', value)
        return replace(self, **changes)

    def refuses(self, verdict: Verdict) -> bool:
        """True for a duplicate of a page that already has as many copies as are wanted."""
        return is_surplus(verdict, self.keep_per_cluster)


def is_surplus(verdict: Verdict, keep_per_cluster: int) -> bool:
    """True for a duplicate of what already has as many copies as are wanted."""
    return verdict.is_duplicate and verdict.copies >= keep_per_cluster


@dataclass(frozen=True, slots=True)
class UrlPatterns:
    """Which URLs are judged: those that one of `allow` is found in, if there are any, and none of `deny`."""

    allow: tuple[re.Pattern[str], ...] = ()
    deny: tuple[re.Pattern[str], ...] = ()

    def admit(self, url: str) -> bool:
        """True for a URL whose page is judged."""
        if self.allow and not any(pattern.search(url) for pattern in self.allow):
            return False
        return not any(pattern.search(url) for pattern in self.deny)


ANY_URL = UrlPatterns()

_OVERRIDES = {
    "action": lambda name, value: checks.one_of(name, value, checks.ACTIONS),
    "canonical": lambda name, value: checks.one_of(name, value, checks.CANONICAL),
    "keep_per_cluster": lambda name, value: checks.whole(name, value, 1),
    "remember": checks.yes_or_no,
    "revisit": lambda name, value: checks.one_of(name, value, checks.REVISIT),
    "scope": lambda name, value: checks.one_of(name, value, SCOPES),
    "similarity": checks.similarity,
}


def policy_for(request: Request, usual: PagePolicy) -> PagePolicy:
    """The rules for the answer to this request. Raises `ConfigurationError` for a wrong override."""
    override = request.meta.get(OVERRIDE_KEY)
    if override is None or isinstance(override, bool):
        return usual
    if isinstance(override, Mapping):
        return usual.overridden(override)
    raise ConfigurationError(
        f'meta["crawldedup"] is {override!r}; it must be True, False or a dict with some of the keys '
        f"{', '.join(_OVERRIDES)}."
    )


def reason_to_skip(
    request: Request, response: Response, *, judge_by_default: bool, urls: UrlPatterns = ANY_URL
) -> str | None:
    """Why this response is not judged, as a short stable word for counters, or None if it is.

    Judged are complete pages with a body, of a status 2xx, that answer the spider's own requests: HTML, XHTML
    and prose in text/plain or text/markdown. JSON, XML and feeds are left alone: they are data whose records
    repeat their structure, and a search result that changed a little is not a copy to be dropped.
    """
    override = request.meta.get(OVERRIDE_KEY)
    if override is False or (override is None and not judge_by_default):
        return "disabled"
    # robots.txt, media and components' own downloads; a request that asks for it by name is judged.
    if request.callback is NO_CALLBACK and not override:
        return "no_callback"
    if not override and not urls.admit(response.url):
        return "url"
    if request.method == "HEAD":
        return "method"
    if not 200 <= response.status < 300 or response.status == _PARTIAL_CONTENT:
        return "status"
    if not _PARTIAL_FLAGS.isdisjoint(response.flags):
        return "partial"
    if not isinstance(response, HtmlResponse) and not _is_prose(response):
        return "content_type"
    # Sitemap spiders ask for it themselves, and the same one serves many sites.
    if urlparse_cached(response).path == "/robots.txt":
        return "robots_txt"
    if not response.body:
        return "empty"
    # The reader would refuse it too, but only after it was copied to a worker.
    if len(response.body) > DEFAULT_LIMITS.max_bytes:
        return "too_large"
    return None


def page_of(response: Response) -> Page:
    """What a worker needs of a response that is to be judged.

    Of HTML only the server's word on the encoding goes along: the rest is found in the page, in the same way
    as everywhere else, or one page would have two fingerprints.
    """
    if isinstance(response, HtmlResponse):
        declared = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
        return Page(response.body, http_content_type_encoding(declared), is_html=True)
    return Page(response.body, response.encoding if isinstance(response, TextResponse) else None, False)


def identity_of(request: Request, response: Response) -> str | None:
    """What makes the answer the same page when it is seen again; None if the URL alone does.

    One URL answers many POST requests (searches, GraphQL), so other methods and bodies are part of it.
    """
    if request.method == "GET" and not request.body:
        return None
    body = hashlib.sha256(request.body).hexdigest()[:32]
    return f"{request.method} {canonical_url(response.url)} {body}"


def canonical_of(policy: PagePolicy, response: Response) -> str | None:
    """The other URL that a page names as its original, if the policy asks for it."""
    if policy.canonical == "ignore":
        return None
    headers = [value.decode("latin-1") for value in response.headers.getlist(b"Link")]
    page = page_of(response)
    return canonical_claim(response.url, page.body if page.is_html else b"", page.encoding, link_headers=headers)


def scope_key_of(policy: PagePolicy, response: Response, spider: Spider) -> str:
    """Names the pages this page is compared with: all of them (""), its site's, or its spider's."""
    if policy.scope == "spider":
        return spider.name
    return site_of(response.url) if policy.scope == "site" else ""


def _is_prose(response: Response) -> bool:
    if not isinstance(response, TextResponse) or isinstance(response, XmlResponse | JsonResponse):
        return False
    declared = response.headers.get(b"Content-Type")
    if declared:
        media_type: str | None = declared.split(b";")[0].strip().lower().decode("latin-1")
    else:
        media_type, _ = mimetypes.guess_type(response.url)
    return media_type in _PROSE_TYPES
