"""Short pages that differ in the moment of rendering alone, and short pages whose numbers are their content.

    python benchmarks/moments.py CORPUS.pages.jsonl
    python benchmarks/moments.py CORPUS.pages.jsonl --pairs 1000 --json

A page is a passage of a real text, 30 to 150 words with what is put into it. The two pages of a pair are alike but for
the values of one to three lines. "alike" are pairs that a reader calls one page: a clock, a counter, the date of today.
"other" are pairs that are not: two receipts, two matches, two days of a timetable. They are shown as they are, and with
moments beside, as most real pages have them. "By similarity alone" is what is flagged without leaving moments out.
"""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, run
from crawldedup import Deduplicator
from crawldedup.fingerprinting.features import jaccard
from crawldedup.fingerprinting.fingerprint import text_digest
from crawldedup.measure import read_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORTEST: Final = 30
LONGEST: Final = 150
# "|" parts the wordings of a kind, "/" the lines of a page.
MOMENTS: Final = {
    "clock, labelled": "Last updated {clock}|Local time: {clock} pm|Stand: {clock} Uhr|Updated at {clock}|更新 {clock}",
    "clock, bare": "{clock}|{clock} pm|{clock}:{nn}|{clock} Uhr",
    "date, labelled": "Today is {day}, {date}|Last modified: {date}|Stand: {dmy}|Dernière mise à jour : {dmy}",
    "date, bare": "{day}, {date}|{dmy}|{date}|{day}",
    "ago": "{n} hours ago|Posted {n} minutes ago|{n} часа назад|il y a {n} heures|{n}時間前",
    "visitors": "{big} visitors online|There are {n} guests online|You are visitor number {big}|{n} Besucher online",
    "number of entries": "{n} jobs|{n} jobs found|Results: {n}|{n} comments|{big} views",
    "time taken": "Page generated in 0.0{n} s|Page generated in 0.{n} seconds with {n} queries|Rendered in {n} ms",
    "weather": "{n}°C|Now {n} °C, wind {n} km/h|Weather today: {n}°",
    "copyright year": "© {year} All rights reserved|Copyright {year}|© 2009-{year}",
    "request": "Request {big}{nn}|Session {big}-{nn}|Ticket no. {big}{nn}{nn}",
    "next departure": "Next departure {clock}|Next bus in {n} min|Nächste Abfahrt: {clock}",
    "forums and wikis": "It is currently {day} {date} {clock} pm|All times are GMT. The time now is {clock} PM."
    "|In total there are {n} users online: {s} registered, {s} hidden and {n} guests|We have {n} guests online"
    "|This page was last edited on {n} May {year}, at {clock}.|This page has been accessed {big} times."
    "|Diese Seite wurde zuletzt am {dmy} um {clock} Uhr bearbeitet.|Page created in 0.{n} seconds with {n} queries.",
}
OTHERS: Final = {
    "timetable": "Line 4, valid on {day}, {date}/Harbour {clock} {clock} {clock}/Market {clock} {clock} {clock}",
    "receipt": "Receipt {big}, {date} {clock}/2 coffee {price}/1 cake {price}/Total {price}",
    "invoice": "Invoice no. {year}-{nn}/Date: {dmy}/Amount due: {price} EUR within {n} days",
    "newsletter": "Newsletter no. {n}/{date}",
    "match": "Rovers - United {s}:{s}/Goals in minutes {n} and {n}",
    "rates": "Exchange rates, last updated {date} {clock}/USD {price}/GBP {price}/JPY {price}",
    "weather": "Forecast for {day}, {date}/High {n}°C, low {n}°C, rain {n} %",
    "event": "When: {day}, {date}, {clock}/Where: Old Town Hall",
    "event, date alone": "{day}, {date}",
    "screening": "Doors open at {clock}",
    "screening, time alone": "{clock}",
    "release": "Release {s}.{n}.{n}/Released on {date}",
    "opening hours": "Open {day} to Saturday, {clock} to {clock}",
    "lot": "Lot {n}/Estimate {price}/Auction on {date}",
    "chapter": "Chapter {n}",
    "case": "Case {n}-{year}, decided on {date}",
    "log": "{year}-11-{nn} {clock}:{nn} backup done, {big} files, {n} errors",
    "exam": "Exam {n}: {day}, {dmy}, {clock}, room {n}",
    "vacancies": "{n} rooms free/from {price} EUR a night",
    "letter": "Yours faithfully/The board/{date}",
    "edition": "Edition {s}, copyright {year}/ISBN 978-{big}-{nn}",
    "deadline": "Apply by {date}, {clock}",
    "nearly a moment": "Last admission {clock}|Founded {n} years ago|The scheme created {n} jobs|Ready in {n} minutes"
    "|Stand {n}, hall {s}|Our hours changed on {date}|Price list updated {year}: single room {price}|Members: {n}"
    "|Last match on {date}: {s}:{s}|Page {n}|Served today at {clock}|Posted by member {n}|Line {n} runs every {n} min",
    "profile": "{name} joined in {year}/{name} wrote {n} posts",
    "branch": "Our branch in {name}/Call {name} at {big}",
}
DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS: Final = "January February March April May June July August September October November December"
NAMES: Final = "Anna Bristol Carlow Dana Exeter Fiona Galway Hanna Irvine Jonas Kendal Lewes Mara Newry Oban"


@dataclass(frozen=True)
class Row:
    """What came of one kind of pairs: medians of words and similarities, and the shares that were flagged."""

    truth: str
    kind: str
    pairs: int
    words: float
    similarity: float
    by_similarity: float
    flagged: float


def filled(line: str, rng: random.Random) -> str:
    """Return a line with new values."""

    def value(slot: re.Match[str]) -> str:
        day, hour, small, large = rng.randint(1, 28), rng.randint(0, 23), rng.randint(2, 60), rng.randint(1000, 9999)
        month = rng.randrange(12)
        values = {
            "clock": f"{hour}:{rng.randint(0, 59):02}",
            "day": rng.choice(DAYS.split()),
            "date": f"{MONTHS.split()[month]} {day}, 2026",
            "dmy": f"{day}.{month + 1}.2026",
            "n": f"{small}",
            "nn": f"{small:02}",
            "s": f"{rng.randint(0, 5)}",
            "big": f"{large:,}",
            "year": f"{rng.randint(2015, 2026)}",
            "price": f"{large / 100:.2f}",
            "name": rng.choice(NAMES.split()),
        }
        return values[slot[1]]

    return re.sub(r"{(\w+)}", value, line)


def pair(passage: list[str], templates: Sequence[str], places: Sequence[float], rng: random.Random) -> list[str]:
    """Return two texts: the lines of a passage with the same templates at the same places, each with its own values."""
    texts = [list(passage), list(passage)]
    for template, place in zip(templates, places, strict=True):
        values: dict[str, None] = {}
        while len(values) < len(texts):
            values[filled(template, rng)] = None
        at = round(place * len(texts[0]))
        for lines, value in zip(texts, values, strict=True):
            lines.insert(at, value)
    return ["\n".join(lines) for lines in texts]


def passages(texts: Sequence[str], rng: random.Random) -> Iterator[list[str]]:
    """Yield lines of real texts."""
    while True:
        words = rng.choice(texts).split(" ")
        length = rng.randint(SHORTEST, LONGEST - 20)
        start = rng.randrange(max(1, len(words) - length))
        lines = " ".join(words[start : start + length]).split("\n")
        if len(words) >= length:
            yield [line for line in lines if line.strip()]


def pairs(texts: Sequence[str], number: int) -> Iterator[tuple[str, str, list[list[str]]]]:
    """Yield truth, kind, and pairs of texts."""
    rng = random.Random(1)
    source = passages(texts, rng)
    wordings = [wording for each in MOMENTS.values() for wording in each.split("|")]

    def place() -> float:
        return rng.choice((0.0, 0.5, 1.0, 1.0))

    for kind, moments in MOMENTS.items():
        chosen = moments.split("|")
        yield "alike", kind, [pair(next(source), [rng.choice(chosen)], [place()], rng) for _ in range(number)]
    for amount in (2, 3):
        some = [(rng.sample(wordings, amount), [place() for _ in range(amount)]) for _ in range(number)]
        yield "alike", f"any {amount}", [pair(next(source), *each, rng) for each in some]
    for kind, lines in OTHERS.items():
        chosen = lines.replace("/", "\n").split("|")
        yield "other", kind, [pair(next(source), [rng.choice(chosen)], [place()], rng) for _ in range(number)]
        beside = [([rng.choice(wordings), rng.choice(chosen)], [place(), place()]) for _ in range(number)]
        yield "other, with a moment", kind, [pair(next(source), *each, rng) for each in beside]


def flagged(made: Sequence[Sequence[str]], *, by_moments: bool) -> float:
    """Check both pages of each pair on a site of its own; return the share of pairs of which the second is flagged."""
    found = 0
    with Deduplicator("memory://", scope="site", key=0) as dedup:
        for site, texts in enumerate(made):
            for number, text in enumerate(texts):
                page = dedup.fingerprint(text=text)
                page = page if by_moments else replace(page, digest=text_digest(text, dedup.key))
                verdict = dedup.check(f"https://site{site}.example/{number}", fingerprint=page)
            found += verdict.is_duplicate
    return round(found / len(made), 3)


def measure(texts: Sequence[str], number: int) -> Iterator[Row]:
    for truth, kind, made in pairs(texts, number):
        words = median(len(first.split()) for first, _ in made)
        similarity = median(jaccard(*each) or 0.0 for each in made)
        shares = [flagged(made, by_moments=each) for each in (False, True)]
        yield Row(truth, kind, len(made), words, round(similarity, 2), *shares)


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", help="what `crawldedup bench` reads")
    parser.add_argument("--pairs", type=count, default=300, help="pairs of each kind (default: 300)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(words)
    rows = list(measure([page.text for page in read_corpus(options.corpus).documents], options.pairs))
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    headings = ("words", "similarity", "% flagged by similarity alone", "% flagged")
    table = make_table(f"{options.pairs:,} pairs of each kind", "truth and kind", *headings)
    for row in rows:
        shares = (f"{100 * share:.1f}" for share in (row.by_similarity, row.flagged))
        table.add_row(f"{row.truth}: {row.kind}", f"{row.words:.0f}", f"{row.similarity:.2f}", *shares)
    Console().print(table)
    return 0


if __name__ == "__main__":
    run(main, "TEXTS --pairs 3")
