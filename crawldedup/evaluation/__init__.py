"""How well a method decides: a corpus, the exact truth about it, and judges that are held against it."""

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
