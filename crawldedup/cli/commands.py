"""What each command does: read the sources, ask a Deduplicator, print."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from crawldedup.cli.options import make_deduplicator, make_reader
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.printable import printable
from crawldedup.sources import single_source, sources

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from crawldedup.sources import Source


def check(options: Namespace, out: Console, err: Console) -> int:
    """Decide about pages and remember them."""
    with make_deduplicator(options) as dedup:
        for source, url in _named(options, err):
            try:
                verdict = dedup.judge(url, source.read(dedup.reader))
            except PageError as error:
                _print_skipped(options, out, url, error)
                continue
            if options.json:
                _print_json(out, verdict.as_dict())
            else:
                about = "" if verdict.similarity is None else f" ({verdict.similarity:.3f})"
                original = f" of {printable(verdict.original)}" if verdict.original else ""
                out.print(Text(f"{verdict.kind}{about}: {printable(url)}{original}"))
    return 0


def find(options: Namespace, out: Console, _: Console) -> int:
    """Remembered pages that resemble a page."""
    source = single_source(options.source)
    with make_deduplicator(options) as dedup:
        matches = dedup.find(html=source.html, text=source.text, encoding=source.encoding, url=source.url)
    if options.json:
        _print_json(out, [match.as_dict() for match in matches])
        return 0
    if not matches:
        out.print("nothing like it is remembered")
    for match in matches:
        kind = "exact" if match.exact else f"{match.similarity:.3f}"
        out.print(Text(f"{kind}: {printable(match.url)} ({match.copies} copies seen)"))
    return 0


def compare(options: Namespace, out: Console, _: Console) -> int:
    """How alike two pages are."""
    reader = make_reader(options)
    first, second = (single_source(name).read(reader) for name in (options.first, options.second))
    thin = first.thin or second.thin
    same = first.digest == second.digest
    estimate = 1.0 if same else round(reader.method.estimate(first, first.verify, second.verify), 4)
    similarity = None if thin and not same else estimate
    report = {
        "same_text": same,
        "similarity": similarity,
        "near_duplicate": same or (similarity is not None and similarity >= options.similarity),
        "hamming": None if thin else (first.search ^ second.search).bit_count(),
        "words": [first.words, second.words],
        "search_bits": [f"{first.search:016x}", f"{second.search:016x}"],
    }
    if options.json:
        _print_json(out, report)
        return 0
    if thin and not same:
        out.print("at least one page is too thin for a fingerprint, and they are not copies of each other")
    else:
        out.print(f"similarity: {similarity:.3f}{' (same text)' if same else ''}")
        out.print(f"differing search bits: {report['hamming']} of 64" if not thin else "thin pages, same text")
    out.print(f"words: {first.words} and {second.words}")
    return 0


def scan(options: Namespace, out: Console, err: Console) -> int:
    """Clusters of near duplicates within a collection; nothing is remembered."""
    clusters: dict[str, list[dict[str, Any]]] = {}
    pages = skipped = 0
    with make_deduplicator(options, store="memory://") as dedup:
        for source in _with_progress(sources(options.sources), err):
            try:
                verdict = dedup.judge(source.url, source.read(dedup.reader))
            except PageError as error:
                skipped += 1
                err.print(Text(f"skipped ({error.reason}): {printable(source.url)}"))
                continue
            pages += 1
            if verdict.is_duplicate and verdict.original:
                member = {"url": source.url, "kind": str(verdict.kind), "similarity": verdict.similarity}
                clusters.setdefault(verdict.original, []).append(member)
    duplicates = sum(map(len, clusters.values()))
    if options.json:
        listed = [{"original": original, "duplicates": members} for original, members in clusters.items()]
        _print_json(out, {"pages": pages, "skipped": skipped, "duplicates": duplicates, "clusters": listed})
        return 0
    for original, members in sorted(clusters.items(), key=lambda item: -len(item[1])):
        out.print(Text(printable(original)))
        for member in members:
            out.print(Text(f"    {member['similarity']:.3f} {printable(str(member['url']))}"))
    out.print(f"{pages} pages, {duplicates} duplicates in {len(clusters)} clusters, {skipped} skipped")
    return 0


def forget(options: Namespace, out: Console, _: Console) -> int:
    """Remove pages by URL."""
    with make_deduplicator(options) as dedup:
        removed = sum(dedup.forget(url) for url in options.urls)
    if options.json:
        _print_json(out, {"forgotten": removed})
    else:
        out.print(f"{removed} of {len(options.urls)} pages were known and are forgotten")
    return 0


def clear(options: Namespace, out: Console, _: Console) -> int:
    """Remove every page of a namespace."""
    if not options.yes:
        raise ConfigurationError(
            f"this removes every page of the namespace {options.namespace!r}; add --yes if that is what you want"
        )
    make_deduplicator(options).clear()
    out.print(f"the namespace {options.namespace} is empty now")
    return 0


def info(options: Namespace, out: Console, _: Console) -> int:
    """Figures of an index."""
    with make_deduplicator(options) as dedup:
        figures = asdict(dedup.info())
    if options.json:
        _print_json(out, figures)
        return 0
    table = Table(show_header=False)
    for name, value in figures.items():
        table.add_row(name, Text(f"{value:,}" if isinstance(value, int) else printable(str(value))))
    if figures["pages"]:
        table.add_row("bytes a page", f"{figures['bytes'] / figures['pages']:.0f}")
    out.print(table)
    return 0


def _named(options: Namespace, err: Console) -> Iterator[tuple[Source, str]]:
    """Sources with the URL they are checked under: --url, or their own."""
    found = sources(options.sources)
    if options.url is not None:
        listed = list(found)
        if len(listed) != 1:
            raise ConfigurationError(f"--url names one page, but {len(listed)} were given")
        yield listed[0], options.url
        return
    for source in _with_progress(found, err):
        yield source, source.url


def _with_progress(found: Iterable[Source], err: Console) -> Iterator[Source]:
    """Count pages on a terminal's last line while they are worked on."""
    if not err.is_terminal:
        yield from found
        return
    with Progress("{task.description}", "{task.completed} pages", console=err, transient=True) as progress:
        task = progress.add_task("reading", total=None)
        for source in found:
            yield source
            progress.advance(task)


def _print_skipped(options: Namespace, out: Console, url: str, error: PageError) -> None:
    if options.json:
        _print_json(out, {"url": url, "skipped": error.reason, "message": str(error)})
    else:
        out.print(Text(f"skipped ({error.reason}): {printable(url)}: {printable(str(error))}"))


def _print_json(out: Console, value: Any) -> None:
    # ASCII only: text from pages may not even be valid Unicode. One object a line; rich must not wrap it.
    print(json.dumps(value), file=out.file)
