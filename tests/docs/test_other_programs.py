"""The programs of the guide keep one page of each story, in real pools, workers and event loops."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, SITE, Block, blocks
from tests.scrapy_plugin.website import Answer, Site
from tests.service.serving import story

GUIDE = SITE / "how-to" / "other-programs.md"
STORIES, VIEWS = 12, 3


def program(beginning: str) -> Block:
    (block,) = (block for block in blocks("python", pages=[GUIDE]) if block.code.startswith(beginning))
    return block


def site() -> list[tuple[str, str]]:
    """Every view of every story; the views of one story come close together."""
    return [
        (f"https://a.example/{number}/{view}", f"<p>{story(number)}</p>")
        for number in range(STORIES)
        for view in range(VIEWS)
    ]


def stories_of(urls: Iterable[str]) -> Counter[int]:
    return Counter(int(url.split("/")[-2]) for url in urls)


ONE_OF_EACH = dict.fromkeys(range(STORIES), 1)

RUN_POOLS = """
import json, multiprocessing, sys
import pool_program
pages = json.load(sys.stdin)
for method in ("spawn", "fork"):
    multiprocessing.set_start_method(method, force=True)
    print(json.dumps([(v.kind, v.url, v.original) for v in pool_program.check_all(pages)]))
"""


def test_pools_of_processes(tmp_path: Path) -> None:
    code = program("from collections.abc").code.replace("sqlite:///seen.sqlite", f"sqlite:///{tmp_path}/seen.sqlite")
    (tmp_path / "pool_program.py").write_text(code.replace("chunksize=20", "chunksize=1"))
    command = [sys.executable, "-c", RUN_POOLS]
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    pages = json.dumps([*site(), *site()])
    done = subprocess.run(command, input=pages, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    spawned, forked = map(json.loads, done.stdout.splitlines())
    first, *others = (verdicts[at : at + len(site())] for verdicts in (spawned, forked) for at in (0, len(site())))
    kept = [url for kind, url, _ in first if kind == "new"]
    assert stories_of(kept) == ONE_OF_EACH
    copies = [(url, original) for kind, url, original in first if kind == "exact_duplicate"]
    assert all(original in kept and stories_of([url]) == stories_of([original]) for url, original in copies)
    # Pages that come again are kept, whichever process gets them.
    for again in others:
        assert [url for _, url, _ in again] == [url for url, _ in site()]
        assert [url for kind, url, _ in again if kind == "revisit"] == kept
        assert [(url, original) for kind, url, original in again if kind == "exact_duplicate"] == copies


def test_an_asyncio_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{program('import asyncio').code}", names)
    pages = {f"/{number}": Answer(f"<p>{story(number)}</p>".encode()) for number in range(STORIES)}
    views = {f"{path}/{view}": page for path, page in pages.items() for view in range(VIEWS)}
    with Site({**views, "/pdf": Answer(b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n" + bytes(999))}) as served:
        urls = [served.url + path for path in views]
        bad = ["http://127.0.0.1:1/dead", f"{served.url}/missing", f"{served.url}/pdf"]
        store = f"sqlite:///{tmp_path}/seen.sqlite"
        first, again = (asyncio.run(names["crawl"]([*bad, *urls], store)) for _ in range(2))
    assert stories_of(first) == ONE_OF_EACH
    assert sorted(again) == sorted(first)
    assert sorted(line.split()[2] for line in capsys.readouterr().out.splitlines()) == sorted(
        f"{url}:" for url in bad * 2
    )
