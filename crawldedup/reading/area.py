"""Let users choose with CSS selectors which part of a page is compared.

If you know a site, its selectors are better than any rule of thumb.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from crawldedup.checks import refused
from crawldedup.reading.blocks import blocks_of, parse
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.nodes import elements_around

EVERY_SITE: Final = "*"
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|[0-9a-f:]+")
_ALLOWED: Final = (
    "a CSS selector of what to compare, or a dictionary (JSON, with double quotes) of hosts, or "
    '"*" for all, to '
    'selectors, or to {"compare": SELECTOR, "leave_out": SELECTOR}'
)
# These selectors take quadratic time on pages with many siblings.
_SLOW: Final = re.compile(r"~|:(?:nth|has|last|only|first-of)")
_FEW_TAGS: Final = 5_000


class Area(NamedTuple):
    """Which part of a host's pages is compared: what matches `compare`, but not `leave_out`.

    This also applies to subdomains of the host. If `compare` is "", everything else is compared.
    """

    host: str
    compare: str = ""
    leave_out: str = ""


def check_areas(name: str, value: object) -> tuple[Area, ...] | None:
    """Check an option with areas, and return them sorted by host, or None if none are given.

    The value is a selector, a dictionary of hosts, its JSON, or areas that were checked before:
    they are checked again if options are copied, or come back from JSON. Raises ConfigurationError.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = (
                msgspec.json.decode(value)
                if value.lstrip().startswith("{")
                else {EVERY_SITE: value}
            )
        if isinstance(value, dict):
            pairs = msgspec.convert(
                value, dict[str, str | dict[Literal["compare", "leave_out"], str]]
            ).items()
            areas = [
                Area(host, both) if isinstance(both, str) else Area(host, **both)
                for host, both in pairs
            ]
        else:
            areas = msgspec.convert(value, list[Area])
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        areas = []
    if not areas:
        raise refused(name, value, _ALLOWED)
    for area in areas:
        wrong = [
            text
            for text, whole in zip(area[1:], (True, False), strict=True)
            if not _selects(text, whole=whole)
        ]
        if wrong or not any(area[1:]):
            raise refused(f"{name}[{area.host!r}]", "".join(wrong[:1]), _ALLOWED)
    by_host = {host: area._replace(host=host) for area in areas if (host := _host(name, area.host))}
    if len(by_host) < len(areas):
        raise refused(name, value, "a dictionary that names each host once, with or without www.")
    return tuple(sorted(by_host.values()))


def _host(name: str, given: str) -> str:
    """Return a host in the form that it has in URLs, but without "www.".

    Raises ConfigurationError for anything else, such as a URL.
    """
    host = given.strip().lower().removeprefix("www.").rstrip(".").strip("[]")
    if host == EVERY_SITE:
        return host
    try:
        encoded = host.encode("idna").decode()
    except UnicodeError:
        encoded = ""
    if not _HOST.fullmatch(encoded):
        allowed = "a host without scheme, port and path, or '*' for every other"
        raise refused(f"{name}[{given!r}]", given, allowed)
    return encoded


def _selects(selector: str, *, whole: bool = True) -> bool:
    """Return whether a text is a valid selector. "" also counts.

    Unless `whole`, it must not match the whole page.
    """
    try:
        selected = parse("<p>").css(selector) if selector else []
    except (SelectolaxError, ValueError):
        return False
    return whole or not any(node.tag in ("html", "body") for node in selected)


def area_of(areas: Sequence[Area] | None, url: str | None) -> Area | None:
    """Return the area for the page at a URL, or None if there is none.

    It is the one for the longest host that matches, or else the one for every site.
    """
    if not areas:
        return None
    try:
        host = (urlsplit(url or "").hostname or "").encode("idna").decode()
    except ValueError:
        host = ""
    host = host.removeprefix("www.").rstrip(".")
    suitable = (
        area for area in areas if area.host == EVERY_SITE or f".{host}".endswith(f".{area.host}")
    )
    return max(suitable, key=lambda area: (area.host != EVERY_SITE, len(area.host)), default=None)


def cut_to(area: Area, page: HtmlPage) -> tuple[HtmlPage, bool]:
    """Return a page reduced to its area, and whether `compare` matched anything on it.

    The page is returned as it is, with False, if nothing would be left of it, if no selector
    matches, or if the page is large and a selector would take too long.
    """
    if _SLOW.search(f"{area.compare} {area.leave_out}") and page.html.count("<") > _FEW_TAGS:
        return page, False
    tree = parse(page.html)
    left_out = _outermost(tree, area.leave_out)
    for node in left_out:
        # Without a space, words of its neighbors would become one.
        node.insert_before(" ")
        node.decompose()
    wanted = _outermost(tree, area.compare)
    if not wanted and not left_out:
        return page, False
    # Everything is removed except these nodes, the elements around them (a cell needs its table),
    # and what describes the page.
    described = [*wanted, *tree.css("head, script[type*='ld+json' i]")] if wanted else []
    kept = {node.mem_id for node in described}
    around = {outer.mem_id: outer for node in described for outer in elements_around(node)}
    for outer in around.values():
        for node in list(outer.iter(include_text=True)) if outer.mem_id not in kept else ():
            if node.mem_id not in kept and node.mem_id not in around:
                node.decompose()
    for node in wanted:
        if node.tag not in ("html", "body"):
            # Without a space, words of two elements would become one.
            node.insert_before(" ")
    cut = HtmlPage(tree.html or "")
    # Selected elements are compared, even if their names say that they are noise.
    return (cut, bool(wanted)) if blocks_of(cut.tree).lines else (page, False)


def _outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return the elements that a selector matches, except for those inside of another match."""
    matched = tree.css(selector) if selector else []
    known = {node.mem_id for node in matched}
    return [
        node
        for node in matched
        if known.isdisjoint(outer.mem_id for outer in elements_around(node))
    ]
