"""Tell by its URL whether a copy is a poor one: a view of a page, or its name with a session or a campaign."""

import re
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from crawldedup.advice.address import VIEWS

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
