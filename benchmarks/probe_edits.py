"""Edited texts that are found: single words replaced, or the text moved on, at the same similarity.

    python benchmarks/probe_edits.py CORPUS.pages.jsonl [...]

Makes near duplicates in two ways that lead to the same J: single words replaced all over a text of 300 words, or the
window moved on, so that one run of words goes in front and another comes behind. It does so with real texts, in which
the commonest words are everywhere, and with words drawn evenly from 3,000. A found page lies in a probe and passes the
prefilter and the decision, at the default similarity and recall.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from crawldedup.queries import QueryBuilder

from benchmarks.shared.common import make_parser, make_table, run
from benchmarks.shared.probes import PLANNED_SIMILARITY, meets
from crawldedup.errors import CrawlDedupError
from crawldedup.fingerprinting.fingerprint import fingerprint
from crawldedup.literature.exact import jaccard, words
from crawldedup.measure import read_corpus
from crawldedup.options import Options
from crawldedup.page import PageRef
from crawldedup.search.query import TwoStage

if TYPE_CHECKING:
    from collections.abc import Sequence

EDIT_SIZES = (10**4, 10**6, 10**7)
EDIT_SIMILARITIES = (0.95, 0.92, 0.9)
EDIT_WORDS = 300
VOCABULARY = 3000


@dataclass
class EditRow:
    kind: str
    """Of the texts."""
    edit: str
    similarity: float
    """Exact, mean over the texts."""
    words_changed: int
    """Of EDIT_WORDS."""
    texts: int
    pages: int
    found: float


def edit_rows(kind: str, texts: Sequence[list[str]]) -> list[EditRow]:
    """Look for edited texts, both ways round, in indexes of all sizes: by the queries alone, without other pages."""
    maker = QueryBuilder(TwoStage(), Options(similarity=PLANNED_SIMILARITY))
    rows = []
    for similarity in EDIT_SIMILARITIES:
        shift = shift_for(similarity)
        # A replaced word takes three shingles, a moved window takes one for each word.
        for edit, changed in (("scattered", round(shift / 3)), ("window", shift)):
            rng = np.random.default_rng(7)
            found = dict.fromkeys(EDIT_SIZES, 0)
            exact = []
            for place, text in enumerate(texts):
                one = text[:EDIT_WORDS]
                if edit == "window":
                    other = text[shift : shift + EDIT_WORDS]
                else:
                    other = with_words_of(texts[place - 1], one, changed, rng)
                first, second = " ".join(one), " ".join(other)
                exact.append(jaccard(first, second))
                for asking, asked in (map(fingerprint, pair) for pair in ((first, second), (second, first))):
                    for pages in EDIT_SIZES:
                        query = maker.question(PageRef(""), asking, pages=pages).query
                        found[pages] += meets(query, asked.search, asked.verify)
            rows += [
                EditRow(kind, edit, float(np.mean(exact)), changed, len(texts), pages, found[pages] / len(texts) / 2)
                for pages in EDIT_SIZES
            ]
    return rows


def shift_for(similarity: float) -> int:
    """By how many words a window of EDIT_WORDS moves for this Jaccard similarity of 3-shingles."""
    return round((EDIT_WORDS - 2) * (1 - similarity) / (1 + similarity))


def real_texts(paths: Sequence[Path], limit: int) -> list[list[str]]:
    """The words of texts that are long enough and do not begin alike, drawn at random."""
    least = longest_text()
    texts: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        try:
            documents = read_corpus(str(path)).documents
        except (CrawlDedupError, OSError) as error:
            sys.exit(f"{path}: {error}")
        for document in documents:
            text = words(document.text)
            if len(text) >= least:
                texts.setdefault(tuple(text[:50]), text)
    if len(texts) < 2:
        sys.exit(f"there are no texts of {least} words or more")
    drawn = list(texts.values())
    return [drawn[place] for place in np.random.default_rng(1).permutation(len(drawn))[:limit]]


def random_texts(count: int) -> list[list[str]]:
    """Texts of words that are all as common."""
    rows = np.random.default_rng(3).integers(VOCABULARY, size=(count, longest_text()))
    return [[f"w{word}" for word in row] for row in rows.tolist()]


def longest_text() -> int:
    """Words that are needed to move the window as far as it is moved."""
    return EDIT_WORDS + shift_for(min(EDIT_SIMILARITIES))


def with_words_of(source: Sequence[str], text: Sequence[str], changed: int, rng: np.random.Generator) -> list[str]:
    """The text with so many words, here and there, replaced by words of another."""
    edited = list(text)
    for place in rng.choice(len(text), changed, replace=False).tolist():
        edited[place] = source[int(rng.integers(len(source)))]
    return edited


def show_edits(rows: Sequence[EditRow]) -> None:
    console = Console(markup=False, width=160)
    table = make_table(
        f"per cent of edited texts of {EDIT_WORDS} words that are found, by pages in the index",
        *("texts", "number", "edit", "J, mean", "words changed", *(f"{pages:,}" for pages in EDIT_SIZES)),
    )
    for start in range(0, len(rows), len(EDIT_SIZES)):
        group = rows[start : start + len(EDIT_SIZES)]
        first = group[0]
        table.add_row(
            first.kind,
            f"{first.texts:,}",
            first.edit,
            f"{first.similarity:.3f}",
            str(first.words_changed),
            *(f"{row.found * 100:.1f}" for row in group),
        )
    console.print(table)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("pages", type=Path, nargs="+", metavar="CORPUS.pages.jsonl")
    parser.add_argument("--limit", type=int, default=1000, help="texts, at most (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)

    edited = [
        *edit_rows("real", real_texts(arguments.pages, arguments.limit)),
        *edit_rows("random words", random_texts(arguments.limit)),
    ]
    if arguments.json:
        print(json.dumps([asdict(row) for row in edited]))
    else:
        show_edits(edited)


if __name__ == "__main__":
    run(main, "TEXTS --limit 2")
