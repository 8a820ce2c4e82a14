"""The scripts compare marks, learn them and file them as `crawldedup.marks` does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import resources
from random import Random
from typing import Any, Final

import pytest
import redis

from crawldedup.marks.exact_keys import ExactKeys, exact_keys, sought_keys
from crawldedup.marks.learning import is_former_text, learned, succeeding
from crawldedup.marks.packing import MOST_BYTES, packed, packed_content, unpacked
from crawldedup.marks.relation import Conflict, conflict, have_new_comments, shown_conflict
from crawldedup.marks.values import (
    MOST_COMMENTS,
    MOST_DATA,
    MOST_NAMES,
    MOST_PICTURES,
    MOST_PLAYERS,
    AddressMarks,
    Comments,
    ContentMarks,
    Datum,
    Marks,
    Name,
    sketch_of,
)
from tests.servers import RedisServer

PAIRS: Final = 12_000
AT_ONCE: Final = 400
DIGEST: Final = 0x01FE80FF
SEARCH: Final = 0x0102_FF80_7F00_1234

# It answers about each three of its arguments: two pages, and the first one without a former text.
FORMER: Final = 0x02_7F80_FF00
KEYS: Final = [
    DIGEST.to_bytes(4, "big"),
    (SEARCH >> 24).to_bytes(5, "big"),
    FORMER.to_bytes(5, "big"),
]

PRELUDE: Final = """
local byte, sub, floor, char = string.byte, string.sub, math.floor, string.char
local min, max, concat = math.min, math.max, table.concat
"""
QUESTIONS: Final = """
local answers = {}
for i = 1, #ARGV, 3 do
  local page, other = unpack_marks(ARGV[i]), unpack_marks(ARGV[i + 1])
  local shown = page and other and shown_conflict(page, other) or 0
  local has_news = page and other and have_new_comments(page, other) and 1 or 0
  local keys = exact_keys(KEYS[2], KEYS[1], page)
  answers[#answers + 1] = {
    conflict(page, other), shown, has_news, learned(ARGV[i], ARGV[i + 1]), keys[1], keys[2] or '', keys[3] or '',
    keys[4] or '', sought_keys(KEYS[2], KEYS[1], page)[4] or '',
    page and has_former(page, ARGV[i + 1], KEYS[3]) and 1 or 0,
    succeeding(ARGV[i + 2], ARGV[i + 1], KEYS[3])
  }
end
return answers
"""


def hash_of(random: Random) -> int:
    """Return one of a few hashes, which look like others in some of their bytes."""
    return random.choice((1, 2, 0x0100, 0x0101, 0xFF0001, 0xFFFFFF, random.randrange(1, 1 << 24)))


def values_of(random: Random, most: int) -> tuple[int, ...]:
    return tuple(hash_of(random) for _ in range(random.choice((0, 0, 1, 1, 2, most))))


def names_of(random: Random) -> tuple[Name, ...]:
    roles = (0, 1, 2, 3, 4, 5, 7, 8, 9, 24, 24, 25, 32, 40, 72, 88, 89, 129, 130, 152, 153)
    count = random.choice((0, 1, 1, 2, 2, 3, MOST_NAMES))
    return tuple(
        Name(hash_of(random), random.choice((*roles, random.randrange(256)))) for _ in range(count)
    )


def links_of(random: Random, links: list[int]) -> tuple[int, int]:
    """Return how many links there are, and a sketch of them, for some of a few links."""
    kept = [link for link in links if random.random() < 0.85]
    if random.random() < 0.1:
        return random.choice((3, 4, 255)), random.getrandbits(64)
    return len(kept) if len(kept) >= 3 else 0, sketch_of(kept) if len(kept) >= 3 else 0


def content_of(random: Random, links: list[int]) -> ContentMarks:
    pictures = values_of(random, MOST_PICTURES)
    count, sketch = links_of(random, links)
    return ContentMarks(
        names=names_of(random),
        pictures=pictures,
        has_lead=bool(pictures) and random.random() < 0.7,
        players=values_of(random, MOST_PLAYERS),
        data=tuple(
            Datum(random.choice((1, 256, 65535)), value) for value in values_of(random, MOST_DATA)
        ),
        text=random.choice((None, 7, 7, 8)),
        links=count,
        sketch=sketch,
        is_listing=random.random() < 0.25,
        numbers=random.choice((None, None, None, 5, 5, 5, 6)),
        comments=comments_of(random),
        comments_are_text=random.random() < 0.2,
        rest=random.choice((None, None, 7, 8)),
    )


def comments_of(random: Random) -> Comments | None:
    if random.random() < 0.7:
        return None
    hashes = random.choice((range(1, 20), range(1, 200)))
    count = random.choice((0, 1, 2, 3, 4, MOST_COMMENTS))
    return Comments(random.choice((1, 2, 0xFF0001)), tuple(sorted(random.sample(hashes, count))))


def address_of(random: Random) -> AddressMarks:
    path = random.choice((1, 1, 0xFE_0302_00FF))
    parameters = random.choice((0, 0, 3, 0xAB_00FF_0003))
    own = (path ^ parameters) & 0xFF_FFFF
    return AddressMarks(
        site=random.choice((9, 9, 9, 9, 0xFF0009)),
        path=path,
        folder=random.choice((4, 4, 4, 5)),
        names=random.choice((1, 0xFF00)) if parameters else 0,
        parameters=parameters,
        views=random.choice((0, 0, 6)),
        canonical=random.choice((own, own, 0, 77)),
        former=random.choice((0, 0, 5, FORMER)),
    )


def without_some(random: Random, content: ContentMarks) -> ContentMarks:
    """Return the marks without some kinds of them, as another view of the page may show them."""
    given: dict[str, Any] = {}
    if random.random() < 0.3:
        given |= {"pictures": (), "has_lead": False}
    for kind in ("names", "players", "data"):
        if random.random() < 0.3:
            given[kind] = ()
    fields = {name: getattr(content, name) for name in ContentMarks.__dataclass_fields__}
    return ContentMarks(**{**fields, **given})


def pair_of(random: Random) -> tuple[bytes, bytes]:
    """Return the marks of two pages, which often share most of them."""
    count = random.choice((0, 3, 8, 20, 60, 255))
    links = [random.randrange(1, 1 << 24) for _ in range(count)]
    first = content_of(random, links)
    second = without_some(random, first) if random.random() < 0.5 else content_of(random, links)
    addresses = [None if random.random() < 0.05 else address_of(random) for _ in range(2)]
    pages = [packed(Marks(*each)) for each in zip((first, second), addresses, strict=True)]
    if random.random() < 0.02:
        pages[random.randrange(2)] = b""
    random.shuffle(pages)
    return pages[0], pages[1]


def expected(first: bytes, second: bytes) -> list[Any]:
    page, other = unpacked(first), unpacked(second)
    found = shown = Conflict.NONE
    has_news = False
    if page is not None and other is not None:
        found, shown = conflict(page, other), shown_conflict(page.content, other.content)
        has_news = have_new_comments(page.content, other.content)
    return [
        int(found),
        int(shown),
        int(has_news),
        learned(first, second),
        *packed_keys(exact_keys(SEARCH, DIGEST, first)),
        packed_keys(sought_keys(SEARCH, DIGEST, first))[3],
        int(is_former_text(first, second, FORMER)),
        succeeding(without_former(first), second, FORMER),
    ]


def without_former(marks: bytes) -> bytes:
    """Return the marks of a page that is met now, which has taken no other's place yet."""
    page = unpacked(marks)
    if page is None or page.address is None:
        return marks
    return packed(replace(page, address=replace(page.address, former=0)))


def packed_keys(keys: ExactKeys) -> list[bytes]:
    return [b"" if key is None else key.to_bytes(5, "big") for key in keys]


@pytest.fixture
def ask(redis_server: RedisServer) -> Any:
    client: redis.Redis = redis_server.client
    folder = resources.files("crawldedup.stores.redis").joinpath("lua/lib")
    rule = client.register_script(
        PRELUDE + folder.joinpath("marks.lua").read_text("utf-8") + QUESTIONS
    )

    def ask(pairs: list[tuple[bytes, bytes]]) -> list[Any]:
        answers: list[Any] = []
        for start in range(0, len(pairs), AT_ONCE):
            arguments: list[bytes] = []
            for first, second in pairs[start : start + AT_ONCE]:
                arguments += first, second, without_former(first)
            answers += rule(KEYS, arguments)
        return answers

    return ask


def test_the_scripts_decide_about_marks_as_python_does(ask: Any) -> None:
    random = Random(11)
    pairs = [pair_of(random) for _ in range(PAIRS)]
    wanted = [expected(*pair) for pair in pairs]
    assert ask(pairs) == wanted
    # They disagree for every reason, and learn often enough.
    kinds = Counter(answer[0] for answer in wanted)
    assert set(kinds) == set(Conflict)
    assert min(kinds.values()) > 20
    assert sum(answer[2] for answer in wanted) > 1000
    assert sum(answer[3] != first for answer, (first, _) in zip(wanted, pairs, strict=True)) > 1000


def test_sketches_of_every_distance_are_compared_alike(ask: Any) -> None:
    pairs = []
    for bits in range(65):
        for count, its in ((3, 3), (10, 14), (40, 40), (100, 60), (255, 255)):
            pages = [
                packed(
                    Marks(
                        ContentMarks(links=links, sketch=sketch, is_listing=True),
                        AddressMarks(1, path, 2, 0, 0, 0, path),
                    )
                )
                for links, sketch, path in ((count, 0, 3), (its, (1 << bits) - 1, 4))
            ]
            pairs.append((pages[0], pages[1]))
    assert ask(pairs) == [expected(*pair) for pair in pairs]


def test_the_most_marks_that_a_page_can_have_fit_into_a_record() -> None:
    content = ContentMarks(
        names=(Name(1, 255),) * MOST_NAMES,
        pictures=(1,) * MOST_PICTURES,
        has_lead=True,
        players=(1,) * MOST_PLAYERS,
        data=(Datum(1, 1),) * MOST_DATA,
        text=1,
        links=255,
        sketch=1,
        numbers=1,
    )
    address = AddressMarks(1, 1, 1, 1, 1, 1, 1)
    assert len(packed_content(content)) <= MOST_BYTES
    assert len(packed(Marks(content, address))) <= 255
