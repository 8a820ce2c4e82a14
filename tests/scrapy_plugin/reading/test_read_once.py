from __future__ import annotations

from typing import Any

import pytest
from crawldedup.scrapy_plugin.reading.base import Page
from crawldedup.scrapy_plugin.reading.read_once import ReadOnce
from crawldedup.scrapy_plugin.runtime.pending import Pending

from crawldedup.errors import PageError
from crawldedup.fingerprinting.fingerprint import thin_fingerprint


class FakeReaders:
    """Leaves the answers to the test."""

    def __init__(self) -> None:
        self.reads: list[tuple[Page, Pending[Any]]] = []

    def read(self, page: Page) -> Pending[Any]:
        pending: Pending[Any] = Pending()
        self.reads.append((page, pending))
        return pending


def page(body: str, encoding: str | None = "utf-8", *, is_html: bool = True) -> Page:
    return Page(body.encode(), encoding, is_html)


def test_the_same_bytes_are_read_once_while_they_are_read_and_afterwards() -> None:
    readers = FakeReaders()
    once = ReadOnce(readers.read)
    first, second = once.read(page("a")), once.read(page("a"))
    readers.reads[0][1].succeed(thin_fingerprint(7, 3))
    third = once.read(page("a"))
    assert [pending.result().digest for pending in (first, second, third)] == [7] * 3
    assert len(readers.reads) == 1


@pytest.mark.parametrize("other", [page("b"), page("a", "latin-1"), page("a", None), page("a", is_html=False)])
def test_what_may_read_differently_is_read_itself(other: Page) -> None:
    readers = FakeReaders()
    once = ReadOnce(readers.read)
    once.read(page("a"))
    once.read(other)
    assert [read for read, _ in readers.reads] == [page("a"), other]


def test_what_failed_is_tried_again() -> None:
    readers = FakeReaders()
    once = ReadOnce(readers.read)
    once.read(page("a"))
    failure = PageError("too_slow", "Reading the page took too long.")
    readers.reads[0][1].fail(failure)
    # Its traceback holds on to whatever there is around the read: nobody keeps it.
    assert once._reads == {}
    once.read(page("a"))
    readers.reads[1][1].succeed(thin_fingerprint(7, 3))
    assert once.read(page("a")).result().digest == 7
    assert len(readers.reads) == 2


def test_the_pages_asked_for_last_are_remembered() -> None:
    readers = FakeReaders()
    once = ReadOnce(readers.read, remembered_pages=2)
    for name in "abacab":
        once.read(page(name))
    # b was the one to go when c came, and c when b came again.
    assert [read.body for read, _ in readers.reads] == [b"a", b"b", b"c", b"b"]
