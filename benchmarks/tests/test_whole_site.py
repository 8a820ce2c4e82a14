"""The site of `whole_site.py`, and how a crawl of it is counted."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urldefrag, urljoin

import pytest

from benchmarks.whole_site_parts.counters import loaded
from benchmarks.whole_site_parts.crawl import Delivered, Outcome
from benchmarks.whole_site_parts.figures import figures
from benchmarks.whole_site_parts.site import KINDS, Site

HOSTS = ("http://127.0.0.1:80", "http://127.0.0.2:80", "http://127.0.0.3:80")


@pytest.fixture(scope="module")
def site() -> Site:
    return Site(port=80, seed=1, scale=0.1)


def links(site: Site, url: str) -> set[str]:
    # Enough loads to see each session, and each box.
    body = b"".join(loaded(site.pages[url].body) for _ in range(20)).decode()
    found = {
        urldefrag(urljoin(url, unescape(href))).url
        for href in re.findall(r'<a href="([^"]*)"', body)
    }
    return found | {site.pages[url].location or url}


def reached(site: Site, without: str = "") -> set[str]:
    """The URLs to which links lead from the start, those of pages of one kind left alone."""
    seen, waiting = {site.start_url}, [site.start_url]
    while waiting:
        url = waiting.pop()
        if site.pages[url].kind != without:
            new = (links(site, url) & site.pages.keys()) - seen
            seen |= new
            waiting += new
    return seen


def outcome(*pages: Delivered) -> Outcome:
    return Outcome(fetched=9, delivered=list(pages), seconds=1, cpu_seconds=1, error="")


def delivered(site: Site, path: str, *, host: int = 0, replaces: bool = False) -> Delivered:
    url = HOSTS[host] + path
    return Delivered(url, site.pages[url].content, replaces, 1)


def test_the_site_is_the_same_each_time(site: Site) -> None:
    again, other = Site(port=80, seed=1, scale=0.1), Site(port=80, seed=2, scale=0.1)
    assert again.pages == site.pages
    story = f"{HOSTS[0]}/news/1.html"
    assert other.pages[story].content == site.pages[story].content
    assert other.pages[story].body != site.pages[story].body


def test_at_full_size_it_has_as_many_pages_as_the_documentation_says() -> None:
    judged = Site(port=80, seed=1, scale=1).judged()
    assert (len(judged), len({page.content for page in judged})) == (3656, 1701)


@pytest.mark.parametrize("kind", KINDS)
def test_links_lead_to_every_page(kind: str) -> None:
    site = Site(port=80, seed=1, scale=0.03, kind=kind)
    assert reached(site) == site.pages.keys()


@pytest.mark.parametrize(
    ("kind", "pages", "contents"),
    [
        ("forum", 4797, 281),
        ("shop", 1378, 680),
        ("news", 1564, 330),
        ("documentation", 1800, 534),
        ("recipes", 2402, 606),
        ("questions", 3099, 447),
    ],
)
def test_a_site_of_one_kind_is_as_large_as_the_documentation_says(
    kind: str, pages: int, contents: int
) -> None:
    judged = Site(port=80, seed=1, scale=1, kind=kind).judged()
    assert (len(judged), len({page.content for page in judged})) == (pages, contents)


@pytest.mark.parametrize("kind", ["shop", "news", "recipes"])
def test_the_second_day_has_new_and_changed_contents_and_others(kind: str) -> None:
    first, second = (
        {page.content for page in Site(80, 1, 0.2, kind=kind, day=day).judged()} for day in (1, 2)
    )
    assert len(first & second) > len(second - first) > len(first) / 20
    changed = {content for content in second if content.endswith(".2")}
    assert first - second == {content.removesuffix(".2") for content in changed} & first
    assert second - first > changed


def views(kind: str, content: str) -> dict[str, str]:
    """The kinds of the pages of a content, without the site's name, by path."""
    pages = Site(80, 1, 0.2, kind=kind).judged()
    return {
        page.url.removeprefix(HOSTS[0]): page.kind.partition(": ")[2]
        for page in pages
        if page.content == content
    }


def test_a_recipe_is_one_content_in_its_views_and_another_in_its_variations() -> None:
    recipe = views("recipes", "recipe-0")
    assert {"campaign", "same servings", "AMP", "reply", "first comments"} < set(recipe.values())
    assert not any("comment-page-2" in path or "for-two" in path for path in recipe)
    assert "for two" in views("recipes", "recipe-4-for-two").values()
    assert "gluten-free" in views("recipes", "recipe-1-gluten-free").values()


def test_a_print_view_is_a_copy_of_a_post_without_a_story_alone() -> None:
    assert "print" in views("recipes", "recipe-0").values()
    assert "print" not in views("recipes", "recipe-1").values()


def test_a_permalink_shows_its_answer() -> None:
    pages = Site(80, 1, 0.2, kind="questions").judged()
    permalinks = [page for page in pages if page.kind == "questions: permalink"]
    assert {page.content.endswith("-page-2") for page in permalinks} == {True, False}
    for page in permalinks:
        assert f"id=answer-{page.url.rpartition('/')[2]} ".encode() in page.body


def test_a_question_is_another_content_for_another_version() -> None:
    for number in (1000, 1001):
        assert f"/questions/{number}" in views("questions", f"question-{number}")


def test_what_changes_with_every_load_is_nothing_else() -> None:
    site = Site(port=80, seed=1, scale=0.03, kind="forum")
    body = site.pages["http://127.0.0.1:80/"].body
    assert loaded(body) != loaded(body)
    assert re.sub(rb"\d|sid=\w+", b"", loaded(body)) == re.sub(rb"\d|sid=\w+", b"", loaded(body))
    assert b"[[" not in loaded(body)


def test_the_links_of_empty_months_lead_to_events_that_no_other_page_leads_to(site: Site) -> None:
    lost = {
        site.pages[url].kind
        for url in site.pages.keys() - reached(site, without="calendar: empty month")
    }
    assert "calendar: event" in lost


def test_every_story_has_six_views(site: Site) -> None:
    pages = [page for page in site.judged() if page.content == "story-1"]
    assert len(pages) == len({page.kind for page in pages}) == 6


def test_what_is_delivered_again_is_missed_unless_it_replaces(site: Site) -> None:
    pages = (
        delivered(site, "/shelf/0", host=1),
        delivered(site, "/news/0.html", replaces=True),
        delivered(site, "/print/0.html"),
        delivered(site, "/shelf/1", host=1),
        delivered(site, "/amp/2.html"),
    )
    counted = figures("a tool", site, outcome(*pages))
    assert counted.delivered_contents == 3
    assert counted.missed == {"news: print": [f"{HOSTS[0]}/print/0.html"]}
    assert (counted.replaced, counted.most_replaced) == (1, 1)
    assert (counted.own_site, counted.article, counted.stories) == (2, 1, 18)
    assert counted.most_deliveries == 3


def test_a_content_that_no_delivered_page_has_is_lost(site: Site) -> None:
    every = [
        Delivered(page.url, page.content, False, 1)
        for page in site.judged()
        if page.content != "event-1-0"
    ]
    assert figures("a tool", site, outcome(*every)).lost == {"calendar: event": ["event-1-0"]}
