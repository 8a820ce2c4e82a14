"""The figures of a report, compared with those that plain Python counts."""

import json
from collections import Counter
from pathlib import Path

import pytest

from crawldedup.journal import find_journals
from crawldedup.report.queries import Database, Report, ReportError, make_report
from crawldedup.report.render.templates import page_of
from crawldedup.report.render.wording import headline, index_health
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Crawl, header, hostile_lines, journal, write_lines

OUTCOMES = ("new", "near", "exact", "thin", "revisit", "skipped", "error")
FLEET = [[*journal(Crawl(1500, pid=1))], [*journal(Crawl(1500, pid=2, ended=False)), *hostile_lines()[:-1]]]
PAGES = [line for lines in FLEET for line in lines if "outcome" in line]


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
    assert headline(fleet).startswith(f"{len(PAGES) - outcomes['skipped'] - outcomes['error']:,} pages were checked: ")
    reasons = {each["reason"]: (each["outcome"], each["pages"]) for each in fleet["reasons"]}
    for outcome, reason in (("skipped", "content_type"), ("error", "unavailable")):
        assert reasons[reason] == (outcome, sum(line.get("reason") == reason for line in PAGES))
    assert json.loads(json.dumps(fleet, allow_nan=False))["totals"]["counts"] == outcomes


def test_a_killed_process_is_told_from_one_that_ended(fleet: Report) -> None:
    assert [process["end"] for process in fleet["crawl"]["processes"]] == ["finished", None]
    assert fleet["crawl"]["left_out"] == 1
    texts = [finding["text"] for finding in fleet["findings"]]
    assert "No end of 1 of 2 processes is recorded: still running, killed, or no room to write it." in texts
    assert "1 line of the journals could not be read." in texts
    assert fleet["stats"]["crawldedup/checked"] == 1500


def test_the_largest_cluster_has_its_least_alike_members(fleet: Report) -> None:
    original, size = Counter(line["original"] for line in PAGES if "original" in line).most_common(1)[0]
    largest = fleet["clusters"][0]
    assert (largest["kept"], largest["near"] + largest["exact"]) == (original, size)
    similarities = sorted(line["similarity"] for line in PAGES if line.get("original") == original)
    assert [member["similarity"] for member in largest["members"]] == similarities[:20]


BROKEN: list[bytes] = [
    b"garbage",
    b"null",
    b"[1, 2]",
    b'{"t": 1}',
    b'{"t": 1, "url": "https://example.com/", "outcome": "unheard-of"}',
    b'{"t": 1, "url": "https://example.com/\xff\xfe", "outcome": "new"}',
    b'{"t": 1, "url": "https://example.com/\\ud800", "outcome": "new"}',
    b'{"t": 1, "url": "https://example.com/"} {"outcome": "new"}',
    b"\0" * 10_000,
]


def test_broken_lines_are_counted_and_left_out(tmp_path: Path, database: Database) -> None:
    good = json.dumps({"t": 1, "url": "https://example.com/", "outcome": "new"}).encode()
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"\n".join([json.dumps(header()).encode(), good, *BROKEN, good]))
    made = make_report(database, find_journals([str(path)]))
    assert made["totals"]["counts"] == {**dict.fromkeys(OUTCOMES, 0), "new": 2}
    assert made["crawl"]["left_out"] == len(BROKEN)


def test_a_line_that_no_journal_has_is_said(tmp_path: Path, database: Database) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(json.dumps(header()).encode() + b"\n" + b"x" * 20_000_000)
    with pytest.raises(ReportError, match=r"the report cannot be made .*maximum_object_size"):
        make_report(database, find_journals([str(path)]))


def test_values_that_cannot_be_are_left_out(report_of: ReportOf) -> None:
    nan = float("nan")
    values = [
        {"t": nan, "similarity": float("inf"), "bytes": -5, "latency": nan, "waited": 1e300},
        {"t": -1, "similarity": "much", "bytes": [1], "latency": {}, "status": 1e99, "replaces": "maybe"},
        {"t": 1e300, "similarity": 7, "bytes": 2**70, "original": ["a"], "referer": 5, "copies": None},
    ]
    lines = [{"url": "https://example.com/", "outcome": "near", **each} for each in values]
    made = report_of(*lines, {"t": 5, "wall": "x", "share": nan, "window": -3})
    assert made["totals"]["counts"] == {**dict.fromkeys(OUTCOMES, 0), "near": 3}
    assert (made["totals"]["bytes"], made["crawl"]["seconds"]) == (0, 5)
    json.dumps(made, allow_nan=False)


def test_stats_of_processes_are_added_up(report_of: ReportOf) -> None:
    stats = [
        {"new": 2, "nan": 1, "memusage/max": 5, "reason": "finished", "list": [1], "mixed": 1},
        {"new": 3, "memusage/max": 4, "reason": "shutdown", "more": 0.5, "mixed": "x"},
        {"nan": float("nan"), "large": 10**400},
        ["no stats"],
        "none either",
    ]
    made = report_of(*({"t": number, "end": "finished", "stats": each} for number, each in enumerate(stats)))
    expected = {"memusage/max": 5, "mixed": "x", "more": 0.5, "nan": 1, "new": 5, "reason": "shutdown"}
    assert made["stats"] == expected


def test_the_headline_tells_what_was_delivered_again_and_what_was_not_downloaded(report_of: ReportOf) -> None:
    known = [
        {"t": 1, "url": f"https://example.com/{number}", "outcome": "revisit", "action": action}
        for number, action in enumerate(["delivered"] * 5 + ["marked"] * 2 + ["dropped", "items_dropped"])
    ]
    copy = {"t": 1, "url": "https://example.com/copy", "outcome": "exact", "original": "https://example.com/1"}
    skipped = [{"t": 1, "skipped": f"https://example.com/?{n}", "rule": f"rule {n % 4}"} for n in range(12)]
    # Downloads that were made after all are not told.
    met = [{"t": 2, "url": f"https://example.com/?{n}", "outcome": "new"} for n in (2, 3, 6, 7, 11)]
    made = report_of(*known, copy, *skipped, *skipped[:4], *met)
    assert made["crawl"]["left_out"] == 0
    assert headline(made) == (
        "15 pages were checked: 5 are new, 1 are duplicates (7 %), 9 were known of which 7 were delivered again. "
        "7 downloads of copies were skipped: 3 by the rule rule 0, 3 by the rule rule 1, 1 by 1 other rule."
    )
    page = page_of(made)
    assert "Downloads that were skipped" in page
    assert "rule 2" in page


def test_the_health_of_the_index_is_told(report_of: ReportOf) -> None:
    page = {"url": "https://example.com/", "outcome": "new", "probes": 40, "candidates": 3}
    end = {"t": 9, "end": "finished", "known": 10**8, "index_bytes": 13 * 10**9}
    made = report_of({"t": 1, **page, "known": 5}, end, settings={"similarity": 0.9, "recall": 0.98})
    text = "The index holds 100,000,000 pages, 130 bytes each."
    assert index_health(made["index"]) == f"{text} Expected recall: 96 %."
    assert {each["name"]: each["total"] for each in made["index"]["work"]} == {"probes": 40, "candidates compared": 3}
    assert text in page_of(made)


def test_a_crawl_without_pages_has_a_report(report_of: ReportOf) -> None:
    made = report_of()
    assert made["totals"]["responses"] == 0
    assert made["findings"][0]["text"] == "No page was checked."
    assert "0 responses came, and none was checked." in page_of(made)


def test_processes_that_start_later_are_later(tmp_path: Path, database: Database) -> None:
    for number, started in enumerate((1000.0, 1100.0)):
        line = {"t": 5, "url": f"https://example.com/{number}", "outcome": "new"}
        write_lines(tmp_path / f"{number}.jsonl", [header(started=started), line])
    made = make_report(database, find_journals([str(tmp_path)]))
    assert made["crawl"]["seconds"] == 105
    assert [moment["seconds"] for moment in made["timeline"]["moments"] if moment["counts"]["new"]] == [4, 104]
