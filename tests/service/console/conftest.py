from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.report.synthetic_journal import Crawl, header, journal, write_lines
from tests.service.console.site import serving
from tests.service.serving import BREAD, TIDES, ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = 'https://evil.example/"><script>window.broken=1</script>'
SCRIPT = "javascript:window.broken=1"
LONG = " ".join(f"word{place}" for place in range(600))


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A site that the service may fetch from."""
    with serving() as port:
        yield port


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[ServiceProcess]:
    """A service with some pages, and the journal of a crawl."""
    folder = tmp_path_factory.mktemp("journals")
    write_lines(folder / "one.jsonl", (header(), *journal(Crawl(200))))
    arguments = ("--reports", str(folder), "--paragraphs", "mark", "--fetch-host", f"127.0.0.1:{port}")
    with ServiceProcess("--store", "memory://", *arguments) as started:
        for url, text, copies in (("https://tides.example/1", TIDES, 3), (EVIL, BREAD, 2), (SCRIPT, LONG, 1)):
            started.check(url, text=text)
            for copy in range(copies):
                started.check(f"https://copy{copy}.example/", text=text, identity=f"{url} {copy}")
        yield started
