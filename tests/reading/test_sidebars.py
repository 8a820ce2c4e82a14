"""Short articles beside a long sidebar full of links."""

from __future__ import annotations

import pytest

from crawldedup import compare
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
from tests.reading.prose import sentences

HOST = "https://harbour.example"
READER = PageReader(Options())
LINKS = "".join(
    f'<li><a href="/news/{number}/">{" ".join(sentences(number, 8))}</a></li>'
    for number in range(40)
)
SIDEBARS = [
    f'<main>{{}}</main><div class="column">{LINKS}</div>',
    f'<div class="content">{{}}</div><div class="sidebar section"><ul>{LINKS}</ul></div>',
    f'<main>{{}}</main><div class="widget-sidebar"><ul>{LINKS}</ul></div>',
]


def document(name: str, content: str, sidebar: str) -> str:
    return (
        f"<html><head><title>{name}</title></head><body><h2><span>Monday, May 4</span></h2>"
        f"{sidebar.format(content)}</body></html>"
    )


def article(name: str, seed: int, sidebar: str) -> str:
    text = " ".join(sentences(seed, 12))
    return document(name, f"<h3>{name}</h3><div>{text}</div>", sidebar)


def is_listing(html: str) -> bool:
    marks = READER.content(Page(f"{HOST}/2026/05/page.html", html=html)).marks
    assert marks is not None
    return marks.is_listing


@pytest.mark.parametrize("sidebar", SIDEBARS)
def test_short_articles_beside_one_long_sidebar_are_told_apart(sidebar: str) -> None:
    pages = [
        Page(f"{HOST}/2026/{path}.html", html=article(name, seed, sidebar))
        for path, name, seed in [("05/seals", "Seals", 101), ("06/boats", "Boats", 102)]
    ]
    assert not any(is_listing(page.html or "") for page in pages)
    assert compare(*pages).drops == 0


@pytest.mark.parametrize("sidebar", SIDEBARS)
def test_lists_outside_of_sidebars_are_listings(sidebar: str) -> None:
    links = "".join(
        f'<li><a href="/boats/{number}/">{" ".join(sentences(number + 500, 8))}</a></li>'
        for number in range(12)
    )
    assert is_listing(document("Boats", f"<h1>Boats</h1><ul>{links}</ul>", sidebar))


@pytest.mark.parametrize("sidebar", SIDEBARS)
def test_a_heading_alone_beside_links_is_a_listing(sidebar: str) -> None:
    assert is_listing(document("Boats", "<h1>Boats</h1><p>12 of 52</p>", sidebar))
