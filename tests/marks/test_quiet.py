"""Marks that a user tells to keep quiet."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.key import NO_KEY
from crawldedup.marks.address import Address
from crawldedup.marks.quiet import check_ignored_marks, hosts_at, ignored_at
from crawldedup.marks.relation import Conflict, conflict
from crawldedup.marks.values import (
    HEADLINE,
    MARK_KINDS,
    AddressMarks,
    Marks,
    ShownMarks,
    ShownName,
    address_marks,
)
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.reader import PageReader
from crawldedup.urls import NO_LINKS

LINKS = tuple(f"/story/{number}" for number in range(20))
OTHER_LINKS = tuple(f"/recipe/{number}" for number in range(20))
PLAIN = ShownMarks(
    names=(ShownName("ferry", HEADLINE),),
    pictures=("river", "harbor"),
    has_lead=True,
    players=("tour",),
    data=(("declared sku", "7"),),
    text="A ferry.",
    links=LINKS,
)
LISTING = replace(PLAIN, is_listing=True)


def with_comments(author: str) -> ShownMarks:
    remarks = tuple(f"{author} remarks {number}" for number in range(3))
    return replace(PLAIN, comments=remarks, remarks=remarks)


# What tells a page from one of the two above, by the kind of its mark.
SIBLINGS: dict[str, tuple[ShownMarks, ShownMarks]] = {
    "name": (PLAIN, replace(PLAIN, names=(ShownName("tram", HEADLINE),))),
    "picture": (PLAIN, replace(PLAIN, pictures=("mill", "church"))),
    "player": (PLAIN, replace(PLAIN, players=("interview",))),
    "data": (PLAIN, replace(PLAIN, data=(("declared sku", "8"),))),
    "listing": (LISTING, replace(LISTING, links=OTHER_LINKS)),
    "text": (PLAIN, replace(PLAIN, text="A tram.")),
    "links": (PLAIN, replace(PLAIN, links=OTHER_LINKS)),
    "comments": (with_comments("a"), with_comments("b")),
    "rest": (replace(PLAIN, rest="A lamp."), replace(PLAIN, rest="A stove.")),
}
# The other pages of a discussion have another text.
CONFLICTS = {kind: kind for kind in MARK_KINDS} | {"comments": "text"}


def address_of(url: str) -> AddressMarks:
    address = Address.of(url)
    assert address is not None
    return address_marks(address, url, NO_LINKS, NO_KEY)


def conflict_of(first: ShownMarks, second: ShownMarks) -> Conflict:
    """Return what tells two pages apart at addresses of one form."""
    marks = [
        Marks(shown.hashed(NO_KEY), address_of(f"https://e.com/{place}"))
        for place, shown in enumerate((first, second))
    ]
    return conflict(*marks)


def test_there_are_siblings_of_each_kind() -> None:
    assert tuple(SIBLINGS) == MARK_KINDS


@pytest.mark.parametrize("kind", MARK_KINDS)
def test_a_mark_that_keeps_quiet_tells_nothing_apart(kind: str) -> None:
    first, second = SIBLINGS[kind]
    assert conflict_of(first, second).name.lower() == CONFLICTS[kind]
    # It is enough that one page shows nothing: a remembered page may have been read before.
    for one, other in (
        (first.without([kind]), second.without([kind])),
        (first, second.without([kind])),
    ):
        assert conflict_of(one, other) is Conflict.NONE


@pytest.mark.parametrize("kind", MARK_KINDS)
def test_the_other_marks_still_speak(kind: str) -> None:
    for other, (first, second) in SIBLINGS.items():
        if other != kind:
            quiet = (first.without([kind]), second.without([kind]))
            assert conflict_of(*quiet).name.lower() == CONFLICTS[other]


def test_a_listing_that_is_none_has_its_name_again() -> None:
    other = replace(LISTING, names=(ShownName("tram", HEADLINE),))
    assert conflict_of(LISTING, other) is Conflict.NONE
    assert conflict_of(LISTING.without(["listing"]), other.without(["listing"])) is Conflict.NAME


def test_without_any_kind_marks_stay_as_they_are() -> None:
    assert PLAIN.without(()) is PLAIN
    assert LISTING.without(["links"]) == LISTING
    assert PLAIN.without(["listing"]) == PLAIN


@pytest.mark.parametrize(
    ("given", "checked"),
    [
        (None, None),
        ("", None),
        ({"WWW.News.example": ("picture", "picture")}, {"news.example": ["picture"]}),
        ('{"*": ["name", "data"]}', {"*": ["name", "data"]}),
        ({"b\u00fccher.example": ["text"]}, {"xn--bcher-kva.example": ["text"]}),
    ],
)
def test_marks_are_named_by_host(given: object, checked: object) -> None:
    assert check_ignored_marks("ignore_marks", given) == checked
    assert check_ignored_marks("ignore_marks", checked) == checked


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("\ud800", "ignore_marks is"),
        ({"a.example": ["pictures"]}, "ignore_marks['a.example'] is 'pictures'; it must be one or"),
        ({"a.example": ["pictures"]}, "; did you mean 'picture'?"),
        (
            {"a.example": ["numbers"]},
            "name, picture, player, data, listing, text, links, comments and rest",
        ),
        ({"a.example": []}, "ignore_marks['a.example'] is []; it must be a list with one or more"),
        ({"https://a.example/": ["text"]}, "must be a host without scheme, port and path, or '*'"),
        ({"a.example:80": ["text"]}, "must be a host without scheme, port and path, or '*'"),
        ({"*.example": ["text"]}, "must be a host without scheme, port and path, or '*'"),
        ({"": ["text"]}, "must be a host without scheme, port and path, or '*'"),
        ('{"a.example": ', 'such as {"news.example": ["picture"], "*": ["player"]}'),
        ({"\x1b[2J": ["text"]}, r"\x1b[2J"),
    ],
)
def test_a_wrong_host_or_kind_is_refused_with_what_is_allowed(given: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)) as caught:
        Options(ignore_marks=given)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "kinds"),
    [
        ("https://news.example/1", ("picture", "player")),
        ("https://www.news.example:8080/1", ("picture", "player")),
        ("https://berlin.news.example/1", ("name", "picture", "player")),
        ("https://othernews.example/1", ("player",)),
        ("http://[", ("player",)),
        (None, ("player",)),
    ],
)
def test_a_host_stands_for_its_subdomains(url: str | None, kinds: tuple[str, ...]) -> None:
    given = {"news.example": ["picture"], "berlin.news.example": ["name"], "*": ["player"]}
    assert ignored_at(check_ignored_marks("ignore_marks", given), url) == kinds
    assert ignored_at(None, url) == ()


STORY = " ".join(f"Boat {number} leaves the harbor at dawn." for number in range(40))
MUTED = {"news.example": ["picture"]}


def story(picture: str) -> str:
    return (
        "<html><head><title>The ferry</title></head><body><main><h1>The ferry</h1>"
        f"<img src=/{picture}.jpg width=900 height=500><p>{STORY}</p></main></body></html>"
    )


def test_pages_that_differ_in_a_quiet_mark_alone_are_copies() -> None:
    first, second = story("river"), story("mill")
    for host, is_copy in (("www.news.example", True), ("shop.example", False)):
        with Deduplicator(ignore_marks=MUTED) as dedup:
            dedup.check(f"https://{host}/ferry", html=first)
            verdict = dedup.check(f"https://{host}/archive/ferry", html=second)
        assert verdict.is_duplicate is is_copy
        assert (verdict.rejected_by == "picture") is not is_copy


def test_the_option_may_change_between_two_crawls_of_one_index(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Deduplicator(store) as dedup:
        dedup.check("https://news.example/ferry", html=story("river"))
    with Deduplicator(store, ignore_marks=MUTED) as dedup:
        assert dedup.check("https://news.example/a/ferry", html=story("mill")).is_duplicate
    with Deduplicator(store) as dedup:
        assert dedup.check("https://news.example/b/ferry", html=story("tower")).kind == "new"


def test_a_text_keeps_its_title_quiet_as_well() -> None:
    page = Page("https://news.example/1", text=STORY, title="The ferry")
    for ignored, name in ((None, "the ferry"), ({"*": ["name"]}, "")):
        marks = PageReader(Options(ignore_marks=ignored)).read_page(page).marks
        assert marks is not None
        assert marks.name == name


def test_hosts_are_met_on_their_subdomains() -> None:
    ignored = {"news.example": ["name"], "shop.example": ["data"], "*": ["player"]}
    assert hosts_at(ignored, "https://WWW.News.Example:443/a") == {"news.example", "*"}
    assert hosts_at({"news.example": ["name"]}, "https://oldnews.example/") == set()
    assert hosts_at({"news.example": ["name"]}, "https://[broken") == set()


def test_the_option_is_no_part_of_the_profile() -> None:
    assert PageReader(Options(ignore_marks=MUTED)).profile == PageReader(Options()).profile
