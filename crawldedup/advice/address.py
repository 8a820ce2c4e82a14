"""Take URLs apart for rules, and tell by a URL whether a copy is a poor one: a view, or a session or a campaign."""

import hashlib
import re
import sys
from typing import Final, NamedTuple, Self
from urllib.parse import SplitResult, unquote, urlsplit

from crawldedup.names import TOKEN

LONGEST_URL: Final = 2048  # letters of one that rules deal with, which is as many as a journal keeps
MOST_PARAMETERS: Final = 32  # of a URL that is not left alone

VIEWS: Final = "print|printer|printable|printview|print-view|printer-friendly|amp|mobile|m"
"""Words, with bars between them, that name views of a page in its URL."""
_VIEW_OF_PATH: Final = re.compile(rf"/(?:{VIEWS})(?:\.\w+)?(?:/|$)|[._-](?:print|amp)(?:\.\w+)?/?$|;", re.IGNORECASE)
VIEW_PARAMETERS: Final = (
    r"(?i:s|sid|phpsessid|jsessionid|session|sessionid|session_id|cfid|cftoken|utm_\w*|gclid|fbclid|msclkid|"
    r"print\w*|amp|output|format|ref|referrer|source|sort|order|highlight)"
)
"""A pattern of parameters that name a session, a campaign or a view, for Python and for DuckDB."""
_VARIANT: Final = re.compile(rf"(?:^|[&;]){VIEW_PARAMETERS}(?:[=&;]|$)")
# Their queries name the content: index.php?id=7, /?p=7.
_SCRIPT: Final = re.compile(r"^/?$|\.(?:php\d?|phtml|aspx?|jspx?|cgi|pl|do|cfm)$", re.IGNORECASE)
_VIEW_OF_HOST: Final = re.compile(r"(?:m|mobile|amp|wap|print)\.", re.IGNORECASE)

# Several times as quick as urllib's parser, which reads what no page has.
_URL: Final = re.compile(r"(https?)://([^/?#\s]+)([^?#]*)(?:\?([^#]*))?", re.I)
_NUMBER: Final = re.compile(r"\d+")
_TOKEN: Final = re.compile(TOKEN, re.I)


class Address(NamedTuple):
    """The parts of a URL without its fragment.

    `parameters` are those of its query as they stand there, behind those at the end of its path with their semicolons.
    """

    origin: str
    path: str
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, url: str) -> Self | None:
        """Return the parts of a URL, or None for one that rules leave alone."""
        if len(url) > LONGEST_URL or url.count("&") + url.count(";") >= MOST_PARAMETERS:
            return None
        found = _URL.match(url)
        if found is None or "?;" in url or "&;" in url:
            return None
        scheme, host, path, query = found.groups()
        parameters = [parameter for parameter in query.split("&") if parameter] if query else []
        if ";" in path:
            folder, _, leaf = path.rpartition("/")
            leaf, *in_path = leaf.split(";")
            path, parameters = f"{folder}/{leaf}", [*(f";{parameter}" for parameter in in_path), *parameters]
        # One text for all addresses of a site.
        return cls(sys.intern(f"{scheme}://{host}".lower()), path or "/", tuple(parameters))

    def url(self) -> str:
        """Return the URL."""
        in_path = "".join(parameter for parameter in self.parameters if parameter[0] == ";")
        query = "&".join(parameter for parameter in self.parameters if parameter[0] != ";")
        return f"{self.origin}{self.path}{in_path}{'?' if query else ''}{query}"

    def key(self) -> int:
        """Return a number for the URL, in which the order of parameters does not count. Another process has others."""
        return hash((self.origin, self.path, *sorted(self.parameters)))

    def digest(self) -> str:
        """Return what stands for the URL in files, in which the order of parameters does not count."""
        url = self._replace(parameters=tuple(sorted(self.parameters))).url()
        return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def folder(self) -> str:
        """Return the folder that the page is in, with all numbers alike: /news/0/0/ for /news/2026/11/ferry."""
        return _NUMBER.sub("0", self.path[: self.path.rstrip("/").rfind("/") + 1]) or "/"


def name_of(parameter: str) -> str:
    """Return the name of a parameter."""
    return parameter.partition("=")[0]


def is_token(text: str) -> bool:
    """Return True for what looks like the id of a session."""
    return _TOKEN.fullmatch(text) is not None


def names_a_view(url: str) -> bool:
    """Return True for a URL that names a session, a campaign, or a print, AMP or mobile view; or that is none."""
    parts = _split(url)
    if parts is None or _VARIANT.search(parts.query):
        return True
    return bool(_VIEW_OF_HOST.match(parts.netloc) or _VIEW_OF_PATH.search(unquote(parts.path)))


def may_name_more(url: str) -> bool:
    """Return True for a URL whose query may be a part of the page's name or not. That of a script is."""
    parts = _split(url)
    return parts is not None and bool(parts.query) and not _SCRIPT.search(parts.path)


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None
