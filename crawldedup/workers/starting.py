"""Both ends of a process that is started to work: its command line, and the socket that is its standard input."""

from __future__ import annotations

import logging
import os
import socket
import sys


def command_of(module: str, call: str = "main()") -> list[str]:
    """Return the command that imports `main` from a module, by the paths of this process, and makes a call."""
    # -P keeps the working directory out of sys.path until ours is set.
    boot = f"import sys\nsys.path[:] = {sys.path!r}\nfrom {module} import main\n{call}\n"
    return [sys.executable or "", "-P", "-c", boot]


def inherited_socket() -> socket.socket:
    """Return the socket that is standard input, which nothing else of the process then has."""
    connected = socket.socket(fileno=os.dup(0))
    # Programs that an extractor starts, and libraries that print, must not have it.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2 if sys.stderr else 0, 1)
    # A library that complains about a page must not fill the parent's log.
    logging.getLogger().addHandler(logging.NullHandler())
    return connected
