"""`crawldedup scan`: collections of any form, in, and rows and reports, out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator
from tests.scan.pages import collection
from tests.servers import wait_until
from tests.stories import jaccard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.commands.conftest import Run

COMMAND = [sys.executable, "-m", "crawldedup.cli", "scan"]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(sys.path),
    "PYTHONDONTWRITEBYTECODE": "1",
}
TEXTS = collection()


def feed(texts: Sequence[str], urls: Sequence[str] = (), name: str = "pages.jl") -> str:
    """Write a feed of texts, and return its name."""
    names = urls or [f"https://a.example/{number}" for number in range(len(texts))]
    items = [{"url": url, "text": text} for url, text in zip(names, texts, strict=True)]
    Path(name).write_text("".join(json.dumps(item) + "\n" for item in items))
    return name


def html_folder(texts: Sequence[str]) -> str:
    Path("pages").mkdir()
    for number, text in enumerate(texts):
        Path(f"pages/{number}.html").write_text(f"<html><body><p>{text}</p></body></html>")
    return "pages"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def test_rows_tell_what_a_crawl_would(run: Run) -> None:
    (result,) = run(f"scan {feed(TEXTS)} -o out.jsonl --workers 2 --no-exact --json").values
    found = rows("out.jsonl")
    with Deduplicator(key=0) as dedup:
        for number, (text, row) in enumerate(zip(TEXTS, found, strict=True)):
            verdict = dedup.check(f"https://a.example/{number}", text=text)
            assert (row["url"], row["kind"], row["kept_url"]) == (
                verdict.url,
                verdict.kind,
                verdict.original,
            )
    kinds = [row["kind"] for row in found]
    assert result["pages"] == result["kept"] + result["duplicates"] == len(TEXTS)
    assert (result["near"], result["exact"]) == (
        kinds.count("near_duplicate"),
        kinds.count("exact_duplicate"),
    )
    assert (result["near"] > 50, result["exact"] > 10) == (True, True)


def test_rows_have_exact_similarities(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = collection(originals=600)
    lines = Path(feed(texts)).read_bytes()
    assert run("scan pages.jl -o out.jsonl --work work").status == 0
    found = rows("out.jsonl")
    near = [row for row in found if row["kind"] == "near_duplicate"]
    assert len(near) > 100
    for row in near:
        one, other = (texts[int(row[name].rpartition("/")[2])] for name in ("url", "kept_url"))
        assert row["similarity"] == round(jaccard(one, other), 4) >= 0.9
    # What was read serves both.
    assert run("scan pages.jl -o other.jsonl --work work --no-exact").status == 0
    assert min(row["similarity"] for row in rows("other.jsonl") if row["similarity"]) < 0.9
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(lines))))
    assert run("scan - -o piped.jsonl").status == 0
    assert rows("piped.jsonl") == found


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl.gz"])
def test_every_form_of_output_has_the_same_rows(run: Run, suffix: str) -> None:
    # Into a folder that is read, too.
    html_folder(TEXTS[:60])
    for name in ("out.jsonl", f"out{suffix}"):
        assert run(f"scan . -o {name}").status == 0
    content = Path(f"out{suffix}").read_bytes()
    text = (gzip.decompress(content) if suffix.endswith(".gz") else content).decode()
    found: list[Any] = list(
        csv.DictReader(io.StringIO(text)) if "csv" in suffix else map(json.loads, text.splitlines())
    )
    for row in found if "csv" in suffix else ():
        row["similarity"] = float(row["similarity"]) if row["similarity"] else None
        row["kept_url"] = row["kept_url"] or None
    assert (found, list(Path().glob("*.scan"))) == (rows("out.jsonl"), [])


def test_the_report_is_that_of_a_scan(run: Run) -> None:
    (result,) = run(f"scan {feed(TEXTS)} --json").values
    assert run("scan pages.jl -o report.html").status == 0
    page = Path("report.html").read_text()
    # What it tells of similarities takes the limit of the scan.
    for shown in (
        result["clusters"][0]["original"],
        str(result["pages"]),
        "With another similarity",
    ):
        assert shown in page
    assert "this crawl" not in page


def test_as_many_clusters_are_shown_as_are_wanted(run: Run) -> None:
    name = feed([text for text in TEXTS for _ in range(2)])
    (all_of_them,) = run(f"scan {name} --json").values
    number = all_of_them["cluster_count"]
    assert len(all_of_them["clusters"]) == number >= 2
    (some,) = run(f"scan {name} --json --most 1").values
    assert some["clusters"] == all_of_them["clusters"][:1]
    (none,) = run(f"scan {name} --json --most 0").values
    assert none == all_of_them | {"clusters": []}
    shown = run(f"scan {name} --most 0").out.splitlines()
    assert shown[1:] == [f"not shown: {number} clusters; --output writes them all"]
    assert run(f"scan {name} --most -1").status == 2


def test_hostile_urls_stay_what_they_are(run: Run) -> None:
    urls = [
        "https://a.example/<script>alert(1)</script>",
        "https://a.example/\udc80\n[red]",
        "=1+1",
    ]
    feed(TEXTS[:1] * 3, urls)
    for name in ("out.jsonl", "out.html"):
        assert run(f"scan pages.jl -o {name}").status == 0
    assert [row["url"] for row in rows("out.jsonl")] == urls
    assert "<script>alert(1)" not in Path("out.html").read_text()
    assert "\\n" in run("scan pages.jl").out


def test_a_killed_scan_goes_on_and_ends_as_if_undisturbed(run: Run) -> None:
    texts = collection(originals=500)
    feed([*texts[:400], "", *texts[400:]])
    Path("broken.jl").write_text(Path("pages.jl").read_text().splitlines()[0] + "\nno json\n")
    undisturbed = run("scan broken.jl pages.jl -o expected.jsonl --json")
    command = [*COMMAND, "broken.jl", "pages.jl", "-o", "out.jsonl", "--json"]
    for kills in range(3):
        with subprocess.Popen(
            command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            while (
                len(list(Path("out.jsonl.scan").glob("*.part"))) <= kills and process.poll() is None
            ):
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
    assert not Path("out.jsonl").exists()
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False)
    assert (
        (done.returncode, b"continuing after" in done.stderr)
        == (undisturbed.status, True)
        == (1, True)
    )
    assert json.loads(done.stdout) == json.loads(undisturbed.out)
    assert Path("out.jsonl").read_bytes() == Path("expected.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("urls", "options", "kept"),
    [
        (
            ["https://a.example/1?sid=3", "https://a.example/1", "https://a.example/print/1"],
            "",
            [1],
        ),
        (["https://a.example/1?sid=3", "https://a.example/1"], "--keep first", [0]),
        (["https://example.com/1", "https://example.org/1", "https://www.example.com/2"], "", [0]),
        (
            ["https://example.com/1", "https://example.org/1", "https://www.example.com/2"],
            "--scope site",
            [0, 1],
        ),
    ],
)
def test_the_options_decide_which_copies_are_kept(
    run: Run, urls: list[str], options: str, kept: list[int]
) -> None:
    assert run(f"scan {feed(TEXTS[:1] * len(urls), urls)} -o out.jsonl {options}").status == 0
    assert [
        number for number, row in enumerate(rows("out.jsonl")) if row["kept_url"] is None
    ] == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--output out.xls", "name that ends with"),
        ("--output pages.jl --force", "is also read"),
        ("--output there.csv", "--force"),
        ("pages --output pages/out.html", "a folder that is read"),
        ("--work there.csv", "is not a folder"),
    ],
)
def test_wrong_arguments_are_told_before_the_work(run: Run, arguments: str, message: str) -> None:
    feed(["one page"])
    html_folder([])
    Path("there.csv").write_text("mine")
    said = run(f"scan pages.jl {arguments}")
    assert (said.status, message in said.err, Path("there.csv").read_text()) == (2, True, "mine")


def test_an_earlier_result_stays_if_nothing_can_be_read(run: Run) -> None:
    Path("there.csv").write_text("mine")
    Path("table.tsv").write_text("url")
    said = run("scan table.tsv --output there.csv --force")
    assert (said.status, "was not written" in said.out, Path("there.csv").read_text()) == (
        1,
        True,
        "mine",
    )


def test_a_full_disk_is_told_and_what_was_read_stays(run: Run) -> None:
    line = f"scan {feed(collection(originals=200))} --json"
    expected = run(f"{line} -o expected.jsonl").values
    # Files end at 100 kB, which Python tells as it tells that a disk is full.
    limited = (
        f"ulimit -f 100; trap '' XFSZ; exec {sys.executable} -m crawldedup.cli {line} -o out.jsonl"
    )
    failed = subprocess.run(
        ["bash", "-c", limited], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (failed.returncode, "run the same command again" in failed.stderr) == (2, True)
    assert not Path("out.jsonl").exists()
    assert run(f"{line} -o out.jsonl").values == expected
    assert Path("out.jsonl").read_bytes() == Path("expected.jsonl").read_bytes()


@pytest.mark.parametrize("change", ["a new page", "a page less", "another text"])
def test_a_folder_that_has_changed_is_refused(run: Run, change: str) -> None:
    html_folder(TEXTS[:3])
    assert run("scan pages --work work").status == 0
    if change == "a page less":
        Path("pages/0.html").unlink()
    else:
        Path("pages/x.html" if change == "a new page" else "pages/1.html").write_text(
            "<p>Something else.</p>"
        )
    said = run("scan pages --work work")
    assert (said.status, "started with different files" in said.err) == (2, True)


def test_what_was_read_until_ctrl_c_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    line = f"scan {feed(TEXTS[:3])} -o out.csv"
    with monkeypatch.context() as patch:
        patch.setattr("crawldedup.scan.run.find_duplicates", interrupted)
        said = run(line)
    assert (said.status, "continue from out.csv.scan" in said.err) == (130, True)
    said = run(line)
    assert (said.status, "continuing after" in said.err) == (0, True)


@pytest.mark.parametrize(("stop", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_what_is_ended_leaves_no_temporary_folder(tmp_path: Path, stop: int, status: int) -> None:
    def heed_ctrl_c() -> None:
        # A program in the background starts without it, and so do its children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        [*COMMAND, "-"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        wait_until(lambda: [*tmp_path.glob("crawldedup-scan-*/lock")])
        # `timeout` sends it twice.
        for _ in range(1 if stop == signal.SIGINT else 2):
            os.kill(process.pid, stop)
        assert (process.wait(timeout=60), process.stderr.read()) == (status, b"")
    assert [*tmp_path.iterdir()] == []


def test_a_terminated_scan_tells_how_it_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def terminated(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("crawldedup.scan.run.find_duplicates", terminated)
    said = run(f"scan {feed(TEXTS[:3])} -o out.csv")
    assert (said.status, "continue from out.csv.scan" in said.err) == (143, True)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("command", "names_temporary"),
    [
        ("scan pages.jl", True),
        ("filter pages.jl -o out.jsonl", True),
        ("filter - -o out.jsonl", True),
        ("scan pages.jl -o o.csv", False),
    ],
)
def test_without_room_for_temporary_files_the_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, *, names_temporary: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    feed(collection(originals=200))
    Path("small").mkdir()
    # Files end at 100 kB, which Python tells as it tells that a disk is full.
    limited = f"ulimit -f 100; trap '' XFSZ; exec {sys.executable} -m crawldedup.cli {command}"
    failed = subprocess.run(
        ["bash", "-c", limited],
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path / "small")},
        input=Path("pages.jl").read_text(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = "the temporary folder %s: File too large; set TMPDIR to a folder with more room"
    *_, last = failed.stderr.splitlines()
    expected = said % (tmp_path / "small") if names_temporary else "o.csv.scan: File too large"
    assert (failed.returncode, last) == (2, f"crawldedup: {expected}")
    assert [*Path("small").iterdir()] == []
