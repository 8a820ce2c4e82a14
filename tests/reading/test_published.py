"""Pages that declare the date of an article: the lists below it lead to other articles."""

from __future__ import annotations

import pytest

from crawldedup.reading.html import HtmlPage
from crawldedup.reading.main_text import main_text
from tests.reading.prose import paragraphs, sentences

ARTICLE = paragraphs(sentences(3, 120))
OTHERS = [" ".join(sentences(500 + number, 1)[0].split()[:8]) for number in range(12)]
LINKS = "".join(
    f'<li><a href="/story/{place}">{name}</a></li>' for place, name in enumerate(OTHERS)
)
JSON_LD = '<script type="application/ld+json">{}</script>'.format
NEWS = '{"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Ferries"}'

DECLARED = [
    '<meta property="article:published_time" content="2026-11-20T10:43:00Z">',
    '<meta name="parsely-pub-date" content="2026-11-20T10:43:00Z">',
    '<meta itemprop="datePublished" content="2026-11-20">',
    JSON_LD(NEWS),
    JSON_LD('{"@type":["BlogPosting"],"headline":"Ferries"}'),
]
NOT_DECLARED = [
    "",
    '<meta property="og:type" content="article">',
    '<meta property="article:modified_time" content="2026-11-20T10:43:00Z">',
    '<meta property="article:publisher" content="https://social.example/paper">',
    JSON_LD(f'{{"@type": "ItemList", "itemListElement": [{NEWS}, {NEWS}]}}'),
]


def text_of(head: str, kind: str = "<article>") -> str:
    html = (
        f"<html><head><title>Ferries to the islands</title>{head}</head><body>{kind}"
        f"<h1>Ferries to the islands</h1><div class=text>{ARTICLE}</div>"
        f"<ul class=others>{LINKS}</ul></body></html>"
    )
    return main_text(HtmlPage(html))


@pytest.mark.parametrize("head", DECLARED)
def test_lists_below_a_published_article_are_left_out(head: str) -> None:
    text = text_of(head)
    assert sentences(3, 120)[-1] in text
    assert not any(name in text for name in OTHERS)


@pytest.mark.parametrize("head", NOT_DECLARED)
def test_lists_below_any_other_text_are_read(head: str) -> None:
    text = text_of(head)
    assert all(name in text for name in OTHERS)


def test_an_article_in_microdata_is_published() -> None:
    article = '<article itemscope itemtype="https://schema.org/NewsArticle">'
    assert not any(name in text_of("", article) for name in OTHERS)


def test_several_articles_in_microdata_are_a_list() -> None:
    part = '<b itemscope itemtype="https://schema.org/BlogPosting"></b>'
    assert all(name in text_of("", f"{part}{part}<article>") for name in OTHERS)
