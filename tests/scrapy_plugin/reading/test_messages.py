"""What crosses between a crawl and its workers: plain values, whatever either side writes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawldedup import errors, workers
from crawldedup.scrapy_plugin import reading
from crawldedup.scrapy_plugin.reading.messages import Done, Job, Judged, Ready, answer_from
from crawldedup.stores.base import CrawlSession
from crawldedup.text.canonical import HeadLinks
from crawldedup.verdict import Coverage, Kind, KnownParagraph, ParagraphKind, Verdict
from crawldedup.workers.framing import ANSWER, REQUEST, answer, plain_error

VERDICT = Verdict(Kind.NEAR_DUPLICATE, "https://e.com/b", "https://e.com/a", 0.97, 2, words=80, copies=3, probes=9)
COVERAGE = Coverage(
    5,
    100,
    0,
    is_partial=True,
    sources=(("https://e.com/a", 100),),
    paragraphs=(KnownParagraph("A", 5, 0, ParagraphKind.NEW),),
).as_dict()


def crossed(value: object) -> Any:
    """What the crawl makes of an answer."""
    message = answer(value)
    assert ANSWER.unpack_from(message) == (len(message) - ANSWER.size,)
    return answer_from(message[ANSWER.size :])


def test_a_coverage_arrives_with_its_verdict() -> None:
    arrived = crossed(broken(coverage=COVERAGE)).verdict
    assert arrived.is_partial
    assert arrived.coverage.as_dict() == COVERAGE


def test_answers_arrive_as_they_were_meant() -> None:
    told = {
        "verdict": VERDICT.as_dict(),
        "seconds": [0.5, 2],
        "digest": 2**64 - 1,
        "pages": 9,
        "kept_apart": True,
        "unselected": True,
    }
    told["face"] = 3
    assert crossed(told) == Judged(VERDICT, 0.5, 2, digest=2**64 - 1, pages=9, kept_apart=True, face=3, unselected=True)
    certain = replace(VERDICT, kind=Kind.EXACT_DUPLICATE, similarity=1, original=None)
    assert crossed({**told, "verdict": certain.as_dict(), "seconds": [0, 0]}).verdict == certain
    assert crossed({"session": [3, "host:17:99"]}) == CrawlSession(3, "host:17:99")
    assert crossed({"ready": None}) == Ready()
    assert crossed({"done": 1204, "note": "n", "warnings": ["w"]}) == Done(1204, "n", ("w",))
    unusable = crossed({"ready": plain_error(errors.ConfigurationError("No such extractor."))})
    assert isinstance(unusable.error, errors.ConfigurationError)


def test_a_request_is_its_rules_and_its_bytes() -> None:
    job = Job("https://e.com/\ud800", b"\x00\xff", identity="POST x", links=("</a>; rel=canonical",))
    message = job.request()
    head, body = REQUEST.unpack_from(message)
    header = json.loads(message[REQUEST.size : REQUEST.size + head])
    assert message[REQUEST.size + head :] == b"\x00\xff"
    assert body == 2
    # What is not set is not sent.
    assert header == {
        "do": "check",
        "url": "https://e.com/\ud800",
        "form": "html",
        "identity": "POST x",
        "links": ["</a>; rel=canonical"],
        "is_lenient": False,
        "asks_itself": False,
        "remember": True,
        "delivered": True,
        "names": [],
    }


PAGE = "http://e.com/a"
OWN = ["https://e.com/a", "http://www.e.com/a/", "http://e.com:80/a.html", "/a?utm_source=x", "/a/index.html", "/", "."]
OTHERS = [
    "/b",
    "/?p=7",
    "/a/b",
    "http://m.e.com/a",
    "http://e.com:8080/a",
    "https://partner.example/a",
    "https://partner.example/",
]


def rank_of(url: str, claimed: str | None, rank: int = 0, *, asks_itself: bool = False) -> int:
    links = HeadLinks(canonical=() if claimed is None else (claimed,))
    return Job(url, b"", links=(), rank=rank, asks_itself=asks_itself).claim(links).rank


@pytest.mark.parametrize(("claimed", "rank"), [(None, 0), *((url, 0) for url in OWN), *((url, 1) for url in OTHERS)])
def test_a_page_that_names_itself_in_another_spelling_names_no_other(claimed: str | None, rank: int) -> None:
    assert rank_of(PAGE, claimed) == rank
    assert rank_of(PAGE, claimed, rank=3) == 3


def test_a_page_knows_whether_its_query_is_part_of_its_name() -> None:
    url = "http://e.com/a?id=7&x=1"
    named = [None, "http://e.com/a?x=1&id=7", "/a?id=7", "/a", "/"]
    assert [rank_of(url, each, asks_itself=True) for each in named] == [1, 0, 1, 1, 1]


def broken(
    *,
    seconds: object = (0.1, 0.2),
    digest: object = 5,
    pages: object = 9,
    kept_apart: object = False,
    face: object = 0,
    **changes: object,
) -> dict[str, Any]:
    verdict = {**VERDICT.as_dict(), **changes}
    told = {"digest": digest, "pages": pages, "kept_apart": kept_apart, "unselected": False, "face": face}
    return {"verdict": verdict, "seconds": seconds, **told}


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        17,
        "verdict",
        ["verdict"],
        {},
        {"ready": 1},
        {"done": None},
        {"verdict": None},
        {"verdict": []},
        {"verdict": {}},
        {"verdict": {"kind": "new"}},
        broken(kind="nonsense"),
        broken(kind=["new"]),
        broken(url=5),
        broken(url=None),
        broken(original=["https://e.com/"]),
        broken(similarity="0.97"),
        broken(copies="3"),
        broken(copies=None),
        broken(coverage=[]),
        broken(coverage={}),
        broken(coverage=COVERAGE | {"new_words": -1}),
        broken(coverage=COVERAGE | {"known_words": 1e300}),
        broken(coverage=COVERAGE | {"sources": [1]}),
        broken(coverage=COVERAGE | {"sources": [["https://e.com/", "1"]]}),
        broken(coverage=COVERAGE | {"paragraphs": [{"excerpt": "a", "words": 1, "kind": "odd", "url": None}]}),
        broken(coverage=COVERAGE | {"paragraphs": [{}]}),
        broken(seconds=None),
        broken(seconds=[0.1]),
        broken(seconds=[0.1, "0.2"]),
        broken(seconds=[0.1, -0.2]),
        broken(seconds=[math.nan, 0.2]),
        broken(seconds=[0.1, math.inf]),
        broken(digest="5"),
        broken(digest=None),
        broken(pages="9"),
        broken(kept_apart=1),
        broken(face=None),
        {"verdict": VERDICT.as_dict()},
        {"session": [1]},
        {"session": ["1", "host"]},
        {"session": {"number": 1}},
        {"error": 5},
        {"error": None, "message": "x"},
    ],
)
def test_no_other_answer_is_taken(nonsense: object) -> None:
    with pytest.raises(ValueError, match="answered"):
        crossed(nonsense)


@pytest.mark.parametrize("body", [b"", b"nonsense", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b"\x80\x04K\x11."])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="answered nonsense"):
        answer_from(body)


def test_nothing_of_it_is_pickled() -> None:
    sources = [
        path.read_text() for folder in (*reading.__path__, *workers.__path__) for path in Path(folder).glob("*.py")
    ]
    assert len(sources) > 5
    assert not [source for source in sources if "pickle." in source or "import pickle" in source]
