"""The rest of a page, outside its main text."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from crawldedup import Deduplicator, Kind, compare
from crawldedup.page import Page
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.rest import rest_of

WORDS = [
    "harbor",
    "lantern",
    "copper",
    "meadow",
    "orchard",
    "timber",
    "saddle",
    "ferry",
    "granite",
    "willow",
    "market",
    "anchor",
    "violin",
    "barley",
    "chapel",
    "cellar",
]


def prose(seed: int, sentences: int) -> str:
    chosen = random.Random(seed)
    return " ".join(
        f"The {chosen.choice(WORDS)} near the {chosen.choice(WORDS)} needs a {chosen.choice(WORDS)} "
        f"and {chosen.randrange(2, 99)} pieces of {chosen.choice(WORDS)}."
        for _ in range(sentences)
    )


MAIN = "".join(f"<p>{prose(seed, 6)}</p>" for seed in range(4))


def page(rest: str, main: str = MAIN) -> str:
    return (
        f"<html><head><title>Offer</title></head><body><div id=content><h1>Offer</h1>{main}</div>"
        f"{rest}</body></html>"
    )


def item(rest: str, seed: int) -> str:
    return rest.format(prose(seed, 6))


PLACES = {
    "a promotion": "<div class=promo><p>{}</p></div>",
    "a footer": "<footer><p>{}</p></footer>",
    "a hidden part": "<div hidden><p>{}</p></div>",
    "a sidebar": "<aside><p>{}</p></aside>",
    "a part of its own": "<div class=related><p>{}</p></div>",
}


@pytest.mark.parametrize("place", PLACES)
def test_pages_with_one_main_text_are_told_apart_by_what_is_around_it(place: str) -> None:
    one, other = [page(item(PLACES[place], seed)) for seed in (100, 200)]
    dedup = Deduplicator(key=0)
    assert dedup.check("https://a.example/offer/1", html=one).kind is Kind.NEW
    verdict = dedup.check("https://a.example/offer/2", html=other)
    assert (verdict.kind, verdict.rejected_by) == (Kind.NEW, "rest")
    # The same page once more, without its surroundings, and at an address of another form.
    assert dedup.check("https://a.example/offer/3", html=one).is_duplicate
    assert dedup.check("https://a.example/offer/4", html=page("")).is_duplicate
    assert dedup.check("https://a.example/print/offer/5", html=other).is_duplicate


def test_a_comparison_shows_how_the_rest_differs() -> None:
    one, other = [
        Page(f"https://a.example/offer/{number}", html=page(item(PLACES["a promotion"], number)))
        for number in (100, 200)
    ]
    compared = compare(one, other)
    assert compared.apart == "another text outside the main text, at an address of the same form"
    assert compared.similarity == 1
    assert compared.changes[0].removed in prose(100, 6)
    assert compared.changes[0].added in prose(200, 6)
    assert compare(one, other, ignore_marks={"a.example": ["rest"]}).apart is None


def test_an_edited_headline_is_no_part_of_the_rest() -> None:
    def moved(headline: str) -> str:
        crumbs = f"<p>News > Harbor > {headline}</p>"
        shown = page(f"<aside>{crumbs}<p>{SAID}</p></aside>")
        return shown.replace("Offer", headline)

    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/news/ferry", html=moved("The ferry is late"))
    found = dedup.check("https://a.example/news/ferry-2", html=moved("Update: The ferry is late"))
    assert found.is_duplicate


def read(rest: str, main: str = MAIN) -> str | None:
    shown = HtmlPage.read(page(rest, main).encode(), None)
    text = "\n".join(line for line in _lines(main))
    return rest_of(shown, text)


def _lines(main: str) -> list[str]:
    return [part.removesuffix("</p>") for part in main.split("<p>") if part]


SAID = prose(300, 6)


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        (lambda said: said, True),
        (lambda said: f"{said}</p><p>1,532 views", True),
        (lambda said: f"{said}</p><p>Friday, November 27", True),
        (lambda said: f"{said}</p><p>(Redirected from Boats)", True),
        (lambda said: f"{said}</p><p>1 kg", False),
        (lambda said: f"{said}</p><p><a href=/other>Another story of the harbor</a>", True),
        (lambda said: f"{said}</p><p>And another line of it.", False),
        (lambda said: said.replace("harbor", "haven", 1), False),
    ],
    ids=["nothing", "views", "a date", "a note", "a cell", "a link", "a line", "a word"],
)
def test_only_what_it_says_counts(change: Callable[[str], str], *, is_same: bool) -> None:
    assert "harbor" in SAID
    first = read(f"<div class=promo><p>{SAID}</p><p>9 views</p></div>")
    second = read(f"<div class=promo><p>{change(SAID)}</p><p>9 views</p></div>")
    assert first is not None
    assert (first == second) is is_same


def test_the_order_of_its_lines_does_not_count() -> None:
    lines = [f"<p>{prose(seed, 2)}</p>" for seed in range(20, 24)]
    first = read(f"<div class=promo>{''.join(lines)}</div>")
    second = read(f"<div class=promo>{''.join(reversed(lines))}</div>")
    assert first == second is not None


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "<div class=promo><p>Buy one, and get another one. It is that simple.</p></div>",
        f"<div class=promo><p>{prose(300, 2)}</p></div>",
        f"<nav>{''.join(f'<a href=/{n}>{prose(n, 1)}</a> ' for n in range(30))}</nav>",
        f"<div class=cookie-banner><p>{SAID}</p></div>",
        f"<section class=comments><p>{SAID}</p></section>",
        f"<script>{SAID}</script>",
    ],
    ids=["nothing", "little", "a fifth is much", "links", "consent", "comments", "a program"],
)
def test_a_page_with_little_around_its_main_text_has_no_rest(rest: str) -> None:
    assert read(rest) is None


@pytest.mark.parametrize(
    "options", [{"extractor": "text"}, {"content": "#content"}, {"distinguish": "nothing"}]
)
def test_a_text_that_is_no_guess_has_no_rest(options: dict[str, str]) -> None:
    one, other = [page(item(PLACES["a footer"], seed)) for seed in (1, 2)]
    dedup = Deduplicator(key=0, **options)  # type: ignore[arg-type]
    dedup.check("https://a.example/offer/1", html=one)
    verdict = dedup.check("https://a.example/offer/2", html=other)
    assert verdict.rejected_by != "rest"


def test_a_table_of_short_cells_is_part_of_the_rest() -> None:
    def table(first: int) -> str:
        rows = "".join(f"<tr><td>{hour}:00<td>{first + hour} miles" for hour in range(6, 22))
        return page(f"<aside><table>{rows}</table></aside>", f"<p>{prose(1, 6)}</p>")

    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/line/7", html=table(10))
    assert dedup.check("https://a.example/line/8", html=table(40)).rejected_by == "rest"
    assert dedup.check("https://a.example/line/9", html=table(10)).is_duplicate
