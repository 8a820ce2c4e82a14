"""The program of a reader process: pages in; fingerprints, texts and comparisons out; time and memory bounded.

Nothing of the store is known here. A page that takes the process over learns the key of the index, and no password.
"""

from __future__ import annotations

import contextlib
import gc
import signal
from typing import TYPE_CHECKING, Any, Final

from crawldedup.explanation.comparison import compare
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reader import PageReader
from crawldedup.text.keys import Key
from crawldedup.workers.framing import answer, plain_error
from crawldedup.workers.inbox import Inbox
from crawldedup.workers.memory import bound_memory
from crawldedup.workers.starting import inherited_socket

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from crawldedup.workers.inbox import Request

# Beyond the limit that the parent enforces: if the parent was killed, only the alarm ends a page in C code.
_GRACE_SECONDS: Final = 10
_WARM_UP: Final = b"<html><body><p>The first page pays for the imports of the extractor.</p></body></html>"


def main() -> None:
    """Serve standard input, a socket, until it ends, as it does when the parent dies."""
    connected = inherited_socket()
    # The parent decides when the service ends: signals to the whole group are not meant for readers.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):
        _serve(Inbox(connected), connected)


def _serve(inbox: Inbox, connected: socket.socket) -> None:
    setup = inbox.take(None)
    assert setup is not None
    options = Options.from_values(setup.header["options"])
    reader = PageReader(options)
    with contextlib.suppress(Exception):
        reader.read(_WARM_UP)
    gc.freeze()
    is_large = bound_memory()
    connected.sendall(answer({"ready": True}))
    while (request := inbox.take(None)) is not None:
        signal.alarm(setup.header["page_seconds"] + _GRACE_SECONDS)
        try:
            value = _compared(options, request) if request.header["do"] == "compare" else _read(reader, request)
        # Whatever a library raises, even to end the program, or in Rust to panic, is one page's trouble.
        except BaseException as error:
            value = plain_error(error)
        signal.alarm(0)
        ends = is_large()
        connected.sendall(answer({**value, "ends": ends}))
        if ends:
            return


def _read(reader: PageReader, request: Request) -> dict[str, Any]:
    (page,) = _pages(request)
    content = reader.content(page.html, page.text, page.encoding, page.url)
    fingerprint = reader.fingerprint(content, Key(bytes.fromhex(request.header["key"])))
    shown = {"text": content.text, "facts": content.fact_lines} if request.header["do"] == "show" else {}
    return {"fingerprint": fingerprint.as_dict(), **shown}


def _compared(options: Options, request: Request) -> dict[str, Any]:
    return {"comparison": compare(*_pages(request), **options.index_values()).as_dict()}


def _pages(request: Request) -> Iterator[Page]:
    end = 0
    for header in request.header["pages"]:
        begin, end = end, end + header.pop("length")
        body, is_bytes = request.body[begin:end], header.pop("is_bytes")
        yield Page(**{header.pop("form"): body if is_bytes else body.decode(), **header})
