"""Whether the links of a page carry the session in its URL on to other pages."""

from __future__ import annotations

import pytest

from crawldedup import Page
from crawldedup.options import Options
from crawldedup.reading.carried import values_in
from crawldedup.reading.reader import PageContent, PageReader

SID = "0123456789abcdef0123456789abcdef"
OTHER_SID = "f" * 32
URL = f"http://forum.example/board/topic?id=7&sid={SID}"


def carries(*links: str, url: str = URL) -> bool:
    anchors = "".join(f"<p>A line of words. <a href='{link}'>and a link</a></p>" for link in links)
    page = Page(url, html=f"<title>Topic</title><main><h1>Topic</h1>{anchors}</main>")
    content = PageReader(Options()).try_content(page)
    assert isinstance(content, PageContent)
    return content.carries_view


@pytest.mark.parametrize(
    ("link", "is_carried"),
    [
        (f"/board/list?sid={SID}", True),
        (f"list?sid={SID}&start=20", True),
        (f"http://forum.example/?sid={SID}", True),
        (f"//www.forum.example/members?sid={SID}", True),
        # To the page itself, which a document's number may be a part of.
        (f"?id=7&sid={SID}&print=1", False),
        (f"?id=8&sid={SID}", False),
        (f"/board/topic.html?sid={SID}#answer", False),
        # To another site, with another name, and with another value.
        (f"http://other.example/board/list?sid={SID}", False),
        (f"/board/list?token={SID}", False),
        (f"/board/list?sid={OTHER_SID}", False),
        ("/board/list", False),
        (f"/board/{SID}", False),
        (f"http://[broken?sid={SID}", False),
        (f"javascript:go('?sid={SID}')", False),
        ("", False),
    ],
)
def test_a_session_goes_with_the_visitor_to_another_path(link: str, is_carried: bool) -> None:
    assert carries(link) is is_carried
    assert carries("/", link, "/about") is is_carried


@pytest.mark.parametrize(
    ("url", "link", "is_carried"),
    [
        ("http://forum.example/topic", f"/list?sid={SID}", False),
        (f"http://forum.example/topic;jsessionid={SID}", f"/list;jsessionid={SID}", True),
        (f"http://forum.example/topic;jsessionid={SID}", f"/list?jsessionid={SID}", False),
        # What has no value to go on has none to carry.
        ("http://forum.example/topic?print=1", "/list?print=1", False),
        ("http://forum.example/topic?view=print", "/list?view=print", False),
        # Every value has to go on.
        (f"{URL}&PHPSESSID={OTHER_SID}", f"/list?sid={SID}", False),
        (f"{URL}&PHPSESSID={OTHER_SID}", f"/list?PHPSESSID={OTHER_SID}&sid={SID}", True),
        (f"{URL}&print=1", f"/list?sid={SID}", True),
    ],
)
def test_only_what_has_a_value_is_carried(url: str, link: str, is_carried: bool) -> None:
    assert carries(link, url=url) is is_carried


def test_only_some_links_to_the_page_itself_are_tried() -> None:
    own = [f"?sid={SID}&answer={number}" for number in range(30)]
    elsewhere = f"/list?sid={SID}"
    assert carries(*own[:19], elsewhere)
    assert not carries(*own, elsewhere)
    assert carries(*["/other"] * 500, elsewhere)


def test_the_values_in_a_url_are_those_of_sessions() -> None:
    assert [view.value for view in values_in(f"{URL}&print=1&utm_source=a")] == [SID]
    assert values_in("http://forum.example/topic?print=1&id=7") == ()
    assert values_in("not a URL") == ()
