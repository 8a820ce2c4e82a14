"""What a user sees in the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from crawldedup.demo.result import Cluster, DemoResult, ManifestScore, Member, Traffic
from crawldedup.demo.run import Progress
from crawldedup.demo.show import percent, print_result, progress_bars, size
from crawldedup.demo.truth import JudgedPage, assess
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
    traffic=Traffic(requests=10, pages=3, bytes=50_000, seconds=1.25),
    finish_reason="finished",
    clusters=(),
)


def shown(result: DemoResult, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    print_result(result, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    text.encode()
    return text


def test_hostile_urls_are_shown_as_text() -> None:
    member = Member(HOSTILE, "near_duplicate", 0.93, dropped=True)
    score = ManifestScore(1, 1, 0, 0, missed=(HOSTILE,), wrong=(), not_reached=())
    text = shown(replace(RESULT, site=HOSTILE, clusters=(Cluster(HOSTILE, (member,)),), manifest=score))
    assert not any(char in text for char in "\x1b\x07\u202e\ud800")
    assert "[bold]x[/]" in text
    assert "\\x1b[2J" in text


def test_savings_are_the_difference_of_two_crawls() -> None:
    text = shown(replace(RESULT, without=Traffic(requests=22, pages=16, bytes=90_000, seconds=1.0)))
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
    truth = assess([JudgedPage("/1", "a b c d", True), JudgedPage("/2", "a b c d", False)], similarity=0.9)
    text = shown(replace(RESULT, truth=truth))
    assert "identical" in text
    assert "Recall 100 % of 1 pages" in text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (1.0, "100 %"), (0.99999, "99.9 %"), (0.5, "50.0 %"), (0.0, "0.0 %")]
)
def test_a_share_is_never_rounded_up_to_perfection(share: float | None, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(("count", "text"), [(500, "0.5 kB"), (1_500_000, "1.5 MB"), (-2_000_000, "-2.0 MB")])
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_progress_is_shown_while_it_runs() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress_bars(console) as listener:
        listener(Progress("crawl", done=3, total=2, kept=2, dropped=1))
        listener(Progress("exact"))
    assert isinstance(console.file, io.StringIO)
    assert "2 kept, 1 dropped" in console.file.getvalue()
