"""Where pages crowd, plans are made as for a larger index, and only there."""

from __future__ import annotations

from dataclasses import replace

from crawldedup.fingerprinting.fingerprint import fingerprint
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.keys import NO_KEY
from crawldedup.search.plan import HOT_EFFORT, MAX_CANDIDATES, MAX_KEYS
from crawldedup.search.query import MAX_EXTRA_BITS, HotPrefixes, QueryBuilder
from crawldedup.stores.base import Answer, Status

MOST = 64
HERE = [0x123 << 54, 0x3FF << 54]
HERE_TOO = [HERE[0] + 12345, HERE[1] + 99]
ELSEWHERE = [0x122 << 54, 0x3FE << 54]
HALF_HERE = [HERE[0], ELSEWHERE[1]]
TEXT = " ".join(f"word{number}" for number in range(100))
ASKED = [(Page("https://example.com/", text=TEXT), fingerprint(TEXT))]
(QUERY,) = QueryBuilder(Options()).queries(ASKED, NO_KEY, 1)


def meet(hot_prefixes: HotPrefixes, candidates: int) -> None:
    """Let a page that lies here be compared with so many pages, of at most MOST."""
    query = replace(QUERY, keys=tuple(HERE), max_candidates=MOST)
    hot_prefixes.learn(query, Answer(Status.NEW, None, False, 1_000_000, candidates))


def test_a_crowd_is_remembered_where_it_was() -> None:
    hot_prefixes = HotPrefixes()
    meet(hot_prefixes, MOST - 1)
    assert hot_prefixes.extra_bits([HERE]) == [0]
    meet(hot_prefixes, MOST)
    assert hot_prefixes.extra_bits([HERE]) == hot_prefixes.extra_bits([HERE_TOO]) > [0]
    assert hot_prefixes.extra_bits([ELSEWHERE]) == hot_prefixes.extra_bits([HALF_HERE]) == [0]


def test_the_larger_the_crowd_the_narrower_the_ranges_up_to_a_limit() -> None:
    hot_prefixes = HotPrefixes()
    seen = []
    for _ in range(40):
        meet(hot_prefixes, MOST)
        seen += hot_prefixes.extra_bits([HERE])
    assert seen == sorted(seen)
    assert seen[0] < seen[1] < seen[-1] == MAX_EXTRA_BITS


def test_a_crowd_that_has_left_is_forgotten() -> None:
    hot_prefixes = HotPrefixes()
    meet(hot_prefixes, MOST)
    (crowded,) = hot_prefixes.extra_bits([HERE])
    meet(hot_prefixes, MOST // 2)
    assert hot_prefixes.extra_bits([HERE]) == [crowded]
    for _ in range(crowded):
        meet(hot_prefixes, 0)
    assert hot_prefixes.extra_bits([HERE]) == [0]


def test_in_a_crowd_ranges_are_narrower_and_more_is_compared() -> None:
    builder = QueryBuilder(Options())

    def limits() -> tuple[int, int, int]:
        (query,) = builder.queries(ASKED, NO_KEY, 1_000_000)
        builder.hot_prefixes.learn(query, Answer(Status.NEW, None, False, 1_000_000, query.max_candidates))
        return query.max_candidates, query.max_keys, int(query.plan.highs[-1] - query.plan.lows[-1])

    alone, crowded = limits(), limits()
    assert alone[:2] == (MAX_CANDIDATES, MAX_KEYS)
    assert crowded[:2] == (HOT_EFFORT * MAX_CANDIDATES, HOT_EFFORT * MAX_KEYS)
    assert crowded[2] < alone[2]
