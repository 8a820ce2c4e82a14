"""Which copy of a content is better than another."""

import pytest

from crawldedup.crawling.copies import Copies, with_claim
from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.urls import HeadLinks
from tests.scrapy_plugin.fakes import FINGERPRINT

PATHS = {
    0: "a amplifier a#part ?p=7 index.php?id=7&page=2 amp-festival a?id=1",
    1: "a?sid=1 ?p=7&utm_source=x a/amp.html m/22 a;jsessionid=1 print/a a/amp/ %70rint/a a-print",
}
POOR = ["https://m.example.com/a", "https://partner.example/a", "https://[broken/a"]


def test_a_copy_on_a_site_of_the_crawl_with_a_plain_url_is_good() -> None:
    copies = Copies()
    copies.start_at("https://www.example.com/")
    ranks = {
        f"https://example.com/{path}": rank
        for rank, paths in PATHS.items()
        for path in paths.split()
    }
    ranks |= dict.fromkeys(POOR, 1)
    assert {url: copies.rank(url) for url in ranks} == ranks


def test_good_copies_are_on_trusted_sites_where_a_crawl_did_start() -> None:
    copies = Copies(None, frozenset({"example.com"}))
    copies.start_at("data:,items", "https://[broken")
    assert copies.rank("https://example.com/a") == 1
    copies.start_at("https://www.example.com/", "https://other.example/")
    assert [copies.rank(f"https://{host}/a") for host in ("example.com", "other.example")] == [0, 1]


def read(*canonical: str) -> ReadPage:
    return ReadPage(FINGERPRINT, HeadLinks(canonical=canonical))


PLAIN, QUERY = "https://e.com/a", "https://e.com/a?page=1"


@pytest.mark.parametrize(
    ("url", "canonical", "rank", "claimed", "ranked"),
    [
        (PLAIN, ("/b",), 0, "https://e.com/b", 1),
        # Sites that name their home page on every page mean nothing by it.
        (PLAIN, ("/",), 0, "https://e.com/", 0),
        (PLAIN, ("/b",), None, "https://e.com/b", 0),
        # Only the page itself tells whether the query matters.
        (QUERY, (), 0, None, 1),
        (QUERY, ("/a?page=1",), 0, None, 0),
    ],
)
def test_a_page_lowers_its_own_rank_by_its_word_on_its_original(
    url: str, canonical: tuple[str, ...], rank: int | None, claimed: str | None, ranked: int
) -> None:
    page = with_claim(Page(url, text="text"), read(*canonical), rank=rank)
    assert (page.canonical, page.rank) == (claimed, ranked)
    strict = with_claim(Page(url, text="text"), read(*canonical), rank=rank, is_lenient=False)
    assert (strict.canonical, strict.rank) == (None, ranked)


@pytest.mark.parametrize(("is_lenient", "claimed"), [(False, None), (True, "https://e.com/y")])
def test_link_headers_and_options_count(is_lenient: bool, claimed: str | None) -> None:
    headers = ["</x>; rel=next", "</y>; rel=canonical"]
    complete = Copies(()).preparer(PLAIN, headers, is_lenient=is_lenient)
    assert complete(Page(PLAIN, text="text"), read()).canonical == claimed
