"""Which responses are checked, by which rules, what becomes of a page, which copy is kept, what is
a wall: no I/O.
"""

import hashlib
import mimetypes
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Any, Final

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.httpobj import urlparse_cached
from w3lib.encoding import http_content_type_encoding

from crawldedup.advice.rules import may_name_more, names_a_view
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.options import options_of
from crawldedup.page import WORST_RANK, Page
from crawldedup.reading.html import MAX_BYTES
from crawldedup.reading.reader import ReadPage
from crawldedup.recent import put_last
from crawldedup.scope import page_key, site_of
from crawldedup.scrapy_plugin.settings import CrawlOptions, Pattern, matches
from crawldedup.urls import canonical_url, claimed_url, is_same_page
from crawldedup.verdict import Kind, Verdict

OVERRIDE_KEY: Final = "crawldedup"
VERDICT_KEY: Final = "crawldedup_verdict"
DROP_ITEMS_KEY: Final = "_crawldedup_drop_items"

# Flags that Scrapy puts on a response that ended early, or may have: half a page resembles too many
# others.
_NO_LENGTH: Final = "partial"
_PARTIAL_FLAGS: Final = frozenset({_NO_LENGTH, "dataloss", "download_stopped"})
_WORD: Final = re.compile(r"[a-z.]{1,20}")
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)

# Style sheets, scripts and tables are text/* too, but nothing that a reader would call a page.
_PROSE_TYPES: Final = frozenset({"text/plain", "text/markdown"})

# So many of the last judged pages, and the share of them that makes an original suspect: of a wall
# before all of a site, and before each third page. Honest pages of one template stay below: of a
# calendar, 35 of 100 and 123 of 500.
WINDOWS: Final = ((100, 0.6), (500, 0.3))
MOST_SUSPECTED: Final = 100  # originals in one crawl
_MOST_SITES: Final = 100  # are watched


class OverrideError(CrawlDedupError):
    """Raised for a request whose ``meta["crawldedup"]`` is not allowed. Its page passes."""

    counter = "meta"


class DuplicatePageError(IgnoreRequest):
    """Raised for a page that is dropped, as a duplicate or as an unchanged revisit.

    The request's errback receives it.

    Its `verdict` names the original.
    """

    def __init__(self, reason: str, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(reason)


_OVERRIDABLE: Final = (
    *(
        "action",
        "canonical",
        "keep_per_cluster",
        "paragraphs",
        "remember",
        "revisit",
        "revisit_similarity",
    ),
    *("scope", "similarity", "trusted_sites"),
)
_CHECKS: Final = {
    option.name: option.check for option in options_of(CrawlOptions) if option.name in _OVERRIDABLE
}


def options_for(request: Request, options: CrawlOptions) -> CrawlOptions:
    """Return the options for one page, by a request's ``meta["crawldedup"]``.

    Raises OverrideError if that is wrong.
    """
    override = request.meta.get(OVERRIDE_KEY)
    if override is None or isinstance(override, bool):
        return options
    meta, allowed = f'meta["{OVERRIDE_KEY}"]', ", ".join(_OVERRIDABLE)
    if not isinstance(override, Mapping):
        raise OverrideError(
            f"{meta} is {override!r}; it must be True, False or a dict with some of the keys "
            f"{allowed}."
        )
    if unknown := [key for key in override if key not in _CHECKS]:
        raise OverrideError(f"{meta} has the unknown key {unknown[0]!r}; allowed are {allowed}.")
    try:
        return changed(
            options,
            **{key: _CHECKS[key](f'{meta}["{key}"]', value) for key, value in override.items()},
        )
    except ConfigurationError as error:
        raise OverrideError(str(error)) from None


def changed(options: CrawlOptions, **values: object) -> CrawlOptions:
    """Return options with other values, which are not checked: to check all of them takes ten times
    as long.
    """
    own = copy(options)
    for name, value in values.items():
        object.__setattr__(own, name, value)
    return own


class Fate(StrEnum):
    """What becomes of a checked page or item."""

    DELIVERED = "delivered"
    MARKED = "marked"
    ITEMS_DROPPED = "items_dropped"
    DROPPED = "dropped"


_DONE: Final = {
    Fate.DROPPED: "dropped",
    Fate.ITEMS_DROPPED: "drops the items of",
    Fate.MARKED: "marks",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is done with a page, for the middleware to carry out, and for stats, journal and log to
    tell.

    It is `refused` as an unwanted copy, for too few new words, or as `unchanged`. `flags` are for
    `response.flags`.
    """

    fate: Fate
    refused: bool = False
    unchanged: bool = False
    flags: tuple[str, ...] = ()

    @property
    def done(self) -> str:
        """What the log says of it."""
        return _DONE.get(self.fate, "delivers") if self.refused else "delivers"


def decide(verdict: Verdict, policy: CrawlOptions, *, seen: bool = False) -> Outcome:
    """Return what is done with a page of this verdict.

    It was `seen` if this crawl has let it pass before.
    """
    # What a crawler remembered before it died was not delivered.
    is_news = verdict.changed or verdict.abandoned or seen
    unchanged = verdict.kind is Kind.REVISIT and policy.revisit == "drop" and not is_news
    refused = unchanged or _is_surplus(verdict, policy)
    fate = Fate.DELIVERED
    if policy.action == "mark":
        fate = Fate.MARKED if verdict.is_duplicate or unchanged else Fate.DELIVERED
    elif refused:
        fate = Fate.DROPPED if policy.action == "drop" else Fate.ITEMS_DROPPED
    flags = []
    is_stranger = verdict.is_across_sites and policy.trusted_sites is not None and not refused
    if fate is Fate.MARKED or verdict.replaces or is_stranger:
        flags.append(
            f"crawldedup:{'unchanged' if unchanged else 'replaces' if verdict.replaces else verdict.kind}"
        )
    if verdict.coverage is not None and verdict.coverage.known_words:
        flags.append(f"crawldedup:new={verdict.coverage.share_new:.2f}")
    return Outcome(fate, refused, unchanged, tuple(flags))


def _is_surplus(verdict: Verdict, policy: CrawlOptions) -> bool:
    """Return True for a copy beyond `keep_per_cluster` of a page that may own its text, and for too
    few new words.
    """
    if verdict.is_duplicate:
        is_wanted = verdict.replaces or verdict.copies < policy.keep_per_cluster
        return not is_wanted and _may_own(verdict.original or "", verdict, policy)
    coverage = verdict.coverage
    if coverage is None or not isinstance(policy.paragraphs, float):
        return False
    words = coverage.new_words + coverage.known_words
    known = sum(words for url, words in coverage.sources if _may_own(url, verdict, policy))
    return words - known < policy.paragraphs * words


def _may_own(original: str, verdict: Verdict, policy: CrawlOptions) -> bool:
    site = site_of(original)
    # What has no URL is on no site.
    return policy.trusted_sites is None or (
        bool(site) and site in {*policy.trusted_sites, site_of(verdict.url)}
    )


def reason_to_skip(
    request: Request, response: Response, deny: Sequence[Pattern] = ()
) -> str | None:
    """Return why this response is not checked, as a short stable word for counters, or None if it
    is.

    Checked are complete pages of HTML, XHTML and prose that answer the spider's own requests. JSON,
    XML and feeds are data whose records repeat their structure, and a search result that changed a
    little is no copy to be dropped.
    """
    override = request.meta.get(OVERRIDE_KEY)
    if override is False:
        return "disabled"
    # robots.txt, media and components' own downloads; a request that asks for it by name is
    # checked.
    if request.callback is NO_CALLBACK and not override:
        return "no_callback"
    if not override and any(matches(pattern, response.url, otherwise=True) for pattern in deny):
        return "url"
    if request.method == "HEAD":
        return "method"
    if not 200 <= response.status < 300 or response.status == 206:
        return f"http_{response.status}"
    if flags := _PARTIAL_FLAGS.intersection(response.flags):
        tail = _COMMENT.sub(b"", response.body[-2048:]).rstrip().lower()
        # A page that ends as HTML does is whole, a comment or two behind it included.
        if flags != {_NO_LENGTH} or not tail.endswith(b"</html>"):
            return "partial"
    if not isinstance(response, HtmlResponse) and not _is_prose(response):
        return "content_type"
    # Sitemap spiders ask for it themselves, and the same one serves many sites.
    if urlparse_cached(response).path == "/robots.txt":
        return "robots_txt"
    if not response.body:
        return "empty"
    # The reader would refuse it too, but only after it was copied to a worker.
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
    """Return True for a request that the crawl starts with."""
    # Spiders hand the meta of a page on to the next request.
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def is_exempt(request: Request, *, is_postponed: bool = False) -> bool:
    """Return True for a request that is made whatever it brings: one that a crawl starts with, or
    that is asked for.
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
    """Return a response as the page to check.

    Of HTML, the server's word on the encoding goes along, and no guess.
    """
    body: dict[str, Any]
    if isinstance(response, HtmlResponse):
        declared = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
        body = {"html": response.body, "encoding": http_content_type_encoding(declared)}
    else:
        encoding = response.encoding if isinstance(response, TextResponse) else "utf-8"
        body = {"text": response.body.decode(encoding, "replace")}
    identity = None
    if request.method != "GET" or request.body:
        # One URL answers many POST requests (searches, GraphQL), so other methods and bodies tell
        # pages apart.
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
    """Return what pages or items share that may be compared.

    A site is looked up only where it is asked for.
    """
    return site_of(url) if scope == "site" else spider if scope == "spider" else ""


def key_of(page: Page) -> int:
    """Return what tells a page that this crawl has let pass from one unchanged since an earlier
    crawl.
    """
    return page_key(page.scope_key or "", page.url, page.identity)


def pattern_of(url: str) -> str:
    """Return the pattern of a URL: its host, the plain words of its path, and the names of its
    parameters.
    """
    address, _, query = url.partition("?")
    scheme, _, host, *parts = [*address.split("/"), "", ""]
    path = "/".join(part if _WORD.fullmatch(part) else "*" for part in parts)
    return f"{scheme}{host}/{path}?{'&'.join(sorted(part.partition('=')[0] for part in query.split('&')))}"


class Deliveries:
    """Pages on their way through callbacks, and with their items through pipelines, until the
    engine is done.

    Those that fail there are never delivered. When the crawl has ended they count as abandoned, and
    come again.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._on_their_way: dict[tuple[str, str | None, str | None], set[Request]] = {}

    def passed(self, request: Request, page: Page) -> None:
        self._on_their_way.setdefault((page.url, page.identity, page.scope_key), set()).add(request)

    def failed(self, request: Request | None) -> None:
        """Note that the callback of a request, or an item of its page, has failed."""
        self._on_their_way = {
            name: asked for name, asked in self._on_their_way.items() if request not in asked
        }

    def pop_delivered(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield URL, identity and scope of the pages that were delivered since the last call.

        A page that a callback downloaded by itself counts as delivered when the callback has it.
        """
        slot = getattr(self._crawler.engine, "_slot", None)
        # Without Scrapy's word on it none counts as delivered, which costs a second delivery at
        # most.
        if slot is not None:
            # Of a page that was asked for twice, the second answer may be another.
            done = [
                name
                for name, asked in self._on_their_way.items()
                if asked.isdisjoint(slot.inprogress)
            ]
            for name in done:
                del self._on_their_way[name]
                yield name


class Walls:
    """Recognises walls: pages that a site answers with in place of many, such as a login form, a
    ban or a soft 404.

    `sites` holds the last judged pages of each: what the pages of a wall have in common, and hashes
    of their URLs.
    """

    def __init__(self) -> None:
        self.sites: dict[str, deque[tuple[int | None, int]]] = {}
        self._suspected: set[int] = set()

    def add(self, verdict: Verdict, digest: int = 0) -> tuple[str, float, int] | None:
        """Note a judged page. Return its original if that is suspected, once for each.

        Behind it stands the share of so many of the last pages that are its copies, each URL
        counted once.
        """
        key = None
        # What the pages of one wall share: their original or, where a lasting index knows them,
        # their text.
        if verdict.is_duplicate and verdict.original is not None:
            key = hash(verdict.original)
        elif verdict.kind is Kind.REVISIT and digest:
            key = hash(("text", digest))
        site = site_of(verdict.url)
        recent = self.sites.get(site, deque(maxlen=max(size for size, _ in WINDOWS)))
        put_last(self.sites, site, recent, _MOST_SITES)
        recent.appendleft((key, hash(verdict.url)))
        if key is None or key in self._suspected or len(self._suspected) == MOST_SUSPECTED:
            return None
        for size, share in WINDOWS:
            pages = min(size, len(recent))
            urls = {url for of_page, url in islice(recent, pages) if of_page == key}
            if len(urls) >= share * size:
                self._suspected.add(key)
                original = verdict.original if verdict.is_duplicate else None
                return original or verdict.url, len(urls) / pages, pages
        return None


class Copies:
    """Ranks the copies of one content: a better one is delivered although a worse one was, and
    replaces that.

    A second delivery has its price, so ranks are coarse. A good copy is on a trusted site that the
    crawl started on, its URL names no session, no campaign and no view, and it names no other page
    as its original. If it has a query, it is that of a script, or the page names itself with it.
    All other copies are poor, and replace nothing. So no content is delivered more than twice, and
    once more for each of the user's `patterns`, which come first. Of no patterns (an empty list)
    pages have no ranks. A page can lower its own rank alone, by naming another as its original.
    """

    def __init__(
        self, patterns: Sequence[Pattern] | None = None, trusted_sites: frozenset[str] | None = None
    ) -> None:
        self._patterns = patterns or ()
        self._trusted_sites = trusted_sites
        self._is_off = patterns is not None and not patterns
        self._own_sites: set[str] = set()

    def start_at(self, *urls: str) -> None:
        self._own_sites.update(filter(None, map(site_of, urls)))

    def rank(self, url: str) -> int | None:
        """Return the rank by URL; one worse if the page names another as its original.

        None: pages have no ranks.
        """
        if self._is_off:
            return None
        for place, pattern in enumerate(self._patterns):
            if matches(pattern, url):
                return min(2 * place + 1, WORST_RANK)
        site = site_of(url)
        is_trusted = site in self._own_sites and (
            self._trusted_sites is None or site in self._trusted_sites
        )
        is_poor = names_a_view(url) or not is_trusted
        return min(2 * len(self._patterns) + is_poor, WORST_RANK)

    def claims_of(
        self, request: Request, response: Response, policy: CrawlOptions
    ) -> Callable[[Page, ReadPage], Page]:
        """Return what completes the page of a response when it was read: see `with_claim`."""
        if is_start(request):
            self.start_at(request.url, response.url)
        headers = tuple(value.decode("latin-1") for value in response.headers.getlist(b"Link"))
        is_lenient = policy.canonical == "compare"
        return partial(
            with_claim, rank=self.rank(response.url), headers=headers, is_lenient=is_lenient
        )


def with_claim(
    page: Page,
    read: ReadPage,
    *,
    rank: int | None = None,
    headers: Iterable[str] = (),
    is_lenient: bool = True,
) -> Page:
    """Return a page with its rank, and with the original that it names where `is_lenient`.

    `headers` are Link headers.

    `rank` is that of its URL. An even one is one worse for a page that names another as its
    original, or whose query only a canonical link could tell to matter, and that has none.
    """
    may_be_poor = rank is not None and rank % 2 == 0
    claimed = claimed_url(page.url, read.links, headers)
    needs_canonical = may_name_more(page.url)
    if claimed is None or canonical_url(claimed) == canonical_url(page.url):
        is_poor, claimed = claimed is None and needs_canonical, None
    else:
        is_poor = needs_canonical or not is_same_page(page.url, claimed)
    return replace(
        page,
        rank=(rank or 0) + (may_be_poor and is_poor),
        canonical=claimed if is_lenient else None,
    )
