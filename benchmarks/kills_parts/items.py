"""Kill crawls that set dropped items aside, and commands that restore them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.apart import read_pairs
from crawldedup.aside import EVIDENCE, FORMAT, VERSION, AsideFile, items_in
from tests.attacks.fleet import Outcome
from tests.scrapy_plugin.crawling import start
from tests.scrapy_plugin.website import Answer, Site

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Mapping

ROOT: Final = Path(__file__).resolve().parents[2]
ITEMS_OF_A_CONTENT: Final = 40  # so that a restore takes longer than it starts
LONG_TEXT: Final = "all that the page says " * 100
PAUSES: Final = (0.0, 0.5)
"""The least and the longest time from the first new item of a crawl to its kill, in seconds."""
DELIVERED: Final = "delivered"
"""The file of a crawl that lists the pages whose items came through."""
LOOK_SECONDS: Final = 0.005
COPIES: Final = ("exact_duplicate", "near_duplicate")
FIRST_KILL: Final = 0.3
"""From this share of the time that a restore takes, it may be killed: before, it only starts."""


def set_items_aside(
    answers: Mapping[str, Answer], settings: Mapping[str, Any], kills: int, dice: random.Random
) -> Outcome:
    """Crawl a site once, kill the crawl so often on the way, at most, and begin it again.

    Each page has an item. It is lost if it was neither delivered nor set aside as a copy, or if it
    was set aside and is not in the file any more. So is a content none of whose pages was
    delivered.
    """
    paths, killed, vanished = dice.sample(list(answers), len(answers)), 0, 0
    with tempfile.TemporaryDirectory() as name, Site(answers) as site:
        folder = Path(name)
        aside = folder / "aside.jl.gz"
        own = {
            "CRAWLDEDUP_STORE": f"sqlite:///{folder}/index.sqlite",
            "CRAWLDEDUP_ACTION": "drop-items",
            "CRAWLDEDUP_SET_ASIDE": str(aside),
        }
        crawl, known = start(site, folder, paths, **settings, **own), set[str]()
        while crawl.poll() is None:
            wait_for_an_item(crawl, folder / DELIVERED)
            time.sleep(dice.uniform(*PAUSES))
            if killed < kills and crawl.poll() is None:
                crawl.kill()
                crawl.communicate()
                killed += 1
                kept = _paths_in(aside)
                vanished += len(known - kept)
                known |= kept
                crawl = start(site, folder, paths, **settings, **own)
        _, log = crawl.communicate()
        if crawl.returncode:
            sys.exit(f"a crawl ended with {crawl.returncode}:\n{log[-2000:]}")
        delivered = (folder / DELIVERED).read_text().split()
        came = {*delivered, *_paths_in(aside, COPIES)}
    contents = {path.split("/")[2] for path in paths}
    lost = len({*paths} - came) + vanished
    lost += len(contents - {path.split("/")[2] for path in delivered})
    return Outcome(len(paths), killed, lost, 0, len(delivered) - len({*delivered}), 0)


def wait_for_an_item(crawl: subprocess.Popen[str], record: Path) -> None:
    """Wait until a crawl delivers another item, or ends.

    How long it takes to start depends on what else the machine does.
    """

    def size() -> int:
        return record.stat().st_size if record.exists() else 0

    before = size()
    while size() == before and crawl.poll() is None:
        time.sleep(LOOK_SECONDS)


def _paths_in(aside: Path, evidence: Collection[str] = EVIDENCE) -> set[str]:
    """Return the paths of the items in a file that were dropped for such evidence.

    There may be no file yet.
    """
    if not aside.exists():
        return set()
    items = (item for item in items_in(aside) if item is not None)
    return {item.item["url"] for item in items if item.evidence in evidence}


class Restore(NamedTuple):
    """A command that restores some of the items of a file, and what it writes if it is left alone."""

    command: list[str]
    whole: bytes


def restore_items(contents: int, kills: int, dice: random.Random) -> Outcome:
    """Restore items, and kill the command so often.

    Whenever it is killed, the file of items is as it was, the output is that of this command or of
    the one before, and the file of the pages told apart can be read and has what it had. Each item
    that is not there counts as lost.
    """
    number = contents * ITEMS_OF_A_CONTENT
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        aside, output, apart = (folder / file for file in ("aside.jl.gz", "out.jl", "apart.jl"))
        _write_items(aside, number)
        before, killed, lost = aside.read_bytes(), 0, 0
        restores = [
            _prepared(aside, output, apart, *condition)
            for condition in ((), ("--evidence", "near_duplicate"))
        ]
        began = time.monotonic()
        _run(restores[0].command)
        seconds, last = time.monotonic() - began, restores[0]
        while killed < kills:
            restore = restores[killed % 2]
            process = subprocess.Popen(restore.command, cwd=ROOT, stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(FIRST_KILL, 1) * seconds)
            is_killed = process.poll() is None
            process.kill()
            process.wait()
            killed += is_killed
            written = output.read_bytes()
            if written not in (restore.whole, last.whole):
                lost += len({*last.whole.splitlines()} - {*written.splitlines()})
            last = restore if written == restore.whole else last
            lost += number * (aside.read_bytes() != before)
            lost += number - len(read_pairs(apart))
        _run(restores[0].command)
        lost += number * (output.read_bytes() != restores[0].whole)
    return Outcome(number, killed, lost, 0, 0, 0)


def _write_items(aside: Path, number: int) -> None:
    file = AsideFile(str(aside))
    for place in range(number):
        url = f"https://e.com/{place}"
        evidence = ("near_duplicate", "exact_duplicate")[place % 2]
        verdict = {"url": url, "kind": evidence, "similarity": 0.9}
        item = {"url": url, "text": f"{place} {LONG_TEXT}"}
        record = {FORMAT: VERSION, "evidence": evidence, "cluster": "https://e.com/"}
        file.put(json.dumps({**record, "verdict": verdict, "item": item}))
    file.close()


def _prepared(aside: Path, output: Path, apart: Path, *condition: str) -> Restore:
    """Return a command, and what it writes. Others have written the file of pages told apart."""
    command = [sys.executable, "-m", "crawldedup", "restore", str(aside), "--force"]
    command += ["-o", str(output), "--apart", str(apart), *condition]
    _run(command)
    return Restore(command, output.read_bytes())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"a restore ended with {done.returncode}:\n{done.stderr[-2000:]}")


def rounds(
    crawl: Callable[[int], Outcome], kills: int, seconds: float, advance: Callable[[int], None]
) -> list[Outcome]:
    """Repeat until so much was killed or time is up. `crawl` takes how many kills are left."""
    outcomes: list[Outcome] = []
    deadline = time.monotonic() + seconds
    while (left := kills - sum(each.kills for each in outcomes)) and time.monotonic() < deadline:
        outcomes.append(crawl(left))
        advance(outcomes[-1].kills)
    return outcomes
