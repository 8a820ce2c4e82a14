"""The command `crawldedup bench`, which compares crawldedup with other methods on your own pages.

It gives the pages to each method in order. A method remembers the pages that it doesn't flag. The
result is compared with the exact Jaccard similarity, by word 3-shingles, of every page to the pages
kept before it.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from crawldedup import checks
from crawldedup.commands.command import PAGE_ARGUMENTS, Command, Output, argument
from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.key import NO_KEY
from crawldedup.marks.address import Address
from crawldedup.marks.relation import conflict
from crawldedup.marks.values import Marks, ShownMarks, address_marks
from crawldedup.options import Options
from crawldedup.text import pluralize, printable
from crawldedup.urls import NO_LINKS, HeadLinks, canonical_url

if TYPE_CHECKING:
    from crawldedup.commands.items import Item
    from crawldedup.literature.bench import Truth
    from crawldedup.page import Page

DEFAULT: Final = "crawldedup"
# A flagged page is a false duplicate if its best similarity is lower than the required one by more
# than this.
TOLERANCE: Final = 0.1
SLOW: Final = {
    "brute force": 2000
}  # methods that are left out above this many pages unless they are named
_OPTIONS: Final = ("similarity", "recall", "extractor", "expected_pages")

BENCH: Final = Command(
    "measure what crawldedup and methods from the literature find among your pages",
    {
        **PAGE_ARGUMENTS,
        "--only": argument(
            f"measure only this method; repeat the option for several (default: {DEFAULT} and "
            "all methods from the literature)",
            "METHOD",
            action="append",
        ),
        "--limit": argument("use only the first N pages", "N", type=int),
    },
    _OPTIONS,
    # A small corpus would make every search look complete.
    {"expected_pages": 10_000_000},
    "Passes the pages to each method in order, and uses the exact Jaccard similarities of all "
    "pairs to check which pages it flags.",
    module=__name__,
    index=None,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A page to try the methods on.

    `text` is its main text. `marks` tell it apart from pages that read alike, and are None for a
    text without a title. `links` are the canonical links in its head.
    """

    url: str
    text: str
    marks: ShownMarks | None = None
    links: HeadLinks = NO_LINKS


@dataclass(frozen=True, slots=True)
class Corpus:
    """The pages to try the methods on, in the order of a crawl.

    `unreadable` and `repeated` (with the URL of an earlier one) count the pages left out.
    """

    name: str
    documents: tuple[Document, ...]
    unreadable: int = 0
    repeated: int = 0


Check = Callable[[Document], str | None]
"""A method under test. Given a page, it returns the URL of an earlier page that this one resembles.

The URL is "" if the method can't name the page. A page that resembles no other is remembered, and
the result is None.
"""
Progress = Callable[[int, int | None], object]  # takes the number of pages done, and of all pages


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a method has decided about a page, with the exact similarity to judge it by.

    `exact` is its similarity to `nearest`: the most similar page kept before it that isn't a
    sibling, or for a page kept apart, the most similar sibling. `original` is the page that the
    method named, or None if it didn't flag this page.
    """

    url: str
    exact: float
    nearest: str | None
    original: str | None


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of a method: how many duplicates it found, and how many false ones.

    They depend on the best similarity of each page with an earlier page that the method kept. Pages
    in `missed` reach `similarity` but weren't flagged. Pages in `false` were flagged but are more
    than `TOLERANCE` below it, and `between` counts flagged pages that are less than that below it.
    `recall` is the share of the pages to find that was found, or None if there are none. Pages in
    `apart` weren't flagged, and only a sibling reaches `similarity`. Pages with fewer words than a
    fingerprint needs don't count. `microseconds` is the processor time per page, once its text is
    there.
    """

    method: str
    similarity: float
    to_find: int
    found: int
    recall: float | None
    between: int
    missed: tuple[Outcome, ...]
    false: tuple[Outcome, ...]
    apart: tuple[Outcome, ...]
    microseconds: float


def run(given: Namespace, output: Output) -> None:
    """Run the command `bench`: try the methods on the pages, and print a table or JSON."""
    # Imported here so that `--help` does not have to wait for numpy.
    from crawldedup.commands.feeds import Fields
    from crawldedup.commands.sources import readable_items, require_sources
    from crawldedup.literature.bench import compare_all

    checks.optional(checks.whole(1))("--limit", given.limit)
    options = Options(**{name: getattr(given, name) for name in _OPTIONS}, store="memory://", key=0)
    known = methods(options)
    for name in given.only or ():
        checks.one_of(*known)("--only", name)
    require_sources(given.pages)
    items = readable_items(given.pages, output.unreadable, Fields.of(given), on_note=output.error)
    with output.progress("reading") as progress:
        corpus = corpus_of(
            items, _name_of(given.pages), options, limit=given.limit, progress=progress
        )
    pages = len(corpus.documents)
    with output.progress("comparing all pairs") as progress:
        truth = compare_all([document.text for document in corpus.documents], progress)
    trials = []
    left_out = []
    for name in given.only or known:
        if given.only is None and pages > SLOW.get(name, pages):
            left_out.append(
                f"{name}: left out above {SLOW[name]:,} pages; use --only '{name}' to measure it"
            )
            continue
        try:
            with output.progress(name) as progress:
                trials.append(
                    run_trial(name, known[name](), corpus, truth, options.similarity, progress)
                )
        except MissingDependencyError as error:
            if given.only is not None:
                raise
            left_out.append(f"{name}: left out: {error}")
    if output.as_json:
        output.show(as_json(corpus, truth, trials))
    else:
        print_trials(corpus, trials, output.out, left_out)


def methods(options: Options) -> dict[str, Callable[[], Check]]:
    """Return the methods to compare by name: crawldedup, and those from the literature.

    Each is a function that starts the method with an empty index.
    """
    from crawldedup.literature.bench import METHODS

    def of_literature(name: str) -> Check:
        detector = METHODS[name](options.similarity)
        return lambda document: detector(document.url, document.text)

    return {
        DEFAULT: partial(default_check, options),
        **{name: partial(of_literature, name) for name in METHODS},
    }


def default_check(options: Options) -> Check:
    """Return crawldedup as a method under test, for texts that have already been read."""
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.reading.reader import PageContent, PageReader

    dedup = Deduplicator.from_options(options)
    reader = PageReader(options)
    seen = set[str]()

    def check(document: Document) -> str | None:
        content = PageContent(document.text, document.marks, document.links)
        (fingerprint,) = reader.fingerprints([content])
        # Every document is a separate page here, even if two have the same canonical URL.
        name = canonical_url(document.url)
        identity = document.url if name in seen else None
        seen.add(name)
        verdict = dedup.check(document.url, fingerprint=fingerprint, identity=identity)
        return (verdict.original or "") if verdict.is_duplicate else None

    return check


def _name_of(sources: Sequence[str]) -> str:
    others = len(sources) - 1
    return Path(sources[0]).name + (f" and {pluralize(others, 'other')}" if others else "")


def read_corpus(source: str, options: Options | None = None, *, limit: int | None = None) -> Corpus:
    """Read the pages of a source as a corpus.

    The source may be anything that `crawldedup.commands.sources.readable_items` takes.

    Raises the first error of the source. The rest is as in `corpus_of`.
    """
    from crawldedup.commands.feeds import ANY_FIELDS
    from crawldedup.commands.items import refuse
    from crawldedup.commands.sources import readable_items

    items = readable_items([source], refuse, ANY_FIELDS)
    return corpus_of(items, _name_of([source]), options or Options(), limit=limit)


def corpus_of(
    items: Iterable[Item],
    name: str,
    options: Options,
    *,
    limit: int | None = None,
    progress: Progress = lambda *_: None,
) -> Corpus:
    """Read the pages of items as a corpus.

    The extractor of the options finds the main text of HTML. At most `limit` pages are read. Raises
    ConfigurationError if none of them can be read.
    """
    from crawldedup.commands.items import Unread
    from crawldedup.page import Page
    from crawldedup.reading.reader import PageReader

    reader = PageReader(options)
    documents: dict[str, Document] = {}
    repeated = 0
    unread: list[PageError] = []

    def pages() -> Iterator[Page]:
        for item in items:
            if isinstance(item.page, Unread):
                unread.append(item.page.error)
            elif isinstance(item.page, Page):
                yield item.page

    for number, page in enumerate(islice(pages(), limit), 1):
        progress(number, limit)
        if page.url in documents:
            repeated += 1
            continue
        try:
            content = reader.content(page)
        except PageError as error:
            unread.append(error)
        else:
            documents[page.url] = Document(page.url, content.text, content.marks, content.links)
    if not documents:
        raise ConfigurationError(
            f"{name!r} contains no page that can be read ({len(unread)} without a text)"
        )
    return Corpus(name, tuple(documents.values()), len(unread), repeated)


def run_trial(
    name: str,
    check: Check,
    corpus: Corpus,
    truth: Truth,
    similarity: float,
    progress: Progress = lambda *_: None,
) -> Trial:
    """Try a method on a corpus, and return its results, judged by the exact similarities.

    Only the default keeps siblings apart.
    """
    from crawldedup.literature.bench import KeptPages

    documents = corpus.documents
    fewest = Options().min_words
    urls: dict[int | None, str | None] = {
        None: None,
        **{page: document.url for page, document in enumerate(documents)},
    }
    kept = KeptPages(truth, siblings_among(documents)) if name == DEFAULT else KeptPages(truth)
    outcomes = list[Outcome]()
    apart = list[Outcome]()
    seconds = list[float]()
    for page, document in enumerate(documents):
        progress(page + 1, len(documents))
        if truth.groups[page] < 0:
            continue
        # The processor time of this process, no matter what else the machine does.
        started = time.process_time()
        original = check(document)
        seconds.append(time.process_time() - started)
        (best, nearest) = kept.best(page)
        (best_apart, nearest_apart) = kept.best(page, of_siblings=True)
        if original is None:
            kept.add(page)
        if truth.words[page] >= fewest:
            outcomes.append(Outcome(document.url, best, urls[nearest], original))
            if original is None and best < similarity <= best_apart:
                apart.append(Outcome(document.url, best_apart, urls[nearest_apart], None))
    flagged = [outcome for outcome in outcomes if outcome.original is not None]
    found = sum(outcome.exact >= similarity for outcome in flagged)
    false = tuple(outcome for outcome in flagged if outcome.exact < similarity - TOLERANCE)
    missed = tuple(
        outcome for outcome in outcomes if outcome.original is None and outcome.exact >= similarity
    )
    to_find = found + len(missed)
    return Trial(
        method=name,
        similarity=similarity,
        to_find=to_find,
        found=found,
        recall=found / to_find if to_find else None,
        between=len(flagged) - found - len(false),
        missed=missed,
        false=false,
        apart=tuple(apart),
        microseconds=sum(seconds) / max(len(seconds), 1) * 1e6,
    )


def siblings_among(documents: Sequence[Document]) -> Callable[[int, int], bool]:
    """Return a function that says whether two documents are siblings, given their numbers."""
    marks = [_marks_of(document) for document in documents]

    def are_siblings(page: int, other: int) -> bool:
        first = marks[page]
        second = marks[other]
        return first is not None and second is not None and bool(conflict(first, second))

    return are_siblings


def _marks_of(document: Document) -> Marks | None:
    if document.marks is None:
        return None
    content = document.marks.hashed(NO_KEY)
    address = Address.of(document.url)
    if address is None:
        return Marks(content)
    return Marks(content, address_marks(address, document.url, document.links, NO_KEY))


def as_json(corpus: Corpus, truth: Truth, trials: Iterable[Trial]) -> dict[str, Any]:
    """Return the results as plain values, ready for JSON."""
    counts = {
        "pages": len(corpus.documents),
        "unreadable": corpus.unreadable,
        "repeated": corpus.repeated,
    }
    without_words = truth.groups.count(-1)
    return {
        "corpus": corpus.name,
        **counts,
        "without_words": without_words,
        "trials": list(map(asdict, trials)),
    }


def print_trials(
    corpus: Corpus, trials: Sequence[Trial], console: Console, notes: Iterable[str] = ()
) -> None:
    """Print the results as a table with a line for each method, and then the notes.

    In a terminal, the table fits its width. In a pipe, it may be 200 characters wide.
    """
    if not console.is_terminal:
        console = Console(file=console.file, width=200, highlight=False)
    left_out = {"unreadable": corpus.unreadable, "with the URL of an earlier one": corpus.repeated}
    rest = "".join(f", {count:,} {what}" for what, count in left_out.items() if count)
    pages = f"{len(corpus.documents):,} pages{f' (left out{rest})' if rest else ''}"
    lines = [f"{printable(corpus.name)}: {pages}"]
    if trials:
        wanted = trials[0].similarity
        below = f"{wanted - TOLERANCE:g}"
        headings = (
            "to find",
            "found",
            "%",
            f"{below} to {wanted:g}",
            "false",
            "kept apart",
            "us a page",
        )
        table = Table(
            "method", *(Column(heading, justify="right") for heading in headings), box=None
        )
        for trial in trials:
            # Rounded down, so a single miss among thousands is visible.
            percent = f"{trial.found * 1000 // trial.to_find / 10:g}" if trial.to_find else ""
            counts = (
                trial.to_find,
                trial.found,
                percent,
                trial.between,
                len(trial.false),
                len(trial.apart) or "",
            )
            cells = (
                f"{count:,}" if isinstance(count, int) else count
                for count in (*counts, int(trial.microseconds))
            )
            table.add_row(Text(printable(trial.method)), *cells)
        console.print(Text(lines.pop()), table, sep="\n")
        lines.append(
            f"to find: pages with an earlier page of {wanted:g} or more that the method kept. "
            f"false: flagged, although the best page that was kept is below {below}. kept apart: "
            f"only a sibling, such as another product, reaches {wanted:g}. us a page: "
            "microseconds of processor time, once the text is there."
        )
    console.print(Text("\n".join([*lines, *map(printable, notes)])))
