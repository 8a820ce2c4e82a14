"""Run the command `crawldedup scan`: read pages, find their duplicates, and show the result."""

import hashlib
import json
import os
import shutil
import socket
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from crawldedup import checks
from crawldedup.commands import forms, sources
from crawldedup.commands.command import Output, check_target, write_rows
from crawldedup.commands.feeds import Fields
from crawldedup.commands.folders import pages_below
from crawldedup.commands.items import Item, OnError
from crawldedup.commands.leftovers import names_no_room, temporary_folder
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.journal import FORMAT, OUTCOMES, VERSION, find_journals, line_of, shown
from crawldedup.options import Options
from crawldedup.reading.reader import PageReader
from crawldedup.scan.engine import Columns, Duplicates, Goal, Lists, Progress, find_duplicates
from crawldedup.scan.read import ScanFolder, Step, chunks_of, opened_folder, read_into
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Kind

REPORT_SUFFIX: Final = ".html"
_TEMPORARY: Final = "crawldedup-scan-"  # how the names of temporary folders begin
_COLUMNS: Final = ("url", "kind", "kept_url", "similarity")
_SHOWN_CLUSTERS: Final = 20
_SHOWN_MEMBERS: Final = 10


def scan(dedup: Deduplicator, given: Namespace, output: Output) -> None:
    """Find the duplicates in the given sources, with the options of `dedup`, which stays empty.

    Raises ConfigurationError and OSError.
    """
    options = dedup.options
    fields = Fields.of(given)

    def items_of(name: str, on_error: OnError) -> Iterator[Item]:
        return sources.readable_items([name], on_error, fields, on_note=output.error)

    _check(given)
    with _work_folder(options, given, output) as folder:
        chunks = chunks_of(given.pages, folder.step.place, items_of, output.unreadable)
        with output.progress("reading") as show:
            for _ in read_into(folder, chunks, options, given.workers, output, "skipped"):
                show(folder.step.pages, None)
        with output.shares() as share:
            results = Results.of(folder, options, share, keep=given.keep, exact=given.exact)
            if given.output is not None and not results.is_failure:
                results.write(given.output, share, force=given.force)
        _show(results, given, output)
        if any(folder.pages_of_sources[number] == 0 for number in range(len(given.pages))):
            # Everything was skipped. A program that only reads the exit status must notice.
            output.status = 1


def _check(given: Namespace) -> None:
    """Check the arguments of the command. Raises ConfigurationError."""
    checks.whole(1)("--workers", given.workers)
    if given.most is not None:
        checks.whole(0)("--most", given.most)
    sources.require_sources(given.pages)
    if (out := given.output) is None:
        return
    if out.suffix == REPORT_SUFFIX:
        from crawldedup.report.render import check_path

        check_path("--output", out)
        # A report is a page, which the next scan of the folder would read.
        if any(out.absolute().is_relative_to(Path(name).absolute()) for name in given.pages):
            raise ConfigurationError(
                f"--output {out} is in a folder that is read: name another place"
            )
    elif forms.form_of(out.name) not in (forms.LINES, forms.CSV):
        raise checks.refused(
            "--output",
            str(out),
            f"a name that ends with .jsonl, .csv (also .gz) or {REPORT_SUFFIX}",
        )
    check_target(
        out, [path for path in map(Path, given.pages) if path.is_file()], force=given.force
    )


@contextmanager
def _work_folder(options: Options, given: Namespace, output: Output) -> Iterator[ScanFolder]:
    """Open the folder in which the scan saves its progress.

    This is the folder of --work, which is kept, or one next to --output, which is kept if there is
    an error, or a temporary one.
    """
    names = ("similarity", "recall", "scope", "min_words", "distinguish_params", "ignore_marks")
    # Settings that must be the same when a scan continues an earlier one.
    task = {
        "sources": given.pages,
        "files": version_of_files(given.pages),
        "fields": [given.url_field, given.html_field, given.text_field],
        **{name: getattr(options, name) for name in names},
        "apart": sorted(options.apart or ()),
        "extractor, content or distinguish": PageReader(options).profile,
    }
    with temporary_folder(_TEMPORARY) as temporary:
        path = given.work or Path(f"{given.output}.scan" if given.output else temporary)
        with names_no_room(str(path)), opened_folder(path, task) as folder:
            if folder.step.pages:
                output.err.print(
                    f"continuing after {pluralize(folder.step.pages, 'page')}", markup=False
                )
            try:
                yield folder
            except (KeyboardInterrupt, OSError):
                if given.work or given.output:
                    output.err.print(
                        "stopped: run the same command again to continue from "
                        f"{printable(str(path))}",
                        markup=False,
                    )
                raise
        if not given.work and given.output:
            shutil.rmtree(path)


def version_of_files(names: Iterable[str]) -> str:
    """Return a text that changes if one of the files, or a page in a folder, changes."""
    paths = map(Path, names)
    below = (pages_below(path, lambda _: None) if path.is_dir() else [path] for path in paths)
    files = [(path, path.stat()) for path in chain.from_iterable(below) if path.is_file()]
    told = json.dumps([(str(path), status.st_size, status.st_mtime_ns) for path, status in files])
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Results:
    """The pages that a scan has read so far, and their duplicates."""

    goal: Goal
    step: Step
    pages: Columns
    urls: Lists
    duplicates: Duplicates

    @classmethod
    def of(
        cls,
        folder: ScanFolder,
        options: Options,
        progress: Progress,
        *,
        keep: str,
        exact: bool = True,
    ) -> Self:
        """Find the duplicates among the pages that a scan has read into a folder.

        Keep the "first" or the "best" page of each cluster. Similarities are measured exactly, or
        only estimated if `exact` is False. Raises ConfigurationError if there are too many pages.
        """
        pages, urls = folder.pages()
        goal = Goal(options.similarity, options.recall)
        if keep == "first":
            pages = replace(pages, rank=np.zeros_like(pages.rank))
        if not exact:
            pages = replace(pages, shingles=None)
        return cls(
            goal,
            folder.step,
            pages,
            urls,
            find_duplicates(pages, goal, folder=folder.path, progress=progress),
        )

    @property
    def is_failure(self) -> bool:
        """Whether there were errors and no page was read, so an earlier output isn't replaced."""
        return not self.step.pages and self.step.place[-1] > 0

    def url(self, page: int) -> str:
        return self.urls[page].tobytes().decode("utf-8", "surrogatepass")

    def is_kept(self, page: int) -> bool:
        return bool(self.duplicates.original[page] == page)

    def row(self, page: int) -> dict[str, Any]:
        """Return the result for a page as a row: its values by column name."""
        url = self.url(page)
        original = int(self.duplicates.original[page])
        if self.is_kept(page):
            kind = Kind.THIN if self.pages.thin[page] else Kind.NEW
            return {"url": url, "kind": str(kind), "kept_url": None, "similarity": None}
        kind = Kind.EXACT_DUPLICATE if self.duplicates.exact[page] else Kind.NEAR_DUPLICATE
        similarity = round(float(self.duplicates.similarity[page]), 4)
        return {
            "url": url,
            "kind": str(kind),
            "kept_url": self.url(original),
            "similarity": similarity,
        }

    def clusters(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the largest clusters, at most `most`: the kept page and its duplicates."""
        duplicates = np.flatnonzero(~self.duplicates.kept)
        by_original = duplicates[self.duplicates.original[duplicates].argsort(kind="stable")]
        kept = self.duplicates.original[by_original]
        originals, starts, sizes = np.unique(kept, return_index=True, return_counts=True)
        for place in (-sizes).argsort(kind="stable")[:most].tolist():
            rows = list(map(self.row, by_original[starts[place] :][: sizes[place]].tolist()))
            for row in rows:
                del row["kept_url"]
            yield {"original": self.url(int(originals[place])), "duplicates": rows}

    def summary(self) -> dict[str, Any]:
        """Return how many pages were read, skipped and kept, and how many duplicates there are."""
        pages = self.step.pages
        skipped = self.step.skipped
        kept = int(self.duplicates.kept.sum())
        exact = int(self.duplicates.exact.sum())
        return {
            "pages": pages,
            "skipped": sum(skipped.values()),
            "reasons": dict(skipped),
            "unreadable": self.step.place[-1],
            "duplicates": pages - kept,
            "exact": exact,
            "near": pages - kept - exact,
            "kept": kept,
            "cluster_count": len(np.unique(self.duplicates.original[~self.duplicates.kept])),
        }

    def write(self, path: Path, progress: Progress, *, force: bool) -> None:
        """Write a row for each page, or a report as for a crawl of these pages.

        Raises ConfigurationError and OSError.
        """
        rows = map(self.row, range(len(self.pages)))
        if path.suffix != REPORT_SUFFIX:
            progress("writing", 0)
            write_rows(_COLUMNS, rows, path, force=force)
            return
        from crawldedup.report.queries import Database, make_report
        from crawldedup.report.render import write_report

        with (
            temporary_folder(_TEMPORARY) as folder,
            Database(progress) as database,
        ):
            journal = folder / "scan.jsonl"
            with journal.open("wb") as out:
                out.writelines(map(line_of, self._journal(path.stem, rows)))
            write_report(database, make_report(database, find_journals([journal])), path)

    def _journal(self, name: str, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the lines of a journal as if a crawl had received these pages."""
        wanted = self.goal.similarity
        threshold = round(self.goal.threshold, 4)
        settings = {"similarity": wanted, "threshold": wanted if self.pages.shingles else threshold}
        # A spider without a name stands for a scan.
        process = {
            "started": round(time.time(), 3),
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "spider": "",
        }
        yield {FORMAT: VERSION, "crawl": f"scan-{name}", **process, "settings": settings}
        for row in rows:
            record = {
                "t": 0,
                "url": shown(row["url"]),
                "outcome": OUTCOMES[Kind(row["kind"])],
                "action": "delivered",
            }
            if row["kept_url"] is not None:
                record |= {
                    "action": "dropped",
                    "original": shown(row["kept_url"]),
                    "similarity": row["similarity"],
                }
            yield record
        yield {"end": "finished", "stats": {}}


def _show(results: Results, given: Namespace, output: Output) -> None:
    """Print the summary and, without an output file, the largest clusters. Sets the exit status."""
    counts = results.summary()
    # Errors of an earlier run count as well.
    output.status = int(counts["unreadable"] > 0)
    lines = list[str]()
    most = _SHOWN_CLUSTERS if given.most is None else given.most
    if given.output is None and output.as_json:
        counts["clusters"] = list(results.clusters(given.most))
    elif given.output is None:
        for cluster in results.clusters(most):
            lines.append(printable(cluster["original"]))
            copies = cluster["duplicates"]
            lines += [
                f"    {row['similarity']:.3f} {printable(row['url'])}"
                for row in copies[:_SHOWN_MEMBERS]
            ]
            if (more := len(copies) - _SHOWN_MEMBERS) > 0:
                lines.append(f"    and {more:,} more")
    reasons = ", ".join(
        f"{reason} {count:,}" for reason, count in sorted(counts["reasons"].items())
    )
    found = (
        f"{pluralize(counts['duplicates'], 'duplicate')} in "
        f"{pluralize(counts['cluster_count'], 'cluster')}"
    )
    skipped = f"{counts['skipped']:,} skipped" + (f" ({reasons})" if reasons else "")
    errors = (
        f", {pluralize(counts['unreadable'], 'error')} reported" if counts["unreadable"] else ""
    )
    unwritten = f"; {given.output} was not written" if given.output and results.is_failure else ""
    lines.append(f"{pluralize(counts['pages'], 'page')}, {found}, {skipped}{errors}{unwritten}")
    if given.output is None and (more := counts["cluster_count"] - most) > 0:
        kind = "smaller cluster" if most else "cluster"
        lines.append(f"not shown: {pluralize(more, kind)}; --output writes them all")
    output.show(counts, *lines)
