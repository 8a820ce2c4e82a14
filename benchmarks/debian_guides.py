"""Crawl the Debian installation guides of five architectures, in English and Japanese, and compare
with the truth.

    python benchmarks/debian_guides.py

Downloads the five packages with `apt-get download` (nothing is installed), unpacks their HTML into
a folder, and serves it to a Scrapy crawl with the add-on. Each page that was judged is compared
with the pages that were kept before it, by the exact Jaccard similarity of their texts. The guides
of two architectures differ in a few words, a paragraph or a chapter, so there are near duplicates
of every degree.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import make_parser, make_table, progress, run
from benchmarks.shared.debian import unpacked
from crawldedup import Options, Page
from crawldedup.demo.run import crawl
from crawldedup.demo.site import Reply, path_of
from crawldedup.errors import PageError
from crawldedup.literature.bench import KeptPages, compare_all
from crawldedup.reading.reader import PageReader

BANDS = (0.0, 0.8, 0.85, 0.9, 0.95, 1.0)
"""Where bands of similarity begin; the last one holds the pages whose best earlier page has the
same text.
"""
ARCHITECTURES = ("amd64", "arm64", "armhf", "i386", "s390x")
LANGUAGES = ("en", "ja")


def guides(folder: Path) -> dict[str, Path]:
    """Return the pages of the guides by their paths; downloads and unpacks the packages that are
    not there yet.
    """
    pages = {}
    for architecture in ARCHITECTURES:
        package = f"installation-guide-{architecture}"
        for language in LANGUAGES:
            root = unpacked(folder, package) / "usr/share/doc" / package / language
            for file in sorted(root.rglob("*.html")):
                pages[f"/{architecture}/{language}/{quote(str(file.relative_to(root)))}"] = file
    return pages


class Guides:
    """Serves HTML files. The start page links to all of them, since not every file is linked."""

    def __init__(self, pages: dict[str, Path]) -> None:
        self.pages = pages

    def reply(self, target: str) -> Reply:
        path = path_of(target)
        if path == "/":
            return Reply(
                "".join(f'<a href="{name}">page</a> ' for name in self.pages).encode(), "text/html"
            )
        file = self.pages.get(path)
        return Reply(file.read_bytes(), "text/html") if file else Reply(b"", status=404)

    def body(self, url: str) -> bytes | None:
        file = self.pages.get(quote(unquote(urlsplit(url).path)))
        return file.read_bytes() if file else None


def judged_pages(site: Guides) -> list[tuple[str, bool]]:
    """Crawl a site; return the text of each page that was judged, and whether it was dropped."""
    with tempfile.TemporaryDirectory() as folder, progress("crawling", len(site.pages)) as advance:
        lines = crawl(site, Path(folder), lambda *_: advance(1))  # type: ignore[arg-type]
    reader, judged = PageReader(Options()), []
    for line in lines:
        body = site.body(line["url"])
        if body is not None and line["outcome"] in ("new", "near", "exact"):
            with contextlib.suppress(PageError):
                text = reader.content(Page(line["url"], html=body)).text
                judged.append((text, line.get("action") == "dropped"))
    return judged


def shares(judged: Sequence[tuple[str, bool]]) -> list[list[int]]:
    """Return how many pages there are in each band of the best kept page before them, and how many
    were dropped.
    """
    counts = [[0, 0] for _ in BANDS]
    kept = KeptPages(compare_all(text for text, _ in judged))
    texts: set[str] = set()
    for number, (text, dropped) in enumerate(judged):
        best, _ = kept.best(number)
        # Texts that differ in punctuation alone have the same shingles, and are not the same.
        band = len(BANDS) - 1 if text in texts else sum(best >= low for low in BANDS[:-1]) - 1
        counts[band][0] += 1
        counts[band][1] += dropped
        if not dropped:
            kept.add(number)
            texts.add(text)
    return counts


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--data", type=Path, help="where to keep the packages (default: a temporary folder)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.data or Path(temporary)
        counts = shares(judged_pages(Guides(guides(folder.absolute()))))
    names = [*(f"{low:.2f} to {high:.2f}" for low, high in pairwise(BANDS)), "same text"]
    if arguments.json:
        print(json.dumps(dict(zip(names, counts, strict=True))))
    else:
        table = make_table(
            "Pages by their best earlier page", "best earlier page", "pages", "dropped", "share"
        )
        for name, (pages, dropped) in zip(names, counts, strict=True):
            table.add_row(
                name, f"{pages:,}", f"{dropped:,}", f"{dropped / pages:.1%}" if pages else ""
            )
        Console().print(table)
    return 0


if __name__ == "__main__":
    run(main, "--data GUIDES")
