"""What was lost and what was delivered twice: counted against the site's truth, and shown as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.shared.common import make_table
from benchmarks.whole_site_parts.news import ARTICLE, STORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from benchmarks.whole_site_parts.crawl import Outcome
    from benchmarks.whole_site_parts.site import Site

_SHOWN: Final = 3


@dataclass(frozen=True)
class Figures:
    """What a crawl made of the site.

    `lost`: contents that no delivered page had, by kind of page. `missed`: URLs of pages whose content had been
    delivered before, by kind; `copies`: fetched pages with the content of another. `replaced`: pages that said that
    they replace another, and are none of the missed; `most_replaced`: those of one content at most. `own_site` and
    `article`: stories of which a page of the own host, or the article itself, was delivered.
    """

    what: str
    fetched: int
    delivered_contents: int
    lost: dict[str, list[str]]
    missed: dict[str, list[str]]
    copies: int
    replaced: int
    most_replaced: int
    own_site: int
    article: int
    stories: int
    most_deliveries: int
    seconds: float
    cpu_seconds: float
    note: str = ""


@dataclass(frozen=True)
class NoFigures:
    """A row of a tool that could not be run, and why."""

    what: str
    note: str


def figures(what: str, site: Site, outcome: Outcome) -> Figures:
    """Count an outcome. A content belongs to the kind of the first page that has it."""
    kinds: dict[str, str] = {}
    for page in site.judged():
        kinds.setdefault(page.content, page.kind)
    stories = {content for content in kinds if content.startswith(STORY)}
    deliveries: Counter[str] = Counter()
    missed: defaultdict[str, list[str]] = defaultdict(list)
    own_site, article = set(), set()
    replaced: Counter[str] = Counter()
    for delivered in outcome.delivered:
        kind = site.pages[delivered.url].kind
        if delivered.replaces:
            replaced[delivered.content] += 1
        elif deliveries[delivered.content]:
            missed[kind].append(delivered.url)
        deliveries[delivered.content] += 1
        if delivered.content in stories and delivered.url.startswith(site.own_host):
            own_site.add(delivered.content)
            article |= {delivered.content} if kind == ARTICLE else set()
    lost: defaultdict[str, list[str]] = defaultdict(list)
    for content in kinds.keys() - deliveries.keys():
        lost[kinds[content]].append(content)
    return Figures(
        what=what,
        fetched=outcome.fetched,
        delivered_contents=len(deliveries),
        lost={kind: sorted(lost[kind]) for kind in sorted(lost)},
        missed={kind: sorted(missed[kind]) for kind in sorted(missed)},
        copies=outcome.fetched - len(kinds),
        replaced=replaced.total(),
        most_replaced=max(replaced.values(), default=0),
        own_site=len(own_site),
        article=len(article),
        stories=len(stories),
        most_deliveries=max(deliveries.values(), default=0),
        seconds=round(outcome.seconds, 1),
        cpu_seconds=round(outcome.cpu_seconds, 1),
        note=outcome.error,
    )


def show(console: Console, title: str, rows: Sequence[Figures | NoFigures]) -> None:
    """Print the table, and below it why rows of it have no figures."""
    table = make_table(
        title,
        *("what", "fetched", "delivered contents", "lost", "missed copies", "replacing", "own site's copy"),
        *("the article", "most of one", "pages a second", "processor, s"),
    )
    for row in rows:
        if isinstance(row, NoFigures):
            table.add_row(row.what, "-")
            continue
        table.add_row(
            row.what,
            f"{row.fetched:,}",
            f"{row.delivered_contents:,}",
            f"{_count(row.lost):,}",
            f"{_count(row.missed):,} of {row.copies:,}",
            f"{row.replaced:,}",
            f"{row.own_site} of {row.stories}",
            f"{row.article}",
            f"{row.most_deliveries}",
            f"{row.fetched / row.seconds:.0f}",
            f"{row.cpu_seconds:.0f}",
        )
    console.print(table)
    for row in rows:
        if row.note:
            console.print(f"{row.what}: {row.note}", markup=False)


def show_details(console: Console, site: Site, rows: Iterable[Figures | NoFigures]) -> None:
    """Print which contents were lost and which copies were missed, by kind of page."""
    pages = Counter(page.kind for page in site.judged())
    for row in rows:
        if isinstance(row, NoFigures):
            continue
        table = make_table(row.what, "kind of page", "pages", "lost", "missed", "such as")
        for kind, count in pages.items():
            lost, missed = row.lost.get(kind, []), row.missed.get(kind, [])
            such = [url.partition("//")[2] or url for url in [*lost[:_SHOWN], *missed[:_SHOWN]]]
            if lost or missed:
                table.add_row(kind, str(count), str(len(lost)), str(len(missed)), ", ".join(such))
        console.print(table)


def _count(by_kind: dict[str, list[str]]) -> int:
    return sum(map(len, by_kind.values()))
