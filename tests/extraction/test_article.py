"""The article within a main text, and pages that have none and stay whole."""

from __future__ import annotations

import pytest

from crawldedup.extraction.article import article_of, may_be_article
from crawldedup.extraction.html_page import HtmlPage
from crawldedup.extraction.lxml_tree import parse
from crawldedup.extraction.visible import visible_text
from tests.extraction.sentences import NOTICE, SENTENCES, TEASER, paragraphs


def article(body: str) -> str:
    html = f"<html><head><title>A page</title></head><body>{body}</body></html>"
    text = visible_text(HtmlPage(html).tree).removeprefix("A page\n")
    return article_of(text, parse(html))


def whole(body: str) -> str:
    return visible_text(HtmlPage(body).tree)


BODY = paragraphs(*SENTENCES)


@pytest.mark.parametrize(
    "template",
    [
        "<div class=notice><p>{notice}</p></div><div class=text>{body}</div>",
        "<div>{notice}</div><section><div class=text>{body}</div><div class=more>{teaser}</div></section>",
        "<table><tr><td class=left>{teaser}</td><td class=text>{body}</td></tr></table>",
        "<header>{notice}</header><main>{body}</main><section>{teaser}</section>",
        "<article>{body}</article><ul><li><a href=/b>{teaser}</a></li><li><a href=/c><b>{teaser}</b></a></li></ul>",
        "<div class=text>{body}</div><div class=comments><p>{teaser}</p><p>{notice}</p></div>",
    ],
)
def test_prose_beside_the_article_is_left_out(template: str) -> None:
    assert article(template.format(body=BODY, notice=NOTICE, teaser=TEASER)).split("\n") == SENTENCES


@pytest.mark.parametrize("line_break", ["<br>", "<br><br>", "</div><div>", "</p><p>"])
def test_paragraphs_are_paragraphs_however_they_are_made(line_break: str) -> None:
    body = f"<div class=a><p>{NOTICE}</p></div><div class=b><div>{line_break.join(SENTENCES)}</div></div>"
    assert article(body).split("\n") == SENTENCES


def test_all_between_the_first_and_the_last_sentence_stays() -> None:
    inner = (
        f"<h1>Islands</h1><p>By boat</p><p>{SENTENCES[0]}</p><h2>Seals</h2><p>{SENTENCES[1]}</p><pre>seals = 7</pre>"
        f"<table><tr><th>Price</th><td>129.00</td></tr></table><p>{SENTENCES[2]}</p><ul><li>shop</li></ul>"
        f"<p>{SENTENCES[3]}</p><p>{SENTENCES[4]}</p><p>The end.</p>"
    )
    body = f"<div class=top><p>{NOTICE}</p></div><div class=text>{inner}</div><div class=more><p>{TEASER}</p></div>"
    kept = article(body)
    assert kept.split("\n") == whole(inner).split("\n")
    for short in ("By boat", "Seals", "seals = 7", "129.00", "shop", "The end."):
        assert short in kept


def section(number: int, texts: list[str], attributes: str = "") -> str:
    return f"<div {attributes}><h2>Section {number}</h2>{paragraphs(*texts)}</div>"


@pytest.mark.parametrize(
    "body",
    [
        section(1, SENTENCES) + section(2, [NOTICE, TEASER]),
        section(1, SENTENCES, "class=post") + section(2, [NOTICE, TEASER], "class=post"),
        paragraphs(NOTICE, TEASER) + section(1, SENTENCES, "class=section"),
        f"<div>{section(1, SENTENCES, 'class=part')}<dl><dt>Bridge<dd>{TEASER}<dt>Law<dd>{NOTICE}</dl></div>",
        f"{NOTICE} {TEASER}<div class=section>{BODY}</div>",
        f"<pre>{NOTICE} {TEASER}</pre><div class=section>{BODY}</div>",
        f"<ul><li>{NOTICE}</li><li>{TEASER}</li></ul><div class=section>{BODY}</div>",
    ],
    ids=["sections", "posts", "introduction", "terms", "bare text", "code", "list"],
)
def test_a_page_that_goes_on_in_the_same_voice_stays_whole(body: str) -> None:
    assert article(body) == whole(body)


def test_a_short_text_beside_the_article_in_its_voice_does_not_keep_the_template_in() -> None:
    body = f"<p>By our man on the pier</p><div class=text>{BODY}</div><div class=more><p>{TEASER}</p></div>"
    assert TEASER not in article(body)


@pytest.mark.parametrize(
    "body",
    [
        paragraphs("Out of stock", "Ask us"),
        f"<div class=a>{paragraphs(SENTENCES[0])}</div><div class=b>{paragraphs(NOTICE)}</div>",
        f"<div class=text>{BODY}</div><ul>" + "".join(f"<li>lamp {n}, 7.{n}</li>" for n in range(200)) + "</ul>",
        "<table>" + "".join(f"<tr><td>row {n}<td>{n * 7}</tr>" for n in range(100)) + "</table>",
        f"<main>{paragraphs(*['a line of a poem'] * 30)}</main><div>{paragraphs(NOTICE, *SENTENCES[:2])}</div>",
    ],
    ids=["nearly nothing", "little", "mostly a list", "a table", "a poem beside prose"],
)
def test_a_page_without_an_article_stays_whole(body: str) -> None:
    assert article(body) == whole(body)


CHINESE = "开往外岛的渡轮在黎明时分启航，等到雾气散去，港口已经看不见了。"
JAPANESE = "その橋を渡る列車は一日に一本だけで、夕方の五時に来る。駅には誰もいない。"
THAI = "เรือข้ามฟากไปเกาะรอบนอกออกเดินทางตอนรุ่งสาง และเมื่อหมอกจางลงก็มองไม่เห็นท่าเรือแล้ว"
ARABIC = "تغادر العبّارة إلى الجزر الخارجية عند الفجر، وحين ينقشع الضباب يكون الميناء قد غاب عن الأنظار."
HINDI = "बाहरी द्वीपों के लिए नाव भोर में निकलती है और जब तक कोहरा छँटता है तब तक बंदरगाह दिखना बंद हो जाता है।"


@pytest.mark.parametrize("sentence", [CHINESE, JAPANESE, THAI, ARABIC, HINDI])
def test_every_script_has_articles(sentence: str) -> None:
    texts = [f"{sentence}{number}" for number in range(12)]
    body = f"<div class=top><p>{NOTICE}</p></div><div class=text>{paragraphs(*texts)}</div>"
    assert article(body).split("\n") == texts


def test_a_main_text_that_is_not_in_the_tree_stays_whole() -> None:
    text = "\n".join(SENTENCES)
    assert article_of(text, parse("<p>something else</p>")) == text


def test_a_page_of_too_many_sentences_to_look_up_stays_whole() -> None:
    many = paragraphs(*(f"{sentence} {number}" for number in range(600) for sentence in SENTENCES))
    body = f"<div class=top><p>{NOTICE}</p></div><div class=text>{many}</div>"
    assert article(body) == whole(body)


def test_no_article_is_looked_for_in_a_text_too_short_for_one() -> None:
    assert not may_be_article(SENTENCES[0])
    assert may_be_article("\n".join(SENTENCES))
