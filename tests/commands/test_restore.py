"""`crawldedup restore`: items that were set aside come back, all or some of them."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crawldedup import wire
from crawldedup.aside import EVIDENCE, FORMAT, VERSION, AsideFile, evidence_of, items_in
from crawldedup.cli import _RESTORED
from crawldedup.verdict import Coverage, Kind, Verdict
from tests.commands.conftest import Run
from tests.servers import wait_until

VERDICTS = [
    Verdict(Kind.EXACT_DUPLICATE, "https://shop.example/p/1", "https://shop.example/p/0", 1.0),
    Verdict(Kind.NEAR_DUPLICATE, "https://shop.example/p/2", "https://shop.example/p/0", 0.93),
    Verdict(Kind.NEAR_DUPLICATE, "https://www.news.example/x", "https://a.example/x", 0.97),
    Verdict(Kind.REVISIT, "https://shop.example/help", "https://shop.example/help"),
    Verdict(
        Kind.NEW, "https://news.example/y", coverage=Coverage(1, 99, 0, is_partial=True), words=100
    ),
]


def record_of(number: int, verdict: Verdict, **values: Any) -> str:
    item = {"id": number, "title": "é \ud800 \x1f\x8b\x08", **values}
    record = {"evidence": evidence_of(verdict), "cluster": verdict.original, "item": item}
    return json.dumps({FORMAT: VERSION, **record, "verdict": wire.plain(verdict)})


@pytest.fixture
def aside(run: Run) -> str:
    """The name of a file with an item for each verdict, in the folder that `run` works in."""
    file = AsideFile("aside.jl.gz")
    for number, verdict in enumerate(VERDICTS):
        file.put(record_of(number, verdict))
    file.close()
    return "aside.jl.gz"


def ids_in(path: Path) -> list[int]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("--site shop.example", [0, 1, 3]),
        ("--site news.example", [2, 4]),
        ("--site news.example:443", [2, 4]),
        ("--pattern /p/[12]$", [0, 1]),
        ("--similarity 0.93 0.97", [1, 2]),
        ("--evidence exact_duplicate", [0]),
        ("--evidence unchanged", [3]),
        ("--evidence partial", [4]),
        ("--cluster https://shop.example/p/0", [0, 1]),
        ("--cluster https://shop.example/p/0 --similarity 0.9 0.95", [1]),
    ],
)
def test_items_come_back_in_their_order(
    run: Run, aside: str, conditions: str, ids: list[int]
) -> None:
    said = run(f"restore {aside} -o out.jl --json {conditions}")
    assert said.values == [{"output": "out.jl", "restored": len(ids), "set_aside": 5}]
    assert ids_in(Path("out.jl")) == ids
    assert said.err == ""


def test_a_site_without_items_is_told_with_those_that_have_some(run: Run, aside: str) -> None:
    said = run(f"restore {aside} -o out.jl --site other.example")
    assert said.status == 0
    assert ids_in(Path("out.jl")) == []
    assert said.err == (
        "crawldedup: no item is of the site other.example; there are items of shop.example, "
        "news.example\n"
    )
    # The site has items, and another condition rules them out.
    assert run(f"restore {aside} -o b.jl --site shop.example --similarity 0 0.1").err == ""


def test_servers_at_two_ports_are_told_apart(run: Run) -> None:
    file = AsideFile("aside.jl.gz")
    for number in (1, 2):
        url = f"http://127.0.0.1:910{number}/a"
        file.put(record_of(number, Verdict(Kind.EXACT_DUPLICATE, url, url, 1.0)))
    file.close()
    for site, ids in (("127.0.0.1:9102", [2]), ("127.0.0.1", [1, 2])):
        run(f"restore aside.jl.gz -o out.jl --force --site {site}")
        assert ids_in(Path("out.jl")) == ids
    said = run("restore aside.jl.gz -o out.jl --force --site 127.0.0.1:80")
    assert "there are items of 127.0.0.1:9101, 127.0.0.1:9102" in said.err


def test_items_of_one_crawl_are_taken_from_a_file_of_several_by_time(run: Run, aside: str) -> None:
    file = AsideFile(aside)
    for number, verdict in enumerate(VERDICTS[:2]):
        record = json.loads(record_of(10 + number, verdict))
        file.put(json.dumps({**record, "time": 1_700_000_000 + number}))
    file.close()
    # An item that doesn't say when it was dropped comes back: one too many is better than one lost.
    assert run(f"restore {aside} -o a.jl --since 2023-11-14T22:13:21").status == 0
    assert ids_in(Path("a.jl")) == [0, 1, 2, 3, 4, 11]
    assert run(f"restore {aside} -o b.jl --since 1d --evidence near_duplicate").status == 0
    assert ids_in(Path("b.jl")) == [1, 2]


def test_the_options_have_every_reason() -> None:
    assert _RESTORED["--evidence"]["choices"] == EVIDENCE


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ("--similarity 90 95", "--similarity takes two numbers from 0 to 1"),
        ("--distinguish numbers", "--distinguish says how items are compared again, so it needs"),
        ("--min-words 5", "--min-words says how items are compared again, so it needs --again"),
        ("--similarity 0.95 0.9", "--similarity takes the lower number first"),
        ("--since yesterday", "--since is 'yesterday'; it must be a time such as 2026-11-28"),
        ("--pattern (a", "--pattern is '(a'; it must be a regular expression"),
        ("--site /", "--site is '/'; it must be a site"),
        ("--site=", "--site is ''; it must be a site"),
        ("--evidence copy", "invalid choice: 'copy'"),
        ("--evidence near", "'partial') (see crawldedup restore --help)"),
        ("--evidence exact_duplicates", "did you mean 'exact_duplicate'?"),
    ],
)
def test_a_condition_that_is_not_allowed_is_refused(
    run: Run, aside: str, conditions: str, message: str
) -> None:
    said = run(f"restore {aside} -o out.jl {conditions}")
    assert (said.status, message in said.err) == (2, True)
    assert not Path("out.jl").exists()


def test_a_file_that_is_there_is_kept_and_standard_output_will_do(run: Run, aside: str) -> None:
    Path("out.jl").write_text("mine")
    assert run(f"restore {aside} -o out.jl").status == 2
    assert Path("out.jl").read_text() == "mine"
    assert run(f"restore {aside} -o out.jl --force").status == 0
    assert len(ids_in(Path("out.jl"))) == 5
    assert run(f"restore {aside} -o {aside} --force").status == 2


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_what_is_broken_costs_itself_alone(run: Run, aside: str, cut: int) -> None:
    whole = Path(aside).read_bytes()
    Path(aside).write_bytes(whole[:-cut])
    file = AsideFile(aside)  # another crawl goes on
    file.put(record_of(5, VERDICTS[0]))
    file.put('{"crawldedup_aside": 2, "item": {}, "verdict": {}}')
    file.close()
    said = run(f"restore {aside} -o out.jl")
    assert said.status == 1
    assert ids_in(Path("out.jl")) == [0, 1, 2, 3, 5]
    assert "cannot be read and were left out" in said.err


PROGRAM = """
import sys
from crawldedup.aside import AsideFile
file = AsideFile("aside.jl.gz")
for number in range(10**9):
    file.put(sys.argv[1].replace('"id": 0', f'"id": {number}'))
    print(number, flush=True)
"""


def test_a_removed_file_begins_again_and_a_renamed_one_goes_on(run: Run, aside: str) -> None:
    file = AsideFile(aside)
    Path(aside).rename("renamed.jl.gz")
    file.put(record_of(5, VERDICTS[0]))
    assert not file.was_removed
    assert len([*items_in(Path("renamed.jl.gz"))]) == 6
    Path("renamed.jl.gz").unlink()
    file.put(record_of(6, VERDICTS[0]))
    assert file.was_removed
    file.close()
    assert [item.item["id"] for item in items_in(Path(aside)) if item] == [6]


def test_lines_that_were_packed_again_are_restored(run: Run, aside: str) -> None:
    lines = gzip.decompress(Path(aside).read_bytes()).splitlines(keepends=True)
    # What `zcat | grep | gzip` writes, with other lines and without the last newline.
    packed = gzip.compress(b"".join([lines[3], b"{}\n\n", lines[1].rstrip()]))
    Path("some.jl.gz").write_bytes(packed + Path(aside).read_bytes())
    said = run("restore some.jl.gz -o out.jl")
    assert ids_in(Path("out.jl")) == [3, 1, 0, 1, 2, 3, 4]
    assert (said.status, said.err) == (1, "crawldedup: 1 part cannot be read and was left out\n")


@pytest.mark.parametrize("cut", [1, 9, 60])
def test_the_lines_before_a_cut_are_restored(run: Run, aside: str, cut: int) -> None:
    lines = gzip.decompress(Path(aside).read_bytes())
    Path("some.jl.gz").write_bytes(gzip.compress(lines)[:-cut])
    assert run("restore some.jl.gz -o out.jl").status == 1
    assert ids_in(Path("out.jl"))[:1] == [0]


def test_a_kill_loses_nothing_that_was_set_aside(run: Run) -> None:
    record = record_of(0, VERDICTS[0], body="a long text " * 2_000)
    told = []
    for _ in range(5):
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, record],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert program.stdout is not None
        for _ in range(30):
            program.stdout.readline()
        os.kill(program.pid, signal.SIGKILL)
        told.append(30 + len(program.stdout.read().splitlines()))
        program.wait()
    read = [aside.item["id"] for aside in items_in(Path("aside.jl.gz")) if aside is not None]
    starts = [place for place, number in enumerate(read) if number == 0]
    assert len(starts) == 5
    runs = [end - start for start, end in zip(starts, [*starts[1:], len(read)], strict=True)]
    # What was written, and not said any more, may be one item.
    assert all(told_of <= length <= told_of + 1 for told_of, length in zip(told, runs, strict=True))


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        (None, b'{"title": "\\u00e9"}\n'),
        ("utf-8", '{"title": "é"}\n'.encode()),
        ("latin-1", b'{"title": "\xe9"}\n'),
        ("cp1251", b'{"title": "\\u00e9"}\n'),
        ("no such encoding", b'{"title": "\\u00e9"}\n'),
        ("zip", b'{"title": "\\u00e9"}\n'),
        (7, b'{"title": "\\u00e9"}\n'),
    ],
)
def test_restored_items_have_the_encoding_of_the_feeds(
    run: Run, encoding: object, line: bytes
) -> None:
    record = json.loads(record_of(0, VERDICTS[0]))
    file = AsideFile("aside.jl.gz")
    file.put(json.dumps({**record, "item": {"title": "é"}, "encoding": encoding}))
    file.close()
    assert run("restore aside.jl.gz -o out.jl").status == 0
    assert Path("out.jl").read_bytes() == line


def test_the_next_run_removes_the_temporary_file_of_a_killed_run(run: Run, aside: str) -> None:
    """The files of a run that is still going, and of another output, stay."""
    os.mkfifo("never")
    command = [sys.executable, "-m", "crawldedup.cli", "restore", "never", "-o", "out.jl"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.Popen(command, env=environment)
    other = Path(".out.jl.gz.01234567.part")
    other.write_text("another output")
    try:
        wait_until(lambda: [*Path().glob(".out.jl.????????.part")])
        assert run(f"restore {aside} -o out.jl").status == 0
        (left,) = Path().glob(".out.jl.????????.part")
        assert left != other
    finally:
        program.kill()
        program.wait()
    assert left.exists()
    assert run(f"restore {aside} -o out.jl --force").status == 0
    assert len(ids_in(Path("out.jl"))) == 5
    assert [*Path().glob(".*.part")] == [other]


def test_links_pipes_and_folders_are_not_taken_for_leftovers(run: Run, aside: str) -> None:
    Path("mine").write_text("mine")
    Path(".out.jl.01234567.part").symlink_to("mine")
    os.mkfifo(".out.jl.89abcdef.part")
    Path(".out.jl.00000000.part").mkdir()
    assert run(f"restore {aside} -o out.jl").status == 0
    assert len([*Path().glob(".*.part")]) == 3
    assert Path("mine").read_text() == "mine"


# Deciding anew


def spelled(number: int) -> str:
    """A word for a number."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def story(seed: int, changed: int = 0, words: int = 200) -> str:
    """A text in which `changed` words in a row are replaced."""
    text = [spelled((seed * 7919 + number * 104729) % 5003) for number in range(words)]
    text[50 : 50 + changed] = [f"other{spelled(number)}" for number in range(changed)]
    return " ".join(text)


@pytest.fixture
def dropped(run: Run) -> str:
    """The name of a file with copies of the story in kept.jl: exact, near, and a new number."""
    kept = [{"url": "https://a.example/0", "text": story(0)}]
    Path("kept.jl").write_text("".join(f"{json.dumps(item)}\n" for item in kept))
    texts = [
        story(0),
        story(0, changed=4),
        story(0, changed=14),
        f"{story(0)} 77",
        story(0, changed=14),
    ]
    file = AsideFile("aside.jl.gz")
    for number, text in enumerate(texts, 1):
        verdict = Verdict(
            Kind.NEAR_DUPLICATE, f"https://b.example/{number}", "https://a.example/0", 0.9
        )
        file.put(record_of(number, verdict, url=verdict.url, text=text))
    file.put(record_of(9, VERDICTS[0], other="no text that could be compared"))
    file.close()
    return "aside.jl.gz"


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        # The second of two copies that come back stays dropped, and what has no text comes back.
        ("--again 0.9", [3, 9]),
        ("--again 0.99", [2, 3, 9]),
        ("--again 0.6", [9]),
        ("--again 0.9 --distinguish numbers", [3, 4, 9]),
        ("--again 0.9 --distinguish numbers --pattern /4$", [4]),
    ],
)
def test_items_are_decided_anew_at_another_similarity_or_by_other_marks(
    run: Run, dropped: str, options: str, ids: list[int]
) -> None:
    run(f"restore {dropped} -o out.jl {options} --kept kept.jl")
    assert [json.loads(line)["id"] for line in Path("out.jl").read_text().splitlines()] == ids


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--again 0.9", "--again and --kept go together"),
        ("--kept kept.jl", "--again and --kept go together"),
        ("--again 0.9 --kept kept.jl --text-field body", "--kept has no item that can be"),
        ("--again 90 --kept kept.jl", "--again is 90.0; it must be a number"),
        ("--apart kept.jl", "kept.jl, line 1: this line is not like"),
        ("--apart nowhere/apart.jl", "there is no folder 'nowhere'"),
        ("--apart ./out.jl", "--output and --apart name the same file"),
        ("--apart aside.jl.gz", "aside.jl.gz is also read"),
        ("--again 0.9 --kept kept.jl --apart kept.jl", "kept.jl is also read"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, dropped: str, options: str, said: str
) -> None:
    if "kept.jl" in options and "apart" in options:
        Path("kept.jl").write_text('{"url": "https://a.example/0", "text": "no pair"}\n')
    result = run(f"restore {dropped} -o out.jl {options}")
    assert result.status == 2
    assert said in result.err
    assert not Path("out.jl").exists()


def test_the_feed_that_items_are_compared_with_is_never_replaced(run: Run, dropped: str) -> None:
    kept = Path("kept.jl").read_bytes()
    for name in ("kept.jl", "./kept.jl"):
        said = run(f"restore {dropped} -o {name} --again 0.9 --kept kept.jl --force")
        assert (said.status, "is also read" in said.err) == (2, True)
    assert Path("kept.jl").read_bytes() == kept


def test_items_with_html_and_a_text_are_refused_unless_one_is_chosen(run: Run, aside: str) -> None:
    both = {"url": "https://shop.example/p/9", "html": f"<p>{story(1)}</p>", "text": story(1)}
    Path("kept.jl").write_text(f"{json.dumps(both)}\n")
    file = AsideFile(aside)
    file.put(record_of(5, VERDICTS[0], **both))
    file.close()
    said = run(f"restore {aside} -o out.jl --again 0.9 --kept kept.jl")
    assert said.status == 2
    assert "for example --html-field html" in said.err
    assert len(said.err.splitlines()) == 1
    assert not Path("out.jl").exists()
    assert (
        run(f"restore {aside} -o out.jl --again 0.9 --kept kept.jl --html-field html").status == 0
    )
    assert 5 not in ids_in(Path("out.jl"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("items.jl", "items.jl has no items that were set aside"),
        (".", ". has no items that were set aside"),
        ("missing.jl.gz", "missing.jl.gz: No such file or directory"),
    ],
)
def test_a_file_of_something_else_is_refused(run: Run, name: str, said: str) -> None:
    Path("items.jl").write_text('{"url": "https://shop.example/p/9"}\n')
    result = run(f"restore {name} -o out.jl")
    assert (result.status, said in result.err, "Errno" in result.err) == (2, True, False)
    assert not Path("out.jl").exists()


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet"])
def test_items_are_written_as_json_lines_alone(run: Run, aside: str, name: str) -> None:
    said = run(f"restore {aside} -o {name}")
    assert (said.status, "items are written as JSON lines" in said.err) == (2, True)
    assert not Path(name).exists()


def test_pages_are_added_to_those_that_are_told_apart(run: Run, aside: str) -> None:
    earlier = '{"url": "https://shop.example/p/1", "original": null}\n'
    Path("apart.jl").write_text(earlier)
    run(f"restore {aside} -o out.jl --apart apart.jl")
    lines = Path("apart.jl").read_text().splitlines(keepends=True)
    assert lines[0] == earlier
    # Each page once, and none that is as it was.
    assert [json.loads(line)["url"] for line in lines[1:]] == [
        "https://shop.example/p/2",
        "https://www.news.example/x",
        "https://news.example/y",
    ]


def test_compare_says_that_a_person_has_told_pages_apart(run: Run) -> None:
    for name in ("a", "b"):
        Path(f"{name}.html").write_text(f"<title>Ferry</title><p>{story(1)}</p>")
    pages = "compare a.html b.html --urls https://a.example/1 https://a.example/x/2"
    assert "kept apart" not in run(pages).out
    Path("apart.jl").write_text('{"url": "https://a.example/x/2"}\n')
    said = run(f"{pages} --apart apart.jl")
    assert "kept apart: a person has told them apart" in said.out
    assert "their marks say" not in said.out
    assert "why         a person has told them apart" in said.out


def test_the_file_that_there_is_no_room_for_is_named(run: Run, aside: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, limits[1]))
    try:
        said = run(f"restore {aside} -o out.jl")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (said.status, "out.jl: File too large" in said.err, "Errno" in said.err) == (
        2,
        True,
        False,
    )
