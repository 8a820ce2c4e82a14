"""Normalize URLs, and find the canonical URL that a page claims to have.

A page makes this claim with <link rel=canonical> or a Link header (RFC 6596, RFC 8288). The claim
is often wrong (some sites name their home page on every page), so callers must compare the texts.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

from crawldedup.hostnames import with_ascii_host

#: The maximum number of claims that are examined on one page.
MAX_CLAIMS: Final = 10
#: Matches what looks like a session id in a URL: eight or more hexadecimal digits, a UUID, or a
#: long mixture of letters and digits. It always has both letters and digits.
TOKEN: Final = (
    r"(?=[\w-]*\d)(?=[\w-]*[a-z])"
    r"(?:[\da-f]{8,}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-z]{16,})"
)
# Longer URLs are not brought into normal form, because parsing takes dozens of times their memory.
_LONGEST_URL: Final = 8192
# A part of a path that is a plain word, not the name of one page.
_WORD: Final = re.compile(r"[a-z.]{1,20}")
# The number of characters that are read of a Link header.
_MAX_HEADER: Final = 8 * 1024
# Claims with more characters are ignored.
_MAX_URL: Final = 2048
_PARAMETER: Final = r';\s*([\w*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?\s*'
_PARAMETERS: Final = re.compile(_PARAMETER)
_ENDING: Final = re.compile(r"(?:/index)?(?:\.html?)?/*$")
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER})*)")


# The normal form of a page's URL is needed several times.
@lru_cache(maxsize=64)
def canonical_url(url: str, *, keep_fragment: bool = False) -> str:
    """Return the normal form of a URL: its query is sorted, and its fragment is removed.

    Args:
        url: The URL. If it is broken or very long, it is returned as it is.
        keep_fragment: Whether the fragment stays.
    """
    if len(url) > _LONGEST_URL:
        return url
    try:
        return str(canonicalize_url(with_ascii_host(url), keep_fragments=keep_fragment))
    except ValueError:
        return url


class HeadLinks(NamedTuple):
    """The links in the head of a page that concern its canonical URL, as they are written there."""

    #: The base that the links are relative to, or "" for the URL of the page.
    base: str = ""
    #: The URLs that are named as canonical.
    canonical: tuple[str, ...] = ()


NO_LINKS: Final = HeadLinks()


def claimed_url(
    url: str, links: HeadLinks = NO_LINKS, link_headers: Iterable[str] = ()
) -> str | None:
    """Return the canonical URL that a page claims to have, made absolute.

    Args:
        url: The URL of the page.
        links: The links in the head of the page.
        link_headers: The values of the Link headers of the response.

    Returns:
        The canonical URL, which may be that of the page itself, or None if the page names no
        http(s) URL, or several different ones.
    """
    from_headers = (_joined(url, link) for link in _in_headers(link_headers))
    # An invalid base is ignored, as browsers do.
    base = _joined(url, links.base) or url
    from_head = (_joined(base, link) for link in links.canonical)
    claims = {}
    for claim in islice(chain(from_headers, from_head), MAX_CLAIMS):
        if claim:
            claims[canonical_url(claim)] = claim
    if len(claims) != 1:
        return None
    (claim,) = claims.values()
    return claim


def is_same_page(url: str, claimed: str) -> bool:
    """Return whether a page's canonical URL says nothing: it is the page itself or the home page.

    It is the page itself if the URL is only spelled differently: in the scheme, "www.", the default
    port, the ending, or a query that the page's own URL lacks. The home page, which some sites name
    on every page, only counts if the page's own URL has no query.

    Args:
        url: The URL of the page.
        claimed: The canonical URL that the page claims to have.
    """
    page = _shortest_spelling(url)
    claim = _shortest_spelling(claimed)
    if page.host != claim.host:
        return False
    is_home_page = not claim.path and not claim.query
    if page.path != claim.path and not is_home_page:
        return False
    return not page.query or page.query == claim.query


class _Spelling(NamedTuple):
    """The parts in which the URLs of different pages differ, however they are spelled."""

    host: str
    path: str
    query: str


def _shortest_spelling(url: str) -> _Spelling:
    parts = urlsplit(canonical_url(url))
    host = (parts.hostname or "").removeprefix("www.")
    if parts.port not in (None, 80, 443):
        host += f":{parts.port}"
    return _Spelling(host, _ENDING.sub("", parts.path), parts.query)


def _in_headers(headers: Iterable[str]) -> Iterator[str]:
    """Yield the canonical URLs from Link headers."""
    for header in headers:
        for link in _LINK.finditer(header[:_MAX_HEADER]):
            parameters: dict[str, str] = {}
            for name, quoted, plain in _PARAMETERS.findall(link[2]):
                # If a parameter is repeated, the first one counts.
                parameters.setdefault(name.lower(), quoted or plain)
            is_canonical = "canonical" in parameters.get("rel", "").lower().split()
            # A link with an anchor is about another page.
            if is_canonical and "anchor" not in parameters:
                yield link[1]


def _joined(base: str, link: str) -> str:
    """Make the URL of a link absolute. If it's very long or not an http(s) URL, return ""."""
    try:
        url = urljoin(base, link.strip())
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_usable = parts.scheme in ("http", "https") and parts.netloc and len(url) <= _MAX_URL
    return url if is_usable else ""


def pattern_of(url: str) -> str:
    """Return the pattern that a URL has in common with others of its site.

    An example is ``http://example.com/calendar/*/*?view``.

    It consists of the host, the plain words of the path, and the names of the parameters.
    """
    address, _, query = url.partition("?")
    scheme, _, rest = address.partition("://")
    host, *parts = rest.split("/")
    path = "".join(f"/{part if not part or _WORD.fullmatch(part) else '*'}" for part in parts)
    parameters = sorted(part.partition("=")[0] for part in query.split("&"))
    return f"{scheme}://{host}{path or '/'}{'?' if query else ''}{'&'.join(parameters)}"


def places_of(url: str) -> tuple[str, str]:
    """Return two patterns for a URL: its `pattern_of`, and that of everything in its first folder.

    An example of the latter is ``http://example.com/calendar/…``.
    """
    pattern = pattern_of(url)
    scheme, _, rest = pattern.partition("?")[0].partition("://")
    host, first, *_ = [*rest.split("/"), ""]
    return pattern, f"{scheme}://{host}/{first}/…"
