from __future__ import annotations

import pytest

from crawldedup.reading.html import HtmlPage
from crawldedup.urls import HeadLinks, canonical_url, claimed_url

URL = "https://e.com/page?b=2&a=1"


def claim(head: str, *link_headers: str, encoding: str | None = None) -> str | None:
    body = (
        f"<!DOCTYPE html><html><head><title>t</title>{head}</head><body>text</body></html>".encode()
    )
    claimed = claimed_url(URL, links_of(body, encoding), link_headers)
    return None if claimed is not None and canonical_url(claimed) == canonical_url(URL) else claimed


def links_of(body: bytes, encoding: str | None = None) -> HeadLinks:
    return HtmlPage.read(body, encoding).links


@pytest.mark.parametrize(
    ("head", "claimed"),
    [
        ("", None),
        ("<link rel=canonical href=/a>", "https://e.com/a"),
        ("<LINK HREF='//o.org/a#top' REL='alternate Canonical'/>", "https://o.org/a#top"),
        ("<link rel=canonical href=' https://e.com/a '>", "https://e.com/a"),
        ("<base href=/folder/><link rel=canonical href=a>", "https://e.com/folder/a"),
        ("<link rel=canonical href=/a><link rel=canonical href=/b>", None),
        ("<link rel=canonical href='?a=1&amp;b=2#top'>", None),  # itself
        (
            "<link rel=canonical href=''><link rel=canonical><link rel=canonical href=/a>",
            "https://e.com/a",
        ),
        ("<link rel=canonical href='javascript:alert(1)'>", None),
        ("<link rel=canonical href='http://[e.com/'>", None),
        (f"<link rel=canonical href='/{'a' * 3000}'>", None),
        ("<link rel=alternate href=/a><link rel=canonicals href=/b>", None),
        ("<!-- <link rel=canonical href=/a> -->", None),
        ("<script>s = '<link rel=canonical href=/a>'</script>", None),
    ],
)
def test_the_link_in_the_head_is_read(head: str, claimed: str | None) -> None:
    assert claim(head, encoding="utf-8") == claimed


def test_what_visitors_may_have_written_is_no_claim_of_the_page() -> None:
    for body in (
        b"<head></head><body><div><link rel=canonical href=/a></div>",
        b"<p>text<link rel=canonical href=/a>",
    ):
        assert links_of(body) == HeadLinks()


@pytest.mark.parametrize(
    ("header", "claimed"),
    [
        ('<https://e.com/a>; rel="canonical"', "https://e.com/a"),
        ("</a>;REL=Canonical", "https://e.com/a"),
        ('<x>; rel=next, </a>; title="y; <z>; rel=next"; rel="x canonical"', "https://e.com/a"),
        ('<x>; rel=preload; title="<y>; rel=canonical"', None),
        ("nonsense; rel=canonical", None),
        (r'</a>; title="an \"a\""; rel=canonical', "https://e.com/a"),
        ("</a>; rel=canonical; anchor=/other", None),
        ("</a>; rel=canonical; anchor=/other, </b>; rel=canonical", "https://e.com/b"),
        ("<" * 9000, None),
    ],
)
def test_the_link_header_is_read(header: str, claimed: str | None) -> None:
    assert claim("", header) == claimed


def test_a_page_that_contradicts_its_header_names_nothing() -> None:
    assert claim("<link rel=canonical href=/a>", "</b>; rel=canonical") is None
    assert claim("<link rel=canonical href=/a>", "</a>; rel=canonical") == "https://e.com/a"


def test_of_very_many_canonical_links_the_first_are_read() -> None:
    assert len(links_of(b"<link rel=canonical href=/a>" * 100).canonical) == 10
    assert links_of(
        b"<link rel=icon href=/i>" * 10_000 + b"<link rel=canonical href=/a>"
    ).canonical == ("/a",)
