"""The whole site: all pages by URL, and the page that a crawl starts on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.whole_site_parts.events import events
from benchmarks.whole_site_parts.forum import forum
from benchmarks.whole_site_parts.manuals import manuals
from benchmarks.whole_site_parts.news import STORIES, news
from benchmarks.whole_site_parts.oddities import oddities
from benchmarks.whole_site_parts.pages import Hosts, Page, Plan, bullets, link, lists, own_page
from benchmarks.whole_site_parts.prose import Prose, read_articles
from benchmarks.whole_site_parts.shop import shop

if TYPE_CHECKING:
    from pathlib import Path


class Site:
    """The same pages for the same arguments, wherever it is made."""

    def __init__(self, port: int, seed: int, scale: float, articles: Path | None = None) -> None:
        prose = Prose(seed)
        plan = Plan(Hosts.at(port), prose, scale)
        stories = plan.count(STORIES)
        if articles is None:
            texts = [prose.writer(f"article {number}").text(4, 9) for number in range(stories)]
        else:
            texts = read_articles(articles, prose)[:stories]
        about, own_lists, partner_lists = news(plan, texts)
        documentation, manual_pages = manuals(plan)
        products, shop_lists = shop(plan)
        threads, forum_lists = forum(plan)
        calendar, this_month = events(plan)
        odd = oddities(plan, documentation[1:])
        # Scrapy takes turns with the hosts, and of a host crawls what was named last. So the partner's copies come
        # before the articles, but for those, of one story in five, to which a page that is crawled late leads.
        late = len(partner_lists) // 5
        shelves = [(page.url, f"The Weekend Shelf, {number}") for number, page in enumerate(partner_lists[:late], 1)]
        partners = lists(f"{plan.hosts.own}/partners", "Our partners", shelves)
        own_lists = [*partners, *own_lists]
        named = [*own_lists, *manual_pages, *shop_lists, *forum_lists, this_month, *odd, *partner_lists[late:]]
        self.start_url = plan.hosts.own + "/"
        self.own_host = plan.hosts.own
        titles = ((page.url, page.url.partition("//")[2]) for page in named)
        main = f"<h1>Front page</h1>{bullets(link(*each) for each in titles)}"
        home = Page(self.start_url, "front page", "", own_page("Front page", main))
        of_parts = [
            about,
            own_lists,
            partner_lists,
            documentation,
            products,
            shop_lists,
            threads,
            forum_lists,
            calendar,
            odd,
        ]
        self.pages = {page.url: page for pages in ([home], *of_parts) for page in pages}

    def judged(self) -> list[Page]:
        """The pages that have a content."""
        return [page for page in self.pages.values() if page.content]
