"""Rules are mined from what DuckDB reads of journals."""

from pathlib import Path

from crawldedup.advice.rules import Rule
from crawldedup.journal import find_journals
from crawldedup.report.queries import Database
from tests.report.synthetic_journal import Line, header, write_lines

WITHDRAWN = {"kind": "query", "site": "https://e.com", "find": "sid", "replace": "", "folders": ["/a/"]}
RULE = Rule("query", "https://e.com", "sid", folders=frozenset({"/a/"}))


def page(number: int, moment: float) -> Line:
    return {"t": moment, "url": f"https://e{number}.com/", "outcome": "new", "bytes": 9}


def test_verdicts_are_read_in_their_order_until_there_are_enough(tmp_path: Path, database: Database) -> None:
    others = [{"t": 2, "wall": "https://e.com/a"}, {"skipped": "https://e.com/c", "rule": "r"}]
    bad = [{"url": {}, "outcome": "new"}, {"url": "x", "outcome": "new", "referer": [1]}, {"withdrawn": {"kind": 7}}]
    # Two processes of one crawl, the second of which began two seconds later.
    write_lines(tmp_path / "a", (header(), *others, page(0, 0), page(4, 5), {"withdrawn": WITHDRAWN}, *bad))
    later = header(started=header()["started"] + 2, pid=2)
    write_lines(tmp_path / "b", (later, page(2, 1), page(3, 2)))
    with (tmp_path / "a").open("a") as file:
        file.write('{"url": "https://e.com/a", "outc')
    assert database.load(find_journals([tmp_path / "a", tmp_path / "b"])) == 1
    for most, origins in ((30, "0 2 3 4"), (3, "0 2 3")):
        pages, withdrawn = database.evidence(most)
        assert [page.address.origin[9] for page in pages] == origins.split()
        assert withdrawn == [RULE]
