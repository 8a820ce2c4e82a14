"""Which copy of a content is kept: ranks of URLs, and real crawls that meet worse copies first."""

from collections.abc import Iterator

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse

from crawldedup.advice.address import may_name_more
from crawldedup.deduplicator import Deduplicator
from crawldedup.page import Page, ReadPage
from crawldedup.reading.canonical import HeadLinks
from crawldedup.scrapy_plugin.policy import Copies, with_claim
from crawldedup.scrapy_plugin.settings import CrawlOptions, check_patterns
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site, article

START = "https://www.example.com/"
GOOD = [
    "https://example.com/a",
    "https://blog.example.com/2026/a.html",
    "https://example.com/amplifier",
    "https://example.com/fingerprint/a-print-of-it",
    "https://example.com/a#part",
    "https://example.com/?p=7",
    "https://example.com/index.php?id=7&page=2",
    "https://example.com/amp-festival",
    "https://example.com/a?id=1",
]
POOR = [
    "https://example.com/a?sid=1",
    "https://example.com/index.php?id=7&PHPSESSID=1",
    "https://example.com/?p=7&utm_source=x",
    "https://example.com/a/print.html",
    "https://example.com/a/amp.html",
    "https://example.com/m/22",
    "https://example.com/a;jsessionid=1",
    "https://m.example.com/a",
    "https://amp.example.com/a",
    "https://example.com/print/a",
    "https://example.com/a/amp/",
    "https://example.com/a/AMP",
    "https://example.com/%70rint/a",
    "https://example.com/a.print.html",
    "https://example.com/a-print",
    "https://partner.example/a",
    "https://[broken/a",
]


@pytest.mark.parametrize(("urls", "rank"), [(GOOD, 0), (POOR, 1)])
def test_copies_on_the_crawls_own_sites_with_plain_urls_are_good(urls: list[str], rank: int) -> None:
    copies = Copies()
    copies.start_at(START)
    assert {url: copies.rank(url) for url in urls} == dict.fromkeys(urls, rank)


def test_a_page_with_a_query_that_is_no_scripts_is_asked_itself() -> None:
    asked = [url for url in (*GOOD, *POOR) if may_name_more(url)]
    assert asked == ["https://example.com/a?id=1", "https://example.com/a?sid=1"]


@pytest.mark.parametrize("start", [(), ("data:,items",), ("https://[broken",)])
def test_where_a_crawl_did_not_start_there_are_no_good_copies(start: tuple[str, ...]) -> None:
    copies = Copies()
    copies.start_at(*start)
    assert copies.rank("https://partner.example/a") == 1


def test_nor_on_sites_that_are_not_trusted() -> None:
    copies = Copies(None, frozenset({"example.com"}))
    copies.start_at(START, "https://other.example/")
    assert [copies.rank(f"https://{host}/a") for host in ("example.com", "other.example")] == [0, 1]


def test_patterns_come_first_and_the_first_of_them_foremost() -> None:
    copies = Copies(check_patterns("PREFER", ["/en/", "/de/", "(a|aa)+$"]))
    names = ["en/a?b", "de/en/", "de/a", f"fr/{'a' * 5000}b"]
    copies.start_at("https://e.com/")
    assert [copies.rank(f"https://e.com/{name}") for name in names] == [1, 1, 3, 6]


def test_ranks_have_an_end() -> None:
    copies = Copies(check_patterns("PREFER", ["x"] * 300))
    assert copies.rank("https://e.com/") == 255


def read(*canonical: str) -> ReadPage:
    return ReadPage(Deduplicator(key=0).fingerprint(text="some words"), HeadLinks(canonical=canonical))


PLAIN, QUERY = "https://e.com/a", "https://e.com/a?page=1"


@pytest.mark.parametrize(
    ("url", "canonical", "rank", "claimed", "ranked"),
    [
        (PLAIN, (), 0, None, 0),
        (PLAIN, ("/a",), 0, None, 0),
        (PLAIN, ("/b",), 0, "https://e.com/b", 1),
        (PLAIN, ("/",), 0, "https://e.com/", 0),  # sites that name their home page on every page mean nothing
        (PLAIN, ("/b", "/c"), 0, None, 0),
        (PLAIN, ("/b",), 1, "https://e.com/b", 1),
        (PLAIN, ("/b",), 2, "https://e.com/b", 3),
        (PLAIN, ("/b",), None, "https://e.com/b", 0),
        # Only the page itself tells whether the query matters.
        (QUERY, (), 0, None, 1),
        (QUERY, ("/a?page=1",), 0, None, 0),
        (QUERY, ("/a",), 0, "https://e.com/a", 1),
        (QUERY, (), 1, None, 1),
        (QUERY, (), None, None, 0),
    ],
)
def test_a_page_lowers_its_own_rank_by_its_word_on_its_original(
    url: str, canonical: tuple[str, ...], rank: int | None, claimed: str | None, ranked: int
) -> None:
    page = with_claim(Page(url, text="text"), read(*canonical), rank=rank)
    assert (page.canonical, page.rank) == (claimed, ranked)
    strict = with_claim(Page(url, text="text"), read(*canonical), rank=rank, is_lenient=False)
    assert (strict.canonical, strict.rank) == (None, ranked)


@pytest.mark.parametrize(
    ("prefer", "canonical", "claimed", "rank"),
    [
        (None, "compare", "https://e.com/y", 1),
        (None, "ignore", None, 1),
        ([], "compare", "https://e.com/y", 0),
        ([], "ignore", None, 0),
    ],
)
def test_link_headers_count_and_so_do_the_rules(
    prefer: list[str] | None, canonical: str, claimed: str | None, rank: int
) -> None:
    start = Request(PLAIN, meta={"is_start_request": True})
    response = HtmlResponse(PLAIN, headers={"Link": ["</x>; rel=next", "</y>; rel=canonical"]})
    copies = Copies(None if prefer is None else check_patterns("PREFER", prefer))
    complete = copies.claims_of(start, response, CrawlOptions(canonical=canonical))
    page = complete(Page(PLAIN, text="text"), read())
    assert (page.canonical, page.rank) == (claimed, rank)


def story(number: int, canonical: str | None = None) -> object:
    return article(number, head=f'<link rel="canonical" href="{canonical}">' if canonical else "")


HOME = {"url": "/", "meta": {"is_start_request": True}}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site(
        {
            "/": article(9),
            "/print/1": article(1),
            "/1?sid=1": article(1),
            "/1": article(1, changed_words=1),
            "/1-again": article(1),
            "/2-copy": story(2, "/2"),
            "/2": article(2),
            "/3-copy": story(3, "https://victim.example/3"),
            "/3": story(3, "https://victim.example/3"),
        }
    ) as running:
        yield running


def test_a_better_copy_is_delivered_once_and_names_what_it_replaces(crawl: Crawler, site: Site) -> None:
    pages = [HOME, "/print/1", "/1?sid=1", "/1", "/1-again", "/2-copy", "/2", "/2-copy"]
    result = crawl(site, pages)
    assert result.passed == ["/", "/print/1", "/1", "/2-copy", "/2"]
    assert [flags for _, flags in result.report["flags"]] == [["crawldedup:replaces"]] * 2
    assert result.report["duplicates"] == [
        ["/1?sid=1", "/print/1", True],
        ["/1", "/print/1", False],
        ["/1-again", "/1", True],
        ["/2", "/2-copy", False],
        ["/2-copy", "/2", True],
    ]
    assert result.counts["replaced"] == 2
    assert result.counts["dropped"] == 3


def test_a_page_that_names_anothers_as_its_original_neither_displaces_nor_suppresses_any(
    crawl: Crawler, site: Site
) -> None:
    result = crawl(site, [HOME, "/3-copy", "/3", "/1", "/print/1"])
    assert result.passed == ["/", "/3-copy", "/1"]
    assert "replaced" not in result.counts
