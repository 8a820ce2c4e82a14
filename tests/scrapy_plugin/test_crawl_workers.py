"""Real crawls, in processes of their own, that are stopped, or whose pages give those who read them
trouble.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.processes import is_there
from tests.scrapy_plugin.crawling import crawl_apart, finish, start
from tests.scrapy_plugin.website import Answer, Site


def test_pages_that_kill_or_outlast_their_worker_cost_only_themselves(
    site: Site, tmp_path: Path
) -> None:
    for word in ("crash", "forever"):
        site.pages[f"/{word}"] = Answer(
            f"<p>{word} {'this page is no good for its reader ' * 20}".encode()
        )
    copies = [f"/{name}?session={number}" for name in "ab" for number in range(6)]
    options = {"CRAWLDEDUP_EXTRACTOR": "deadly_extractor.obedient", "CRAWLDEDUP_WORKERS": 1}
    pages = ["/a", "/b", *copies, "/crash", "/forever", "/near/a"]
    result = crawl_apart(site, tmp_path, pages, CRAWLDEDUP_PAGE_SECONDS=3, **options)
    assert result.passed == ["/a", "/b", "/crash", "/forever"]
    trouble = {"error/worker": 1, "skipped/too_slow": 1}
    judged = {"checked": 15, "new": 2, "duplicate/near": 1, "duplicate/exact": 12, "dropped": 13}
    assert result.counts == {**trouble, **judged}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("is_hurried", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_an_interrupted_crawl_ends_without_noise_and_without_orphans(
    site: Site, tmp_path: Path, is_hurried: bool
) -> None:
    # Its worker waits in the middle of the first page for the file "go on".
    own = {"CRAWLDEDUP_EXTRACTOR": "deadly_extractor.waiting", "CRAWLDEDUP_WORKERS": 1}
    process, reading = start(site, tmp_path, ["/a", "/b"], **own), tmp_path / "reading"
    while not (reading.exists() and reading.read_text()):
        assert process.poll() is None
        time.sleep(0.02)
    worker = int(reading.read_text())
    os.killpg(process.pid, signal.SIGINT)
    if is_hurried:
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
    else:
        (tmp_path / "go on").touch()
    result = finish(process, tmp_path)
    assert "Traceback" not in result.log
    assert is_hurried or result.counts == {"checked": 1, "new": 1}
    while is_there(worker):
        time.sleep(0.02)
