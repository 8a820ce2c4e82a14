"""Write the report of a crawl at its end."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup.printable import printable

if TYPE_CHECKING:
    from scrapy import Spider

logger = logging.getLogger(__name__)

# The arguments come as the input: all users of a machine see command lines, and a Redis may have a password.
_PROGRAM: Final = "import json, sys; from crawldedup.cli import main; sys.exit(main(json.load(sys.stdin)))"


async def write_report(path: str, source: str, crawl: str, spider: Spider) -> None:
    """Write the report of a crawl, whose journals are in a folder. Logs what goes wrong.

    It is made in a process of its own, whose memory ends with it.
    """
    arguments = json.dumps(["report", source, "--crawl", crawl, "--output", path])
    command = [sys.executable, "-c", _PROGRAM]
    try:
        done = await asyncio.to_thread(subprocess.run, command, input=arguments, capture_output=True, text=True)
    except OSError as error:
        trouble = str(error)
    else:
        trouble = done.stderr.strip().rpartition("\n")[2] if done.returncode else ""
    extra = {"spider": spider}
    if trouble:
        logger.warning("crawldedup: the report was not written: %s", printable(trouble, 500), extra=extra)
    else:
        logger.info("crawldedup: the report is in %s", printable(str(Path(path).absolute())), extra=extra)
