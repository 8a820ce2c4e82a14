"""Pages are read once by their bytes."""

from __future__ import annotations

from typing import Any

import pytest

from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.reader import PageReader
from crawldedup.scrapy_plugin.reading import reader as reader_module
from crawldedup.scrapy_plugin.reading.messages import Job
from crawldedup.scrapy_plugin.reading.reader import JobReader, Read
from crawldedup.text.keys import NO_KEY, Key

TEXTS = [" ".join(f"{name}{number}" for number in range(60)) for name in ("alpha", "beta", "gamma")]


class Counted:
    """A reader that counts the pages that it really reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
        self.number = 0
        self.reader = JobReader(Options(extractor="text", **options))
        content = PageReader.content

        def counting(*args: Any) -> Any:
            self.number += 1
            return content(*args)

        monkeypatch.setattr(PageReader, "content", counting)

    def read(self, body: str = TEXTS[0], url: str = "https://e.com/a", key: Key = NO_KEY, **rules: Any) -> Read:
        return self.reader.read(Job(url, f"<p>{body}".encode(), **rules), key)


def test_the_same_bytes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    first, again = counted.read(), counted.read(url="https://o.org/b")
    assert first.fingerprint is again.fingerprint
    assert first.seconds > again.seconds == 0
    assert counted.number == 1
    for other in ({"encoding": "latin-1"}, {"form": "text"}, {"key": Key(b"k" * 16)}):
        counted.read(**other)
    assert counted.number == 4


def test_what_failed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    deep = "<div>" * 300
    assert [type(counted.read(deep).fingerprint) for _ in range(2)] == [PageError] * 2
    assert counted.number == 2


def test_the_pages_read_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "_CACHED_PAGES", 2)
    counted = Counted(monkeypatch)
    a, b, c = TEXTS
    for text in (a, b, a, c, a, b):
        counted.read(text)
    # b was the one to go when c came.
    assert counted.number == 4


def test_the_same_bytes_are_another_text_on_a_site_of_another_content_area(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch, content={"e.com": {"leave_out": "q"}})
    body = f"{TEXTS[0]} <q>{TEXTS[1]}</q>"
    read = [counted.read(body, url=f"https://{host}/").fingerprint for host in ("e.com", "o.org", "www.e.com")]
    assert [getattr(each, "words", 0) for each in read] == [60, 120, 60]


def test_what_a_page_says_of_itself_is_relative_to_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    body = "<html><head><link rel=canonical href=x></head><body>" + TEXTS[0]
    urls = ("https://e.com/a", "https://o.org/b/c")
    claims = [counted.reader.read(Job(url, body.encode(), links=(), rank=0), NO_KEY).claim for url in urls]
    assert [claim.original for claim in claims] == ["https://e.com/x", "https://o.org/b/x"]
    assert [claim.rank for claim in claims] == [1, 1]
    # Nobody asked.
    assert counted.reader.read(Job("https://e.com/a", body.encode()), NO_KEY).claim == (None, 0)
