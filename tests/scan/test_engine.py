"""The batch engine finds what a crawl finds that meets the pages in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from crawldedup import Deduplicator, Kind, Page, fingerprint
from crawldedup.literature.exact import jaccard
from crawldedup.scan.engine import (
    MOST_RESEMBLING,
    Columns,
    Order,
    Resemblances,
    costs_of,
    find_duplicates,
    similarities_of,
)
from crawldedup.scan.pairs import earlier_of, later_of
from crawldedup.search.model import estimate_similarity
from crawldedup.search.query import TABLES, searches
from tests.scan.pages import GOAL, collection, columns, columns_in, edited, packed, shingles, shingles_in, text

PRODUCT = """
<script type="application/ld+json">
{"@type": "Product", "name": "Lamp", "offers": {"price": "PRICE", "priceCurrency": "EUR"}}
</script><article><h1>Lamp</h1><p>STORY</p></article>
"""


def online(texts: list[str]) -> list[tuple[int, bool, float]]:
    """Return the original, whether it is equal, and the similarity of each page, as a Deduplicator tells them."""
    found = []
    with Deduplicator(key=0) as dedup:
        for number, each in enumerate(texts):
            verdict = dedup.check(str(number), text=each, identity=str(number))
            original = int(verdict.original) if verdict.is_duplicate and verdict.original else number
            found.append((original, verdict.kind is Kind.EXACT_DUPLICATE, verdict.similarity or 1.0))
    return found


def test_its_verdicts_are_those_of_a_crawl() -> None:
    texts = collection()
    found = find_duplicates(columns(texts), GOAL)
    expected = online(texts)
    assert found.original.tolist() == [original for original, _, _ in expected]
    assert found.exact.tolist() == [exact for _, exact, _ in expected]
    near = [number for number, (original, exact, _) in enumerate(expected) if original != number and not exact]
    assert len(near) > 50
    assert found.similarity[near] == pytest.approx([expected[number][2] for number in near], abs=1e-3)
    others = np.setdiff1d(np.arange(len(texts)), near)
    assert set(found.similarity[others]) == {1.0}


def test_pages_of_different_facts_are_kept_apart() -> None:
    story = text(Random(1), 300)
    pages = [
        Page(f"https://a.example/{number}", html=PRODUCT.replace("PRICE", price).replace("STORY", story))
        for number, price in enumerate(("10.00", "12.00", "10.00"))
    ]
    answer = packed(pages)
    exactly = replace(columns_in(answer), shingles=shingles_in(answer))
    for compared in (columns_in(answer), exactly):
        assert find_duplicates(compared, GOAL).original.tolist() == [0, 1, 0]


def test_the_page_of_the_lowest_rank_is_kept() -> None:
    random = Random(1)
    one, other = text(random), text(random)
    texts = [one, edited(one, random, 1), other, one]
    urls = [f"https://a.example/{name}" for name in ("1?sid=7", "1", "2", "1?print=1")]
    assert find_duplicates(columns(texts, urls), GOAL).original.tolist() == [1, 1, 2, 1]


def test_exact_similarities_decide_if_they_are_there() -> None:
    """Whatever the estimates are: all pages from .9 on are dropped, none below, and each for the nearest kept one."""
    texts = collection(originals=600)
    similarities = {(later, earlier): jaccard(texts[later], texts[earlier]) for later, earlier in alike(texts)}
    original = list(range(len(texts)))
    for page in range(len(texts)):
        kept = [(similarities[page, other], -other) for other in range(page) if (page, other) in similarities]
        nearest = max([(value, other) for value, other in kept if original[-other] == -other], default=(0.0, 0))
        if nearest[0] >= GOAL.similarity:
            original[page] = -nearest[1]
    found = find_duplicates(replace(columns(texts), shingles=shingles(texts)), GOAL)
    assert found.original.tolist() == original
    near = [page for page in range(len(texts)) if original[page] != page and not found.exact[page]]
    assert len(near) > 100
    assert found.similarity[near] == pytest.approx([similarities[page, original[page]] for page in near])
    assert found.original.tolist() != find_duplicates(columns(texts), GOAL).original.tolist()


def alike(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the later and the earlier number of texts that begin or end alike."""
    for later, one in enumerate(texts):
        for earlier, other in enumerate(texts[:later]):
            if one[:20] == other[:20] or one[-20:] == other[-20:]:
                yield later, earlier


def test_an_exact_copy_of_a_dropped_page_shares_its_verdict() -> None:
    random = Random(2)
    one = text(random)
    near = edited(one, random, 1)
    found = find_duplicates(columns([one, near, near]), GOAL)
    assert found.original.tolist() == [0, 0, 0]
    assert found.exact.tolist() == [False, False, False]
    assert found.similarity[1] == found.similarity[2] < 1


def test_a_chain_of_edits_is_cut_where_a_page_no_longer_resembles_the_kept_one() -> None:
    random = Random(3)
    chain = [text(random, 400)]
    for _ in range(30):
        chain.append(edited(chain[-1], random, 4))
    assert find_duplicates(columns(chain), GOAL).original.tolist() == [original for original, _, _ in online(chain)]


def test_copies_without_number_of_one_page_are_found_at_once() -> None:
    """Each meets the first of them, however many others share its keys."""
    random = Random(4)
    one = text(random, 400)
    texts = [text(random), *(edited(one, random, 1) for _ in range(600)), text(random)]
    found = find_duplicates(columns(texts), GOAL)
    assert found.kept.nonzero()[0].tolist() == [0, 1, 601]


def test_a_template_on_all_pages_hides_no_near_duplicate() -> None:
    random = Random(5)
    template = text(random, 200)
    texts = [f"{template} {text(random, 160)}" for _ in range(1000)]
    copies = [edited(texts[place], random, 2) for place in range(0, 1000, 10)]
    found = find_duplicates(columns([*texts, *copies]), GOAL)
    assert (found.original[1000:] == np.arange(0, 1000, 10)).mean() > 0.97
    assert found.kept[:1000].mean() > 0.99


def test_few_pages_or_none_are_no_matter() -> None:
    assert find_duplicates(Columns.of([], GOAL.threshold), GOAL).original.tolist() == []
    assert find_duplicates(columns(["short", "short", "other"]), GOAL).original.tolist() == [0, 0, 2]
    assert find_duplicates(columns([text(Random(1))]), GOAL).original.tolist() == [0]


def test_costs_and_similarities_are_those_of_one_page() -> None:
    random = Random(1)
    originals = [text(random, random.randrange(60, 800)) for _ in range(60)]
    pages = [fingerprint(each) for each in originals]
    pages += [fingerprint(edited(each, random, random.randrange(8))) for each in originals]
    later, earlier = np.arange(60, 120), np.arange(60)
    columns = Columns.of([(page, 0) for page in pages], GOAL.threshold)
    keys = np.array([[table.key(page.search) for table in TABLES] for page in pages[60:]], np.uint64)
    rules = [found.rule for found in searches(pages[60:], keys, [0.9] * 60, [1000] * 60, 0.98)]
    pairs = list(zip(pages[60:], pages[:60], strict=True))
    expected = [rule.cost(page.verify, other.verify) for rule, (page, other) in zip(rules, pairs, strict=True)]
    assert costs_of(columns, later, earlier).tolist() == expected
    assert {rule.crowd for rule in rules} == {GOAL.crowd}
    estimates = [estimate_similarity(page.verify_weights, page.verify, other.verify) for page, other in pairs]
    assert similarities_of(columns, later, earlier, GOAL.threshold) == pytest.approx(estimates, abs=5e-4)
    assert any(each == 1 for each in estimates)


def test_no_page_that_counts_differs_in_too_many_bits() -> None:
    """Bits of pages at the edge of what counts, made by the model itself."""
    random = np.random.default_rng(1)
    farthest = GOAL.crowd.farthest
    rho = 2 * farthest / (1 + farthest)
    first = random.standard_normal((20_000, 256))
    second = rho * first + np.sqrt(1 - rho * rho) * random.standard_normal((20_000, 256))
    differing = ((first >= 0) != (second >= 0)).sum(axis=1)
    assert (differing > GOAL.most_verify_bits).mean() < 1e-3
    assert GOAL.most_verify_bits < 90


NEAR = 100
FAR = GOAL.crowd.limits[0] + 1


def found(*pairs: tuple[int, int, int]) -> Resemblances:
    later, earlier, costs = np.array(pairs, np.int64).reshape(-1, 3).T
    return Resemblances(later, earlier, costs)


def wanted(order: Order, resemblances: Resemblances, *, presumes: bool = True) -> list[tuple[int, int]]:
    pairs = order.decide(resemblances, presumes=presumes)
    return list(zip(later_of(pairs).tolist(), earlier_of(pairs).tolist(), strict=True))


def test_a_page_is_dropped_for_the_nearest_kept_one() -> None:
    order = Order(4, GOAL.crowd)
    assert wanted(order, found((2, 0, NEAR), (2, 1, NEAR - 1), (3, 0, FAR))) == []
    assert order.original.tolist() == [0, 1, 1, 3]


def test_a_dropped_page_drops_none() -> None:
    """What resembles it alone is presumed to be a copy of what it was dropped for, until that is known."""
    order = Order(3, GOAL.crowd)
    pairs = found((1, 0, NEAR), (2, 1, NEAR))
    assert wanted(order, pairs) == [(2, 0)]
    assert order.original.tolist() == [0, 0, 0]
    assert wanted(order, pairs.joined(found((2, 0, FAR)))) == []
    assert order.original.tolist() == [0, 0, 2]
    assert wanted(order, pairs.joined(found((2, 0, NEAR)))) == []
    assert order.original.tolist() == [0, 0, 0]


def test_nothing_is_presumed_in_the_end() -> None:
    order = Order(3, GOAL.crowd)
    assert wanted(order, found((1, 0, NEAR), (2, 1, NEAR)), presumes=False) == [(2, 0)]
    assert order.original.tolist() == [0, 0, 2]


def test_a_page_that_several_kept_ones_resemble_alike_stands_out_of_none() -> None:
    limit = GOAL.crowd.limits[-1] + 1
    assert limit <= GOAL.crowd.limits[0]
    order = Order(10, GOAL.crowd)
    order.decide(found(*((9, other, limit) for other in range(9))))
    assert order.original[9] == 9
    order.decide(found((9, 0, limit)))
    assert order.original[9] == 0


def test_only_the_nearest_pages_are_looked_at() -> None:
    pairs = found(*((1000, other, 1 + other % 7) for other in range(200)), (1001, 3, 5))
    nearest = pairs.nearest()
    assert len(nearest) == MOST_RESEMBLING + 1
    assert set(nearest.costs[:MOST_RESEMBLING]) == {1, 2, 3}
    assert nearest.later[-1] == 1001
