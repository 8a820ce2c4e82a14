"""Decide which pages of an index may be compared with each other.

A scope keeps the pages of different sites or spiders apart within one index, and so do the values
of parameters that a user names. A scope acts as a salt: constants are XORed into all bits that
identify a page. So pages of different scopes look unrelated, while the distances between pages of
the same scope stay the same. Stores know nothing about scopes. They only need to know which pages
can be compared at all (`Query.shard_key`).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from crawldedup.checks import refused
from crawldedup.hostnames import ascii_host, is_plain
from crawldedup.key import NO_KEY, Key
from crawldedup.urls import canonical_url

#: The names of the parameters that keep pages apart, by host. They apply to the host and all its
#: subdomains; "*" means every host.
Parameters = Mapping[str, Sequence[str]]

_Names = Annotated[list[Annotated[str, msgspec.Meta(pattern=r"\S")]], msgspec.Meta(min_length=1)]
_NamesByHost = Annotated[
    dict[Annotated[str, msgspec.Meta(pattern="^[^/]+$")], _Names], msgspec.Meta(min_length=1)
]
EVERY_HOST: Final = "*"
_IPV4: Final = re.compile(r"[\d.]+")
# Folders that contain a folder per user or project. Deep in a path, fewer of these words count.
_USERS: Final = (
    "users?|u|members?|profiles?|accounts?|tenants?|benutzer|utilisateurs?|usuarios?|utenti|"
    "mitglieder"
)
_USERS_FOLDER: Final = re.compile(
    rf"[~@]|(?:{_USERS}|people|home|homes|homepages?|view|sites)$", re.IGNORECASE
)
_DEEP_USERS_FOLDER: Final = re.compile(rf"[~@]|(?:{_USERS})$", re.IGNORECASE)
_HAS_USERS: Final = re.compile(_USERS, re.IGNORECASE)
_SHALLOW: Final = 2  # names
_DEEPEST: Final = 8  # name of a path that may name a user
_DATE: Final = re.compile(r"(?<![^/])(?:19|20)\d\d(?:/[01]?\d)?(?![^/])")
_NUMBER: Final = re.compile(r"\d+")
_PORT: Final = re.compile(r":\d*$")
# Other names of a host with the same users, such as m.facebook.com and de.linkedin.com.
_HOST_OF_USERS: Final = re.compile(r"(?:www\d?|m|mobile|amp|touch|old|new|np|i|[a-z]{2})\.")
_SHARED_HOSTS: Final = frozenset(
    (
        "angelfire.com",
        "archive.org",
        "bitbucket.org",
        "codeberg.org",
        "dev.to",
        "docs.google.com",
        "drive.google.com",
        "facebook.com",
        "flickr.com",
        "geocities.ws",
        "gist.github.com",
        "github.com",
        "gitlab.com",
        "huggingface.co",
        "instagram.com",
        "ipfs.io",
        "linkedin.com",
        "medium.com",
        "members.tripod.com",
        "notion.so",
        "pinterest.com",
        "raw.githubusercontent.com",
        "reddit.com",
        "s3.amazonaws.com",
        "scribd.com",
        "sites.google.com",
        "slideshare.net",
        "sourceforge.net",
        "storage.googleapis.com",
        "tiktok.com",
        "tumblr.com",
        "twitter.com",
        "vk.com",
        "wattpad.com",
        "web.archive.org",
        "weibo.com",
        "x.com",
        "youtube.com",
        "zhihu.com",
    )
)
TOLD_APART: Final = "a person has told them apart (the option `apart`)"
"""The reason for not comparing two pages if a user keeps them apart."""

_TOLD_APART: Final = "told apart from all pages: "
_ALLOWED: Final = (
    'names of parameters, or a dictionary (JSON) such as {"shop.example": ["color"], "*": ["img"]}'
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
    # The list ends with the rule "*", so an unknown suffix is the last label.
    return f"{parts.subdomain.rpartition('.')[2]}.{parts.domain}"


def site_of(url: str) -> str:
    """Return the site of a URL: its registered domain, such as example.co.uk or user.github.io.

    Below an unknown suffix such as .internal, the domain has two labels. A host without a suffix,
    such as 10.0.0.1, is returned as it is. For a broken URL, the result is "". Letters beyond ASCII
    are encoded as in requests: münchen.example becomes xn--mnchen-3ya.example.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return _site_of_host(host if is_plain(host) else ascii_host(host))


class Folder(NamedTuple):
    """Where a page is on its host: the first two folders of its path.

    On a shared host, these folders name a user, or a user and a project. After a folder such as
    users/, the next one is also part of it, even if it's deeper. Only the first eight names of a
    path are examined for such folders.
    """

    host: str
    path: str

    @property
    def undated(self) -> str:
        """The path with 0 in place of a year, or of a year and a month after it.

        So an archive's folders are all the same. The part that names a user stays as it is.
        """
        users, others = self._split()
        return users + _DATE.sub("0", others)

    @property
    def form(self) -> str:
        """The path with 0 in place of each number, because a site may have a folder per question.

        The part that names a user stays as it is.
        """
        users, others = self._split()
        return users + _NUMBER.sub("0", others)

    @property
    def top(self) -> str:
        """The first folder of the path."""
        return self.path.partition("/")[0]

    @property
    def owner(self) -> str:
        """The part of the path that names the user, or "" if none seems to.

        On a host that is known to be shared, it's the whole path.
        """
        return self._split()[0]

    @property
    def is_shared(self) -> bool:
        """Whether the host seems to have pages of many users, who may not trust each other."""
        return _end_of_users(self.path) > 0 or is_shared_host(self.host)

    @property
    def is_common(self) -> bool:
        """Whether pages of many users are side by side here, without a folder for each user."""
        if not self.path:
            return is_shared_host(self.host)
        outer, _, last = self.path.rpartition("/")
        has_user = _end_of_users(outer) > self.path.count("/")
        return not has_user and _HAS_USERS.fullmatch(unquote(last)) is not None

    def _split(self) -> tuple[str, str]:
        """Split the path into the part that names a user, and the rest.

        On a host that is known to be shared, any part may name a user, so the rest is "".
        """
        if is_shared_host(self.host):
            return self.path, ""
        names = self.path.split("/")
        users = "/".join(names[: _end_of_users(self.path)])
        return users, self.path[len(users) :]


# Cached, because the folders in which a line was seen are read for each page of their host.
@lru_cache(maxsize=1024)
def _end_of_users(path: str) -> int:
    """Return how many leading parts of a path it takes to name a user; 0 if none does.

    After a folder such as users/, the next part counts, even if the path ends before it.
    """
    end = 0
    for place, name in enumerate(path.split("/")[:_DEEPEST]):
        if end and place >= end:
            break
        # After home/users, the third name belongs to somebody.
        folder = _USERS_FOLDER if place < _SHALLOW else _DEEP_USERS_FOLDER
        plain = unquote(name)
        if folder.match(plain):
            end = place + 1 if len(plain) > 1 and plain[0] in "~@" else place + 2
    return end


def folder_of(url: str) -> Folder:
    """Return the folder of the page at a URL. For a broken URL, its host and path are ""."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return Folder("", "")
    host = parts.netloc.lower()
    return folder_at(host if is_plain(host) else ascii_host(host), parts.path)


def folder_at(host: str, path: str) -> Folder:
    """Return the folder of the page at a path of a host.

    The last name of the path belongs to the page, unless it is that of a user.
    """
    # Notes are written in UTF-8, which has no surrogates.
    host, path = (part.encode("utf-8", "backslashreplace").decode() for part in (host, path))
    path_of_names = path.strip("/")
    names = path_of_names.split("/")
    end = _end_of_users(path_of_names)
    names_user = end == len(names) and (path.endswith("/") or unquote(names[-1])[:1] in "~@")
    if not names_user:  # The last name belongs to the page.
        names.pop()
    return Folder(host, "/".join(names[: max(_SHALLOW, end)]))


@lru_cache(maxsize=4096)
def is_shared_host(host: str) -> bool:
    """Return whether a host is known to have pages of many users under one name.

    This is so if it's on a list of such hosts, with or without a prefix such as "m.", or if it's a
    public suffix, so users have subdomains of it.

    Args:
        host: The host, in lower case; its port does not matter.
    """
    host = _PORT.sub("", host)
    if host in _SHARED_HOSTS or _HOST_OF_USERS.sub("", host, count=1) in _SHARED_HOSTS:
        return True
    # If users have subdomains, the host above them is a public suffix.
    return "." in host and not _IPV4.fullmatch(host) and not _extractor()(host).domain


def page_key(scope_key: str, url: str, identity: str | None, key: Key = NO_KEY) -> int:
    """Return the 64-bit hash that identifies a page in an index.

    Args:
        scope_key: The scope of the page.
        url: The URL of the page.
        identity: What identifies the page within its scope, or None for the normal form of the URL.
        key: The key of the index.
    """
    name = f"{scope_key}\n{canonical_url(url) if identity is None else identity}"
    return key.number(name.encode("utf-8", "replace"), "url")


def check_parameters(name: str, value: Any) -> Parameters | None:
    """Check the value of an option that names URL parameters, and return the names by host.

    None and "" stand for none, and become None.

    Args:
        name: The option, for error messages.
        value: The names as a list, as a text with commas between them, or by host. Each of these
            can also be given as JSON.

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
        return {
            normal_host(host): [each.strip() for each in names] for host, names in checked.items()
        }
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise refused(name, value, _ALLOWED) from None


def normal_host(host: str) -> str:
    """Normalize a host that a user names: in lower case and ASCII, and without "www.".

    Raises ValueError if it can't be part of a URL.
    """
    hostname = urlsplit(canonical_url(f"http://{host.strip()}")).hostname
    return str(hostname).removeprefix("www.")


def values_at(by_host: Mapping[str, Sequence[str]], hostname: str) -> set[str]:
    """Return the values that apply to a host: its own, and those of the domains above it.

    Args:
        by_host: Values by host, in its normal form; "*" means every host.
        hostname: The host of a URL, without a port.
    """
    host = f".{hostname}"
    values: set[str] = set()
    for domain, values_there in by_host.items():
        if domain == EVERY_HOST or host.endswith(f".{domain}"):
            values.update(values_there)
    return values


def kept_apart(
    parameters: Parameters | None, url: str, apart: Collection[str] | None = None
) -> tuple[str, ...]:
    """Return the user's reasons for keeping a page apart, to be compared with those of others.

    Args:
        parameters: The names of parameters that keep pages with other values apart, if there are
            any.
        url: The URL of the page.
        apart: The normal forms of the URLs of pages that aren't compared with any other page.

    Returns:
        The URL of a page that is kept apart from all others, or a text for each of the parameters,
        such as "parameter color=red".
    """
    if apart and (normal := canonical_url(url)) in apart:
        return (f"{_TOLD_APART}{normal}",)
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


def named_difference(first: Sequence[str], second: Sequence[str]) -> str:
    """Say which of the user's reasons keep two pages apart, given the reasons for each page.

    The reasons are the results of `kept_apart`.
    """
    if any(text.startswith(_TOLD_APART) for text in (*first, *second)):
        return TOLD_APART
    return f"{', '.join(first) or 'no parameter'} and {', '.join(second) or 'no parameter'}"
