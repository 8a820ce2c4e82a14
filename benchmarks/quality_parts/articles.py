"""Articles whose main text people have marked, and the same articles in the templates of others."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from lxml import etree
from lxml.html import tostring
from rich.console import Console
from rich.progress import track

from crawldedup.fingerprinting.tokenize import mix, word_hashes
from crawldedup.reading.blocks import BLOCKS, INVISIBLE
from crawldedup.reading.by_trafilatura import parse_with_lxml
from crawldedup.reading.html import bounded, decode

if TYPE_CHECKING:
    from pathlib import Path

    from lxml.html import HtmlElement
    from numpy.typing import NDArray

    Shingles = NDArray[np.uint64]

LEAST_HELD: Final = 0.95
LEAST_MARKED: Final = 0.85
OF_WHAT_THE_PAGE_HOLDS: Final = 0.98
FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Article:
    """A page, its marked text, and the element that holds it."""

    url: str
    html: bytes
    body: str
    place: HtmlElement


def shingles(text: str) -> Shingles:
    """Return hashes of the word 3-shingles, sorted and without repetition."""
    words = word_hashes(text)
    return np.unique(mix(mix(words[:-2] * FACTOR + words[1:-1]) * FACTOR + words[2:]))


def common(one: Shingles, other: Shingles) -> int:
    return len(np.intersect1d(one, other, assume_unique=True))


def jaccard(one: Shingles, other: Shingles) -> float:
    both = common(one, other)
    return both / max(len(one) + len(other) - both, 1)


def read_articles(folder: Path) -> tuple[list[Article], int]:
    """Return the usable articles of a dataset, and the number of all."""
    truth: dict[str, dict[str, str]] = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    usable = []
    for key in track(sorted(truth), "reading", console=Console(stderr=True), transient=True):
        html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes())
        wanted = shingles(truth[key]["articleBody"])
        place = place_of(html, wanted)
        held = shingles(visible_text(place))
        both = common(held, wanted)
        if (
            place.tag != "body"
            and both >= LEAST_HELD * len(wanted)
            and both >= LEAST_MARKED * len(held)
        ):
            usable.append(Article(truth[key]["url"], html, truth[key]["articleBody"], place))
    return usable, len(truth)


def place_of(html: bytes, wanted: Shingles) -> HtmlElement:
    """Return the smallest element that holds nearly all that the page holds of what is wanted."""
    place = parse_with_lxml(bounded(decode(html, None)))
    least = OF_WHAT_THE_PAGE_HOLDS * common(shingles(visible_text(place)), wanted)
    while True:
        for child in place:
            if (
                child.tag not in INVISIBLE
                and common(shingles(visible_text(child)), wanted) >= least
            ):
                place = child
                break
        else:
            return place


def visible_text(tree: HtmlElement) -> str:
    """Return what a visitor sees of an element, one block a line."""
    pieces: list[str] = []
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        starts = event == "start"
        if element.tag in BLOCKS:
            pieces.append("\n")
        if starts and element.tag in INVISIBLE:
            walk.skip_subtree()
            continue
        if text := element.text if starts else element.tail:
            pieces.append(text)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(filter(None, lines))


def transplanted(article: Article, host: Article, *, is_retyped: bool) -> str:
    """Return the page of `host` with another article: its elements, or its marked text in plain
    paragraphs.
    """
    place = place_of(host.html, shingles(host.body))
    for child in list(place):
        place.remove(child)
    place.text = None if is_retyped else article.place.text
    if is_retyped:
        for line in filter(None, map(str.strip, article.body.split("\n"))):
            etree.SubElement(place, "p").text = line
    else:
        place.extend(copy.deepcopy(child) for child in article.place)
    return str(tostring(place.getroottree().getroot(), encoding="unicode"))
