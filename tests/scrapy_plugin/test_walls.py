"""What crawls look like with and without a wall: the verdicts on their pages, in the order of the
crawl.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import pytest

from crawldedup.scrapy_plugin.walls import MOST_SUSPECTED, WINDOWS, Walls
from crawldedup.verdict import Kind, Verdict

LOGIN = "https://e.com/login"


def new(name: object) -> Verdict:
    return Verdict(Kind.NEW, f"https://e.com/{name}")


def copy(name: object, original: str = LOGIN) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, f"https://e.com/{name}", original, 0.95)


def changed(name: object) -> Verdict:
    return Verdict(
        Kind.REVISIT, f"https://e.com/{name}", f"https://e.com/{name}", 0.1, changed=True
    )


def suspected(verdicts: Iterable[Verdict]) -> list[tuple[int, tuple[str, float, int]]]:
    """The suspicions, and how many pages had been judged by then."""
    walls = Walls()
    return [
        (number, found)
        for number, each in enumerate(verdicts, 1)
        if (found := walls.add(each)) is not None
    ]


def calendar(months: int) -> Iterator[Verdict]:
    return (copy(f"calendar/{month}", "https://e.com/calendar/0") for month in range(months))


def bursts() -> Iterator[Verdict]:
    """Nearly as many copies as make a wall in either window, until they have left it."""
    (short, much), (long, some) = WINDOWS
    for _ in range(5):
        yield from chain(map(copy, range(int(short * much) - 1)), map(new, range(long)))
        yield from (each for n in range(int(long * some) - 1) for each in (copy(n), new(n)))
        yield from map(new, range(long))


HONEST: dict[str, Iterable[Verdict]] = {
    "a calendar among other pages": chain.from_iterable(
        zip(map(new, range(140)), calendar(140), strict=True)
    ),
    "a tenth of soft 404s": (copy(n) if n % 10 == 0 else new(n) for n in range(5000)),
    "what has left the windows": bursts(),
}


@pytest.mark.parametrize("crawl", HONEST)
def test_an_honest_crawl_meets_no_wall(crawl: str) -> None:
    assert suspected(HONEST[crawl]) == []


@pytest.mark.parametrize("before", [0, 99])
def test_a_wall_before_all_of_a_site_is_suspected_once_and_soon(before: int) -> None:
    ((number, found),) = suspected(
        chain(map(new, range(before)), (copy(n) for n in range(5000, 7000)))
    )
    size, share = WINDOWS[0]
    assert number == before + size * share
    pages = min(size, number)
    assert found == (LOGIN, size * share / pages, pages)


def test_a_wall_in_place_of_each_third_page_is_suspected_and_so_is_the_next_one() -> None:
    window, least = WINDOWS[1]
    ((number, (original, share, _)),) = suspected(
        copy(n) if n % 3 == 0 else new(n) for n in range(3000)
    )
    assert (original, share >= least, number <= window) == (LOGIN, True, True)
    walls = [
        copy(number, original)
        for original in ("u:login", "u:ban", "u:login")
        for number in range(100)
    ]
    assert [original for _, (original, *_) in suspected(walls)] == ["u:login", "u:ban"]


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        (((n, 7) for n in range(200)), [("https://e.com/59", 1.0, 60)]),
        (((n, n) for n in range(1, 999)), []),
    ],
)
def test_known_pages_that_all_have_one_new_text_are_a_wall(
    pages: Iterable[tuple[object, int]], found: object
) -> None:
    walls = Walls()
    assert list(filter(None, (walls.add(changed(name), digest) for name, digest in pages))) == found


def test_what_it_holds_is_bounded() -> None:
    walls, found = Walls(), 0
    for original in range(2 * MOST_SUSPECTED):
        for number in range(100):
            found += (
                walls.add(copy(f"{original}/{number}", f"https://e.com/{original}")) is not None
            )
    assert found == len(walls._suspected) == MOST_SUSPECTED
    for site in range(300):
        walls.add(Verdict(Kind.NEW, f"https://site{site}.example/"))
    assert len(walls.sites) == 100
    assert max(map(len, walls.sites.values())) <= max(size for size, _ in WINDOWS)
