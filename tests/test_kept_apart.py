"""Pages that the option `distinguish_params` keeps apart by their URLs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from crawldedup import AsyncDeduplicator, Deduplicator, Page, compare
from crawldedup.errors import ConfigurationError
from crawldedup.options import Options
from crawldedup.scope import kept_apart

LAMP = " ".join(f"The lamp stands at pier {number}." for number in range(30))
PARAMS: dict[str, list[str]] = {"shop.example": ["img", "colour"]}


@pytest.mark.parametrize("text", [LAMP, "A lamp."], ids=["full", "thin"])
@pytest.mark.parametrize("form", ["html", "text", "fingerprint"])
def test_pages_of_other_values_stay_apart(text: str, form: str) -> None:
    with Deduplicator(distinguish_params=PARAMS, scope="site") as dedup:
        content: Any = dedup.fingerprint(text=text) if form == "fingerprint" else text
        variants = ("", "?img=1", "?img=2", "?a=7&img=2", "?colour=red&img=2", "?img=2&colour=red&ref=7", "?ref=7")
        kinds = [
            str(dedup.check(f"https://www.shop.example/lamp{variant}", **{form: content}).kind) for variant in variants
        ]
        # By the URL alone, it is still the page that it was.
        again = dedup.check("https://www.shop.example/lamp?img=2", **{form: content})
        gone = Deduplicator.forget(dedup, "https://www.shop.example/lamp?img=2")
    new = "thin" if text != LAMP else "new"
    assert kinds == [new, new, new, "exact_duplicate", new, "exact_duplicate", "exact_duplicate"]
    assert (str(again.kind), again.changed, gone) == ("revisit", False, 1)


def test_near_duplicates_paragraphs_and_claimed_originals_stay_apart() -> None:
    with Deduplicator(distinguish_params="img", paragraphs=0.2) as dedup:
        dedup.check("https://shop.example/lamp?img=1", text=LAMP)
        other = dedup.check(
            "https://shop.example/lamp?img=2", text=f"{LAMP} New.", canonical="https://shop.example/lamp?img=1"
        )
        copy = dedup.check("https://shop.example/lamp?img=2&ref=7", text=f"{LAMP} Now.")
    assert (str(other.kind), other.is_partial, str(copy.kind)) == ("new", False, "near_duplicate")


def test_the_worker_processes_of_a_crawl_keep_them_apart() -> None:
    async def kinds() -> list[str]:
        async with AsyncDeduplicator(distinguish_params=["img"]) as dedup:
            urls = (f"https://shop.example/lamp?img={number}" for number in (1, 2, 1))
            return [str((await dedup.check(url, html=f"<p>{LAMP}</p>")).kind) for url in urls]

    assert asyncio.run(kinds()) == ["new", "new", "revisit"]


def test_a_comparison_names_the_parameter() -> None:
    urls = (f"https://shop.example/lamp?{query}" for query in ("img=1", "img=2", "p=2"))
    first, second, third = (Page(url, text=LAMP) for url in urls)
    told = compare(first, second, distinguish_params=PARAMS)
    assert (str(told.verdict.kind), told.drops, told.candidate.match.similarity) == ("new", 0, 1)
    assert told.facts == (("parameter img=1",), ("parameter img=2",))
    assert compare(first, third, distinguish_params=PARAMS).facts == (("parameter img=1",), ())
    assert str(compare(first, second).verdict.kind) == "exact_duplicate"


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        (None, None),
        ("", None),
        ("img, colour", {"*": ["img", "colour"]}),
        (("img",), {"*": ["img"]}),
        ('["img"]', {"*": ["img"]}),
        ({"WWW.Shop.example": ["img"], "*": ("v",)}, {"shop.example": ["img"], "*": ["v"]}),
        ('{"bücher.example": ["img"]}', {"xn--bcher-kva.example": ["img"]}),
    ],
)
def test_the_option_takes_names_or_hosts(given: object, hosts: object) -> None:
    options = Options(distinguish_params=given)
    assert options.distinguish_params == hosts == Options(distinguish_params=hosts).distinguish_params


@pytest.mark.parametrize(
    "given", [7, [], {}, [7], [""], "a,,b", "{", {"shop.example": []}, {"https://a.example/": ["a"]}]
)
def test_the_option_refuses_anything_else(given: object) -> None:
    with pytest.raises(ConfigurationError, match=r"distinguish_params is .*names of parameters"):
        Options(distinguish_params=given)


def test_only_pages_of_the_host_have_such_values() -> None:
    assert kept_apart(PARAMS, "https://m.shop.example/?colour=red&img=&img=1#img=2") == (
        "parameter colour=red",
        "parameter img=",
        "parameter img=1",
    )
    for url in ("https://othershop.example/?img=1", "https://shop.example/?imgs=1", "https://[/?img=1", ""):
        assert kept_apart(PARAMS, url) == ()
