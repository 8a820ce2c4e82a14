"""The program of the guide for pools keeps one page of each story, however its processes are
started.
"""

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

from tests.docs.pages import ROOT, SITE, blocks
from tests.service.serving import story

GUIDE = SITE / "how-to" / "other-programs.md"
STORIES, VIEWS = 12, 3


VIEWS_OF_ALL = product(range(STORIES), range(VIEWS))
SITE_OF_STORIES = [
    (f"https://a.example/{number}/{view}", f"<p>{story(number)}</p>")
    for number, view in VIEWS_OF_ALL
]

RUN_POOLS = """
import json, multiprocessing, sys
import pool_program
pages = json.load(sys.stdin)
for method in ("spawn", "fork"):
    multiprocessing.set_start_method(method, force=True)
    print(json.dumps([(v.kind, v.url, v.original) for v in pool_program.check_all(pages)]))
"""


def test_pools_of_processes(tmp_path: Path) -> None:
    (block,) = (
        each
        for each in blocks("python", pages=[GUIDE])
        if each.code.startswith("from collections.abc")
    )
    code = block.code.replace("sqlite:///seen.sqlite", f"sqlite:///{tmp_path}/seen.sqlite")
    (tmp_path / "pool_program.py").write_text(code.replace("chunksize=20", "chunksize=1"))
    command, environment = [sys.executable, "-c", RUN_POOLS], {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        command, input=json.dumps(SITE_OF_STORIES), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    first, again = map(json.loads, done.stdout.splitlines())
    kept = [url for kind, url, _ in first if kind == "new"]
    assert sorted(int(url.split("/")[-2]) for url in kept) == [*range(STORIES)]
    copies = {url: original for kind, url, original in first if kind == "exact_duplicate"}
    assert {*copies.values()} <= {*kept}
    # Pages that come again are kept, whichever process gets them.
    assert [url for kind, url, _ in again if kind == "revisit"] == kept
    assert {url: original for kind, url, original in again if kind == "exact_duplicate"} == copies
    assert len(kept) + len(copies) == len(first) == len(again) == STORIES * VIEWS
