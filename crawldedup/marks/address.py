"""The parts of a page's address: its site, its path, and the parameters that name content.

A *view* of a page is the same content at another address: with a session ID, for a campaign, in
print. Words alone cannot tell a view for certain (`sid`, `ref` and `view` name content on some
sites), so only known values count, and the other marks of two pages still decide. Campaigns are the
exception: nobody names content with `utm_source`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from crawldedup.scope import is_shared_host, site_of
from crawldedup.urls import TOKEN

_LONGEST_URL: Final = 8192
_MOST_PARAMETERS: Final = 100

_CAMPAIGN: Final = re.compile(
    r"utm_\w*|gclid|fbclid|msclkid|dclid|gbraid|wbraid|yclid|twclid|ttclid|igshid|mc_[ce]id",
    re.IGNORECASE,
)
_SESSION: Final = re.compile(
    r"s|sid|[a-z]{0,8}sess(?:ion)?_?(?:id)?|cfid|cftoken|oscsid|zenid|token|nonce|_", re.IGNORECASE
)
_SERVER_SESSION: Final = re.compile(r"phpsessid|jsessionid|aspsessionid\w*", re.IGNORECASE)
_TOKEN: Final = re.compile(TOKEN, re.IGNORECASE)
ACTION_PARAMETERS: Final = (
    r"(?i:replytocom|add-to-cart|add_to_wishlist|remove_item|share|like_comment)"
)
"""A pattern for URL parameters that trigger an action, such as replying or filling a cart.

Links with such parameters lead to the page that they are on. Python and DuckDB both use the
pattern.
"""
_ACTION: Final = re.compile(ACTION_PARAMETERS)
# Whether to print a page is a yes or no question. Any other value is the name of a print, such as a
# poster.
_PRINT: Final = re.compile(r"printable|printer|print|print_?view|amp|pfstyle", re.IGNORECASE)
_YES: Final = re.compile(
    r"|0|1|y|n|t|f|yes|no|on|off|true|false|view|print|page|preview|full|amp|wp|html?|pdf|friendly",
    re.IGNORECASE,
)
_VIEW_VALUES: Final[dict[str, re.Pattern[str]]] = {
    names: re.compile(values, re.IGNORECASE)
    for names, values in {
        "view format layout display mode output style theme tmpl version type": (
            r"print\w*|printer-?friendly|amp|mobile|desktop|full|classic|compact|list|grid|table|"
            r"gallery-?view|tile|tiles|cards?|html|htm|text|plain|light|dark|component|default"
        ),
        "sort sort_?by order order_?by orderby sortby dir sort_?dir sort_?order": (
            r"(?:(?:asc|desc|ascending|descending|date|name|title|price|rating|popular\w*|"
            r"relevance|newest|latest|oldest|new|old|top|best|size|id|modified|created|default|"
            r"random|views?|votes?|position|menu_order|low|high|a|d|n|m|s|up|down|to)"
            r"(?:[-_:+ ,]|$))+"
        ),
        "ref referr?er source src from via origin medium": (
            r"home(?:page)?|list(?:ing)?|side-?bar|nav(?:igation)?|menu|footer|header|top|bottom|"
            r"rec(?:ommended|s)?|related|rss|feed|atom|newsletter|e?-?mail|twitter|facebook|fb|tw|"
            r"x|linkedin|whatsapp|google|bing|search|hp|front(?:page)?|start(?:page)?|teaser|"
            r"banner|widget|share|social|push|app|breadcrumbs?|carousel|slider|more|popular|"
            r"trending|latest|archive|category|tag"
        ),
    }.items()
}
_VIEW_NAMES: Final = tuple(
    (re.compile("|".join(names.split()), re.IGNORECASE), values)
    for names, values in _VIEW_VALUES.items()
)
# The first rows of a list are the list itself. (`page=1` is not: some sites count from 0.)
_FIRST: Final = re.compile(r"start|offset|skip|from", re.IGNORECASE)

_VIEW_HOST: Final = re.compile(r"(?:m|mobile|amp|wap|print|touch)\.(?=[^.]+\.)")
_VIEW_FOLDER: Final = re.compile(
    r"^/(?:amp|print|printer|printable|mobile|m|pda|wap|text|druck|imprimer|stampa|imprimir)(?=/.)",
    re.IGNORECASE,
)
_VIEW_ENDING: Final = re.compile(
    r"(?<=.)/(?:amp|print|printable|full|druck|imprimer|stampa|imprimir)/?$",
    re.IGNORECASE,
)
_VIEW_SUFFIX: Final = re.compile(r"[._-](?:print|amp)(?=(?:\.\w{2,5})?/*$)", re.IGNORECASE)
# Bytes that aren't UTF-8 also tell addresses apart.
_OTHER_BYTES: Final = "backslashreplace"
_IN_PATH: Final = re.compile(r";[^/]*")
_ENDING: Final = re.compile(
    r"(?:/(?:index|default))?(?:\.(?:x?html?|php\d?|aspx?|jsp))?/*$", re.IGNORECASE
)
_NUMBERED: Final = re.compile(
    r"/(?:(?:comment-)?page|seite|pagina|página|strona|sida|side|sivu|sayfa|oldal|stranka|strana|"
    r"страница|стр|trang|halaman)[/_-]?(\d{1,6})$",
    re.IGNORECASE,
)
# In the address of an article, they say when it was written, not what it belongs to. A year alone
# may be a version.
_DATED: Final = re.compile(
    r"(?<=/)(?:19|20)\d\d[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?(?=/)"
)


Pairs = list[tuple[str, str]]
"""The names and values of URL parameters."""


class View(NamedTuple):
    """A part of a URL that seems to ask for another view of a page, such as a session ID.

    Whether it really does is proved for each site and kind of view. For a session, the kind is the
    name of the parameter, and the value is the token. A print view is a kind without a value.
    """

    kind: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.value}"


@dataclass(frozen=True, slots=True)
class Address:
    """A URL divided into the parts that name content and the parts that only name a view of it.

    Attributes:
        site: The registered domain, or the host if there is none.
        path: Host and path, without the parts that name a view and without the ending.
        folder: Host and path up to the last part, with 0 instead of a date.
        names: The names of the parameters that name content, sorted.
        parameters: These parameters with their values, sorted.
        views: The parts that name a view, sorted: sessions, print and the like. Campaigns are left
            out.
    """

    site: str
    path: str
    folder: str
    names: tuple[str, ...]
    parameters: tuple[str, ...]
    views: tuple[View, ...]

    @classmethod
    # The address of a page is needed several times.
    @lru_cache(maxsize=256)
    def of(cls, url: str, identity: str | None = None) -> Self | None:
        """Return the address of a page, or None if its URL is invalid, very long or has no host.

        If the user identifies a page by its `identity` (such as the body of a POST request), it
        becomes a parameter.
        """
        parts = _parts_of(url)
        if parts is None:
            return None
        parameters: Pairs = []
        views = parts.views
        for name, value in parts.query:
            if _CAMPAIGN.fullmatch(name) or (value in ("", "0") and _FIRST.fullmatch(name)):
                continue
            view = _view_of(name, value)
            if view is not None:
                views.append(view)
            else:
                parameters.append((name, value))
        if identity is not None:
            parameters.append(("\nidentity", identity))
        parameters.sort()
        folder = _DATED.sub("0", f"{parts.path.rpartition('/')[0]}/")
        return cls(
            site=site_of(url),
            path=f"{parts.host}{parts.path}",
            folder=f"{parts.host}{folder}",
            names=tuple(sorted({name for name, _ in parameters})),
            parameters=tuple(f"{name}={value}" for name, value in parameters),
            views=tuple(sorted(views)),
        )


class _Parts(NamedTuple):
    """A parsed URL, with the views that its host and path name set apart."""

    host: str  #: With its port.
    path: str
    query: Pairs  #: All parameters, and the number of a page in the path.
    views: list[View]  #: The views that host and path name.


def _parts_of(url: str) -> _Parts | None:
    """Parse a URL, or return None if it is invalid, has no host, or has too many characters.

    One with more than 100 parameters is also invalid.
    """
    if len(url) > _LONGEST_URL:
        return None
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
        port = parts.port
        query = parse_qsl(
            parts.query,
            keep_blank_values=True,
            max_num_fields=_MOST_PARAMETERS,
            errors=_OTHER_BYTES,
        )
    except ValueError:
        return None
    if not host:
        return None
    views: list[View] = []
    # Below a public suffix such as github.io, m. may be the name of a user.
    if (match := _VIEW_HOST.match(host)) and site_of(url) != host:
        views.append(View(f"//{match[0]}"))
        host = host[match.end() :]
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    may_be_user = is_shared_host(host)
    path = _ENDING.sub("", _without_views(parts.path, views, may_be_user=may_be_user))
    if match := _NUMBERED.search(path):
        query.append(("page", match[1]))
        path = path[: match.start()]
    return _Parts(host, path, query, views)


def _without_views(path: str, views: list[View], *, may_be_user: bool) -> str:
    """Remove the parts of a path that name a view (such as `/print/`), and add them to `views`.

    Args:
        path: The path of a URL.
        views: The list to which the views are added.
        may_be_user: Whether the first folder names a user, whose name may look like a view.
    """
    if ";" in path:
        name, _, value = path.partition(";")[2].partition("=")
        views.append(View(f";{name.lower()}", value))
    path = unquote(_IN_PATH.sub("", path), errors=_OTHER_BYTES)
    patterns = [_VIEW_ENDING, _VIEW_SUFFIX]
    if not may_be_user:
        patterns.append(_VIEW_FOLDER)
    for pattern in patterns:
        if found := pattern.search(path):
            views.append(View(found[0].rstrip("/").lower()))
            path = pattern.sub("", path)
    return path


def is_view(name: str, value: str) -> bool:
    """Return whether a URL parameter is known to name a view or a campaign rather than content."""
    return _CAMPAIGN.fullmatch(name) is not None or _view_of(name, value) is not None


@lru_cache(maxsize=4096)
def _view_of(name: str, value: str) -> View | None:
    """Return the view that a URL parameter names, or None if its name and value aren't known."""
    kind = name.lower()
    if _SERVER_SESSION.fullmatch(name):
        return View(kind, value)
    if _ACTION.fullmatch(name) or (_PRINT.fullmatch(name) and _YES.fullmatch(value)):
        return View(kind)
    if _SESSION.fullmatch(name):
        return View(kind, value) if _TOKEN.fullmatch(value) else None
    for names, values in _VIEW_NAMES:
        if names.fullmatch(name) and values.fullmatch(value):
            return View(f"{kind}={value.lower()}")
    return None
