"""Siblings are kept, copies are found behind them, and exact keys find what a crowd hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crawldedup.marks.exact_keys import MOST_PER_KEY, text_key
from crawldedup.marks.packing import packed, packed_content, unpacked
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import (
    FIRST_PART,
    HEADLINE,
    TITLE_PART,
    AddressMarks,
    Comments,
    ContentMarks,
    Datum,
    Marks,
    Name,
)
from crawldedup.stores.contract import DIGEST_MASK, Answer, Query, Record, Retention, Store
from crawldedup.verdict import Kind
from tests.stores.backends import Clock
from tests.stores.pages import (
    FOR_EVER,
    NO_PROBES,
    Page,
    checked,
    found,
    marked,
    marks,
    name_of,
    named,
    near_page,
    pictured,
    query,
    random_page,
    revisit_rule,
    similar_page,
    thin_page,
)

SITE = "https://shop.example"
A, B, C, D = (f"{SITE}/{name}" for name in "abcd")


def ask(store: Store, page: Page, url: str, shown: bytes = b"", **values: Any) -> Answer:
    """Check a page that shows these marks. The values are those of its record."""
    question = marked(query(page, url), shown)
    return checked(store, replace(question, record=replace(question.record, **values)))


def told(answer: Answer) -> tuple[Kind, str | None, Conflict]:
    """What a page is, which page it is compared with, and what tells them apart."""
    beside = answer.record or answer.rejected
    return answer.kind, beside.url if beside else None, answer.conflict


def kept(store: Store, url: str) -> Record:
    (record,) = store.remembered([name_of(url)], FOR_EVER)
    assert record is not None
    return record


def unprobed(page: Page, url: str = D, shown: bytes = b"", **values: Any) -> Query:
    """The question of a page that only exact keys can find."""
    return replace(marked(query(page, url), shown), plan=NO_PROBES, **values)


def filed(store: Store, page: Page, shown: bytes = b"") -> set[str]:
    """The pages that exact keys find for a page."""
    return {record.url for record in found(store, unprobed(page, shown=shown))}


def heir(shown: bytes, former: Page) -> bytes:
    """The marks of a page that took the place of one with this text."""
    read = unpacked(shown)
    assert read is not None
    assert read.address is not None
    text = text_key(former.search, former.digest & DIGEST_MASK)
    return packed(replace(read, address=replace(read.address, former=text)))


def with_digest(page: Page, digest: int) -> Page:
    return replace(page, digest=digest)


def commented(address: int, *sample: int, digest: int = 1) -> bytes:
    """The marks of a page with comments below its text."""
    return marks(address, form=1, text=1, comments=Comments(digest, sample))


class TestTheRule:
    @pytest.mark.parametrize(
        ("first", "second", "conflict"),
        [
            (named(1, 1), named(2, 2), Conflict.NAME),
            (pictured(1, 1, 3), pictured(2, 2, 3), Conflict.PICTURE),
            (marks(1, players=(1,)), marks(2, players=(2,)), Conflict.PLAYER),
            (marks(1, data=(Datum(1, 1),)), marks(2, data=(Datum(1, 2),)), Conflict.DATA),
            (marks(1, form=1, text=1), marks(2, form=1, text=2), Conflict.TEXT),
            (commented(1, 5, 6, 7), commented(2, 8, 9, 10), Conflict.TEXT),
            (
                marks(1, form=1, links=8, sketch=0xFF),
                marks(2, form=1, links=8, sketch=0xFF00),
                Conflict.LINKS,
            ),
            (
                marks(1, links=8, sketch=0xFF, is_listing=True),
                marks(2, links=8, sketch=0xFF00, is_listing=True),
                Conflict.LISTING,
            ),
            (marks(1, numbers=1), marks(2, numbers=2), Conflict.NUMBERS),
        ],
        ids=lambda value: value.name if isinstance(value, Conflict) else "",
    )
    @pytest.mark.parametrize("copy_of", [lambda page: page, near_page], ids=["exact", "near"])
    def test_siblings_are_new_and_what_tells_them_apart_is_told(
        self,
        store: Store,
        page: Page,
        copy_of: Callable[[Page], Page],
        first: bytes,
        second: bytes,
        conflict: Conflict,
    ) -> None:
        assert told(ask(store, page, A, first)) == (Kind.NEW, None, Conflict.NONE)
        sibling = ask(store, copy_of(page), B, second)
        assert told(sibling) == (Kind.NEW, A, conflict)
        assert (sibling.pages, sibling.candidates) == (2, 1)
        assert sibling.rejected == replace(kept(store, A), packed_text=b"")
        assert kept(store, A).copies == 0
        assert kept(store, B).marks == second

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (b"", named(2, 2)),
            (named(1, 1), b""),
            (named(1, 1), pictured(2, 1)),
            (named(1, 1), named(2, 1)),
            (named(1, 1), named(2, 2, site=2)),
            (named(1, 1), named(1, 2)),
            (marks(1, text=1), marks(2, text=2)),
            (pictured(1, 1, 2), pictured(2, 2, 3)),
            (commented(1, 5, 6, 7), commented(2, 5, 6, 7, 8, digest=2)),
            (commented(1, 5, 6), commented(2, 7, 8, digest=2)),
            (commented(1, 5, 6, 7), marks(2, form=1, text=1)),
        ],
        ids=[
            "no marks",
            "none either",
            "other kinds",
            "one name",
            "other sites",
            "one address",
            "texts at addresses of other forms",
            "a shared lead",
            "a comment more",
            "few comments",
            "comments on one page",
        ],
    )
    def test_what_does_not_conflict_is_a_copy(
        self, store: Store, page: Page, first: bytes, second: bytes
    ) -> None:
        ask(store, page, A, first)
        assert told(ask(store, page, B, second)) == (Kind.EXACT_DUPLICATE, A, Conflict.NONE)
        assert told(ask(store, near_page(page), C, second))[:2] == (Kind.NEAR_DUPLICATE, A)

    def test_thin_siblings_are_kept_too(self, store: Store, rng: np.random.Generator) -> None:
        page = thin_page(rng)
        ask(store, page, A, named(1, 1))
        assert told(ask(store, page, B, named(2, 2))) == (Kind.NEW, A, Conflict.NAME)
        assert told(ask(store, page, C, named(3, 1))) == (Kind.EXACT_DUPLICATE, A, Conflict.NONE)
        assert told(ask(store, page, D, named(4, 2))) == (Kind.EXACT_DUPLICATE, B, Conflict.NONE)

    def test_the_copy_behind_a_sibling_is_found(self, store: Store, page: Page) -> None:
        near = near_page(page)
        ask(store, near, B, named(2, 2))
        ask(store, page, A, named(1, 1))
        answer = ask(store, page, C, named(3, 2))
        assert (told(answer), answer.candidates) == ((Kind.NEAR_DUPLICATE, B, Conflict.NONE), 2)
        assert [kept(store, url).copies for url in (A, B)] == [0, 1]

    def test_siblings_are_no_crowd(self, store: Store, page: Page) -> None:
        """A page that resembles many others must resemble one of them the more."""
        for number in range(2, 12):
            ask(store, page, f"{SITE}/{number}", named(number, number))
        near = at_limit(page)
        assert told(ask(store, near, A, named(1, 1)))[0] is Kind.NEW
        answer = ask(store, page, C, named(100, 1))
        assert told(answer) == (Kind.NEAR_DUPLICATE, A, Conflict.NONE)
        assert answer.candidates == 11

    def test_a_sibling_is_told_before_what_is_less_similar(
        self, store: Store, rng: np.random.Generator, page: Page
    ) -> None:
        ask(store, page, A, named(1, 1))
        ask(store, page, B, named(2, 2))
        ask(store, similar_page(page, 0.82, rng), C)
        answer = ask(store, near_page(page), D, pictured(4, 1))
        assert told(answer)[:2] == (Kind.NEAR_DUPLICATE, A)
        answer = ask(store, near_page(page), D + "2", named(5, 5))
        assert told(answer) == (Kind.NEW, A, Conflict.NAME)

    def test_what_is_less_similar_is_no_sibling(
        self, store: Store, rng: np.random.Generator, page: Page
    ) -> None:
        ask(store, random_page(rng), A, named(1, 1))
        answer = checked(store, unprobed(page, B, named(1, 2)))
        assert told(answer) == (Kind.NEW, None, Conflict.NONE)
        assert answer.candidates == 1

    def test_a_better_page_never_replaces_a_sibling(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1), rank=2)
        sibling = ask(store, page, B, named(2, 2), rank=0)
        assert (told(sibling), sibling.replaces) == ((Kind.NEW, A, Conflict.NAME), False)
        better = ask(store, page, C, named(3, 1), rank=1)
        assert (told(better)[:2], better.replaces) == ((Kind.EXACT_DUPLICATE, A), True)
        assert [
            bool(record) for record in store.remembered(list(map(name_of, (A, B, C))), FOR_EVER)
        ] == [
            False,
            True,
            True,
        ]

    def test_siblings_are_found_too(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        ask(store, near_page(page), B, named(2, 2))
        for shown in (b"", named(3, 1), named(3, 2), named(3, 3)):
            question = marked(query(page, C), shown)
            assert [record.url for record in found(store, question)] == [A, B]


def at_limit(page: Page) -> Page:
    """A page that is as far from this one as a lone original may be."""
    rule = query(page, "").rule
    weights, cost = page.verify_weights.copy(), 0
    for bit in sorted(range(len(rule.costs)), key=lambda bit: -rule.costs[bit]):
        if cost + rule.costs[bit] <= rule.limit:
            cost += rule.costs[bit]
            weights[bit] *= -1
    assert rule.bounds.limits[-1] < cost <= rule.limit
    return replace(page, verify_weights=weights, digest=page.digest ^ 1)


def page_at_cost(page: Page, cost: int) -> Page:
    """A page with another text, whose bits differ from this one's at this cost or just below."""
    rule = query(page, "").rule
    weights, total = page.verify_weights.copy(), 0
    for bit in sorted(range(len(rule.costs)), key=lambda bit: -rule.costs[bit]):
        if total + rule.costs[bit] <= cost:
            total += rule.costs[bit]
            weights[bit] *= -1
    assert cost - total < min(filter(None, rule.costs))
    return replace(page, verify_weights=weights, digest=page.digest ^ 2)


ADDRESS = AddressMarks(1, 77, 2, names=0, parameters=0, views=0, canonical=77)


def view(views: int, name: int = 1, *, is_proved: bool = True, **others: Any) -> bytes:
    """The marks of one page at an address that differs in a view alone."""
    content = {
        field: others.pop(field)
        for field in ("players", "pictures", "text", "links", "sketch", "is_listing")
        if field in others
    }
    named = ContentMarks(names=(Name(name, HEADLINE | TITLE_PART | FIRST_PART),), **content)
    address = replace(ADDRESS, views=views, is_proved=is_proved and views > 0, **others)
    return packed(Marks(named, address))


class TestCertainViews:
    """Half of the text is enough for pages whose addresses are known to differ in a view alone."""

    @pytest.mark.parametrize(("beyond", "is_copy"), [(0, True), (1, False)], ids=["at", "beyond"])
    @pytest.mark.parametrize("views", [(0, 8), (7, 0), (7, 8)], ids=str)
    def test_they_are_copies_up_to_their_cost(
        self, store: Store, page: Page, beyond: int, is_copy: bool, views: tuple[int, int]
    ) -> None:
        bounds = query(page, "").rule.bounds
        assert bounds.of_views > bounds.far > bounds.limits[0]
        other, least = (
            page_at_cost(page, bounds.of_views),
            min(filter(None, query(page, "").rule.costs)),
        )
        if beyond:
            other = page_at_cost(page, bounds.of_views + least)
        cost = query(page, "").rule.cost(page.signature, other.signature)
        assert (cost > bounds.of_views) is not is_copy
        ask(store, other, A, view(views[0]))
        answer = ask(store, page, B, view(views[1]))
        expected = (Kind.NEAR_DUPLICATE, A) if is_copy else (Kind.NEW, None)
        assert told(answer)[:2] == expected
        assert kept(store, A).copies == int(is_copy)

    @pytest.mark.parametrize(
        "shown",
        [
            view(8, name=2),
            view(8, is_proved=False),
            view(8, path=78, canonical=78),
            view(8, parameters=5, names=3, canonical=77 ^ 5),
            view(8, site=2),
            view(8, players=(5,)),
            marks(9),
            b"",
        ],
        ids=[
            "another name",
            "unproved",
            "another path",
            "another parameter",
            "another site",
            "another player",
            "another address",
            "no marks",
        ],
    )
    @pytest.mark.parametrize("is_first", [False, True], ids=["second", "first"])
    def test_what_is_not_certain_is_none(
        self, store: Store, page: Page, shown: bytes, is_first: bool
    ) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        both = view(7, players=(4,)), shown
        first, second = reversed(both) if is_first else both
        ask(store, other, A, first)
        assert told(ask(store, page, B, second))[0] is Kind.NEW

    @pytest.mark.parametrize(
        ("views", "texts", "is_copy"),
        [
            ((0, 0), (5, 5), True),
            ((7, 7), (5, 5), True),
            ((7, 8), (5, 5), False),
            ((0, 0), (5, 6), False),
            ((0, 0), (None, 5), False),
            ((0, 0), (None, None), False),
        ],
        ids=str,
    )
    def test_another_name_above_the_same_text_is_enough_if_only_a_campaign_differs(
        self,
        store: Store,
        page: Page,
        views: tuple[int, int],
        texts: tuple[int | None, int | None],
        is_copy: bool,
    ) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, other, A, view(views[0], 1, text=texts[0]))
        answer = ask(store, page, B, view(views[1], 2, text=texts[1]))
        assert told(answer)[0] is (Kind.NEAR_DUPLICATE if is_copy else Kind.NEW)

    @pytest.mark.parametrize(
        ("links", "sketch", "is_listing", "is_copy"),
        [(9, 3, False, True), (9, 6, False, False), (8, 3, False, False), (9, 3, True, False)],
        ids=str,
    )
    def test_but_not_with_other_links_and_not_for_a_list(
        self,
        store: Store,
        page: Page,
        links: int,
        sketch: int,
        is_listing: bool,
        is_copy: bool,
    ) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, other, A, view(0, 1, text=5, links=9, sketch=3, is_listing=is_listing))
        shown = view(0, 2, text=5, links=links, sketch=sketch, is_listing=is_listing)
        expected = Kind.NEAR_DUPLICATE if is_copy else Kind.NEW
        assert told(ask(store, page, B, shown))[0] is expected

    def test_without_a_name_nothing_is_certain(self, store: Store, page: Page) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        bare = packed(Marks(ContentMarks(), replace(ADDRESS, views=7, is_proved=True)))
        ask(store, other, A, bare)
        assert told(ask(store, page, B, bare))[0] is Kind.NEW

    def test_thin_pages_with_equal_bits_are_not_copies_by_that_alone(
        self, store: Store, rng: np.random.Generator
    ) -> None:
        first, second = thin_page(rng), thin_page(rng)
        ask(store, first, A, view(7))
        assert told(ask(store, second, B, view(8))) == (Kind.NEAR_DUPLICATE, A, Conflict.NONE)
        assert told(ask(store, thin_page(rng), C, view(9, name=2)))[0] is Kind.NEW
        assert told(ask(store, thin_page(rng), D, view(9, is_proved=False)))[0] is Kind.NEW
        same_core = thin_page(rng, core=1), thin_page(rng, core=1)
        ask(store, same_core[0], f"{SITE}/1", named(1, 5))
        assert told(ask(store, same_core[1], f"{SITE}/2", named(2, 5)))[0] is Kind.NEW

    def test_they_are_found_among_many(
        self, store: Store, rng: np.random.Generator, page: Page
    ) -> None:
        """No search by text leads from one half of a text to the other: their address does."""
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        checked(store, unprobed(other, A, view(7)))
        for number in range(2 * MOST_PER_KEY):
            checked(
                store, unprobed(random_page(rng), f"{SITE}/{number}", named(number, 50 + number))
            )
        assert told(checked(store, unprobed(page, B, view(8))))[:2] == (Kind.NEAR_DUPLICATE, A)

    def test_they_are_copies_however_large_the_crowd_is(self, store: Store, page: Page) -> None:
        """In a crowd, a page must be the nearer to its original; a view must not."""
        for number in range(12):
            ask(store, at_limit(page), f"{SITE}/{number}", marks(number, form=1, text=number))
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, other, A, view(7, site=1))
        assert told(ask(store, page, B, view(8)))[:2] == (Kind.NEAR_DUPLICATE, A)

    def test_the_nearest_counts_as_equal(self, store: Store, page: Page) -> None:
        """A page that is accepted by its text does not come before a view of the page itself."""
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, at_limit(page), A, marks(5))
        ask(store, other, B, view(7))
        answer = ask(store, page, C, view(8))
        assert told(answer)[:2] == (Kind.NEAR_DUPLICATE, B)
        found_now = [record.url for record in found(store, marked(query(page, D), view(9)))]
        assert found_now == [B, A]

    def test_a_better_view_replaces_the_other(self, store: Store, page: Page) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, other, A, view(7), rank=2)
        answer = ask(store, page, B, view(8), rank=1)
        assert (told(answer)[:2], answer.replaces) == ((Kind.NEAR_DUPLICATE, A), True)
        assert store.remembered([name_of(A)], FOR_EVER) == [None]
        assert kept(store, B).marks == heir(view(8), other)

    def test_a_revisit_is_compared_with_itself(self, store: Store, page: Page) -> None:
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, page, A, view(7))
        again = ask(store, other, A, view(7))
        assert (again.kind, again.changed) == (Kind.REVISIT, True)
        # Another view of it is no revisit.
        assert told(ask(store, page, B, view(8)))[:2] == (Kind.NEAR_DUPLICATE, A)


class TestLearning:
    def test_a_record_learns_from_its_copy_what_it_lacks(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        assert told(ask(store, page, B, named(2, 1, pictures=(1,), has_lead=True)))[1] == A
        assert kept(store, A).marks == named(1, 1, pictures=(1,), has_lead=True)
        assert told(ask(store, page, C, pictured(3, 2))) == (Kind.NEW, A, Conflict.PICTURE)
        assert told(ask(store, page, D, pictured(4, 1)))[:2] == (Kind.EXACT_DUPLICATE, A)

    def test_what_it_has_it_keeps(self, store: Store, page: Page) -> None:
        shown = pictured(1, 1, 2)
        ask(store, page, A, shown)
        ask(store, page, B, pictured(2, 2, 3))
        assert kept(store, A).marks == shown
        assert told(ask(store, page, C, pictured(3, 3)))[2] is Conflict.PICTURE

    def test_other_sites_teach_nothing(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        ask(store, page, B, named(2, 1, site=2, pictures=(1,), has_lead=True))
        assert kept(store, A).marks == named(1, 1)

    def test_a_better_page_learns_from_the_one_it_replaces(self, store: Store, page: Page) -> None:
        ask(store, page, A, pictured(1, 1), rank=1)
        better = ask(store, near_page(page), B, named(2, 2))
        assert (told(better)[:2], better.replaces) == ((Kind.NEAR_DUPLICATE, A), True)
        assert kept(store, B).marks == heir(named(2, 2, pictures=(1,), has_lead=True), page)
        assert told(ask(store, page, C, pictured(3, 2))) == (Kind.NEW, B, Conflict.PICTURE)

    def test_an_unchanged_revisit_teaches_and_a_changed_one_brings_its_own(
        self, store: Store, page: Page
    ) -> None:
        ask(store, page, A, pictured(1, 1))
        again = ask(store, page, A, named(1, 1))
        assert (again.kind, again.changed) == (Kind.REVISIT, False)
        assert kept(store, A).marks == named(1, 1, pictures=(1,), has_lead=True)
        changed = ask(store, near_page(page), A, named(1, 1))
        assert (changed.kind, changed.changed) == (Kind.REVISIT, True)
        assert kept(store, A).marks == named(1, 1)

    def test_a_revisit_that_shows_other_marks_is_changed_whatever_its_text(
        self, store: Store, page: Page
    ) -> None:
        shown = [marks(1, data=(Datum(1, price),)) for price in (20, 20, 18)]
        for number, each in enumerate(shown):
            question = replace(marked(query(page, A), each), revisit_rule=revisit_rule(page, 0.75))
            answer = checked(store, question)
            assert answer.changed == (number == 2)
        # The answer has those of the earlier visit.
        assert answer.record is not None
        assert answer.record.marks == shown[1]
        assert kept(store, A).marks == shown[2]
        assert kept(store, A).copies == 0

    def test_a_revisit_with_other_comments_is_changed_but_not_without_any(
        self, store: Store, page: Page
    ) -> None:
        shown = [
            marks(1),
            commented(1, 5, digest=1),
            marks(1),
            commented(1, 5, digest=1),
            commented(1, 5, 6, digest=2),
        ]
        changed = [ask(store, page, A, each).changed for each in shown]
        assert changed == [False, True, False, False, True]
        assert kept(store, A).marks == shown[-1]

    def test_comments_count_little_where_small_changes_do(self, store: Store, page: Page) -> None:
        for number in (5, 6):
            question = marked(query(page, A), commented(1, number, digest=number))
            answer = checked(store, replace(question, revisit_rule=revisit_rule(page, 0.75)))
            assert not answer.changed


class TestFormerTexts:
    """A page whose place a better copy took is known again, however much the two differ."""

    @pytest.fixture
    def other(self, store: Store, page: Page) -> Page:
        """The text of the first page, at A, whose place a view of it has taken at B."""
        other = page_at_cost(page, query(page, "").rule.bounds.of_views)
        ask(store, other, A, view(7), rank=2)
        assert ask(store, page, B, view(8), rank=1).replaces
        return other

    def test_the_page_is_a_copy_of_what_took_its_place(self, store: Store, other: Page) -> None:
        # As far as the addresses say, nothing is certain.
        again = ask(store, other, C, view(9, is_proved=False), rank=2)
        assert told(again)[:2] == (Kind.NEAR_DUPLICATE, B)
        assert filed(store, other, view(9, is_proved=False)) == {B}

    def test_another_text_is_none(self, store: Store, other: Page) -> None:
        changed = with_digest(other, other.digest ^ 1)
        assert told(ask(store, changed, C, view(9, is_proved=False)))[0] is Kind.NEW

    def test_marks_decide_as_always(self, store: Store, other: Page) -> None:
        sibling = view(9, 2, is_proved=False)
        assert told(ask(store, other, C, sibling)) == (Kind.NEW, B, Conflict.NAME)

    def test_other_sites_have_their_own(self, store: Store, other: Page) -> None:
        assert filed(store, other, marks(3, site=2)) == filed(store, other) == set()
        assert filed(store, other, marks(3)) == {B}

    def test_a_changed_page_has_none(self, store: Store, page: Page, other: Page) -> None:
        assert ask(store, near_page(page), B, view(8)).changed
        assert kept(store, B).marks == view(8)
        assert filed(store, other, view(9, is_proved=False)) == set()

    def test_an_unchanged_one_keeps_it(self, store: Store, page: Page, other: Page) -> None:
        assert not ask(store, page, B, view(8)).changed
        assert filed(store, other, view(9, is_proved=False)) == {B}

    def test_thin_pages_have_them_too(self, store: Store, rng: np.random.Generator) -> None:
        first, second = thin_page(rng), thin_page(rng)
        ask(store, first, A, view(7), rank=2)
        assert ask(store, second, B, view(8), rank=1).replaces
        again = ask(store, first, C, view(9, is_proved=False), rank=2)
        assert told(again)[:2] == (Kind.NEAR_DUPLICATE, B)

    def test_an_exact_copy_needs_none(self, store: Store, page: Page) -> None:
        ask(store, page, A, view(7), rank=2)
        assert ask(store, page, B, view(8), rank=1).replaces
        assert kept(store, B).marks == view(8)


class TestExactKeys:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (named(1, 1), named(2, 1)),
            (pictured(1, 1), pictured(2, 1, 3)),
            (marks(1, text=1), marks(1, text=2)),
        ],
        ids=["name", "picture", "address"],
    )
    def test_they_find_what_no_range_has(
        self, store: Store, page: Page, first: bytes, second: bytes
    ) -> None:
        ask(store, page, A, first)
        assert told(checked(store, unprobed(near_page(page), B, second)))[:2] == (
            Kind.NEAR_DUPLICATE,
            A,
        )
        assert told(checked(store, unprobed(near_page(page), C, marks(9))))[:2] == (Kind.NEW, None)

    def test_the_digest_is_one(self, store: Store, page: Page) -> None:
        for url, shown in ((A, b""), (B, named(1, 1))):
            ask(store, page, url, shown, marks=shown) if shown else ask(store, page, url)
        answer = checked(store, unprobed(page, C, packed_content(content_of(named(1, 5)))))
        assert told(answer)[:2] == (Kind.EXACT_DUPLICATE, A)

    def test_a_page_that_several_keys_find_is_compared_once(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        question = marked(query(page, B), named(1, 1))
        assert checked(store, question).candidates == 1

    def test_the_pages_that_were_added_last_are_compared(self, store: Store, page: Page) -> None:
        urls = [f"{SITE}/{number}" for number in range(20)]
        for number, url in enumerate(urls):
            checked(store, unprobed(page, url, named(number, number + 1)))
        assert filed(store, page) == set(urls[-MOST_PER_KEY:])
        answer = checked(store, unprobed(page, A, named(100, 100)))
        assert (answer.kind, answer.candidates) == (Kind.NEW, MOST_PER_KEY)
        # The copy of an early page is found by its name.
        answer = checked(store, unprobed(page, B, named(101, 1)))
        assert told(answer)[:2] == (Kind.EXACT_DUPLICATE, urls[0])
        assert answer.candidates == MOST_PER_KEY + 1
        for url in (A, *urls[-8:]):
            assert store.forget(name_of(url))
        assert filed(store, page) == set(urls[:12])

    def test_among_hundreds_of_siblings_each_copy_finds_its_original(
        self, store: Store, page: Page
    ) -> None:
        count = 300
        texts = [with_digest(page, number + 1 << 20) for number in range(count)]
        first = [
            marked(query(text, f"{SITE}/{number}", max_candidates=8), named(number, number + 1))
            for number, text in enumerate(texts)
        ]
        answers = [
            answer for at in range(0, count, 60) for answer in store.check(first[at : at + 60])
        ]
        assert {getattr(answer, "kind", answer) for answer in answers} == {Kind.NEW}
        copies = [
            marked(
                query(text, f"{SITE}/copy/{number}", max_candidates=8),
                named(count + number, number + 1),
            )
            for number, text in enumerate(texts)
        ]
        for number, answer in enumerate(store.check(copies)):
            assert isinstance(answer, Answer)
            assert told(answer)[:2] == (Kind.EXACT_DUPLICATE, f"{SITE}/{number}")
            # Eight by its text, one by its digest and its name.
            assert answer.candidates <= 9


def content_of(shown: bytes) -> Any:
    read = unpacked(shown)
    assert read is not None
    return read.content


class TestFiling:
    """Pages are filed under the exact keys of what they are now, and of nothing else."""

    def test_forgotten(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        assert filed(store, page) == filed(store, near_page(page), named(2, 1)) == {A}
        store.forget(name_of(A))
        assert filed(store, page) == filed(store, near_page(page), named(2, 1)) == set()
        ask(store, page, A, named(1, 1))
        assert filed(store, page) == {A}

    def test_cleared(self, store: Store, page: Page) -> None:
        ask(store, page, A, named(1, 1))
        store.clear()
        assert filed(store, page) == set()
        ask(store, page, B, named(1, 1))
        assert filed(store, near_page(page), named(2, 1)) == {B}

    def test_a_replacement_is_filed_under_its_own_keys(self, store: Store, page: Page) -> None:
        near = near_page(page)
        ask(store, page, A, named(1, 1), rank=1)
        assert ask(store, near, B, pictured(2, 3)).replaces
        assert filed(store, near, named(3, 1)) == {B}
        assert filed(store, page) == set()
        # It has learned its name from the page that it replaces, and keeps the key of its text.
        assert kept(store, B).marks == heir(named(2, 1, pictures=(3,), has_lead=True), page)
        assert filed(store, page, named(5, 1)) == {B}
        assert filed(store, page, named(3, 1, pictures=(3,), has_lead=True)) == {B}

    def test_changed(self, store: Store, page: Page) -> None:
        near = near_page(page)
        ask(store, page, A, named(1, 1))
        assert ask(store, near, A, named(1, 2)).changed
        assert filed(store, page) == filed(store, page, named(2, 1)) == set()
        assert filed(store, near) == filed(store, page, named(2, 2)) == {A}

    def test_changed_in_its_marks_alone(self, store: Store, page: Page) -> None:
        near = near_page(page)
        ask(store, page, A, named(1, 1))
        assert ask(store, page, A, named(1, 2)).changed
        assert filed(store, near, named(2, 1)) == set()
        assert filed(store, near, named(2, 2)) == filed(store, page) == {A}

    def test_taught(self, store: Store, page: Page) -> None:
        near = near_page(page)
        ask(store, page, A, marks(1))
        assert filed(store, near, named(3, 1)) == set()
        ask(store, page, B, named(2, 1))
        assert filed(store, near, named(3, 1)) == {A}
        # By now it is also filed by its lead picture, and no longer by its name alone.
        ask(store, page, C, named(3, 1, pictures=(5,), has_lead=True))
        assert filed(store, near, named(4, 1)) == set()
        assert filed(store, near, named(4, 1, pictures=(5,), has_lead=True)) == {A}

    def test_expired(self, store: Store, clock: Clock, page: Page) -> None:
        retention = Retention(ttl_seconds=50)
        checked(store, replace(marked(query(page, A), named(1, 1)), retention=retention))
        clock.wait(60)
        answer = checked(store, unprobed(near_page(page), B, named(2, 1), retention=retention))
        assert (answer.kind, answer.candidates) == (Kind.NEW, 0)

    def test_a_page_that_changes_back_and_forth_is_filed_once(
        self, store: Store, page: Page
    ) -> None:
        texts = page, near_page(page)
        checked(store, unprobed(texts[0], A, named(1, 1)))
        for number in range(2 * MOST_PER_KEY):
            checked(store, unprobed(texts[number % 2], B, named(2, 2 + number % 2)))
        assert filed(store, texts[0]) == {A}
        assert filed(store, texts[1]) == {B}
        assert filed(store, texts[0], named(5, 3)) == {A, B}


OTHERS = [f"{SITE}/{number}" for number in range(MOST_PER_KEY + 4)]


class TestRoom:
    """What is gone takes no room under a key.

    A page is filed first, then more of the same digest than are read for one key. Once these are
    gone, it is found.
    """

    @pytest.fixture(autouse=True)
    def fill(self, store: Store, page: Page) -> None:
        for number, url in enumerate([A, *OTHERS]):
            assert self.visit(store, page, url, named(number, number + 1)).kind is Kind.NEW
        assert filed(store, page) == set(OTHERS[-MOST_PER_KEY:])

    def visit(
        self, store: Store, page: Page, url: str, shown: bytes = b"", **values: Any
    ) -> Answer:
        question = unprobed(page, url, shown, **values)
        return checked(store, replace(question, record=replace(question.record, rank=1)))

    def test_when_it_is_forgotten(self, store: Store, page: Page) -> None:
        for url in OTHERS:
            store.forget(name_of(url))
        assert filed(store, page) == {A}

    def test_when_it_is_replaced(self, store: Store, page: Page) -> None:
        for number, url in enumerate(OTHERS, 1):
            better = unprobed(near_page(page), f"{url}/better", named(100 + number, number + 1))
            assert checked(store, better).replaces
        assert filed(store, page) == {A}

    def test_when_it_changes(self, store: Store, rng: np.random.Generator, page: Page) -> None:
        for number, url in enumerate(OTHERS, 1):
            assert self.visit(store, random_page(rng), url, named(number, number + 1)).changed
        assert filed(store, page) == {A}

    def test_when_it_expires(
        self, store: Store, clock: Clock, rng: np.random.Generator, page: Page
    ) -> None:
        retention = Retention(ttl_seconds=50)
        clock.wait(40)
        assert self.visit(store, page, A, named(0, 1)).kind is Kind.REVISIT
        clock.wait(20)
        for number in range(3 * len(OTHERS)):
            self.visit(store, random_page(rng), f"{SITE}/new/{number}", retention=retention)
        assert filed(store, page) == {A}

    def test_when_it_is_evicted(self, store: Store, rng: np.random.Generator, page: Page) -> None:
        store.forget(name_of(A))
        retention = Retention(max_pages=2)
        for number in range(len(OTHERS)):
            self.visit(store, random_page(rng), f"{SITE}/new/{number}", retention=retention)
        assert store.info().pages == 2
        assert filed(store, page) == set()
