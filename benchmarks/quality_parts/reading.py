"""What extractors keep of pages, which pages they make alike, and what they cost."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import statistics
import time
from collections import defaultdict
from functools import partial
from itertools import combinations, count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import resiliparse.extract.html2text as resiliparse
import trafilatura
from lxml import etree, html
from rich.console import Console
from rich.progress import track

from benchmarks.quality_parts.articles import common, jaccard, read_articles, shingles, transplanted
from benchmarks.shared.common import make_table
from benchmarks.whole_site_parts.site import Site
from crawldedup import Deduplicator
from crawldedup.demo.site import all_articles
from crawldedup.errors import PageError
from crawldedup.fingerprinting import MIN_WORDS
from crawldedup.fingerprinting.bits import fingerprint
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.blocks import parse
from crawldedup.reading.extract import (
    Extractor,
    PageText,
    content_text,
    extract_page,
    get_extractor,
)
from crawldedup.reading.html import HtmlPage, decode
from crawldedup.reading.reader import PageReader

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.quality_parts.articles import Article, Shingles

    Read = Callable[[bytes, str], object]

EXTRACTORS: Final = ("blocks", "trafilatura", "text")
HOSTS: Final = (1, 3, 7, 12)
"""An article is put into the pages so many places further on."""
ALIKE: Final = 0.86
DIFFERENT: Final = 0.8
LEAST_WANTED: Final = 30
"""Shingles; a page of fewer is compared by all that it says."""
COMPARED: Final = 6
"""Pages that share none of so many least shingles are not alike: among 1,000,000 such pairs, one is
overlooked.
"""
SEVERAL: Final = 300
"""A shingle of more pages than that is the template's."""
KINDS: Final = {
    "documentation": "manual",
    "forum": "forum",
    "shop": "shop",
    "calendar": "calendar",
    "list": "listing",
}
ORDINARY: Final = range(20_000, 70_000)
BARE: Final = "parse alone: libxml2"
# The module, the function and its options.
OTHERS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "trafilatura": ("trafilatura", "extract", {}),
    "trafilatura, fast": ("trafilatura", "extract", {"fast": True}),
    "resiliparse, main content": (
        "resiliparse.extract.html2text",
        "extract_plain_text",
        {"main_content": True},
    ),
    "pygoreadability": ("pygoreadability", "from_string", {}),
    "magic-html": ("magic_html", "extract", {}),
    "rs-trafilatura": ("rs_trafilatura", "extract", {}),
    "html-to-markdown": ("html_to_markdown", "convert", {}),
    "innertext": ("innertext", "text_content", {}),
    "pyhtml2text": ("pyhtml2text", "html2text", {}),
}


def cost(given: Namespace, console: Console) -> None:
    """Processor time of reading a page, for every extractor and beside other packages."""
    columns: dict[str, list[bytes]] = {"20-70 KB": []}
    for folder in given.folders:
        files = sorted([*folder.rglob("*.html"), *folder.rglob("*.html.gz")])
        pages = [
            gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            for file in files
        ]
        columns[folder.parent.name if folder.name == "html" else folder.name] = pages
        columns["20-70 KB"] += [body for body in pages if len(body) in ORDINARY]
    columns = {name: pages for name, pages in columns.items() if pages}
    rows = readers()
    # The first call of each imports and fills its tables.
    for read in rows.values():
        milliseconds(read, b"<p>warm", "<p>warm")
    headings = (f"{name}\n{len(pages)} pages" for name, pages in columns.items())
    table = make_table("processor milliseconds a page (times those of a bare parse)", "", *headings)
    means: dict[str, list[str]] = {name: [] for name in rows}
    for column, bodies in columns.items():
        least: dict[str, list[float]] = {name: [] for name in rows}
        for body in track(bodies, column, console=Console(stderr=True), transient=True):
            page = decode(body, None)
            rounds = [
                [milliseconds(read, body, page) for read in rows.values()]
                for _ in range(given.rounds)
            ]
            for name, times in zip(rows, zip(*rounds, strict=True), strict=True):
                least[name].append(min(times))
        bare = statistics.fmean(least[BARE])
        for name, best in least.items():
            means[name].append(
                f"{statistics.fmean(best):.2f} ({statistics.fmean(best) / bare:.2f})"
            )
    for name, cells in means.items():
        table.add_row(name, *cells)
    console.print(table)


def readers() -> dict[str, Read]:
    """Return what reads a page, given its bytes and its decoded text, by the name of its row."""
    found: dict[str, Read] = {}
    for name in EXTRACTORS:
        reader = PageReader(Options(extractor=name))
        found[f"crawldedup, {name}"] = lambda body, _, reader=reader: reader.read_page(
            Page("", html=body)
        )  # type: ignore[misc]
    for name, (module, function, options) in OTHERS.items():
        with contextlib.suppress(ImportError, AttributeError):
            call = partial(getattr(importlib.import_module(module), function), **options)
            found[name] = lambda _, page, call=call: call(page)  # type: ignore[misc]
    found["parse alone: Lexbor"] = lambda _, page: parse(page)
    found[BARE] = lambda _, page: html.document_fromstring(page.encode())
    return found


def milliseconds(read: Read, body: bytes, page: str) -> float:
    """Time one turn. What fails costs what it cost."""
    started = time.process_time()
    with contextlib.suppress(PageError, etree.LxmlError, ValueError, RuntimeError, TypeError):
        read(body, page)
    return (time.process_time() - started) * 1e3


def templates(given: Namespace, console: Console) -> None:
    """What extractors leave of an article in another site's template, and of another article in the
    same one.
    """
    articles, number = read_articles(given.dataset)
    console.print(f"{len(articles)} of {number} articles are usable; {len(HOSTS)} hosts each.")
    for name, half in (
        ("half the rules were chosen on", articles[::2]),
        ("other half", articles[1::2]),
    ):
        pairs = [
            (half[at], half[(at + distance) % len(half)])
            for at in range(len(half))
            for distance in HOSTS
        ]
        ways = [
            [(*pair, transplanted(*pair, is_retyped=way)) for pair in pairs]
            for way in (False, True)
        ]
        table = make_table(
            f"{name}: {len(half)} articles, {len(pairs)} pairs each moved and retyped",
            *(
                "extractor",
                "moved\nJ >= .8",
                "\nJ >= .9",
                "\nflagged",
                "retyped\nJ >= .8",
                "\nJ >= .9",
                "\nflagged",
            ),
            *("other body\nJ >= .7", "\nflagged", "F1"),
        )
        for extractor in track(
            compared_extractors(), "comparing", console=Console(stderr=True), transient=True
        ):
            table.add_row(
                extractor.name,
                *(f"{share:.3f}" for share in template_shares(extractor, half, ways)),
            )
        console.print(table)


def compared_extractors() -> list[Extractor]:
    """Return our extractors, and others with their own settings."""
    others: dict[str, Callable[..., Any]] = {
        "trafilatura.extract()": trafilatura.extract,
        "trafilatura, favor_precision": partial(trafilatura.extract, favor_precision=True),
        "resiliparse, main_content": partial(resiliparse.extract_plain_text, main_content=True),
    }
    own = [get_extractor(name) for name in EXTRACTORS]
    return own + [
        Extractor(name, lambda page, call=call: call(page.html) or "", is_heuristic=True)  # type: ignore[misc]
        for name, call in others.items()
    ]


def template_shares(
    extractor: Extractor,
    articles: Sequence[Article],
    ways: Sequence[Sequence[tuple[Article, Article, str]]],
) -> list[float]:
    """Return the figures of a row: an article beside itself in other templates, and beside another
    in its own.
    """
    dedup, scopes = Deduplicator("memory://", key=0), map(str, count())

    def compare(one: PageText, other: PageText) -> tuple[float, bool]:
        scope = next(scopes)
        verdicts = [
            dedup.check(
                f"https://{number}.example/",
                fingerprint=fingerprint(page.main, identity=page.whole),
                scope_key=scope,
            )
            for number, page in enumerate((one, other))
        ]
        return jaccard(shingles(one.main), shingles(other.main)), verdicts[-1].is_duplicate

    untouched = {article.url: text_of(article.html, extractor) for article in articles}
    shares, others = list[float](), list[tuple[float, bool]]()
    for transplants in ways:
        pages = [(article, host, text_of(page, extractor)) for article, host, page in transplants]
        same = [compare(untouched[article.url], page) for article, _, page in pages]
        others += [compare(untouched[host.url], page) for _, host, page in pages]
        shares += [
            statistics.fmean(similarity >= least for similarity, _ in same) for least in (0.8, 0.9)
        ]
        shares.append(statistics.fmean(is_flagged for _, is_flagged in same))
    shares.append(statistics.fmean(similarity >= 0.7 for similarity, _ in others))
    shares.append(statistics.fmean(is_flagged for _, is_flagged in others))
    kept = [(shingles(untouched[article.url].main), shingles(article.body)) for article in articles]
    f1 = statistics.fmean(2 * common(*pair) / max(sum(map(len, pair)), 1) for pair in kept)
    return [*shares, f1]


def text_of(page: bytes | str, extractor: Extractor) -> PageText:
    """Read a page as a crawl does; one that is refused has no text."""
    try:
        return extract_page(page, None, extractor, min_words=MIN_WORDS)
    except PageError:
        return PageText("", "", source=HtmlPage.read("-", None))


class Wanted(NamedTuple):
    """A page, what must be kept of it, and what it says, if that is known."""

    html: bytes
    kept: Shingles
    content: str = ""


def kinds(given: Namespace, console: Console) -> None:
    """What is kept of articles, manuals, forums, shops and lists, and which pages become alike."""
    groups: defaultdict[str, list[Wanted]] = defaultdict(list)
    for name, page in wanted_pages(given):
        groups[name].append(page)
    headings = [
        f"{name}\n{what}" for name in given.extractors for what in ("recall", "below half", "alike")
    ]
    table = make_table(
        "What is kept of pages, and which become alike", "pages", "number", *headings
    )
    for name, pages in track(
        groups.items(), "reading", console=Console(stderr=True), transient=True
    ):
        cells = [
            cell for each in given.extractors for cell in kept_and_alike(pages, get_extractor(each))
        ]
        table.add_row(name, str(len(pages)), *cells)
    console.print(table)


def wanted_pages(given: Namespace) -> Iterator[tuple[str, Wanted]]:
    """Yield the pages of `whole_site.py`, of the demo, of folders and of a dataset, each after its
    kind.
    """

    def visible(body: bytes, content: str = "") -> Wanted:
        return Wanted(body, shingles(content_text(HtmlPage.read(body, None))), content)

    for page in Site(port=80, seed=1, scale=given.scale).judged():
        kind = KINDS.get(page.kind.partition(":")[0])
        if kind and page.body:
            yield f"{kind} (whole site)", visible(page.body, page.content)
    for article in all_articles():
        wanted = Wanted(article.reply.body, shingles(article.text), article.cluster)
        yield f"article in {article.language} (demo)", wanted
    for folder in given.folders:
        for path in sorted(folder.rglob("*.html")):
            with contextlib.suppress(PageError):
                yield folder.name, visible(path.read_bytes())
    for marked in read_articles(given.articles)[0] if given.articles else ():
        yield "article", Wanted(marked.html, shingles(marked.body), marked.url)


def kept_and_alike(pages: list[Wanted], extractor: Extractor) -> tuple[str, str, str]:
    """Return the recall, the pages of which less than half is kept, and the pages that resemble a
    different one.
    """
    texts = [shingles(text_of(page.html, extractor).main) for page in pages]
    kept = [
        common(text, page.kept) / len(page.kept)
        for text, page in zip(texts, pages, strict=True)
        if len(page.kept) >= LEAST_WANTED
    ]
    confused = {
        page
        for pair in alike(texts)
        if are_different(*(pages[number] for number in pair))
        for page in pair
    }
    recall = f"{statistics.fmean(kept):.3f}" if kept else "-"
    return recall, str(sum(share < 0.5 for share in kept)), str(len(confused))


def alike(texts: list[Shingles]) -> Iterator[tuple[int, int]]:
    """Yield pairs of similar texts, which share some of their least shingles."""
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for shingle in text[:COMPARED].tolist():
            holders[shingle].append(number)
    near = {
        pair
        for found in holders.values()
        if len(found) <= SEVERAL
        for pair in combinations(found, 2)
    }
    return ((one, other) for one, other in near if jaccard(texts[one], texts[other]) >= ALIKE)


def are_different(one: Wanted, other: Wanted) -> bool:
    if one.content or other.content:
        return one.content != other.content
    return jaccard(one.kept, other.kept) < DIFFERENT
