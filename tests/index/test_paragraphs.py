"""The decision about paragraphs, from who holds their anchors."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator, wire
from crawldedup.fingerprinting.anchors import Paragraph
from crawldedup.index.paragraphs import coverage_of
from crawldedup.verdict import Coverage, ParagraphKind

URLS = {1: "https://one.example/", 2: "https://two.example/", 3: ""}

Pages = tuple[int, ...] | None


def judged(*held: Pages, least_new: float = 0.2) -> Coverage:
    paragraph = Paragraph("A text", 100, tuple(range(len(held))))
    return coverage_of([paragraph], dict(enumerate(held)), URLS, least_new)


@pytest.mark.parametrize(
    ("held", "kind", "known", "url"),
    [
        ([(), (), (), ()], "new", 0, None),
        ([(1,), (), (), ()], "new", 0, None),
        ([(1,), (1,), (), ()], "known", 50, URLS[1]),
        ([(1,), (1,), (), (), ()], "new", 40, URLS[1]),
        # One that is missing alone is an edit.
        ([(1,), (), (1,), (1,)], "known", 100, URLS[1]),
        ([(), (1,), (1,), ()], "known", 100, URLS[1]),
        # Half of them are known, but from pages of which none has two.
        ([(1,), (2,), (), ()], "new", 0, None),
        ([(1, 2), (1, 2), (2,), ()], "known", 100, URLS[2]),
        # One page that does not count, and one without URL.
        ([(9,), (9,), (9,), ()], "new", 0, None),
        ([(3,), (3,), (), ()], "known", 50, None),
        # One anchor may be a figure of speech.
        ([(1,)], "short", 0, None),
        ([], "short", 0, None),
        ([None, (), ()], "new", 0, None),
        ([None, (1,), (1,)], "known", 100, URLS[1]),
        ([None, (1,)], "short", 0, None),
        ([None, None, (1,)], "boilerplate", 0, None),
        ([None, None], "boilerplate", 0, None),
    ],
)
def test_a_paragraph_is_judged_by_who_holds_its_anchors(
    held: list[Pages], kind: str, known: int, url: str | None
) -> None:
    coverage = judged(*held)
    (paragraph,) = coverage.paragraphs
    assert (paragraph.kind, paragraph.known_words, paragraph.url, paragraph.words) == (
        kind,
        known,
        url,
        100,
    )
    assert coverage.share_new == (1 - known / 100 if kind in ("new", "known") else None)
    assert coverage.is_partial == (known == 100)


@pytest.mark.parametrize(("own", "quoted"), [(75, 95), (40, 95), (20, 95)])
def test_own_lines_among_known_ones_are_new(own: int, quoted: int) -> None:
    """Whichever runs of words the key of the index makes anchors of."""
    quotes = [words(f"quote{number}", quoted) for number in range(12)]
    page = "\n".join(
        f"{words(f'own{number}', own)}\n{quote}" for number, quote in enumerate(quotes)
    )
    shares = []
    for key in range(1, 21):
        dedup = Deduplicator(paragraphs="mark", key=bytes([key]) * 16)
        dedup.check("https://one.example/", text="\n".join(quotes))
        coverage = dedup.check(
            "https://two.example/", text=page, similarity=1, remember=False
        ).coverage
        assert coverage is not None
        shares.append(coverage.share_new)
    assert abs(sum(filter(None, shares)) / 20 - own / (own + quoted)) < 0.06


def words(name: str, number: int) -> str:
    return " ".join(f"{name}word{place}" for place in range(number))


def test_of_several_sources_the_one_of_the_others_is_named() -> None:
    """Page 2 has the second paragraph as well."""
    paragraphs = [Paragraph("one", 90, (1, 2)), Paragraph("two", 80, (3, 4, 5))]
    held = dict.fromkeys((1, 2), (1, 2)) | dict.fromkeys((3, 4, 5), (2,))
    coverage = coverage_of(paragraphs, held, URLS, 0.2)
    assert coverage.sources == ((URLS[2], 170),)


def test_boilerplate_counts_neither_as_new_nor_as_known() -> None:
    paragraphs = [
        Paragraph("boilerplate", 500, (1, 2)),
        Paragraph("known", 80, (3, 4)),
        Paragraph("new", 20, (5, 6)),
        Paragraph("short", 70, ()),
    ]
    held: dict[int, Pages] = {1: None, 2: None, 3: (1,), 4: (1,), 5: (), 6: ()}
    coverage = coverage_of(paragraphs, held, URLS, 0.2)
    assert (coverage.new_words, coverage.known_words, coverage.boilerplate_words) == (20, 80, 500)
    assert (coverage.share_new, coverage.is_partial) == (0.2, False)
    assert coverage_of(paragraphs, held, URLS, 0.21).is_partial
    assert [each.kind for each in coverage.paragraphs] == list(
        map(ParagraphKind, ("boilerplate", "known", "new", "short"))
    )


def test_a_coverage_survives_json() -> None:
    coverage = judged((1,), (1,))
    values = wire.plain(coverage)
    assert (values["share_new"], values["paragraphs"][0]["kind"]) == (0.0, "known")
    assert wire.from_plain(Coverage, values) == coverage
