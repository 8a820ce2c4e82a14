"""Write files under temporary names until they are complete, and clean up after killed processes.

A process holds a lock on its temporary file. So if nobody holds a lock on such a file, its process
was killed, and the file can be removed.
"""

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final

_PART: Final = ".part"
_NUMBER_BYTES: Final = 4
_LONGEST_NAME: Final = 50
_TRIES: Final = 10
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def unfinished_file(target: Path) -> Iterator[Path]:
    """Create a temporary file next to a target, to move to the target once it's complete.

    If the caller hasn't moved it, it's removed at the end. First, files that killed processes have
    left there for the same target are removed.

    Yields:
        The path of the new, empty file.

    Raises:
        OSError: The file can't be created. If there is no room for it, the error names the target.
    """
    remove_left_over(target)
    path, holder = _new_file(target)
    try:
        with names_no_room(str(target)):
            yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(holder)


@contextmanager
def names_no_room(target: str) -> Iterator[None]:
    """Let an error that says that there is no room also say where: such errors name no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _NO_ROOM:
            error.filename = target
        raise


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for temporary files, which is removed at the end.

    Raises OSError. If there is no room in it, the error names TMPDIR as a remedy.
    """
    with (
        names_no_temporary_room(prefix),
        TemporaryDirectory(prefix=prefix) as name,
    ):
        yield Path(name)


@contextmanager
def names_no_temporary_room(prefix: str) -> Iterator[None]:
    """Let an error that says that there is no room for temporary files say how to get more.

    Such an error names no file, or one in the folder for temporary files that has this prefix.
    """
    folder = gettempdir()
    try:
        yield
    except OSError as error:
        is_ours = error.filename is None or str(error.filename).startswith(f"{folder}/{prefix}")
        if error.errno in _NO_ROOM and is_ours:
            error.filename = f"the temporary folder {folder}"
            error.strerror = f"{error.strerror}; set TMPDIR to a folder with more room"
        raise


def remove_left_over(target: Path) -> None:
    """Remove temporary files for a target that belong to no running process.

    Files that can't be removed are ignored.
    """
    beginning = re.escape(_beginning_of(target))
    pattern = re.compile(f"{beginning}[0-9a-f]{{{2 * _NUMBER_BYTES}}}{re.escape(_PART)}")
    with suppress(OSError):
        left_over = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
        for path in left_over:
            with suppress(OSError):
                _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    """Remove a regular file, unless another process holds a lock on it, which raises OSError."""
    # With these flags, links aren't followed, and opening a named pipe doesn't block.
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(file).st_mode):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(file)


def _new_file(target: Path) -> tuple[Path, int]:
    """Create a temporary file, and return its path and a descriptor that holds a lock on it.

    Raises OSError.
    """
    for _ in range(_TRIES):
        number = secrets.token_hex(_NUMBER_BYTES)
        path = target.with_name(f"{_beginning_of(target)}{number}{_PART}")
        holder = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Without locks on a file system, leftovers can't be recognized, so all files stay.
        with suppress(OSError):
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists():
            return path, holder
        # Before it was locked, another process took it for a leftover and removed it.
        os.close(holder)
    raise OSError(f"no temporary file can be made for {target}: other processes keep removing it")


def _beginning_of(target: Path) -> str:
    return f".{target.name[:_LONGEST_NAME]}."
