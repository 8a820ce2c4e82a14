"""Pages with a short description: what introduces it, its features, and what a shop offers besides."""

from __future__ import annotations

import pytest

from tests.reading.prose import document, main_text_of, paragraphs, sentences

NAME = "The long lantern of the harbor"
DESCRIPTION = sentences(7, 60)
FEATURES = [" ".join(sentences(30 + number, 1)) for number in range(4)]
PHONE, WIDE = ("<div class=phone>", "<div class=wide>")


def panels(texts: list[str]) -> str:
    return "".join(
        f"<div class=Collapsible><h3>Part {number}</h3><div>{text}</div></div>"
        for number, text in enumerate(texts)
    )


def shop(*parts: str) -> str:
    return f"<main><div class=top><h1>{NAME}</h1></div>{''.join(parts)}</main>"


def cards(number: int) -> str:
    return "".join(
        f"<li><a href=/p/{number}{each}>{' '.join(sentences(50 * number + each, 1)[0].split()[:4])}"
        f"</a><span>{each}9.90</span></li>"
        for each in range(6)
    )


def test_sections_that_open_with_a_click_are_read_next_to_a_short_description() -> None:
    about = f"<div class=about>{paragraphs(DESCRIPTION)}</div>"
    page = shop(f"<section>{about}{panels(FEATURES * 2)}</section>")
    assert [text for text in FEATURES if text not in main_text_of(page)] == []


def test_sections_before_the_headline_are_not() -> None:
    page = f"<section>{panels(FEATURES * 2)}</section><div><h1>{NAME}</h1>{paragraphs(DESCRIPTION)}</div>"
    assert [text for text in FEATURES if text in main_text_of(page, NAME)] == []


@pytest.mark.parametrize("tag", ["p", "div"])
def test_what_introduces_a_short_text_is_read(tag: str) -> None:
    lead = " ".join(sentences(90, 1))
    text = f"<div><div class=text>{paragraphs(DESCRIPTION)}</div></div>"
    assert lead in main_text_of(shop(f"<{tag} class=lead>{lead}</{tag}>", text), NAME)


def test_a_teaser_between_the_headline_and_the_text_is_not() -> None:
    lead = " ".join(sentences(90, 1))
    teaser = (
        f"<section><h2><a href=/other>Another page of this site</a></h2><p>{lead}</p></section>"
    )
    text = f"<div><div class=text>{paragraphs(DESCRIPTION)}</div></div>"
    assert lead not in main_text_of(shop(teaser, text), NAME)


@pytest.mark.parametrize(
    "heading", ["<h2>{}</h2>", "<div><h2>{}</h2></div>", "<p class=title>{}</p>"]
)
def test_other_products_are_not_read(heading: str) -> None:
    texts = []
    for number in (1, 2):
        title = heading.format("You may also like")
        offered = f"<div class=others>{title}<ul>{cards(number)}</ul></div>"
        texts.append(main_text_of(shop(f"<div>{paragraphs(DESCRIPTION)}</div>", offered)))
    assert texts[0] == texts[1]
    assert DESCRIPTION[0] in texts[0]


def test_a_page_that_only_lists_other_products_is_read() -> None:
    offered = f"<div class=others><h2>You may also like</h2><ul>{cards(1)}</ul></div>"
    assert "19.90" in main_text_of(shop(offered))


def test_the_same_text_for_phones_and_for_wide_screens_is_read_once() -> None:
    text = paragraphs(DESCRIPTION)
    page = shop(f"{PHONE}{text}</div>", f"{WIDE}{text}</div>")
    assert main_text_of(page).split("\n")[1:] == DESCRIPTION


@pytest.mark.parametrize("between", ["", "<p>Or in Python:</p>"])
def test_the_steps_of_a_manual_with_code_are_read_for_each_language(between: str) -> None:
    text = paragraphs(DESCRIPTION)
    page = shop(f"<div>{text}<pre>make all</pre>{between}{text}<pre>python all</pre></div>")
    assert main_text_of(page).count(DESCRIPTION[0]) == 2


def test_a_line_that_recurs_alone_is_read_each_time() -> None:
    refrain, *rest = DESCRIPTION
    page = f"<div class=a>{paragraphs([refrain, rest[0], refrain, rest[1], refrain])}</div>"
    assert main_text_of(page).count(refrain) == 3


def test_the_license_next_to_an_article_is_not_part_of_it() -> None:
    license_note = " ".join(sentences(60, 3))
    article = f"<article><h1>{NAME}</h1>{paragraphs(sentences(9, 120))}</article>"
    assert license_note not in main_text_of(f"<main>{article}<p>{license_note}</p></main>", NAME)


def test_paragraphs_next_to_an_article_with_the_first_of_them_are() -> None:
    rest = sentences(60, 120)
    article = f"<article><h1>{NAME}</h1>{paragraphs(DESCRIPTION)}</article>"
    page = document(NAME, f"<main>{article}{paragraphs(rest)}</main>")
    assert rest[-1] in main_text_of(page, NAME)
