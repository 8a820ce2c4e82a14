"""Crawls with the add-on and without, in pairs, and the tables of what they cost."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.scrapy_parts.crawl import TICK_SECONDS, Outcome
from benchmarks.shared.common import make_table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from rich.console import Console

    Advance = Callable[[int], None]


@dataclass(frozen=True)
class Setup:
    """How the add-on is set; `extractor` None is a crawl without it."""

    extractor: str | None
    store: str = "memory"
    workers: int = 1

    @property
    def label(self) -> tuple[str, str, str]:
        if self.extractor is None:
            return ("without the add-on", "", "")
        return (self.extractor, self.store, str(self.workers))


@dataclass(frozen=True)
class Crawl:
    """A crawl, and the processor time that the two servers took meanwhile."""

    setup: Setup
    outcome: Outcome
    site_seconds: float
    store_server_seconds: float

    def milliseconds(self, name: str) -> float:
        """One of the outcome's or this crawl's times, a page."""
        seconds = getattr(self, name) if hasattr(self, name) else getattr(self.outcome, name)
        return float(seconds) * 1e3 / self.outcome.pages


@dataclass(frozen=True)
class Pair:
    """A crawl without the add-on and one with it, one after the other."""

    off: Crawl
    on: Crawl

    @property
    def ratio(self) -> float:
        """Pages a second with the add-on over pages a second without."""
        return self.on.outcome.pages_a_second / self.off.outcome.pages_a_second


def median_of(crawls: Sequence[Crawl], name: str) -> float:
    return statistics.median(one.milliseconds(name) for one in crawls)


def show_throughput(console: Console, options: argparse.Namespace, measured: dict[Setup, list[Pair]]) -> None:
    table = make_table(
        f"{options.pages:,} pages, {options.repeat} pairs of crawls; medians, and processor ms a page",
        *("extractor", "store", "workers", "pages/s off", "pages/s on", "on / off", "lowest", "highest"),
        *("Scrapy off", "Scrapy on", "workers", "store server", "web server", "duplicates"),
    )
    for setup, of_setup in measured.items():
        ratios = [pair.ratio for pair in of_setup]
        on, off = [pair.on for pair in of_setup], [pair.off for pair in of_setup]
        table.add_row(
            *setup.label,
            f"{statistics.median(one.outcome.pages_a_second for one in off):.0f}",
            f"{statistics.median(one.outcome.pages_a_second for one in on):.0f}",
            f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f}",
            f"{max(ratios):.2f}",
            f"{median_of(off, 'cpu_seconds'):.2f}",
            f"{median_of(on, 'cpu_seconds'):.2f}",
            f"{median_of(on, 'worker_seconds'):.2f}",
            f"{median_of(on, 'store_server_seconds'):.2f}",
            f"{median_of(on, 'site_seconds'):.2f}",
            f"{statistics.median(one.outcome.duplicates / one.outcome.pages for one in on):.0%}",
        )
    console.print(table)


def show_lateness(console: Console, options: argparse.Namespace, measured: dict[Setup, list[Pair]]) -> None:
    """Show how late the event loop is; without a delay, Scrapy's own loop is busy with several answers in a row."""
    table = make_table(
        f"a tick each {TICK_SECONDS * 1e3:.0f} ms comes late by ms; medians of {options.repeat} crawls of "
        f"{options.pages:,} pages, {options.delay:g} s between requests",
        *("extractor", "store", "workers", "p50 off", "p50 on", "p99 off", "p99 on", "latest off", "latest on"),
    )
    for setup, of_setup in measured.items():
        sides = [[pair.off for pair in of_setup], [pair.on for pair in of_setup]]
        cells = [
            f"{statistics.median(one.outcome.ticks[place] for one in side) * 1e3:.1f}"
            for place in range(3)
            for side in sides
        ]
        table.add_row(*setup.label, *cells)
    console.print(table)


def show_parts(console: Console, setup: Setup, rows: Sequence[PartRow], measured: Sequence[Pair]) -> None:
    extractor, store, workers = setup.label
    total = sum(row.milliseconds for row in rows)
    table = make_table(f"{extractor}, {store}, workers: {workers}; processor ms a page", "part", "where", "ms", "share")
    for row in rows:
        table.add_row(row.part, row.where, f"{row.milliseconds:.3f}", f"{row.milliseconds / total:.1%}")
    table.add_section()
    table.add_row("all", "", f"{total:.3f}", "")
    without = median_of([pair.off for pair in measured], "loop_seconds")
    table.add_row("without the add-on", "event loop", f"{without:.3f}", "")
    console.print(table)


@dataclass(frozen=True)
class PartRow:
    """Processor milliseconds a page, and which thread or process takes them."""

    part: str
    where: str
    milliseconds: float


def part_rows(reading: tuple[float, float], measured: Sequence[Pair]) -> list[PartRow]:
    """Where the time goes; what the workers take more than the parts that were timed alone is a row, too."""
    on = [pair.on for pair in measured]
    extract, fingerprint = reading
    loop, process = median_of(on, "loop_seconds"), median_of(on, "cpu_seconds")
    return [
        PartRow("fetch, parse, callback, send and receive", "event loop", loop),
        PartRow("DNS, garbage collection, ...", "other threads", process - loop),
        PartRow("extract", "worker", extract),
        PartRow("fingerprint", "worker", fingerprint),
        PartRow(
            "start, plan, ask the store, answer", "worker", median_of(on, "worker_seconds") - extract - fingerprint
        ),
        PartRow("store server", "its process", median_of(on, "store_server_seconds")),
    ]


def resident_at(outcome: Outcome, pages: int) -> float:
    """Megabytes when so many pages had come."""
    return next(resident for seen, resident in outcome.resident if seen >= pages) / 1e6
