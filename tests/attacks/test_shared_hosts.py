"""Whoever has a folder on a host that many share can do nothing to the pages of others there.

An attacker teaches a crawl what he likes about his own pages. Then come those of a neighbor, which
would be lost if it held for them too. To show that they would, the same lesson is taught in the
folder of the neighbor as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import pytest

from crawldedup import Deduplicator, Page
from tests.stories import edited, story

HOSTS: Final = {
    "tilde": "http://home.example/~{user}/{page}",
    "at": "http://posts.example/@{user}/{page}",
    "users": "http://wiki.example/users/{user}/{page}",
    "u": "http://forum.example/u/{user}/{page}",
    "deep": "http://wiki.example/en/main/members/{user}/{page}",
    "a known host": "https://medium.com/{user}/{page}",
    "another host": "https://{user}.github.io/{page}",
}
ATTACKER, NEIGHBOR = "mallory", "alice"
LOADS: Final = range(2)
LESSONS: Final = 5  # pages that teach
PAGES: Final = 4  # contents to lose


def token(*parts: object) -> str:
    return hashlib.md5(repr(parts).encode()).hexdigest()


def html(name: str, text: str, body: str = "", head: str = "") -> str:
    return (
        f"<html><head><title>{name} | Site</title>{head}</head><body><main><h1>{name}</h1>{body}"
        f"<p>{text}</p></main></body></html>"
    )


def pictured(name: str, text: str, picture: str) -> str:
    return html(name, text, f"<img src='/i/{picture}.jpg' width=900>")


def played(name: str, text: str, video: str) -> str:
    return html(name, text, f"<iframe src='https://tube.example/embed/{video}'></iframe>")


def chosen(name: str, text: str, size: str) -> str:
    return html(name, text, f"<input type=hidden name=size value={size}>")


def counted(name: str, text: str, number: object) -> str:
    return html(name, text, f"<div>Chapter {number} of the great book of boats</div>")


UrlOf = Callable[[str], str]
Contents = list[tuple[str, str]]
"""The paths of pages, and their HTML."""


class Attack(NamedTuple):
    """A lesson, and the pages that are lost where it holds."""

    lesson: Contents
    contents: Contents


def rotating(page: int, load: int) -> str:
    """What a content shows, as a page shows it that changes with every load."""
    return f"content{(page + load) % PAGES}"


def random_number(page: int, load: int) -> str:
    return f"{page}-{load}"


def marks(
    shown: Callable[[str, str, str], str], value_of: Callable[[int, int], str] = rotating
) -> Attack:
    """A kind of mark that changes with every load, and contents that it tells apart."""
    lesson = [
        (f"p{page}", shown(f"Page {page}", story(page, 100), value_of(page, load)))
        for page in range(LESSONS)
        for load in LOADS
    ]
    contents = [(f"lamp{n}", shown("Lamp", story(77, 100), f"content{n}")) for n in range(PAGES)]
    return Attack(lesson, contents)


def names() -> Attack:
    lesson = [
        (f"p{page}", html(f"Lamp {(page + load) % PAGES}", story(page, 200)))
        for page in range(LESSONS)
        for load in LOADS
    ]
    contents = [(f"lamp{n}", html(f"Lamp {n}", story(77, 100))) for n in range(PAGES)]
    return Attack(lesson, contents)


def lines() -> Attack:
    """A line whose number changes. Only pages at addresses of other forms are lost by that."""
    lesson = [
        (f"p{page}", counted(f"Page {page}", story(page, 100), 10 * page + load))
        for page in range(LESSONS)
        for load in LOADS
    ]
    contents = [(f"lamp?p{n}=1", counted("Lamp", story(77, 100), 40 + n)) for n in range(PAGES)]
    return Attack(lesson, contents)


def views() -> Attack:
    """A session that is proved, and documents that such a parameter names."""
    lesson = [
        (f"p{page}?sid={token(load)}", html(f"Page {page}", story(page, 100)))
        for page in range(LESSONS)
        for load in LOADS
    ]
    contents = []
    for n in range(PAGES):
        link = f"<a href='other/page?sid={token('document', n)}'>a link to another path</a>"
        text = f"{story(77, 120)} {story(100 + n, 40)}"
        contents.append((f"viewer?sid={token('document', n)}", html("Viewer", text, link)))
    return Attack(lesson, contents)


ATTACKS: Final = {
    "pictures": marks(pictured),
    "players": marks(played),
    "data": marks(chosen, random_number),
    "names": names(),
    "lines": lines(),
    "views": views(),
}


def crawl() -> Deduplicator:
    return Deduplicator(volatile=True, extractor="text")


def lost(teacher: UrlOf, owner: UrlOf, attack: Attack) -> int:
    """Return how many contents of an owner are lost once a teacher has taught his lesson."""
    with crawl() as dedup:
        for path, page in attack.lesson:
            dedup.check(teacher(path), html=page)
        return count_lost(dedup, [Page(owner(path), html=page) for path, page in attack.contents])


def count_lost(dedup: Deduplicator, pages: Iterable[Page]) -> int:
    return sum(verdict.is_duplicate for verdict in dedup.check_many(pages))


def folder(host: str, user: str) -> UrlOf:
    return lambda page: HOSTS[host].format(user=user, page=page)


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("host", HOSTS)
class TestFolders:
    def test_what_is_taught_in_one_holds_in_no_other(self, host: str, name: str) -> None:
        own, others = folder(host, ATTACKER), folder(host, NEIGHBOR)
        assert lost(own, others, ATTACKS[name]) == 0
        # Whoever changes names gains nothing, even at home: a page is called as it was called before.
        assert lost(others, others, ATTACKS[name]) == (0 if name == "names" else PAGES - 1)

    def test_neither_for_users_who_are_called_by_numbers(self, host: str, name: str) -> None:
        assert lost(folder(host, "user17"), folder(host, "user18"), ATTACKS[name]) == 0
        assert lost(folder(host, "2017"), folder(host, "2018"), ATTACKS[name]) == 0


SIDE_BY_SIDE: Final = [
    "http://wiki.example/en/users/{user}/{page}",
    "http://posts.example/@{user}-{page}",
    "http://posts.example/en/@{user}-{page}",
    "http://forum.example/users/{user}-{page}",
    "https://medium.com/{user}-{page}",
]


@pytest.mark.parametrize("name", ["lines", "pictures", "views"])
@pytest.mark.parametrize("layout", SIDE_BY_SIDE)
def test_pages_of_users_side_by_side_teach_nothing(layout: str, name: str) -> None:
    def by(user: str) -> UrlOf:
        return lambda page: layout.format(user=user, page=page)

    assert lost(by(ATTACKER), by(NEIGHBOR), ATTACKS[name]) == 0


WAYS: Final = [
    "http://home.example/~alice/..%2f~mallory/{}",
    "http://home.example/~alice/..%2F..%2F~mallory/{}",
    "http://home.example/~alice/%2e%2e/~mallory/{}",
    "http://home.example/~alice/../~mallory/{}",
    "http://home.example/~alice/..;/~mallory/{}",
    "http://home.example/~alice/..%3B/~mallory/{}",
    "http://home.example/~alice/..%5c~mallory/{}",
    "http://home.example/~alice/%252e%252e%252f~mallory/{}",
    "http://home.example/~alice%2f..%2f~mallory/{}",
    "http://home.example/~mallory%2f..%2f~alice/{}",
]
NAMES: Final = [
    *("alice%2F", "alice%2fx", "alice%3Fx", "alice%23x", "alice;x", "alice;x=1", "alice%3Bx"),
    *("alice%00", "alice%0A", "alice%20", "alice.", "Alice", "alic%65%", "al\u0131ce", "%ff"),
    *("*", "=", "=~alice", "<", "<~alice", "&", "~alice", "alice&sid=1", "", ".", "0"),
    *("alice" * 40, "x" * 3000, "\ud800", "{}", '"', "a]["),
]
ALICE: Final = folder("tilde", "alice")


@pytest.mark.parametrize("name", ["pictures", "lines", "views"])
class TestNames:
    @pytest.mark.parametrize("way", WAYS)
    def test_no_way_leads_into_the_folder_of_another(self, name: str, way: str) -> None:
        assert lost(way.format, ALICE, ATTACKS[name]) == 0

    @pytest.mark.parametrize("user", NAMES)
    def test_no_name_is_taken_for_that_of_another(self, name: str, user: str) -> None:
        own = "http://home.example/~" + user.replace("{", "{{").replace("}", "}}") + "/{}"
        assert lost(own.format, ALICE, ATTACKS[name]) == 0

    @pytest.mark.parametrize(
        "start", ["/%7Emallory/", "/~mallory?q=", "/~mallory/?q=", "//~mallory/"]
    )
    def test_a_home_is_part_of_its_folder(self, name: str, start: str) -> None:
        """Neither the pages of the host's owner nor other homes stand beside it."""
        own = f"http://home.example{start}{{}}"
        for others in ("http://home.example/{}", "http://home.example/~alice?q={}"):
            changed = [(path.replace("?", "&"), page) for path, page in ATTACKS[name].contents]
            assert lost(own.format, others.format, Attack(ATTACKS[name].lesson, changed)) == 0

    @pytest.mark.parametrize("user", ["print", "m", "amp", "mobile", "text"])
    def test_a_user_may_be_called_like_a_view(self, name: str, user: str) -> None:
        own, others = f"https://github.com/{user}/alice/{{}}", "https://github.com/alice/{}"
        assert lost(own.format, others.format, ATTACKS[name]) == 0
        own, others = f"https://{user}.github.io/{{}}", "https://www.github.io/{}"
        assert lost(own.format, others.format, ATTACKS[name]) == 0

    def test_names_of_one_host_do_not_blind_a_crawl_for_others(self, name: str) -> None:
        """Names of any length fill the notes of one host alone, and hold no page of others back."""
        with crawl() as dedup:
            for path, page in ATTACKS[name].lesson:
                dedup.check(f"http://honest.example/a/{path}", html=page)
            for number in range(100):
                for path, page in ATTACKS[name].lesson[:2]:
                    own = f"http://home.example/~mallory/{'x' * 150}{number}/{path}"
                    dedup.check(own, html=page)
            note = dedup.hosts.exchange("")
            assert len(note) < 200_000
        with crawl() as other:
            other.hosts.exchange(note)
            contents = [
                Page(f"http://honest.example/a/{path}", html=page)
                for path, page in ATTACKS[name].contents
            ]
            # What is known of the honest host still holds.
            assert count_lost(other, contents) == PAGES - 1


class TestNeighbors:
    """What a neighbor has taught himself is not bent by others."""

    def test_other_numbers_of_a_line_stay(self) -> None:
        """How many have come changes with every load, and the number of the chapter does not."""

        def told(name: str, text: str, chapter: int, count: int) -> str:
            return html(
                name, text, f"<div>Chapter {chapter} of the book of boats, {count} more</div>"
            )

        def lost_beside(attacker: str) -> int:
            with crawl() as dedup:
                for page in range(PAGES):
                    for load in LOADS:
                        name, text = f"Page {page}", story(page, 100)
                        dedup.check(ALICE(f"p{page}"), html=told(name, text, 40, 7 * page + load))
                        url = f"http://home.example/~{attacker}/x{page}"
                        dedup.check(url, html=told(f"X {page}", text, 7 * page + load, 3))
                chapters = [
                    Page(ALICE(f"book?p{n}=1"), html=told("Book", story(77, 100), 50 + n, n))
                    for n in range(PAGES)
                ]
                return count_lost(dedup, chapters)

        assert lost_beside(ATTACKER) == 0
        assert lost_beside(NEIGHBOR) == PAGES - 1

    @pytest.mark.parametrize("host", HOSTS)
    def test_a_copy_without_its_numbers_does_not_own_what_differs_in_them(self, host: str) -> None:
        """Two months of an archive may differ in numbers of a line that changes elsewhere."""

        def shown(page: str, number: int) -> str:
            return counted(page, story(len(page), 100), number)

        own, others = folder(host, ATTACKER), folder(host, NEIGHBOR)
        with crawl() as dedup:
            for url_of in (own, others):
                for page in ("p", "pp", "ppp", "pppp"):
                    for load in LOADS:
                        dedup.check(url_of(page), html=shown(page, len(page) * 7 + load))
            for page in range(PAGES):
                for load in LOADS:
                    dedup.check(own(f"copy{page}"), html=shown("Archive", 60 + page * 7 + load))
            months = [Page(others(f"month?m={n}"), html=shown("Archive", 40 + n)) for n in range(6)]
            assert count_lost(dedup, months) == 0

    @pytest.mark.parametrize("host", [host for host in HOSTS if host != "another host"])
    def test_a_value_does_not_recur_because_another_repeats_it(self, host: str) -> None:
        """Where sessions are proved, the number of a document is one that recurs nowhere."""
        attack = views()
        plain = [(path, page.replace("<a href", "<b title")) for path, page in attack.contents]

        def lost_beside(repeat: UrlOf | None) -> int:
            others = folder(host, NEIGHBOR)
            with crawl() as dedup:
                for path, page in attack.lesson:
                    dedup.check(others(path), html=page)
                for path, _ in plain if repeat else ():
                    name, _, value = path.partition("?")
                    for elsewhere in ("a", "b"):
                        repeated = html("Mine", story(5, 100), f"<a href='/x?{value}'>{name}</a>")
                        dedup.check(repeat(f"{elsewhere}?{value}"), html=repeated)
                return count_lost(dedup, [Page(others(path), html=page) for path, page in plain])

        assert lost_beside(None) == 0
        assert lost_beside(folder(host, ATTACKER)) == 0
        assert lost_beside(folder(host, NEIGHBOR)) == PAGES - 1

    @pytest.mark.parametrize("host", HOSTS)
    def test_canonical_links_attach_no_page_to_another(self, host: str) -> None:
        own, others = folder(host, ATTACKER), folder(host, NEIGHBOR)
        texts = [story(600 + n, 120) for n in range(PAGES)]
        with crawl() as dedup:
            for path, page in views().lesson:
                dedup.check(own(path), html=page)
            for n, text in enumerate(texts):
                head = f"<link rel=canonical href='{others(f'doc{n}')}'>"
                for page in (f"doc{n}", f"doc{n}?sid={token(0)}", f"print/doc{n}"):
                    half = html(f"Document {n}", edited(text, 12), head=head)
                    dedup.check(own(page), html=half, canonical=others(f"doc{n}"))
            victims = [
                Page(others(f"doc{n}?sid={token(1)}"), html=html(f"Document {n}", text))
                for n, text in enumerate(texts)
            ]
            assert count_lost(dedup, victims) == 0

    def test_thousands_of_folders_lose_no_page(self) -> None:
        """They may have forgotten what was learned of a neighbor; then his copies come through."""
        learned, marked = views(), marks(pictured)
        with Deduplicator(volatile=True, extractor="text", scope="site") as dedup:
            for path, page in learned.lesson:
                dedup.check(ALICE(path), html=page)
                dedup.check(f"http://honest.example/a/{path}", html=page)
            for number in range(300):
                path, page = marked.lesson[number % len(marked.lesson)]
                for _ in LOADS:
                    dedup.check(f"http://home.example/~mallory/{number}/{path}", html=page)
            contents = [*views().contents, *marked.contents]
            pages = [
                Page(ALICE(path), html=page.replace("<a href", "<b title"))
                for path, page in contents
            ]
            assert count_lost(dedup, pages) == 0
            # Nothing is forgotten of other hosts.
            honest = [
                Page(f"http://honest.example/a/{path}", html=page)
                for path, page in learned.contents
            ]
            assert count_lost(dedup, honest) == PAGES - 1
