"""Keep what was read of a collection in a folder, one file a chunk, and go on behind the last whole one."""

import fcntl
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final, NamedTuple

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable
from crawldedup.scan.columns import LAYOUT, Columns, Lists

FORMAT: Final = 4
_TASK: Final = "scan.json"
_LOCK: Final = "lock"
_DIGEST_BYTES: Final = 16

Packed = dict[str, bytes]
"""The columns of some pages, by their names in KINDS."""
KINDS: Final = {
    **LAYOUT,
    **dict.fromkeys(("shingle_sizes", "shingles", "url_sizes"), np.dtype(np.uint32)),
    "urls": np.dtype(np.uint8),
}
"""What an item of each column is. Each page has one, but for shingles and the bytes of URLs."""

Place = tuple[int, int, int]
"""The number of a source, that of its items that are read, and that of the errors in the sources before."""


class Step(NamedTuple):
    """How far a scan has come: so many pages are read. `skipped` counts others by the reasons."""

    place: Place = (0, 0, 0)
    pages: int = 0
    skipped: Mapping[str, int] = {}


_parts: Final = msgspec.msgpack.Decoder(tuple[Step, list[Packed]])


@contextmanager
def opened_folder(path: Path, task: Mapping[str, Any]) -> Iterator["ScanFolder"]:
    """Yield the folder of a task, which is made if it is not there. Raises OSError.

    `task` is what the folder is for: plain values, which must be the same when a scan goes on. Raises
    ConfigurationError for a folder of another scan, or of one at work.
    """
    shown, file = printable(str(path)), path / _TASK
    if path.exists() and not path.is_dir():
        raise ConfigurationError(f"{shown} is no folder; name one to work in")
    path.mkdir(parents=True, exist_ok=True)
    if not file.exists() and {each.name for each in path.iterdir()} - {_LOCK}:
        raise ConfigurationError(f"the folder {shown} holds something else than a scan; name an empty one")
    wanted = msgspec.json.encode({"format": FORMAT, **task})
    with (path / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not file.exists():
                file.write_bytes(wanted)
            begun = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        except BlockingIOError as error:
            raise ConfigurationError(f"another scan is at work in {shown}") from error
        except msgspec.DecodeError as error:
            raise ConfigurationError(f"the scan in {shown} is damaged; remove the folder to begin again") from error
        for name, value in msgspec.json.decode(wanted).items():
            if begun.get(name) != value:
                message = f"the scan in {shown} was begun with other {name}; remove the folder to begin again"
                raise ConfigurationError(message)
        yield ScanFolder(path)


class ScanFolder:
    """What was read, in parts, and the last `step`. What a kill or a power cut has torn is read again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        steps = [step for step, _ in self._whole_parts()]
        self._count, self.step = len(steps), steps[-1] if steps else Step()
        for torn in sorted(path.glob("*.part"))[self._count :]:
            torn.unlink()
        for left in path.glob("*-*"):
            shutil.rmtree(left)

    def add(self, place: Place, columns: list[Packed], skipped: Iterable[str]) -> None:
        """Add what was read until a place, and the reasons why others cannot be."""
        pages = self.step.pages + sum(len(packed["thin"]) for packed in columns)
        step = Step(place, pages, Counter(self.step.skipped) + Counter(skipped))
        if step != self.step:
            content = msgspec.msgpack.encode((step, columns))
            self._part(self._count).write_bytes(mmh3.hash_bytes(content) + content)
            self._count, self.step = self._count + 1, step

    def pages(self) -> tuple[Columns, Lists]:
        """Return what is compared of all pages, and their URLs, which stay on disk."""
        # A file that is mapped stays when its name is gone.
        with TemporaryDirectory(dir=self.path, prefix="columns-") as name, ExitStack() as stack:
            files = {column: stack.enter_context(Path(name, column).open("wb+")) for column in KINDS}
            for _, columns in self._whole_parts():
                for packed in columns:
                    for column, file in files.items():
                        file.write(packed[column])
            arrays = {column: _mapped(file, KINDS[column]) for column, file in files.items()}
        shingles, urls = (Lists(arrays.pop(f"{name}s"), arrays.pop(f"{name}_sizes")) for name in ("shingle", "url"))
        return Columns(**arrays, shingles=shingles), urls

    def _whole_parts(self) -> Iterator[tuple[Step, list[Packed]]]:
        for number in count():
            part = self._part(number).read_bytes() if self._part(number).exists() else b""
            digest, content = part[:_DIGEST_BYTES], part[_DIGEST_BYTES:]
            if not content or mmh3.hash_bytes(content) != digest:
                return
            yield _parts.decode(content)

    def _part(self, number: int) -> Path:
        return self.path / f"{number:06}.part"


def _mapped(file: BinaryIO, kind: np.dtype[Any]) -> NDArray[Any]:
    size = file.tell() // kind.itemsize
    return np.memmap(file, kind, "r", shape=(size,)) if size else np.zeros(0, kind)
