"""What a request was sent out for: it is remembered in its meta, through retries and redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy.http.request import NO_CALLBACK

from crawldedup.advice.address import Address
from crawldedup.scrapy_plugin.learning.window import form_of
from crawldedup.scrapy_plugin.policy import OVERRIDE_KEY, is_start

if TYPE_CHECKING:
    from collections.abc import Container

    from scrapy import Request

ERRAND_KEY: Final = "_crawldedup_errand"
POSTPONED_KEY: Final = "_crawldedup_postponed"

LOWER_PRIORITY: Final = 100
"""By so much the priority of requests for a trap is lowered."""


class Errand(NamedTuple):
    """`role` is "target" for what others wait for, or "sample". `url` was asked for, `key` stands for the target."""

    role: str
    url: str
    key: int


def send_out(request: Request, role: str, key: int) -> None:
    """Note what a request is sent out for."""
    # Plain values: the request may be written to a disk.
    request.meta[ERRAND_KEY] = [role, request.url, key]


def errand_of(request: Request) -> Errand | None:
    """Return what a request was sent out for, before it was redirected or repeated."""
    noted = request.meta.get(ERRAND_KEY)
    # Spiders hand the meta of a page on to the next request.
    return Errand(*noted) if noted and noted[1] == _first_url(request) else None


def _first_url(request: Request) -> str:
    return str((request.meta.get("redirect_urls") or [request.url])[0])


def is_exempt(request: Request) -> bool:
    """Return True for a request that is made whatever it brings: one that a crawl starts with, or that is asked for."""
    is_own = request.meta.get(POSTPONED_KEY) == request.url
    return (
        request.method != "GET"
        or bool(request.body)
        or request.callback is NO_CALLBACK
        or request.meta.get(OVERRIDE_KEY) is False
        or is_start(request)
        or (request.dont_filter and not is_own)
    )


def postponed(request: Request, traps: Container[str]) -> Request | None:
    """Return the request with a lower priority if its URL has the form of a trap, once."""
    address = Address.of(request.url)
    if request.meta.get(POSTPONED_KEY) == request.url or address is None or form_of(address) not in traps:
        return None
    lowered = request.replace(priority=request.priority - LOWER_PRIORITY, dont_filter=True)
    lowered.meta[POSTPONED_KEY] = lowered.url
    return lowered


def key_of(request: Request, target: Address) -> int:
    """Return a number for a page and what is done with it: another callback makes other items, and follows other links.

    A CrawlSpider has one callback, and the number of the rule that the link was found by.
    """
    rule = request.meta.get("rule")
    return hash((getattr(request.callback, "__name__", ""), rule if isinstance(rule, int) else None, target.key()))
