"""Real crawls of sites whose pages a script has yet to fill."""

from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site, article


def shell(title: str = "Fetchly", head: str = "") -> Answer:
    """A page of an application, with a splash screen of forty words."""
    splash = "Lamps and boats for everybody who lives on the coast. " * 4
    return Answer(
        f"<!DOCTYPE html><html><head><title>{title}</title>{head}"
        '<script defer src="/static/js/main.8f2b1c.js"></script></head><body>'
        "<noscript>You need to enable JavaScript to run this app.</noscript>"
        f'<div id="root"><div class="splash"><p>{splash}</p></div></div></body></html>'.encode()
    )


ITEMS = [f"/item/{number}" for number in range(100, 112)]
PAGES = ["/a", *ITEMS[:6], "/a-copy", *ITEMS[6:]]


def shop() -> Site:
    return Site({**dict.fromkeys(ITEMS, shell()), "/a": article(1), "/a-copy": article(1)})


def test_shells_pass_without_a_verdict_and_with_one_warning(crawl: Crawler) -> None:
    with shop() as site:
        result = crawl(site, PAGES, CRAWLDEDUP_ACTION="drop")
    assert result.passed == [page for page in PAGES if page != "/a-copy"]
    assert result.counts == {
        "checked": 2,
        "new": 1,
        "duplicate/exact": 1,
        "dropped": 1,
        "skipped/shell": len(ITEMS),
    }
    assert [page for page, *_ in result.report["signals"]] == ["/a", "/a-copy"]
    (warning,) = result.errors
    assert "127.0.0.1 needs a browser: a script has yet to fill" in warning
    assert "scrapy-playwright or scrapy-splash" in warning


def test_no_page_of_a_shell_with_a_header_and_a_footer_is_lost(crawl: Crawler) -> None:
    shell_of_site = Answer(
        b"<title>My Shop</title><header>My Shop</header><nav><a href=/a>Home</a></nav>"
        b'<div id="root"></div><script src=/main.js></script><footer>Pier 7, Hamburg</footer>'
        b"<div id=cookie-banner>We use cookies. <button>OK</button></div>"
    )
    pages = [f"/item/{number}" for number in range(100, 141)]
    with Site(dict.fromkeys(pages, shell_of_site)) as site:
        result = crawl(site, pages, CRAWLDEDUP_ACTION="drop")
    assert result.passed == pages
    assert result.counts == {"skipped/shell": len(pages)}


def test_the_next_crawl_receives_them_again(crawl: Crawler, lasting_store: str) -> None:
    settings = {"CRAWLDEDUP_STORE": lasting_store, "CRAWLDEDUP_REVISIT": "drop"}
    with shop() as site:
        assert crawl(site, PAGES, **settings).counts["new"] == 1
        again = crawl(site, PAGES, **settings)
    assert again.items == ITEMS
    assert again.counts["unchanged"] == again.counts["revisit"] == 1


def test_the_same_bytes_are_a_shell_where_their_title_says_nothing(crawl: Crawler) -> None:
    """A worker remembers pages by their bytes, but for shells, the URL counts as well."""
    pages = ["/p/blue-lamp", "/p/blue-lamp?utm_source=x", "/p/4711", "/p/4712"]
    with Site(dict.fromkeys(pages, shell("Blue lamp"))) as site:
        result = crawl(site, pages, CRAWLDEDUP_ACTION="drop", CRAWLDEDUP_WORKERS=1)
    assert result.passed == [pages[0], *pages[2:]]
    assert result.counts["skipped/shell"] == 2


def test_pages_that_a_browser_rendered_too_early_get_another_advice(crawl: Crawler) -> None:
    with shop() as site:
        result = crawl(site, [{"url": ITEMS[0], "meta": {"splash": {"args": {"wait": 0}}}}])
    (warning,) = result.errors
    assert "rendered it too early: wait for an element of the content" in warning
