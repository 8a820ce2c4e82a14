"""Frames between a process and its workers: a length, then MessagePack of plain data, never pickles.

A worker that a hostile page has taken over can answer wrongly, but nothing that it answers is run.
"""

import struct
import traceback
from typing import Final, Self

import msgspec

from crawldedup import errors
from crawldedup.errors import CrawlDedupError, PageError, UnexpectedReadError

LENGTH: Final = struct.Struct("!I")
"""In front of each frame: the length of what follows."""


class Failure(msgspec.Struct, array_like=True):
    """An error as plain data: the class of a foreign exception may exist in the worker alone."""

    name: str
    message: str
    reason: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """Return what is sent of an error."""
        if isinstance(error, MemoryError):
            error = PageError.after(error, "reading")
        if isinstance(error, CrawlDedupError):
            return cls(type(error).__name__, valid(str(error)), valid(getattr(error, "reason", "")))
        return cls("", valid("".join(traceback.format_exception(error))), type(error).__name__)

    def error(self) -> CrawlDedupError:
        """Return the error that was sent."""
        cls = getattr(errors, self.name, None)
        if cls is PageError:
            return PageError(self.reason, self.message)
        if cls is UnexpectedReadError or not (isinstance(cls, type) and issubclass(cls, CrawlDedupError)):
            return UnexpectedReadError(self.reason, self.message)
        error = cls.__new__(cls)  # its message is made already
        error.args = (self.message,)
        return error


class Answer(msgspec.Struct, array_like=True):
    """A worker's answer. `is_last` tells that the worker has grown too large, and ends."""

    is_last: bool
    failure: Failure | None = None
    value: msgspec.Raw = msgspec.Raw(b"\xc0")


def framed(value: object) -> bytearray:
    """Return the frame of a value of plain data."""
    frame = bytearray(LENGTH.size)
    msgspec.msgpack.Encoder().encode_into(value, frame, LENGTH.size)
    LENGTH.pack_into(frame, 0, len(frame) - LENGTH.size)
    return frame


def valid(text: str) -> str:
    """Return a text that UTF-8 can hold, as MessagePack wants it, with "?" for halves of surrogate pairs."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
