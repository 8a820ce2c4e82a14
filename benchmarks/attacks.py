"""Attacks on the reading of pages: real pages mutated at random, read by every extractor within bounds.

    python benchmarks/attacks.py pages.jsonl --seconds 300

Each read is timed in a process of its own, which is started again if it dies. Counts errors that are no PageError,
reads above 2 s of a processor or 500 MB, and deaths; all must be 0.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import make_parser, make_table, run
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page, PageReader

if TYPE_CHECKING:
    from collections.abc import Sequence

EXTRACTORS: Final = ("blocks", "trafilatura", "text")
MOST_SECONDS: Final = 2.0
MOST_MEGABYTES: Final = 500
MOST_BYTES: Final = 9_000_000
PIECES: Final = (
    b"<b>", b"<i><b>", b"<div>", b"<p>", b"<table><tr><td>", b"<ul><li>", b"</p>", b"</div></body></html>", b"<!--",
    b"-->", b"<![CDATA[", b"]]>", b"\0", b"&#xD800;", "\u202e\u2066".encode(), b"\xff\xfe", b"\xed\xa0\x80",
    b"<script>", b"</script>", b"<style>", b"<textarea>", b"<title>", b"<plaintext>", b"<svg><math>",
    b"<template>", b"<noscript>",
    b"<select><option>", b"<form><button>Add to cart</button>", b"<span class=price>$1,234.56</span>", b"&" * 50,
    b"<" * 50, b"<a " + b" a=1" * 60 + b">", b"<a " + b" a=1" * 100 + b">", b'<x-y a="', b"<dl><dt><dd>", b"<article>",
    b"<blockquote>", b"<pre>", b"<br>", "e\u0301\u0301\u0301".encode(), "\u00df\ufb01\u1100\u1161\ufdfa".encode(),
    b'<script type="application/ld+json">' + b"[" * 3000 + b"</script>", b"<meta charset=utf-16>",
)  # fmt: skip
ENCODINGS: Final = (None, None, None, "utf-8", "utf-16", "utf-7", "iso-2022-jp", "gb18030", "cp1252", "hz", "x\0y")


class Outcome(NamedTuple):
    """What came of reading a page: "read", the reason of a PageError, or the name of another error."""

    what: str
    is_foreign: bool
    seconds: float
    megabytes: int


def mutated(pages: Sequence[bytes], number: int) -> tuple[bytes, str | None]:
    """Return a page, changed in a few places, and the encoding that is declared for it."""
    rng = random.Random(number)
    page = bytearray(rng.choice(pages))
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        start = rng.randrange(len(page) + 1)
        end = min(len(page), start + int(rng.paretovariate(0.5) * 5))
        piece = rng.choice(PIECES)
        match rng.randrange(6):
            case 0:
                for _ in range(min(len(page), rng.choice((1, 20, 500)))):
                    page[rng.randrange(len(page))] = rng.randrange(256)
            case 1:
                del page[start:end]
            case 2:
                page[start:start] = bytes(page[start:end][:20_000]) * rng.choice((2, 20, 200))
            case 3:
                page[start:start] = piece * rng.choice((1, 3, 100, 3000, 20_000))
            case 4:
                page = bytearray(bytes(page).replace(b"</div>", b"", 9999).replace(b"</p>", b""))
            case _:
                page[start:end] = (piece + rng.choice(PIECES)) * rng.choice((10, 1000, 10_000))
        del page[MOST_BYTES:]
    return bytes(page), rng.choice(ENCODINGS)


_readers: dict[str, PageReader] = {}


def read(page: bytes, encoding: str | None, extractor: str) -> Outcome:
    """Read a page in this process, whose peak of memory only grows."""
    if extractor not in _readers:
        _readers[extractor] = PageReader(Options(extractor=extractor))
        _readers[extractor].read_page(Page("", html="<p>The first page pays for the imports.</p>"))
    started = time.process_time()
    what, is_foreign = "read", False
    try:
        _readers[extractor].read_page(Page("", html=page, encoding=encoding))
    except PageError as error:
        what = error.reason
    except BaseException as error:
        what, is_foreign = type(error).__name__, True
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return Outcome(what, is_foreign or what == "broken", time.process_time() - started, peak)


def attack(pages: Sequence[bytes], seconds: float, numbers: range) -> tuple[Counter[str], Outcome, list[str]]:
    """Read mutated pages for a while; return what came of them, the worst of all reads, and what broke the bounds."""
    counts: Counter[str] = Counter()
    worst = Outcome("", False, 0.0, 0)
    broken: list[str] = []
    workers = ProcessPoolExecutor(1)
    deadline = time.monotonic() + seconds
    for number in numbers:
        if time.monotonic() > deadline:
            break
        page, encoding = mutated(pages, number)
        for extractor in EXTRACTORS:
            try:
                outcome = workers.submit(read, page, encoding, extractor).result()
            except BrokenProcessPool:
                outcome, workers = Outcome("death", True, 0.0, 0), ProcessPoolExecutor(1)
            counts[outcome.what] += 1
            worst = Outcome("", False, max(worst.seconds, outcome.seconds), max(worst.megabytes, outcome.megabytes))
            if outcome.is_foreign or outcome.seconds > MOST_SECONDS or outcome.megabytes > MOST_MEGABYTES:
                broken.append(f"{number} {extractor} {outcome}")
                workers.shutdown()
                workers = ProcessPoolExecutor(1)
    workers.shutdown()
    return counts, worst, broken


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+", help="files, folders or JSON lines of pages to mutate")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--pages", type=int, default=34_000, help="at most so many; each is read by three extractors")
    parser.add_argument("--first", type=int, default=0, help="number of the first page, to go on behind another run")
    options = parser.parse_args(words)
    bodies = [
        body.encode() if isinstance(body, str) else body for each in sources(options.corpus) if (body := each.html)
    ]
    counts, worst, broken = attack(bodies, options.seconds, range(options.first, options.first + options.pages))
    table = make_table(f"{sum(counts.values()):,} reads of mutated pages", "outcome", "reads")
    for what, times in counts.most_common():
        table.add_row(what, f"{times:,}")
    console = Console()
    console.print(table)
    console.print(f"at most {worst.seconds:.2f} s and {worst.megabytes} MB; {len(broken)} beyond the bounds")
    for line in broken:
        console.print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    run(main, "HTML --pages 4")
