"""Decide which paragraphs of a page stand on earlier pages, from the pages that hold their anchors."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from crawldedup.verdict import Coverage, KnownParagraph, ParagraphKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawldedup.fingerprinting.anchors import Paragraph

    Held = Mapping[int, Sequence[int] | None]

LEAST_ANCHORS: Final = 2
"""A paragraph with fewer is not judged, and one page must hold so many: one may be a figure of speech."""


def coverage_of(paragraphs: Sequence[Paragraph], held: Held, urls: Mapping[int, str], least_new: float) -> Coverage:
    """Return how much of a page stands on earlier pages.

    `held` maps each anchor to the pages that hold it, or to None if too many do; `urls` are those of the pages that
    count. A paragraph is known if one page holds half of its anchors, those left out that too many pages hold. It is
    boilerplate if most are of this kind. The page is partial if less than `least_new` of its words are new.
    """
    alike: Counter[int] = Counter()
    for paragraph in paragraphs:
        alike.update(_holders(paragraph, held, urls))
    judged = []
    words: Counter[ParagraphKind] = Counter()
    sources: Counter[int] = Counter()
    for paragraph in paragraphs:
        kind, page = _judged(paragraph, held, urls, alike)
        words[kind] += paragraph.words
        if page is not None:
            sources[page] += paragraph.words
        url = None if page is None else urls[page] or None
        judged.append(KnownParagraph(paragraph.excerpt, paragraph.words, kind, url))
    told = words[ParagraphKind.NEW] + words[ParagraphKind.KNOWN]
    return Coverage(
        new_words=words[ParagraphKind.NEW],
        known_words=words[ParagraphKind.KNOWN],
        boilerplate_words=words[ParagraphKind.BOILERPLATE],
        is_partial=bool(told) and words[ParagraphKind.NEW] < least_new * told,
        sources=tuple((urls[page], count) for page, count in sources.most_common()),
        paragraphs=tuple(judged),
    )


def _judged(
    paragraph: Paragraph, held: Held, urls: Mapping[int, str], alike: Counter[int]
) -> tuple[ParagraphKind, int | None]:
    crowded = sum(held[anchor] is None for anchor in paragraph.anchors)
    telling = len(paragraph.anchors) - crowded
    if crowded > telling:
        return ParagraphKind.BOILERPLATE, None
    if telling < LEAST_ANCHORS:
        return ParagraphKind.SHORT, None
    shared = Counter(_holders(paragraph, held, urls))
    least = max(LEAST_ANCHORS, telling / 2)
    # Of several, the page that most of the others come from, too.
    candidates = [page for page, anchors in shared.items() if anchors >= least]
    page = max(candidates, key=lambda page: (alike[page], shared[page]), default=None)
    return (ParagraphKind.NEW if page is None else ParagraphKind.KNOWN), page


def _holders(paragraph: Paragraph, held: Held, urls: Mapping[int, str]) -> Iterator[int]:
    return (page for anchor in paragraph.anchors for page in held[anchor] or () if page in urls)
