"""Binary files by name or as open streams, compressed or not."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    FileName = str | os.PathLike[str] | BinaryIO

_GZIP_MAGIC: Final = b"\x1f\x8b"
# URLs shrink much at any level, fingerprints not at all, however long one tries.
_GZIP_LEVEL: Final = 4


@contextmanager
def opened_for_reading(source: FileName) -> Iterator[tuple[BinaryIO, str]]:
    """A file to read, which may be compressed whatever it is called, with its name.

    Raises OSError, and ConfigurationError for what is no file.
    """
    _require_file(source, "read")
    with ExitStack() as stack:
        if isinstance(source, str | os.PathLike):
            name = os.fspath(source)
            plain: BinaryIO = stack.enter_context(Path(name).open("rb"))
        else:
            name = str(getattr(source, "name", "the file"))
            plain = source
        start = plain.read(len(_GZIP_MAGIC))
        # A pipe cannot be rewound.
        whole = io.BufferedReader(_Rejoined(start, plain))
        if start == _GZIP_MAGIC:
            yield stack.enter_context(gzip.open(whole)), name  # type: ignore[misc]
        else:
            yield whole, name


@contextmanager
def opened_for_writing(target: FileName) -> Iterator[BinaryIO]:
    """A file to write, compressed if its name ends in .gz. Raises OSError.

    It appears when all is written; until then, and after a failure, what was there before stays. The caller's own
    streams are written to as they are. Raises ConfigurationError for what is no file.
    """
    _require_file(target, "write")
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    path = Path(target)
    if path.exists() and not path.is_file():
        # A device or a named pipe must not be replaced by a file.
        with path.open("wb") as stream, _compressed(stream, path) as written:
            yield written
        return
    # What a link leads to is replaced, not the link.
    path = path.resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write into", str(path.parent))
    # A name of its own, for two may write the same file at once.
    unfinished = path.with_name(f"{path.name}.{token_hex(4)}.part")
    try:
        with unfinished.open("xb") as stream:
            with _compressed(stream, path) as written:
                yield written
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            unfinished.chmod(stat.S_IMODE(path.stat().st_mode))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _require_file(file: object, method: str) -> None:
    if not isinstance(file, str | os.PathLike) and not callable(getattr(file, method, None)):
        raise ConfigurationError(f"file is a {type(file).__name__}; it must be a path or a binary stream")


@contextmanager
def _compressed(stream: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    if path.suffix.lower() != ".gz":
        yield stream
        return
    with gzip.GzipFile("", "wb", _GZIP_LEVEL, stream) as compressed:
        yield compressed  # type: ignore[misc]


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have been read already."""

    def __init__(self, start: bytes, rest: BinaryIO) -> None:
        self._start = start
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._start or self._rest.read(len(buffer))
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        self._start = self._start[size:]
        return size
