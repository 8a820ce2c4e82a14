"""Rank the copies of a page, so the best copy can replace a worse one that came earlier."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from crawldedup.advice.views import may_name_more, names_a_view
from crawldedup.page import WORST_RANK, Page
from crawldedup.patterns import Pattern, matches
from crawldedup.reading.reader import ReadPage
from crawldedup.scope import site_of
from crawldedup.urls import canonical_url, claimed_url, is_same_page


class Copies:
    """Decides which of several copies is worth delivering, by giving each copy a rank.

    A second delivery has its price, so ranks are coarse. A good copy is on a trusted site that the
    crawl started on, its URL names no session, no campaign and no view, and the page doesn't name
    another one as its original. If the URL has a query, it is that of a script, or the canonical
    link of the page has the same query. All other copies are poor and replace nothing.

    So each content is delivered at most twice, and once more for each of the user's `patterns`,
    which rank above all others. With an empty list of patterns, pages have no ranks. A page can
    only lower its own rank, by naming another page as its original.
    """

    def __init__(
        self, patterns: Sequence[Pattern] | None = None, trusted_sites: frozenset[str] | None = None
    ) -> None:
        self._patterns = patterns or ()
        self._trusted_sites = trusted_sites
        self._is_off = patterns is not None and not patterns
        self._own_sites: set[str] = set()

    def start_at(self, *urls: str) -> None:
        self._own_sites.update(site_of(url) for url in urls)
        self._own_sites.discard("")

    def rank(self, url: str) -> int | None:
        """Return how good a copy is by its URL (lower is better), or None if pages have no ranks.

        `with_claim` makes it worse by one if the page names another one as its original.
        """
        if self._is_off:
            return None
        for place, pattern in enumerate(self._patterns):
            if matches(pattern, url):
                return min(2 * place + 1, WORST_RANK)
        site = site_of(url)
        is_trusted = site in self._own_sites and (
            self._trusted_sites is None or site in self._trusted_sites
        )
        is_poor = names_a_view(url) or not is_trusted
        return min(2 * len(self._patterns) + is_poor, WORST_RANK)

    def preparer(
        self, url: str, headers: Iterable[str] = (), *, is_lenient: bool = True
    ) -> Callable[[Page, ReadPage], Page]:
        """Return a function that adds to a page what is known once its content has been read.

        That is the page's rank and the original that it names: see `with_claim`.
        """
        return partial(with_claim, rank=self.rank(url), headers=headers, is_lenient=is_lenient)


def with_claim(
    page: Page,
    read: ReadPage,
    *,
    rank: int | None = None,
    headers: Iterable[str] = (),
    is_lenient: bool = True,
) -> Page:
    """Add to a page its rank and, if `is_lenient`, the original that it claims to be a copy of.

    Args:
        page: The page.
        read: Its content.
        rank: The rank of its URL. If even, it gets worse by one in two cases: the page names
            another one as its original, or only a canonical link could show that its query matters,
            and it has none.
        headers: The Link headers of the response.
        is_lenient: Whether the original lowers the similarity that a duplicate needs.
    """
    may_be_poor = rank is not None and rank % 2 == 0
    claimed = claimed_url(page.url, read.links, headers)
    needs_canonical = may_name_more(page.url)
    if claimed is None or canonical_url(claimed) == canonical_url(page.url):
        is_poor = claimed is None and needs_canonical
        claimed = None
    else:
        is_poor = needs_canonical or not is_same_page(page.url, claimed)
    return replace(
        page,
        rank=(rank or 0) + (may_be_poor and is_poor),
        canonical=claimed if is_lenient else None,
    )
