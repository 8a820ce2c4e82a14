"""How much each search feature of a page counts.

A weighting sees the distinct features of a page and how often each occurs, and gives weights that are whole
numbers from 1 to MAX_WEIGHT: sums of them are exact, and every machine makes the same bits. Only their
proportions matter, for the fingerprint divides by their norm.

| name | weight of a feature |
|---|---|
| none | 1 |
| tf | its term frequency, the number of its occurrences in the page |
| log-tf | 1 + ln(term frequency), in eighths |
| damped-tf | (term frequency)^0.75, in eighths: the default |
| tf-idf | term frequency / length of the page * idf, in proportion to the page's largest |

idf is the inverse document frequency, ln((1 + pages) / (1 + pages with the feature)) + 1: smoothed, so that a
feature of all pages still counts 1, and a page of nothing but such features keeps its bits.

``tf-idf`` learns while it weighs: a page is weighed by the pages before it and then counts as one of them,
whether it is remembered or only looked up. So the first pages are weighed by little more than their term
frequencies, and a copy of one of them that comes thousands of pages later gets other bits than it has: near
duplicates far apart in a young index can be missed (exact copies are found by their digest, and no page is
dropped wrongly, for the verify bits judge). Each process learns by itself, and what was learned ends with it.
``tf-idf:FILE`` reads the frequencies from a file and learns no more: all processes and all runs that
share an index make the same bits.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

import numpy as np

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Counts = NDArray[np.intp]
    Weights = NDArray[np.float32]

MAX_WEIGHT: Final = 8191
"""Sums of 2,048 such weights stay below 2^24 and so are exact even in 32-bit floats."""
DEFAULT_COUNTERS: Final = 1 << 22
"""Counters of document frequencies: 16 MiB."""

_MAX_FREQUENCY: Final = 1 << 16
_UNIT: Final = 8
_DAMPING: Final = 0.75
# Logarithms differ between machines in their last digits; rounded ones do not, and all that follows is whole numbers.
_IDF_UNIT: Final = 1024
_MIN_COUNTERS: Final = 1 << 8
_MAX_COUNTERS: Final = 1 << 30
_FORMAT: Final = "crawldedup document frequencies 1"


class Weighting(Protocol):
    """How much each feature of a page counts. Stateless, but for a tf-idf that learns."""

    @property
    def name(self) -> str:
        """Names what decides the weights; it is part of an index's profile."""

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:
        """Weights of features, shape (features,): whole numbers from 1 to MAX_WEIGHT.

        `features` are distinct, well mixed and sorted; `frequencies`, of the same shape, say how often each
        occurs in the page, at least once.
        """


class Unweighted:
    """Every feature counts 1."""

    name = "none"

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:  # noqa: ARG002
        """See `Weighting`."""
        return np.ones(len(features), np.float32)


class TermFrequency:
    """A feature counts as often as it occurs, up to MAX_WEIGHT times."""

    name = "tf"

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:  # noqa: ARG002
        """See `Weighting`."""
        return np.minimum(frequencies, MAX_WEIGHT).astype(np.float32)


class LogTermFrequency:
    """A feature counts 1 + ln(term frequency), in eighths."""

    name = "log-tf"

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:  # noqa: ARG002
        """See `Weighting`."""
        weights: Weights = log_weights().take(frequencies, mode="clip")
        return weights


@cache
def log_weights() -> Weights:
    """1 + ln(term frequency) in eighths, rounded, by term frequency up to 65,535; index 0 is unused."""
    frequencies = np.maximum(np.arange(_MAX_FREQUENCY), 1)
    weights: Weights = np.rint(_UNIT * (1 + np.log(frequencies))).astype(np.float32)
    return weights


class DampedTermFrequency:
    """A feature counts (term frequency)^0.75, in eighths: between tf, which a few words dominate, and 1 + log tf.

    The more frequent a feature is, the less an edit changes its weight, so bits that listen to frequent features
    are steadier; too much of it, and pages of one language or one template become alike.
    """

    name = "damped-tf"

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:  # noqa: ARG002
        """See `Weighting`."""
        weights: Weights = _damped_weights().take(frequencies, mode="clip")
        return weights


@cache
def _damped_weights() -> Weights:
    """By term frequency up to 4,096; index 0 is unused."""
    weights: Weights = np.rint(_UNIT * np.arange(4097) ** _DAMPING).astype(np.float32)
    return weights


class DocumentFrequencies:
    """In how many pages each feature was seen, in fixed memory.

    A feature's counter is chosen by its leading bits, so features share counters, and where many more were
    seen than there are counters, a rare one seems less rare than it is: with k features a page, none seems to
    be in less than a share k / counters of the pages. What most pages have is still told from what few have.
    A page adds at most one to a counter, so that no feature is in more pages than there are.

    `counters` is a power of two from 2^8 to 2^30, 4 bytes each. Raises ConfigurationError for others.
    """

    def __init__(self, counters: int = DEFAULT_COUNTERS) -> None:
        if not isinstance(counters, int) or not _are_counters(counters):
            raise ConfigurationError(f"counters is {counters!r}; it must be a power of two from 2**8 to 2**30")
        self._set(np.zeros(counters, np.uint32), 0)

    def _set(self, counters: NDArray[np.uint32], pages: int) -> None:
        self._counters = counters
        self._shift = np.uint64(64 - (len(counters).bit_length() - 1))
        self._pages = pages

    @property
    def pages(self) -> int:
        """Number of pages learned."""
        return self._pages

    @property
    def digest(self) -> str:
        """Names the content, in 16 hexadecimal digits; equal contents have equal digests."""
        state = hashlib.blake2b(self._pages.to_bytes(8, "little"), digest_size=8)
        state.update(self._counters.astype("<u4", copy=False).data)
        return state.hexdigest()

    def learn(self, features: Hashes) -> None:
        """Count a page with these distinct features, shape (features,)."""
        # Of equal places only one is added to, as it should be: the page counts once.
        self._counters[self._places(features)] += np.uint32(1)
        self._pages += 1

    def idf(self, features: Hashes) -> NDArray[np.float64]:
        """ln((1 + pages) / (1 + pages with the feature)) + 1 of each feature; 1 for all if nothing was learned."""
        seen = self._counters.take(self._places(features)).astype(np.float64)
        idf: NDArray[np.float64] = np.log((1 + self._pages) / (1 + seen)) + 1
        return idf

    def _places(self, features: Hashes) -> Counts:
        return (features >> self._shift).astype(np.intp)

    def save(self, path: str | Path) -> None:
        """Write a file for `load`, in numpy's npz format; an existing one is replaced in one step.

        Raises ConfigurationError where nothing can be written.
        """
        target = Path(path)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                np.savez_compressed(
                    file, format=np.array(_FORMAT), pages=np.array(self._pages, np.int64), counters=self._counters
                )
            part.replace(target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ConfigurationError(
                f"document frequencies cannot be written to {str(path)!r}: {error.strerror or error}"
            ) from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote. Raises ConfigurationError for one that is missing, broken or another's."""
        try:
            counters, pages = _read(Path(path))
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ConfigurationError(
                f"document frequencies cannot be read from {str(path)!r}: {reason}; give a file that "
                f"`crawldedup frequencies` wrote"
            ) from error
        loaded = cls.__new__(cls)
        loaded._set(counters, pages)
        return loaded


def _read(path: Path) -> tuple[NDArray[np.uint32], int]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is no npz file")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            if set(archive.files) != {"format", "pages", "counters"} or str(archive["format"]) != _FORMAT:
                raise ValueError(f"it is not marked as {_FORMAT!r}")
            pages, counters = archive["pages"], archive["counters"]
    if pages.shape != () or pages.dtype != np.int64 or pages < 0:
        raise ValueError("its number of pages is none")
    if counters.ndim != 1 or counters.dtype != np.uint32 or not _are_counters(len(counters)):
        raise ValueError("its counters are not 2**8 to 2**30 numbers of 32 bits")
    if counters.max() > pages:
        raise ValueError("it counts a feature in more pages than it has")
    return counters, int(pages)


def _are_counters(number: int) -> bool:
    return _MIN_COUNTERS <= number <= _MAX_COUNTERS and number.bit_count() == 1


class TfIdf:
    """Term frequency by length of the page by idf, in proportion to the page's largest.

    With `learns`, a page is learned after it is weighed.
    """

    def __init__(self, document_frequencies: DocumentFrequencies, *, learns: bool) -> None:
        self.document_frequencies = document_frequencies
        self._learns = learns
        self.name = "tf-idf" if learns else f"tf-idf:{document_frequencies.digest}"

    def weigh(self, features: Hashes, frequencies: Counts) -> Weights:
        """See `Weighting`."""
        idf = np.rint(_IDF_UNIT * self.document_frequencies.idf(features)).astype(np.int64)
        if self._learns:
            self.document_frequencies.learn(features)
        # The length of the page is the same for all its features, so it cancels out.
        scores = np.minimum(frequencies, _MAX_FREQUENCY) * idf
        largest = scores.max(initial=1)
        rounded = (2 * MAX_WEIGHT * scores + largest) // (2 * largest)
        weights: Weights = np.maximum(rounded, 1).astype(np.float32)
        return weights


_BY_NAME: Final[dict[str, Callable[[], Weighting]]] = {
    "none": Unweighted,
    "tf": TermFrequency,
    "log-tf": LogTermFrequency,
    "damped-tf": DampedTermFrequency,
    "tf-idf": lambda: TfIdf(DocumentFrequencies(), learns=True),
}


def make_weighting(spec: str) -> Weighting:
    """The weighting a user asked for: none, tf, log-tf, damped-tf, tf-idf (learns), or tf-idf:FILE (reads, learns not).

    Raises ConfigurationError for another name, and for a file that cannot be used.
    """
    if spec in _BY_NAME:
        return _BY_NAME[spec]()
    name, colon, path = str(spec).partition(":")
    if name == "tf-idf" and colon and path:
        return TfIdf(DocumentFrequencies.load(path), learns=False)
    close = get_close_matches(name.lower(), _BY_NAME, n=1)
    raise ConfigurationError(
        f"there is no weighting {spec!r}"
        + (f"; did you mean {close[0]!r}? " if close else ". ")
        + f"It is one of {', '.join(_BY_NAME)}, yu, or tf-idf:FILE with a file made by `crawldedup frequencies`"
    )
