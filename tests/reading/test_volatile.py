"""Numbers that change with every load: what is learned of them, and what is left out."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Page
from crawldedup.cli import main
from crawldedup.errors import ConfigurationError, StoreFullError
from crawldedup.reading.volatile import VolatileLines, changing_at, numbers_of, without_volatile
from crawldedup.stores.sqlite.store import SqliteStore
from crawldedup.verdict import Kind

FORUM = "http://forum.example/t?n={}&sid=a1b2c3d{}"
WORDS = [f"{first}{last}" for first in ("ab", "lo", "mi", "tur", "sen") for last in "aeioubcdfghklm"]


def story(number: int, words: int = 120) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=words)) + "."


def topic(number: int, load: int, words: int = 120) -> str:
    """A page of a forum that tells who is online."""
    counter = f"Who is online: {11 + 7 * load} users online and {5 + 3 * load} guests"
    return f"<title>Topic {number}</title><h1>Topic {number}</h1><p>{story(number, words)}</p><div>{counter}</div>"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def changing(lines: VolatileLines, url: str, *others: str) -> dict[int, tuple[int, ...]]:
    return changing_at(lines.known_at(url), url, *others)


def answers(page: int, *lines: str) -> Iterator[dict[int, tuple[int, ...]]]:
    return (numbers_of([line], {f"Page {page}"}) for line in lines)


def test_pages_of_other_headings_are_not_one() -> None:
    lines = VolatileLines(Clock())
    for page in range(9):
        for load in range(2):
            line = f"Seat {page * 7 + load} is free"
            lines.learn(f"http://a.example/p?{page}&utm_source={load}", None, numbers_of([line], {f"Talk {load}"}))
    assert changing(lines, "http://a.example/p") == {}


@pytest.mark.parametrize("name", ["session", "sid", "session_id", "s", "talk", "ref"])
def test_what_names_the_content_is_no_session(name: str) -> None:
    lines = VolatileLines(Clock())
    for page in range(20):
        for numbers in answers(page, f"Seat {page} is free"):
            lines.learn(f"http://a.example/talk?{name}={page}", None, numbers)
    assert changing(lines, "http://a.example/talk") == {}


def test_threads_may_share_what_is_known() -> None:
    lines, stop, failures = VolatileLines(), threading.Event(), []

    def exchange() -> None:
        noted = ""
        while not stop.is_set():
            try:
                noted = lines.exchange(noted)
            except RuntimeError as error:
                failures.append(error)

    thread = threading.Thread(target=exchange)
    thread.start()
    for host in range(400):
        for page in range(3):
            for numbers in answers(page, f"seen by {host} people", f"seen by {host + 1} people"):
                lines.learn(f"http://h{host}.example/p/{page}", None, numbers)
        lines.known_at(f"http://h{host}.example/p/9")
    stop.set()
    thread.join()
    assert failures == []


def learned(url: str = "http://a.example/p/{}", *, pages: int = 3, between: float = 1.0) -> VolatileLines:
    """What is known when pages have come twice whose line has changed."""
    clock = Clock()
    lines = VolatileLines(clock)
    for page in range(pages):
        for numbers in answers(page, f"seen by {page} people", f"seen by {page + 1} people"):
            lines.learn(url.format(page), None, numbers)
            clock.now += between
    return lines


@pytest.mark.parametrize(
    "line",
    [
        "Only 6 left for € 12",
        "USD 12 a piece",
        "Chapter 7",
        "no numbers at all",
        "12 14 15 18 Mon",
        "a very long line " * 12 + "7",
    ],
)
def test_lines_that_are_content_are_never_left_out(line: str) -> None:
    assert numbers_of([line], headings={"Chapter 7"}) == {}


def test_pages_with_the_same_headings_may_be_about_their_numbers() -> None:
    lines = VolatileLines(Clock())
    for page in range(9):
        for numbers in answers(0, f"Water level now: {page} cm", f"Water level now: {page + 1} cm"):
            lines.learn(f"http://a.example/gauge/{page}", None, numbers)
    assert changing(lines, "http://a.example/gauge/old") == {}


@pytest.mark.parametrize(
    "detour", ["..%2f~mallory%2f", "..%5C~mallory/", "%2e%2e/~mallory/", "../~mallory/", "..\\~mallory/"]
)
def test_a_path_that_a_server_may_take_for_another_is_no_evidence(detour: str) -> None:
    lines = learned(f"http://shared.example/~alice/{detour}{{}}", pages=9)
    assert changing(lines, "http://shared.example/~alice/x") == {}


def test_a_line_of_a_kind_that_occurs_twice_tells_nothing() -> None:
    assert len(numbers_of(["Time: 1 second", "12 comments", "15 comments"])) == 1 + 1
    assert len(numbers_of(["12 comments", "12 comments"])) == 1 + 1


@pytest.mark.parametrize(
    ("pages", "between", "url", "known"),
    [
        (3, 1.0, "http://a.example/p/{}", True),
        (2, 1.0, "http://a.example/p/{}", False),
        (3, 601.0, "http://a.example/p/{}", False),
        (9, 1.0, "http://a.example/p/?id=7&utm_source={}", False),
        (9, 1.0, "http://b.example/p/{}", False),
        (9, 1.0, "http://a.example/other/{}", False),
    ],
    ids=["three pages", "two pages", "not within minutes", "one page", "another host", "another folder"],
)
def test_three_pages_that_come_twice_within_minutes_are_evidence(
    pages: int, between: float, url: str, known: bool
) -> None:
    lines = learned(url, pages=pages, between=between)
    assert bool(changing(lines, "http://a.example/p/new")) is known


def test_nobody_has_numbers_of_neighbours_left_out() -> None:
    lines = learned("http://shared.example/~mallory/{}", pages=50)
    assert changing(lines, "http://shared.example/~mallory/x")
    assert not changing(lines, "http://shared.example/~alice/x")
    lines = learned("http://shared.example/view/mallory/{}", pages=50)
    assert changing(lines, "http://shared.example/view/mallory/deeper/x")
    assert not changing(lines, "http://shared.example/view/alice/x")


def test_a_page_counts_where_its_canonical_url_stands() -> None:
    lines = learned("http://shop.example/p/{}")
    page = "http://shop.example/c/knives/p/7"
    assert not changing(lines, page)
    assert changing(lines, page, "http://shop.example/p/7")
    head = '<link rel="canonical" href="/p/{}">'
    with Deduplicator(volatile=True) as dedup:
        for load in range(2):
            for number in range(3):
                dedup.check(f"http://shop.example/p/{number}?ref={'ab'[load]}", html=topic(number, load))
        for number, (first, second) in enumerate([("", ""), (head, head)], 7):
            page = f"http://shop.example/{{}}/{number}"
            dedup.check(page.format("p"), html=first.format(number) + topic(number, 3))
            kind = dedup.check(page.format("c/knives/p"), html=second.format(number) + topic(number, 4)).kind
            assert kind is (Kind.EXACT_DUPLICATE if second else Kind.NEAR_DUPLICATE)


def test_what_three_pages_of_a_folder_show_holds_in_the_folders_within() -> None:
    lines = learned("http://a.example/forum/thread-{}")
    assert changing(lines, "http://a.example/forum/thread-7/reply")
    assert not changing(learned("http://a.example/{}"), "http://a.example/other/page")


def test_a_worker_that_answers_nonsense_teaches_nothing_else() -> None:
    lines = VolatileLines(Clock())
    for numbers in ({7: (1, 2)}, {7: (3,)}, {7: ()}):
        lines.learn("http://a.example/p", None, numbers)
    assert changing(lines, "http://a.example/p") == {}


def test_a_line_that_stays_the_same_is_content_again() -> None:
    lines = learned()
    for page in range(13):
        for numbers in answers(page, "seen by 7 people", "seen by 7 people"):
            lines.learn(f"http://a.example/p/same{page}", None, numbers)
    assert not changing(lines, "http://a.example/p/new")


def test_of_a_line_only_the_numbers_that_change_are_left_out() -> None:
    lines = VolatileLines(Clock())
    for page in range(3):
        for numbers in answers(page, f"Size 42 with {page} left", f"Size 42 with {page + 1} left"):
            lines.learn(f"http://a.example/p/{page}", None, numbers)
    text = f"{story(1)}\nSize 43 with 5 left"
    assert without_volatile(text, changing(lines, "http://a.example/p/9"))[0] == f"{story(1)}\nSize 43 with  left"


def test_of_a_page_of_numbers_nothing_is_left_out() -> None:
    known = changing(learned(), "http://a.example/p/9")
    text = "seen by 7 people\nseen by 9 people\nand so on"
    assert without_volatile(text, known) == (text, [])
    assert without_volatile(f"{story(1)}\nseen by 7 people", known) == (story(1), ["seen by 7 people"])


def test_memory_is_bounded_whatever_comes() -> None:
    lines = VolatileLines(Clock())
    for host in range(3000):
        for page in range(3):
            for numbers in answers(page, f"seen by {host} people", f"seen by {host + 1} people"):
                lines.learn(f"http://h{host}.example/p/{page}", None, numbers)
    for line in range(200):
        shape = "x" * (line + 5)
        for page in range(3):
            for numbers in answers(page, f"{shape} 1", f"{shape} 2"):
                lines.learn(f"http://one.example/{line}-{page}", None, numbers)
    assert len(changing(lines, "http://one.example/9")) == 64
    assert not changing(lines, "http://h1.example/p/9")
    assert len(lines.exchange("")) < 1_000_000


def test_what_was_learned_lies_in_the_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Deduplicator(store, volatile=True) as dedup:
        for number in range(3):
            for load in range(2):
                dedup.check(FORUM.format(number, load), html=topic(number, load))
    with Deduplicator(store, volatile="known") as dedup:
        assert dedup.check(FORUM.format(7, 1), html=topic(7, 5)).kind is Kind.NEW
        assert dedup.check(FORUM.format(7, 2), html=topic(7, 6)).kind is Kind.EXACT_DUPLICATE
        assert dedup.explain(FORUM.format(8, 1), html=topic(8, 5)).left_out == (
            "Who is online: 46 users online and 20 guests",
        )
    (tmp_path / "page.html").write_text(topic(8, 5))
    assert main(["explain", str(tmp_path / "page.html"), "--url", FORUM.format(8, 1), "--store", store]) == 0
    assert "volatile   Who is online: 46 users online and 20 guests: not compared" in capsys.readouterr().out
    with Deduplicator(store, volatile=False) as dedup:
        assert dedup.explain(FORUM.format(8, 1), html=topic(8, 5)).left_out == ()


def test_a_store_without_room_for_what_was_learned_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def note(_: object, name: str, text: str | None = None) -> str:
        if text is not None:
            raise StoreFullError("no room")
        return ""

    monkeypatch.setattr(SqliteStore, "note", note)
    with Deduplicator(f"sqlite:///{tmp_path}/seen.sqlite", volatile=True) as dedup:
        for number in range(3):
            for load in range(2):
                dedup.check(FORUM.format(number, load), html=topic(number, load))
        dedup.heartbeat()
        assert dedup.check(FORUM.format(7, 1), html=topic(7, 5)).kind is Kind.NEW


def test_a_page_remembered_before_its_lines_were_known_is_unchanged(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Deduplicator(store, volatile=True) as dedup:
        first = topic(0, 0)
        dedup.check(FORUM.format(0, 0), html=first)
        for number in range(1, 4):
            for load in range(2):
                dedup.check(FORUM.format(number, load), html=topic(number, load))
        again = dedup.check(FORUM.format(0, 0), html=first)
        assert (again.kind, again.changed) == (Kind.REVISIT, False)
        # Now the text without the line is remembered.
        again = dedup.check(FORUM.format(0, 0), html=topic(0, 9))
        assert (again.kind, again.changed) == (Kind.REVISIT, False)
        again = dedup.check(FORUM.format(0, 0), html=topic(77, 9))
        assert (again.kind, again.changed) == (Kind.REVISIT, True)


def test_pages_remembered_before_their_lines_were_known_are_read_again(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"

    async def crawl() -> None:
        async with AsyncDeduplicator(store, volatile=True) as dedup:
            for number in range(6):
                await dedup.judge(Page(FORUM.format(number, 0), html=topic(number, 0), delivered=number == 3))
            for number in range(5):
                dedup.deliver(FORUM.format(number, 0))
            for number in range(3):
                await dedup.judge(Page(FORUM.format(number, 1), html=topic(number, 1)))

    asyncio.run(crawl())
    with Deduplicator(store, volatile="known") as dedup:
        again = [dedup.check(FORUM.format(number, 0), html=topic(number, 9)) for number in range(6)]
        assert [(verdict.changed, verdict.abandoned) for verdict in again] == [(False, False)] * 5 + [(True, True)]


def test_pages_may_be_judged_while_others_are_read_again(tmp_path: Path) -> None:
    async def crawl() -> list[object]:
        dedup = AsyncDeduplicator(f"sqlite:///{tmp_path}/seen.sqlite", volatile=True)
        for number in range(6):
            await dedup.judge(Page(FORUM.format(number, 0), html=topic(number, 0)))
        for number in range(3):
            await dedup.judge(Page(FORUM.format(number, 1), html=topic(number, 1)))
        pages = [Page(f"http://other.example/{number}", html=topic(number + 10, 0)) for number in range(6)]
        return await asyncio.gather(*map(dedup.judge, pages), dedup.close())

    assert asyncio.run(crawl())[-1] is None


def test_the_asynchronous_form_learns_too() -> None:
    async def kind() -> Kind:
        async with AsyncDeduplicator(volatile=True) as dedup:
            for number in range(3):
                for load in range(2):
                    await dedup.check(FORUM.format(number, load), html=topic(number, load))
            await dedup.check(FORUM.format(7, 1), html=topic(7, 5))
            return (await dedup.check(FORUM.format(7, 2), html=topic(7, 6))).kind

    assert asyncio.run(kind()) is Kind.EXACT_DUPLICATE


def archived(numbers: int) -> str:
    return topic(40, numbers, words=50).replace("Topic 40", "Figures of the forum")


def test_pages_that_differ_in_such_numbers_alone_are_kept_if_their_urls_are_of_one_form() -> None:
    with Deduplicator(volatile=True) as dedup:
        for number in range(3):
            for load in range(2):
                dedup.check(FORUM.format(number, load), html=topic(number, load))
        urls = [FORUM.format(month, 0) for month in range(40, 45)]
        assert [dedup.check(url, html=archived(n)).kind for n, url in enumerate(urls)] == [Kind.NEW] * 5
        # Each is found again by its own numbers, and whoever asks is told the same.
        assert dedup.check(FORUM.format(50, 0), html=archived(3)).original == urls[3]
        assert dedup.explain(FORUM.format(51, 0), html=archived(9)).verdict.kind is Kind.NEW
        assert [dedup.check(url, html=archived(n)).changed for n, url in enumerate(urls)] == [False] * 5
        # Another session, or a print view, shows the same page.
        for url in (FORUM.format(40, 9), "http://forum.example/t?n=40&print=1"):
            assert dedup.check(url, html=archived(9)).original == urls[0]


def test_pages_of_one_text_that_change_by_themselves_are_one() -> None:
    wall = "http://forum.example/reply?n={}&sid=a1b2c3d{}"
    with Deduplicator(volatile=True) as dedup:
        for number in range(3):
            for load in range(2):
                dedup.check(FORUM.format(number, load), html=topic(number, load))
        kinds = [
            dedup.check(wall.format(number, load), html=archived(5 * number + load)).kind
            for number in range(9)
            for load in range(2)
        ]
        assert Kind.NEW not in kinds[8:]


def test_the_asynchronous_form_keeps_such_pages_too() -> None:
    async def kinds() -> list[Kind]:
        async with AsyncDeduplicator(volatile=True) as dedup:
            for number in range(3):
                for load in range(2):
                    await dedup.check(FORUM.format(number, load), html=topic(number, load))
            pages = [Page(FORUM.format(month, 0), html=archived(month)) for month in range(40, 45)]
            return [verdict.kind async for verdict in dedup.check_many(pages)]

    assert asyncio.run(kinds()) == [Kind.NEW] * 5


def test_a_foreign_note_is_left_alone() -> None:
    lines = VolatileLines()
    for text in ("", "{}", "no JSON", '{"a": 7}', '{"a": {"x": [1, [2]]}}', "[" * 10_000):
        lines.exchange(text)
        assert changing(lines, "http://a/") == {}


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="volatile is 'no'; it must be True or False or 'known'"):
        Deduplicator(volatile="no")
