"""Keep what was read of a collection in a folder, one file a chunk, and go on behind the last whole one."""

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scan.columns import LAYOUT, Columns, Lists

FORMAT: Final = 3
_TASK: Final = "scan.json"
_LOCK: Final = "lock"
_UNFINISHED: Final = "unfinished"
_PART_SUFFIX: Final = ".part"

Packed = dict[str, bytes]
"""The columns of some pages, by their names in KINDS."""
KINDS: Final = {
    **LAYOUT,
    **dict.fromkeys(("shingle_sizes", "shingles", "url_sizes"), np.dtype(np.uint32)),
    "urls": np.dtype(np.uint8),
}
"""What an item of each column is. Each page has one, but for shingles and the bytes of URLs."""

Place = tuple[int, int, int]
"""How far the reading has come: so many items of the source with this number are read, and all of those before it.

First comes the number of the source, last that of the errors in the sources before."""


class Step(NamedTuple):
    """What a scan has read until a place: so many pages. `skipped` counts others by the reasons."""

    place: Place = (0, 0, 0)
    pages: int = 0
    skipped: Mapping[str, int] = {}


class Collection(NamedTuple):
    """All pages that were read; their columns stay on disk."""

    columns: Columns
    shingles: Lists
    urls: Lists


_parts: Final = msgspec.msgpack.Decoder(tuple[Step, list[Packed]])
_tasks: Final = msgspec.json.Decoder(dict[str, Any])


@contextmanager
def opened_folder(path: Path, task: Mapping[str, Any]) -> Iterator["ScanFolder"]:
    """Yield the folder of a task, which is made if it is not there. Raises OSError.

    `task` is what the folder is for: plain values, which must be the same when a scan goes on. Raises
    ConfigurationError for a folder of another scan, or of one at work.
    """
    shown = printable(str(path))
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{shown} is no folder; name one to work in")
    path.mkdir(parents=True, exist_ok=True)
    if not (path / _TASK).exists() and {each.name for each in path.iterdir()} - {_LOCK, _UNFINISHED}:
        raise ConfigurationError(f"the folder {shown} holds something else than a scan; name an empty one")
    with (path / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigurationError(f"another scan is at work in {shown}") from error
        yield ScanFolder(path, msgspec.json.encode({"format": FORMAT, **task}))


class ScanFolder:
    """What was read, in parts, and the last `step`. Raises OSError, and ConfigurationError for a damaged folder."""

    def __init__(self, path: Path, task: bytes) -> None:
        self.path = path
        self.step = Step()
        self._shown = printable(str(path))
        if not (path / _TASK).exists():
            self._write(_TASK, task)
        begun = self._read(_TASK, _tasks.decode)
        if changed := [name for name, value in _tasks.decode(task).items() if begun.get(name) != value]:
            raise ConfigurationError(
                f"the scan in {self._shown} was begun with other {changed[0]}; remove the folder to begin again"
            )
        self._parts = len(list(path.glob(f"*{_PART_SUFFIX}")))
        if self._parts:
            self.step, _ = self._part(self._parts - 1)

    def add(self, place: Place, columns: list[Packed], skipped: Iterable[str]) -> None:
        """Add what was read until a place, and the reasons why others cannot be."""
        pages = self.step.pages + sum(len(packed["thin"]) for packed in columns)
        step = Step(place, pages, Counter(self.step.skipped) + Counter(skipped))
        if step != self.step:
            self._write(_part_name(self._parts), msgspec.msgpack.encode((step, columns)))
            self._parts, self.step = self._parts + 1, step

    def collection(self, *, ranks: bool = True) -> Collection:
        """Return all pages; without `ranks`, none is a poorer copy than another."""
        # A file that is mapped stays when its name is gone.
        with TemporaryDirectory(dir=self.path, prefix="columns-") as name, ExitStack() as stack:
            paths = {column: Path(name, column) for column in KINDS}
            files = {column: stack.enter_context(path.open("wb")) for column, path in paths.items()}
            for number in range(self._parts):
                for packed in self._part(number)[1]:
                    for column, file in files.items():
                        file.write(packed[column])
            stack.close()
            arrays = {column: _mapped(path, KINDS[column]) for column, path in paths.items()}
        if not ranks:
            arrays["rank"] = np.zeros_like(arrays["rank"])
        shingles, urls = (Lists(arrays.pop(f"{name}s"), arrays.pop(f"{name}_sizes")) for name in ("shingle", "url"))
        return Collection(Columns(**arrays), shingles, urls)

    def _part(self, number: int) -> tuple[Step, list[Packed]]:
        part: tuple[Step, list[Packed]] = self._read(_part_name(number), _parts.decode)
        return part

    def _read(self, name: str, decode: Callable[[bytes], Any]) -> Any:
        try:
            return decode((self.path / name).read_bytes())
        except (FileNotFoundError, ValueError, msgspec.MsgspecError) as error:
            raise ConfigurationError(
                f"the scan in {self._shown} is damaged; remove the folder to begin again"
            ) from error

    def _write(self, name: str, content: bytes) -> None:
        """Write a file, which gets its name when the disk has it: so a power cut tears none."""
        unfinished = self.path / _UNFINISHED
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fdatasync(file.fileno())
        unfinished.replace(self.path / name)


def _part_name(number: int) -> str:
    return f"{number:06}{_PART_SUFFIX}"


def _mapped(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    count = path.stat().st_size // kind.itemsize
    return np.memmap(path, kind, "r", shape=(count,)) if count else np.zeros(0, kind)
