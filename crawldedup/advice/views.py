"""Words in URLs that suggest another view of a page: a session, a campaign, print or mobile."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

VIEWS: Final = "print|printer|printable|printview|print-view|printer-friendly|amp|mobile|m"
"""Words, separated by bars, that name views of a page in its URL."""
_VIEW_OF_PATH: Final = re.compile(
    rf"/(?:{VIEWS})(?:\.\w+)?(?:/|$)|[._-](?:print|amp)(?:\.\w+)?/?$|;", re.IGNORECASE
)
VIEW_PARAMETERS: Final = (
    r"(?i:s|sid|phpsessid|jsessionid|session|sessionid|session_id|cfid|cftoken|utm_\w*|gclid|fbclid|msclkid|"
    r"print\w*|amp|output|format|ref|referrer|source|sort|order|highlight)"
)
"""A pattern of parameters that name a session, a campaign or a view, for Python and for DuckDB."""
_VARIANT: Final = re.compile(rf"(?:^|[&;]){VIEW_PARAMETERS}(?:[=&;]|$)")
# For these, the query names the content: index.php?id=7, /?p=7.
_SCRIPT: Final = re.compile(r"^/?$|\.(?:php\d?|phtml|aspx?|jspx?|cgi|pl|do|cfm)$", re.IGNORECASE)
_VIEW_OF_HOST: Final = re.compile(r"(?:m|mobile|amp|wap|print)\.", re.IGNORECASE)


def names_a_view(url: str) -> bool:
    """Return whether a URL names a session, a campaign, or a print, AMP or mobile view.

    The result is also True for anything that isn't a URL.
    """
    try:
        _, host, path, query, _ = urlsplit(url)
    except ValueError:
        return True
    is_in_path = _VIEW_OF_PATH.search(unquote(path))
    return bool(_VARIANT.search(query) or _VIEW_OF_HOST.match(host) or is_in_path)


def may_name_more(url: str) -> bool:
    """Return whether a URL has a query that may or may not be part of the page's address.

    For a script, it is clear, because the query names the content.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.query) and not _SCRIPT.search(parts.path)
