"""Run a scan: read the pages into a folder, find the duplicates among them, and show or write what was found."""

import errno
import json
import shutil
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mmh3

from crawldedup import checks
from crawldedup.commands import sources
from crawldedup.commands.output import Output
from crawldedup.commands.rows import check_target
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
from crawldedup.printable import pluralize, printable
from crawldedup.scan.decision import Goal
from crawldedup.scan.engine import find_duplicates
from crawldedup.scan.folder import ScanFolder, opened_folder
from crawldedup.scan.read import chunks_of, read_chunks
from crawldedup.scan.results import REPORT_SUFFIX, Results, cluster_lines, summary_line

FOLDER_SUFFIX: Final = ".scan"
_FATE: Final = "skipped: they are counted only"


def scan(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Scan what is given, by the options of `dedup`, which stays empty.

    What was read outlives an error, for the next run. Raises ConfigurationError and OSError.
    """
    _check(given)
    goal = Goal(dedup.options.similarity, dedup.options.recall)
    with (
        _work_folder(given) as path,
        opened_folder(path, _task(dedup.options, given)) as folder,
        _telling_how_to_go_on(folder, given, output),
    ):
        _read(dedup.options, folder, given, output)
        with output.shares() as share:
            pages = folder.collection(ranks=given.keep == "best")
            shingles = pages.shingles if given.exact else None
            found = find_duplicates(pages.columns, goal, shingles, folder=path, progress=share)
            results = Results(folder.step, pages, found)
            if given.output is not None:
                threshold = goal.similarity if given.exact else goal.threshold
                results.write(given.output, goal.similarity, threshold, share, force=given.force)
        _show(results, given, output)


def _check(given: Namespace) -> None:
    for name in ("workers", "most"):
        checks.whole(1)(f"--{name}", getattr(given, name))
    out = given.output
    if out is None:
        return
    if out.suffix == REPORT_SUFFIX:
        from crawldedup.report.render.files import check_path

        check_path("--output", out)
    elif sources.form_of(out.name) not in (sources.LINES, sources.CSV):
        shown = printable(str(out))
        raise ConfigurationError(
            f"--output is {shown!r}; it must end with .jsonl, .csv (both also packed, .gz) or {REPORT_SUFFIX}"
        )
    # Of a folder that is read, only HTML can be meant to be read again.
    is_page = out.suffix.lower() in sources.HTML_SUFFIXES
    if is_page and any(out.absolute().is_relative_to(Path(name).absolute()) for name in given.pages):
        raise ConfigurationError(f"--output {out} lies in a folder that is read: name another place")
    check_target(out, [path for path in map(Path, given.pages) if path.is_file()], force=given.force)


@contextmanager
def _work_folder(given: Namespace) -> Iterator[Path]:
    """Yield the folder to work in, and remove one that was not named. With --output, it outlives an error."""
    if given.work is not None:
        yield Path(given.work)
    elif given.output is not None:
        path = Path(f"{given.output}{FOLDER_SUFFIX}")
        yield path
        shutil.rmtree(path)
    else:
        with TemporaryDirectory(prefix="crawldedup-scan-") as name:
            yield Path(name)


def _task(options: Options, given: Namespace) -> dict[str, Any]:
    """Return what a scan must have in common with the one that it goes on with."""
    return {
        "sources": given.pages,
        "files": list(_versions(map(Path, given.pages))),
        "fields": [given.url_field, given.html_field, given.text_field],
        "similarity": options.similarity,
        "recall": options.recall,
        "scope": options.scope,
        "extractor, content or distinguish": PageReader(options).profile,
        "min_words": options.min_words,
    }


def _versions(paths: Iterable[Path]) -> Iterator[list[Any]]:
    """Yield what tells files, and the pages in folders, from changed ones."""
    for path in paths:
        if path.is_file():
            status = path.stat()
            yield [str(path), status.st_size, status.st_mtime_ns]
        elif path.is_dir():
            pages = list(_versions(sources.pages_below(path, on_error=lambda _: None)))
            yield [str(path), len(pages), f"{mmh3.hash128(json.dumps(pages).encode()):032x}"]


def _read(options: Options, folder: ScanFolder, given: Namespace, output: Output) -> None:
    """Read what is not in the folder yet."""
    chunks = chunks_of(given.pages, folder.step.place, partial(_pages_of, sources.Fields.of(given)), output.unreadable)
    with (
        output.progress("reading") as show,
        sources.Complaints(output.error, "scan", "page", _FATE) as complaints,
        closing(read_chunks(chunks, options, given.workers)) as reads,
    ):
        for place, (columns, skipped) in reads:
            folder.add(place, columns, [error.reason for error in skipped])
            for error in skipped:
                complaints.tell(error)
            show(folder.step.pages, None)


@contextmanager
def _telling_how_to_go_on(folder: ScanFolder, given: Namespace, output: Output) -> Iterator[None]:
    """Tell what becomes of what was read where a scan ends early, and where it has gone on."""
    if folder.step.pages:
        output.err.print(f"going on after {pluralize(folder.step.pages, 'page')}", markup=False)
    try:
        yield
    except KeyboardInterrupt:
        if given.work or given.output:
            output.err.print(f"stopped: the same command goes on from {printable(str(folder.path))}", markup=False)
        raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise ConfigurationError(
            f"{error.filename or folder.path}: {error.strerror}: make room, or name a folder with --work. With --work "
            "or --output, the same command goes on from here"
        ) from error


def _pages_of(fields: sources.Fields, name: str, on_error: sources.OnError) -> Iterator[Page]:
    if name != "-":
        yield from sources.readable_sources([name], on_error, fields)
        return
    try:
        yield from (item.page for item in sources.items_of(name, fields, on_error) if item.page)
    except ConfigurationError as error:
        on_error(error)


def _show(results: Results, given: Namespace, output: Output) -> None:
    summary = results.summary()
    # Errors of an earlier run count, too.
    output.status = int(summary["unreadable"] > 0)
    lines = [summary_line(summary)]
    if given.output is None and output.as_json:
        summary["clusters"] = list(results.clusters())
    elif given.output is None:
        lines = [*chain.from_iterable(map(cluster_lines, results.clusters(given.most))), *lines]
        if (more := summary["cluster_count"] - given.most) > 0:
            lines.append(f"not shown: {pluralize(more, 'smaller cluster')}; --output writes them all")
    output.show(summary, *lines)
