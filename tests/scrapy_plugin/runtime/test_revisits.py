"""When users are told that revisits are kept."""

from __future__ import annotations

import logging

import pytest
from scrapy import Spider

from crawldedup.scrapy_plugin.runtime.revisits import KeptRevisits
from crawldedup.verdict import Kind, Verdict

SPIDER = Spider("test")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


@pytest.fixture(autouse=True)
def _shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "crawldedup")


def verdict(kind: Kind = Kind.REVISIT, *, abandoned: bool = False) -> Verdict:
    return Verdict(kind, "https://e.com/", abandoned=abandoned)


def test_it_is_said_once_as_soon_as_twenty_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptRevisits(is_watching=True)
    for key in range(19):
        kept.add(key, verdict(), SPIDER)
    assert told(caplog) == []
    for key in range(19, 60):
        kept.add(key, verdict(), SPIDER)
    kept.tell(SPIDER)
    assert told(caplog) == [
        "crawldedup: at least 20 pages of an earlier crawl delivered again, since CRAWLDEDUP_REVISIT is 'keep'; 'drop' "
        "drops those that have not changed."
    ]
    assert not kept.is_watching


def test_fewer_are_told_of_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptRevisits(is_watching=True)
    kept.add(1, verdict(), SPIDER)
    kept.tell(SPIDER)
    assert [line.split(" of ")[0] for line in told(caplog)] == ["crawldedup: 1 page"]


@pytest.mark.parametrize("is_watching", [True, False])
def test_nothing_is_said_of_other_pages(caplog: pytest.LogCaptureFixture, is_watching: bool) -> None:
    kept = KeptRevisits(is_watching=is_watching)
    kept.add(1, verdict(Kind.NEW), SPIDER)
    for _ in range(30):
        kept.add(1, verdict(), SPIDER)
        kept.add(2, verdict(abandoned=True), SPIDER)
    if not is_watching:
        for key in range(30):
            kept.add(key, verdict(), SPIDER)
    kept.tell(SPIDER)
    assert told(caplog) == []


def test_a_large_crawl_is_not_watched_for_long(caplog: pytest.LogCaptureFixture) -> None:
    kept = KeptRevisits(is_watching=True)
    for key in range(10_000):
        kept.add(key, verdict(Kind.NEW), SPIDER)
    assert not kept.is_watching
    kept.tell(SPIDER)
    assert told(caplog) == []
