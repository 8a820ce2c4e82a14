"""What a worker process answers about pages."""

from __future__ import annotations

import msgspec
import pytest

from crawldedup.key import NO_KEY
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import ReadPage
from crawldedup.workers.reading import ReadingTask, needs_worker, reader, request, timed_read_of

TASKS: tuple[ReadingTask, ...] = ("read", "text")
WORDS = " ".join(f"word{number}" for number in range(100))
HTML = (
    "<html><head><title>{title}</title></head><body><main><h1>{title}</h1>"
    "<img src=/river.jpg width=900 height=500><img src=/mill.jpg width=900 height=500>"
    f"<p>{WORDS}</p></main></body></html>"
)


def read(options: Options, *urls: str, title: str = "A ferry") -> list[ReadPage]:
    """Read one page at several addresses in one worker."""
    answer = reader(options.index_values())
    answers = [
        answer(request("read", [Page(url, html=HTML.format(title=title))], NO_KEY)) for url in urls
    ]
    return [timed_read_of(msgspec.msgpack.encode(each)).read for each in answers]


def test_the_marks_that_reasons_name_come_along_and_are_cut() -> None:
    (page,) = read(Options(), "https://e.com/1", title="long " * 60)
    assert page.marks is not None
    assert (page.text, page.marks.text, page.marks.links) == (None, None, ())
    assert page.marks.pictures == ("river",)
    assert 90 < len(page.marks.name) <= 100


def test_equal_pages_of_two_hosts_are_read_as_each_host_says() -> None:
    options = Options(ignore_marks={"news.example": ["picture"]})
    urls = ["https://a.example/1", "https://news.example/1", "https://b.example/1"]
    first, muted, last = read(options, *urls)
    assert first.fingerprint.marks == last.fingerprint.marks != muted.fingerprint.marks
    assert muted.marks is not None
    assert muted.marks.pictures == ()


def test_a_worker_sends_the_text_only_on_request() -> None:
    answer = reader(Options().index_values())
    pages = [Page("https://e.com/1", html=HTML.format(title="A Ferry \ud800"))]
    # A page that was read before is answered from what is kept of it.
    packed = {
        task: [msgspec.msgpack.encode(answer(request(task, pages, NO_KEY))) for _ in range(2)]
        for task in TASKS
    }
    assert all(b"word99" not in each for each in packed["read"])
    for each in packed["text"]:
        main = timed_read_of(each).read.main
        assert main is not None
        assert (main.name, main.text) == ("A Ferry ?", f"A Ferry ?\n{WORDS}")
    assert timed_read_of(packed["read"][0]).read.main is None


@pytest.mark.parametrize(
    ("content", "is_needed"),
    [
        ({"html": "<p>short"}, True),
        ({"text": "a b " * 12_000}, False),
        ({"text": "a b " * 12_500}, True),
        ({"text": "\u0436 " * 6_000}, False),
        # Each of these letters is normalized to eighteen.
        ({"text": "\ufdfa" * 12_500}, True),
    ],
)
def test_what_takes_long_is_read_in_a_worker(content: dict[str, str], is_needed: bool) -> None:
    assert needs_worker(Page("https://a.example/", **content)) is is_needed
