"""Find the paragraphs of a page that are already on earlier pages.

A paragraph is recognized by its *anchors*, which are hashes of a few of its word sequences. The
same sequences are chosen wherever the paragraph appears.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from crawldedup.fingerprinting.anchors import ANCHOR_BITS, PARAGRAPH_WORDS, Paragraph
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.scope import kept_apart
from crawldedup.stores.anchors import AnchorQuery, AnchorStore
from crawldedup.stores.contract import PageName, Query, Store
from crawldedup.verdict import Coverage, KnownParagraph, ParagraphKind

Held = Mapping[int, Sequence[int] | None]
"""For each anchor, the earlier pages that have it, or None if too many pages do."""

LEAST_ANCHORS: Final = 2
"""The minimum number of anchors to judge a paragraph, and of those that a page must share with it.

A single common anchor may be a figure of speech.
"""

LEAST_NEW: Final = 0.2
"""If a smaller share of its words is new, a page is partial. Used if such pages are only marked."""

LONGEST_URL: Final = 2048
"""Longer URLs (in characters) aren't stored, because each paragraph of a page may name one."""


def coverage(
    page: Page, fingerprint: Fingerprint, query: Query, store: Store, options: Options
) -> Coverage | None:
    """Find out how much of a page is on earlier pages, and remember its paragraphs.

    If a page is partial the first time, its paragraphs aren't remembered, because that would make
    its text look common.

    Args:
        page: The page. With `remember` False, nothing is remembered.
        fingerprint: The fingerprint that was made of the page.
        query: The query about the page.
        store: The store of the index.
        options: The options of the index.

    Returns:
        How much of the page is on earlier pages, or None if its URL keeps it apart from them.

    Raises:
        StoreError: The store cannot answer.
    """
    if kept_apart(options.distinguish_params, page.url, options.apart):
        return None
    least_new = options.paragraphs if isinstance(options.paragraphs, float) else LEAST_NEW
    paragraphs = _salted(fingerprint.paragraphs, query.shard_key)
    anchors = tuple(
        dict.fromkeys(anchor for paragraph in paragraphs for anchor in paragraph.anchors)
    )
    if not anchors:
        return coverage_of(paragraphs, {}, {}, least_new)
    name = PageName(query.record.url_key, query.shard_key)
    anchor_query = AnchorQuery(
        url=page.url if options.store_urls and len(page.url) <= LONGEST_URL else "",
        name=name,
        anchors=anchors,
        ttl_seconds=cast("int | None", options.paragraph_ttl),
        most_anchors=options.max_paragraphs * PARAGRAPH_WORDS >> (64 - ANCHOR_BITS),
        key_id=fingerprint.key_id,
    )
    assert isinstance(store, AnchorStore)  # `make_store` has checked it
    holders = store.anchors(anchor_query, add=page.remember)
    held = dict(zip(anchors, holders.pages, strict=True))
    covered = coverage_of(paragraphs, held, holders.urls, least_new)
    if page.remember and covered.is_partial and not holders.is_known:
        store.forget(name, anchors_alone=True)
    return covered


def _salted(paragraphs: Sequence[Paragraph], shard_key: int | None) -> list[Paragraph]:
    """Return paragraphs with anchors changed so that they only match those in the same scope.

    Fingerprints are salted the same way.
    """
    salt = (shard_key or 0) & ((1 << ANCHOR_BITS) - 1)
    return [
        paragraph._replace(anchors=tuple(anchor ^ salt for anchor in paragraph.anchors))
        for paragraph in paragraphs
    ]


def coverage_of(
    paragraphs: Sequence[Paragraph], held: Held, urls: Mapping[int, str], least_new: float
) -> Coverage:
    """Compute how much of a page is on earlier pages, from the pages that have each of its anchors.

    The known share of a paragraph is the share of its anchors that its best page has. Anchors that
    too many pages have are left out, and a paragraph is boilerplate if most of its anchors are like
    that.

    Args:
        paragraphs: The paragraphs of the page.
        held: The pages that have each anchor.
        urls: The URLs of the pages that count.
        least_new: The page is partial if a smaller share of its words is new.
    """
    sharing = _Holders(held, urls)
    anchors_of_page = Counter(
        page for paragraph in paragraphs for page in sharing.pages_of(paragraph)
    )
    new = boilerplate = 0
    known_paragraphs: list[KnownParagraph] = []
    sources: Counter[int] = Counter()
    for paragraph in paragraphs:
        origin = sharing.origin_of(paragraph, anchors_of_page)
        if origin.kind is ParagraphKind.BOILERPLATE:
            boilerplate += paragraph.words
        elif origin.kind is not ParagraphKind.SHORT:
            new += paragraph.words - origin.words
        url = None
        if origin.page is not None:
            sources[origin.page] += origin.words
            url = urls[origin.page] or None
        known_paragraphs.append(
            KnownParagraph(paragraph.excerpt, paragraph.words, origin.words, origin.kind, url)
        )
    known = sources.total()
    return Coverage(
        new_words=new,
        known_words=known,
        boilerplate_words=boilerplate,
        is_partial=new < least_new * (new + known),
        sources=tuple((urls[page], words) for page, words in sources.most_common()),
        paragraphs=tuple(known_paragraphs),
    )


class _Origin(NamedTuple):
    """The earlier page that a paragraph comes from, and how many of its words are there."""

    kind: ParagraphKind
    page: int | None = None  #: The page that holds most of the paragraph.
    words: int = 0  #: How many of its words are on that page.


@dataclass(frozen=True, slots=True)
class _Holders:
    """The earlier pages that a page's paragraphs may come from, because they share anchors."""

    held: Held
    urls: Mapping[int, str]

    def pages_of(self, paragraph: Paragraph) -> Iterator[int]:
        """For each anchor of a paragraph, yield the earlier pages that have it.

        Pages that don't count as an origin, because they aren't in `urls`, are left out.
        """
        for anchor in paragraph.anchors:
            for page in self.held[anchor] or ():
                if page in self.urls:
                    yield page

    def origin_of(self, paragraph: Paragraph, anchors_of_page: Counter[int]) -> _Origin:
        """Return the earlier page that a paragraph comes from, and how much of it is there.

        Args:
            paragraph: The paragraph.
            anchors_of_page: How many anchors of all the paragraphs each earlier page holds.
        """
        telling = [anchor for anchor in paragraph.anchors if self.held[anchor] is not None]
        if len(paragraph.anchors) > 2 * len(telling):
            return _Origin(ParagraphKind.BOILERPLATE)
        if len(telling) < LEAST_ANCHORS:
            return _Origin(ParagraphKind.SHORT)
        page = self._best_page(paragraph, anchors_of_page)
        if page is None:
            return _Origin(ParagraphKind.NEW)
        is_held = [page in (self.held[anchor] or ()) for anchor in telling]
        words = round(paragraph.words * _count_filled(is_held) / len(telling))
        kind = ParagraphKind.KNOWN if 2 * words >= paragraph.words else ParagraphKind.NEW
        return _Origin(kind, page, words)

    def _best_page(self, paragraph: Paragraph, anchors_of_page: Counter[int]) -> int | None:
        """Return the page that a paragraph comes from, or None if no page has enough of it.

        Several pages may have about as much. The best one is the page with most of the other
        paragraphs.
        """
        shared = Counter(self.pages_of(paragraph))
        least = max(LEAST_ANCHORS, max(shared.values(), default=0) / 2)
        candidates = [page for page, anchors in shared.items() if anchors >= least]
        return max(candidates, key=lambda page: (anchors_of_page[page], shared[page]), default=None)


def _count_filled(is_held: Sequence[bool]) -> int:
    """Count the anchors that are on a page, and fill gaps of a single anchor between them.

    An edited word makes such a gap, although the words around it are known.

    Args:
        is_held: For each anchor of a paragraph, in order, whether the page has it.
    """
    filled = 0
    for place, held in enumerate(is_held):
        before = place == 0 or is_held[place - 1]
        behind = place == len(is_held) - 1 or is_held[place + 1]
        if held or (before and behind):
            filled += 1
    return filled
