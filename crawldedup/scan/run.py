"""Run a scan: collect the pages in a folder, find the duplicates among them, and show or write what was found."""

import errno
import json
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import mmh3

from crawldedup.commands.output import Output
from crawldedup.commands.rows import check_target
from crawldedup.commands.sources import (
    CSV,
    HTML_SUFFIXES,
    LINES,
    Complaints,
    Fields,
    OnError,
    form_of,
    items_of,
    pages_below,
    readable_sources,
)
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page, PageReader
from crawldedup.printable import pluralize, printable
from crawldedup.scan.decision import Goal
from crawldedup.scan.engine import find_duplicates
from crawldedup.scan.read import ScanFolder, chunks_of, collect
from crawldedup.scan.results import REPORT_SUFFIX, Results, cluster_lines, summary_line

_FATE: Final = "skipped: they are counted only"
_FOLDER_SUFFIX: Final = ".scan"


def scan(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Scan what is given, by the options of `dedup`, which stays empty.

    What was read outlives an error, for the next run. Raises ConfigurationError and OSError.
    """
    _check(given)
    goal = Goal(dedup.options.similarity, dedup.options.recall)
    setup = {"options": dedup.options.index_values(), "key": dedup.key.secret, "ranks": given.keep == "best"}
    with ExitStack() as stack:
        folder = stack.enter_context(ScanFolder(_folder(given, stack), _task(dedup, given)))
        with _telling_how_to_go_on(folder, given, output):
            open_source = partial(_pages_of, fields=Fields.of(given))
            chunks = chunks_of(given.pages, folder.step, open_source, output.unreadable)
            with output.progress("reading") as show, Complaints(output.error, "scan", "page", _FATE) as skipped:
                collect(
                    folder,
                    chunks,
                    setup,
                    workers=given.workers,
                    on_skipped=lambda url, reason: skipped.tell(PageError(reason, f"skipped ({reason}): {url}")),
                    progress=lambda pages: show(pages, None),
                )
            with output.shares() as share:
                duplicates = find_duplicates(folder.columns(), goal, folder=folder.path, progress=share)
        results = Results(folder, duplicates)
        if given.output is not None:
            with output.shares() as share:
                results.write(given.output, goal, share, force=given.force)
        _show(results, given, output)
        if given.work is None and given.output is not None:
            folder.remove()


def _check(given: Namespace) -> None:
    for name in ("workers", "most"):
        if getattr(given, name) < 1:
            raise ConfigurationError(f"--{name} is {getattr(given, name)}; it must be at least 1")
    out = given.output
    if out is None:
        return
    if out.suffix == REPORT_SUFFIX:
        from crawldedup.report.render.files import check_path

        check_path("--output", out)
    elif form_of(out.name) not in (LINES, CSV):
        shown = printable(str(out))
        raise ConfigurationError(
            f"--output is {shown!r}; it must end with .jsonl, .csv (both also packed, .gz) or {REPORT_SUFFIX}"
        )
    # Of a folder that is read, only HTML can be meant to be read again.
    is_page = out.suffix.lower() in HTML_SUFFIXES
    if is_page and any(out.absolute().is_relative_to(Path(name).absolute()) for name in given.pages):
        raise ConfigurationError(f"--output {out} lies in a folder that is read: name another place")
    check_target(out, [path for path in map(Path, given.pages) if path.is_file()], force=given.force)


def _folder(given: Namespace, stack: ExitStack) -> Path:
    if given.work is not None:
        return Path(given.work)
    if given.output is not None:
        return Path(f"{given.output}{_FOLDER_SUFFIX}")
    return Path(stack.enter_context(TemporaryDirectory(prefix="crawldedup-scan-")))


def _task(dedup: Deduplicator, given: Namespace) -> dict[str, Any]:
    """Return what a scan must have in common with the one that it goes on with."""
    options = dedup.options
    return {
        "sources": given.pages,
        "files": list(_versions(map(Path, given.pages))),
        "fields": [given.url_field, given.html_field, given.text_field],
        "similarity": options.similarity,
        "recall": options.recall,
        "scope": options.scope,
        "extractor, content or distinguish": PageReader(options).profile,
        "min_words": options.min_words,
        "keep": given.keep,
        "index": dedup.key.suffix,
    }


def _versions(paths: Iterable[Path]) -> Iterator[list[Any]]:
    """Yield what tells files, and the pages in folders, from changed ones."""
    for path in paths:
        if path.is_file():
            status = path.stat()
            yield [str(path), status.st_size, status.st_mtime_ns]
        elif path.is_dir():
            pages = list(_versions(pages_below(path, on_error=lambda _: None)))
            yield [str(path), len(pages), f"{mmh3.hash128(json.dumps(pages).encode()):032x}"]


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
            f"{folder.path}: {error.strerror}: make room, or name a folder with --work. With --work or --output, the "
            "same command goes on from here"
        ) from error


def _pages_of(name: str, on_error: OnError, fields: Fields) -> Iterator[Page]:
    if name != "-":
        yield from readable_sources([name], on_error, fields)
        return
    try:
        yield from (item.page for item in items_of(name, fields, on_error) if item.page)
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
