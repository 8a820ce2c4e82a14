"""The program of a worker process: reads pages from a socket, answers with fingerprints.

Started by `process_readers`. Messages are pickles in both directions, answers with their length in front: first the
`PageReader` and the seconds for a page, which are answered with ``("ready", None)``, then one page after the other.
Nothing here may import Scrapy or Twisted: they would double the memory of a worker and the time it takes to start.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import pickle
import select
import signal
import struct
import sys
import threading
import traceback
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError, PageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.scrapy_plugin.reading.base import Page, TextReader

# Seconds a page may take beyond the limit that the parent enforces. If the parent was killed, nobody else
# ends a page whose C code never returns to Python.
_GRACE_SECONDS = 10

HEAD: Final = struct.Struct("!I")
"""In front of an answer: how many bytes it has."""

_WARM_UP = b"<html><body><p>The first page pays for the imports of the extractor.</p></body></html>"


def main(requests: IO[bytes]) -> None:
    """Serve pages until `requests` ends, which it also does when the parent dies.

    It is a file of its own and no standard input: programs that an extractor starts must not have it.
    """
    # The parent decides when a crawl ends; Ctrl-C in a terminal is not meant for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A library that complains about a page, on whichever stream, must neither break the protocol nor fill the
    # crawl's log.
    logging.getLogger().addHandler(logging.NullHandler())
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno() if sys.stderr else os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    threading.Thread(target=_end_with_parent, args=(requests.fileno(),), daemon=True).start()
    # No thread receives pages while another is read: it would have to wait for the interpreter, and make it wait.
    with contextlib.suppress(EOFError, OSError):
        _serve(requests, answers)
    os._exit(0)


def _end_with_parent(requests: int) -> None:
    """End when the parent is gone or has no more pages, at once, even while a page is being read that never ends."""
    # Asks for no event but the end, so that pages do not wake it.
    watch = select.poll()
    watch.register(requests, getattr(select, "POLLRDHUP", 0))
    watch.poll()
    os._exit(0)


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    reader, limit_seconds = pickle.load(requests)
    with contextlib.suppress(Exception):
        reader.read(_WARM_UP)
    # What is there now is no garbage, and is not gone through again.
    gc.freeze()
    _send(answers, ("ready", None))
    while True:
        page = pickle.load(requests)
        _set_alarm(int(limit_seconds) + _GRACE_SECONDS)
        answer = answer_of(partial(read_page, reader, page))
        _set_alarm(0)
        _send(answers, answer)


def read_page(reader: TextReader, page: Page) -> Fingerprint:
    """Read a page. Raises what the reader raises."""
    if page.is_html:
        return reader.read(page.body, page.encoding)
    return reader.read_text(page.body.decode(page.encoding or "utf-8", errors="replace"))


def answer_of(read: Callable[[], Fingerprint]) -> tuple[str, Any]:
    """What came of reading a page, and its value.

    Errors are plain values too, for the class of a foreign exception may not exist in the parent.
    """
    try:
        return "fingerprint", read()
    except PageError as error:
        return "page", (error.reason, str(error))
    except ConfigurationError as error:
        return "configuration", str(error)
    # All of them: what a library raises to end the program, or in Rust to panic, is one page's trouble here, too.
    except BaseException as error:
        return "internal", (type(error).__name__, traceback.format_exc())


def _send(answers: IO[bytes], answer: tuple[str, Any]) -> None:
    # Not 5: arrays would come out as views, ten more objects a page for the garbage collector to go through.
    message = pickle.dumps(answer, protocol=4)
    answers.write(HEAD.pack(len(message)) + message)
    answers.flush()


def _set_alarm(seconds: int) -> None:
    # Its default action ends the process, even inside C code that never returns to Python.
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
