"""Decide which paragraphs of a page stand on earlier pages, from the pages that hold their anchors."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from crawldedup.fingerprinting.anchors import ANCHOR_BITS, PARAGRAPH_WORDS, Paragraph
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.scope import kept_apart
from crawldedup.stores.contract import AnchorQuery, AnchorStore, PageName, Query, Store
from crawldedup.verdict import Coverage, KnownParagraph, ParagraphKind

Held = Mapping[int, Sequence[int] | None]

LEAST_ANCHORS: Final = 2  # of a paragraph, and on one page: a single one may be a figure of speech
# Where pages are only marked: one with less of its own says nothing of how common its text is.
LEAST_NEW: Final = 0.2
LONGEST_URL: Final = 2048  # Longer ones are not kept: each paragraph of a page may name one.


def coverage(
    page: Page, read: Fingerprint, query: Query, store: Store, options: Options
) -> Coverage | None:
    """Compare the paragraphs of a page that is no duplicate, and remember them; None if its URL
    keeps it apart.
    """
    if kept_apart(options.distinguish_params, page.url):
        return None
    name = PageName(query.record.url_key, query.shard_key)
    least_new = options.paragraphs if isinstance(options.paragraphs, float) else LEAST_NEW
    # Anchors of different places differ, as fingerprints do.
    salt = (query.shard_key or 0) & ((1 << ANCHOR_BITS) - 1)
    salted = [
        each._replace(anchors=tuple(anchor ^ salt for anchor in each.anchors))
        for each in read.paragraphs
    ]
    anchors = tuple(dict.fromkeys(anchor for each in salted for anchor in each.anchors))
    if not anchors:
        return coverage_of(salted, {}, {}, least_new)
    asked = AnchorQuery(
        url=page.url if options.store_urls and len(page.url) <= LONGEST_URL else "",
        name=name,
        anchors=anchors,
        ttl_seconds=cast("int | None", options.paragraph_ttl),
        most_anchors=options.max_paragraphs * PARAGRAPH_WORDS >> (64 - ANCHOR_BITS),
        key_id=read.key_id,
    )
    assert isinstance(store, AnchorStore)  # `make_store` has checked it
    found = store.anchors(asked, add=page.remember)
    covered = coverage_of(
        salted, dict(zip(anchors, found.pages, strict=True)), found.urls, least_new
    )
    if page.remember and covered.is_partial and not found.is_known:
        store.forget(name, anchors_alone=True)
    return covered


def coverage_of(
    paragraphs: Sequence[Paragraph], held: Held, urls: Mapping[int, str], least_new: float
) -> Coverage:
    """Return how much of a page stands on earlier pages: it is partial if less than `least_new` of
    its words are new.

    `held` maps each anchor to the pages that hold it, or to None if too many do; `urls` are those
    of the pages that count. The known share of a paragraph is the share of its anchors that its
    best page holds. Anchors that too many pages hold are left out, and a paragraph is boilerplate
    if most of its anchors are of this kind.
    """
    alike = Counter(page for paragraph in paragraphs for page in _holders(paragraph, held, urls))
    judged, new, boilerplate = [], 0, 0
    sources: Counter[int] = Counter()
    for paragraph in paragraphs:
        kind, page, known = _judged(paragraph, held, urls, alike)
        if kind is ParagraphKind.BOILERPLATE:
            boilerplate += paragraph.words
        elif kind is not ParagraphKind.SHORT:
            new += paragraph.words - known
        if page is not None:
            sources[page] += known
        url = None if page is None else urls[page] or None
        judged.append(KnownParagraph(paragraph.excerpt, paragraph.words, known, kind, url))
    known = sources.total()
    shares = tuple((urls[page], count) for page, count in sources.most_common())
    return Coverage(new, known, boilerplate, new < least_new * (new + known), shares, tuple(judged))


def _judged(
    paragraph: Paragraph, held: Held, urls: Mapping[int, str], alike: Counter[int]
) -> tuple[ParagraphKind, int | None, int]:
    """Return the kind of a paragraph, the page that holds most of it, and how many of its words
    that page has.
    """
    crowded = sum(held[anchor] is None for anchor in paragraph.anchors)
    telling = len(paragraph.anchors) - crowded
    if crowded > telling:
        return ParagraphKind.BOILERPLATE, None, 0
    if telling < LEAST_ANCHORS:
        return ParagraphKind.SHORT, None, 0
    shared = Counter(_holders(paragraph, held, urls))
    # Of several that hold about as much, the page that most of the others come from, too.
    least = max(LEAST_ANCHORS, max(shared.values(), default=0) / 2)
    candidates = [page for page, anchors in shared.items() if anchors >= least]
    page = max(candidates, key=lambda page: (alike[page], shared[page]), default=None)
    found = [
        page in (held[anchor] or ()) for anchor in paragraph.anchors if held[anchor] is not None
    ]
    # Single ones that stand alone among these count, too: those an edited word costs.
    around = zip([True, *found], found, [*found[1:], True], strict=False)
    filled = sum(here or (before and behind) for before, here, behind in around)
    known = 0 if page is None else round(paragraph.words * filled / telling)
    return (ParagraphKind.KNOWN if 2 * known >= paragraph.words else ParagraphKind.NEW), page, known


def _holders(paragraph: Paragraph, held: Held, urls: Mapping[int, str]) -> Iterator[int]:
    return (page for anchor in paragraph.anchors for page in held[anchor] or () if page in urls)
