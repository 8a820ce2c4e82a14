"""The URL that a page names as its original: a <link rel=canonical> in its head, or a Link header (RFC 6596, RFC 8288).

It is a claim, and often a wrong one: whole sites name their home page. Whoever asks must compare the texts.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from lxml import etree, html

from crawldedup.scope import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_HEAD: Final = 256 * 1024
"""Where no head has ended by then, only this much of a page is read."""
_MAX_HEADER: Final = 8 * 1024
_MAX_URL: Final = 2048
_MAX_CLAIMS: Final = 10
_END_OF_HEAD: Final = re.compile(rb"</head", re.IGNORECASE)
_PARAMETER: Final = r';\s*([\w*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?\s*'
_PARAMETERS: Final = re.compile(_PARAMETER)
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER})*)")


def canonical_claim(
    url: str, body: bytes, encoding: str | None = None, *, link_headers: Iterable[str] = ()
) -> str | None:
    """The URL a page names as its original; None if that is no other than `url`, its own.

    `encoding` is the server's word on that of the HTML `body`, `link_headers` are the values of its Link headers.
    A page that names several, or what is no http(s) URL, is taken to name none. The URL is as the page gives
    it, absolute; nothing about it is true because the page says so.
    """
    from_headers = (_joined(url, link) for link in _in_headers(link_headers))
    claims = islice(chain(from_headers, _in_head(url, body, encoding)), _MAX_CLAIMS)
    usable = {canonical_url(claim): claim for claim in claims if _is_usable(claim)}
    if len(usable) != 1 or canonical_url(url) in usable:
        return None
    return next(iter(usable.values()))


def _in_headers(headers: Iterable[str]) -> Iterator[str]:
    for header in headers:
        for link in _LINK.finditer(header[:_MAX_HEADER]):
            parameters: dict[str, str] = {}
            for name, quoted, plain in _PARAMETERS.findall(link[2]):
                parameters.setdefault(name.lower(), quoted or plain)
            # With an anchor, it is said of another page.
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
    try:
        head = html.document_fromstring(start, parser=parser).find("head")
    except (etree.LxmlError, ValueError):
        return
    if head is None:
        return
    base = next((link for element in head.findall("base") if (link := element.get("href"))), None)
    for element in head.findall("link"):
        if "canonical" in element.get("rel", "").lower().split():
            yield _joined(_joined(url, base or ""), element.get("href", ""))


def _joined(base: str, link: str) -> str:
    """`link` as seen from `base`; empty if it is none."""
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
