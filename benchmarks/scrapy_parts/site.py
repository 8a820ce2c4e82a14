"""A web site to be crawled: real pages from memory, or generated ones."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.shared.debian import unpacked
from benchmarks.shared.serving import answer
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from benchmarks.shared.serving import Answering

PACKAGES: Final = (
    "apache2-doc",
    "debian-handbook",
    "gimp-help-en",
    "gimp-help-ja",
    "git-doc",
    "gnucash-docs",
    "installation-guide-amd64",
)
"""Debian documentation with 8,000 pages, in many languages."""
_VOCABULARY_WORDS: Final = 20_000
_GENERATED_WORDS: Final = 300
_WORDS_A_PARAGRAPH: Final = 60


def add_page_options(parser: ArgumentParser) -> None:
    """Add the options that say where the pages come from."""
    parser.add_argument(
        "--html", type=Path, metavar="FOLDER", help="of HTML files (default: Debian documentation)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="where to keep the documentation (nowhere)"
    )


def documentation(folder: Path) -> Path:
    """Return the folder, with the pages of PACKAGES.

    Raises ConfigurationError where they cannot be downloaded.
    """
    for package in PACKAGES:
        unpacked(folder, package)
    return folder


def choose_pages(folder: Path, count: int) -> list[Path]:
    """Return so many HTML files of a folder, evenly spread over it.

    Raises ConfigurationError if there are fewer.
    """
    files = sorted(
        path for path in folder.rglob("*.htm*") if path.is_file() and path.stat().st_size
    )
    if len(files) < count:
        raise ConfigurationError(
            f"{folder} holds {len(files):,} HTML files, {count:,} are wanted; give a smaller "
            "--pages or another --html."
        )
    return [files[number * len(files) // count] for number in range(count)]


class Pages:
    """So many pages: those of files, read before the first request, or unrelated ones of random
    words.
    """

    def __init__(self, count: int, files: Sequence[Path] = ()) -> None:
        self.paths = [f"/{number}.html" for number in range(count)]
        self._files = files

    def answering(self, _: int) -> Answering:
        if self._files:
            ready = [answer(file.read_bytes()) for file in self._files]
            return lambda url: (ready[_number(url)], False)
        syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
        random = Random(1)
        vocabulary = ["".join(random.choices(syllables, k=3)) for _ in range(_VOCABULARY_WORDS)]
        return lambda url: (answer(_generated(_number(url), vocabulary)), False)


def _number(url: str) -> int:
    return int(url.rpartition("/")[2].removesuffix(".html"))


def _generated(number: int, vocabulary: Sequence[str]) -> bytes:
    words = Random(number).choices(vocabulary, k=_GENERATED_WORDS)
    starts = range(0, _GENERATED_WORDS, _WORDS_A_PARAGRAPH)
    paragraphs = "".join(
        f"<p>{' '.join(words[start : start + _WORDS_A_PARAGRAPH])}.</p>" for start in starts
    )
    title = " ".join(words[:3])
    head = f"<!DOCTYPE html><html><head><meta charset=utf-8><title>{title}</title></head>"
    return f"{head}<body><h1>{title}</h1>{paragraphs}</body></html>".encode()
