"""A million pages from seven templates: do the candidates and the time of a check stay bounded?

    python benchmarks/templated_site.py --texts pages.jsonl more.jsonl      # lines of {"text": ..}
    python benchmarks/templated_site.py --texts pages.jsonl --pages 100000

Shops, listings, articles, a calendar, a directory, a forum: every page of a template repeats its words, 30 to 80 %
of the page, around sentences that are drawn at random from real texts. Of a hundred pages, three are near copies of
an earlier page (Jaccard similarity .9 to .98, words replaced or put in) and two are exact copies under another
URL. Other processes make and fingerprint the pages; this one asks the memory store, page by page, as a crawl does.

A page is a function of its number, so the similarity of every flagged pair is computed exactly afterwards. A false
drop is a page whose original, as the verdict names it, has a similarity below 0.8.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.common import make_parser, run
from crawldedup import Deduplicator
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD, make_method
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING
from crawldedup.options import Options
from crawldedup.page import PageReader
from crawldedup.text.tokenize import split_words
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.method import Method

NEAR_SHARE = 0.03
EXACT_SHARE = 0.02
LOWEST, HIGHEST = 0.9, 0.98
FALSE_BELOW = 0.8
CHUNK = 500
STRETCHES = 5
BANDS = ((0.0, 0.7), (0.7, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 1.0))


@dataclass(frozen=True)
class Words:
    """What pages are filled with."""

    sentences: Sequence[str]
    names: Sequence[str]


def read_words(paths: Sequence[Path], language: str) -> Words:
    """Sentences of 6 to 30 words, and words that serve as names, of the texts in one language (or without any)."""
    sentences: dict[str, None] = {}
    names: Counter[str] = Counter()
    for path in paths:
        if not path.is_file():
            sys.exit(f"{path} is not a file")
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                page = json.loads(line)
                if not isinstance(page.get("text"), str):
                    sys.exit(f'{path}:{number}: this program takes texts, as lines of {{"text": ".."}}')
                if page.get("lang", language) != language:
                    continue
                for sentence in re.split(r"(?<=[.!?])\s+|\n", page["text"]):
                    found = re.findall(r"\w+", sentence)
                    if 6 <= len(found) <= 30:
                        sentences[" ".join(sentence.split())] = None
                    names.update(word for word in found if len(word) > 3 and word.isalpha() and word.isascii())
    return Words(list(sentences), [word for word, _ in names.most_common(20_000)])


def product(words: Words, random: Random) -> list[str]:
    return [
        " ".join(random.choices(words.names, k=3)),
        f"Price {random.randrange(5, 900)}.{random.choice(('00', '49', '95', '99'))}",
        f"Item number {random.randrange(10**6)} colour {random.choice(COLOURS)} size {random.choice(SIZES)}",
        f"Weight {random.randrange(1, 40)} kg material {random.choice(MATERIALS)} rating {random.randrange(1, 6)} of 5",
        *random.choices(words.sentences, k=random.randrange(2, 5)),
    ]


def listing(words: Words, random: Random) -> list[str]:
    rows = (
        f"{' '.join(random.choices(words.names, k=3))} {random.randrange(5, 900)}.99 add to basket compare"
        for _ in range(random.randrange(15, 25))
    )
    return [f"Page {random.randrange(1, 400)} of 400 sorted by {random.choice(('price', 'name', 'date'))}", *rows]


def article(words: Words, random: Random) -> list[str]:
    byline = f"By {' '.join(random.choices(words.names, k=2))} on {random.randrange(1, 29)} {random.choice(MONTHS)}"
    return [
        " ".join(random.choices(words.names, k=6)),
        byline,
        *random.choices(words.sentences, k=random.randrange(8, 25)),
    ]


def calendar(words: Words, random: Random) -> list[str]:
    events = {random.randrange(1, 29): " ".join(random.choices(words.names, k=4)) for _ in range(7)}
    days = [f"{day} {events.get(day, 'no events')}" for day in range(1, 29)]
    return [f"Events in {random.choice(MONTHS)} {random.randrange(1970, 2040)}", *days]


def directory(words: Words, random: Random) -> list[str]:
    return [
        " ".join(random.choices(words.names, k=3)),
        f"Address {random.randrange(1, 300)} {random.choice(words.names)} street {random.choice(words.names)}",
        f"Telephone {random.randrange(10**7, 10**8)} fax {random.randrange(10**7, 10**8)}",
        f"Opens at {random.randrange(6, 11)} closes at {random.randrange(16, 23)}",
        *random.choices(words.sentences, k=2),
    ]


def thread(words: Words, random: Random) -> list[str]:
    posts = (
        f"{random.choice(words.names)} wrote on {random.randrange(1, 29)} {random.choice(MONTHS)} "
        f"{random.choice(words.sentences)} reply quote report"
        for _ in range(random.randrange(4, 12))
    )
    return [" ".join(random.choices(words.names, k=5)), *posts]


COLOURS = ("red", "green", "blue", "black", "white", "grey", "brown")
SIZES = ("XS", "S", "M", "L", "XL", "XXL")
MATERIALS = ("cotton", "steel", "oak", "plastic", "leather", "glass", "wool")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# Name, share of the template in the words of a page, what fills it, and how often it comes.
KINDS: tuple[tuple[str, float, Callable[[Words, Random], list[str]], int], ...] = (
    ("shop", 0.6, product, 25),
    ("other shop", 0.75, product, 15),
    ("listing", 0.5, listing, 15),
    ("article", 0.3, article, 20),
    ("calendar", 0.8, calendar, 5),
    ("directory", 0.65, directory, 10),
    ("forum", 0.4, thread, 10),
)


@dataclass(frozen=True)
class Template:
    """The words that all pages of a template share, before and after those of their own."""

    name: str
    head: str
    foot: str
    fill: Callable[[Words, Random], list[str]]

    def page(self, words: Words, random: Random) -> str:
        return "\n".join((self.head, *self.fill(words, random), self.foot))


def make_templates(words: Words) -> list[Template]:
    made = []
    for name, share, fill, _ in KINDS:
        random = Random(f"template {name}")
        own = sum(len(" ".join(fill(words, random)).split()) for _ in range(50)) / 50
        missing = own * share / (1 - share)
        texts = []
        while missing > 0:
            texts.append(random.choice(words.sentences))
            missing -= len(texts[-1].split())
        made.append(Template(name, "\n".join(texts[::3]), "\n".join(sorted(set(texts) - set(texts[::3]))), fill))
    return made


class Site:
    """The pages of the site by number; every page is the same whoever asks for it."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._templates = make_templates(words)
        self._frequencies = [frequency for *_, frequency in KINDS]

    def kind(self, number: int) -> str:
        """One of new, near and exact: the last two are planted copies."""
        chance = Random(number * 4).random()
        if number == 0 or chance >= NEAR_SHARE + EXACT_SHARE:
            return "new"
        return "near" if chance < NEAR_SHARE else "exact"

    def base(self, number: int) -> int:
        """The page that a planted page is made from: an earlier one that is not planted itself."""
        while self.kind(number) != "new":
            number = Random(number * 4 + 1).randrange(number)
        return number

    def template(self, number: int) -> str:
        return self._template(self.base(number)).name

    def text(self, number: int) -> str:
        base = self.base(number)
        text = self._template(base).page(self._words, Random(base * 4 + 2))
        return self._edited(text, Random(number * 4 + 2)) if self.kind(number) == "near" else text

    def _template(self, base: int) -> Template:
        return Random(base * 4 + 3).choices(self._templates, self._frequencies)[0]

    def _edited(self, text: str, random: Random) -> str:
        """Words replaced one by one, or put in as a run, until about the wanted similarity is left."""
        words = text.split(" ")
        wanted = random.uniform(LOWEST, HIGHEST)
        lost = len(text.split()) * (1 - wanted)
        if random.random() < 0.5:
            for _ in range(max(1, round(lost / (3 * (1 + wanted))))):
                words[random.randrange(len(words))] = random.choice(self._words.names)
        else:
            run = random.choices(self._words.names, k=max(1, round(lost / wanted) - 2))
            words[random.randrange(len(words)) : 0] = run
        return " ".join(words)


@dataclass
class Stretch:
    """Figures of the checks in one part of the stream."""

    candidates: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        candidates, microseconds = np.array(self.candidates), np.array(self.seconds) * 1e6
        return {
            "checks": len(candidates),
            "candidates_mean": float(candidates.mean()),
            "candidates_p99": float(np.percentile(candidates, 99)),
            "candidates_max": int(candidates.max()),
            "us_median": float(np.median(microseconds)),
            "us_p99": float(np.percentile(microseconds, 99)),
        }


@dataclass
class Outcome:
    """What the stream showed. `flagged` holds (number, number of the original) of near duplicates."""

    stretches: list[Stretch] = field(default_factory=lambda: [Stretch() for _ in range(STRETCHES)])
    templates: dict[str, Stretch] = field(default_factory=lambda: {name: Stretch() for name, *_ in KINDS})
    kinds: list[Kind] = field(default_factory=list)
    flagged: list[tuple[int, int]] = field(default_factory=list)
    full: int = 0
    """Checks that compared as many pages as one check may, so that others may have been left out."""


_worker: tuple[Site, PageReader] | None = None


def _start_worker(words: Words, reader: PageReader) -> None:
    global _worker
    _worker = (Site(words), reader)


def _fingerprints(bounds: tuple[int, int]) -> list[Fingerprint]:
    assert _worker is not None
    site, reader = _worker
    return [reader.read(text=site.text(number)) for number in range(*bounds)]


def stream(words: Words, reader: PageReader, pages: int, workers: int) -> Iterator[Fingerprint]:
    """The fingerprints of pages 0, 1, .., in order."""
    bounds = [(first, min(first + CHUNK, pages)) for first in range(0, pages, CHUNK)]
    # A process that is forked would inherit the index as it grows; a fresh one is sent what it needs.
    with get_context("spawn").Pool(workers, _start_worker, (words, reader)) as pool:
        for chunk in pool.imap(_fingerprints, bounds):
            yield from chunk


def check_stream(words: Words, options: Options, method: Method, pages: int, workers: int, minutes: float) -> Outcome:
    """Check the pages one by one, for so long at most."""
    site = Site(words)
    deduplicator = Deduplicator.from_options(options, method)
    outcome = Outcome()
    fingerprints = stream(words, PageReader(options, method), pages, workers)
    console = Console(stderr=True)
    end = time.monotonic() + 60 * minutes
    for number, page in enumerate(track(fingerprints, "checking", pages, console=console, update_period=1)):
        if time.monotonic() > end:
            break
        template = site.template(number)
        url = f"https://site.example/{template.replace(' ', '-')}/{number}.html"
        started = time.perf_counter()
        verdict = deduplicator.check_fingerprint(url, page)
        seconds = time.perf_counter() - started
        for stretch in (outcome.stretches[number * STRETCHES // pages], outcome.templates[template]):
            stretch.candidates.append(verdict.candidates)
            stretch.seconds.append(seconds)
        outcome.full += verdict.candidates >= method.max_candidates
        outcome.kinds.append(verdict.kind)
        if verdict.kind is Kind.NEAR_DUPLICATE and verdict.original is not None:
            original = int(verdict.original.rpartition("/")[2].removesuffix(".html"))
            outcome.flagged.append((number, original))
    return outcome


def shingles(text: str) -> set[tuple[str, ...]]:
    words = split_words(text)
    return set(zip(words, words[1:], words[2:], strict=False))


def jaccard(first: str, second: str) -> float:
    one, other = shingles(first), shingles(second)
    return len(one & other) / len(one | other)


def band_of(similarity: float) -> str:
    if similarity == 1:
        return "1"
    return next(f"{low:.2f}-{high:.2f}" for low, high in BANDS if low <= similarity < high)


def flagged_pairs(site: Site, outcome: Outcome, limit: int) -> tuple[Counter[str], int, int]:
    """Bands of the exact similarity of flagged pairs, how many were looked at, and how many of them were false."""
    chosen = outcome.flagged
    if len(chosen) > limit:
        chosen = Random(1).sample(chosen, limit)
    similarities = [jaccard(site.text(number), site.text(original)) for number, original in chosen]
    return Counter(map(band_of, similarities)), len(chosen), sum(value < FALSE_BELOW for value in similarities)


def recall_of_planted(site: Site, outcome: Outcome, limit: int) -> dict[str, tuple[int, int]]:
    """By exact similarity with the page it was made from: pages found, and all. Only where that page was kept."""
    duplicate = (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)
    numbers = [number for number in range(len(outcome.kinds)) if site.kind(number) != "new"]
    numbers = [number for number in numbers if outcome.kinds[site.base(number)] is Kind.NEW]
    if len(numbers) > limit:
        numbers = sorted(Random(2).sample(numbers, limit))
    found: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for number in numbers:
        band = band_of(jaccard(site.text(number), site.text(site.base(number))))
        all_of[band] += 1
        found[band] += outcome.kinds[number] in duplicate
    return {band: (found[band], all_of[band]) for band in sorted(all_of)}


def unrelated_similarity(site: Site, pages: int) -> dict[str, float]:
    """Mean similarity of two pages of a template that have nothing to do with each other."""
    of_template: dict[str, list[int]] = {name: [] for name, *_ in KINDS}
    for number in range(min(pages, 2000)):
        if site.kind(number) == "new":
            of_template[site.template(number)].append(number)
    return {
        name: float(np.mean([jaccard(site.text(one), site.text(other)) for one, other in pairwise(found[:100])]))
        for name, found in of_template.items()
    }


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, metavar="FILE.jsonl")
    parser.add_argument("--language", default="en", help="of the texts that say theirs (en)")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop the stream after so long, and report")
    parser.add_argument("--workers", type=int, default=1, help="processes that make and fingerprint pages (1)")
    parser.add_argument("--exact", type=int, default=50_000, help="pairs to compute exactly, at most (50000)")
    parser.add_argument("--method", default=DEFAULT_METHOD)
    parser.add_argument("--weighting", default=DEFAULT_WEIGHTING)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args(given)

    words = read_words(arguments.texts, arguments.language)
    if len(words.sentences) < 300:
        parser.error(f"there are {len(words.sentences)} sentences of 6 to 30 words in these texts; 300 are needed")
    site = Site(words)
    options, method = Options(extractor="text"), make_method(arguments.method, arguments.weighting)
    outcome = check_stream(words, options, method, arguments.pages, arguments.workers, arguments.minutes)
    bands, compared, false = flagged_pairs(site, outcome, arguments.exact)
    result = {
        "texts": [path.name for path in arguments.texts],
        "sentences": len(words.sentences),
        "pages": len(outcome.kinds),
        "method": f"{arguments.method}, {arguments.weighting}",
        "stream": [stretch.row() for stretch in outcome.stretches if stretch.candidates],
        "templates": {name: stretch.row() for name, stretch in outcome.templates.items() if stretch.candidates},
        "unrelated_similarity": unrelated_similarity(site, len(outcome.kinds)),
        "verdicts": dict(Counter(map(str, outcome.kinds))),
        "checks_at_the_limit": outcome.full,
        "recall": recall_of_planted(site, outcome, arguments.exact),
        "flagged": dict(sorted(bands.items())),
        "flagged_near": len(outcome.flagged),
        "flagged_compared": compared,
        "false": false,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


def show(result: dict[str, Any]) -> None:
    console = Console(markup=False)
    console.print(
        f"{result['pages']:,} pages, {result['sentences']:,} sentences of {', '.join(result['texts'])}; "
        f"{result['method']}; memory store"
    )
    parts = {f"stream, part {number + 1}": row for number, row in enumerate(result["stream"])} | result["templates"]
    table = Table(title="Work of a check")
    for heading in ("", "checks", "candidates, mean", "p99", "max", "us, median", "p99", "unrelated pages"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, row in parts.items():
        unrelated = result["unrelated_similarity"].get(name)
        table.add_row(
            name,
            f"{row['checks']:,}",
            f"{row['candidates_mean']:.1f}",
            f"{row['candidates_p99']:.0f}",
            f"{row['candidates_max']}",
            f"{row['us_median']:.0f}",
            f"{row['us_p99']:.0f}",
            "" if unrelated is None else f"J {unrelated:.2f}",
            end_section=name.endswith(str(STRETCHES)),
        )
    console.print(table)
    table = Table(title="Pages by exact similarity")
    for heading in ("similarity", "planted", "found", "recall", "flagged as near, with the named original"):
        table.add_column(heading, justify="right")
    for band in sorted({*result["recall"], *result["flagged"]}):
        found, planted = result["recall"].get(band, (0, 0))
        table.add_row(
            band,
            f"{planted:,}",
            f"{found:,}",
            f"{found / planted:.4f}" if planted else "",
            f"{result['flagged'].get(band, 0):,}",
        )
    console.print(table)
    console.print(
        f"{result['false']} false drops (similarity below {FALSE_BELOW}) among {result['flagged_compared']:,} "
        f"of {result['flagged_near']:,} near duplicates; {result['checks_at_the_limit']:,} checks compared as many "
        f"pages as one may; verdicts: {result['verdicts']}"
    )


if __name__ == "__main__":
    run(main, "--texts TEXTS --pages 300 --exact 50")
