"""Entries of a listing below a long description, and related pages below an article."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from crawldedup import Deduplicator
from tests.reading.prose import document, main_text_of, paragraphs, sentences

DESCRIPTION = paragraphs(sentences(7, 150))
ADDRESSES = [
    pytest.param("/{}", id="path"),
    pytest.param("/{}.html", id="file"),
    pytest.param("/?p={}", id="number"),
    pytest.param("https://shop.example/de/{}", id="another host"),
    pytest.param("#/item/{}", id="hash"),
]


def title(page: int, number: int) -> str:
    return " ".join(sentences(100 * page + number, 1)[0].split()[:5])


def teaser(page: int, number: int) -> str:
    return " ".join(sentences(1000 * page + number, 25))


def twenty_seventeen(page: int, number: int, address: str) -> str:
    return f"""<article class="post type-post hentry"><header class="entry-header">
<h2 class="entry-title"><a href="{address}">{title(page, number)}</a></h2></header>
<div class="entry-summary"><p>{teaser(page, number)}</p></div></article>"""


def prestashop(page: int, number: int, address: str) -> str:
    return f"""<article class="product-miniature"><a href="{address}" class="thumbnail"></a>
<h3 class="product-title"><a href="{address}">{title(page, number)}</a></h3>
<span class="price">{page}{number}.90</span></article>"""


def ghost(page: int, number: int, address: str) -> str:
    return f"""<article class="gh-card"><a class="gh-card-link" href="{address}"><h3>
{title(page, number)}</h3><p class="gh-card-excerpt">{teaser(page, number)}</p></a></article>"""


def without_links(page: int, number: int, address: str) -> str:
    return f"""<div class="card" onclick="open('{address}')"><h3>{title(page, number)}</h3>
<p>{teaser(page, number)[:70]}.</p></div>"""


PARTS = [twenty_seventeen, prestashop, ghost, without_links]
Part = Callable[[int, int, str], str]


def listing(page: int, part: Part, address: str, number: int = 6) -> str:
    parts = [part(page, each, address.format(10 * page + each)) for each in range(number)]
    return f"""<main><header class="page-header"><h1>Lamps</h1>
<div class="taxonomy-description">{DESCRIPTION}</div></header>
<section class="loop">{"".join(parts)}</section></main>"""


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("part", PARTS)
def test_all_entries_of_a_listing_are_compared(part: Part, address: str) -> None:
    text = main_text_of(listing(1, part, address), "Lamps")
    assert all(title(1, number) in text for number in range(6))
    assert sentences(7, 150)[0] in text


@pytest.mark.parametrize("part", [twenty_seventeen, ghost, without_links])
def test_listings_with_the_same_description_and_other_entries_are_kept(part: Part) -> None:
    with Deduplicator() as dedup:
        dedup.check("https://a.example/lamps", html=document(listing(1, part, "/{}.html")))
        other = document(listing(2, part, "https://cdn.example/{}"))
        assert not dedup.check("https://b.example/shop?tag=lamps", html=other).is_duplicate
        again = document(listing(1, part, "https://cdn.example/{}"))
        assert dedup.check("https://c.example/x/y/", html=again).is_duplicate


def article(below: str) -> str:
    return f"<div><article><h1>The ferry</h1>{DESCRIPTION}</article>{below}</div>"


def plain(below: str) -> str:
    return f'<div class="page"><div class="text"><h1>The ferry</h1>{DESCRIPTION}</div>{below}</div>'


RELATED = "".join(twenty_seventeen(3, number, f"/{number}") for number in range(4))
BESIDE = {
    "an article": article(f"<section>{RELATED}</section>"),
    "a heading": plain(f"<section><h2>From the harbor</h2>{RELATED}</section>"),
    "a class": plain(f'<section><div class="box-title">From the harbor</div>{RELATED}</section>'),
    "words": plain(f"<section><div>You may also like</div>{RELATED}</section>"),
    "a name": plain(f'<section class="related">{RELATED}</section>'),
}


@pytest.mark.parametrize("page", BESIDE.values(), ids=BESIDE)
def test_related_pages_below_an_article_are_left_out(page: str) -> None:
    text = main_text_of(page, "The ferry")
    assert sentences(7, 150)[-1] in text
    assert not any(teaser(3, number) in text for number in range(4))


def test_products_below_a_heading_such_as_customers_also_bought_are_left_out() -> None:
    cards = "".join(
        f'<li class="card"><h3><a href="/{number}">{title(4, number)}</a></h3></li>'
        for number in range(20)
    )
    page = '<div class="p"><h1>Lamp</h1>{}<section><h2>{}</h2><ul>{}</ul></section></div>'
    related = main_text_of(page.format(DESCRIPTION, "Customers also bought", cards), "Lamp")
    listed = main_text_of(page.format(DESCRIPTION, "In this set", cards), "Lamp")
    assert title(4, 3) not in related
    assert title(4, 3) in listed


def test_a_menu_next_to_a_text_is_not_a_listing() -> None:
    menu = "".join(f'<li><a href="/{number}">{title(5, number)}</a></li>' for number in range(6))
    assert title(5, 2) not in main_text_of(plain(f'<ul class="side">{menu}</ul>'), "The ferry")


def hugo(number: int) -> str:
    return (
        f'<li class="post-item"><a href="/p/{number}/"><h3>{title(6, number)}</h3></a>'
        f'<p class="summary">{teaser(6, number)}</p></li>'
    )


def test_a_list_several_times_as_long_as_the_article_above_it_is_content() -> None:
    short = (
        f'<article><h1>News</h1><div class="content">{paragraphs(sentences(7, 60))}</div></article>'
    )
    below = "".join(map(hugo, range(10)))
    assert teaser(6, 9) in main_text_of(f'<main>{short}<ul class="posts">{below}</ul></main>')
    long = short.replace("</div>", f"{paragraphs(sentences(8, 400))}</div>")
    assert teaser(6, 9) not in main_text_of(f'<main>{long}<ul class="posts">{below}</ul></main>')


def test_a_list_several_times_as_long_as_the_text_is_content_without_a_headline() -> None:
    text = f'<div class="taxonomy-term">{paragraphs(sentences(7, 60))}</div>'
    rows = "".join(
        f'<div class="views-row">{twenty_seventeen(7, number, "/node/{}")}</div>'
        for number in range(10)
    )
    assert teaser(7, 9) in main_text_of(f"<main>{text}<div>{rows}</div></main>", "Harbor")


@pytest.mark.parametrize("levels", [500, 5000])
def test_nested_lists_take_linear_time(levels: int) -> None:
    parts = "".join(
        f"<p><a href=/{number}>A lantern {number} hangs</a> above the quay, as it did.</p>"
        for number in range(4)
    )
    html = f"<h1>Lists</h1>{f'<div>{parts}' * levels}"
    start = time.process_time()
    main_text_of(html)
    assert time.process_time() - start < 0.002 * levels + 1
