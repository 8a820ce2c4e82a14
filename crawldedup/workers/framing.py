"""The frames of messages to and from worker processes: JSON with lengths in front, never pickles.

A request is a JSON object and a body of bytes, an answer a JSON value. A worker that a hostile page has taken over can
answer wrongly, but nothing that it answers is run.
"""

from __future__ import annotations

import json
import struct
import traceback
from typing import Any, Final

from crawldedup import errors
from crawldedup.errors import CrawlDedupError, PageError, UnexpectedReadError, WorkerError

REQUEST: Final = struct.Struct("!II")
"""In front of a request: the lengths of its JSON and of its body."""

ANSWER: Final = struct.Struct("!I")
"""In front of an answer: its length."""

LARGEST_ANSWER: Final = 1 << 26
"""A verdict holds two URLs, and that of a page in a data URL is as long as the page."""

__all__ = ["UnexpectedReadError", "WorkerError"]
_encode: Final = json.JSONEncoder(separators=(",", ":")).encode


def request(header: dict[str, Any], body: bytes = b"") -> bytes:
    """Return one request."""
    head = _encode(header).encode()
    return b"".join((REQUEST.pack(len(head), len(body)), head, body))


def answer(value: object) -> bytes:
    """Return one answer."""
    body = _encode(value).encode()
    return ANSWER.pack(len(body)) + body


def plain_error(error: BaseException) -> dict[str, str]:
    """Return an error as plain values: the class of a foreign exception may not exist in the crawl's process."""
    if isinstance(error, PageError):
        return {"error": "PageError", "reason": error.reason, "message": str(error)}
    if isinstance(error, CrawlDedupError):
        return {"error": type(error).__name__, "message": str(error)}
    return {"error": "", "kind": type(error).__name__, "message": "".join(traceback.format_exception(error))}


def error_from(plain: dict[str, str]) -> CrawlDedupError:
    """Return the error that `plain_error` described."""
    message = str(plain.get("message"))
    cls = getattr(errors, str(plain.get("error")), None)
    if cls is PageError:
        return PageError(str(plain.get("reason")), message)
    if not (isinstance(cls, type) and issubclass(cls, CrawlDedupError)):
        return UnexpectedReadError(str(plain.get("kind")), message)
    error = cls.__new__(cls)  # messages are made already
    error.args = (message,)
    return error
