"""Count the copies that one original attracts in honest crawls, and the pages until a wall is suspected.

    python benchmarks/walls.py --texts pages.jsonl more.jsonl --html FOLDER      # lines of {"text": ..}

Honest crawls are the demo site, the pages of a folder (in three orders), the templated site of
`templated_site.py` with its pages mixed and one template after the other, a site in six views, and a calendar of empty
months. A wall answers with one page: to all requests, to each third one, or to one half of them at random.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, run
from benchmarks.shared.templated_pages import Site, read_words
from crawldedup import Deduplicator, Page, Verdict
from crawldedup.demo.site import all_pages
from crawldedup.scrapy_plugin.walls import WINDOWS, Walls
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def judged(pages: Iterable[Page], extractor: str) -> list[Verdict]:
    with Deduplicator(extractor=extractor) as dedup:
        return list(dedup.check_many(pages, on_unreadable=lambda *_: None))


def demo() -> list[Page]:
    pages = [(path, page) for path, page in all_pages().items() if page.cluster]
    return [Page(f"https://site.example{path}", html=page.reply.body) for path, page in pages]


def files(folder: Path) -> list[Page]:
    paths = sorted(folder.rglob("*.html"))
    return [Page(f"https://site.example/{path.relative_to(folder)}", html=path.read_bytes()) for path in paths]


def templated(site: Site, numbers: Iterable[int]) -> Iterator[Page]:
    for number in numbers:
        yield Page(f"https://site.example/{number}", text=site.text(number))


def new(name: object) -> Verdict:
    return Verdict(Kind.NEW, f"https://site.example/{name}")


def copy(name: object, original: object) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, f"https://site.example/{name}", f"https://site.example/{original}")


def most_copies(verdicts: Iterable[Verdict], size: int) -> int:
    """The most of so many pages in a row that are copies of one original, each URL counted once."""
    window: deque[tuple[str, str] | None] = deque()
    visits: Counter[tuple[str, str]] = Counter()
    urls: Counter[str] = Counter()
    most = 0
    for verdict in verdicts:
        visit = (verdict.original, verdict.url) if verdict.is_duplicate and verdict.original else None
        window.append(visit)
        left = window.popleft() if len(window) > size else None
        if left is not None:
            visits[left] -= 1
            urls[left[0]] -= not visits[left]
        if visit is not None:
            visits[visit] += 1
            urls[visit[0]] += visits[visit] == 1
            most = max(most, urls[visit[0]])
    return most


def suspected_after(verdicts: Iterable[Verdict]) -> int | None:
    """The number of judged pages when an original is first suspected."""
    walls = Walls()
    return next((number for number, each in enumerate(verdicts, 1) if walls.add(each) is not None), None)


def honest(arguments_html: Path | None, texts: Sequence[Path], pages: int) -> Iterator[tuple[str, list[Verdict]]]:
    yield "the demo site", judged(demo(), "trafilatura")
    if arguments_html is not None:
        of_folder = files(arguments_html)
        yield "the folder, by path", judged(of_folder, "trafilatura")
        yield "by name", judged(sorted(of_folder, key=lambda page: page.url.rpartition("/")[2]), "trafilatura")
        yield "shuffled", judged(Random(1).sample(of_folder, len(of_folder)), "trafilatura")
    if texts:
        site = Site(read_words(texts, "en"))
        numbers = range(pages)
        yield "seven templates, mixed", judged(templated(site, numbers), "text")
        in_turn = sorted(numbers, key=lambda number: (site.template(number), number))
        yield "one after the other", judged(templated(site, in_turn), "text")
    six = ([new(story), *(copy(f"{story}?{view}", story) for view in range(5))] for story in range(500))
    yield "a site in six views", list(chain.from_iterable(six))
    yield "40 empty months in a row", [copy(f"month/{month}", "month") for month in range(40)]


def walls() -> Iterator[tuple[str, list[Verdict]]]:
    random = Random(1)
    wall = "login"
    yield "each page", [copy(number, wall) for number in range(1000)]
    yield (
        "each second, at random",
        [copy(number, wall) if random.random() < 0.5 else new(number) for number in range(1000)],
    )
    yield "each third", [new(number) if number % 3 else copy(number, wall) for number in range(1000)]


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--texts", type=Path, nargs="*", default=[], metavar="FILE.jsonl")
    parser.add_argument("--html", type=Path, metavar="FOLDER", help="pages of a site, as files")
    parser.add_argument("--pages", type=count, default=40_000, help="of the templated site (40000)")
    arguments = parser.parse_args(given)
    console = Console(markup=False)
    table = make_table("Honest crawls", "", "pages", *(f"most of {size}" for size, _ in WINDOWS), "suspected")
    for name, verdicts in honest(arguments.html, arguments.texts, arguments.pages):
        peaks = [str(most_copies(verdicts, size)) for size, _ in WINDOWS]
        table.add_row(name, f"{len(verdicts):,}", *peaks, "no" if suspected_after(verdicts) is None else "yes")
    console.print(table)
    table = make_table("Walls", "in place of", "suspected after, of all pages")
    for name, verdicts in walls():
        table.add_row(name, str(suspected_after(verdicts)))
    console.print(table)


if __name__ == "__main__":
    run(main, "--html HTML --texts TEXTS --pages 200")
