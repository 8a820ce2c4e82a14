"""Contents of one site that share a text, as a Deduplicator tells them apart."""

from __future__ import annotations

from typing import Any

import pytest

from crawldedup import Deduplicator, Kind, Page, Verdict, compare
from crawldedup.errors import ConfigurationError
from tests.stories import NEAR, TEXT, edited

SHOP = "https://shop.example"
WORDS = TEXT.split()
LINES = [" ".join(WORDS[at : at + 40]) for at in range(0, len(WORDS), 40)]


def html(name: str = "", text: str = TEXT, head: str = "", body: str = "") -> str:
    """Return a page that is called so and shows a text."""
    heading = f"<h1>{name}</h1>" if name else ""
    title = f"{name} | Shop" if name else ""
    return (
        f"<html><head><title>{title}</title>{head}</head><body><main>{heading}{body}"
        f"<p>{text}</p></main></body></html>"
    )


def picture(file: str) -> str:
    return html(body=f"<img src='/files/{file}.jpg' width=600>")


def player(video: str) -> str:
    return html(body=f"<iframe src='https://tube.example/embed/{video}'></iframe>")


def declared(sku: str) -> str:
    ld = f'{{"@type": "Product", "sku": "{sku}"}}'
    return html(head=f"<script type='application/ld+json'>{ld}</script>")


def chosen(color: str) -> str:
    options = "".join(
        f"<option value={each}{' selected' if each == color else ''}>{each}</option>"
        for each in ("red", "blue")
    )
    return html(body=f"<form><select name=color>{options}</select></form>")


def links(first: int) -> str:
    items = "".join(
        f"<li><a href='/story/{number}'>The story of the boat with number {number}</a></li>"
        for number in range(first, first + 30)
    )
    return (
        f"<html><head><title>News</title></head><body><main><ul>{items}</ul></main></body></html>"
    )


SIBLINGS = {
    "name": (html("Blue lamp"), html("Red lamp")),
    "picture": (picture("lamp-blue"), picture("lamp-red")),
    "player": (player("abc123"), player("def456")),
    "data": (declared("L-100"), declared("L-200")),
}
BOTH = [
    *((kind, *pages) for kind, pages in SIBLINGS.items()),
    ("data", chosen("red"), chosen("blue")),
]
A, B, C = (f"{SHOP}/{name}/page" for name in ("one", "two", "three"))


def beside(verdict: Verdict) -> tuple[Kind, str | None, str | None]:
    return verdict.kind, verdict.original or verdict.rejected, verdict.rejected_by


class TestMarks:
    @pytest.mark.parametrize(("kind", "first", "second"), BOTH)
    def test_siblings_are_kept_and_their_copies_are_not(
        self, kind: str, first: str, second: str
    ) -> None:
        with Deduplicator() as dedup:
            assert beside(dedup.check(A, html=first)) == (Kind.NEW, None, None)
            verdict = dedup.check(B, html=second)
            assert beside(verdict) == (Kind.NEW, A, kind)
            assert (verdict.rejected_similarity or 0) > 0.9
            for original, page in ((A, first), (B, second)):
                copy = dedup.check(f"{C}?for={original[-8:-5]}", html=page)
                assert beside(copy) == (Kind.EXACT_DUPLICATE, original, None)

    @pytest.mark.parametrize(("kind", "first", "second"), BOTH)
    @pytest.mark.parametrize(
        ("options", "url"),
        [
            ({"distinguish": "nothing"}, B),
            # On another site, and the same address for a campaign.
            ({}, "https://other.example/two/page"),
            ({}, f"{A}?utm_source=letter"),
        ],
        ids=["nothing", "another site", "campaign"],
    )
    def test_elsewhere_similarity_decides(
        self, kind: str, first: str, second: str, options: dict[str, Any], url: str
    ) -> None:
        with Deduplicator(**options) as dedup:
            dedup.check(A, html=first)
            assert dedup.check(url, html=second).is_duplicate

    def test_a_view_without_a_mark_is_a_copy(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=picture("lamp-blue"))
            assert dedup.check(f"{A}?print=1", html=html()).is_duplicate
            assert dedup.check(f"{A}/print", html=html("Blue lamp")).is_duplicate

    def test_listings_are_told_apart_by_where_they_lead(self) -> None:
        with Deduplicator() as dedup:
            first = dedup.check(A, html=links(0))
            same = dedup.check(B, html=links(0).replace("News", "All stories"))
        assert (first.kind, same.is_duplicate) == (Kind.NEW, True)


class TestAddresses:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ("/jobs/cook", "/jobs/smith", "text"),
            ("/list?page=1", "/list?page=2", "text"),
            ("/list", "/list/page/2", "text"),
            ("/jobs/cook", "/shops/smith", None),
            ("/jobs/cook", "/jobs/cook?print=1", None),
        ],
    )
    def test_other_texts_at_addresses_of_one_form_are_siblings(
        self, first: str, second: str, expected: str | None
    ) -> None:
        with Deduplicator() as dedup:
            dedup.check(SHOP + first, html=html())
            verdict = dedup.check(SHOP + second, html=html(text=NEAR))
            copy = dedup.check(f"{SHOP}/jobs/copy", html=html())
        assert verdict.is_duplicate == (expected is None)
        assert verdict.rejected_by == expected
        assert copy.original == SHOP + first

    def test_unless_both_name_one_page(self) -> None:
        head = f"<link rel=canonical href='{SHOP}/jobs/all'>"
        with Deduplicator() as dedup:
            dedup.check(f"{SHOP}/jobs/cook", html=html(head=head))
            assert dedup.check(f"{SHOP}/jobs/smith", html=html(text=NEAR, head=head)).is_duplicate

    def test_identities_are_addresses_of_one_form(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(f"{SHOP}/search", html=html(), identity="cook")
            other = dedup.check(f"{SHOP}/search", html=html(text=NEAR), identity="smith")
        assert beside(other)[::2] == (Kind.NEW, "text")


class TestTexts:
    def test_titles_tell_them_apart(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT, title="Blue lamp")
            other = dedup.check(B, text=TEXT, title="Red lamp")
            copies = [
                dedup.check(f"{C}/{title}", text=TEXT, title=title)
                for title in ("Red lamp", "red LAMP")
            ]
        assert beside(other) == (Kind.NEW, A, "name")
        assert [copy.original for copy in copies] == [B, B]

    def test_without_a_title_similarity_decides(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(f"{SHOP}/jobs/cook", text=TEXT)
            assert dedup.check(f"{SHOP}/jobs/smith", text=NEAR).is_duplicate
            assert dedup.check(f"{SHOP}/jobs/baker", text=NEAR, title="Baker").is_duplicate


class TestOptions:
    @pytest.mark.parametrize(
        ("distinguish", "is_duplicate"), [("siblings", True), ("numbers", False), ("nothing", True)]
    )
    @pytest.mark.parametrize("url", [B, "https://other.example/"])
    def test_numbers_tell_pages_apart_if_asked_for(
        self, distinguish: str, is_duplicate: bool, url: str
    ) -> None:
        with Deduplicator(distinguish=distinguish) as dedup:
            dedup.check(A, html=html(text=f"{TEXT} 42 rooms"))
            verdict = dedup.check(url, html=html(text=f"{TEXT} 43 rooms"))
            texts = [
                dedup.check(f"https://{number}.example/", text=f"{NEAR} {number} boats")
                for number in (7, 8)
            ]
        assert verdict.is_duplicate is is_duplicate
        assert verdict.rejected_by == (None if is_duplicate else "numbers")
        assert texts[1].is_duplicate is is_duplicate

    def test_the_old_name_of_the_default_is_answered_with_the_new_one(self) -> None:
        with pytest.raises(ConfigurationError, match="'products', which is called 'siblings' now"):
            Deduplicator(distinguish="products")
        with pytest.raises(ConfigurationError, match="siblings"):
            Deduplicator(distinguish="prices")


class TestLooking:
    @pytest.mark.parametrize(("kind", "first", "second"), BOTH)
    def test_find_labels_siblings_and_explain_agrees_with_check(
        self, kind: str, first: str, second: str
    ) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=first)
            (match,) = dedup.find(B, html=second)
            assert (match.url, match.sibling, match.similarity > 0.9) == (A, kind, True)
            assert [match.sibling for match in dedup.find(B, html=first)] == [None]
            explained = dedup.explain(B, html=second)
            looked = dedup.check(B, html=second, remember=False)
            checked = dedup.check(B, html=second)
            assert beside(explained.verdict) == beside(looked) == beside(checked)
            assert [candidate.sibling for candidate in explained.candidates] == [kind]
            assert explained.marks
            # Now the page itself is there, which is no sibling.
            found = {match.url: match.sibling for match in dedup.find(C, html=second)}
            assert found == {A: kind, B: None}

    @pytest.mark.parametrize(("kind", "first", "second"), BOTH)
    def test_compare_leads_with_the_reason(self, kind: str, first: str, second: str) -> None:
        told = compare(Page(A, html=first), Page(B, html=second))
        assert beside(told.verdict) == (Kind.NEW, A, kind)
        assert (told.candidate.accepted, told.candidate.sibling, told.drops) == (True, kind, 0)
        reasons = {
            "name": 'another name, "blue lamp" and "red lamp"',
            "picture": "another lead picture, lamp-blue and lamp-red",
            "player": "another player, abc123? and def456?",
        }
        assert told.apart is not None
        assert told.apart.startswith(reasons.get(kind, "other data, "))
        assert told.marks[0] != told.marks[1]
        alike = compare(Page(A, html=first), Page(B, html=second), distinguish="nothing")
        assert (alike.verdict.is_duplicate, alike.apart, alike.marks) == (True, None, ((), ()))
        assert compare(Page(A, html=first), Page(B, html=first)).apart is None

    @pytest.mark.parametrize("places", [0, 1, 3, 8, 13, 30])
    def test_compare_agrees_with_a_crawl(self, places: int) -> None:
        pages = html("Lamp"), html("Lamp", edited(TEXT, places))
        told = compare(Page(A, html=pages[0]), Page(B, html=pages[1]))
        with Deduplicator(key=0) as dedup:
            dedup.check(A, html=pages[0])
            assert dedup.check(B, html=pages[1]).kind is told.verdict.kind


class TestRevisits:
    def test_another_mark_is_a_change(self) -> None:
        pages = [html("Lamp", head=declared(sku)) for sku in ("1", "1", "2", "2")]
        with Deduplicator() as dedup:
            changed = [dedup.check(A, html=page, revisit_similarity=0.6).changed for page in pages]
        assert changed == [False, False, True, False]

    def test_a_record_learns_from_its_copy(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=html())
            assert dedup.check(B, html=picture("lamp-blue")).original == A
            third = dedup.check(C, html=picture("lamp-red"))
        assert beside(third) == (Kind.NEW, A, "picture")
