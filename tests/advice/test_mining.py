"""Rules mined from a site that was built with known rules are exactly those, and no content is lost by them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from crawldedup.advice.evidence import Evidence, Page, Seen
from crawldedup.advice.mining import mine, weigh
from crawldedup.advice.rules import Rule, RuleBook
from tests.advice.known_site import BUILT_WITH, MOBILE, WWW, Made, evidence_of, known_site, verdicts


def mined(*seen: Seen) -> set[tuple[str, ...]]:
    return {rule.id for rule in mine(evidence_of(seen).pages)}


def shuffled(pages: list[Made], seed: int) -> list[Made]:
    random.Random(seed).shuffle(pages)
    return pages


@pytest.mark.parametrize("seed", range(4))
def test_the_rules_are_those_that_the_site_was_built_with(seed: int) -> None:
    assert {rule.id for rule in mine(evidence_of(verdicts(known_site(seed=seed))).pages)} == BUILT_WITH


def test_what_leads_to_contents_of_its_own_is_no_rule_in_any_order() -> None:
    for seed in range(4):
        pages = evidence_of(verdicts(shuffled(known_site(), seed))).pages
        assert {rule.id for rule in mine(pages)} == BUILT_WITH


def test_no_two_contents_have_one_rewritten_url() -> None:
    pages = known_site()
    evidence = evidence_of(verdicts(pages))
    book = RuleBook(mine(evidence.pages))
    contents: dict[str, set[str]] = {}
    rewritten = 0
    for made, page in zip(pages, evidence.pages, strict=True):
        target, used = book.rewritten(page.address)
        contents.setdefault(target.url(), set()).add(made.content)
        rewritten += bool(used)
    assert {len(each) for each in contents.values()} == {1}
    copies = sum(seen.outcome == "exact" for seen in verdicts(pages))
    # Of the others, walls and the months of a year are copies that no rule is for.
    assert rewritten > 0.8 * copies


def test_hardly_any_counter_evidence_is_allowed() -> None:
    seen = list(verdicts(known_site(size=10)))
    contrary = [Seen(f"{WWW}/guides/{number}?sid=0a1b2c3d", "new") for number in range(3)]
    assert ("query", WWW, "/", "sid", "") not in mined(*seen, *contrary)


def test_what_was_withdrawn_is_not_found_again_and_the_rest_is() -> None:
    contrary = Seen(f"{WWW}/news/0?sid=0a1b2c3d", "new")
    pages = evidence_of([*verdicts(known_site(24)), contrary]).pages
    sid, print_view = Rule("query", WWW, "sid"), Rule("prefix", WWW, "/print/", "/news/")
    in_section = {section: replace(sid, section=section) for section in ("/news/", "/forum/", "/guides/", "/print/")}
    others = BUILT_WITH - {sid.id, print_view.id}
    assert {rule.id for rule in mine(pages)} == BUILT_WITH
    sections = {rule.id for name, rule in in_section.items() if name != "/news/"}
    turned = replace(print_view, find="/news/", replace="/print/")
    for withdrawn in (sid, in_section["/news/"]):
        assert {rule.id for rule in mine(pages, [withdrawn, turned])} == others | sections


def test_one_page_in_place_of_many_is_no_evidence() -> None:
    wall = f"{WWW}/login"
    pages = [Seen(wall, "new")]
    pages += [Seen(f"{WWW}/thread/{n}?do={what}", "exact", wall) for n in range(50) for what in ("answer", "quote")]
    assert mined(*pages) == set()


def test_a_rule_holds_where_it_was_seen() -> None:
    pages = []
    for number in range(10):
        thread = f"{WWW}/forum/{number}"
        pages += [Seen(thread, "new"), Seen(f"{thread}?sort=new", "exact", thread)]
    assert mined(*pages) == {("query", WWW, "/forum/", "sort", "")}


def test_the_better_copy_is_the_target() -> None:
    story, shelf = "https://b.example/story/{}", "https://a.example/story/{}"
    pages = []
    for number in range(6):
        copy, own = shelf.format(number), story.format(number)
        pages += [Seen(copy, "new"), Seen(own, "near", copy, replaces=True)]
    assert mined(*pages) == {("host", "https://a.example", "/", "https://a.example", "https://b.example")}


def test_short_texts_count_against_a_rule_only() -> None:
    pages = []
    for number in range(20):
        page = f"{WWW}/note/{number}"
        pages += [Seen(page, "thin", digest=f"{number}"), Seen(f"{page}?sid=0a1b2c3d", "thin", digest=f"{number}")]
    assert mined(*pages) == set()
    copies = [replace(each, outcome="new", digest=None) if "?" not in each.url else each for each in pages]
    assert weigh([Rule("query", WWW, "sid")], evidence_of(copies).pages)[0].against == 20


def test_known_rules_are_weighed_by_new_pages() -> None:
    pages = evidence_of(verdicts(known_site())).pages
    rules = [Rule("host", MOBILE, MOBILE, WWW), Rule("query", WWW, "page"), Rule("query", WWW, "month")]
    right, wrong, leading = weigh(rules, pages)
    assert (right.support, right.against, right.contrary) == (36, 0, None)
    assert (wrong.support, wrong.against) == (0, 12)
    assert str(wrong.contrary) == f"{WWW}/show?id=0&page=2 is no copy of {WWW}/show?id=0"
    year = f"{WWW}/calendar/0"
    assert str(leading.contrary) == f"{year}?month=0 leads to {WWW}/events/0-0, and {year} does not"


@pytest.mark.parametrize(
    "url",
    [
        "https://e.com/" + "a" * 10_000,
        "https://e.com/?" + "&".join(f"p{n}={n}" for n in range(500)),
        "https://e.com/?" + "&" * 1000,
        "https://e.com/\x00\x1b[31m",
        "https://[::1/",
        "https://e.com:99999999/;;;;;;=",
        "https://e.com" + "/a" * 900,
        "//e.com/x",
        "javascript:alert(1)",
        "\ud800",
        "",
    ],
)
def test_hostile_urls_do_no_harm(url: str) -> None:
    pages: list[Page] = []
    for number in range(8):
        own = [Seen(f"{url}{number}", "new", referer=url), Seen(f"{url}{number}?x;y={url}", "exact", f"{url}{number}")]
        pages += evidence_of(own).pages
    for rule in mine(pages):
        assert rule.rewrite(url) is not None


def test_memory_is_bounded() -> None:
    evidence = Evidence(most=30)
    for number in range(100):
        evidence.add(Seen(f"{WWW}/{number}", "new"))
    for number in range(100):
        evidence.add(Seen(f"https://{number % 5}.example/{number}", "new"))
    assert len(evidence.pages) == 30
    assert evidence.is_full
    assert sum(page.address.origin == WWW for page in evidence.pages) == 10
