"""Anchors of paragraphs, by which a paragraph is found on other pages.

An anchor is the hash of 8 words in a row. Of all of them, the one in 16 whose hash is smallest is
kept, wherever it stands (Broder 1997: "modulo" sampling). So the same words have the same anchors,
however a page breaks its lines, and an edited word costs at most the anchors that it is part of.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from crawldedup.fingerprinting.shingles import FIRST_FACTOR, PAIR_FACTOR, TRIPLE_FACTOR
from crawldedup.fingerprinting.tokenize import mix, word_hashes, words_of_lines
from crawldedup.key import NO_KEY, Key

ANCHOR_BITS: Final = 60  # An anchor is below 2^60: one in 16 of the 64-bit hashes.
PARAGRAPH_WORDS: Final = 80  # at least: some five anchors, by which a paragraph can be judged
# Of a page are looked at, so that none costs more than some thousand anchors.
MOST_PARAGRAPHS: Final = 200
MOST_WORDS: Final = 3 * PARAGRAPH_WORDS * MOST_PARAGRAPHS
EXCERPT: Final = 80


class Paragraph(NamedTuple):
    """Lines of a page with `words` words, of which `excerpt` is the beginning, and their distinct
    anchors.
    """

    excerpt: str
    words: int
    anchors: tuple[int, ...]


def paragraphs_of(text: str, key: Key = NO_KEY) -> tuple[Paragraph, ...]:
    """Return the paragraphs of a text: lines, short ones joined to their neighbours, long ones cut."""
    hashes, width = word_hashes(text, key)[:MOST_WORDS], 1
    for factor in (FIRST_FACTOR, PAIR_FACTOR, TRIPLE_FACTOR):  # of 2 words in a row, of 4, of 8
        hashes = (
            mix(hashes[:-width] * factor + hashes[width:]) if len(hashes) > width else hashes[:0]
        )
        width *= 2
    starts = (hashes < np.uint64(1 << ANCHOR_BITS)).nonzero()[0]
    anchors = hashes.take(starts).tolist()
    paragraphs: list[Paragraph] = []
    pending: list[str] = []
    begun = ended = first = 0
    for piece, words in _pieces(text):
        ended += words
        pending.append(piece)
        if ended - begun >= PARAGRAPH_WORDS:
            last = int(np.searchsorted(starts, ended))
            paragraphs.append(_paragraph(pending, ended - begun, anchors[first:last]))
            pending, begun, first = [], ended, last
            if len(paragraphs) == MOST_PARAGRAPHS:
                return tuple(paragraphs)
    if ended > begun:
        rest = _paragraph(pending, ended - begun, anchors[first:])
        if paragraphs:
            excerpt, words, known = paragraphs.pop()
            rest = Paragraph(
                excerpt, words + rest.words, tuple(dict.fromkeys(known + rest.anchors))
            )
        paragraphs.append(rest)
    return tuple(paragraphs)


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Yield each line that has words, or the parts of a long one, with its number of words."""
    lines, counts = text.split("\n"), words_of_lines(text)
    for number in counts.nonzero()[0].tolist():
        line, words = lines[number], int(counts[number])
        parts = words // PARAGRAPH_WORDS or 1
        for part in range(parts):
            # Of the text, this is about the place.
            shown = line[len(line) * part // parts : len(line) * (part + 1) // parts]
            yield shown, words * (part + 1) // parts - words * part // parts


def _paragraph(lines: list[str], words: int, anchors: list[int]) -> Paragraph:
    excerpt = " ".join(" ".join(lines)[: 2 * EXCERPT].split())[:EXCERPT].rstrip()
    return Paragraph(excerpt, words, tuple(dict.fromkeys(anchors)))
