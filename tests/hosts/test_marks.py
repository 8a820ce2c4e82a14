"""Marks that change by themselves: what is learned of them, and where they say nothing then."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Kind, Page, compare
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.hosts.marks import kind_of_datum
from crawldedup.key import Key
from crawldedup.marks.values import Datum
from tests.hosts.knowing import Knowledge, load, pictured, rotate, rotating
from tests.servers import RedisServer
from tests.stories import HALF_ALIKE, NEAR, OTHER, TEXT, story

NEWS = "http://news.example/world/{}.html"
NEXT = NEWS.format("next")


def loads_of(kind: str, page: int) -> tuple[Fingerprint, Fingerprint]:
    """Two loads of a page that differ in one kind of mark."""
    first, second = 2 * page, 2 * page + 1
    if kind == "picture":
        return pictured(page, first), pictured(page, second)
    if kind == "player":
        return load(page, players=(first,)), load(page, players=(second,))
    if kind == "name":
        return load(first), load(second)
    if kind == "rest":
        return load(page, rest=first), load(page, rest=second)
    return load(page, data=(Datum(7, first),)), load(page, data=(Datum(7, second),))


KINDS = ["picture", "player", "name", "rest", kind_of_datum(7)]


class TestEvidence:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(
        ("pages", "between", "is_quiet"),
        [(3, 599.0, True), (2, 1.0, False), (3, 601.0, False)],
        ids=["three pages", "two pages", "hours apart"],
    )
    def test_three_pages_that_change_within_minutes_are_evidence(
        self, kind: str, pages: int, between: float, is_quiet: bool
    ) -> None:
        known = Knowledge()
        for page in range(1, pages + 1):
            known.meet(NEWS.format(page), *loads_of(kind, page), between=between)
        assert known.quiet_at(NEXT) == (frozenset([kind]) if is_quiet else frozenset())

    @pytest.mark.parametrize(("stable", "is_quiet"), [(26, True), (27, False)])
    def test_it_takes_more_than_a_tenth_of_the_loads(self, stable: int, is_quiet: bool) -> None:
        # The first kind that changes is what starts the count, so it comes first.
        known = rotating(NEWS)
        for page in range(stable):
            known.meet(NEWS.format(f"stable{page}"), *[pictured(100 + page, 1)] * 2)
        assert bool(known.quiet_at(NEXT)) is is_quiet

    def test_a_page_that_changes_again_and_again_is_one_page(self) -> None:
        known = Knowledge()
        known.meet(NEWS.format(1), *(pictured(1, picture) for picture in range(1, 30)))
        # Other addresses of a page that is called so are no other witness.
        for page in range(9):
            known.meet(NEWS.format(f"copy{page}"), pictured(1, 1), pictured(1, 2))
        assert known.quiet_at(NEXT) == frozenset()

    def test_pages_without_a_name_are_told_apart_by_their_addresses(self) -> None:
        known = Knowledge()
        for page in range(1, 4):
            assert known.quiet_at(NEXT) == frozenset()
            known.meet(NEWS.format(page), pictured(0, 1), pictured(0, 2))
        assert known.quiet_at(NEXT) == {"picture"}

    def test_a_mark_that_one_load_lacks_is_no_evidence(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            known.meet(NEWS.format(page), pictured(page, 1), load(page), pictured(page, 1))
        assert known.quiet_at(NEXT) == frozenset()

    def test_pages_of_other_names_are_not_one_page(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            known.meet(
                NEWS.format(page), pictured(page, 1, text=TEXT), pictured(90 + page, 2, text=OTHER)
            )
        assert known.quiet_at(NEXT) == frozenset()

    @pytest.mark.parametrize(
        ("text", "is_quiet"), [(TEXT, True), (NEAR, True), (OTHER, False), ("Two words", False)]
    )
    def test_a_headline_changes_only_above_the_same_text(self, text: str, is_quiet: bool) -> None:
        known = Knowledge()
        for page in range(1, 9):
            known.meet(NEWS.format(page), load(2 * page), load(2 * page + 1, text=text))
        assert known.quiet_at(NEXT) == (frozenset(["name"]) if is_quiet else frozenset())

    @pytest.mark.parametrize(
        ("said", "is_quiet"), [((5, 5), True), ((5, 6), False), ((None, None), False)]
    )
    def test_or_above_a_text_that_is_the_same_but_for_its_headline(
        self, said: tuple[int | None, int | None], is_quiet: bool
    ) -> None:
        known = Knowledge()
        for page in range(1, 9):
            first = load(2 * page, said=said[0])
            known.meet(NEWS.format(page), first, load(2 * page + 1, text=HALF_ALIKE, said=said[1]))
        assert known.quiet_at(NEXT) == (frozenset(["name"]) if is_quiet else frozenset())

    def test_short_pages_and_lists_may_say_the_same_and_be_others(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            short = [load(2 * page + n, text=f"Page {n}", said=5) for n in range(2)]
            known.meet(NEWS.format(f"short{page}"), *short)
            lists = [
                load(2 * page + n, text=(TEXT, HALF_ALIKE)[n], said=5, is_listing=True)
                for n in range(2)
            ]
            known.meet(NEWS.format(f"list{page}"), *lists)
        assert known.quiet_at(NEXT) == frozenset()

    def test_a_mobile_page_is_a_load_of_the_page_once_its_host_is_proved(self) -> None:
        known, mobile = Knowledge(), NEWS.replace("news.", "m.news.")
        for page in range(1, 4):
            assert known.quiet_at(NEXT) == frozenset()
            known.meet(NEWS.format(page), pictured(page, 1))
            known.meet(mobile.format(page), pictured(page, 2))
        for page in range(4, 6):
            known.meet(NEWS.format(page), pictured(page, 1))
            known.meet(mobile.format(page), pictured(page, 2))
        # What changes between them changes on both.
        assert known.quiet_at(NEXT) == known.quiet_at(mobile.format("next")) == {"picture"}

    @pytest.mark.parametrize(
        "parameter", ["sid=a1b2c3d4e{0}f{1:02x}", "session=12{1:02}", "ref=city-{1:c}", "s=word{1}"]
    )
    def test_what_may_name_a_content_makes_another_page(self, parameter: str) -> None:
        known = Knowledge()
        for page in range(1, 9):
            for content in range(97, 105):
                url = f"http://firm.example/about/{page}?{parameter.format(page, content)}"
                known.meet(url, pictured(page, content))
        assert known.quiet_at("http://firm.example/about/9") == frozenset()

    def test_a_campaign_makes_none(self) -> None:
        known = Knowledge()
        for page in range(1, 4):
            for picture, campaign in enumerate(("", "?utm_source=letter&gclid=7")):
                known.meet(NEWS.format(page) + campaign, pictured(page, 1 + picture))
        assert known.quiet_at(NEXT) == {"picture"}

    def test_nor_does_a_session_that_is_proved_and_goes_with_the_visitor(self) -> None:
        known, url = Knowledge(), "http://forum.example/board/{}?sid=a1b2c3d4e5f6{:02x}"
        for visit in range(1, 6):
            for page in range(1, 5):
                known.meet(url.format(page, visit), pictured(page, visit))
        assert known.quiet_at(url.format(9, 1)) == {"picture"}
        # The number of a document does not.
        known = Knowledge()
        for visit in range(1, 6):
            for page in range(1, 4):
                known.meet(url.format(page, visit), load(page))
            known.meet(url.format(f"viewer{visit % 3}", 100 + visit), pictured(visit % 3, visit))
        assert known.quiet_at(url.format(9, 1)) == frozenset()

    def test_marks_of_another_key_teach_nothing(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            for number in range(2):
                key = Key(bytes([number + 1] * 16))
                known.meet(NEWS.format(page), pictured(page, number + 1, key=key))
        assert known.quiet_at(NEXT) == frozenset()

    def test_changing_data_are_ignored(self) -> None:
        known = Knowledge()
        for page in range(1, 4):
            known.meet(
                NEWS.format(page),
                *(load(page, data=(Datum(1, page), Datum(2, token))) for token in range(2)),
            )
        assert known.quiet_at(NEXT) == {kind_of_datum(2)}

    @pytest.mark.parametrize("volatile", [False, "known"])
    def test_who_does_not_ask_for_it_compares_no_loads(self, volatile: bool | str) -> None:
        assert rotating(NEWS, pages=9, volatile=volatile).quiet_at(NEXT) == frozenset()


class TestRecovery:
    def test_marks_that_stay_the_same_tell_pages_apart_again(self) -> None:
        known = rotating(NEWS, pages=20)
        assert known.quiet_at(NEXT) == {"picture"}
        stable = 0
        while known.quiet_at(NEXT):
            stable += 1
            known.meet(NEWS.format(f"stable{stable}"), *[pictured(1000 + stable, 1)] * 2)
        assert 60 < stable < 200
        # And three pages more are enough, if there are no more than that.
        rotate(known, NEWS, pages=20, first=100)
        assert known.quiet_at(NEXT) == {"picture"}


class TestPlaces:
    @pytest.mark.parametrize(
        ("url", "is_quiet"),
        [
            ("http://news.example/world/asia/next", False),
            ("http://news.example/world?page=2", False),
            ("http://news.example/sports/next", False),
            ("http://news.example/", False),
            ("http://m.news.example/world/next", False),
            ("http://other.example/world/next", False),
            ("http://news.example/world/next?page=2", True),
            # A folder may stand in another one, if all is of one owner.
            ("http://news.example/latest/world/next", True),
            ("http://news.example/users/world/next", False),
            ("http://news.example/~ann/world/next", False),
            ("http://news.example/a/latest/world/next", False),
        ],
    )
    def test_they_are_quiet_in_their_folder_alone(self, url: str, is_quiet: bool) -> None:
        assert bool(rotating(NEWS).quiet_at(url)) is is_quiet

    def test_what_changes_at_the_top_of_a_host_is_told_of_no_folder(self) -> None:
        known = rotating("http://news.example/{}")
        assert known.quiet_at("http://news.example/next") == {"picture"}
        assert known.quiet_at("http://news.example/gallery/next") == frozenset()

    def test_the_months_of_an_archive_are_one_folder(self) -> None:
        known = rotating("http://news.example/2025/0{}/story")
        assert known.quiet_at("http://news.example/2024/12/story") == {"picture"}
        assert known.quiet_at("http://news.example/stories/story") == frozenset()
        # Whose they are is no date.
        known = rotating("http://shared.example/users/2025/{}")
        assert known.quiet_at("http://shared.example/users/2024/story") == frozenset()

    @pytest.mark.parametrize(
        "folder", ["~{}", "@{}", "users/{}", "u/{}", "en/members/{}", "a/b/c/users/{}"]
    )
    def test_users_of_a_host_do_not_matter_to_each_other(self, folder: str) -> None:
        pages = f"http://shared.example/{folder}/{{}}"
        known = rotating(pages.format("mallory", "{}"), pages=50)
        assert known.quiet_at(pages.format("mallory", "next")) == {"picture"}
        for user in ("alice", "mallory2", "m", "*", "%6Dallory", ""):
            assert known.quiet_at(pages.format(user, "next")) == frozenset()

    @pytest.mark.parametrize("way", ["..%2f", "%2e%2e/", "..;/", "../", "..%5C", "%252e%252e%252f"])
    def test_a_way_into_the_folder_of_another_is_none(self, way: str) -> None:
        known = rotating(f"http://shared.example/~alice/{way}~mallory/{{}}", pages=9)
        assert known.quiet_at("http://shared.example/~alice/next") == frozenset()


class TestNotes:
    def test_they_are_shared_and_outlast_a_crawl(self) -> None:
        first, second = rotating(NEWS), Knowledge()
        note = first.exchange("")
        assert second.exchange(note) == note
        assert second.quiet_at(NEXT) == first.quiet_at(NEXT) == {"picture"}
        # Who knows more is believed.
        rotate(first, NEWS.replace("world", "local"), pages=5)
        for page in range(60):
            second.meet(NEWS.format(f"stable{page}"), *[pictured(1000 + page, 1)] * 2)
        note = first.exchange(second.exchange(first.exchange(note)))
        assert first.quiet_at(NEXT) == frozenset()
        second.exchange(note)
        assert second.quiet_at(NEXT.replace("world", "local")) == {"picture"}

    @pytest.mark.parametrize(
        "note",
        [
            "",
            "{}",
            "no JSON",
            "[" * 10_000,
            '{"news.example": 7}',
            '{"news.example": [{}, {"world": [{"picture": [30, "30", ["1", "2", "3"]]}]}]}',
            '{"news.example": [{}, {"world": {"picture": [30, 30, ["1", "2", "3"]]}}]}',
            '{"news.example": [{}, {"world": [{"picture": [30, 30, [1, 2, 3]]}]}]}',
            '{"news.example": [{}, {"world": [{"picture": null}]}]}',
        ],
    )
    def test_nonsense_teaches_nothing(self, note: str) -> None:
        known = Knowledge()
        known.exchange(note)
        assert known.quiet_at(NEXT) == frozenset()
        # Nothing that is known is lost by it, and the next note is a good one.
        rotate(known, NEWS)
        other = Knowledge()
        other.exchange(known.exchange(note))
        assert other.quiet_at(NEXT) == {"picture"}

    def test_a_folder_that_is_no_text_of_unicode_breaks_no_note(self) -> None:
        known = rotating("http://news.example/w\ud800/{}")
        other = Knowledge()
        other.exchange(known.exchange(""))
        assert other.quiet_at("http://news.example/w\ud800/next") == {"picture"}

    def test_memory_and_note_are_bounded(self) -> None:
        known = Knowledge()
        for host in range(1200):
            rotate(known, f"http://h{host}.example/{'x' * 100}/{{}}")
        for folder in range(100):
            rotate(known, f"http://one.example/f{folder}/{{}}")
        assert not known.quiet_at(f"http://h1.example/{'x' * 100}/next")
        assert known.quiet_at(f"http://h1199.example/{'x' * 100}/next")
        assert not known.quiet_at("http://one.example/f1/next")
        assert known.quiet_at("http://one.example/f99/next")
        for kind in range(100):
            for page in range(3):
                url = f"http://two.example/a/{kind}-{page}"
                known.meet(url, *(load(page + 1, data=(Datum(kind, n),)) for n in range(2)))
        assert len(known.quiet_at("http://two.example/a/next")) == 32
        assert len(known.exchange("")) < 1_000_000


def html(name: str, picture: str, text: str) -> str:
    """A page with a hero picture."""
    return (
        f"<html><head><title>{name} | News</title></head><body><main><h1>{name}</h1>"
        f"<img src='/files/{picture}.jpg' width=900><p>{text}</p></main></body></html>"
    )


def hero_pages(first: int = 0, pages: int = 3) -> list[Page]:
    """Pages that come twice, with another hero picture each time."""
    return [
        Page(NEWS.format(page), html=html(f"Story {page}", hero, story(page, 120)))
        for page in range(first, first + pages)
        for hero in ("boat", "mill")
    ]


NEXT_DAY = """
import sys
from crawldedup import Deduplicator
from tests.hosts.test_marks import NEWS, html, story
with Deduplicator(sys.argv[1], volatile=True, namespace="hosts") as dedup:
    for folder in ("world", "sports"):
        url = NEWS.format("mill").replace("world", folder)
        dedup.check(url, html=html("Story of the " + folder, "mill", story(len(folder), 120)))
        print(dedup.check(f"http://news.example/{folder}/x", html=html(
            "Story of the " + folder, "boat", story(len(folder), 120))).kind)
"""


class TestIndex:
    @pytest.mark.parametrize("kind", ["sqlite", "redis"])
    def test_the_next_day_another_process_knows(
        self, kind: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        if kind == "redis":
            server: RedisServer = request.getfixturevalue("redis_server")
            store = server.url
        else:
            store = f"sqlite:///{tmp_path}/seen.sqlite"
        with Deduplicator(store, volatile=True, namespace="hosts") as dedup:
            list(dedup.check_many(hero_pages()))
            assert dedup.hosts.quiet_at(NEXT) == {"picture"}
        other_day = subprocess.run(
            [sys.executable, "-c", NEXT_DAY, store], capture_output=True, text=True, check=True
        )
        assert other_day.stdout.split() == ["exact_duplicate", "new"]

    @pytest.mark.usefixtures("own_keys")
    def test_an_index_with_another_key_may_be_told_too(self, tmp_path: Path) -> None:
        with Deduplicator(f"sqlite:///{tmp_path}/one.sqlite", volatile=True) as dedup:
            list(dedup.check_many(hero_pages()))
            note = dedup.hosts.exchange("")
        with Deduplicator(f"sqlite:///{tmp_path}/two.sqlite", volatile=True) as dedup:
            dedup.hosts.exchange(note)
            assert dedup.hosts.quiet_at(NEXT) == {"picture"}
            list(dedup.check_many(hero_pages()))
            assert dedup.hosts.quiet_at(NEXT) == {"picture"}

    def test_what_changes_by_itself_keeps_no_copy_and_what_does_not_still_does(self) -> None:
        with Deduplicator(volatile=True) as dedup:
            list(dedup.check_many(hero_pages()))
            kinds = {}
            for folder in ("world", "sports"):
                first = html("The regatta", "boat", story(50, 120))
                other = html("The regatta", "mill", story(50, 120))
                dedup.check(f"http://news.example/{folder}/a", html=first, scope_key=folder)
                verdict = dedup.check(
                    f"http://news.example/{folder}/b", html=other, scope_key=folder
                )
                kinds[folder] = verdict.kind, verdict.rejected_by
            named = dedup.check(
                "http://news.example/world/c",
                html=html("The race", "boat", story(50, 120)),
                scope_key="world",
            )
            told = dedup.explain("http://news.example/world/d", html=first).marks
            pair = (
                Page("http://news.example/world/e", html=first),
                Page("http://news.example/sports/e", html=other),
            )
            compared = compare(*pair, hosts=dedup.hosts).marks
        assert kinds == {"world": (Kind.EXACT_DUPLICATE, None), "sports": (Kind.NEW, "picture")}
        # The name still tells pages apart.
        assert named.rejected_by == "name"
        assert "lead picture boat (ignored: it changes by itself here)" in told
        assert "lead picture boat (ignored: it changes by itself here)" in compared[0]
        assert "lead picture mill" in compared[1]

    def test_pictures_of_a_gallery_count_beside_pages_that_show_random_ones(self) -> None:
        with Deduplicator(volatile=True) as dedup:
            for page in range(4):
                for load in range(2):
                    picture = f"photo{2 * page + load}"
                    dedup.check(
                        NEWS.format(page), html=html(f"Random {page}", picture, story(9, 60))
                    )
            assert dedup.hosts.quiet_at(NEXT) == {"picture"}
            gallery = [
                Page(
                    f"http://news.example/world/photo{each}",
                    html=html("Photo", f"photo{each}", story(5, 60)),
                )
                for each in range(16)
            ]
            assert not any(verdict.is_duplicate for verdict in dedup.check_many(gallery))

    def test_names_count_beside_addresses_that_show_a_random_page(self) -> None:
        text = story(5, 120)
        with Deduplicator(volatile=True) as dedup:
            for page in range(6):
                for load in range(2):
                    shown = html(f"Lamp {2 * page + load}", "lamp", text)
                    dedup.check(f"http://news.example/world/random{page}", html=shown)
            assert dedup.hosts.quiet_at(NEXT) == {"name"}
            lamps = [
                Page(f"http://news.example/world/lamp{n}", html=html(f"Lamp {n}", "lamp", text))
                for n in range(16)
            ]
            verdicts = list(dedup.check_many(lamps))
        originals = {n: each.original for n, each in enumerate(verdicts) if each.is_duplicate}
        # A lamp is a copy of the random address alone that has shown this very lamp.
        assert originals == {n: f"http://news.example/world/random{n // 2}" for n in originals}

    def test_a_declared_value_that_recurs_is_no_random_number(self) -> None:
        def sale(name: str, color: str) -> str:
            declared = f'<script type="application/ld+json">{{"@type": "Product", "sku": "{color}"}}</script>'
            return declared + html(name, "lamp", story(5, 60))

        with Deduplicator(volatile=True) as dedup:
            for page in range(4):
                for color in ("red", "blue"):
                    dedup.check(NEWS.format(page), html=sale(f"Sale {page}", color))
            lamps = [
                Page(f"http://news.example/world/a{n}/lamp{n}", html=sale("Lamp", color))
                for n, color in enumerate(("red", "blue", "green", "white"))
            ]
            kinds = [verdict.rejected_by for verdict in dedup.check_many(lamps)]
            assert kinds[1:] == ["data"] * 3

    def test_who_only_looks_or_gives_a_text_teaches_nothing(self) -> None:
        with Deduplicator(volatile=True) as dedup:
            for page in hero_pages(pages=9):
                dedup.check(page.url, html=page.html, remember=False)
                dedup.explain(page.url, html=page.html)
                dedup.find(page.url, html=page.html)
            assert dedup.hosts.quiet_at(NEXT) == frozenset()

    def test_the_asynchronous_form_learns_and_shares_it(self, tmp_path: Path) -> None:
        store = f"sqlite:///{tmp_path}/seen.sqlite"

        async def crawl(**options: Any) -> Kind:
            async with AsyncDeduplicator(store, volatile=True, **options) as dedup:
                for page in hero_pages():
                    await dedup.judge(page)
                await dedup.check(NEXT, html=html("Next", "boat", story(70, 120)))
                verdict = await dedup.check(
                    NEXT + "?a=1", html=html("Next", "mill", story(70, 120))
                )
                return verdict.kind

        assert asyncio.run(crawl(namespace="one")) is Kind.EXACT_DUPLICATE
        assert asyncio.run(crawl(namespace="two", workers=1)) is Kind.EXACT_DUPLICATE
