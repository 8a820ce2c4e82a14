"""Races of several processes on one index, and the judge who says whether one process could have had the same answers.

A history of calls is linearizable (Herlihy & Wing, TOPLAS 1990) if they can be put in an order that respects real time,
a call that ended before another began comes first, and in which each answer is what a single process would have got.
`explains` looks for such an order as Wing & Gong (J. Parallel Distrib. Comput. 1993) do: by depth-first search over the
calls that may come next. Pages of different contents never resemble each other, so each content is judged for itself.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Callable, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING, Final, Self

from crawldedup import Deduplicator
from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.search.decision import crowd_rule
from crawldedup.verdict import Kind, Verdict
from tests.stores.backends import CONTEXT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.synchronize import Barrier
    from types import TracebackType

    from crawldedup.fingerprinting.fingerprint import Fingerprint

EXPECTED_PAGES: Final = 10_000
"""More than any race admits. The ranges that are read then never depend on who has been told of how many pages, and
whether one page is found when another is asked for is the same at any moment of a race."""

# For a race on a busy machine; it only matters when something hangs.
_PATIENCE_SECONDS: Final = 110.0
_SYLLABLES: Final = (
    ("bar", "cor", "den", "fal", "gor", "kel", "lin", "mor", "pas", "ret"),
    ("a", "e", "i", "o", "u"),
    ("ster", "ning", "ton", "mer", "dle", "ck", "ply", "rn", "sop", "vid"),
    ("", "s", "ed", "ing", "er", "al"),
)
_VOCABULARY: Final = ["".join(parts) for parts in product(*_SYLLABLES)]


def random_words(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(_VOCABULARY) for _ in range(count)]


@dataclass(frozen=True)
class Content:
    """Texts that may resemble each other, but nothing of another content."""

    texts: tuple[str, ...]


def edited_contents(count: int, rng: random.Random, *, words: int = 150) -> list[Content]:
    """A text each, one with another word in its middle, and one with two: mutual near duplicates."""
    contents = []
    for _ in range(count):
        text = random_words(rng, words)
        variants = []
        for replaced in range(3):
            variant = text.copy()
            variant[words // 2 : words // 2 + replaced] = random_words(rng, replaced)
            variants.append(" ".join(variant))
        contents.append(Content(tuple(variants)))
    return contents


def chained_contents(
    count: int, rng: random.Random, *, links: int = 8, step: int = 7, words: int = 150
) -> list[Content]:
    """Windows that slide over a long text each: a text is near its neighbours, but mostly not near theirs."""
    contents = []
    for _ in range(count):
        text = random_words(rng, words + step * (links - 1))
        contents.append(Content(tuple(" ".join(text[step * link :][:words]) for link in range(links))))
    return contents


class Resemblance:
    """Which texts of a content the library finds when it is asked for another, whichever of them are in the index.

    Not symmetric, for the weights of the text that is asked for decide; and not transitive.
    """

    def __init__(self, contents: Sequence[Content]) -> None:
        self._costs: dict[tuple[int, int, int], int] = {}
        self._rule = crowd_rule(0.9, 0.98, VERIFY_BITS)
        # Scopes keep the texts of a content from being duplicates of each other.
        with Deduplicator(scope="spider", expected_pages=EXPECTED_PAGES, key=0) as dedup:
            for number, content in enumerate(contents):
                for at, text in enumerate(content.texts):
                    verdict = dedup.check(url_of(number, at, 0), text=text, scope_key=str(at))
                    assert verdict.kind is Kind.NEW, "the contents resemble each other"
            for number, content in enumerate(contents):
                pages = [dedup.fingerprint(text=text) for text in content.texts]
                for asked, at in permutations(range(len(content.texts)), 2):
                    told = dedup.explain("https://example.com/asks", fingerprint=pages[asked], scope_key=str(at))
                    for candidate in told.candidates:
                        if candidate.cost <= self._rule.reach:
                            own = parts_of(candidate.match.url)
                            assert own == (number, at, 0), "the contents resemble each other"
                            self._costs[number, asked, at] = candidate.cost

    def finds(self, content: int, asked: int, remembered: int) -> bool:
        """Whether a text is found where it is alone."""
        return bool(self.found(content, asked, {remembered}))

    def found(self, content: int, asked: int, remembered: Set[int]) -> set[int]:
        """The texts that are found among those remembered."""
        costs = {at: 0 if at == asked else self._costs.get((content, asked, at), math.inf) for at in remembered}
        resembling = {at: int(cost) for at, cost in costs.items() if cost < math.inf}
        limit = self._rule.bar(list(resembling.values())).limit
        return {at for at, cost in resembling.items() if cost <= limit}

    def is_mutual(self, number: int, content: Content) -> bool:
        """True if every text of the content finds every other."""
        return all(self.finds(number, one, other) for one, other in permutations(range(len(content.texts)), 2))

    def open_triples(self, number: int, content: Content) -> int:
        """How many (A, B, C) there are in which A finds B and B finds C, but A does not find C."""
        return sum(
            self.finds(number, a, b) and self.finds(number, b, c) and not self.finds(number, a, c)
            for a, b, c in permutations(range(len(content.texts)), 3)
        )


def url_of(content: int, text: int, copy: int) -> str:
    return f"https://example.com/{content}/{text}/{copy}"


def parts_of(url: str) -> tuple[int, int, int]:
    """Content, text and copy of a URL."""
    content, text, copy = url.split("/")[3:]
    return int(content), int(text), int(copy)


@dataclass(frozen=True)
class Call:
    """A page was offered, and answered. Times are in nanoseconds of the clock that the processes of a machine share."""

    url: str
    kind: Kind
    original: str | None
    copies: int
    began: int
    ended: int
    replaces: bool = False

    @property
    def is_duplicate(self) -> bool:
        return self.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)

    def overlaps(self, other: Call) -> bool:
        return self.began < other.ended and other.began < self.ended


def by_content(calls: Sequence[Call]) -> dict[int, list[Call]]:
    grouped: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        grouped[parts_of(call.url)[0]].append(call)
    return grouped


def explains(calls: Sequence[Call], found: Callable[[int, Set[int]], Set[int]]) -> bool:
    """Whether one process, offering the pages in some order that respects their times, would have had these answers.

    The calls are those of one content, all URLs different. `found(asked, remembered)` tells which texts are found when
    one is asked for; a text always finds itself.
    """
    texts = [parts_of(call.url)[1] for call in calls]
    places = {call.url: place for place, call in enumerate(calls)}

    def answer_fits(place: int, done: int) -> bool:
        """Is it what one process would have said after the calls in the bit set `done`, whatever their order?"""
        call = calls[place]
        kept = {texts[other] for other, earlier in enumerate(calls) if done >> other & 1 and earlier.kind is Kind.NEW}
        originals = found(texts[place], kept)
        if not call.is_duplicate:
            return call.kind is Kind.NEW and not originals
        original = places.get(call.original or "")
        if original is None or not done >> original & 1 or calls[original].is_duplicate:
            return False
        is_exact = texts[place] == texts[original]
        before = sum(done >> other & 1 for other, earlier in enumerate(calls) if earlier.original == call.original)
        is_found = texts[original] in originals
        return is_found and is_exact == (call.kind is Kind.EXACT_DUPLICATE) and call.copies == before + 1

    everything = (1 << len(calls)) - 1
    visited: set[int] = set()
    waiting = [0]
    while waiting:
        done = waiting.pop()
        if done == everything:
            return True
        if done in visited:
            continue
        visited.add(done)
        left = [place for place in range(len(calls)) if not done >> place & 1]
        first_end = min(calls[place].ended for place in left)
        waiting += [done | 1 << place for place in left if calls[place].began <= first_end and answer_fits(place, done)]
    return False


Ask = Callable[[Deduplicator, "Offer"], Verdict]


@dataclass(frozen=True)
class Offer:
    """A page to be offered; its fingerprint is made before the race, which is one of the stores."""

    url: str
    text: str
    page: Fingerprint


def ask(dedup: Deduplicator, offer: Offer) -> Verdict:
    """The way every user asks."""
    return dedup.check(offer.url, fingerprint=offer.page)


def ask_carelessly(dedup: Deduplicator, offer: Offer) -> Verdict:
    """Look, and then remember what was not there: two steps, between which others may do the same.

    The promise is broken on purpose, to see that the judge notices.
    """
    if dedup.find(text=offer.text):
        return dedup.check(offer.url, fingerprint=offer.page)
    time.sleep(0.002)
    # At this similarity only an exact copy is a duplicate, so the page is remembered whatever came meanwhile.
    return dedup.check(offer.url, fingerprint=offer.page, similarity=1.0)


def rank_of(url: str) -> int:
    return parts_of(url)[2] % 3


def ask_with_rank(dedup: Deduplicator, offer: Offer) -> Verdict:
    """Ask with a rank that the URL tells."""
    return dedup.check(offer.url, fingerprint=offer.page, rank=rank_of(offer.url))


def assert_the_best_is_kept(store: str, calls: Sequence[Call], contents: Sequence[Content]) -> None:
    """Of each content, all of one text, each rank is delivered once at most, and better than what it replaces."""
    with Deduplicator(store, expected_pages=EXPECTED_PAGES, key=0) as dedup:
        for number, own in by_content(calls).items():
            delivered = [call for call in own if not call.is_duplicate or call.replaces]
            assert [call.kind for call in delivered].count(Kind.NEW) == 1
            ranks = sorted(rank_of(call.url) for call in delivered)
            assert ranks == sorted(set(ranks))
            assert ranks[0] == 0
            assert all(rank_of(call.url) < rank_of(call.original or "") for call in delivered if call.replaces)
            (kept,) = dedup.find(text=contents[number].texts[0])
            assert kept.url == next(call.url for call in delivered if rank_of(call.url) == 0)


def offers_of(contents: Sequence[Content], copies: int) -> list[Offer]:
    """`copies` pages of each content, at URLs of their own, the texts taken in turn; contents stay together."""
    reader = Deduplicator(key=0)
    offers = []
    for number, content in enumerate(contents):
        pages = [reader.fingerprint(text=text) for text in content.texts]
        for copy in range(copies):
            at = copy % len(pages)
            offers.append(Offer(url_of(number, at, copy), content.texts[at], pages[at]))
    return offers


class Racers:
    """Processes that offer pages to one index, all at the same time."""

    processes: Final = 8
    # The pages of so many contents are offered in one round, at whose start everyone waits for everyone: else one runs
    # ahead of the others, and few meet at the same content.
    contents_a_round: Final = 8

    def __enter__(self) -> Self:
        # The time limit is for the others when one of them fails.
        start = CONTEXT.Barrier(self.processes, timeout=_PATIENCE_SECONDS)
        self._pool = ProcessPoolExecutor(self.processes, CONTEXT, initializer=_wait_for_all_at, initargs=(start,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def race(self, store: str, offers: Sequence[Offer], rng: random.Random, ask: Ask = ask) -> list[Call]:
        """Deal the offers out at random, and let them be made in random order. The calls, by the time they ended."""
        rounds: dict[int, list[Offer]] = defaultdict(list)
        for offer in offers:
            rounds[parts_of(offer.url)[0] // self.contents_a_round].append(offer)
        shares: list[list[list[Offer]]] = [[] for _ in range(self.processes)]
        for number in sorted(rounds):
            rng.shuffle(rounds[number])
            for process, share in enumerate(shares):
                share.append(rounds[number][process :: self.processes])
        tasks = [self._pool.submit(_offer_all, store, share, ask) for share in shares]
        calls = [call for task in tasks for call in task.result(timeout=_PATIENCE_SECONDS)]
        return sorted(calls, key=lambda call: call.ended)


_together: Barrier


def _wait_for_all_at(start: Barrier) -> None:
    global _together
    _together = start


def _offer_all(store: str, rounds: Sequence[Sequence[Offer]], ask: Ask) -> list[Call]:
    calls = []
    with Deduplicator(store, expected_pages=EXPECTED_PAGES, key=0) as dedup:
        # No process takes two of the tasks, for each waits here for the others.
        for offers in rounds:
            _together.wait()
            for offer in offers:
                began = time.monotonic_ns()
                verdict = ask(dedup, offer)
                ended = time.monotonic_ns()
                said = (verdict.kind, verdict.original, verdict.copies)
                calls.append(Call(offer.url, *said, began, ended, verdict.replaces))
        # Nobody leaves the crawl while others are at work.
        _together.wait()
    return calls
