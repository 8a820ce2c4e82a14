"""A site of one kind, or one with parts of all kinds: all pages by URL, and the page on which a
crawl starts.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.shared.serving import answer, serving_apart
from benchmarks.whole_site_parts.counters import loaded
from benchmarks.whole_site_parts.events import events
from benchmarks.whole_site_parts.forum import forum
from benchmarks.whole_site_parts.manuals import manuals
from benchmarks.whole_site_parts.news import STORIES, news
from benchmarks.whole_site_parts.oddities import oddities
from benchmarks.whole_site_parts.pages import (
    ADDRESSES,
    Hosts,
    Page,
    Plan,
    bullets,
    link,
    lists,
    own_page,
)
from benchmarks.whole_site_parts.prose import Prose, read_articles
from benchmarks.whole_site_parts.shop import shop
from benchmarks.whole_site_parts.sites.documentation import DocumentationSite
from benchmarks.whole_site_parts.sites.forum import ForumSite
from benchmarks.whole_site_parts.sites.news import STORIES as NEWS_STORIES
from benchmarks.whole_site_parts.sites.news import NewsSite
from benchmarks.whole_site_parts.sites.questions import QuestionSite
from benchmarks.whole_site_parts.sites.recipes import RecipeSite
from benchmarks.whole_site_parts.sites.shop import ShopSite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from benchmarks.shared.serving import Answering
    from benchmarks.whole_site_parts.prose import Text

WHOLE: Final = "whole"
KINDS: Final = (WHOLE, "forum", "shop", "news", "documentation", "recipes", "questions")
CONTENT_HEADER: Final = "X-Content"
"""The truth, which the crawl's accounting reads and no tool under test does."""


class Site:
    """The same pages for the same arguments, wherever it is made."""

    def __init__(
        self,
        port: int,
        seed: int,
        scale: float,
        kind: str = WHOLE,
        day: int = 1,
        articles: Path | None = None,
    ) -> None:
        self.port = port
        plan = Plan(Hosts.at(port), Prose(seed), scale, day)
        self.own_host = plan.hosts.own
        self.start_url = self.own_host + "/"
        self.pages = {page.url: page for page in _pages(kind, plan, articles)}

    def judged(self) -> list[Page]:
        """The pages that have a content."""
        return [page for page in self.pages.values() if page.content]


@dataclass(frozen=True)
class Recipe:
    """What a site is made by; two processes make the same of it."""

    seed: int
    scale: float
    kind: str = WHOLE
    articles: Path | None = None
    day: int = 1

    def site(self, port: int) -> Site:
        return Site(port, self.seed, self.scale, self.kind, self.day, self.articles)

    def answering(self, port: int) -> Answering:
        """Return what answers for the site at a port; what changes with every load does."""
        pages = self.site(port).pages
        answers = {url.partition("//")[2]: (page, _head(page)) for url, page in pages.items()}

        def answer_to(url: str) -> tuple[bytes, bool]:
            if url not in answers:
                return answer(b"", b"404 Not Found"), False
            page, head = answers[url]
            if page.old_http:
                return f"HTTP/1.0 200 OK\r\n{head}\r\n".encode() + loaded(page.body), True
            return answer(
                loaded(page.body), b"302 Found" if page.location else b"200 OK", head
            ), False

        return answer_to


def _head(page: Page) -> str:
    head = {
        "Content-Type": page.content_type,
        CONTENT_HEADER: page.content,
        "Location": page.location,
    }
    return "".join(f"{name}: {value}\r\n" for name, value in head.items() if value)


@contextlib.contextmanager
def serving(recipe: Recipe, port: int = 0) -> Iterator[Site]:
    """Serve the site from another process, at any free port or at one; yields the site as it is
    served.
    """
    with serving_apart(recipe, ADDRESSES, port) as port:
        yield recipe.site(port)


def _pages(kind: str, plan: Plan, articles: Path | None) -> Iterable[Page]:
    match kind:
        case "forum":
            return ForumSite(plan).pages()
        case "shop":
            return ShopSite(plan).pages()
        case "news":
            return NewsSite(plan, _texts(plan, articles, NEWS_STORIES)).pages()
        case "documentation":
            return DocumentationSite(plan).pages()
        case "recipes":
            return RecipeSite(plan).pages()
        case "questions":
            return QuestionSite(plan).pages()
        case _:
            return _whole(plan, _texts(plan, articles, STORIES))


def _texts(plan: Plan, articles: Path | None, at_full_size: int) -> Sequence[Text]:
    count = plan.count(at_full_size)
    if articles is not None:
        return read_articles(articles, plan.prose)[:count]
    return [plan.prose.writer(f"article {number}").text(4, 9) for number in range(count)]


def _whole(plan: Plan, texts: Sequence[Text]) -> Iterator[Page]:
    about, own_lists, partner_lists = news(plan, texts)
    documentation, manual_pages = manuals(plan)
    products, shop_lists = shop(plan)
    threads, forum_lists = forum(plan)
    calendar, this_month = events(plan)
    odd = oddities(plan, documentation[1:])
    # Scrapy takes turns with the hosts, and of a host crawls what was named last. So the partner's
    # copies come before the articles, but for those, of one story in five, to which a page that is
    # crawled late leads.
    late = len(partner_lists) // 5
    shelves = [
        (page.url, f"The Weekend Shelf, {number}")
        for number, page in enumerate(partner_lists[:late], 1)
    ]
    partners = lists(f"{plan.hosts.own}/partners", "Our partners", shelves)
    own_lists = [*partners, *own_lists]
    named = [
        *own_lists,
        *manual_pages,
        *shop_lists,
        *forum_lists,
        this_month,
        *odd,
        *partner_lists[late:],
    ]
    titles = ((page.url, page.url.partition("//")[2]) for page in named)
    main = f"<h1>Front page</h1>{bullets(link(*each) for each in titles)}"
    yield Page(f"{plan.hosts.own}/", "front page", "", own_page("Front page", main))
    for part in (
        about,
        own_lists,
        partner_lists,
        documentation,
        products,
        shop_lists,
        threads,
        forum_lists,
    ):
        yield from part
    yield from calendar
    yield from odd
