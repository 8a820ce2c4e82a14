"""What a scan has found: rows, clusters and counts; and files of them, as rows or as the report of a crawl."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.commands.rows import check_target, write_rows
from crawldedup.commands.sources import CSV, LINES, form_of
from crawldedup.errors import ConfigurationError
from crawldedup.journal import FORMAT, OUTCOMES, VERSION, find_journals, line_of, shown
from crawldedup.printable import pluralize, printable
from crawldedup.scan.engine import Duplicates
from crawldedup.scan.read import ScanFolder
from crawldedup.verdict import Kind

_SHOWN_MEMBERS: Final = 10
_REPORT_SUFFIX: Final = ".html"


class Row(NamedTuple):
    """A page and what it is. `kept_url` and `similarity` are those of the page that is kept in its place."""

    url: str
    kind: str
    kept_url: str | None
    similarity: float | None


COLUMNS: Final = Row._fields
"""The names of what a row holds."""


class Results:
    """The pages of a folder, and what was found about them."""

    def __init__(self, folder: ScanFolder, found: Duplicates) -> None:
        self.pages = folder.step.pages
        self.errors = folder.step.errors
        self.reasons: Mapping[str, int] = folder.step.skipped
        self.url = folder.urls()
        self._thin = folder.column("thin")
        self.words = folder.column("words")
        self.digests = folder.column("digest")
        self.found = found
        self.is_duplicate: NDArray[np.bool_] = ~found.kept
        self.copies = np.bincount(found.original, minlength=self.pages) - 1

    @property
    def exact(self) -> int:
        """How many pages are exact copies of kept ones."""
        return int(self.found.exact.sum())

    @property
    def duplicates(self) -> int:
        """How many pages are duplicates."""
        return int(self.is_duplicate.sum())

    def kind(self, page: int) -> Kind:
        """Return what a page is."""
        if self.is_duplicate[page]:
            return Kind.EXACT_DUPLICATE if self.found.exact[page] else Kind.NEAR_DUPLICATE
        return Kind.THIN if self._thin[page] else Kind.NEW

    def similarity(self, page: int) -> float:
        """Return the similarity of a page to the one that is kept in its place."""
        return round(float(self.found.similarity[page]), 4)

    def rows(self) -> Iterator[Row]:
        """Yield every page that was compared, in the order of reading."""
        for page in range(self.pages):
            kind = str(self.kind(page))
            if self.is_duplicate[page]:
                yield Row(self.url(page), kind, self.url(int(self.found.original[page])), self.similarity(page))
            else:
                yield Row(self.url(page), kind, None, None)

    def clusters(self, most: int | None = None) -> Iterator[tuple[int, list[int]]]:
        """Yield the kept page of each cluster and its duplicates, largest clusters first, at most so many."""
        duplicates = np.flatnonzero(self.is_duplicate)
        by_original = duplicates[self.found.original[duplicates].argsort(kind="stable")]
        originals, starts = np.unique(self.found.original[by_original], return_index=True)
        sizes = self.copies[originals]
        for place in (-sizes).argsort(kind="stable")[:most].tolist():
            start = int(starts[place])
            yield int(originals[place]), by_original[start : start + int(sizes[place])].tolist()

    def summary(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {
            "pages": self.pages,
            "skipped": sum(self.reasons.values()),
            "reasons": dict(self.reasons),
            "unreadable": self.errors,
            "duplicates": self.duplicates,
            "exact": self.exact,
            "near": self.duplicates - self.exact,
            "kept": self.pages - self.duplicates,
            "cluster_count": int((self.copies > 0).sum()),
        }

    def summary_line(self) -> str:
        """Return the counts in words."""
        counts = self.summary()
        clusters = pluralize(counts["cluster_count"], "cluster")
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.reasons.items()))
        skipped = f"{counts['skipped']:,} skipped" + (f" ({reasons})" if reasons else "")
        found = f"{pluralize(self.duplicates, 'duplicate')} in {clusters}"
        unreadable = f", {pluralize(self.errors, 'error')} reported" if self.errors else ""
        return f"{pluralize(self.pages, 'page')}, {found}, {skipped}{unreadable}"

    def clusters_in_words(self, most: int) -> Iterator[str]:
        """Yield lines that show the largest clusters, safe to show."""
        for original, members in self.clusters(most):
            yield printable(self.url(original))
            for member in members[:_SHOWN_MEMBERS]:
                yield f"    {self.found.similarity[member]:.3f} {printable(self.url(member))}"
            if (more := len(members) - _SHOWN_MEMBERS) > 0:
                yield f"    and {more:,} more"

    def clusters_as_values(self) -> list[dict[str, Any]]:
        """Return all clusters as plain values."""
        return [
            {"original": self.url(original), "duplicates": list(map(self._member, members))}
            for original, members in self.clusters()
        ]

    def _member(self, page: int) -> dict[str, Any]:
        return {"url": self.url(page), "kind": str(self.kind(page)), "similarity": self.similarity(page)}


def check_output(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Check before the work whether a file can be written. Raises ConfigurationError."""
    if path.suffix == _REPORT_SUFFIX:
        from crawldedup.report.render.files import check_path

        check_path("--output", path)
    elif form_of(path.name) not in (LINES, CSV):
        raise ConfigurationError(
            f"--output is {printable(str(path))!r}; it must end with .jsonl, .csv (both also packed, .gz) or "
            f"{_REPORT_SUFFIX}"
        )
    check_target(path, inputs, force=force)


def write(results: Results, path: Path, progress: Callable[[str, float], None], *, force: bool) -> None:
    """Write what was found into a file. Raises ConfigurationError, ReportError, OSError."""
    if path.suffix == _REPORT_SUFFIX:
        _write_report(results, path, progress)
    else:
        progress("writing", 0)
        write_rows(COLUMNS, results.rows(), path, force=force)


def _write_report(results: Results, path: Path, progress: Callable[[str, float], None]) -> None:
    from crawldedup.report.database import Database
    from crawldedup.report.queries import make_report
    from crawldedup.report.render.files import write_report

    with TemporaryDirectory(prefix="crawldedup-scan-") as folder, Database(progress) as database:
        journal = Path(folder, "scan.jsonl")
        with journal.open("wb") as out:
            for record in _journal(results, path.stem):
                out.write(line_of(record))
        write_report(database, make_report(database, find_journals([str(journal)])), path)


def _journal(results: Results, name: str) -> Iterator[dict[str, Any]]:
    began = round(time.time(), 3)
    yield {
        FORMAT: VERSION,
        "crawl": f"scan-{name}",
        # Reports of crawls name one.
        "spider": "",
        "started": began,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    for row, words, digest in zip(results.rows(), results.words, results.digests, strict=True):
        record = {"t": 0, "url": shown(row.url), "outcome": OUTCOMES[Kind(row.kind)], "words": int(words)}
        record |= {"digest": f"{int(digest):016x}", "action": "delivered" if row.kept_url is None else "dropped"}
        if row.kept_url is not None:
            record |= {"original": shown(row.kept_url), "similarity": row.similarity}
        yield record
    yield {"end": "finished", "stats": {}}
