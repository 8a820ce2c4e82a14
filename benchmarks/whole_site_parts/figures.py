"""Count the content that was lost and the copies that were delivered, and show them as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from benchmarks.shared.common import make_table
from benchmarks.whole_site_parts.news import ARTICLE, STORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from benchmarks.whole_site_parts.crawl import Outcome
    from benchmarks.whole_site_parts.site import Site

_SHOWN: Final = 3
SHARES: Final = tuple(step / 20 for step in range(1, 21))
_SHOWN_SHARES: Final = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Figures:
    """What a crawl made of the site; nothing, if the tool could not be run.

    `lost`: contents that no delivered page had, by kind of page. `missed`: URLs of pages whose
    content had been delivered before, by kind; `copies`: fetched pages with the content of another.
    `replaced`: pages that said that they replace another, and are none of the missed;
    `most_replaced`: those of one content at most. `own_site` and `article`: stories of which a page
    of the own host, or the article itself, was delivered. `note` is the first error. `found`:
    contents that had been delivered after shares of the fetches.
    """

    what: str
    note: str = ""
    fetched: int = 0
    delivered_contents: int = 0
    lost: dict[str, list[str]] = field(default_factory=dict)
    missed: dict[str, list[str]] = field(default_factory=dict)
    copies: int = 0
    replaced: int = 0
    most_replaced: int = 0
    own_site: int = 0
    article: int = 0
    stories: int = 0
    most_deliveries: int = 0
    found: list[int] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def figures(what: str, site: Site, outcome: Outcome) -> Figures:
    """Count an outcome. A content belongs to the kind of the first page that has it."""
    kinds: dict[str, str] = {}
    for page in site.judged():
        kinds.setdefault(page.content, page.kind)
    deliveries, replaced, own_site, article = Counter[str](), Counter[str](), set[str](), set[str]()
    lost: defaultdict[str, list[str]] = defaultdict(list)
    missed: defaultdict[str, list[str]] = defaultdict(list)
    for delivered in outcome.delivered:
        content, kind = delivered.content, site.pages[delivered.url].kind
        if delivered.replaces:
            replaced[content] += 1
        elif deliveries[content]:
            missed[kind].append(delivered.url)
        deliveries[content] += 1
        if content.startswith(STORY) and delivered.url.startswith(site.own_host):
            own_site.add(content)
            article |= {content} if kind == ARTICLE else set()
    for content in kinds.keys() - deliveries.keys():
        lost[kinds[content]].append(content)
    return Figures(
        what=what,
        note=outcome.error,
        fetched=outcome.fetched,
        delivered_contents=len(deliveries),
        lost={kind: sorted(lost[kind]) for kind in sorted(lost)},
        missed={kind: sorted(missed[kind]) for kind in sorted(missed)},
        copies=outcome.fetched - len(kinds),
        replaced=replaced.total(),
        most_replaced=max(replaced.values(), default=0),
        own_site=len(own_site),
        article=len(article),
        stories=sum(content.startswith(STORY) for content in kinds),
        most_deliveries=max(deliveries.values(), default=0),
        found=[
            len(
                {
                    page.content
                    for page in outcome.delivered
                    if page.fetched <= share * outcome.fetched
                }
            )
            for share in SHARES
        ],
        seconds=round(outcome.seconds, 1),
        cpu_seconds=round(outcome.cpu_seconds, 1),
    )


def show(console: Console, title: str, rows: Sequence[Figures]) -> None:
    """Print the table, and below it the errors, and why rows of it have no figures."""
    table = make_table(
        title,
        *(
            "what",
            "fetched",
            "delivered contents",
            "lost",
            "missed copies",
            "replacing",
            "own site's copy",
        ),
        *("the article", "most of one", "pages a second", "processor, s"),
    )
    for row in rows:
        cells = (
            f"{row.fetched:,}",
            f"{row.delivered_contents:,}",
            f"{sum(map(len, row.lost.values())):,}",
            f"{sum(map(len, row.missed.values())):,} of {row.copies:,}",
            f"{row.replaced:,}",
            f"{row.own_site} of {row.stories}",
            f"{row.article}",
            f"{row.most_deliveries}",
            f"{row.fetched / max(row.seconds, 0.1):.0f}",
            f"{row.cpu_seconds:.0f}",
        )
        table.add_row(row.what, *(cells if row.fetched else ("-",)))
    console.print(table)
    for row in rows:
        if row.note:
            console.print(f"{row.what}: {row.note}", markup=False)


def show_found(console: Console, rows: Iterable[Figures]) -> None:
    """Print how many contents were found after shares of the fetches."""
    table = make_table(
        "contents found after", "what", *(f"{share:.0%} of the fetches" for share in _SHOWN_SHARES)
    )
    for row in rows:
        found = dict(zip(SHARES, row.found, strict=True))
        table.add_row(row.what, *(f"{found[share]:,}" for share in _SHOWN_SHARES))
    console.print(table)


def show_details(console: Console, site: Site, rows: Iterable[Figures]) -> None:
    """Print which contents were lost and which copies were missed, by kind of page."""
    pages = Counter(page.kind for page in site.judged())
    for row in rows:
        table = make_table(row.what, "kind of page", "pages", "lost", "missed", "such as")
        for kind, count in pages.items():
            lost, missed = row.lost.get(kind, []), row.missed.get(kind, [])
            such = [url.partition("//")[2] or url for url in [*lost[:_SHOWN], *missed[:_SHOWN]]]
            if lost or missed:
                table.add_row(kind, str(count), str(len(lost)), str(len(missed)), ", ".join(such))
        if row.fetched:
            console.print(table)
