"""Write files that appear under their names only when they are complete."""

from __future__ import annotations

import io
import secrets
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BUFFER: Final = 1 << 20


def check_target(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise ConfigurationError for a file that must not be written."""
    if any(path.exists() and path.samefile(each) for each in inputs):
        raise ConfigurationError(f"{path} is read, and cannot be written as well: name another file")
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"{path} is there already, and is no file")
    if path.exists() and not force:
        raise ConfigurationError(f"{path} is there already: name another file, or add --force to replace it")
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")


@contextmanager
def target_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yield a file to write. It takes the place of `path` at the end, and is removed after an error.

    Raises ConfigurationError if `path` appears meanwhile, unless `force` is given.
    """
    # A link stays, and what it leads to is replaced.
    path = path.resolve()
    beside = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.part")
    file = io.BufferedWriter(_NamedFile(beside, path), _BUFFER)
    try:
        try:
            yield cast("BinaryIO", file)
            file.flush()
        finally:
            # Not by its buffer, which would write again what could not be written.
            file.raw.close()
        check_target(path, (), force=force)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Yield standard output, for bytes."""
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


class _NamedFile(io.FileIO):
    """A new file, whose errors name the file that it is to be: Python names none if a disk is full."""

    def __init__(self, path: Path, shown: Path) -> None:
        self._shown = shown
        super().__init__(path, "xb")

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._shown)) from error
