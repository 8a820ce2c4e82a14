"""Turn words into a fingerprint: 64 search bits and 256 verify bits with weights (Charikar 2002).

Every feature is hashed to a vector of +-1. W is the sum of (feature weight x vector), a bit is the
sign of its W, and w = W / norm(feature weights) is about N(0, 1). Classic code discards w. But a
bit with a small abs(w) is likely to flip in a near duplicate (Sood & Loguinov 2011), so the query
page keeps it.

There are two kinds of features, because finding and deciding have opposite requirements.

- search bits: words and word pairs with weights that grow with the term frequency. They tolerate
  edits, so few probes find a near duplicate; the pairs keep a template shared by many pages from
  dominating them.
- verify bits: the set of word 3-shingles, whose Jaccard similarity is what the user's threshold
  means. Texts of few words in many orders have longer shingles as well: see `shingles`.

Words count twice as much as pairs, because an edit changes one word, but two pairs. The weight is
(term frequency)^0.75 in eighths, which is between tf, where a few words dominate, and 1 + log tf.
An edit changes the weight of a frequent feature less, so bits that depend on frequent features are
steadier. But with too much of that, pages of one language or one template become alike. Weights are
whole numbers, so sums are exact, and every machine makes the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting import MIN_WORDS
from crawldedup.fingerprinting.anchors import (
    ANCHOR_BITS,
    EXCERPT,
    MOST_PARAGRAPHS,
    MOST_WORDS,
    Paragraph,
)
from crawldedup.fingerprinting.shingles import (
    SHINGLE_WORDS,
    Hashes,
    is_first_of_run,
    may_have_longer,
    pair_hashes,
    set_of_shingles,
    shingle_hashes,
)
from crawldedup.fingerprinting.tokenize import hashes_of_texts, mix, without_ignored
from crawldedup.key import NO_KEY, Key
from crawldedup.marks.packing import MOST_BYTES, packed_content, unpacked
from crawldedup.marks.values import ShownMarks
from crawldedup.urls import NO_LINKS, HeadLinks

Floats = NDArray[np.float32]
# The version of the weights, which is part of an index's profile.
SEARCH_FEATURES: Final = "words+pairs.damped-tf"
_DAMPED: Final[Floats] = np.rint(8 * np.arange(4097) ** 0.75).astype(np.float32)
SEARCH_BITS: Final = 64
VERIFY_BITS: Final = 256
# The version of everything that affects the bits.
PROFILE: Final = (
    f"{SEARCH_FEATURES}.{SEARCH_BITS}/shingle{SHINGLE_WORDS}.set.{VERIFY_BITS}/unicode14/3"
)
# One odd factor for each of the four 64-bit words of verify bits.
_VERIFY_FACTORS: Final = np.array(
    [[0x9E3779B97F4A7C15], [0xBF58476D1CE4E5B9], [0x94D049BB133111EB], [0xD6E8FEB86659FD93]],
    np.uint64,
)
_LANE_SHIFTS: Final = np.arange(8, dtype=np.uint64)[:, None, None]
_ROWS_A_LANE: Final = 255  # the highest count in a byte
_LANES_A_BLOCK: Final = 4
# This limits the temporary arrays, and keeps sums of weights exact in float32.
_ROWS_A_BLOCK: Final = 1024
_TEXTS_A_PASS: Final = 8  # the arrays of more texts don't fit into the processor's cache
_LETTERS_A_PASS: Final = 40_000
_MOST_WEIGHT: Final = 1e6  # weights are at most the root of the number of features


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprint:
    """The bits of a page that are compared, and the weights that guide the comparison.

    Fingerprints with different keys can't be compared. Instances are only equal to themselves, so
    compare `digest`.
    """

    search: int  #: The 64 bits that are used to search. Bit j is bit 63 - j of the integer.
    #: Their weights, float32 of shape (64,). Bits with small weights often flip.
    search_weights: Floats = field(repr=False)
    #: The 256 bits that are used to decide, as 32 bytes. Bit j is the j-th bit from the left.
    verify: bytes
    #: The weights of the verify bits, float32 of shape (256,).
    verify_weights: Floats = field(repr=False)
    #: A 64-bit hash of the text, which is equal for exact copies. For a short text, the time of
    #: rendering is left out.
    digest: int
    words: int  #: The number of words.
    #: True for a page with too few words. Its weights are zero, and its bits come from digests.
    thin: bool
    #: The marks that tell the content apart from siblings: see `crawldedup.marks.packing`.
    marks: bytes = field(default=b"", repr=False)
    #: The canonical links of the page. With its URL, they say which page it claims to be.
    links: HeadLinks = field(default=NO_LINKS, repr=False)
    key_id: int = 0  #: The `Key.id` of the key that the fingerprint was made with, or 0.
    #: The compressed text to store, with the option `keep_texts`.
    packed_text: bytes = field(default=b"", repr=False)
    #: The paragraphs of the text, with the option `paragraphs`.
    paragraphs: tuple[Paragraph, ...] = field(default=(), repr=False)
    #: The fingerprint of the page with its volatile lines, or None if none were left out.
    full: "Fingerprint | None" = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a fingerprint is made from: the texts, marks and links of a page."""

    text: str
    """The main text."""

    marks: ShownMarks | None = None
    """The marks that identify the content of the page, or None for a text without a name."""

    links: HeadLinks = NO_LINKS
    """The canonical links in the head of the page."""

    whole: str | None = None
    """For a page with too few words: all the text that has to be equal in exact copies."""

    full: "Source | None" = None
    """The same page with its volatile lines, or None if none were left out."""

    core: str | None = None
    """For a page with too few words: the text that stays the same between visits."""


def fingerprint(
    text: str,
    *,
    min_words: int = MIN_WORDS,
    identity: str | None = None,
    key: Key = NO_KEY,
) -> Fingerprint:
    """Make the fingerprint of a text without an index.

    `Deduplicator.fingerprint` also reads HTML, and applies the options and the key of its index.

    Args:
        text: The main text of the page.
        min_words: A text with fewer words is thin. At least 1.
        identity: The text that exact copies of a thin page have in common. Give the whole page if
            `text` is only a part of it.
        key: The key of the index, `Deduplicator.key`; by default none.

    Example:
        >>> from crawldedup import fingerprint
        >>> story = " ".join(f"Boat {n} leaves at pier {n + 7}." for n in range(30))
        >>> page, copy = fingerprint(story), fingerprint(f"{story} Enjoy!")
        >>> f"{page.search:016x}", (page.search ^ copy.search).bit_count()
        ('d2396b372ed8bd9e', 1)
    """
    return fingerprints([Source(text, whole=identity)], min_words=min_words, key=key)[0]


def fingerprints(
    sources: Sequence[Source], *, min_words: int = MIN_WORDS, key: Key = NO_KEY
) -> list[Fingerprint]:
    """Make the fingerprints of many texts at once, which is faster.

    Each is the same as with `fingerprint`. Array operations process several texts at a time.
    """
    made: list[Fingerprint] = []
    while len(made) < len(sources):
        some = sources[len(made) : len(made) + _TEXTS_A_PASS]
        while len(some) > 1 and sum(len(source.text) for source in some) > _LETTERS_A_PASS:
            some = some[: len(some) // 2]
        made += _fingerprints(some, min_words, key)
    return made


def _fingerprints(sources: Sequence[Source], min_words: int, key: Key) -> list[Fingerprint]:
    """Make the fingerprints of a few texts with array operations, in order."""
    hashes, starts, are_plain = hashes_of_texts([source.text for source in sources], key)
    words = np.diff(starts)
    is_full = words >= max(min_words, SHINGLE_WORDS)
    if not is_full.all():
        hashes = hashes[np.repeat(is_full, words)]
    weights = _weights_of(words[is_full].tolist(), hashes)
    rows = zip(*weights, *(np.packbits(each >= 0, axis=1) for each in weights), strict=True)
    wholes = [source.full for source in sources if source.full is not None]
    full = iter(_fingerprints(wholes, min_words, key) if wholes else ())
    made: list[Fingerprint] = []
    for source, count, thin in zip(sources, words.tolist(), (~is_full).tolist(), strict=True):
        text = source.text if source.whole is None or not thin else source.whole
        digest = text_digest(text, key, is_plain=are_plain and text is source.text)
        if thin:
            search_weights = np.zeros(SEARCH_BITS, np.float32)
            verify_weights = np.zeros(VERIFY_BITS, np.float32)
            search = digest
            verify = thin_bits(digest if source.core is None else text_digest(source.core, key))
        else:
            search_weights, verify_weights, search_bits, verify_bits = next(rows)
            search = int.from_bytes(search_bits.tobytes(), "big")
            verify = verify_bits.tobytes()
        page = Fingerprint(
            search=search,
            search_weights=search_weights,
            verify=verify,
            verify_weights=verify_weights,
            digest=digest,
            words=count,
            thin=thin,
            marks=b"" if source.marks is None else packed_content(source.marks.hashed(key)),
            links=source.links,
            key_id=key.id,
            full=None if source.full is None else next(full),
        )
        made.append(page)
    return made


def check_fingerprint(read: Fingerprint) -> Fingerprint:
    """Check a fingerprint from outside, which may be invalid, and return it.

    Raises ValueError if it's invalid, or TypeError or OverflowError if values have wrong types.
    """
    weights = (read.search_weights, read.verify_weights)
    anchors = [anchor for paragraph in read.paragraphs for anchor in paragraph.anchors]
    if not (
        all(0 <= number < 1 << 64 for number in (read.search, read.digest, read.key_id))
        and [len(each) for each in (*weights, read.verify)]
        == [SEARCH_BITS, VERIFY_BITS, VERIFY_BITS // 8]
        and all((np.abs(each) <= _MOST_WEIGHT).all() for each in weights)
        and 0 <= read.words < 1 << 31
        and len(read.marks) <= MOST_BYTES
        and len(read.paragraphs) <= MOST_PARAGRAPHS
        and len(anchors) <= MOST_WORDS
        and all(0 <= anchor < 1 << ANCHOR_BITS for anchor in anchors)
        and all(
            len(each.excerpt) <= EXCERPT and 0 <= each.words < 1 << 31 for each in read.paragraphs
        )
    ):
        raise ValueError("it is out of bounds")
    unpacked(read.marks)
    if read.full is not None:
        check_fingerprint(read.full)
    return read


def text_digest(text: str, key: Key = NO_KEY, *, is_plain: bool = False) -> int:
    """Return a 64-bit hash of a text, without its invisible characters.

    Each run of whitespace counts as one space. Set `is_plain` if the text is known to have no
    invisible characters, to save the search.
    """
    line = text.replace("\n", " ")
    if not is_plain:
        line = without_ignored(line)
    # All whitespace except spaces is unprintable, and most texts have none. Splitting takes longer
    # than checking this.
    is_single_spaced = line.isprintable() and "  " not in line and line == line.strip()
    return key.number(
        (line if is_single_spaced else " ".join(line.split())).encode("utf-8", "replace"), "text"
    )


def thin_bits(digest: int) -> bytes:
    """Return the verify bits of a page with too few words, from the digest of its core."""
    return Key.stretch(digest, VERIFY_BITS // 8)


def _weights_of(words: Sequence[int], hashes: Hashes) -> tuple[Floats, Floats]:
    """Return the search weights and the verify weights of pages, one row per page.

    The hashes of the words of all pages are in one array.
    """
    if not words:
        return np.zeros((0, SEARCH_BITS), np.float32), np.zeros((0, VERIFY_BITS), np.float32)
    pairs = pair_hashes(hashes)
    shingles = shingle_hashes(hashes, pairs)
    pairs = mix(pairs)
    # The words and pairs of each page, and its shingles. Those that reach into the next page are
    # left out.
    features = []
    triples = []
    texts = []
    end = 0
    for count in words:
        start = end
        end = end + count
        features += [hashes[start:end], pairs[start : end - 1]]
        triples.append(shingles[start : end - 2])
        texts.append(hashes[start:end])
    # The search sorts the words.
    verify_weights = _verify_weights(triples, texts)
    return _search_weights(features), verify_weights


def _search_weights(features: list[Hashes]) -> Floats:
    """Return the normalized weights of search bits, shape (pages, 64), from words and pairs."""
    distinct, frequencies, starts = _runs(features)
    weights = _DAMPED.take(frequencies, mode="clip")
    for start, end in zip(starts[::2], starts[1::2], strict=False):
        weights[start:end] *= 2
    # Whole numbers far below 2^53, so all sums are exact.
    exact = weights.astype(np.float64)
    totals = np.add.reduceat(exact, starts[:-1:2])
    norms = np.sqrt(np.add.reduceat(np.square(exact), starts[:-1:2]))
    hashes = distinct.astype(">u8", copy=False).view(np.uint8)
    sums = np.zeros((len(totals), SEARCH_BITS))
    for page, (start, end) in enumerate(pairwise(starts[::2])):
        for first in range(start, end, _ROWS_A_BLOCK):
            last = min(first + _ROWS_A_BLOCK, end)
            bits = np.unpackbits(hashes[8 * first : 8 * last]).reshape(-1, SEARCH_BITS)
            sums[page] += weights[first:last] @ bits.astype(np.float32)
    return ((2 * sums - totals[:, None]) / norms[:, None]).astype(np.float32)


def _verify_weights(shingles: list[Hashes], texts: list[Hashes]) -> Floats:
    """Return the normalized weights of verify bits, shape (pages, 256), from sets of shingles.

    The words of the shingles are in `texts`.
    """
    distinct, _, starts = _runs(shingles)
    with_longer = list(shingles)
    for page, (start, end) in enumerate(pairwise(starts)):
        if may_have_longer(len(shingles[page]), end - start):
            with_longer[page] = set_of_shingles(texts[page])
    if any(some is not others for some, others in zip(with_longer, shingles, strict=True)):
        distinct, _, starts = _runs(with_longer)
    sizes = np.diff(starts)[:, None]
    # Sums increase in steps of two, and zero counts as positive, so the border is at minus a half.
    # This doesn't change bits, but without it, the flips of short pages are predicted badly.
    return ((2 * _count_bits(distinct, starts) - sizes + 0.5) / np.sqrt(sizes)).astype(np.float32)


def _runs(parts: list[Hashes]) -> tuple[Hashes, NDArray[np.intp], list[int]]:
    """Sort the hashes of each part, and return its distinct hashes and how often each occurs.

    The last result has the starts of the parts, and the end of the last one.
    """
    for part in parts:
        part.sort()
    ordered = np.concatenate(parts)
    begins = np.cumsum([0, *map(len, parts[:-1])])
    first = is_first_of_run(ordered)
    first[begins] = True
    firsts = first.nonzero()[0]
    starts = [*firsts.searchsorted(begins).tolist(), len(firsts)]
    return ordered.take(firsts), np.diff(firsts, append=len(ordered)), starts


def _count_bits(hashes: Hashes, starts: Sequence[int]) -> NDArray[np.int64]:
    """For each part and each of 256 bits, count the hashes whose vector has that bit set.

    The shape is (parts, 256). A hash is stretched to four words. Eight shifts bring every bit to
    the bottom of its byte, so sums of words count the bits.
    """
    lanes = [first for start, end in pairwise(starts) for first in range(start, end, _ROWS_A_LANE)]
    counts = []
    for some in range(0, len(lanes), _LANES_A_BLOCK):
        firsts = np.array(lanes[some : some + _LANES_A_BLOCK])
        last = lanes[some + _LANES_A_BLOCK] if some + _LANES_A_BLOCK < len(lanes) else len(hashes)
        stretched = hashes[firsts[0] : last] * _VERIFY_FACTORS
        stretched ^= stretched >> 32
        stretched *= _VERIFY_FACTORS
        stretched ^= stretched >> 29
        bits = stretched >> _LANE_SHIFTS
        bits &= 0x0101010101010101
        sums = np.add.reduceat(bits, firsts - firsts[0], axis=2)
        counts.append(sums.astype("<u8", copy=False).view(np.uint8).reshape(8, 4, len(firsts), 8))
    counters = np.concatenate(counts, axis=2).astype(np.int64)
    by_part = np.add.reduceat(counters, np.searchsorted(lanes, starts[:-1]), axis=2)
    return by_part.transpose(2, 0, 1, 3).reshape(-1, VERIFY_BITS)
