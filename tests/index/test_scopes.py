"""What an index keeps of the scopes of its pages."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from crawldedup import Deduplicator
from crawldedup.index.scopes import KnownScopes
from crawldedup.page import Page
from tests.stores.backends import Backend

TEXT = "The river ferry runs every hour from the harbor to the mill. " * 9
URL = "https://news.example/a"


@pytest.mark.parametrize(
    ("options", "page"),
    [
        ({"scope": "site"}, {}),
        ({"scope": "spider"}, {"scope_key": "news"}),
        ({"scope": "spider"}, {}),
        ({}, {"scope_key": "a tenant"}),
        ({}, {}),
    ],
)
def test_a_page_is_found_and_forgotten_by_who_knows_nothing_of_its_scope(
    shared_backend: Backend, options: Any, page: Any
) -> None:
    with Deduplicator(shared_backend.url, **options) as crawl:
        crawl.check(URL, text=TEXT, **page)
        # Before the crawl has ended, for it may never end in order.
        operator = Deduplicator(shared_backend.url)
        operator.accept_profile()
        scopes = operator.scopes.of_page(URL)
        keys = [key for key in scopes.keys if operator.find(URL, text=TEXT, scope_key=key)]
        assert (len(keys), scopes.needs_url) == (1, False)
        removed = [operator.forget(URL, scope_key=key) for key in operator.scopes.all_of(URL)]
        assert (sum(removed), operator.info().pages) == (1, 0)
        operator.close()


def test_crawlers_add_to_the_notes_of_others(shared_backend: Backend) -> None:
    crawls = [Deduplicator(shared_backend.url, scope="spider") for _ in range(3)]
    for number, crawl in enumerate(crawls):
        crawl.check(URL, text=TEXT, scope_key=f"spider {number}")
    for crawl in crawls:
        crawl.close()
    with Deduplicator(shared_backend.url) as dedup:
        assert {f"spider {number}" for number in range(3)} < {*dedup.scopes.all_of(URL)}
        assert (dedup.scopes.begun, dedup.scopes.other) == ("spider", "spider")
        dedup.clear()
        dedup.heartbeat()
        assert dedup.scopes.begun == "global"


@pytest.mark.parametrize("note", ["", "{", "[" * 5000, '{"begun": 1}', '{"keys": ["\\ud800"]}'])
def test_a_damaged_note_says_nothing(shared_backend: Backend, note: str) -> None:
    with Deduplicator(shared_backend.url, scope="site") as crawl:
        crawl.check(URL, text=TEXT)
    with closing(Deduplicator(shared_backend.url)) as reader:
        reader.accept_profile()
        reader._index.store.note("scopes", note)
    with Deduplicator(shared_backend.url) as dedup:
        assert dedup.scopes.other == ""
        assert [dedup.forget(URL, scope_key=key) for key in dedup.scopes.all_of(URL)] == [0, 1]


def test_what_is_noted_has_bounds() -> None:
    scopes = KnownScopes("global")
    site_key = Page(URL, text="", scope_key="news.example")
    assert not scopes.learn([Page(URL, text=""), Page(URL, text="", scope_key=""), site_key])
    assert scopes.learn([Page(URL, text="", scope_key=str(number)) for number in range(1000)])
    assert not scopes.has_more
    assert scopes.learn([Page(URL, text="", scope_key="one more")])
    assert scopes.has_more
    assert not scopes.learn([Page(URL, text="", scope_key="and another")])
    assert len(scopes.all_of(URL)) == 1002
    for key in ("x" * 201, "\ud800"):
        scopes = KnownScopes("global")
        assert scopes.learn([Page(URL, text="", scope_key=key)])
        assert scopes.has_more
