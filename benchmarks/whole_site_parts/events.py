"""A calendar: months link to their neighbors, and only the page of a month links to its events."""

from __future__ import annotations

import calendar
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import Page, bullets, link, own_page, paragraphs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.whole_site_parts.pages import Plan

MONTHS: Final = 48
EMPTY: Final = "calendar: empty month"
_FIRST_YEAR: Final = 2023
_EVENTS: Final = (2, 1, 1)
_EVERY: Final = 4


def events(plan: Plan) -> tuple[list[Page], Page]:
    """Months and events, and the month in the middle, which is this month."""
    months = plan.count(MONTHS)
    pages: list[Page] = []
    made: list[Page] = []
    for number in range(months):
        # Each fourth month has events, and so empty months lie between them.
        count = _EVENTS[number // _EVERY % len(_EVENTS)] if number % _EVERY == 1 else 0
        held = [_event(plan, number, place) for place in range(count)]
        made.append(_month(plan, number, months, held))
        pages += held
    return [*pages, *made], made[months // 2]


def _event(plan: Plan, month: int, place: int) -> Page:
    writer = plan.prose.writer(f"event {month} {place}")
    text = writer.text(1, 3)
    main = (
        f"<h1>{escape(text.title)}</h1><p>{writer.random.randint(1, 28)} {_title(month)}, "
        f"{writer.name()} hall</p>"
        f"{paragraphs(text.paragraphs)}<p>{link(_url(plan, month), _title(month))}</p>"
    )
    url = f"{plan.hosts.own}/events/{month}-{place}.html"
    return Page(url, "calendar: event", f"event-{month}-{place}", own_page(text.title, main))


def _month(plan: Plan, number: int, months: int, held: Sequence[Page]) -> Page:
    year, month = _FIRST_YEAR + number // 12, number % 12 + 1
    weeks = calendar.monthcalendar(year, month)
    table = "".join(
        f"<tr>{''.join(f'<td>{day or str()}</td>' for day in week)}</tr>" for week in weeks
    )
    ways = [
        link(_url(plan, place), _title(place))
        for place in (number - 1, number + 1)
        if 0 <= place < months
    ]
    writer = plan.prose.writer(f"month {number}")
    listed = bullets(
        f"{link(page.url, writer.title())} <p>{escape(writer.sentence())}</p>" for page in held
    )
    main = (
        f"<h1>{_title(number)}</h1><table>{table}</table>{listed or '<p>There are no events in this month.</p>'}"
        "<p>To announce an event, write to the town hall by the tenth of the month before, and say "
        "who pays for the "
        f"hall. Entry is free unless the announcement says otherwise.</p>{bullets(ways)}"
    )
    # A month without events says nothing that another does not say.
    kind, content = ("calendar: month", f"month-{number}") if held else (EMPTY, "month-empty")
    return Page(_url(plan, number), kind, content, own_page(_title(number), main))


def _title(number: int) -> str:
    return f"{calendar.month_name[number % 12 + 1]} {_FIRST_YEAR + number // 12}"


def _url(plan: Plan, number: int) -> str:
    return f"{plan.hosts.own}/calendar/{_FIRST_YEAR + number // 12}-{number % 12 + 1:02}/"
