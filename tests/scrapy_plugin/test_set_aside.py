"""Items that a crawl drops are kept in a file, and come back from it as they were."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from scrapy.exporters import JsonLinesItemExporter
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawldedup.aside import check_path, items_in
from crawldedup.cli import main
from crawldedup.scrapy_plugin.set_aside import SetAside, encoding_of_feeds
from crawldedup.scrapy_plugin.settings import read_settings
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Site

PAGES = ["/a", "/a-copy", "/near/a", "/b"]


def test_dropped_items_are_set_aside_and_restored_as_they_were(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    path, restored = str(tmp_path / "aside.jl.gz"), tmp_path / "restored.jl"
    options = {"CRAWLDEDUP_ACTION": "drop-items", "CRAWLDEDUP_SET_ASIDE": path}
    result = crawl(site, PAGES, **options)
    assert result.items == ["/a", "/b"]
    assert result.counts["set_aside"] == result.counts["items_dropped"] == 2
    exact, near = items_in(Path(path))
    assert exact is not None
    assert near is not None
    assert (exact.evidence, near.evidence) == ("exact_duplicate", "near_duplicate")
    assert exact.url == f"{site.url}/a-copy"
    assert exact.cluster == near.cluster == f"{site.url}/a"
    # As the same crawl delivers them that marks them only.
    marked = crawl(site, PAGES, **{**options, "CRAWLDEDUP_ACTION": "mark"})
    expected = [item for item in marked.report["kept"] if item["url"] in ("/a-copy", "/near/a")]
    assert main(["restore", path, "-o", str(restored)]) == 0
    items = [json.loads(line) for line in restored.read_text().splitlines()]
    assert [item["url"] for item in items] == ["/a-copy", "/near/a"]
    assert [item["dedup_kind"] for item in items] == [item["dedup_kind"] for item in expected]
    with (tmp_path / "feed.jl").open("wb") as feed:
        exporter = JsonLinesItemExporter(feed)
        for item in items:
            exporter.export_item(item)
    assert restored.read_bytes() == (tmp_path / "feed.jl").read_bytes()
    # A later crawl appends.
    crawl(site, PAGES, **options)
    assert len([*items_in(Path(path))]) == 4


@pytest.mark.parametrize(
    ("encoding", "of_feed"),
    [(None, {}), ("utf-8", {}), ("ascii", {"encoding": "utf-8"}), ("utf-8", {"encoding": None})],
)
def test_restored_items_are_equal_to_those_of_the_feed_byte_for_byte(
    crawl: Crawler, site: Site, tmp_path: Path, encoding: str | None, of_feed: dict[str, Any]
) -> None:
    """They have the order of fields, the serializers and the encoding of the feed."""
    path, restored = str(tmp_path / "aside.jl.gz"), tmp_path / "restored.jl"
    feed = tmp_path / "feed.jl"
    options: dict[str, Any] = {
        "spider_class": "priced_spider.PricedSpider",
        "FEEDS": {str(feed): {"format": "jsonlines", "overwrite": True, **of_feed}},
        "FEED_EXPORT_ENCODING": encoding,
    }
    crawl(site, PAGES, **options, CRAWLDEDUP_ACTION="drop-items", CRAWLDEDUP_SET_ASIDE=path)
    assert main(["restore", path, "-o", str(restored)]) == 0
    delivered = feed.read_bytes().splitlines(keepends=True)
    assert len(delivered) == 2
    crawl(site, PAGES, **options, CRAWLDEDUP_ACTION="mark")
    everything = feed.read_bytes().splitlines(keepends=True)
    dropped = [line for line in everything if line not in delivered]
    assert b"12.50" in dropped[0]
    assert restored.read_bytes() == b"".join(dropped)


@pytest.mark.parametrize(
    ("feeds", "encoding"),
    [
        ({}, "latin-1"),
        ({"items.csv": {"format": "csv", "encoding": "utf-8"}}, "latin-1"),
        ({"items.jl": {}}, "latin-1"),
        ({"items.jl": {"encoding": "utf-8"}}, "utf-8"),
        ({"s3://a/items": {"format": "jsonl", "encoding": "utf-8"}}, "utf-8"),
        ({Path("items.jsonl"): {"encoding": None}}, None),
        ({"a.jl": {"encoding": "utf-8"}, "b.jl": {"encoding": None}}, "latin-1"),
    ],
)
def test_the_encoding_is_that_of_the_json_lines_feeds(
    feeds: dict[Any, Any], encoding: str | None
) -> None:
    settings = Settings({"FEEDS": feeds, "FEED_EXPORT_ENCODING": "latin-1"})
    assert encoding_of_feeds(settings) == encoding


def test_an_item_whose_serializer_fails_is_set_aside_unchanged(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    """The serializer may expect a value that a later pipeline would have converted."""
    path, restored = str(tmp_path / "aside.jl.gz"), tmp_path / "restored.jl"
    options = {
        "spider_class": "priced_spider.UnfinishedSpider",
        "CRAWLDEDUP_ACTION": "drop-items",
        "CRAWLDEDUP_SET_ASIDE": path,
    }
    result = crawl(site, PAGES, **options)
    assert result.counts["items_dropped"] == 2
    assert main(["restore", path, "-o", str(restored)]) == 0
    items = [json.loads(line) for line in restored.read_text().splitlines()]
    assert [item["price"] for item in items] == ["12 euros"] * 2


def test_items_that_the_pipeline_drops_are_set_aside_as_well(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    path = str(tmp_path / "aside.jl.gz")
    options = {
        "CRAWLDEDUP_UNCHECKED_URLS": ".",
        "CRAWLDEDUP_ITEM_FIELDS": ["body"],
        "CRAWLDEDUP_SET_ASIDE": path,
    }
    result = crawl(site, PAGES, **options)
    assert result.items == ["/a", "/b"]
    kept = [aside.item["url"] for aside in items_in(Path(path)) if aside is not None]
    assert len(kept) == result.counts["set_aside"] == 2


@pytest.mark.parametrize("pages", [["/a-copy", "/near/a"], ["/a-copy"]])
def test_a_file_that_is_removed_during_the_crawl_is_told(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, pages: list[str]
) -> None:
    """It's noticed at the next item, or at the end."""
    path = tmp_path / "aside.jl.gz"
    crawler = get_crawler()
    aside = SetAside(crawler, str(path))
    for page in pages:
        verdict = Verdict(Kind.EXACT_DUPLICATE, f"{site.url}{page}", f"{site.url}/a", 1.0)
        assert aside.put({"url": page}, verdict)
        path.unlink(missing_ok=page == pages[-1])
    aside.close()
    (warning,) = caplog.messages
    assert f"{path} was removed during the crawl" in warning


@pytest.mark.parametrize("by_pipeline", [False, True])
def test_an_item_that_cannot_be_set_aside_is_delivered(
    crawl: Crawler, site: Site, tmp_path: Path, by_pipeline: bool
) -> None:
    options = {"CRAWLDEDUP_ACTION": "drop-items"}
    if by_pipeline:
        options = {"CRAWLDEDUP_UNCHECKED_URLS": ".", "CRAWLDEDUP_ITEM_FIELDS": "body"}
    path = tmp_path / "aside.jl.gz"
    path.symlink_to("nowhere/aside.jl.gz")
    result = crawl(site, PAGES, **options, CRAWLDEDUP_SET_ASIDE=str(path))
    assert result.items == PAGES
    assert result.counts["set_aside/failed"] == 2
    assert "2 items could not be set aside, so delivered after all" in result.log
    (warning,) = result.errors
    assert "cannot set an item aside" in warning


def test_a_file_in_a_folder_that_is_not_there_ends_the_crawl_at_its_start(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    path = str(tmp_path / "nowhere/aside.jl.gz")
    result = crawl(site, PAGES, CRAWLDEDUP_ACTION="drop-items", CRAWLDEDUP_SET_ASIDE=path)
    assert result.items == []
    (error,) = result.errors
    assert "CRAWLDEDUP_SET_ASIDE is '" in error
    assert f"make '{tmp_path / 'nowhere'}' first" in error


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("folder", "it must be a file, not a folder or a pipe"),
        ("pipe", "it must be a file, not a folder or a pipe"),
        ("text", "it must be a new file, or one with items that were set aside"),
        ("packed", "it must be a new file, or one with items that were set aside"),
    ],
)
def test_something_else_at_the_path_ends_the_crawl_at_its_start(
    crawl: Crawler, site: Site, tmp_path: Path, kind: str, reason: str
) -> None:
    path = tmp_path / "aside.jl.gz"
    content = b'{"url": "https://a.example/"}\n'
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(content if kind == "text" else gzip.compress(content))
    result = crawl(site, PAGES, CRAWLDEDUP_SET_ASIDE=str(path))
    assert result.items == []
    (error,) = result.errors
    assert "CRAWLDEDUP_SET_ASIDE is '" in error
    assert reason in error


def test_a_file_of_an_earlier_crawl_is_taken_and_an_empty_name_turns_it_off(
    tmp_path: Path,
) -> None:
    path = tmp_path / "aside.jl.gz"
    verdict = Verdict(Kind.EXACT_DUPLICATE, "https://a.example/b", "https://a.example/a", 1.0)
    aside = SetAside(get_crawler(), str(path))
    aside.put({"url": "/b"}, verdict)
    aside.close()
    content = path.read_bytes()
    # A killed crawl may have left a half of its first record.
    for each in (b"", content, content[:5], content[:-9], content[:-9] + content):
        path.write_bytes(each)
        assert check_path("CRAWLDEDUP_SET_ASIDE", str(path)) == str(path)
    settings = Settings({"CRAWLDEDUP_SET_ASIDE": ""})
    assert read_settings(settings).set_aside is None


@pytest.mark.parametrize("pages", [PAGES, ["/near/a", "/a", "/a-copy", "/b"]])
@pytest.mark.parametrize("paragraphs", [None, 0.2])
def test_pages_that_a_person_tells_apart_stay_apart_in_later_crawls(
    crawl: Crawler, site: Site, tmp_path: Path, pages: list[str], paragraphs: float | None
) -> None:
    """Whatever comes first, and whichever copy is met."""
    path, apart = str(tmp_path / "aside.jl.gz"), tmp_path / "apart.jl"
    options = {"CRAWLDEDUP_ACTION": "drop-items", "CRAWLDEDUP_PARAGRAPHS": paragraphs}
    crawl(site, PAGES, **options, CRAWLDEDUP_SET_ASIDE=path)
    restore = ["restore", path, "-o", str(tmp_path / "near.jl"), "--apart", str(apart)]
    assert main([*restore, "--evidence", "near_duplicate"]) == 0
    pair = {"url": f"{site.url}/near/a", "original": f"{site.url}/a"}
    assert [json.loads(line) for line in apart.read_text().splitlines()] == [pair]
    later = {
        **options,
        "CRAWLDEDUP_APART": str(apart),
        "CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite",
        "CRAWLDEDUP_REVISIT": "drop",
    }
    first = crawl(site, pages, **later)
    assert sorted(first.items) == ["/a", "/b", "/near/a"]
    assert first.counts["duplicate/exact"] == 1
    # It is known from then on, under its own URL.
    again = crawl(site, pages, **later)
    assert again.items == []
    assert again.counts["unchanged"] == 3


def test_items_that_a_person_tells_apart_stay_apart_in_later_crawls(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    apart = tmp_path / "apart.jl"
    apart.write_text('{"url": "/near/a", "original": "/a"}\n')
    options = {
        "CRAWLDEDUP_UNCHECKED_URLS": ".",
        "CRAWLDEDUP_ITEM_FIELDS": ["body"],
        "CRAWLDEDUP_APART": str(apart),
    }
    assert crawl(site, PAGES, **options).items == ["/a", "/near/a", "/b"]


def test_a_file_of_pages_that_cannot_be_read_ends_the_crawl_with_the_remedy(
    crawl: Crawler, site: Site, tmp_path: Path
) -> None:
    result = crawl(site, PAGES, CRAWLDEDUP_APART=str(tmp_path / "apart.jl"))
    assert result.items == []
    assert "CRAWLDEDUP_APART is '" in result.log
    assert "crawldedup restore --apart" in result.log
