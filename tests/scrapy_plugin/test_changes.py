"""`crawldedup changes`: what two crawls of a site say about it."""

import json
from pathlib import Path
from typing import Any

import pytest

from crawldedup.cli import main
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site, article

MISSING = Answer(b"<p>There is no such page.", status=404)
FIRST = {
    "/same": article(11),
    "/changed": article(12),
    "/price": article(13, head='<meta property="product:price:amount" content="10.00">'),
    "/moved": article(14),
    "/moved-and-left": article(15),
    "/gone": article(16),
    "/ended": article(17),
    "/broken": article(18),
    "/not-asked": article(19),
    "/same-copy": article(11),
    # The second one replaces the first, and both are as they were.
    "/viewed?print=1": article(21),
    "/viewed": article(21),
}
SECOND = {
    **FIRST,
    "/changed": article(12, changed_words=20),
    "/price": article(13, head='<meta property="product:price:amount" content="12.00">'),
    "/moved": MISSING,
    "/moved-here": article(14),
    "/left-for/this": article(15),
    "/gone": MISSING,
    "/ended": Answer(b"<p>It has ended.", status=410),
    "/broken": Answer(b"<p>The server is down.", status=500),
    "/new": article(20),
}
EXPECTED = {
    "/same": "unchanged",
    "/changed": "changed",
    "/price": "changed",
    "/moved": "moved",
    "/moved-and-left": "moved",
    "/gone": "gone",
    "/ended": "gone",
    "/broken": "unknown",
    "/not-asked": "unknown",
    "/new": "new",
    "/viewed": "unchanged",
}


@pytest.fixture
def journals(crawl: Crawler, tmp_path: Path) -> Path:
    """A folder with the folders of two crawls, `1` and `2`."""
    options = {
        "CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite",
        "CRAWLDEDUP_KEEP_TEXTS": True,
        "CRAWLDEDUP_PREFER": ["/viewed$"],
        "RETRY_ENABLED": False,
    }
    with Site(FIRST) as site:
        crawl(site, [*FIRST], **options, CRAWLDEDUP_JOURNAL=str(tmp_path / "1"))
        site.pages.update(SECOND)
        pages = [path for path in SECOND if path not in ("/not-asked", "/moved-and-left")]
        crawl(site, pages, **options, CRAWLDEDUP_JOURNAL=str(tmp_path / "2"))
    return tmp_path


def rows_in(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a file by the path of their URL."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["url"].partition("//")[2].partition("/")[2]: row for row in rows}


def test_each_page_is_what_the_two_crawls_say(
    journals: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = journals / "changes.jsonl"
    command = ["changes", str(journals / "1"), str(journals / "2")]
    assert main([*command, "-o", str(target)]) == 0
    rows = rows_in(target)
    assert {f"/{path}": row["change"] for path, row in rows.items()} == EXPECTED
    assert rows["moved"]["moved_to"].endswith("/moved-here")
    assert rows["moved-and-left"]["moved_to"].endswith("/left-for/this")
    assert rows["gone"]["reason"] == "status 404"
    assert rows["ended"]["reason"] == "status 410"
    assert rows["broken"]["reason"] == "http_500"
    assert rows["not-asked"]["reason"] == "not asked for, or no answer"
    assert rows["changed"]["what"] == "text"
    assert "{+" in rows["changed"]["difference"]
    assert rows["price"]["what"] == "data"
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["changes"] == {
        "new": 1,
        "changed": 2,
        "unchanged": 2,
        "moved": 2,
        "gone": 2,
        "unknown": 2,
    }
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "/moved-here" in shown
    assert "(data)" in shown


def test_a_table_is_written_and_is_safe_to_open(journals: Path) -> None:
    target = journals / "changes.csv"
    command = ["changes", str(journals / "1"), str(journals / "2"), "-o", str(target)]
    assert main(command) == 0
    header, *rows = target.read_text().splitlines()
    assert header == "change,url,site,moved_to,what,difference,reason"
    assert len(rows) == len(EXPECTED)
    # It is not replaced without a word.
    assert main(command) == 2
    assert main([*command, "--force"]) == 0


def test_without_a_common_index_nothing_is_guessed(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Site(FIRST) as site:
        for name in "12":
            crawl(site, ["/same"], CRAWLDEDUP_JOURNAL=str(tmp_path / name))
    assert main(["changes", str(tmp_path / "1"), str(tmp_path / "2"), "--json"]) == 0
    said = capsys.readouterr()
    (row,) = json.loads(said.out)["pages"]
    assert (row["change"], row["reason"]) == ("unknown", "the crawls have no common index")
    assert "CRAWLDEDUP_STORE" in said.err


def test_a_crawl_between_the_two_hides_no_change(crawl: Crawler, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Site(FIRST) as site:
        for name, changed in (("1", 0), ("2", 20), ("3", 20)):
            site.pages["/changed"] = article(12, changed_words=changed)
            # New pages in each crawl: the index tells that the third does not follow the first.
            site.pages[f"/page-{name}"] = article(30 + int(name))
            pages = ["/changed", "/same", f"/page-{name}"]
            journal = str(tmp_path / name)
            crawl(site, pages, CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=journal)
    target = tmp_path / "changes.jsonl"
    assert main(["changes", str(tmp_path / "1"), str(tmp_path / "3"), "-o", str(target)]) == 0
    rows = rows_in(target)
    assert rows["changed"]["change"] == "changed"
    assert rows["same"]["change"] == "unchanged"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "nowhere"], "nowhere"),
        (["1", "2", "-o", "changes.html"], "it must end with one of .csv, .jsonl"),
    ],
)
def test_what_cannot_be_compared_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    header = {"crawldedup_journal": 1, "crawl": "news", "spider": "news", "started": 1.0}
    for name in "12":
        Path(name).write_text(f"{json.dumps(header)}\n")
    assert main(["changes", *arguments]) == 2
    assert said in capsys.readouterr().err
