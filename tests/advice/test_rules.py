"""What a rule does with a URL, and that a rule from elsewhere is one."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from crawldedup.advice.export import export, for_discarder, for_link_extractor
from crawldedup.advice.mining import mine
from crawldedup.advice.rules import FRAME, Address, Predictor, Rule, RuleBook, Step, read_rules
from crawldedup.errors import ConfigurationError
from tests.advice.known_site import Seen, known_site, pages_of, verdicts

E = "https://e.com"
TOKEN = "0a1b2c3d4e5f"


def rule(
    kind: str, find: str, replace: str = "", *folders: str, site: str = E, **counts: Any
) -> Rule:
    return Rule(kind, site, find, replace, frozenset(folders or ("/", "/a/")), **counts)


CASES = [
    (rule("query", "sid"), "/a?b=1&sid=2#top", "/a?b=1"),
    (rule("query", "sid"), "/a?side=2", None),
    (rule("query", "a&b"), "/x?b=1&c=2&a=3", "/x?c=2"),
    (rule("query", "view=print"), "/x?view=print", "/x"),
    (rule("query", "sid", "", "/forum/"), "/forums?sid=1", None),
    (rule("query", "sid", "", "/forum/"), "/forum/1/2?sid=1", None),
    (rule("query", "sid", "", "/forum/0/"), "/forum/1/2?sid=1", "/forum/1/2"),
    (rule("prefix", "/print/", "/news/", "/print/"), "/print/1.html?b=1", "/news/1.html?b=1"),
    (rule("suffix", "/index.html", "/"), "/a/index.html", "/a/"),
    (rule("suffix", "/amp/", "/", "/blog/"), "/blog/boats/amp/", "/blog/boats/"),
    (rule("suffix", "/amp/", "/", "/blog/"), "/blog/boats/more/amp/", None),
    (rule("suffix", "-print.html", ".html", "/n/0/"), "/n/26/a-print.html", "/n/26/a.html"),
    (rule("query", "api", targets=frozenset({f"{E}/"})), "/?api=1", "/"),
    (rule("query", "api", targets=frozenset({f"{E}/"})), "/a?api=1", None),
    (rule("query", FRAME, "", "/d/"), "/d/index.html?java/util/List.html#top", "/d/index.html"),
    (rule("query", FRAME, "", "/d/"), "/d/index.html?deprecated.html", "/d/index.html"),
    (rule("query", FRAME, "", "/d/"), "/d/index.html?is=a/b.html", None),
    (rule("query", FRAME, "", "/d/"), "/d/index.html?a/b&c=1", None),
    (rule("query", FRAME, "", "/d/"), "/d/index.html?print", None),
    (rule("query", ";jsessionid"), f"/a;jsessionid={TOKEN}?x=1", "/a?x=1"),
    (rule("host", E, "https://www.e.com"), "/a?b=1", None),
]


def rewritten(rules: list[Rule], url: str) -> str:
    address = Address.of(url)
    assert address is not None
    return RuleBook(rules).rewritten(address)[0].url()


@pytest.mark.parametrize(("rule", "path", "expected"), CASES)
def test_a_rule_rewrites_what_it_is_for(rule: Rule, path: str, expected: str | None) -> None:
    wanted = f"https://www.e.com{path}" if rule.kind == "host" else E + (expected or path)
    assert rewritten([rule], E + path) == wanted
    assert (
        rewritten([rule], f"https://other.com{path}")
        == f"https://other.com{path}".partition("#")[0]
    )
    if expected:
        assert rewritten(
            [dataclasses.replace(rule, exceptions=frozenset({wanted}))], E + path
        ).endswith(path.partition("#")[0])


def test_rules_work_together() -> None:
    mobile = "http://m.e.com"
    rules = [
        rule("host", mobile, E, "/print/", site=mobile),
        rule("query", "sid", "", "/print/", site=mobile),
    ]
    rules += [
        rule("prefix", "/print/", "/news/", "/print/"),
        rule("query", "utm", "", "/news/", "/print/"),
    ]
    assert rewritten(rules, f"{mobile}/print/1?sid=1&utm=2") == f"{E}/news/1"
    # Two that undo each other end.
    rewritten(
        [rule("prefix", "/a/", "/b/", "/a/"), rule("prefix", "/b/", "/a/", "/b/")], f"{E}/a/1"
    )


@pytest.mark.parametrize(("copies", "most"), [(0, 0), (19, 1), (400, 2)])
def test_a_rule_that_held_for_many_copies_outlives_a_first_contradiction(
    copies: int, most: int
) -> None:
    predictor: Predictor[str] = Predictor([rule("query", "sid", "", "/", copies=copies)])
    for number in range(most + 1):
        assert predictor.rules
        for path in (f"/{number}", f"/{number}?sid=1"):
            aim = predictor.aim_of(E + path)
            assert aim is not None
            predictor.learn(aim, aim)
    assert not predictor.rules


SOUND = {"kind": "query", "site": E, "find": "a", "folders": ["/"]}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (None, "No such file"),
        *((text, "cannot be read as rules") for text in ("", "[" * 100_000)),
        ([1], r"\$\[0\]"),
        ([SOUND, {**SOUND, "kind": "session-folder"}], r"query.*\$\[1\]\.kind"),
        ([{**SOUND, "site": "x" * 10_000}], r"\$\[0\]\.site"),
        (
            [{**SOUND, "folders": []}],
            "rule 1 has no folders, or something that rules of its kind cannot replace",
        ),
        (
            [{**SOUND, "kind": "host", "find": E, "replace": "https://other.com"}],
            "rules of its kind cannot replace",
        ),
    ],
)
def test_what_is_no_rule_is_refused(tmp_path: Path, rules: Any, message: str) -> None:
    path = tmp_path / "rules.json"
    whole = [
        dataclasses.replace(
            CASES[0][0], exceptions=frozenset({f"{E}/b"}), support=7, examples=(("a", "b"),)
        )
    ]
    path.write_text(json.dumps([each.as_dict() for each in whole]))
    assert read_rules(path) == whole
    path.unlink()
    if rules is not None:
        path.write_text(rules if isinstance(rules, str) else json.dumps(rules))
    with pytest.raises(ConfigurationError, match=message):
        read_rules(path)


def discarding(folder: Path, rules: list[Any]) -> Callable[[str], str]:
    """What duplicate-url-discarder makes of URLs by rules."""
    (folder / "rules.json").write_text(json.dumps(rules))
    process: Callable[[str], str] = UrlCanonicalizer([folder / "rules.json"]).process_url
    return process


def test_duplicate_url_discarder_does_what_the_rules_say(tmp_path: Path) -> None:
    pages = known_site()
    rules = mine(pages_of(verdicts(pages)))
    made = export(rules, [], for_discarder).rules
    process = discarding(tmp_path, made)
    removing = [rule for rule in rules if rule.kind == "query" and rule.find != ";jsessionid"]
    assert len(made) == len(removing) == 4
    for page in pages:
        assert process(page.url) == rewritten(removing, page.url)
    folder = rule("prefix", "/docs/print/", "/docs/", "/docs/print/")
    process = discarding(tmp_path, export([folder], [], for_discarder).rules)
    assert process(f"{E}/docs/print/a?c=1") == f"{E}/docs/a?c=1"
    of_page = rule("query", "api", targets=frozenset({f"{E}/"}))
    process = discarding(tmp_path, export([of_page], [], for_discarder).rules)
    assert [process(f"{E}{path}?api=1") for path in ("/", "/a")] == [f"{E}/", f"{E}/a?api=1"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (rule("query", "sid", "", "/"), "would apply it to everything below /"),
        (rule("query", "sid", "", "/0/"), "would apply it to everything below /"),
        (rule("suffix", "/print/", "/"), "can only remove parts of URLs"),
        (rule("query", "a;b", "", "/news/"), "characters that mean something else"),
    ],
)
def test_a_rule_that_a_tool_cannot_apply_is_left_out_with_the_reason(
    made: Rule, reason: str
) -> None:
    exported = export([made], [], for_discarder)
    assert (exported.rules, list(exported.left_out)) == ([], [made.name])
    assert reason in exported.left_out[made.name]


def test_links_are_denied_that_a_rule_is_for() -> None:
    for each, path, expected in CASES:
        page = HtmlResponse(f"{E}/here", body=f'<a href="{E}{path}">x</a>'.encode())
        links = LinkExtractor(deny=for_link_extractor(each)[0]).extract_links(page)
        assert len(links) == (expected is None and each.kind != "host"), (each, path)


def linked(*paths: str, by: str = "/list") -> list[Seen]:
    """Verdicts on a list and the pages that it leads to: of each number, all but the first are
    copies.
    """
    pages = [Seen(E + by, "new")]
    for number in range(9):
        first, *copies = (f"{E}/p/{number}{path}" for path in paths)
        pages.append(Seen(first, "new", referer=E + by))
        pages += [Seen(copy, "exact", first, referer=E + by) for copy in copies]
    return pages


@pytest.mark.parametrize(
    ("pages", "denied"),
    [
        (linked("", "?ref=a", "?size=1"), ["ref", "size"]),
        # Two rules that excuse each other: without both links nothing leads to the page.
        (linked("?ref=a", "?size=1", "?ref=a&size=1"), ["ref"]),
        (linked("?ref=a", "?ref=b"), ["size"]),
        # What a denied copy alone leads to is lost, too.
        ([*linked("", "?ref=a"), Seen(f"{E}/more", "new", referer=f"{E}/p/1?ref=a")], ["size"]),
        # A journal without links denies none.
        ([dataclasses.replace(seen, referer=None, depth=1) for seen in linked("", "?ref=a")], []),
    ],
)
def test_denied_links_cost_no_content_of_the_crawl(pages: list[Seen], denied: list[str]) -> None:
    rules = [rule("query", name, "", "/p/") for name in ("ref", "size")]
    exported = export(rules, pages_of(pages), for_link_extractor)
    assert [
        next(name for name in ("ref", "size") if name in pattern) for pattern in exported.rules
    ] == denied
    assert (exported.saved > 0) == ("ref" in denied)
    assert len(exported.left_out) == 2 - len(denied)


def test_what_a_pattern_would_cost_is_told() -> None:
    """A parameter that says nothing of products tells their reviews apart, and the discarder knows
    no folders.
    """
    pages = [
        *linked("", "?ref=a"),
        *(Seen(f"{E}/p/x/y?ref={n}", "new", referer=f"{E}/list") for n in range(5)),
    ]
    mined = export(mine(pages_of(pages)), pages_of(pages), for_discarder)
    assert mined.rules == []
    assert mined.left_out == {
        f"{E}: ?ref": f"it would lose 4 pieces of content, such as {E}/p/x/y?ref=1"
    }


def test_the_few_pages_with_a_content_of_their_own_are_left_alone(tmp_path: Path) -> None:
    pages = [seen for number in range(9) for seen in linked("", "?ref=a", by=f"/list/{number}")]
    pages = [
        dataclasses.replace(seen, url=seen.url.replace("/p/", f"/p/{n // 19}-"))
        for n, seen in enumerate(pages)
    ]
    pages = [dataclasses.replace(s, original=s.original and s.url.partition("?")[0]) for s in pages]
    pages.append(Seen(f"{E}/p/3-3?ref=b", "new", referer=f"{E}/list/3"))
    ref = [rule("query", "ref", "", "/p/")]
    denying, made = (
        export(ref, pages_of(pages), write).rules for write in (for_link_extractor, for_discarder)
    )
    links = [re.search(denying[0], f"{E}/p/{name}?ref=b") for name in ("3-3", "3-33", "4-3")]
    assert [link is not None for link in links] == [False, True, True]
    process = discarding(tmp_path, made)
    assert process(f"{E}/p/3-3?ref=b") == f"{E}/p/3-3?ref=b"
    assert process(f"{E}/p/4-3?ref=b") == f"{E}/p/4-3"


def steps_of(urls: list[str], original: str) -> list[Step]:
    """What happens to requests for frames, if those that are made bring copies of a page."""
    index = f"{E}/doc/index.html"
    frames = Rule("query", E, FRAME, folders=frozenset({"/doc/"}), targets=frozenset({index}))
    predictor: Predictor[str] = Predictor([frames])
    steps = []
    for url in urls:
        aim = predictor.aim_of(url)
        assert aim is not None
        steps.append(predictor.step(aim, url, may_wait=False))
        if steps[-1] is not Step.SKIPPED:
            predictor.learn(aim, predictor.aim_of(original))
    return steps


def test_a_frameset_is_the_page_of_its_folder() -> None:
    frames = [f"{E}/doc/index.html?java/Class{number}.html" for number in range(12)]
    made = steps_of(frames, f"{E}/doc/")
    assert made[:3] == [Step.MADE, Step.CHECKED, Step.SKIPPED]
    assert made.count(Step.SKIPPED) > 8


@pytest.mark.parametrize("original", ["/login", "/", "/other/", "/doc/?lang=en", "/doc/index.htm"])
def test_a_frameset_that_is_a_copy_of_anything_else_may_be_a_wall(original: str) -> None:
    frames = [f"{E}/doc/index.html?java/Class{number}.html" for number in range(12)]
    assert Step.SKIPPED not in steps_of(frames, E + original)


def lost_stories(number: int, seed: int, *, copies: int = 1, is_trusted: bool = False) -> int:
    """How many stories a crawl never asks for, where a user has linked to copies of the first one.

    The rule takes all of them for one page, since it holds for the rest of the site.
    """
    home = Address("http://a.example", "/story", ())
    confirmed = frozenset([home.digest()] if is_trusted else [])
    rule = Rule(
        "query", home.origin, "ref", folders=frozenset({"/"}), copies=40, confirmed=confirmed
    )
    predictor: Predictor[str] = Predictor([rule])
    urls = [f"{home.url()}?ref={story}" for story in range(2, number + 2)]
    urls += [f"{home.origin}/u{page}?ref={copy}" for page in range(100) for copy in range(20)]
    random.Random(seed).shuffle(urls)
    first = {"story 1": f"{home.url()}?ref=1"}
    waiting = [
        first["story 1"],
        *[f"{home.url()}?ref={'0' * zeros}1" for zeros in range(1, copies + 1)],
    ]
    waiting += urls
    came = set()
    while waiting:
        url = waiting.pop(0)
        aim = predictor.aim_of(url)
        assert aim is not None
        if predictor.step(aim, url, may_wait=False) is Step.SKIPPED:
            continue
        page, _, value = url.partition("?ref=")
        text = f"story {int(value)}" if page == home.url() else page
        original = first.setdefault(text, url)
        wanted, _ = predictor.learn(aim, aim if original == url else predictor.aim_of(original))
        waiting = [*wanted, *waiting]
        came.add(text)
    return sum(f"story {story}" not in came for story in range(1, number + 2))


@pytest.mark.parametrize("number", [1, 5, 20, 60])
def test_a_copy_of_a_users_own_costs_nobody_a_page(number: int) -> None:
    assert [lost_stories(number, seed) for seed in range(10)] == [0] * 10


@pytest.mark.parametrize("number", [5, 20, 60])
def test_neither_does_a_file_that_calls_a_target_confirmed(number: int) -> None:
    assert [lost_stories(number, seed, is_trusted=True) for seed in range(10)] == [0] * 10


def test_checks_are_made_of_each_target_whatever_others_there_are() -> None:
    """With more copies, a user puts a check off, until there are twenty requests at the target."""
    assert [lost_stories(60, seed, copies=2) for seed in range(10)] == [0] * 10
    assert max(lost_stories(10, seed, copies=2) for seed in range(10)) <= 18
