"""Real crawls of pages of which a part is known: marked, dropped, and left alone by default."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawldedup.journal import journals
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site


def story(seed: int) -> list[str]:
    chooser = random.Random(seed)
    words = ["".join(chooser.choices("abdeiklmnorstu", k=6)) for _ in range(900)]
    return [f"{' '.join(words[at : at + 150]).capitalize()}." for at in range(0, 900, 150)]


def page(*paragraphs: str) -> Answer:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return Answer(f"<html><head><title>A</title></head><body><article>{body}</article></body></html>".encode())


ONE, TWO, OWN = story(1), story(2), story(3)
# A story with one of another, and with a frame of its own.
BOTH, FRAMED, COPY = page(*ONE, *TWO), page(*OWN[:3], *ONE, *OWN[3:]), page(*ONE)
ALL = ["/one", "/two", "/framed", "/both", "/one-copy", "/both-again"]
NEW_HALF = ["crawldedup:new=0.50"]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    pages = {"/one": page(*ONE), "/two": page(*TWO), "/framed": FRAMED, "/both": BOTH, "/one-copy": COPY}
    with Site({**pages, "/both-again": page(*TWO, *ONE)}) as running:
        yield running


def lines_of(place: Path) -> dict[str, dict[str, Any]]:
    records = [json.loads(line) for path in journals(place) for line in path.read_bytes().splitlines()]
    return {record["url"].rpartition("/")[2]: record for record in records if record and "url" in record}


def test_pages_are_marked_by_the_share_that_is_new(crawl: Crawler, site: Site, tmp_path: Path) -> None:
    place = tmp_path / "journal"
    result = crawl(site, ALL, CRAWLDEDUP_PARAGRAPHS="mark", CRAWLDEDUP_JOURNAL=str(place))
    assert result.passed == ["/one", "/two", "/framed", "/both"]
    assert [path for path, _ in result.report["flags"]] == ["/framed", "/both"]
    shares = [float(flags[0].removeprefix("crawldedup:new=")) for _, flags in result.report["flags"]]
    assert 0.4 < shares[0] < 0.6
    assert shares[1] == 0
    counts = {name: count for name, count in result.counts.items() if name.startswith("paragraphs/")}
    assert (counts["paragraphs/pages"], counts["paragraphs/partial"]) == (4, 1)
    assert counts["paragraphs/words/known"] > 2000
    assert f"crawldedup: delivers {site.url}/both: new, 0% of its words new" in result.log
    assert "  50% of the words of 4 pages were known; 1 page had too few new ones\n" in result.log
    lines = lines_of(place)
    assert (lines["both"]["outcome"], lines["both"]["share_known"]) == ("new", 1)
    assert lines["both"]["source"] in (f"{site.url}/one", f"{site.url}/two")
    assert "share_known" not in lines["one"]


def test_pages_with_too_little_of_their_own_are_dropped(crawl: Crawler, site: Site, tmp_path: Path) -> None:
    place = tmp_path / "journal"
    result = crawl(site, ALL, CRAWLDEDUP_PARAGRAPHS=0.2, CRAWLDEDUP_JOURNAL=str(place))
    assert result.passed == ["/one", "/two", "/framed"]
    lines = lines_of(place)
    assert [lines[path].get("action") for path in ("framed", "both")] == ["delivered", "dropped"]
    assert f"{site.url}/both: new, 0% of its words new" in result.log
    assert "1 page had too few new ones (1 refused)" in result.log
    assert "1 near and 1 exact duplicates (2 dropped), 0 revisits, 0 thin" in result.log


def test_items_have_no_paragraphs(crawl: Crawler, site: Site) -> None:
    settings = {"CRAWLDEDUP_PARAGRAPHS": 0.2, "CRAWLDEDUP_ITEM_FIELDS": ["body"], "CRAWLDEDUP_DENY": "."}
    pages = ["/one", "/two", "/both", "/one-copy"]
    result = crawl(site, pages, **settings)
    assert [item["url"] for item in result.report["kept"]] == ["/one", "/two", "/both"]
    assert result.counts["item/dropped"] == 1
