"""The lab: measures how well methods find near duplicates, and holds the methods of the literature.

A corpus is shown to detectors, whose answers are compared with the exact similarities of all pairs (`run_trial`,
`crawldedup bench quality`). `make_method` makes a method of the literature for `Deduplicator` from its name. The parts
of the methods are functions of their own: `features`, `shingle`, `simhash`, `compute` and `num_differing_bits` for
plain simhash, `find_all` for the near pairs of a collection, `flip_sets` for VOSH, `minhash`, `estimate` and
`bands_for` for MinHash with LSH, `make_word_scorer` for the scores of Yu, Hu & Zhang, `DocumentFrequencies` for tf-idf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.evaluation.bands import EDGES, Band, BandCounts
    from crawldedup.evaluation.corpus import Corpus, Document, read_corpus
    from crawldedup.evaluation.detectors import Detection, Detector, MethodDetector
    from crawldedup.evaluation.exact import jaccard, shingles, words
    from crawldedup.evaluation.ground_truth import GroundTruth, compare_all
    from crawldedup.evaluation.methods.classic import (
        ENGLISH_STOP_WORDS,
        compute,
        features,
        num_differing_bits,
        shingle,
        simhash,
    )
    from crawldedup.evaluation.methods.document_frequencies import DocumentFrequencies
    from crawldedup.evaluation.methods.features import feature_hashes
    from crawldedup.evaluation.methods.pairs import find_all
    from crawldedup.evaluation.methods.signatures import bands_for, collision_probability, estimate, minhash
    from crawldedup.evaluation.methods.spec import make_method
    from crawldedup.evaluation.methods.vosh import flip_sets
    from crawldedup.evaluation.methods.word_scores import make_word_scorer
    from crawldedup.evaluation.pairs_file import read_ground_truth
    from crawldedup.evaluation.trial import Mistake, Trial, run_trial

__all__ = [
    "EDGES",
    "ENGLISH_STOP_WORDS",
    "Band",
    "BandCounts",
    "Corpus",
    "Detection",
    "Detector",
    "Document",
    "DocumentFrequencies",
    "GroundTruth",
    "MethodDetector",
    "Mistake",
    "Trial",
    "bands_for",
    "collision_probability",
    "compare_all",
    "compute",
    "estimate",
    "feature_hashes",
    "features",
    "find_all",
    "flip_sets",
    "jaccard",
    "make_method",
    "make_word_scorer",
    "minhash",
    "num_differing_bits",
    "read_corpus",
    "read_ground_truth",
    "run_trial",
    "shingle",
    "shingles",
    "simhash",
    "words",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "bands": "EDGES Band BandCounts",
        "corpus": "Corpus Document read_corpus",
        "detectors": "Detection Detector MethodDetector",
        "exact": "jaccard shingles words",
        "ground_truth": "GroundTruth compare_all",
        "methods.classic": "ENGLISH_STOP_WORDS compute features num_differing_bits shingle simhash",
        "methods.document_frequencies": "DocumentFrequencies",
        "methods.features": "feature_hashes",
        "methods.pairs": "find_all",
        "methods.signatures": "bands_for collision_probability estimate minhash",
        "methods.spec": "make_method",
        "methods.vosh": "flip_sets",
        "methods.word_scores": "make_word_scorer",
        "pairs_file": "read_ground_truth",
        "trial": "Mistake Trial run_trial",
    },
)
