"""Lays the demo site out: which text appears where, in which template, as what kind of copy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from crawldedup.demo import content as make
from crawldedup.demo import oddities, paths
from crawldedup.demo.content import Content, Line
from crawldedup.demo.data import goods, notices, phrases
from crawldedup.demo.library import all_articles
from crawldedup.demo.lists import list_contents
from crawldedup.demo.reply import Reply
from crawldedup.demo.templates import Surroundings, magazine, mirrored, portal, printed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.demo.library import Article

    Pages = Iterator[tuple[str, "SitePage"]]


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page: what the server answers, what it really says, and the manifest's view of it.

    `cluster` is empty for what is not a page: redirects, errors, files.
    """

    reply: Reply
    kind: str
    cluster: str = ""
    judged: bool = True
    content: Content | None = None


def all_pages() -> dict[str, SitePage]:
    """Every page of the site by path and query, the endless calendar excepted."""
    about = next(article for article in all_articles() if article.topic == "about")
    articles = [article for article in all_articles() if article.topic != "about"]
    return dict(
        chain(
            _lists(articles),
            _articles(articles),
            _copies(articles),
            _edits(articles),
            _about(about),
            _shop(),
            _notices(),
            _oddities(articles),
        )
    )


def _page(kind: str, cluster: str, content: Content, html: str, *, judged: bool = True) -> SitePage:
    return SitePage(Reply(html.encode()), kind, cluster, judged, content)


def _around(article: Article, articles: Sequence[Article], *, turn: int = 0) -> Surroundings:
    """The links and comments beside an article; another `turn` shows others, as on a later day."""
    same = [other for other in articles if other.language == article.language]
    here = next(number for number, other in enumerate(same) if other.slug == article.slug)
    related = [same[(here + step + turn) % len(same)] for step in (1, 2, 3)]
    pool = phrases(article.language)["comments"]
    first = len(article.slug) + turn
    return Surroundings(
        related=[Line(paths.article_path(other), other.title) for other in related],
        comments=[pool[(first + step) % len(pool)] for step in range(1 + first % 3)],
        print_path=paths.print_path(article) if article in paths.with_print(articles) else None,
    )


def _lists(articles: Sequence[Article]) -> Pages:
    for path, content in list_contents(articles):
        yield path, _page("list", path, content, magazine(content))


def _articles(articles: Sequence[Article]) -> Pages:
    for article in articles:
        content = make.of_article(article)
        html = magazine(content, _around(article, articles))
        yield paths.article_path(article), _page("article", article.slug, content, html)


def _copies(articles: Sequence[Article]) -> Pages:
    for article in paths.with_session(articles):
        content = make.of_article(article)
        html = magazine(content, _around(article, articles, turn=1))
        yield paths.session_path(article), _page("session", article.slug, content, html)
    for article in paths.with_print(articles):
        content = make.of_article(article)
        yield paths.print_path(article), _page("print", article.slug, content, printed(content))
    for number, article in enumerate(paths.with_mirror(articles)):
        content = make.of_article(article)
        html = mirrored(content, number + 1)
        yield paths.mirror_path(article), _page("mirror", article.slug, content, html)
    for number, article in enumerate(paths.with_portal(articles)):
        content = make.of_article(article)
        others = [Line(paths.article_path(other), other.title) for other in articles[number : number + 4]]
        html = portal(content, paths.PORTALS[number % len(paths.PORTALS)], others)
        yield paths.portal_path(number), _page("syndicated", article.slug, content, html)


def _edits(articles: Sequence[Article]) -> Pages:
    for article, edit in paths.with_edit(articles):
        content = make.of_article(make.edited(article, edit))
        html = magazine(content, _around(article, articles, turn=2))
        yield paths.edited_path(article), _page("edited", article.slug, content, html)
    for article, version in paths.with_rewriting(articles):
        content = make.of_article(make.rewritten(article, only_the_end=version == "new-ending"))
        html = magazine(content, _around(article, articles, turn=3))
        yield (
            paths.rewritten_path(article, version),
            _page("rewritten", f"{article.slug}/{version}", content, html),
        )


def _about(article: Article) -> Pages:
    content = make.of_article(article)
    around = Surroundings(related=[Line(path, f"About us ({n})") for n, path in enumerate(paths.ABOUT, 1)])
    for path in paths.ABOUT:
        yield path, _page("self", article.slug, content, magazine(content, around))


def _shop() -> Pages:
    for category, group in goods().items():
        for number in range(len(group["items"])):
            content = make.of_product(category, number)
            path = paths.product_path(category, number)
            yield path, _page("product", path, content, magazine(content))


def _notices() -> Pages:
    first_with: dict[tuple[str, str], str] = {}
    for slug, (heading, line) in notices().items():
        cluster = first_with.setdefault((heading, line), f"notice/{slug}")
        content = make.of_notice(heading, line)
        yield paths.notice_path(slug), _page("thin", cluster, content, magazine(content), judged=False)


def _oddities(articles: Sequence[Article]) -> Pages:
    by_slug = {article.slug: article for article in articles}
    encoded = by_slug["cartes-des-sentiers"], by_slug["les-hirondelles"], by_slug["streuobst"]
    for (path, reply), article in zip(oddities.encodings(*encoded), encoded, strict=True):
        kind = "wrong-charset" if "wrong" in path else "latin-1"
        judged = kind != "wrong-charset"
        yield path, SitePage(reply, kind, article.slug, judged, make.of_article(article))
    yearbook = oddities.yearbook([article for article in articles if article.language == "en"])
    yield "/technical/yearbook.html", SitePage(yearbook, "big", "yearbook")
    for path, reply in oddities.empty_pages():
        yield path, SitePage(reply, "empty", "nothing", judged=False)
    plain = oddities.plain_text()
    yield "/technical/readme.txt", SitePage(plain, "text", "readme", judged=False)
    for path, kind, reply in oddities.not_pages(paths.article_path(articles[0])):
        yield path, SitePage(reply, kind)
