"""Measure what extractors leave of an article in another site's template, and of another article in the same one.

    git clone --depth 1 https://github.com/zytedata/article-extraction-benchmark
    python benchmarks/templates.py article-extraction-benchmark

The dataset is a folder with `ground-truth.json`, of articles whose main text people have marked, and their pages as
`html/*.html.gz`. Every article is put into the pages of others. In a page, the smallest element that holds its
marked text is its place (of what the page holds of it, 98 %). A page is used if the place holds at least 95 % of
the marked text, and the marked text at least 85 % of the place, both in word 3-shingles; the rest of the page is
its template. The place's content is replaced by another page's in one of two ways:

- moved: by the content of the other's place, with all its elements;
- retyped: by the other's marked text, in paragraphs. The page it comes from then has captions, buttons and
  notes in the article which the retyped one has not.

The template keeps its own headline and title, as if another editor had written them. Each article is put into
four pages. Compared are the page an article comes from and the page it is put into (same body: should be found), and
the latter and the page as it was (other body: should not). Similarities are exact Jaccard of the word 3-shingles of
what is fingerprinted; flagged is what `Deduplicator` calls a duplicate at its default similarity.

Pages are divided in halves by their order of name, and never mixed: the rules of an earlier extractor were chosen
on the first, so believe the second. The time is that of 60 untouched pages, extractors taking turns.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import resiliparse.extract.html2text as resiliparse
import trafilatura
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run
from benchmarks.shared.marked_articles import (
    HOSTS,
    Article,
    Transplant,
    common,
    hosts_of,
    moved,
    read_articles,
    retyped,
    shingles,
)
from crawldedup import Deduplicator
from crawldedup.errors import PageError
from crawldedup.fingerprinting.fingerprint import MIN_WORDS, fingerprint
from crawldedup.reading.extract import Extractor, PageText, extract_page, get_extractor
from crawldedup.reading.facts.page_facts import page_facts
from crawldedup.reading.html import HtmlPage, bounded, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Shingles = NDArray[np.uint64]

TIMED = 60


def reference(name: str, run: Callable[[str], str | None], *, is_heuristic: bool = True) -> Extractor:
    """An extractor that is no part of crawldedup, with its own settings."""
    return Extractor(name, lambda page: run(page.html) or "", is_heuristic=is_heuristic)


@dataclass(frozen=True)
class Compared:
    similarities: list[float] = field(default_factory=list)
    flagged: list[bool] = field(default_factory=list)

    def share_from(self, similarity: float) -> float:
        return statistics.fmean(value >= similarity for value in self.similarities)


@dataclass(frozen=True)
class Row:
    extractor: str
    moved: Compared
    retyped: Compared
    other: Compared
    f1: float


def extractors() -> list[Extractor]:
    main = partial(resiliparse.extract_plain_text, main_content=True)
    return [
        get_extractor("blocks"),
        get_extractor("trafilatura"),
        get_extractor("text"),
        reference("trafilatura.extract()", trafilatura.extract),
        reference("trafilatura, favor_precision", partial(trafilatura.extract, favor_precision=True)),
        reference("resiliparse, main_content", main),
        reference("same, no alt_texts, comments", partial(main, alt_texts=False, comments=False)),
        reference("resiliparse, full text", resiliparse.extract_plain_text, is_heuristic=False),
    ]


def jaccard(one: Shingles, other: Shingles) -> float:
    both = common(one, other)
    return both / max(len(one) + len(other) - both, 1)


def f1(one: Shingles, other: Shingles) -> float:
    return 2 * common(one, other) / max(len(one) + len(other), 1)


class Judge:
    """Compares pages by what one extractor makes of them."""

    def __init__(self, extractor: Extractor) -> None:
        self.extractor = extractor
        self._dedup = Deduplicator("memory://", key=0)
        self._untouched: dict[str, PageText] = {}
        self._pairs = 0

    def row(self, articles: list[Article], by_moving: list[Transplant], by_retyping: list[Transplant]) -> Row:
        same: tuple[Compared, Compared] = Compared(), Compared()
        other = Compared()
        for compared, transplants in zip(same, (by_moving, by_retyping), strict=True):
            for transplant in transplants:
                page = self.read(transplant.html)
                self.compare(compared, self.untouched(transplant.article), page)
                self.compare(other, self.untouched(transplant.host), page)
        own = [f1(shingles(self.untouched(article).main), shingles(article.body)) for article in articles]
        return Row(self.extractor.name, *same, other, statistics.fmean(own))

    def untouched(self, article: Article) -> PageText:
        if article.url not in self._untouched:
            self._untouched[article.url] = self.read(article.html)
        return self._untouched[article.url]

    def read(self, html: bytes | str) -> PageText:
        try:
            return extract_page(html, None, self.extractor, min_words=MIN_WORDS)
        except PageError as error:
            print(f"{self.extractor.name}: {error}", file=sys.stderr)
            return PageText("", "", source=HtmlPage.read("-", None))

    def compare(self, compared: Compared, one: PageText, other: PageText) -> None:
        compared.similarities.append(jaccard(shingles(one.main), shingles(other.main)))
        self._pairs += 1
        verdicts = [
            self._dedup.check(url, fingerprint=self.fingerprint(page), scope_key=str(self._pairs))
            for url, page in (("https://one.example/", one), ("https://other.example/", other))
        ]
        compared.flagged.append(verdicts[-1].is_duplicate)

    def fingerprint(self, page: PageText) -> Any:
        return fingerprint(page.main, identity=page.whole, facts=page_facts(page, "products"))


def milliseconds(asked: list[Extractor], articles: list[Article], repeats: int) -> dict[str, tuple[float, float]]:
    """A page, by the extractor alone and by all of `extract_page`: the median round, a mean over the pages."""
    pages = [(article.html, bounded(decode(article.html, None))) for article in articles]
    rounds: dict[str, list[tuple[float, float]]] = {extractor.name: [] for extractor in asked}
    turns = [extractor for _ in range(repeats) for extractor in asked]
    for extractor in track(turns, "timing", console=Console(stderr=True), transient=True):
        started = time.perf_counter()
        for _, html in pages:
            extractor.extract(HtmlPage.read(html, None))
        between = time.perf_counter()
        for body, _ in pages:
            extract_page(body, None, extractor, min_words=MIN_WORDS)
        ended = time.perf_counter()
        rounds[extractor.name].append(((between - started) * 1e3 / len(pages), (ended - between) * 1e3 / len(pages)))
    return {
        name: (statistics.median(alone for alone, _ in taken), statistics.median(page for _, page in taken))
        for name, taken in rounds.items()
    }


def print_table(title: str, rows: list[Row], times: dict[str, tuple[float, float]]) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("extractor")
    for name in (
        "moved\nJ >= .8", "\nJ >= .9", "\nflagged", "retyped\nJ >= .8", "\nJ >= .9", "\nflagged",
        "other body\nJ >= .7", "\nflagged", "F1", "ms a page\nextractor", "\nin all",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    for row in rows:
        shares = [
            share
            for compared in (row.moved, row.retyped)
            for share in (compared.share_from(0.8), compared.share_from(0.9), statistics.fmean(compared.flagged))
        ]
        shares += [row.other.share_from(0.7), statistics.fmean(row.other.flagged), row.f1]
        alone, page = times[row.extractor]
        table.add_row(row.extractor, *(f"{share:.3f}" for share in shares), f"{alone:.1f}", f"{page:.1f}")
    Console(width=150, markup=False).print(table)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("dataset", type=Path, metavar="DATASET_DIR")
    parser.add_argument("--repeats", type=int, default=5, help="rounds of timing (5)")
    arguments = parser.parse_args(given)
    if not (arguments.dataset / "ground-truth.json").is_file():
        parser.error(f"there is no ground-truth.json in {arguments.dataset}; see above for where to get the dataset")

    articles, number = read_articles(arguments.dataset)
    asked = extractors()
    times = milliseconds(asked, articles[:TIMED], arguments.repeats)
    print(f"{len(articles)} of {number} articles are usable; {len(HOSTS)} hosts each.")
    for name, half in (("half the rules were chosen on", articles[::2]), ("other half", articles[1::2])):
        pairs = list(hosts_of(half))
        by_moving, by_retyping = ([put(*pair) for pair in pairs] for put in (moved, retyped))
        turns = track(asked, "comparing", console=Console(stderr=True), transient=True)
        rows = [Judge(extractor).row(half, by_moving, by_retyping) for extractor in turns]
        print_table(f"{name}: {len(half)} articles, {len(pairs)} pairs each moved and retyped", rows, times)


if __name__ == "__main__":
    run(main, "ARTICLES --repeats 1")
