"""What each command does: read the sources, ask a Deduplicator, print."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from crawldedup.cli.options import existing_index, make_deduplicator, make_reader
from crawldedup.cli.output import print_error, print_forgotten, print_json, safe_message
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page_input import PageInput
from crawldedup.printable import counted, printable
from crawldedup.sources import single_source, sources

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from crawldedup.sources import Source


def check(options: Namespace, out: Console, err: Console) -> int:
    """Decide about pages and remember them."""
    found = Found(options.sources, err)
    pages = found if options.url is None else [_renamed(options)]

    def skip(page: PageInput, error: PageError) -> None:
        if options.json:
            print_json(out, {"url": page.url, "skipped": error.reason, "message": str(error)})
        else:
            out.print(Text(f"skipped ({error.reason}): {printable(page.url)}: {printable(str(error))}"))

    with make_deduplicator(options) as dedup:
        for verdict in dedup.check_many(map(_page, _with_progress(pages, err)), on_unreadable=skip):
            if options.json:
                print_json(out, verdict.as_dict())
            else:
                about = "" if verdict.similarity is None else f" ({verdict.similarity:.3f})"
                original = f" of {printable(verdict.original)}" if verdict.original else ""
                out.print(Text(f"{verdict.kind}{about}: {printable(verdict.url)}{original}"))
    return found.status


def find(options: Namespace, out: Console, _: Console) -> int:
    """Remembered pages that resemble a page."""
    source = single_source(options.source)
    with existing_index(options) as dedup:
        matches = dedup.find(html=source.html, text=source.text, encoding=source.encoding, url=source.url)
    if options.json:
        print_json(out, [match.as_dict() for match in matches])
        return 0
    if not matches:
        out.print("nothing like it is remembered")
    for match in matches:
        kind = "exact" if match.exact else f"{match.similarity:.3f}"
        url = printable(match.url) or "(a page without URL)"
        out.print(Text(f"{kind}: {url} ({match.copies:,} {'copy' if match.copies == 1 else 'copies'} seen)"))
    return 0


def compare(options: Namespace, out: Console, _: Console) -> int:
    """How alike two pages are."""
    reader = make_reader(options)
    first, second = (single_source(name).read(reader) for name in (options.first, options.second))
    thin = first.thin or second.thin
    same = first.digest == second.digest
    estimate = 1.0 if same else round(reader.method.estimate(first, second.verify), 4)
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
        print_json(out, report)
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
    found = Found(options.sources, err)
    pages = skipped = 0

    def skip(page: PageInput, error: PageError) -> None:
        nonlocal skipped
        skipped += 1
        err.print(Text(f"skipped ({error.reason}): {printable(page.url)}"))

    with make_deduplicator(options, store="memory://") as dedup:
        for verdict in dedup.check_many(map(_page, _with_progress(found, err)), on_unreadable=skip):
            pages += 1
            if verdict.is_duplicate and verdict.original:
                member = {"url": verdict.url, "kind": str(verdict.kind), "similarity": verdict.similarity}
                clusters.setdefault(verdict.original, []).append(member)
    duplicates = sum(map(len, clusters.values()))
    if options.json:
        listed = [{"original": original, "duplicates": members} for original, members in clusters.items()]
        print_json(out, {"pages": pages, "skipped": skipped, "duplicates": duplicates, "clusters": listed})
        return found.status
    for original, members in sorted(clusters.items(), key=lambda item: -len(item[1])):
        out.print(Text(printable(original)))
        for member in members:
            out.print(Text(f"    {member['similarity']:.3f} {printable(str(member['url']))}"))
    found_in = f"{counted(duplicates, 'duplicate')} in {counted(len(clusters), 'cluster')}"
    out.print(f"{counted(pages, 'page')}, {found_in}, {skipped:,} skipped")
    return found.status


def forget(options: Namespace, out: Console, _: Console) -> int:
    """Remove pages by URL."""
    with existing_index(options) as dedup:
        removed = sum(dedup.forget(url) for url in options.urls)
    print_forgotten(out, removed, len(options.urls), as_json=options.json)
    return 0


def clear(options: Namespace, out: Console, _: Console) -> int:
    """Remove every page of a namespace."""
    if not options.yes:
        raise ConfigurationError(
            f"this removes every page of the namespace {options.namespace!r}; add --yes if that is what you want"
        )
    with existing_index(options) as dedup:
        dedup.clear()
    out.print(f"the namespace {options.namespace} is empty now")
    return 0


def info(options: Namespace, out: Console, _: Console) -> int:
    """Figures of an index."""
    with existing_index(options) as dedup:
        figures = asdict(dedup.info())
    for name in ("bytes", "table_bytes"):
        figures[f"{name}_a_page"] = round(figures[name] / figures["pages"], 1) if figures["pages"] else None
    if options.json:
        print_json(out, figures)
        return 0
    table = Table(show_header=False)
    table.add_column()
    # A profile that is cut off could not be compared with another.
    table.add_column(overflow="fold")
    for name, value in figures.items():
        if name != "warnings" and value is not None:
            shown = f"{value:,}" if isinstance(value, int | float) else printable(str(value))
            table.add_row(name.replace("_", " "), Text(shown))
    out.print(table)
    for warning in figures["warnings"]:
        out.print(Text(f"warning: {safe_message(warning)}"))
    return 0


class Found:
    """The pages of all sources that can be read; of each other one an error is printed, and the rest goes on."""

    def __init__(self, names: list[str], err: Console) -> None:
        self._names = names
        self._err = err
        self.status = 0

    def __iter__(self) -> Iterator[Source]:
        for name in self._names:
            try:
                yield from sources([name])
            except (ConfigurationError, PageError, OSError, UnicodeError) as error:
                self.status = 1
                print_error(self._err, error)


def _renamed(options: Namespace) -> Source:
    """The one page that is checked under --url."""
    found = list(sources(options.sources))
    if len(found) != 1:
        raise ConfigurationError(f"--url names one page, but {len(found)} were given")
    return replace(found[0], url=options.url)


def _page(source: Source) -> PageInput:
    return PageInput(source.url, html=source.html, text=source.text, encoding=source.encoding)


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
