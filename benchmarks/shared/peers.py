"""Other packages as detectors of near duplicates, each used according to its documentation, with
thresholds that a user would try.

If a package leaves the choice of features to its user (datasketch, rensa, gaoya with your own
analyzer), it gets the shingles that define similarity here, because it can't do better with any
others. If it has its own way of splitting texts into words, that is part of what is measured.

    simhash       Simhash(get_features(text)) with the get_features of its documentation, SimhashIndex(k=3)
    gaoya         SimHashStringIndex with its defaults (6 blocks, 5 bits), 64 and 128 bits; MinHashStringIndex with the
                  bands it computes itself for a threshold
    datasketch    MinHashLSH of 128 permutations; bare, and with the candidates verified by MinHash.jaccard
    rensa         RMinHashDeduplicator(use_lsh=True), which verifies, and RMinHashLSH, which does not
    trafilatura   its Simhash, every kept page compared by similarity(); it names no threshold: .95 is 3 bits of 64,
                  which everyone takes, and .9 is 6
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any, Final, NamedTuple

from crawldedup.literature.bench import words

Detector = Callable[[str, str], str | None]
"""Takes the URL and the text of a page.

Returns the URL of an earlier page that it resembles, "" if the package does not name it, and None
for a new page, which it remembers.
"""

PERMUTATIONS: Final = 128
BANDS: Final = 16
SHINGLE: Final = 3


class Peer(NamedTuple):
    """An imported package."""

    module: Any
    version: str


def load(package: str) -> Peer | None:
    """Import a package; None if it is not installed."""
    try:
        return Peer(importlib.import_module(package.replace("-", "_")), metadata.version(package))
    except ImportError:
        return None


def word_shingles(text: str) -> list[str]:
    found = words(text)
    return [
        " ".join(found[start : start + SHINGLE])
        for start in range(max(len(found) - SHINGLE + 1, 1))
    ]


def character_shingles(text: str) -> list[str]:
    squeezed = re.sub(r"\W+", "", text.lower())
    return [
        squeezed[start : start + SHINGLE] for start in range(max(len(squeezed) - SHINGLE + 1, 1))
    ]


def simhash(module: Any) -> Detector:
    # It warns of every bucket of more than 200 pages.
    logging.getLogger("simhash").setLevel(logging.ERROR)
    index = module.SimhashIndex([], k=3)

    def check(url: str, text: str) -> str | None:
        value = module.Simhash(character_shingles(text))
        if near := index.get_near_dups(value):
            return str(near[0])
        index.add(url, value)
        return None

    return check


def datasketch(module: Any, threshold: float, verified: float = 0.0) -> Detector:
    index, kept = module.MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS), dict[str, Any]()

    def check(url: str, text: str) -> str | None:
        minhash = module.MinHash(num_perm=PERMUTATIONS)
        minhash.update_batch(
            [shingle.encode("utf-8", "replace") for shingle in word_shingles(text)]
        )
        found = [
            (minhash.jaccard(kept[key]) if verified else 1.0, str(key))
            for key in index.query(minhash)
        ]
        similarity, best = max(found, default=(-1.0, ""))
        if similarity >= verified:
            return best
        index.insert(url, minhash)
        if verified:
            kept[url] = minhash
        return None

    return check


def gaoya_simhash(_: Any, bits: int) -> Detector:
    from gaoya.simhash import SimHashStringIndex

    return _numbered(str, SimHashStringIndex(hash_size=bits, lowercase=True), "insert_document")


def gaoya_minhash(_: Any, threshold: float) -> Detector:
    from gaoya.minhash import MinHashStringIndex

    bands = {"num_bands": None, "band_size": None, "num_hashes": PERMUTATIONS}
    index = MinHashStringIndex(jaccard_threshold=threshold, analyzer=word_shingles, **bands)
    return _numbered(str, index, "insert_document")


def rensa_deduplicator(module: Any, threshold: float) -> Detector:
    index, minhash = (
        module.RMinHashDeduplicator(threshold=threshold, num_perm=PERMUTATIONS, use_lsh=True),
        _rensa_minhash(module),
    )
    return lambda url, text: None if index.add(url, minhash(text)) else ""


def rensa_lsh(module: Any, threshold: float) -> Detector:
    index = module.RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=BANDS)
    return _numbered(_rensa_minhash(module), index, "insert")


def _rensa_minhash(module: Any) -> Callable[[str], Any]:
    def minhash(text: str) -> Any:
        made = module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        made.update(word_shingles(text))
        return made

    return minhash


def _numbered(value_of: Callable[[str], Any], index: Any, insert: str) -> Detector:
    """Ask an index that knows pages by numbers."""
    urls: list[str] = []

    def check(url: str, text: str) -> str | None:
        value = value_of(text)
        if near := index.query(value):
            return str(urls[near[0]])
        getattr(index, insert)(len(urls), value)
        urls.append(url)
        return None

    return check


def trafilatura(_: Any, threshold: float) -> Detector:
    from trafilatura.deduplication import Simhash

    kept: dict[str, Any] = {}

    def check(url: str, text: str) -> str | None:
        own = Simhash(text)
        near = next(
            (earlier for earlier, other in kept.items() if own.similarity(other) >= threshold), None
        )
        if near is None:
            kept[url] = own
        return near

    return check


DETECTORS: Final[dict[tuple[str, str], Callable[[Any], Detector]]] = {
    ("simhash", "(1e0ng), k=3"): simhash,
    ("gaoya", "SimHash 64 bits, k=5"): partial(gaoya_simhash, bits=64),
    ("gaoya", "SimHash 128 bits, k=5"): partial(gaoya_simhash, bits=128),
    ("gaoya", "MinHash 0.8"): partial(gaoya_minhash, threshold=0.8),
    ("gaoya", "MinHash 0.9"): partial(gaoya_minhash, threshold=0.9),
    ("datasketch", "MinHashLSH 0.8"): partial(datasketch, threshold=0.8),
    ("datasketch", "MinHashLSH 0.9"): partial(datasketch, threshold=0.9),
    ("datasketch", "MinHashLSH .8, verified at .8"): partial(
        datasketch, threshold=0.8, verified=0.8
    ),
    ("datasketch", "MinHashLSH .8, verified at .9"): partial(
        datasketch, threshold=0.8, verified=0.9
    ),
    ("rensa", "RMinHashDeduplicator 0.8"): partial(rensa_deduplicator, threshold=0.8),
    ("rensa", "RMinHashDeduplicator 0.9"): partial(rensa_deduplicator, threshold=0.9),
    ("rensa", f"RMinHashLSH, {BANDS} bands"): partial(rensa_lsh, threshold=0.9),
    ("trafilatura", "Simhash, 0.95"): partial(trafilatura, threshold=0.95),
    ("trafilatura", "Simhash, 0.9"): partial(trafilatura, threshold=0.9),
}
"""What makes each detector, given the package's module, by package and settings."""
