"""`crawldedup changes`: what two crawls of a site say about it."""

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from crawldedup.cli import main
from crawldedup.journal import journals as journals_at
from crawldedup.report.queries import Database
from crawldedup.urls import canonical_url
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.website import Answer, Site, article

MISSING = Answer(b"<p>There is no such page.", status=404)
OFFER = (
    '<script type="application/ld+json">{"@type": "Product", "sku": "L1", "offers": '
    '{"@type": "Offer", "price": "12.00", "availability": "%s"}}</script>'
)
FIRST = {
    "/same": article(11),
    "/changed": article(12),
    "/price": article(13, head='<meta property="product:price:amount" content="10.00">'),
    "/sold-out": article(22, head=OFFER % "https://schema.org/InStock"),
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
    "/sold-out": article(22, head=OFFER % "https://schema.org/OutOfStock"),
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
    "/sold-out": "changed",
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
    assert rows["price"]["difference"] == "product:price:amount now 12.00"
    assert rows["sold-out"]["what"] == "availability"
    assert rows["sold-out"]["difference"] == "availability now outofstock"
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["changes"] == {
        "new": 1,
        "changed": 3,
        "unchanged": 2,
        "moved": 2,
        "gone": 2,
        "unknown": 2,
    }
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "/moved-here" in shown
    assert "(data: product:price:amount now 12.00)" in shown
    assert " more, which" not in shown
    assert main([*command, "--most", "1"]) == 0
    assert "  and 2 more, which --output writes to a file" in capsys.readouterr().out


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


def test_a_crawl_between_the_two_without_new_pages_hides_no_change(
    crawl: Crawler, tmp_path: Path
) -> None:
    folder = tmp_path / "journals"
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    with Site(FIRST) as site:
        for changed in (0, 20, 20):
            site.pages["/changed"] = article(12, changed_words=changed)
            crawl(
                site,
                ["/changed", "/same"],
                CRAWLDEDUP_STORE=store,
                CRAWLDEDUP_JOURNAL=str(folder),
            )
    first, _, last = sorted(map(str, folder.iterdir()))
    target = tmp_path / "changes.jsonl"
    assert main(["changes", first, last, "-o", str(target)]) == 0
    rows = rows_in(target)
    assert rows["changed"]["change"] == "changed"
    assert rows["same"]["change"] == "unchanged"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "nowhere"], "nowhere"),
        (["1", "2", "-o", "changes.txt"], "it must end with one of .html, .csv, .jsonl"),
        (["2", "1"], "EARLIER, 'news', began after LATER, 'news': swap them"),
        (["1", "1"], "EARLIER and LATER are the same crawl, 'news'"),
        (["1", "both"], "both contains the journals of 2 crawls"),
        (["1", "2", "--most", "-1"], "--most is -1; it must be a whole number, at least 0"),
        (["1"], "name two crawls to compare, EARLIER and LATER"),
        (["1", "2", "--since", "1d"], "name only the later one"),
        (["1", "--since", "yesterday"], "--since is 'yesterday'; it must be a time such as"),
        (["1", "--since", "1m"], "the crawl 'news' began before 1m: nothing was crawled since"),
        (["1", "--since", "1970-01-01", "--source", "."], "there are 0 other crawls of the spider"),
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
        line = json.dumps(header | {"started": float(name), "crawl": "news"})
        Path(name).write_text(f"{line}\n")
    Path("both").write_text(Path("2").read_text() * 2)
    assert main(["changes", *arguments]) == 2
    assert said in capsys.readouterr().err


NOW = time.time()
HOUR = 3600.0
DAY = 24 * HOUR


def write_crawl(folder: Path, started: float, urls: Iterable[str], spider: str = "news") -> None:
    """Write the journal of a crawl that met new pages at these addresses."""
    header = {
        **{"crawldedup_journal": 1, "crawl": f"{spider}-{started}", "spider": spider},
        **{"started": started, "settings": {"store": "redis://r/0", "namespace": "news"}},
    }
    lines = [{"t": 1, "url": url, "outcome": "new", "digest": url} for url in urls]
    text = "".join(f"{json.dumps(line)}\n" for line in (header, *lines))
    (folder / f"{started}.jsonl").write_text(text)


@pytest.fixture
def daily(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journals of three crawls of the news, a day or an hour apart, and of another spider."""
    monkeypatch.chdir(tmp_path)
    for age, number in ((2 * DAY, 1), (2 * HOUR, 2), (HOUR, 3)):
        write_crawl(tmp_path, NOW - age, [f"https://e.com/{n}" for n in range(number)])
    write_crawl(tmp_path, NOW - DAY, ["https://e.com/shop"], "shop")
    return tmp_path


def at(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@pytest.mark.parametrize(
    ("since", "new"),
    [
        (["90m"], 1),
        (["1d"], 2),
        (["1 d"], 2),
        ([at(NOW - DAY)], 2),
        ([f"{at(NOW - DAY)}Z"], 2),
        ([f"{at(NOW - 1.5 * HOUR)}"], 1),
        (["1d", f"news-{NOW - 2 * HOUR}"], 1),
    ],
)
def test_the_last_crawl_is_compared_with_the_one_before_a_time(
    daily: Path, capsys: pytest.CaptureFixture[str], since: list[str], new: int
) -> None:
    moment, *later = since
    command = ["changes", *later, "--since", moment, "--source", str(daily), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["changes"]["new"] == new


def test_without_names_the_last_crawl_is_compared_with_the_one_before(
    daily: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_crawl(daily, NOW, ["https://e.com/shop", "https://e.com/lamp"], "shop")
    assert main(["changes", "--source", str(daily), "--json"]) == 0
    pages = json.loads(capsys.readouterr().out)["pages"]
    # The crawls in between are those of another spider.
    assert [(row["url"], row["change"]) for row in pages if row["change"] == "new"] == [
        ("https://e.com/lamp", "new")
    ]


@pytest.mark.parametrize(
    "named", [f"journals/{NOW - HOUR}.jsonl", "journals"], ids=["journal", "folder"]
)
def test_the_crawl_before_is_looked_for_beside_the_named_one(
    daily: Path, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    folder = daily / "journals"
    folder.mkdir()
    for path in daily.glob("*.jsonl"):
        path.rename(folder / path.name)
    command = ["changes", named, "--since", "1d", "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["changes"]["new"] == 2
    (folder / f"{NOW - 2 * DAY}.jsonl").rename(daily / "elsewhere.jsonl")
    assert main(command) == 2
    assert "in another folder, add --source FOLDER" in capsys.readouterr().err
    assert main([*command, "--source", "."]) == 0


def test_a_page_of_changes_shows_them_and_nothing_runs_in_it(tmp_path: Path) -> None:
    evil = "https://e.com/<script>window.broken=1</script>\u202e"
    wrong = "javascript:alert(1)//https://e.com/"
    for name, urls in (("1", ["https://e.com/same"]), ("2", ["https://e.com/same", evil, wrong])):
        (tmp_path / name).mkdir()
        write_crawl(tmp_path / name, NOW + int(name), urls, "<b>news</b>")
    target = tmp_path / "changes.html"
    command = ["changes", str(tmp_path / "1"), str(tmp_path / "2"), "-o", str(target)]
    assert main(command) == 0
    text = target.read_text()
    page = html.document_fromstring(text)
    assert page.findtext(".//h1") == f"<b>news</b>-{NOW + 2}"
    assert "2 new, 1 unchanged" in page.text_content()
    (new,) = page.iterfind(".//section[@id='new']")
    rows = [row.text_content() for row in new.iterfind(".//tbody/tr")]
    assert len(rows) == 2
    assert any("<script>window.broken=1</script>" in row for row in rows)
    assert [script.text[:12] for script in page.iter("script")] == ['"use strict"']
    links = [link.get("href") for link in page.iter("a")]
    assert not [link for link in links if not link.startswith("https://e.com/")]
    assert "\u202e" not in text


def test_a_page_of_many_changes_is_small(tmp_path: Path) -> None:
    for name, number in (("1", 1), ("2", 4000)):
        (tmp_path / name).mkdir()
        long = "x" * 400
        urls = [f"https://e.com/{n}/{long}" for n in range(number)]
        write_crawl(tmp_path / name, NOW + int(name), urls)
    target = tmp_path / "changes.html"
    command = ["changes", str(tmp_path / "1"), str(tmp_path / "2"), "-o", str(target)]
    assert main(command) == 0
    assert target.stat().st_size < 500_000
    assert "These are 200 of 3,999." in target.read_text()


def write_lines(folder: Path, started: float, *lines: dict[str, Any]) -> str:
    """Write a journal of these lines behind a header, and return its path."""
    write_crawl(folder, started, [])
    path = folder / f"{started}.jsonl"
    with path.open("a") as file:
        file.writelines(f"{json.dumps({'t': 1, **line})}\n" for line in lines)
    return str(path)


END = {"end": "finished"}


def line(name: str, outcome: str, digest: str, **values: Any) -> dict[str, Any]:
    return {"url": f"https://e.com/{name}", "outcome": outcome, "digest": digest, **values}


def changes_between(
    folder: Path, earlier: list[dict[str, Any]], later: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the rows of the pages in two crawls, which end as they should unless END is missing."""
    names = write_lines(folder, 1.0, *earlier), write_lines(folder, 2.0, *later)
    target = folder / "changes.jsonl"
    assert main(["changes", *names, "-o", str(target)]) == 0
    return rows_in(target)


def test_a_page_that_was_a_copy_has_changed_if_its_text_has(tmp_path: Path) -> None:
    rows = changes_between(
        tmp_path,
        [line("a", "new", "1"), line("b", "exact", "1"), line("c", "near", "2"), END],
        [line("a", "revisit", "1"), line("b", "new", "1"), line("c", "new", "3"), END],
    )
    changes = {name: (row["change"], row["what"]) for name, row in rows.items()}
    assert changes == {"a": ("unchanged", ""), "b": ("unchanged", ""), "c": ("changed", "text")}


def test_a_text_that_is_as_it_was_two_crawls_ago_is_unchanged(tmp_path: Path) -> None:
    changed = {"changed": True, "changed_by": "text"}
    rows = changes_between(
        tmp_path,
        [line("a", "new", "1"), line("b", "new", "2"), {**END, "known": 2}],
        [
            line("a", "revisit", "1", **changed, known=9),
            line("b", "revisit", "2", changed=True, changed_by="data"),
            END,
        ],
    )
    changes = {name: (row["change"], row["what"]) for name, row in rows.items()}
    assert changes == {"a": ("unchanged", ""), "b": ("changed", "data")}


def test_a_page_that_did_not_come_has_its_reason(tmp_path: Path) -> None:
    names = ("away", "budget", "rule", "left")
    rows = changes_between(
        tmp_path,
        [*(line(name, "new", name) for name in names), END],
        [
            line("login", "new", "login", asked="https://e.com/away"),
            {"skipped": "https://e.com/budget", "rule": "budget of https://e.com/*"},
            {"skipped": "https://e.com/rule", "rule": "https://e.com: ?page"},
            END,
        ],
    )
    assert {name: rows[name]["reason"] for name in names} == {
        "away": "redirected",
        "budget": "out of budget",
        "rule": "skipped by a rule",
        "left": "not asked for, or no answer",
    }
    assert rows["login"]["change"] == "new"


def test_a_page_that_the_earlier_crawl_could_not_check_is_not_new(tmp_path: Path) -> None:
    skipped = {"budget": "budget of https://e.com/*", "rule": "https://e.com: ?page"}
    rows = changes_between(
        tmp_path,
        [
            line("store", "error", "", reason="store", status=200),
            line("down", "skipped", "", reason="http_503", status=503),
            line("missing", "skipped", "", reason="http_404", status=404),
            line("picture", "skipped", "", reason="content_type", status=200),
            line("asked-twice", "error", "", reason="store", status=200),
            line("asked-twice", "new", "asked-twice"),
            line("other", "new", "other", asked="https://e.com/redirected"),
            *({"skipped": f"https://e.com/{name}", "rule": rule} for name, rule in skipped.items()),
            END,
        ],
        [
            *(line(name, "new", name) for name in ("store", "down", "missing", "picture")),
            *(line(name, "new", name) for name in ("asked-twice", "redirected", *skipped)),
            END,
        ],
    )
    unknown = {name: row["reason"] for name, row in rows.items() if row["change"] == "unknown"}
    assert unknown.pop("other") == "not asked for, or no answer"
    assert unknown == {
        "store": "not checked by the earlier crawl: store",
        "down": "not checked by the earlier crawl: http_503",
        "budget": "not checked by the earlier crawl: out of budget",
        "rule": "not checked by the earlier crawl: skipped by a rule",
    }
    new = {name for name, row in rows.items() if row["change"] == "new"}
    assert new == {"missing", "picture", "redirected"}
    assert rows["asked-twice"]["change"] == "unchanged"


@pytest.mark.parametrize("damage", ["DELETE FROM", "DROP TABLE"])
def test_an_index_that_is_lost_during_a_crawl_makes_no_page_new(
    crawl: Crawler, tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "seen.sqlite"
    folders = [str(tmp_path / name) for name in "123"]

    def lose_the_index() -> None:
        with closing(sqlite3.connect(file)) as db, db:
            names = (
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
            for (name,) in db.execute(names).fetchall():
                db.execute(f"{damage} {name}")

    pages = ["/same", "/changed", "/price", "/moved"]
    with Site(FIRST) as site:
        options = {"CRAWLDEDUP_STORE": f"sqlite:///{file}"}
        crawl(site, pages, **options, CRAWLDEDUP_JOURNAL=folders[0])
        site.actions["/price"] = lose_the_index
        crawl(site, pages, **options, CRAWLDEDUP_JOURNAL=folders[1])
        site.actions.clear()
        file.unlink()
        crawl(site, pages, **options, CRAWLDEDUP_JOURNAL=folders[2])

    def changes(one: int, other: int) -> dict[str, tuple[str, str]]:
        target = tmp_path / f"{one}-{other}.jsonl"
        assert main(["changes", folders[one], folders[other], "-o", str(target)]) == 0
        return {name: (row["change"], row["reason"]) for name, row in rows_in(target).items()}

    assert changes(0, 1) == {
        "same": ("unchanged", ""),
        "changed": ("unchanged", ""),
        "price": ("unknown", "store"),
        "moved": ("unknown", "store"),
    }
    later = changes(1, 2)
    for name in ("price", "moved"):
        assert later[name] == ("unknown", "not checked by the earlier crawl: store")


def test_an_index_that_is_cleared_during_a_crawl_hides_no_change(
    crawl: Crawler, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/seen.sqlite"
    folders = [str(tmp_path / name) for name in "123"]
    pages = ["/same", "/changed", "/price", "/moved"]
    with Site(FIRST) as site:
        crawl(site, pages, CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=folders[0])
        site.pages["/moved"] = article(14, changed_words=20)
        site.actions["/price"] = lambda: main(["clear", "--store", store, "--yes"])
        crawl(site, pages, CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=folders[1])
        site.actions.clear()
        site.pages["/changed"] = article(12, changed_words=20)
        crawl(site, pages, CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=folders[2])
    for one, other, changed in ((0, 1, {"moved"}), (1, 2, {"changed"})):
        target = tmp_path / f"{one}-{other}.jsonl"
        assert main(["changes", folders[one], folders[other], "-o", str(target)]) == 0
        found = {name: row["change"] for name, row in rows_in(target).items()}
        assert found == {
            name[1:]: "changed" if name[1:] in changed else "unchanged" for name in pages
        }


def test_pages_that_a_killed_crawl_may_have_met_are_not_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = [line("known", "revisit", "1"), line("new", "new", "2"), END]
    rows = changes_between(tmp_path, [line("met", "new", "3")], later)
    assert rows["known"]["change"] == "unknown"
    assert rows["known"]["reason"] == "the earlier journal is incomplete"
    assert rows["new"]["change"] == "new"
    assert "the earlier crawl 'news-1.0' did not finish" in capsys.readouterr().err
    (tmp_path / "changes.jsonl").unlink()
    rows = changes_between(tmp_path, [line("met", "new", "3"), END], later)
    assert rows["known"]["change"] == "new"
    assert "unfinished" not in capsys.readouterr().err


def test_pages_that_a_killed_crawl_had_not_requested_are_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a page isn't called moved either, although its text is at another address as well."""
    earlier = [*(line(name, "new", name) for name in ("met", "left", "text", "answered")), END]
    later = [
        line("met", "revisit", "met"),
        line("text-here", "exact", "text", original="https://e.com/text"),
        line("answered", "skipped", "", status=404, reason="http_404"),
        line("answered-here", "new", "answered"),
    ]
    rows = changes_between(tmp_path, earlier, later)
    assert {name: (row["change"], row["reason"]) for name, row in rows.items()} == {
        "met": ("unchanged", ""),
        "left": ("unknown", "the later journal is incomplete"),
        "text": ("unknown", "the later journal is incomplete"),
        "answered": ("moved", ""),
    }
    assert "the later crawl 'news-2.0' did not finish" in capsys.readouterr().err
    names = [str(tmp_path / f"{number}.0.jsonl") for number in "12"]
    assert main(["changes", *names, "-o", str(tmp_path / "changes.html")]) == 0
    shown = html.parse(tmp_path / "changes.html").getroot().text_content()
    assert "The later crawl 'news-2.0' did not finish (its journal has no end)" in shown
    (tmp_path / "changes.jsonl").unlink()
    capsys.readouterr()
    rows = changes_between(tmp_path, earlier, [*later, END])
    assert rows["left"]["reason"] == "not asked for, or no answer"
    assert rows["text"]["change"] == "moved"
    assert "unfinished" not in capsys.readouterr().err


def test_a_redirect_is_named_by_the_journal(crawl: Crawler, tmp_path: Path) -> None:
    options = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}
    with Site({"/away": article(11), "/stays": article(12)}) as site:
        crawl(site, ["/away", "/stays"], **options, CRAWLDEDUP_JOURNAL=str(tmp_path / "1"))
        site.pages["/away"] = Answer(b"", status=302, headers={"Location": "/login"})
        site.pages["/login"] = article(13)
        crawl(site, ["/away", "/stays"], **options, CRAWLDEDUP_JOURNAL=str(tmp_path / "2"))
    target = tmp_path / "changes.jsonl"
    assert main(["changes", str(tmp_path / "1"), str(tmp_path / "2"), "-o", str(target)]) == 0
    rows = rows_in(target)
    assert (rows["away"]["change"], rows["away"]["reason"]) == ("unknown", "redirected")
    assert rows["stays"]["change"] == "unchanged"


def test_other_crawls_are_counted_in_the_singular_too(
    daily: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (daily / f"{NOW - 2 * DAY}.jsonl").unlink()
    assert main(["changes", "--since", "1970-01-01", "--source", str(daily)]) == 2
    assert "there is 1 other crawl of the spider 'news'" in capsys.readouterr().err


def test_a_journal_names_an_index_without_a_key(crawl: Crawler, tmp_path: Path) -> None:
    """In these tests, no index has a key."""
    with Site(FIRST) as site:
        crawl(
            site,
            ["/same"],
            CRAWLDEDUP_STORE=f"sqlite:///{tmp_path}/seen.sqlite",
            CRAWLDEDUP_JOURNAL=str(tmp_path / "journals"),
        )
    (path,) = journals_at(tmp_path / "journals")
    assert json.loads(path.read_text().splitlines()[0])["index"] == "0" * 16


@pytest.mark.parametrize("emptied", ["removed", "cleared"])
def test_an_index_that_was_emptied_is_not_a_common_one(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str], emptied: str
) -> None:
    file = tmp_path / "seen.sqlite"
    store = f"sqlite:///{file}"
    folders = [str(tmp_path / name) for name in "123"]
    with Site(FIRST) as site:
        crawl(site, ["/same"], CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=folders[0])
        if emptied == "removed":
            file.unlink()
        else:
            assert main(["clear", "--store", store, "--yes"]) == 0
        for folder in folders[1:]:
            crawl(site, ["/same"], CRAWLDEDUP_STORE=store, CRAWLDEDUP_JOURNAL=folder)

    def compare(one: int, other: int) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["changes", folders[one], folders[other], "--json"]) == 0
        made: dict[str, Any] = json.loads(capsys.readouterr().out)
        return made

    (row,) = compare(0, 1)["pages"]
    assert (row["change"], row["reason"]) == ("unknown", "the crawls have no common index")
    assert compare(1, 2)["changes"]["unchanged"] == 1
    assert main(["report", folders[1], "--against", folders[0], "--json"]) == 0
    comparison = json.loads(capsys.readouterr().out)["comparison"]
    assert not comparison["by_text"]
    assert comparison["total"]["changed"] == 0


@pytest.mark.parametrize(
    ("of_earlier", "of_later", "change"),
    [
        ({}, {"known": 0}, "unknown"),
        ({}, {"known": 1}, "changed"),
        ({}, {"known": None}, "changed"),
        ({"index": "a1"}, {"index": "a1", "known": 1}, "changed"),
        # A crawl in between has filled the new index.
        ({"index": "a1"}, {"index": "b2", "known": 1}, "unknown"),
        ({"index": "a1"}, {"known": 1}, "changed"),
        # Without a key, all indexes have the same digests.
        ({"index": "0" * 16}, {"index": "0" * 16, "known": 1}, "changed"),
        ({"index": "0" * 16}, {"index": "b2", "known": 1}, "unknown"),
    ],
)
def test_headers_say_whether_two_crawls_had_the_same_index(
    tmp_path: Path, of_earlier: dict[str, Any], of_later: dict[str, Any], change: str
) -> None:
    names = []
    for number, values in ((1, of_earlier), (2, of_later)):
        name = write_lines(tmp_path, number, line("a", "new", str(number), known=1), END)
        header, *lines = Path(name).read_text().splitlines(keepends=True)
        text = f"{json.dumps(json.loads(header) | values)}\n"
        Path(name).write_text("".join([text, *lines]))
        names.append(name)
    target = tmp_path / "changes.jsonl"
    assert main(["changes", *names, "-o", str(target)]) == 0
    assert rows_in(target)["a"]["change"] == change


SPIDER = """
import scrapy

class ASpider(scrapy.Spider):
    name = "a"
    start_urls = ["data:text/html,<p>Some words"]
"""


def test_a_journal_names_the_very_index_of_its_crawl(tmp_path: Path) -> None:
    """In processes of their own, because other tests have no random keys."""
    (tmp_path / "spider.py").write_text(SPIDER)
    names = []
    for number, store in enumerate(("a.sqlite", "a.sqlite", "b.sqlite")):
        settings = {
            "ADDONS": '{"crawldedup.Addon": 500}',
            "CRAWLDEDUP_STORE": f"sqlite:///{store}",
            "CRAWLDEDUP_JOURNAL": str(tmp_path / str(number)),
        }
        options = [each for pair in settings.items() for each in ("-s", "=".join(pair))]
        command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", *options]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        (path,) = journals_at(tmp_path / str(number))
        names.append(json.loads(path.read_text().splitlines()[0])["index"])
    assert re.fullmatch(r"[0-9a-f]{16}", names[0])
    assert names[0] == names[1] != names[2]


def test_urls_that_the_crawl_takes_for_one_page_are_one(
    crawl: Crawler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(tmp_path / name) for name in "12"]
    options = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}
    spelled = [["/same?b=2&a=1", "/left?b=%7e&a"], ["/same?a=1&b=2", "/left?a&b=~"]]
    with Site({}) as site:
        for folder, (same, left) in zip(folders, spelled, strict=True):
            site.pages[same] = article(11)
            site.pages[left] = article(12) if folder == folders[0] else MISSING
            crawl(site, [same, left], **options, CRAWLDEDUP_JOURNAL=folder)
    target = tmp_path / "changes.jsonl"
    assert main(["changes", *folders, "-o", str(target)]) == 0
    changes = {name.partition("?")[0]: row["change"] for name, row in rows_in(target).items()}
    assert changes == {"same": "unchanged", "left": "gone"}
    capsys.readouterr()
    assert main(["report", folders[1], "--against", folders[0], "--json"]) == 0
    total = json.loads(capsys.readouterr().out)["comparison"]["total"]
    assert (total["new"], total["same"]) == (0, 1)


@pytest.mark.parametrize(
    "url",
    [
        "http://e.com",
        "http://E.com/a",
        "http://e.com/a?b&a",
        "http://e.com/a#b",
        "http://e.com/%7Ea",
        "http://e.com/a b",
        "http://e.com/ä",
        "HTTP://e.com/",
        "http://e.com:80/",
        "http://e..com//a/../b",
        "http://e.com//a//./b",
        "http://e.com/a/..",
        "http://e.com/a?b=1",
        "http://e.com/a?b=",
        "http://e.com/a?b=~.1-",
        "http://e.com/a?b",
        "http://e.com/a?b=1=2",
        "http://e.com/a?b=1;a=2",
        "http://e.com?b=1",
        "http://e.com//a//b",
        "http://e.com/A-b_c~d.html",
    ],
)
def test_the_fast_way_to_the_normal_form_of_a_url_is_right(url: str) -> None:
    with Database() as database:
        (row,) = database._connection.execute(
            "SELECT page_at($a) = hash($b)", {"a": url, "b": canonical_url(url)}
        ).fetchall()
    assert row == (True,)


@pytest.mark.parametrize("method", ["POST", "HEAD"])
def test_a_page_is_not_gone_if_only_another_method_finds_nothing(
    crawl: Crawler, tmp_path: Path, method: str
) -> None:
    folders = [str(tmp_path / name) for name in "12"]
    options = {"CRAWLDEDUP_STORE": f"sqlite:///{tmp_path}/seen.sqlite"}
    with Site(FIRST) as site:
        crawl(site, ["/same"], **options, CRAWLDEDUP_JOURNAL=folders[0])
        site.pages["/same"] = MISSING
        request = {"url": "/same", "method": method, "meta": {"handle_httpstatus_all": True}}
        crawl(site, [request], **options, CRAWLDEDUP_JOURNAL=folders[1])
    (path,) = journals_at(folders[1])
    assert f'"method":"{method}"' in path.read_text()
    target = tmp_path / "changes.jsonl"
    assert main(["changes", *folders, "-o", str(target)]) == 0
    row = rows_in(target)["same"]
    assert (row["change"], row["reason"]) == ("unknown", "not asked for, or no answer")


def test_a_comparison_of_two_spiders_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, spider in enumerate(("news", "shop", "shop")):
        write_crawl(tmp_path, float(number), ["https://e.com/"], spider)
    names = [str(tmp_path / f"{number}.0.jsonl") for number in range(3)]
    assert main(["changes", *names[:2]]) == 0
    assert "the crawls are of two spiders, 'news' and 'shop'" in capsys.readouterr().err
    assert main(["changes", *names[1:]]) == 0
    assert "two spiders" not in capsys.readouterr().err
