"""Which pages may be compared: the site of a URL, the parameters that keep pages apart, page names.

Scopes keep pages of different sites or spiders apart within one index, and so do the values of
parameters that the user names. A scope is a salt: constants are XORed into all the bits that
identify a page. Pages of different scopes look unrelated, and pages of one scope keep their
distances. Stores only need to know which pages may meet (`Query.shard_key`).
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from crawldedup.checks import refused
from crawldedup.key import NO_KEY, Key
from crawldedup.urls import canonical_url

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
