"""Measure how much content is lost, and how many copies are missed, on sites whose pages share
text.

    pip install "crawldedup[bench]"
    python benchmarks/siblings.py
    python benchmarks/siblings.py --families jobs,gallery --sizes 150 --siblings 40
    python benchmarks/siblings.py --json > siblings.json

A family is a site whose content shares a text: the job ads of one employer, the photos of an album,
or a vacation home by week. Its content comes in groups, one for each size of the shared text. Each
piece of content has several addresses: its own, one with a campaign, one with a session ID, one that
names the page that linked to it, and, if such a site would have one, a print view. Counters, ads,
tokens and teasers change with every load.

The program that generates a page knows its content, so nothing is judged. Content is lost if none of
its pages is delivered. A page that is delivered after another page with the same content is a missed
copy. Every method sees the pages twice, each time with an empty index: in the order of the site, with
each piece of content before its views, and in reverse. Shells, which only their addresses tell apart,
aren't part of the sums.

The other tools get the main text that crawldedup reads, so that methods for comparing texts are
compared, rather than methods for reading pages. `shared/peers.py` shows how each is used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, numbers, one_of, progress, run
from benchmarks.siblings_parts.families import FAMILIES, Mark
from benchmarks.siblings_parts.measure import Tally, Trial, orders, run_method, total
from benchmarks.siblings_parts.methods import all_methods, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.siblings_parts.families import Family
    from benchmarks.siblings_parts.methods import Method

SIZES: Final = (30, 80, 150, 400)
"""Words that siblings share."""
SIBLINGS: Final = 10
"""Contents that share a text."""


def measure(family: Family, methods: Iterable[Method], given: argparse.Namespace) -> list[Trial]:
    """Show a family to every method, in both orders."""
    pages = read(family.site(given.sizes, given.siblings).pages())
    trials = []
    for method in methods:
        tallies: defaultdict[int, Tally] = defaultdict(Tally)
        for arranged in orders(pages):
            for words, tally in run_method(method, arranged).items():
                tallies[words] += tally
        trials += [
            Trial(family.name, words, method.name, tally) for words, tally in tallies.items()
        ]
    return trials


def print_by_size(trials: Sequence[Trial], sizes: Sequence[int], console: Console) -> None:
    """A row for each method: lost and missed by the words that siblings share.

    Families that nothing tells apart are left out.
    """
    table = make_table(
        "contents lost / copies missed, in percent, by the words that siblings share",
        "method",
        *(str(words) for words in sizes),
        "all",
    )
    told = {family.name for family in FAMILIES if family.mark is not Mark.NOTHING}
    for method in dict.fromkeys(trial.method for trial in trials):
        rows = [trial for trial in trials if trial.method == method and trial.family in told]
        tallies = [total(trial for trial in rows if trial.words == words) for words in sizes]
        table.add_row(method, *(percents(tally) for tally in [*tallies, total(rows)]))
    console.print(table)


def print_by_family(trials: Sequence[Trial], families: Iterable[Family], console: Console) -> None:
    """A row for each family: lost and missed by method."""
    methods = list(dict.fromkeys(trial.method for trial in trials))
    broken_names = (name.replace(", ", ",\n") for name in methods)
    headings = ("language", "told apart by", "contents", "copies", *broken_names)
    table = make_table("contents lost / copies missed, in percent, by family", "family", *headings)
    for family in families:
        rows = [trial for trial in trials if trial.family == family.name]
        tallies = [total(trial for trial in rows if trial.method == method) for method in methods]
        table.add_row(
            family.name,
            family.language.code,
            family.mark,
            f"{tallies[0].contents:,}",
            f"{tallies[0].copies:,}",
            *(percents(tally) for tally in tallies),
        )
    console.print(table)


def percents(tally: Tally) -> str:
    return f"{tally.lost_share:.1%} / {tally.missed_share:.1%}".replace("%", "")


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__)
    names = [family.name for family in FAMILIES]
    parser.add_argument(
        "--families", type=one_of(*names), default=names, help="names of families (all)"
    )
    parser.add_argument(
        "--sizes",
        type=numbers,
        default=list(SIZES),
        help="words that the siblings of each group share (30,80,150,400)",
    )
    parser.add_argument(
        "--siblings", type=count, default=SIBLINGS, metavar="N", help="contents of a group (10)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON with all that was lost and missed instead of tables",
    )
    return parser.parse_args(words)


def main(words: Sequence[str]) -> None:
    given = parse(words)
    console = Console(width=180, markup=False, highlight=False)
    methods = all_methods()
    families = [family for family in FAMILIES if family.name in given.families]
    trials = []
    with progress("families", len(families)) as advance:
        for family in families:
            trials += measure(family, methods.present, given)
            advance(1)
    if given.json:
        found = {"trials": [asdict(trial) for trial in trials], "absent": methods.absent}
        print(json.dumps(found, ensure_ascii=False))
        return
    print_by_size(trials, given.sizes, console)
    print_by_family(trials, families, console)
    for line in methods.absent:
        console.print(line)


if __name__ == "__main__":
    run(main, "--siblings 2 --sizes 30", "--families jobs --siblings 2 --sizes 80 --json")
