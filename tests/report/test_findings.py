"""The findings of a report."""

from __future__ import annotations

import pytest

from crawldedup.report.render import page_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line, copy, page

BLOG = "https://blog.example/"
POSTS = [f"{BLOG}posts/{name}-of-{place}/" for name in ("boats", "rain") for place in "abcdefghij"]


def findings(report: dict[str, object], words: str) -> list[str]:
    told = report["findings"]
    assert isinstance(told, list)
    return [finding["text"] for finding in told if words in finding["text"]]


def views(post: str) -> list[Line]:
    """A post, and the addresses at which it comes again."""
    endings = ["print/", "amp/", "?sid=0a1b2c3d", "?utm_source=mail", "?utm_source=feed"]
    comments = [f"?replytocom={number}" for number in range(5)]
    return [page(post), *(copy(f"{post}{ending}", post) for ending in (*endings, *comments))]


def in_turns(*groups: list[Line]) -> list[Line]:
    """The first pages of all groups, then the second ones, and so on, each a second later."""
    lines = [line for row in zip(*groups, strict=True) for line in row]
    return [{**line, "t": number} for number, line in enumerate(lines)]


def calendar(months: int) -> list[Line]:
    first = f"{BLOG}months/2026/01/"
    return [copy(f"{BLOG}months/{2026 + n // 12}/{n % 12 + 1:02}/", first) for n in range(months)]


def test_a_blog_whose_copies_rules_explain_is_no_trap(report_of: ReportOf) -> None:
    made = report_of(*in_turns(*map(views, POSTS)))
    assert [group["trap"] for group in made["stale"] if group["trap"]] == []
    assert findings(made, "A trap") == []
    assert made["advice_saves"] == 10 * len(POSTS)
    assert findings(made, f"URL rules would have saved {made['advice_saves']} downloads:")


def test_a_trap_beside_a_blog_is_named(report_of: ReportOf) -> None:
    made = report_of(*in_turns(*map(views, POSTS)), *calendar(120))
    assert findings(made, "A trap (calendar): all 120 pages at blog.example/months/{date}/")
    assert len(findings(made, "A trap")) == 1


def test_many_addresses_of_one_page_are_a_trap_although_a_rule_is_for_them(
    report_of: ReportOf,
) -> None:
    copies = [copy(f"{BLOG}?api=auth&back=%2F{number}", BLOG) for number in range(60)]
    made = report_of(*in_turns([page(BLOG), *map(page, POSTS), *copies]))
    assert [(rule["what"], rule["copies"]) for rule in made["advice"]] == [
        (f"?api&back of {BLOG}", 60)
    ]
    (trap,) = findings(made, "A trap (many URLs, few texts): 60 of 61 pages at blog.example/")
    assert trap.endswith("; 1 is not.")


def test_rules_in_use_are_not_advised_again_and_explain_the_copies_that_check_them(
    report_of: ReportOf,
) -> None:
    checks = [copy(f"{BLOG}?api=auth&back=%2F{number}", BLOG) for number in range(60)]
    # A rule that was mined from few checks may have the parameters of two rules.
    checks += [copy(f"{post}?old=1&sid={number}", post) for post in POSTS for number in range(3)]
    rules = ["?api&back of https://blog.example/", "?old; https://blog.example: ?sid"]
    skipped = [
        {"t": 1, "skipped": f"{BLOG}{name}", "rule": f"https://blog.example: {rule}"}
        for name, rule in zip("ab", rules, strict=True)
    ]
    made = report_of(*in_turns([page(BLOG), *map(page, POSTS), *checks, *skipped]))
    assert made["advice"] == []
    assert findings(made, "would have saved") == findings(made, "A trap") == []


@pytest.mark.parametrize(
    ("query", "others", "told"),
    [
        pytest.param("back=/{0}", 0, ["many URLs, few texts"], id="one trap"),
        pytest.param("month=2026-{0}", 0, ["calendar"], id="the one with a cause"),
        pytest.param("back=/{0}", 60, ["many URLs, few texts"] * 3, id="three traps"),
    ],
)
def test_a_parameter_of_all_pages_of_a_trap_is_no_second_trap(
    report_of: ReportOf, query: str, others: int, told: list[str]
) -> None:
    login = f"{BLOG}login"
    asked = [copy(f"{login}?{query.format(number)}", login) for number in range(60)]
    asked += [copy(f"{BLOG}help?{query.format(n)}", POSTS[0]) for n in range(others)]
    made = report_of(*in_turns([page(login), *map(page, POSTS), *asked]))
    assert [text[8 : text.index(")")] for text in findings(made, "A trap (")] == told


def test_more_traps_than_are_told_are_counted(report_of: ReportOf) -> None:
    groups = [[copy(f"{BLOG}{name}/{n}", f"{BLOG}{n % 9}") for n in range(60)] for name in "abcdef"]
    made = report_of(*in_turns(*groups))
    assert findings(made, "more traps") == [
        "3 more traps with 180 pages: the report as a page lists them."
    ]


def missing(url: str, status: int = 404, **values: object) -> Line:
    return page(url, "skipped", reason=f"http_{status}", status=status, **values)


@pytest.mark.parametrize(
    ("number", "others", "is_told"),
    [(1000, 9000, True), (20, 80, True), (20, 81, False), (999, 9000, False), (19, 0, False)],
)
def test_many_answers_without_a_page_are_reported(
    report_of: ReportOf, number: int, others: int, *, is_told: bool
) -> None:
    lines = [missing(f"{BLOG}old/{n}", referer=f"{BLOG}archive") for n in range(number)]
    made = report_of(*lines, *(page(f"{BLOG}new/{n}") for n in range(others)))
    assert bool(findings(made, "had the status 404")) == is_told


def test_answers_are_told_with_the_place_and_the_page_that_leads_there(
    report_of: ReportOf,
) -> None:
    lines = [missing(f"{BLOG}old/{n}", referer=f"{BLOG}archive") for n in range(30)]
    bans = [missing(f"{BLOG}new/{n}", 429) for n in range(40)]
    (gone,) = findings(made := report_of(*lines, *bans, missing(f"{BLOG}x")), "status 404")
    assert gone == (
        "31 of 71 responses had the status 404, 30 of them at blog.example/old/{n}: see "
        f"{BLOG}old/0, which {BLOG}archive links to. Each dead link costs a download."
    )
    (banned,) = findings(made, "status 429")
    assert banned.endswith("Likely causes are a ban, a login, or a crawl that is too fast.")


def near(number: int, words: int, outcome: str = "near") -> Line:
    similarity = {"original": f"{BLOG}File_0", "similarity": 0.87 + number / 1000}
    return page(f"{BLOG}File_{number}", outcome, words=words, **similarity)


@pytest.mark.parametrize(
    ("cluster", "is_told"),
    [
        pytest.param([near(n, 57) for n in range(1, 35)], True, id="pictures of a wiki"),
        pytest.param([near(n, 57) for n in range(1, 10)], False, id="few pages"),
        pytest.param([near(n, 250) for n in range(1, 35)], False, id="longer pages"),
        pytest.param(
            [*(near(n, 57) for n in range(2, 35)), near(1, 57, "exact")], False, id="an exact copy"
        ),
    ],
)
def test_a_cluster_of_short_pages_without_an_exact_copy_is_told(
    report_of: ReportOf, cluster: list[Line], *, is_told: bool
) -> None:
    others = [page(f"{BLOG}post-{number}") for number in range(200)]
    made = report_of(page(f"{BLOG}File_0"), *cluster, *others)
    told = findings(made, "count as copies")
    assert bool(told) == is_told
    if is_told:
        assert told[0].startswith(f"34 pages count as copies of {BLOG}File_0, though none has")
        assert told[0].endswith(f"`crawldedup compare` shows how {BLOG}File_1 differs.")


@pytest.mark.parametrize(
    ("copies", "outcome", "others", "is_told"),
    [
        pytest.param(8, "near", 6, True, id="categories that a script fills"),
        pytest.param(8, "near", 30, False, id="a small share"),
        pytest.param(4, "near", 3, False, id="few pages"),
        pytest.param(8, "exact", 6, False, id="exact copies"),
    ],
)
def test_a_cluster_of_much_of_a_crawl_without_an_exact_copy_is_told(
    report_of: ReportOf, copies: int, outcome: str, others: int, *, is_told: bool
) -> None:
    made = report_of(
        page(f"{BLOG}File_0"),
        *(near(number, 353, outcome) for number in range(1, copies + 1)),
        *(page(f"{BLOG}post-{number}") for number in range(others)),
        # Dead links are no pages of the crawl.
        *(missing(f"{BLOG}missing-{number}") for number in range(100)),
    )
    assert bool(findings(made, "count as copies")) == is_told


def test_patterns_that_have_ended_are_told(report_of: ReportOf) -> None:
    pattern = "https://blog.example/calendar/*"
    skipped = [
        {"t": 3, "skipped": f"{BLOG}calendar/{n}", "rule": f"budget of {pattern}"} for n in range(7)
    ]
    met = [
        page(f"{BLOG}calendar/1900"),
        near(1, 50) | {"url": f"{BLOG}calendar/1901"},
        page(f"{BLOG}calendar/1902") | {"rejected_by": "text"},
        # It was skipped at first, and then made as a check.
        page(f"{BLOG}calendar/6"),
        page(f"{BLOG}other/1"),
    ]
    hostile = "https://blog.example/<b>/*"
    ends = [
        {"t": 2, "ended": pattern, "pages": 50},
        {"t": 3, "ended": "https://blog.example/calendar/…", "pages": 100},
        {"t": 4, "ended": hostile, "pages": 50},
        *({"t": 5, "ended": f"https://blog.example/{n}/*", "pages": 50} for n in range(60)),
    ]
    made = report_of(page(BLOG), *ends, *met, *skipped)
    counts = {"fetched": 4, "new": 2, "skipped": 6}
    assert made["ended"][:2] == [
        {"pattern": pattern, "pages": 50, **counts},
        {"pattern": "https://blog.example/calendar/…", "pages": 100, **counts},
    ]
    none = {"fetched": 0, "new": 0, "skipped": 0}
    assert made["ended"][2] == {"pattern": hostile, "pages": 50, **none}
    assert len(made["ended"]) == len(ends)
    (told,) = findings(made, "63 URL patterns ended because the last pages brought nothing new")
    assert "and 60 more" in told
    assert made["crawl"]["left_out"] == 0
    shown = page_of(made)
    assert (
        f"6 requests were skipped because their patterns had ended: 6 by the pattern {pattern}"
        in shown
    )
    assert "Requests over the budget of a pattern" in shown
    assert "https://blog.example/59/*" in shown
    assert "<b>" not in shown.partition("Patterns that have ended")[2].partition("</table>")[0]
    assert "downloads of copies" not in shown
    assert made["savings"] == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "1 URL rule proved wrong and was left out: "),
        (3, "3 URL rules proved wrong and were left out: "),
    ],
)
def test_the_report_says_how_many_rules_proved_wrong(
    report_of: ReportOf, number: int, said: str
) -> None:
    rule = {"kind": "query", "site": "https://e.com", "replace": "", "folders": ["/a/"]}
    lines = [
        {"t": 2, "rule": f"https://e.com: ?{name}", "withdrawn": {**rule, "find": name}}
        for name in ("sid", "view", "lang")[:number]
    ]
    made = report_of(page(BLOG), *lines)
    (text,) = findings(made, said)
    assert text.endswith("without it." if number == 1 else "without them.")


def test_a_frameset_that_a_rule_explains_is_no_trap(report_of: ReportOf) -> None:
    frames = f"{BLOG}docs/index.html"
    first = f"{frames}?java/util/C0.html"
    copies = [
        page(f"{frames}?java/util/C{n}.html", "exact", original=first, digest="1")
        for n in range(1, 60)
    ]
    others = [page(f"{BLOG}docs/java/util/C{n}.html", digest=f"a{n}") for n in range(60)]
    made = report_of(page(first, "thin", digest="1", words=3), *copies, *others)
    assert [rule["what"] for rule in made["advice"]] == [f"?{{path}} of {frames}"]
    assert not findings(made, "A trap")
