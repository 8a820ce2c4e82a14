"""`crawldedup scan`: collections of any form, in, and rows, reports and indexes, out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator
from crawldedup.cli import main
from crawldedup.literature.exact import jaccard
from tests.scan.pages import collection

if TYPE_CHECKING:
    from collections.abc import Sequence


def feed(path: Path, texts: Sequence[str], **others: str) -> Path:
    with path.open("w") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"url": f"https://a.example/{number}", "text": text, **others}) + "\n")
    return path


def scan(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> dict[str, Any]:
    assert main(["scan", *map(str, arguments), "--json"]) == status
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_tell_what_a_crawl_would(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = collection()
    out = tmp_path / "out.jsonl"
    result = scan(capsys, feed(tmp_path / "pages.jl", texts), "-o", out, "--workers", 2, "--no-exact")
    found = rows(out)
    with Deduplicator(key=0) as dedup:
        for number, (text, row) in enumerate(zip(texts, found, strict=True)):
            verdict = dedup.check(f"https://a.example/{number}", text=text)
            assert (row["url"], row["kind"], row["kept_url"]) == (verdict.url, verdict.kind, verdict.original)
    kinds = [row["kind"] for row in found]
    assert result["pages"] == result["kept"] + result["duplicates"] == len(texts)
    assert (result["near"], result["exact"]) == (kinds.count("near_duplicate"), kinds.count("exact_duplicate"))
    assert result["near"] > 50
    assert result["exact"] > 10


def test_rows_have_exact_similarities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = collection(originals=600)
    lines = feed(tmp_path / "pages.jl", texts).read_text()
    scan(capsys, tmp_path / "pages.jl", "-o", tmp_path / "out.jsonl", "--work", tmp_path / "work")
    found = rows(tmp_path / "out.jsonl")
    near = [row for row in found if row["kind"] == "near_duplicate"]
    assert len(near) > 100
    for row in near:
        one, other = (texts[int(row[name].rpartition("/")[2])] for name in ("url", "kept_url"))
        assert row["similarity"] == round(jaccard(one, other), 4) >= 0.9
    # What was read serves both.
    scan(capsys, tmp_path / "pages.jl", "-o", tmp_path / "other.jsonl", "--work", tmp_path / "work", "--no-exact")
    assert min(row["similarity"] for row in rows(tmp_path / "other.jsonl") if row["similarity"]) < 0.9
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    scan(capsys, "-", "-o", tmp_path / "piped.jsonl")
    assert rows(tmp_path / "piped.jsonl") == found


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl.gz"])
def test_every_form_of_output_has_the_same_rows(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = feed(tmp_path / "pages.jl", collection(originals=60))
    scan(capsys, source, "-o", tmp_path / "out.jsonl")
    expected = rows(tmp_path / "out.jsonl")
    out = tmp_path / f"out{suffix}"
    scan(capsys, source, "-o", out)
    text = gzip.decompress(out.read_bytes()).decode() if suffix.endswith(".gz") else out.read_text()
    found = list(csv.DictReader(io.StringIO(text))) if "csv" in suffix else list(map(json.loads, text.splitlines()))
    for row in found if "csv" in suffix else ():
        row["similarity"] = float(row["similarity"]) if row["similarity"] else None
        row["kept_url"] = row["kept_url"] or None
    assert found == expected
    assert not list(tmp_path.glob("*.scan"))


def test_the_report_is_that_of_a_scan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = feed(tmp_path / "pages.jl", collection(originals=60))
    original = scan(capsys, source)["clusters"][0]["original"]
    result = scan(capsys, source, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert original in page
    assert f"{result['pages']}" in page
    # What it tells of similarities takes the limit of the scan.
    assert "With another similarity" in page
    assert "this crawl" not in page


def test_hostile_urls_stay_what_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = collection()[0]
    urls = ["https://a.example/<script>alert(1)</script>", "https://a.example/\udc80\n[red]", "=1+1"]
    source = tmp_path / "pages.jl"
    source.write_text("".join(json.dumps({"url": url, "text": text}) + "\n" for url in urls))
    scan(capsys, source, "-o", tmp_path / "out.jsonl")
    assert [row["url"] for row in rows(tmp_path / "out.jsonl")] == urls
    scan(capsys, source, "-o", tmp_path / "out.html")
    assert "<script>alert(1)" not in (tmp_path / "out.html").read_text()
    assert main(["scan", str(source)]) == 0
    assert "\\n" in capsys.readouterr().out


def test_a_killed_scan_goes_on_and_ends_as_if_undisturbed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = collection(originals=500)
    source = feed(tmp_path / "pages.jl", [*texts[:400], "", *texts[400:]])
    broken = tmp_path / "broken.jl"
    broken.write_text(source.read_text().splitlines()[0] + "\nno json\n")
    expected = tmp_path / "expected.jsonl"
    undisturbed = scan(capsys, broken, source, "-o", expected, status=1)
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "crawldedup.cli", "scan", str(broken), str(source), "-o", str(out), "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    kills = 0
    while kills < 3:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        before = pages_in(tmp_path / "out.jsonl.scan")
        while pages_in(tmp_path / "out.jsonl.scan") <= before and process.poll() is None:
            time.sleep(0.02)
        if process.poll() is not None:
            process.communicate()
            break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    assert kills
    assert not out.exists()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"going on after" in done.stderr
    assert json.loads(done.stdout) == undisturbed
    assert out.read_bytes() == expected.read_bytes()


def pages_in(folder: Path) -> int:
    """Return how many pages are in the folder of a scan, at most."""
    return 256 * len(list(folder.glob("*.part")))


def test_what_was_read_is_not_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = feed(tmp_path / "pages.jl", collection(originals=60))
    first = scan(capsys, source, "--work", tmp_path / "work")
    with monkeypatch.context() as patch:
        patch.setattr("crawldedup.scan.read.WorkerPool.call", None)
        assert scan(capsys, source, "--work", tmp_path / "work", "-o", tmp_path / "out.csv") == {
            name: value for name, value in first.items() if name != "clusters"
        }
    source.write_text(source.read_text() + "\n")
    assert main(["scan", str(source), "--work", str(tmp_path / "work")]) == 2
    assert "begun with other files" in capsys.readouterr().err


def test_the_copy_with_the_plain_url_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = collection()[0]
    source = tmp_path / "pages.jl"
    names = ["https://a.example/1?sid=3", "https://a.example/1", "https://a.example/print/1"]
    source.write_text("".join(json.dumps({"url": name, "text": text}) + "\n" for name in names))
    assert scan(capsys, source)["clusters"][0]["original"] == names[1]
    assert scan(capsys, source, "--keep", "first")["clusters"][0]["original"] == names[0]


def test_sites_can_be_kept_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = collection()[0]
    source = tmp_path / "pages.jl"
    names = ["https://example.com/1", "https://example.org/1", "https://www.example.com/2"]
    source.write_text("".join(json.dumps({"url": name, "text": text}) + "\n" for name in names))
    assert scan(capsys, source)["duplicates"] == 2
    assert scan(capsys, source, "--scope", "site")["duplicates"] == 1


def test_many_clusters_are_shown_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = collection(originals=30)
    source = feed(tmp_path / "pages.jl", [*texts, *[texts[1]] * 30])
    assert main(["scan", str(source), "--most", "1"]) == 0
    shown = capsys.readouterr().out
    assert "    and 20 more\n" in shown
    assert "not shown: " in shown


def test_skipped_pages_are_counted_by_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = feed(tmp_path / "pages.jl", ["", *collection(originals=5), *[" "] * 20])
    assert main(["scan", str(source)]) == 0
    told = capsys.readouterr()
    assert "21 skipped (empty 21)" in told.out
    assert (told.err.count("skipped (empty)"), "11 further pages skipped" in told.err) == (10, True)


@pytest.mark.parametrize(("arguments", "message"), [
    (["--output", "out.xls"], "name that ends with"),
    (["--workers", "0"], "--workers is 0"),
    (["--most", "0"], "--most is 0"),
    (["--output", "pages.jl", "--force"], "is read"),
    (["--output", "there.csv"], "--force"),
])  # fmt: skip
def test_wrong_arguments_are_told_before_the_work(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    feed(tmp_path / "pages.jl", ["one page"])
    (tmp_path / "there.csv").write_text("mine")
    assert main(["scan", "pages.jl", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_full_disk_is_told_and_what_was_read_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = feed(tmp_path / "pages.jl", collection(originals=200))
    expected = scan(capsys, source, "-o", tmp_path / "expected.jsonl")
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "crawldedup.cli", "scan", str(source), "-o", str(out), "--json"]
    # Files end at 100 kB, which Python tells as it tells that a disk is full.
    limited = f"ulimit -f 100; trap '' XFSZ; exec {shlex.join(command)}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    failed = subprocess.run(["bash", "-c", limited], env=environment, capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "same command goes on" in failed.stderr
    assert not out.exists()
    assert scan(capsys, source, "-o", out) == expected
    assert out.read_bytes() == (tmp_path / "expected.jsonl").read_bytes()


def pages_in_folder(folder: Path, texts: Sequence[str]) -> Path:
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.html").write_text(f"<html><body><p>{text}</p></body></html>")
    return folder


@pytest.mark.parametrize("change", ["a new page", "a page less", "another text"])
def test_a_folder_that_has_changed_is_refused(change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pages_in_folder(tmp_path / "pages", collection(originals=3))
    scan(capsys, folder, "--work", tmp_path / "work")
    if change == "a page less":
        (folder / "0.html").unlink()
    else:
        (folder / ("x.html" if change == "a new page" else "1.html")).write_text("<p>Something else.</p>")
    assert main(["scan", str(folder), "--work", str(tmp_path / "work")]) == 2
    assert "begun with other files" in capsys.readouterr().err


def test_a_page_that_cannot_be_read_costs_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = collection(originals=3)
    folder = pages_in_folder(tmp_path / "pages", texts)
    opened = type(folder).open

    def forbidden(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name == "1.html":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(type(folder), "open", forbidden)
    assert main(["scan", str(folder)]) == 1
    told = capsys.readouterr()
    assert f"{len(texts) - 1} pages, " in told.out
    assert ", 1 error reported" in told.out
    assert "Permission denied" in told.err


@pytest.mark.parametrize("content", ["broken{\n", "url,text\n", "[]"])
def test_standard_input_holds_json_lines(
    content: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = content + "".join(json.dumps({"url": "https://a.example/1", "text": "page"}) + "\n" for _ in range(3))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    result = scan(capsys, "-", status=1)
    assert (result["pages"], result["unreadable"]) == (3 if content != "[]" else 2, 1)


def test_a_page_that_kills_its_process_is_skipped_in_a_small_collection_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly_pages.py").write_text(
        "import os\ndef extract(html):\n    os._exit(3) if 'DIE' in html else None\n    return html\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    folder = pages_in_folder(tmp_path / "pages", ["one", "DIE"])
    assert scan(capsys, folder, "--extractor", "deadly_pages.extract")["reasons"] == {"crashed": 1}


def test_what_a_scan_is_to_write_is_told_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = pages_in_folder(tmp_path / "pages", ["one"])
    for arguments, message in (
        (["-o", str(folder / "out.html")], "a folder that is read"),
        (["--work", str(folder / "0.html")], "is no folder"),
        (["-o", str(tmp_path / "out.parquet")], "ends with .jsonl, .csv (also .gz) or .html"),
    ):
        assert main(["scan", str(folder), *arguments]) == 2
        assert message in capsys.readouterr().err


def test_rows_may_be_written_into_a_folder_that_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pages_in_folder(tmp_path / "pages", collection(originals=3)))
    pages = scan(capsys, ".", "-o", "found.jsonl")["pages"]
    assert len(rows(Path("found.jsonl"))) == pages == scan(capsys, ".", "-o", "found.csv")["pages"]


def test_what_was_read_until_ctrl_c_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = feed(tmp_path / "pages.jl", collection(originals=3))
    with monkeypatch.context() as patch:
        patch.setattr("crawldedup.scan.run.find_duplicates", interrupted)
        assert main(["scan", str(source), "-o", str(tmp_path / "out.csv")]) == 130
    assert f"goes on from {tmp_path}/out.csv.scan" in capsys.readouterr().err
    assert main(["scan", str(source), "-o", str(tmp_path / "out.csv")]) == 0
    assert "going on after" in capsys.readouterr().err


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
