"""Which marks are read from a page."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest

from crawldedup import compare
from crawldedup.deduplicator import Deduplicator
from crawldedup.key import NO_KEY
from crawldedup.marks import values
from crawldedup.marks.packing import MOST_BYTES, packed_content
from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    MOST_DATA,
    SOCIAL_TITLE,
    TITLE_PART,
    ShownMarks,
)
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import link_target, picture_name, player_name
from crawldedup.reading.marks import read_marks
from crawldedup.reading.reader import PageReader

URL = "https://harbour.example/tides/1"
PROSE = (
    "Low tide uncovers the sand bank twice a day, and the seals come to rest on it until the water "
    "is back. Nobody has counted the boats that were lost there in the fog."
)
READER = PageReader(Options())


def marks_of(html: str, **options: object) -> ShownMarks:
    reader = PageReader(Options.from_values(options)) if options else READER
    marks = reader.content(Page(URL, html=html)).marks
    assert marks is not None
    return marks


def document(body: str = "", head: str = "", title: str = "Seals | Harbour News") -> str:
    return (
        f"<html><head><title>{title}</title>{head}</head><body><main>{body}<p>{PROSE}</p></main>"
        "</body></html>"
    )


def roles_of(html: str) -> dict[str, int]:
    return dict(marks_of(html).names)


# Names


def test_the_headline_is_the_longest_heading_that_the_title_repeats() -> None:
    body = "<h1>Harbour News</h1><h2>Seals on the bank</h2><h2>Seals</h2>"
    marks = marks_of(document(body, title="Seals on the bank – Harbour News"))
    assert marks.name == "seals on the bank"
    roles = dict(marks.names)
    assert roles["seals on the bank"] == HEADLINE | TITLE_PART | FIRST_PART
    assert roles["harbour news"] == FIRST_HEADING | HEADLINE | TITLE_PART
    assert not roles.get("seals")
    assert roles["seals on the bank harbour news"] == ALIAS


@pytest.mark.parametrize(
    ("title", "heading", "name"),
    [
        ("(3) Seals | News", "Seals", "seals"),
        ("[12+] Seals | News", "Seals", "seals"),
        ("Print: Seals", "Seals", "seals"),
        ("Printer-friendly version: Seals", "Seals", "seals"),
        ("Druckansicht: Robben", "Robben", "robben"),
        ("Version imprimable - Phoques", "Phoques", "phoques"),
        ("Versión para imprimir: Focas", "Focas", "focas"),
        ("Версия для печати: Тюлени", "Тюлени", "тюлени"),
        ("印刷: アザラシ", "アザラシ", "ア ザ ラ シ"),
        ("SEALS", "Seals", "seals"),
    ],
)
def test_counters_labels_and_case_are_no_part_of_a_name(
    title: str, heading: str, name: str
) -> None:
    marks = marks_of(document(f"<h1>{heading}</h1>", title=title))
    assert marks.name == name
    assert dict(marks.names)[name] & HEADLINE


@pytest.mark.parametrize("heading", ["Linux下的Python入门", "Linux 下的 Python 入门"])
def test_letters_without_spaces_end_a_word_of_others(heading: str) -> None:
    """Some templates add spaces between the scripts, but only to the heading or to the title."""
    marks = marks_of(document(f"<h1>{heading}</h1>", title="Linux下的 Python入门 | News"))
    name = "linux 下 的 python 入 门"
    assert marks.name == name
    assert dict(marks.names)[name] & HEADLINE


def test_several_first_headings_name_nothing_and_the_social_title_does() -> None:
    head = '<meta property="og:title" content="(2) Seals of the bank">'
    html = document("<h1>Menu</h1><h1>Footer</h1>", head, title="")
    assert roles_of(html) == {"seals of the bank": SOCIAL_TITLE}
    assert marks_of(html).name == "seals of the bank"
    assert roles_of(document("<h1>Menu</h1><h1>Menu</h1>", title="")) == {
        "menu": FIRST_HEADING | IS_SINGLE_WORD
    }


def test_what_follows_a_label_is_an_alias_and_numbers_and_single_words_are_noted() -> None:
    roles = roles_of(document(title="Review: Storm lantern 7 | Shop"))
    assert roles["storm lantern 7"] == ALIAS | HAS_NUMBER
    assert roles["shop"] == TITLE_PART | IS_SINGLE_WORD


def test_a_text_has_the_name_that_it_is_given() -> None:
    content = READER.content(Page(URL, text=PROSE, title="(4) Print: Seals"))
    assert content.marks is not None
    assert content.marks.name == "seals"
    assert content.marks.text == PROSE
    assert READER.content(Page(URL, text=PROSE)).marks is None
    assert READER.content(Page(URL, text=PROSE, title=" … ")).marks is None


# Pictures and players


def test_the_first_picture_of_the_content_leads() -> None:
    body = (
        '<img src="/img/site-logo.png"><img src="/img/icon-search.svg">'
        '<a href="/other"><img src="/img/other.jpg"></a>'
        '<img src="/img/river-1024x768.jpg" width="600"><img src="/img/mill.webp">'
    )
    marks = marks_of(document(body))
    assert marks.has_lead
    assert marks.pictures == ("river", "mill", "other")


def test_small_pictures_and_those_of_lists_of_links_do_not_lead() -> None:
    body = (
        '<img src="/dot.jpg" width="40"><img src="/line.jpg" height="8px">'
        '<ul><li><a href="/a"><img src="/teaser.jpg"></a></li></ul>'
    )
    marks = marks_of(document(body))
    assert (marks.has_lead, marks.pictures) == (False, ("teaser",))
    # A link to the picture itself is no link to another page, and one outside of lists may lead.
    assert marks_of(document('<a href="/river.jpg"><img src="/river.jpg"></a>')).has_lead
    assert marks_of(document('<a href="/river"><img src="/river.jpg"></a>')).has_lead


@pytest.mark.parametrize(
    "attributes",
    [
        'data-src="/river.jpg" src="data:image/gif;base64,R0lGOD"',
        'src="about:blank" data-lazy-src="/river.jpg"',
        'data-original="/river.jpg"',
        'srcset="/river.jpg 1x, /river@2x.jpg 2x"',
        'data-srcset=" /river-300w.jpg 300w, /river-900w.jpg 900w"',
        'src="/blank.gif" data-lazy-src="/river.jpg"',
        'src="/grey.png" data-echo="/river.jpg"',
        'src="none.gif" file="data/river.jpg"',
        'src="/spacer.gif" data-large_image="/river.jpg"',
    ],
)
def test_pictures_that_a_script_loads_later_count(attributes: str) -> None:
    assert marks_of(document(f"<img {attributes}>")).pictures == ("river",)


def test_the_sources_of_a_picture_count_where_nothing_else_names_it() -> None:
    body = "<picture><source {}srcset='/river.webp 1x'><img class=lazy {}></picture>"
    assert marks_of(document(body.format("data-", ""))).pictures == ("river",)
    assert marks_of(document(body.format("", "src=/mill.jpg"))).pictures == ("mill",)
    assert marks_of(document("<img src=/logo.png data-href=/mill>")).pictures == ()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("https://cdn.example/a/River.JPG?w=300", "river"),
        ("/a/river-300x200.jpg", "river"),
        ("/a/river_large@2x.png", "river"),
        ("/a/640px-river.jpg", "river"),
        ("/watch/d41d8cd9/hqdefault.jpg", "d41d8cd9/hqdefault"),
        ("/gallery/7/1.jpg", "7/1"),
        ("/a/strom%20fluss.jpg", "strom fluss"),
        ("/a/logo.png", None),
        ("/a/spacer.gif", None),
        ("/", None),
        ("http://[broken/river.jpg", None),
        ("", None),
    ],
)
def test_a_picture_is_called_by_its_file_without_its_size(source: str, name: str | None) -> None:
    assert picture_name(source) == name


def test_the_social_picture_leads_where_the_content_has_none() -> None:
    head = '<meta property="og:image" content="https://cdn.example/river-1200x630.jpg">'
    marks = marks_of(document(head=head))
    assert (marks.has_lead, marks.pictures) == (True, ("river",))
    assert marks_of(document('<img src="/mill.jpg">', head)).pictures == ("mill", "river")


def test_players_are_videos_frames_and_places() -> None:
    body = (
        '<iframe src="https://video.example/embed/x7Yz?autoplay=1&rel=0"></iframe>'
        '<iframe src="https://www.googletagmanager.com/ns.html?id=GTM"></iframe>'
        '<video src="/films/bank.mp4"></video><div data-lat="54.1" data-lng="7.9"></div>'
        '<iframe src="about:blank"></iframe><audio><source src="/sound/seals.ogg"></audio>'
    )
    assert marks_of(document(body)).players == ("x7yz?", "bank?", "seals?", "place 54.1,7.9")


def test_the_settings_of_a_player_do_not_count_and_its_values_do() -> None:
    watch = "https://video.example/watch?v={}&width=640&utm_source=mail"
    assert player_name(watch.format("a1")) == player_name(watch.format("a1") + "&mute=1")
    assert player_name(watch.format("a1")) != player_name(watch.format("b2"))


# Data


def data_of(body: str, head: str = "") -> Mapping[str, str]:
    return dict(marks_of(document(body, head)).data)


def test_declared_values_identify_a_page() -> None:
    product = {
        "@type": "Product",
        "sku": "L-7",
        "color": "red",
        "description": "A lamp.",
        "offers": {"price": 12.5, "url": "/7"},
        "brand": {"name": "Bright"},
        "review": [{"name": "Fine"}],
        "isRelatedTo": {"sku": "L-8"},
    }
    script = f'<script type="application/ld+json">{json.dumps(product)}</script>'
    assert data_of("", script) == {
        "declared sku": "L-7",
        "declared color": "red",
        "declared offers price": "12.5",
    }
    # They count in navigation and noise as well: only their own names say what they are about.
    assert data_of(f"<aside>{script}</aside>") == data_of("", script)


IN_STOCK = (
    "https://schema.org/InStock",
    "http://schema.org/InStock",
    "InStock",
    "in stock",
    "in_stock",
)


def offered(*values: str) -> str:
    """Return the JSON-LD of a product, with a variant for each value of its availability."""
    offers = [{"@type": "Offer", "availability": value} for value in values]
    product = {"@type": "Product", "sku": "L-7", "offers": offers}
    return f'<script type="application/ld+json">{json.dumps(product)}</script>'


@pytest.mark.parametrize("value", IN_STOCK)
def test_the_declared_availability_of_a_product_is_read(value: str) -> None:
    sku = '<meta itemprop="sku" content="L-7">'
    in_body = (
        f'<link itemprop="availability" href="{value}">',
        f'<meta itemprop="availability" content="{value}">',
        f'<span itemprop="availability">{value}</span>',
    )
    in_head = (
        offered(value),
        f'<meta property="product:availability" content="{value}">',
        f'<meta property="og:availability" content="{value}">',
    )
    for declared in in_body:
        assert data_of(sku + declared)["availability"] == "instock", declared
    for declared in in_head:
        assert data_of(sku, declared)["availability"] == "instock", declared


def test_the_first_place_that_declares_the_availability_counts() -> None:
    elsewhere = '<meta property="og:availability" content="oos">'
    assert data_of("", offered("InStock") + elsewhere)["availability"] == "instock"
    # The order of the variants doesn't matter.
    several = data_of("", offered("SoldOut", "InStock", "InStock"))["availability"]
    assert several == data_of("", offered("InStock", "SoldOut", "InStock"))["availability"]
    assert several != data_of("", offered("InStock", "SoldOut", "SoldOut"))["availability"]


def test_a_page_without_an_offer_has_no_availability() -> None:
    assert data_of('<link itemprop="availability" href="https://schema.org/InStock">') == {}
    state = {"page": {"id": 7, "availability": "17"}}
    assert list(data_of(f"<script>var state = {json.dumps(state)}</script>").values()) == ["7"]
    empty = offered("", "/", " # ")
    assert "availability" not in data_of("", empty)


def test_the_availability_does_not_displace_another_value() -> None:
    fields = "".join(f'<input type=hidden name=part{n} value="{n}">' for n in range(20))
    data = data_of(fields, offered("InStock"))
    assert len(data) == MOST_DATA + 1
    assert list(data)[-1] == "availability"


def test_embedded_state_identifies_a_page() -> None:
    state = {"page": {"id": 7, "slug": "seals"}, "user": {"id": 99}, "ads": {"key": "x"}}
    for start in ("window.__STATE__ = ", "var state=", " const s = ", "self.state = "):
        script = f"<script>{start}{json.dumps(state)};</script>"
        assert list(data_of(script).values()) == ["7", "seals"], start
    assert data_of(f'<script type="application/json">{json.dumps(state)}</script>')
    assert data_of(f"<script>load({json.dumps(state)})</script>") == {}
    assert data_of('<script>var broken = {"id": 7</script>') == {}


def test_chosen_controls_say_what_is_shown() -> None:
    body = (
        '<input type="hidden" name="variant" value="red">'
        '<input type="radio" name="size" value="s"><input type="radio" name="size" value="m" '
        "checked>"
        '<select name="length"><option>short</option><option selected>long</option></select>'
        '<select id="cut"><optgroup><option value="w" selected>wide</option></optgroup></select>'
        '<input type="text" name="word" value="typed"><input type="hidden" value="nameless">'
        '<input name="code" readonly value="ferry12"><input readonly value="https://e.com/1">'
        '<input name="link" readonly value="https://e.com/1"><input readonly value="pier9">'
    )
    assert data_of(body) == {
        "field variant": "red",
        "field size": "m",
        "field length": "long",
        "field cut": "w",
        "field code": "ferry12",
        "field read-only": "pier9",
    }


@pytest.mark.parametrize(
    ("refresh", "target"),
    [
        ("3; url=https://bakery.example/", "https://bakery.example/"),
        ("0;URL='https://bakery.example/cake'", "https://bakery.example/cake"),
        ("300", None),
        ("300; url=/news", None),
        ("300; url=https://e.com/news", None),
    ],
)
def test_the_site_that_a_page_leads_to_tells_it_apart(refresh: str, target: str | None) -> None:
    head = f'<head><meta http-equiv="Refresh" content="{refresh}"></head>'
    page = HtmlPage(f"<html>{head}<body><p>{'You leave this site now. ' * 9}</p></body></html>")
    marks = read_marks(page, "", "https://e.com/go/1")
    assert dict(marks.data).get("next site") == target


@pytest.mark.parametrize(
    "field",
    [
        '<input type="hidden" name="csrf_token" value="red">',
        '<input type="hidden" name="return_url" value="/red">',
        '<input type="hidden" name="rendered_time" value="12">',
        '<input type="hidden" name="_form_ak_js" value="70">',
        '<input type="hidden" name="variant" value="5f4dcc3b5aa765d61d8327deb882cf99">',
        '<select name="sort"><option selected>price</option></select>',
        '<select name="currency"><option selected>EUR</option></select>',
    ],
)
def test_tokens_and_settings_of_a_visit_are_no_data(field: str) -> None:
    assert data_of(field) == {}


# Links, listings, text and numbers


def test_links_of_the_content_count_without_views() -> None:
    body = (
        '<a href="/a?utm_source=mail">one</a><a href="https://harbour.example/a">again</a>'
        '<a href="/b?id=2&PHPSESSID=5f4dcc3b5aa765d61d8327deb882cf99">two</a>'
        '<a href="#top">top</a><a href="mailto:a@b.example">mail</a><a href="">none</a>'
    )
    assert marks_of(document(body)).links == ("a", "b?id=2")
    assert not {"/?", "mailto"} & {link[:6] for link in marks_of(document(body)).links}
    assert link_target("/c?z=1&a=2#x") == link_target("https://m.harbour.example/c?a=2&z=1")
    assert link_target("javascript:void(0)") is None
    assert link_target("http://[broken") is None


def test_a_page_that_mostly_links_is_a_listing() -> None:
    links = "".join(f'<li><a href="/{n}">Story number {n} about seals</a></li>' for n in range(30))
    marks = marks_of(f"<title>Stories</title><main><h1>Stories</h1><ul>{links}</ul></main>")
    assert marks.is_listing
    assert len(marks.links) == 30
    assert "listing of 30 links" in marks.lines()
    assert not marks_of(document('<a href="/1">One story</a>' * 3)).is_listing


@pytest.mark.parametrize("href", ["#q{}", "javascript:void({})", "javascript:", "#"])
def test_links_within_a_page_make_no_listing(href: str) -> None:
    questions = "".join(
        f'<li><a href="{href.format(n)}">What is seal number {n} called?</a></li>'
        for n in range(30)
    )
    faq = f'<title>Questions</title><h1>Questions</h1><ul>{questions}</ul><a href="/">Home</a>'
    assert not marks_of(faq).is_listing


def test_a_listing_keeps_its_targets_beside_short_links_that_lead_nowhere() -> None:
    links = "".join(
        f'<li><a href="/{n}">Story number {n} about seals</a> <a href="#">Like</a> '
        '<a href="javascript:share()">Share</a></li>'
        for n in range(10)
    )
    marks = marks_of(f"<title>Stories</title><main><h1>Stories</h1><ul>{links}</ul></main>")
    assert marks.is_listing
    assert len(marks.links) == 10


def test_the_home_page_and_other_views_are_not_among_the_pages_of_a_listing() -> None:
    links = "".join(f'<li><a href="/{n}">Story number {n} about seals</a></li>' for n in range(9))
    listing = f"<title>Stories</title><h1>Stories</h1><ul>{links}</ul>"
    pages = marks_of(listing).links
    assert len(pages) == 9
    path = f"/{URL.split('/', 3)[3]}"
    assert (
        marks_of(f"{listing}<a href='/'>Home</a><a href='{path}?print=1'>Print</a>").links == pages
    )
    assert marks_of(f"{listing}<a href='{path}'>Stories</a>").links == (*pages, path[1:])
    assert marks_of(f"{listing}<a href='{path}?page=2'>More</a>").links != pages


@pytest.mark.parametrize("heading", ["h1", "h2", "h4"])
def test_pages_of_teasers_are_listings(heading: str) -> None:
    posts = "".join(
        f"<article><{heading}><a href=/{post}>On {post}</a></{heading}><p>{PROSE}</p></article>"
        for post in ("seals", "ferries")
    )
    assert marks_of(f"<title>All posts</title>{posts}").links == ("seals", "ferries")
    assert marks_of(f"<title>All posts</title>{posts}").is_listing


@pytest.mark.parametrize("href", [URL, f"{URL}?utm_source=mail", f"/{URL.split('/', 3)[3]}"])
def test_an_article_whose_heading_leads_to_itself_is_no_listing(href: str) -> None:
    def is_listing(href: str) -> bool:
        article = f"<h2><a href='{href}'>On seals</a></h2><p>{PROSE}</p>"
        related = "<h3><a href=/ferries>On ferries</a></h3>"
        return marks_of(f"<title>Harbour</title>{article}{related}").is_listing

    assert not is_listing(href)
    assert is_listing("/another-page")


def test_a_linked_headline_alone_makes_no_listing() -> None:
    assert not marks_of(document("<h1><a href=/>Seals</a></h1>")).is_listing


def test_the_text_of_teasers_is_where_they_lead() -> None:
    """An archive may shorten its teasers in another way than the list of all stories."""

    def listing(words: int, *numbers: int) -> ShownMarks:
        prose = " ".join(PROSE.split()[:words])
        teasers = [f"<h2><a href=/story-{n}>Story {n}</a></h2><p>{prose}</p>" for n in numbers]
        return marks_of(f"<title>Stories</title>{''.join(teasers)}")

    assert listing(30, 1, 2, 3).text == listing(12, 2, 3, 1).text
    assert listing(30, 1, 2, 3).text != listing(30, 1, 2, 4).text
    # A single one may be the page itself, in a theme that links its heading.
    assert listing(30, 1).text != listing(12, 1).text


def test_a_short_text_beside_a_long_sidebar_tells_listings_apart() -> None:
    def talk(name: str, speaker: str) -> Page:
        sidebar = "".join(
            f"<li><a href=/topic/{n}>Topic of the harbor {n}</a></li>" for n in range(40)
        )
        html = (
            f"<title>{name} | Harbour</title><h2>{name}</h2><p>{speaker}</p>"
            f"<p>{PROSE}</p><h2>Topics</h2><ul>{sidebar}</ul>"
        )
        return Page(f"https://harbour.example/node/{len(name)}/index.html", html=html)

    first = talk("Ropes and knots", "Told by Ada Brook")
    assert not compare(first, talk("Lamps on the quay", "Told by Ben Clay")).drops
    assert compare(first, talk("All of the ropes", "Told by Ada Brook")).drops


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("<h2>Seal extends <a href=/abstract>AbstractMammal</a></h2>", False),
        ("<h2>Seal is <a href=/abstract>AbstractMammal</a>, <a href=/i>MammalLike</a></h2>", False),
        ("<h2>» <a href=/abstract>AbstractMammal</a></h2>", True),
    ],
)
def test_the_heading_of_a_single_teaser_is_its_link(heading: str, *, expected: bool) -> None:
    html = f"<body><main>{heading}<p>{PROSE}</p></main></body>"
    assert marks_of(html).is_listing is expected


@pytest.mark.parametrize(
    "frame",
    [
        "<nav>{}</nav>",
        "<footer>{}</footer>",
        "<aside>{}</aside>",
        f"<div hidden>{{}}<p>{PROSE}</p></div>",
        f'<div class="related-posts">{{}}<p>{PROSE}</p></div>',
    ],
)
def test_what_stands_in_navigation_or_noise_is_no_mark(frame: str) -> None:
    beside = (
        '<p>Beside</p><img src="/mill.jpg"><iframe src="/film/7"></iframe><a href="/mill">Mill</a>'
        '<div data-lat="54.1" data-lng="7.9"></div><form><input type="hidden" name="variant" value="red"></form><h2>Mill and river</h2>'
    )
    html = document(title="Mill and river").replace("<main>", f"{frame.format(beside)}<main>")
    marks = marks_of(html)
    assert (marks.pictures, marks.players, marks.data, marks.links) == ((), (), (), ())
    assert not any(name.roles & HEADLINE for name in marks.names)


def test_the_steady_text_is_without_names_links_visits_and_dates() -> None:
    def text_of(views: int, day: str, heading: str = "Seals") -> str | None:
        body = (
            f"<h1>{heading}</h1><p>{views} views, {day}</p><p>Printed at 12:{views % 60:02}</p>"
            f'<p><a href="/{views}">Read story {views}</a></p><p>The bank has 24 seals.</p>'
        )
        return marks_of(document(body, title=f"{heading} | News")).text

    text = text_of(1024, "3 May 2024")
    assert text == text_of(2048, "14 May 2023") == text_of(7, "9 May 2025", "Robben")
    assert "24 seals" in (text or "")


def test_numbers_count_if_they_are_asked_for() -> None:
    assert marks_of(document()).numbers is None
    one, other = (
        marks_of(document(f"<h1>Pier</h1><p>{price} euros.</p>"), distinguish="numbers").numbers
        for price in ("3.50", "4")
    )
    assert None is not one != other
    # A text has those of a page without a heading.
    page = marks_of("<title>Pier</title><p>Pier 7 and 9.", distinguish="numbers")
    content = PageReader(Options(distinguish="numbers")).content(Page(URL, text="Pier 7 and 9."))
    assert content.marks is not None
    assert content.marks.numbers == page.numbers
    assert (page.numbers or "").split() == ["7", "9"]


# Hostile pages


def deep(levels: int) -> str:
    return '{"id":' * levels + "1" + "}" * levels


HOSTILE = {
    "100,000 pictures": '<img src="/a.jpg">' + "<img src=/b{}.jpg>" * 100_000,
    "pictures in deep blocks": "<div>" * 500 + "<img src=/a.jpg>" * 20_000 + "</div>" * 500,
    "100,000 links": "<a href=/b?q=1>b</a>" * 60_000,
    "a huge script": f'<script type="application/ld+json">{{"id": "{"x" * 4_000_000}"}}</script>',
    "a wide object": '<script type="application/json">'
    + json.dumps({f"k{n}": {"id": n} for n in range(25_000)})
    + "</script>",
    "deep JSON": f'<script type="application/json">{deep(60_000)}</script>',
    "deep lists": f'<script type="application/json">{"[" * 100_000}{"]" * 100_000}</script>',
    "huge numbers": '<script type="application/json">{"id": %s}</script>' % ("9" * 400_000),
    "numbers with exponents": '<script type="application/json">{"id": 1e999999}</script>',
    "very many scripts": '<script type="application/json">{"id": 7}</script>' * 20_000,
    "spaces before state": f"<script>{' ' * 400_000}var a = {{}}</script>",
    "very many options": "<select name=a>" + "<option selected>b" * 60_000 + "</select>",
    "very many fields": "<input type=hidden name=a value=b>" * 60_000,
    "very many first headings": "".join(f"<h1>h{n}</h1>" for n in range(40_000)),
    "a long heading": f"<h1>{'seals ' * 200_000}</h1>",
    "a long query": f'<a href="/a?{"b=1&" * 100_000}">a</a>',
    "surrogates": '<script type="application/json">{"id": "\\ud800"}</script>',
    "sizes in names of pictures": "".join(
        f"<img src='/{number}/{'-s' * 10_000}.jpg'>" for number in range(250)
    ),
    "a number in every line": f"<p>{'7 aaaa bbbb ' * 20}</p>" * 20_000,
    "numbers in one line": f"<p>{'7 aaaa bbbb ' * 400_000}</p>",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_marks_of_hostile_pages_are_bounded(kind: str) -> None:
    started = time.process_time()
    content = READER.content(Page(URL, html=document(HOSTILE[kind])))
    assert content.marks is not None
    marks = content.marks
    # Some of it is for reading their texts.
    assert time.process_time() - started < 4
    assert len(marks.names) <= values.MOST_NAMES
    assert len(marks.pictures) <= values.MOST_PICTURES
    assert len(marks.players) <= values.MOST_PLAYERS
    assert len(marks.data) <= values.MOST_DATA
    assert len(packed_content(marks.hashed(NO_KEY))) <= MOST_BYTES


def test_long_titles_are_bounded() -> None:
    html = document(title=" | ".join(f"part {number}" for number in range(50_000)))
    started = time.process_time()
    assert len(marks_of(html).names) <= values.MOST_NAMES
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("/_next/image?url=%2Fmedia%2Fboat1001.jpg&w=1080&q=75", "boat1001"),
        ("/thumb.aspx?src=https://cdn.example/a/mill.jpg&width=90", "mill"),
        ("/img.php?id=1001&w=300", "img.php?id=1001"),
        ("/view?file=photo1.jpg", "photo1"),
        ("/media/boat.jpg?v=20260301", "boat"),
        ("/media/logo-design-1201.jpg", "logo-design-1201"),
        ("/media/icon_1201.png", "icon_1201"),
        ("/media/flagship-store.jpg", "flagship-store"),
        ("/media/site-logo.png", None),
        ("/media/header-logo-white.svg", None),
        ("/media/favicon.ico", None),
        ("/media/avatar-1234.jpg", None),
        ("/media/flag-de.svg", None),
    ],
)
def test_a_picture_is_called_by_its_file_or_by_what_a_program_is_asked_for(
    source: str, name: str | None
) -> None:
    assert picture_name(source) == name


@pytest.mark.parametrize("invisible", ["\u200b", "\u200d", "\u200e", "\ufeff", "\ufe0f"])
def test_characters_that_nobody_sees_tell_no_pages_apart(invisible: str) -> None:
    text = " ".join(f"The ferry number {number} leaves the pier at dawn." for number in range(20))
    source = "<title>Ferries</title><h1>Ferries</h1><p>{}</p>"
    dedup = Deduplicator()
    dedup.check("https://a.example/1", html=source.format(text))
    marked = source.format(text).replace("er", f"e{invisible}r")
    assert dedup.check("https://a.example/2", html=marked).kind == "exact_duplicate"
