"""Time the fingerprint of a text, ours and those of other packages, in one process.

    python benchmarks/fingerprint.py
    python benchmarks/fingerprint.py --texts pages.jsonl      # lines of {"text": ..}
    python benchmarks/fingerprint.py --dir folder             # *.txt, and the main text of *.html

By default, articles of the demo site are joined to texts of about 4.5 KB, the text of an average article page. All
take turns in every round, and the best round counts. They do not compute the same: crawldedup makes 64 search bits and
256 verify bits with their weights, others a 64-bit simhash of words. A column says what is asked of each.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import peers
from benchmarks.shared.common import make_parser, run
from crawldedup.demo.site import all_articles
from crawldedup.errors import PageError
from crawldedup.extraction.extract import extract_page
from crawldedup.extraction.extractors import get_extractor
from crawldedup.fingerprinting import fingerprint as ours
from crawldedup.fingerprinting.features import DEFAULT_FEATURES, pair_hashes, shingle_hashes
from crawldedup.search.decision import likelihood_rule
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import page_plan
from crawldedup.search.query import TABLES
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

Run = Callable[[Any], object]

DEFAULT_BYTES = 4500
# Long enough a turn for the caches to forget the contender before.
CALLS_A_TURN = 100
PLANNED_PAGES = 10**7
# What a search aims at where the wanted recall is the default of 0.98.
PLANNED_RECALL = 0.99


@dataclass
class Contender:
    name: str
    version: str
    asked: str
    """The call, with its settings."""
    run: Run | None
    """None: not installed."""
    inputs: Sequence[Any] = ()
    """What the call is given, one a text; by default the texts."""
    ends_section: bool = False
    microseconds: float = float("inf")


def joined_articles() -> list[str]:
    texts = []
    for _, articles in groupby(all_articles(), key=lambda article: article.language):
        joined = "\n".join(article.text for article in articles).encode()
        starts = range(0, len(joined) - DEFAULT_BYTES, DEFAULT_BYTES)
        texts += [joined[start : start + DEFAULT_BYTES].decode(errors="ignore") for start in starts]
    return texts


def texts_of_folder(folder: Path) -> Iterator[str]:
    extractor = get_extractor("trafilatura")
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".txt":
            yield path.read_text(encoding="utf-8", errors="replace")
        elif path.suffix in (".html", ".htm"):
            try:
                yield extract_page(path.read_bytes(), None, extractor, min_words=ours.MIN_WORDS).main
            except PageError as error:
                print(f"{path}: {error}", file=sys.stderr)


def read_texts(arguments: argparse.Namespace) -> list[str]:
    found: Iterable[str]
    if arguments.texts:
        with arguments.texts.open(encoding="utf-8") as lines:
            found = [json.loads(line)["text"] for line in lines]
    else:
        found = texts_of_folder(arguments.dir) if arguments.dir else joined_articles()
    # Every so many-th of them, so that a sorted file is met in all its parts.
    kept = [text for text in found if not ours.fingerprint(text).thin]
    step = max(len(kept) / arguments.limit, 1)
    return [kept[int(number * step)] for number in range(min(len(kept), arguments.limit))]


def crawldedup_contenders(texts: list[str]) -> list[Contender]:
    words = [word_hashes(text) for text in texts]
    shingles = [shingle_hashes(hashes, pair_hashes(hashes)) for hashes in words]
    pages = [ours.fingerprint(text) for text in texts]

    def search_bits(hashes: Any) -> object:
        return ours.bit_weights(*DEFAULT_FEATURES("", hashes))

    def verify_bits(shingles: Any) -> object:
        return ours._verify_weights(shingles.copy())

    def plan(page: ours.Fingerprint) -> object:
        similarity = search_similarity(0.9)
        return page_plan(
            page.search, page.search_weights, TABLES, pages=PLANNED_PAGES, similarity=similarity, recall=PLANNED_RECALL
        )

    def rule(page: ours.Fingerprint) -> object:
        return likelihood_rule(page.verify_weights, 0.86)

    return [
        Contender("crawldedup", "", "fingerprint(text): 64 + 256 bits with weights", ours.fingerprint),
        Contender("- words", "", "word_hashes(text)", word_hashes),
        Contender("- search bits", "", "64 weights of words and pairs", search_bits, words),
        Contender("- verify bits", "", "256 weights of 3-shingles", verify_bits, shingles, ends_section=True),
        Contender("then: probe plan", "", f"page_plan for {PLANNED_PAGES:,} pages", plan, pages),
        Contender("then: decision", "", "likelihood_rule(weights, 0.86)", rule, pages, ends_section=True),
    ]


def peer_contenders() -> list[Contender]:
    return [
        contender("simhash (1e0ng)", "simhash", "Simhash(text): 64 bits, 4 characters", lambda module: module.Simhash),
        contender(
            "simhash-pybind (C++)", "simhash-pybind", "compute(unsigned_hash of shingle(\\w+, 3)): 64 bits", with_pybind
        ),
        contender(
            "python-simhash (Rust)",
            "python-simhash",
            "simhash(text.split(), hasher='xxh3'): 64 bits",
            lambda module: lambda text: module.simhash(text.split(), hasher="xxh3"),
        ),
        *(
            contender(
                "gaoya (Rust)",
                "gaoya",
                f"simhash doc2signature, ngram_range={ngram}: {bits} bits",
                partial(with_gaoya, bits, ngram),
            )
            for bits, ngram in ((64, (1, 1)), (64, (3, 3)), (128, (3, 3)))
        ),
        contender(
            "gaoya (Rust)", "gaoya", "tokenize_and_minhash, ngram_range=(3, 3): 128 x 32 bits", with_gaoya_minhash
        ),
        contender("datasketch", "datasketch", "MinHash(128).update_batch(3-shingles of \\w+)", with_datasketch),
        contender("rensa (Rust)", "rensa", "RMinHash(128).update(3-shingles of \\w+)", with_rensa),
    ]


def with_pybind(module: Any) -> Run:
    def compute(text: str) -> object:
        tokens = re.findall(r"\w+", text.lower())
        return module.compute([module.unsigned_hash(" ".join(words).encode()) for words in module.shingle(tokens, 3)])

    return compute


def with_gaoya(bits: int, ngram: tuple[int, int], _: Any) -> Run:
    from gaoya.simhash import SimHashStringIndex

    run: Run = SimHashStringIndex(hash_size=bits, lowercase=True, ngram_range=ngram).index.doc2signature
    return run


def with_gaoya_minhash(_: Any) -> Run:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(num_bands=16, band_size=8, lowercase=True, ngram_range=(3, 3)).minhash_index
    run: Run = index.tokenize_and_minhash
    return run


def with_datasketch(module: Any) -> Run:
    def compute(text: str) -> object:
        minhash = module.MinHash(num_perm=128)
        minhash.update_batch([shingle.encode() for shingle in word_shingles(text)])
        return minhash

    return compute


def with_rensa(module: Any) -> Run:
    def compute(text: str) -> object:
        minhash = module.RMinHash(num_perm=128, seed=42)
        minhash.update(word_shingles(text))
        return minhash.digest()

    return compute


def contender(name: str, package: str, asked: str, make: Callable[[Any], Run]) -> Contender:
    peer = peers.load(package)
    return Contender(name, peer.version if peer else "", asked, make(peer.module) if peer else None)


def word_shingles(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [" ".join(words[start : start + 3]) for start in range(max(len(words) - 2, 1))]


def measure(contenders: list[Contender], texts: list[str], rounds: int) -> None:
    for contender in track(
        [contender for _ in range(rounds + 1) for contender in contenders if contender.run],
        description="measuring",
        console=Console(stderr=True),
        transient=True,
    ):
        run, inputs = contender.run, contender.inputs or texts
        assert run is not None
        turns = -(-CALLS_A_TURN // len(inputs))
        started = time.perf_counter()
        for _ in range(turns):
            for given in inputs:
                run(given)
        taken = (time.perf_counter() - started) / (turns * len(inputs)) * 1e6
        contender.microseconds = min(contender.microseconds, taken)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--texts", type=Path, metavar="FILE.jsonl", help='one {"text": ..} a line')
    source.add_argument("--dir", type=Path, metavar="FOLDER", help="text and HTML files, in folders of any depth")
    parser.add_argument("--limit", type=int, default=100, help="number of texts (100)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)

    texts = read_texts(arguments)
    if not texts:
        parser.error("there is no text of enough words to be fingerprinted")
    contenders = [*crawldedup_contenders(texts), *peer_contenders()]
    measure(contenders, texts, arguments.rounds)

    setting = {
        "corpus": str(arguments.texts or arguments.dir or "articles of the demo site"),
        "texts": len(texts),
        "mean_bytes": round(float(np.mean([len(text.encode()) for text in texts]))),
        "mean_words": round(float(np.mean([len(word_hashes(text)) for text in texts]))),
        "rounds": arguments.rounds,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    if arguments.json:
        print(json.dumps({**setting, "results": [as_row(contender, contenders[0]) for contender in contenders]}))
    else:
        print_table(setting, contenders)


def as_row(contender: Contender, standard: Contender) -> dict[str, object]:
    return {
        "name": contender.name,
        "version": contender.version,
        "asked": contender.asked,
        "microseconds": round(contender.microseconds, 1) if contender.run else None,
        "times_crawldedup": round(contender.microseconds / standard.microseconds, 2) if contender.run else None,
    }


def print_table(setting: dict[str, object], contenders: list[Contender]) -> None:
    console = Console(markup=False)
    table = Table(
        title="{texts} texts of {mean_bytes:,} bytes, {mean_words} words on average; best of {rounds} rounds, one "
        "thread, Python {python}, numpy {numpy}\n{corpus}".format(**setting)
    )
    for heading in ("", "what is asked of it", "us a text", "x crawldedup"):
        table.add_column(heading, justify="right" if "x" in heading else "left")
    for contender in contenders:
        row = as_row(contender, contenders[0])
        table.add_row(
            f"{contender.name} {contender.version}".strip(),
            contender.asked,
            f"{row['microseconds']:.0f}" if contender.run else "not installed",
            f"{row['times_crawldedup']:.2f}" if contender.run else "",
            end_section=contender.ends_section,
        )
    console.print(table)
    absent = [contender.name for contender in contenders if contender.run is None]
    if absent:
        console.print(f"Not installed: {', '.join(absent)}; python benchmarks/peers.py --list says how to install them")


if __name__ == "__main__":
    run(main, "--limit 2 --rounds 1", "--texts TEXTS --limit 2 --rounds 1 --json")
