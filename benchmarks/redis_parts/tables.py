"""Tables of what was measured on a Redis server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.redis_parts.memory import OTHER, PARTS, Memory
from benchmarks.shared.common import make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from benchmarks.redis_parts.server import TimeRow


def show_memory(console: Console, version: str, measured: Sequence[Memory], computed: Memory | None = None) -> None:
    """Bytes a page; with the dictionary of keys, and in brackets without."""
    rows = [*measured, computed] if computed else list(measured)
    headings = [f"{row.pages:,}{' (computed)' if row is computed else ''}" for row in rows]
    title = f"{version}: bytes a page, with the dictionary of keys (as MEMORY USAGE has it); keys a page"
    table = make_table(title, "part", *headings)

    def cell(row: Memory, name: str, less: float = 0.0) -> str:
        part = row.part(name)
        whole, usage = part.whole / row.pages - less, part.usage / row.pages - less
        return f"{whole:.1f} ({usage:.1f}); {part.keys / row.pages:.4f}"

    for name in [*PARTS.values(), OTHER]:
        if any(row.part(name).keys for row in rows):
            table.add_row(name, *(cell(row, name) for row in rows))
        if name == "records" and any(row.url_bytes for row in rows):
            table.add_row("records beyond the URL", *(cell(row, name, row.url_bytes) for row in rows))
    table.add_section()
    table.add_row("all (used_memory)", *(f"{row.used / row.pages:.1f}" for row in rows))
    table.add_row("resident", *(f"{row.resident / row.pages:.1f}" for row in rows))
    table.add_row("all, GB", *(f"{row.used / 1e9:,.2f}" for row in rows))
    console.print(table)


def show_time(console: Console, title: str, rows: Sequence[TimeRow]) -> None:
    table = make_table(
        f"{title}; figures a check, p50 and p99 of a single check or a whole batch",
        *("index", "pages", "queries", "clients", "batch", "checks/s", "script us", "CPU us", "p50 us", "p99 us"),
        *("calls", "bytes in, out", "probes", "compared", "checks", "new"),
    )
    for row in rows:
        table.add_row(
            row.index,
            f"{row.pages:,}",
            row.queries,
            str(row.clients),
            str(row.batch),
            f"{row.checks_a_second:,.0f}",
            f"{row.script_microseconds:.0f}",
            f"{row.cpu_microseconds:.0f}",
            f"{row.p50_microseconds:.0f}",
            f"{row.p99_microseconds:.0f}",
            f"{row.calls:.2f}",
            f"{row.bytes_in:.0f}, {row.bytes_out:.0f}",
            "" if row.probes is None else f"{row.probes:.1f}",
            "" if row.candidates is None else f"{row.candidates:.2f}",
            f"{row.checks:,}",
            f"{row.statuses.get('new', 0) / row.checks:.1%}",
        )
    console.print(table)


def show_ratios(console: Console, rows: Sequence[TimeRow]) -> None:
    """How much longer a check takes in the largest index than in the smallest."""
    own = [row for row in rows if row.index == "crawldedup"]
    smallest, largest = min(row.pages for row in own), max(row.pages for row in own)
    if smallest == largest:
        return
    by_size = {(row.queries, row.clients, row.batch, row.pages): row.script_microseconds for row in own}
    for queries, clients, batch, pages in by_size:
        if pages == largest and clients == 1:
            ratio = by_size[queries, clients, batch, largest] / by_size[queries, clients, batch, smallest]
            way = f"batches of {batch}" if batch > 1 else "single"
            console.print(f"{queries}, {way}: {largest:,} pages take {ratio:.2f} times the script time of {smallest:,}")
