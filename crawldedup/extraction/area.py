"""Choose by CSS selectors what is compared of a page, where its maker is known better than any rule of thumb."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import SelectolaxError

from crawldedup.checks import refused
from crawldedup.extraction.html_page import HtmlPage
from crawldedup.markup.blocks import parse
from crawldedup.markup.nodes import elements_around

if TYPE_CHECKING:
    from collections.abc import Iterable

    from selectolax.lexbor import LexborHTMLParser, LexborNode

EVERY_SITE: Final = "*"
_KEYS: Final = ("compare", "leave_out")
_ALLOWED: Final = (
    "a CSS selector of what to compare, or a dictionary of hosts (or '*' for all) to selectors, or to "
    "{'compare': SELECTOR, 'leave_out': SELECTOR}"
)
# Declared data describe the page wherever they stand.
_DECLARED: Final = "script[type*='ld+json' i]"


class Area(NamedTuple):
    """What is compared of the pages of a host and its subdomains: what `compare` matches, but not `leave_out`."""

    host: str
    compare: str
    leave_out: str


def check_areas(name: str, value: object) -> tuple[Area, ...] | None:
    """Check for areas, or for their JSON; return them by host, None for none. Raises ConfigurationError."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            raise refused(name, value, _ALLOWED) from None
    given = {EVERY_SITE: value} if isinstance(value, str) else value
    # What was checked is checked again where options are copied.
    if isinstance(given, tuple) and all(isinstance(area, Area) for area in given):
        return given
    if not isinstance(given, dict):
        raise refused(name, value, _ALLOWED)
    return tuple(sorted(_area(name, host, selectors) for host, selectors in given.items()))


def _area(name: str, host: object, selectors: object) -> Area:
    members: Any = {"compare": selectors} if isinstance(selectors, str) else selectors
    if not isinstance(host, str) or not host.strip(" ./") or not isinstance(members, dict) or not members:
        raise refused(name, {host: selectors}, _ALLOWED)
    for key, selector in members.items():
        if key not in _KEYS or not isinstance(selector, str) or not _is_selector(selector):
            raise refused(f"{name}[{host!r}]", members, _ALLOWED)
    return Area(host.strip().lower().removeprefix("www."), *(members.get(key, "") for key in _KEYS))


def _is_selector(text: str) -> bool:
    try:
        parse("<p>").css(text)
    except (SelectolaxError, ValueError):
        return False
    return bool(text.strip())


def area_of(areas: Iterable[Area] | None, url: str | None) -> Area | None:
    """Return the area for a page by its URL: that of the longest host that it belongs to, or of every site."""
    try:
        host = (urlsplit(url or "").hostname or "").removeprefix("www.")
    except ValueError:
        host = ""
    suitable = (area for area in areas or () if area.host == EVERY_SITE or f".{host}".endswith(f".{area.host}"))
    return max(suitable, key=lambda area: (area.host != EVERY_SITE, len(area.host)), default=None)


def cut_to(area: Area, page: HtmlPage) -> tuple[HtmlPage, bool]:
    """Return what is compared of a page, and whether `area` says what: False if it only says what is left out.

    A page on which nothing matches is returned as it is.
    """
    tree = parse(page.html)
    unwanted = _outermost(tree, area.leave_out) if area.leave_out else []
    for node in unwanted:
        node.decompose()
    if not area.compare:
        return (HtmlPage(tree.html or "") if unwanted else page), False
    wanted = _outermost(tree, area.compare)
    if not wanted:
        return page, False
    head = "" if tree.head is None else tree.head.html
    parts = "".join(node.html or "" for node in (*tree.css(f"body {_DECLARED}"), *wanted))
    return HtmlPage(f"<!DOCTYPE html><html>{head}<body>{parts}</body></html>"), True


def _outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return what a selector matches, but not the parts of what it matches."""
    matched = tree.css(selector)
    known = {node.mem_id for node in matched}
    return [node for node in matched if known.isdisjoint(outer.mem_id for outer in elements_around(node))]
