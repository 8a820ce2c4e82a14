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

The bytes of an index are those of its pickle, for packages in Python; the others do not tell.
"""

from __future__ import annotations

import logging
import pickle
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import peers
from crawldedup.evaluation import Detection, Detector, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PERMUTATIONS = 128
SHINGLE = 3


@dataclass(frozen=True)
class Candidate:
    """A detector to be made when its turn comes, or the reason why it cannot be."""

    name: str
    make: Callable[[], Detector] | None
    missing: str = ""


def word_shingles(text: str) -> list[str]:
    found = words(text)
    return [" ".join(found[start : start + SHINGLE]) for start in range(max(len(found) - SHINGLE + 1, 1))]


def character_shingles(text: str) -> list[str]:
    squeezed = re.sub(r"\W+", "", text.lower())
    return [squeezed[start : start + SHINGLE] for start in range(max(len(squeezed) - SHINGLE + 1, 1))]


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


class _Named:
    """What the detectors share: a name, and kept pages counted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept = 0

    def bytes_per_page(self) -> float | None:
        return None

    def pickled(self, index: object) -> float | None:
        """What the index takes without the overhead of Python's objects: less than it holds in memory."""
        return len(pickle.dumps(index, pickle.HIGHEST_PROTOCOL)) / self.kept if self.kept else None


class Simhash1e0ng(_Named):
    def __init__(self, name: str, module: Any) -> None:
        super().__init__(name)
        self._module = module
        # It warns of every bucket of more than 200 pages.
        logging.getLogger("simhash").setLevel(logging.ERROR)
        self._index = module.SimhashIndex([], k=3)

    def check(self, url: str, text: str) -> Detection:
        value = self._module.Simhash(character_shingles(text))
        near = self._index.get_near_dups(value)
        if near:
            return Detection(True, near[0])
        self._index.add(url, value)
        self.kept += 1
        return Detection(False)

    def bytes_per_page(self) -> float | None:
        return self.pickled(dict(self._index.bucket))


class KeptHashes(_Named):
    """Every kept page is compared, one after the other."""

    def __init__(self, name: str, fingerprint: Callable[[str], Any], alike: Callable[[Any, Any], bool]) -> None:
        super().__init__(name)
        self._fingerprint, self._alike = fingerprint, alike
        self._index: dict[str, Any] = {}

    def check(self, url: str, text: str) -> Detection:
        own = self._fingerprint(text)
        for compared, (original, other) in enumerate(self._index.items(), 1):
            if self._alike(own, other):
                return Detection(True, original, candidates=compared)
        self._index[url] = own
        self.kept += 1
        return Detection(False, candidates=self.kept - 1)

    def bytes_per_page(self) -> float | None:
        return self.pickled(self._index)


class GaoyaIndex(_Named):
    def __init__(self, name: str, index: Any) -> None:
        super().__init__(name)
        self._index = index
        self._urls: list[str] = []

    def check(self, url: str, text: str) -> Detection:
        near = self._index.query(text)
        if near:
            return Detection(True, self._urls[near[0]])
        self._index.insert_document(len(self._urls), text)
        self._urls.append(url)
        return Detection(False)


class DatasketchLSH(_Named):
    def __init__(self, name: str, module: Any, *, threshold: float, verified: float | None = None) -> None:
        super().__init__(name)
        self._module, self._verified = module, verified
        self._lsh = module.MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self._minhashes: dict[str, Any] = {}

    def check(self, url: str, text: str) -> Detection:
        minhash = self._module.MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch([shingle.encode("utf-8", "replace") for shingle in word_shingles(text)])
        found = self._lsh.query(minhash)
        if self._verified is None:
            best = found[0] if found else None
            similarity = None
        else:
            similarities = [(minhash.jaccard(self._minhashes[key]), key) for key in found]
            similarity, best = max(similarities, default=(0.0, None))
            if similarity < self._verified:
                best = None
        if best is not None:
            return Detection(True, best, similarity, candidates=len(found))
        self._lsh.insert(url, minhash)
        self.kept += 1
        if self._verified is not None:
            self._minhashes[url] = minhash
        return Detection(False, candidates=len(found))

    def bytes_per_page(self) -> float | None:
        return self.pickled((self._lsh, self._minhashes))


class RensaDeduplicator(_Named):
    def __init__(self, name: str, module: Any, *, threshold: float) -> None:
        super().__init__(name)
        self._module = module
        self._dedup = module.RMinHashDeduplicator(threshold=threshold, num_perm=PERMUTATIONS, use_lsh=True)

    def check(self, url: str, text: str) -> Detection:
        minhash = self._module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(word_shingles(text))
        return Detection(not self._dedup.add(url, minhash))


class RensaLSH(_Named):
    BANDS = 16

    def __init__(self, name: str, module: Any, *, threshold: float) -> None:
        super().__init__(name)
        self._module = module
        self._lsh = module.RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=self.BANDS)
        self._urls: list[str] = []

    def check(self, url: str, text: str) -> Detection:
        minhash = self._module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(word_shingles(text))
        found = self._lsh.query(minhash)
        if found:
            return Detection(True, self._urls[found[0]], candidates=len(found))
        self._lsh.insert(len(self._urls), minhash)
        self._urls.append(url)
        return Detection(False, candidates=0)


class TextDedupMinHash(_Named):
    """As `main` of text_dedup.minhash does it, with its default 64-bit mode, sha1 and 250 permutations."""

    def __init__(self, name: str, module: Any, *, threshold: float, ngram: int) -> None:
        super().__init__(name)
        np = module.np
        permutations, prime, highest = 250, np.uint64((1 << 61) - 1), np.uint32((1 << 32) - 1)
        bands, rows = module.optimal_param(threshold, permutations)
        generator = np.random.RandomState(module.SEED)
        self._embed = partial(
            module.embed_func,
            idx=0,
            num_perm=permutations,
            ngram_size=ngram,
            min_length=5,
            hashranges=[(band * rows, (band + 1) * rows) for band in range(bands)],
            permutations=(
                generator.randint(1, prime, size=(permutations,), dtype=np.uint64),
                generator.randint(0, prime, size=(permutations,), dtype=np.uint64),
            ),
            hash_func=partial(module.sha1_hash, d=32),
            dtype=np.uint64,
            max_hash=highest,
            modulo_prime=prime,
        )
        self._column = module.SIGNATURE_COLUMN
        self._tables: list[dict[bytes, str]] = [{} for _ in range(bands)]

    def check(self, url: str, text: str) -> Detection:
        bands = self._embed(text)[self._column]
        for table, band in zip(self._tables, bands, strict=True):
            if band in table:
                return Detection(True, table[band])
        for table, band in zip(self._tables, bands, strict=True):
            table[band] = url
        self.kept += 1
        return Detection(False)

    def bytes_per_page(self) -> float | None:
        return self.pickled(self._tables)


class TextDedupSimHash(_Named):
    """As `main` of text_dedup.simhash does it, with its defaults: 64 bits, 3-grams, 3 bits, 4 buckets."""

    def __init__(self, name: str, module: Any) -> None:
        super().__init__(name)
        self._distance = 3
        self._module = module
        permutations = module._create_permutations(64, self._distance, 4)
        self._embed = partial(
            module.embed_func, idx=0, ngram=3, permutations=permutations, hash_func=module.xxh3_64_digest
        )
        self._tables: dict[Any, list[tuple[Any, str]]] = defaultdict(list)

    def check(self, url: str, text: str) -> Detection:
        embedded = self._embed(text)
        keys, signature = embedded[self._module.KEY_COLUMN], embedded[self._module.SIGNATURE_COLUMN]
        compared = 0
        own = self._module.frozenbitarray(buffer=signature)
        for key in keys:
            for other, original in self._tables.get(key, ()):
                compared += 1
                if self._module._hamming_distance(own, other) <= self._distance:
                    return Detection(True, original, candidates=compared)
        for key in keys:
            self._tables[key].append((own, url))
        self.kept += 1
        return Detection(False, candidates=compared)


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
