"""Programs in processes that begin with everything imported that a crawl needs, which takes longer than a small crawl.

Each is forked off a process that has imported these modules and has done nothing else. What depends on how a process
begins, such as signals or what is imported first, is tested in processes that Python itself starts.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0

_CONTEXT: Final = multiprocessing.get_context("forkserver")
# None of them installs a reactor or starts a thread.
_CONTEXT.set_forkserver_preload(
    [
        "scrapy.cmdline",
        "scrapy.crawler",
        "crawldedup.scrapy_plugin.middleware",
        "crawldedup.scrapy_plugin.reading.worker",
        "trafilatura",
        "redis.cluster",
    ]
)


def run_prepared(program: str, *arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program, the path of a file or the name of a module, which works in the folder.

    Raises `subprocess.TimeoutExpired`.
    """
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name) / stream for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin)
        process = _CONTEXT.Process(target=_run, args=(program, arguments, str(folder), *map(str, streams)))
        process.start()
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(program, PATIENCE_SECONDS)
        return subprocess.CompletedProcess(
            [program, *arguments], process.exitcode, streams[1].read_text(), streams[2].read_text()
        )


def _run(program: str, arguments: tuple[str, ...], folder: str, stdin: str, stdout: str, stderr: str) -> None:
    import tests.scrapy_plugin.forked_workers  # noqa: F401

    os.chdir(folder)
    for stream, (path, flags) in enumerate(
        [(stdin, os.O_RDONLY), (stdout, os.O_WRONLY | os.O_CREAT), (stderr, os.O_WRONLY | os.O_CREAT)]
    ):
        os.dup2(os.open(path, flags), stream)
    # Python has opened another one for this process.
    sys.stdin = os.fdopen(0)
    sys.argv = [program, *arguments]
    if program.endswith(".py"):
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
    else:
        sys.path.insert(0, folder)
        runpy.run_module(program, run_name="__main__", alter_sys=True)
