"""What a scan has found, as rows, clusters and counts; and files of it: rows, or the report."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from crawldedup.commands.rows import write_rows
from crawldedup.journal import FORMAT, OUTCOMES, VERSION, find_journals, line_of, shown
from crawldedup.printable import pluralize, printable
from crawldedup.scan.engine import Duplicates, Progress
from crawldedup.scan.folder import Collection, Step
from crawldedup.verdict import Kind

REPORT_SUFFIX: Final = ".html"
_COLUMNS: Final = ("url", "kind", "kept_url", "similarity")
_SHOWN_MEMBERS: Final = 10


class Results:
    """The pages that were read until a step, and what was found about them."""

    def __init__(self, step: Step, pages: Collection, duplicates: Duplicates) -> None:
        self._step = step
        self._pages = pages
        self._duplicates = duplicates

    def _url(self, page: int) -> str:
        return self._pages.urls[page].tobytes().decode("utf-8", "surrogatepass")

    def row(self, page: int) -> dict[str, Any]:
        """Return what a page is, by the names of the columns."""
        url, original = self._url(page), int(self._duplicates.original[page])
        if original == page:
            kind = Kind.THIN if self._pages.columns.thin[page] else Kind.NEW
            return {"url": url, "kind": str(kind), "kept_url": None, "similarity": None}
        kind = Kind.EXACT_DUPLICATE if self._duplicates.exact[page] else Kind.NEAR_DUPLICATE
        similarity = round(float(self._duplicates.similarity[page]), 4)
        return {"url": url, "kind": str(kind), "kept_url": self._url(original), "similarity": similarity}

    def clusters(self, most: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the kept page of each cluster and its duplicates, largest clusters first, at most so many."""
        duplicates = np.flatnonzero(~self._duplicates.kept)
        by_original = duplicates[self._duplicates.original[duplicates].argsort(kind="stable")]
        kept = self._duplicates.original[by_original]
        originals, starts, sizes = np.unique(kept, return_index=True, return_counts=True)
        for place in (-sizes).argsort(kind="stable")[:most].tolist():
            members = by_original[starts[place] :][: sizes[place]].tolist()
            rows = list(map(self.row, members))
            for row in rows:
                del row["kept_url"]
            yield {"original": self._url(int(originals[place])), "duplicates": rows}

    def summary(self) -> dict[str, Any]:
        """Return the counts."""
        pages, skipped = self._step.pages, self._step.skipped
        kept, exact = int(self._duplicates.kept.sum()), int(self._duplicates.exact.sum())
        return {
            "pages": pages,
            "skipped": sum(skipped.values()),
            "reasons": dict(skipped),
            "unreadable": self._step.place[-1],
            "duplicates": pages - kept,
            "exact": exact,
            "near": pages - kept - exact,
            "kept": kept,
            "cluster_count": len(np.unique(self._duplicates.original[~self._duplicates.kept])),
        }

    def write(self, path: Path, similarity: float, threshold: float, progress: Progress, *, force: bool) -> None:
        """Write the report if the name says so, else a row for each page. Raises ConfigurationError, OSError.

        Pages from `similarity` on were looked for, and accepted from the estimate or the similarity `threshold` on.
        """
        if path.suffix != REPORT_SUFFIX:
            progress("writing", 0)
            write_rows(_COLUMNS, map(self.row, range(self._step.pages)), path, force=force)
            return
        from crawldedup.report.database import Database
        from crawldedup.report.queries import make_report
        from crawldedup.report.render.files import write_report

        with TemporaryDirectory(prefix="crawldedup-scan-") as folder, Database(progress) as database:
            journal = Path(folder, "scan.jsonl")
            with journal.open("wb") as out:
                settings = {"similarity": similarity, "threshold": round(threshold, 4)}
                out.writelines(map(line_of, self._journal(path.stem, settings)))
            write_report(database, make_report(database, find_journals([journal])), path)

    def _journal(self, name: str, settings: dict[str, float]) -> Iterator[dict[str, Any]]:
        """Yield the lines of a crawl that has met these pages. Its spider has no name: that tells a scan."""
        process = {"started": round(time.time(), 3), "host": socket.gethostname(), "pid": os.getpid()}
        yield {FORMAT: VERSION, "crawl": f"scan-{name}", "spider": "", **process, "settings": settings}
        for row in map(self.row, range(self._step.pages)):
            record = {"t": 0, "url": shown(row["url"]), "outcome": OUTCOMES[Kind(row["kind"])], "action": "delivered"}
            if row["kept_url"] is not None:
                original = {"original": shown(row["kept_url"]), "similarity": row["similarity"]}
                record |= {"action": "dropped", **original}
            yield record
        yield {"end": "finished", "stats": {}}


def summary_line(counts: dict[str, Any]) -> str:
    """Return the counts in words."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts["reasons"].items()))
    skipped = f"{counts['skipped']:,} skipped" + (f" ({reasons})" if reasons else "")
    clusters = pluralize(counts["cluster_count"], "cluster")
    errors = f", {pluralize(counts['unreadable'], 'error')} reported" if counts["unreadable"] else ""
    duplicates = pluralize(counts["duplicates"], "duplicate")
    return f"{pluralize(counts['pages'], 'page')}, {duplicates} in {clusters}, {skipped}{errors}"


def cluster_lines(cluster: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that show a cluster, safe to show."""
    yield printable(cluster["original"])
    for row in cluster["duplicates"][:_SHOWN_MEMBERS]:
        yield f"    {row['similarity']:.3f} {printable(row['url'])}"
    if (more := len(cluster["duplicates"]) - _SHOWN_MEMBERS) > 0:
        yield f"    and {more:,} more"
