"""A small web, and what a crawler may do with it: the material of random sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from crawldedup.errors import StoreUnavailableError
from crawldedup.marks.packing import packed
from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Datum,
    Marks,
    Name,
)
from crawldedup.stores.anchors import AnchorQuery
from crawldedup.stores.contract import LEASE_SECONDS, Query, Retention, StoreInfo
from tests.stores.pages import (
    EQUAL_ONLY,
    Page,
    name_of,
    near_page,
    query,
    random_page,
    revisit_rule,
    similar_page,
    thin_page,
)

CRAWLERS = 3
NO_ANSWER = "no answer"


def small_web() -> list[Page]:
    """Few texts with many likenesses, so that short sequences run into all of them."""
    rng = np.random.default_rng(5)
    originals = [random_page(rng) for _ in range(3)]
    likenesses = [
        similar_page(page, similarity, rng)
        for page in originals
        for similarity in (0.5, 0.8, 0.87, 0.92, 0.98)
    ]
    thin = [thin_page(rng), thin_page(rng, core=1), thin_page(rng, core=1)]
    # An equal digest suffices, however the signatures differ.
    twin = replace(originals[2], verify_weights=-originals[2].verify_weights)
    unlike = replace(twin, digest=twin.digest ^ 1)
    return [
        *originals,
        *likenesses,
        near_page(originals[0]),
        near_page(originals[1]),
        *thin,
        twin,
        unlike,
    ]


TEXTS = small_web()


def few_marks() -> list[bytes]:
    """Marks of few values, so that they often agree, often differ and are often missing."""
    rng = np.random.default_rng(6)
    return [b"", *[packed(random_marks(rng)) for _ in range(60)]]


def random_marks(rng: np.random.Generator) -> Marks:
    def some(most: int, values: int) -> tuple[int, ...]:
        number = int(rng.integers(most + 1))
        return tuple(rng.integers(1, values, size=number, endpoint=True).tolist())

    pictures = some(2, 4)
    content = ContentMarks(
        names=tuple(
            [
                Name(name, int(rng.choice(ROLES)) | KINDS_OF_NAMES.get(name, 0))
                for name in dict.fromkeys(some(4, 5))
            ]
        ),
        pictures=pictures,
        has_lead=bool(pictures) and rng.random() < 0.8,
        players=some(1, 2),
        data=tuple([Datum(1, value) for value in some(1, 2)]),
        text=None if rng.random() < 0.3 else int(rng.integers(1, 3)),
        links=int(rng.choice([0, 4, 12, 13])),
        sketch=int(rng.choice([0x0F, 0xFF0, 0xF000])),
        is_listing=bool(rng.random() < 0.3),
        numbers=int(rng.integers(1, 3)) if rng.random() < 0.2 else None,
    )
    return Marks(content, random_address(rng) if rng.random() < 0.95 else None)


def random_address(rng: np.random.Generator) -> AddressMarks:
    path = int(rng.integers(1, 5))
    parameters = int(rng.integers(3))
    views = int(rng.integers(2))
    canonical = int(rng.choice([0, 9, path ^ parameters]))
    return AddressMarks(
        site=int(rng.choice([1, 1, 1, 1, 1, 2])),
        path=path,
        folder=1 + path // 3,
        names=min(parameters, 1),
        parameters=parameters,
        views=views,
        canonical=canonical,
        is_proved=bool(views and rng.random() < 0.7),
    )


ROLES = [
    HEADLINE,
    HEADLINE | FIRST_HEADING,
    FIRST_HEADING,
    SOCIAL_TITLE,
    TITLE_PART,
    TITLE_PART | FIRST_PART,
    ALIAS | TITLE_PART,
]
# Whether a name has a number, or is a single word, it is so on every page.
KINDS_OF_NAMES = {2: HAS_NUMBER, 3: IS_SINGLE_WORD, 4: HAS_NUMBER}
MARKS = few_marks()
# Upper and lower case are two spellings of one URL.
URLS = [f"https://example.com/{name}" for name in "aAbBcd"]


class Step(NamedTuple):
    """The next step of a story, and its values. A step uses the values that it needs."""

    what: str
    crawler: int
    text: int
    marks: int
    url: int
    seconds: int
    is_pending: bool
    has_text: bool
    is_strict: bool  # accepts no differing bit, so near pages are admitted beside each other
    rank: int
    revisit_similarity: float | None


def one_of_steps(kinds: list[str]) -> st.SearchStrategy[Step]:
    """Any step of these kinds."""
    return st.builds(
        Step,
        what=st.sampled_from(kinds),
        crawler=st.integers(0, CRAWLERS - 1),
        text=st.integers(0, len(TEXTS) - 1),
        marks=st.one_of(st.just(0), st.integers(0, len(MARKS) - 1), st.integers(0, 9)),
        url=st.integers(0, len(URLS) - 1),
        seconds=st.sampled_from([1, 50, 51, LEASE_SECONDS - 1, LEASE_SECONDS]),
        is_pending=st.booleans(),
        has_text=st.booleans(),
        is_strict=st.sampled_from([False, False, False, True]),
        rank=st.sampled_from([0, 0, 1, 1, 255]),
        revisit_similarity=st.sampled_from([None, None, 0.75, 0.9]),
    )


# One for all steps: of pages that have expired for one question, another cannot tell if they are
# freed already. For the same reason there is none that both refreshes pages and limits them: an old
# page that lives on counts among those beyond the limit sooner or later, depending on when others
# are freed.
retentions = st.sampled_from(
    [
        Retention(),
        Retention(),
        Retention(ttl_seconds=50),
        Retention(ttl_seconds=500),
        Retention(ttl_seconds=50, refresh=False),
        Retention(max_pages=3),
        Retention(ttl_seconds=50, refresh=False, max_pages=3),
    ]
)


def question(step: Step, retention: Retention) -> Query:
    """Return what a step asks about a page."""
    asked = query(TEXTS[step.text], URLS[step.url], retention=retention)
    text = b"text %d" % step.text if step.has_text else b""
    return replace(
        asked,
        record=replace(asked.record, rank=step.rank, packed_text=text, marks=MARKS[step.marks]),
        rule=EQUAL_ONLY if step.is_strict else asked.rule,
        proved_views=(1,) if step.seconds % 3 == 0 else (),
        is_pending=step.is_pending,
        # Perhaps a page of the same batch.
        delivered=(name_of(URLS[step.seconds % len(URLS)]),) if step.has_text else (),
        revisit_rule=revisit_rule(TEXTS[step.text], step.revisit_similarity),
    )


def batch_of(step: Step) -> list[Step]:
    """Pages that may resemble each other, or be the same."""
    rng = np.random.default_rng(1000 * step.text + 10 * step.url + step.seconds)
    return [
        step._replace(
            text=int(rng.integers(len(TEXTS))),
            marks=int(rng.choice([0, step.marks, rng.integers(len(MARKS)), rng.integers(10)])),
            url=int(rng.integers(len(URLS))),
            rank=int(rng.choice([step.rank, 0, 1])),
            is_pending=bool(rng.random() < 0.5),
            seconds=number,
        )
        for number in range(1 + step.seconds % 9)
    ]


def answer_of(store: Any, step: Step, retention: Retention) -> Any:
    """Take a step that an open store answers."""
    pages_expire = retention.ttl_seconds is not None
    match step.what:
        case "check" | "many":
            answers = store.check(queries_of(step, retention))
            return [promised(answer, retention) for answer in answers]
        case "find":
            found = store.find([question(page, retention) for page in batch_of(step)])
            return found, promised(store.info(), retention)
        case "forget":
            was_there = store.forget(name_of(URLS[step.url]))
            return None if pages_expire else was_there
        case "cover" | "look" | "uncover":
            return covered(store, step)
        case "deliver":
            return store.deliver([name_of(URLS[step.url])])
        case "remembered":
            return store.remembered([name_of(url) for url in URLS], retention)
        case "open":
            pages = store.open()
            return None if pages_expire else pages
        case _:
            return getattr(store, step.what)()


def queries_of(step: Step, retention: Retention) -> list[Query]:
    """Return what a check asks, about one page or many."""
    pages = batch_of(step) if step.what == "many" else [step]
    return [question(page, retention) for page in pages]


def covered(store: Any, step: Step) -> Any:
    """What a store tells of the anchors of a page, which may be added or forgotten."""
    name = name_of(URLS[step.url])
    if step.what == "uncover":
        return store.forget(name, anchors_alone=True)
    first = step.text % 5
    anchors = tuple(range(first, first + step.seconds % 4))
    held = store.anchors(AnchorQuery(URLS[step.url], name, anchors), add=step.what == "cover")
    return [[held.urls[page] for page in pages or ()] for pages in held.pages], held.is_known


def promised(answer: Any, retention: Retention) -> Any:
    """The values that all stores agree on. Expired pages may still be counted for a while."""
    if isinstance(answer, StoreUnavailableError):
        return NO_ANSWER
    if isinstance(answer, StoreInfo):
        return answer.pages if retention.ttl_seconds is None else None
    pages = answer.pages if retention.ttl_seconds is None else 0
    return replace(answer, pages=pages)
