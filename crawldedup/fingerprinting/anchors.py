"""Anchors: hashes of short passages, by which a paragraph is recognized on other pages.

An anchor is the hash of 8 words in a row. Only hashes below a limit are kept, about one in 16,
regardless of their position in the text (Broder 1997: "modulo" sampling). The same words therefore
have the same anchors, no matter how a page breaks its lines, and an edited word costs at most the
anchors that it is part of.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.shingles import FIRST_FACTOR, PAIR_FACTOR, TRIPLE_FACTOR
from crawldedup.fingerprinting.tokenize import mix, word_hashes, words_of_lines
from crawldedup.key import NO_KEY, Key

ANCHOR_BITS: Final = 60
"""A hash is an anchor if it is below 2^60, which is true for one in 16 of the 64-bit hashes."""

PARAGRAPH_WORDS: Final = 80
"""The minimum number of words in a paragraph.

That many words have about five anchors, which is enough to judge the paragraph.
"""

MOST_PARAGRAPHS: Final = 200
"""The maximum number of paragraphs of a page, so no page has more than a few thousand anchors."""

MOST_WORDS: Final = 3 * PARAGRAPH_WORDS * MOST_PARAGRAPHS
"""The maximum number of words of a page that are examined."""

EXCERPT: Final = 80
"""The maximum number of letters in an excerpt."""


class Paragraph(NamedTuple):
    """A paragraph of a page: one or more consecutive lines."""

    excerpt: str
    """The beginning of its text."""

    words: int
    """The number of its words."""

    anchors: tuple[int, ...]
    """Its distinct anchors."""


def paragraphs_of(text: str, key: Key = NO_KEY) -> tuple[Paragraph, ...]:
    """Split a text into paragraphs, and compute their anchors.

    A paragraph is a line; short lines are joined to their neighbors, and long ones are cut. After
    200 paragraphs, the rest of the text is left out.
    """
    starts, anchors = _anchors_of(text, key)
    paragraphs: list[Paragraph] = []
    pending: list[str] = []
    begin = end = first_anchor = 0
    for piece in _pieces(text):
        end += piece.words
        pending.append(piece.text)
        if end - begin < PARAGRAPH_WORDS:
            continue
        next_anchor = int(np.searchsorted(starts, end))
        paragraphs.append(_paragraph(pending, end - begin, anchors[first_anchor:next_anchor]))
        pending = []
        begin = end
        first_anchor = next_anchor
        if len(paragraphs) == MOST_PARAGRAPHS:
            return tuple(paragraphs)
    if end > begin:
        rest = _paragraph(pending, end - begin, anchors[first_anchor:])
        paragraphs.append(_joined(paragraphs.pop(), rest) if paragraphs else rest)
    return tuple(paragraphs)


def _anchors_of(text: str, key: Key) -> tuple[NDArray[np.intp], list[int]]:
    """Find the anchors of a text, and return the word that each starts at, and the anchors."""
    hashes = word_hashes(text, key)[:MOST_WORDS]
    width = 1
    for factor in (FIRST_FACTOR, PAIR_FACTOR, TRIPLE_FACTOR):  # of 2 words in a row, of 4, of 8
        if len(hashes) > width:
            hashes = mix(hashes[:-width] * factor + hashes[width:])
        else:
            hashes = hashes[:0]
        width *= 2
    starts = (hashes < np.uint64(1 << ANCHOR_BITS)).nonzero()[0]
    return starts, hashes.take(starts).tolist()


def _joined(paragraph: Paragraph, rest: Paragraph) -> Paragraph:
    return Paragraph(
        paragraph.excerpt,
        paragraph.words + rest.words,
        tuple(dict.fromkeys(paragraph.anchors + rest.anchors)),
    )


class _Piece(NamedTuple):
    """A line of a text, or a part of a long one."""

    text: str
    words: int


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield each line that has words, or the parts of a long one."""
    lines = text.split("\n")
    counts = words_of_lines(text)
    for number in counts.nonzero()[0].tolist():
        line = lines[number]
        words = int(counts[number])
        parts = words // PARAGRAPH_WORDS or 1
        for part in range(parts):
            # Words are counted exactly, but letters are only cut near the words.
            begin = len(line) * part // parts
            end = len(line) * (part + 1) // parts
            words_before = words * part // parts
            words_after = words * (part + 1) // parts
            yield _Piece(line[begin:end], words_after - words_before)


def _paragraph(lines: list[str], words: int, anchors: list[int]) -> Paragraph:
    excerpt = " ".join(" ".join(lines)[: 2 * EXCERPT].split())[:EXCERPT].rstrip()
    return Paragraph(excerpt, words, tuple(dict.fromkeys(anchors)))
