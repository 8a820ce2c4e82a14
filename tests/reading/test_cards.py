"""Lists below or above a text that all lists of their site share, and lists beside an article."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crawldedup import Deduplicator
from tests.reading.prose import document, main_text_of, paragraphs, sentences

DESCRIPTION = paragraphs(sentences(7, 150))
LONG_DESCRIPTION = paragraphs(sentences(7, 500))


def name(seed: int) -> str:
    return " ".join(sentences(seed, 1)[0].split()[:5])


def shopify_grid(page: int) -> str:
    cards = [
        f"""<li class="grid__item"><div class="card-wrapper product-card-wrapper"><div class="card">
<h3 class="card__heading"><a href="/products/{page}-{number}" class="full-unstyled-link">{name(100 * page + number)}</a></h3>
<div class="price"><span class="price-item">Regular price {page}{number}.90</span></div></div></div></li>"""
        for number in range(16)
    ]
    return (
        f'<ul id="product-grid" class="grid product-grid grid--4-col-desktop">{"".join(cards)}</ul>'
    )


def drupal_view(page: int) -> str:
    rows = [
        f"""<div class="views-row"><span class="field-content"><a href="/node/{page}{number}">{name(100 * page + number)}</a></span></div>"""
        for number in range(20)
    ]
    return f'<div class="view view-jobs"><div class="view-content">{"".join(rows)}</div></div>'


def plain_headings(page: int) -> str:
    return "".join(
        f'<h2><a href="/{page}-{number}">{name(100 * page + number)}</a></h2>'
        for number in range(18)
    )


def adverts_in_a_table(page: int) -> str:
    rows = [
        f"""<tr><td><a href="/job/{page}{number}">{name(100 * page + number)}</a></td><td>Harbor</td><td>Day {number}</td></tr>"""
        for number in range(20)
    ]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


LISTS = [
    pytest.param(shopify_grid, id="Shopify"),
    pytest.param(drupal_view, id="Drupal"),
    pytest.param(plain_headings, id="headings"),
    pytest.param(adverts_in_a_table, id="a table"),
]
PLACES = [
    pytest.param("<main><h1>Shoes</h1><div class=text>{text}</div>{cards}</main>", id="below"),
    pytest.param("<main><h1>Shoes</h1>{cards}<div class=text>{text}</div></main>", id="above"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("cards", LISTS)
@pytest.mark.parametrize(
    "text", [pytest.param(DESCRIPTION, id="short"), pytest.param(LONG_DESCRIPTION, id="long")]
)
def test_two_lists_under_one_text_are_no_copies_on_two_sites(
    text: str, cards: Callable[[int], str], place: str
) -> None:
    with Deduplicator() as dedup:
        first, second = [
            document(place.format(text=text, cards=cards(number))) for number in (1, 2)
        ]
        dedup.check("https://one.example/shoes", html=first)
        assert not dedup.check("https://two.example/b/second?p=2", html=second).is_duplicate
        assert dedup.check("https://three.example/c", html=first).is_duplicate


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("cards", LISTS)
def test_a_list_is_compared_with_its_text(cards: Callable[[int], str], place: str) -> None:
    text = main_text_of(place.format(text=DESCRIPTION, cards=cards(1)))
    assert name(100) in text
    assert name(115) in text
    assert sentences(7, 150)[0] in text


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param("<ul>{few}</ul>", id="few"),
        pytest.param("<div class=side>{short}</div>", id="short as in a menu"),
        pytest.param("<nav><ul>{many}</ul></nav>", id="navigation"),
        pytest.param("<div class=related-posts><ul>{many}</ul></div>", id="related by name"),
    ],
)
def test_a_list_beside_an_article_is_left_out(beside: str) -> None:
    few, many = [
        "".join(f"<li><a href=/{number}>{name(number)}</a></li>" for number in range(count))
        for count in (5, 24)
    ]
    short = "".join(f"<a href=/{number}>{name(number)[:9]}</a><br>" for number in range(30))
    article = f"<article><h1>Shoes</h1>{DESCRIPTION}</article>"
    text = main_text_of(article + beside.format(few=few, many=many, short=short))
    assert text.split("\n")[-1] == sentences(7, 150)[-1]


def test_a_list_that_stands_away_from_the_headline_is_left_out() -> None:
    links = "".join(f"<li><a href=/{number}>{name(number)}</a></li>" for number in range(24))
    article = f"<div class=page><h1>Shoes</h1><div class=text>{DESCRIPTION}</div></div>"
    assert name(3) not in main_text_of(f"{article}<div class=column><ul>{links}</ul></div>")
