"""What an address names, and what of it is only a view."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.marks.address import Address, View, is_view

SITE = "https://example.com"
SESSION = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"


def address(url: str, identity: str | None = None) -> Address:
    read = Address.of(url, identity)
    assert read is not None
    return read


def content(url: str) -> tuple[str, tuple[str, ...]]:
    """What names the content: the address without its view."""
    read = address(url)
    return read.path, read.parameters


def test_a_url_is_divided_into_its_parts() -> None:
    assert address(
        f"https://www.example.com/a/b.html?id=3&id=2&b=&utm_source=x&sid={SESSION}#top"
    ) == (
        Address(
            site="example.com",
            path="example.com/a/b",
            folder="example.com/a/",
            names=("b", "id"),
            parameters=("b=", "id=2", "id=3"),
            views=(View("sid", SESSION),),
        )
    )


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://www.example.com:80/a", f"{SITE}/a"),
        ("https://EXAMPLE.com:443/a", f"{SITE}/a"),
        ("https://user:word@example.com/a", f"{SITE}/a"),
        (f"{SITE}/", SITE),
        (f"{SITE}/index.php", SITE),
        (f"{SITE}/a/", f"{SITE}/a"),
        (f"{SITE}/a.html", f"{SITE}/a"),
        (f"{SITE}/a/index.html", f"{SITE}/a"),
        (f"{SITE}/a/Default.aspx", f"{SITE}/a"),
        (f"{SITE}/%61", f"{SITE}/a"),
        (f"{SITE}/a#part", f"{SITE}/a"),
        (f"{SITE}/a?c=1&b=2", f"{SITE}/a?b=2&c=1"),
        (f"{SITE}/a?b=%C3%BC", f"{SITE}/a?b=ü"),
        (f"{SITE}/a?start=0&offset=&skip=0", f"{SITE}/a"),
        (f"{SITE}/list/page/2", f"{SITE}/list?page=2"),
        (f"{SITE}/list/seite-2/", f"{SITE}/list?page=2"),
        (f"{SITE}/list/page2.html", f"{SITE}/list?page=2"),
        # Views.
        ("https://m.example.com/a", f"{SITE}/a"),
        ("https://amp.example.com/a", f"{SITE}/a"),
        (f"{SITE}/amp/a", f"{SITE}/a"),
        (f"{SITE}/a/print/", f"{SITE}/a"),
        (f"{SITE}/a_print.html", f"{SITE}/a"),
        (f"{SITE}/a.amp.html", f"{SITE}/a"),
        (f"{SITE}/a;jsessionid={SESSION}?b=1", f"{SITE}/a?b=1"),
        (f"{SITE}/a?PHPSESSID=x", f"{SITE}/a"),
        (f"{SITE}/a?sid={SESSION}&utm_campaign=z&gclid=1", f"{SITE}/a"),
        (f"{SITE}/a?view=print&sort=price-asc&ref=home&replytocom=7", f"{SITE}/a"),
    ],
)
def test_one_content_has_many_addresses(url: str, same: str) -> None:
    assert content(url) == content(same)
    assert address(url).site == address(same).site


@pytest.mark.parametrize(
    ("url", "other"),
    [
        ("https://berlin.example.com/a", "https://munich.example.com/a"),
        (f"{SITE}:8080/a", f"{SITE}/a"),
        (f"{SITE}/a", f"{SITE}/A"),
        (f"{SITE}/a?b=1", f"{SITE}/a?b=2"),
        (f"{SITE}/a?b=1", f"{SITE}/a"),
        (f"{SITE}/list?page=1", f"{SITE}/list"),
        (f"{SITE}/list?start=10", f"{SITE}/list"),
        (f"{SITE}/list/page/2", f"{SITE}/list/page/3"),
        (f"{SITE}/a?s=hello", f"{SITE}/a"),
        (f"{SITE}/a?view=north", f"{SITE}/a?view=south"),
        (f"{SITE}/a?ref=7", f"{SITE}/a"),
        (f"{SITE}/a?order=12", f"{SITE}/a"),
        (f"{SITE}/maps/x", f"{SITE}/x"),
        (f"{SITE}/blueprint", f"{SITE}/blue"),
        (f"{SITE}/print", f"{SITE}/"),
    ],
)
def test_a_parameter_that_may_name_content_is_not_a_view(url: str, other: str) -> None:
    assert content(url) != content(other)


@pytest.mark.parametrize(
    "url",
    [
        "https://m.example.com/a",
        f"{SITE}/print/a",
        f"{SITE}/a.amp",
        f"{SITE}/a;v=1",
        f"{SITE}/a?sessionid={SESSION}",
        f"{SITE}/a?print=1",
    ],
)
def test_views_are_told_apart_but_campaigns_are_not(url: str) -> None:
    plain = address(f"{SITE}/a")
    assert plain.views == ()
    assert address(url).views
    assert address(f"{SITE}/a?utm_source=x&fbclid=7") == plain


def test_addresses_of_one_form_share_a_folder_or_a_path() -> None:
    first, second = address(f"{SITE}/jobs/cook?lang=en"), address(f"{SITE}/jobs/smith?lang=de")
    assert (
        (first.folder, first.names)
        == (second.folder, second.names)
        == (
            "example.com/jobs/",
            ("lang",),
        )
    )
    assert address(f"{SITE}/jobs").folder == address(f"{SITE}/jobs/").folder == "example.com/"
    assert address(SITE).folder == "example.com/"
    assert address(f"{SITE}/list/page/2").path == address(f"{SITE}/list").path


def test_an_identity_is_a_parameter() -> None:
    first, second = (address(f"{SITE}/search", identity) for identity in ("body 1", "body 2"))
    assert first.path == second.path
    assert first.names == second.names != ()
    assert first.parameters != second.parameters
    assert address(f"{SITE}/search").parameters == ()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PHPSESSID", "x", True),
        ("sid", SESSION, True),
        ("sid", "12", False),
        ("token", "a1b2c3d4", True),
        ("session", "monday", False),
        ("add-to-cart", "7", True),
        ("share", "twitter", True),
        ("display", "grid", True),
        ("display", "9", False),
        ("ORDER", "DESC", True),
        ("orderby", "date", True),
        ("order", "48213", False),
        ("src", "newsletter", True),
        ("source", "warehouse", False),
        ("id", "print", False),
    ],
)
def test_a_view_is_known_by_name_and_value(name: str, value: str, expected: bool) -> None:
    assert is_view(name, value) is expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://wiki.example/%E4", "https://wiki.example/%F6"),
        ("https://wiki.example/?q=%E4", "https://wiki.example/?q=%F6"),
        ("https://wiki.example/%A5%A2", "https://wiki.example/%A5%A4"),
    ],
)
def test_bytes_that_are_not_utf_8_name_contents_too(first: str, second: str) -> None:
    both = address(first), address(second)
    assert both[0] != both[1]
    assert both[0].views == both[1].views == ()


@pytest.mark.parametrize(
    ("url", "path", "kinds"),
    [
        # Whoever is called print owns the first folder of a host of many users,
        ("https://github.com/print/alice/page", "github.com/print/alice/page", []),
        ("https://medium.com/m/alice", "medium.com/m/alice", []),
        ("https://github.com/alice/page/print", "github.com/alice/page", ["/print"]),
        ("https://news.example/print/alice/page", "news.example/alice/page", ["/print"]),
        # and whoever is called m the host below a public suffix.
        ("https://m.github.io/page", "m.github.io/page", []),
        ("https://m.alice.github.io/page", "alice.github.io/page", ["//m."]),
        ("https://m.news.example/page", "news.example/page", ["//m."]),
    ],
)
def test_users_may_be_called_like_a_view(url: str, path: str, kinds: list[str]) -> None:
    read = address(url)
    assert (read.path, [view.kind for view in read.views]) == (path, kinds)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a page",
        "/a/b",
        "mailto:someone@example.com",
        "data:text/html,x",
        "https:///a",
        "https://www./",
        "http://[::1",
        "http://example.com:99999/",
        "http://example.com:port/",
        f"{SITE}/?{'&'.join(f'p{number}=1' for number in range(101))}",
        f"{SITE}/{'x' * 8192}",
    ],
)
def test_a_broken_url_has_no_address(url: str) -> None:
    assert Address.of(url) is None


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("2026/05/04/seals", "0/"),
        ("2026/12/seals", "0/"),
        ("blog/2026-5-4/seals", "blog/0/"),
        ("blog/2026/05/news/seals", "blog/0/news/"),
        # A year may be a version, and other numbers aren't dates.
        ("2026/seals", "2026/"),
        ("2026/13/seals", "2026/13/"),
        ("4.12/05/seals", "4.12/05/"),
        ("x2026/05/seals", "x2026/05/"),
        ("2026/05", "2026/"),
    ],
)
def test_articles_of_different_days_are_of_one_form(path: str, folder: str) -> None:
    assert address(f"{SITE}/{path}/").folder == f"example.com/{folder}"


@given(st.text() | st.text().map(lambda text: f"{SITE}{text}"))
def test_any_text_may_be_asked_about(url: str) -> None:
    read = Address.of(url, "x")
    assert read is None or read.folder.startswith(read.path.partition("/")[0])


def test_whether_a_page_is_printed_is_a_yes_or_no() -> None:
    assert is_view("print", "1")
    assert is_view("print", "")
    assert is_view("amp", "true")
    # An art print shop names its prints so.
    assert not is_view("print", "17")
    assert not is_view("print", "sunflowers")
