"""The command `crawldedup filter`: write feeds and web archives again without the copies.

Pages are read and compared as with `crawldedup scan --keep first`. Then the files are read once
more, and whatever is kept is written as it was read: the bytes of a line, of a member of an array
or of a record, or the row of a table.
"""

import json
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Final, NamedTuple

from crawldedup import checks
from crawldedup.commands import feeds, forms, sources
from crawldedup.commands.archives import Record
from crawldedup.commands.beginnings import spool_lines
from crawldedup.commands.command import (
    STANDARD,
    Output,
    check_target,
    make_deduplicator,
    require_existing,
    target_file,
)
from crawldedup.commands.feeds import Fields
from crawldedup.commands.items import Item, OnError, ignore_note, without_pages
from crawldedup.commands.leftovers import temporary_folder
from crawldedup.commands.wacz import WACZ_SUFFIX, Revisits
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, StoreError
from crawldedup.options import LOWEST_SIMILARITY, Options
from crawldedup.page import Page
from crawldedup.scan.engine import Goal
from crawldedup.scan.read import Chunk, ScanFolder, chunked, read_into
from crawldedup.scan.run import Results, version_of_files
from crawldedup.text import pluralize
from crawldedup.verdict import Kind, Verdict

_ENDINGS: Final = (
    "it must end in .jsonl, .json or .csv, optionally followed by .gz, .bz2, .xz or .zst, or in "
    ".warc, .warc.gz, .warc.zst or .parquet"
)
# Types of records that describe a response, and are useless without it.
_COMPANIONS: Final = ("request", "metadata")
_SHOWN: Final = ("url", "kind", "original", "similarity")
_PIECE: Final = 1 << 18
# The size of a row group, which is in memory until it is written.
_GROUP_BYTES: Final = 64 * 1024 * 1024


class DecidedItem(NamedTuple):
    """An item of a feed, whether it is kept, and whether it had a page that was compared."""

    item: Item
    stays: bool
    is_page: bool


_Decided = Iterator[DecidedItem]


def filter_items(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Write the items of files without copies of earlier items or of the index `against`.

    Raises ConfigurationError for a file that doesn't match its name, StoreError, and OSError if
    something can't be written. Then no file is written.
    """
    form = _check_files(given)
    target = Path(given.output)
    feed = _Feed(given.inputs, form, Fields.of(given)._replace(needs_url=False), output)
    with ExitStack() as stack:
        index = given.against and make_deduplicator(
            given, store=given.against, store_flag="--against"
        )
        if index:
            require_existing(stack.enter_context(closing(index)))
        # An archive compresses each record separately.
        packs = not feed.is_archive
        out = stack.enter_context(
            target_file(target, force=given.force, packs=packs, is_whole=lambda: not feed.is_cut)
        )
        dropped = (
            stack.enter_context(target_file(Path(given.dropped), force=given.force))
            if given.dropped
            else None
        )
        if STANDARD in given.inputs:
            feed.spooled = stack.enter_context(TemporaryFile(prefix="crawldedup-"))
            spool_lines(sys.stdin.buffer, feed.spooled, feed.fields)
        feed.compare(dedup.options, index, given.workers)
        decided = feed.decided(dropped)
        counts = feed.counts()
        if feed.is_archive:
            counts |= {"records": sum(feed.sizes)}
            counts |= _write_archive(decided, out, form, Revisits() if given.revisit else None)
        elif form == forms.PARQUET:
            _write_table(decided, out, target)
        else:
            _write_text(form, decided, out)
    if feed.is_cut and given.output != STANDARD:
        output.error(f"what could be read is in {target}.partial, and {target} was not written")
    if output.as_json:
        output.show(counts)
    else:  # Standard output may be taken.
        output.err.print(_in_words(counts), markup=False)


def _check_files(given: Namespace) -> str:
    """Check the input and output files, and return their common format.

    Raises ConfigurationError for anything that isn't possible, or would be lost.
    """
    checks.whole(1)("--workers", given.workers)
    if given.inputs.count(STANDARD) > 1:
        raise ConfigurationError("standard input can be read only once")
    if given.output.lower().endswith(WACZ_SUFFIX):
        raise ConfigurationError(
            "a WACZ cannot be written: name a .warc.gz file, from which `wacz create` makes one"
        )
    form = _form(f"--output is {given.output!r},", given.output)
    _check_inputs(given, form)
    inputs = [Path(name) for name in given.inputs if name != STANDARD]
    targets = [Path(name) for name in (given.output, given.dropped) if name]
    if len({path.resolve() for path in targets}) < len(targets):
        raise ConfigurationError(f"--output and --dropped both name {given.output!r}")
    for path in targets:
        if str(path) != STANDARD:
            check_target(path, inputs, force=given.force)
    if given.revisit and not form.endswith(forms.ARCHIVE):
        raise ConfigurationError(f"--revisit is for web archives, and this is {form}")
    if given.json and Path(STANDARD) in targets:
        raise ConfigurationError("--json writes to standard output itself: name files to write to")
    return form


def _check_inputs(given: Namespace, form: str) -> None:
    """Check that all inputs are files in the format of the output, or raise ConfigurationError."""
    for name in given.inputs:
        if name != STANDARD and not Path(name).is_file():
            raise ConfigurationError(f"{name!r} is not a file; use - for standard input")
        if (read := _form(f"{name!r} is a file", name)) != form:
            raise ConfigurationError(
                f"{name!r} is {read}, and --output {given.output!r} is {form}: filter cannot "
                "change the format; convert it with DuckDB, jq or `warcio recompress`"
            )


def _form(shown: str, name: str) -> str:
    form = forms.LINES if name == STANDARD else forms.form_of(name)
    why = None if name == STANDARD else forms.why_not_read(name)
    if why is not None:
        raise ConfigurationError(f"{name}: {why}")
    if form is None:
        raise ConfigurationError(
            f"{shown} whose name does not say that it is a feed or a web archive: {_ENDINGS}"
        )
    return forms.packed_archive(name) if form == forms.ARCHIVE else form


@dataclass(slots=True)
class _Feed:
    """The files to filter, as one long series of numbered items, and the results for them.

    All files have the same format. The feed `is_cut` if a file couldn't be read to its end. `sizes`
    are the numbers of items in the files. The items that `are_compared` are, in their order, the
    rows of the `results`; of the `known`, an index has copies.
    """

    names: Sequence[str]
    form: str
    fields: Fields
    output: Output
    spooled: BinaryIO | None = None
    is_cut: bool = False
    head: Any = None
    sizes: list[int] = field(default_factory=list)
    known: dict[int, dict[str, Any]] = field(default_factory=dict)
    are_compared: bytearray = field(default_factory=bytearray)
    version: str = ""
    results: Results = field(init=False)

    @property
    def is_archive(self) -> bool:
        return self.form.endswith(forms.ARCHIVE)

    def compare(self, options: Options, index: Deduplicator | None, workers: int) -> None:
        """Read the pages in worker processes, and find copies of earlier pages or of the index.

        Raises ConfigurationError, StoreError and OSError.
        """
        self.version = version_of_files(self.names)
        chunks = chunked(map(self._checked, self.output.counted(self._items())))
        read = chunks if index is None else self._not_in(index, chunks)
        fate = "kept without being compared"
        with temporary_folder("crawldedup-filter-") as path:
            folder = ScanFolder(path)
            for numbers in read_into(folder, read, options, workers, self.output, fate):
                for number in numbers:
                    self.are_compared[number] = True
            with self.output.shares() as share:
                self.results = Results.of(folder, options, share, keep="first")

    def _items(self) -> Iterator[Item]:
        """Yield every item that can be read from the files, and note where that ends.

        Raises ConfigurationError if nothing can be read.
        """
        for name in self.names:
            self.sizes.append(0)
            has_pages = False
            try:
                for item in self._open(name, self.fields, self.output.unreadable):
                    has_pages = has_pages or isinstance(item.page, Page)
                    self.sizes[-1] += 1
                    self.are_compared.append(False)
                    yield item
                if not has_pages:
                    self.output.unreadable(without_pages(name))
            except ConfigurationError as error:
                if not self.sizes[-1]:
                    raise
                self.is_cut = True
                self.output.unreadable(error)

    def _open(self, name: str, fields: Fields | None, on_error: OnError) -> Iterator[Item]:
        if self.spooled is None or name != STANDARD:
            # The files are read twice, but notes about them are only shown once.
            on_note = ignore_note if fields is None else self.output.error
            return sources.items_of_file(Path(name), fields, on_error, on_note)
        self.spooled.seek(0)
        return sources.items_of_lines(self.spooled, fields, on_error)

    def _checked(self, item: Item) -> Item:
        """Return an item, or raise ConfigurationError if it can't be written among the others."""
        self.head = item.head if self.head is None else self.head
        if item.head is not self.head and item.head != self.head:
            raise ConfigurationError(
                f"{item.place}: the columns differ from those of the first file: filter it "
                "separately"
            )
        if isinstance(record := item.raw, Record):
            if forms.archive_packed_by(record.packing) != self.form:
                what = f"packed as {record.packing}" if record.packing else "not packed"
                raise ConfigurationError(
                    f"{record.path} is {what}, which does not match its name: rename it"
                )
            if record.is_shared:
                message = (
                    "this record is compressed together with others: `warcio recompress` "
                    "separates them"
                )
                raise ConfigurationError(f"{item.place}: {message}")
        return item

    def _not_in(self, index: Deduplicator, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield only the pages of which the index has no copy, at the same URL or another one.

        Raises StoreError.
        """
        options = index.options
        least = Goal(options.similarity, options.recall).threshold
        enough = max(least, LOWEST_SIMILARITY + 0.01)
        for chunk in chunks:
            looks = [
                replace(page, remember=False, revisit_similarity=enough) for page in chunk.pages
            ]
            for number, verdict in zip(chunk.numbers, index.check_batch(looks), strict=True):
                if isinstance(verdict, StoreError):
                    raise verdict
                if isinstance(verdict, Verdict) and (kind := _known_kind(verdict)):
                    shown = {name: getattr(verdict, name) for name in _SHOWN}
                    self.known[number] = shown | {"kind": kind, "known": True}
            new = [at for at, number in enumerate(chunk.numbers) if number not in self.known]
            yield chunk._replace(
                numbers=[chunk.numbers[at] for at in new], pages=[chunk.pages[at] for at in new]
            )

    def decided(self, dropped: BinaryIO | None) -> _Decided:
        """Read the files a second time, and yield each item with the decision about it.

        Copies are listed in `dropped`. Raises ConfigurationError if the files have changed.
        """
        row = 0
        files = zip(self.names, self.sizes, strict=True)
        items = chain.from_iterable(
            islice(self._open(name, None, lambda _: None), size) for name, size in files
        )
        for number, (item, is_compared) in enumerate(zip(items, self.are_compared, strict=False)):
            copy = self.known.get(number)
            if is_compared:
                if not self.results.is_kept(row):
                    copy = dict(zip(_SHOWN, self.results.row(row).values(), strict=True)) | {
                        "known": False
                    }
                row += 1
            if copy is not None and dropped is not None:
                dropped.write(json.dumps(copy | {"place": item.place}).encode() + b"\n")
            yield DecidedItem(item, copy is None, bool(is_compared or copy))
        if version_of_files(self.names) != self.version:
            raise ConfigurationError("a file has changed while it was read: nothing is written")

    def counts(self) -> dict[str, int]:
        """Return the number of items that were kept and dropped.

        For an archive, it's that of pages.
        """
        found = self.results.summary()
        tried = len(self.known) + found["pages"] + found["skipped"]
        items = tried if self.is_archive else sum(self.sizes)
        return {
            "items": items,
            "written": items - found["duplicates"] - len(self.known),
            "exact_duplicate": found["exact"],
            "near_duplicate": found["near"],
            "known": len(self.known),
            "thin": int((self.results.pages.thin & self.results.duplicates.kept).sum()),
            "not_compared": items - found["pages"] - len(self.known),
        }


def _known_kind(verdict: Verdict) -> str | None:
    """Return how an index knows a page, for example as a near duplicate, or None if it doesn't.

    An index may remember a page with the same URL. That is also a copy, if its content is still the
    same.
    """
    if verdict.is_duplicate:
        return str(verdict.kind)
    if verdict.kind is not Kind.REVISIT or verdict.changed:
        return None
    return str(Kind.EXACT_DUPLICATE if verdict.similarity == 1 else Kind.NEAR_DUPLICATE)


def _in_words(counts: dict[str, int]) -> str:
    exact, near, known = (counts[name] for name in ("exact_duplicate", "near_duplicate", "known"))
    figures = (
        f"{pluralize(counts['items'], 'item')}, {counts['written']:,} written, "
        f"{exact + near + known:,} left out ({exact:,} exact, {near:,} near, {known:,} known), "
        f"{counts['not_compared']:,} not compared"
    )
    if "records" in counts:
        figures += (
            f"; {counts['records_written']:,} of {pluralize(counts['records'], 'record')} written"
        )
    if "revisits" in counts:
        figures += f", {counts['revisits']:,} of them as revisits"
    return figures


def _write_text(form: str, decided: _Decided, out: BinaryIO) -> None:
    if form == forms.ARRAY:
        _write_array(decided, out)
        return
    line_end = b"\r\n" if form == forms.CSV else b"\n"
    has_head = False
    for item, stays, _ in decided:
        if item.head and not has_head:
            out.write(item.head)
            has_head = True
        if stays:
            out.write(item.raw if item.raw.endswith(b"\n") else item.raw + line_end)


def _write_array(decided: _Decided, out: BinaryIO) -> None:
    before = b"[\n"
    for item, stays, _ in decided:
        if stays:
            out.write(before + item.raw)
            before = b",\n"
    out.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _write_table(decided: _Decided, out: BinaryIO, path: Path) -> None:
    pa = feeds.pyarrow_for(path)
    try:
        _write_batches(decided, out, pa)
    except pa.ArrowException as error:
        raise ConfigurationError(f"{path} cannot be written: {error}") from error


def _write_batches(decided: _Decided, out: BinaryIO, pa: Any) -> None:
    """Write the kept rows to a Parquet file, one row group at a time."""
    first = list(islice(decided, 1))
    schema = first[0].item.head if first else pa.schema([])
    with pa.parquet.ParquetWriter(out, schema) as writer:
        group: list[Any] = []
        size = 0
        rows = chain(first, decided)
        for _, rows_of_batch in groupby(rows, lambda row: id(row.item.raw[0])):
            for piece in _staying_rows(list(rows_of_batch)):
                group.append(_copied(piece, pa))
                size += piece.nbytes
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group, schema))
                group = []
                size = 0
        if group:
            writer.write_table(pa.Table.from_batches(group, schema))


def _staying_rows(rows: Sequence[DecidedItem]) -> Iterator[Any]:
    """Yield the kept rows of a batch, joining neighbors into longer pieces.

    Unlike a selection by mask, this works in pyarrow for columns of every type.
    """
    for stays, neighbors in groupby(rows, lambda row: row.stays):
        items = [row.item for row in neighbors]
        if stays:
            batch, start = items[0].raw
            yield batch.slice(start, len(items))


def _copied(piece: Any, pa: Any) -> Any:
    """Copy rows of a table into memory of their own.

    pyarrow cannot write some columns, such as views of texts inside of structs, from the middle of
    a batch, but it can send all of them.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, piece.schema) as stream:
        stream.write_batch(piece)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()


def _write_archive(
    decided: _Decided, out: BinaryIO, form: str, revisits: Revisits | None
) -> dict[str, int]:
    """Write the kept records unchanged, and revisits for copies. Return how many there are."""
    written = revisited = 0
    for path, rows in groupby(decided, lambda row: row.item.raw.path):
        with path.open("rb") as file:
            fates: list[_RecordFate] = []
            exact: set[int] = set()
            for item, stays, is_page in rows:
                record: Record = item.raw
                if (
                    revisits is not None
                    and is_page
                    and revisits.has_seen(file, record, stays=stays)
                ):
                    exact.add(record.start)
                fates.append(_RecordFate(record, not stays and record.start not in exact))
            for record in _staying(fates):
                if revisits is not None and record.start in exact:
                    out.write(revisits.made_of(file, record))
                else:
                    _copy_record(file, record, out, needs_end=form == forms.ARCHIVE)
                written += 1
            revisited += len(exact)
    return {"records_written": written} | ({} if revisits is None else {"revisits": revisited})


class _RecordFate(NamedTuple):
    """A record of a web archive, and whether it is left out as a copy."""

    record: Record
    is_copy: bool


def _copy_record(file: BinaryIO, record: Record, out: BinaryIO, *, needs_end: bool) -> None:
    file.seek(record.start)
    piece = b""
    for left in range(record.end - record.start, 0, -_PIECE):
        piece = file.read(min(left, _PIECE))
        out.write(piece)
    if needs_end and not piece.endswith(b"\r\n\r\n"):
        out.write(b"\r\n\r\n")


def _staying(records: Sequence[_RecordFate]) -> Iterator[Record]:
    """Yield the records of an archive that are kept, in order.

    A request or metadata is left out with the copies that it was captured with, unless it was also
    captured with a record that is kept. Either of two records may name the other one, which may
    come before or after it. Several records may have the same id.
    """
    fates: defaultdict[str, list[bool]] = defaultdict(list)

    def fates_of(record: Record) -> list[bool]:
        return [fate for name in record.names if name for fate in fates[name]]

    for record, is_copy in records:
        if record.kind not in _COMPANIONS:
            for name in record.names:
                fates[name].append(is_copy)
    for record, _ in records:
        if record.kind in _COMPANIONS and record.names[0]:
            # Metadata of a request is that of its response.
            fates[record.names[0]] += fates_of(record)
    for record, is_copy in records:
        known = fates_of(record) if record.kind in _COMPANIONS else [is_copy]
        if not known or not all(known):
            yield record
