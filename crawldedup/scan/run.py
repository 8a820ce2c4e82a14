"""Run a scan: collect the pages in a folder, find the duplicates among them, and tell or write what was found."""

import errno
import json
import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mmh3

from crawldedup.commands.output import Output
from crawldedup.commands.sources import HTML_SUFFIXES, Fields, lines_of_standard_input, pages_below, readable_sources
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.page import Page, PageReader
from crawldedup.printable import pluralize, printable
from crawldedup.scan.decision import Goal
from crawldedup.scan.engine import Duplicates, find_duplicates
from crawldedup.scan.read import Collector, ScanFolder
from crawldedup.scan.results import Results, check_output, write

_MOST_TOLD: Final = 10
_FOLDER_SUFFIX: Final = ".scan"


def scan(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Scan what is given, by the options of `dedup`, which stays empty.

    What was read outlives an error, for the next run. Raises ConfigurationError and OSError.
    """
    _check(given)
    if given.output is not None:
        check_output(given.output, _files(given), force=given.force)
    with ExitStack() as stack:
        folder = stack.enter_context(ScanFolder(_folder(given, stack), _task(dedup, given)))
        with _telling_of_the_rest(folder, given, output):
            _collect(folder, dedup, given, output)
            results = Results(folder, _compare(folder, dedup, output))
        if given.output is not None:
            with output.shares() as share:
                write(results, given.output, share, force=given.force)
        _tell(results, given, output)
        if given.work is None and given.output is not None:
            folder.remove()


@contextmanager
def _telling_of_the_rest(folder: ScanFolder, given: Namespace, output: Output) -> Iterator[None]:
    """Tell what becomes of what was read where a scan ends early."""
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
            f"{folder.path}: {error.strerror}: make room, or name a folder with --work. With --work or --output, the "
            "same command goes on from here"
        ) from error


def _check(given: Namespace) -> None:
    out = given.output
    # Of a folder that is read, only HTML can be meant to be read again.
    is_page = out is not None and out.suffix.lower() in HTML_SUFFIXES
    if is_page and any(out.absolute().is_relative_to(Path(name).absolute()) for name in given.pages):
        raise ConfigurationError(f"--output {out} lies in a folder that is read: name another place")
    for name in ("workers", "most"):
        if getattr(given, name) < 1:
            raise ConfigurationError(f"--{name} is {getattr(given, name)}; it must be at least 1")


def _files(given: Namespace) -> list[Path]:
    return [Path(name) for name in given.pages if Path(name).is_file()]


def _files_known(given: Namespace) -> list[Any]:
    """Return what tells the files of a scan, and the pages in its folders, from changed ones."""
    known = [_known(path) for path in _files(given)]
    for name in filter(os.path.isdir, given.pages):
        pages = [_known(path) for path in pages_below(Path(name), on_error=lambda _: None)]
        known.append([name, len(pages), f"{mmh3.hash128(json.dumps(pages).encode()):032x}"])
    return known


def _known(path: Path) -> list[Any]:
    found = path.stat()
    return [str(path), found.st_size, found.st_mtime_ns]


def _task(dedup: Deduplicator, given: Namespace) -> dict[str, Any]:
    """Return what a scan must have in common with the one that it goes on with."""
    options = dedup.options
    return {
        "sources": list(given.pages),
        "files": _files_known(given),
        "fields": [given.url_field, given.html_field, given.text_field],
        "similarity": options.similarity,
        "recall": options.recall,
        "scope": options.scope,
        "extractor, content or distinguish": PageReader(options).profile,
        "min_words": options.min_words,
        "keep": given.keep,
        "index": dedup.key.suffix,
    }


def _folder(given: Namespace, stack: ExitStack) -> Path:
    if given.work is not None:
        return Path(given.work)
    if given.output is not None:
        return Path(f"{given.output}{_FOLDER_SUFFIX}")
    return Path(stack.enter_context(TemporaryDirectory(prefix="crawldedup-scan-")))


def _collect(folder: ScanFolder, dedup: Deduplicator, given: Namespace, output: Output) -> None:
    fields = Fields(given.url_field, given.html_field, given.text_field)
    told = 0

    def skipped(page: Page, reason: str) -> None:
        nonlocal told
        told += 1
        if told <= _MOST_TOLD:
            output.err.print(f"skipped ({reason}): {printable(page.url)}", markup=False)
        elif told == _MOST_TOLD + 1:
            output.err.print("further pages that are skipped are counted only", markup=False)

    if folder.step.pages:
        output.err.print(f"going on after {pluralize(folder.step.pages, 'page')}", markup=False)
    with output.progress("reading") as progress:
        Collector(
            folder,
            lambda name, on_error: _pages_of(name, fields, on_error),
            options=dedup.options,
            key=dedup.key,
            ranks=given.keep == "best",
            workers=given.workers,
            on_error=output.unreadable,
            on_skipped=skipped,
            progress=lambda pages: progress(pages, None),
        ).collect(given.pages)
    if folder.step.errors and not output.status:
        # Those of an earlier run count, too.
        output.status = 1


def _pages_of(name: str, fields: Fields, on_error: Callable[[Exception], None]) -> Iterator[Page]:
    if name != "-":
        yield from readable_sources([name], on_error, fields)
        return
    try:
        yield from lines_of_standard_input(fields, on_error)
    except ConfigurationError as error:
        on_error(error)


def _compare(folder: ScanFolder, dedup: Deduplicator, output: Output) -> Duplicates:
    goal = Goal(dedup.options.similarity, dedup.options.recall)
    with output.shares() as share:
        return find_duplicates(folder.columns(), goal, folder=folder.path, progress=share)


def _tell(results: Results, given: Namespace, output: Output) -> None:
    summary = results.summary()
    lines = [results.summary_line()]
    if given.output is None:
        lines = [*results.clusters_in_words(given.most), *lines]
        if (more := summary["cluster_count"] - given.most) > 0:
            lines.append(f"not shown: {pluralize(more, 'smaller cluster')}; --output writes them all")
        if output.as_json:
            summary["clusters"] = results.clusters_as_values()
    output.show(summary, *lines)
