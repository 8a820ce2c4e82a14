"""Read pages that are broken in every way at random: how slow and how large does the slowest one get?

    python benchmarks/fuzz_pages.py --pages 100000
    python benchmarks/fuzz_pages.py --pages 20000 --html FOLDER --extractor trafilatura

Pages of the demo site, or of a folder, are cut off, spliced, repeated, wrapped in elements that stay open, stripped of
end tags, given thousands of attributes, damaged byte by byte and declared in wrong encodings, several of these at once.
One in fifty is blown up to some hundred thousand characters or more. Each is read as in a crawl: text, facts and
fingerprint. A refusal is a result, and anything else than a refusal ends the run, with the seed that makes the page
again.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lxml.html.defs import tags
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, progress, run
from crawldedup.demo.site import DemoSite
from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import Page, PageReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_KINDS: Final = sorted(tags | {"bdi", "dialog", "nobr", "noembed", "plaintext", "slot", "template", "xmp"})
_ENCODINGS: Final = (None, "utf-8", "latin-1", "shift_jis", "gb18030", "utf-16", "koi8-r", "nonsense")
_PIECES: Final = (
    b"<",
    b">",
    b"</",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"&#0;",
    b"&notit;",
    b'"',
    b"'",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
)


def _cut(page: bytes, chance: random.Random) -> bytes:
    return page[: chance.randrange(len(page) + 1)]


def _splice(page: bytes, chance: random.Random) -> bytes:
    first, last = sorted(chance.randrange(len(page) + 1) for _ in range(2))
    place = chance.randrange(len(page) + 1)
    return page[:place] + page[first:last] + page[place:]


def _repeat(page: bytes, chance: random.Random) -> bytes:
    first = chance.randrange(len(page) + 1)
    piece = page[first : first + chance.choice((5, 20, 100, 1000))]
    return page[:first] + piece * chance.choice((10, 50, 200)) + page[first:]


def _wrap(page: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(page) + 1)
    return page[:place] + f"<{chance.choice(_KINDS)}>".encode() * chance.choice((1, 10, 300, 3000)) + page[place:]


def _open(page: bytes, chance: random.Random) -> bytes:
    return page.replace(f"</{chance.choice(_KINDS)}>".encode(), b"")


def _attributes(page: bytes, chance: random.Random) -> bytes:
    place = max(page.find(b"<", chance.randrange(len(page) + 1)), 0)
    own = b" ".join(b"a%d='%d'" % (number, number) for number in range(chance.choice((10, 100, 3000))))
    return page[:place] + f"<{chance.choice(_KINDS)} ".encode() + own + b">" + page[place:]


def _damage(page: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(page)
    for _ in range(chance.choice((1, 10, 100))):
        place = chance.randrange(len(damaged) + 1)
        damaged[place:place] = chance.choice(_PIECES)
    return bytes(damaged)


def _blow_up(page: bytes, chance: random.Random) -> bytes:
    return page * (chance.choice((100_000, 300_000, 2_000_000)) // (len(page) + 1) + 1)


_MUTATIONS: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _cut, _splice, _repeat, _wrap, _open, _attributes, _damage,
)  # fmt: skip


def fuzzed(pages: Sequence[bytes], seed: int) -> tuple[bytes, str | None]:
    """A page and its declared encoding, the same for the same seed."""
    chance = random.Random(seed)
    page = chance.choice(pages)
    for mutate in chance.choices(_MUTATIONS, k=chance.randrange(1, 5)):
        page = mutate(page, chance)
    return (_blow_up(page, chance) if chance.random() < 0.02 else page), chance.choice(_ENCODINGS)


def main(given: Sequence[str]) -> int | None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=count, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first page; each page has the next one")
    parser.add_argument("--html", type=Path, help="a folder of pages to break (default: the demo site)")
    parser.add_argument("--extractor", default=Options().extractor)
    arguments = parser.parse_args(given)
    if arguments.html:
        pages = [path.read_bytes() for path in sorted(arguments.html.rglob("*.html"))]
    else:
        site = DemoSite()
        pages = [site.reply(path).body for path in sorted(site.manifest())]
    reader = PageReader(Options(extractor=arguments.extractor))
    reader.read_page(Page("", html=b"<p>warm"))
    outcomes: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times: list[tuple[float, int, int]] = []
    with progress("fuzzing", arguments.pages) as advance:
        for seed in range(arguments.seed, arguments.seed + arguments.pages):
            page, encoding = fuzzed(pages, seed)
            started = time.process_time()
            try:
                reader.read_page(Page("", html=page, encoding=encoding))
                outcomes["read"] += 1
            except PageError as error:
                outcomes[error.reason] += 1
            except BaseException:
                print(f"seed {seed}: a page of {len(page):,} bytes", file=sys.stderr)
                raise
            times.append((time.process_time() - started, len(page), seed))
            advance(1)
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    table = make_table(f"{arguments.pages:,} fuzzed pages", "", "")
    for name, pages_of in outcomes.most_common():
        table.add_row(name, f"{pages_of:,}")
    mean = sum(seconds for seconds, _, _ in times) / len(times)
    table.add_row("processor ms a page, mean", f"{mean * 1e3:.2f}")
    for seconds, size, seed in sorted(times, reverse=True)[:3]:
        table.add_row(f"slowest: {size:,} bytes, seed {seed}", f"{seconds:.2f} s")
    table.add_row("memory beyond the start", f"{peak:.0f} MB")
    Console(markup=False).print(table)
    return None


if __name__ == "__main__":
    run(main, "--pages 200")
