"""What names pages: the secret of an index, their URLs in one form, and their scope.

Whoever knows how pages are hashed can make texts and URLs that collide, unless an index has a key.
It decides the hash of every letter, so words collide by chance: a key that is mixed in behind a
public hash would let words through that collide there. It decides what texts, URLs, facts and
scopes are hashed to as well.

The URL that a page claims is read from <link rel=canonical> and Link headers (RFC 6596, 8288). The
claim is often wrong: whole sites name their home page. So callers must compare the texts.

Scopes keep pages of different sites or spiders apart in one index, and those of other values in
their URLs' queries. A scope is a salt: constants are XORed into all bits that identify a page. So
pages of different scopes look unrelated, and pages of one scope keep their distances. Stores need
to know only which pages may meet (`Query.shard_key`).
"""

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Annotated, Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import mmh3
import msgspec
from w3lib.url import canonicalize_url

from crawldedup.checks import KEY_BYTES, refused

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

# The names of parameters by the host whose pages, or whose subdomains' pages, they keep apart; "*"
# is every host.
Parameters = Mapping[str, Sequence[str]]
_Names = Annotated[list[Annotated[str, msgspec.Meta(pattern=r"\S")]], msgspec.Meta(min_length=1)]
_Named = Annotated[
    dict[Annotated[str, msgspec.Meta(pattern="^[^/]+$")], _Names], msgspec.Meta(min_length=1)
]
_ALLOWED: Final = (
    'names of parameters, or a dictionary (JSON) such as {"shop.example": ["colour"], "*": ["img"]}'
)


@dataclass(frozen=True, slots=True)
class Key:
    """Holds the secret of an index: 16 to 64 bytes, or none.

    Without a secret, everyone makes the same fingerprints. Keys of one secret are equal. `repr`
    does not show it.

    Example:
        >>> from crawldedup import Key
        >>> Key(b"0123456789abcdef") == Key(b"0123456789abcdef")
        True
        >>> Key().id
        0
    """

    secret: bytes = field(
        default=b"", repr=False
    )  #: The bytes, of a number that the option `key` checks.
    id: int = field(
        init=False, compare=False
    )  #: 64 bits that name the key and do not give it away; 0 for none.

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.number(b"", "id") if self.secret else 0)

    @classmethod
    def random(cls) -> Self:
        """Return a new key of 16 random bytes."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def suffix(self) -> str:
        """Return what the key adds to the profile of an index."""
        return f"/key.{self.id:016x}" if self.secret else "/key.0"

    def number(self, value: bytes, purpose: str) -> int:
        """Return a 64-bit hash of a value.

        With a secret, another one for each purpose, a name of at most 16 bytes.

        Without a secret it is mmh3, for which other values of a wanted hash are easy to make. A
        page is known by the hash of its URL alone, so that one is never mmh3.
        """
        if not self.secret and purpose != "url":
            return int(mmh3.hash64(value, signed=False)[0])
        digest = hashlib.blake2b(value, digest_size=8, key=self.secret, person=purpose.encode())
        return int.from_bytes(digest.digest(), "big")


NO_KEY: Final = Key()


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


@lru_cache(maxsize=4096)
def salt_of(scope: str, signature_bytes: int, key: Key = NO_KEY) -> tuple[int, int]:
    """Return what is XORed into 64 bits of a page, and into its signature, for a site or a spider;
    0 for no scope.
    """
    if not scope:
        return 0, 0
    name = scope.encode("utf-8", "replace")
    if key.secret:
        signature = hashlib.shake_256(key.secret + name).digest(signature_bytes)
    else:
        signature = b"".join(
            mmh3.hash_bytes(name, seed=seed) for seed in range(1, 2 + signature_bytes // 16)
        )
    return key.number(name, "scope"), int.from_bytes(signature[:signature_bytes], "big")


@cache
def _extractor() -> Any:
    # Importing it imports requests, which takes longer than all else that a worker imports beside
    # numpy.
    from tldextract import TLDExtract

    # The public suffix list that comes with the package: a crawl must not depend on fetching
    # another.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(maxsize=4096)
def _site_of_host(host: str) -> str:
    # A name without a dot is its own, and a command that meets no other does without the import.
    return (_extractor()(host).top_domain_under_public_suffix if "." in host else "") or host


def site_of(url: str) -> str:
    """Return the registered domain of a URL (example.co.uk, user.github.io), or its host if it has
    none (10.0.0.1).
    """
    try:
        return _site_of_host(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def page_key(scope_key: str, url: str, identity: str | None, key: Key = NO_KEY) -> int:
    """Return 64 bits for the identity of a page within its scope; the default identity is the
    canonical URL.
    """
    name = f"{scope_key}\n{canonical_url(url) if identity is None else identity}"
    return key.number(name.encode("utf-8", "replace"), "url")


def check_parameters(name: str, value: Any) -> Parameters | None:
    """Check for names of parameters, in a list, with commas between them, or by host.

    Raises ConfigurationError.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = msgspec.json.decode(value) if value[0] in "{[" else value.split(",")
        named = msgspec.convert(value if isinstance(value, Mapping) else {"*": value}, _Named)
    except msgspec.MsgspecError:
        raise refused(name, value, _ALLOWED) from None
    hosts = (
        str(urlsplit(canonical_url(f"http://{host}")).hostname).removeprefix("www.")
        for host in named
    )
    return {
        host: [*map(str.strip, names)] for host, names in zip(hosts, named.values(), strict=True)
    }


def kept_apart(parameters: Parameters | None, url: str) -> tuple[str, ...]:
    """Return the parameters of a URL, with their values, that keep its page apart from those with
    others.
    """
    if not parameters or "?" not in url:
        return ()
    try:
        parts = urlsplit(canonical_url(url))
        host = f".{parts.hostname or ''}"
    except ValueError:
        return ()
    names = {
        each
        for own, some in parameters.items()
        if own == "*" or host.endswith(f".{own}")
        for each in some
    }
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    return tuple(f"parameter {name}={value}" for name, value in pairs if name in names)
