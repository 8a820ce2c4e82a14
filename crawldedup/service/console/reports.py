"""Make the report of the last crawl, by the command that makes it for files: in a process, which may take its time."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup.errors import ConfigurationError
from crawldedup.journal import crawls
from crawldedup.service.problems import ProblemError
from crawldedup.workers.pool import command_of

if TYPE_CHECKING:
    from crawldedup.journal import CrawlSummary

_SECONDS: Final = 120


class Reports:
    """The report of the last crawl of a source, kept until its journals change."""

    def __init__(self, source: str | None, stopping: asyncio.Future[None]) -> None:
        self.source = source
        self._stopping = stopping
        self._made_of: CrawlSummary | None = None
        self._page = b""
        self._making = asyncio.Lock()

    async def last(self) -> bytes:
        """Return the page of the last crawl's report. Raises ConfigurationError, StoreError and ProblemError."""
        assert self.source is not None
        async with self._making:
            try:
                found = await asyncio.to_thread(crawls, self.source)
            except OSError as error:
                raise ConfigurationError(f"the journals cannot be read: {error}") from error
            if not found:
                raise ConfigurationError("there is no journal of a crawl yet: look again when one has run")
            if found[0] != self._made_of:
                self._page = await self._report(self.source, found[0].name)
                self._made_of = found[0]
            return self._page

    async def _report(self, source: str, crawl: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="crawldedup-report-") as folder:
            file = Path(folder, "report.html")
            process = await asyncio.create_subprocess_exec(
                *command_of("crawldedup.cli", "sys.exit(main(sys.argv[1:]))"),
                *("report", f"--crawl={crawl}", f"--output={file}", "--", source),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            talking = asyncio.ensure_future(process.communicate())
            await asyncio.wait((talking, self._stopping), timeout=_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if is_given_up := not talking.done():
                process.kill()
            _, said = await talking
            if is_given_up:
                detail = (
                    f"the service stops, or the report takes more than {_SECONDS} s: make it by `crawldedup report`"
                )
                raise ProblemError("busy", 503, detail)
            if process.returncode or not file.exists():
                *_, reason = said.decode("utf-8", "replace").strip().splitlines() or ["its process died"]
                raise ProblemError("report", 503, f"the report cannot be made: {reason.removeprefix('crawldedup: ')}")
            return file.read_bytes()
