"""The numbers that tell how old a page is, or when it was printed."""

import pytest

from crawldedup import Deduplicator
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.ages import line_without_age, without_ages
from crawldedup.reading.reader import PageReader

STORY = "".join(
    f"<p>The ferry of quarter {word} leaves the old pier before noon, said the master of the port.</p>"
    for word in ("ash", "birch", "cedar", "elm", "fir", "hazel", "lime", "maple", "oak", "pine")
)


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("Updated 28 minutes ago - 104 comments", "Updated minutes ago - comments"),
        ("Published 3h ago", "Published h ago"),
        ("(5 mins ago)", "( mins ago)"),
        ("vor 5 Minuten aktualisiert", "vor Minuten aktualisiert"),
        ("Il y a 3 heures", "Il y a heures"),
        ("Actualizado hace 12 minutos", "Actualizado hace minutos"),
        ("há 5 minutos", "há minutos"),
        ("2 ore fa", "ore fa"),
        ("10 minuten geleden", "minuten geleden"),
        ("Обновлено 5 минут назад", "Обновлено минут назад"),
        ("3 dakika önce", "dakika önce"),
        ("更新于 5分钟前", "更新于 分钟前"),
        ("5시간 전", "시간 전"),
        ("Printed from news.example/12.html at 10:23", "Printed from news.example/12.html at"),
        ("Gedruckt am 29.11.2026 um 10:23 Uhr", "Gedruckt am um Uhr"),
    ],
)
def test_a_line_about_the_load_loses_its_numbers(line: str, rest: str) -> None:
    assert line_without_age(line) == rest


@pytest.mark.parametrize(
    "line",
    [
        "Updated on November 29",
        "Doors open at 19:30",
        "Cook it for 30 minutes",
        "Posted 3 days ago",
        "Ten ships sank 3 hours ago near the coast, and nobody saw them go",
        "The book was printed in 1910",
        "Print 2 pages on 1 sheet",
        "Trains leave every 5 minutes",
        "Ago 12",
        f"Printed at 10:23 {'x' * 200}",
    ],
)
def test_other_lines_are_compared_as_they_are(line: str) -> None:
    assert line_without_age(line) == line


def test_only_lines_about_the_load_change() -> None:
    assert (
        without_ages("Fares: 12\n5 minutes ago\nFares: 13") == "Fares: 12\nminutes ago\nFares: 13"
    )


def _page(age: str) -> bytes:
    return f"<title>Ferry</title><h1>Ferry</h1><p>Updated {age} ago</p>{STORY}".encode()


def test_a_revisit_that_is_only_older_is_unchanged() -> None:
    dedup = Deduplicator()
    dedup.check("https://news.example/ferry", html=_page("5 minutes"))
    again = dedup.check("https://news.example/ferry", html=_page("28 minutes"))
    other = dedup.check("https://news.example/ferry", html=_page("3 days"))
    assert again.kind == other.kind == "revisit"
    assert not again.changed
    assert other.changed


def test_all_lines_are_compared_on_request() -> None:
    dedup = Deduplicator(volatile=False)
    dedup.check("https://news.example/ferry", html=_page("5 minutes"))
    again = dedup.check("https://news.example/ferry", html=_page("28 minutes"))
    assert again.changed


def test_users_get_the_text_with_its_age() -> None:
    page = Page("https://news.example/ferry", html=_page("28 minutes"))
    read = PageReader(Options()).read_page(page, with_text=True)
    assert read.main is not None
    assert "Updated 28 minutes ago" in read.main.text
    assert read.text is not None
    assert "Updated minutes ago" in read.text


def test_an_age_is_not_shown_as_left_out() -> None:
    page = Page("https://news.example/ferry", html=_page("28 minutes"))
    omissions = PageReader(Options()).show_page(page).omissions
    assert not [each for each in omissions if "28 minutes" in each.excerpt]
