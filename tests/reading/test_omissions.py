"""What is left out of a page is summed up, and why."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator, Page, compare
from crawldedup.options import Options
from crawldedup.reading.omissions import UNSELECTED, in_words
from crawldedup.reading.reader import PageReader

STORY = "".join(
    f"<p>Low tide {number} uncovers the wreck beside the old harbor wall, and boats wait.</p>"
    for number in range(12)
)
NOISE = (
    "<aside>Other things that people wanted to know about the wreck and about the wall.</aside>"
    "<div class='entry-share'>Tell everybody whom you have ever met about this wreck today.</div>"
    "<div style='display:none'>Nobody sees it</div>"
    "<div id=comments><div><p>I have been there in winter, and I liked it a lot.</p>"
    "<p>My uncle has a boat like that, and he never uses it at all.</p></div></div>"
    "<ul><li><a href=/1>A story of another wreck</a></li></ul>"
    "<footer><p>All rights reserved</p><p>Made by the harbor</p></footer>"
)
HTML = f"<html><body><main><h1>Wreck</h1>{STORY}</main>{NOISE}</body></html>"


def test_each_reason_is_summed_up() -> None:
    explanation = Deduplicator().explain("https://a.example/", html=HTML)
    assert set(in_words(explanation.omissions)) == {
        "1 line in <aside>, 14 words",
        '1 line named "share", 11 words',
        "1 line hidden, 3 words",
        "2 lines in comments, 26 words",
        "1 line in links, 5 words",
        "2 lines in <footer>, 7 words",
    }
    assert [each.words for each in explanation.omissions] == [26, 14, 11, 7, 5, 3]
    assert explanation.omissions[0].excerpt.startswith("I have been there")


def test_what_is_compared_is_not_left_out() -> None:
    found = Deduplicator().explain("https://a.example/", html=f"<h1>Wreck</h1>{STORY}")
    assert found.omissions == ()
    # A page of few words is compared by all it shows.
    assert Deduplicator().explain("", html="<p>Few</p><footer>words</footer>").omissions == ()
    assert Deduplicator().explain("", text="A text. " * 50).omissions == ()


def test_what_selectors_leave_out_is_said() -> None:
    found = Deduplicator(content="#comments").explain("https://a.example/", html=HTML)
    (omission,) = found.omissions
    assert (omission.reason, omission.lines) == (UNSELECTED, 19)


def test_both_pages_of_a_comparison_are_summed_up() -> None:
    pages = Page("https://a.example/", html=HTML), Page("https://b.example/", html=f"<p>{STORY}")
    first, second = compare(*pages).omissions
    assert [each.lines for each in first] == [2, 1, 1, 2, 1, 1]
    assert second == ()


def test_a_crawl_sums_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nobody has asked")

    monkeypatch.setattr("crawldedup.reading.reader.omissions_of", refuse)
    assert Deduplicator().check("https://a.example/", html=HTML).words > 50


def test_what_swells_when_it_is_counted_is_none() -> None:
    html = (
        f"<main><h1>Wreck</h1>{STORY}</main><aside><a href=/1>{chr(0xFDFA) * 400_000}</a></aside>"
    )
    reader = PageReader(Options())
    page = Page("", html=html)
    assert reader.omissions(page, reader.content(page)) == ()
