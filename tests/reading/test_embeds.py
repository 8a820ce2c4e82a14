"""Pictures, players and posts that scripts and style sheets put into the content."""

from __future__ import annotations

import time

import pytest

from crawldedup.deduplicator import Deduplicator
from crawldedup.key import NO_KEY
from crawldedup.marks.relation import Conflict, shown_conflict
from crawldedup.marks.values import ContentMarks, ShownMarks
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader

URL = "https://harbour.example/tides/1"
PROSE = (
    "Low tide uncovers the sand bank twice a day, and the seals come to rest on it until the water "
    "is back. Nobody has counted the boats that were lost there in the fog."
)
READER = PageReader(Options())
NAMES = ("river-boat", "old-mill")

PICTURES = {
    "AMP": '<amp-img src="/up/{}.jpg" width=600 height=400></amp-img>',
    "AMP with a proportion": '<amp-img src="/{}.jpg" width=16 height=9 layout=fill></amp-img>',
    "an element of the site": '<lazy-photo data-src="/up/{}.webp"></lazy-photo>',
    "background": '<div class="wp-block-cover" style="background-image:url(/up/{}.jpg)"></div>',
    "quoted background": "<div style=\"background: #fff url('/show/{}') center\"></div>",
    "late background": '<section data-bg="/up/{}.jpg"></section>',
    "late background in a style": '<section data-bg="url(/up/{}.jpg)"></section>',
    "late element": '<div class="lazyload" data-src="/up/{}.png"></div>',
    "noscript": '<img src="data:image/gif;base64,R0lG"><noscript><img src="/{}.jpg"></noscript>',
    "noscript with an address of a program": (
        '<img src="data:image/gif;base64,R0lG"><noscript><img src="/show/{}"></noscript>'
    ),
    "noscript alone": "<noscript><img src='/up/{}.jpg' width=800></noscript>",
    "picture that a link opens": '<a data-fancybox href="/{}.jpg"><img src="/blank.gif"></a>',
}
PLAYERS = {
    "Lite YouTube": '<lite-youtube videoid="{}"></lite-youtube>',
    "AMP film": '<amp-youtube data-videoid="{}" width=480 height=270></amp-youtube>',
    "AMP player": '<amp-jwplayer data-player-id=Abc data-media-id="{}"></amp-jwplayer>',
    "Mux": '<mux-player playback-id="{}"></mux-player>',
    "film element": '<youtube-video src="https://films.example/watch?v={}"></youtube-video>',
    "model": '<model-viewer src="/{}.glb"></model-viewer>',
    "tweet": (
        '<blockquote class="twitter-tweet"><a href="https://a.example/ann">Ann</a> '
        '<a href="https://a.example/ann/status/{}">May 1</a></blockquote>'
    ),
    "Instagram": (
        '<blockquote class="instagram-media" data-instgrm-version=14 '
        'data-instgrm-permalink="https://i.example/p/{}/"></blockquote>'
    ),
    "TikTok": '<blockquote class="tiktok-embed" cite="https://t.example/{}"></blockquote>',
    "post": '<div class="fb-post" data-href="https://www.facebook.com/ann/posts/{}"></div>',
    "card": '<a class="embedly-card" href="https://films.example/{}">Film</a>',
    "gist": '<script src="https://gist.github.com/ann/{}.js"></script>',
    "terminal": '<script async src="https://asciinema.org/a/{}.js"></script>',
    "empty player": '<div class="youtube-player" data-id="{}"></div>',
    "Plyr": '<div data-plyr-provider=youtube data-plyr-embed-id="{}"></div>',
    "Wistia": '<div class="wistia_embed wistia_async_{}"></div>',
    "CodePen": '<p class="codepen" data-theme-id="0" data-slug-hash="{}">See the pen</p>',
    "document": '<a href="/files/{}.pdf">Download</a>',
    "recording": '<a href="https://cdn.example/{}.mp3?dl=1">Listen</a> <a href="/">Home</a>',
}


def shown(body: str) -> ShownMarks:
    html = f"<title>Seals</title><nav><a href=/>Home</a></nav><main><p>{PROSE}</p>{body}</main>"
    marks = READER.content(Page(URL, html=html)).marks
    assert marks is not None
    return marks


def marks_of(body: str) -> ContentMarks:
    return shown(body).hashed(NO_KEY)


def conflict_between(markup: str) -> Conflict:
    first, second = (marks_of(markup.format(name)) for name in NAMES)
    return shown_conflict(first, second)


@pytest.mark.parametrize("markup", PICTURES.values(), ids=PICTURES)
def test_other_pictures_make_two_pages(markup: str) -> None:
    assert conflict_between(markup) is Conflict.PICTURE


@pytest.mark.parametrize("markup", PLAYERS.values(), ids=PLAYERS)
def test_other_players_posts_and_documents_make_two_pages(markup: str) -> None:
    assert conflict_between(markup) is Conflict.PLAYER


@pytest.mark.parametrize("markup", [*PICTURES.values(), *PLAYERS.values()])
def test_pages_with_the_same_embed_are_copies(markup: str) -> None:
    embed = markup.format("river-boat")
    html = f"<title>Seals</title><main><p>{PROSE}</p>{embed}</main>"
    with Deduplicator() as deduplicator:
        deduplicator.check("https://harbour.example/tides/1", html=html)
        copy = deduplicator.check("https://harbour.example/sea/seals", html=html)
    assert copy.is_duplicate


NO_CONTENT = {
    "AMP advertisement": '<amp-ad type=adsense data-slot="/{}"></amp-ad>',
    "AMP recommendations": '<amp-embed type=taboola data-article="{}"></amp-embed>',
    "AMP counter": '<amp-pixel src="https://count.example/{}.gif"></amp-pixel>',
    "script": '<script src="https://ads.example/show.js?zone={}"></script>',
    "embedded advertisement": '<script src="https://ads.example/embed/{}.js"></script>',
    "script of all pages": '<script src="https://films.example/{}/embed.js"></script>',
    "advertisement": '<div class="ad-banner" style="background:url(/{}.jpg)"></div>',
    "aside": '<aside><div style="background:url(/{}.jpg)"></div></aside>',
    "film in an aside": '<aside><lite-youtube videoid="{}"></lite-youtube></aside>',
    "related pages": '<div class="related-posts"><div data-bg="/{}.jpg"></div></div>',
    "list": '<ul><li><div data-bg="/{}.jpg"></div></li></ul>',
    "link to a page": '<a href="/next" style="background:url(/{}.jpg)"></a>',
    "tracker": '<noscript><img src="https://www.facebook.com/tr?id={}"></noscript>',
    "counter": '<noscript><img src="https://count.example/{}.gif" width=1 height=1></noscript>',
    "symbol": '<svg-icon src="/{}.svg"></svg-icon>',
    "embed of a visit": '<div class="video-player" data-id="{:.1}9f3ab2c1d4e5f6a7b8"></div>',
    "person who plays": '<a class="player-name" href="/people/{}">Ann</a>',
    "part of a template": '<div class="elementor-embed" data-id="{}"></div>',
    "several documents": '<a href="/{}.pdf">One</a> <a href="/terms.pdf">Terms</a>',
    "document in a footer": '<footer><a href="/{}.pdf">Terms</a></footer>',
}


@pytest.mark.parametrize("markup", NO_CONTENT.values(), ids=NO_CONTENT)
def test_advertisements_and_what_is_around_the_content_make_no_other_page(markup: str) -> None:
    assert conflict_between(markup) is Conflict.NONE


def test_ordinary_pictures_lead_before_backgrounds() -> None:
    marks = shown('<div style="background:url(/wave.jpg)"></div><img src="/river.jpg">')
    assert marks.has_lead
    assert marks.pictures == ("river", "wave")


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<a href="/next"><img src="/{}.jpg"></a>', Conflict.PICTURE),
        ('<iframe src="https://films.example/embed/{}"></iframe>', Conflict.PLAYER),
    ],
)
def test_an_embed_of_all_pages_does_not_make_them_alike(markup: str, expected: Conflict) -> None:
    everywhere = (
        '<div style="background:url(/wave.jpg)"></div><lite-youtube videoid="intro"></lite-youtube>'
        '<a href="/terms.pdf">Terms</a>'
    )
    assert conflict_between(everywhere + markup) is expected
    document = '<a href="/terms.pdf">Terms</a>'
    assert conflict_between(document + '<mux-player playback-id="{}"></mux-player>') is (
        Conflict.PLAYER
    )


def test_embeds_next_to_much_text_make_no_other_page() -> None:
    film = '<lite-youtube videoid="{}"></lite-youtube>'
    assert conflict_between(film) is Conflict.PLAYER
    assert conflict_between(f"<p>{PROSE * 20}</p>{film}") is Conflict.NONE


@pytest.mark.parametrize(
    "body",
    [
        "<div data-bg=/a.jpg style='background:url(/b.jpg)'>" * 4_000,
        "<noscript><img src=/a.jpg></noscript>" * 40_000,
        "".join(f"<x-{number}>" for number in range(9_000)),
        "<a-" + "a-" * 400_000,
        "<blockquote class=tiktok-embed><a href=/a>a</a>" * 4_000,
        "<div style='" + "url(" * 300_000 + "'></div>",
    ],
    ids=["nested", "noscript", "tags", "long tag", "quotes", "style"],
)
def test_hostile_embeds_take_linear_time(body: str) -> None:
    started = time.process_time()
    shown(body)
    assert time.process_time() - started < 8
