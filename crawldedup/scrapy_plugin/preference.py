"""Rank the copies of one content: a better copy is delivered although a worse one was, and replaces that in the index.

A second delivery has its price, so ranks are coarse. A good copy is on a site that the crawl started on, its URL names
no session, no campaign and no print, AMP or mobile view, and it names no other page as its original. If it has a query,
it is that of a script, or the page names itself with it. All other copies are poor. So no content is delivered more
than twice, and once more for each of the user's patterns, which come before both.

A page that names another as its original lowers its own rank alone, so that no page can raise or lower another's. Sites
that the crawl did not start on, or that are not trusted, have no good copies: they replace nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.advice.copies import may_name_more, names_a_view
from crawldedup.page import WORST_RANK
from crawldedup.scope import site_of
from crawldedup.scrapy_plugin.policy import is_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.http import Response

    from crawldedup.scrapy_plugin.patterns import Pattern


class Preference:
    """Ranks pages by their URLs. `patterns` are the user's, best first; what matches none of them comes last.

    Without any (an empty list) pages have no rank; None leaves it to the rules for good copies.
    """

    def __init__(self, patterns: Sequence[Pattern] | None = None, trusted_sites: frozenset[str] | None = None) -> None:
        self._patterns = patterns or ()
        self._trusted_sites = trusted_sites
        self._is_off = patterns is not None and not patterns
        self._own_sites: set[str] = set()

    def start_at(self, *urls: str) -> None:
        """Note where the crawl starts."""
        self._own_sites.update(filter(None, map(site_of, urls)))

    def ranked(self, request: Request, response: Response) -> tuple[int | None, bool]:
        """Return the rank of a response by its URL, if pages have ranks, and whether it `asks_itself` for that."""
        if is_start(request):
            self.start_at(request.url, response.url)
        return (None, False) if self._is_off else (self.rank(response.url), self.asks_itself(response.url))

    def rank(self, url: str) -> int:
        """Return the rank of a page that names no other as its original: even if one that does has the next rank."""
        for place, pattern in enumerate(self._patterns):
            if pattern.matches(url):
                return min(2 * place + 1, WORST_RANK)
        return min(2 * len(self._patterns) + self._is_poor(url), WORST_RANK)

    def asks_itself(self, url: str) -> bool:
        """Return True for a page whose query may be a part of its name or not: the page itself knows."""
        return may_name_more(url)

    def _is_poor(self, url: str) -> bool:
        if names_a_view(url):
            return True
        site = site_of(url)
        return site not in self._own_sites or (self._trusted_sites is not None and site not in self._trusted_sites)
