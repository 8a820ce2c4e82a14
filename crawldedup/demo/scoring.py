"""Compare a crawl with the truth: with the manifest of the demo site, and with the exact similarity of all texts.

Both are truths of `crawldedup.evaluation`, and the crawl is a method under test that repeats its verdicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawldedup.errors import PageError
from crawldedup.evaluation.corpus import Corpus, Document, facts_of
from crawldedup.evaluation.detectors import Detection
from crawldedup.evaluation.exact import SimilarPairs
from crawldedup.evaluation.ground_truth import compare_all, from_pairs
from crawldedup.evaluation.trial import run_trial
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.text.decode import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.demo.crawl import Judged
    from crawldedup.demo.site import SitePage
    from crawldedup.evaluation.trial import Trial
    from crawldedup.reader import PageReader


class Replay:
    """Answers as the crawl did; see `crawldedup.evaluation.Detector`."""

    name = "Against the exact similarity of the texts (Jaccard of word 3-shingles)"
    uses_facts = True

    def __init__(self, judged: Sequence[Judged]) -> None:
        self._pages = {page.url: page for page in judged}

    def check(self, document: Document) -> Detection:
        """See `Detector`."""
        page = self._pages[document.url]
        return Detection(page.dropped, page.original, page.similarity)

    def bytes_per_page(self) -> None:
        """See `Detector`."""


def against_manifest(judged: Sequence[Judged], entry_of: Callable[[str], SitePage | None]) -> Trial:
    """Compare a crawl, without its revisits, with the manifest: pages of one cluster are equal, others are not.

    A page that may be either counts as thin.
    """
    found = [(page, entry) for page in judged if (entry := entry_of(page.url)) is not None]
    clusters: dict[str, int] = {}
    group_of = [clusters.setdefault(entry.cluster, len(clusters)) for _, entry in found]
    word_counts = [MIN_WORDS if entry.judged else 0 for _, entry in found]
    no_pairs = SimilarPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    truth = from_pairs(np.array(group_of, np.int64), np.array(word_counts, np.int64), len(clusters), no_pairs)
    documents = tuple(Document(page.url, "") for page, _ in found)
    return run_trial(Replay(judged), Corpus("manifest", documents), truth, similarity=1.0)


def against_texts(judged: Sequence[Judged], documents: Sequence[Document], similarity: float) -> Trial:
    """Compare a crawl, without its revisits, with the exact similarities of its pages, given as `document_of` does."""
    truth = compare_all([document.text for document in documents])
    return run_trial(Replay(judged), Corpus("texts", tuple(documents)), truth, similarity=similarity)


def document_of(url: str, body: bytes, encoding: str | None, reader: PageReader, *, is_html: bool = True) -> Document:
    """Return a page with the text and the facts that are fingerprinted; with the text "" if it cannot be read."""
    try:
        if is_html:
            content = reader.content(html=body, encoding=encoding, url=url)
        else:
            content = reader.content(text=decode(body, encoding))
    except PageError:
        return Document(url, "")
    return Document(url, content.text, facts_of(content))
