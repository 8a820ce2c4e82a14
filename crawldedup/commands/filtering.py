"""Write feeds and web archives again without the copies in them: `crawldedup filter`.

What stays goes out as it came: the bytes of a line, of a member of an array or of a record, the row of a table.
"""

import json
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby, islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from crawldedup.commands import sources
from crawldedup.commands.archives import Record
from crawldedup.commands.command import make_deduplicator
from crawldedup.commands.output import Output
from crawldedup.commands.pages import require_existing
from crawldedup.commands.rows import PARTIAL_SUFFIX, STANDARD, check_target, target_file
from crawldedup.commands.sources import Complaints, Fields, Item, items_of
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.printable import pluralize
from crawldedup.verdict import Kind, Verdict

_BATCH: Final = 100
_BATCH_LETTERS: Final = 16 * 1024 * 1024
"""A batch with so much text takes no more: few pages are longer, and these would fill the memory."""
_FIGURES: Final = ("items", "written", "exact_duplicate", "near_duplicate", "known", "thin", "not_compared")
_FIGURES_OF_ARCHIVES: Final = ("records", "records_written")
_ENDINGS: Final = "it must end in .jsonl, .json, .csv or .warc, all of them perhaps with .gz, or in .parquet"
_COMPANIONS: Final = ("request", "metadata")
"""Records that tell of a response, and of nothing without it."""
_PIECE: Final = 1 << 18
_GROUP_ROWS: Final = 100_000
_GROUP_BYTES: Final = 64 * 1024 * 1024
"""A row group is in memory until it is written. This is half of what the writers of large data sets take."""


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
    form = sources.LINES if name == STANDARD else sources.form_of(name)
    if form is None:
        raise ConfigurationError(f"{shown} whose name tells no form of a feed or web archive: {_ENDINGS}")
    return f"packed, {form}" if form == sources.ARCHIVE and name.lower().endswith(sources.GZIP_SUFFIX) else form


def filter_items(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Write the items of files without copies of earlier ones, and without pages that the index `against` knows.

    Raises ConfigurationError for a file that is not what its name says, StoreError, and OSError if something cannot be
    written. Then no file is written.
    """
    form, target = check_files(given), Path(given.output)
    is_archive = form.endswith(sources.ARCHIVE)
    with (
        Complaints(output.error, given.output, "page", "kept without being compared") as uncompared,
        ExitStack() as stack,
    ):
        index = None
        if given.against is not None:
            against = make_deduplicator(given, store=given.against, store_flag="--against")
            index = stack.enter_context(closing(against))
            require_existing(index)
            # Of other keys no fingerprints can be compared.
            dedup = stack.enter_context(closing(make_deduplicator(given, key=index.key.secret or 0)))
        counts = Counter(dict.fromkeys(_FIGURES + _FIGURES_OF_ARCHIVES * is_archive, 0))
        run = _Run(dedup, index, uncompared, output, is_archive, counts)
        # An archive packs each record by itself.
        whole = target_file(target, force=given.force, packs=not is_archive, is_whole=lambda: not run.is_cut)
        out = stack.enter_context(whole)
        if given.dropped:
            run.dropped = stack.enter_context(target_file(Path(given.dropped), force=given.force))
        fields = Fields.of(given)._replace(for_filter=True)
        decided = run.decided(chain.from_iterable(run.items(name, fields) for name in given.inputs))
        if is_archive:
            _write_archive(decided, out, counts, is_packed=form != sources.ARCHIVE)
        elif form == sources.PARQUET:
            _write_table(decided, out, target)
        else:
            _write_text(form, decided, out)
    if run.is_cut and given.output != STANDARD:
        message = f"what could be read is in {target}{PARTIAL_SUFFIX}, and {target} was not written"
        output.error(ConfigurationError(message))
    run.tell()


@dataclass(slots=True)
class _Run:
    """What is decided of all files. It `is_cut` if one of them could not be read to its end."""

    dedup: Deduplicator
    index: Deduplicator | None
    uncompared: Complaints
    output: Output
    is_archive: bool
    counts: Counter[str]
    dropped: BinaryIO | None = None
    is_cut: bool = False
    numbers: Iterator[int] = field(default_factory=count)

    def items(self, name: str, fields: Fields) -> Iterator[Item]:
        """Yield what can be read of a file, and tell where that ends. Raises ConfigurationError if it is nothing."""
        is_begun = False
        try:
            for item in items_of(name, fields, self.output.unreadable):
                is_begun = is_begun or self.is_archive or item.page is not None
                # Nothing stands at the place of a line that was too long.
                if item.raw:
                    yield item
        except ConfigurationError as error:
            if not is_begun:
                raise
            self.is_cut = True
            self.output.unreadable(error)

    def decided(self, items: Iterator[Item]) -> Iterator[tuple[Item, bool]]:
        """Yield each item, and whether it is kept: one without a page, or whose page cannot be compared, is.

        Items are compared by their texts alone: each is a page of its own, whatever its URL. Raises StoreError, and
        ConfigurationError for other columns than those of the first item.
        """
        head = None
        for batch in batches(self.output.counted(items)):
            pages = [item.page and self._read(item.page) for item in batch]
            verdicts = self._verdicts([page for page in pages if page is not None])
            for item, page in zip(batch, pages, strict=True):
                head = item.head if head is None else head
                if item.head is not head and item.head != head:
                    message = f"{item.place}: the columns are not those of the first file: filter it by itself"
                    raise ConfigurationError(message)
                if page is not None:
                    yield item, self._is_kept(item.place, *next(verdicts))
                    continue
                # Of an archive, only the records with a page are counted as items.
                if item.page is not None or not self.is_archive:
                    self.counts.update(("items", "written", "not_compared"))
                yield item, True

    def _read(self, page: Page) -> Page | None:
        try:
            read = self.dedup.fingerprint(page.url, html=page.html, text=page.text, encoding=page.encoding)
        except PageError as error:
            message = f"{page.url}: kept without being compared ({error.reason}): {error}"
            self.uncompared.tell(PageError(error.reason, message))
            return None
        return Page(page.url, fingerprint=read, identity=f"filter {next(self.numbers)}")

    def _verdicts(self, pages: Sequence[Page]) -> Iterator[tuple[Verdict, bool]]:
        """Yield what each page is, and whether the index knows it. Raises StoreError."""
        known: list[Verdict | None] = [None] * len(pages)
        if self.index is not None:
            asked = self.index.check_many(replace(page, remember=False) for page in pages)
            known = [verdict if verdict.is_duplicate else None for verdict in asked]
        new = self.dedup.check_many([page for page, verdict in zip(pages, known, strict=True) if verdict is None])
        for verdict in known:
            yield (next(new), False) if verdict is None else (verdict, True)

    def _is_kept(self, place: str, verdict: Verdict, is_known: bool) -> bool:
        self.counts["items"] += 1
        if not verdict.is_duplicate:
            self.counts["thin"] += verdict.kind is Kind.THIN
            self.counts["written"] += 1
            return True
        self.counts["known" if is_known else str(verdict.kind)] += 1
        if self.dropped is not None:
            line = {name: getattr(verdict, name) for name in ("url", "kind", "original", "similarity")}
            self.dropped.write(json.dumps(line | {"known": is_known, "place": place}).encode() + b"\n")
        return False

    def tell(self) -> None:
        """Show the figures; standard output may be taken."""
        counts = self.counts
        if self.output.as_json:
            self.output.show(counts)
            return
        exact, near, known = (counts[name] for name in ("exact_duplicate", "near_duplicate", "known"))
        figures = (
            f"{pluralize(counts['items'], 'item')}, {counts['written']:,} written, {exact + near + known:,} left out "
            f"({exact:,} exact, {near:,} near, {known:,} known), {counts['not_compared']:,} not compared"
        )
        if self.is_archive:
            figures += f"; {counts['records_written']:,} of {pluralize(counts['records'], 'record')} written"
        self.output.err.print(figures, markup=False)


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in groups of which each has at most so many, and hardly more than so much text."""
    batch: list[Item] = []
    letters = 0
    for item in items:
        batch.append(item)
        letters += len(item.page.html or item.page.text or "") if item.page else 0
        if len(batch) == _BATCH or letters > _BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    if batch:
        yield batch


def _write_text(form: str, decided: Iterator[tuple[Item, bool]], out: BinaryIO) -> None:
    end, head, is_empty = b"\r\n" if form == sources.CSV else b"\n", b"", True
    for entry, is_kept in decided:
        if form == sources.CSV and not head:
            head = entry.head
            out.write(head)
        if is_kept:
            before = b"" if form != sources.ARRAY else b"[\n" if is_empty else b",\n"
            out.write(before + entry.raw + (b"" if form == sources.ARRAY or entry.raw.endswith(b"\n") else end))
            is_empty = False
    if form == sources.ARRAY:
        out.write(b"[]\n" if is_empty else b"\n]\n")


def _write_table(decided: Iterator[tuple[Item, bool]], out: BinaryIO, path: Path) -> None:
    pa = sources.pyarrow_for(path)
    first = list(islice(decided, 1))
    schema = first[0][0].head if first else pa.schema([])
    with pa.parquet.ParquetWriter(out, schema) as writer:
        group: list[Any] = []
        for _, pairs in groupby(chain(first, decided), lambda pair: id(pair[0].raw[0])):
            items, kept = zip(*pairs, strict=True)
            group.append(items[0].raw[0].filter(pa.array(kept)))
            rows, size = sum(batch.num_rows for batch in group), sum(batch.nbytes for batch in group)
            if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(group, schema))
                group = []
        if group:
            writer.write_table(pa.Table.from_batches(group, schema))


def _write_archive(
    decided: Iterator[tuple[Item, bool]], out: BinaryIO, counts: Counter[str], *, is_packed: bool
) -> None:
    """Write the records of web archives that stay, as they stand there. Raises ConfigurationError."""
    for path, pairs in groupby(decided, lambda pair: pair[0].raw.path):
        records = []
        for item, is_kept in pairs:
            record: Record = item.raw
            if record.is_packed != is_packed:
                raise ConfigurationError(f"{path} is {'not ' * is_packed}packed, other than its name says: rename it")
            if record.is_shared:
                message = "this record is packed together with others: `warcio recompress` parts them"
                raise ConfigurationError(f"{item.place}: {message}")
            records.append((record, not is_kept))
        counts["records"] += len(records)
        with path.open("rb") as file:
            for record in _staying(records):
                file.seek(record.start)
                piece = b""
                for left in range(record.end - record.start, 0, -_PIECE):
                    piece = file.read(min(left, _PIECE))
                    out.write(piece)
                if not is_packed and not piece.endswith(b"\r\n\r\n"):
                    out.write(b"\r\n\r\n")
                counts["records_written"] += 1


def _staying(records: Sequence[tuple[Record, bool]]) -> Iterator[Record]:
    """Yield the records of an archive that stay, in order, given whether they are copies.

    A request or metadata goes with the copies that it was captured with, unless a record that stays was, too. Either
    of two records may name the other, which may stand before or behind it. Several may have one id.
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
