"""What verdicts say besides their kind: changes of revisits, differences, known paragraphs, the
nearest other page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import pytest

from crawldedup import Deduplicator, Kind, Verdict, wire
from crawldedup.errors import StoreError
from crawldedup.reading.difference import LONGEST_TEXT
from crawldedup.verdict import describe
from tests.stories import OTHER, TEXT, A, B, C, edited, story

WORDS = TEXT.split()
PRODUCT = (
    '<html><head><script type="application/ld+json">{{"@type": "Product", "name": "Kettle", '
    '"offers": {{"price": "{0}", "priceCurrency": '
    '"EUR"}}}}</script></head><body><main><h1>Kettle</h1><p>{0} EUR</p>'
    + "".join(f"<p>{' '.join(WORDS[at : at + 30])}.</p>" for at in range(0, 300, 30))
    + "</main></body></html>"
)

Ask = Callable[..., Verdict]


def check(dedup: Deduplicator, url: str, text: str, **rules: Any) -> Verdict:
    return dedup.check(url, text=text, **rules)


def look_first(dedup: Deduplicator, url: str, text: str, **rules: Any) -> Verdict:
    """Ask what a visit would tell, make it, and return what was foretold."""
    page = dedup.fingerprint(text=text)
    looked = dedup.check(url, fingerprint=page, remember=False, **rules)
    for told in (
        dedup.explain(url, fingerprint=page, **rules).verdict,
        dedup.check(url, fingerprint=page, **rules),
    ):
        assert (told.kind, told.changed, told.difference) == (
            looked.kind,
            looked.changed,
            looked.difference,
        )
        assert told.coverage == looked.coverage
    return looked


both_ways = pytest.mark.parametrize("ask", [check, look_first])


class TestRevisits:
    def test_a_page_that_drifts_is_changed_when_it_is_far_from_what_was_delivered(self) -> None:
        with Deduplicator() as dedup:
            assert dedup.check(A, text=TEXT).kind is Kind.NEW
            pages = [dedup.fingerprint(text=edited(TEXT, places)) for places in range(1, 38, 4)]
            seen = [dedup.check(A, fingerprint=page, revisit_similarity=0.9) for page in pages]
        assert {verdict.kind for verdict in seen} == {Kind.REVISIT}
        changed = [verdict.changed for verdict in seen]
        # Each resembles the one before it, and some are delivered all the same.
        assert changed[0] is False
        assert 3 <= sum(changed) <= 5
        assert changed == [(verdict.similarity or 0) < 0.9 for verdict in seen]
        assert all(verdict.hamming is not None for verdict in seen)

    @pytest.mark.parametrize(
        ("places", "expected"), [(1, 0.985), (2, 0.970), (10, 0.860), (27, 0.662), (40, 0.537)]
    )
    def test_without_a_similarity_texts_must_be_equal_and_how_much_is_left_is_told(
        self, places: int, expected: float
    ) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            verdicts = [dedup.check(A, text=edited(TEXT, places)) for _ in range(2)]
            assert [verdict.changed for verdict in verdicts] == [True, False]
            assert [verdict.similarity for verdict in verdicts] == [
                pytest.approx(expected, abs=0.09),
                1.0,
            ]
            # The index has the new text, and only that.
            assert dedup.check(B, text=edited(TEXT, places)).original == A

    @both_ways
    @pytest.mark.parametrize(("similarity", "changed"), [(None, True), (0.9, False), (0.99, True)])
    def test_a_similarity_says_what_is_unchanged(
        self, ask: Ask, similarity: float | None, changed: bool
    ) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, text=TEXT)
            verdict = ask(dedup, A, edited(TEXT, 3), revisit_similarity=similarity)
        assert (verdict.kind, verdict.changed) == (Kind.REVISIT, changed)

    def test_a_product_of_another_price_is_changed_however_alike_it_reads(self) -> None:
        with Deduplicator() as dedup:
            prices = (20, 20, 18)
            verdicts = [
                dedup.check(A, html=PRODUCT.format(price), revisit_similarity=0.6)
                for price in prices
            ]
        assert [(verdict.kind, verdict.changed) for verdict in verdicts[1:]] == [
            (Kind.REVISIT, False),
            (Kind.REVISIT, True),
        ]
        assert (verdicts[2].similarity or 0) > 0.9
        assert [verdict.changed_by for verdict in verdicts] == [(), (), ("data", "text")]

    @pytest.mark.parametrize(
        ("page", "changed_by", "described"),
        [
            ({"text": f"{TEXT} It was moved."}, ("text",), r"known, with other text \(0\.9\d+\)"),
            (
                {"price": 21},
                ("data",),
                r"known, with other data \(1\.000\): declared offers price now 21",
            ),
            (
                {"price": 21, "text": f"{TEXT} It was moved."},
                ("data", "text"),
                r"known, with other data and other text \(0\.9\d+\): declared offers price now 21",
            ),
            (
                {"name": "The Kettle"},
                ("name", "text"),
                r"known, with another name and other text \(.*\): name now \"the kettle\"",
            ),
            (
                {"picture": "red"},
                ("picture",),
                r"known, with another lead picture \(1\.000\): lead picture now red-kettle",
            ),
            ({"comment": "We do not."}, ("comments",), r"known, with new comments \(1\.000\)"),
        ],
    )
    def test_what_is_new_on_a_changed_page_is_told(
        self, page: dict[str, Any], changed_by: tuple[str, ...], described: str
    ) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=commented_product())
            changed = dedup.check(A, html=commented_product(**page))
        assert changed.changed
        assert changed.changed_by == changed_by
        assert re.fullmatch(described, describe(changed))
        assert wire.from_plain(Verdict, wire.plain(changed)) == changed

    @pytest.mark.parametrize(
        ("before", "after", "difference"),
        [
            (
                '<iframe src="https://player.example/v/1"></iframe>',
                '<iframe src="https://player.example/v/2"></iframe>',
                "player now v/2?",
            ),
            # Only the values that are new are named.
            (
                '<meta property="product:price:amount" content="61.90">'
                '<meta property="product:retailer_item_id" content="L1">',
                '<meta property="product:price:amount" content="64.90">'
                '<meta property="product:retailer_item_id" content="L1">',
                "product:price:amount now 64.90",
            ),
        ],
    )
    def test_the_new_value_of_a_mark_is_told(
        self, before: str, after: str, difference: str
    ) -> None:
        page = f"<title>Kettle</title>%s<main><h1>Kettle</h1>%s<p>{TEXT}</p></main>"
        with Deduplicator(keep_texts=True) as dedup:
            dedup.check(A, html=page % (before, before))
            changed = dedup.check(A, html=page % (after, after))
        assert changed.difference == difference

    def test_the_new_value_of_a_mark_comes_before_the_words_that_differ(self) -> None:
        with Deduplicator(keep_texts=True) as dedup:
            dedup.check(A, html=commented_product())
            changed = dedup.check(A, html=commented_product(price=21, text=f"{TEXT} It was moved."))
            again = dedup.check(A, html=commented_product(price=21, text=f"{TEXT} It was moved."))
        assert changed.difference is not None
        assert changed.difference.startswith("declared offers price now 21; ")
        assert changed.difference.endswith("{+It was moved.+}")
        assert not again.difference

    def test_a_long_new_value_is_cut_off(self) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=commented_product())
            changed = dedup.check(A, html=commented_product(name="Kettle " * 2_000))
        assert changed.difference is not None
        assert len(changed.difference) < 120


def commented_product(
    text: str = TEXT,
    price: int = 20,
    name: str = "Kettle",
    picture: str = "blue",
    comment: str = "We like it.",
) -> str:
    """Return a page of a product, whose price is declared and not shown."""
    declared = f'{{"@type": "Product", "name": "x", "offers": {{"price": "{price}"}}}}'
    return (
        f"<title>{name}</title><script type='application/ld+json'>{declared}</script>"
        f"<main><h1>{name}</h1><img src=/{picture}-kettle.jpg width=800 height=600><p>{text}</p>"
        f"<div id=comments><p>{comment} And that is all that there is to say of it.</p></div></main>"
    )


LINKS: Final = ("/boats?utm_source=front&page=1", "/piers?sid=a1b2c3d4e5")
loads = count(1)


def hub(
    text: str = "Boats and piers of the harbour.",
    links: tuple[str, ...] = LINKS,
    picture: str = "/harbour.jpg",
    title: str = "Harbour",
    data: str = '{"boats": 3}',
    visitors: int = 24,
) -> str:
    """Return a page of few words, whose programs and footer change with every load."""
    return (
        f"<title>{title}</title><script>var nonce = {next(loads)};</script>"
        f"<script type='application/json'>{data}</script><main><p>{text}</p><img src='{picture}'>"
        + "".join(f"<a href='{link}'>more</a>" for link in links)
        + f"</main><footer>{visitors} visitors, page {next(loads)}</footer>"
    )


class TestThinRevisits:
    """Their programs and surroundings may change with every load, their content may not."""

    @pytest.mark.parametrize(
        "page",
        [{}, {"visitors": 31}, {"links": ("/boats?page=1", "/piers?sid=9f8e7d6c5b")}],
        ids=str,
    )
    def test_what_has_the_same_text_and_links_is_unchanged(self, page: dict[str, Any]) -> None:
        with Deduplicator() as dedup:
            first, again = dedup.check(A, html=hub()), dedup.check(A, html=hub(**page))
        assert (first.kind, again.kind, again.changed) == (Kind.THIN, Kind.REVISIT, False)
        assert (again.similarity, again.hamming, describe(again)) == (1, 0, "known and unchanged")

    @pytest.mark.parametrize(
        "page",
        [
            {"links": (*LINKS, "/news")},
            {"text": "Boats and piers of the river."},
            {"data": '{"boats": 4}'},
        ],
        ids=str,
    )
    def test_a_page_with_another_text_or_link_is_changed(self, page: dict[str, Any]) -> None:
        with Deduplicator() as dedup:
            dedup.check(A, html=hub())
            again, same = (dedup.check(A, html=hub(**page)) for _ in range(2))
        assert (again.kind, again.changed, again.similarity) == (Kind.REVISIT, True, None)
        assert not same.changed

    def test_at_another_url_only_an_exact_copy_is_a_duplicate(self) -> None:
        page = hub()
        with Deduplicator() as dedup:
            kinds = [
                dedup.check(f"{A}/{at}", html=html).kind
                for at, html in enumerate((page, hub(), page))
            ]
        assert kinds == [Kind.THIN, Kind.THIN, Kind.EXACT_DUPLICATE]


class TestKeptTexts:
    TOLD = f"{' '.join(WORDS[:4])} [-{WORDS[4]}-] {{+edit0+}} {' '.join(WORDS[5:9])}"

    @both_ways
    def test_a_changed_page_says_what_changed_and_a_near_duplicate_how_it_differs(
        self, ask: Ask
    ) -> None:
        with Deduplicator(keep_texts=True) as dedup:
            texts = (TEXT, TEXT, edited(TEXT, 1), edited(TEXT, 1))
            assert [ask(dedup, A, text).difference for text in texts] == [
                None,
                None,
                self.TOLD,
                None,
            ]
            assert ask(dedup, B, edited(TEXT, 1)).difference is None
            dedup.check(A, text=TEXT)
            near = ask(dedup, B, edited(TEXT, 1))
            assert (near.kind, near.original, near.difference) == (
                Kind.NEAR_DUPLICATE,
                A,
                self.TOLD,
            )
            assert describe(near).endswith(f" of {A}: {self.TOLD}")
            assert (dedup.text_of(A), dedup.text_of(B)) == (TEXT, None)

    def test_a_page_is_named_as_when_it_was_checked(self) -> None:
        name = {"identity": "post 1", "scope_key": "e"}
        with Deduplicator(keep_texts=True, scope="site") as dedup:
            dedup.check(A, text=TEXT, **name)
            assert (dedup.text_of(A), dedup.text_of(B, **name)) == (None, TEXT)
            dedup.forget(B, **name)
            assert dedup.text_of(B, **name) is None

    def test_the_beginning_of_a_long_text_is_kept(self) -> None:
        words = [f"word{number}" for number in range(LONGEST_TEXT // 6)]
        with Deduplicator(keep_texts=True) as dedup:
            dedup.check(A, text=" ".join(words))
            assert dedup.text_of(A) == " ".join(words)[:LONGEST_TEXT]
            behind = dedup.check(A, text=" ".join([*words[:-1], "other"]))
            assert (behind.changed, behind.difference) == (True, None)
            words[0] = "other"
            assert str(dedup.check(A, text=" ".join(words)).difference).startswith(
                "[-word0-] {+other+} word1"
            )

    def test_a_difference_is_safe_to_show(self) -> None:
        verdict = Verdict(
            Kind.REVISIT, A, A, 0.97, changed=True, difference="now [-1-] {+\x1b[31m2\u2028+}"
        )
        assert (
            describe(verdict) == "known, with other text (0.970): now [-1-] {+\\x1b[31m2\\u2028+}"
        )

    def test_verdicts_of_earlier_versions_are_read(self) -> None:
        values = wire.plain(Verdict(Kind.NEW, A))
        del values["difference"]
        assert wire.from_plain(Verdict, values) == Verdict(Kind.NEW, A)


def paragraphs(seed: int, number: int = 6) -> list[str]:
    """Return paragraphs of 90 words, each of which is judged separately."""
    return [story(100 * seed + place, 90) for place in range(number)]


ONE, TWO = paragraphs(1), paragraphs(2)
WHOLE = "\n".join(ONE)
HALF = "\n".join([*TWO[:3], *ONE[:3], *TWO[3:], *ONE[3:]])
MOSTLY = "\n".join([*ONE, *paragraphs(4, 7)])
D, E = "https://d.example/story", "https://e.example/story"


class TestKnownParagraphs:
    """Verdicts on pages that are partly on earlier pages."""

    def known_words(self, dedup: Deduplicator) -> int:
        coverage = dedup.check(E, text=HALF, remember=False).coverage
        return coverage.known_words if coverage else 0

    @both_ways
    def test_a_new_page_tells_which_share_of_it_is_known(self, ask: Ask) -> None:
        with Deduplicator(paragraphs="mark") as dedup:
            first, second = ask(dedup, D, WHOLE).coverage, ask(dedup, E, HALF)
            assert first is not None
            assert (first.share_new, first.sources) == (1, ())
            coverage = second.coverage
            assert coverage is not None
            assert (second.kind, second.is_partial) == (Kind.NEW, False)
            share_new, known = coverage.share_new or 0, coverage.known_words
            assert 0.4 < share_new < 0.6
            assert coverage.sources == ((D, known),)
            assert {
                str(each.kind) for each in coverage.paragraphs if each.excerpt[:20] in ONE[1]
            } <= {"known"}
            assert (
                describe(second) == f"new, {share_new:.0%} of its words new, {known} words on {D}"
            )
            # A duplicate's paragraphs are known by definition.
            assert ask(dedup, C, WHOLE).coverage is None

    def test_without_the_option_nothing_is_told_or_kept(self) -> None:
        with Deduplicator() as dedup:
            assert [
                dedup.check(url, text=text).coverage for url, text in ((D, WHOLE), (E, MOSTLY))
            ] == [None, None]

    def test_a_partial_page_adds_nothing(self) -> None:
        """Or the pages that hold a story would make boilerplate of it, and its copies would name
        copies.
        """
        lines = HALF.split("\n")
        with Deduplicator(paragraphs=0.2) as dedup:
            dedup.check(D, text=WHOLE)
            dedup.check(E, text="\n".join(TWO))
            for place in range(12):
                # In another order each, so that none is a near duplicate of the one before.
                text = "\n".join(lines[place:] + lines[:place])
                found = dedup.check(f"https://{place}.example/", text=text).coverage
                assert found is None or {source for source, _ in found.sources} == {D, E}

    def test_boilerplate_is_reported_as_boilerplate(self) -> None:
        """It is on every page, between the page's own paragraphs."""
        boilerplate, found = paragraphs(99, 2), []
        with Deduplicator(paragraphs="mark") as dedup:
            for number in range(12):
                text = "\n".join([*boilerplate, *paragraphs(100 + number, 4)])
                coverage = dedup.check(f"https://example.com/{number}", text=text).coverage
                assert coverage is not None
                found.append((coverage.known_words > 0, coverage.boilerplate_words > 0))
        assert found == [(False, False), *[(True, False)] * 7, *[(False, True)] * 4]

    def test_what_was_added_later_does_not_make_a_page_partial(self) -> None:
        """A compilation that takes a story over whole does not cost the story its next visit."""
        with Deduplicator(paragraphs=0.2) as dedup:
            dedup.check(D, text=WHOLE)
            assert not dedup.check(E, text=MOSTLY).is_partial
            visits = [dedup.check(D, text=WHOLE) for _ in range(2)]
        told = [(again.kind, again.coverage and again.coverage.share_new) for again in visits]
        assert told == [(Kind.REVISIT, 1)] * 2

    @pytest.mark.parametrize(("least", "is_partial"), [(0.3, False), (0.7, True)])
    def test_a_share_decides_what_is_partial(self, least: float, is_partial: bool) -> None:
        with Deduplicator(paragraphs=least) as dedup:
            dedup.check(D, text=WHOLE)
            assert [dedup.check(E, text=HALF).is_partial for _ in range(2)] == [is_partial] * 2

    def test_pages_of_other_scopes_are_not_compared(self) -> None:
        with Deduplicator(scope="site", paragraphs="mark") as dedup:
            dedup.check(D, text=WHOLE)
            verdicts = [dedup.check(url, text=HALF) for url in (E, f"{D}/2")]
        assert [
            bool(verdict.coverage and verdict.coverage.known_words) for verdict in verdicts
        ] == [False, True]

    def test_a_page_that_is_forgotten_is_no_source(self) -> None:
        with Deduplicator(paragraphs="mark") as dedup:
            for forget in (lambda: dedup.forget(D), dedup.clear):
                dedup.check(D, text=WHOLE)
                assert self.known_words(dedup) > 0
                forget()
                assert self.known_words(dedup) == 0
            assert dedup.forget(D) == 0

    def test_the_verdict_stands_when_the_store_fails_at_paragraphs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise StoreError("the store is full")

        with Deduplicator(paragraphs=0.2) as dedup:
            dedup.check(D, text=WHOLE)
            monkeypatch.setattr(dedup._index.store, "anchors", fail)
            verdict = dedup.check(E, text=MOSTLY)
        assert (verdict.kind, verdict.coverage, verdict.is_partial) == (Kind.NEW, None, False)


class TestNearestOther:
    """The nearest page that a new one was compared with, and that is not alike enough."""

    def test_a_new_page_tells_it(self) -> None:
        with Deduplicator() as dedup:
            for url, text in ((A, OTHER), (B, edited(TEXT, 40)), (C, TEXT)):
                dedup.check(url, text=text)
            verdict = dedup.check(D, text=edited(TEXT, 16))
        assert (verdict.kind, verdict.rejected, verdict.rejected_by) == (Kind.NEW, C, "similarity")
        assert 0.7 < (verdict.rejected_similarity or 0) < 0.855
