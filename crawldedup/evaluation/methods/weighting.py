"""The weightings of the literature: how much each search feature of a page counts.

| name | weight of a feature |
|---|---|
| none | 1 |
| tf | its term frequency, the number of its occurrences in the page |
| log-tf | 1 + ln(term frequency), in eighths |
| damped-tf | (term frequency)^0.75, in eighths: the default |
| tf-idf | see `document_frequencies` |

``tf-idf`` learns while it weighs: a page is weighed by the pages before it and then counts as one of them, even if it
is only looked up. So the first pages are weighed by little more than their term frequencies, and a copy of one of them
gets other bits thousands of pages later: in a young index, near duplicates far apart can be missed. Exact copies are
found by their digest, and no page is dropped wrongly, because the verify bits decide. Each process learns by itself.
``tf-idf:FILE`` reads the frequencies from a file of `DocumentFrequencies.save` and learns no more, so all processes
and runs that share an index make the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.methods.document_frequencies import DocumentFrequencies, TfIdf
from crawldedup.fingerprinting.features import DEFAULT_FEATURES, MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Counts = NDArray[np.intp]
    Weights = NDArray[np.float32]

DEFAULT_WEIGHTING: Final = "damped-tf"

_MAX_FREQUENCY: Final = 1 << 16
_UNIT: Final = 8


class Weighting(Protocol):
    """Says how much each feature of a page counts."""

    @property
    def name(self) -> str:
        """Name what decides the weights; part of an index's profile."""

    def weigh(self, features: Hashes, frequencies: Counts, /) -> Weights:
        """Return weights, shape (features,): whole numbers from 1 to MAX_WEIGHT.

        `features` are distinct and well mixed. `frequencies`, of the same shape, are their occurrences in the page.
        """


class Unweighted:
    """Every feature counts 1."""

    name = "none"

    def weigh(self, features: Hashes, _frequencies: Counts, /) -> Weights:
        """See `Weighting`."""
        return np.ones(len(features), np.float32)


class TermFrequency:
    """A feature counts as often as it occurs, up to MAX_WEIGHT times."""

    name = "tf"

    def weigh(self, _features: Hashes, frequencies: Counts, /) -> Weights:
        """See `Weighting`."""
        return np.minimum(frequencies, MAX_WEIGHT).astype(np.float32)


class LogTermFrequency:
    """A feature counts 1 + ln(term frequency), in eighths."""

    name = "log-tf"

    def weigh(self, _features: Hashes, frequencies: Counts, /) -> Weights:
        """See `Weighting`."""
        weights: Weights = _log_weights().take(frequencies, mode="clip")
        return weights


class DampedTermFrequency:
    """The weights of the default features."""

    name = DEFAULT_WEIGHTING

    def weigh(self, features: Hashes, frequencies: Counts, /) -> Weights:
        """See `Weighting`."""
        return DEFAULT_FEATURES.weigh(features, frequencies)


@cache
def _log_weights() -> Weights:
    """Return the weights by term frequency, up to 65,535; index 0 is unused."""
    frequencies = np.maximum(np.arange(_MAX_FREQUENCY), 1)
    weights: Weights = np.rint(_UNIT * (1 + np.log(frequencies))).astype(np.float32)
    return weights


_BY_NAME: Final[dict[str, Callable[[], Weighting]]] = {
    "none": Unweighted,
    "tf": TermFrequency,
    "log-tf": LogTermFrequency,
    "damped-tf": DampedTermFrequency,
    "tf-idf": lambda: TfIdf(DocumentFrequencies(), learns=True),
}


def make_weighting(spec: str) -> Weighting:
    """Make a weighting: none, tf, log-tf, damped-tf, tf-idf (learns), or tf-idf:FILE (reads, does not learn).

    Raises ConfigurationError for another name, and for a file that cannot be used.
    """
    if spec in _BY_NAME:
        return _BY_NAME[spec]()
    name, colon, path = str(spec).partition(":")
    if name == "tf-idf" and colon and path:
        return TfIdf(DocumentFrequencies.load(path), learns=False)
    raise ConfigurationError(
        f"there is no weighting {spec!r}{did_you_mean(name, _BY_NAME) or '.'} It is one of {', '.join(_BY_NAME)}, yu, "
        "or tf-idf:FILE with a file made by `DocumentFrequencies.save`"
    )
