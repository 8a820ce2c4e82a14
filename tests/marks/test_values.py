"""The marks of a page as hashes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from crawldedup.key import NO_KEY, Key
from crawldedup.marks.address import Address
from crawldedup.marks.relation import are_other_listings
from crawldedup.marks.values import (
    FIRST_PART,
    HEADLINE,
    MOST_LINKS,
    NAME_BITS,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    Name,
    ShownMarks,
    ShownName,
    address_marks,
    short_hash,
    sketch_of,
)
from crawldedup.urls import NO_LINKS, HeadLinks

KEY = Key(b"sixteen bytes ok")
SITE = "https://example.com"
SHOWN = ShownMarks(
    names=(ShownName("blue lamp", HEADLINE | TITLE_PART), ShownName("shop", TITLE_PART)),
    pictures=("blue", "room"),
    has_lead=True,
    players=("tour",),
    data=(("declared sku", "7"), ("field size", "L")),
    text="A lamp.",
    links=("/a", "/b", "/c"),
)


def marks_of(url: str, canonical: str | None = None, identity: str | None = None) -> AddressMarks:
    head = NO_LINKS if canonical is None else HeadLinks(canonical=(canonical,))
    address = Address.of(url, identity)
    assert address is not None
    return address_marks(address, url, head, NO_KEY)


class TestShownMarks:
    def test_they_are_told_one_a_line(self) -> None:
        assert SHOWN.lines() == (
            "name blue lamp",
            "lead picture blue",
            "picture room",
            "player tour",
            "declared sku 7",
            "field size L",
        )
        listing = replace(SHOWN, has_lead=False, is_listing=True, players=(), data=())
        assert listing.lines() == (
            "name blue lamp",
            "picture blue",
            "picture room",
            "listing of 3 links",
        )
        assert ShownMarks().lines() == ()

    @pytest.mark.parametrize(
        ("roles", "name"),
        [
            ((FIRST_PART, SOCIAL_TITLE, HEADLINE), "2"),
            ((FIRST_PART, SOCIAL_TITLE), "1"),
            ((TITLE_PART, FIRST_PART), "1"),
            ((TITLE_PART,), ""),
        ],
    )
    def test_one_name_is_the_best(self, roles: tuple[int, ...], name: str) -> None:
        shown = tuple(ShownName(str(number), role) for number, role in enumerate(roles))
        assert ShownMarks(names=shown).name == name

    def test_their_hashes_are_keyed_and_keep_their_order(self) -> None:
        hashed = SHOWN.hashed(NO_KEY)
        assert hashed == SHOWN.hashed(NO_KEY) != SHOWN.hashed(KEY)
        assert hashed.names[0] == Name(
            short_hash("blue lamp", NO_KEY, NAME_BITS), HEADLINE | TITLE_PART
        )
        assert hashed.pictures == tuple(
            short_hash(name, NO_KEY, NAME_BITS) for name in ("blue", "room")
        )
        assert hashed.has_lead
        assert [datum.name >> 16 for datum in hashed.data] == [0, 0]
        assert (hashed.links, hashed.sketch) == (3, SHOWN.hashed(NO_KEY).sketch)
        assert (hashed.numbers, ShownMarks().hashed(NO_KEY).text) == (None, None)
        assert ShownMarks(numbers="").hashed(NO_KEY).numbers is not None

    def test_many_links_are_many(self) -> None:
        shown = ShownMarks(links=tuple(f"/{number}" for number in range(1_000)))
        assert shown.hashed(NO_KEY).links == MOST_LINKS


class TestHashes:
    def test_they_have_24_bits_and_are_never_0(self) -> None:
        hashes = {short_hash(str(number), NO_KEY) for number in range(10_000)}
        assert len(hashes) > 9_980
        assert 0 < min(hashes) < max(hashes) < 1 << 24

    def test_any_text_has_one(self) -> None:
        assert short_hash("\ud800", NO_KEY) == short_hash("?", NO_KEY)


class TestSketches:
    def test_sketches_differ_in_about_as_many_bits_as_sets_in_members(self) -> None:
        chooser = random.Random(1)
        for differing in (0, 1, 4, 10):
            counts = []
            for _ in range(200):
                members = chooser.sample(range(1 << 24), 40 + differing)
                whole, part = sketch_of(members), sketch_of(members[differing:])
                counts.append((whole ^ part).bit_count())
            mean = sum(counts) / len(counts)
            assert differing * 0.8 <= mean <= differing

    def test_the_order_does_not_matter(self) -> None:
        assert sketch_of([1, 2, 70]) == sketch_of([70, 2, 1]) == 1 << 1 | 1 << 2 | 1 << 6
        assert sketch_of([]) == sketch_of([5, 69]) == 0

    def test_short_listings_do_not_agree_by_chance(self) -> None:
        shown = [
            ShownMarks(links=(f"/post-{number}/",), is_listing=True, names=())
            for number in range(400)
        ]
        sketches = {marks.hashed(NO_KEY).sketch for marks in shown}
        assert len(sketches) == len(shown)
        both = [ShownMarks(links=links, is_listing=True) for links in (("/a", "/b"), ("/b", "/a"))]
        assert both[0].hashed(NO_KEY).sketch == both[1].hashed(NO_KEY).sketch
        # One link more makes another listing, also where sketches begin.
        for count in range(1, 12):
            links = tuple(f"/post-{number}/" for number in range(count + 1))
            longer, shorter = (
                ShownMarks(links=some, is_listing=True).hashed(NO_KEY)
                for some in (links, links[1:])
            )
            assert are_other_listings(longer, shorter) is (count < 10)


class TestAddresses:
    def test_a_url_without_a_host_has_none(self) -> None:
        assert Address.of("a page") is None

    def test_equal_parts_have_equal_hashes(self) -> None:
        first, second = marks_of(f"{SITE}/jobs/cook?id=1"), marks_of(f"{SITE}/jobs/smith?id=2")
        assert (first.site, first.folder, first.names) == (second.site, second.folder, second.names)
        assert first.path != second.path
        assert first.parameters != second.parameters
        assert first.names < 1 << 16
        bare = marks_of(f"{SITE}/jobs/cook")
        assert (bare.path, bare.names, bare.parameters, bare.views) == (first.path, 0, 0, 0)
        assert marks_of(f"{SITE}/jobs/cook?print=1") == replace(
            bare, views=marks_of(f"{SITE}/jobs/smith?print=1").views
        )

    def test_an_identity_makes_another_address(self) -> None:
        first, second = (marks_of(f"{SITE}/search", identity=name) for name in "ab")
        assert first.path == second.path
        assert first.parameters != second.parameters

    @pytest.mark.parametrize(
        ("canonical", "same"),
        [
            (None, f"{SITE}/a?b=1"),
            (f"{SITE}/a?b=1", f"{SITE}/a?b=1"),
            (f"{SITE}/a", f"{SITE}/a"),
            (f"{SITE}/c?d=2&utm_source=x", f"{SITE}/c?d=2"),
        ],
    )
    def test_the_canonical_page_is_that_which_a_page_claims(
        self, canonical: str | None, same: str
    ) -> None:
        claimed = marks_of(f"{SITE}/a?b=1", canonical).canonical
        assert claimed == marks_of(same).own_address == marks_of(same).canonical

    def test_a_home_page_as_canonical_means_nothing(self) -> None:
        assert marks_of(f"{SITE}/a", f"{SITE}/").canonical == 0
        assert marks_of(f"{SITE}/a", f"{SITE}/?p=1").canonical != 0
