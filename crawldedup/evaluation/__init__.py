"""The lab: measures how well methods find near duplicates, and holds the methods of the literature.

A corpus is shown to detectors, whose answers are compared with the exact similarities of all pairs (`run_trial`,
`crawldedup bench quality`). `make_method` makes a method of the literature for `Deduplicator` from its name. The parts
of the methods are functions of their own: `flip_sets` for VOSH, `minhash`, `estimate` and `bands_for` for MinHash with
LSH, `make_word_scorer` for the scores of Yu, Hu & Zhang, `DocumentFrequencies` for tf-idf. Those of plain simhash are
in `crawldedup.simhash`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.evaluation.bands import EDGES as EDGES
    from crawldedup.evaluation.bands import Band as Band
    from crawldedup.evaluation.bands import BandCounts as BandCounts
    from crawldedup.evaluation.corpus import Corpus as Corpus
    from crawldedup.evaluation.corpus import Document as Document
    from crawldedup.evaluation.corpus import read_corpus as read_corpus
    from crawldedup.evaluation.detectors import Detection as Detection
    from crawldedup.evaluation.detectors import Detector as Detector
    from crawldedup.evaluation.detectors import MethodDetector as MethodDetector
    from crawldedup.evaluation.exact import jaccard as jaccard
    from crawldedup.evaluation.exact import shingles as shingles
    from crawldedup.evaluation.exact import words as words
    from crawldedup.evaluation.ground_truth import GroundTruth as GroundTruth
    from crawldedup.evaluation.ground_truth import compare_all as compare_all
    from crawldedup.evaluation.methods.document_frequencies import DocumentFrequencies as DocumentFrequencies
    from crawldedup.evaluation.methods.features import feature_hashes as feature_hashes
    from crawldedup.evaluation.methods.signatures import bands_for as bands_for
    from crawldedup.evaluation.methods.signatures import collision_probability as collision_probability
    from crawldedup.evaluation.methods.signatures import estimate as estimate
    from crawldedup.evaluation.methods.signatures import minhash as minhash
    from crawldedup.evaluation.methods.spec import make_method as make_method
    from crawldedup.evaluation.methods.vosh import flip_sets as flip_sets
    from crawldedup.evaluation.methods.word_scores import make_word_scorer as make_word_scorer
    from crawldedup.evaluation.pairs_file import read_ground_truth as read_ground_truth
    from crawldedup.evaluation.trial import Mistake as Mistake
    from crawldedup.evaluation.trial import Trial as Trial
    from crawldedup.evaluation.trial import run_trial as run_trial

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "bands": "EDGES Band BandCounts",
        "corpus": "Corpus Document read_corpus",
        "detectors": "Detection Detector MethodDetector",
        "exact": "jaccard shingles words",
        "ground_truth": "GroundTruth compare_all",
        "methods.document_frequencies": "DocumentFrequencies",
        "methods.features": "feature_hashes",
        "methods.signatures": "bands_for collision_probability estimate minhash",
        "methods.spec": "make_method",
        "methods.vosh": "flip_sets",
        "methods.word_scores": "make_word_scorer",
        "pairs_file": "read_ground_truth",
        "trial": "Mistake Trial run_trial",
    },
)
