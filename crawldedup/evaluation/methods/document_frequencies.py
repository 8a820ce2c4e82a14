"""Document frequencies: the number of pages with each feature, in fixed memory, and the tf-idf weighting made of them.

A feature weighs its term frequency / length of the page * idf, in proportion to the page's largest weight, with

    idf = ln((1 + pages) / (1 + pages with the feature)) + 1.

idf is smoothed, so that a feature of all pages still counts 1, and a page of only such features keeps its bits.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.features import MAX_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Counts = NDArray[np.intp]
    Weights = NDArray[np.float32]

DEFAULT_COUNTERS: Final = 1 << 22
"""Counters of document frequencies: 16 MiB."""

_MAX_FREQUENCY: Final = 1 << 16
# Logarithms differ between machines in their last digits. Rounded ones do not, and the rest is whole numbers.
_IDF_UNIT: Final = 1024
_MIN_COUNTERS: Final = 1 << 8
_MAX_COUNTERS: Final = 1 << 30
_FORMAT: Final = "crawldedup document frequencies 1"


class DocumentFrequencies:
    """Counts the pages with each feature, in fixed memory.

    A feature's leading bits choose its counter, so features share counters. With many more features than counters, a
    rare one seems less rare than it is: with k features in a page, none seems to be in less than a share k / counters
    of the pages. Common features still differ from rare ones. A page adds at most one to a counter, so no feature is
    in more pages than there are.

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
        """Return the number of pages learned."""
        return self._pages

    @property
    def digest(self) -> str:
        """Name the content in 16 hexadecimal digits; equal contents have equal digests."""
        state = hashlib.blake2b(self._pages.to_bytes(8, "little"), digest_size=8)
        state.update(self._counters.astype("<u4", copy=False).data)
        return state.hexdigest()

    def learn(self, features: Hashes) -> None:
        """Count a page with these distinct features, shape (features,)."""
        # The page counts once: numpy adds one, even where several features share a place.
        self._counters[self._places(features)] += np.uint32(1)
        self._pages += 1

    def idf(self, features: Hashes) -> NDArray[np.float64]:
        """Return ln((1 + pages) / (1 + pages with the feature)) + 1 of each feature; 1 if nothing was learned."""
        seen = self._counters.take(self._places(features)).astype(np.float64)
        idf: NDArray[np.float64] = np.log((1 + self._pages) / (1 + seen)) + 1
        return idf

    def _places(self, features: Hashes) -> Counts:
        return (features >> self._shift).astype(np.intp)

    def save(self, path: str | Path) -> None:
        """Write a file for `load`, in numpy's npz format; replace an existing one in one step.

        Raises ConfigurationError if the file cannot be written.
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
        """Read a file that `save` wrote. Raises ConfigurationError if it is missing, broken or of another kind."""
        try:
            counters, pages = _read(Path(path))
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ConfigurationError(
                f"document frequencies cannot be read from {str(path)!r}: {reason}; give a file that "
                f"`DocumentFrequencies.save` wrote"
            ) from error
        loaded = cls.__new__(cls)
        loaded._set(counters, pages)
        return loaded


def _read(path: Path) -> tuple[NDArray[np.uint32], int]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not an npz file")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            if set(archive.files) != {"format", "pages", "counters"} or str(archive["format"]) != _FORMAT:
                raise ValueError(f"it is not marked as {_FORMAT!r}")
            pages, counters = archive["pages"], archive["counters"]
    if pages.shape != () or pages.dtype != np.int64 or pages < 0:
        raise ValueError("its number of pages is not a whole number from 0")
    if counters.ndim != 1 or counters.dtype != np.uint32 or not _are_counters(len(counters)):
        raise ValueError("its counters are not 2**8 to 2**30 numbers of 32 bits")
    if counters.max() > pages:
        raise ValueError("it counts a feature in more pages than it has")
    return counters, int(pages)


def _are_counters(number: int) -> bool:
    return _MIN_COUNTERS <= number <= _MAX_COUNTERS and number.bit_count() == 1


class TfIdf:
    """Weighs features by tf-idf. With `learns`, a page is learned after it is weighed."""

    def __init__(self, document_frequencies: DocumentFrequencies, *, learns: bool) -> None:
        self.document_frequencies = document_frequencies
        self._learns = learns
        self.name = "tf-idf" if learns else f"tf-idf:{document_frequencies.digest}"

    def weigh(self, features: Hashes, frequencies: Counts, /) -> Weights:
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
