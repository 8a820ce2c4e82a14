"""Write feeds and web archives again without the copies in them: `crawldedup filter`.

What stays goes out as it came: the bytes of a line, of a member of an array or of a record, the row of a table.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, NamedTuple, TypeVar

from crawldedup.commands import feeds
from crawldedup.commands.archives import GZIP_MAGIC, Record, records_of
from crawldedup.commands.feeds import ARCHIVE, ARRAY, CSV, LINES, Complaints, Entry, Fields, form_of
from crawldedup.commands.output import Output
from crawldedup.commands.rows import STANDARD, check_target, target_file
from crawldedup.commands.sources import STDIN, standard_input
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.printable import pluralize
from crawldedup.verdict import Kind, Verdict

T = TypeVar("T")
OnUnreadable = Callable[[str, PageError], None]

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


@dataclass(frozen=True, slots=True)
class Files:
    """Names of files to read and to write; "-" is standard input or output. Raises ConfigurationError."""

    inputs: tuple[str, ...]
    target: str
    dropped: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        """Check what is read, and that nothing is written over it."""
        if self.inputs.count(STANDARD) > 1:
            raise ConfigurationError("standard input can be read only once")
        if self.target == self.dropped == STANDARD:
            raise ConfigurationError("--output and --dropped both name standard output")
        for name in self.inputs:
            if name != STANDARD and not Path(name).is_file():
                what = "a folder; filter reads files" if Path(name).is_dir() else "no file; - is standard input"
                raise ConfigurationError(f"{name!r} is {what}")
            if (form := _form(f"{name!r} is a file", name)) != self.form:
                raise ConfigurationError(
                    f"{name!r} is {form}, and --output {self.target!r} is {self.form}: filter keeps the form; DuckDB, "
                    "jq and `warcio recompress` convert"
                )
        read = [Path(name) for name in self.inputs if name != STANDARD]
        written = [Path(name) for name in (self.target, self.dropped) if name and name != STANDARD]
        if len({path.resolve() for path in written}) < len(written):
            raise ConfigurationError(f"--output and --dropped both name {self.target!r}")
        for path in written:
            check_target(path, read, force=self.force)

    @property
    def form(self) -> str:
        """The form of what is read and written."""
        return _form(f"--output is {self.target!r},", self.target)


def _form(shown: str, name: str) -> str:
    form = LINES if name == STANDARD else form_of(name)
    if form is None:
        raise ConfigurationError(f"{shown} whose name tells no form of a feed or web archive: {_ENDINGS}")
    return f"packed, {form}" if form == ARCHIVE and _is_packed(name) else form


def _is_packed(name: str) -> bool:
    return name.lower().endswith(feeds.GZIP_SUFFIX)


class Decision(NamedTuple, Generic[T]):
    """What became of an item. The verdict is None for an item whose page cannot be compared.

    It `is_known` if the index that is filtered by knows its page.
    """

    item: T
    verdict: Verdict | None = None
    is_known: bool = False


def decide(
    dedup: Deduplicator,
    index: Deduplicator | None,
    on_unreadable: OnUnreadable,
    numbers: Iterator[int],
    items: Iterable[tuple[T, Page | None]],
) -> Iterator[Decision[T]]:
    """Yield a decision for each item, in their order. An item without a page is no copy. Raises StoreError.

    Items are compared by their texts alone: each is a page of its own, named by the next of the `numbers`, whatever its
    URL. `dedup` remembers those that are no copies. Nothing is added to the `index`.
    """

    def looked_up(item: T, page: Page | None) -> Decision[T] | tuple[T, Page]:
        if page is None:
            return Decision(item)
        try:
            read = dedup.fingerprint(html=page.html, text=page.text, encoding=page.encoding, url=page.url)
        except PageError as error:
            on_unreadable(page.url, error)
            return Decision(item)
        name = f"filter {next(numbers)}"
        if index is not None:
            (known,) = index.check_batch([Page(page.url, fingerprint=read, identity=name, remember=False)])
            if isinstance(known, Exception):
                raise known
            if known.is_duplicate:
                return Decision(item, known, is_known=True)
        return item, Page(page.url, fingerprint=read, identity=name)

    for batch in _batches(items):
        found = [looked_up(item, page) for item, page in batch]
        verdicts = dedup.check_many([each[1] for each in found if not isinstance(each, Decision)])
        for each in found:
            yield each if isinstance(each, Decision) else Decision(each[0], next(verdicts))


def _batches(items: Iterable[tuple[T, Page | None]]) -> Iterator[list[tuple[T, Page | None]]]:
    batch: list[tuple[T, Page | None]] = []
    letters = 0
    for item, page in items:
        batch.append((item, page))
        letters += len(page.html or page.text or "") if page else 0
        if len(batch) == _BATCH or letters > _BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    yield batch


def filter_items(dedup: Deduplicator, index: Deduplicator | None, files: Files, fields: Fields, output: Output) -> None:
    """Write the items of files without copies of earlier ones, and without pages that the `index` knows.

    `dedup` is empty, and has the key of the index. Raises ConfigurationError for a file that is not what its name
    says, StoreError, and OSError if something cannot be written. Then no file is written.
    """
    if output.as_json and STANDARD in (files.target, files.dropped):
        raise ConfigurationError("--json writes to standard output itself: name files to write to")
    is_archive = form_of(files.target) == ARCHIVE
    with ExitStack() as stack:
        # An archive packs each record by itself.
        out = stack.enter_context(target_file(Path(files.target), force=files.force, packs=not is_archive))
        dropped = stack.enter_context(target_file(Path(files.dropped), force=files.force)) if files.dropped else None
        unread = stack.enter_context(Complaints(output.error, files.target, "page", "kept without being compared"))

        def kept(url: str, error: PageError) -> None:
            why = f"{url}: kept without being compared ({error.reason}): {error}"
            unread.tell(PageError(error.reason, why))

        run = _Run(partial(decide, dedup, index, kept, count()), fields, output, dropped)
        (run.archives if is_archive else run.feeds)(files, out)
    run.tell()


class _Run:
    def __init__(self, decide: Callable[..., Any], fields: Fields, output: Output, dropped: BinaryIO | None) -> None:
        self._decide = decide
        self._fields = fields
        self._output = output
        self._dropped = dropped
        self._counts: Counter[str] = Counter(dict.fromkeys(_FIGURES, 0))

    def feeds(self, files: Files, out: BinaryIO) -> None:
        """Write the items of feeds."""
        writer = _Writer(files.form, out, Path(files.target))
        found = chain.from_iterable(self._whole(self._entries(name)) for name in files.inputs)
        for decision in self._decide(self._output.counted(found)):
            writer.take(decision.item, is_kept=self._is_kept(decision, decision.item.place))
        writer.finish()

    def _entries(self, name: str) -> Iterator[tuple[Entry, Page | None]]:
        if name == STANDARD:
            name = STDIN
            entries = feeds.entries_of_lines(feeds.lines_from(standard_input(), name), name)
        else:
            entries = feeds.entries_of(Path(name), self._fields.names)
        return feeds.entries_with_pages(entries, name, self._fields, self._output.unreadable, needs_url=False)

    def archives(self, files: Files, out: BinaryIO) -> None:
        """Write the records of web archives, one by one: what was captured together stands in one of them."""
        is_packed = _is_packed(files.target)
        for path in map(Path, files.inputs):
            records = []
            found = ((each, each.page) for each in self._whole(_apart(path, is_packed, self._output.unreadable)))
            for decision in self._decide(self._output.counted(found)):
                record = decision.item
                is_kept = record.page is None or self._is_kept(decision, f"{path}, at byte {record.start:,}")
                records.append((record._replace(page=None), not is_kept))
            self._counts["records"] += len(records)
            with path.open("rb") as file:
                for record in _staying(records):
                    _copy(file, record, out, is_packed=is_packed)
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
        verdict = decision.verdict
        self._counts["items"] += 1
        if verdict is None or not verdict.is_duplicate:
            self._counts["not_compared"] += verdict is None
            self._counts["thin"] += verdict is not None and verdict.kind is Kind.THIN
            self._counts["written"] += 1
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
        left_out = [counts[name] for name in ("exact_duplicate", "near_duplicate", "known")]
        exact, near, known = left_out
        told = (
            f"{pluralize(counts['items'], 'item')}, {counts['written']:,} written, {sum(left_out):,} left out "
            f"({exact:,} exact, {near:,} near, {known:,} known), {counts['not_compared']:,} not compared"
        )
        if "records" in counts:
            told += f"; {counts['records_written']:,} of {pluralize(counts['records'], 'record')} written"
        self._output.err.print(told, markup=False)


class _Writer:
    """Writes the items that are kept as they stand in their files. The first one tells the columns, kept or not."""

    def __init__(self, form: str, out: BinaryIO, path: Path) -> None:
        self._form = form
        self._out = out
        self._columns: Any = None
        self._is_empty = True
        # Of a table: its writer, the rows to take of one batch, and what waits to be a row group.
        self._arrow: Any = feeds.pyarrow_for(path) if form not in (LINES, ARRAY, CSV) else None
        self._table: Any = None
        self._batch: Any = None
        self._rows: list[int] = []
        self._group: list[Any] = []
        self._group_rows = self._group_bytes = 0

    def take(self, entry: Entry, *, is_kept: bool) -> None:
        """Write an item, if it is kept. Raises ConfigurationError for one with other columns than the first."""
        raw: Any = entry.raw
        if self._form in (LINES, ARRAY):
            if is_kept:
                self._write_json(raw)
            return
        columns = raw.header if self._form == CSV else raw.batch.schema
        if self._columns is None:
            self._columns = columns
            if self._form == CSV:
                self._out.write(_ended(columns))
        elif columns is not self._columns and columns != self._columns:
            raise ConfigurationError(f"{entry.place}: the columns are not those of the first file: filter it by itself")
        if is_kept and self._form == CSV:
            self._out.write(_ended(raw.line))
        elif is_kept:
            if raw.batch is not self._batch:
                self._collect()
                self._batch = raw.batch
            self._rows.append(raw.number)

    def finish(self) -> None:
        """Write the end."""
        if self._form == ARRAY:
            self._out.write(b"[]\n" if self._is_empty else b"\n]\n")
        elif self._arrow is not None:
            self._collect()
            self._write_group()
            self._table.close()

    def _write_json(self, raw: bytes) -> None:
        if self._form == ARRAY:
            self._out.write((b"[\n" if self._is_empty else b",\n") + raw.strip())
        else:
            self._out.write(raw if raw.endswith(b"\n") else raw + b"\n")
        self._is_empty = False

    def _collect(self) -> None:
        if self._rows:
            taken = self._batch.take(self._arrow.array(self._rows))
            self._group.append(taken)
            self._group_rows += taken.num_rows
            self._group_bytes += taken.nbytes
            self._rows = []
        if self._group_rows >= _GROUP_ROWS or self._group_bytes >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        schema = self._columns or self._arrow.schema([])
        if self._table is None:
            self._table = self._arrow.parquet.ParquetWriter(self._out, schema)
        if self._group:
            self._table.write_table(self._arrow.Table.from_batches(self._group, schema))
        self._group, self._group_rows, self._group_bytes = [], 0, 0


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\r\n"


def _apart(path: Path, is_packed: bool, on_error: feeds.OnError) -> Iterator[Record]:
    """Yield the records of an archive. Raises ConfigurationError for one that cannot be copied by itself."""
    with path.open("rb") as file:
        if (beginning := file.read(len(GZIP_MAGIC))) and (beginning == GZIP_MAGIC) != is_packed:
            raise ConfigurationError(f"{path} is {'not ' * is_packed}packed, other than its name says: rename it")
    for record in records_of(path, on_error):
        if record.is_shared:
            raise ConfigurationError(
                f"{path}, at byte {record.start:,}: this record is packed together with others, or cut off: "
                "`warcio recompress` parts them"
            )
        yield record


def _staying(records: Sequence[tuple[Record, bool]]) -> Iterator[Record]:
    """Yield the records of an archive that stay, in order, given whether they are copies.

    A request or metadata goes with the copies that it was captured with, unless a record that stays was, too. Either
    of two records may name the other, which may stand before or behind it. Several may have one id.
    """
    own: dict[str, list[bool]] = {}
    named: dict[str, list[bool]] = {}

    def fates(record: Record) -> list[bool]:
        found = [fate for other in record.concurrent for fate in own.get(other, ())]
        return found + named.get(record.id, []) if record.id else found

    companions = [record for record, _ in records if record.kind in _COMPANIONS]
    for record, is_copy in records:
        if record.kind not in _COMPANIONS:
            own.setdefault(record.id, []).append(is_copy)
            for other in record.concurrent:
                named.setdefault(other, []).append(is_copy)
    for record in companions:
        if record.id:
            # Metadata of a request is that of its response.
            own.setdefault(record.id, []).extend(fates(record))
    for record, is_copy in records:
        found = fates(record) if record.kind in _COMPANIONS else [is_copy]
        if not found or not all(found):
            yield record


def _copy(file: BinaryIO, record: Record, out: BinaryIO, *, is_packed: bool) -> None:
    file.seek(record.start)
    left, piece = record.end - record.start, b""
    while left and (piece := file.read(min(left, _PIECE))):
        left -= len(piece)
        out.write(piece)
    if not is_packed and not piece.endswith(b"\r\n\r\n"):
        out.write(b"\r\n\r\n")
