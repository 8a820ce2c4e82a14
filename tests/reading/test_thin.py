"""Pages of few words: what makes two pages of them, and what leaves one unchanged."""

from __future__ import annotations

import time

import pytest

from crawldedup import Page, compare
from crawldedup.errors import PageError
from crawldedup.reading.extract import PageText, extract_page, get_extractor
from crawldedup.reading.thin import ThinTexts


def read(body: str, head: str = "") -> PageText:
    html = f"<html><head><title>Site</title>{head}</head><body>{body}</body></html>"
    return extract_page(html, None, get_extractor("blocks"), min_words=20)


def texts(body: str, head: str = "") -> ThinTexts:
    text = read(body, head)
    assert text.whole is not None
    assert text.core is not None
    return ThinTexts(text.whole, text.core)


PICTURES = {
    "src": '<img src="/{}.jpg">',
    "lazysizes": '<img class=lazyload src="/blank.gif" data-srcset="/{}.jpg 1x, /{}b.jpg 2x">',
    "WP Rocket": '<img src="data:image/gif;base64,R0lG" data-lazy-src="/{}.jpg">',
    "jQuery Lazy Load": '<img data-original="/{}.jpg">',
    "Slick": '<img data-lazy="/{}.jpg">',
    "Echo": '<img src="/grey.png" data-echo="/{}.jpg">',
    "Discuz": '<img src="none.gif" zoomfile="data/{}.jpg" file="data/{}.jpg">',
    "Cloudflare Mirage": '<img data-cfsrc="/{}.jpg" style="display:none">',
    "PageSpeed": '<img pagespeed_lazy_src="/{}.jpg" src="/1.gif">',
    "Jetpack": '<img src="/s.gif" data-orig-file="https://e.example/{}.jpg">',
    "MediaWiki": '<span class="lazy-image-placeholder" data-src="//up.example/{}.jpg"></span>',
    "WooCommerce": '<div data-thumb="/{}.jpg"></div>',
    "AMP": '<amp-img src="/{}.jpg"></amp-img>',
    "an attribute of nobody else": '<div data-items=\'[{{"u": "/{}.webp"}}]\'></div>',
    "srcset": '<img srcset="/{}.jpg 1x, /{}b.jpg 2x">',
    "picture": '<picture><source srcset="/{}.webp"><img src="/any.jpg"></picture>',
    "lazy background": '<div data-bg="/{}.jpg"></div>',
    "lozad": '<div data-background-image="/{}.jpg"></div>',
    "background": '<div style="background-image:url(/{}.jpg)"></div>',
    "quoted background": "<a style=\"background:#000 url('/{}.jpg') no-repeat\"></a>",
    "background of a table": '<table background="/{}.jpg"><tr><td></td></tr></table>',
    "background in a sheet": "<style>.hero {{ background: url('/{}.jpg') }}</style>",
    "data": '<img src="data:image/png;base64,' + "A" * 3000 + '{}">',
    "poster": '<video poster="/{}.jpg"></video>',
    "lazy poster": '<video data-poster="/{}.jpg"></video>',
    "lazy film": '<lite-youtube videoid="{}"></lite-youtube>',
    "Flash": "<object><param name=movie value=/{}.swf></object>",
    "SVG": '<svg><image xlink:href="/{}.jpg"></image></svg>',
    "noscript": "<noscript><img src=/{}.jpg></noscript>",
    "alt": '<img src="/show.php" alt="boat {}">',
    "alt of a button": '<input type=image src="/show.php" alt="boat {}">',
    "label of a drawing": '<div role=img aria-label="boat {}"></div>',
}
LABELS = {
    "label of stars": '<span class="star-rating" aria-label="Rated {} out of five"></span>',
    "what an abbreviation means": '<abbr title="{} of nations">LON</abbr>',
    "hint": '<div class="tip" title="{}">i</div>',
    "text in a drawing": "<svg><g><text x=1><tspan>{}</tspan></text></g></svg>",
    "HTML in a drawing": "<svg><foreignObject><div><p>The <b>{}</b></p></div></foreignObject></svg>",
    "title of a drawing": "<svg role=img><title>Boat {}</title><path d=M1></path></svg>",
}
LINKS = {
    "link": '<a href="/{}.zip">Get</a>',
    "magnet": '<a href="magnet:?xt=urn:btih:{}">Get</a>',
    "link to another site": '<a href="/go?redirect=https%3A%2F%2Fsite{}.example%2F">Go</a>',
    "area": "<img src=/m.gif usemap=#m><map name=m><area href=/{}></map>",
    "form": '<form action="/get/{}"><button>Get</button></form>',
    "row": '<div data-href="/{}.zip">Get</div>',
}
FIELDS = {
    "read-only field": '<input readonly value="CODE-{}">',
    "switched off field": '<input disabled value="{}">',
    "field": '<input value="https://s.example/{}">',
    "text to copy": '<button data-clipboard-text="{}">Copy</button>',
    "element to copy": '<clipboard-copy value="{}">Copy</clipboard-copy>',
    "meter": "<meter value={}></meter>",
    "checked": "<input type=radio name=q value={} checked>",
}
REFRESHES = {
    "refresh": '<meta http-equiv=refresh content="0;url=/{}">',
    "refresh without scripts": '<noscript><meta http-equiv=Refresh content="0;url=/{}"></noscript>',
}
ALL = PICTURES | LABELS | LINKS | FIELDS | REFRESHES


@pytest.mark.parametrize("markup", ALL.values(), ids=ALL)
def test_pages_that_differ_in_one_thing_are_two_pages_and_a_revisit_sees_it(markup: str) -> None:
    one, other = (
        texts(f"<h1>Photo</h1>{markup.replace('{}', name).replace('{{', '{').replace('}}', '}')}")
        for name in ("one", "two")
    )
    assert one.whole != other.whole
    assert one.core != other.core


@pytest.mark.parametrize(
    "program",
    ["<script>load({})</script>", "<button onclick=\"location = '/{}'\">Get</button>"],
)
def test_a_program_makes_two_pages_and_leaves_a_page_unchanged(program: str) -> None:
    one, other = (texts(f"<h1>Photo</h1>{program.format(name)}") for name in (1, 2))
    assert one.whole != other.whole
    assert one.core == other.core


SAME = {
    "session": '<a href="/buy?sid={:031x}a">Buy</a>',
    "campaign": '<a href="/buy?utm_source=s{}">Buy</a>',
    "way back": '<a href="/login?next=%2Fpage%2F{}">Log in</a>',
    "sharing": '<a href="https://twitter.com/intent/tweet?url=https://e.example/{}">Tweet</a>',
    "navigation": '<nav><a href="/de/{}">Deutsch</a></nav>',
    "label in navigation": '<nav><button aria-label="Messages: {}"></button></nav>',
    "age": '<time title="{} minutes ago"></time>',
    "search": '<div role=search><input name=q value="{}"></div>',
    "token": "<input type=hidden name=csrf value={}>",
    "password": "<input type=password value={}>",
    "pixel": "<img src=/count.gif?{} width=1 height=1>",
    "tracker": "<noscript><img src=https://www.facebook.com/tr?id={}></noscript>",
    "frame of a tracker": (
        "<noscript><iframe src=https://www.googletagmanager.com/ns.html?id={}></iframe></noscript>"
    ),
}


@pytest.mark.parametrize("markup", SAME.values(), ids=SAME)
def test_what_visits_and_addresses_put_into_a_page_makes_no_other_page(markup: str) -> None:
    one, other = (texts(f"<h1>Photo</h1>{markup.format(name)}") for name in (1, 2))
    assert one == other


SESSION = "9f3ab2c1d4e5f6a7b8c90123"


@pytest.mark.parametrize(
    "carried",
    [
        f"?PHPSESSID={SESSION}",
        f"?sid={SESSION}",
        f"?osCsid={SESSION}",
        f"?ASPSESSIONIDABCD={SESSION}",
        f";jsessionid={SESSION}",
        f"?jsessionid={SESSION}#top",
        "?utm_source=feed",
    ],
)
def test_links_with_a_session_lead_where_those_without_one_lead(carried: str) -> None:
    links = '<header><a href="/{}">Home</a></header><h1>Photo</h1><a href="/buy{}">Buy</a>'
    anchor = "#top" if carried.endswith("#top") else ""
    assert texts(links.format(carried, carried)) == texts(links.format(anchor, anchor))


def test_a_link_keeps_its_parameters_beside_a_session() -> None:
    def to(address: str) -> ThinTexts:
        return texts(f'<h1>Photo</h1><a href="{address}">Buy</a>')

    assert to(f"/buy?id=1&sid={SESSION}") == to("/buy?id=1") != to("/buy?id=2")
    assert to("/buy?sid=12") != to("/buy?sid=13")


STEADY = {
    "day": "<input type=date value=2026-11-0{}>",
    "token in a field": "<input value={:032x}a1>",
    "button": "<input type=submit value='Send {}'>",
    "background around": "<aside><div style='background:url(/{}.jpg)'></div></aside>",
}


@pytest.mark.parametrize("markup", STEADY.values(), ids=STEADY)
def test_what_changes_with_every_load_leaves_a_page_unchanged(markup: str) -> None:
    one, other = (texts(f"<h1>Photo</h1>{markup.format(name)}") for name in (1, 2))
    assert one.core == other.core


def test_whoever_refers_a_visitor_may_be_all_that_a_link_is_about() -> None:
    one, other = (texts(f"<a href='/go?ref={name}'>Go</a>") for name in ("ann", "bob"))
    assert one.whole != other.whole


def test_data_that_mentions_an_address_counts_to_its_end() -> None:
    data = '<script type="application/json">{"u": "/a?utm_source=b", "id": %d}</script>'
    one, other = (texts(f"<h1>Photo</h1>{data % number}") for number in (1, 2))
    assert one.core != other.core


def test_a_page_of_more_elements_than_real_ones_have_is_compared_by_its_markup() -> None:
    crowd = "<i></i>" * 30_000
    one, other = (texts(f"{crowd}<img src=/{number}.jpg>") for number in (1, 2))
    assert one != other
    assert len(one.whole) < 1000


@pytest.mark.parametrize(
    "body",
    [
        "<img srcset='" + "/a.jpg 1x, " * 300_000 + "'>",
        '<div style="background:url(\'"></div>' * 40_000,
        "<style>" + 'url("' * 800_000 + "</style>",
        "<a href='?" + "&next=/a" * 400_000 + "'>x</a>",
        "<p onclick='" + "open " * 800_000 + "'>x",
    ],
    ids=["srcset", "style", "sheet", "query", "program"],
)
def test_hostile_attributes_take_linear_time(body: str) -> None:
    started = time.process_time()
    try:
        read(body)
    except PageError as error:
        assert error.reason == "empty"  # noqa: PT017
    assert time.process_time() - started < 8


@pytest.mark.parametrize(
    "part",
    [
        "<p a{0:x}=1 b{0:x}>some words",
        "<x{0:x}>some words</x{0:x}>",
        '<p a{0:x}=""b{0:x}=""/c{0:x}>',
    ],
    ids=["attributes", "tags", "without white space"],
)
def test_a_page_of_endless_names_is_refused_before_it_is_parsed(part: str) -> None:
    few, many = ("".join(part.format(n) for n in range(count)) for count in (19_000, 61_000))
    assert read(f"<p>What is on the page.</p>{few}").main
    with pytest.raises(PageError, match="names of tags and attributes, more than 60,000"):
        read(many)


@pytest.mark.parametrize("name", ["newsletter-signup", "related-posts", "cookie-banner"])
def test_a_box_named_as_noise_does_not_make_a_short_page_long(name: str) -> None:
    box = (
        f"<div class={name}><p>Once a month we write about boats, piers and lamps. Leave your "
        "address here, and the next letter is yours. You can leave whenever you like to.</p></div>"
    )
    first, second = (
        Page(
            f"https://a.example/gallery/{picture}",
            html=f"<title>The pier</title><main><h1>The pier</h1><p>Seen from the quay.</p>"
            f"<p><a href=/files/{picture}>Download</a></p></main>{box}",
        )
        for picture in ("dawn", "dusk")
    )
    assert not compare(first, second).verdict.is_duplicate
