"""Measure what extractors keep of articles, manuals, forums, shops and lists, and which pages they make alike.

    python benchmarks/reading.py
    python benchmarks/reading.py manuals/python guides/ja --articles ARTICLES   # the article extraction benchmark

Without arguments, the pages are those of `whole_site.py`, by their kinds, and the articles of the demo site, by their
languages. Each folder of HTML files is a site of its own. Its pages are different if less than 0.8 of them is shared.

    recall      share of what must be kept that is in the text of a page, in word 3-shingles: of an article its text,
                of other pages all that is visible without navigation, page header, footer and sidebars
    below half  pages of which less than half is kept
    alike       pages that resemble a different page of the site (a Jaccard similarity of at least 0.86)

The text of a page is what `extract_page` makes of it, with its fallback for short ones.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, one_of, run
from benchmarks.shared.marked_articles import common, read_articles, shingles
from benchmarks.whole_site_parts.site import Site
from crawldedup.demo.site import DemoSite, all_articles
from crawldedup.errors import PageError
from crawldedup.reading.extract import content_text, extract_page, get_extractor
from crawldedup.reading.html import HtmlPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from crawldedup.reading.extract import Extractor

    Shingles = NDArray[np.uint64]

EXTRACTORS: Final = ("blocks", "trafilatura")
ALIKE: Final = 0.86
DIFFERENT: Final = 0.8
LEAST_WANTED: Final = 30
"""Shingles; a page of fewer is compared by all that it says."""
COMPARED: Final = 6
"""Pages that share none of so many least shingles are not alike: among 1,000,000 such pairs, one is overlooked."""
SEVERAL: Final = 300
"""A shingle of more pages than that is the template's."""
KINDS: Final = {"documentation": "manual", "forum": "forum", "shop": "shop", "calendar": "calendar", "list": "listing"}


@dataclass(frozen=True)
class Wanted:
    """A page, what must be kept of it, and what it says, if that is known."""

    html: bytes
    kept: Shingles
    content: str = ""


def jaccard(one: Shingles, other: Shingles) -> float:
    both = common(one, other)
    return both / max(len(one) + len(other) - both, 1)


def visible(html: bytes, content: str = "") -> Wanted:
    return Wanted(html, shingles(content_text(HtmlPage.read(html, None))), content)


def site_pages(scale: float) -> Iterator[tuple[str, Wanted]]:
    for page in Site(port=80, seed=1, scale=scale).judged():
        kind = KINDS.get(page.kind.partition(":")[0])
        if kind and page.body:
            yield f"{kind} (whole site)", visible(page.body, page.content)


def demo_pages() -> Iterator[tuple[str, Wanted]]:
    pages = DemoSite().pages
    for article in all_articles():
        if page := pages.get(article.path):
            wanted = Wanted(page.reply.body, shingles(article.text), article.slug)
            yield f"article in {article.language} (demo)", wanted


def folder_pages(folder: Path) -> Iterator[tuple[str, Wanted]]:
    for path in sorted(folder.rglob("*.html")):
        try:
            yield folder.name, visible(path.read_bytes())
        except PageError as error:
            print(f"{path}: {error}", file=sys.stderr)


def article_pages(folder: Path) -> Iterator[tuple[str, Wanted]]:
    for article in read_articles(folder)[0]:
        yield "article", Wanted(article.html, shingles(article.body), article.url)


def text_of(page: Wanted, extractor: Extractor) -> Shingles:
    try:
        return shingles(extract_page(page.html, None, extractor).main)
    except PageError:
        return shingles("")


def alike(texts: list[Shingles]) -> Iterator[tuple[int, int]]:
    """Pairs of similar texts, which share some of their least shingles."""
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for shingle in text[:COMPARED].tolist():
            holders[shingle].append(number)
    near = {pair for found in holders.values() if len(found) <= SEVERAL for pair in combinations(found, 2)}
    return ((one, other) for one, other in near if jaccard(texts[one], texts[other]) >= ALIKE)


def are_different(one: Wanted, other: Wanted) -> bool:
    if one.content or other.content:
        return one.content != other.content
    return jaccard(one.kept, other.kept) < DIFFERENT


def figures(pages: list[Wanted], extractor: Extractor) -> tuple[str, str, str]:
    """Recall, pages below half, and pages that are alike, of one extractor."""
    texts = [text_of(page, extractor) for page in pages]
    kept = [
        common(text, page.kept) / len(page.kept)
        for text, page in zip(texts, pages, strict=True)
        if len(page.kept) >= LEAST_WANTED
    ]
    confused = {page for pair in alike(texts) if are_different(*(pages[number] for number in pair)) for page in pair}
    recall = f"{statistics.fmean(kept):.3f}" if kept else "-"
    return recall, str(sum(share < 0.5 for share in kept)), str(len(confused))


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("folders", nargs="*", type=Path, metavar="SITE_DIR", help="HTML files of one site")
    parser.add_argument("--articles", type=Path, help="the folder of the article extraction benchmark")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 makes a tenth of the pages of a site (1)")
    parser.add_argument("--extractors", type=one_of(*EXTRACTORS), default=list(EXTRACTORS))
    arguments = parser.parse_args(given)
    groups: defaultdict[str, list[Wanted]] = defaultdict(list)
    sources = [site_pages(arguments.scale), demo_pages(), *map(folder_pages, arguments.folders)]
    if arguments.articles:
        sources.append(article_pages(arguments.articles))
    for source in sources:
        for name, page in source:
            groups[name].append(page)
    asked = arguments.extractors
    headings = [f"{name}\n{what}" for name in asked for what in ("recall", "below half", "alike")]
    table = make_table("What is kept of pages, and which become alike", "pages", "number", *headings)
    for name, pages in track(groups.items(), "reading", console=Console(stderr=True), transient=True):
        cells = [cell for each in asked for cell in figures(pages, get_extractor(each))]
        table.add_row(name, str(len(pages)), *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    run(main, "--scale 0.02", "HTML --articles ARTICLES --scale 0.02 --extractors blocks")
