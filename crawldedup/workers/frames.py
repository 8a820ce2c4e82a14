"""The frames between a process and its workers: a length and MessagePack of plain data, never pickles.

A worker that a hostile page has taken over can answer wrongly, but nothing that it answers is run.
"""

import struct
import traceback
from typing import Any, Final

import msgspec

from crawldedup import errors
from crawldedup.errors import CrawlDedupError, PageError, UnexpectedReadError

LENGTH: Final = struct.Struct("!I")
"""In front of each frame: the length of what follows."""
LARGEST_REQUEST: Final = 1 << 30
LARGEST_ANSWER: Final = 1 << 26

_encoder: Final = msgspec.msgpack.Encoder()


class Failure(msgspec.Struct, array_like=True):
    """An error as plain data: the class of a foreign exception may exist in the worker alone."""

    name: str
    message: str
    reason: str = ""

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """Return what is sent of an error."""
        if isinstance(error, MemoryError):
            error = PageError.after(error, "reading")
        if isinstance(error, CrawlDedupError):
            return cls(type(error).__name__, _valid(str(error)), _valid(str(getattr(error, "reason", ""))))
        return cls("", _valid("".join(traceback.format_exception(error))), type(error).__name__)

    def error(self) -> CrawlDedupError:
        """Return the error that was sent."""
        cls = getattr(errors, self.name, None)
        if cls is PageError:
            return PageError(self.reason, self.message)
        if not (isinstance(cls, type) and issubclass(cls, CrawlDedupError)) or cls is UnexpectedReadError:
            return UnexpectedReadError(self.reason, self.message)
        error = cls.__new__(cls)  # its message is made already
        error.args = (self.message,)
        return error


class Answer(msgspec.Struct, array_like=True):
    """A worker's answer. `is_last` tells that the worker has grown too large, and ends."""

    is_last: bool
    failure: Failure | None
    value: msgspec.Raw = msgspec.Raw(b"\xc0")


def framed(value: object) -> bytearray:
    """Return the frame of a value of plain data."""
    frame = bytearray(LENGTH.size)
    _encoder.encode_into(value, frame, LENGTH.size)
    length = len(frame) - LENGTH.size
    if length > LARGEST_REQUEST:
        raise PageError("too_large", f"the page has {length:,} bytes")
    LENGTH.pack_into(frame, 0, length)
    return frame


def take_frame(received: bytearray, largest: int) -> bytes | None:
    """Take the first frame's content away from what was received, None if it is not whole. Raises ValueError."""
    if len(received) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack_from(received)
    if length > largest:
        raise ValueError(f"it sent {length:,} bytes")
    end = LENGTH.size + length
    if len(received) < end:
        return None
    with memoryview(received) as view:
        content = bytes(view[LENGTH.size : end])
    del received[:end]
    return content


def _valid(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def decode_answer(content: bytes) -> Answer:
    """Return a worker's answer. Raises ValueError for anything else."""
    try:
        return _answers.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError("it answered nonsense") from error


_answers: Final = msgspec.msgpack.Decoder(Answer)
Plain = dict[str, Any]
