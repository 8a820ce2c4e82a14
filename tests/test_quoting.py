"""A listing that quotes an article and the article itself: neither is dropped for the other."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator
from tests.stories import story

BLOG = "https://tom.example/"
ARTICLE = "https://tom.example/2024/05/the-ferry/"
POST = "".join(f"<p>{story(paragraph, 30)}</p>" for paragraph in range(10))
HEADER = '<header><a href="/">Blog of Tom</a></header>'


def home(posts: int) -> str:
    """A home page with a whole post and the titles of older ones."""
    older = "".join(
        f'<article class="post hentry"><h2 class="entry-title">'
        f'<a href="/2024/04/{number}/">{story(100 + number, 4)}</a></h2></article>'
        for number in range(posts)
    )
    return (
        f"<title>Blog of Tom</title>{HEADER}<main>"
        f'<article class="post hentry"><h2 class="entry-title"><a href="{ARTICLE}">The ferry</a>'
        f'</h2><div class="entry-content">{POST}</div></article>{older}</main>'
    )


def article(title: str) -> str:
    return (
        f"<title>{title}</title>{HEADER}<main><article class='post hentry'>"
        f"<h1 class='entry-title'>The ferry</h1><div class='entry-content'>{POST}</div>"
        "</article></main>"
    )


@pytest.mark.parametrize("posts", [1, 3, 9])
@pytest.mark.parametrize("title", ["The ferry – Blog of Tom", "Blog of Tom"])
@pytest.mark.parametrize("listing_url", [BLOG, f"{BLOG}2024/05/", f"{BLOG}tag/boats/"])
def test_both_are_kept(posts: int, title: str, listing_url: str) -> None:
    pages = [(listing_url, home(posts)), (ARTICLE, article(title))]
    for order in (pages, pages[::-1]):
        dedup = Deduplicator()
        assert not any(dedup.check(url, html=html).is_duplicate for url, html in order)


def test_a_print_view_of_the_listing_is_still_a_copy() -> None:
    plain = f"<title>Blog of Tom</title><h2>The ferry</h2>{POST}" + "".join(
        f"<h2>{story(100 + number, 4)}</h2>" for number in range(3)
    )
    dedup = Deduplicator()
    dedup.check(BLOG, html=home(3))
    assert dedup.check(f"{BLOG}printed/all", html=plain).is_duplicate
