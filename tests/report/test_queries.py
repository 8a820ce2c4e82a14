"""The figures of a report, compared with those that plain Python counts, and what is concluded from
them.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from crawldedup.advice.rules import Rule
from crawldedup.fingerprinting.bits import VERIFY_BITS
from crawldedup.journal import find_journals
from crawldedup.options import Options
from crawldedup.report.queries import Database, Report, limit_at, make_report
from crawldedup.report.render import change_by, headline, page_of, percent
from crawldedup.search.decision import accept_threshold
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import (
    Crawl,
    Line,
    copy,
    header,
    hostile_lines,
    journal,
    page,
    write_lines,
)

OUTCOMES = ("new", "near", "exact", "thin", "revisit", "skipped", "error")
FLEET = [
    [*journal(Crawl(1500, pid=1))],
    [*journal(Crawl(1500, pid=2, ended=False)), *hostile_lines()[:-1]],
]
PAGES = [line for lines in FLEET for line in lines if "outcome" in line]
E_COM = "https://example.com/"


def findings(report: Report, wanted: str = "") -> list[str]:
    return [finding["text"] for finding in report["findings"] if wanted in finding["text"]]


# All of a crawl


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of two processes, one of which was killed while it wrote."""
    # A name with all that SQL and patterns of names would read.
    folder = tmp_path_factory.mktemp("it's \"[a]*")
    for pid, lines in enumerate(FLEET, 1):
        write_lines(folder / f"it's {pid} \"[a]*.jsonl", lines)
    with (folder / "it's 2 \"[a]*.jsonl").open("a") as file:
        file.write('{"t": 12.5, "url": "https://cut.example/", "outco')
    with Database() as database:
        return make_report(database, find_journals([str(folder)]))


def test_every_page_of_a_fleet_is_counted_once(fleet: Report) -> None:
    totals, outcomes = fleet["totals"], Counter(line["outcome"] for line in PAGES)
    assert totals["counts"] == {**dict.fromkeys(OUTCOMES, 0), **dict(**outcomes)}
    assert totals["bytes"] == sum(line.get("bytes", 0) for line in PAGES)
    copies = [line for line in PAGES if line["outcome"] in ("near", "exact")]
    assert totals["duplicate_bytes"] == sum(line["bytes"] for line in copies)
    assert totals["clusters"] == len({line["original"] for line in copies})
    for groups in (fleet["sites"], fleet["patterns"], fleet["timeline"]["moments"]):
        assert sum(group["responses"] for group in groups) == len(PAGES)
    assert sum(each["pages"] for each in fleet["similarity"]["bins"]) == outcomes["near"]
    assert headline(fleet).startswith(
        f"{len(PAGES) - outcomes['skipped'] - outcomes['error']:,} pages checked: "
    )
    assert json.loads(json.dumps(fleet, allow_nan=False))["totals"]["counts"] == outcomes


def test_a_killed_process_is_told_from_one_that_ended(fleet: Report) -> None:
    assert [process["end"] for process in fleet["crawl"]["processes"]] == ["finished", None]
    assert fleet["crawl"]["left_out"] == 1
    assert findings(fleet, "No end of 1 of 2 processes is recorded")
    assert "1 line of the journals could not be read." in findings(fleet)


BROKEN: list[bytes] = [
    *(b"garbage", b"[1, 2]", b'{"t": 1}', b"\0" * 10_000),
    b'{"t": 1, "url": "https://example.com/", "outcome": "unheard-of"}',
    b'{"t": 1, "url": "https://example.com/\xff\xfe", "outcome": "new"}',
    b'{"t": 1, "url": "https://example.com/\\ud800", "outcome": "new"}',
]


def test_broken_lines_are_counted_and_left_out(tmp_path: Path, database: Database) -> None:
    good, path = json.dumps(page(E_COM)).encode(), tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([json.dumps(header()).encode(), good, *BROKEN, good]))
    made = make_report(database, find_journals([str(path)]))
    assert made["totals"]["counts"] == {**dict.fromkeys(OUTCOMES, 0), "new": 2}
    assert made["crawl"]["left_out"] == len(BROKEN)


def test_the_headline_counts_redelivered_pages_and_skipped_downloads(
    report_of: ReportOf,
) -> None:
    known = [
        page(f"{E_COM}{n}", "revisit", action=action)
        for n, action in enumerate(["delivered", "dropped"])
    ]
    skipped = [{"t": 1, "skipped": f"{E_COM}?{n}", "rule": f"rule {n % 2}"} for n in range(4)]
    # Downloads that were made after all are not told.
    made = report_of(
        *known, copy(f"{E_COM}copy", f"{E_COM}1"), *skipped, skipped[0], page(f"{E_COM}?3", t=2)
    )
    assert headline(made) == (
        "4 pages checked: 1 new, 1 duplicate (25%), 2 revisits (1 delivered again). "
        "3 downloads of copies were skipped: 2 by the rule rule 0, 1 by the rule rule 1."
    )
    assert "Downloads that were skipped" in page_of(made)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        *((0, "0%"), (0.0002, "<0.1%"), (0.004, "0.4%"), (0.12, "12%")),
        *((0.994, "99.4%"), (0.9998, ">99.9%"), (1, "100%"), (None, "–")),
    ],
)
def test_only_all_pages_are_shown_as_all_of_them(share: float | None, shown: str) -> None:
    assert percent(share) == shown


def test_duplicates_that_were_delivered_as_better_copies_are_counted(report_of: ReportOf) -> None:
    better = [copy(f"{E_COM}b{n}", f"{E_COM}a{n}", replaces=True) for n in range(2)]
    dropped = copy(f"{E_COM}c", f"{E_COM}a0")
    made = report_of(page(f"{E_COM}a0"), page(f"{E_COM}a1"), *better, dropped)
    assert "3 duplicates (60%), 2 of them delivered as better copies." in headline(made)


def test_the_figures_of_the_headline_add_up(report_of: ReportOf) -> None:
    made = report_of(
        page(E_COM),
        copy(f"{E_COM}copy", E_COM),
        page(f"{E_COM}short", "thin"),
        page(E_COM, "revisit", action="dropped"),
    )
    assert headline(made) == (
        "4 pages checked: 1 new, 1 duplicate (25%), 1 revisit (0 delivered again), 1 thin."
    )


def test_another_similarity_may_change_nothing() -> None:
    assert change_by({"kept": 0, "dropped": None}) == "no change"
    assert change_by({"kept": 3, "dropped": None}) == "at most 3 fewer duplicates"


def test_commands_in_findings_are_set_as_code(report_of: ReportOf) -> None:
    copies = [copy(f"{E_COM}{n}?sid=x{n}", f"{E_COM}{n}", referer=E_COM) for n in range(40)]
    made = report_of(*[page(f"{E_COM}{n}") for n in range(40)], *copies)
    assert any("`crawldedup advise" in text for text in findings(made))
    assert "<code>crawldedup advise --output rules.json</code>" in page_of(made)
    assert "`" not in page_of(made).partition('<ul class="findings">')[2].partition("</ul>")[0]


def test_the_state_of_the_index_is_described(report_of: ReportOf) -> None:
    end = {"t": 9, "end": "finished", "known": 10**8, "index_bytes": 13 * 10**9}
    settings = {"similarity": 0.9, "recall": 0.98}
    made = report_of(page(E_COM, probes=40), end, settings=settings)
    assert "The index holds 100,000,000 pages, 130 bytes each. Expected recall: 96%." in page_of(
        made
    )


def test_a_crawl_without_pages_has_a_report(report_of: ReportOf) -> None:
    made = report_of()
    assert (made["totals"]["responses"], findings(made)[0]) == (0, "No page was checked.")
    assert "0 responses came in, and none of them was checked." in page_of(made)


RULE = {"kind": "query", "site": "https://e.com", "find": "sid", "replace": "", "folders": ["/a/"]}


def test_verdicts_and_withdrawn_rules_are_the_evidence_for_rules(
    tmp_path: Path, database: Database
) -> None:
    pages = [page(f"https://e{number}.com/", t=number) for number in range(4)]
    bad = [
        {"url": {}, "outcome": "new"},
        {"url": "x", "outcome": "new", "referer": [1]},
        {"withdrawn": {"kind": 7}},
    ]
    write_lines(tmp_path / "a", (header(), *pages, *bad, {"withdrawn": RULE}))
    database.load(find_journals([tmp_path / "a"]))
    for most, origins in ((30, 4), (3, 3)):
        found, withdrawn = database.evidence(most)
        assert [each.address.origin for each in found] == [
            f"https://e{number}.com" for number in range(origins)
        ]
        assert withdrawn == [Rule("query", "https://e.com", "sid", folders=frozenset({"/a/"}))]


# Clusters


def test_the_largest_clusters_have_their_least_alike_members(
    fleet: Report, report_of: ReportOf
) -> None:
    original, size = Counter(line["original"] for line in PAGES if "original" in line).most_common(
        1
    )[0]
    largest = fleet["clusters"][0]
    assert (largest["kept"], largest["near"] + largest["exact"]) == (original, size)
    similarities = sorted(line["similarity"] for line in PAGES if line.get("original") == original)
    assert [member["similarity"] for member in largest["members"]] == similarities[:20]
    made = report_of(
        *(
            copy(f"{number}-{one}", f"{number}")
            for number in range(60)
            for one in range(number % 3 + 1)
        )
    )
    assert [cluster["exact"] for cluster in made["clusters"]] == [3] * 20 + [2] * 20 + [1] * 10
    assert made["totals"]["clusters"] == 60


def test_a_page_that_replaces_another_takes_its_cluster_over(report_of: ReportOf) -> None:
    lines = [copy("b", "a"), copy("e", "a"), copy("c", "a", replaces=True), copy("d", "c")]
    made = report_of(*lines, copy("e", "c", replaces=True), copy("f", "e"), copy("y", "x"))
    assert [(cluster["kept"], cluster["exact"]) for cluster in made["clusters"]] == [
        ("e", 5),
        ("x", 1),
    ]
    members = [
        (member["url"], member["original"], member["action"])
        for member in made["clusters"][0]["members"]
    ]
    assert members == [
        ("a", "c", "replaced"),
        ("b", "a", ""),
        ("c", "e", "replaced"),
        ("d", "c", ""),
        ("f", "e", ""),
    ]


# Places


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("", ""),
        ("/news/2026/11/30/the-last-boat.html?a=1#b", "/news/{date}/*"),
        ("/item/12345/reviews", "/item/{n}/reviews"),
        ("/shop;jsessionid=0A1B2C3D/cart", "/shop;*/cart"),
        ("/s/0123456789abcdef0123456789abcdef/page", "/s/{id}/page"),
        ("/a/b/c/d/e/f", "/a/b/c/d/…"),
        ("/en/the-last-boat/", "/en/*/"),
    ],
)
def test_what_differs_in_names_only_is_one_pattern(
    report_of: ReportOf, path: str, pattern: str
) -> None:
    (group,) = report_of(page(f"https://user@www.example.com:8080{path}"))["patterns"]
    assert (group["site"], group["name"]) == ("example.com:8080", pattern)


def test_only_unusual_ports_are_sites_of_their_own(report_of: ReportOf) -> None:
    urls = ["http://a:9000/", "http://a:80/", "http://a/", "https://a:443/", "http://[/"]
    sites = report_of(*map(page, urls), copy("http://a:9000/1", "http://a:80/"))["sites"]
    assert {group["site"]: group["responses"] for group in sites} == {"a": 3, "a:9000": 2, "[": 1}


def test_a_folder_of_many_names_is_one_pattern(report_of: ReportOf) -> None:
    names = [first + second for first in "abcdefghij" for second in "abcdefghij"]
    groups = report_of(*(page(f"{E_COM}wiki/{name}") for name in names), page(f"{E_COM}a"))[
        "patterns"
    ]
    assert [(group["name"], group["counts"]["new"]) for group in groups] == [
        ("/wiki/*", 100),
        ("/a", 1),
    ]


NUMBERS = range(120)
TRAPS = {
    "calendar": (
        [f"calendar/{2000 + number // 12}/{number % 12 + 1:02}/" for number in NUMBERS],
        [f"events?month={2000 + number // 12}-{number % 12 + 1:02}" for number in NUMBERS],
    ),
    "session ids": (
        [f"a;jsessionid={number:032x}/b" for number in NUMBERS],
        [f"page?PHPSESSID={number:032x}" for number in NUMBERS],
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_in_a_path_and_in_a_parameter_is_named(report_of: ReportOf, trap: str) -> None:
    paths, queries = TRAPS[trap]
    copies = [copy(f"{E_COM}{path}", f"{E_COM}original") for path in paths]
    copies += [
        copy(f"https://e.org/{path}", f"https://e.org/{n % 120}") for n, path in enumerate(queries)
    ]
    made = report_of(*copies)
    assert [group["trap"] for group in made["stale"] if group["site"] == "example.com"] == [trap]
    assert findings(made, f"A trap ({trap}): all 120 pages at example.com")
    parameters = [group for group in made["parameters"] if group["site"] == "e.org"]
    assert [group["trap"] for group in parameters] == [trap]


@pytest.mark.parametrize(
    ("value", "trap"),
    [
        ("{0}", "many URLs, few texts"),
        ("site{0}", "many URLs, few texts"),
        ("2026-01-{0:02}", "calendar"),
        ("17{0:08}", "calendar"),
    ],
)
def test_a_start_and_an_end_are_a_calendar_only_with_dates(
    report_of: ReportOf, value: str, trap: str
) -> None:
    copies = [
        copy(f"{E_COM}list?{name}={value.format(n)}", f"{E_COM}{n}")
        for name in ("start", "from")
        for n in NUMBERS
    ]
    assert {group["trap"] for group in report_of(*copies)["parameters"]} == {trap}


def copies_of_one(number: int, others: int, path: str = "p{}") -> list[Line]:
    """The lines of a crawl in which this many pages are copies of the first one."""
    kept = [page(f"{E_COM}first"), *(page(f"{E_COM}other/{n}/of") for n in range(others))]
    return [*kept, *(copy(E_COM + path.format(n), f"{E_COM}first") for n in range(number))]


@pytest.mark.parametrize(
    ("number", "others", "told"),
    [(40, 0, True), (19, 0, True), (18, 0, False), (80, 19, True), (79, 20, False), (0, 40, False)],
)
def test_it_is_told_if_nearly_all_pages_are_copies_of_one(
    report_of: ReportOf, number: int, others: int, told: bool
) -> None:
    made = report_of(*copies_of_one(number, others))
    found = findings(made, "copies of one page")
    assert len(found) == told
    assert not told or not findings(made, "The largest cluster")
    assert all(
        text.startswith(
            f"{number} of {number + others + 1} checked pages are copies of one page, "
            f"{E_COM}first. Likely causes are a shell that a script fills, a wall,"
        )
        and re.search(rf"compare` shows what it has in common with {E_COM}p\d+\.$", text)
        for text in found
    )


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("item/{}", ""),
        ("list?page={}", ""),
        ("calendar/{}/", "A trap (calendar)"),
        ("a;jsessionid=0123456789abcdef{:04}/b", "A trap (session ids)"),
    ],
)
def test_one_page_is_told_once(report_of: ReportOf, path: str, trap: str) -> None:
    """A trap with a cause of its own says more; one of many URLs with few texts says less."""
    made = report_of(*copies_of_one(200, 0, path))
    assert len(findings(made, "200 of 201 checked pages are copies of one page")) == (not trap)
    assert [text.partition(":")[0] for text in findings(made, "A trap")] == [trap] * bool(trap)


def test_a_wall_is_told_once(report_of: ReportOf) -> None:
    wall = {"t": 2, "wall": f"{E_COM}first", "share": 1, "window": 100}
    made = report_of(*copies_of_one(100, 0, "x/{}/y"), wall)
    assert findings(made, "A login wall")
    assert not findings(made, "copies of one page")


@pytest.mark.parametrize(
    ("path", "is_told"),
    [
        ("calendar/{}/", False),
        ("a;jsessionid=0123456789abcdef{:04}/b", False),
        ("maze/a/b/c/{}/d/e", False),
        # A server that bans a crawl also answers with many copies.
        ("item/{}", True),
    ],
)
def test_a_wall_whose_pages_are_those_of_a_trap_is_not_told(
    report_of: ReportOf, path: str, is_told: bool
) -> None:
    wall = {"t": 2, "wall": f"{E_COM}first", "share": 0.7, "window": 100}
    lines = copies_of_one(100, 60, path)
    made = report_of(*lines, wall)
    assert findings(made, "A trap")
    assert bool(findings(made, "A login wall")) == is_told
    assert [row["url"] for row in made["walls"]] == [f"{E_COM}first"]


def test_a_wall_with_pages_in_many_places_is_told_beside_a_trap(report_of: ReportOf) -> None:
    wall = {"t": 2, "wall": f"{E_COM}first", "share": 0.7, "window": 100}
    walled = [copy(f"{E_COM}some/{'x' * (n % 9)}/{n}", f"{E_COM}first") for n in range(200)]
    made = report_of(*copies_of_one(100, 60, "calendar/{}/"), *walled, wall)
    assert findings(made, "A trap (calendar)")
    assert findings(made, "A login wall")


def test_a_url_of_many_parameters_does_not_fill_the_table(report_of: ReportOf) -> None:
    odd = "&".join(f"p{number}={number}" for number in range(900))
    made = report_of(page(f"{E_COM}?{odd}"), *[page(f"{E_COM}?=1&id=2")] * 2)
    assert [group["name"] for group in made["parameters"][:3]] == ["", "id", "p0"]
    assert len(made["parameters"]) == 32


def test_mirrors_print_views_and_choices_are_no_traps(report_of: ReportOf) -> None:
    lines = [
        copy(f"https://mirror.example.com/print/{number}", f"{E_COM}{number}") for number in NUMBERS
    ]
    lines += [
        copy(f"https://shop.example/list?sort={n % 3}", f"https://shop.example/{n}")
        for n in NUMBERS
    ]
    made = report_of(*lines)
    assert not any(
        group["trap"] for group in (*made["stale"], *made["patterns"], *made["parameters"])
    )
    assert {group["name"] for group in made["stale"]} == {"/print/{n}", "/list"}


def test_a_place_is_stale_when_its_last_pages_are_not_new(report_of: ReportOf) -> None:
    lines = [page(f"{E_COM}old/{number}", t=number) for number in range(60)]
    lines += [copy(f"{E_COM}old/{number}?again", f"{E_COM}{number}", t=100) for number in range(60)]
    lines += [copy(f"{E_COM}live/{number}", f"{E_COM}{number}", t=0) for number in range(60)]
    lines += [page(f"{E_COM}live/{number}?now", t=100) for number in range(60)]
    made = report_of(*lines)
    assert [(group["name"], group["since_new"]) for group in made["stale"]] == [("/old/{n}", 60)]
    recent = {group["name"]: group["recent"] for group in made["patterns"] if group["recent"]}
    assert recent == {"/old/{n}": 0.4, "/live/{n}": 0.6}


# Other similarities, and what came near


def test_other_similarities_tell_what_they_would_keep_and_drop(report_of: ReportOf) -> None:
    near = [page(str(each), "near", similarity=each / 100) for each in range(86, 100)]
    rejected = [number / 100 for number in range(60, 86)]
    below = [
        page(f"{each}", rejected_url="a", rejected_by="similarity", rejected_similarity=each)
        for each in rejected
    ]
    similarity = report_of(*near, *below)["similarity"]
    tried = {each["similarity"]: each for each in similarity["what_if"]}
    assert (
        tried[0.95]["kept"] == sum(each / 100 < tried[0.95]["limit"] for each in range(86, 100)) > 0
    )
    for looser in (0.8, 0.85):
        assert tried[looser]["kept"] is None
        assert (
            tried[looser]["dropped"] == sum(each >= tried[looser]["limit"] for each in rejected) > 0
        )
    bins = [(each["low"], each["pages"]) for each in similarity["bins"]]
    assert bins == [(0.85, 0), *((each / 100, 1) for each in range(86, 100))]


def test_other_limits_are_those_that_crawls_have() -> None:
    limits = {
        wanted: accept_threshold(wanted, VERIFY_BITS, Options().recall)
        for wanted in (0.8, 0.9, 0.95)
    }
    for similarity, limit in limits.items():
        assert limit_at(similarity, wanted=0.9, limit=limits[0.9]) == pytest.approx(limit)


SHOP = "https://shop.example"


def test_places_are_listed_with_an_example_those_first_that_differ_by_query_alone(
    report_of: ReportOf,
) -> None:
    paths = [(f"/topic/{number}", f"/topic/{number - 1}", 0.7) for number in range(1, 9)]
    paths += [
        ("/member?u=1&sid=a", "/member?u=1&sid=b", 0.75),
        ("/member?u=2&sid=a", "/member?u=2&sid=b", 0.65),
    ]
    told = {"rejected_by": "similarity", "difference": "24 [-users-] {+guests+}"}
    made = report_of(
        *(
            page(SHOP + path, rejected_url=SHOP + near, rejected_similarity=at, **told)
            for path, near, at in paths
        )
    )
    rows = [
        (row["name"], row["pages"], row["by_query"], row["highest"], row["cause"])
        for row in made["below"]
    ]
    assert rows == [("/member", 2, 2, 0.75, "similarity"), ("/topic/{n}", 8, 0, 0.7, "similarity")]
    assert made["below"][0]["example"]["nearest"] == f"{SHOP}/member?u=1&sid=b"
    assert findings(
        made, "2 new pages nearly match a page whose URL differs only in its query. See"
    )
    assert all(text in page_of(made) for text in ("Just below the limit", "<del>users</del>"))


def test_the_speed_of_a_crawl_is_a_whole_number(report_of: ReportOf) -> None:
    made = report_of(*(page(f"{SHOP}/{number}") for number in range(103)))
    assert (made["crawl"]["seconds"], "6,180" in page_of(made)) == (1, True)


def test_a_single_page_that_nearly_matches_another_is_counted_in_the_singular(
    report_of: ReportOf,
) -> None:
    near = {"rejected_url": f"{SHOP}/member?sid=b", "rejected_by": "similarity"}
    made = report_of(page(f"{SHOP}/member?sid=a", rejected_similarity=0.8, **near))
    assert findings(made, "1 new page nearly matches a page whose URL differs only in its query.")


@pytest.mark.parametrize(
    ("name", "told"), [("img", True), ("sort", False), ("sid", False), ("replytocom", False)]
)
def test_values_of_a_parameter_with_the_same_text_may_be_pictures(
    report_of: ReportOf, name: str, told: bool
) -> None:
    paths = [
        (f"/{item}?c=7&{name}={value}", f"/{item}?c=7&{name}=1")
        for item in range(4)
        for value in (2, 3)
    ]
    # A value for each page is no picture.
    paths += [(f"/own/{item}?v={item}", f"/own/{item}") for item in range(60)]
    made = report_of(*(copy(f"{SHOP}/p{url}", f"{SHOP}/p{original}") for url, original in paths))
    assert made["variants"] == (
        [{"site": "shop.example", "name": name, "values": 3, "pages": 4}] if told else []
    )
    found = findings(made, "same text")
    assert len(found) == told
    assert not told or found[0].startswith(
        "Parameter img at shop.example: 3 values, same text. If these show"
    )


def test_queries_that_are_addresses_are_one_parameter(report_of: ReportOf) -> None:
    frames = [f"/doc/index.html?java/util/Class{n}.html" for n in range(90)]
    others = ["/doc/tree?print", "/doc/tree?a=b/c.html"]
    made = report_of(
        *(page(f"{SHOP}/doc/{name}") for name in ("", *map(str, range(60)))),
        # So no rule is for all of them.
        page(f"{SHOP}/doc/index.html?java/util/Own.html"),
        *(copy(SHOP + path, f"{SHOP}/doc/") | {"t": 9} for path in (*frames, *others)),
    )
    rows = [(row["name"], row["responses"], row["values"]) for row in made["parameters"]]
    assert rows == [("{path}", 91, pytest.approx(91, abs=9)), ("a", 1, 1), ("print", 1, 1)]
    traps = [row["name"] for row in made["stale"] if row["trap"]]
    assert sorted(traps) == ["/doc/index.html", "?{path}"]
    assert len(findings(made, "A trap")) == 1


def test_values_of_a_parameter_that_a_rule_explains_are_no_pictures(report_of: ReportOf) -> None:
    paths = [f"/p/{item}" for item in range(6)]
    made = report_of(
        *(page(SHOP + path) for path in paths),
        *(copy(f"{SHOP}{path}?stars={n}", SHOP + path) for path in paths for n in range(1, 6)),
    )
    assert [rule["what"] for rule in made["advice"]] == ["?stars"]
    assert (made["variants"], findings(made, "same text")) == ([], [])


# Two crawls


def counted(changes: Line) -> dict[str, int]:
    """The changes that there were."""
    return {change: pages for change, pages in changes.items() if pages}


def told(path: str, digest: str, outcome: str = "new", **more: object) -> Line:
    return page(E_COM + path, outcome, digest=digest, **more)


EARLIER = (
    *(
        told("same", "a"),
        told("changed", "b"),
        told("to-copy", "c"),
        told("old-place", "d"),
        told("gone", "e"),
    ),
    *(
        told("copy", "a", "exact"),
        told("by-flag", "f"),
        told("404", "", "skipped"),
        told("skipped", "a", "exact"),
    ),
)
NOW = (
    # A page counts as it was met last.
    *(
        told("same", "a"),
        told("changed", "b"),
        told("changed", "b2", t=2),
        told("to-copy", "c", "near"),
    ),
    *(told("new-place", "d"), told("copy", "a", "exact"), told("new-copy", "a", "exact")),
    *(
        told("by-flag", "f", "revisit", changed=True),
        told("404", "", "skipped"),
        page("https://other.example/"),
    ),
    *({"t": 1, "skipped": f"{E_COM}{path}", "rule": "x"} for path in ("skipped", "same")),
)


def test_pages_are_compared_by_url_and_text(report_of: ReportOf) -> None:
    compared = report_of(*NOW, earlier=EARLIER)["comparison"]
    expected = {
        "new": 2,
        "changed": 2,
        "same": 2,
        "duplicated": 2,
        "moved": 1,
        "skipped": 1,
        "gone": 1,
    }
    assert counted(compared["total"]) == expected
    assert {each["site"]: each["new"] for each in compared["sites"]} == {
        "example.com": 1,
        "other.example": 1,
    }
    examples = {
        f"{each['change']} {each['url'].rpartition('/')[2]}" for each in compared["examples"]
    }
    assert examples == {
        *(
            "new new-place",
            "new ",
            "changed changed",
            "changed by-flag",
            "duplicated to-copy",
            "duplicated new-copy",
        ),
        *("moved old-place", "skipped skipped", "gone gone"),
    }
    assert compared["name"] == "former"


@pytest.mark.parametrize(
    ("now", "then"),
    [({}, {"store": "redis://other:6379/0"}), ({"store": "memory://"}, {"store": "memory://"})],
)
def test_texts_of_different_indexes_are_not_compared(
    report_of: ReportOf, now: Line, then: Line
) -> None:
    compared = report_of(*NOW, earlier=EARLIER, settings=now, earlier_settings=then)["comparison"]
    assert not compared["by_text"]
    assert counted(compared["total"]) == {
        "new": 2,
        "changed": 1,
        "same": 3,
        "duplicated": 2,
        "skipped": 1,
        "gone": 2,
    }


@pytest.mark.parametrize("size", [90, 142, 300])
def test_a_parameter_never_has_more_values_than_pages(report_of: ReportOf, size: int) -> None:
    """The number of values is an estimate, which may be too high."""
    made = report_of(*[page(f"{E_COM}?id={number}") for number in range(size)])
    (parameter,) = made["parameters"]
    assert 0.8 * size < parameter["values"] <= parameter["responses"] == size


def test_a_near_duplicate_that_is_a_view_is_marked(report_of: ReportOf) -> None:
    seen = {"similarity": 0.6, "by_view": True}
    made = report_of(
        page(E_COM),
        page(f"{E_COM}?print=1", "near", original=E_COM, **seen),
        page(f"{E_COM}?a=1", "near", original=E_COM, similarity=0.95),
    )
    assert [(each["similarity"], each["by_view"]) for each in made["similarity"]["least"]] == [
        (0.6, True),
        (0.95, False),
    ]
