"""Rules mined from a site that was built with known rules are exactly those, and no content is lost by them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from crawldedup.advice.mining import mine
from crawldedup.advice.rules import Rule, RuleBook
from tests.advice.known_site import BUILT_WITH, WWW, Seen, known_site, pages_of, verdicts

Found = dict[tuple[str, ...], tuple[str, ...]]
SID = ("query", WWW, "sid", "")


def mined(*seen: Seen) -> Found:
    return found(mine(pages_of(seen)))


def found(rules: list[Rule]) -> Found:
    return {rule.id: tuple(sorted(rule.folders)) for rule in rules}


BUILT: Found = {rule: tuple(sorted(folders)) for rule, folders in BUILT_WITH.items()}


@pytest.mark.parametrize("seed", range(2))
def test_the_rules_are_those_that_the_site_was_built_with(seed: int) -> None:
    pages = known_site(seed=seed)
    assert mined(*verdicts(pages)) == BUILT
    # What leads to contents of its own is no rule in any order.
    random.Random(seed).shuffle(pages)
    assert mined(*verdicts(pages)) == BUILT


def test_no_two_contents_have_one_rewritten_url() -> None:
    pages = known_site()
    judged = pages_of(verdicts(pages))
    book = RuleBook(mine(judged))
    contents: dict[str, set[str]] = {}
    rewritten = 0
    for made, page in zip(pages, judged, strict=True):
        target, used = book.rewritten(page.address)
        contents.setdefault(target.url(), set()).add(made.content)
        rewritten += bool(used)
    assert {len(each) for each in contents.values()} == {1}
    # Of the others, walls and the months of a year are copies that no rule is for.
    assert rewritten > 0.75 * sum(seen.outcome == "exact" for seen in verdicts(pages))


def test_a_rule_does_not_hold_in_a_folder_where_it_is_contradicted() -> None:
    contrary = [Seen(f"{WWW}/guides/{number}?sid=0a1b2c3d", "new") for number in range(3)]
    rules = mined(*verdicts(known_site(size=10)), *contrary)
    assert rules[SID] == ("/forum/", "/news/", "/print/")


def test_a_page_that_contradicts_a_rule_is_its_exception() -> None:
    seen = [*verdicts(known_site(60)), Seen(f"{WWW}/guides/7?sid=0a1b2c3d", "new")]
    (rule,) = (rule for rule in mine(pages_of(seen)) if rule.id == SID)
    assert rule.exceptions == {f"{WWW}/guides/7"}
    assert rule.contrary == f"{WWW}/guides/7?sid=0a1b2c3d is no copy of {WWW}/guides/7"
    # Both sides count pages: there are two that the rule rewrites to that one.
    assert (rule.support, rule.against) == (179, 2)
    targets = [RuleBook([rule]).rewritten(page.address)[0].url() for page in pages_of(seen)]
    assert f"{WWW}/guides/7?sid=0a1b2c3d" in targets


def test_many_pages_of_one_content_do_not_outweigh_those_that_differ() -> None:
    """Whoever may publish pages in two folders, at which a parameter says nothing, makes no rule for a third."""
    pages = [Seen(f"{WWW}/{'uv'[n % 2]}/{n}", "new") for n in range(60)]
    pages += [Seen(f"{each.url}?ref={ref}", "exact", each.url) for each in pages[:60] for ref in range(40)]
    stories = [Seen(f"{WWW}/story?ref={ref}", "new") for ref in range(60)]
    assert mined(*pages) == mined(*pages, *stories) == {("query", WWW, "ref", ""): ("/u/", "/v/")}
    # In the folder of the stories, too, each page that differs counts.
    junk = [Seen(f"{WWW}/{n}", "new") for n in range(20)]
    junk += [Seen(f"{each.url}?ref={ref}", "exact", each.url) for each in junk[:20] for ref in range(40)]
    assert mined(*junk) == {("query", WWW, "ref", ""): ("/",)}
    assert ("query", WWW, "ref", "") not in mined(*junk, *stories)


def test_what_was_withdrawn_is_not_found_again_and_the_rest_is() -> None:
    pages = pages_of(verdicts(known_site(24)))
    sid, print_view = (
        Rule(*SID, frozenset({"/news/"})),
        Rule("prefix", WWW, "/print/", "/news/", frozenset({"/print/"})),
    )
    rules, others = found(mine(pages, [sid, print_view])), dict(BUILT)
    # Without the rule for print views, those are pages of their own.
    del others["prefix", WWW, "/print/", "/news/"]
    assert rules == {**others, SID: ("/forum/", "/guides/", "/print/")}


def test_a_rule_that_two_rounds_find_in_two_folders_is_one() -> None:
    """Print views have ids of sessions alone, so that they are no copies of each other by one difference."""
    pages = []
    for number in range(6):
        story, thread = f"{WWW}/news/{number}", f"{WWW}/forum/{number}"
        pages += [Seen(thread, "new"), *(Seen(f"{thread}?sid={each}", "exact", thread) for each in "ab")]
        pages += [Seen(story, "new"), Seen(f"{WWW}/print/{number}?v=1", "exact", story)]
        pages += [Seen(f"{story}?v=1", "exact", story), Seen(f"{WWW}/print/{number}?v=1&sid=c", "exact", story)]
    rules = mine(pages_of(pages))
    assert len({rule.name for rule in rules}) == len(rules)
    assert found(rules)[SID] == ("/forum/", "/print/")


def test_a_beginning_and_an_ending_are_two_rules() -> None:
    pages = []
    for number in range(6):
        pages += [Seen(f"{WWW}/{number}/", "new"), Seen(f"{WWW}/x{number}/", "new")]
        pages.append(Seen(f"{WWW}/amp/{number}/", "exact", f"{WWW}/{number}/"))
        pages.append(Seen(f"{WWW}/x{number}/amp/", "exact", f"{WWW}/x{number}/"))
    names = {rule.name for rule in mine(pages_of(pages))}
    assert names == {f"{WWW}: /amp/ -> /", f"{WWW}: */amp/ -> */"}


def test_one_page_in_place_of_many_is_no_evidence() -> None:
    wall = f"{WWW}/login"
    pages = [Seen(wall, "new")]
    pages += [Seen(f"{WWW}/thread/{n}?do={what}", "exact", wall) for n in range(50) for what in ("answer", "quote")]
    assert mined(*pages) == {}


@pytest.mark.parametrize(
    ("one", "other", "pages"),
    [
        *(("https://e.com", view, 6) for view in ("https://www.e.com", "http://e.com", "http://amp.e.com")),
        # Another may own these, however many pages agree.
        ("http://a.example", "http://b.example", 0),
        ("https://victim.blogs.example", "https://a.blogs.example", 0),
        ("http://127.0.0.1:8421", "http://127.0.0.2:8421", 0),
        ("https://m.example", "https://www.example", 0),
        ("https://e.example", "https://e.example:8080", 0),
    ],
)
def test_views_of_one_site_make_a_rule_and_other_hosts_none(one: str, other: str, pages: int) -> None:
    seen = []
    for number in range(pages or 60):
        seen += [Seen(f"{one}/p/{number}", "new"), Seen(f"{other}/p/{number}", "exact", f"{one}/p/{number}")]
    assert mined(*seen) == ({("host", other, other, one): ("/p/",)} if pages else {})


@pytest.mark.parametrize(("shared", "found"), [(22, False), (70, True)])
def test_a_host_with_pages_of_its_own_is_no_mirror(shared: int, found: bool) -> None:
    pages = [Seen(f"https://e.com/p/{number}", "new") for number in range(shared)]
    pages += [Seen(f"https://m.e.com/p/{n}", "exact", f"https://e.com/p/{n}") for n in range(shared)]
    pages += [Seen(f"https://m.e.com/p/{number}", "new") for number in range(shared, 70)]
    rule = ("host", "https://m.e.com", "https://m.e.com", "https://e.com")
    assert mined(*pages) == ({rule: ("/p/",)} if found else {})


def test_an_id_in_all_links_does_not_speak_against_its_own_rule() -> None:
    """Copies lead to new pages here, whose URLs differ from those of their twins' links in the id alone."""
    pages = []
    for number in range(9):
        thread, author = f"{WWW}/t/{number}?sid=", f"{WWW}/u/{number}?sid="
        pages += [Seen(f"{thread}a", "new"), Seen(f"{thread}b", "exact", f"{thread}a")]
        pages.append(Seen(f"{author}d", "new", referer=f"{thread}b"))
        pages.append(Seen(f"{author}c", "exact", f"{author}d", referer=f"{thread}a"))
    assert mined(*pages) == {SID: ("/t/", "/u/")}
    # The same where two of the new pages were taken for different ones.
    pages[3] = Seen(pages[3].url, "new", referer=pages[3].referer)
    assert mined(*pages) == {SID: ("/t/",)}


def test_links_that_hand_a_parameter_on_are_lost_where_its_copies_are() -> None:
    """Pages of a list look alike, and all their links name the page of the list that they stand on."""
    pages = []
    for topic in range(12):
        first = f"{WWW}/list/{topic}"
        pages.append(Seen(first, "new"))
        for number in range(1, 4):
            page = f"{first}?page={number}"
            pages += [Seen(page, "near", first, referer=first)]
            pages += [Seen(f"{WWW}/item/{topic}-{number}?page={number}", "new", referer=page)]
    assert mined(*pages) == {}


def test_crawlers_of_a_fleet_may_judge_one_page_differently() -> None:
    pages = [Seen(f"{WWW}/{number}", "new") for number in range(9)]
    pages += [Seen(f"{page.url}?sid=a", "exact", page.url) for page in pages[:9]]
    others = [Seen(f"{WWW}/{number}", "new" if number else "exact", f"{WWW}/other") for number in range(9)]
    assert mined(*pages, *others) == {("query", WWW, "sid", ""): ("/",)}


def test_short_texts_do_not_make_a_rule() -> None:
    pages = []
    for number in range(20):
        page = f"{WWW}/note/{number}"
        pages += [Seen(page, "thin", digest=f"{number}"), Seen(f"{page}?sid=0a1b2c3d", "thin", digest=f"{number}")]
    assert mined(*pages) == {}
    copies = [Seen(f"{WWW}/note/{n}?sid={n}", "exact", f"{WWW}/note/{n}") for n in range(20)]
    longer = [replace(each, outcome="new", digest=None) for each in pages[::2]]
    assert mined(*longer, *copies) != {}
    # A short page in place of a longer one speaks against it.
    assert mined(*longer, *copies, *pages[1::2]) == {}


HOSTILE = (
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
)


def test_hostile_urls_do_no_harm() -> None:
    seen = []
    for url in HOSTILE:
        for own in (f"{url}{number}" for number in range(8)):
            seen += [Seen(own, "new", referer=url), Seen(f"{own}?x;y={url}", "exact", own)]
    assert all(rule.what and rule.is_sound() for rule in mine(pages_of(seen)))


def test_memory_is_bounded() -> None:
    seen = [Seen(f"{WWW}/{number}", "new") for number in range(100)]
    seen += [Seen(f"https://{number % 5}.example/{number}", "new") for number in range(100)]
    pages = pages_of(seen, most=30)
    assert len(pages) == 30
    assert sum(page.address.origin == WWW for page in pages) == 10
