"""Where the pages of the demo site are, and which articles have which copies."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from crawldedup.demo.content import EDITS, Edit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.demo.library import Article

PORTALS = ("Second Breakfast", "The Weekend Shelf", "Nordlicht Digest")

ABOUT = (
    "/about/",
    "/about/index.html",
    "/about/?from=menu",
    "/about/?from=footer",
    "/about/?lang=en&print=0",
)


def article_path(article: Article) -> str:
    """Where the article itself is."""
    return f"/{article.language}/{article.slug}/"


def session_path(article: Article) -> str:
    """The article with a session id, which is made from the slug to be the same on every run."""
    return f"{article_path(article)}?sid={sha256(article.slug.encode()).hexdigest()[:16]}"


def print_path(article: Article) -> str:
    """The article's print view."""
    return f"/print/{article.language}/{article.slug}.html"


def mirror_path(article: Article) -> str:
    """The article on the mirror."""
    return f"/mirror/almanac/{article.language}_{article.slug.replace('-', '_')}.htm"


def portal_path(number: int) -> str:
    """The `number`-th syndicated article, at one of the portals."""
    return f"/partners/{number % len(PORTALS) + 1}/story-{4021 + 7 * number}/"


def edited_path(article: Article) -> str:
    """The article's lightly edited second edition."""
    return f"{article_path(article)}second-edition/"


def rewritten_path(article: Article, version: str) -> str:
    """A version of the article that says something else."""
    return f"{article_path(article)}{version}/"


def product_path(category: str, number: int) -> str:
    """An item of the shop."""
    return f"/shop/{category}/{number + 1}/"


def notice_path(slug: str) -> str:
    """A notice of a few words."""
    return f"/notices/{slug}/"


def with_session(articles: Sequence[Article]) -> list[Article]:
    """Articles that are also linked with a session id."""
    return [article for number, article in enumerate(articles) if number % 3 != 2]


def with_print(articles: Sequence[Article]) -> list[Article]:
    """Articles that have a print view."""
    return [article for number, article in enumerate(articles) if number % 3 != 0]


def with_mirror(articles: Sequence[Article]) -> list[Article]:
    """Articles that the mirror has copied."""
    return [article for number, article in enumerate(articles) if number % 3 != 1]


def with_portal(articles: Sequence[Article]) -> list[Article]:
    """Articles that a portal has taken over."""
    return [article for number, article in enumerate(articles) if number % 2]


def with_edit(articles: Sequence[Article]) -> list[tuple[Article, Edit]]:
    """Articles that have a second edition, and what was changed in it."""
    return [(article, EDITS[number % 3]) for number, article in enumerate(articles) if number % 4 != 1]


def with_rewriting(articles: Sequence[Article]) -> list[tuple[Article, str]]:
    """Articles that were rewritten, with the name of the version."""
    sources = [article for article in articles if article.rewritten]
    return [(article, ("retold", "new-ending")[number % 2]) for number, article in enumerate(sources)]
