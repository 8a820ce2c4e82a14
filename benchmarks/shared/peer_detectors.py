"""Other packages as detectors of near duplicates, each used as its documentation says, at thresholds a user would try.

Where a package leaves the words to its user (datasketch, rensa, simhash-pybind, gaoya with an analyzer of one's own),
it is given the very shingles by which similarity is defined here: no peer can do better with others. Where it has ideas
of its own about words, those are part of what is measured.

    1e0ng simhash     Simhash(get_features(text)) with the get_features of its documentation, SimhashIndex(k=3)
    simhash-pybind    compute over word 3-shingles; find_all is for batches, so every kept page is compared by
                      num_differing_bits: the same pages, found one by one
    gaoya             SimHashStringIndex with its defaults (6 blocks, 5 bits), 64 and 128 bits; MinHashStringIndex with
                      the bands it computes itself for a threshold
    datasketch        MinHashLSH of 128 permutations; bare, and with the candidates verified by MinHash.jaccard
    rensa             RMinHashDeduplicator(use_lsh=True), which verifies, and RMinHashLSH, which does not
    trafilatura       its Simhash, every kept page compared by similarity(); it names no threshold: .95 is 3 bits of
                      64, which everyone takes, and .9 is 6
    text-dedup        a program for whole data sets, so its functions are called here page by page: embed_func of its
                      MinHash and one dictionary a band; embed_func and the distance of its SimHash and one dictionary
                      for its permutations. Its clusters are transitive, these answers are not
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from benchmarks import peers
from benchmarks.shared.peer_methods import (
    PERMUTATIONS,
    DatasketchLSH,
    GaoyaIndex,
    KeptHashes,
    RensaDeduplicator,
    RensaLSH,
    Simhash1e0ng,
    TextDedupMinHash,
    TextDedupSimHash,
    word_shingles,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Detector(Protocol):
    """A method of another package, with a name."""

    name: str

    def check(self, url: str, text: str) -> str | None:
        """Return the URL of an earlier page that this one resembles, or None, and remember this one."""


@dataclass(frozen=True)
class Candidate:
    """A detector to be made when its turn comes, or the reason why it cannot be."""

    name: str
    make: Callable[[], Detector] | None
    missing: str = ""


def peer_candidates() -> Iterator[Candidate]:
    yield from _simhash_1e0ng()
    yield from _simhash_pybind()
    yield from _gaoya()
    yield from _datasketch()
    yield from _rensa()
    yield from _trafilatura()
    yield from _text_dedup()


def _candidates(
    package: str, peer: peers.Peer | None, detectors: dict[str, Callable[..., Detector]]
) -> Iterator[Candidate]:
    if peer is None:
        yield Candidate(package, None, f"{package} is not installed: {peers.how_to_install(package)}")
        return
    for settings, make in detectors.items():
        name = f"{package} {peer.version} {settings}"
        yield Candidate(name, partial(make, name, peer.module))


def _simhash_1e0ng() -> Iterator[Candidate]:
    yield from _candidates("simhash", peers.load("simhash", "simhash"), {"(1e0ng), k=3": Simhash1e0ng})


def _simhash_pybind() -> Iterator[Candidate]:
    def make(name: str, module: Any) -> Detector:
        def fingerprint(text: str) -> int:
            shingles = word_shingles(text)
            return int(module.compute([module.unsigned_hash(text.encode("utf-8", "replace")) for text in shingles]))

        return KeptHashes(name, fingerprint, lambda own, other: module.num_differing_bits(own, other) <= 3)

    yield from _candidates("simhash-pybind", peers.load("simhash-pybind", "simhash"), {"3-shingles, k=3": make})


def _gaoya() -> Iterator[Candidate]:
    def simhash(name: str, _: Any, *, bits: int) -> Detector:
        from gaoya.simhash import SimHashStringIndex

        return GaoyaIndex(name, SimHashStringIndex(hash_size=bits, lowercase=True))

    def minhash(name: str, _: Any, *, threshold: float) -> Detector:
        from gaoya.minhash import MinHashStringIndex

        bands = {"num_bands": None, "band_size": None, "num_hashes": PERMUTATIONS}
        return GaoyaIndex(name, MinHashStringIndex(jaccard_threshold=threshold, analyzer=word_shingles, **bands))

    detectors: dict[str, Callable[..., Detector]] = {
        f"SimHash {bits} bits, k=5": partial(simhash, bits=bits) for bits in (64, 128)
    }
    detectors |= {f"MinHash {threshold:g}": partial(minhash, threshold=threshold) for threshold in (0.8, 0.9)}
    yield from _candidates("gaoya", peers.load("gaoya", "gaoya"), detectors)


def _datasketch() -> Iterator[Candidate]:
    detectors: dict[str, Callable[..., Detector]] = {
        f"MinHashLSH {threshold:g}": partial(DatasketchLSH, threshold=threshold) for threshold in (0.8, 0.9)
    }
    detectors["MinHashLSH .8, verified at .8"] = partial(DatasketchLSH, threshold=0.8, verified=0.8)
    detectors["MinHashLSH .8, verified at .9"] = partial(DatasketchLSH, threshold=0.8, verified=0.9)
    yield from _candidates("datasketch", peers.load("datasketch", "datasketch"), detectors)


def _rensa() -> Iterator[Candidate]:
    detectors: dict[str, Callable[..., Detector]] = {
        f"RMinHashDeduplicator {threshold:g}": partial(RensaDeduplicator, threshold=threshold)
        for threshold in (0.8, 0.9)
    }
    detectors[f"RMinHashLSH, {RensaLSH.BANDS} bands"] = partial(RensaLSH, threshold=0.9)
    yield from _candidates("rensa", peers.load("rensa", "rensa"), detectors)


def _trafilatura() -> Iterator[Candidate]:
    def make(name: str, _: Any, *, threshold: float) -> Detector:
        from trafilatura.deduplication import Simhash

        return KeptHashes(name, Simhash, lambda own, other: own.similarity(other) >= threshold)

    detectors: dict[str, Callable[..., Detector]] = {
        f"Simhash, {threshold:g}": partial(make, threshold=threshold) for threshold in (0.95, 0.9)
    }
    yield from _candidates("trafilatura", peers.load("trafilatura", "trafilatura"), detectors)


def _text_dedup() -> Iterator[Candidate]:
    minhash = peers.load("text-dedup", "text_dedup.minhash")
    detectors: dict[str, Callable[..., Detector]] = {
        "MinHash .7 of 5-grams (defaults)": partial(TextDedupMinHash, threshold=0.7, ngram=5),
        "MinHash .9 of 3-grams": partial(TextDedupMinHash, threshold=0.9, ngram=3),
    }
    yield from _candidates("text-dedup", minhash, detectors)
    simhash = peers.load("text-dedup", "text_dedup.simhash")
    if simhash:
        yield from _candidates("text-dedup", simhash, {"SimHash, k=3 (defaults)": TextDedupSimHash})
