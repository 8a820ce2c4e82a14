"""What a page of the demo site says, apart from the template it says it in."""

from __future__ import annotations

import calendar
import datetime
import re
from dataclasses import dataclass, replace
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Literal

from crawldedup.demo.data import goods, phrases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.demo.library import Article

Edit = Literal["copyedit", "cut", "update"]
EDITS: tuple[Edit, ...] = ("copyedit", "cut", "update")

# A visitor's calendar has no last page, and neither has this one, but `date` ends.
LAST_YEAR = 9998

_SENTENCE = re.compile(r"[^.!?。]+[.!?。]\s*")
_LEAST_CUT = 12
_WORDS_EDITED = 2
_MARKET = "Flea market"
_SATURDAY = 5
_ANNOUNCE = (
    "Nothing else has been announced for this month. If you plan a concert, a jumble sale, a launch or a quarrel in "
    "public, tell the piano teacher, who keeps the list, at least ten days before. Say what it is, where it takes "
    "place, whether children may come, and what happens when it rains. Events outside the parish are printed if "
    "somebody from here takes part in them. You can go on to the next month, and to the one after that, for as long "
    "as you like."
)


@dataclass(frozen=True, slots=True)
class Content:
    """A page's own part: a heading, perhaps a line under it, and a fragment of HTML with the same `text`."""

    language: str
    title: str
    html: str
    text: str
    byline: str = ""

    @property
    def full_text(self) -> str:
        """All of it as plain text."""
        return "\n".join(part for part in (self.title, self.byline, self.text) if part)


@dataclass(frozen=True, slots=True)
class Line:
    """An entry of a list page: a link and what is said beside it."""

    path: str
    title: str
    note: str = ""


def of_article(article: Article) -> Content:
    """The article as it is."""
    return Content(
        language=article.language,
        title=article.title,
        html="\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs),
        text=article.text,
        byline=f"{phrases(article.language)['labels']['by']} {article.author}, {article.date}",
    )


def edited(article: Article, edit: Edit) -> Article:
    """The article after a light edit, with a later date: two words replaced, a sentence cut or one added."""
    phrasebook = phrases(article.language)
    paragraphs = list(article.paragraphs)
    if edit == "update":
        paragraphs[-1] += ("" if article.language == "ja" else " ") + phrasebook["update"]
    elif edit == "cut":
        number, shortest = min(
            (
                (number, found)
                for number in range(1, len(paragraphs) - 1)
                for found in _sentences(paragraphs[number])
                if len(found) >= _LEAST_CUT
            ),
            key=lambda item: len(item[1]),
        )
        paragraphs[number] = paragraphs[number].replace(shortest, "", 1).strip()
    else:
        paragraphs = _copyedited(paragraphs, phrasebook["copyedit"], spaced=article.language != "ja")
    later = datetime.date.fromisoformat(article.date) + datetime.timedelta(days=9)
    return replace(article, date=later.isoformat(), paragraphs=tuple(paragraphs))


def rewritten(article: Article, *, only_the_end: bool) -> Article:
    """The second version of an article that has one; or one that replaces no more than the last paragraph."""
    paragraphs = article.rewritten
    if only_the_end:
        new = [paragraph for paragraph in article.rewritten if paragraph not in article.paragraphs]
        paragraphs = (*article.paragraphs[:-1], *new)
    return replace(article, paragraphs=paragraphs, rewritten=())


def of_product(category: str, number: int) -> Content:
    """An item of the shop: name, price and particulars of its own, the description of its category."""
    group = goods()[category]
    name, price, *values = group["items"][number]
    rows = list(zip(group["columns"], values, strict=True))
    cells = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows)
    code = f"{category[:2].upper()}-{number * 37 + 104}"
    return Content(
        language="en",
        title=name,
        html=(
            f'<p class="price">&pound; {price}</p><p class="sku">Item {code}</p>'
            f'<table class="spec">{cells}</table><p class="description">{escape(group["description"])}</p>'
        ),
        text="\n".join(
            [f"£ {price}", f"Item {code}", *(f"{key} {value}" for key, value in rows), group["description"]]
        ),
    )


def of_month(month: datetime.date) -> Content:
    """A month of the events calendar, which looks like every other one, with links to both neighbours."""
    first_weekday, days = calendar.monthrange(month.year, month.month)
    saturday = 1 + (_SATURDAY - first_weekday) % 7
    grid = "".join(f"<td>{day}</td>" + "</tr><tr>" * (day % 7 == 0) for day in range(1, days + 1))
    return Content(
        language="en",
        title=f"Events in {month:%B} {month.year}",
        html=(
            f'<table class="month"><tr>{grid}</tr></table>'
            f'<table class="events"><tr><td>{saturday}</td><td>{_MARKET}</td></tr></table><p>{_ANNOUNCE}</p>'
            f'<p><a href="{month_path(month, -1)}">&laquo; Previous month</a> '
            f'<a href="{month_path(month, 1)}">Next month &raquo;</a></p>'
        ),
        text="\n".join([" ".join(map(str, range(1, days + 1))), f"{saturday} {_MARKET}", _ANNOUNCE]),
    )


def month_path(month: datetime.date, offset: int = 0) -> str:
    """The path of the month `offset` months away."""
    months = month.year * 12 + month.month - 1 + offset
    return f"/calendar/{months // 12:04d}-{months % 12 + 1:02d}/"


def of_list(title: str, intro: str, lines: Iterable[Line], language: str = "en") -> Content:
    """A page that leads to others."""
    lines = list(lines)
    items = "".join(
        f'<li><a href="{escape(line.path)}">{escape(line.title)}</a> <span>{escape(line.note)}</span></li>'
        for line in lines
    )
    return Content(
        language=language,
        title=title,
        html=f"<p>{escape(intro)}</p><ul class='list'>{items}</ul>",
        text="\n".join([intro, *(f"{line.title} {line.note}" for line in lines)]),
    )


def of_notice(heading: str, line: str) -> Content:
    """A handful of words."""
    return Content(language="en", title=heading, html=f"<p>{escape(line)}</p>", text=line)


def sentence(article: Article, number: int) -> str:
    """One sentence of an article, as a teaser."""
    return next(islice(_sentences(article.text), number, None)).strip()


def _sentences(text: str) -> list[str]:
    return _SENTENCE.findall(text)


def _copyedited(paragraphs: Sequence[str], words: Sequence[Sequence[str]], *, spaced: bool) -> list[str]:
    changed = list(paragraphs)
    left = _WORDS_EDITED
    for old, new in words:
        pattern = rf"\b{re.escape(old)}\b" if spaced else re.escape(old)
        for number, paragraph in enumerate(changed):
            if left and re.search(pattern, paragraph):
                changed[number] = re.sub(pattern, new, paragraph, count=1)
                left -= 1
                break
    return changed
