"""Measure which share of a story in another frame is found paragraph by paragraph, and what that costs.

    git clone --depth 1 https://github.com/zytedata/article-extraction-benchmark
    python benchmarks/paragraphs.py article-extraction-benchmark [--manuals FOLDER ..] [--pages 10000]

The dataset and its two ways of putting articles into the pages of others are those of `benchmarks/templates.py`; read
its head. The pages are those of the half that no rule was chosen on, with the texts of the default extractor. The
articles are indexed, and then each page with an article of another is looked up. The retyped ones are read in three
more ways: with a word in every fifth sentence replaced, with lines joined in twos, and with lines of 72 characters. The
last row looks the frames up alone: without the page that the article is from.

Four ways to compare parts of pages are tried: by equal lines of at least 8 words, by equal sentences of as many, by
equal pieces of some 24 words, cut where two words hash to a low value, and by anchors, as crawldedup does. The first
table has the share of pages of which at least 80 % is known.

In manuals, pages of one folder are compared one after the other. Known words are false if the page that they are
said to stand on has less than half as many of the paragraph's 3-shingles.

Own paragraphs are put between known ones, and the share that is told is compared with the true one.

Memory and time are those of an index full of pages of random words, without reading HTML.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import tempfile
import textwrap
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, run
from benchmarks.shared.marked_articles import hosts_of, moved, read_articles, retyped, shingles
from crawldedup import Deduplicator
from crawldedup.errors import PageError
from crawldedup.fingerprinting.anchors import PARAGRAPH_WORDS, paragraphs_of
from crawldedup.options import Options
from crawldedup.reader import PageReader
from crawldedup.text.tokenize import mix, word_hashes
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from benchmarks.shared.marked_articles import Article, Transplant

    Parts = list[tuple[int, int]]
    """The hash and the words of each part of a text."""

LEAST_WORDS = 8
PIECE_WORDS = 24
FOUND = 0.8
WORDS_A_PAGE = 700
TIMED = 500
MIXED = ((75, 95, 6), (40, 95, 6), (20, 95, 6), (60, 300, 2), (30, 30, 12), (100, 20, 6))
MIXED_INDEXES = 50
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_ODD = np.uint64(0x9E3779B97F4A7C15)
_read = PageReader(Options()).content


def equal(pieces: Sequence[str]) -> Parts:
    hashes = [word_hashes(piece) for piece in pieces]
    return [(hash(each.tobytes()), len(each)) for each in hashes if len(each) >= LEAST_WORDS]


def lines(text: str) -> Parts:
    return equal(text.split("\n"))


def sentences(text: str) -> Parts:
    return equal([sentence for line in text.split("\n") for sentence in _SENTENCE.split(line)])


def pieces(text: str) -> Parts:
    words = word_hashes(text)
    low = mix(words[:-1] * _ODD + words[1:]) < np.uint64((1 << 64) // PIECE_WORDS)
    return [(hash(each.tobytes()), len(each)) for each in np.split(words, low.nonzero()[0] + 1)]


def anchors(text: str) -> Parts:
    return [(anchor, 0) for each in paragraphs_of(text) for anchor in each.anchors]


class Equal:
    """Compares equal parts."""

    def __init__(self, parts: Callable[[str], Parts], texts: Sequence[str]) -> None:
        self._parts = parts
        self._of = [{key for key, _ in parts(text)} for text in texts]
        self.keys = len(set.union(*self._of))

    def known(self, text: str, without: int | None = None) -> float:
        known = set[int]().union(*(keys for number, keys in enumerate(self._of) if number != without))
        parts = self._parts(text)
        return sum(words for key, words in parts if key in known) / max(1, sum(words for _, words in parts))


class Anchored:
    """Compares paragraphs as crawldedup does."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._dedup = Deduplicator(key=0)
        for number, text in enumerate(texts):
            self._dedup.check_paragraphs(self._url(number), text=text)
        self.keys = len({anchor for text in texts for anchor, _ in anchors(text)})
        self._texts = texts

    def known(self, text: str, without: int | None = None) -> float:
        if without is not None:
            self._dedup.forget(self._url(without))
        coverage = self._dedup.check_paragraphs("https://looks.example/", text=text, remember=False)
        if without is not None:
            self._dedup.check_paragraphs(self._url(without), text=self._texts[without])
        return 0.0 if coverage.share_new is None else 1 - coverage.share_new

    @staticmethod
    def _url(number: int) -> str:
        return f"https://{number}.example/"


def edited(text: str) -> str:
    """The text with a word replaced in each fifth sentence."""
    chooser = random.Random(len(text))
    found = []
    for number, sentence in enumerate(re.split(r"(?<=[.!?])(\s)", text)):
        words = sentence.split(" ")
        if number % 10 == 0 and len(words) > 1:
            words[chooser.randrange(len(words))] = "edited"
        found.append(" ".join(words))
    return "".join(found)


def joined(text: str) -> str:
    given = text.split("\n")
    return "\n".join(" ".join(given[at : at + 2]) for at in range(0, len(given), 2))


def wrapped(text: str) -> str:
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, 72))


def text_of(page: Article | Transplant) -> str:
    return _read(page.html).text


def quality(folder: Path) -> tuple[Table, Table]:
    articles = read_articles(folder)[0][1::2]
    texts = [text_of(article) for article in articles]
    places = {article.url: number for number, article in enumerate(articles)}
    pairs = list(hosts_of(articles))
    by_moving, by_retyping = ([text_of(put(*pair)) for pair in pairs] for put in (moved, retyped))
    variants = {
        "moved": by_moving,
        "retyped": by_retyping,
        "edited": list(map(edited, by_retyping)),
        "joined": list(map(joined, by_retyping)),
        "wrapped": list(map(wrapped, by_retyping)),
    }
    words = sum(len(word_hashes(text)) for text in texts)
    ways: dict[str, Equal | Anchored] = {
        "equal lines": Equal(lines, texts),
        "equal sentences": Equal(sentences, texts),
        "equal pieces": Equal(pieces, texts),
        "anchors": Anchored(texts),
    }
    table = make_table(
        f"{len(articles)} articles, {len(pairs)} pages: share of which {FOUND:.0%} is known",
        *("way", *variants, "frames alone:\nmean share known", "words a key"),
    )
    own = make_table("Anchors: share of a page's words that is known", "page", "mean", "median", "from .5", "from .8")
    for name, way in ways.items():
        known = {variant: [way.known(text) for text in looked_up] for variant, looked_up in variants.items()}
        frames = [way.known(text, places[pair[0].url]) for pair, text in zip(pairs, by_retyping, strict=True)]
        shares = [statistics.fmean(share >= FOUND for share in found) for found in known.values()]
        table.add_row(
            name, *(f"{share:.3f}" for share in shares), f"{statistics.fmean(frames):.3f}", f"{words / way.keys:.1f}"
        )
        if name == "anchors":
            for page, found in {**known, "frames alone": frames}.items():
                above = (statistics.fmean(share >= least for share in found) for least in (0.5, FOUND))
                own.add_row(
                    page,
                    f"{statistics.fmean(found):.3f}",
                    f"{statistics.median(found):.3f}",
                    *(f"{each:.3f}" for each in above),
                )
    return table, own


def manuals(folders: Sequence[Path]) -> Table:
    table = make_table(
        "Pages of one site after the other", "folder", "pages", "known", "boilerplate", "false", "pages partial"
    )
    for folder in folders:
        texts = []
        for path in filter(Path.is_file, sorted(folder.rglob("*.html"))):
            try:
                texts.append(_read(path.read_bytes()).text)
            except PageError:
                continue
        dedup = Deduplicator(key=0)
        of_pages = {str(number): set(shingles(text).tolist()) for number, text in enumerate(texts)}
        words: Counter[str] = Counter()
        for number, text in enumerate(texts):
            coverage = dedup.check_paragraphs(str(number), text=text)
            words["partial pages"] += coverage.is_partial
            at = 0
            hashes = word_hashes(text)
            for each in coverage.paragraphs:
                span = hashes[at : at + each.words]
                at += each.words
                words["all"] += each.words
                if each.url is not None:
                    own = shingles_of(span)
                    share = len(own & of_pages[each.url]) / max(1, len(own))
                    words["false"] += each.known_words * (2 * share * each.words < each.known_words)
            words["known"] += coverage.known_words
            words["boilerplate"] += coverage.boilerplate_words
        shares = (words[name] / max(1, words["all"]) for name in ("known", "boilerplate", "false"))
        table.add_row(folder.name, str(len(texts)), *(f"{share:.2%}" for share in shares), str(words["partial pages"]))
    return table


def mixed() -> Table:
    """Own paragraphs among known ones, in new indexes, of which each chooses other anchors by its key."""
    table = make_table(
        f"own paragraphs among known ones, {MIXED_INDEXES} new indexes", "words: own, known, times", "new", "told", "sd"
    )
    for own, known, times in MIXED:
        shares = []
        for seed in range(MIXED_INDEXES):
            chooser = np.random.default_rng(seed)
            story = [_random_words(chooser, known) for _ in range(times)]
            page = "\n".join(f"{_random_words(chooser, own)}\n{part}" for part in story)
            dedup = Deduplicator(paragraphs="mark")
            dedup.check("https://story.example/", text="\n".join(story))
            shares.append(dedup.check_paragraphs("https://mixed.example/", text=page, remember=False).share_new or 0)
        figures = own / (own + known), statistics.mean(shares), statistics.pstdev(shares)
        table.add_row(f"{own}, {known}, {times}", *(f"{each:.2f}" for each in figures))
    return table


def _random_words(chooser: np.random.Generator, number: int) -> str:
    return " ".join(f"w{word}" for word in chooser.integers(0, 1 << 40, number))


def shingles_of(words: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> set[int]:
    return set(mix(mix(words[:-2] * _ODD + words[1:-1]) * _ODD + words[2:]).tolist())


def random_pages(seed: int, pages: int) -> Iterator[tuple[str, str]]:
    chooser = np.random.default_rng(seed)
    for number in range(pages):
        words = _random_words(chooser, WORDS_A_PAGE).split()
        text = "\n".join(" ".join(words[at : at + 50]) for at in range(0, WORDS_A_PAGE, 50))
        yield f"https://example.com/{seed}/{number}/a-story-with-a-name-of-some-length", text


def costs(pages: int) -> Table:
    table = make_table(
        f"{pages:,} pages of {WORDS_A_PAGE} words",
        *(
            "store",
            "bytes a page:\npage",
            "\nparagraphs",
            "bytes a\nparagraph",
            "ms a page:\npage",
            "\nparagraphs",
            "\nboth",
        ),
    )
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server:
        path = Path(folder, "index.sqlite")
        sizes: dict[str, Callable[[], int]] = {
            f"sqlite:///{path}": lambda: path.stat().st_size if path.exists() else 0,
            server.url: lambda: int(server.client.info("memory")["used_memory"]),
        }
        for (url, size), name in zip(sizes.items(), ("SQLite", "Redis"), strict=True):
            page, paragraphs, milliseconds = cost(url, size, pages)
            figures = (page, paragraphs, paragraphs * PARAGRAPH_WORDS / WORDS_A_PAGE)
            table.add_row(name, *(f"{each:,.0f}" for each in figures), *(f"{each:.2f}" for each in milliseconds))
    return table


def cost(url: str, size: Callable[[], int], pages: int) -> tuple[float, float, list[float]]:
    """Bytes a page, further bytes of its paragraphs, and milliseconds: of a page, of its paragraphs, of both."""
    make = partial(Deduplicator, url, max_paragraphs=max(1000, pages * WORDS_A_PAGE // PARAGRAPH_WORDS))
    grown = []
    for call in (Deduplicator.check, Deduplicator.check_paragraphs):
        before = size()
        with make() as dedup:
            for name, text in random_pages(0, pages):
                call(dedup, name, text=text)
        grown.append((size() - before) / pages)
    with make() as alone, make(paragraphs="mark") as both:
        calls: tuple[Callable[..., object], ...] = (alone.check, alone.check_paragraphs, both.check)
        # In turns, for the machine may be busy now and then.
        taken: list[list[float]] = [[] for _ in calls]
        for turn in zip(*(random_pages(seed, min(TIMED, pages)) for seed in (1, 2, 3)), strict=True):
            for times, ask, (name, text) in zip(taken, calls, turn, strict=True):
                started = time.perf_counter()
                ask(name, text=text)
                times.append(1000 * (time.perf_counter() - started))
    return grown[0], grown[1], [statistics.median(times) for times in taken]


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("dataset", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--manuals", type=Path, nargs="+", default=[], help="folders of HTML pages, each of one site")
    parser.add_argument(
        "--pages", type=count, default=10_000, help="pages in the index whose cost is measured (10,000)"
    )
    arguments = parser.parse_args(given)
    if not (arguments.dataset / "ground-truth.json").is_file():
        parser.error(f"there is no ground-truth.json in {arguments.dataset}; see above for where to get the dataset")
    console = Console(width=150, markup=False)
    for table in quality(arguments.dataset):
        console.print(table)
    console.print(mixed())
    if arguments.manuals:
        console.print(manuals(arguments.manuals))
    console.print(costs(arguments.pages))


if __name__ == "__main__":
    run(main, "ARTICLES --pages 20")
