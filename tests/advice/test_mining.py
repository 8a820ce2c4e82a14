"""Rules mined from a site that was built with known rules are exactly those, and no content is lost
by them.
"""

from __future__ import annotations

import random

import pytest

from crawldedup.advice.evidence import saved_by
from crawldedup.advice.mining import LEAST_COPIES_OF_PAGE, mine
from crawldedup.advice.rules import FRAME, Address, Rule
from tests.advice.known_site import BUILT_WITH, WWW, Seen, copied, known_site, pages_of, verdicts

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


def test_a_rule_does_not_hold_in_a_folder_where_it_is_contradicted() -> None:
    contrary = [Seen(f"{WWW}/guides/{number}?sid=0a1b2c3d", "new") for number in range(3)]
    rules = mined(*verdicts(known_site(size=10)), *contrary)
    assert rules[SID] == ("/forum/", "/news/", "/print/")


def test_a_page_that_contradicts_a_rule_is_its_exception() -> None:
    seen = [*verdicts(known_site(60)), Seen(f"{WWW}/guides/7?sid=0a1b2c3d", "new")]
    (rule,) = (rule for rule in mine(pages_of(seen)) if rule.id == SID)
    assert rule.exceptions == {f"{WWW}/guides/7"}
    assert rule.contrary == f"{WWW}/guides/7?sid=0a1b2c3d is not a copy of {WWW}/guides/7"
    assert (rule.support, rule.against) == (179, 2)


def test_many_pages_of_one_content_do_not_outweigh_those_that_differ() -> None:
    """Whoever may publish pages in two folders, at which a parameter says nothing, makes no rule
    for a third.
    """

    def pages_at(urls: list[str]) -> list[Seen]:
        return [
            seen for url in urls for seen in copied(url, *(f"{url}?ref={ref}" for ref in range(40)))
        ]

    pages = pages_at([f"{WWW}/{'uv'[n % 2]}/{n}" for n in range(60)])
    stories = [Seen(f"{WWW}/story?ref={ref}", "new") for ref in range(60)]
    rule = ("query", WWW, "ref", "")
    assert mined(*pages) == mined(*pages, *stories) == {rule: ("/u/", "/v/")}


def test_withdrawn_rules_are_not_mined_again_but_others_are() -> None:
    withdrawn = [
        Rule(*SID, frozenset({"/news/"})),
        Rule("prefix", WWW, "/print/", "/news/", frozenset({"/print/"})),
    ]
    # Without the rule for print views, those are pages of their own.
    expected = {rule: folders for rule, folders in BUILT.items() if rule[2] != "/print/"}
    rules = found(mine(pages_of(verdicts(known_site(24))), withdrawn))
    assert rules == {**expected, SID: ("/forum/", "/guides/", "/print/")}


@pytest.mark.parametrize(
    ("one", "other", "pages"),
    [
        *(
            ("https://e.com", view, 6)
            for view in ("https://www.e.com", "http://e.com", "http://amp.e.com")
        ),
        # Another may own these, however many pages agree.
        ("https://victim.blogs.example", "https://a.blogs.example", 0),
        ("https://m.example", "https://www.example", 0),
        ("https://e.example", "https://e.example:8080", 0),
    ],
)
def test_views_of_one_site_make_a_rule_and_other_hosts_none(
    one: str, other: str, pages: int
) -> None:
    seen = [seen for n in range(pages or 60) for seen in copied(f"{one}/p/{n}", f"{other}/p/{n}")]
    assert mined(*seen) == ({("host", other, other, one): ("/p/",)} if pages else {})


@pytest.mark.parametrize(("shared", "found"), [(22, False), (70, True)])
def test_a_host_with_pages_of_its_own_is_no_mirror(shared: int, found: bool) -> None:
    pages = [
        seen
        for n in range(shared)
        for seen in copied(f"https://e.com/p/{n}", f"https://m.e.com/p/{n}")
    ]
    pages += [Seen(f"https://m.e.com/p/{number}", "new") for number in range(shared, 70)]
    rule = ("host", "https://m.e.com", "https://m.e.com", "https://e.com")
    assert mined(*pages) == ({rule: ("/p/",)} if found else {})


def test_links_that_hand_a_parameter_on_are_lost_where_its_copies_are() -> None:
    """Pages of a list look alike, and all their links name the page of the list that they stand on."""
    pages = []
    for topic in range(12):
        first = f"{WWW}/list/{topic}"
        pages.append(Seen(first, "new"))
        for number in range(1, 4):
            pages.append(Seen(f"{first}?page={number}", "near", first, referer=first))
            pages.append(
                Seen(f"{WWW}/item/{topic}-{number}?page={number}", "new", referer=pages[-1].url)
            )
    assert mined(*pages) == {}


def test_a_rule_has_exceptions_where_a_crawl_that_was_cut_met_no_other_way() -> None:
    topics = [Seen(f"{WWW}/t/{number}?sid=a", "new") for number in range(120)]
    other_ways: dict[int, str] = {3: "", 9: f"{WWW}/m/3?sid=b"}
    for number in range(120):
        of, by = topics[number].url, other_ways.get(number, "")
        topics.append(Seen(f"{WWW}/t/{number}?sid=b", "exact", of, referer=by))
        if number in other_ways:
            topics.append(Seen(f"{WWW}/m/{number}?sid=b", "new", referer=topics[-1].url))
    (rule,) = mine(pages_of(topics))
    assert (rule.id, rule.exceptions) == (SID, {f"{WWW}/t/3", f"{WWW}/t/9"})


def test_crawlers_of_a_fleet_may_judge_one_page_differently() -> None:
    pages = [seen for n in range(9) for seen in copied(f"{WWW}/{n}", f"{WWW}/{n}?sid=a")]
    others = [
        Seen(f"{WWW}/{number}", "new" if number else "exact", f"{WWW}/other") for number in range(9)
    ]
    assert mined(*pages, *others) == {("query", WWW, "sid", ""): ("/",)}


def test_short_texts_do_not_make_a_rule() -> None:
    urls = [f"{WWW}/note/{number}" for number in range(20)]
    short = [
        Seen(f"{url}{sid}", "thin", digest=url) for url in urls for sid in ("", "?sid=0a1b2c3d")
    ]
    assert mined(*short) == {}
    longer = [seen for url in urls for seen in copied(url, f"{url}?sid={url[-2:]}")]
    assert mined(*longer) != {}
    # A short page in place of a longer one speaks against it.
    assert mined(*longer, *short[1::2]) == {}


NAMES = ("boats", "ferry-timetable", "harbor-opens", "late-rain", "mill", "storm-of-1962")
VIEWS = [
    ("/{}/", "/{}/amp/", "/{}/print/"),
    ("/{}", "/{}/amp", "/{}/print"),
    ("/blog/{}/", "/blog/{}/print", "/blog/{}/amp"),
    ("/2026/11/{}/", "/2026/11/{}/amp/"),
    ("/news/{}.html", "/news/{}-print.html", "/news/{}.amp.html"),
    ("/news/{}", "/print/news/{}", "/amp/news/{}"),
    ("/news/{}", "/news/print/{}", "/news/{}?print=1", "/news/{}?amp"),
    ("/docs/{}/", "/docs/{}/index.html"),
    ("/article.php?name={}", "/print.php?name={}"),
    ("/forum/showthread.php?name={}", "/forum/printthread.php?name={}"),
    ("/page.php?name={}", "/print.php?name={}"),
]


@pytest.mark.parametrize("forms", VIEWS, ids=" ".join)
def test_views_are_found_before_and_after_the_name_of_the_page(forms: tuple[str, ...]) -> None:
    pages = []
    for name in NAMES:
        first, *views = (WWW + form.format(name) for form in forms)
        pages += copied(first, *views)
    rules = mine(pages_of(pages))
    assert saved_by(rules, pages_of(pages)) == len(NAMES) * (len(forms) - 1)
    # A page that came later is named by the same rules.
    first, *views = (Address.of(WWW + form.format("new-mayor")) for form in forms)
    for view in views:
        assert view is not None
        assert first in [rule.rewritten(view) for rule in rules]


def test_a_view_that_has_contents_of_its_own_is_none() -> None:
    pages = [seen for name in NAMES for seen in copied(f"{WWW}/{name}/", f"{WWW}/{name}/amp/")]
    other = [Seen(f"{WWW}/other-{n}/{end}", "new") for n in range(2) for end in ("", "amp/")]
    assert mined(*pages) == {("suffix", WWW, "/amp/", "/"): ("/",)}
    assert mined(*pages, *other) == {}


def signed_in(number: int) -> str:
    return f"{WWW}/?api=auth&return=%2Fp%2F{number}"


def test_parameters_of_one_page_are_a_rule_for_this_page_alone() -> None:
    pages = copied(f"{WWW}/", *(signed_in(n) for n in range(LEAST_COPIES_OF_PAGE)))
    assert mined(*pages[:-1]) == {}
    (rule,) = mine(pages_of(pages))
    assert (rule.id, rule.targets) == (("query", WWW, "api&return", ""), {f"{WWW}/"})
    assert (rule.copies, saved_by([rule], pages_of(pages))) == (20, 20)
    home, other = (Address.of(f"{WWW}{path}?api=x&return=y") for path in ("/", "/about"))
    assert home is not None
    assert other is not None
    assert rule.rewritten(home) == Address.of(f"{WWW}/")
    assert rule.rewritten(other) is None


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([Seen(signed_in(99), "new")], id="one has a content of its own"),
        pytest.param([Seen(f"{WWW}/p/1", "new", referer=signed_in(3))], id="one leads on"),
    ],
)
def test_parameters_of_one_page_are_no_rule_if_they_lead_to_a_content(more: list[Seen]) -> None:
    assert mined(*copied(f"{WWW}/", *(signed_in(n) for n in range(40))), *more) == {}


def frames(version: int) -> list[Seen]:
    """The pages of a frameset, whose queries are addresses. They are copies of the folder's page."""
    folder = f"{WWW}/doc/{version}/"
    urls = [f"{folder}index.html?java/Class{n}.html" for n in range(LEAST_COPIES_OF_PAGE + 1)]
    return [Seen(folder, "new"), *(Seen(url, "exact", folder) for url in urls)]


@pytest.mark.parametrize(
    ("versions", "targets"),
    [(2, {f"{WWW}/doc/{n}/index.html" for n in range(2)}), (5, set())],
)
def test_queries_that_are_addresses_are_one_page(versions: int, targets: set[str]) -> None:
    pages = pages_of([seen for n in range(versions) for seen in frames(n)])
    (rule,) = (rule for rule in mine(pages) if rule.kind == "query")
    assert (rule.find, rule.targets) == (FRAME, targets)
    # One of them is fetched, because nothing was fetched at the address without a query.
    assert saved_by([rule], pages) == versions * LEAST_COPIES_OF_PAGE
    frame, other = (Address.of(f"{WWW}/doc/0/index.html?{query}") for query in ("a/b", "q=a/b"))
    assert frame is not None
    assert other is not None
    assert rule.rewritten(frame) == Address.of(f"{WWW}/doc/0/index.html")
    assert rule.rewritten(other) is None


def test_contents_at_addresses_in_queries_are_no_frames() -> None:
    assert mined(*frames(0), Seen(f"{WWW}/doc/0/index.html?java/Other.html", "new")) == {}


def test_a_view_that_is_named_by_a_path_is_no_frameset() -> None:
    pages = [
        seen
        for n in range(9)
        for seen in copied(f"{WWW}/news/{n}", f"{WWW}/news/{n}?view/print", f"{WWW}/news/{n}?sid=a")
    ]
    assert ("query", WWW, "view/print", "") in (rules := mined(*pages))
    assert ("query", WWW, FRAME, "") not in rules


def test_no_rule_is_mined_from_pages_replaced_by_a_wall() -> None:
    wall = copied(f"{WWW}/login", *(f"{WWW}/story.php?id={n}" for n in range(40)))
    assert mined(*wall) == {}
    # Nor does it if the pages of several stories have their address but for the query.
    assert mined(*wall, Seen(f"{WWW}/story.php", "new")) == {}


HOSTILE = (
    *(
        "https://e.com/" + "a" * 10_000,
        "https://e.com/?" + "&".join(f"p{n}={n}" for n in range(500)),
    ),
    *(
        "https://e.com/?" + "&" * 1000,
        "https://e.com/\x00\x1b[31m",
        "https://[::1/",
        "https://e.com:99999999/;;;;;;=",
    ),
    *("https://e.com" + "/a" * 900, "//e.com/x", "javascript:alert(1)", "\ud800", ""),
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


def test_pages_behind_a_skipped_copy_do_not_count_as_saved() -> None:
    """The page that it is a copy of links to them, too."""
    pages = []
    for name in NAMES:
        view = f"{WWW}/news/{name}?print=1"
        pages += copied(f"{WWW}/news/{name}", view)
        pages.append(Seen(f"{WWW}/tags/{name}", "exact", f"{WWW}/topics/{name}", referer=view))
        pages.append(Seen(f"{WWW}/topics/{name}", "new"))
    rules = [rule for rule in mine(pages_of(pages)) if rule.find == "print"]
    assert saved_by(rules, pages_of(pages)) == len(NAMES)
