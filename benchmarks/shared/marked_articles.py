"""Articles whose main text people have marked, and the same articles in the templates of others."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree
from lxml.html import tostring
from rich.console import Console
from rich.progress import track

from crawldedup.reading.blocks import BLOCKS, INVISIBLE
from crawldedup.reading.by_trafilatura import parse_with_lxml
from crawldedup.reading.html import bounded, decode
from crawldedup.reading.tokenize import mix, word_hashes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lxml.html import HtmlElement
    from numpy.typing import NDArray

    Shingles = NDArray[np.uint64]

HOSTS = (1, 3, 7, 12)
"""An article is put into the pages so many places further on."""
LEAST_HELD = 0.95
LEAST_MARKED = 0.85
OF_WHAT_THE_PAGE_HOLDS = 0.98
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Article:
    url: str
    html: bytes
    body: str
    place: HtmlElement


@dataclass(frozen=True)
class Transplant:
    article: Article
    host: Article
    html: str


def shingles(text: str) -> Shingles:
    words = word_hashes(text)
    return np.unique(mix(mix(words[:-2] * _FACTOR + words[1:-1]) * _FACTOR + words[2:]))


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


def common(one: Shingles, other: Shingles) -> int:
    return len(np.intersect1d(one, other, assume_unique=True))


def tree_of(html: bytes) -> HtmlElement:
    return parse_with_lxml(bounded(decode(html, None)))


def place_of(tree: HtmlElement, wanted: Shingles) -> HtmlElement:
    """The smallest element that holds nearly all that the page holds of what is wanted."""
    least = OF_WHAT_THE_PAGE_HOLDS * common(shingles(visible_text(tree)), wanted)
    place = tree
    while True:
        for child in place:
            if child.tag not in INVISIBLE and common(shingles(visible_text(child)), wanted) >= least:
                place = child
                break
        else:
            return place


def read_articles(folder: Path) -> tuple[list[Article], int]:
    """The usable articles, and the number of all."""
    truth: dict[str, dict[str, str]] = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    usable = []
    for key in track(sorted(truth), "reading", console=Console(stderr=True), transient=True):
        html = gzip.decompress((folder / "html" / f"{key}.html.gz").read_bytes())
        wanted = shingles(truth[key]["articleBody"])
        place = place_of(tree_of(html), wanted)
        held = shingles(visible_text(place))
        both = common(held, wanted)
        if place.tag != "body" and both >= LEAST_HELD * len(wanted) and both >= LEAST_MARKED * len(held):
            usable.append(Article(truth[key]["url"], html, truth[key]["articleBody"], place))
    return usable, len(truth)


def moved(article: Article, host: Article) -> Transplant:
    place = emptied_place(host)
    place.text = article.place.text
    place.extend(copy.deepcopy(child) for child in article.place)
    return Transplant(article, host, str(tostring(place.getroottree().getroot(), encoding="unicode")))


def retyped(article: Article, host: Article) -> Transplant:
    place = emptied_place(host)
    for line in filter(None, map(str.strip, article.body.split("\n"))):
        etree.SubElement(place, "p").text = line
    return Transplant(article, host, str(tostring(place.getroottree().getroot(), encoding="unicode")))


def emptied_place(host: Article) -> HtmlElement:
    place = place_of(tree_of(host.html), shingles(host.body))
    for child in list(place):
        place.remove(child)
    place.text = None
    return place


def hosts_of(articles: list[Article]) -> Iterator[tuple[Article, Article]]:
    for number, article in enumerate(articles):
        for distance in HOSTS:
            yield article, articles[(number + distance) % len(articles)]
