"""The main text of a page comes to the callback, if the crawl asks for it, and nowhere else."""

from typing import Any

import pytest
import scrapy
from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse

from crawldedup import Deduplicator, add_text
from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ConfigurationError
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.scrapy_plugin.items import DropItemsMiddleware
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.test_crawls import TOPICS, counting_site
from tests.scrapy_plugin.test_items import MAKERS
from tests.scrapy_plugin.website import Answer, Site, article

BLOCKS = {"CRAWLDEDUP_EXTRACTOR": "blocks", "CRAWLDEDUP_ACTION": "mark"}


def named(seed: int, title: str, heading: str) -> Answer:
    """An article with a title of its own."""
    page = article(seed)
    body = page.body.replace(b"<title>Article<", f"<title>{title}<".encode())
    return page._replace(body=body.replace(b"<h1>Article<", f"<h1>{heading}<".encode()))


PAGES = {
    "/a": named(31, "The Old Ferry | The Daily", "The Old Ferry"),
    "/a-copy": named(31, "The Old Ferry | The Daily", "The Old Ferry"),
    "/b": named(32, "Räder — The Daily", "Räder"),
    "/notes.txt": Answer(b"all the words of a note " * 9, content_type="text/plain"),
    "/short": Answer(b"<title>Closed</title><nav>Home</nav><p>Closed today.</p>"),
    "/data.json": Answer(b'{"text": "some words"}', content_type="application/json"),
}


def main_text(page: Answer) -> str:
    return extract_page(page.body, "utf-8", get_extractor("blocks"), min_words=20).main


def test_items_get_the_text_that_was_compared_and_the_name(crawl: Crawler) -> None:
    with Site(PAGES) as site:
        result = crawl(site, list(PAGES), **BLOCKS, CRAWLDEDUP_TEXT=True)
    items = {item["url"]: item for item in result.report["kept"]}
    assert items.keys() == PAGES.keys()
    for path, name in {
        "/a": "The Old Ferry",
        "/a-copy": "The Old Ferry",
        "/b": "Räder",
    }.items():
        assert items[path]["text"] == main_text(PAGES[path])
        assert items[path]["name"] == name
    assert items["/a-copy"]["dedup_kind"] == "exact_duplicate"
    assert items["/notes.txt"]["text"].startswith("all the words of a note all")
    assert items["/short"]["text"] == "Closed today."
    assert items["/short"]["name"] == "Closed"
    # It was not checked.
    assert (items["/data.json"]["text"], items["/data.json"]["name"]) == (None, None)
    assert result.counts["checked"] == len(PAGES) - 1


def test_without_the_setting_no_text_is_there_but_a_request_may_ask_for_it(crawl: Crawler) -> None:
    asking: dict[str, Any] = {"url": "/b", "meta": {"crawldedup": {"text": True}}}
    with Site(PAGES) as site:
        result = crawl(site, ["/a", asking], **BLOCKS, add_text=True)
    texts = {item["url"]: item["text"] for item in result.report["kept"]}
    assert texts == {"/a": None, "/b": main_text(PAGES["/b"])}


def test_a_line_that_changes_with_every_load_is_compared_no_more_and_comes_along(
    crawl: Crawler,
) -> None:
    sessions = [
        f"/{number}?sid=a1b2c3d{session}" for session in range(3) for number in range(TOPICS)
    ]
    with counting_site() as site:
        result = crawl(site, sessions, CRAWLDEDUP_ACTION="mark", CRAWLDEDUP_TEXT=True)
    assert result.counts["volatile"] >= TOPICS
    texts = [item["text"] for item in result.report["kept"]]
    assert len(texts) == len(sessions)
    assert all("Who is online: " in text for text in texts)


NEWSLETTER = (
    "Do you like what you read? Subscribe to the newsletter of the harbor, which comes each week."
)
_NAMES = ("Ferry", "Storm", "Mayor", "Market", "Tide", "Bridge", "Museum", "Garden", "Tower")


def post(seed: int, name: str) -> Answer:
    """An article that ends with what its site repeats."""
    page = named(seed, f"{name} | The Daily", name)
    return page._replace(
        body=page.body.replace(b"</article>", f"<p>{NEWSLETTER}</p></article>".encode())
    )


def test_what_a_site_repeats_is_left_out_of_the_text_and_is_compared_as_before(
    crawl: Crawler,
) -> None:
    pages = {f"/blog/{name}": post(60 + at, name) for at, name in enumerate(_NAMES)}
    pages["/blog/ferry-again"] = pages["/blog/Ferry"]
    found = {}
    for wanted in (True, "own"):
        with Site(pages) as site:
            result = crawl(site, list(pages), **BLOCKS, CRAWLDEDUP_TEXT=wanted)
        found[wanted] = {item["url"]: item for item in result.report["kept"]}
        assert result.counts["duplicate/exact"] == 1
    whole, own = ([items[path]["text"] for path in pages] for items in found.values())
    assert [text.endswith(NEWSLETTER) for text in whole] == [True] * len(pages)
    assert [NEWSLETTER in text for text in own] == [True] * 4 + [False] * (len(pages) - 4)
    assert own[-1] == whole[-1].removesuffix(f"\n{NEWSLETTER}")


_STORY = " ".join(f"Boat {n} leaves at pier {n + 7} when the tide is high." for n in range(30))
_APART = "<title>The Old Ferry | News</title><header><h1>{}</h1></header><article>{}<p>{}</article>"


@pytest.mark.parametrize(
    ("html", "options", "beginning"),
    [
        (_APART.format("The Old Ferry", "", _STORY), {}, "The Old Ferry\nBoat 0"),
        # It's there, in the words of a sentence or as a line.
        (_APART.format("The Old Ferry", "<p>Ah, The Old Ferry!", _STORY), {}, "Ah, The Old"),
        (
            _APART.format("The Old Ferry", "<h1>The Old Ferry</h1>", _STORY),
            {},
            "The Old Ferry\nBoat 0",
        ),
        # The text has a heading of its own, so the other one is that of the site.
        (_APART.format("News", "<h1>The Ferry</h1>", _STORY), {}, "The Ferry\nBoat 0"),
        # The name is only in the title.
        (_APART.format("", "", _STORY), {}, "Boat 0"),
        # The user wants this part of the page.
        (_APART.format("The Old Ferry", "", _STORY), {"content": "article"}, "Boat 0"),
    ],
)
def test_a_text_begins_with_the_heading_that_stands_apart_from_it(
    html: str, options: dict[str, Any], beginning: str
) -> None:
    with Deduplicator(keep_texts=True, **options) as dedup:
        checked = dedup.check_with_text("https://e.com/ferry", html=html)
        assert checked.text is not None
        assert checked.text.startswith(beginning)
        assert checked.text.count("The Old Ferry") <= 1
        # What is compared stays as it is.
        compared = dedup.text_of("https://e.com/ferry")
        assert compared is not None
        assert compared.startswith("Boat") == (
            beginning != "Ah, The Old" and "<article><h1" not in html
        )


def test_another_value_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be True, False or 'own'"):
        CrawlOptions.from_values({"text": "all"})


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_item_takes_its_text(make: Any) -> None:
    meta = {"crawldedup_text": "It leaves at noon.", "crawldedup_name": "Ferry"}
    request = scrapy.Request("https://e.com/b", meta=meta)
    response = HtmlResponse("https://e.com/b", request=request)
    item = make(url="https://e.com/b", body="")
    assert add_text(item, response, {"text": "body"}) is item
    assert ItemAdapter(item)["body"] == "It leaves at noon."
    assert add_text({}, response) == {"text": "It leaves at noon.", "name": "Ferry"}
    assert add_text({}, HtmlResponse("https://e.com/b")) == {"text": None, "name": None}


def test_a_wrong_part_or_field_is_explained() -> None:
    with pytest.raises(ConfigurationError, match="there is no 'title' to write; there are text, n"):
        add_text({}, None, {"title": "title"})
    with pytest.raises(ConfigurationError, match=r"Item does not accept its text .KeyError.*text"):
        add_text(scrapy.Item(), None)


def test_a_text_is_not_handed_on_with_the_meta_of_its_page() -> None:
    middleware = DropItemsMiddleware(FakeCrawler())  # type: ignore[arg-type]
    meta = {"crawldedup_text": "It leaves.", "crawldedup_name": "Ferry", "own": 1}
    response = HtmlResponse("https://e.com/", request=scrapy.Request("https://e.com/", meta=meta))
    assert response.request is not None
    followed = response.follow("/next", meta=response.meta)
    assert middleware.get_processed_request(followed, response).meta == {"own": 1}
    # Its own request may be in use.
    again = middleware.get_processed_request(response.request, response)
    assert again.meta == response.meta == meta
