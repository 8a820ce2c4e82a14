"""Numbers that change with every load: what is learned of them, and what is left out."""

from __future__ import annotations

import asyncio
import random
import threading
import tracemalloc
from pathlib import Path

import mmh3
import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Page
from crawldedup.cli import main
from crawldedup.errors import ConfigurationError, StoreFullError
from crawldedup.fingerprinting.bits import fingerprint
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.key import NO_KEY, Key
from crawldedup.reading.reader import ReadPage
from crawldedup.reading.volatile import (
    Numbers,
    changing_at,
    numbers_of,
    without_repeated,
    without_volatile,
)
from crawldedup.stores.sqlite.store import SqliteStore
from crawldedup.verdict import Kind, Verdict

FORUM = "http://forum.example/t?n={}&sid=a1b2c3d{}"
WORDS = [
    f"{first}{last}" for first in ("ab", "lo", "mi", "tur", "sen") for last in "aeioubcdfghklm"
]


def story(number: int, words: int = 120) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=words)) + "."


def topic(number: int, load: int, words: int = 120) -> str:
    """A page of a forum that tells who is online."""
    counter = f"Who is online: {11 + 7 * load} users online and {5 + 3 * load} guests"
    return (
        f"<title>Topic {number}</title><h1>Topic "
        f"{number}</h1><p>{story(number, words)}</p><div>{counter}</div>"
    )


def visits(first: int = 0) -> list[Page]:
    """Three pages of the forum, each met twice."""
    pages = [(number, load) for number in range(first, first + 3) for load in range(2)]
    return [Page(FORUM.format(*page), html=topic(*page)) for page in pages]


def check(dedup: Deduplicator, pages: list[Page]) -> list[Verdict]:
    return list(dedup.check_many(pages))


def archived(month: int, load: int, numbers: int | None = None) -> Page:
    """A page whose text many have, with numbers of its own."""
    html = topic(40, month if numbers is None else numbers, words=50).replace(
        "Topic 40", "Figures of the forum"
    )
    return Page(FORUM.format(month, load), html=html)


class Lines(HostKnowledge):
    """What is learned of lines by a clock of the test's own."""

    now = 0.0

    def __init__(self) -> None:
        super().__init__(clock=lambda: self.now)

    def meet(self, url: str, *texts: str, heading: object = "") -> None:
        """Load a page of one line several times."""
        for text in texts:
            self.load(url, numbers_of([text], {f"Page {heading}"}))

    def load(self, url: str, numbers: Numbers) -> None:
        """Load a page with these numbers and nothing else."""
        self.learn(Page(url, text="A page."), ReadPage(fingerprint("A page."), numbers=numbers))

    def changing(self, url: str, *others: str) -> dict[int, tuple[int, ...]]:
        return changing_at(self.known_at(url), url, *others)


def learned(
    url: str = "http://a.example/p/{}", *, pages: int = 3, between: float = 1.0, same: bool = False
) -> Lines:
    """What is known when pages have come twice whose line has changed."""
    lines = Lines()
    for page in range(pages):
        for load in range(2):
            lines.meet(
                url.format(page), f"seen by {page + load} people", heading="" if same else page
            )
            lines.now += between
    return lines


# What is learned


@pytest.mark.parametrize(
    ("pages", "between", "url", "known"),
    [
        (3, 1.0, "http://a.example/p/{}", True),
        (2, 1.0, "http://a.example/p/{}", False),
        (3, 601.0, "http://a.example/p/{}", False),
        (9, 1.0, "http://a.example/p/?id=7&utm_source={}", False),
        (9, 1.0, "http://b.example/p/{}", False),
        # A server may take these for another folder's.
        *(
            (9, 1.0, f"http://a.example/o/{way}{{}}", False)
            for way in ("..%2fp%2f", "..%5Cp%5C", "%2e%2e%2fp%2f")
        ),
    ],
)
def test_three_pages_that_come_twice_within_minutes_are_evidence(
    pages: int, between: float, url: str, known: bool
) -> None:
    lines = learned(url, pages=pages, between=between)
    assert bool(lines.changing("http://a.example/p/new")) is known
    # It holds on the whole host.
    assert bool(lines.changing("http://a.example/o/new")) is known


@pytest.mark.parametrize("name", ["session", "sid", "session_id", "s", "talk", "ref"])
def test_what_names_the_content_is_no_session(name: str) -> None:
    lines = Lines()
    for page in range(20):
        lines.meet(f"http://a.example/talk?{name}={page}", f"Seat {page} is free")
    assert lines.changing("http://a.example/talk") == {}


def test_pages_of_other_headings_are_not_one_and_those_of_one_heading_may_be_about_their_numbers() -> (
    None
):
    lines = Lines()
    for page in range(9):
        for load in range(2):
            url = f"http://a.example/p?{page}&utm_source={load}"
            lines.meet(url, f"Seat {page * 7 + load} is free", heading=f"{page} {load}")
    assert lines.changing("http://a.example/p") == {}
    assert learned(pages=9, same=True).changing("http://a.example/p/old") == {}


def test_nobody_has_numbers_of_neighbours_left_out() -> None:
    for own, others in (("~mallory/", "~alice/"), ("view/mallory/", "view/alice/")):
        lines = learned(f"http://shared.example/{own}{{}}", pages=50)
        assert lines.changing(f"http://shared.example/{own}x")
        assert not lines.changing(f"http://shared.example/{others}x")


def test_where_users_have_folders_what_three_pages_show_holds_in_the_folders_within() -> None:
    lines = learned("http://a.example/~mallory/thread-{}")
    assert lines.changing("http://a.example/~mallory/thread-7/reply")
    assert not lines.changing("http://a.example/other/page")
    assert not learned("http://medium.com/{}").changing("http://medium.com/other/page")
    lines = Lines()
    for page in "abc":
        lines.meet(f"http://a.example/~{page}/x", "1 visitor", "2 visitor", heading=page)
    assert lines.changing("http://a.example/~a/y")
    assert not lines.changing("http://a.example/~a/within/y")
    assert not lines.changing("http://a.example/elsewhere")


def test_a_page_counts_where_its_canonical_url_stands() -> None:
    lines, page = learned("http://shop.example/~p/{}"), "http://shop.example/~c/knives/p/7"
    assert not lines.changing(page)
    assert lines.changing(page, "http://shop.example/~p/7")
    with Deduplicator(volatile=True) as dedup:
        for load in range(2):
            for number in range(3):
                dedup.check(
                    f"http://shop.example/~p/{number}?ref={'ab'[load]}", html=topic(number, load)
                )
        for number, head in ((7, ""), (8, '<link rel="canonical" href="/~p/8">')):
            dedup.check(f"http://shop.example/~p/{number}", html=head + topic(number, 3))
            kind = dedup.check(
                f"http://shop.example/~c/knives/p/{number}", html=head + topic(number, 4)
            ).kind
            assert kind is (Kind.EXACT_DUPLICATE if head else Kind.NEAR_DUPLICATE)


def test_a_line_that_stays_the_same_is_content_again() -> None:
    lines = learned()
    for page in range(13):
        lines.meet(
            f"http://a.example/p/same{page}", "seen by 7 people", "seen by 7 people", heading=page
        )
    assert not lines.changing("http://a.example/p/new")


def test_a_worker_or_a_note_with_nonsense_teaches_nothing() -> None:
    lines = Lines()
    for numbers in ({7: (1, 2)}, {7: (3,)}, {7: ()}):
        lines.load("http://a/p", numbers)
    name = next(iter(numbers_of(["seen by 7 people"])))
    long = f'[[{{"{name}":[{{"p":[[{10**30}],3]}},0,[1,2,3]]}},{{}}]]'[1:-1]
    deep = "[" * 100_000
    for text in (
        "",
        "{}",
        "no JSON",
        '{"a": 7}',
        '{"a": {"x": [1, [2]]}}',
        deep,
        f'{{"a":{long}}}',
    ):
        lines.exchange(text)
        assert lines.changing("http://a/p") == {}


def test_memory_is_bounded_whatever_comes() -> None:
    lines = Lines()
    for host in range(3000):
        for page in range(3):
            lines.meet(
                f"http://h{host}.example/p/{page}",
                f"{host} visitors",
                f"{host + 1} visitors",
                heading=page,
            )
    for line in range(200):
        for page in range(3):
            shape = "x" * (line + 5)
            lines.meet(
                f"http://one.example/{line}-{page}", f"{shape} 1", f"{shape} 2", heading=page
            )
    assert len(lines.changing("http://one.example/9")) == 64
    assert not lines.changing("http://h1.example/p/9")
    assert len(lines.exchange("")) < 1_000_000


def test_loads_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page has as many lines and numbers as count."""
    monkeypatch.setattr("crawldedup.hosts.knowledge._MOST_BYTES_OF_LOADS", 200_000)
    lines = Lines()

    def load(first: int, last: int) -> None:
        for page in range(first, last):
            texts = [f"{'l' * (line + 9)} {page} " + "a 1 " * 20 for line in range(70)]
            lines.load(f"http://a.example/{page}/a", numbers_of(texts, {str(page)}))

    tracemalloc.start()
    try:
        # By then, all that is remembered of addresses has been filled.
        load(0, 300)
        before, _ = tracemalloc.get_traced_memory()
        load(300, 600)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert before > 200_000
    assert after - before < 100_000


def test_threads_may_share_what_is_known() -> None:
    lines, stop, failures = Lines(), threading.Event(), []

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
            lines.meet(
                f"http://h{host}.example/p/{page}",
                f"{host} visitors",
                f"{host + 1} visitors",
                heading=page,
            )
        lines.known_at(f"http://h{host}.example/p/9")
    stop.set()
    thread.join()
    assert failures == []


# What is left out


@pytest.mark.parametrize(
    "line",
    [
        *(
            "Only 6 left for € 12",
            "USD 12 a piece",
            "Chapter 7",
            "no numbers at all",
            "12 14 15 18 Mon",
        ),
        "a very long line " * 12 + "7",
    ],
)
def test_lines_that_are_content_are_never_left_out(line: str) -> None:
    assert numbers_of([line], headings={"Chapter 7"}) == {}


def test_a_kind_of_line_that_occurs_twice_is_not_evidence() -> None:
    assert len(numbers_of(["Time: 1 second", "12 comments", "15 comments"])) == 1 + 1
    assert len(numbers_of(["12 comments", "12 comments"])) == 1 + 1


def test_hashes_of_lines_depend_on_the_key_and_are_never_mmh3() -> None:
    """Nobody can make a line, a number or a heading that counts as one of another page."""
    lines, headings = ["seen by 7 people", "page 12 of 70"], {"Heading"}
    hashes = [
        {number for name, numbers in found.items() for number in (name, *numbers)} - {0}
        for found in (
            numbers_of(lines, headings, NO_KEY),
            numbers_of(lines, headings, Key(b"0123456789abcdef")),
            numbers_of(lines, headings, Key(b"fedcba9876543210")),
        )
    ]
    public = {mmh3.hash64(text, signed=False)[0] for text in ("seen by 0 people", "page 0 of 0")}
    public |= {mmh3.hash(text, signed=False) for text in ("7", "12", "70", "Heading")}
    assert len(set().union(*hashes, public)) == sum(map(len, hashes)) + len(public)


def test_half_a_surrogate_pair_is_hashed_as_any_other_letter() -> None:
    assert len(numbers_of(["seen \ud800 by 7 people"], {"\udfff"})) == 1 + 1


def test_only_the_first_numbers_of_a_line_may_prove_volatile() -> None:
    line = " ".join(f"letters{number}" for number in range(20))
    (numbers,) = [found for name, found in numbers_of([line]).items() if name]
    assert len(numbers) == 8


def test_lines_of_a_kind_that_a_page_has_twice_are_compared() -> None:
    known = learned().changing("http://a.example/p/9")
    twice = ["seen by 7 people", "seen by 8 people"]
    assert known
    assert without_repeated(known, twice) == {}
    assert without_repeated(known, [*twice[:1], *twice[:1], "12 comments"]) == known


def test_a_table_of_lines_that_change_elsewhere_is_compared() -> None:
    def shown(page: int, *counts: int) -> str:
        lines = "".join(f"<p>Players online in arena {count}</p>" for count in counts)
        return f"<title>t{page}</title><h1>Head {page}</h1><p>{story(page)}</p>{lines}"

    with Deduplicator(volatile=True) as dedup:
        for page in range(3):
            for load in range(2):
                dedup.check(f"http://a.example/a/b/{page}", html=shown(page, 10 * page + load))
        url = "http://a.example/a/b/table"
        assert dedup.explain(url, html=shown(7, 11)).left_out == ("Players online in arena 11",)
        assert dedup.explain(url, html=shown(7, 11, 47, 530)).left_out == ()


def test_of_a_line_only_the_numbers_that_change_are_left_out_and_of_a_page_of_numbers_none() -> (
    None
):
    lines = learned()
    for page in range(3):
        url = f"http://a.example/p/shoe{page}"
        lines.meet(url, f"Size 42 with {page} left", f"Size 42 with {page + 1} left", heading=page)
    known = lines.changing("http://a.example/p/9")
    assert (
        without_volatile(f"{story(1)}\nSize 43 with 5 left", known)[0]
        == f"{story(1)}\nSize 43 with  left"
    )
    assert without_volatile(f"{story(1)}\nseen by 7 people", known) == (
        story(1),
        ["seen by 7 people"],
    )
    text = "seen by 7 people\nseen by 9 people\nseen by 5 people\non"
    assert without_volatile(text, known) == (text, [])


# In an index


def test_what_was_learned_lies_in_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Deduplicator(store, volatile=True) as dedup:
        check(dedup, visits())
    with Deduplicator(store, volatile="known") as dedup:
        assert dedup.check(FORUM.format(7, 1), html=topic(7, 5)).kind is Kind.NEW
        assert dedup.check(FORUM.format(7, 2), html=topic(7, 6)).kind is Kind.EXACT_DUPLICATE
        left_out = dedup.explain(FORUM.format(8, 1), html=topic(8, 5)).left_out
        assert left_out == ("Who is online: 46 users online and 20 guests",)
    (tmp_path / "page.html").write_text(topic(8, 5))
    assert (
        main(
            ["explain", str(tmp_path / "page.html"), "--url", FORUM.format(8, 1), "--store", store]
        )
        == 0
    )
    assert f"volatile   {left_out[0]}: not compared" in capsys.readouterr().out
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
        check(dedup, visits())
        dedup.heartbeat()
        assert dedup.check(FORUM.format(7, 1), html=topic(7, 5)).kind is Kind.NEW


def test_a_page_remembered_before_its_lines_were_known_is_unchanged(tmp_path: Path) -> None:
    with Deduplicator(f"sqlite:///{tmp_path}/seen.sqlite", volatile=True) as dedup:
        check(dedup, [visits()[0], *visits(1)])
        # Once it has come again, the text without the line is remembered.
        for html, changed in ((topic(0, 0), False), (topic(0, 9), False), (topic(77, 9), True)):
            again = dedup.check(FORUM.format(0, 0), html=html)
            assert (again.kind, again.changed) == (Kind.REVISIT, changed)


@pytest.mark.parametrize(("picture", "changed"), [("boat", False), ("mill", True)])
def test_a_page_remembered_before_its_lines_were_known_is_changed_by_another_picture(
    picture: str, changed: bool
) -> None:
    def pictured(picture: str) -> str:
        return topic(0, 0).replace("<p>", f"<img src='/{picture}.jpg'><p>")

    url = FORUM.format(0, 0)
    with Deduplicator(volatile=True) as dedup:
        check(dedup, [Page(url, html=pictured("boat")), *visits(1)])
        again = dedup.check(url, html=pictured(picture))
        assert (again.kind, again.changed) == (Kind.REVISIT, changed)


def test_pages_remembered_before_their_lines_were_known_are_read_again_at_the_end(
    tmp_path: Path,
) -> None:
    store, url = f"sqlite:///{tmp_path}/seen.sqlite", FORUM.replace("/t", "/list/t")

    def page(number: int, load: int, *, delivered: bool = True) -> Page:
        # In its folder the line is known to change.
        link = f"<link rel=canonical href='/f/t?n={number}'>"
        return Page(url.format(number, 0), html=link + topic(number, load), delivered=delivered)

    async def crawl() -> object:
        dedup = AsyncDeduplicator(store, volatile=True)
        for number in range(6):
            await dedup.judge(page(number, 0, delivered=number == 3))
        for number in range(5):
            dedup.deliver(url.format(number, 0))
        for visit in visits(50):
            await dedup.judge(Page(visit.url.replace("/t", "/f/t"), html=visit.html))
        # Pages may be judged meanwhile.
        others = [
            Page(f"http://other.example/{number}", html=topic(number + 10, 0))
            for number in range(6)
        ]
        return (await asyncio.gather(*map(dedup.judge, others), dedup.close()))[-1]

    assert asyncio.run(crawl()) is None
    with Deduplicator(store, volatile="known") as dedup:
        again = check(dedup, [page(number, 9) for number in range(6)])
        assert [(verdict.changed, verdict.abandoned) for verdict in again] == [
            (False, False)
        ] * 5 + [(True, True)]


def test_pages_that_differ_in_such_numbers_alone_are_kept_if_their_urls_are_of_one_form() -> None:
    months = [archived(month, 0) for month in range(40, 45)]
    with Deduplicator(volatile=True) as dedup:
        check(dedup, visits())
        assert [verdict.kind for verdict in check(dedup, months)] == [Kind.NEW] * 5
        # Each is found again by its own numbers, and whoever asks is told the same.
        assert dedup.check(FORUM.format(50, 0), html=months[3].html).original == months[3].url
        assert dedup.explain(FORUM.format(51, 0), html=archived(9, 0).html).verdict.kind is Kind.NEW
        assert [verdict.changed for verdict in check(dedup, months)] == [False] * 5
        # Another session, or a print view, shows the same page.
        for url in (FORUM.format(40, 9), "http://forum.example/t?n=40&print=1"):
            assert dedup.check(url, html=archived(9, 0).html).original == months[0].url


def test_pages_of_one_text_that_change_by_themselves_are_one() -> None:
    walls = [archived(number, load, 5 * number + load) for number in range(9) for load in range(2)]
    with Deduplicator(volatile=True) as dedup:
        check(dedup, visits(20))
        kinds = [
            dedup.check(page.url.replace("/t?", "/reply?"), html=page.html).kind for page in walls
        ]
        assert Kind.NEW not in kinds[8:]


def test_counters_beside_a_product_are_none_of_its_numbers() -> None:
    def lamp(number: int, load: int) -> Page:
        lamp = (
            f"<title>Lamp {number}</title><h1>Lamp {number}</h1>{number + 20}.90 €<p>Pack of "
            f"{number + 90}"
        )
        counters = (
            f"<p>Only {load + 2} left<p>{3 * load + 11} people are looking at this<button>Add to "
            "basket</button>"
        )
        return Page(FORUM.format(number, load), html=f"{lamp}{counters}<p>{story(1)}")

    with Deduplicator(volatile=True) as dedup:
        verdicts = check(
            dedup, [*(lamp(at // 2, at % 2) for at in range(6)), lamp(7, 2), lamp(7, 3), lamp(8, 4)]
        )
    assert [verdict.kind for verdict in verdicts[6:]] == [Kind.NEW, Kind.EXACT_DUPLICATE, Kind.NEW]


def test_the_asynchronous_form_learns_and_keeps_such_pages_too() -> None:
    async def kinds() -> list[Kind]:
        async with AsyncDeduplicator(volatile=True) as dedup:
            for page in [*visits(), Page(FORUM.format(7, 1), html=topic(7, 5))]:
                await dedup.judge(page)
            copy = await dedup.check(FORUM.format(7, 2), html=topic(7, 6))
            pages = [archived(month, 0) for month in range(40, 45)]
            return [copy.kind, *[verdict.kind async for verdict in dedup.check_many(pages)]]

    assert asyncio.run(kinds()) == [Kind.EXACT_DUPLICATE, *[Kind.NEW] * 5]


def test_a_wrong_option_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="volatile is 'no'; it must be True, False or 'known'"
    ):
        Deduplicator(volatile="no")


def test_figures_below_one_heading_are_kept_in_other_folders_of_the_host() -> None:
    """Of a page of figures, the lines may be those that change with every load elsewhere."""

    def figures(number: int, heading: str = "Figures of the day") -> str:
        lines = (f"{number} boats passed", f"Level of the river: {number + 7} cm")
        return f"<title>{heading}</title><h1>{heading}</h1><p>{'<p>'.join(lines)}"

    with Deduplicator(volatile=True) as dedup:
        for page in range(4):
            for load in range(2):
                url = f"http://h.example/live/{page}?utm_source={load}"
                dedup.check(url, html=figures(90 * page + load, f"Live from lock {page}"))
        assert dedup.hosts.known_at("http://h.example/elsewhere/")
        pages = [
            Page(f"http://h.example/{town}/day-{town}", html=figures(number))
            for number, town in enumerate("abcdefgh", 1000)
        ]
        assert [verdict.is_duplicate for verdict in check(dedup, pages)] == [False] * 8
