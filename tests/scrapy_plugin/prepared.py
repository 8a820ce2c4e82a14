"""Programs in processes that begin with everything imported that a crawl needs, which takes longer than a small crawl.

Each is forked off a process that has imported these modules and has done nothing else. What depends on how a process
begins, such as signals or what is imported first, is tested in processes that Python itself starts.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 60.0

CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.scrapy_plugin.warm"])


def run_prepared(program: str, *arguments: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program, the path of a file or the name of a module, which works in the folder.

    Raises `subprocess.TimeoutExpired`.
    """
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name) / stream for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin)
        process = CONTEXT.Process(target=_run, args=(program, arguments, str(folder), *map(str, streams)))
        process.start()
        process.join(PATIENCE_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(program, PATIENCE_SECONDS)
        return subprocess.CompletedProcess(
            [program, *arguments], process.exitcode, streams[1].read_text(), streams[2].read_text()
        )


class PreparedServant:
    """A program that works in the folder, and answers each line of its stdin with a line on its stdout."""

    def __init__(self, program: str, *arguments: str, folder: Path) -> None:
        self._channel, channel = socket.socketpair()
        self._process = CONTEXT.Process(target=_serve, args=(program, arguments, str(folder), channel))
        self._process.start()
        channel.close()
        self._lines = self._channel.makefile("rw", encoding="utf-8")

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def ask(self, line: str) -> str:
        """The answer; empty if the program has ended."""
        self._lines.write(line + "\n")
        self._lines.flush()
        return self._lines.readline()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Let it come to the end of its stdin, and wait until it has ended."""
        self._lines.close()
        self._channel.close()
        self._process.join(PATIENCE_SECONDS)


def _serve(program: str, arguments: tuple[str, ...], folder: str, channel: socket.socket) -> None:
    for stream in (0, 1):
        os.dup2(channel.fileno(), stream)
    channel.close()
    _run_program(program, arguments, folder)


def _run(program: str, arguments: tuple[str, ...], folder: str, stdin: str, stdout: str, stderr: str) -> None:
    for stream, (path, flags) in enumerate(
        [(stdin, os.O_RDONLY), (stdout, os.O_WRONLY | os.O_CREAT), (stderr, os.O_WRONLY | os.O_CREAT)]
    ):
        os.dup2(os.open(path, flags), stream)
    _run_program(program, arguments, folder)


def _run_program(program: str, arguments: tuple[str, ...], folder: str) -> None:
    import tests.scrapy_plugin.forked_workers  # noqa: F401

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
