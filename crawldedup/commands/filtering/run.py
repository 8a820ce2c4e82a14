"""Filter feeds and web archives: every item goes out as it came, but for copies of earlier ones."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from contextlib import ExitStack, closing, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

from crawldedup.commands.feeds import entries_with_pages
from crawldedup.commands.filtering.archives import Placed, copy_record, kept
from crawldedup.commands.filtering.decisions import Decider
from crawldedup.commands.filtering.files import STANDARD
from crawldedup.commands.filtering.target import standard_output, target_file
from crawldedup.commands.filtering.writers import UnwritableError, writer_for
from crawldedup.commands.reading.archives import records_of
from crawldedup.commands.reading.complaints import Complaints
from crawldedup.commands.reading.entries import ARCHIVE, GZIP_SUFFIX, entries_of, entries_of_lines, lines_from
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import pluralize
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.commands.feeds import Fields, Item
    from crawldedup.commands.filtering.decisions import Decision
    from crawldedup.commands.filtering.files import Files
    from crawldedup.commands.output import Output
    from crawldedup.commands.reading.entries import Entry
    from crawldedup.deduplicator import Deduplicator

T = TypeVar("T")

_LEVEL: Final = 6
"""What gzip does by itself. The highest level takes thrice as long, for one percent."""
_FIGURES: Final = (
    "items",
    "written",
    "exact_duplicate",
    "near_duplicate",
    "known",
    "thin",
    "not_compared",
    "unwritable",
)


def filter_items(dedup: Deduplicator, index: Deduplicator | None, files: Files, fields: Fields, output: Output) -> None:
    """Write the items of files without copies of earlier ones, and without pages that the `index` knows.

    `dedup` is empty, and has the key of the index. Raises ConfigurationError for a file that is not what its name
    says, StoreError, and OSError if something cannot be written. Then no file is written.
    """
    if output.as_json and STANDARD in (files.target, files.dropped):
        raise ConfigurationError("--json writes to standard output itself: name files to write to")
    with ExitStack() as stack:
        out = _opened(files.target, files, stack)
        dropped = _opened(files.dropped, files, stack) if files.dropped else None
        unread = stack.enter_context(Complaints(output.error, files.target, "page", "kept without being compared"))
        decider = Decider(dedup, index, lambda url, error: unread.tell(_kept(url, error)))
        run = _Run(decider, fields, output, dropped)
        (run.archives if files.form == ARCHIVE else run.feeds)(files, out)
    run.tell()


def _opened(name: str, files: Files, stack: ExitStack) -> BinaryIO:
    if name == STANDARD:
        return stack.enter_context(standard_output())
    path = Path(name)
    file = stack.enter_context(target_file(path, force=files.force))
    # An archive packs each record by itself.
    if path.suffix.lower() != GZIP_SUFFIX or (files.form == ARCHIVE and name == files.target):
        return file
    return cast("BinaryIO", stack.enter_context(gzip.GzipFile("", "wb", _LEVEL, file, mtime=0)))


def _kept(url: str, error: PageError) -> PageError:
    return PageError(error.reason, f"{url}: kept without being compared ({error.reason}): {error}")


class _Run:
    """One run, with its figures."""

    def __init__(self, decider: Decider, fields: Fields, output: Output, dropped: BinaryIO | None) -> None:
        self._decider = decider
        self._fields = fields
        self._output = output
        self._dropped = dropped
        self._counts: Counter[str] = Counter(dict.fromkeys(_FIGURES, 0))

    def feeds(self, files: Files, out: BinaryIO) -> None:
        """Write the items of feeds."""
        writer = writer_for(files.form, out, Path(files.target))
        is_begun = False
        found = chain.from_iterable(self._whole(self._entries(name)) for name in files.inputs)
        with Complaints(self._output.unreadable, files.target, "item", "not written") as complaints, closing(writer):
            for decision in self._decider.decide(self._output.counted(found)):
                entry = decision.item
                if not is_begun:
                    with suppress(UnwritableError):
                        writer.begin(entry)
                        is_begun = True
                if self._is_kept(decision, entry.place):
                    try:
                        writer.write(entry)
                        self._counts["written"] += 1
                    except UnwritableError as error:
                        self._counts["unwritable"] += 1
                        complaints.tell(error)
            writer.finish()

    def _entries(self, name: str) -> Iterator[tuple[Entry, Item | None]]:
        if name != STANDARD:
            entries = entries_of(Path(name), self._fields.names)
        elif sys.stdin is None:
            raise ConfigurationError("there is no standard input to read: it is closed")
        else:
            name = "standard input"
            entries = entries_of_lines(lines_from(sys.stdin.buffer, name), name)
        return entries_with_pages(entries, name, self._fields, self._output.unreadable, needs_url=False)

    def archives(self, files: Files, out: BinaryIO) -> None:
        """Write the records of web archives, one by one: what was captured together stands in one of them."""
        is_packed = files.target.lower().endswith(GZIP_SUFFIX)
        for path in map(Path, files.inputs):
            records = []
            found = ((record, record.page) for record in self._whole(records_of(path, self._output.unreadable)))
            for decision in self._decider.decide(self._output.counted(found)):
                record = decision.item
                is_kept = record.page is None or self._is_kept(decision, f"{path}, at byte {record.span.start:,}")
                self._counts["written"] += is_kept and record.page is not None
                records.append(Placed.of(record, is_copy=not is_kept))
            self._counts["records"] += len(records)
            with path.open("rb") as file:
                for placed in kept(records):
                    copy_record(file, placed.span, out, packed=is_packed)
                    self._counts["records_written"] += 1

    def _whole(self, found: Iterator[T]) -> Iterator[T]:
        """Yield what can be read of a file, and tell where that ends. Raises ConfigurationError if it is nothing."""
        is_begun = False
        try:
            for each in found:
                is_begun = True
                yield each
        except ConfigurationError as error:
            if not is_begun:
                raise
            self._output.unreadable(error)

    def _is_kept(self, decision: Decision[Any], place: str) -> bool:
        """Count an item, and write the verdict of one to leave out."""
        verdict = decision.verdict
        self._counts["items"] += 1
        if verdict is None:
            self._counts["not_compared"] += 1
            return True
        if not verdict.is_duplicate:
            self._counts["thin"] += verdict.kind is Kind.THIN
            return True
        self._counts["known" if decision.is_known else str(verdict.kind)] += 1
        if self._dropped is not None:
            told = {name: getattr(verdict, name) for name in ("url", "kind", "original", "similarity")}
            line = {**told, "kind": str(verdict.kind), "known": decision.is_known, "place": place}
            self._dropped.write(json.dumps(line).encode() + b"\n")
        return False

    def tell(self) -> None:
        """Show the figures; standard output may be taken."""
        counts = self._counts
        if self._output.as_json:
            self._output.show(counts)
            return
        left_out = {
            "exact": counts["exact_duplicate"],
            "near": counts["near_duplicate"],
            "known": counts["known"],
        }
        parts = ", ".join(f"{number:,} {name}" for name, number in left_out.items())
        told = (
            f"{pluralize(counts['items'], 'item')}, {counts['written']:,} written, {sum(left_out.values()):,} left out"
        )
        told += f" ({parts}), {counts['not_compared']:,} not compared"
        if counts["unwritable"]:
            told += f", {counts['unwritable']:,} that the output cannot hold"
        if "records" in counts:
            told += f"; {counts['records_written']:,} of {pluralize(counts['records'], 'record')} written"
        self._output.err.print(told, markup=False)
