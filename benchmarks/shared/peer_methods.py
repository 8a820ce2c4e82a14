"""Methods of other packages, each as it documents them, in the shape of a `Detector` of `peer_detectors.py`."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

from crawldedup.literature.exact import words

if TYPE_CHECKING:
    from collections.abc import Callable


PERMUTATIONS = 128
SHINGLE = 3


def word_shingles(text: str) -> list[str]:
    found = words(text)
    return [" ".join(found[start : start + SHINGLE]) for start in range(max(len(found) - SHINGLE + 1, 1))]


def character_shingles(text: str) -> list[str]:
    squeezed = re.sub(r"\W+", "", text.lower())
    return [squeezed[start : start + SHINGLE] for start in range(max(len(squeezed) - SHINGLE + 1, 1))]


class _Named:
    """What the detectors share: a name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Simhash1e0ng(_Named):
    def __init__(self, name: str, module: Any) -> None:
        super().__init__(name)
        self._module = module
        # It warns of every bucket of more than 200 pages.
        logging.getLogger("simhash").setLevel(logging.ERROR)
        self._index = module.SimhashIndex([], k=3)

    def check(self, url: str, text: str) -> str | None:
        value = self._module.Simhash(character_shingles(text))
        near = self._index.get_near_dups(value)
        if near:
            return str(near[0])
        self._index.add(url, value)
        return None


class KeptHashes(_Named):
    """Every kept page is compared, one after the other."""

    def __init__(self, name: str, fingerprint: Callable[[str], Any], alike: Callable[[Any, Any], bool]) -> None:
        super().__init__(name)
        self._fingerprint, self._alike = fingerprint, alike
        self._index: dict[str, Any] = {}

    def check(self, url: str, text: str) -> str | None:
        own = self._fingerprint(text)
        for original, other in self._index.items():
            if self._alike(own, other):
                return original
        self._index[url] = own
        return None


class GaoyaIndex(_Named):
    def __init__(self, name: str, index: Any) -> None:
        super().__init__(name)
        self._index = index
        self._urls: list[str] = []

    def check(self, url: str, text: str) -> str | None:
        near = self._index.query(text)
        if near:
            return str(self._urls[near[0]])
        self._index.insert_document(len(self._urls), text)
        self._urls.append(url)
        return None


class DatasketchLSH(_Named):
    def __init__(self, name: str, module: Any, *, threshold: float, verified: float | None = None) -> None:
        super().__init__(name)
        self._module, self._verified = module, verified
        self._lsh = module.MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self._minhashes: dict[str, Any] = {}

    def check(self, url: str, text: str) -> str | None:
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
            return str(best)
        self._lsh.insert(url, minhash)
        if self._verified is not None:
            self._minhashes[url] = minhash
        return None


class RensaDeduplicator(_Named):
    def __init__(self, name: str, module: Any, *, threshold: float) -> None:
        super().__init__(name)
        self._module = module
        self._dedup = module.RMinHashDeduplicator(threshold=threshold, num_perm=PERMUTATIONS, use_lsh=True)

    def check(self, url: str, text: str) -> str | None:
        minhash = self._module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(word_shingles(text))
        return None if self._dedup.add(url, minhash) else ""


class RensaLSH(_Named):
    BANDS = 16

    def __init__(self, name: str, module: Any, *, threshold: float) -> None:
        super().__init__(name)
        self._module = module
        self._lsh = module.RMinHashLSH(threshold=threshold, num_perm=PERMUTATIONS, num_bands=self.BANDS)
        self._urls: list[str] = []

    def check(self, url: str, text: str) -> str | None:
        minhash = self._module.RMinHash(num_perm=PERMUTATIONS, seed=42)
        minhash.update(word_shingles(text))
        found = self._lsh.query(minhash)
        if found:
            return str(self._urls[found[0]])
        self._lsh.insert(len(self._urls), minhash)
        self._urls.append(url)
        return None


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

    def check(self, url: str, text: str) -> str | None:
        bands = self._embed(text)[self._column]
        for table, band in zip(self._tables, bands, strict=True):
            if band in table:
                return table[band]
        for table, band in zip(self._tables, bands, strict=True):
            table[band] = url
        return None


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

    def check(self, url: str, text: str) -> str | None:
        embedded = self._embed(text)
        keys, signature = embedded[self._module.KEY_COLUMN], embedded[self._module.SIGNATURE_COLUMN]
        compared = 0
        own = self._module.frozenbitarray(buffer=signature)
        for key in keys:
            for other, original in self._tables.get(key, ()):
                compared += 1
                if self._module._hamming_distance(own, other) <= self._distance:
                    return original
        for key in keys:
            self._tables[key].append((own, url))
        return None
