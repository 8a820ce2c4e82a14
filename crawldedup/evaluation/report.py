"""Tables of trials: shares of all methods side by side, and counts of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawldedup.evaluation.bands import band_name
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.evaluation.bands import Band
    from crawldedup.evaluation.corpus import Corpus
    from crawldedup.evaluation.ground_truth import GroundTruth
    from crawldedup.evaluation.trial import Mistake, Trial

_PIPED_WIDTH = 400
_EXAMPLES = 10


def print_trials(
    trials: Sequence[Trial], corpus: Corpus, truth: GroundTruth, console: Console, *, detail: bool = False
) -> None:
    """Print trials: fitted to a terminal, or with one line for each method in a pipe."""
    is_terminal = console.is_terminal
    if not is_terminal:
        console = Console(file=console.file, width=_PIPED_WIDTH, highlight=False)
    console.print(Text(_about(corpus, truth)))
    if trials:
        console.print(share_table(trials, is_terminal=is_terminal))
        console.print()
        console.print(cost_table(trials, is_terminal=is_terminal))
        console.print()
        console.print(Text(_legend(trials[0])))
        for trial in trials:
            if trial.failed:
                failed = f"{trial.method} failed on {trial.failed:,} pages, which were kept: {trial.failure}"
                console.print(Text(printable(failed)))
    for trial in trials if detail else ():
        console.print()
        console.print(detail_table(trial, is_terminal=is_terminal))
        lists = {"missed": trial.missed, "flagged wrongly": trial.wrong, "kept apart by facts": trial.apart or ()}
        for name, mistakes in lists.items():
            _print_mistakes(console, name, mistakes)


def share_table(trials: Sequence[Trial], *, is_terminal: bool) -> Table:
    """Return a line for each method: shares of flagged pages by band and recall, in percent; pages kept apart."""
    table = _table("Percent of pages flagged, by the exact similarity with the best page kept before", is_terminal)
    table.add_column("method", overflow="fold")
    for name in [*(band_name(band.low, band.high) for band in trials[0].bands), "recall"]:
        # A terminal is narrow, so the two ends of a band stand below each other.
        heading = name.replace("-", "-\n") if is_terminal else name
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kept apart\nby facts" if is_terminal else "kept apart by facts", justify="right", no_wrap=True)
    for trial in trials:
        shares = [*(band.counts.share for band in trial.bands), trial.recall]
        apart = "" if trial.apart is None else f"{len(trial.apart):,}"
        table.add_row(Text(printable(trial.method)), *map(percent, shares), apart)
    return table


def cost_table(trials: Sequence[Trial], *, is_terminal: bool) -> Table:
    """Return a line for each method: the share of thin pages it flags, and the cost of a page."""
    table = _table("Percent of thin pages flagged, and the cost of a page", is_terminal)
    table.add_column("method", overflow="fold")
    for heading in ("thin", "probes", "candidates", "99 %", "microseconds", "bytes"):
        table.add_column(heading, justify="right", no_wrap=True)
    for trial in trials:
        values = (
            trial.probes_mean,
            trial.candidates_mean,
            trial.candidates_p99,
            trial.microseconds,
            trial.bytes_per_page,
        )
        table.add_row(Text(printable(trial.method)), percent(trial.thin.share), *map(_number, values))
    return table


def detail_table(trial: Trial, *, is_terminal: bool) -> Table:
    """Return the bands of one method, counted by the best page it kept and by the best of all earlier pages."""
    table = _table(printable(trial.method), is_terminal)
    table.add_column("best earlier page")
    for base in ("kept", "any"):
        for heading in ("pages", "flagged", "%"):
            table.add_column(f"{base}: {heading}", justify="right")
    for kept, earlier in zip(trial.bands, trial.all_bands, strict=True):
        table.add_row(band_name(kept.low, kept.high), *_counts(kept), *_counts(earlier))
    table.add_row("thin", str(trial.thin.pages), str(trial.thin.flagged), percent(trial.thin.share), "", "", "")
    return table


def percent(share: float | None) -> str:
    """Return a share in percent, empty for None. Only all pages give 100, and only none give 0."""
    if share is None:
        return ""
    if share in (0, 1):
        return f"{share * 100:.0f}"
    # A single miss among thousands must not round to none.
    return f"{min(max(share * 100, 0.1), 99.9):.1f}"


def _about(corpus: Corpus, truth: GroundTruth) -> str:
    without_words = truth.pages_without_words
    left_out = {
        "unreadable": corpus.unreadable,
        "with the URL of an earlier one": corpus.repeated,
        "without a word": without_words,
    }
    rest = "".join(f", {count:,} {what}" for what, count in left_out.items() if count)
    return f"{printable(corpus.name)}: {truth.pages - without_words:,} pages{f' (left out{rest})' if rest else ''}"


def _legend(trial: Trial) -> str:
    return (
        f"recall: of the pages with a kept page from {trial.similarity:g} on. kept apart by facts: pages not flagged "
        f"that only a kept page of other facts, such as another product, resembles from {trial.similarity:g} on; all "
        f"other figures are of pages of the same facts. thin: pages of fewer than {MIN_WORDS} words, which are not in "
        "the first table. candidates: remembered pages compared, on average and at the 99th percentile. microseconds: "
        "processor time, from the text on. bytes: of the index, with URLs. Empty: unknown, or no such page."
    )


def _print_mistakes(console: Console, name: str, mistakes: Sequence[Mistake]) -> None:
    if mistakes:
        console.print(Text(f"{name}: {len(mistakes)}"))
    for mistake in mistakes[:_EXAMPLES]:
        named = "" if mistake.original is None else f"; taken for a copy of {printable(mistake.original)}"
        nearest = "" if mistake.nearest is None else f" {mistake.exact:.3f} like {printable(mistake.nearest)}"
        console.print(Text(f"    {printable(mistake.url)} ({mistake.words} words){nearest}{named}"))


def _table(title: str, is_terminal: bool) -> Table:
    style = "bold" if is_terminal else ""
    return Table(title=title, title_justify="left", title_style=style, box=None, padding=(0, 2 - is_terminal, 0, 0))


def _counts(band: Band) -> tuple[str, str, str]:
    return f"{band.counts.pages:,}", f"{band.counts.flagged:,}", percent(band.counts.share)


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
