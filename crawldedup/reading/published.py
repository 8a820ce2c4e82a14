"""Find out whether a page declares to be one article with a date of publication.

Lists below an article lead to other articles, while lists below a description are what the page is
about. Both can look the same. But content management systems write the date of an article into its
page, and hardly ever do so for a category, a collection or a search.
"""

import re
from typing import Final

from crawldedup.reading.html import HtmlPage

_DATES: Final = frozenset(
    [
        "article:published", "article:published_time", "bt:pubdate", "citation_date",
        "citation_publication_date", "date_published", "datepublished", "dc.date",
        "dc.date.issued", "dcterms.created", "dcterms.date", "dcterms.issued",
        "og:article:published_time", "og:pubdate", "og:published_time", "parsely-pub-date",
        "pub_date", "pubdate", "publication_date", "publish-date", "publish_date", "publishdate",
        "published_date", "sailthru.date",
    ]
)  # fmt: skip
"""Names of <meta> elements that hold the date of publication, in lowercase."""

_NAMES: Final = ("property", "name", "itemprop")
_MOST_METAS: Final = 200

_IN_JSON: Final = re.compile(
    r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"'
    r'(?:Analysis|Blog|News|Opinion|Report|Review|Scholarly|Tech)?(?:Article|Posting)(?:NewsArticle)?"'
)
_MICRODATA: Final = (
    "[itemtype*='Article' i], [itemtype*='BlogPosting' i]",
    "meta[itemprop='datePublished' i]",
)


def is_published_article(page: HtmlPage) -> bool:
    """Return whether a page is one article: it has a date of publication, or describes an article.

    A page that describes several articles is a list of them.
    """
    if _has_date(page):
        return True
    if "ld+json" in page.html and len(_IN_JSON.findall(page.html)) == 1:
        return True
    return any(len(page.tree.css(selector)) == 1 for selector in _MICRODATA)


def _has_date(page: HtmlPage) -> bool:
    head = page.tree.head
    if head is None:
        return False
    for node in head.css("meta[content]")[:_MOST_METAS]:
        attributes = node.attributes
        if any((attributes.get(name) or "").lower() in _DATES for name in _NAMES):
            return True
    return False
