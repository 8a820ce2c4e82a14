"""The pages that were kept apart in a report, and its conclusions."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from crawldedup.marks.reasons import KINDS
from crawldedup.options import Options
from crawldedup.report.queries import Report
from crawldedup.report.render import lines_of, page_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Line, copy, page

NEWS = "https://news.example"
PICTURES = "another lead picture, river and mill"


def kept(url: str, nearest: str, by: str = "picture", at: float = 1.0, **more: Any) -> Line:
    """A page that a mark kept apart from the nearest one."""
    return page(url, rejected_url=nearest, rejected_similarity=at, rejected_by=by, **more)


def stories(count: int, **values: Any) -> list[Line]:
    """Pages of an archive, whose stories came before at other addresses."""
    return [
        kept(f"{NEWS}/archive/{n}", f"{NEWS}/story/{n}", apart=PICTURES, **values)
        for n in range(count)
    ]


def chained(path: str, by: str = "text", count: int = 120) -> list[Line]:
    """Pages that are each nearest to the one before."""
    urls = [NEWS + path.format(n) for n in range(count)]
    pairs = zip(urls[1:], urls, strict=False)
    return [page(urls[0], t=0), *(kept(url, nearest, by, 0.95) for url, nearest in pairs)]


def findings(report: Report, wanted: str) -> list[str]:
    return [finding["text"] for finding in report["findings"] if wanted in finding["text"]]


def printed(report: Report) -> str:
    text = io.StringIO()
    Console(file=text, width=400, highlight=False).print(*lines_of(report), sep="\n")
    return text.getvalue()


# What was kept apart


def test_pages_are_shown_by_mark_and_pattern_with_a_pair(report_of: ReportOf) -> None:
    named = [
        kept(f"{NEWS}/job/{n}", f"{NEWS}/job/{n - 1}", "name", 0.9 + n / 1000) for n in range(1, 9)
    ]
    below = page(f"{NEWS}/b/1", rejected_url=f"{NEWS}/b/2", rejected_similarity=0.7)
    made = report_of(*stories(3), *named, {**below, "rejected_by": "similarity"})
    assert made["totals"]["apart"] == 11
    kinds = [(row["kind"], row["what"], row["pages"]) for row in made["apart_kinds"]]
    assert kinds == [("name", "another name", 8), ("picture", "another lead picture", 3)]
    jobs, archive = made["apart"]
    assert (jobs["site"], jobs["name"], jobs["pages"]) == ("news.example", "/job/{n}", 8)
    # The pair that reads most alike, in words even where the marks themselves are not known.
    assert jobs["example"] == {
        "url": f"{NEWS}/job/8",
        "nearest": f"{NEWS}/job/7",
        "reason": "another name",
    }
    assert archive["example"]["reason"] == PICTURES
    assert [row["name"] for row in made["below"]] == ["/b/{n}"]
    for text in (page_of(made), printed(made)):
        for wanted in ("Kept apart", PICTURES, f"{NEWS}/archive/0", f"{NEWS}/story/0"):
            assert wanted in text


def test_every_kind_of_mark_is_reported(report_of: ReportOf) -> None:
    kinds = {conflict.name.lower() for conflict in KINDS}
    lines = [kept(f"{NEWS}/a/{kind}", f"{NEWS}/b/{kind}", kind) for kind in kinds]
    assert {row["kind"] for row in report_of(*lines)["apart_kinds"]} == kinds


def test_a_pair_whose_marks_are_known_is_shown_first(report_of: ReportOf) -> None:
    lines = [kept(f"{NEWS}/a/{n}", f"{NEWS}/b/{n}", at=0.9 + n / 100) for n in range(5)]
    lines[2]["apart"] = PICTURES
    (row,) = report_of(*lines)["apart"]
    assert (row["example"]["url"], row["example"]["reason"]) == (f"{NEWS}/a/2", PICTURES)


# Marks that may change by themselves


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [
        (stories(10), True),
        (stories(9), False),
        ([*stories(10), *(page(f"{NEWS}/archive/{n}") for n in range(20, 50))], True),
        ([*stories(10), *(page(f"{NEWS}/archive/{n}") for n in range(20, 51))], False),
        (stories(30, at=0.99), True),
        (stories(30, at=0.98), False),
        *((stories(30, by=kind), True) for kind in ("data", "name", "player", "rest")),
        *((stories(30, by=kind), False) for kind in ("text", "links", "listing", "numbers")),
    ],
)
def test_a_mark_is_suggested_that_keeps_most_copies_of_a_pattern_apart(
    report_of: ReportOf, lines: list[Line], is_told: bool
) -> None:
    made = report_of(*lines)
    assert bool(made["ignorable"]) is is_told
    assert bool(findings(made, "CRAWLDEDUP_IGNORE_MARKS")) is is_told
    text = printed(made)
    assert ("CRAWLDEDUP_IGNORE_MARKS" in text) is is_told
    # With a pair, and the price.
    assert ("Pages that differ only in these marks are" in text) is is_told
    assert ("Pages that differ only in these marks are" in page_of(made)) is is_told


@pytest.mark.parametrize(
    ("url_of_copy", "confirmed", "is_told"),
    [
        ("/mirror/{}", 15, False),
        ("/mirror/{}", 14, True),
        # The pictures of a page and its view are not compared.
        ("/archive/{}?print=1", 30, True),
    ],
)
def test_a_mark_that_copies_elsewhere_agree_on_does_not_change(
    report_of: ReportOf, url_of_copy: str, confirmed: int, is_told: bool
) -> None:
    copies = [copy(NEWS + url_of_copy.format(n), f"{NEWS}/archive/{n}") for n in range(confirmed)]
    made = report_of(*stories(30), *copies)
    assert made["apart"][0]["confirmed"] == (0 if "?" in url_of_copy else confirmed)
    assert bool(made["ignorable"]) is is_told


def test_shells_are_named_by_site(report_of: ReportOf) -> None:
    shells = [page(f"{NEWS}/{n}", "skipped", reason="shell") for n in range(4)]
    other = page("https://other.example/feed", "skipped", reason="content_type")
    made = report_of(*shells, other)
    (text,) = findings(made, "needs a browser")
    assert text.startswith(f"4 pages at news.example, such as {NEWS}/0, passed unchecked")
    assert "needs a browser" in page_of(made)
    assert "needs a browser" in printed(made)


def test_the_setting_may_be_copied_as_it_is(report_of: ReportOf) -> None:
    lines = stories(20)
    lines += [kept(f"{NEWS}/p/{n}", f"{NEWS}/q/{n}", "data") for n in range(20)]
    lines += [
        kept(f"https://{host}.shop.example:8080/{n}", f"https://{host}.shop.example:8080/x/{n}")
        for n in range(10)
        for host in ("berlin", "munich")
    ]
    made = report_of(*lines)
    expected = {"news.example": ["picture", "data"], "shop.example": ["picture"]}
    (line,) = [
        line.strip()
        for line in printed(made).splitlines()
        if line.strip().startswith("CRAWLDEDUP_IGNORE_MARKS = ")
    ]
    settings: dict[str, dict[str, list[str]]] = {}
    exec(line, settings)
    given = settings["CRAWLDEDUP_IGNORE_MARKS"]
    assert {host: sorted(kinds) for host, kinds in given.items()} == {
        host: sorted(kinds) for host, kinds in expected.items()
    }
    assert Options(ignore_marks=given).ignore_marks == given
    assert made["ignorable"][0]["setting"].startswith('CRAWLDEDUP_IGNORE_MARKS = {"')


def test_folders_of_a_host_that_need_one_setting_are_named_in_one_sentence(
    report_of: ReportOf,
) -> None:
    lines = [
        kept(f"{NEWS}/{folder}/archive/{n}", f"{NEWS}/{folder}/story/{n}")
        for folder in ("world", "sports", "arts", "film")
        for n in range(10)
    ]
    lines += [kept(f"{NEWS}/p/{n}", f"{NEWS}/q/{n}", "data") for n in range(12)]
    made = report_of(*lines)
    found = findings(made, "CRAWLDEDUP_IGNORE_MARKS")
    pictures = [text for text in found if '"picture"' in text]
    assert len(found) == 2
    assert len(pictures) == 1
    assert pictures[0].startswith("40 pages at news.example/")
    assert "; and 1 more have the text of another page, but another lead picture" in pictures[0]
    # Each folder keeps its pair of pages to look at.
    assert len(made["ignorable"]) == 5


@pytest.mark.parametrize("host", ['a"]}#', "{{7*7}}", "[red]", "", "*", "\u202egpj", "x\\"])
def test_no_setting_is_made_of_a_host_that_is_none(report_of: ReportOf, host: str) -> None:
    made = report_of(*(kept(f"https://{host}/{n}", f"https://{host}/x/{n}") for n in range(20)))
    assert made["apart"][0]["pages"] == 20
    assert made["ignorable"] == []


# Walls and traps of pages that are kept


@pytest.mark.parametrize("by", ["text", "links"])
def test_an_endless_calendar_of_kept_pages_is_a_trap(report_of: ReportOf, by: str) -> None:
    made = report_of(*chained("/calendar/{}/", by))
    (place,) = made["stale"]
    assert (place["trap"], place["hardly_apart"], place["originals"]) == ("calendar", 119, 1)
    (found,) = findings(made, "A trap (calendar)")
    assert "or content that shares most of its text: 119 of 120 pages at" in found
    assert findings(made, f"119 pages differ from {NEWS}/calendar/0/ or from each other only in")


def test_a_parameter_of_kept_pages_is_a_trap(report_of: ReportOf) -> None:
    made = report_of(*chained("/list?session={}"))
    (parameter,) = made["parameters"]
    assert (parameter["name"], parameter["trap"]) == ("session", "session ids")


@pytest.mark.parametrize("by", ["name", "picture", "data", "player", "listing", "numbers"])
def test_siblings_by_their_marks_are_no_trap(report_of: ReportOf, by: str) -> None:
    made = report_of(*chained("/calendar/{}/", by))
    assert made["stale"] == made["alike"] == []
    assert made["totals"]["apart"] == 119
    assert made["totals"]["hardly_apart"] == 0


def test_pairs_of_siblings_are_no_trap(report_of: ReportOf) -> None:
    """As many originals as copies: a mirror, or a table of many small families."""
    lines = [page(f"{NEWS}/p/{n}", t=1) for n in range(60)]
    lines += [kept(f"{NEWS}/p/{n}0001", f"{NEWS}/p/{n}", "text", t=2) for n in range(60)]
    (place,) = report_of(*lines)["stale"]
    # The count is an estimate.
    assert (place["trap"], 50 < place["originals"] < 70) == ("", True)


def test_a_page_that_a_wall_repeats_is_named_once(report_of: ReportOf) -> None:
    wall = {"t": 1, "wall": f"{NEWS}/lost/0", "share": 1.0, "window": 60}
    made = report_of(*chained("/lost/{}"), wall)
    assert findings(made, "A login wall, a ban or a soft 404 is likely: 100% of 60 pages in a row")
    assert findings(made, "or from each other") == []


def test_pages_that_were_met_by_several_crawlers_may_form_a_ring(report_of: ReportOf) -> None:
    urls = [f"{NEWS}/{n}" for n in range(60)]
    ring = [kept(url, urls[n - 1], "text") for n, url in enumerate(urls)]
    made = report_of(*ring, kept(urls[0], urls[0], "text"))
    assert made["totals"]["hardly_apart"] == 61


def test_copies_of_kept_pages_are_copies_of_the_first_one(report_of: ReportOf) -> None:
    lines = chained("/lost/{}", count=60)
    lines += [copy(f"{NEWS}/lost/{n}9999", f"{NEWS}/lost/{n}") for n in range(1, 60)]
    (place,) = report_of(*lines)["stale"]
    assert (place["originals"], place["trap"]) == (1, "many URLs, few texts")


def test_a_crawl_that_ends_with_hardly_different_pages_is_reported(report_of: ReportOf) -> None:
    early = [page(f"{NEWS}/story/{n}", t=n) for n in range(30)]
    late = [{**line, "t": 30 + n} for n, line in enumerate(chained("/lost/{}"))]
    (found,) = findings(report_of(*early, *late), "At the end of the crawl")
    assert "none of the pages was new, not counting" in found
    named = [{**line, "t": 30 + n} for n, line in enumerate(chained("/job/{}", "name"))]
    assert findings(report_of_again(report_of, *early, *named), "At the end of the crawl") == []


def report_of_again(report_of: ReportOf, *lines: Line) -> Report:
    """The report of other lines, in a database of its own."""
    from tempfile import TemporaryDirectory

    from crawldedup.report.queries import Database
    from tests.report.conftest import report_in

    with TemporaryDirectory() as folder, Database() as database:
        return report_in(Path(folder), database, lines)


@pytest.mark.parametrize(("outcome", "is_told"), [("exact", True), ("new", False)])
def test_no_rule_is_mined_from_pages_that_are_kept(
    report_of: ReportOf, outcome: str, is_told: bool
) -> None:
    """They may be contents, and a rule would skip their downloads."""
    lines = []
    for number in range(40):
        first = f"{NEWS}/story/{number}"
        named = {"original": first, "similarity": 1.0} if is_told else {}
        lines += [
            page(first, referer=f"{NEWS}/", depth=1),
            kept(f"{first}?view=1", first, "text", outcome=outcome, **named, depth=1),
        ]
    assert bool(report_of(*lines)["advice"]) is is_told
