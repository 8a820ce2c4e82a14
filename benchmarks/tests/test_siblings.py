"""The families of `siblings.py`, and how a method that saw them is judged."""

from __future__ import annotations

from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

import pytest

from benchmarks.siblings_parts.families import FAMILIES, Mark
from benchmarks.siblings_parts.measure import Drop, Tally, orders, run_method
from benchmarks.siblings_parts.methods import CRAWLDEDUP, Method, ReadPage, all_methods, read
from benchmarks.siblings_parts.site import View
from crawldedup.fingerprinting.tokenize import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.siblings_parts.families import Family
    from benchmarks.siblings_parts.methods import Check
    from benchmarks.siblings_parts.site import Page, Site

SIZES = (30, 150)
SIBLINGS = 4
LONGEST_SENTENCE = 40

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def site_of(family: Family) -> Site:
    return family.site(SIZES, SIBLINGS)


def family_named(name: str) -> Family:
    return next(family for family in FAMILIES if family.name == name)


def method(check: Callable[[Page], bool]) -> Method:
    """What takes a page for a copy if `check` is true."""

    @contextmanager
    def start() -> Iterator[Check]:
        yield lambda read_page: "https://original.example/" if check(read_page.page) else None

    return Method("of a test", start)


def pages_of(name: str) -> list[ReadPage]:
    return [ReadPage(page, "") for page in site_of(family_named(name)).pages()]


def judged(taken_for_copy: Callable[[Page], bool], pages: list[ReadPage]) -> Tally:
    return sum(run_method(method(taken_for_copy), pages).values(), Tally())


@every_family
def test_every_content_has_all_its_views_at_addresses_of_their_own(family: Family) -> None:
    pages = list(site_of(family).pages())
    assert len({page.url for page in pages}) == len(pages)
    contents = {page.content for page in pages}
    assert len(contents) == len(SIZES) * SIBLINGS
    for content in contents:
        views = [page for page in pages if page.content == content]
        assert [page.view for page in views] == list(family.views)
        assert views[0].url == f"https://{content}"


@every_family
def test_siblings_differ_unless_nothing_tells_them_apart(family: Family) -> None:
    contents = site_of(family).contents
    shown = {
        (content.title, content.text, content.pictures, content.controls, str(content.state))
        for content in contents
    }
    assert len(shown) == (len(SIZES) if family.mark is Mark.NOTHING else len(contents))


@every_family
def test_siblings_share_the_text_of_their_size(family: Family) -> None:
    for content in site_of(family).contents:
        paragraphs = family.language.paragraphs(f"{family.name} {content.words}", content.words)
        words = count_words(" ".join(paragraphs))
        assert content.words <= words < content.words + LONGEST_SENTENCE
        for paragraph in paragraphs:
            assert f"<p>{escape(paragraph)}</p>" in content.text


@pytest.mark.parametrize(
    "name",
    ["gallery", "lamp colors", "documents", "recordings", "maps", "shirt sizes", "forms"],
)
def test_some_siblings_have_the_same_words(name: str) -> None:
    for words in SIZES:
        contents = [c for c in site_of(family_named(name)).contents if c.words == words]
        assert len({(content.title, content.text) for content in contents}) == 1


def test_a_site_is_the_same_every_time_and_counts_every_load() -> None:
    for family in FAMILIES:
        pages = list(site_of(family).pages())
        assert pages == list(site_of(family).pages())
        loads = [page.html for page in pages if page.view is not View.PRINT]
        assert len(set(loads)) == len(loads)


@every_family
def test_a_print_view_has_no_frame_and_no_controls(family: Family) -> None:
    for page in site_of(family).pages():
        if page.view is View.PRINT:
            assert not any(tag in page.html for tag in ("<form", "<nav", "<aside", "<iframe"))
            assert ("<img" in page.html) == family.prints_pictures


def test_keeping_every_page_loses_nothing_and_misses_every_copy() -> None:
    tally = judged(lambda _: False, pages_of("jobs"))
    assert (tally.contents, tally.copies) == (8, 40)
    assert (tally.lost, len(tally.missed)) == ((), 40)
    assert (tally.lost_share, tally.missed_share) == (0, 1)


def test_dropping_every_page_but_one_loses_the_other_contents() -> None:
    pages = pages_of("jobs")
    kept = pages[0].page.url
    tally = judged(lambda page: page.url != kept, pages)
    assert (len(tally.lost), tally.missed) == (7, ())
    assert tally.lost[0] == Drop(pages[6].page.url, "https://original.example/")


def test_a_content_of_which_a_view_is_left_is_not_lost() -> None:
    for arranged in orders(pages_of("jobs")):
        tally = judged(lambda page: page.view is not View.PRINT, list(arranged))
        assert (tally.lost, tally.missed) == ((), ())


def test_what_knows_the_contents_is_perfect_in_both_orders() -> None:
    arrangements = list(orders(pages_of("matches")))
    assert arrangements[0] == arrangements[1][::-1]
    for arranged in arrangements:
        seen: set[str] = set()

        def is_known(page: Page, seen: set[str] = seen) -> bool:
            known = page.content in seen
            seen.add(page.content)
            return known

        tally = judged(is_known, list(arranged))
        assert (tally.lost, tally.missed) == ((), ())


def test_sizes_are_tallied_apart() -> None:
    tallies = run_method(method(lambda page: page.words == 30), pages_of("maps"))
    assert {words: len(tally.lost) for words, tally in tallies.items()} == {30: 4, 150: 0}
    assert {words: tally.copies for words, tally in tallies.items()} == {30: 12, 150: 12}


@pytest.mark.parametrize("name", ["hotel rooms", "gallery", "maps", "listings", "lottery draws"])
def test_the_defaults_lose_nothing_that_similarity_alone_loses(name: str) -> None:
    pages = read(family_named(name).site([400], SIBLINGS).pages())
    methods = {each.name: each for each in all_methods().present}
    defaults = run_method(methods[CRAWLDEDUP], pages)[400]
    similarity = run_method(methods[f'{CRAWLDEDUP}, distinguish="nothing"'], pages)[400]
    exact = run_method(methods["exact text"], pages)[400]
    assert (defaults.lost, defaults.missed) == ((), ())
    assert len(similarity.lost) == SIBLINGS - 1
    assert exact.lost_share == 0 or exact.missed_share == 0
