"""What crawls look like with and without a wall: the verdicts on their pages, in the order of the
crawl.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from urllib.parse import quote

import pytest

from crawldedup.crawling.walls import MOST_SUSPECTED, WINDOWS, Walls
from crawldedup.marks.values import HEADLINE, ShownMarks, ShownName
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site

LOGIN = "https://e.com/login"


def new(name: object) -> Verdict:
    return Verdict(Kind.NEW, f"https://e.com/{name}")


def copy(name: object, original: str = LOGIN) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, f"https://e.com/{name}", original, 0.95)


def kept(name: object, nearest: object, by: str = "text") -> Verdict:
    """A page that was kept apart from the nearest one."""
    rejected = f"https://e.com/{nearest}"
    return replace(new(name), rejected=rejected, rejected_similarity=0.95, rejected_by=by)


def changed(name: object) -> Verdict:
    return Verdict(
        Kind.REVISIT, f"https://e.com/{name}", f"https://e.com/{name}", 0.1, changed=True
    )


def suspected(verdicts: Iterable[Verdict]) -> list[tuple[int, tuple[str, float, int]]]:
    """The suspicions, and how many pages had been judged by then."""
    walls = Walls()
    return [
        (number, (found.original, found.share, found.window))
        for number, each in enumerate(verdicts, 1)
        if (found := walls.add(each)) is not None
    ]


def calendar(months: int) -> Iterator[Verdict]:
    return (copy(f"calendar/{month}", "https://e.com/calendar/0") for month in range(months))


def dated(number: int, words: str, **shown: tuple[str, ...]) -> tuple[Verdict, ShownMarks]:
    """A page that its name keeps apart from the page before it."""
    verdict = (
        kept(f"events/{number}", f"events/{number - 1}", "name") if number else new("events/0")
    )
    return verdict, ShownMarks(names=(ShownName(words, HEADLINE),), **shown)


def months(number: int) -> str:
    return f"events in {('march', 'april', 'mai', '3月')[number % 4]} {2001 + number // 4}"


@pytest.mark.parametrize(
    ("name_of", "shown", "is_suspected"),
    [
        (months, {}, True),
        (months, {"pictures": ("harbor.jpg",)}, False),
        (months, {"players": ("film",)}, False),
        (lambda number: f"room {number}", {}, False),
        (lambda number: f"{'abcdefghij'[number % 10]} {months(number)}", {}, False),
    ],
)
def test_pages_whose_names_differ_in_a_date_are_a_wall(
    name_of: Callable[[int], str], shown: dict[str, tuple[str, ...]], *, is_suspected: bool
) -> None:
    walls = Walls()
    found = []
    for number in range(100):
        verdict, marks = dated(number, name_of(number), **shown)
        found.append(walls.add(verdict, 0, marks))
    assert any(found) == is_suspected
    assert (found[59] is not None) == is_suspected


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
    "frames of one page": (
        copy(f"index.html?x/{n}.html", "https://e.com/index.html") for n in range(500)
    ),
    "a page with queries that came before it": (
        new("?api=0"),
        copy("", "https://e.com/?api=0"),
        *(copy(f"?api={n}", "https://e.com/?api=0") for n in range(1, 500)),
    ),
    "frames that have no page without a query": (
        new("index.html?x/0.html"),
        *(copy(f"index.html?x/{n}.html", "https://e.com/index.html?x/0.html") for n in range(500)),
    ),
    "frames of several versions": (
        copy(f"v{n % 7}/index.html?x/{n}.html", "https://e.com/v0/index.html?x/0.html")
        for n in range(500)
    ),
    "orders of one list": (
        new("list?by=0"),
        *(copy(f"list?by={n}&view=grid", "https://e.com/list?by=0") for n in range(500)),
    ),
    "known frames with a new text": (
        replace(copy(f"index.html?x/{n}.html", "https://e.com/index.html?x/0.html"), changed=True)
        for n in range(500)
    ),
    "what has left the windows": bursts(),
    "siblings by what a wall does not change": (
        kept(n + 1, n, by) for by in ("name", "picture", "data", "listing") for n in range(500)
    ),
    "pages that are not alike": (
        kept(n + 1, n, by) for by in ("similarity", "crowd") for n in range(500)
    ),
    "siblings that are alike in a crowd": (
        kept(n + 1, n, "text" if n % 2 else "crowd") for n in range(50)
    ),
    "forty siblings of each page": chain.from_iterable(
        (new(n), *(kept(f"{n}/{at + 1}", f"{n}/{at}" if at else n) for at in range(40)))
        for n in range(50)
    ),
    "siblings among other pages": chain.from_iterable(
        (kept(n + 1, n), *(new(f"other/{n}/{at}") for at in range(3))) for n in range(500)
    ),
}


@pytest.mark.parametrize("crawl", HONEST)
def test_an_honest_crawl_meets_no_wall(crawl: str) -> None:
    assert suspected(HONEST[crawl]) == []


@pytest.mark.parametrize("query", ["next=/item/{}", "return=https%3A%2F%2Fe.com%2F{}"])
def test_forms_that_name_the_pages_that_they_stand_in_place_of_are_a_wall(query: str) -> None:
    first = f"login?{query.format(0)}"
    copies = (copy(f"login?{query.format(n)}", f"https://e.com/{first}") for n in range(1, 100))
    assert [number for number, _ in suspected((new(first), *copies))] == [60]


def test_pages_that_their_queries_name_are_a_wall_once_one_had_another_content() -> None:
    first = "https://e.com/item?id=1"
    crawl = (
        new("item?id=0"),
        new("item?id=1"),
        *(copy(f"item?id={n}", first) for n in range(2, 99)),
    )
    assert [number for number, _ in suspected(crawl)] == [61]


@pytest.mark.parametrize("path", ["item/{}", "item?id={}"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_pages_that_are_redirected_to_one_path_are_a_wall(path: str, *, is_linked: bool) -> None:
    walls = Walls()
    if is_linked:
        walls.add(new("login"))
    found = [
        walls.add(copy(f"login?from={n}"), asked=f"https://e.com/{path.format(n)}")
        for n in range(100)
    ]
    assert [number for number, each in enumerate(found) if each] == [58 if is_linked else 59]


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


def chained() -> Iterator[Verdict]:
    """Each page is nearest to the one before it."""
    yield new(0)
    yield from (kept(n, n - 1, ("text", "links")[n % 2]) for n in range(1, 100))


def scattered() -> Iterator[Verdict]:
    """Each page is nearest to any of those before it, and some are its copies."""
    chooser = random.Random(1)
    known = [0]
    yield new(0)
    for number in range(1, 100):
        nearest = chooser.choice(known)
        if number % 3:
            known.append(number)
            yield kept(number, nearest)
        else:
            yield copy(number, f"https://e.com/{nearest}")


def replaced() -> Iterator[Verdict]:
    """Better copies take the places of the nearest pages."""
    yield new(0)
    for number in range(1, 100):
        nearest = number - 1
        if number % 4:
            yield kept(number, nearest)
        else:
            yield replace(copy(number, f"https://e.com/{nearest}"), replaces=True)


def crowded() -> Iterator[Verdict]:
    """A wall of few words: each ninth page is as near to several pages, and the next is nearest
    to it.
    """
    yield new(0)
    for number in range(1, 100):
        yield kept(number, number - 1, "text" if number % 9 else "crowd")


@pytest.mark.parametrize("wall", [chained, scattered, replaced, crowded])
def test_a_wall_of_pages_that_differ_in_little_is_named_within_sixty_of_them(
    wall: Callable[[], Iterator[Verdict]],
) -> None:
    pages = list(wall())
    expected = (60, ("https://e.com/0", 1.0, 60))
    assert suspected(pages) == [expected]
    others = [new(f"other/{number}") for number in range(30)]
    assert suspected([*others, *pages]) == [(90, ("https://e.com/0", 60 / 90, 90))]


def test_a_wall_that_an_earlier_crawl_has_met_is_named_by_its_page() -> None:
    assert suspected(kept(n + 1, n) for n in range(100)) == [(60, ("https://e.com/0", 1.0, 60))]


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        (((n, 7) for n in range(200)), ["https://e.com/59"]),
        (((n, n) for n in range(1, 999)), []),
    ],
)
def test_known_pages_that_all_have_one_new_text_are_a_wall(
    pages: Iterable[tuple[object, int]], found: object
) -> None:
    walls = Walls()
    suspicions = [walls.add(changed(name), digest) for name, digest in pages]
    assert [each.original for each in suspicions if each is not None] == found


@pytest.mark.parametrize(
    ("places", "is_one_path"), [(["?to=/{}"], True), (["?to=/{}", "other?to=/{}"], False)]
)
def test_a_suspicion_says_whether_the_pages_differ_in_their_queries_alone(
    places: list[str], is_one_path: bool
) -> None:
    walls = Walls()
    copies = [copy(place.format(number)) for number in range(60) for place in places]
    (suspicion,) = [found for each in copies if (found := walls.add(each)) is not None]
    assert suspicion.is_one_path == is_one_path


def test_what_it_holds_is_bounded() -> None:
    walls, found = Walls(), 0
    for original in range(2 * MOST_SUSPECTED):
        for number in range(100):
            found += (
                walls.add(copy(f"{original}/{number}", f"https://e.com/{original}")) is not None
            )
    assert found == MOST_SUSPECTED
    # A ban of another site is noticed all the same.
    ban = "https://other.example/banned"
    copies = [Verdict(Kind.EXACT_DUPLICATE, f"{ban}/{number}", ban) for number in range(100)]
    assert [walls.add(each) is not None for each in copies].count(True) == 1
    for number in range(12_000):
        walls.add(kept(f"far/{number}", f"near/{number}"))
    assert len(walls._first_ones) == 10_000
    assert len(walls._plain) == 10_000
    for site in range(300):
        walls.add(Verdict(Kind.NEW, f"https://site{site}.example/"))
    assert len(walls.sites) == 100
    assert len(walls._suspected) <= 100
    assert max(map(len, walls.sites.values())) <= max(size for size, _ in WINDOWS)


_LOST = (
    "You may have followed an old link, or mistyped the address in your browser. Please go back to "
    "the home page, use the search at the top of this page, or write to our office if you believe "
    "that this is our mistake, and tell us which page you came from. Our archive was moved last "
    "spring, and some of the older stories have not come along. We are sorry for the trouble and "
    "hope that you find what you were looking for. Readers who wrote to us in the past were mostly "
    "helped within two days, so please do not hesitate to ask. "
)
_MONTHS = "January February March April May June July August September October November December"
_NAMES = ("harbor", "ferry", "tower", "bridge", "market", "garden", "museum", "captain", "window")
SLUGS = [f"{first}-{second}" for first in _NAMES for second in _NAMES if first != second]


def page(title: str, content: str) -> Answer:
    html = (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
        "<header><a href='/'>Home</a> <a href='/about'>About us</a></header>"
        f"<main><h1>{title}</h1>{content}</main><footer>All rights reserved</footer></body></html>"
    )
    return Answer(html.encode())


def soft_404s() -> dict[str, Answer]:
    return {
        f"/story/{slug}": page(
            "Page not found", f"<p>There is no page /story/{slug} on this server. {_LOST}</p>"
        )
        for slug in SLUGS
    }


def empty_results() -> dict[str, Answer]:
    return {
        f"/search?q={slug}": page("Search", f"<p>Nothing was found for {slug}. {_LOST}</p>")
        for slug in SLUGS
    }


def login_forms() -> dict[str, Answer]:
    form = (
        "<p>Please log in to go on.</p><form action='/login' method='post'>"
        "<input type='hidden' name='next' value='/{}'><label>Name <input name='user'></label>"
        "<label>Password <input type='password' name='password'></label><button>Log in</button>"
        f"</form><p>{_LOST}</p>"
    )
    return {f"/login?next={quote(f'/{slug}')}": page("Log in", form.format(slug)) for slug in SLUGS}


def empty_months() -> dict[str, Answer]:
    """A month links to its days, and to the months beside it."""
    months = {}
    for number in range(72):
        year, month = 2020 + number // 12, number % 12 + 1
        path = f"/calendar/{year}-{month:02}"
        days = " ".join(f"<a href='{path}-{day:02}'>{day}</a>" for day in range(1, 29))
        name = f"{_MONTHS.split()[month - 1]} {year}"
        months[path] = page("Calendar", f"<p>No events in {name}. {_LOST}</p><p>{days}</p>")
    return months


@pytest.mark.parametrize(
    ("wall", "dropped"), [(soft_404s, 0), (empty_results, 0), (login_forms, 71), (empty_months, 0)]
)
def test_pages_that_repeat_their_address_are_named_within_sixty_of_them(
    wall: Callable[[], dict[str, Answer]], dropped: int, crawl: Crawler
) -> None:
    pages = wall()
    with Site(pages) as site:
        result = crawl(site, list(pages))
    first = next(iter(pages))
    assert result.report["walls"] == [[first, 60, 60]]
    assert f"60 of the last 60 pages read like {site.url}{first}. Is it" in result.log
    assert (result.counts["checked"], result.counts.get("dropped", 0)) == (len(pages), dropped)


def victim(home: Answer) -> dict[str, Answer]:
    """A site of forty pages, one behind the other, whose home ignores its query."""
    pages = {"/": home}
    for number in range(40):
        words = " ".join(random.Random(number).choices(_LOST.split(), k=150))
        pages[f"/p/{number}"] = page(
            f"Page {number}", f"<p>{words}</p><a href='/p/{number + 1}'>next</a>"
        )
    return pages


def test_links_to_one_page_do_not_close_a_site_before_its_other_pages_are_known(
    crawl: Crawler,
) -> None:
    home = page("Welcome", f"<p>{_LOST}</p>")
    links = [f"/?from=/{number}" for number in range(70)]
    others = [f"/p/{number}" for number in range(40)]
    with Site({**victim(home), **dict.fromkeys(links, home)}) as site:
        result = crawl(site, [*links, *others], CRAWLDEDUP_WALL="close", CRAWLDEDUP_POSTPONE=False)
    assert set(others) <= set(result.passed)
    assert result.counts["walls/suspected"] == 1


@pytest.mark.parametrize("place", ["/?from={}", "/copies/{}"])
def test_copies_of_one_page_do_not_close_a_site_that_has_others(place: str, crawl: Crawler) -> None:
    """Somebody links to the home page at seventy addresses, or has seventy copies of one page."""
    home = page("Welcome", f"<p>{_LOST}</p>")
    copies = [place.format(number) for number in range(70)]
    with Site({**victim(home), **dict.fromkeys(copies, home)}) as site:
        first = ["/", "/p/0", "/p/1", "/p/2"]
        others = [f"/p/{number}" for number in range(3, 40)]
        result = crawl(
            site, [*first, *copies, *others], CRAWLDEDUP_WALL="close", CRAWLDEDUP_POSTPONE=False
        )
    assert set(others) <= set(result.passed)
    assert result.report["stats"]["finish_reason"] == "finished"
    if result.report.get("walls"):
        assert "Earlier pages of 127.0.0.1 are still available" in result.log
