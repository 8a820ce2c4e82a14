"""Pages for the store tests: fingerprints without texts, so that their nearness can be planted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS, thin_bits
from crawldedup.index.queries import KEPT, TABLES
from crawldedup.marks.packing import packed
from crawldedup.marks.values import (
    FIRST_PART,
    HEADLINE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Marks,
    Name,
)
from crawldedup.search.decision import (
    MAX_CANDIDATES,
    WeightedThreshold,
    cosine,
    crowd_rule,
    identity_rule,
    likelihood_prefilters,
    likelihood_rule,
    likelihood_rules,
    search_similarity,
    steepness,
)
from crawldedup.search.plan import ProbePlan, page_plans, single_plan
from crawldedup.stores.contract import (
    DIGEST_MASK,
    Answer,
    Layout,
    PageName,
    Query,
    Record,
    Retention,
    Store,
)

FOR_EVER = Retention()
NO_PROBES = ProbePlan(np.empty(0, np.intp), np.empty(0, np.uint64), np.empty(0, np.uint64), 0.0)
EQUAL_ONLY = identity_rule(VERIFY_BITS)
LAYOUT = Layout(
    namespace="test", profile="profile-1", tables=TABLES, signature_bytes=VERIFY_BITS // 8
)
OTHER_PROFILE = replace(LAYOUT, profile="profile-2")
OTHER_NAMESPACE = replace(LAYOUT, namespace="test2")


@dataclass(frozen=True, eq=False)
class Page:
    """The values of a page's text that a store gets, and the weights that only a query needs."""

    search_weights: NDArray[np.float32]
    verify_weights: NDArray[np.float32]
    digest: int
    thin: bool = False
    core: int | None = None  # of a thin page: what is the same while nothing changes

    @cached_property
    def search(self) -> int:
        return (
            self.digest
            if self.thin
            else int.from_bytes(np.packbits(self.search_weights >= 0).tobytes(), "big")
        )

    @cached_property
    def signature(self) -> bytes:
        if self.thin:
            return thin_bits(self.digest if self.core is None else self.core)
        return np.packbits(self.verify_weights >= 0).tobytes()


def random_page(rng: np.random.Generator) -> Page:
    return Page(
        rng.standard_normal(SEARCH_BITS).astype(np.float32),
        rng.standard_normal(VERIFY_BITS).astype(np.float32),
        random_digest(rng),
    )


def random_digest(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 1 << 64, dtype=np.uint64, endpoint=False))


def thin_page(rng: np.random.Generator, core: int | None = None) -> Page:
    weights = np.zeros(SEARCH_BITS, np.float32), np.zeros(VERIFY_BITS, np.float32)
    return Page(*weights, random_digest(rng), thin=True, core=core)


def similar_page(page: Page, similarity: float, rng: np.random.Generator) -> Page:
    """A page of this Jaccard similarity, give or take: whether it is found and accepted is up to
    chance.
    """
    return Page(
        _correlated(page.search_weights, cosine(search_similarity(similarity)), rng),
        _correlated(page.verify_weights, cosine(similarity), rng),
        random_digest(rng),
    )


def _correlated(
    weights: NDArray[np.float32], rho: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    noise = rng.standard_normal(len(weights))
    correlated: NDArray[np.float32] = (rho * weights + np.sqrt(1 - rho * rho) * noise).astype(
        np.float32
    )
    return correlated


def near_page(page: Page) -> Page:
    """A page that differs in the most volatile bits only: certainly a near duplicate."""
    return Page(
        _flipped(page.search_weights, 1),
        _flipped(page.verify_weights, 2),
        mmh3.hash64(b"%d" % page.digest, signed=False)[0],
    )


def _flipped(weights: NDArray[np.float32], bits: int) -> NDArray[np.float32]:
    flipped = weights.copy()
    flipped[np.abs(weights).argsort()[:bits]] *= -1
    return flipped


def marks(number: int, *, site: int = 1, form: int = 0, **content: Any) -> bytes:
    """The marks of a page of a site, at an address of its own, with what its content shows.

    Addresses of one form share a folder; without a form, each has one of its own.
    """
    folder = form or 1_000 + number
    path = 100_000 + number
    address = AddressMarks(site, path, folder, names=0, parameters=0, views=0, canonical=path)
    return packed(Marks(ContentMarks(**content), address))


def named(number: int, name: int, **content: Any) -> bytes:
    """The marks of a page whose heading is its name."""
    return marks(number, names=(Name(name, HEADLINE | TITLE_PART | FIRST_PART),), **content)


def pictured(number: int, *pictures: int) -> bytes:
    """The marks of a page that only has these pictures, the lead picture first."""
    return marks(number, pictures=pictures, has_lead=True)


def marked(question: Query, shown: bytes) -> Query:
    """The question of a page that shows these marks."""
    return replace(question, record=replace(question.record, marks=shown))


def url_key_of(url: str) -> int:
    """One key for all spellings of a URL that differ in upper and lower case."""
    return int(mmh3.hash64(url.lower().encode("utf-8", "replace"), signed=False)[0])


def query(
    page: Page,
    url: str,
    *,
    pages: int = 0,
    retention: Retention = FOR_EVER,
    max_candidates: int = MAX_CANDIDATES,
    similarity: float = 0.9,
) -> Query:
    """The query that a `Deduplicator` would make if it thought the index had `pages` pages."""
    keys = LAYOUT.keys(page.search)
    if page.thin:
        plan, rule, prefilter = single_plan(keys[0]), EQUAL_ONLY, None
    else:
        slopes = np.array([steepness(search_similarity(similarity))], np.float32)
        own, weights = np.array([keys], np.uint64), page.search_weights[None]
        (plan,) = page_plans(own, weights, TABLES, sizes=[pages], slopes=slopes, recall=0.99)
        crowd = crowd_rule(similarity, 0.98, VERIFY_BITS)
        (rule,) = likelihood_rules(page.verify_weights[None], [similarity - 0.03], [crowd])
        (prefilter,) = likelihood_prefilters(weights, slopes, KEPT)
    return Query(
        record=Record(url, url_key_of(url), page.search, page.signature, page.digest & DIGEST_MASK),
        keys=keys,
        plan=plan,
        rule=rule,
        prefilter=prefilter,
        retention=retention,
        exact_only=page.thin,
        max_candidates=max_candidates,
    )


def revisit_rule(page: Page, similarity: float | None) -> WeightedThreshold | None:
    """What counts as unchanged from this similarity on."""
    if page.thin:
        return EQUAL_ONLY
    return None if similarity is None else likelihood_rule(page.verify_weights, similarity)


def filler(rng: np.random.Generator, url: str, *, retention: Retention = FOR_EVER) -> Query:
    """The question of a page that looks for no others, to fill an index with: it is made a hundred
    times as fast.
    """
    search, signature = random_digest(rng), rng.bytes(VERIFY_BITS // 8)
    record = Record(url, url_key_of(url), search, signature, search & DIGEST_MASK)
    return Query(record, LAYOUT.keys(search), NO_PROBES, EQUAL_ONLY, retention=retention)


def checked(store: Store, question: Query) -> Answer:
    """The answer about one page; an error in its place is raised."""
    (answer,) = store.check([question])
    if not isinstance(answer, Answer):
        raise answer
    return answer


def found(store: Store, question: Query) -> list[Record]:
    (records,) = store.find([question])
    return records


def name_of(url: str) -> PageName:
    return PageName(url_key_of(url))
