"""Write feeds and web archives again without the copies in them: `crawldedup filter`.

What stays goes out as it came: the bytes of a line, of a member of an array or of a record, the row of a table.
"""

import json
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any, BinaryIO, Final

from crawldedup.commands import sources
from crawldedup.commands.archives import Record, records_of
from crawldedup.commands.output import Output
from crawldedup.commands.rows import PARTIAL_SUFFIX, STANDARD, check_target, target_file
from crawldedup.commands.sources import ARCHIVE, ARRAY, CSV, LINES, PARQUET, Complaints, Entry, Fields, form_of
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.printable import pluralize
from crawldedup.verdict import Kind, Verdict

_BATCH: Final = 100
_BATCH_LETTERS: Final = 16 * 1024 * 1024
"""A batch with so much text takes no more: few pages are longer, and these would fill the memory."""
_FIGURES: Final = ("items", "written", "exact_duplicate", "near_duplicate", "known", "thin", "not_compared")
_ENDINGS: Final = "it must end in .jsonl, .json, .csv or .warc, all of them perhaps with .gz, or in .parquet"
_COMPANIONS: Final = ("request", "metadata")
"""Records that tell of a response, and of nothing without it."""
_PIECE: Final = 1 << 18
_GROUP_ROWS: Final = 100_000
_GROUP_BYTES: Final = 64 * 1024 * 1024
"""A row group is in memory until it is written. This is half of what the writers of large data sets take."""

Item = Entry | Record
Items = Iterator[tuple[Item, Page | None]]


def check_files(given: Namespace) -> str:
    """Return the form of what is read and written. Raises ConfigurationError for what cannot be, or would be lost."""
    if given.inputs.count(STANDARD) > 1:
        raise ConfigurationError("standard input can be read only once")
    form = _form(f"--output is {given.output!r},", given.output)
    for name in given.inputs:
        if name != STANDARD and not Path(name).is_file():
            what = "a folder; filter reads files" if Path(name).is_dir() else "no file; - is standard input"
            raise ConfigurationError(f"{name!r} is {what}")
        if (read := _form(f"{name!r} is a file", name)) != form:
            raise ConfigurationError(
                f"{name!r} is {read}, and --output {given.output!r} is {form}: filter keeps the form; DuckDB, jq and "
                "`warcio recompress` convert"
            )
    inputs = [Path(name) for name in given.inputs if name != STANDARD]
    targets = [Path(name) for name in (given.output, given.dropped) if name]
    if len({path.resolve() for path in targets}) < len(targets):
        raise ConfigurationError(f"--output and --dropped both name {given.output!r}")
    for path in targets:
        if str(path) != STANDARD:
            check_target(path, inputs, force=given.force)
    if given.json and Path(STANDARD) in targets:
        raise ConfigurationError("--json writes to standard output itself: name files to write to")
    return form


def _form(shown: str, name: str) -> str:
    form = LINES if name == STANDARD else form_of(name)
    if form is None:
        raise ConfigurationError(f"{shown} whose name tells no form of a feed or web archive: {_ENDINGS}")
    return f"packed, {form}" if form == ARCHIVE and name.lower().endswith(sources.GZIP_SUFFIX) else form


def filter_items(
    dedup: Deduplicator, index: Deduplicator | None, form: str, given: Namespace, fields: Fields, output: Output
) -> None:
    """Write the items of files of a form without copies of earlier ones, and without pages that the `index` knows.

    `dedup` is empty, and has the key of the index. Raises ConfigurationError for a file that is not what its name
    says, StoreError, and OSError if something cannot be written. Then no file is written.
    """
    target = Path(given.output)
    is_archive = form.endswith(ARCHIVE)
    with (
        Complaints(output.error, given.output, "page", "kept without being compared") as uncompared,
        ExitStack() as stack,
    ):
        run = _Run(dedup, index, uncompared, output)
        # An archive packs each record by itself.
        whole = target_file(target, force=given.force, packs=not is_archive, is_whole=lambda: not run.is_cut)
        out = stack.enter_context(whole)
        if given.dropped:
            run.dropped = stack.enter_context(target_file(Path(given.dropped), force=given.force))
        if is_archive:
            for path in map(Path, given.inputs):
                run.write_archive(path, out, is_packed=form != ARCHIVE)
        elif form == PARQUET:
            _write_table(run.entries(given.inputs, fields), out, target)
        else:
            _write_text(form, run.entries(given.inputs, fields), out)
    if run.is_cut and given.output != STANDARD:
        message = f"what could be read is in {target}{PARTIAL_SUFFIX}, and {target} was not written"
        output.error(ConfigurationError(message))
    run.tell()


class _Run:
    """What is decided of all files. It `is_cut` if one of them could not be read to its end."""

    def __init__(self, dedup: Deduplicator, index: Deduplicator | None, uncompared: Complaints, output: Output) -> None:
        self._dedup = dedup
        self._index = index
        self._uncompared = uncompared
        self._output = output
        self._names = map("filter {}".format, count())
        self._counts: Counter[str] = Counter(dict.fromkeys(_FIGURES, 0))
        self.dropped: BinaryIO | None = None
        self.is_cut = False

    def _decided(self, items: Items) -> Iterator[tuple[Any, bool]]:
        """Yield each item, and whether it is kept: one without a page, or whose page cannot be compared, is.

        Items are compared by their texts alone: each is a page of its own, whatever its URL. Raises StoreError.
        """
        for batch in batches(self._output.counted(items)):
            reads = [page and self._read(page) for _, page in batch]
            pages = [read for read in reads if read is not None]
            known: dict[str | None, Verdict] = {}
            if self._index is not None:
                asked = self._index.check_many(replace(page, remember=False) for page in pages)
                known = {page.identity: verdict for page, verdict in zip(pages, asked, strict=True)}
                known = {name: verdict for name, verdict in known.items() if verdict.is_duplicate}
            new = [page for page in pages if page.identity not in known]
            own = {page.identity: verdict for page, verdict in zip(new, self._dedup.check_many(new), strict=True)}
            for (item, page), read in zip(batch, reads, strict=True):
                # Of an archive, only the records with a page are counted as items.
                if read is None:
                    is_item = page is not None or isinstance(item, Entry)
                    self._counts.update(dict.fromkeys(("items", "written", "not_compared"), int(is_item)))
                    yield item, True
                else:
                    is_known = read.identity in known
                    yield item, self._is_kept((known | own)[read.identity], item.place, is_known=is_known)

    def _read(self, page: Page) -> Page | None:
        try:
            read = self._dedup.fingerprint(page.url, html=page.html, text=page.text, encoding=page.encoding)
        except PageError as error:
            message = f"{page.url}: kept without being compared ({error.reason}): {error}"
            self._uncompared.tell(PageError(error.reason, message))
            return None
        return Page(page.url, fingerprint=read, identity=next(self._names))

    def _is_kept(self, verdict: Verdict, place: str, *, is_known: bool) -> bool:
        self._counts["items"] += 1
        if not verdict.is_duplicate:
            self._counts["thin"] += verdict.kind is Kind.THIN
            self._counts["written"] += 1
            return True
        self._counts["known" if is_known else str(verdict.kind)] += 1
        if self.dropped is not None:
            line = {name: getattr(verdict, name) for name in ("url", "kind", "original", "similarity")}
            self.dropped.write(json.dumps(line | {"known": is_known, "place": place}).encode() + b"\n")
        return False

    def entries(self, names: Sequence[str], fields: Fields) -> Iterator[tuple[Entry, bool]]:
        """Yield the items of feeds, and whether each is kept. Raises ConfigurationError for other columns."""
        head = None
        items = chain.from_iterable(self._readable(self._entries(name, fields)) for name in names)
        for entry, is_kept in self._decided(items):
            head = entry.head if head is None else head
            if entry.head is not head and entry.head != head:
                message = f"{entry.place}: the columns are not those of the first file: filter it by itself"
                raise ConfigurationError(message)
            yield entry, is_kept

    def _entries(self, name: str, fields: Fields) -> Items:
        if name == STANDARD:
            name = sources.STDIN
            entries = sources.entries_of_lines(sources.standard_input(), name)
        else:
            entries = sources.entries_of(Path(name), fields)
        pairs = sources.entries_with_pages(entries, name, fields, self._output.unreadable, needs_url=False)
        # Nothing stands at the place of a line that was too long.
        return ((entry, page) for entry, page in pairs if entry.raw)

    def write_archive(self, path: Path, out: BinaryIO, *, is_packed: bool) -> None:
        """Write the records of a web archive that stay, as they stand there. Raises ConfigurationError."""
        with path.open("rb") as file:
            if (beginning := file.read(len(sources.GZIP_MAGIC))) and (beginning == sources.GZIP_MAGIC) != is_packed:
                raise ConfigurationError(f"{path} is {'not ' * is_packed}packed, other than its name says: rename it")
            records = []
            items: Items = ((record, record.page) for record in records_of(path, self._output.unreadable))
            for record, is_kept in self._decided(self._readable(items)):
                if record.is_shared:
                    message = "this record is packed together with others: `warcio recompress` parts them"
                    raise ConfigurationError(f"{record.place}: {message}")
                records.append((record._replace(page=None), not is_kept))
            self._counts["records"] += len(records)
            for record in _staying(records):
                file.seek(record.start)
                piece = b""
                for left in range(record.end - record.start, 0, -_PIECE):
                    piece = file.read(min(left, _PIECE))
                    out.write(piece)
                if not is_packed and not piece.endswith(b"\r\n\r\n"):
                    out.write(b"\r\n\r\n")
                self._counts["records_written"] += 1

    def _readable(self, items: Items) -> Items:
        """Yield what can be read of a file, and tell where that ends. Raises ConfigurationError if it is nothing."""
        is_begun = False
        try:
            for item, page in items:
                is_begun = is_begun or page is not None or isinstance(item, Record)
                yield item, page
        except ConfigurationError as error:
            if not is_begun:
                raise
            self.is_cut = True
            self._output.unreadable(error)

    def tell(self) -> None:
        """Show the figures; standard output may be taken."""
        counts = self._counts
        if self._output.as_json:
            self._output.show(counts)
            return
        exact, near, known = (counts[name] for name in ("exact_duplicate", "near_duplicate", "known"))
        figures = (
            f"{pluralize(counts['items'], 'item')}, {counts['written']:,} written, {exact + near + known:,} left out "
            f"({exact:,} exact, {near:,} near, {known:,} known), {counts['not_compared']:,} not compared"
        )
        if "records" in counts:
            figures += f"; {counts['records_written']:,} of {pluralize(counts['records'], 'record')} written"
        self._output.err.print(figures, markup=False)


def batches(items: Items) -> Iterator[list[tuple[Item, Page | None]]]:
    """Yield items in groups of which each has at most so many, and hardly more than so much text."""
    batch: list[tuple[Item, Page | None]] = []
    letters = 0
    for item, page in items:
        batch.append((item, page))
        letters += len(page.html or page.text or "") if page else 0
        if len(batch) == _BATCH or letters > _BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


def _write_text(form: str, decided: Iterator[tuple[Entry, bool]], out: BinaryIO) -> None:
    end, head, is_empty = b"\r\n" if form == CSV else b"\n", b"", True
    for entry, is_kept in decided:
        if form == CSV and not head:
            head = entry.head
            out.write(head)
        if is_kept:
            before = b"" if form != ARRAY else b"[\n" if is_empty else b",\n"
            out.write(before + entry.raw + (b"" if form == ARRAY or entry.raw.endswith(b"\n") else end))
            is_empty = False
    if form == ARRAY:
        out.write(b"[]\n" if is_empty else b"\n]\n")


def _write_table(decided: Iterator[tuple[Entry, bool]], out: BinaryIO, path: Path) -> None:
    pa = sources.pyarrow_for(path)
    schema, writer, group = pa.schema([]), None, []
    for _, pairs in groupby(decided, lambda pair: id(pair[0].raw[0])):
        entries, kept = zip(*pairs, strict=True)
        batch, _ = entries[0].raw
        if writer is None:
            schema = entries[0].head
            writer = pa.parquet.ParquetWriter(out, schema)
        group.append(batch.filter(pa.array(kept)))
        if sum(each.num_rows for each in group) >= _GROUP_ROWS or sum(each.nbytes for each in group) >= _GROUP_BYTES:
            writer.write_table(pa.Table.from_batches(group, schema))
            group = []
    with writer or pa.parquet.ParquetWriter(out, schema) as last:
        if group:
            last.write_table(pa.Table.from_batches(group, schema))


def _staying(records: Sequence[tuple[Record, bool]]) -> Iterator[Record]:
    """Yield the records of an archive that stay, in order, given whether they are copies.

    A request or metadata goes with the copies that it was captured with, unless a record that stays was, too. Either
    of two records may name the other, which may stand before or behind it. Several may have one id.
    """
    fates: defaultdict[str, list[bool]] = defaultdict(list)

    def fates_of(record: Record) -> list[bool]:
        return [fate for name in (record.id, *record.concurrent) if name for fate in fates[name]]

    for record, is_copy in records:
        if record.kind not in _COMPANIONS:
            for name in (record.id, *record.concurrent):
                fates[name].append(is_copy)
    for record, _ in records:
        if record.kind in _COMPANIONS and record.id:
            # Metadata of a request is that of its response.
            fates[record.id] += fates_of(record)
    for record, is_copy in records:
        known = fates_of(record) if record.kind in _COMPANIONS else [is_copy]
        if not known or not all(known):
            yield record
