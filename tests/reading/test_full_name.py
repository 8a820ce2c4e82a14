"""The full name of what a reference page describes: its package, class and member."""

from __future__ import annotations

import pytest

from crawldedup import compare
from crawldedup.page import Page
from crawldedup.reading.full_name import full_name
from crawldedup.reading.html import HtmlPage

PROSE = (
    "Sets how long a call may take before the client gives up and reports the failure to its "
    "caller. A value of zero means that it waits for as long as the harbor stays open at night. "
    "Calls that are under way keep the limit that they were started with, even across a restart. "
)


def member(
    owner: str,
    *,
    name: str = "timeout",
    code: str = "fun timeout(unit: Unit): Long",
    prose: str = "",
) -> str:
    return f"""<html><head><title>{name}</title></head><body>
      <div class="breadcrumbs"><a href="/m">boats 2.1.0</a><span>/</span><a href="/p">org.boats</a>
      <span>/</span><a href="index.html">{owner}</a><span>/</span><span>{name}</span></div>
      <main><h1>{name}</h1><div class="symbol monospace">{code}</div><p>{prose or PROSE}</p></main>
      </body></html>"""


def full_name_of(html: str, *headings: str) -> str:
    return full_name(HtmlPage.read(html, None), headings)


@pytest.mark.parametrize(
    ("title", "heading", "name"),
    [
        ("boats 2.1.0 API - org.boats.fast.Ferry", "Ferry", "org.boats.fast.Ferry"),
        ("Ferry - Boats 2.1 - boats.Dock.Ferry", "Ferry", "boats.Dock.Ferry"),
        # Only the name of what the page describes counts.
        ("Ferry, a port of boats.example.org", "Ferry", ""),
        ("Ferries | www.boats.example", "Ferries", ""),
        ("boats.org/fast.Ferry", "Ferry", ""),
        ("Ferry", "Ferry", ""),
    ],
)
def test_a_title_may_have_the_full_name(title: str, heading: str, name: str) -> None:
    assert full_name_of(f"<title>{title}</title><h1>{heading}</h1>", heading) == name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("boats::Hull< T && > Struct Template Reference", "boats::Hull<T&&>"),
        ("boats::Hull< T & > Struct Template Reference", "boats::Hull<T&>"),
        ("Hull<Wood, 2>", "Hull<Wood,2>"),
        ("boats::Hull Struct Reference", ""),
        ("Boats < 10 m, and boats > 10 m", ""),
    ],
)
def test_the_arguments_of_a_template_belong_to_its_name(title: str, name: str) -> None:
    title = f"Boats: {title}".replace("&", "&amp;").replace("<", "&lt;")
    assert full_name_of(f"<title>{title}</title>") == name


def test_the_breadcrumbs_of_a_function_name_its_class() -> None:
    name = "boats / org.boats / Ferry / timeout"
    assert full_name_of(member("Ferry"), "timeout") == name
    # The declaration may be a link.
    linked = "<a href=/source>fun timeout(unit: Unit): Long</a>"
    assert full_name_of(member("Ferry", code=linked), "timeout") == name
    # In the same place of another version, it is the same.
    assert full_name_of(member("Ferry").replace("2.1.0", "2.2.0"), "timeout") == name


@pytest.mark.parametrize(
    "code", ["a timeout of 3 seconds", "one or more timeout(s)", "calls other(unit)"]
)
def test_breadcrumbs_only_count_if_there_is_code(code: str) -> None:
    assert full_name_of(member("Ferry", code=code), "timeout") == ""


def is_kept(first: str, second: str) -> bool:
    pages = [
        Page(f"https://boats.example/{path}/timeout.html", html=html)
        for path, html in (("ferry", first), ("tug", second))
    ]
    return not compare(*pages).drops


def test_members_of_two_classes_are_kept_even_if_they_read_alike() -> None:
    assert is_kept(member("Ferry"), member("Tug"))
    assert not is_kept(member("Ferry"), member("Ferry"))


def test_a_page_in_two_categories_is_still_one_page() -> None:
    lamp = {"name": "Lantern", "code": "brass, with a glass of two colors"}
    assert not is_kept(member("Lamps", **lamp), member("Sale", **lamp))
