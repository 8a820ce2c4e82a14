"""Which pages may be compared: sites, parameters that keep pages apart, and the keys of pages.

A scope keeps the pages of different sites or spiders apart within one index. The values of the
parameters that a user names do the same. A scope acts as a salt: constants are XORed into all bits
that identify a page, so that pages of different scopes look unrelated, while the distances between
pages of the same scope stay as they are. Stores know nothing about scopes; they only need to know
which pages can meet at all (`Query.shard_key`).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from crawldedup.checks import refused
from crawldedup.key import NO_KEY, Key
from crawldedup.urls import canonical_url

#: The names of the parameters that keep pages apart, by host. They apply to the host and all its
#: subdomains; "*" stands for every host.
Parameters = Mapping[str, Sequence[str]]

_Names = Annotated[list[Annotated[str, msgspec.Meta(pattern=r"\S")]], msgspec.Meta(min_length=1)]
_NamesByHost = Annotated[
    dict[Annotated[str, msgspec.Meta(pattern="^[^/]+$")], _Names], msgspec.Meta(min_length=1)
]
EVERY_HOST: Final = "*"
_IPV4: Final = re.compile(r"[\d.]+")
_ALLOWED: Final = (
    'names of parameters, or a dictionary (JSON) such as {"shop.example": ["colour"], "*": ["img"]}'
)


@cache
def _extractor() -> Any:
    # This imports requests, which takes longer than everything else that a worker imports, apart
    # from numpy.
    from tldextract import TLDExtract

    # Use the public suffix list that comes with the package: a crawl must not depend on fetching a
    # newer one.
    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


@lru_cache(maxsize=4096)
def _site_of_host(host: str) -> str:
    # A host without a dot, such as localhost, is its own site. A command that only meets such hosts
    # does not need the import.
    if "." not in host:
        return host
    parts = _extractor()(host)
    if parts.top_domain_under_public_suffix:
        return str(parts.top_domain_under_public_suffix)
    if parts.suffix or not parts.subdomain or _IPV4.fullmatch(host):
        return host
    # The list ends with the rule "*": a suffix that it does not know is the last label.
    return f"{parts.subdomain.rpartition('.')[2]}.{parts.domain}"


def site_of(url: str) -> str:
    """Return the registered domain of a URL, such as example.co.uk or user.github.io.

    Below a suffix that no list knows, such as .internal, it has two labels. A host without one,
    such as 10.0.0.1, is returned as it is, and "" for a broken URL.
    """
    try:
        return _site_of_host(urlsplit(url).hostname or "")
    except ValueError:
        return ""


def page_key(scope_key: str, url: str, identity: str | None, key: Key = NO_KEY) -> int:
    """Return the 64 bits that identify a page in an index.

    Args:
        scope_key: The scope of the page.
        url: The URL of the page.
        identity: What identifies the page within its scope; None for the normal form of the URL.
        key: The key of the index.
    """
    name = f"{scope_key}\n{canonical_url(url) if identity is None else identity}"
    return key.number(name.encode("utf-8", "replace"), "url")


def check_parameters(name: str, value: Any) -> Parameters | None:
    """Return the value of an option that names parameters.

    Args:
        name: The option, for error messages.
        value: The names as a list, as a text with commas between them, or by host; or all of this
            as JSON.

    Raises:
        ConfigurationError: The value is anything else.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = msgspec.json.decode(value) if value[0] in "{[" else value.split(",")
        by_host = value if isinstance(value, Mapping) else {"*": value}
        checked = msgspec.convert(by_host, _NamesByHost)
    except msgspec.MsgspecError:
        raise refused(name, value, _ALLOWED) from None
    return {normal_host(host): [name.strip() for name in names] for host, names in checked.items()}


def normal_host(host: str) -> str:
    """Return the normal form of a host that a user names: in lower case, and without "www."."""
    hostname = urlsplit(canonical_url(f"http://{host.strip()}")).hostname
    return str(hostname).removeprefix("www.")


def values_at(by_host: Mapping[str, Sequence[str]], hostname: str) -> set[str]:
    """Return the values for a host: those of all hosts that it is, or is a subdomain of.

    Args:
        by_host: Values by host, in its normal form; "*" stands for every host.
        hostname: The host of a URL, without a port.
    """
    host = f".{hostname}"
    values: set[str] = set()
    for domain, values_there in by_host.items():
        if domain == EVERY_HOST or host.endswith(f".{domain}"):
            values.update(values_there)
    return values


def kept_apart(parameters: Parameters | None, url: str) -> tuple[str, ...]:
    """Return the parameters in a URL that keep its page apart from pages with other values.

    Args:
        parameters: The names of such parameters, if there are any.
        url: The URL of the page.

    Returns:
        A text for each of the parameters, such as "parameter colour=red".
    """
    if not parameters or "?" not in url:
        return ()
    try:
        parts = urlsplit(canonical_url(url))
        host = parts.hostname or ""
    except ValueError:
        return ()
    names = values_at(parameters, host)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    return tuple(f"parameter {name}={value}" for name, value in pairs if name in names)
