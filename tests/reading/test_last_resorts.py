"""What is shown only where something else fails: the content where there is no other."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import pytest

from crawldedup.errors import PageError
from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.extract import LITTLE_WORDS, PageText, extract_page, get_extractor
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.last_resorts import may_outweigh
from crawldedup.reading.reader import PageReader

STORY = " ".join(
    f"The lantern {number} hangs above the quay, and nobody minds." for number in range(15)
)
SHARED = (
    "Here the harbour office keeps what was handed in. Ask at the desk, or ring the bell twice."
)
LONG = " ".join(
    f"Ferry {number} leaves at dawn, and the gulls go along with it." for number in range(30)
)


def read(body: str, extractor: str = "blocks") -> PageText:
    html = f"<html><head><title>Site</title></head><body>{body}</body></html>"
    return extract_page(html, None, get_extractor(extractor), min_words=20)


def framed(html: str) -> str:
    return f'<iframe srcdoc="{escape(html)}"></iframe>'


RESORTS: dict[str, Callable[[str], str]] = {
    "noscript": lambda text: f"<noscript><p>{text}</p></noscript>",
    "noscript of a forum": lambda text: (
        "<noscript data-path=/t/1><header><a href=/>Forum</a></header>"
        f"<div id=main-outlet><h1>Topic</h1><p>{text}</p></div></noscript>"
    ),
    "noscript beside a request": lambda text: (
        "<noscript>Please enable JavaScript.</noscript>"
        f"<noscript><p>{text}</p></noscript><script src=/app.js></script>"
    ),
    "srcdoc": lambda text: framed(f"<p>{text}</p>"),
    "mail": lambda text: framed(
        "<html><head><title>Mail</title><style>p {color: red}</style></head>"
        f"<body><table><tr><td>{text}</td></tr></table></body></html>"
    ),
    "mail in a frame in a frame": lambda text: framed(framed(f"<p>{text}</p>")),
    "source of a wiki": lambda text: f"<textarea readonly id=wpTextbox1>{text}</textarea>",
    "paste": lambda text: f"<textarea class=code>&lt;b&gt; {text}</textarea>",
    "object": lambda text: f"<object data=a.swf><div>{text}</div></object>",
    "PDF": lambda text: (
        f"<object type=application/pdf data=a.pdf><embed src=a.pdf><p>{text}</p></object>"
    ),
    "object in an object": lambda text: (
        f"<object classid=x><param name=movie value=a.swf><object data=a.swf><p>{text}</p>"
        "</object></object>"
    ),
    "frame of old": lambda text: f"<noembed><p>{text}</p></noembed>",
    "canvas": lambda text: f"<canvas id=chart><table><tr><td>{text}</td></tr></table></canvas>",
    "canvas that is not closed": lambda text: f"<canvas/><p>{text}</p>",
    "map that is not closed": lambda text: f"<map name=m><area href=/a><p>{text}</p>",
    "film": lambda text: f"<video src=a.mp4><p>{text}</p></video>",
    "transcript": lambda text: f"<audio><source src=a.mp3><p>{text}</p></audio>",
    "frame that is not closed": lambda text: f"<iframe src=/ad /><p>{text}</p>",
}


@pytest.mark.parametrize("extractor", ["blocks", "trafilatura"])
@pytest.mark.parametrize("resort", RESORTS.values(), ids=RESORTS)
def test_a_last_resort_is_the_text_where_there_is_little_else(
    resort: Callable[[str], str], extractor: str
) -> None:
    alone = read(resort(STORY), extractor)
    assert STORY in alone.main
    assert alone.whole is None
    beside = read(f"<h1>Page</h1><p>{SHARED}</p>{resort(STORY)}", extractor)
    assert SHARED in beside.main
    assert STORY in beside.main


@pytest.mark.parametrize("resort", RESORTS.values(), ids=RESORTS)
def test_a_last_resort_is_left_out_where_there_is_more_than_it_has(
    resort: Callable[[str], str],
) -> None:
    assert SHARED not in read(f"<h1>Ferries</h1><p>{LONG}</p>{resort(SHARED)}").main


@pytest.mark.parametrize("resort", RESORTS.values(), ids=RESORTS)
def test_short_pages_differ_in_their_last_resorts(resort: Callable[[str], str]) -> None:
    one, other = (read(f"<h1>Page</h1>{resort(text)}") for text in ("a red boat", "a green boat"))
    assert one.whole != other.whole
    assert one.core != other.core


def test_what_stands_too_deep_to_be_read_still_makes_two_pages() -> None:
    one, other = (f"<p>{text}</p>" for text in ("a red boat", "a green boat"))
    for _ in range(6):
        one, other = framed(one), framed(other)
    assert read(f"<h1>Mail</h1>{one}").whole != read(f"<h1>Mail</h1>{other}").whole


def test_documents_without_frames_are_read() -> None:
    html = f"<frameset><frame src=a><noframes><body><p>{STORY}</p></body></noframes></frameset>"
    assert STORY in extract_page(html, None, get_extractor("blocks"), min_words=20).main


@pytest.mark.parametrize("tag", ["noembed", "noframes"])
def test_the_markup_of_raw_text_is_not_shown(tag: str) -> None:
    raw = f"<{tag}><p class=old>{SHARED}</p></{tag}>"
    assert read(f"<p>{LONG}</p>{raw}").main == read(f"<p>{LONG}</p>").main
    alone = read(raw).main
    assert SHARED in alone
    assert "<p" not in alone


@pytest.mark.parametrize(
    "raw", ["<noframes><p>{}</p></noframes>", "<textarea>{}</textarea>"], ids=["frames", "field"]
)
def test_a_last_resort_in_another_one_is_read_once(raw: str) -> None:
    assert read(f"<object data=a>{raw.format(STORY)}</object>").main.count(STORY) == 1


EXCUSES = [
    "<noscript>You need to enable JavaScript to run this app.</noscript>",
    "<noscript><div><h2>JavaScript is disabled.</h2><p>Please <b>enable JavaScript</b> in your "
    "browser, and reload. Here is <a href=/how>how to do that</a>.</p></div></noscript>",
    "<noscript><p>Bitte aktivieren Sie JavaScript.</p><p>Activez JavaScript.</p></noscript>",
    "<canvas>Your browser does not support the canvas element.</canvas>",
    "<video>To view this video please enable JavaScript, and consider upgrading to a web browser "
    "that supports HTML5 video</video>" * 5,
    "<noscript><img height=1 width=1 style='display:none' "
    "src='https://www.facebook.com/tr?id=1&ev=PageView&noscript=1'></noscript>",
]


@pytest.mark.parametrize("excuse", EXCUSES)
def test_a_request_to_enable_scripts_is_no_text(excuse: str) -> None:
    assert read(f"<h1>Page</h1>{excuse}").main == "Page"


def test_a_page_with_nothing_but_a_request_is_empty() -> None:
    html = f"<html><body>{EXCUSES[0]}</body></html>"
    with pytest.raises(PageError, match="nothing to see"):
        extract_page(html, None, get_extractor("blocks"), min_words=20)


def test_the_shell_of_an_application_stays_one_beside_a_request() -> None:
    html = (
        "<html><head><title>Shop</title></head><body>"
        f"{EXCUSES[0]}<div id=root></div><script src=/app.js></script></body></html>"
    )
    with pytest.raises(PageError) as refused:
        PageReader(Options()).content(Page("https://shop.example/one", html=html))
    assert refused.value.reason == "shell"


@pytest.mark.parametrize(
    "body",
    [
        "<canvas>" + "<i>x</i>" * 60_000,
        "<canvas>x" * 10_000,
        "<noscript><img src=/a.jpg></noscript>" * 50_000,
        "<textarea>x</textarea>" * 50_000,
        framed("<b id=1><p>" * 60_000),
        framed("<i>x</i>" * 60_000),
    ],
    ids=["canvas", "canvases", "noscripts", "fields", "open in a frame", "frame"],
)
def test_of_hostile_last_resorts_a_part_is_read(body: str) -> None:
    try:
        text = read(f"{body}</canvas>{SHARED}")
    except PageError as error:
        assert error.reason in {"too_deep", "too_large"}  # noqa: PT017
        return
    other = read(f"{body}<i>y</i></canvas>{SHARED}")
    assert len(text.main) < 200_000
    assert text.whole is None or text.whole != other.whole


MANY = " ".join(
    f"Ferry {number} carries bells to the island, and takes the empty crates along."
    for number in range(90)
)
HIDDEN: dict[str, Callable[[str], str]] = {
    "noscript": lambda text: f"<noscript id=flarum-content><p>{text}</p></noscript>",
    "textarea": lambda text: f"<textarea readonly id=source>{text}</textarea>",
    "template": lambda text: f"<template id=post><p>{text}</p></template>",
    "shadow": lambda text: (
        f'<x-post><template shadowrootmode="open"><p>{text}</p></template></x-post>'
    ),
    "srcdoc": lambda text: framed(f"<p>{text}</p>"),
}


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_a_last_resort_several_times_as_long_as_the_text_is_content(
    hidden: Callable[[str], str],
) -> None:
    beside = f"<h1>Page</h1><p>{LONG}</p>"
    assert count_words(LONG) > LITTLE_WORDS
    text = read(beside + hidden(MANY)).main
    assert MANY in text
    assert LONG in text
    assert STORY not in read(beside + hidden(STORY)).main


def test_a_template_on_a_short_page_only_counts_if_it_is_most_of_the_page() -> None:
    row = HIDDEN["template"](STORY)
    assert STORY not in read(f"<h1>Page</h1><p>{SHARED} {STORY[:400]}</p>{row}").main
    assert STORY in read(f"<h1>Page</h1><p>Loading.</p>{row}").main


@pytest.mark.parametrize(
    "nothing",
    [
        f"<noscript>Please enable JavaScript. {STORY[:200]}</noscript>" * 50,
        '<noscript><img src="https://count.example/pixel?page=1" height=1 width=1></noscript>' * 90,
        "<!-- <template>" + MANY + "</template> -->",
        "<script>var row = '<template>" + MANY + "</template>'</script>",
    ],
)
def test_excuses_pixels_comments_and_scripts_are_not_content(nothing: str) -> None:
    page = f"<h1>Page</h1><p>{LONG}</p>"
    assert read(page + nothing).main == read(page).main


@pytest.mark.parametrize("tag", ["noscript", "template", "canvas"])
def test_a_last_resort_that_is_left_out_is_among_the_omissions(tag: str) -> None:
    html = f"<html><body><h1>Page</h1><p>{LONG}</p><{tag}><p>{STORY}</p></{tag}></body></html>"
    reader, page = PageReader(Options()), Page("https://site.example/", html=html)
    (left,) = [each for each in reader.omissions(page, reader.content(page)) if tag in each.reason]
    assert (left.reason, left.words) == (f"in <{tag}>", count_words(STORY))
    html = html.replace(STORY, MANY)
    page = Page("https://site.example/", html=html)
    told = [each.reason for each in reader.omissions(page, reader.content(page))]
    assert f"in <{tag}>" not in told


def test_pictures_for_browsers_without_scripts_are_not_worth_reading() -> None:
    pictures = '<noscript><img src="/pictures/harbor.jpg" alt="The harbor"></noscript>' * 50
    page = HtmlPage(f"<body><p>The harbor was built of oak.</p>{pictures}")
    assert not may_outweigh(page, 300)
    words = "<noscript><p>" + "The harbor was built of oak. " * 50 + "</p></noscript>"
    assert may_outweigh(HtmlPage(f"<body>{pictures}{words}"), 300)
