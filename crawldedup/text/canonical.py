"""Read the canonical URL of a page from its <link rel=canonical> or its Link headers (RFC 6596, RFC 8288).

The claim is often wrong: whole sites name their home page. So callers must compare the texts.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from lxml import etree, html

from crawldedup.markup.limits import shorten_tags
from crawldedup.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Bytes read of a page whose head does not end, characters of a header and of a URL, and claims of one page.
_MAX_HEAD: Final = 256 * 1024
_MAX_HEADER: Final = 8 * 1024
_MAX_URL: Final = 2048
_MAX_CLAIMS: Final = 10
_END_OF_HEAD: Final = re.compile(rb"</head", re.IGNORECASE)
_PARAMETER: Final = r';\s*([\w*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?\s*'
_PARAMETERS: Final = re.compile(_PARAMETER)
_ENDING: Final = re.compile(r"(?:/index)?(?:\.html?)?/*$")
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER})*)")


def canonical_claim(
    url: str, body: bytes, encoding: str | None = None, *, link_headers: Iterable[str] = ()
) -> str | None:
    """Return the canonical URL that a page claims, absolute; None if it is `url`, the page's own.

    `encoding` is what the server declared, `link_headers` are the values of the Link headers. A page that names
    several URLs, or something else than an http(s) URL, claims none.
    """
    claimed = claimed_url(url, body, encoding, link_headers=link_headers)
    return None if claimed is None or canonical_url(claimed) == canonical_url(url) else claimed


def claimed_url(url: str, body: bytes, encoding: str | None = None, *, link_headers: Iterable[str] = ()) -> str | None:
    """Return what `canonical_claim` does, or the page's own URL if that is what it names."""
    from_headers = (_joined(url, link) for link in _in_headers(link_headers))
    claims = islice(chain(from_headers, _in_head(url, body, encoding)), _MAX_CLAIMS)
    usable = {canonical_url(claim): claim for claim in claims if _is_usable(claim)}
    return usable.popitem()[1] if len(usable) == 1 else None


def is_same_page(url: str, claimed: str) -> bool:
    """Return True if a page that claims this URL means itself, or nothing.

    Sites that name the home page on every page mean nothing. Others name another scheme, www, port, slash or ending,
    or a query that the page does not need.
    """
    own, other = _spelled(url), _spelled(claimed)
    return own[0] == other[0] and other[1] in ("", own[1]) and (not own[2] or own[2] == other[2])


def _spelled(url: str) -> tuple[str, str, str]:
    """Return host, path and query in the shortest spelling."""
    parts = urlsplit(canonical_url(url))
    host = (parts.hostname or "").removeprefix("www.")
    port = "" if parts.port in (None, 80, 443) else f":{parts.port}"
    return host + port, _ENDING.sub("", parts.path), parts.query


def _in_headers(headers: Iterable[str]) -> Iterator[str]:
    for header in headers:
        for link in _LINK.finditer(header[:_MAX_HEADER]):
            parameters: dict[str, str] = {}
            for name, quoted, plain in _PARAMETERS.findall(link[2]):
                parameters.setdefault(name.lower(), quoted or plain)
            # A link with an anchor is about another page.
            if "canonical" in parameters.get("rel", "").lower().split() and "anchor" not in parameters:
                yield link[1]


def _in_head(url: str, body: bytes, encoding: str | None) -> Iterator[str]:
    end = _END_OF_HEAD.search(body, 0, _MAX_HEAD)
    start = body[: end.start() if end else _MAX_HEAD]
    if b"canonical" not in start.lower():
        return
    try:
        parser = html.HTMLParser(encoding=encoding)
    except LookupError:
        parser = html.HTMLParser()
    shortened = shorten_tags(start.decode("latin-1")).encode("latin-1")
    try:
        head = html.document_fromstring(shortened, parser=parser).find("head")
    except (etree.LxmlError, ValueError):
        return
    if head is None:
        return
    base = next((link for element in head.findall("base") if (link := element.get("href"))), "")
    for element in head.findall("link"):
        if "canonical" in element.get("rel", "").lower().split():
            yield _joined(_joined(url, base), element.get("href", ""))


def _joined(base: str, link: str) -> str:
    """Return `link` relative to `base`; "" if it is not valid."""
    try:
        return urljoin(base, link.strip())
    except ValueError:
        return ""


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(url) <= _MAX_URL
