"""What the benchmarks share: a command line with --smoke, tiny corpora made of the demo site,
tables and bars.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from crawldedup.demo.site import DemoSite, all_articles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SMOKE_ARTICLES: Final = 4


def run(main: Callable[[Sequence[str]], int | None], *smoke: str) -> None:
    """Run a script; with --smoke, run it once for each of these small command lines.

    A word of a smoke command line that names a tiny corpus gives way to its path: see `_FILES`.
    """
    if "--smoke" not in sys.argv:
        sys.exit(main(sys.argv[1:]))
    with tempfile.TemporaryDirectory() as folder:
        for line in smoke:
            # A script may run another program, which writes at once.
            print(f"$ {Path(sys.argv[0]).name} {line}", flush=True)
            words = line.split()
            failed = main(
                [str(_FILES[word](Path(folder))) if word in _FILES else word for word in words]
            )
            if failed:
                sys.exit(failed)


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the head of a script."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--smoke", action="store_true", help="run all of it once in a tiny size, without a corpus"
    )
    return parser


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them, ascending; the type of an argument."""
    return sorted(int(number) for number in text.split(",") if number)


def one_of(*allowed: str) -> Callable[[str], list[str]]:
    """Names with commas between them; the type of an argument."""

    def words(text: str) -> list[str]:
        given = text.split(",")
        if unknown := sorted(set(given) - set(allowed)):
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)} is not among {', '.join(allowed)}"
            )
        return given

    return words


def count(text: str) -> int:
    """A whole number from 1 on; the type of an argument."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def make_table(title: str, *headings: str) -> Table:
    """Return a table of numbers with a first column of names."""
    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right")
    return table


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr while the block runs; yields what moves it on."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def _texts(folder: Path) -> Path:
    """Write every article of the demo site, and an edition of each, as lines of JSON."""
    pages = folder / "demo.pages.jsonl"
    with pages.open("w", encoding="utf-8") as lines:
        for article in all_articles():
            # Half of the second sentence goes: a near duplicate.
            sentence = re.split("[.。] ?", article.text)[1]
            shorter = article.text.replace(sentence, sentence[::2], 1)
            for name, text in (("page", article.text), ("copy", shorter)):
                lines.write(
                    json.dumps({"url": f"https://example.com{article.path}{name}", "text": text})
                    + "\n"
                )
    return pages


def _html(folder: Path) -> Path:
    """Write English pages of the demo site as files."""
    html = folder / "html"
    html.mkdir(exist_ok=True)
    pages = (
        page for path, page in DemoSite().pages.items() if path.startswith(("/en/", "/print/en/"))
    )
    for number, page in enumerate(pages):
        (html / f"{number}.html").write_bytes(page.reply.body)
    return html


def _marked_articles(folder: Path) -> Path:
    """Write a few articles of the demo site in the layout of the article extraction benchmark."""
    (folder / "html").mkdir(exist_ok=True)
    truth = {}
    for article in [article for article in all_articles() if article.language == "en"][
        :_SMOKE_ARTICLES
    ]:
        (folder / "html" / f"{article.cluster}.html.gz").write_bytes(
            gzip.compress(article.reply.body)
        )
        truth[article.cluster] = {
            "url": f"https://example.com{article.path}",
            "articleBody": article.text,
        }
    (folder / "ground-truth.json").write_text(json.dumps(truth))
    return folder


def _debian_guides(folder: Path) -> Path:
    """Write a few pages where `debian_guides.py` keeps those that it has downloaded."""
    for architecture in ("amd64", "arm64", "armhf", "i386", "s390x"):
        package = f"installation-guide-{architecture}"
        page = folder / package / "usr/share/doc" / package / "en" / "index.html"
        page.parent.mkdir(parents=True)
        page.write_bytes(DemoSite().reply("/en/reading-the-tide/").body)
    return folder


_FILES: Final[dict[str, Callable[[Path], Path]]] = {
    "TEXTS": _texts,
    "HTML": _html,
    "ARTICLES": _marked_articles,
    "GUIDES": _debian_guides,
}
