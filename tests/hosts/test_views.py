"""Views that a host proves: what proves them, what takes that back, and what they join."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from crawldedup import Deduplicator, Kind, Page, compare
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.key import Key
from crawldedup.verdict import describe
from tests.hosts.knowing import Knowledge, load
from tests.stories import FAR, HALF_ALIKE, NEAR, OTHER, TEXT, story

FORUM = "http://forum.example/board/topic{}?sid={}"
NEXT = "http://forum.example/board/next?sid={}"
PRINT = "http://forum.example/board/topic{}{}"


def token(*parts: object) -> str:
    return hashlib.md5(repr(parts).encode()).hexdigest()


def visit(known: Knowledge, number: int, *pages: Fingerprint | None, first: int = 1) -> str:
    """Load the topics with the session of one visit; return its token."""
    session = token("visit", number)
    for name, page in enumerate(pages, first):
        if page is not None:
            known.meet(FORUM.format(name, session), page)
    return session


def topics(count: int, text: str = TEXT, first: int = 1) -> list[Fingerprint]:
    return [load(name, text=text) for name in range(first, first + count)]


def proved() -> Knowledge:
    """What is known once two visits have met the same three pages."""
    known = Knowledge()
    for number in range(2):
        visit(known, number, *topics(3))
    return known


class TestProof:
    @pytest.mark.parametrize(("pages", "is_proved"), [(3, True), (2, False)])
    def test_it_takes_pages_of_three_names(self, pages: int, is_proved: bool) -> None:
        known = Knowledge()
        sessions = [visit(known, number, *topics(pages)) for number in range(4)]
        assert known.is_proved(NEXT.format(sessions[0])) is is_proved

    def test_many_pages_of_one_name_prove_nothing(self) -> None:
        known = Knowledge()
        for number in range(4):
            session = visit(known, number, *[load(7) for _ in range(30)])
        assert not known.is_proved(NEXT.format(session))

    def test_pages_without_a_name_prove_nothing(self) -> None:
        known = Knowledge()
        for number in range(4):
            session = visit(known, number, *[load(0, text=story(n)) for n in range(30)])
        assert not known.is_proved(NEXT.format(session))

    @pytest.mark.parametrize(
        ("text", "is_proved"),
        [(TEXT, True), (NEAR, True), (HALF_ALIKE, False), (FAR, False), (OTHER, False)],
        ids=["equal", "near", "half alike", "far", "other"],
    )
    def test_it_takes_copies(self, text: str, is_proved: bool) -> None:
        known = Knowledge()
        visit(known, 0, *topics(9))
        session = visit(known, 1, *topics(9, text))
        assert known.is_proved(NEXT.format(session)) is is_proved

    def test_texts_of_other_names_are_contrary(self) -> None:
        known = proved()
        session = visit(known, 0, *topics(3))
        assert known.is_proved(NEXT.format(session))
        # Of ten pairs, one may be contrary.
        for number, is_proved in ((50, False), (51, False)):
            known.meet(FORUM.format(number, token("a", number)), load(100 + number))
            known.meet(FORUM.format(number, token("b", number)), load(200 + number))
            assert known.is_proved(NEXT.format(session)) is is_proved

    def test_a_tenth_of_the_pairs_may_be_contrary(self) -> None:
        known = Knowledge()
        for number in range(2):
            session = visit(known, number, *topics(9))
        known.meet(FORUM.format(50, token("a")), load(100))
        known.meet(FORUM.format(50, token("b")), load(200))
        assert known.is_proved(NEXT.format(session))
        known.meet(FORUM.format(51, token("a")), load(101))
        known.meet(FORUM.format(51, token("b")), load(201))
        assert not known.is_proved(NEXT.format(session))
        # Further copies bring it back.
        for number in range(2):
            visit(known, number, *topics(10, first=300), first=300)
        assert known.is_proved(NEXT.format(session))

    def test_less_than_half_of_a_text_is_contrary_whatever_it_is_called(self) -> None:
        known = proved()
        session = visit(known, 0, *topics(3))
        for number in range(2):
            visit(known, number, load(70, text=[TEXT, OTHER][number]), first=70)
        assert not known.is_proved(NEXT.format(session))

    def test_what_is_half_alike_speaks_neither_for_it_nor_against_it(self) -> None:
        known = proved()
        session = visit(known, 0, *topics(3))
        for number in range(2):
            visit(known, number, *topics(9, [TEXT, HALF_ALIKE][number], first=70), first=70)
        assert known.is_proved(NEXT.format(session))

    @pytest.mark.parametrize(
        ("said", "campaigns", "is_proved"),
        [(5, 4, True), (5, 0, False), (6, 4, False), (None, 4, False)],
        ids=["headlines under test", "no sign of it", "another text", "nobody knows"],
    )
    def test_another_name_says_nothing_where_names_change(
        self, said: int | None, campaigns: int, is_proved: bool
    ) -> None:
        """Whether that is known before or after."""
        known = Knowledge()
        visits = []
        for number in range(2):
            pages = [load(name, said=5) for name in range(1, 5)]
            pages += [load(name + 50 * number, said=(5, said)[number]) for name in range(5, 9)]
            visits.append(visit(known, number, *pages))
        for page in range(20, 20 + campaigns):
            known.meet(PRINT.format(page, ""), load(2 * page, said=5))
            known.meet(PRINT.format(page, "?utm_source=x"), load(2 * page + 1, said=5))
        assert not known.is_proved(NEXT.format(visits[0]))
        for name in (1, 2):
            known.meet(FORUM.format(name, visits[0]), load(name, said=5))
        assert known.is_proved(NEXT.format(visits[0])) is is_proved

    def test_pages_that_differ_in_two_kinds_of_views_say_nothing_about_either(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            known.meet(PRINT.format(page, f"?sid={token(1)}"), load(page))
            known.meet(PRINT.format(page, "?print=1"), load(page))
        assert not known.is_proved(NEXT.format(token(1)))
        assert not known.is_proved(PRINT.format("next", "?print=1"))

    def test_another_key_says_nothing(self) -> None:
        known = Knowledge()
        for number in range(2):
            key = Key(bytes([number + 1] * 16))
            session = visit(known, number, *[load(name, key=key) for name in range(1, 9)])
        assert not known.is_proved(NEXT.format(session))

    @pytest.mark.parametrize("query", ["?utm_source=a", "?gclid=7&utm_medium=b", "", "?id=7"])
    def test_campaigns_and_contents_are_no_views_to_prove(self, query: str) -> None:
        known = Knowledge()
        for page in range(1, 9):
            for value in "ab":
                known.meet(PRINT.format(page, query + value if query else ""), load(page))
        assert not known.is_proved(PRINT.format("next", query))
        assert "utm_source" not in known.exchange("")

    def test_a_kind_of_any_length_is_not_noted(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            for path in ("", ";" + "x" * 1000 + "=1"):
                known.meet(f"http://forum.example/board/{page}{path}", load(page))
        assert len(known.exchange("")) < 200


class TestLayouts:
    def test_a_print_view_that_is_part_of_the_page_is_proof(self) -> None:
        known, short = Knowledge(), " ".join(TEXT.split()[:200])
        for page in range(1, 4):
            assert not known.is_proved(PRINT.format("next", "/print"))
            known.meet(PRINT.format(page, ""), load(page))
            known.meet(PRINT.format(page, "/print"), load(page, text=short))
        assert known.is_proved(PRINT.format("next", "/print"))
        assert not known.is_proved(PRINT.format("next", "?print=1"))

    def test_part_of_a_page_with_another_session_is_none(self) -> None:
        known, short = Knowledge(), " ".join(TEXT.split()[:200])
        visit(known, 0, *topics(9))
        session = visit(known, 1, *topics(9, short))
        assert not known.is_proved(NEXT.format(session))

    def test_views_count_by_their_values(self) -> None:
        known = Knowledge()
        for page in range(1, 9):
            known.meet(PRINT.format(page, ""), load(page))
            known.meet(PRINT.format(page, "?view=print"), load(page))
            known.meet(PRINT.format(page, "?view=compact"), load(page, text=OTHER))
        assert known.is_proved(PRINT.format("next", "?view=print"))
        assert not known.is_proved(PRINT.format("next", "?view=compact"))
        assert not known.is_proved(PRINT.format("next", "?view=compact&print=1"))


class TestRecurrence:
    def test_a_token_counts_only_if_another_page_has_it(self) -> None:
        known = proved()
        assert not known.is_proved(NEXT.format(token("new")))
        known.meet(NEXT.format(token("new")), load(9))
        known.meet(NEXT.format(token("new")), load(9))
        assert not known.is_proved(NEXT.format(token("new")))
        known.meet(FORUM.format("other", token("new")), load(10))
        assert known.is_proved(NEXT.format(token("new")))

    def test_or_a_link_that_carries_it(self) -> None:
        known = proved()
        known.meet(NEXT.format(token("new")), load(9), carried=True)
        assert known.is_proved(NEXT.format(token("new")))
        assert not known.is_proved(NEXT.format(token("another")))

    def test_what_recurs_on_another_site_does_not_recur(self) -> None:
        known = proved()
        known.meet("http://other.example/a?sid=" + token("new"), load(9), carried=True)
        known.meet(NEXT.format(token("new")), load(9))
        assert not known.is_proved(NEXT.format(token("new")))


class TestPlaces:
    @pytest.mark.parametrize(
        ("url", "is_proved"),
        [
            ("http://forum.example/board/next?sid={}", True),
            ("http://www.forum.example/board/next.html?sid={}", True),
            ("http://forum.example/board/next?id=7&sid={}", True),
            ("http://forum.example/board/next?session={}", False),
            ("http://forum.example/members/next?sid={}", False),
            ("http://forum.example/next?sid={}", False),
            ("http://other.example/board/next?sid={}", False),
        ],
    )
    def test_they_are_proved_in_a_folder(self, url: str, is_proved: bool) -> None:
        known = proved()
        session = token("visit", 0)
        # The value recurs everywhere.
        known.meet(url.format(session), load(90), carried=True)
        assert known.is_proved(url.format(session)) is is_proved

    def test_folders_of_one_form_are_one(self) -> None:
        known = Knowledge()
        for page in range(1, 4):
            for number in range(2):
                url = f"http://qa.example/questions/{page}/title?sid={token(number)}"
                known.meet(url, load(page))
        assert known.is_proved(f"http://qa.example/questions/77/title?sid={token(0)}")
        assert not known.is_proved(f"http://qa.example/answers/77/title?sid={token(0)}")

    @pytest.mark.parametrize("folder", ["users/{}", "~user{}", "u/{}", "members/{}"])
    def test_but_not_those_of_users_who_have_numbers(self, folder: str) -> None:
        known = Knowledge()
        for page in range(1, 9):
            for number in range(2):
                url = f"http://qa.example/{folder.format(17)}/{page}?sid={token(number)}"
                known.meet(url, load(page))
        assert known.is_proved(f"http://qa.example/{folder.format(17)}/9?sid={token(0)}")
        neighbor = f"http://qa.example/{folder.format(18)}/9?sid={token(0)}"
        known.meet(neighbor, load(90), carried=True)
        assert not known.is_proved(neighbor)


class TestNotes:
    def test_proof_is_shared_and_may_be_taken_back_by_others(self) -> None:
        first, second = proved(), Knowledge()
        session = visit(second, 0, *topics(3, first=80), first=80)
        assert not second.is_proved(NEXT.format(session))
        second.exchange(first.exchange(""))
        assert second.is_proved(NEXT.format(session))
        for number in range(3):
            visit(second, number, *topics(9, story(number), first=90), first=90)
        assert not second.is_proved(NEXT.format(session))
        assert first.is_proved(NEXT.format(session))
        first.exchange(second.exchange(""))
        assert not first.is_proved(NEXT.format(session))

    def test_the_count_of_pairs_is_bounded_and_old_ones_fade(self) -> None:
        known = Knowledge()
        for number in range(2):
            session = visit(known, number, *topics(300))
        assert len(known.exchange("")) < 200
        pairs = 0
        while known.is_proved(NEXT.format(session)):
            pairs += 1
            known.meet(FORUM.format(f"x{pairs}", token("a", pairs)), load(1000 + pairs))
            known.meet(FORUM.format(f"x{pairs}", token("b", pairs)), load(2000 + pairs))
        assert 10 < pairs < 40


def html(name: str, text: str, links: str = "") -> str:
    return (
        f"<html><head><title>{name} | Forum</title></head><body><main><h1>{name}</h1><p>{text}</p>"
        f"</main>{links}</body></html>"
    )


def shown_words(text: str, share: float) -> str:
    """The first part of a text."""
    words = text.split()
    return " ".join(words[: int(share * len(words))])


def forum(pages: int = 4, visits: int = 2) -> Iterator[Page]:
    """Topics that two visits meet."""
    for number in range(pages):
        for at in range(visits):
            url = FORUM.format(number, token("visit", at))
            yield Page(url, html=html(f"Topic {number}", story(number, 120)))


MEMBER = "Member since 2014, 17 posts, lives in Hull near the old harbor and likes boats and {}"


class TestIndex:
    def ask(self, dedup: Deduplicator, number: int, at: int, body: str, **others: str) -> Kind:
        name = others.get("name", f"Topic {number}")
        url = FORUM.format(number, others.get("sid", token("visit", at)))
        return dedup.check(url, html=html(name, body, others.get("links", ""))).kind

    def test_half_of_the_text_is_enough_for_a_proved_view(self) -> None:
        text = story(70, 300)
        with Deduplicator(volatile=True) as dedup:
            list(dedup.check_many(forum()))
            assert self.ask(dedup, 70, 0, text) is Kind.NEW
            assert self.ask(dedup, 70, 1, shown_words(text, 0.65)) is Kind.NEAR_DUPLICATE
            # Less than that, another name, and a token that no other page has are not.
            assert self.ask(dedup, 72, 0, story(72, 300)) is Kind.NEW
            assert self.ask(dedup, 72, 1, shown_words(story(72, 300), 0.3)) is Kind.NEW
            assert self.ask(dedup, 73, 0, story(73, 300)) is Kind.NEW
            other = shown_words(story(73, 300), 0.65)
            assert self.ask(dedup, 73, 1, other, name="Another") is Kind.NEW
            assert self.ask(dedup, 74, 0, story(74, 300)) is Kind.NEW
            other = shown_words(story(74, 300), 0.65)
            assert self.ask(dedup, 74, 1, other, sid=token("document")) is Kind.NEW

    def test_it_is_not_without_proof(self) -> None:
        text = story(70, 300)
        with Deduplicator(volatile=True) as dedup:
            list(dedup.check_many(forum(pages=2)))
            assert self.ask(dedup, 70, 0, text) is Kind.NEW
            assert self.ask(dedup, 70, 1, shown_words(text, 0.65)) is Kind.NEW

    def test_thin_pages_take_part(self) -> None:
        with Deduplicator(volatile=True) as dedup:
            early = [self.ask(dedup, 71, at, MEMBER.format(at)) for at in range(2)]
            list(dedup.check_many(forum()))
            late = [self.ask(dedup, 70, at, MEMBER.format(at)) for at in range(2)]
            other = self.ask(dedup, 70, 1, MEMBER.format(3), name="Somebody", sid=token(1))
        assert early == [Kind.THIN, Kind.THIN]
        assert (late, other) == ([Kind.THIN, Kind.NEAR_DUPLICATE], Kind.THIN)

    def test_a_link_carries_the_session_on(self) -> None:
        sid, text = token("third visit"), story(70, 300)
        with Deduplicator(volatile=True) as dedup:
            list(dedup.check_many(forum()))
            self.ask(dedup, 70, 0, text)
            shown = shown_words(text, 0.65)
            links = (
                f"<a href='/board/topic70?page=2&sid={sid}'>2</a> <a href='/board/list'>list</a>"
            )
            assert self.ask(dedup, 70, 2, shown, sid=sid, links=links) is Kind.NEW
            sid = token("fourth visit")
            links = f"<a href='/board/list?sid={sid}'>list</a>"
            assert self.ask(dedup, 70, 3, shown, sid=sid, links=links) is Kind.NEAR_DUPLICATE

    def test_a_viewer_of_documents_with_one_title_loses_nothing(self) -> None:
        """Documents that share two thirds of their words, as `viewer?sid=<hex>`."""
        shared = story(1, 120)
        with Deduplicator(volatile=True) as dedup:
            for number in range(30):
                page = html("Viewer", f"{shared} {story(100 + number, 60)}")
                url = f"http://files.example/app/viewer?sid={token('document', number)}"
                assert dedup.check(url, html=page).kind is Kind.NEW, number

    @pytest.mark.parametrize("own_words", [20, 40, 60])
    @pytest.mark.parametrize("is_mixed", [False, True], ids=["one after the other", "mixed"])
    def test_true_sessions_beside_contents_lose_nothing(
        self, own_words: int, is_mixed: bool
    ) -> None:
        """`session` is a visit on thirty pages, and names the content on twenty."""
        shared, site = story(1, 120), "http://fair.example/2026/{}?session={}"
        visits = [
            Page(
                site.format(f"info{number}", token("visit", at)),
                html=html(f"Info {number}", story(300 + number, 120)),
            )
            for number in range(30)
            for at in range(2)
        ]
        talks = [
            Page(
                site.format("programme", token("talk", number)),
                html=html("Programme", f"{shared} {story(500 + number, own_words)}"),
            )
            for number in range(20)
        ]
        pages = visits + talks
        if is_mixed:
            pages.sort(key=lambda page: token(page.url))
        with Deduplicator(volatile=True) as dedup:
            kinds = {page.url: dedup.check(page.url, html=page.html).kind for page in pages}
        assert [kinds[page.url] for page in talks] == [Kind.NEW] * 20
        assert [kinds[page.url] for page in visits].count(Kind.EXACT_DUPLICATE) == 30

    def test_explain_compare_and_find_agree_with_check(self) -> None:
        text = story(70, 300)
        first = Page(FORUM.format(70, token("visit", 0)), html=html("Topic 70", text))
        second = Page(
            FORUM.format(70, token("visit", 1)), html=html("Topic 70", shown_words(text, 0.65))
        )
        with Deduplicator(volatile=True, key=0) as dedup:
            list(dedup.check_many([*forum(), first]))
            (match,) = dedup.find(second.url, html=second.html)
            explained = dedup.explain(second.url, html=second.html)
            compared = compare(first, second, hosts=dedup.hosts)
            unproved = compare(first, second)
            verdict = dedup.check(second.url, html=second.html)
        assert (match.url, match.sibling) == (first.url, None)
        assert match.similarity < 0.8
        (candidate,) = explained.candidates
        assert candidate.is_view
        assert candidate.accepted
        assert compared.candidate.is_view
        kinds = [told.kind for told in (explained.verdict, compared.verdict, verdict)]
        assert kinds == [Kind.NEAR_DUPLICATE] * 3
        assert (compared.drops, unproved.drops) == (10, 0)
        assert not unproved.candidate.is_view
        assert unproved.verdict.kind is Kind.NEW
        assert verdict.original == first.url
        assert (verdict.by_view, compared.verdict.by_view) == (True, True)
        assert describe(verdict) == (
            f"near duplicate ({verdict.similarity:.3f}, a proved view) of {first.url}"
        )

    def test_a_view_that_is_similar_enough_by_itself_needs_no_proof(self) -> None:
        text = story(70, 300)
        with Deduplicator(volatile=True, key=0) as dedup:
            list(dedup.check_many(forum()))
            dedup.check(FORUM.format(70, token("visit", 0)), html=html("Topic 70", text))
            url = FORUM.format(70, token("visit", 1))
            verdict = dedup.check(url, html=html("Topic 70", f"{text} Enjoy the ride."))
        assert (verdict.kind, verdict.by_view) == (Kind.NEAR_DUPLICATE, False)
        assert "view" not in describe(verdict)
