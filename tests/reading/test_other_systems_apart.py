"""Pairs of pages as other systems write them: contents that differ in little, and equal ones that
are written in two ways.

Each pair is of a kind that was once taken for copies, or for none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, TextResponse

from crawldedup import Deduplicator
from crawldedup.crawling.options import CrawlOptions
from crawldedup.scrapy_plugin.responses import page_of
from tests.reading.prose import document, paragraphs, sentences

FIRST, SECOND = "https://one.example/a/first", "https://two.example/b/second"
SITE = paragraphs(sentences(7, 150))


@dataclass(frozen=True)
class Contents:
    """Contents of a system that differ: one for each number, at an address that has it.

    On other sites nothing but the text tells them apart. Pages of one list stand on one site.
    """

    kind: str
    system: str
    body: Callable[[int], str]
    address: str = "https://site-{number}.example/page"


@dataclass(frozen=True)
class Spellings:
    """One text of a system, `plain` and as it `marked` it up; both stand in the same `body`."""

    kind: str
    system: str
    body: str
    plain: str
    marked: str

    def page(self, text: str) -> str:
        return document(self.body.replace("{text}", text))


def name_of(row: Contents | Spellings) -> str:
    return f"{row.system}: {row.kind}"


# Pages of a picture and a word or two.


def shopify_picture(number: int) -> str:
    picture = f"//cdn.shopify.com/s/files/1/0042/files/lamp-{number}"
    return f"""<div id="shopify-section-hero" class="shopify-section index-section"><h1 class="mega-title">Lamp</h1><div class="hero hero--large box ratio-container lazyload js" data-sizes="auto"
 data-bgset="{picture}_180x.jpg?v=15 180w 101h, {picture}_360x.jpg?v=15 360w 203h" style="background-position: center center; background-image: url('/blank.gif');"></div></div>"""


def wordpress_cover(number: int) -> str:
    return f"""<main class="wp-block-group" id="wp--skip-link--target"><h1 class="wp-block-post-title">Lamp</h1>
<div class="entry-content wp-block-post-content"><div class="wp-block-cover has-parallax is-light"><span aria-hidden="true" class="wp-block-cover__background has-background-dim"></span>
<div role="img" class="wp-block-cover__image-background has-parallax" style="background-position:50% 50%;background-image:url(/wp-content/uploads/lamp-{number}.jpg)"></div></div></div></main>"""


# Signs in a row that are no letters.


def discourse_board(number: int) -> str:
    board = "⬛" * 36 + ("⬜⬛⬜", "⬜⬜⬛", "⬛⬜⬜")[number]
    return f"""<div id="topic-title"><h1>Board</h1></div><div itemprop="comment" class="topic-body crawler-post"><div class="post" itemprop="text">
<pre data-code-wrap="text"><code class="lang-text">{board}</code></pre></div></div>"""


def phpbb_cards(number: int) -> str:
    hand = "".join(chr(0x1F0A1 + place) for place in range(13)) * 3 + "🂡🂢🂣"[number]
    return f"""<h2 class="topic-title"><a href="./viewtopic.php?t=3">Board</a></h2><div id="p7" class="post has-profile bg2"><div class="inner"><div class="postbody"><div id="post_content7">
<div class="content">{hand}</div></div></div></div></div>"""


# Pages of a shop's category, and the text about the category on each of them.


def name_of_product(seed: int) -> str:
    return " ".join(sentences(seed, 1)[0].split()[:4])


def woocommerce_category(number: int) -> str:
    cards = []
    for place in range(24):
        seed = 100 * number + place
        name = name_of_product(seed)
        cards.append(
            f"""<li class="product type-product post-{seed} status-publish instock"><a href="/product/{seed}/" class="woocommerce-LoopProduct-link woocommerce-loop-product__link">
<h2 class="woocommerce-loop-product__title">{name}</h2><span class="price"><span class="woocommerce-Price-amount amount"><bdi><span class="woocommerce-Price-currencySymbol">€</span>{seed}.90</bdi></span></span></a></li>"""
        )
    return f"""<main id="main" class="site-main"><header class="woocommerce-products-header"><h1 class="woocommerce-products-header__title page-title">Shoes</h1>
<div class="term-description">{SITE}</div></header><ul class="products columns-4">{"".join(cards)}</ul></main>"""


def magento_category(number: int) -> str:
    cards = []
    for place in range(24):
        seed = 100 * number + place
        name = name_of_product(seed)
        cards.append(
            f"""<li class="item product product-item"><div class="product-item-info" data-container="product-grid"><div class="product details product-item-details">
<strong class="product name product-item-name"><a class="product-item-link" href="/{seed}.html">{name}</a></strong>
<div class="price-box price-final_price"><span class="price-wrapper"><span class="price">${seed}.00</span></span></div></div></div></li>"""
        )
    return f"""<main id="maincontent" class="page-main"><div class="page-title-wrapper"><h1 class="page-title" id="page-title-heading"><span class="base">Shoes</span></h1></div>
<div class="category-view"><div class="category-description">{SITE}</div></div>
<div class="columns"><div class="column main"><div class="products wrapper grid products-grid"><ol class="products list items product-items">{"".join(cards)}</ol></div></div></div></main>"""


# Few words in many orders.


def mediawiki_results(number: int) -> str:
    chooser = random.Random(number)
    rows = []
    for _ in range(20):
        cells = [f"<td>{chooser.choice('WDL')}</td>" for _ in range(15)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"""<div id="content" class="mw-body"><h1 id="firstHeading" class="firstHeading"><span class="mw-page-title-main">Season</span></h1>
<div id="mw-content-text" class="mw-body-content"><div class="mw-parser-output"><table class="wikitable plainrowheaders"><tbody>{"".join(rows)}</tbody></table></div></div></div>"""


def wordpress_chords(number: int) -> str:
    chooser = random.Random(number)
    bars = [" ".join(chooser.choices(["C", "G", "Am", "F"], k=8)) for _ in range(40)]
    lines = "\n".join(bars)
    return f"""<main id="primary" class="site-main"><article id="post-5" class="post-5 post type-post hentry category-songs"><header class="entry-header"><h1 class="entry-title">Song</h1></header>
<div class="entry-content"><pre class="wp-block-preformatted">{lines}</pre></div></article></main>"""


CONTENTS = [
    Contents("one picture, loaded late", "Shopify", shopify_picture),
    Contents("one picture, in the background", "WordPress", wordpress_cover),
    Contents("signs in a row", "Discourse", discourse_board),
    Contents("signs in a row", "phpBB", phpbb_cards),
    Contents(
        "a list under one text",
        "WooCommerce",
        woocommerce_category,
        "https://shop.example/product-category/shoes/page/{number}/",
    ),
    Contents(
        "a list under one text",
        "Magento",
        magento_category,
        "https://shop.example/shoes.html?p={number}",
    ),
    Contents("few words in many orders", "MediaWiki", mediawiki_results),
    Contents("few words in many orders", "WordPress", wordpress_chords),
]


@pytest.mark.parametrize("row", CONTENTS, ids=name_of)
def test_contents_are_kept_apart(row: Contents) -> None:
    with Deduplicator() as dedup:
        for number in range(3):
            url = row.address.format(number=number)
            page = document(row.body(number))
            assert not dedup.check(url, html=page).is_duplicate


@pytest.mark.parametrize("row", CONTENTS, ids=name_of)
def test_a_content_is_a_copy_of_itself(row: Contents) -> None:
    with Deduplicator() as dedup:
        dedup.check(FIRST, html=document(row.body(1)))
        assert dedup.check(SECOND, html=document(row.body(1))).is_duplicate


PROSE = " ".join(sentences(3, 60))
JAPANESE = (
    "灯台は港の入り口に立っています。毎晩七時に明かりがともり、漁師たちは安心して帰ります。"
    "古い地図と写真の展示も見られます。"
)
RUBY = {
    "灯台": "とうだい",
    "港": "みなと",
    "漁師": "りょうし",
    "地図": "ちず",
    "写真": "しゃしん",
}


def with_signs(text: str, sign: str) -> str:
    """Put a sign that nobody sees into every fourth word."""
    words = text.split()
    for place in range(0, len(words), 4):
        words[place] = f"{words[place][:2]}{sign}{words[place][2:]}"
    return " ".join(words)


def with_ruby(text: str, ruby: str) -> str:
    """Write the reading of each word of `RUBY` over it, as `ruby` marks it up."""
    for word, reading in RUBY.items():
        marked = ruby.replace("{word}", word).replace("{reading}", reading)
        text = text.replace(word, marked)
    return text


SPELLINGS = [
    Spellings(
        "signs that nobody sees",
        "Docusaurus",
        """<main class="docMainContainer_TBSr"><article><div class="theme-doc-markdown markdown"><header><h1>Tides</h1></header>
<h2 class="anchor anchorWithStickyNavbar_LWe7" id="a">Lamps<a href="#a" class="hash-link" aria-label="Direct link to Lamps">&#8203;</a></h2><p>{text}</p></div></article></main>""",
        PROSE,
        with_signs(PROSE, "\u200b"),
    ),
    Spellings(
        "signs that nobody sees",
        "MediaWiki",
        """<div id="content" class="mw-body"><h1 id="firstHeading" class="firstHeading">Tides</h1><div class="mw-content-ltr mw-parser-output"><p>{text}</p></div></div>""",
        PROSE,
        with_signs(PROSE, "&#8288;&lrm;"),
    ),
    Spellings(
        "readings of words",
        "MediaWiki",
        """<div id="content" class="mw-body"><h1 id="firstHeading" class="firstHeading">灯台</h1><div class="mw-parser-output"><p>{text}</p></div></div>""",
        JAPANESE,
        with_ruby(
            JAPANESE,
            '<span class="template-ruby"><ruby lang="ja"><rb>{word}</rb><rp>（</rp><rt>{reading}</rt><rp>）</rp></ruby></span>',
        ),
    ),
    Spellings(
        "readings of words",
        "Hugo",
        """<main class="main"><article class="post-single"><header class="post-header"><h1 class="post-title">灯台</h1></header><div class="post-content"><p>{text}</p></div></article></main>""",
        JAPANESE,
        with_ruby(
            JAPANESE,
            '<ruby class="furigana">{word}<rp>(</rp><rt><span class="yomi">{reading}</span></rt><rp>)</rp></ruby>',
        ),
    ),
]


@pytest.mark.parametrize("row", SPELLINGS, ids=name_of)
def test_what_nobody_reads_makes_no_other_text(row: Spellings) -> None:
    with Deduplicator() as dedup:
        dedup.check(FIRST, html=row.page(row.plain))
        assert dedup.check(SECOND, html=row.page(row.marked)).kind == "exact_duplicate"


KOREAN = "등대지기는 매일 저녁 일곱 시에 불을 밝히고 항구로 돌아오는 배의 수를 장부에 적는다 "
RUSSIAN = (
    "Смотритель маяка каждый вечер зажигает огонь и записывает в журнал лодки которые приходят "
)
VBULLETIN = """<html dir="ltr"><head><meta http-equiv="Content-Type" content="text/html; charset={label}"><meta name="generator" content="vBulletin 3.8.4"><title>x</title></head>
<body><div class="page"><table id="post9" class="tborder"><tr><td class="alt1" id="td_post_9"><div id="post_message_9">{text}</div></td></tr></table></div></body></html>"""
PHPBB = """<html dir="ltr"><head><meta http-equiv="Content-Style-Type" content="text/css"><meta http-equiv="Content-Type" content="text/html; charset={label}"><title>x</title></head>
<body><table class="forumline"><tr><td class="row1"><span class="postbody">{text}</span></td></tr></table></body></html>"""


@pytest.mark.parametrize(
    ("template", "text", "label", "codec"),
    [
        pytest.param(VBULLETIN, KOREAN, "ks_c_5601-1989", "cp949", id="vBulletin"),
        pytest.param(PHPBB, RUSSIAN, "x-cp1251", "cp1251", id="phpBB"),
    ],
)
def test_labels_of_browsers_name_the_letters_of_a_forum(
    template: str, text: str, label: str, codec: str
) -> None:
    unicode, other = (
        template.replace("{text}", text * 2).replace("{label}", name) for name in ("utf-8", label)
    )
    with Deduplicator() as dedup:
        dedup.check(FIRST, html=unicode.encode())
        assert dedup.check(SECOND, html=other.encode(codec)).kind == "exact_duplicate"


HEAD = "".join(
    f'<script src="/js/part-{number}.js" defer></script>'
    f'<link rel="stylesheet" href="/css/part-{number}.css" media="screen and (min-width: {number}px)">'
    for number in range(400)
)
HUGO = """<header class="header"><nav class="nav"><ul id="menu"></ul></nav></header><main class="main"><article class="post-single"><h1 class="post-title">Story</h1><div class="post-content">{own}</div></article></main>"""
SPHINX = """<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main"><section id="story"><h1>Story<a class="headerlink" href="#story">¶</a></h1>{own}</section></div></div></div></div>"""


@pytest.mark.parametrize(
    "template", [pytest.param(HUGO, id="Hugo"), pytest.param(SPHINX, id="Sphinx")]
)
def test_html_that_a_bucket_sends_as_text_is_compared_by_its_text(template: str) -> None:
    options = CrawlOptions(action="drop")
    with Deduplicator() as dedup:
        for number in range(3):
            url = f"https://site-{number}.example/page"
            own = paragraphs(sentences(100 * number, 150))
            body = document(template.replace("{own}", own), HEAD).encode()
            headers = {"Content-Type": "text/plain; charset=utf-8"}
            as_text = page_of(Request(url), TextResponse(url, body=body, headers=headers), options)
            [verdict] = dedup.check_many([as_text])
            assert not verdict.is_duplicate
            # It is the page that others are given as HTML.
            again = f"https://again-{number}.example/"
            as_html = page_of(Request(again), HtmlResponse(again, body=body), options)
            [verdict] = dedup.check_many([as_html])
            assert verdict.kind == "exact_duplicate"


@pytest.mark.parametrize(
    ("hosts", "body"),
    [
        pytest.param(
            ("bücher-kai.example", "xn--bcher-kai-q9a.example"),
            """<main class="gh-main"><article class="gh-article post"><header class="gh-article-header gh-canvas"><h1 class="gh-article-title">Story</h1></header><section class="gh-content gh-canvas">{own}</section></article></main>""",
            id="Ghost",
        ),
        pytest.param(
            ("маяк.рф", "xn--80aue1f.xn--p1ai"),
            """<div id="primary" class="content-area"><main id="main"><article id="post-1" class="post-1 post type-post hentry"><h1 class="entry-title">Story</h1><div class="entry-content">{own}</div></article></main></div>""",
            id="WordPress",
        ),
    ],
)
def test_a_host_is_one_site_in_both_spellings(hosts: tuple[str, str], body: str) -> None:
    page = document(body.replace("{own}", paragraphs(sentences(5, 120))))
    first, second = hosts
    with Deduplicator(scope="site") as dedup:
        dedup.check(f"https://{first}/story/", html=page)
        assert dedup.check(f"https://{second}/amp-story/", html=page).is_duplicate
        assert not dedup.check("https://other.example/story/", html=page).is_duplicate
