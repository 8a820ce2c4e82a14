"""A second crawl of a site on the day after, by two crawlers that share an index on Redis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmarks.shared.common import make_table
from benchmarks.whole_site_parts.crawl import run_crawl
from benchmarks.whole_site_parts.site import serving
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.whole_site_parts.crawl import Delivered
    from benchmarks.whole_site_parts.site import Recipe

_CRAWLERS: Final = 2
_SHOWN: Final = 12


@dataclass(frozen=True)
class Day:
    """What came on a day: of `new` and changed contents, and of the `known` ones, which nobody
    wants again.

    `lost` are new contents that did not come, `missed` URLs by which one came once more without a
    word that it replaces a worse copy, `again` URLs of known contents, and `contents_again` how
    many these are.
    """

    new: int
    known: int
    fetched: int
    replaced: int
    lost: Sequence[str]
    missed: Sequence[str]
    again: Sequence[str]
    contents_again: int


def two_days(recipe: Recipe, reloads: int) -> list[Day]:
    """Crawl a site on two days."""
    known: set[str] = set()
    port, days = 0, []
    with RedisServer() as redis:
        settings = {
            "ADDONS": {"crawldedup.Addon": 500},
            "CRAWLDEDUP_STORE": redis.url,
            "CRAWLDEDUP_REVISIT": "drop",
            "CRAWLDEDUP_RELOADS": reloads,
        }
        for number in (1, 2):
            with (
                serving(replace(recipe, day=number), port) as site,
                ThreadPoolExecutor(_CRAWLERS) as crawlers,
            ):
                port = site.port
                running = [
                    crawlers.submit(run_crawl, site.start_url, settings) for _ in range(_CRAWLERS)
                ]
                outcomes = [crawl.result() for crawl in running]
            contents = {page.content for page in site.judged()}
            delivered = [page for outcome in outcomes for page in outcome.delivered]
            days.append(
                _day(contents, known, delivered, sum(outcome.fetched for outcome in outcomes))
            )
            known |= contents
    return days


def _day(contents: set[str], known: set[str], delivered: Sequence[Delivered], fetched: int) -> Day:
    came, first = {page.content for page in delivered}, set()
    missed, again = [], []
    for page in delivered:
        if page.content in known:
            again.append(page.url)
        elif not page.replaces:
            if page.content in first:
                missed.append(page.url)
            first.add(page.content)
    return Day(
        new=len(contents - known),
        known=len(contents & known),
        fetched=fetched,
        replaced=sum(page.replaces for page in delivered),
        lost=sorted(contents - known - came),
        missed=sorted(missed),
        again=sorted(again),
        contents_again=len(known & came),
    )


def show_days(console: Console, title: str, days: Sequence[Day], *, details: bool) -> None:
    """Print a row a day, and the URLs of what should not have come."""
    table = make_table(
        title,
        "day",
        "fetched",
        "new, changed",
        "lost",
        "came twice",
        "replacing",
        "known",
        "came again",
        "URLs",
    )
    for number, day in enumerate(days, 1):
        again = f"{day.contents_again} ({day.contents_again / day.known:.1%})" if day.known else "-"
        figures = (day.fetched, day.new, len(day.lost), len(day.missed), day.replaced, day.known)
        table.add_row(
            str(number), *(f"{figure:,}" for figure in figures), again, f"{len(day.again)}"
        )
    console.print(table)
    for number, day in enumerate(days if details else (), 1):
        for what in ("lost", "missed", "again"):
            for url in getattr(day, what)[:_SHOWN]:
                console.print(f"day {number}, {what}: {url}", markup=False)
