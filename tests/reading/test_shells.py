"""What is a shell that a script has yet to fill, and what only looks like one."""

import time
from typing import Any

import pytest

from crawldedup import Deduplicator, Kind, Page, PageError, compare
from crawldedup.options import Options
from crawldedup.reading.reader import PageReader

URL = "https://shop.acme.example/item/4711"
PROGRAM = '<script defer src="/static/js/main.8f2b1c.js"></script>'
WANTED = "<noscript>You need to enable JavaScript to run this app.</noscript>"
ARTICLE = "<h1>The old harbor</h1>" + (
    "<p>The old harbor lies behind the market, and the boats leave it each morning.</p>" * 9
)


def page(body: str, *, title: str = "Acme", head: str = PROGRAM, attributes: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}'
        f"</head><body {attributes}>{body}</body></html>"
    )


def outcome(html: str, url: str = URL, **options: Any) -> str:
    """What reading a page comes to: the reason why it is not compared, or "read"."""
    try:
        PageReader(Options.from_values(options)).content(Page(url, html=html))
    except PageError as error:
        return error.reason
    return "read"


SHELLS = {
    "React": page(f'{WANTED}<div id="root"></div>'),
    "Vite": page('<div id="app"></div>', head='<script type="module" src="/a.js"></script>'),
    "Next.js before its data": page(
        '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">'
        '{"props":{"pageProps":{}},"page":"/item/[id]","query":{},"buildId":"k3J9x"}</script>'
    ),
    "Nuxt": page(
        '<div id="__nuxt"><div id="nuxt-loading" role="status"><p>Loading...</p></div></div>'
    ),
    "Angular": page(
        '<app-root><div class="spinner"></div><p class="app-loading">Getting ready</p></app-root>'
    ),
    "Svelte": page(
        '<div style="display: contents"><script>import("/_app/start.js")</script></div>',
        head='<link rel="modulepreload" href="/_app/start.js">',
    ),
    "Ember": page('<div id="modal"></div><script src="/assets/vendor.js"></script>', head=""),
    "Gatsby": page(
        '<noscript id="gatsby-noscript">This app works best with JavaScript enabled.</noscript>'
        '<div id="___gatsby"></div>'
    ),
    "Blazor": page(
        '<div id="app"><svg><circle r="40%"/></svg><div class="loading-progress-text"></div></div>'
        '<div id="blazor-error-ui">An unhandled error has occurred. <a href=".">Reload</a></div>'
    ),
    "Flutter": page('<script src="flutter_bootstrap.js" async></script>', head='<base href="/">'),
    "Elm": page(
        '<main id="elm"></main><script>Elm.Main.init({node: document.getElementById("elm")})'
        "</script>",
        head="",
    ),
    "GWT": page(
        "<iframe src=\"javascript:''\" id='__gwt_historyFrame'></iframe>",
        head='<script src="shop/shop.nocache.js"></script>',
    ),
    "Ext JS": page("", head='<script id="microloader" src="bootstrap.js"></script>'),
    "AngularJS": page('<div ui-view class="ng-cloak"></div>', attributes="ng-cloak"),
    "no title": page('<div id="root"></div>', title=""),
    "a title of its own, and nothing to tell that by": page(
        '<div id="root"></div>', title="In the old harbor - Acme"
    ),
    "a longer name for others": page(
        f'<div class="splash"><p>{"Boats and lamps. " * 8}</p></div>',
        head=f'<meta property="og:title" content="Acme: all for boats">{PROGRAM}',
    ),
    "the site in JSON-LD": page(
        '<div id="root"></div><script type="application/ld+json">'
        '{"@type": "Organization", "name": "Acme"}</script>'
    ),
    "an availability of nothing": page(
        '<div id="root"></div><script type="application/ld+json">'
        '{"@type": "Organization", "name": "Acme", "availability": "InStock"}</script>'
    ),
    "a tracker beside it": page(
        '<div id="root"></div><noscript><iframe src="https://www.googletagmanager.com/ns.html">'
        '</iframe></noscript><script>dataLayer = [{"id": "GTM-ABCD"}]</script>'
    ),
    "a newer browser": page(
        '<div class="outdated-browser"><p>Your browser is too old.</p><a href="https://a.example/f">'
        'Firefox</a> <a href="https://a.example/c">Chrome</a> <a href="https://a.example/s">Safari'
        '</a></div><div id="x"></div>'
    ),
    "German": page("<noscript>Bitte aktivieren Sie JavaScript.</noscript><div></div>"),
    "Russian": page("<noscript>Включите JavaScript.</noscript><div><p>Загрузка…</p></div>"),
    "Japanese": page("<noscript>JavaScriptを有効にしてください。</noscript><main></main>"),
    "Arabic": page("<noscript>يجب تفعيل جافا سكريبت.</noscript><div></div>"),
    "Korean": page("<noscript>자바스크립트를 활성화해야 합니다.</noscript><div></div>"),
    "Chinese": page("<noscript>请启用 JavaScript。</noscript><div>正在加载…</div>"),
}
# The rule was not made on these.
FRESH = {
    "OpenUI5": page(
        '<div data-sap-ui-component data-name="shop.browse" data-id="container"></div>',
        title="Walkthrough",
        head='<script id="sap-ui-bootstrap" src="https://ui5.sap.com/sap-ui-core.js"></script>',
        attributes='class="sapUiBody" id="content"',
    ),
    "Meteor": page(
        '<script>__meteor_runtime_config__ = JSON.parse("%7B%7D")</script>'
        '<script src="/0a8f.js?meteor_js_resource=true"></script>',
        title="todos",
        head="",
    ),
    "Aurelia": page(
        '<div class="splash"><div class="message">Contact manager</div><i class="fa"></i></div>'
        '<script src="scripts/vendor-bundle.js" data-main="aurelia-bootstrapper"></script>',
        title="Contact manager",
        head="",
        attributes='aurelia-app="main"',
    ),
    "Docsify": page(
        '<div id="app">Please wait...</div><script>window.$docsify = {name: "", repo: ""}</script>'
        '<script src="//cdn.jsdelivr.net/npm/docsify@4"></script>',
        head="",
    ),
}
NAV = '<nav><a href="/">Home</a> <a href="/lamps">Lamps</a> <a href="/boats">Boats</a></nav>'
FOOTER = (
    "<footer><h3>Company</h3><ul>"
    + "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ["about", "jobs", "press"])
    + "</ul><p>Acme, Pier 7, 20457 Hamburg</p></footer>"
)
# What a site has around the content of each page.
SURROUNDED = {
    "a header": page('<header>My Shop</header><div id="root"></div>', title="My Shop"),
    "a line": page('<p>My Shop</p><div id="root"></div>', title="My Shop"),
    "a part of the title": page(
        '<h1>My Shop</h1><div id="root"></div>', title="My Shop | All for boats"
    ),
    "the domain in two words": page(
        '<h1>Ac Me</h1><div id="root"></div>', title="Lost cat - Ac Me"
    ),
    "the name that it declares": page(
        '<div id="root"><h1>Boats &amp; Lamps</h1></div>',
        head=f'<meta property="og:site_name" content="Boats &amp; Lamps">{PROGRAM}',
    ),
    "a navigation": page(f'{NAV}<div id="root"></div>'),
    "a navigation by its role": page(
        f'<div role="navigation">{NAV[5:-6]}</div><div id="root"></div>'
    ),
    "cookies": page(
        '<div id="cookie-banner">We use cookies. <button>OK</button></div><div id="root"></div>'
    ),
    "many words about cookies": page(
        '<div id="root"></div><div class="cc-consent"><h2>Your privacy</h2>'
        f"<p>{'We and our partners store data on your device. ' * 15}</p>"
        '<input type="checkbox" value="ads"><button>Accept</button></div>'
    ),
    "the name where it is mounted": page('<div id="root"><h1>My Shop</h1></div>', title="My Shop"),
    "a footer of links": page(f'<div id="root"></div>{FOOTER}'),
    "a footer by its name": page(
        '<div id="root"></div><div class="site-footer">'
        + "".join(f"<p><a href='/{n}'>What we do on pier {n}</a></p>" for n in range(30))
        + "</div>"
    ),
    "all of it": page(
        '<div id="page"><a class="skip-link" href="#root">Skip to the content</a>'
        '<header><a href="/"><img src="/media/acme-2026.png" alt="Acme"></a>'
        f'<form role="search"><input name="q"></form>{NAV}</header>'
        f'<main id="root"></main>{FOOTER}<div id="modal-root"></div>'
        "<dialog><h2>Newsletter</h2><p>Write to me each month.</p><input name='mail'></dialog></div>"
    ),
    "an element of its own": page(f"{NAV}<shop-app></shop-app>"),
}
# What stands around the content does not make a shell of a page that has some, or no mount point.
BORDER = {
    "a short page and comments": page(
        f'<header>Acme</header>{NAV}<p>The ferry is canceled.</p><div id="comments"></div>{FOOTER}'
    ),
    "comments alone": page(f'<header>Boats and lamps</header>{NAV}<div id="comments"></div>'),
    "a map alone": page(f'{NAV}<div id="map"></div>{FOOTER}'),
    "a place for an advertisement": page(f'{NAV}<div id="div-gpt-ad-1"></div>{FOOTER}'),
    "two sentences beside a widget": page(
        f"{NAV}<article><p>The ferry is canceled. It leaves again on Monday.</p></article>"
        '<div id="app"></div>'
    ),
    "a header of an article": page(
        '<article><header><p>The ferry is canceled.</p></header></article><div id="app"></div>'
    ),
    "contact": page(
        f"<header>Acme</header>{NAV}<h1>Contact</h1><p>Pier 7, Hamburg</p><div id='map'></div>"
    ),
    "a heading and a map": page(
        f'{NAV}<div id="page"><h1>Contact us</h1><div id="map"></div></div>{FOOTER}',
        title="Contact us",
    ),
    "no results": page(
        f"{NAV}<main><h1>No results</h1><div id='results'></div></main>{FOOTER}",
        title="No results | My Shop",
    ),
    "a search that was made": page(
        '<header><input name="q" value="blue lamp"></header><div id="hits"></div>'
    ),
    "a picture": page(f'{NAV}<div id="app"></div><img src="/media/lamp-17.jpg">{FOOTER}'),
    "a picture in a header": page(
        f'<header><img src="/media/lamp-17.jpg"></header>{NAV}<div id="app"></div>'
    ),
    "a picture that leads on": page(
        '<header><a href="/lamp/17"><img src="/media/lamp-17.jpg"></a></header><div id="app"></div>'
    ),
    "a film": page(f'{NAV}<div id="app"></div><video src="/films/17.mp4"></video>'),
    "a form": page(f'{NAV}<form><input name="mail"></form><div id="app"></div>{FOOTER}'),
    "a drawing": page(f"{NAV}<div id='chart'><svg><path d='M0 0h9'/></svg></div>"),
    "a heading in the header": page('<header><h2>Lost cat</h2></header><div id="app"></div>'),
    "a first heading in a banner": page(
        '<div class="banner"><h1>Lost cat</h1><p>Grey.</p></div><div id="app"></div>'
    ),
    "a name of the page": page(
        f'{NAV}<h1>Lost cat</h1><div id="x"></div>', title="Lost cat - Acme"
    ),
    "a name beside the site's": page(
        '<div id="root"><h1>Lost cat</h1></div>',
        title="Lost cat",
        head=f'<meta property="og:site_name" content="Pets">{PROGRAM}',
    ),
    "an error": page('<div id="root"><h1>Page not found</h1></div>', title="Page not found"),
    "a number": page(f'{NAV}<div id="root"><p>17</p></div>'),
    "a menu of a restaurant": page(
        f'{NAV}<div class="menu"><p>Soup of the day</p></div><div id="app"></div>'
    ),
    "a navigation that was never closed": page(
        "<nav><a href='/a'>Home</a><article><p>The ferry is canceled.</p></article>"
        "<div id='app'></div>"
    ),
    "no banner": page(
        '<div class="has-banner no-nav"><p>The ferry is canceled.</p></div><div id="app"></div>'
    ),
    "a layout": page(f"{NAV}<div class='row'><div class='col'></div></div>{FOOTER}"),
    "no script": page(f'{NAV}<div id="root"></div>{FOOTER}', head=""),
}
NO_SHELLS = {
    "Next.js with its page": page(f'<div id="__next"><main>{ARTICLE}</main></div>'),
    "a short page of Next.js": page(
        '<div id="__next"><main><h1>Lost cat</h1><p>Grey, answers to Admiral.</p></main></div>'
    ),
    "Next.js with its data": page(
        '<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">'
        '{"props": {"pageProps": {"item": {"id": 12, "name": "Blue lamp"}}}}</script>'
    ),
    "a state": page(
        '<div id="root"></div><script>window.__STATE__ = {"item": {"id": 5}};</script>'
    ),
    "Angular with its page": page(
        f'<app-root ng-version="17"><article>{ARTICLE}</article></app-root>'
    ),
    "a map beside an article": page(f'<article>{ARTICLE}</article><div id="map"></div>'),
    "a map beside a line": page('<p>The office is at pier 7.</p><div id="map"></div>'),
    "places for advertisements": page(
        '<div id="div-gpt-ad-1"></div><p>A note about the ferry.</p><div id="div-gpt-ad-2"></div>'
    ),
    "an article without scripts": page(f'<div id="app"></div><noscript>{ARTICLE}</noscript>'),
    "a line without scripts": page(
        '<div id="app"></div><noscript><p>Grey cat, answers to Admiral.</p></noscript>'
    ),
    "a place for comments": page('<p>Ferry canceled.</p><div id="disqus_thread"></div>'),
    "an island": page("<p>Written by the harbor master.</p><astro-island></astro-island>"),
    "a picture": page('<div id="app"></div><img src="/media/lamp-17.jpg">'),
    "a film": page('<div id="player"></div><video src="/films/17.mp4"></video>'),
    "a frame": page('<div id="app"></div><iframe src="https://play.example/embed/17"></iframe>'),
    "a form": page('<div id="errors"></div><form><input name="q"></form>'),
    "three links": page(
        '<div id="app"></div><a href="/a">1</a> <a href="/b">2</a> <a href="/c">3</a>'
    ),
    "a heading where it loads": page('<div class="page-loading"><h1>Lost cat</h1></div>'),
    "what loads ships": page('<p>Loading dock B is closed for repairs.</p><div id="map"></div>'),
    "a hidden field": page(
        '<div id="app"></div><input type="hidden" name="productId" value="4712">'
    ),
    "a place on a map": page('<div class="map" data-lat="53.1" data-lng="9.9"></div>'),
    "a soft error": page("<h1>Page not found</h1><p>Sorry.</p><div id='portal'></div>"),
    "a redirect": page("<div></div>", head=f'<meta http-equiv="refresh" content="0;/x">{PROGRAM}'),
    "no script": page('<div id="content"></div>', head=""),
    "statistics alone": page(
        '<div id="content"></div>',
        head='<script src="https://www.googletagmanager.com/gtag/js?id=G-1"></script>',
    ),
    "a drawing": page("<svg><path d='M0 0h9'/></svg>"),
    "another language": page('<div id="app"></div><p>渡轮今天停航。</p>'),
}


@pytest.mark.parametrize("name", SURROUNDED)
@pytest.mark.parametrize("extractor", ["blocks", "trafilatura", "text"])
def test_what_each_page_of_a_site_has_around_its_content_is_none(name: str, extractor: str) -> None:
    assert outcome(SURROUNDED[name], extractor=extractor) == "shell"


@pytest.mark.parametrize("name", BORDER)
def test_elements_around_content_do_not_hide_it(name: str) -> None:
    assert outcome(BORDER[name]) == "read"


@pytest.mark.parametrize("name", [*SHELLS, *FRESH])
def test_a_shell_is_refused(name: str) -> None:
    assert outcome((SHELLS | FRESH)[name]) == "shell"


@pytest.mark.parametrize("name", NO_SHELLS)
def test_whatever_tells_a_page_apart_makes_it_none(name: str) -> None:
    assert outcome(NO_SHELLS[name]) == "read"


@pytest.mark.parametrize("extractor", ["blocks", "trafilatura", "text"])
@pytest.mark.parametrize("distinguish", ["siblings", "numbers", "nothing"])
def test_neither_extractor_nor_distinguish_changes_that(extractor: str, distinguish: str) -> None:
    options = {"extractor": extractor, "distinguish": distinguish}
    assert outcome(SHELLS["Blazor"], **options) == "shell"
    assert outcome(NO_SHELLS["a map beside an article"], **options) == "read"


def test_what_the_user_selects_is_content_unless_it_belongs_to_the_shell() -> None:
    splash = page('<div id="root"><p class="loading">Boats leave at nine.</p></div>')
    content = page('<div id="root"><p>Boats leave at nine.</p></div><div id="chat"></div>')
    assert outcome(splash, content="#root") == "shell"
    assert outcome(content, content="#root") == "read"


def found_in_a_script(html: str) -> str:
    """Extract what the page shows in the end."""
    return "Boats leave the harbor at nine, and at ten, and at eleven. " * 3 if html else ""


def test_an_extractor_may_find_more_than_the_page_shows() -> None:
    extractor = f"{__name__}.{found_in_a_script.__name__}"
    assert outcome(SHELLS["React"], extractor=extractor) == "read"


def test_no_shell_is_dropped_or_remembered() -> None:
    shell = page(
        f'{WANTED}<div id="root"><div class="splash"><p>{"Boats and lamps for all. " * 8}</p></div>'
        "</div>"
    )
    with Deduplicator() as dedup:
        pages = [Page(f"https://acme.example/item/{n}", html=shell) for n in (1, 2, 2)]
        verdicts = list(dedup.check_many(pages))
        assert [(verdict.kind, verdict.url) for verdict in verdicts] == [
            (Kind.THIN, page.url) for page in pages
        ]
        assert dedup.info().pages == 0
        with pytest.raises(PageError, match="script has yet to bring its content"):
            dedup.explain(pages[0].url, html=shell)


NAMED = page(
    f'<div id="root"><p class="splash">{"Boats and lamps for all. " * 8}</p></div>',
    title="Acme | Everything for boats",
    head=f'{PROGRAM}<link rel="canonical" href="{{url}}">',
)


def test_a_page_that_says_where_it_is_has_its_views_as_copies_alone() -> None:
    kinds = []
    with Deduplicator() as dedup:
        for path, view in (("item/1", ""), ("item/2", ""), ("item/1", "?utm_source=x"), ("x", "")):
            url = f"https://acme.example/{path}"
            kinds.append(dedup.check(url + view, html=NAMED.format(url=url)).kind)
    assert kinds == [Kind.NEW, Kind.NEW, Kind.EXACT_DUPLICATE, Kind.NEW]


def test_the_home_page_as_canonical_says_nothing() -> None:
    html = NAMED.format(url="https://acme.example/")
    assert outcome(html, "https://acme.example/item/1") == "shell"
    assert outcome(html, "https://acme.example/") == "shell"


@pytest.mark.parametrize(
    ("path", "title", "expected"),
    [
        ("/p/blue-lamp", "Blue lamp | Acme", "read"),
        ("/p/4711", "Product 4711", "read"),
        ("/p/4711", "Blue lamp | Acme", "shell"),
        ("/acme/acme", "Acme", "shell"),
        ("/", "Blue lamp", "shell"),
    ],
)
def test_a_title_counts_if_it_repeats_the_address(path: str, title: str, expected: str) -> None:
    html = page('<div id="root"></div>', title=title)
    assert outcome(html, f"https://acme.example{path}") == expected


def test_compare_says_which_page_is_a_shell() -> None:
    first = Page("https://acme.example/1", html=NO_SHELLS["a map beside an article"])
    second = Page("https://acme.example/2", html=SHELLS["React"])
    with pytest.raises(
        PageError, match=r"https://acme\.example/2: .* a script has yet to"
    ) as error:
        compare(first, second)
    assert error.value.reason == "shell"


HOSTILE = {
    "elements": "<div></div>" * 100_000,
    "comments": "<!-- -->" * 200_000 + "<div></div>",
    "fallbacks": "<noscript>" + "<style " * 700 + "</noscript>",
    "scripts": "<script></script>" * 50_000 + "<div id=x></div>",
    "quotes": '<div id=x></div><script>"' + '"a' * 1_000_000 + "</script>",
    "a class": f'<div class="{"splash " * 200_000}">x</div>',
    "inline elements": "<b>" * 300 + "Loading" + "</b>" * 300,
    "navigation": "<nav>" * 300 + "<p>x</p><a href=/x>y</a>" * 20_000,
    "banners": '<div class="banner">' * 300 + "<i>x</i>" * 50_000,
    "headers": "<header><div id=x></div></header>" * 30_000,
    "a title": f"<title>{'a | - ' * 300_000}</title><div id=x></div>",
    "names": '<meta property="og:site_name" content="x">' * 50_000 + "<div></div>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_read_in_time(name: str) -> None:
    begun = time.process_time()
    assert outcome(page(HOSTILE[name] * 9 if name == "fallbacks" else HOSTILE[name])) in {
        "empty",
        "read",
        "shell",
        "too_deep",
        "too_large",
    }
    assert time.process_time() - begun < 8
