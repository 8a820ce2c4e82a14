"""What a user sees in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from crawldedup.demo.crawl import Judged
from crawldedup.demo.run import DemoResult
from crawldedup.demo.scoring import against_manifest, against_texts
from crawldedup.demo.server import NOT_FOUND
from crawldedup.demo.show import print_result, progress_bars
from crawldedup.demo.site import SitePage
from crawldedup.evaluation import Document
from crawldedup.verdict import Kind

HOSTILE = "http://h/[bold]x[/]\x1b[2J\x07\u202e?q=[link=http://evil]\ud800"
RESULT = DemoResult(
    site="the demo site",
    pages_fetched=5,
    pages_kept=3,
    dropped_near=1,
    dropped_exact=1,
    dropped_bytes=20_000,
    verdicts=dict.fromkeys(map(str, Kind), 1),
    skipped={"content_type": 7},
    errors={},
    traffic={"requests": 10, "bytes": 50_000, "pages": 3, "seconds": 1.25},
    finish_reason="finished",
    clusters={},
    stats={},
)


def judged(url: str, *, dropped: bool = False) -> Judged:
    kind = "near_duplicate" if dropped else "new"
    return Judged(url, kind, "http://h/", 0.93, dropped, 100, "utf-8", is_html=True)


def shown(result: DemoResult, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    print_result(result, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    text.encode()
    return text


def test_hostile_urls_are_shown_as_text() -> None:
    copy = judged(HOSTILE, dropped=True)
    # Both pages are of one cluster, and both were kept: the second was missed.
    page = SitePage(NOT_FOUND, "article", "one")
    manifest = against_manifest([judged("http://h/"), judged(HOSTILE)], lambda _: page)
    text = shown(replace(RESULT, site=HOSTILE, clusters={HOSTILE: [copy]}, manifest=manifest, not_reached=(HOSTILE,)))
    assert "missed: http://h/[bold]x" in text
    assert "never reached: http://h/[bold]x" in text
    assert not any(char in text for char in "\x1b\x07\u202e\ud800")
    assert "[bold]x[/]" in text
    assert "\\x1b[2J" in text


def test_savings_are_the_difference_of_two_crawls() -> None:
    text = shown(replace(RESULT, without={"requests": 22, "bytes": 90_000, "pages": 16, "seconds": 1.0}))
    saved = next(line for line in text.splitlines() if "saved" in line)
    assert [cell.strip() for cell in saved.strip("│").split("│")] == ["saved", "12", "40.0 kB", "13", "-0.2"]
    assert "saved" not in shown(RESULT)


def test_every_count_is_there() -> None:
    text = shown(RESULT)
    for part in ("not judged: content_type", "5 pages fetched", "dropped near duplicates"):
        assert part in text
    assert "ended early" not in text
    assert "ended early: closespider_timeout" in shown(replace(RESULT, finish_reason="closespider_timeout"))


def test_warnings_of_the_crawl_are_shown() -> None:
    assert "store is down \\x1b[1m" in shown(replace(RESULT, log="WARNING: store is down \x1b[1m"))


def test_the_exact_comparison_is_shown_by_band() -> None:
    text = " ".join(map(str, range(30)))
    crawl = [judged("/1"), judged("/2", dropped=True), judged("/3")]
    documents = [Document("/1", text), Document("/2", text), Document("/3", text, "price 1")]
    output = shown(replace(RESULT, truth=against_texts(crawl, documents, similarity=0.9)))
    assert next(line.split() for line in output.splitlines() if line.startswith("= 1")) == [
        "=",
        "1",
        "1",
        "1",
        "100",
        "1",
        "1",
        "100",
    ]
    assert "1 of 1 pages with an earlier page of 0.9 were dropped. 1 more were kept apart by facts" in output


def test_long_lists_are_cut() -> None:
    clusters = {f"http://h/{n}": [judged(f"http://h/{n}?{m}") for m in range(9)] for n in range(9)}
    text = shown(replace(RESULT, clusters=clusters))
    assert "listed without http://h\n" in text
    assert "/5?5" in text
    assert "/5?6" not in text
    assert "/6" not in text
    assert text.count("and 3 more") == 6 + 1


def test_progress_is_shown_while_it_runs() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress_bars(console) as listener:
        listener("Crawling", 3, 2, "2 kept, 1 dropped")
    assert isinstance(console.file, io.StringIO)
    assert "3/3" in console.file.getvalue()
    assert "2 kept, 1 dropped" in console.file.getvalue()
