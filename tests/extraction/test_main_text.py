"""The main text of a page: articles in templates, pages that have none and stay whole, and hostile ones."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.demo.library import Article, all_articles
from crawldedup.extraction.main_text import main_text
from crawldedup.markup.blocks import blocks_of, parse
from tests.extraction.sentences import NOTICE, SENTENCES, TEASER, paragraphs

OTHER = [f"{word} years ago the council decided otherwise, and the minutes of {word} meetings say why." for word in
         ("Two", "Three", "Five", "Seven", "Nine", "Eleven", "Thirteen", "Twenty")]  # fmt: skip


def text_of(body: str, title: str = "A page") -> str:
    return main_text(blocks_of(parse(f"<html><head><title>{title}</title></head><body>{body}</body></html>")))


def whole(body: str) -> str:
    return "\n".join(line.text for line in blocks_of(parse(body)).lines)


BODY = paragraphs(*SENTENCES)
LINKS = (
    "<ul>"
    + "".join(f"<li><a href=/{number}>Something else of today, {number}</a></li>" for number in range(9))
    + "</ul>"
)


@pytest.mark.parametrize(
    "template",
    [
        "<div class=notice><p>{notice}</p></div><div class=text>{body}</div>",
        "<div>{notice}</div><section><div class=text>{body}</div><div class=more>{teaser}</div></section>",
        "<table><tr><td class=left>{teaser}</td><td class=text>{body}</td></tr></table>",
        "<header>{notice}</header><main>{body}</main><section>{teaser}</section>",
        "<article>{body}</article><ul><li><a href=/b>{teaser}</a></li><li><a href=/c><b>{teaser}</b></a></li></ul>",
        "<div class=text>{body}<div class=share-buttons><p>{notice}</p></div></div>",
        "<div class=text>{body}<p style='display: none'>{teaser}</p><p hidden>{notice}</p></div>",
        "<div class=text>{body}{links}</div>",
    ],
)
def test_what_is_beside_the_article_is_left_out(template: str) -> None:
    assert text_of(template.format(body=BODY, notice=NOTICE, teaser=TEASER, links=LINKS)).split("\n") == SENTENCES


COLUMNS = [
    f"<div class=rightcol>{BODY}</div>",
    f"<aside class=sidebar>{LINKS}{BODY}</aside>",
    f"<div class=about><p>{' '.join(SENTENCES)}</p></div>",
]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "content",
    [
        "<table><tr><td>9:15<td>Pellow<tr><td>9:45<td>Skerrow</table>",
        "<p>The office is closed.</p>",
        "<dl><dt>Colour<dd>red</dl>",
    ],
)
def test_a_column_of_prose_does_not_stand_for_the_page(column: str, content: str) -> None:
    page = f"<main><h1>A page</h1>{content}</main>{column}"
    assert text_of(page) == text_of(f"<main><h1>A page</h1>{content}</main>")


@pytest.mark.parametrize("line_break", ["<br>", "<br><br>", "</div><div>", "</p><p>"])
def test_paragraphs_are_paragraphs_however_they_are_made(line_break: str) -> None:
    body = f"<div class=a><p>{NOTICE}</p></div><div class=b><div>{line_break.join(SENTENCES)}</div></div>"
    assert text_of(body).split("\n") == SENTENCES


@pytest.mark.parametrize(
    "article", {article.language: article for article in all_articles()}.values(), ids=lambda article: article.language
)
def test_articles_of_every_language_leave_their_template(article: Article) -> None:
    texts = list(article.paragraphs)
    assert text_of(f"<div><p>{NOTICE}</p></div><div class=a>{paragraphs(*texts)}</div>").split("\n") == texts


def test_a_long_ticker_of_other_articles_is_no_match_for_the_headline() -> None:
    ticker = "".join(f"<li><h3>{text[:30]}</h3><p>{text}</p><p>{text}</p></li>" for text in OTHER)
    body = f"<ul class=ticker>{ticker}</ul><div><h1>By ferry to the islands</h1><div class=a>{BODY}</div></div>"
    assert text_of(body, "By ferry to the islands - The Paper").split("\n")[-5:] == SENTENCES
    assert OTHER[0] not in text_of(body, "By ferry to the islands - The Paper")


def test_a_longer_article_below_is_no_match_for_the_headline() -> None:
    below = f"<article><h2><a href=/x>You may also like this</a></h2>{paragraphs(*OTHER)}</article>"
    body = f"<article><h1>By ferry to the islands</h1>{BODY}</article><div>{below}</div>"
    assert text_of(body).split("\n")[1:] == SENTENCES


def test_a_name_that_would_cost_the_article_is_not_believed() -> None:
    assert (
        text_of(f"<div class=no-comments><div class=comments>{BODY}<h1>Title</h1></div></div><p>{TEASER}</p>")[-5:]
        == "Title"
    )
    assert SENTENCES[0] in text_of(f"<div class='post-content social'>{BODY}</div><p>{TEASER}</p>")


@pytest.mark.parametrize(
    "page",
    [
        "".join(f"<div class=post><b>Ann</b><p>{text}</p></div>" for text in SENTENCES),
        "".join(f"<section><h2>{text[:20]}</h2><p>{text}</p><pre>ferry --{text[:5]}</pre></section>" for text in OTHER),
        f"<h2>Name</h2><p>ferry</p><pre>int ferry(int islands)</pre><div class=docs>{BODY}</div>",
        f"<div><h1>Contents</h1><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p><p>{SENTENCES[2]}</p>{LINKS}{LINKS}</div>",
        "<table>" + "".join(f"<tr><td><a href=/{n}>f{n}</a></td><td>{n}</td></tr>" for n in range(20)) + "</table>",
        f"<p>A lamp.</p>{LINKS}<p>12.90</p>",
        f"<div class=section>{BODY}<div class=sidebar><p>{TEASER}</p></div></div>",
        " ".join(SENTENCES),
        f"<pre>{SENTENCES[0]}</pre>",
    ],
    ids=["forum", "manual", "signature", "contents", "table", "listing", "box", "bare", "pre"],
)
def test_pages_that_are_no_article_stay_whole(page: str) -> None:
    assert text_of(page) == whole(page)


def test_a_footer_is_not_taken_for_the_text_of_a_page_without_prose() -> None:
    page = f"<h1>The concurrent package</h1><p>One module:</p>{LINKS[:60]}</ul><div class=footer>{BODY[:400]}</div>"
    assert "ferry" not in text_of(page)


tag = st.sampled_from(["div", "p", "li", "ul", "td", "table", "span", "a", "article", "nav", "h1", "h2", "pre"])
attribute = st.sampled_from(["", " class=share", " class=article-body", " hidden", " id=sidebar", " class='a b'"])
piece = st.one_of(
    st.builds("<{}{}>".format, tag, attribute),
    st.builds("</{}>".format, tag),
    st.sampled_from([*SENTENCES, NOTICE, "short", "長い文章です。" * 9, "\u0000", "&amp;", "<!--", "-->"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(piece, max_size=60))
def test_every_page_gives_lines_of_its_own_in_order(pieces: list[str]) -> None:
    blocks = blocks_of(parse("".join(pieces)))
    lines = iter(line.text for line in blocks.lines)
    assert all(line in lines for line in main_text(blocks).split("\n") if line)


def huge(kind: str) -> str:
    sentence = SENTENCES[0]
    return {
        "lines": f"<p>{sentence}</p>" * 50_000,
        "nested": f"{'<div class=a>' * 250}{sentence}{'</div>' * 250}" * 400,
        "table": f"<table>{'<tr><td>a long cell, it is<td>x<td>y' * 50_000}</table>",
        "headings": f"<title>{sentence * 20_000}</title>" + f"<h2>{sentence}</h2>" * 30_000,
        "classes": "".join(f"<div class='{'article-' + '-_' * 2000}{n}'><p>{sentence}</p></div>" for n in range(1000)),
        "levels": f"<div>{'<p>' + sentence + '</p>'}" * 240,
        "frameset": "<frameset><frame src=a></frameset>",
        "empty": "",
    }[kind]


@pytest.mark.parametrize("kind", ["lines", "nested", "table", "headings", "classes", "levels", "frameset", "empty"])
def test_huge_pages_are_read(kind: str) -> None:
    # With a rule of quadratic time, one of them takes minutes.
    blocks = blocks_of(parse(huge(kind)))
    assert bool(main_text(blocks)) == bool(blocks.lines)


def test_other_hash_seeds_give_the_same_text() -> None:
    page = f"<h1>One</h1><div class='share a'>{BODY}</div><div class='post-content b'>{BODY}{LINKS}</div>"
    code = f"import tests.extraction.test_main_text as test; print(test.text_of({page!r}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert texts == {text_of(page) + "\n"}
