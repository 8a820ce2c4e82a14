"""Measure the processor time of reading a page, for every extractor and beside other packages.

    git clone --depth 1 https://github.com/zytedata/article-extraction-benchmark
    git clone --depth 1 https://github.com/scrapinghub/product-extraction-benchmark
    pip install pygoreadability html-to-markdown innertext pyhtml2text       # whichever of them have wheels for you
    python benchmarks/reading_cost.py article-extraction-benchmark/html product-extraction-benchmark/dataset/html

Each folder of `*.html` or `*.html.gz` is a column, and its pages of 20 to 70 KB are another. For crawldedup the time is
that of all there is to do: decode, bound, parse, find the text and the facts, and make the fingerprint. For other
packages it is the call that gives a text, on decoded pages, and for parsers the tree alone. Times are milliseconds a
page, and beside them their ratio to a bare parse by libxml2: the least of the rounds for each page, since a busy
machine only ever adds to it, and the mean over the pages. The packages take turns at each round.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree, html
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
from crawldedup.reading.blocks import parse
from crawldedup.reading.html import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Read = Callable[[bytes, str], object]

_ORDINARY = range(20_000, 70_000)
_BARE = "parse alone: libxml2"
# The module, the function and its options.
_OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "trafilatura": ("trafilatura", "extract", {}),
    "trafilatura, fast": ("trafilatura", "extract", {"fast": True}),
    "resiliparse, main content": ("resiliparse.extract.html2text", "extract_plain_text", {"main_content": True}),
    "pygoreadability": ("pygoreadability", "from_string", {}),
    "magic-html": ("magic_html", "extract", {}),
    "rs-trafilatura": ("rs_trafilatura", "extract", {}),
    "html-to-markdown": ("html_to_markdown", "convert", {}),
    "innertext": ("innertext", "text_content", {}),
    "pyhtml2text": ("pyhtml2text", "html2text", {}),
}


def readers() -> dict[str, Read]:
    """What reads a page, by the name of its row."""
    found: dict[str, Read] = {}
    for name in ("blocks", "trafilatura", "text"):
        found[f"crawldedup, {name}"] = partial(_content, PageReader(Options(extractor=name)))
    for name, (module, function, options) in _OTHERS.items():
        try:
            call = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError):
            continue
        found[name] = partial(_called, partial(call, **options))
    found["parse alone: Lexbor"] = lambda _, page: parse(page)
    found[_BARE] = lambda _, page: html.document_fromstring(page.encode())
    return found


def _content(reader: PageReader, body: bytes, _: str) -> object:
    return reader.read_page(Page("", html=body))


def _called(call: Callable[[str], object], _: bytes, page: str) -> object:
    return call(page)


def milliseconds(read: Read, body: bytes, page: str) -> float:
    """One turn. What fails costs what it cost."""
    started = time.process_time()
    with contextlib.suppress(PageError, etree.LxmlError, ValueError, RuntimeError, TypeError):
        read(body, page)
    return (time.process_time() - started) * 1e3


def pages_of(folder: Path, most: int | None) -> list[bytes]:
    found = sorted([*folder.rglob("*.html"), *folder.rglob("*.html.gz")])[:most]
    return [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in found]


def main(given: Sequence[str]) -> int | None:
    parser = make_parser(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="HTML_DIR")
    parser.add_argument("--pages", type=int, help="the first so many of each folder (all)")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args(given)
    columns: dict[str, list[bytes]] = {"20-70 KB": []}
    for folder in arguments.folders:
        pages = columns[folder.parent.name if folder.name == "html" else folder.name] = pages_of(
            folder, arguments.pages
        )
        columns["20-70 KB"] += [body for body in pages if len(body) in _ORDINARY]
    if not any(columns.values()):
        parser.error(f"there are no pages in {', '.join(map(str, arguments.folders))}")
    columns = {name: pages for name, pages in columns.items() if pages}
    rows = readers()
    # The first call of each imports and fills its tables.
    for read in rows.values():
        milliseconds(read, b"<p>warm", "<p>warm")
    table = make_table(
        "processor milliseconds a page", "", *(f"{name}\n{len(pages)} pages" for name, pages in columns.items())
    )
    means: dict[str, list[str]] = {name: [] for name in rows}
    for column, bodies in columns.items():
        least: dict[str, list[float]] = {name: [] for name in rows}
        for body in track(bodies, column, console=Console(stderr=True), transient=True):
            page = decode(body, None)
            rounds = [[milliseconds(read, body, page) for read in rows.values()] for _ in range(arguments.rounds)]
            for name, times in zip(rows, zip(*rounds, strict=True), strict=True):
                least[name].append(min(times))
        bare = statistics.fmean(least[_BARE])
        for name, best in least.items():
            means[name].append(f"{statistics.fmean(best):.2f} ({statistics.fmean(best) / bare:.2f})")
    for name, cells in means.items():
        table.add_row(name, *cells)
    Console(width=120, markup=False).print(table)
    return None


if __name__ == "__main__":
    run(main, "HTML --rounds 1")
