"""Which responses are checked, under which rules, and what becomes of a duplicate: decisions without I/O."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Self

from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from w3lib.encoding import http_content_type_encoding

from crawldedup.errors import ConfigurationError
from crawldedup.markup.limits import MAX_BYTES
from crawldedup.options import options_of
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.reading.messages import Job
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request

    from crawldedup.scrapy_plugin.patterns import Pattern
    from crawldedup.verdict import Verdict

OVERRIDE_KEY: Final = "crawldedup"
VERDICT_KEY: Final = "crawldedup_verdict"
DROP_ITEMS_KEY: Final = "_crawldedup_drop_items"

# Flags that Scrapy puts on a response that ended early, or may have: half a page resembles too many others.
_NO_LENGTH: Final = "partial"
_PARTIAL_FLAGS: Final = frozenset({_NO_LENGTH, "dataloss", "download_stopped"})
_PARTIAL_CONTENT: Final = 206
_TAIL_BYTES: Final = 2048
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)

# Style sheets, scripts and tables are text/* too, but nothing that a reader would call a page.
_PROSE_TYPES: Final = frozenset({"text/plain", "text/markdown"})


@dataclass(frozen=True, slots=True)
class PagePolicy:
    """The rules for one page. `similarity` is None where the index's own threshold applies."""

    action: str
    scope: str
    keep_per_cluster: int
    similarity: float | None = None
    remember: bool = True
    canonical: str = "compare"
    revisit: str = "keep"
    revisit_similarity: float | None = None
    trusted_sites: frozenset[str] | None = None
    paragraphs: float | str | None = None

    @classmethod
    def of_crawl(cls, options: CrawlOptions) -> Self:
        """Return the rules for pages whose request says nothing else."""
        names = [each.name for each in fields(cls) if each.name != "similarity"]
        return cls(**{name: getattr(options, name) for name in names})

    @property
    def similarity_of_revisits(self) -> float | None:
        """From which similarity on revisits count as unchanged. Where they are kept, only equal texts do."""
        return self.revisit_similarity if self.revisit == "drop" else None

    def for_request(self, request: Request) -> PagePolicy:
        """Apply a request's ``meta["crawldedup"]``. Raises ConfigurationError for what is not allowed."""
        override = request.meta.get(OVERRIDE_KEY)
        if override is None or isinstance(override, bool):
            return self
        allowed = ", ".join(_OVERRIDES)
        if not isinstance(override, Mapping):
            raise ConfigurationError(
                f'meta["crawldedup"] is {override!r}; it must be True, False or a dict with some of the keys {allowed}.'
            )
        changes: dict[str, Any] = {}
        for key, value in override.items():
            if key not in _OVERRIDES:
                raise ConfigurationError(f'meta["crawldedup"] has the unknown key {key!r}; allowed are {allowed}.')
            changes[key] = _OVERRIDES[key].check(f'meta["crawldedup"]["{key}"]', value)
        return replace(self, **changes)


_OVERRIDES: Final = {
    each.name: each
    for each in sorted(options_of(CrawlOptions), key=lambda each: each.name)
    if each.name in {rule.name for rule in fields(PagePolicy)}
}


def is_surplus(verdict: Verdict, policy: PagePolicy | CrawlOptions) -> bool:
    """Return True for a duplicate of what has as many copies as are wanted, on its own site or one that is trusted.

    One that replaces its original is none. A page is one, too, if too few of its words are not known from such sites.
    """
    if not verdict.is_duplicate:
        return _is_partial(verdict, policy)
    if verdict.replaces or verdict.copies < policy.keep_per_cluster:
        return False
    return _is_trusted(verdict.original or "", verdict, policy)


def _is_partial(verdict: Verdict, policy: PagePolicy | CrawlOptions) -> bool:
    coverage = verdict.coverage
    if coverage is None or not isinstance(policy.paragraphs, float):
        return False
    told = coverage.new_words + coverage.known_words
    known = sum(words for url, words in coverage.sources if _is_trusted(url, verdict, policy))
    return told - known < policy.paragraphs * told


def _is_trusted(original: str, verdict: Verdict, policy: PagePolicy | CrawlOptions) -> bool:
    if policy.trusted_sites is None:
        return True
    # What has no URL is on no site.
    site = site_of(original)
    return bool(site) and (site in policy.trusted_sites or site == site_of(verdict.url))


def reason_to_skip(request: Request, response: Response, deny: Sequence[Pattern] = ()) -> str | None:
    """Return why this response is not checked, as a short stable word for counters, or None if it is.

    Checked are complete pages with a body, of a status 2xx, that answer the spider's own requests: HTML, XHTML
    and prose in text/plain or text/markdown. JSON, XML and feeds are left alone: they are data whose records
    repeat their structure, and a search result that changed a little is not a copy to be dropped.
    """
    override = request.meta.get(OVERRIDE_KEY)
    if override is False:
        return "disabled"
    # robots.txt, media and components' own downloads; a request that asks for it by name is checked.
    if request.callback is NO_CALLBACK and not override:
        return "no_callback"
    if not override and any(pattern.matches(response.url, otherwise=True) for pattern in deny):
        return "url"
    if request.method == "HEAD":
        return "method"
    if not 200 <= response.status < 300 or response.status == _PARTIAL_CONTENT:
        return "status"
    if (flags := _PARTIAL_FLAGS.intersection(response.flags)) and not (flags == {_NO_LENGTH} and _is_whole(response)):
        return "partial"
    return _reason_of_content(response)


def _is_whole(response: Response) -> bool:
    """Return True for a page that ends as HTML does, a comment or two behind it included."""
    tail = _COMMENT.sub(b"", response.body[-_TAIL_BYTES:])
    return tail.rstrip().lower().endswith(b"</html>")


def _reason_of_content(response: Response) -> str | None:
    if not isinstance(response, HtmlResponse) and not _is_prose(response):
        return "content_type"
    # Sitemap spiders ask for it themselves, and the same one serves many sites.
    if urlparse_cached(response).path == "/robots.txt":
        return "robots_txt"
    if not response.body:
        return "empty"
    # The reader would refuse it too, but only after it was copied to a worker.
    if len(response.body) > MAX_BYTES:
        return "too_large"
    return None


def is_start(request: Request) -> bool:
    """Return True for a request that the crawl starts with."""
    # Spiders hand the meta of a page on to the next request.
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def flags_of(verdict: Verdict, policy: PagePolicy, *, unchanged: bool, refused: bool) -> list[str]:
    """Return what is added to `response.flags` of a page that passes."""
    is_stranger = verdict.is_across_sites and policy.trusted_sites is not None
    is_marked = policy.action == "mark" and (verdict.is_duplicate or unchanged)
    flags = []
    if is_marked or verdict.replaces or (is_stranger and not refused):
        flags.append(f"crawldedup:{'unchanged' if unchanged else 'replaces' if verdict.replaces else verdict.kind}")
    if verdict.coverage is not None and verdict.coverage.known_words:
        flags.append(f"crawldedup:new={verdict.coverage.share_new:.2f}")
    return flags


def job_of(
    request: Request,
    response: Response,
    policy: PagePolicy,
    spider: str = "",
    rank: int | None = None,
    asks_itself: bool = False,
) -> Job:
    """Return what a worker needs of a response to check it. `rank` is that of its URL, if some copies are preferred.

    Of HTML only the server's word on the encoding goes along: the rest is found in the page, in the same way
    as everywhere else, or one page would have two fingerprints.
    """
    is_html = isinstance(response, HtmlResponse)
    if is_html:
        declared = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
        encoding = http_content_type_encoding(declared)
    else:
        encoding = response.encoding if isinstance(response, TextResponse) else None
    links = None
    if policy.canonical == "compare" or rank is not None:
        links = tuple(value.decode("latin-1") for value in response.headers.getlist(b"Link"))
    return Job(
        url=response.url,
        body=response.body,
        encoding=encoding,
        form="html" if is_html else "text",
        identity=identity_of(request, response),
        scope_key=scope_key_of(policy, response, spider),
        similarity=policy.similarity,
        revisit_similarity=policy.similarity_of_revisits,
        links=links,
        is_lenient=policy.canonical == "compare",
        rank=rank,
        asks_itself=asks_itself,
        remember=policy.remember,
    )


def identity_of(request: Request, response: Response) -> str | None:
    """Return what makes the answer the same page when it is seen again; None if the URL alone does.

    One URL answers many POST requests (searches, GraphQL), so other methods and bodies are part of it.
    """
    if request.method == "GET" and not request.body:
        return None
    body = hashlib.sha256(request.body).hexdigest()[:32]
    return f"{request.method} {canonical_url(response.url)} {body}"


def scope_key_of(policy: PagePolicy, response: Response, spider: str) -> str:
    """Return the name of the pages this page is compared with: all (""), its site's, or its spider's."""
    if policy.scope == "spider":
        return spider
    return site_of(response.url) if policy.scope == "site" else ""


def _is_prose(response: Response) -> bool:
    if not isinstance(response, TextResponse) or isinstance(response, XmlResponse | JsonResponse):
        return False
    declared = response.headers.get(b"Content-Type")
    if not declared:
        return mimetypes.guess_type(response.url)[0] in _PROSE_TYPES
    return declared.split(b";")[0].strip().lower().decode("latin-1") in _PROSE_TYPES
