"""URLs: one form for each, and the canonical URL that a page claims.

The claim is read from <link rel=canonical> and Link headers (RFC 6596, RFC 8288). It is often wrong
(whole sites name their home page), so callers must compare the texts.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url

# Letters of one that is brought into one form: parsing it takes dozens of times its memory.
_LONGEST_URL: Final = 8192
_MAX_HEADER: Final = 8 * 1024  # characters of a header
_MAX_URL: Final = 2048  # characters of a claimed URL
MAX_CLAIMS: Final = 10  # of one page
# The id of a session in a URL: hexadecimal digits of both kinds, or a long mixture.
TOKEN: Final = r"(?=[\w-]*\d)(?=[\w-]*[a-z])(?:[\da-f]{8,}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-z]{16,})"
_PARAMETER: Final = r';\s*([\w*-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*)))?\s*'
_PARAMETERS: Final = re.compile(_PARAMETER)
_ENDING: Final = re.compile(r"(?:/index)?(?:\.html?)?/*$")
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER})*)")


# A page's URL is asked for several times.
@lru_cache(maxsize=64)
def canonical_url(url: str, *, keep_fragment: bool = False) -> str:
    """Return the URL with its query sorted and without fragment.

    A broken URL, or a very long one, is left as it is.
    """
    if len(url) > _LONGEST_URL:
        return url
    try:
        return str(canonicalize_url(url, keep_fragments=keep_fragment))
    except ValueError:
        return url


class HeadLinks(NamedTuple):
    """What the links in a page's head refer to as canonical, as it stands there, and what that is
    relative to.
    """

    base: str = ""
    canonical: tuple[str, ...] = ()


NO_LINKS: Final = HeadLinks()


def claimed_url(
    url: str, links: HeadLinks = NO_LINKS, link_headers: Iterable[str] = ()
) -> str | None:
    """Return the canonical URL that a page claims, absolute, which may be `url`, its own.

    `link_headers` are the values of the Link headers. A page that names several URLs, or none of
    http(s), claims none.
    """
    from_headers = (_joined(url, link) for link in _in_headers(link_headers))
    # As browsers do, which know no other base either.
    base = _joined(url, links.base) or url
    from_head = (_joined(base, link) for link in links.canonical)
    claims = {
        canonical_url(claim): claim
        for claim in islice(chain(from_headers, from_head), MAX_CLAIMS)
        if claim
    }
    return claims.popitem()[1] if len(claims) == 1 else None


def is_same_page(url: str, claimed: str) -> bool:
    """Return True if a claimed URL is the page's own in another spelling, or the home page.

    Sites that name the home page everywhere mean nothing. Others differ in scheme, www, port,
    ending, needless query.
    """
    own, other = _spelled(url), _spelled(claimed)
    return (
        own[0] == other[0]
        and (other[1:] == ("", "") or own[1] == other[1])
        and (not own[2] or own[2] == other[2])
    )


def _spelled(url: str) -> tuple[str, str, str]:
    """Return host, path and query in the shortest spelling."""
    parts = urlsplit(canonical_url(url))
    host = (parts.hostname or "").removeprefix("www.") + (
        "" if parts.port in (None, 80, 443) else f":{parts.port}"
    )
    return host, _ENDING.sub("", parts.path), parts.query


def _in_headers(headers: Iterable[str]) -> Iterator[str]:
    for header in headers:
        for link in _LINK.finditer(header[:_MAX_HEADER]):
            named = reversed(
                _PARAMETERS.findall(link[2])
            )  # of several of one name, the first holds
            parameters = {name.lower(): quoted or plain for name, quoted, plain in named}
            # A link with an anchor is about another page.
            if (
                "canonical" in parameters.get("rel", "").lower().split()
                and "anchor" not in parameters
            ):
                yield link[1]


def _joined(base: str, link: str) -> str:
    """Return `link` relative to `base`; "" if that is no http(s) URL, or a very long one."""
    try:
        url = urljoin(base, link.strip())
        scheme, host, *_ = urlsplit(url)
    except ValueError:
        return ""
    return url if scheme in ("http", "https") and host and len(url) <= _MAX_URL else ""
