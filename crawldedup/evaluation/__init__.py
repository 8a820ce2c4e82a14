"""How well a method decides: a corpus, the exact truth about it, and judges that are held against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.evaluation.bands import EDGES, Band, Tally
    from crawldedup.evaluation.corpus import Corpus, Document, read_corpus
    from crawldedup.evaluation.exact import jaccard, shingles, words
    from crawldedup.evaluation.judges import DeduplicatorJudge, Judge, Judgement
    from crawldedup.evaluation.pairs_file import read_truth
    from crawldedup.evaluation.trial import Mistake, Trial, run_trial
    from crawldedup.evaluation.truth import Truth, compare_all

__all__ = [
    "EDGES",
    "Band",
    "Corpus",
    "DeduplicatorJudge",
    "Document",
    "Judge",
    "Judgement",
    "Mistake",
    "Tally",
    "Trial",
    "Truth",
    "compare_all",
    "jaccard",
    "read_corpus",
    "read_truth",
    "run_trial",
    "shingles",
    "words",
]

_HOMES = {
    "EDGES": "bands",
    "Band": "bands",
    "Corpus": "corpus",
    "DeduplicatorJudge": "judges",
    "Document": "corpus",
    "Judge": "judges",
    "Judgement": "judges",
    "Mistake": "trial",
    "Tally": "bands",
    "Trial": "trial",
    "Truth": "truth",
    "compare_all": "truth",
    "jaccard": "exact",
    "read_corpus": "corpus",
    "read_truth": "pairs_file",
    "run_trial": "trial",
    "shingles": "exact",
    "words": "exact",
}

__getattr__ = lazy(__name__, _HOMES)
