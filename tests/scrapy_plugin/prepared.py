"""Programs in processes that begin with everything imported that a crawl needs, which takes longer
than a small crawl.

Each is forked off a process that has imported these modules and has done nothing else. What depends
on how a process begins, such as signals or what is imported first, is tested in processes that
Python itself starts.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0

CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.scrapy_plugin.warm"])


def run_prepared(
    program: str, *arguments: str, folder: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program, the path of a file or the name of a module, which works in the folder.

    Raises `subprocess.TimeoutExpired`.
    """
    with tempfile.TemporaryDirectory() as name:
        streams = Path(name)
        (streams / "0").write_text(stdin)
        process = CONTEXT.Process(target=_run, args=(program, arguments, str(folder), name))
        process.start()
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(program, PATIENCE_SECONDS)
        out, log = ((streams / stream).read_text() for stream in "12")
        return subprocess.CompletedProcess([program, *arguments], process.exitcode, out, log)


def _run(program: str, arguments: tuple[str, ...], folder: str, streams: str) -> None:
    import tests.scrapy_plugin.forked_workers  # noqa: F401

    for stream in range(3):
        os.dup2(
            os.open(f"{streams}/{stream}", os.O_WRONLY | os.O_CREAT if stream else os.O_RDONLY),
            stream,
        )
    os.chdir(folder)
    # Python has opened another one for this process.
    sys.stdin = os.fdopen(0)
    sys.argv = [program, *arguments]
    if program.endswith(".py"):
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
    else:
        sys.path.insert(0, folder)
        runpy.run_module(program, run_name="__main__", alter_sys=True)
