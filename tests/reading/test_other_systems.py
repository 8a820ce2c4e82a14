"""Pages as other systems write them: all that they say is compared, and not what is beside it.

Each row holds a kind of markup that once cost pages their text, as another system writes it.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

import pytest

from crawldedup import Deduplicator
from crawldedup.reading.extract import extract_page, get_extractor
from tests.reading.prose import document, paragraphs, sentences

FIRST, SECOND = "https://one.example/a/first", "https://two.example/b/second"
PARTS_OF_ARTICLE = 4


@dataclass(frozen=True)
class Size:
    """How many words of a page are those of its site, and how many are its own."""

    site: int
    own: int


@dataclass(frozen=True)
class Row:
    """A page of a system: `{own}` is what it says, and `{site}` what all of the site say.

    `beside` is in the markup, and must not be compared.
    """

    kind: str
    system: str
    size: Size
    body: str
    beside: tuple[str, ...] = ()
    body_class: str = ""
    source: str = ""  # all of the page around its body, unless it is a usual one
    part: str = ""  # the markup of each of the `PARTS_OF_ARTICLE` that `{parts}` stands for

    def page(self, seed: int) -> str:
        said = sentences(seed, self.size.own)
        own = paragraphs(said)
        site = paragraphs(sentences(7, self.size.site))
        body = self.body.replace("{site}", site).replace("{own}", own)
        body = body.replace("{escaped}", html.escape(own))
        body = body.replace("{source}", "\n".join(said))
        body = body.replace("{parts}", self._parts(said))
        if self.source:
            return self.source.replace("{body}", body)
        return document(body, body_class=self.body_class)

    def _parts(self, said: list[str]) -> str:
        parts = []
        for number in range(PARTS_OF_ARTICLE):
            text = paragraphs(said[number::PARTS_OF_ARTICLE])
            parts.append(self.part.replace("{number}", str(number)).replace("{text}", text))
        return "".join(parts)


NAMES = [
    Row(
        "names that tags and categories lend to an article",
        "Ghost",
        Size(60, 200),
        """<div class="viewport"><header id="gh-head" class="gh-head outer"><nav class="gh-head-menu">
<ul class="nav"><li class="nav-home"><a href="/">Lighthouse home</a></li></ul></nav></header>
<div class="site-content"><header class="article-header gh-canvas"><h1 class="article-title">News</h1></header>
<article class="article post tag-newsletter tag-social-media tag-hash-promo featured">
<section class="gh-content gh-canvas">{own}</section></article>
<section class="gh-container is-list"><div class="gh-container-inner gh-inner">{site}</div></section></div></div>""",
        ("Lighthouse home",),
        "post-template tag-newsletter tag-social-media",
    ),
    Row(
        "names that an editor lends to a section",
        "Shopify",
        Size(60, 200),
        """<div id="shopify-section-header" class="shopify-section section-header"><header class="site-header">
<nav class="header__inline-menu"><ul class="list-menu"><li><a href="/cart">Lighthouse cart</a></li></ul></nav></header></div>
<div id="shopify-section-template--149__main" class="shopify-section"><h1 class="main-page-title page-title h0">News</h1></div>
<section id="shopify-section-template--149__promo_share" class="shopify-section section-newsletter-promo">
<div class="rich-text content-container"><div class="rich-text__text rte">{own}</div></div></section>
<section id="shopify-section-template--149__text" class="shopify-section section"><div class="multicolumn">{site}</div></section>""",
        ("Lighthouse cart",),
        "gradient",
    ),
]

LANDMARKS = [
    Row(
        "an article in landmarks",
        "Sphinx",
        Size(25, 300),
        """<div class="related" role="navigation" aria-label="related navigation"><ul><li><a href="genindex.html">Lighthouse index</a></li></ul></div>
<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="notes"><h1>Notes<a class="headerlink" href="#notes">¶</a></h1>{site}</section></div></div></div>
<aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="doc-footnote">
<span class="label"><span class="fn-bracket">[</span>1<span class="fn-bracket">]</span></span>{own}</aside></aside></div>""",
        ("Lighthouse index",),
    ),
    Row(
        "an article in landmarks",
        "Hugo",
        Size(25, 300),
        """<header class="header"><nav class="nav"><ul id="menu"><li><a href="/archives/"><span>Lighthouse archive</span></a></li></ul></nav></header>
<div class="main"><div class="post-single"><h1 class="post-title entry-hint-parent">Talk</h1>
<div class="post-content md-content">{site}</div>
<footer class="post-footer"><div class="transcript">{own}</div></footer></div></div>""",
        ("Lighthouse archive",),
        "list",
    ),
]

MAINS = [
    Row(
        "text outside of the only main",
        "WordPress",
        Size(60, 600),
        """<div class="wp-site-blocks"><header class="wp-block-template-part"><nav class="wp-block-navigation"><ul class="wp-block-navigation__container">
<li class="wp-block-navigation-item"><a class="wp-block-navigation-item__content" href="/">Lighthouse home</a></li></ul></nav></header>
<main class="wp-block-group is-layout-flow" id="wp--skip-link--target"><div class="wp-block-cover alignfull"><div class="wp-block-cover__inner-container">
<h1 class="wp-block-post-title">Guide</h1>{site}</div></div></main>
<div class="entry-content wp-block-post-content has-global-padding is-layout-constrained">{own}</div></div>""",
        ("Lighthouse home",),
    ),
    Row(
        "text outside of the only main",
        "Magento",
        Size(60, 600),
        """<div class="page-wrapper"><header class="page-header"><div class="header content"><div class="panel wrapper"><ul class="header links"><li><a href="/customer/account/">Lighthouse account</a></li></ul></div></div></header>
<main id="maincontent" class="page-main"><a id="contentarea" tabindex="-1"></a><div class="page-title-wrapper"><h1 class="page-title"><span class="base" data-ui-id="page-title-wrapper">Guide</span></h1></div>
<div class="columns"><div class="column main">{site}</div></div></main>
<div class="page-bottom"><div class="content"><div class="block-static-block widget"><div data-content-type="text" data-appearance="default" data-element="main">{own}</div></div></div></div></div>""",
        ("Lighthouse account",),
        "cms-page-view page-layout-1column",
    ),
]

XHTML = [
    Row(
        "elements of XHTML that end at once",
        "Sphinx",
        Size(30, 120),
        """<div class="document"><div class="documentwrapper"><div class="bodywrapper"><div class="body" role="main">
<section id="tides"><span id="index-0"/><a id="page-8"/><h1>Tides</h1>{site}<object data="_images/tides.svg" type="image/svg+xml"/>{own}</section>
</div></div></div><div class="clearer"/></div>""",
        ("max-width",),
        source='<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        '<head><title>Tides</title><link rel="stylesheet" href="_static/epub.css" type="text/css"/><style type="text/css"/>'
        "<style>p {max-width: 9em}</style></head><body>{body}</body></html>",
    ),
    Row(
        "elements of XHTML that end at once",
        "MediaWiki",
        Size(30, 120),
        """<div id="globalWrapper"><div id="column-content"><div id="content"><a name="top" id="top"/>
<h1 id="firstHeading" class="firstHeading">Tides</h1><div id="bodyContent"><div id="contentSub"/>{site}
<form action="/index.php"><textarea name="wpPreview" rows="1" cols="9"/></form><a name="History" id="History"/><h2><span class="mw-headline">History</span></h2>{own}</div></div></div>
<div id="column-one"><div id="p-cactions" class="portlet"><h5>Views</h5><ul><li id="ca-edit"><a href="/index.php?action=edit">Lighthouse edit</a></li></ul></div></div></div>""",
        ("Lighthouse edit",),
        source='<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en" dir="ltr"><head><title>Tides</title>'
        '<script type="text/javascript" src="/skins/common/wikibits.js"/></head><body class="mediawiki ns-0 ltr">{body}</body></html>',
    ),
]

RESORTS = [
    Row(
        "text in what is seldom read",
        "vBulletin",
        Size(25, 200),
        """<div align="center"><div class="page"><table class="tborder"><tr><td class="navbar"><a href="index.php">Lighthouse forum</a></td></tr></table>
<h1>Source</h1><div class="panelsurround">{site}</div>
<form action="newreply.php" method="post" name="vbform"><div id="vB_Editor_001" class="vBulletin_editor"><div class="controlbar">
<textarea name="message" id="vB_Editor_001_textarea" rows="10" cols="60" tabindex="1" dir="ltr" readonly="readonly">{source}</textarea></div></div>
<input type="submit" class="button" value="Lighthouse reply"></form></div></div>""",
        ("Lighthouse reply",),
    ),
    Row(
        "text in what is seldom read",
        "WordPress",
        Size(25, 200),
        """<div id="page" class="site"><header id="masthead" class="site-header"><nav id="site-navigation" class="main-navigation"><a href="/">Lighthouse home</a></nav></header>
<main id="primary" class="site-main"><article id="post-31" class="post-31 page type-page status-publish hentry"><header class="entry-header"><h1 class="entry-title">Letter</h1></header>
<div class="entry-content">{site}<figure class="wp-block-embed is-type-rich"><div class="wp-block-embed__wrapper"><iframe class="wp-embedded-content" sandbox="allow-scripts" srcdoc="{escaped}"></iframe></div></figure></div></article></main></div>""",
        ("Lighthouse home",),
    ),
]

ANCHORS = [
    Row(
        "anchors that lead nowhere around text",
        "javadoc",
        Size(80, 75),
        """<div class="topNav"><a name="navbar.top"><!-- --></a><ul class="navList" title="Navigation"><li><a href="../overview-summary.html">Lighthouse overview</a></li></ul></div>
<div class="header"><div class="subTitle">org.example.tides</div><h2 title="Class Tide" class="title">Class Tide</h2></div>
<div class="contentContainer"><div class="description"><ul class="blockList"><li class="blockList">{site}</li></ul></div>
<div class="details"><ul class="blockList"><li class="blockList"><a name="method.detail"><h3>Method Detail</h3><ul class="blockList"><li class="blockList"><h4>height</h4><div class="block">{own}</div></li></ul></li></ul></div></div>""",
        ("Lighthouse overview",),
    ),
    Row(
        "anchors that lead nowhere around text",
        "phpBB",
        Size(80, 75),
        """<table class="bodyline"><tr><td><span class="mainmenu"><a href="faq.php" class="mainmenu">Lighthouse questions</a></span></td></tr></table>
<a class="maintitle" href="viewtopic.php?t=12">Tides</a>
<table class="forumline"><tr><td class="row1"><span class="name"><a name="4711"></a><b>keeper</b></span></td>
<td class="row1"><a name="4711p"><span class="postbody">{own}</span></a></td></tr>
<tr><td class="row2"><span class="name"><a name="4712"></a><b>sailor</b></span></td><td class="row2"><span class="postbody">{site}</span></td></tr></table>""",
    ),
]

PARTS = [
    Row(
        "parts of one article with classes of their own",
        "WordPress (Elementor)",
        Size(330, 440),
        """<header class="elementor elementor-11 elementor-location-header"><nav class="elementor-nav-menu--main"><ul class="elementor-nav-menu"><li class="menu-item menu-item-5"><a class="elementor-item" href="/">Lighthouse home</a></li></ul></nav></header>
<div data-elementor-type="wp-post" data-elementor-id="512" class="elementor elementor-512">
<section class="elementor-section elementor-top-section elementor-element elementor-element-5c1d0e2"><div class="elementor-widget-wrap elementor-element-populated">
<div class="elementor-element elementor-element-77abf10 elementor-widget elementor-widget-text-editor" data-id="77abf10"><div class="elementor-widget-container">{site}</div></div></div></section>
{parts}</div>""",
        ("Lighthouse home",),
        "post-template-default single single-post elementor-default elementor-page",
        part="""<section class="elementor-section elementor-top-section elementor-element elementor-element-{number}c4e9d1"><div class="elementor-widget-wrap elementor-element-populated">
<div class="elementor-element elementor-element-{number}fd07a3 elementor-widget elementor-widget-text-editor" data-id="{number}fd07a3"><div class="elementor-widget-container">{text}</div></div></div></section>""",
    ),
    Row(
        "parts of one article with classes of their own",
        "Drupal",
        Size(330, 440),
        """<header role="banner"><nav role="navigation" id="block-main-menu" class="block block-menu navigation menu--main"><ul class="menu"><li class="menu-item"><a href="/">Lighthouse home</a></li></ul></nav></header>
<main role="main"><article class="node node--type-page node--view-mode-full"><div class="node__content">
<div class="field field--name-field-content field--type-entity-reference-revisions field--label-hidden field__items">
<div class="field__item"><div class="paragraph paragraph--type--intro paragraph--view-mode--default paragraph--id--401">{site}</div></div>
{parts}</div></div></article></main>""",
        ("Lighthouse home",),
        "path-node page-node-type-page",
        part="""<div class="field__item field__item--{number}"><div class="paragraph paragraph--type--text paragraph--view-mode--default paragraph--id--40{number}"><div class="clearfix text-formatted field field--name-field-text field__item">{text}</div></div></div>""",
    ),
]

WHOLE_PAGES = [
    Row(
        "a whole page of a template",
        "Drupal",
        Size(60, 300),
        """<div class="dialog-off-canvas-main-canvas" data-off-canvas-main-canvas><div id="page-wrapper" class="page-wrapper"><div id="page">
<header id="header" class="site-header" data-drupal-selector="site-header" role="banner"><nav id="block-olivero-main-menu" class="primary-nav block block-menu navigation menu--main" role="navigation"><ul class="menu primary-nav__menu"><li class="primary-nav__menu-item"><a href="/" class="primary-nav__menu-link">Lighthouse home</a></li></ul></nav></header>
<div id="main-wrapper" class="layout-main-wrapper layout-container"><div id="main" class="layout-main"><div class="main-content"><a id="main-content" tabindex="-1"></a><div class="main-content__container container">
<div class="region region--highlighted grid-full layout--pass--content-medium"><div id="block-olivero-page-title" class="block block-core block-page-title-block"><h1 class="title page-title"><span class="field field--name-title field--type-string">Harbor</span></h1></div></div>
<main role="main"><div class="sidebar-grid grid-full"><div class="site-main region--content"><div id="block-olivero-content" class="block block-system block-system-main-block"><div class="block__content">
<article data-history-node-id="12" role="article" class="node node--type-article node--promoted node--sticky node--view-mode-full"><div class="node__content"><div class="text-content clearfix field field--name-body field--type-text-with-summary field--label-hidden field__item">{own}</div></div></article></div></div></div>
<div class="layout-sidebar"><div class="region region--sidebar"><div id="block-about" class="block block-block-content"><div class="block__content">{site}</div></div></div></div></div></main></div></div></div></div>
<footer class="site-footer"><div class="region region--footer-bottom"><span>Lighthouse by night</span></div></footer></div></div></div>""",
        ("Lighthouse home", "Lighthouse by night"),
        "path-node page-node-type-article",
    ),
    Row(
        "a whole page of a template",
        "WordPress",
        Size(60, 300),
        """<a class="screen-reader-text skip-link" href="#content">Skip to the light</a>
<header class="site-header" id="masthead"><nav class="main-navigation" id="site-navigation"><div id="primary-menu" class="main-nav"><ul id="menu-main" class="menu sf-menu"><li id="menu-item-9" class="menu-item"><a href="/">Lighthouse home</a></li></ul></div></nav></header>
<div class="page-hero"><div class="inside-page-hero grid-container grid-parent"><h1>Harbor</h1></div></div>
<div id="page" class="site grid-container container hfeed grid-parent"><div id="content" class="site-content"><div id="primary" class="content-area grid-parent"><main id="main" class="site-main">
<article id="post-77" class="post-77 post type-post status-publish format-standard hentry category-advertising tag-share tag-bio"><div class="inside-article"><div class="entry-content" itemprop="text">{own}
<div class="sharedaddy sd-sharing-enabled"><div class="robots-nocontent sd-block sd-social"><ul><li class="share-facebook"><a class="share-icon" href="/?share=facebook">Send a flare</a></li></ul></div></div></div></div></article></main></div>
<div id="right-sidebar" class="widget-area sidebar is-right-sidebar"><div class="inside-right-sidebar"><aside id="text-2" class="widget inner-padding widget_text"><h2 class="widget-title">Ask the keeper</h2></aside></div></div></div>
<div class="gb-container gb-container-5f2d"><div class="gb-inside-container">{site}</div></div></div>
<div class="site-footer"><footer class="site-info"><div class="copyright-bar"><span class="copyright">Lighthouse by night</span></div></footer></div>""",
        ("Lighthouse home", "Lighthouse by night", "Send a flare", "Ask the keeper"),
        "post-template-default single single-post category-advertising right-sidebar nav-below-header",
    ),
]

ROWS = [*NAMES, *LANDMARKS, *MAINS, *XHTML, *RESORTS, *ANCHORS, *PARTS, *WHOLE_PAGES]


def name_of(row: Row) -> str:
    return f"{row.system}: {row.kind}"


def compared(source: str) -> str:
    return extract_page(source, None, get_extractor("blocks"), min_words=20).compared


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_all_that_a_page_says_is_compared(row: Row) -> None:
    text = compared(row.page(100))
    missing = [sentence for sentence in sentences(100, row.size.own) if sentence not in text]
    assert missing == []
    assert [words for words in row.beside if words in text] == []


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_words_that_must_not_be_compared_are_on_the_page(row: Row) -> None:
    assert [words for words in row.beside if words not in row.page(100)] == []


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_pages_that_say_other_things_are_no_copies_even_on_two_sites(row: Row) -> None:
    with Deduplicator() as dedup:
        dedup.check(FIRST, html=row.page(100))
        assert not dedup.check(SECOND, html=row.page(200)).is_duplicate


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_pages_that_say_the_same_are_copies(row: Row) -> None:
    with Deduplicator() as dedup:
        dedup.check(FIRST, html=row.page(100))
        assert dedup.check(SECOND, html=row.page(100)).is_duplicate
