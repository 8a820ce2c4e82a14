"""Families of sites whose pages share text: siblings in one template, all to be kept.

A family is a site. Its content comes in groups, one for each size, and each group shares a text.
Within a group, pieces of content differ in one kind of mark and in everything that depends on it.
The texts differ from family to family.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from html import escape
from random import Random
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from benchmarks.siblings_parts.languages import (
    ARABIC,
    CHINESE,
    ENGLISH,
    FRENCH,
    GERMAN,
    RUSSIAN,
    SPANISH,
    THAI,
    Language,
)
from benchmarks.siblings_parts.site import (
    ON_SCREEN,
    WITH_PRINT,
    WITH_SECTION,
    Canonical,
    Site,
    View,
)
from benchmarks.siblings_parts.template import Content, Template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LISTED: Final = 8
"""Links on a page of a listing."""
_SHOWN_SIZES: Final = 5
_DRAWN: Final = 6


class Mark(StrEnum):
    """What tells the siblings of a family apart."""

    NAME = "name"
    PICTURE = "picture"
    PLAYER = "player"
    DATA = "data"
    LISTING = "listing"
    TEXT = "text"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Sibling:
    """A content before it is written: its place in the family, and what only it has."""

    number: int
    """In the family, from 0."""
    position: int
    """Among those that share its text, from 0."""
    words: int
    name: str
    second_name: str
    series: str
    """The name of what the group shares."""
    shared: str
    """HTML of the text that the group shares."""
    language: Language
    random: Random


@dataclass(frozen=True)
class Family:
    """A kind of site, and how it writes one of its contents."""

    name: str
    mark: Mark
    language: Language
    site_title: str
    content: Callable[[Sibling], Content]
    template: Template = Template.MODERN
    canonical: Canonical = Canonical.NONE
    views: Sequence[View] = WITH_PRINT
    prints_pictures: bool = False

    def site(self, sizes: Sequence[int], siblings: int) -> Site:
        """Its site, with so many siblings for each number of words that they share."""
        return Site(
            host=f"www.{self.name.replace(' ', '-')}.example",
            title=self.site_title,
            language=self.language,
            template=self.template,
            contents=[self.content(sibling) for sibling in self._siblings(sizes, siblings)],
            canonical=self.canonical,
            views=self.views,
            prints_pictures=self.prints_pictures,
        )

    def _siblings(self, sizes: Sequence[int], siblings: int) -> Iterator[Sibling]:
        count = len(sizes) * siblings
        names = iter(self.language.names(self.name, 2 * count + len(sizes)))
        for group, words in enumerate(sizes):
            series = next(names)
            paragraphs = self.language.paragraphs(f"{self.name} {words}", words)
            shared = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)
            for position in range(siblings):
                number = group * siblings + position
                yield Sibling(
                    number=number,
                    position=position,
                    words=words,
                    name=next(names),
                    second_name=next(names),
                    series=series,
                    shared=shared,
                    language=self.language,
                    random=Random(f"{self.name} {number}"),
                )


def _slug(name: str) -> str:
    return quote(name.lower().replace(" ", "-"))


# Told by the name.


def _job(sibling: Sibling) -> Content:
    town, number = sibling.name, 70_000 + sibling.number
    role = f"{sibling.series} operator"
    return Content(
        path=f"/jobs/{number}",
        title=f"{role} in {town}",
        heading=f"{role} in {town}",
        text=f"<ul><li>{town}</li><li>Full time</li></ul>{sibling.shared}<p>Apply for our site in {town}.</p>",
        words=sibling.words,
        controls="<button>Apply now</button>",
        declared={
            "@type": "JobPosting",
            "title": role,
            "identifier": number,
            "jobLocation": {"@type": "Place", "address": town},
        },
    )


def _branch(sibling: Sibling) -> Content:
    town, random = sibling.name, sibling.random
    address = f"Marktstraße {random.randint(1, 200)}, {random.randint(10_000, 99_999)} {town}"
    return Content(
        path=f"/filialen/{_slug(town)}",
        title=f"Filiale {town}",
        heading=f"Filiale {town}",
        text=f"<address>{address}</address><p>Mo-Fr 6:30-18:30, Sa 7-13</p>{sibling.shared}",
        words=sibling.words,
    )


def _room(sibling: Sibling) -> Content:
    title = f"ห้องพัก {sibling.name}"
    return Content(
        path=f"/rooms/{300 + sibling.number}",
        title=title,
        heading=title,
        text=f"<p>{sibling.random.randint(18, 60)} ตร.ม.</p>{sibling.shared}",
        words=sibling.words,
        pictures=f'<img src="/media/rooms/{300 + sibling.number}.jpg" alt="">',
    )


def _flat(sibling: Sibling) -> Content:
    title = f"{sibling.name}公寓"
    floor, area = sibling.position + 1, 50 + 2 * (sibling.position % 5)
    return Content(
        path=f"/zufang/{8_000 + sibling.number}.html",
        title=title,
        heading=title,
        text=f"<dl><dt>楼层</dt><dd>{floor}</dd><dt>面积</dt><dd>{area} 平方米</dd></dl>{sibling.shared}",
        words=sibling.words,
        pictures=f'<img src="/media/plans/plan-{sibling.position % 4}.png" alt="">',
    )


def _match(sibling: Sibling) -> Content:
    random, home, away = sibling.random, sibling.name, sibling.second_name
    title = f"{home} - {away} {random.randint(0, 4)}:{random.randint(0, 4)}"
    return Content(
        path=f"/partido/{30_000 + sibling.number}",
        title=title,
        heading=title,
        text=f"<p>{title}</p><p>Espectadores: {random.randint(2_000, 40_000)}</p>{sibling.shared}",
        words=sibling.words,
    )


def _clinic(sibling: Sibling) -> Content:
    title = f"عيادة {sibling.name}"
    return Content(
        path=f"/clinic?id={100 + sibling.number}",
        title=title,
        heading=title,
        text=f"<p>{sibling.second_name}</p>{sibling.shared}",
        words=sibling.words,
    )


# Told by the picture.


def _comic(sibling: Sibling) -> Content:
    number = 400 + sibling.number
    return Content(
        path=f"/comic/{number}",
        title=f"#{number}",
        heading="",
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<div id="comic"><img src="/media/comics/{_slug(sibling.name)}.png" alt="{sibling.name}"></div>',
        controls=f'<a rel="prev" href="/comic/{number - 1}">Previous</a> <a rel="next" href="/comic/{number + 1}">Next</a>',
    )


def _photo(sibling: Sibling) -> Content:
    number = 10_245 + 3 * sibling.number
    return Content(
        path=f"/archive/{number}.html",
        title=sibling.series,
        heading=sibling.series,
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<img src="/media/archive/{number}_large.jpg" alt="{sibling.series}">',
    )


def _lamp(sibling: Sibling) -> Content:
    name, color = f"Lamp {sibling.series}", _slug(sibling.name)
    return Content(
        path=f"/p/{_slug(sibling.series)}?img={color}",
        title=name,
        heading=name,
        text=f'<p class="price">$ {20 + sibling.words}.90</p>{sibling.shared}',
        words=sibling.words,
        pictures=f'<img src="/media/p/{_slug(sibling.series)}-{color}.jpg" alt="{name}">',
        controls="<button>Add to cart</button>",
    )


# Told by a player or a frame.


def _document(sibling: Sibling) -> Content:
    number = 7_000 + sibling.number
    file = f"/files/{_slug(sibling.name)}-{number}.pdf"
    return Content(
        path=f"/viewer.aspx?doc={number}",
        title="",
        heading="Dokumentanzeige",
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<iframe src="/pdfjs/web/viewer.html?file={file}" width="100%" height="800"></iframe>',
    )


def _recording(sibling: Sibling) -> Content:
    number = sibling.random.randint(10**8, 10**9)
    return Content(
        path=f"/seance/{number}",
        title="Séance du conseil",
        heading="Séance du conseil",
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<video controls src="/media/rec/{number}.mp4"></video>',
    )


def _map(sibling: Sibling) -> Content:
    random = sibling.random
    at = f"{random.uniform(40, 60):.5f},{random.uniform(0, 20):.5f}"
    return Content(
        path=f"/map?place={sibling.number + 1}",
        title="How to find us",
        heading="How to find us",
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<iframe src="https://maps.example.org/embed?ll={at}&amp;z=14" width="600" height="400"></iframe>',
    )


# Told by values in the page.


def _shirt(sibling: Sibling) -> Content:
    name, size = f"Shirt {sibling.series}", 30 + sibling.position
    first = size - size % _SHOWN_SIZES
    choices = "".join(
        f'<label><input type="radio" name="size" value="{value}"{" checked" if value == size else ""}>{value}</label>'
        for value in range(first, first + _SHOWN_SIZES)
    )
    return Content(
        path=f"/p/{_slug(sibling.series)}?size={size}",
        title=name,
        heading=name,
        text=sibling.shared,
        words=sibling.words,
        pictures=f'<img src="/media/p/{_slug(sibling.series)}.jpg" alt="{name}">',
        controls=f"<form>{choices}<button>Add to cart</button></form>",
    )


def _form(sibling: Sibling) -> Content:
    kind = _slug(sibling.name)
    return Content(
        path=f"/form?kind={kind}",
        title="",
        heading="Application",
        text=sibling.shared,
        words=sibling.words,
        controls=f'<form action="/submit"><input type="hidden" name="kind" value="{kind}"><label>Name <input name="applicant"></label></form>',
    )


def _entity(sibling: Sibling) -> Content:
    number = 100 + sibling.number
    return Content(
        path=f"/item/{number}",
        title="",
        heading="",
        text=sibling.shared,
        words=sibling.words,
        state={
            "id": number,
            "name": sibling.name,
            "text": sibling.language.line(f"entity {number}"),
        },
    )


# Told by where the links lead.


def _listing(sibling: Sibling) -> Content:
    names = sibling.language.names(f"listing {sibling.number}", _LISTED)
    links = "".join(
        f'<li><a href="/item/{sibling.number * _LISTED + place}">{name}</a></li>'
        for place, name in enumerate(names)
    )
    return Content(
        path=f"/list/{sibling.words}?page={sibling.position + 1}",
        title=sibling.series,
        heading=sibling.series,
        text=f"{sibling.shared}<ul>{links}</ul>",
        words=sibling.words,
    )


# Told by a few words of the text, at addresses of one form.


def _notice(sibling: Sibling) -> Content:
    about = f"In the matter of {sibling.name}, late of {sibling.second_name}."
    return Content(
        path=f"/notice.asp?id={120_000 + sibling.number}",
        title="",
        heading="Notice to creditors",
        text=f"<p>{about}</p>{sibling.shared}",
        words=sibling.words,
    )


def _draw(sibling: Sibling) -> Content:
    drawn = " ".join(map(str, sorted(sibling.random.sample(range(1, 50), _DRAWN))))
    return Content(
        path=f"/draw/{2_400 + sibling.number}.html",
        title="",
        heading="Результаты тиража",
        text=f"<p>{2_400 + sibling.number}: {drawn}</p>{sibling.shared}",
        words=sibling.words,
    )


def _week(sibling: Sibling) -> Content:
    week = 1 + sibling.position
    state = sibling.random.choice(("ว่าง", "จองแล้ว"))
    return Content(
        path=f"/house/{sibling.words}?week={week}",
        title=sibling.series,
        heading=sibling.series,
        text=f"<p>สัปดาห์ {week}: {state}</p>{sibling.shared}",
        words=sibling.words,
    )


# Told by nothing but the address: a script will fetch the content.


def _shell(sibling: Sibling) -> Content:
    return Content(
        path=f"/view/{100 + sibling.number}",
        title="",
        heading="",
        text=sibling.shared,
        words=sibling.words,
    )


FAMILIES: Final = (
    Family(
        "jobs",
        Mark.NAME,
        ENGLISH,
        "Norda Careers",
        _job,
        canonical=Canonical.PLAIN,
        views=WITH_SECTION,
    ),
    Family("branches", Mark.NAME, GERMAN, "Brotlaib", _branch, canonical=Canonical.AS_ASKED),
    Family("hotel rooms", Mark.NAME, THAI, "โรงแรมริมทะเล", _room, canonical=Canonical.PLAIN),
    Family("flats", Mark.NAME, CHINESE, "租房网", _flat, Template.DIVS, views=WITH_SECTION),
    Family("matches", Mark.NAME, SPANISH, "Marcador", _match, Template.HERO, views=WITH_SECTION),
    Family("clinics", Mark.NAME, ARABIC, "دليل العيادات", _clinic, canonical=Canonical.PLAIN),
    Family(
        "web comics", Mark.PICTURE, ENGLISH, "Ragged Lines", _comic, Template.DIVS, views=ON_SCREEN
    ),
    Family(
        "gallery",
        Mark.PICTURE,
        RUSSIAN,
        "Фотоархив",
        _photo,
        Template.TABLE,
        prints_pictures=True,
    ),
    Family("lamp colors", Mark.PICTURE, ENGLISH, "Lumenry", _lamp),
    Family("documents", Mark.PLAYER, GERMAN, "Stadtbibliothek", _document, views=ON_SCREEN),
    Family("recordings", Mark.PLAYER, FRENCH, "Mairie", _recording, Template.DIVS, views=ON_SCREEN),
    Family("maps", Mark.PLAYER, ENGLISH, "Brightwell Stores", _map, views=ON_SCREEN),
    Family("shirt sizes", Mark.DATA, ENGLISH, "Threadbare", _shirt),
    Family("forms", Mark.DATA, ENGLISH, "Permit Office", _form, Template.DIVS, views=ON_SCREEN),
    Family("application", Mark.DATA, ENGLISH, "Tripper", _entity, Template.APP, views=ON_SCREEN),
    Family("listings", Mark.LISTING, CHINESE, "户外用品", _listing),
    Family("notices", Mark.TEXT, ENGLISH, "Court Gazette", _notice, Template.TABLE),
    Family("lottery draws", Mark.TEXT, RUSSIAN, "Лото", _draw, Template.TABLE),
    Family("vacation weeks", Mark.TEXT, THAI, "บ้านพักตากอากาศ", _week, Template.DIVS),
    Family("shells", Mark.NOTHING, ENGLISH, "Fetchly", _shell, Template.APP, views=ON_SCREEN),
)
"""Every family, by kind of mark."""
